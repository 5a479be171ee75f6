/* SPDX-License-Identifier: MIT */
/* pthread-adaptive - the C library's mutex that spins before it sleeps
 *
 * Idea     PTHREAD_MUTEX_ADAPTIVE_NP of glibc: a waiter first tries for a number of turns that
 *          follows how long earlier waits took (at most 100 by default), then sleeps on a futex.
 * Lines    Uncontended as pthread-mutex; spinners share the line with the holder.
 * Order    None promised: spinners overtake sleepers.
 * Origin   GNU C Library manual, https://sourceware.org/glibc/manual/latest/html_node/POSIX-Threads-Tunables.html
 * Differs  An adapter, not an algorithm: native engine only. Its waits are blocking calls that this
 *          program cannot unwind; in a run that ends in good order nobody keeps the lock, so they
 *          all return.
 */
#define _GNU_SOURCE /* PTHREAD_MUTEX_ADAPTIVE_NP */
#include "locks/host/mutex_tmpl.h"

static int init(void *lock, const struct ll_topology *topo)
{
    LL_UNUSED(topo);
    return host_mutex_init(lock, PTHREAD_MUTEX_ADAPTIVE_NP);
}

LL_LOCK(host_pthread_adaptive) = {
    .name = "pthread-adaptive",
    .family = "host",
    .summary = "glibc's adaptive mutex: waiters spin a while, then sleep",
    .origin = "https://sourceware.org/glibc/manual/latest/html_node/POSIX-Threads-Tunables.html",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct host_mutex),
    .claims = LL_PARKS,
    .init = init,
    .fini = fini,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
