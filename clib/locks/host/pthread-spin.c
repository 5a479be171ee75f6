/* SPDX-License-Identifier: MIT */
/* pthread-spin - the C library's spin lock
 *
 * Idea     Whatever pthread_spin_lock does on this host. glibc on x86-64: a locked decrement; who
 *          finds it taken polls with loads until it looks free, then tries again.
 * Lines    Uncontended 1 RMW to acquire, 1 store to release. Waiters share the line and burst upon
 *          a release, as ttas.
 * Order    None promised: a thread can starve.
 * Origin   POSIX.1, https://pubs.opengroup.org/onlinepubs/9699919799/functions/pthread_spin_lock.html
 * Differs  An adapter, not an algorithm: native engine only. Its waits are calls that this program
 *          cannot unwind; in a run that ends in good order nobody keeps the lock, so they all
 *          return.
 */
#include <pthread.h>

#include "core/lock.h"

struct host_spin {
    pthread_spinlock_t spin;
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct host_spin *l = lock;

    LL_UNUSED(topo);
    return -pthread_spin_init(&l->spin, PTHREAD_PROCESS_PRIVATE);
}

static void fini(void *lock)
{
    struct host_spin *l = lock;

    pthread_spin_destroy(&l->spin);
}

/* Results are not looked at: a spin lock that is used in order has no error to report. */
static void acquire(void *lock, void *node)
{
    struct host_spin *l = lock;

    LL_UNUSED(node);
    pthread_spin_lock(&l->spin);
}

static bool try_acquire(void *lock, void *node)
{
    struct host_spin *l = lock;

    LL_UNUSED(node);
    if (pthread_spin_trylock(&l->spin) == 0)
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static void release(void *lock, void *node)
{
    struct host_spin *l = lock;

    LL_UNUSED(node);
    pthread_spin_unlock(&l->spin);
}

/* not LL_FIELD: the type is volatile */
static const struct ll_field fields[] = {
    {"spin", offsetof(struct host_spin, spin), sizeof(pthread_spinlock_t)},
    LL_FIELD_END,
};

LL_LOCK(host_pthread_spin) = {
    .name = "pthread-spin",
    .family = "host",
    .summary = "the C library's spin lock",
    .origin = "https://pubs.opengroup.org/onlinepubs/9699919799/functions/pthread_spin_lock.html",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct host_spin),
    .init = init,
    .fini = fini,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
