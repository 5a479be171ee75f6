/* SPDX-License-Identifier: MIT */
/* mcs - queue lock, each waiter spins on its own node
 *
 * Idea     The lock is a tail pointer. A thread swaps its node in; if there was a predecessor it
 *          links itself behind and waits for its own flag, which the predecessor sets on release.
 * Lines    Uncontended 1 RMW to acquire, 1 to release, on `tail`. A hand-over reads the holder's own
 *          `next` and writes the successor's `locked`: O(1) transfers whatever the crowd.
 * Order    FIFO by the exchange on `tail`. release: store-rel `locked`, pairs with the await-acq in
 *          acquire; for a free lock, CAS-rel on `tail`, pairs with the exchange-acq-rel.
 * Origin   J. M. Mellor-Crummey, M. L. Scott, Algorithms for scalable synchronization on
 *          shared-memory multiprocessors, ACM TOCS 9(1), 1991, doi:10.1145/103727.103729.
 * Differs  The flag's sense is turned round (1 lets the waiter in), so that a zeroed node is ready.
 */
#include "core/lock.h"

struct mcs_node {
    eng_ptr(struct mcs_node) next; /* successor; written by it, once a round */
    eng_u32 locked;                /* 1: the predecessor has handed the lock over */
};

struct mcs {
    eng_ptr(struct mcs_node) tail; /* last in the queue; NULL: free */
};

static void acquire(void *lock, void *node)
{
    struct mcs *l = lock;
    struct mcs_node *n = node, *prev;

    /* before the exchange: from there on a successor may link itself */
    eng_store_rlx(&n->next, NULL);
    /* rel: whoever finds us there finds `next` empty; acq: pairs with the CAS in release */
    prev = eng_doorway(eng_xchg_ar(&l->tail, n));
    if (LL_LIKELY(!prev))
        return;
    eng_count(LL_EV_queued);
    /* before the link: from there on the predecessor may set it */
    eng_store_rlx(&n->locked, 0);
    eng_store_rel(&prev->next, n);   /* remote: prev->next; pairs with the loads in release */
    eng_await_eq_acq(&n->locked, 1); /* pairs with release */
}

static bool try_acquire(void *lock, void *node)
{
    struct mcs *l = lock;
    struct mcs_node *n = node;

    eng_store_rlx(&n->next, NULL);
    if (eng_doorway(eng_cas_ar(&l->tail, NULL, n))) /* orders as in acquire */
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static void release(void *lock, void *node)
{
    struct mcs *l = lock;
    struct mcs_node *n = node, *next = eng_load_acq(&n->next);

    if (!next) {
        if (LL_LIKELY(eng_cas_rel(&l->tail, n, NULL)))
            return; /* pairs with the next exchange */
        /* a successor has swapped itself in and is about to link itself */
        eng_count(LL_EV_link_wait);
        next = eng_await_ne_acq(&n->next, NULL);
    }
    eng_store_rel(&next->locked, 1); /* remote: next->locked; pairs with the await in acquire */
}

static const struct ll_field lock_fields[] = {LL_FIELD(struct mcs, tail), LL_FIELD_END};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct mcs_node, next),
    LL_FIELD(struct mcs_node, locked),
    LL_FIELD_END,
};

LL_LOCK(spin_mcs) = {
    .name = "mcs",
    .family = "spin",
    .summary = "queue of nodes, each waiter spins on its own: FIFO, O(1) hand-over",
    .origin = "doi:10.1145/103727.103729",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct mcs),
    .node_size = sizeof(struct mcs_node),
    .claims = LL_FIFO | LL_STARVATION_FREE | LL_QUEUES | LL_LIFE_TIME,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = lock_fields,
    .node_fields = node_fields,
};
