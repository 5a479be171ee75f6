/* SPDX-License-Identifier: MIT */
/* wakeup-flag - 3.12 with a wake-in-progress flag; LOSES WAITERS, kept for its fault
 *
 * Idea     When many readers leave at once, all of them queue for wait_lock to do what only one has
 *          to do. So a waker raises a flag, and who finds it raised leaves without waiting. The
 *          flag falls when the waker is done.
 * Lines    As 3.12, but a release that finds the flag raised takes a load in place of two RMWs and
 *          a wait. The flag shares the line with the rest, in what was padding.
 * Order    As 3.12. The flag is relaxed: it hands nothing on.
 * Origin   Proposed on the Linux kernel mailing list in September 2013; the stranded reader was
 *          found there, in review. From a description in prose.
 * Differs  In nothing that matters: the fault is the proposal's. Who skips relies on a waker that
 *          may have looked already.
 *            waker                            thief
 *            raises the flag, takes wait_lock
 *                                             enters past the queue
 *            finds a writer in, gives up
 *                                             leaves, owes a wake-up, sees the flag, goes
 *            lowers the flag
 *          Nobody is active, the reader at the front sleeps, nobody will wake it. A writer at the
 *          front is woken, finds the thief inside and sleeps again; or it stands behind a reader
 *          that the waker lets in and that leaves while the flag is up. Three threads are enough;
 *          the next one that comes by repairs it.
 */
#include "locks/rwsem/rwsem_tmpl.h"

static const struct rwsem_policy policy = {.flag = true};

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
    LL_FIELD(struct rwsem, wakeup),
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

/* 3 threads; try-once never queues */
static const struct ll_expect expect[] = {
    {.client = "handoff", .verdict = "stranded"},
    {.client = "life-time", .verdict = "stranded"},
    {.client = "mutex", .verdict = "stranded"},
    {.client = "mutex-once", .verdict = "stranded"},
    {.client = "shared", .verdict = "stranded"},
    {.client = "try", .verdict = "stranded"},
    LL_EXPECT_END,
};

LL_LOCK(rwsem_wakeup_flag) = {
    .name = "wakeup-flag",
    .family = "rwsem",
    .summary = "3.12 with a wake-in-progress flag; strands waiters, kept for its fault",
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
    .expect = expect,
};
