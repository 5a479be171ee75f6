/* SPDX-License-Identifier: MIT */
/* osq - an MCS queue that a waiter can leave
 *
 * Idea     The queue of optimistic spinners in front of a sleeping lock: a doubly linked MCS queue
 *          in which a waiter gives up when it should yield or when its predecessor lost its CPU.
 *          Here it is a lock of its own: acquire repeats the attempt until one succeeds.
 * Lines    Uncontended 1 RMW to acquire, 1 to release, on `tail`. A hand-over writes the successor's
 *          `locked`; a waiter that leaves writes `next` before and `prev` behind it.
 * Order    FIFO among those that stay; who leaves comes back at the end, so no promise. unlock:
 *          store-rel `locked`, pairs with the acquire loads of `locked`; CAS-rel on `tail`, pairs
 *          with its exchange. All else hangs on RMWs: a link is taken by whoever swaps it out.
 * Origin   Linux 3.15, 2014, cancellable MCS lock for optimistic spinning; the plain queue behind it
 *          is explained at https://lwn.net/Articles/590243/. Written from a prose specification.
 * Differs  There is a node per (thread, lock), not per CPU, and `tail` is a pointer, not a CPU
 *          number; "predecessor's vCPU runs" becomes "predecessor's thread runs" (eng_on_cpu).
 *          try_acquire is one attempt: it may wait in the queue, and fails where a spinner would go.
 */
#include "core/lock.h"

struct osq_node {
    eng_ptr(struct osq_node) next; /* taken by exchange or CAS alone, by one taker */
    eng_ptr(struct osq_node) prev; /* re-read: a predecessor that leaves puts its own here */
    eng_u32 locked;                /* 1: handed over */
    eng_plain(struct eng_thread *) thread; /* set once, before the node is first seen */
};

struct osq {
    eng_ptr(struct osq_node) tail; /* last in the queue; NULL: free */
};

/* The node behind `n`, unlinked from it; or NULL after the tail went from `n` to `old`. Both tests
 * are repeated, neither may be waited for alone: a successor can link itself, leave again and put
 * the tail back to `n`. */
static struct osq_node *take_next(struct osq *l, struct osq_node *n, struct osq_node *old)
{
    struct osq_node *next;

    for (;;) {
        if (eng_load_rlx(&l->tail) == n && eng_cas_ar(&l->tail, n, old))
            return NULL;
        if (eng_load_rlx(&n->next)) {
            /* by exchange: a successor that leaves takes its own link back with a CAS */
            next = eng_xchg_ar(&n->next, NULL);
            if (next)
                return next;
        }
        eng_relax();
    }
}

/* Leaves the queue; true: too late, the lock has been handed over meanwhile. */
static LL_SLOW bool leave(struct osq *l, struct osq_node *n)
{
    struct osq_node *prev, *next;

    /* A: cut the link in front; prev is asked anew each turn, since it may leave as well */
    for (;;) {
        prev = eng_load_acq(&n->prev);
        if (eng_load_rlx(&prev->next) == n && eng_cas_ar(&prev->next, n, NULL)) /* remote */
            break;
        if (eng_load_acq(&n->locked)) /* pairs with release */
            return true;
        eng_relax();
    }
    /* B: take the successor, or give the tail back to prev */
    next = take_next(l, n, prev);
    /* C: join the two, backward first: once linked forward, next may want to leave past prev */
    if (next) {
        eng_store_rel(&next->prev, prev); /* remote: next->prev */
        eng_store_rel(&prev->next, next); /* remote: prev->next */
    }
    eng_count(LL_EV_osq_abort);
    return false;
}

static LL_SLOW bool wait_in_queue(struct osq *l, struct osq_node *n, struct osq_node *prev)
{
    struct eng_giveup giveup = {.resched = true};
    int why;

    eng_count(LL_EV_queued);
    eng_store_rlx(&n->prev, prev);
    eng_store_rel(&prev->next,
                  n); /* remote: prev->next; after n->prev, for whoever links past us */
    do {
        const struct eng_term terms[] = {
            eng_term_eq_acq(&n->locked, 1), /* pairs with release */
            eng_term_ne_acq(&n->prev, prev),
        };

        giveup.owner = eng_read(&prev->thread);
        why = eng_await_any(terms, 2, &giveup);
        if (why == 1) /* prev has left: watch the new one */
            prev = eng_load_acq(&n->prev);
    } while (why == 1);
    return why == 0 || leave(l, n);
}

/* The predecessor behind which the node now stands; NULL: the lock is ours. */
LL_TEMPLATE struct osq_node *join(struct osq *l, struct osq_node *n)
{
    if (LL_UNLIKELY(!eng_read(&n->thread)))
        eng_write(&n->thread, eng_self());
    eng_store_rlx(&n->locked, 0);
    eng_store_rlx(&n->next, NULL);
    return eng_xchg_ar(&l->tail, n); /* rel: the node is complete; acq: pairs with release */
}

static LL_SLOW void repeat(struct osq *l, struct osq_node *n, struct osq_node *prev)
{
    eng_spin_begin();
    eng_spin_queue();
    while (prev && !wait_in_queue(l, n, prev)) {
        eng_yield(); /* also clears the wish that made us leave */
        prev = join(l, n);
    }
    eng_spin_end();
}

static void acquire(void *lock, void *node)
{
    struct osq_node *prev = join(lock, node);

    if (LL_UNLIKELY(prev))
        repeat(lock, node, prev);
}

static bool try_acquire(void *lock, void *node)
{
    struct osq_node *prev = join(lock, node);

    if (LL_LIKELY(!prev) || wait_in_queue(lock, node, prev))
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static LL_SLOW void hand_over(struct osq *l, struct osq_node *n)
{
    struct osq_node *next = eng_xchg_ar(&n->next, NULL);

    if (!next) {
        eng_count(LL_EV_link_wait);
        next = take_next(l, n, NULL);
    }
    if (next)
        eng_store_rel(&next->locked, 1); /* remote: next->locked; pairs with the loads of it */
}

static void release(void *lock, void *node)
{
    struct osq *l = lock;
    struct osq_node *n = node;

    if (LL_UNLIKELY(!eng_cas_rel(&l->tail, n, NULL)))
        hand_over(l, n);
}

static const struct ll_field lock_fields[] = {LL_FIELD(struct osq, tail), LL_FIELD_END};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct osq_node, next),
    LL_FIELD(struct osq_node, prev),
    LL_FIELD(struct osq_node, locked),
    LL_FIELD(struct osq_node, thread),
    LL_FIELD_END,
};

LL_LOCK(spin_osq) = {
    .name = "osq",
    .family = "spin",
    .summary = "abortable MCS queue of optimistic spinners, repeated until it succeeds",
    .origin = "https://lwn.net/Articles/590243/",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct osq),
    .node_size = sizeof(struct osq_node),
    .claims = LL_QUEUES,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = lock_fields,
    .node_fields = node_fields,
};
