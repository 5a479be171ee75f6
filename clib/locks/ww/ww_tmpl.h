/* SPDX-License-Identifier: MIT */
/* ww_tmpl.h - mutexes that a transaction takes in any order; who of two that collide backs off is
 * decided by their age.
 *
 * Shared by ww/. A lock is a mutex (../mutex/) and, in its `extra`, the context of its holder.
 *
 * CONTEXT. One transaction of one thread. Its stamp is drawn from the class when it begins and kept
 * when it has to start anew, so it ages, and the oldest gets all it wants in the end. Only its own
 * thread writes to it (but for `wounded`). Others come upon it in a lock: they may look at it with
 * that lock's wait_lock, after they saw or made the count negative. The holder takes its context out
 * before it releases; with a negative count the release has to come for wait_lock, so it is not over
 * while somebody looks.
 *
 * TO TELL SLEEPERS. They decide by the context of the holder whether they may go on waiting. So
 * whoever gets a lock that others sleep on has to see to it that they decide anew (`settle`). A
 * holder that came in by way of the list has wait_lock. Others do
 *
 *     holder (publish)               sleeper
 *     context into the lock          count negative, record into the list
 *     full fence                     full fence
 *     looks at count, at the list    looks at the context
 *
 * and one of the two sees the other. To look at the count alone is not enough: after a slow release
 * has stored 1, until the thread that it woke has looked, the count is 1 or 0 with sleepers in the
 * list.
 */
#pragma once

#include "locks/mutex/spin_tmpl.h"

struct ww;

struct ww_class {
    eng_u64 stamp; /* the one drawn last; the first context gets 1 */
};

struct ww_context {
    eng_plain(struct eng_thread *) task;
    eng_plain(uint64_t) stamp;
    eng_plain(uint32_t) acquired; /* locks held through this context */
    eng_u32 wounded;              /* an older one wants a lock of ours */
    /* of its thread alone */
    bool done;
    struct ww_class *of;
    struct ww
        *contending_lock; /* that -EDEADLK was returned for; NULL again once one is acquired */
    uint32_t inject_interval, inject_countdown, injected;
};

enum ww_publish { WW_PUBLISH_LIST, WW_PUBLISH_COUNT };

struct ww {
    struct mutex base; /* first: its parameters are ours */
    uint32_t publish;  /* enum ww_publish */
    uint32_t inject;   /* enum ww_inject */
    uint32_t inject_min_acquired, inject_cap;
    double inject_p;
};

struct ww_node {
    struct mutex_node base;             /* first */
    eng_plain(struct ww_context *) ctx; /* of the thread in the list; NULL: none */
};

/* What one call hands to its hooks, as `extra` of its struct mutex_wait. */
struct ww_call {
    struct ww_context *ctx; /* NULL: a plain mutex */
    bool slept;
};

/* The rule; constant, so that it folds away. All but `begin` with wait_lock. */
struct ww_rule {
    void (*begin)(struct ww_context *ctx); /* optional: nothing is held, a lock is asked for */
    void (*insert)(struct ww *l, struct ww_node *n,
                   struct ww_context *ctx); /* optional: at the end */
    /* `ctx` holds something and wants this lock of `holder` (NULL: of nobody with a context). 0: it may
     * wait; or -EDEADLK */
    int (*refuse)(struct ww *l, struct ww_context *ctx, struct ww_context *holder);
    /* `ctx` has become the holder: for those in the list */
    void (*settle)(struct ww *l, struct ww_context *ctx);
};

/* Is `a` younger than `b`? Right also when the class has gone through all of its stamps. Two of the
 * same stamp, which only somebody who meddles can have: by address. */
LL_TEMPLATE bool ww_younger(struct ww_context *a, struct ww_context *b)
{
    uint64_t distance = eng_read(&a->stamp) - eng_read(&b->stamp);

    return distance <= INT64_MAX && (distance || a > b);
}

LL_TEMPLATE void ww_context_init(struct ww_context *ctx, struct ww_class *of)
{
    uint64_t stamp = eng_add_rlx(&of->stamp, 1) + 1; /* rlx: all that counts is that it is unique */

    eng_write(&ctx->task, eng_self());
    eng_write(&ctx->stamp, stamp);
    eng_write(&ctx->acquired, 0);
    ctx->done = false;
    ctx->of = of;
    ctx->contending_lock = NULL;
    ctx->inject_interval = 1;
    ctx->inject_countdown = (uint32_t)(stamp % 16);
    ctx->injected = 0;
}

/* The context of the holder; NULL: none. acq: pairs with ww_hold, for the stamp. */
LL_TEMPLATE struct ww_context *ww_holder(struct ww *l)
{
    return eng_load_acq(l->base.extra);
}

/* The lock is ours; from here on others find the context. */
LL_TEMPLATE void ww_hold(struct ww *l, struct ww_context *ctx)
{
    eng_write(&ctx->acquired, eng_read(&ctx->acquired) + 1);
    ctx->contending_lock = NULL;
    eng_store_rel(l->base.extra, ctx); /* pairs with ww_holder */
}

LL_TEMPLATE void ww_unhold(struct ww *l)
{
    struct ww_context *ctx = eng_load_rlx(l->base.extra); /* rlx: our own, or NULL */

    if (!ctx)
        return;
    eng_write(&ctx->acquired, eng_read(&ctx->acquired) - 1);
    eng_store_rlx(l->base.extra, NULL); /* comes before the release of count */
}

/* Does somebody sleep on a lock that we have just got? */
LL_TEMPLATE bool ww_has_sleepers(struct ww *l)
{
    if (eng_load_rlx(&l->base.count) != 0)
        return true;
    return l->publish == WW_PUBLISH_LIST && eng_load_rlx(&l->base.list->first);
}

LL_TEMPLATE_SLOW void ww_settle(struct ww *l, struct ww_context *ctx, struct ww_rule rule)
{
    waitlock_acquire(l->base.wait_lock, l->base.waitlock_spin);
    rule.settle(l, ctx);
    waitlock_release(l->base.wait_lock);
}

/* Acquired without wait_lock, and `owner` is not set yet. */
LL_TEMPLATE void ww_publish(struct ww *l, struct ww_context *ctx, struct ww_rule rule)
{
    eng_sync_point("ww.before_publish");
    ww_hold(l, ctx);
    /* the context must not be seen only after we have looked for sleepers; pairs with ww_refuse */
    eng_fence_full();
    if (LL_UNLIKELY(ww_has_sleepers(l)))
        ww_settle(l, ctx, rule);
    eng_sync_point("ww.published");
}

/* In the list, and not acquired: 0: sleep; else why not to. */
LL_TEMPLATE int ww_refuse(struct ww *l, struct ww_call *call, struct ww_rule rule)
{
    struct ww_context *ctx = call->ctx, *holder;
    int ret = 0;

    if (ctx && eng_read(&ctx->acquired)) {
        /* our record must not be seen only after we have looked; pairs with ww_publish */
        eng_fence_full();
        holder = ww_holder(l);
        ret = holder == ctx ? -EALREADY : rule.refuse(l, ctx, holder);
    }
    if (ret == -EALREADY) {
        eng_count(LL_EV_ww_ealready);
    } else if (ret) {
        eng_count(LL_EV_ww_edeadlk_real);
        ctx->contending_lock = l;
    } else if (call->slept) {
        eng_count(LL_EV_ww_useless_wake);
    }
    call->slept = true;
    return ret;
}

/* Each time around a spinner looks whether waiting may be settled by age: only sleepers can tell.
 * -1: it may. 1: it may once *stop holds. */
LL_TEMPLATE int ww_stop(struct ww *l, const struct ww_call *call, struct eng_term *stop)
{
    if (!call->ctx || !eng_read(&call->ctx->acquired))
        return 0;
    if (eng_load_rlx(l->base.extra)) /* rlx: looked at, not into */
        return -1;
    *stop = eng_term_ne_rlx(l->base.extra, NULL);
    return 1;
}

LL_TEMPLATE uint64_t ww_age(struct ww_context *ctx)
{
    return eng_load_rlx(&ctx->of->stamp) - eng_read(&ctx->stamp);
}

/* ---- parameters ---- */

static const char *const ww_inject_names[]
    __attribute__((unused)) = {"off", "backoff", "fixed", NULL};
static const char *const ww_publish_names[] __attribute__((unused)) = {"list", "count", NULL};

#define WW_PARAM_PUBLISH                                                                           \
    {                                                                                              \
        .name = "publish",                                                                         \
        .help = "a new holder looks for sleepers in the list, too, or at the count alone, which "  \
                "deadlocks",                                                                       \
        .type = LL_PARAM_ENUM, .offset = offsetof(struct ww, publish), .max = 1,                   \
        .names = ww_publish_names                                                                  \
    }
#define WW_PARAMS                                                                                  \
    {.name = "inject",                                                                             \
     .help = "contexts are told to back off without need: in growing intervals, or by chance",     \
     .type = LL_PARAM_ENUM,                                                                        \
     .offset = offsetof(struct ww, inject),                                                        \
     .max = 2,                                                                                     \
     .names = ww_inject_names},                                                                    \
        {.name = "inject_p",                                                                       \
         .help = "inject=fixed: the chance of each acquisition",                                   \
         .type = LL_PARAM_REAL,                                                                    \
         .offset = offsetof(struct ww, inject_p),                                                  \
         .def = 0.1,                                                                               \
         .max = 1},                                                                                \
        {.name = "inject_cap",                                                                     \
         .unit = "back-offs",                                                                      \
         .help = "inject=fixed: a context is told so at most so often; 0: no bound",               \
         .type = LL_PARAM_UINT,                                                                    \
         .offset = offsetof(struct ww, inject_cap),                                                \
         .def = 100000,                                                                            \
         .max = 4e9},                                                                              \
    {                                                                                              \
        .name = "inject_min_acquired", .unit = "locks",                                            \
        .help = "only a context that holds so many with the new one; 1 makes acquire_slow fail",   \
        .type = LL_PARAM_UINT, .offset = offsetof(struct ww, inject_min_acquired), .def = 2,       \
        .min = 1, .max = 2                                                                         \
    }

/* Those of mutex/mcs. */
#define WW_BASE_PARAMS                                                                             \
    MUTEX_PARAM_GATE(false), MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEHIND),                           \
        MUTEX_PARAM_OWNER_FORM(MUTEX_QUIT), MUTEX_PARAM_PRELOAD(true),                             \
        MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NEG), MUTEX_PARAM_QUEUE(MUTEX_QUEUE_MCS),               \
        MUTEX_PARAM_PRECHECK(true), MUTEX_SPIN_PARAMS, MUTEX_PARAMS
