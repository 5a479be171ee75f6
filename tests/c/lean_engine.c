/* SPDX-License-Identifier: MIT */
/* lean_engine.c - the checker's operations when nobody looks on, against those that can be traced.
 *
 * Every lock under every client, SC and TSO, at random, by priority and with a bound on preemptions: the
 * same executions, choice for choice, with the same memory at their ends, the same faults, the same
 * waits and the same counts of each site, whether a trace is asked for or not.
 */
#define ENG_VIRTUAL /* what a site is, the checker says */
#include "expect.h"

#include <string.h>

#include "check/program.h"
#include "core/registry.h"
#include "engine/words.h"

#define THREADS 3u
#define EXECUTIONS 40u

extern const struct eng_site *const __start_ll_sites[] __attribute__((visibility("hidden")));
extern const struct eng_site *const __stop_ll_sites[] __attribute__((visibility("hidden")));

static struct {
    struct ll_program program;
    const char *(*verdict)(void *arg);
    uint64_t hash;
    unsigned faults;
} run;

static void mix(const void *data, size_t size)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < size; i++) /* FNV-1a */
        run.hash = (run.hash ^ p[i]) * UINT64_C(1099511628211);
}

static void mix_last(void)
{
    struct ck_last last;

    ck_last(&last);
    mix(last.choice, last.n);
    for (uint32_t i = 0; i < last.n_faults; i++) {
        run.faults++;
        mix(&last.fault[i].victim, sizeof(last.fault[i].victim));
        mix(last.fault[i].text, strlen(last.fault[i].text));
    }
}

static const char *verdict(void *arg)
{
    mix_last();
    mix(run.program.ck.memory, run.program.ck.memory_size);
    return run.verdict ? run.verdict(arg) : NULL;
}

static bool on_fault(void *arg)
{
    (void)arg;
    mix_last();
    return false;
}

static void look_on(void *arg, const struct ck_happening *h)
{
    (void)arg;
    (void)h;
}

/* What the executions amount to. */
static uint64_t digest(struct ck_options *options)
{
    struct ck_report r;

    run.hash = UINT64_C(14695981039346656037);
    run.faults = 0;
    for (const struct eng_site *const *s = __start_ll_sites; s < __stop_ll_sites; s++)
        memset((*s)->use, 0, sizeof(*(*s)->use));
    EXPECT(!ck_explore(&run.program.ck, options, &r));
    r.memory_bytes = 0;
    mix(&r, sizeof(r));
    for (const struct eng_site *const *s = __start_ll_sites; s < __stop_ll_sites; s++) {
        mix(&(*s)->use->executed, sizeof((*s)->use->executed));
        mix(&(*s)->use->blocked, sizeof((*s)->use->blocked));
        mix(&(*s)->use->waits, sizeof((*s)->use->waits));
    }
    return run.hash;
}

static unsigned faults_seen, compared;

static void compare(const char *id, const char *client, struct ck_options options)
{
    uint64_t lean, full;

    options.trace = NULL;
    lean = digest(&options);
    faults_seen += run.faults;
    options.trace = look_on;
    full = digest(&options);
    compared++;
    EXPECT(lean == full, "%s, client %s, strategy %d, memory %d", id, client, options.strategy,
           options.memory);
}

static void compare_all(const char *id, const struct ll_lock_desc *lock,
                        const struct ll_client_desc *client)
{
    static const enum ck_strategy strategies[] = {CK_RANDOM, CK_PCT, CK_BOUNDED};
    struct ll_program_spec spec = {.lock = lock,
                                   .client = client,
                                   .threads = THREADS,
                                   .turns = 2,
                                   .writers = 2,
                                   .orders = LL_ORDER_BA << 2};
    struct ll_error err;

    EXPECT(!ll_program_init(&run.program, &spec, &err), "%s: %s", id, err.text);
    run.verdict = run.program.ck.verdict;
    run.program.ck.verdict = verdict;
    for (unsigned i = 0; i < 2 * sizeof(strategies) / sizeof(strategies[0]); i++)
        compare(id, client->name,
                (struct ck_options){.strategy = strategies[i / 2],
                                    .memory = i % 2 ? LL_MEMORY_TSO : LL_MEMORY_SC,
                                    .bound = 2,
                                    .giveups = 1,
                                    .races = true,
                                    .executions = EXECUTIONS,
                                    .first_relax_ends = client->first_relax_ends,
                                    .on_fault = on_fault,
                                    .seed = 1});
    ll_program_fini(&run.program);
}

int main(void)
{
    struct ll_lock_info info;
    struct ll_client_info client;

    for (size_t i = 0; !ll_lock_get(i, &info); i++) {
        const struct ll_lock_desc *lock = ll_lock_find(info.id, LL_VARIANT_VIRTUAL);
        for (size_t k = 0; lock && !ll_client_get(k, &client); k++) {
            const struct ll_client_desc *desc = ll_client_find(client.id, LL_VARIANT_VIRTUAL);
            if (ll_client_applies(desc, lock))
                compare_all(info.id, lock, desc);
        }
    }
    EXPECT(faults_seen > 0, "no fault was compared");
    printf("%u explorations compared, %u faults among them\n", compared, faults_seen);
    DONE();
}
