/* SPDX-License-Identifier: MIT */
/* ck-mcs - Concurrency Kit's MCS lock
 *
 * Idea     libck's MCS queue lock, the peer of spin/mcs; the node is libck's context.
 * Lines    As spin/mcs, with one private store more in acquire and one load of `tail` more before
 *          the compare-exchange of release.
 * Order    FIFO by the exchange on the tail. Not claimed: the doorway is inside libck, where we
 *          cannot mark it.
 * Origin   Concurrency Kit, https://github.com/concurrencykit/ck, ck_spinlock.h
 * Differs  An adapter, not an algorithm: native engine only. Its waits are loops that this program
 *          cannot unwind; in a run that ends in good order nobody keeps the lock, so they all end.
 */
#include <ck_spinlock.h>

#include "core/lock.h"

struct ck_mcs {
    ck_spinlock_mcs_t tail;
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct ck_mcs *l = lock;

    LL_UNUSED(topo);
    ck_spinlock_mcs_init(&l->tail);
    return 0;
}

static void acquire(void *lock, void *node)
{
    struct ck_mcs *l = lock;

    ck_spinlock_mcs_lock(&l->tail, node);
}

static bool try_acquire(void *lock, void *node)
{
    struct ck_mcs *l = lock;

    if (ck_spinlock_mcs_trylock(&l->tail, node))
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static void release(void *lock, void *node)
{
    struct ck_mcs *l = lock;

    ck_spinlock_mcs_unlock(&l->tail, node);
}

static const struct ll_field lock_fields[] = {LL_FIELD(struct ck_mcs, tail), LL_FIELD_END};

static const struct ll_field node_fields[] = {
    LL_FIELD(ck_spinlock_mcs_context_t, locked),
    LL_FIELD(ck_spinlock_mcs_context_t, next),
    LL_FIELD_END,
};

LL_LOCK(host_ck_mcs) = {
    .name = "ck-mcs",
    .family = "host",
    .summary = "libck's MCS lock, peer of spin/mcs",
    .origin = "https://github.com/concurrencykit/ck",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct ck_mcs),
    .node_size = sizeof(ck_spinlock_mcs_context_t),
    .claims = LL_QUEUES,
    .init = init,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = lock_fields,
    .node_fields = node_fields,
};
