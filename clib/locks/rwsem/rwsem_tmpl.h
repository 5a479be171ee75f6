/* SPDX-License-Identifier: MIT */
/* rwsem_tmpl.h - body shared by the sleeping reader-writer locks (see those files for origins).
 *
 * COUNT. 64 bits, signed. The low half is the number of active units: readers inside or on their
 * way in, and one for each writer inside or trying. The high half holds the biases, each of them Z:
 * one for each of those writers, and one, whatever its length, for a queue that is not empty.
 *
 *   0         free, no queue                n          n readers
 *   Z         queue, nobody active: who brought the active part down to 0 owes the queue a wake-up
 *   Z + n     queue and n readers; or one writer, n - 1 readers trying, no queue: the list tells
 *   2Z + 1    queue and one writer          below Z    seen with wait_lock held, queue not empty:
 *                                                      a writer is in, or trying
 *
 * A queued thread has no active unit. Readers never enter past a queue; writers may ("steal").
 *
 * LIST. FIFO, of records that live in the threads' nodes; only the holder of wait_lock touches
 * links and types. A reader leaves the list when it is granted the lock: the waker counts it, then
 * clears its `task`. A writer is only woken; it stays in the list until it has taken the lock.
 *
 * FLAG. `wakeup` tells releasers that somebody is about to wake the queue, so that they need not
 * wait for wait_lock just to find it done. When it is cleared makes the difference, see the files.
 */
#pragma once

#include "locks/parts/waitlock_tmpl.h"

#define RWSEM_ACTIVE INT64_C(1)
#define RWSEM_WAITING (-(INT64_C(1) << 32)) /* Z */
#define RWSEM_WRITE (RWSEM_WAITING + RWSEM_ACTIVE)

enum rwsem_type { RWSEM_READER, RWSEM_WRITER };
enum rwsem_steal { RWSEM_STEAL_FAST, RWSEM_STEAL_SLOW };
enum rwsem_mode { RWSEM_CLEAR_FIRST, RWSEM_RETRY };

/* Whom to wake: whoever is first; readers if they are first, entering beside other readers, or
 * beside the caller, who has the lock and lets nobody else in. */
enum rwsem_wake { RWSEM_ANY, RWSEM_READERS, RWSEM_READ_OWNED };

struct rwsem_node { /* record of a waiter */
    eng_plain(struct rwsem_node *) prev;
    eng_plain(struct rwsem_node *) next;
    eng_plain(uint32_t) type;        /* enum rwsem_type */
    eng_ptr(struct eng_thread) task; /* NULL: granted, and the record is its thread's again */
};

struct rwsem {
    eng_i64 count;
    eng_u32 wait_lock;
    eng_i32 wakeup; /* 1: somebody will wake the queue; in what else would be padding */
    eng_plain(struct rwsem_node *) first;
    eng_plain(struct rwsem_node *) last;
    /* parameters */
    LL_OWN_LINE uint32_t steal; /* enum rwsem_steal */
    uint32_t check_first;
    uint32_t waitlock_spin; /* pauses */
    uint32_t mode;          /* enum rwsem_mode */
};

struct rwsem_policy {
    bool flag;   /* releasers look at `wakeup` */
    bool mended; /* ... and lose nobody, by way of `mode` */
};

LL_TEMPLATE uint32_t rwsem_active(int64_t count)
{
    return (uint32_t)count;
}

/* Is the flag set for as long as somebody wakes, rather than until somebody begins to? */
LL_TEMPLATE bool rwsem_flags_waking(const struct rwsem *l, struct rwsem_policy p)
{
    return p.flag && !(p.mended && l->mode == RWSEM_CLEAR_FIRST);
}

/* For the watchdog: the sign, which the bias of those who wait sets; also that of a writer inside. */
LL_TEMPLATE struct eng_term rwsem_waiters(const void *lock)
{
    const struct rwsem *l = lock;

    return eng_term_mask_ne_rlx(&l->count, (uint64_t)INT64_MIN, 0);
}

/* ---- the list; wait_lock is held ---- */

/* Was the list empty? */
LL_TEMPLATE bool rwsem_append(struct rwsem *l, struct rwsem_node *n, enum rwsem_type type)
{
    struct rwsem_node *last = eng_read(&l->last);

    eng_write(&n->type, type);
    eng_store_rlx(&n->task, eng_self()); /* rlx: nobody finds the record without wait_lock */
    eng_write(&n->prev, last);
    eng_write(&n->next, NULL);
    eng_write(&l->last, n);
    if (last)
        eng_write(&last->next, n); /* remote: last->next */
    else
        eng_write(&l->first, n);
    return !last;
}

LL_TEMPLATE void rwsem_unlink(struct rwsem *l, struct rwsem_node *n)
{
    struct rwsem_node *prev = eng_read(&n->prev), *next = eng_read(&n->next);

    if (prev)
        eng_write(&prev->next, next); /* remote: prev->next */
    else
        eng_write(&l->first, next);
    if (next)
        eng_write(&next->prev, prev); /* remote: next->prev */
    else
        eng_write(&l->last, prev);
}

/* ---- waking; wait_lock is held and the list is not empty ---- */

/* A reader is first: counts it in, unless a writer is in. False: that writer owes the wake-up. */
LL_TEMPLATE bool rwsem_count_reader(struct rwsem *l, struct rwsem_policy p)
{
    for (;;) {
        if (!l->check_first || eng_load_rlx(&l->count) >= RWSEM_WAITING) {
            /* acq: the readers shall see what the last holder did; pairs with rwsem_leave */
            if (eng_add_ar(&l->count, RWSEM_ACTIVE) >= RWSEM_WAITING)
                return true;
            eng_count(LL_EV_probe_undone);
            /* if the writer has left meanwhile, it saw our unit and woke nobody: look again */
            if (rwsem_active(eng_sub_ar(&l->count, RWSEM_ACTIVE) - RWSEM_ACTIVE) == 0)
                continue;
        }
        if (!p.mended || l->mode != RWSEM_RETRY || !eng_load_rlx(&l->wakeup))
            return false;
        /* from here on releasers come for wait_lock; those before left the waking to us */
        eng_store_rlx(&l->wakeup, 0);
        /* the next look at count must not pass the clear: a releaser in between would read 1 and
         * go, and we would not see its release. Pairs with the fence in rwsem_wake_queue. */
        eng_fence_full();
    }
}

/* Grants the lock to all readers at the front, one of whom may be counted already. */
LL_TEMPLATE void rwsem_grant(struct rwsem *l, struct rwsem_node *first, bool counted)
{
    struct rwsem_node *end = first, *n, *next;
    struct eng_thread *task;
    int64_t more = counted ? -RWSEM_ACTIVE : 0;

    do {
        more += RWSEM_ACTIVE;
        end = eng_read(&end->next);
    } while (end && eng_read(&end->type) == RWSEM_READER);
    if (!end)
        more -= RWSEM_WAITING;
    if (more) /* before any reader runs: it may leave at once */
        eng_add_ar(&l->count, more);
    for (n = first; n != end; n = next) {
        /* before the grant, which clears `task` and with which the record is its thread's: only
         * because queueing with it takes wait_lock could `next` be read afterwards as well */
        next = eng_read(&n->next);
        task = eng_load_rlx(&n->task);
        eng_store_rel(&n->task, NULL); /* remote: n->task; pairs with rwsem_wait_shared */
        eng_unpark(task);
    }
    eng_write(&l->first, end);
    if (end)
        eng_write(&end->prev, NULL); /* remote: end->prev */
    else
        eng_write(&l->last, NULL);
}

LL_TEMPLATE void rwsem_wake_front(struct rwsem *l, enum rwsem_wake whom, struct rwsem_policy p)
{
    struct rwsem_node *first = eng_read(&l->first);

    if (eng_read(&first->type) == RWSEM_WRITER) {
        if (whom == RWSEM_ANY)
            eng_unpark(eng_load_rlx(&first->task)); /* it will compete */
    } else if (whom == RWSEM_READ_OWNED) {
        rwsem_grant(l, first, false);
    } else if (rwsem_count_reader(l, p)) {
        rwsem_grant(l, first, true);
    }
}

LL_TEMPLATE void rwsem_do_wake(struct rwsem *l, enum rwsem_wake whom, struct rwsem_policy p)
{
    if (rwsem_flags_waking(l, p))
        eng_store_rlx(&l->wakeup, 1);
    eng_sync_point("rwsem.do_wake");
    rwsem_wake_front(l, whom, p);
    eng_sync_point("rwsem.before_flag_clear"); /* without a flag, too: one script fits all */
    if (rwsem_flags_waking(l, p))
        eng_store_rlx(&l->wakeup, 0);
}

/* ---- fast paths ---- */

/* A writer's attempt. False: it failed, and its unit stays in count until rwsem_wait_exclusive. */
LL_TEMPLATE bool rwsem_enter(struct rwsem *l)
{
    int64_t old = eng_add_acq(&l->count, RWSEM_WRITE); /* pairs with rwsem_leave */

    if (LL_LIKELY(old == 0))
        return true;
    if (rwsem_active(old) != 0 || l->steal != RWSEM_STEAL_FAST)
        return false;
    eng_count(LL_EV_steal_fast);
    return true;
}

/* A reader's attempt; likewise. */
LL_TEMPLATE bool rwsem_enter_shared(struct rwsem *l)
{
    return eng_add_acq(&l->count, RWSEM_ACTIVE) + RWSEM_ACTIVE >= 0; /* pairs with rwsem_leave */
}

/* Takes out RWSEM_ACTIVE or RWSEM_WRITE. True: the caller owes the queue a wake-up. */
LL_TEMPLATE bool rwsem_leave(struct rwsem *l, int64_t units)
{
    /* pairs with every acquire of count */
    int64_t now = eng_sub_rel(&l->count, units) - units;

    return LL_UNLIKELY(now < 0) && rwsem_active(now) == 0;
}

LL_TEMPLATE bool rwsem_try_acquire(void *lock, void *node)
{
    struct rwsem *l = lock;
    int64_t c = eng_load_rlx(&l->count), seen;

    LL_UNUSED(node);
    for (; rwsem_active(c) == 0; c = seen) {
        seen = eng_cmpxchg_acq(&l->count, c, c + RWSEM_WRITE); /* pairs with rwsem_leave */
        if (seen == c)
            return true;
    }
    eng_count(LL_EV_try_failed);
    return false;
}

LL_TEMPLATE bool rwsem_try_acquire_shared(void *lock, void *node)
{
    struct rwsem *l = lock;
    int64_t c = eng_load_rlx(&l->count), seen;

    LL_UNUSED(node);
    for (; c >= 0; c = seen) {
        seen = eng_cmpxchg_acq(&l->count, c, c + RWSEM_ACTIVE); /* pairs with rwsem_leave */
        if (seen == c)
            return true;
    }
    eng_count(LL_EV_try_failed);
    return false;
}

/* ---- slow paths ---- */

/* After an rwsem_enter_shared that failed. */
LL_TEMPLATE void rwsem_wait_shared(struct rwsem *l, struct rwsem_node *n, struct rwsem_policy p)
{
    int64_t add = -RWSEM_ACTIVE, now;
    bool alone;

    eng_count(LL_EV_queued);
    waitlock_acquire(&l->wait_lock, l->waitlock_spin);
    alone = rwsem_append(l, n, RWSEM_READER);
    if (alone)
        add += RWSEM_WAITING;
    now = eng_add_ar(&l->count, add) + add;
    /* nobody is active, and whoever was last may have seen our unit and woken nobody; or readers
     * have the lock and we are the queue: join them */
    if (now == RWSEM_WAITING || (now > RWSEM_WAITING && alone))
        rwsem_do_wake(l, RWSEM_ANY, p);
    waitlock_release(&l->wait_lock);
    while (eng_load_acq(&n->task)) /* pairs with rwsem_grant */
        eng_park(0);
}

/* With wait_lock held, our record in the list. False: somebody is active. */
LL_TEMPLATE bool rwsem_take(struct rwsem *l, struct rwsem_node *n)
{
    bool alone = eng_read(&l->first) == n && eng_read(&l->last) == n;

    return eng_load_rlx(&l->count) == RWSEM_WAITING &&
           eng_cas_acq(&l->count, RWSEM_WAITING, /* pairs with rwsem_leave */
                       RWSEM_WRITE + (alone ? 0 : RWSEM_WAITING));
}

/* After an rwsem_enter that failed. */
LL_TEMPLATE void rwsem_wait_exclusive(struct rwsem *l, struct rwsem_node *n, struct rwsem_policy p)
{
    int64_t add = -RWSEM_WRITE, now;
    bool alone;

    eng_count(LL_EV_queued);
    waitlock_acquire(&l->wait_lock, l->waitlock_spin);
    alone = rwsem_append(l, n, RWSEM_WRITER);
    if (alone)
        add += RWSEM_WAITING;
    now = eng_add_ar(&l->count, add) + add;
    /* readers have the lock, and readers in front of us may have queued because of our attempt */
    if (!alone && now > RWSEM_WAITING)
        rwsem_do_wake(l, RWSEM_READERS, p);
    while (rwsem_active(now) != 0 || !rwsem_take(l, n)) {
        waitlock_release(&l->wait_lock);
        do {
            eng_park(0);
            now = eng_load_rlx(&l->count);
        } while (rwsem_active(now) != 0);
        waitlock_acquire(&l->wait_lock, l->waitlock_spin);
    }
    if (eng_read(&n->prev))
        eng_count(LL_EV_steal_slow);
    rwsem_unlink(l, n);
    waitlock_release(&l->wait_lock);
}

/* After an rwsem_leave that left a debt. */
LL_TEMPLATE void rwsem_wake_queue(struct rwsem *l, struct rwsem_policy p)
{
    eng_count(LL_EV_wake_calls);
    if (p.flag) {
        /* our release must not pass the look at the flag: else a waker that clears the flag and
         * then looks at count could miss it, and we the clear. Pairs with the fences behind the
         * clears, here and in rwsem_count_reader. */
        if (p.mended)
            eng_fence_full();
        if (eng_load_rlx(&l->wakeup)) {
            eng_count(LL_EV_wake_skipped);
            return;
        }
        eng_store_rlx(&l->wakeup, 1);
    }
    eng_sync_point("rwsem.before_wait_lock");
    waitlock_acquire(&l->wait_lock, l->waitlock_spin);
    if (p.mended && l->mode == RWSEM_CLEAR_FIRST) {
        /* all who read 1 have released before this; rwsem_do_wake looks at count after it */
        (void)eng_xchg_ar(&l->wakeup, 0);
        /* no look at count before the clear is seen; pairs with the fence above */
        eng_fence_full();
    }
    if (eng_read(&l->first)) {
        rwsem_do_wake(l, RWSEM_ANY, p);
    } else {
        eng_count(LL_EV_wake_list_empty);
        if (rwsem_flags_waking(l, p))
            eng_store_rlx(&l->wakeup, 0);
    }
    waitlock_release(&l->wait_lock);
}

/* The writer becomes a reader without letting anybody else in between. True: readers may be first
 * in the queue, and the caller lets them in by rwsem_wake_readers. */
LL_TEMPLATE bool rwsem_keep_shared(struct rwsem *l)
{
    /* rel: readers that enter from now on see our writes; pairs with their acquire of count */
    return LL_UNLIKELY(eng_sub_rel(&l->count, RWSEM_WAITING) - RWSEM_WAITING < 0);
}

LL_TEMPLATE void rwsem_wake_readers(struct rwsem *l, struct rwsem_policy p)
{
    waitlock_acquire(&l->wait_lock, l->waitlock_spin);
    if (eng_read(&l->first))
        rwsem_do_wake(l, RWSEM_READ_OWNED, p);
    waitlock_release(&l->wait_lock);
}

/* ---- what the descriptors have in common ---- */

static const char *const rwsem_steal_names[] __attribute__((unused)) = {"fast", "slow", NULL};

#define RWSEM_PARAMS                                                                               \
    {.name = "steal",                                                                              \
     .help = "may a writer enter past a queue by its first RMW (fast) or under wait_lock alone?",  \
     .type = LL_PARAM_ENUM,                                                                        \
     .offset = offsetof(struct rwsem, steal),                                                      \
     .max = 1,                                                                                     \
     .names = rwsem_steal_names},                                                                  \
        {.name = "check_first",                                                                    \
         .help = "look whether a writer is in before counting a reader in",                        \
         .type = LL_PARAM_BOOL,                                                                    \
         .offset = offsetof(struct rwsem, check_first),                                            \
         .max = 1},                                                                                \
    {                                                                                              \
        .name = "waitlock_spin", .unit = "pauses",                                                 \
        .help = "how long a thread waits for wait_lock before it yields its CPU; 65536: for ever", \
        .type = LL_PARAM_UINT, .offset = offsetof(struct rwsem, waitlock_spin), .def = 50,         \
        .min = 1, .max = WAITLOCK_NEVER_YIELDS, .check = WAITLOCK_NEVER_YIELDS                     \
    }
