/* SPDX-License-Identifier: MIT */
/* ttas - test-and-test-and-set: look before you swap
 *
 * Idea     As tas, but a waiter polls with loads and exchanges only when it saw the word free.
 * Lines    While the lock is held the waiters share the line and cause no traffic. A release
 *          invalidates all of them; they all read, and those that read a 0 all exchange: O(n)
 *          transfers per hand-over, in a burst.
 * Order    None: a thread can starve. xchg-acq in acquire pairs with the store-rel in release; the
 *          polling loads are relaxed, since only the exchange takes the lock.
 * Origin   L. Rudolph, Z. Segall, Dynamic decentralized cache schemes for MIMD parallel processors,
 *          ISCA 1984, doi:10.1145/773453.808203.
 * Differs  One pause after an exchange that failed. An arriving thread looks first as well, where
 *          others exchange once before they look; it costs one load of a line it needs anyway.
 */
#include "locks/spin/spin_tmpl.h"

static const struct spin_policy policy = {.read_first = true, .backoff = false};

static LL_SLOW void wait(struct spin *l)
{
    spin_wait(l, policy, NULL);
}

static void acquire(void *lock, void *node)
{
    LL_UNUSED(node);
    if (!spin_acquire(lock, policy))
        wait(lock);
}

static bool try_acquire(void *lock, void *node)
{
    LL_UNUSED(node);
    return spin_try_acquire(lock, policy);
}

static void release(void *lock, void *node)
{
    LL_UNUSED(node);
    spin_release(lock);
}

static const struct ll_field fields[] = {LL_FIELD(struct spin, word), LL_FIELD_END};

LL_LOCK(spin_ttas) = {
    .name = "ttas",
    .family = "spin",
    .summary = "test-and-test-and-set: waiters poll with loads, then exchange",
    .origin = "doi:10.1145/773453.808203",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct spin),
    .claims = LL_LIFE_TIME,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
