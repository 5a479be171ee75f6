/* SPDX-License-Identifier: MIT */
/* hooks_tmpl.h - the hooks of the mutexes that spin on the owner, which differ in parameters alone. */
#pragma once

#include "locks/mutex/spin_tmpl.h"

static const struct mutex_policy policy = {.owned = true};

static LL_SLOW void wait(struct mutex *l, void *node)
{
    mutex_spin_then_sleep(l, node, &(struct mutex_wait){0}, policy);
}

static LL_SLOW int wait_until(struct mutex *l, void *node, uint64_t deadline_ns)
{
    struct mutex_wait w = {.deadline_ns = deadline_ns, .interruptible = true};

    return mutex_spin_then_sleep(l, node, &w, policy);
}

static LL_SLOW void wake(struct mutex *l)
{
    mutex_wake(l);
}

static void acquire(void *lock, void *node)
{
    mutex_sign(node);
    if (mutex_enter(lock))
        mutex_set_owner(lock, policy);
    else
        wait(lock, node);
}

static int acquire_until(void *lock, void *node, uint64_t deadline_ns)
{
    mutex_sign(node);
    if (!mutex_enter(lock))
        return wait_until(lock, node, deadline_ns);
    mutex_set_owner(lock, policy);
    return 0;
}

static bool try_acquire(void *lock, void *node)
{
    LL_UNUSED(node);
    return mutex_try(lock, policy);
}

static void release(void *lock, void *node)
{
    LL_UNUSED(node);
    if (!mutex_leave(lock, policy))
        wake(lock);
}

static int init(void *lock, const struct ll_topology *topo)
{
    LL_UNUSED(topo);
    return mutex_init(lock);
}

static const struct ll_field *fields_of(const void *lock)
{
    return mutex_fields_of(lock);
}

static const struct ll_field node_fields[] = {MUTEX_NODE_FIELDS, MUTEX_SPIN_NODE_FIELDS,
                                              LL_FIELD_END};

#define MUTEX_DESCRIPTION                                                                          \
    .kind = LL_KIND_EXCLUSIVE, .lock_size = sizeof(struct mutex),                                  \
    .node_size = sizeof(struct mutex_node), .claims = LL_PARKS, .init = init,                      \
    .ops = {.acquire = acquire,                                                                    \
            .release = release,                                                                    \
            .try_acquire = try_acquire,                                                            \
            .acquire_until = acquire_until},                                                       \
    .waiters = mutex_waiters, .lock_fields = mutex_kernel_fields, .fields_of = fields_of,          \
    .node_fields = node_fields, .params = params
