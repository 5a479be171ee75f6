/* SPDX-License-Identifier: MIT */
/* wakeup-flag-fixed - wakeup-flag, mended: by lowering the flag before the queue is looked at
 *
 * Idea     mode=clear-first: the flag says that somebody waits for wait_lock in order to wake, and
 *          falls when that thread has it, before it looks at `count`. Who reads 1 has released
 *          before that look. So only those are spared that come while a waker waits.
 *          mode=retry: the flag stays raised while somebody wakes; a waker that gives up on a
 *          reader because a writer is in lowers the flag and looks once more. That saves the
 *          reader, but not a writer at the front, who is woken while the flag is up.
 * Lines    As wakeup-flag, and a fence for each release past a queue.
 * Order    As 3.12. Store buffering between `count` and `wakeup`: a releaser changes `count` and
 *          reads the flag, a waker lowers the flag and reads `count`; full fences on both sides
 *          keep both from reading the old value.
 * Origin   retry was proposed in the thread that wakeup-flag stems from, Linux kernel mailing list,
 *          October 2013; from a description in prose. clear-first is ours.
 * Differs  The modes are a parameter rather than two locks; retry is there to show what it leaves.
 */
#include "locks/rwsem/rwsem_tmpl.h"

static const struct rwsem_policy policy = {.flag = true, .mended = true};

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
    LL_FIELD(struct rwsem, mode),
    LL_FIELD_END,
};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct rwsem_node, prev),
    LL_FIELD(struct rwsem_node, next),
    LL_FIELD(struct rwsem_node, type),
    LL_FIELD(struct rwsem_node, task),
    LL_FIELD_END,
};

static const char *const mode_names[] = {"clear-first", "retry", NULL};

static const struct ll_param params[] = {
    RWSEM_PARAMS,
    {.name = "mode",
     .help = "lower the flag before the queue is looked at, or look again after lowering it",
     .type = LL_PARAM_ENUM,
     .offset = offsetof(struct rwsem, mode),
     .max = 1,
     .names = mode_names},
    LL_PARAM_END,
};

/* 3 threads; try-once never queues */
static const struct ll_expect expect[] = {
    {.client = "handoff", .verdict = "stranded", .setting = "mode=retry"},
    {.client = "life-time", .verdict = "stranded", .setting = "mode=retry"},
    {.client = "mutex", .verdict = "stranded", .setting = "mode=retry"},
    {.client = "mutex-once", .verdict = "stranded", .setting = "mode=retry"},
    {.client = "shared", .verdict = "stranded", .setting = "mode=retry"},
    {.client = "try", .verdict = "stranded", .setting = "mode=retry"},
    LL_EXPECT_END,
};

LL_LOCK(rwsem_wakeup_flag_fixed) = {
    .name = "wakeup-flag-fixed",
    .family = "rwsem",
    .summary = "wakeup-flag mended: the flag falls before the queue is looked at",
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
