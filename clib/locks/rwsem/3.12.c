/* SPDX-License-Identifier: MIT */
/* 3.12 - sleeping reader-writer lock: a biased counter and a FIFO list of sleepers
 *
 * Idea     One counter says how many are active, whether one of them writes and whether anybody
 *          waits (rwsem_tmpl.h). Who brings the active part to 0 with waiters behind it takes
 *          wait_lock and wakes: all readers at the front, whom it counts in itself, or the one
 *          writer at the front, who then competes with those that come along.
 * Lines    Uncontended 1 RMW to enter, 1 to leave, on `count`. Everything else is on the same line:
 *          each release past a queue takes the ticket lock there, useful or not.
 * Order    Readers FIFO behind writers, but writers steal from the queue without bound. release:
 *          sub-rel on `count`, pairs with add-acq and cas-acq there; a waker's add-acq-rel and the
 *          store-rel of `task` hand it on to the readers, pairs with their load-acq.
 * Origin   The kernel's rwsem as it stood in Linux 3.12, from a description in prose; its wake-up
 *          was discussed on the Linux kernel mailing list in September and October 2013.
 * Differs  Records live in the threads' nodes, not on stacks; the list ends in NULL. Nothing is
 *          added to `count` when the sum is 0. wait_lock never disables interrupts or preemption;
 *          its waiters yield after `waitlock_spin` pauses instead.
 */
#include "locks/rwsem/rwsem_tmpl.h"

static const struct rwsem_policy policy = {.flag = false};

static LL_SLOW void wait_exclusive(void *lock, void *node)
{
    rwsem_wait_exclusive(lock, node, policy);
}

static LL_SLOW void wait_shared(void *lock, void *node)
{
    rwsem_wait_shared(lock, node, policy);
}

static LL_SLOW void wake_queue(void *lock)
{
    rwsem_wake_queue(lock, policy);
}

static LL_SLOW void wake_readers(void *lock)
{
    rwsem_wake_readers(lock, policy);
}

static void acquire(void *lock, void *node)
{
    if (LL_UNLIKELY(!rwsem_enter(lock)))
        wait_exclusive(lock, node);
}

static void release(void *lock, void *node)
{
    LL_UNUSED(node);
    if (rwsem_leave(lock, RWSEM_WRITE))
        wake_queue(lock);
}

static void acquire_shared(void *lock, void *node)
{
    if (LL_UNLIKELY(!rwsem_enter_shared(lock)))
        wait_shared(lock, node);
}

static void release_shared(void *lock, void *node)
{
    LL_UNUSED(node);
    if (rwsem_leave(lock, RWSEM_ACTIVE))
        wake_queue(lock);
}

static void downgrade(void *lock, void *node)
{
    LL_UNUSED(node);
    if (rwsem_keep_shared(lock))
        wake_readers(lock);
}

static const struct ll_field lock_fields[] = {
    LL_FIELD(struct rwsem, count),
    WAITLOCK_FIELDS(struct rwsem, wait_lock),
    LL_FIELD(struct rwsem, first),
    LL_FIELD(struct rwsem, last),
    /* parameters */
    LL_FIELD(struct rwsem, steal),
    LL_FIELD(struct rwsem, check_first),
    LL_FIELD(struct rwsem, waitlock_spin),
    LL_FIELD_END,
};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct rwsem_node, prev),
    LL_FIELD(struct rwsem_node, next),
    LL_FIELD(struct rwsem_node, type),
    LL_FIELD(struct rwsem_node, task),
    LL_FIELD_END,
};

static const struct ll_param params[] = {RWSEM_PARAMS, LL_PARAM_END};

LL_LOCK(rwsem_3_12) = {
    .name = "3.12",
    .family = "rwsem",
    .summary = "sleeping reader-writer lock: FIFO list, writers steal, readers enter in batches",
    .origin = "Linux kernel mailing list, September and October 2013, rwsem wake-up contention",
    .kind = LL_KIND_SHARED,
    .lock_size = sizeof(struct rwsem),
    .node_size = sizeof(struct rwsem_node),
    .claims = LL_PARKS,
    .ops = {.acquire = acquire, .release = release, .try_acquire = rwsem_try_acquire},
    .shared = {.acquire_shared = acquire_shared,
               .release_shared = release_shared,
               .try_acquire_shared = rwsem_try_acquire_shared,
               .downgrade = downgrade},
    .waiters = rwsem_waiters,
    .lock_fields = lock_fields,
    .node_fields = node_fields,
    .params = params,
};
