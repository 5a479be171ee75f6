/* SPDX-License-Identifier: MIT */
/* ttas-backoff - ttas that stays away longer after each failed exchange
 *
 * Idea     As ttas; who sees the word free and still loses the exchange backs off for `wait_min`
 *          pauses, then twice as many each time, at most `wait_max`. Losers spread out in time, so
 *          the next release meets a smaller crowd.
 * Lines    As ttas while the lock is held; after a release only those that are awake come. The
 *          parameters stand on a line of their own, read when an exchange has failed.
 * Order    None, and worse than none: who has waited longest looks least often. xchg-acq in acquire
 *          pairs with the store-rel in release.
 * Origin   T. E. Anderson, The performance of spin lock alternatives for shared-memory
 *          multiprocessors, IEEE Trans. Parallel and Distributed Systems 1(1), 1990,
 *          doi:10.1109/71.80120.
 * Differs  Anderson draws each delay at random below a doubling bound; we take the bound itself, so
 *          that equal seeds give equal runs and the parameters mean what they say.
 */
#include "locks/spin/spin_tmpl.h"

struct backoff_lock {
    struct spin spin;
    LL_OWN_LINE struct spin_delay wait;
};

static const struct spin_policy policy = {.read_first = true, .backoff = true};

static LL_SLOW void wait(struct backoff_lock *l)
{
    spin_wait(&l->spin, policy, &l->wait);
}

static void acquire(void *lock, void *node)
{
    struct backoff_lock *l = lock;

    LL_UNUSED(node);
    if (!spin_acquire(&l->spin, policy))
        wait(l);
}

static bool try_acquire(void *lock, void *node)
{
    struct backoff_lock *l = lock;

    LL_UNUSED(node);
    return spin_try_acquire(&l->spin, policy);
}

static void release(void *lock, void *node)
{
    struct backoff_lock *l = lock;

    LL_UNUSED(node);
    spin_release(&l->spin);
}

static const struct ll_field fields[] = {
    {"word", offsetof(struct backoff_lock, spin.word), sizeof(eng_u32)},
    {"wait_min", offsetof(struct backoff_lock, wait.min), sizeof(uint32_t)},
    {"wait_max", offsetof(struct backoff_lock, wait.max), sizeof(uint32_t)},
    LL_FIELD_END,
};

static const struct ll_param params[] = {
    {
        .name = "wait_min",
        .unit = "pauses",
        .help = "back-off after the first exchange that failed",
        .type = LL_PARAM_UINT,
        .offset = offsetof(struct backoff_lock, wait.min),
        .def = 4,
        .min = 1,
        .max = 65536,
        .check = 2,
    },
    {
        .name = "wait_max",
        .unit = "pauses",
        .help = "bound of the back-off, which doubles from wait_min with each failure",
        .type = LL_PARAM_UINT,
        .offset = offsetof(struct backoff_lock, wait.max),
        .def = 256,
        .min = 1,
        .max = 65536,
        .check = 2,
    },
    LL_PARAM_END,
};

LL_LOCK(spin_ttas_backoff) = {
    .name = "ttas-backoff",
    .family = "spin",
    .summary = "ttas with bounded exponential back-off after a failed exchange",
    .origin = "doi:10.1109/71.80120",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct backoff_lock),
    .claims = LL_LIFE_TIME,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
    .params = params,
};
