/* SPDX-License-Identifier: MIT */
/* tas - test-and-set, the plainest spin lock
 *
 * Idea     The lock is one word. A thread exchanges a 1 into it until it gets back a 0; the holder
 *          stores a 0.
 * Lines    Uncontended 1 RMW and 1 store on one line. Every waiter's every attempt takes the line
 *          exclusively, also from the holder, so the release queues behind the crowd.
 * Order    None: whoever's exchange comes first after the release wins, a thread can starve.
 *          xchg-acq in acquire pairs with the store-rel in release.
 * Origin   Folklore; measured by T. E. Anderson, IEEE Trans. Parallel and Distributed Systems 1(1),
 *          1990, doi:10.1109/71.80120.
 * Differs  One pause between two attempts, as CPUs with sibling threads ask for.
 */
#include "locks/spin/spin_tmpl.h"

static const struct spin_policy policy = {.read_first = false, .backoff = false};

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

LL_LOCK(spin_tas) = {
    .name = "tas",
    .family = "spin",
    .summary = "test-and-set: every attempt is an exchange on the one word",
    .origin = "doi:10.1109/71.80120",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct spin),
    .claims = LL_LIFE_TIME,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
