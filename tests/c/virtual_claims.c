/* SPDX-License-Identifier: MIT */
/* virtual_claims.c - locks that promise what they do not keep, or wait by hand, and the verdicts on them.
 */
#define ENG_VIRTUAL /* the locks below run on the checker's fibers */
#include <string.h>

#include "core/lock.h"
#include "core/registry.h"
#include "expect.h"

struct word {
    eng_u32 held;
};

static const struct ll_field fields[] = {LL_FIELD(struct word, held), LL_FIELD_END};

static void acquire_by_hand(void *lock, void *node)
{
    struct word *l = lock;

    LL_UNUSED(node);
    while (!eng_cas_acq(&l->held, 0, 1))
        while (eng_load_rlx(&l->held))
            ;
}

static void acquire(void *lock, void *node)
{
    struct word *l = lock;

    LL_UNUSED(node);
    while (!eng_cas_acq(&l->held, 0, 1))
        eng_relax();
}

/* What fails at the doorway does not come back to it. */
static void acquire_past_doorway(void *lock, void *node)
{
    struct word *l = lock;

    if (!eng_doorway(eng_cas_acq(&l->held, 0, 1))) {
        eng_relax();
        acquire(lock, node);
    }
}

static void release(void *lock, void *node)
{
    struct word *l = lock;

    LL_UNUSED(node);
    eng_store_rel(&l->held, 0);
}

#define LOCK(name_, acquire_, claims_)                                                             \
    {                                                                                              \
        .name = name_, .family = "test", .summary = "", .origin = "",                              \
        .lock_size = sizeof(struct word), .claims = claims_,                                       \
        .ops = {.acquire = acquire_, .release = release}, .lock_fields = fields                    \
    }

static const struct ll_lock_desc locks[] = {
    LOCK("by-hand", acquire_by_hand, 0),
    LOCK("honest", acquire, 0),
    LOCK("no-doorway", acquire, LL_FIFO),
    LOCK("past-doorway", acquire_past_doorway, LL_FIFO),
    LOCK("starves", acquire, LL_STARVATION_FREE),
};

/* The verdict on threads x n; its faults are of this kind alone, NULL: there are none. */
static void judge(const char *lock, uint32_t threads, uint32_t n, enum ll_strategy strategy,
                  enum ll_verdict verdict, const char *kind, const char *reason)
{
    struct ll_check_plan plan;
    const struct ll_check_result *r;
    struct ll_error err = {.text = ""};
    struct ll_check *c;

    ll_check_plan_init(&plan);
    plan.lock = lock;
    plan.threads = threads;
    plan.n = n;
    plan.strategy = strategy;
    plan.seconds = 60;
    plan.budget = 2000;
    EXPECT(ll_check_start(&plan, &c, &err) == 0, "%s", err.text);
    while (ll_check_wait(c, 1))
        ;
    EXPECT(ll_check_result(c, &r) == 0);
    EXPECT(r->verdict == verdict, "%s, strategy %d: verdict %d, %s", lock, strategy, r->verdict,
           r->reason);
    EXPECT(!reason || strstr(r->reason, reason), "%s: %s", lock, r->reason);
    EXPECT(!r->exhaustive || verdict == LL_NONE_FOUND || kind);
    EXPECT((r->n_faults > 0) == (kind != NULL), "%s: %u faults", lock, r->n_faults);
    for (uint32_t i = 0; i < r->n_faults; i++)
        EXPECT(!strcmp(r->fault[i].kind, kind), "%s: %s", lock, r->fault[i].text);
    ll_check_unref(c);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        const struct ll_lock_desc *row[LL_VARIANTS] = {
            [LL_VARIANT_NATIVE] = &locks[i], [LL_VARIANT_VIRTUAL] = &locks[i]};
        EXPECT(ll_registry_add(row) == 0);
    }
    /* a loop that waits by hand makes executions without end: nothing was explored wholly */
    judge("test/by-hand", 2, 1, LL_STRATEGY_DFS, LL_INCONCLUSIVE, NULL, "virtual_claims.c:");
    judge("test/by-hand", 3, 1, LL_STRATEGY_AUTO, LL_INCONCLUSIVE, NULL, "without eng_await");
    /* most random executions of so many turns are cut: no verdict */
    judge("test/honest", 8, 64, LL_STRATEGY_RANDOM, LL_INCONCLUSIVE, NULL, "turns are too many");
    judge("test/honest", 2, 3, LL_STRATEGY_DFS, LL_NONE_FOUND, NULL, NULL);
    judge("test/no-doorway", 2, 1, LL_STRATEGY_DFS, LL_FAULT, "fifo", NULL);
    judge("test/past-doorway", 2, 1, LL_STRATEGY_DFS, LL_FAULT, "fifo", NULL);
    judge("test/starves", 2, 3, LL_STRATEGY_DFS, LL_FAULT, "starvation", NULL);
    DONE();
}
