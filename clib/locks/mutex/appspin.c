/* SPDX-License-Identifier: MIT */
/* appspin - mutex: tries so many times, then sleeps as nospin does
 *
 * Idea     Spinning as an application does it that knows nothing of the lock's owner: try, up to
 *          `spin_rounds` times more with a pause before each, then acquire as nospin does.
 * Lines    A contended acquire makes 1 + `spin_rounds` exchanges on `count` before those of nospin,
 *          each of which takes the line from the holder; with `test_first` most of them are loads.
 * Order    As nospin; spinners overtake sleepers, too. Spins on a holder that sleeps as well.
 * Origin   A file system of the time did so with 512 rounds; "spin" in the figures of January 2009
 *          on the Linux kernel mailing list, as we read them. From a description in prose.
 * Differs  As nospin. Where the rounds are a budget and not a wait, the checker explores few.
 */
#include "locks/mutex/mutex_tmpl.h"

static const struct mutex_policy policy = {.owned = false};

/* The rounds are a budget: nothing is waited for, and nobody looks whether it is of any use. */
static bool spin(struct mutex *l)
{
    eng_count(LL_EV_spin_enter);
    for (uint32_t i = 0; i < l->spin_rounds; i++) {
        eng_pause_as((enum eng_relax_kind)l->relax);
        if (mutex_grab(l)) {
            eng_count(LL_EV_spin_win);
            return true;
        }
    }
    eng_pause_as((enum eng_relax_kind)l->relax);
    return false;
}

static LL_SLOW int wait(struct mutex *l, void *node, struct mutex_wait w)
{
    bool got;

    eng_count(LL_EV_fast_failed);
    eng_spin_begin();
    got = spin(l);
    eng_spin_end();
    return got || mutex_enter(l) ? 0 : mutex_sleep(l, node, &w, policy);
}

static LL_SLOW void wake(struct mutex *l)
{
    mutex_wake(l);
}

static void acquire(void *lock, void *node)
{
    mutex_sign(node);
    if (!mutex_grab(lock))
        wait(lock, node, (struct mutex_wait){0});
}

static int acquire_until(void *lock, void *node, uint64_t deadline_ns)
{
    const struct mutex_wait w = {.deadline_ns = deadline_ns, .interruptible = true};

    mutex_sign(node);
    return mutex_grab(lock) ? 0 : wait(lock, node, w);
}

static bool try_acquire(void *lock, void *node)
{
    LL_UNUSED(node);
    return mutex_try(lock, policy);
}

static void release(void *lock, void *node)
{
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

static const struct ll_field node_fields[] = {MUTEX_NODE_FIELDS, LL_FIELD_END};

static const struct ll_param params[] = {
    {.name = "spin_rounds",
     .unit = "attempts",
     .help = "attempts after the first, before the thread queues and sleeps",
     .type = LL_PARAM_UINT,
     .offset = offsetof(struct mutex, spin_rounds),
     .def = 512,
     .max = 1000000,
     .check = 1},
    MUTEX_BOOL("test_first", preload, false, "an attempt only if a load says that it can succeed"),
    MUTEX_PARAM_RELAX,
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_appspin) = {
    .name = "appspin",
    .family = "mutex",
    .summary = "mutex: tries 513 times, then sleeps as mutex/nospin does",
    .origin = "Linux kernel mailing list, January 2009, adaptive mutex spinning",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct mutex),
    .node_size = sizeof(struct mutex_node),
    .claims = LL_PARKS,
    .init = init,
    .ops = {.acquire = acquire,
            .release = release,
            .try_acquire = try_acquire,
            .acquire_until = acquire_until},
    .waiters = mutex_waiters,
    .lock_fields = mutex_kernel_fields,
    .fields_of = fields_of,
    .node_fields = node_fields,
    .params = params,
};
