/* SPDX-License-Identifier: MIT */
/* pthread-rwlock - the C library's reader-writer lock
 *
 * Idea     Whatever pthread_rwlock does on this host: many readers or one writer. glibc by default
 *          prefers readers: they enter past a waiting writer.
 * Lines    glibc: each reader's entry and exit is an RMW on one shared word, so readers that do not
 *          exclude each other still pass one line around.
 * Order    None promised: with glibc's default a stream of readers can starve a writer.
 * Origin   POSIX.1, https://pubs.opengroup.org/onlinepubs/9699919799/functions/pthread_rwlock_rdlock.html
 * Differs  An adapter, not an algorithm: native engine only. Its waits are blocking calls that this
 *          program cannot unwind; in a run that ends in good order nobody keeps the lock, so they
 *          all return.
 */
#include <pthread.h>

#include "core/lock.h"

struct host_rwlock {
    pthread_rwlock_t rwlock;
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct host_rwlock *l = lock;

    LL_UNUSED(topo);
    return -pthread_rwlock_init(&l->rwlock, NULL);
}

static void fini(void *lock)
{
    struct host_rwlock *l = lock;

    pthread_rwlock_destroy(&l->rwlock);
}

/* Results are not looked at: used in order, the one error left is EAGAIN for too many readers, and
 * the counter holds far more than LL_MAX_THREADS of them. */
static void acquire(void *lock, void *node)
{
    struct host_rwlock *l = lock;

    LL_UNUSED(node);
    pthread_rwlock_wrlock(&l->rwlock);
}

static void acquire_shared(void *lock, void *node)
{
    struct host_rwlock *l = lock;

    LL_UNUSED(node);
    pthread_rwlock_rdlock(&l->rwlock);
}

static bool got(int err)
{
    if (err == 0)
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static bool try_acquire(void *lock, void *node)
{
    struct host_rwlock *l = lock;

    LL_UNUSED(node);
    return got(pthread_rwlock_trywrlock(&l->rwlock));
}

static bool try_acquire_shared(void *lock, void *node)
{
    struct host_rwlock *l = lock;

    LL_UNUSED(node);
    return got(pthread_rwlock_tryrdlock(&l->rwlock));
}

static void release(void *lock, void *node)
{
    struct host_rwlock *l = lock;

    LL_UNUSED(node);
    pthread_rwlock_unlock(&l->rwlock); /* knows itself in which mode it is held */
}

static const struct ll_field fields[] = {LL_FIELD(struct host_rwlock, rwlock), LL_FIELD_END};

LL_LOCK(host_pthread_rwlock) = {
    .name = "pthread-rwlock",
    .family = "host",
    .summary = "the C library's reader-writer lock: prefers readers, waiters sleep",
    .origin =
        "https://pubs.opengroup.org/onlinepubs/9699919799/functions/pthread_rwlock_rdlock.html",
    .kind = LL_KIND_SHARED,
    .lock_size = sizeof(struct host_rwlock),
    .claims = LL_PARKS | LL_READ_RECURSIVE, /* the default of glibc prefers readers */
    .init = init,
    .fini = fini,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .shared =
        {
            .acquire_shared = acquire_shared,
            .release_shared = release,
            .try_acquire_shared = try_acquire_shared,
        },
    .lock_fields = fields,
};
