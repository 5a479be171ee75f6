/* SPDX-License-Identifier: MIT */
/* pthread-mutex - the C library's default mutex
 *
 * Idea     Whatever pthread_mutex_lock does on this host, as the yardstick that everybody knows. In
 *          glibc: one compare-exchange if free, else sleep on a futex at once.
 * Lines    glibc: uncontended 1 RMW each way on the mutex, and stores of owner and user count.
 * Order    None promised: a woken waiter competes with whoever comes by.
 * Origin   POSIX.1, https://pubs.opengroup.org/onlinepubs/9699919799/functions/pthread_mutex_lock.html
 * Differs  An adapter, not an algorithm: native engine only. Its waits are blocking calls that this
 *          program cannot unwind; in a run that ends in good order nobody keeps the lock, so they
 *          all return.
 */
#include "locks/host/mutex_tmpl.h"

static int init(void *lock, const struct ll_topology *topo)
{
    LL_UNUSED(topo);
    return host_mutex_init(lock, PTHREAD_MUTEX_DEFAULT);
}

LL_LOCK(host_pthread_mutex) = {
    .name = "pthread-mutex",
    .family = "host",
    .summary = "the C library's default mutex: waiters sleep at once",
    .origin = "https://pubs.opengroup.org/onlinepubs/9699919799/functions/pthread_mutex_lock.html",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct host_mutex),
    .claims = LL_PARKS,
    .init = init,
    .fini = fini,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
