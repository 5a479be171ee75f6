/* SPDX-License-Identifier: MIT */
/* hooks_tmpl.h - the hooks of ww/, whose locks differ in `rule` alone. */
#pragma once

#include "locks/ww/inject_tmpl.h"

static const struct ww_rule rule; /* of the lock that includes this */

/* ---- for the mutex below ---- */

static int stop(struct mutex *l, struct mutex_wait *w, struct eng_term *term)
{
    return ww_stop((struct ww *)l, w->extra, term);
}

static void publish(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    const struct ww_call *call = w->extra;

    LL_UNUSED(n);
    if (call->ctx)
        ww_publish((struct ww *)l, call->ctx, rule);
}

static void insert(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    struct ww_context *ctx = ((const struct ww_call *)w->extra)->ctx;

    eng_write(&((struct ww_node *)n)->ctx, ctx);
    if (rule.insert)
        rule.insert((struct ww *)l, (struct ww_node *)n, ctx);
    else
        mutex_insert(l, n, NULL);
}

static int refuse(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    LL_UNUSED(n);
    return ww_refuse((struct ww *)l, w->extra, rule);
}

static void took(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    const struct ww_call *call = w->extra;

    LL_UNUSED(n);
    if (!call->ctx)
        return;
    ww_hold((struct ww *)l, call->ctx);
    rule.settle((struct ww *)l, call->ctx);
}

static const struct mutex_policy policy = {
    .owned = true,
    .stop = stop,
    .publish = publish,
    .insert = insert,
    .refuse = refuse,
    .took = took,
};

/* ---- slow paths ---- */

static LL_SLOW int wait(struct ww *l, struct ww_node *node, struct ww_context *ctx,
                        const struct ll_ww_wait *how)
{
    struct ww_call call = {.ctx = ctx};
    struct mutex_wait w = {
        .deadline_ns = how->deadline_ns, .interruptible = how->interruptible, .extra = &call};
    int ret = mutex_spin_then_sleep(&l->base, &node->base, &w, policy);

    if (ret == -EINTR)
        eng_count(LL_EV_ww_eintr);
    return ret;
}

static LL_SLOW void wake(struct ww *l)
{
    mutex_wake(&l->base);
}

static void release(void *lock, void *node)
{
    struct ww *l = lock;

    LL_UNUSED(node);
    ww_unhold(l);
    if (!mutex_leave(&l->base, policy))
        wake(l);
}

/* The context holds the lock: shall it be told to back off all the same? */
static LL_SLOW int inject(struct ww *l, struct ww_node *node, struct ww_context *ctx)
{
    if (!ww_injects(l, ctx))
        return 0;
    eng_count(LL_EV_ww_edeadlk_injected);
    ctx->injected++;
    release(l, node);
    ctx->contending_lock = l;
    return -EDEADLK;
}

/* ---- with a context ---- */

static int acquire_ww(void *lock, void *node, void *context, const struct ll_ww_wait *how)
{
    struct ww *l = lock;
    struct ww_context *ctx = context;
    int ret;

    if (rule.begin && !eng_read(&ctx->acquired))
        rule.begin(ctx);
    mutex_sign(node);
    if (mutex_enter(&l->base)) {
        ww_publish(l, ctx, rule);
        mutex_set_owner(&l->base, policy);
    } else if ((ret = wait(l, node, ctx, how))) {
        return ret;
    }
    return LL_LIKELY(l->inject == WW_INJECT_OFF) ? 0 : inject(l, node, ctx);
}

/* Holds nothing, so nothing can be refused, but for injection with inject_min_acquired=1. In its form
 * that waits for ever it has no way to say so, as it once had none. */
static int acquire_ww_slow(void *lock, void *node, void *context, const struct ll_ww_wait *how)
{
    int ret = acquire_ww(lock, node, context, how);

    if (ret == -EDEADLK) {
        eng_count(LL_EV_ww_slow_unheld);
        if (!how->interruptible && !how->deadline_ns)
            return 0;
    }
    return ret;
}

static void context_init(void *ctx, void *ww_class)
{
    ww_context_init(ctx, ww_class);
}

static void acquire_done(void *context)
{
    struct ww_context *ctx = context;

    ctx->done = true;
}

static void context_fini(void *ctx)
{
    LL_UNUSED(ctx);
}

static uint64_t age(const void *ctx)
{
    return ww_age((struct ww_context *)ctx); /* only read */
}

/* ---- without ---- */

static int acquire_until(void *lock, void *node, uint64_t deadline_ns)
{
    struct ll_ww_wait how = {.interruptible = true, .deadline_ns = deadline_ns};
    struct ww *l = lock;

    mutex_sign(node);
    if (!mutex_enter(&l->base))
        return wait(l, node, NULL, &how);
    mutex_set_owner(&l->base, policy);
    return 0;
}

static void acquire(void *lock, void *node)
{
    static const struct ll_ww_wait for_ever = {0};
    struct ww *l = lock;

    mutex_sign(node);
    if (mutex_enter(&l->base))
        mutex_set_owner(&l->base, policy);
    else
        wait(l, node, NULL, &for_ever);
}

static bool try_acquire(void *lock, void *node)
{
    LL_UNUSED(node);
    return mutex_try(lock, policy);
}

/* ---- the descriptor ---- */

static int init(void *lock, const struct ll_topology *topo)
{
    LL_UNUSED(topo);
    return mutex_init(lock);
}

#define WW_PARAMETERS                                                                              \
    {                                                                                              \
        "ww_parameters", offsetof(struct ww, publish),                                             \
            sizeof(struct ww) - offsetof(struct ww, publish)                                       \
    }

static const struct ll_field kernel_fields[] = {
    LL_FIELD(struct mutex, count),
    MUTEX_FIELDS(packed),
    {"ctx", offsetof(struct mutex, packed_extra), sizeof(void *)},
    MUTEX_PARAM_FIELD,
    WW_PARAMETERS,
    LL_FIELD_END,
};
static const struct ll_field split_fields[] = {
    LL_FIELD(struct mutex, count),
    MUTEX_PARAM_FIELD,
    MUTEX_FIELDS(split),
    {"ctx", offsetof(struct mutex, split_extra), sizeof(void *)},
    WW_PARAMETERS,
    LL_FIELD_END,
};
static const struct ll_field node_fields[] = {
    MUTEX_NODE_FIELDS,
    MUTEX_SPIN_NODE_FIELDS,
    LL_FIELD(struct ww_node, ctx),
    LL_FIELD_END,
};
static const struct ll_field class_fields[] = {
    LL_FIELD(struct ww_class, stamp),
    LL_FIELD_END,
};
static const struct ll_field context_fields[] = {
    LL_FIELD(struct ww_context, task),
    LL_FIELD(struct ww_context, stamp),
    LL_FIELD(struct ww_context, acquired),
    LL_FIELD(struct ww_context, wounded),
    LL_FIELD_END,
};

static const struct ll_field *fields_of(const void *lock)
{
    return ((const struct mutex *)lock)->layout == MUTEX_SPLIT ? split_fields : kernel_fields;
}

#define WW_DESCRIPTION                                                                             \
    .kind = LL_KIND_WW, .lock_size = sizeof(struct ww), .node_size = sizeof(struct ww_node),       \
    .class_size = sizeof(struct ww_class), .context_size = sizeof(struct ww_context),              \
    .claims = LL_PARKS, .init = init,                                                              \
    .ops = {.acquire = acquire,                                                                    \
            .release = release,                                                                    \
            .try_acquire = try_acquire,                                                            \
            .acquire_until = acquire_until},                                                       \
    .ww = {.context_init = context_init,                                                           \
           .acquire_done = acquire_done,                                                           \
           .context_fini = context_fini,                                                           \
           .acquire = acquire_ww,                                                                  \
           .acquire_slow = acquire_ww_slow,                                                        \
           .age = age},                                                                            \
    .waiters = mutex_waiters, .lock_fields = kernel_fields, .fields_of = fields_of,                \
    .node_fields = node_fields, .class_fields = class_fields, .context_fields = context_fields,    \
    .params = params
