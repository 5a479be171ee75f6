/* SPDX-License-Identifier: MIT */
/* wait-die - a mutex with contexts: the older one waits, the younger one backs off
 *
 * Idea     Of two transactions that collide, the one that began earlier waits for the other, which
 *          can then only wait for older ones in turn: no circle. A younger one that wants a lock of
 *          an older one releases all it holds, waits for that lock with empty hands, and begins anew
 *          with its old stamp. Nobody is interrupted: who asks is who dies.
 * Lines    mutex/mcs, and the holder's context beside the count: a store each to acquire and to
 *          release, and a full fence (the third locked operation of an uncontended section). The
 *          stamp of the class is one RMW for each transaction. Who gets a lock that others sleep
 *          on wakes all of them, and most go to sleep again.
 * Order    By stamp: the oldest context is never told to back off. Among those that wait, as
 *          mutex/mcs: none. release: add-rel on `count`, or store-rel of 1 under wait_lock; pairs
 *          with sub-acq, cas-acq, xchg-acq there. Context: store-rel, pairs with load-acq of it;
 *          full fences on both sides, see ww_tmpl.h.
 * Origin   The mutexes of Linux 3.11 (2013) whose documentation calls the rule wait/wound; in the
 *          literature on databases (Rosenkrantz, Stearns and Lewis 1978) it is wait-die. From a
 *          description in prose.
 * Differs  As mutex/mcs. publish=list is ours: publish=count, where a new holder asks the count alone
 *          whether somebody sleeps, is what was published, and deadlocks with four transactions on
 *          two locks (docs/WW.md).
 */
#include "locks/ww/hooks_tmpl.h"

static int die(struct ww *l, struct ww_context *ctx, struct ww_context *holder)
{
    LL_UNUSED(l);
    return holder && ww_younger(ctx, holder) ? -EDEADLK : 0;
}

/* Who could wait for the last holder may have to die now. */
static void wake_all(struct ww *l, struct ww_context *ctx)
{
    struct mutex_node *n = eng_load_rlx(&l->base.list->first);

    LL_UNUSED(ctx);
    if (n)
        eng_count(LL_EV_ww_wake_all_calls);
    for (; n; n = eng_read(&n->next)) {
        eng_count(LL_EV_ww_wake_all_woken);
        eng_unpark(eng_read(&n->task));
    }
}

static const struct ww_rule rule = {.refuse = die, .settle = wake_all};

static const struct ll_param params[] = {WW_PARAM_PUBLISH, WW_PARAMS, WW_BASE_PARAMS, LL_PARAM_END};

static const struct ll_expect expect[] = {
    {.client = "ww", .verdict = "none-found", .setting = "publish=list"},
    {.client = "ww", .verdict = "deadlock", .setting = "publish=count"}, /* 4 threads */
    LL_EXPECT_END,
};

LL_LOCK(ww_wait_die) = {
    .name = "wait-die",
    .family = "ww",
    .summary =
        "mutex with contexts: of two that collide the older one waits, the younger backs off",
    .origin = "Linux 3.11, wound/wait mutex",
    WW_DESCRIPTION,
    .expect = expect,
};
