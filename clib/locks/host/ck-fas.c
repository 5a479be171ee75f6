/* SPDX-License-Identifier: MIT */
/* ck-fas - Concurrency Kit's fetch-and-store spin lock
 *
 * Idea     libck's default spin lock, the peer of spin/ttas: exchange first, and after a failure
 *          poll with loads until the word looks free.
 * Lines    As spin/ttas, without its load before the first exchange.
 * Order    None: a thread can starve.
 * Origin   Concurrency Kit, https://github.com/concurrencykit/ck, ck_spinlock.h
 * Differs  An adapter, not an algorithm: native engine only. Its waits are loops that this program
 *          cannot unwind; in a run that ends in good order nobody keeps the lock, so they all end.
 */
#include <ck_spinlock.h>

#include "core/lock.h"

struct ck_fas {
    ck_spinlock_fas_t fas;
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct ck_fas *l = lock;

    LL_UNUSED(topo);
    ck_spinlock_fas_init(&l->fas);
    return 0;
}

static void acquire(void *lock, void *node)
{
    struct ck_fas *l = lock;

    LL_UNUSED(node);
    ck_spinlock_fas_lock(&l->fas);
}

static bool try_acquire(void *lock, void *node)
{
    struct ck_fas *l = lock;

    LL_UNUSED(node);
    if (ck_spinlock_fas_trylock(&l->fas))
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static void release(void *lock, void *node)
{
    struct ck_fas *l = lock;

    LL_UNUSED(node);
    ck_spinlock_fas_unlock(&l->fas);
}

static const struct ll_field fields[] = {LL_FIELD(struct ck_fas, fas), LL_FIELD_END};

LL_LOCK(host_ck_fas) = {
    .name = "ck-fas",
    .family = "host",
    .summary = "libck's fetch-and-store spin lock, peer of spin/ttas",
    .origin = "https://github.com/concurrencykit/ck",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct ck_fas),
    .init = init,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
