/* SPDX-License-Identifier: MIT */
/* clh - queue lock, each waiter spins on its predecessor's cell
 *
 * Idea     The lock points to the cell of the last in the queue. A thread marks its own cell, swaps
 *          it in and waits until the cell that it got back is cleared. On release it clears its
 *          cell and keeps the predecessor's, which nobody looks at any more.
 * Lines    Uncontended 1 RMW on `tail`, 1 load of the cell before, 1 store to release. A hand-over
 *          moves one cell: O(1) whatever the crowd, and the release never waits for a link.
 * Order    FIFO by the exchange on `tail`. release: store-rel `busy`, pairs with the await-acq in
 *          acquire.
 * Origin   T. S. Craig, Building FIFO and priority-queuing spin locks from atomic swap, University
 *          of Washington TR 93-02-02, 1993; P. Magnusson, A. Landin, E. Hagersten, Queue locks on
 *          cache coherent multiprocessors, IPPS 1994, doi:10.1109/IPPS.1994.288305.
 * Differs  A node is two lines: the cell that it brought into the game, which may be anybody's by
 *          now, and the owner's private pointers, which would otherwise disturb who spins there.
 *          They change in acquire, so that release is one load and one store.
 *          No try_acquire: between seeing the last cell cleared and swapping the tail, that cell can
 *          be taken over and queued again at the same address (ABA), and once swapped in there is no
 *          way back. A version beside the pointer would mend it, and would be another lock.
 */
#include "core/lock.h"

struct clh_cell {
    eng_u32 busy; /* 1: its owner holds the lock or waits for it */
};

struct clh_node {
    struct clh_cell cell; /* lives as long as the lock, whoever owns it */
    /* private to the node's thread */
    LL_OWN_LINE eng_plain(struct clh_cell *) spare; /* the cell for its next acquire */
    eng_plain(struct clh_cell *) used;              /* the one in the queue, to be cleared */
};

struct clh {
    eng_ptr(struct clh_cell) tail;     /* cell of the last in the queue; cleared: free */
    LL_OWN_LINE struct clh_cell first; /* the cell that the very first thread waits for */
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct clh *l = lock;

    LL_UNUSED(topo);
    eng_init(&l->tail, &l->first);
    return 0;
}

static void node_init(void *lock, void *node)
{
    struct clh_node *n = node;

    LL_UNUSED(lock);
    eng_init(&n->spare, &n->cell);
}

static void acquire(void *lock, void *node)
{
    struct clh *l = lock;
    struct clh_node *n = node;
    struct clh_cell *cell = eng_read(&n->spare), *prev;

    eng_store_rlx(&cell->busy, 1);
    /* rel: whoever finds the cell finds it marked; acq: the same of the one before */
    prev = eng_doorway(eng_xchg_ar(&l->tail, cell));
    eng_write(&n->used, cell);
    eng_write(&n->spare, prev);       /* ours once it is cleared: nobody else looks at it */
    eng_await_eq_acq(&prev->busy, 0); /* remote: prev->busy; pairs with release */
}

static void release(void *lock, void *node)
{
    struct clh_node *n = node;
    struct clh_cell *cell = eng_read(&n->used);

    LL_UNUSED(lock);
    /* pairs with acquire; from here on the cell is the successor's */
    eng_store_rel(&cell->busy, 0);
}

static const struct ll_field lock_fields[] = {
    LL_FIELD(struct clh, tail),
    LL_FIELD(struct clh, first),
    LL_FIELD_END,
};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct clh_node, cell),
    LL_FIELD(struct clh_node, spare),
    LL_FIELD(struct clh_node, used),
    LL_FIELD_END,
};

LL_LOCK(spin_clh) = {
    .name = "clh",
    .family = "spin",
    .summary = "implicit queue, each waiter spins on its predecessor's cell: FIFO, O(1) hand-over",
    .origin = "doi:10.1109/IPPS.1994.288305",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct clh),
    .node_size = sizeof(struct clh_node),
    .claims = LL_FIFO | LL_STARVATION_FREE | LL_QUEUES | LL_LIFE_TIME,
    .init = init,
    .node_init = node_init,
    .ops = {.acquire = acquire, .release = release},
    .lock_fields = lock_fields,
    .node_fields = node_fields,
};
