/* SPDX-License-Identifier: MIT */
/* mutex_tmpl.h - a counter, a FIFO list of sleepers and an owner that is but a hint.
 *
 * Shared by all of mutex/ and by the locks built on a mutex. Who fails at the counter may spin
 * (spin_tmpl.h), then sleeps (here).
 *
 * COUNT. 1: free. 0: held, and nobody is known to sleep. Negative: held, and somebody may sleep.
 *
 *   1     acquire takes 1 away                       0, acquired
 *   <= 0  acquire takes 1 away                       one lower, not acquired
 *   1     spinner or try: CAS                        0, acquired
 *   any   a thread in the list exchanges             -1; acquired if it was 1
 *   0     release adds 1                             1, done
 *   < 0   release adds 1                             still not 1: the slow release, under wait_lock
 *   any   slow release                               1, and whoever is first in the list is woken
 *   any   acquired by way of the list, none left     0
 *
 * A thread in the list that leaves the count negative and goes to sleep is woken by the next
 * release: it finds the count negative and looks at the list. So whoever finds the count negative
 * may skip its exchange.
 *
 * LIST. Of records in the threads' nodes; only the holder of wait_lock touches it, but for a look at
 * whether there is anybody. A woken thread competes with those that come along and keeps its place
 * until it has the lock. FIFO for waking, then; not for acquiring.
 *
 * OWNER. NULL does not mean free: the holder may not have said yet, or be about to release. Nor does
 * a thread there mean that it still holds the lock. Thread descriptors are never unmapped.
 *
 * LAYOUT. kernel: the words lie one after the other, in 40 bytes, and share lines as they once did.
 * split: each has a pair of lines to itself. `count` is first in both.
 */
#pragma once

#include "locks/mutex/mspin_tmpl.h"
#include "locks/parts/osq_tmpl.h"
#include "locks/parts/waitlock_tmpl.h"

enum mutex_layout { MUTEX_KERNEL, MUTEX_SPLIT };
enum mutex_check { MUTEX_CHECK_NONE, MUTEX_CHECK_NEG, MUTEX_CHECK_M1 };

struct mutex_node {
    /* record in the list */
    eng_plain(struct mutex_node *) prev;
    eng_plain(struct mutex_node *) next;
    eng_plain(struct eng_thread *) task;
    /* place in the queue of spinners */
    struct mspin_node mcs;
    struct osq_node osq;
};

struct mutex_list {
    eng_ptr(struct mutex_node) first; /* also read without wait_lock: is there anybody? */
    eng_plain(struct mutex_node *) last;
};

typedef eng_ptr(struct eng_thread) mutex_owner;

typedef eng_ptr(void) mutex_extra; /* a word of a lock that is built on a mutex */

union mutex_queue { /* of spinners; its tail */
    struct mspin mcs;
    struct osq osq;
};

struct mutex {
    eng_i32 count;
    /* layout=kernel */
    eng_u32 packed_wait_lock;
    struct mutex_list packed_list;
    mutex_owner packed_owner;
    union mutex_queue packed_queue;
    mutex_extra packed_extra;
    /* where the words are */
    LL_OWN_LINE eng_u32 *wait_lock;
    struct mutex_list *list;
    mutex_owner *owner;
    union mutex_queue *queue;
    mutex_extra *extra;
    /* parameters */
    uint32_t layout;     /* enum mutex_layout */
    uint32_t xchg_check; /* enum mutex_check */
    uint32_t waitlock_spin;
    uint32_t relax; /* enum eng_relax_kind */
    uint32_t spin_rounds, gate, null_guard, owner_form, preload, queueing, precheck, rt, bkl_guard,
        mcs_yield;
    /* layout=split */
    LL_OWN_LINE eng_u32 split_wait_lock;
    LL_OWN_LINE struct mutex_list split_list;
    LL_OWN_LINE mutex_owner split_owner;
    LL_OWN_LINE union mutex_queue split_queue;
    LL_OWN_LINE mutex_extra split_extra;
};

/* How one caller waits. */
struct mutex_wait {
    uint64_t deadline_ns; /* 0: never */
    bool interruptible;   /* gives up once its wait is cancelled */
    int given_up;         /* -ETIMEDOUT, -EINTR: it has, unless it gets the lock at the last look */
    void *extra;          /* for the hooks */
};

/* What kind of mutex; constant, so that it folds away. The hooks are for locks built on a mutex. */
struct mutex_policy {
    bool owned; /* `owner` is kept */
    bool tries; /* begins with a CAS, which leaves no trace where it fails, not with mutex_enter */
    /* what a thread does that has failed to begin. 0: acquired; else why not. For hooks_tmpl.h */
    int (*contend)(struct mutex *l, struct mutex_node *n, struct mutex_wait *w);
    /* at the start of a round of spinning: < 0: leave; 1: *stop, once it holds, ends the round */
    int (*stop)(struct mutex *l, struct mutex_wait *w, struct eng_term *stop);
    /* a spinner has the lock; `owner` is not set yet */
    void (*publish)(struct mutex *l, struct mutex_node *n, struct mutex_wait *w);
    /* these with wait_lock: into the list, unless at its end; -errno: do not sleep, leave without the
     * lock; the lock is ours, and the record no longer in the list */
    void (*insert)(struct mutex *l, struct mutex_node *n, struct mutex_wait *w);
    int (*refuse)(struct mutex *l, struct mutex_node *n, struct mutex_wait *w);
    void (*took)(struct mutex *l, struct mutex_node *n, struct mutex_wait *w);
};

LL_TEMPLATE int mutex_init(struct mutex *l)
{
    bool split = l->layout == MUTEX_SPLIT;

    eng_init(&l->count, 1);
    l->wait_lock = split ? &l->split_wait_lock : &l->packed_wait_lock;
    l->list = split ? &l->split_list : &l->packed_list;
    l->owner = split ? &l->split_owner : &l->packed_owner;
    l->queue = split ? &l->split_queue : &l->packed_queue;
    l->extra = split ? &l->split_extra : &l->packed_extra;
    return 0;
}

/* ---- fast paths ---- */

/* False: the count stays one lower, and the caller goes on to mutex_sleep sooner or later. */
LL_TEMPLATE bool mutex_enter(struct mutex *l)
{
    eng_count(LL_EV_count_rmw);
    return LL_LIKELY(eng_sub_acq(&l->count, 1) == 1); /* pairs with the releases of count */
}

/* Who finds it here reads nothing else by it: relaxed. */
LL_TEMPLATE void mutex_set_owner(struct mutex *l, struct mutex_policy p)
{
    if (!p.owned)
        return;
    eng_sync_point("mutex.before_set_owner");
    eng_store_rlx(l->owner, eng_self());
}

/* The record says whose it is: before the first RMW of each acquisition, though only the list needs
 * it. A store to a line of one's own is free there, and many a CPU makes two RMWs on one line faster
 * with some stores between them (the bench of uncontended locks shows it). */
LL_TEMPLATE void mutex_sign(struct mutex_node *n)
{
    eng_write(&n->task, eng_self());
}

/* For the same reason, before the RMW of a release that does not clear `owner`. */
LL_TEMPLATE void mutex_unsign(struct mutex_node *n)
{
    eng_write(&n->task, NULL);
}

/* False: the caller owes a mutex_wake. */
LL_TEMPLATE bool mutex_leave(struct mutex *l, struct mutex_policy p)
{
    if (p.owned)
        eng_store_rlx(l->owner, NULL);
    eng_count(LL_EV_count_rmw);
    return LL_LIKELY(eng_add_rel(&l->count, 1) == 0); /* pairs with the acquires of count */
}

LL_TEMPLATE bool mutex_try(struct mutex *l, struct mutex_policy p)
{
    eng_count(LL_EV_count_rmw);
    if (eng_cas_acq(&l->count, 1, 0)) { /* pairs with the releases of count */
        mutex_set_owner(l, p);
        return true;
    }
    eng_count(LL_EV_try_failed);
    return false;
}

/* One attempt of a spinner. */
LL_TEMPLATE bool mutex_grab(struct mutex *l)
{
    if (l->preload && eng_load_rlx(&l->count) != 1) {
        eng_count(LL_EV_cas_skipped);
        return false;
    }
    eng_count(LL_EV_cas_issued);
    eng_count(LL_EV_count_rmw);
    return eng_cas_acq(&l->count, 1, 0); /* pairs with the releases of count */
}

/* For the watchdog. */
LL_TEMPLATE struct eng_term mutex_waiters(const void *lock)
{
    const struct mutex *l = lock;

    return eng_term_ne_rlx(&l->list->first, NULL);
}

/* ---- the list; wait_lock is held ---- */

/* A signed record: before `next`, or at the end if that is NULL. */
LL_TEMPLATE void mutex_insert(struct mutex *l, struct mutex_node *n, struct mutex_node *next)
{
    struct mutex_list *list = l->list;
    struct mutex_node *prev = next ? eng_read(&next->prev) : eng_read(&list->last);

    eng_write(&n->prev, prev);
    eng_write(&n->next, next);
    if (next)
        eng_write(&next->prev, n); /* remote: next->prev */
    else
        eng_write(&list->last, n);
    if (prev)
        eng_write(&prev->next, n); /* remote: prev->next */
    else
        eng_store_rlx(&list->first, n); /* rlx: who looks without wait_lock only asks for NULL */
}

LL_TEMPLATE void mutex_unlink(struct mutex *l, struct mutex_node *n)
{
    struct mutex_list *list = l->list;
    struct mutex_node *prev = eng_read(&n->prev), *next = eng_read(&n->next);

    if (next)
        eng_write(&next->prev, prev); /* remote: next->prev */
    else
        eng_write(&list->last, prev);
    if (prev)
        eng_write(&prev->next, next); /* remote: prev->next */
    else
        eng_store_rlx(&list->first, next);
}

/* ---- sleeping ---- */

/* Of a thread in the list, with wait_lock: takes the lock, or makes sure that the next release comes
 * for wait_lock. A count that is negative already does the latter: with a check, nothing is written. */
LL_TEMPLATE bool mutex_take(struct mutex *l)
{
    int32_t seen = l->xchg_check == MUTEX_CHECK_NONE ? 1 : eng_load_rlx(&l->count);

    if (l->xchg_check == MUTEX_CHECK_NEG ? seen < 0 : seen == -1) {
        eng_count(LL_EV_xchg_skipped);
        return false;
    }
    eng_count(LL_EV_xchg_issued);
    eng_count(LL_EV_count_rmw);
    return eng_xchg_acq(&l->count, -1) == 1; /* pairs with the releases of count */
}

/* One sleep, wait_lock dropped meanwhile. */
LL_TEMPLATE void mutex_park(struct mutex *l, struct mutex_wait *w)
{
    const struct eng_giveup giveup = {.deadline_ns = w->deadline_ns, .cancel = w->interruptible};
    enum eng_park_result news;

    waitlock_release(l->wait_lock);
    eng_sync_point("mutex.before_park");
    news = eng_park_for(&giveup);
    if (news != ENG_WOKEN)
        w->given_up = news == ENG_TIMED_OUT ? -ETIMEDOUT : -EINTR;
    waitlock_acquire(l->wait_lock, l->waitlock_spin);
}

/* The record is in the list. 0: the lock is ours; or why not. Each sleep is followed by a look. */
LL_TEMPLATE int mutex_sleep_in_list(struct mutex *l, struct mutex_node *n, struct mutex_wait *w,
                                    struct mutex_policy p)
{
    bool slept = false;
    int ret;

    /* twice in a row, as it was published: here, and at the start of the loop */
    if (mutex_take(l))
        return 0;
    while (!mutex_take(l)) {
        if (slept)
            eng_count(LL_EV_lost_race_wake);
        ret = w->given_up || !p.refuse ? w->given_up : p.refuse(l, n, w);
        if (ret)
            return ret; /* count stays negative: at worst a release looks for nobody */
        mutex_park(l, w);
        slept = true;
    }
    return 0;
}

/* After a mutex_sign and a mutex_enter that failed. 0: acquired; else why not. */
LL_TEMPLATE int mutex_sleep(struct mutex *l, struct mutex_node *n, struct mutex_wait *w,
                            struct mutex_policy p)
{
    int ret;

    eng_count(LL_EV_queued);
    waitlock_acquire(l->wait_lock, l->waitlock_spin);
    if (p.insert)
        p.insert(l, n, w);
    else
        mutex_insert(l, n, NULL);
    ret = mutex_sleep_in_list(l, n, w, p);
    mutex_unlink(l, n);
    if (!ret) {
        mutex_set_owner(l, p);
        if (p.took)
            p.took(l, n, w);
        if (!eng_load_rlx(&l->list->first))
            eng_store_rlx(&l->count, 0); /* nobody sleeps: the next release need not look */
    } else {
        eng_count(LL_EV_wait_given_up);
    }
    waitlock_release(l->wait_lock);
    return ret;
}

/* The rest of a mutex_leave that failed: somebody may sleep. */
LL_TEMPLATE void mutex_wake(struct mutex *l)
{
    struct mutex_node *first;

    eng_count(LL_EV_wake_calls);
    eng_sync_point("mutex.before_wait_lock");
    waitlock_acquire(l->wait_lock, l->waitlock_spin);
    eng_store_rel(&l->count, 1); /* free from here on; pairs with the acquires of count */
    eng_sync_point("mutex.freed");
    first = eng_load_rlx(&l->list->first);
    if (first)
        eng_unpark(eng_read(&first->task)); /* it stays in the list, and competes */
    else
        eng_count(LL_EV_wake_list_empty);
    waitlock_release(l->wait_lock);
}

/* ---- what the descriptors have in common ---- */

static const char *const mutex_layout_names[] __attribute__((unused)) = {"kernel", "split", NULL};
static const char *const mutex_check_names[] __attribute__((unused)) = {"none", "neg", "m1", NULL};
static const char *const mutex_relax_names[]
    __attribute__((unused)) = {"pause", "none", "yield", "umwait", NULL};

#define MUTEX_ENUM(name_, member, names_, max_, def_, help_)                                       \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = LL_PARAM_ENUM,                                   \
        .offset = offsetof(struct mutex, member), .def = (def_), .max = (max_), .names = (names_)  \
    }
#define MUTEX_BOOL(name_, member, def_, help_)                                                     \
    {                                                                                              \
        .name = (name_), .help = (help_), .type = LL_PARAM_BOOL,                                   \
        .offset = offsetof(struct mutex, member), .def = (def_), .max = 1                          \
    }

#define MUTEX_PARAM_XCHG_CHECK(def)                                                                \
    MUTEX_ENUM("xchg_check", xchg_check, mutex_check_names, 2, def,                                \
               "sleepers skip the exchange of a count that is negative (neg) or -1 (m1)")
#define MUTEX_PARAM_RELAX                                                                          \
    MUTEX_ENUM("relax", relax, mutex_relax_names, 3, ENG_RELAX_PAUSE,                              \
               "what a spinner does between two looks")
#define MUTEX_PARAMS                                                                               \
    MUTEX_ENUM("layout", layout, mutex_layout_names, 1, MUTEX_KERNEL,                              \
               "words packed as in the kernel, or each on its own pair of lines"),                 \
    {                                                                                              \
        .name = "waitlock_spin", .unit = "pauses",                                                 \
        .help = "how long a thread waits for wait_lock before it yields its CPU; 65536: for ever", \
        .type = LL_PARAM_UINT, .offset = offsetof(struct mutex, waitlock_spin), .def = 50,         \
        .min = 1, .max = WAITLOCK_NEVER_YIELDS, .check = WAITLOCK_NEVER_YIELDS                     \
    }

#define MUTEX_PARAM_FIELD                                                                          \
    {                                                                                              \
        "parameters", offsetof(struct mutex, layout),                                              \
            offsetof(struct mutex, mcs_yield) + 4 - offsetof(struct mutex, layout)                 \
    }
#define MUTEX_FIELDS(at)                                                                           \
    WAITLOCK_FIELDS(struct mutex, at##_wait_lock),                                                 \
        {"first", offsetof(struct mutex, at##_list.first), sizeof(void *)},                        \
        {"last", offsetof(struct mutex, at##_list.last), sizeof(void *)},                          \
        {"owner", offsetof(struct mutex, at##_owner), sizeof(void *)},                             \
    {                                                                                              \
        "queue", offsetof(struct mutex, at##_queue), sizeof(void *)                                \
    }

static const struct ll_field mutex_kernel_fields[] __attribute__((unused)) = {
    LL_FIELD(struct mutex, count),
    MUTEX_FIELDS(packed),
    MUTEX_PARAM_FIELD,
    LL_FIELD_END,
};
static const struct ll_field mutex_split_fields[] __attribute__((unused)) = {
    LL_FIELD(struct mutex, count),
    MUTEX_PARAM_FIELD,
    MUTEX_FIELDS(split),
    LL_FIELD_END,
};

LL_TEMPLATE const struct ll_field *mutex_fields_of(const void *lock)
{
    const struct mutex *l = lock;

    return l->layout == MUTEX_SPLIT ? mutex_split_fields : mutex_kernel_fields;
}

#define MUTEX_NODE_FIELDS                                                                          \
    LL_FIELD(struct mutex_node, prev), LL_FIELD(struct mutex_node, next),                          \
        LL_FIELD(struct mutex_node, task)
