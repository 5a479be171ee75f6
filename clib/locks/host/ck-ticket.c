/* SPDX-License-Identifier: MIT */
/* ck-ticket - Concurrency Kit's ticket lock
 *
 * Idea     libck's ticket lock, the peer of spin/ticket. On x86 two 16-bit counters in one word.
 * Lines    As spin/ticket, but on x86 arrival adds to the whole word, which yields both counters
 *          without a second load, and release is a locked increment instead of a store.
 * Order    FIFO by the fetch-add. Not claimed: the doorway is inside libck, where we cannot mark it.
 * Origin   Concurrency Kit, https://github.com/concurrencykit/ck, ck_spinlock.h
 * Differs  An adapter, not an algorithm: native engine only. Its waits are loops that this program
 *          cannot unwind; in a run that ends in good order nobody keeps the lock, so they all end.
 *          No try_acquire: libck has it on some CPUs only.
 */
#include <ck_spinlock.h>

#include "core/lock.h"

struct ck_ticket {
    ck_spinlock_ticket_t ticket;
};

static int init(void *lock, const struct ll_topology *topo)
{
    struct ck_ticket *l = lock;

    LL_UNUSED(topo);
    ck_spinlock_ticket_init(&l->ticket);
    return 0;
}

static void acquire(void *lock, void *node)
{
    struct ck_ticket *l = lock;

    LL_UNUSED(node);
    ck_spinlock_ticket_lock(&l->ticket);
}

static void release(void *lock, void *node)
{
    struct ck_ticket *l = lock;

    LL_UNUSED(node);
    ck_spinlock_ticket_unlock(&l->ticket);
}

static const struct ll_field fields[] = {LL_FIELD(struct ck_ticket, ticket), LL_FIELD_END};

LL_LOCK(host_ck_ticket) = {
    .name = "ck-ticket",
    .family = "host",
    .summary = "libck's ticket lock, peer of spin/ticket",
    .origin = "https://github.com/concurrencykit/ck",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct ck_ticket),
    .init = init,
    .ops = {.acquire = acquire, .release = release},
    .lock_fields = fields,
};
