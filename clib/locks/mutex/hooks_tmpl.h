/* SPDX-License-Identifier: MIT */
/* hooks_tmpl.h - the hooks of mutex/, whose locks differ in `policy` and parameters. Those that spin on
 * the owner have their policy, too, from owner_tmpl.h.
 */
#pragma once

#include "locks/mutex/mutex_tmpl.h"

static const struct mutex_policy policy; /* of the lock that includes this */

static inline bool begins(struct mutex *l)
{
    return policy.tries ? mutex_grab(l) : mutex_enter(l);
}

/* Two, for what is said of a wait must not need room on the stack of a fast path. */
static LL_SLOW void wait(struct mutex *l, void *node)
{
    policy.contend(l, node, &(struct mutex_wait){0});
}

static LL_SLOW int wait_until(struct mutex *l, void *node, uint64_t deadline_ns)
{
    struct mutex_wait w = {.deadline_ns = deadline_ns, .interruptible = true};

    return policy.contend(l, node, &w);
}

static LL_SLOW void wake(struct mutex *l)
{
    mutex_wake(l);
}

static void acquire(void *lock, void *node)
{
    mutex_sign(node);
    if (begins(lock))
        mutex_set_owner(lock, policy);
    else
        wait(lock, node);
}

static int acquire_until(void *lock, void *node, uint64_t deadline_ns)
{
    mutex_sign(node);
    if (!begins(lock))
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
    if (!policy.owned)
        mutex_unsign(node);
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

#define MUTEX_DESCRIPTION                                                                          \
    .kind = LL_KIND_EXCLUSIVE, .lock_size = sizeof(struct mutex),                                  \
    .node_size = sizeof(struct mutex_node), .claims = LL_PARKS, .init = init,                      \
    .ops = {.acquire = acquire,                                                                    \
            .release = release,                                                                    \
            .try_acquire = try_acquire,                                                            \
            .acquire_until = acquire_until},                                                       \
    .waiters = mutex_waiters, .lock_fields = mutex_kernel_fields, .fields_of = fields_of,          \
    .node_fields = node_fields, .params = params
