/* SPDX-License-Identifier: MIT */
/* virtual_downgrade.c - writers that downgrade, every interleaving: nobody writes in between, nobody
 * is stranded but where that is announced.
 *
 * No client of the library downgrades, since few locks can; so this one stands here.
 */
#define ENG_VIRTUAL /* the body below runs on the checker's fibers */
#include <stdio.h>
#include <string.h>

#include "check/program.h"
#include "clients/counters.h"
#include "core/registry.h"
#include "expect.h"

#define THREADS 3u

struct setting {
    const char *steal, *check_first, *mode; /* mode NULL: the lock has none */
};

static void body(struct ll_client *c, uint32_t thread)
{
    uint64_t written;

    if (thread >= c->writers) {
        counters_shared_turn(c, thread);
        return;
    }
    eng_mark(ENG_ACQUIRING, false);
    c->lock->ops.acquire(c->instance, c->node[thread]);
    counters_section(c, thread);
    written = eng_read(&c->first);
    c->lock->shared.downgrade(c->instance, c->node[thread]);
    eng_mark(ENG_ENTERED, true);
    if (eng_read(&c->first) != written) /* somebody else wrote */
        c->torn[thread]++;
    counters_look(c, thread);
    eng_mark(ENG_LEAVING, true);
    c->lock->shared.release_shared(c->instance, c->node[thread]);
    eng_mark(ENG_OUTSIDE, true);
}

static const struct ll_client_desc client = {
    .name = "downgrade", .kind = LL_KIND_SHARED, .body = body, .verdict = counters_verdict};

struct seen {
    const char *lock;
    unsigned stranded;
};

static bool on_fault(void *arg)
{
    struct seen *seen = arg;
    struct ck_last last;

    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults; i++)
        if (!strcmp(last.fault[i].kind, "stranded"))
            seen->stranded++;
        else
            EXPECT(false, "%s: %s: %s", seen->lock, last.fault[i].kind, last.fault[i].text);
    return false;
}

/* Number of executions that left somebody stranded. */
static unsigned explore(const char *id, uint32_t writers, enum ll_memory memory, struct setting s)
{
    const struct ll_setting settings[] = {
        {"steal", s.steal}, {"check_first", s.check_first}, {"mode", s.mode}};
    struct ll_program_spec spec = {.lock = ll_lock_find(id, LL_VARIANT_VIRTUAL),
                                   .client = &client,
                                   .threads = THREADS,
                                   .turns = 1,
                                   .writers = writers,
                                   .settings = settings,
                                   .n_settings = s.mode ? 3 : 2};
    struct seen seen = {.lock = id};
    struct ck_options options = {.strategy = CK_DFS,
                                 .memory = memory,
                                 .giveups = 1,
                                 .races = true,
                                 .on_fault = on_fault,
                                 .on_fault_arg = &seen};
    struct ll_program program;
    struct ck_report report;
    struct ll_error error;

    LL_ASSERT(spec.lock && spec.lock->shared.downgrade);
    LL_ASSERT(ll_program_init(&program, &spec, &error) == 0);
    EXPECT(ck_explore(&program.ck, &options, &report) == 0, "%s", id);
    EXPECT(report.wholly && report.executions > 100 && report.waits > 100,
           "%s: %lu executions, %lu waits", id, (unsigned long)report.executions,
           (unsigned long)report.waits);
    ll_program_fini(&program);
    return seen.stranded;
}

static void every_setting(const char *id, const char *mode, bool strands)
{
    unsigned stranded = 0;

    for (unsigned i = 0; i < 8; i++)
        for (uint32_t writers = 1; writers <= THREADS; writers++)
            stranded += explore(id, writers, i & 1 ? LL_MEMORY_SC : LL_MEMORY_TSO,
                                (struct setting){i & 2 ? "slow" : "fast", i & 4 ? "1" : "0", mode});
    EXPECT((stranded != 0) == strands, "%s%s%s: %u stranded", id, mode ? " " : "", mode ? mode : "",
           stranded);
}

int main(void)
{
    every_setting("rwsem/3.12", NULL, false);
    every_setting("rwsem/wakeup-flag", NULL, true);
    every_setting("rwsem/wakeup-flag-fixed", "clear-first", false);
    every_setting("rwsem/wakeup-flag-fixed", "retry", true);
    DONE();
}
