/* SPDX-License-Identifier: MIT */
/* ck-clh - Concurrency Kit's CLH lock
 *
 * Idea     libck's CLH queue lock, the peer of spin/clh: wait on the predecessor's cell, keep it
 *          afterwards.
 * Lines    As spin/clh, but the link to the predecessor stands in the cell that others poll.
 * Order    FIFO by the exchange on the tail. Not claimed: the doorway is inside libck, where we
 *          cannot mark it.
 * Origin   Concurrency Kit, https://github.com/concurrencykit/ck, ck_spinlock.h
 * Differs  An adapter, not an algorithm: native engine only. Its waits are loops that this program
 *          cannot unwind; in a run that ends in good order nobody keeps the lock, so they all end.
 *          No try_acquire: libck has none.
 */
#include <ck_spinlock.h>

#include "core/lock.h"

struct ck_clh {
    ck_spinlock_clh_t *tail;
    LL_OWN_LINE ck_spinlock_clh_t first; /* the cell that the very first thread waits for */
};

struct ck_clh_node {
    ck_spinlock_clh_t cell;              /* lives as long as the lock, whoever owns it */
    LL_OWN_LINE ck_spinlock_clh_t *mine; /* the cell that the node's thread owns now */
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct ck_clh *l = lock;

    LL_UNUSED(topo);
    ck_spinlock_clh_init(&l->tail, &l->first);
    return 0;
}

static void node_init(void *lock, void *node)
{
    struct ck_clh_node *n = node;

    LL_UNUSED(lock);
    n->mine = &n->cell;
}

static void acquire(void *lock, void *node)
{
    struct ck_clh *l = lock;
    struct ck_clh_node *n = node;

    ck_spinlock_clh_lock(&l->tail, n->mine);
}

static void release(void *lock, void *node)
{
    struct ck_clh_node *n = node;

    LL_UNUSED(lock);
    ck_spinlock_clh_unlock(&n->mine);
}

static const struct ll_field lock_fields[] = {
    LL_FIELD(struct ck_clh, tail),
    LL_FIELD(struct ck_clh, first),
    LL_FIELD_END,
};

static const struct ll_field node_fields[] = {
    LL_FIELD(struct ck_clh_node, cell),
    LL_FIELD(struct ck_clh_node, mine),
    LL_FIELD_END,
};

LL_LOCK(host_ck_clh) = {
    .name = "ck-clh",
    .family = "host",
    .summary = "libck's CLH lock, peer of spin/clh",
    .origin = "https://github.com/concurrencykit/ck",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct ck_clh),
    .node_size = sizeof(struct ck_clh_node),
    .claims = LL_QUEUES,
    .init = init,
    .node_init = node_init,
    .ops = {.acquire = acquire, .release = release},
    .lock_fields = lock_fields,
    .node_fields = node_fields,
};
