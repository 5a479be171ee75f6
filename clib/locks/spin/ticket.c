/* SPDX-License-Identifier: MIT */
/* ticket - take a number, wait until it is called
 *
 * Idea     Two counters. An arriving thread takes `next` and adds one to it; it holds the lock while
 *          `owner` equals its number. The holder adds one to `owner` to let the next one in.
 * Lines    Uncontended 1 RMW, 1 load, 1 store, all on one line. Every arrival and every release
 *          invalidates all waiters: O(n) transfers per hand-over.
 * Order    FIFO by the fetch-add on `next`. release: store-rel `owner`, pairs with the await-acq in
 *          acquire and with the compare-exchange-acq in try_acquire.
 * Origin   D. P. Reed, R. K. Kanodia, Synchronization with eventcounts and sequencers, CACM 22(2),
 *          1979, doi:10.1145/359060.359076; as a spin lock in J. M. Mellor-Crummey, M. L. Scott,
 *          ACM TOCS 9(1), 1991, doi:10.1145/103727.103729.
 * Differs  Both counters are halves of one 32-bit word, so that try_acquire can judge both at once;
 *          they wrap at 65,536, far above the number of threads. No back-off proportional to the
 *          distance from the head, which the second paper adds.
 */
#include "core/lock.h"

/* The word, low half first. Only the holder writes `owner`; waiters poll it.
 *   (next, owner)  n,n free   n+k,n held by ticket n with k-1 waiters, k >= 1
 *   arrival n,o -> n+1,o      release n,o -> n,o+1
 */
enum { OWNER, NEXT };

struct ticket {
    eng_u32 word;
};

static void acquire(void *lock, void *node)
{
    struct ticket *l = lock;
    uint16_t mine;

    LL_UNUSED(node);
    /* rlx: the number orders the threads, the await below takes the lock */
    mine = eng_doorway(eng_add_rlx(eng_half(&l->word, NEXT), 1));
    eng_await_eq_acq(eng_half(&l->word, OWNER), mine); /* pairs with release */
}

static bool try_acquire(void *lock, void *node)
{
    struct ticket *l = lock;
    uint32_t seen = eng_load_rlx(&l->word);
    uint16_t owner = (uint16_t)seen, next = (uint16_t)(seen >> 16), mine = (uint16_t)(next + 1);

    LL_UNUSED(node);
    /* On the whole word: with `next` alone, 65,536 arrivals between load and exchange would let us
     * in beside a holder. Pairs with release. */
    if (owner == next &&
        eng_doorway(eng_cas_acq(&l->word, seen, (uint32_t)owner | (uint32_t)mine << 16)))
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

static void release(void *lock, void *node)
{
    struct ticket *l = lock;
    eng_u16 *owner = eng_half(&l->word, OWNER);

    LL_UNUSED(node);
    /* no RMW: nobody else writes this half; a store of the whole word would undo arrivals */
    eng_store_rel(owner, (uint16_t)(eng_load_rlx(owner) + 1)); /* pairs with acquire */
}

static const struct ll_field fields[] = {
    {"owner", offsetof(struct ticket, word), sizeof(uint16_t)},
    {"next", offsetof(struct ticket, word) + sizeof(uint16_t), sizeof(uint16_t)},
    LL_FIELD_END,
};

LL_LOCK(spin_ticket) = {
    .name = "ticket",
    .family = "spin",
    .summary = "take a number and wait until it is called: FIFO, all wait on one line",
    .origin = "doi:10.1145/359060.359076",
    .kind = LL_KIND_EXCLUSIVE,
    .lock_size = sizeof(struct ticket),
    .claims = LL_FIFO | LL_STARVATION_FREE | LL_LIFE_TIME,
    .ops = {.acquire = acquire, .release = release, .try_acquire = try_acquire},
    .lock_fields = fields,
};
