/* SPDX-License-Identifier: MIT */
/* virtual_mutex_rmw.c - RMWs on the counter of each mutex, by address, failed ones included.
 *
 * Uncontended: one to acquire, one to release. Contended: the holder T0 releases when T1 is about to
 * sleep, which has stopped to spin because the owner does not run or because it should yield; from
 * T1's call to its first park, and to its return. Exactly so in every interleaving.
 */
#define ENG_VIRTUAL /* the bodies below run on the checker's fibers */
#include <stdio.h>

#include "check/program.h"
#include "core/registry.h"
#include "expect.h"
#include "locks/mutex/mutex_tmpl.h"

static struct {
    const char *id;
    const void *count; /* address of the counter */
    unsigned rmw[2];   /* by thread, since it was set to 0 */
    unsigned to_park, to_return, acquires, releases;
    bool has_parked;
    unsigned ended; /* executions */
} seen;

static void trace(void *arg, const struct ck_happening *h)
{
    unsigned thread = h ? (unsigned)h->choice % CK_THREADS : 0;

    LL_UNUSED(arg);
    if (!h)
        return;
    if (h->kind == CK_PARK && thread == 1 && !seen.has_parked) {
        seen.has_parked = true;
        seen.to_park = seen.rmw[1];
    }
    if (h->kind == CK_ACCESS && h->addr == seen.count && h->access != VT_LOAD &&
        h->access != VT_STORE)
        seen.rmw[thread]++;
}

static void alone(struct ll_client *c, uint32_t thread)
{
    seen.rmw[0] = 0;
    c->lock->ops.acquire(c->instance, c->node[thread]);
    seen.acquires = seen.rmw[0];
    c->lock->ops.release(c->instance, c->node[thread]);
    seen.releases = seen.rmw[0] - seen.acquires;
    seen.ended++;
}

static void hold(struct ll_client *c)
{
    struct mutex *l = c->instance;

    c->lock->ops.acquire(l, c->node[0]);
    eng_store_rel(&c->baton, 1);
    eng_await_ne_rlx(&l->list->first, NULL);
    eng_await_eq_acq(eng_half(l->wait_lock, WAITLOCK_SERVING), 1); /* T1 has let go of it */
    c->lock->ops.release(l, c->node[0]);
}

static void contended(struct ll_client *c, uint32_t thread)
{
    if (thread == 0) {
        hold(c);
        return;
    }
    eng_await_eq_acq(&c->baton, 1);
    seen.rmw[1] = 0;
    seen.has_parked = false;
    c->lock->ops.acquire(c->instance, c->node[1]);
    seen.to_return = seen.rmw[1];
    c->lock->ops.release(c->instance, c->node[1]);
    seen.ended++;
}

static bool on_fault(void *arg)
{
    struct ck_last last;

    LL_UNUSED(arg);
    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults; i++)
        EXPECT(false, "%s: %s: %s", seen.id, last.fault[i].kind, last.fault[i].text);
    return false;
}

static uint64_t play(const char *id, void (*body)(struct ll_client *, uint32_t), uint32_t threads,
                     const struct ll_setting *settings, size_t n)
{
    const struct ll_client_desc client = {
        .name = "rmw", .kind = LL_KIND_EXCLUSIVE, .body = body, .verdict = NULL};
    struct ll_program_spec spec = {.lock = ll_lock_find(id, LL_VARIANT_VIRTUAL),
                                   .client = &client,
                                   .threads = threads,
                                   .turns = 1,
                                   .settings = settings,
                                   .n_settings = n};
    struct ck_options options = {.strategy = CK_DFS,
                                 .memory = LL_MEMORY_TSO,
                                 .giveups = 1,
                                 .races = true,
                                 .trace = trace,
                                 .on_fault = on_fault};
    struct ll_program program;
    struct ck_report report;

    LL_ASSERT(spec.lock);
    LL_ASSERT(ll_program_init(&program, &spec, NULL) == 0);
    seen.id = id;
    seen.count = &((struct mutex *)program.client->instance)->count;
    seen.ended = 0;
    LL_ASSERT(ck_explore(&program.ck, &options, &report) == 0);
    EXPECT(report.wholly && report.executions >= 1 && seen.ended >= report.executions,
           "%s: %llu executions, %u ended", id, (unsigned long long)report.executions, seen.ended);
    ll_program_fini(&program);
    return report.executions;
}

static const struct {
    const char *id;
    unsigned to_park, to_return;
} known[] = {
    {"mutex/nospin", 3, 4},     {"mutex/v9", 3, 4},  {"mutex/v10", 3, 4},
    {"mutex/v10-nowait", 3, 4}, {"mutex/3.7", 3, 4}, {"mutex/count-check", 1, 2},
    {"mutex/mcs", 1, 2},        {"mutex/osq", 1, 2}, {"mutex/appspin", 516, 517},
};

int main(void)
{
    static const char *const layout[] = {"kernel", "split"};

    for (size_t i = 0; i < 2 * sizeof(known) / sizeof(known[0]); i++) {
        const struct ll_setting settings[] = {{"layout", layout[i % 2]}, {"spin_rounds", "512"}};
        const char *id = known[i / 2].id;
        size_t n = known[i / 2].to_park > 100 ? 2 : 1;
        uint64_t executions;

        play(id, alone, 1, settings, n);
        EXPECT(seen.acquires == 1 && seen.releases == 1, "%s: %u to acquire, %u to release", id,
               seen.acquires, seen.releases);
        executions = play(id, contended, 2, settings, n);
        EXPECT(seen.to_park == known[i / 2].to_park && seen.to_return == known[i / 2].to_return,
               "%s: %u to the first park, %u to the return", id, seen.to_park, seen.to_return);
        printf("%-18s %-6s uncontended %u + %u, contended %3u to the first park, %3u to the "
               "return, %llu executions\n",
               id, layout[i % 2], seen.acquires, seen.releases, seen.to_park, seen.to_return,
               (unsigned long long)executions);
    }
    DONE();
}
