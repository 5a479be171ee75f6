/* SPDX-License-Identifier: MIT */
/* waitlock_tmpl.h - the small lock inside a sleeping lock: a ticket lock in one 32-bit word.
 *
 * FIFO, so that threads that come to wake somebody form the convoy that such locks are known for.
 * Nobody sleeps while holding it, but a holder can be preempted, often by the very thread that it
 * has woken. So waiters that have spun for a while yield; they keep their number.
 */
#pragma once

#include "core/lock.h"

/* Halves of the word: (next, serving); n,n is free. Only the holder writes `serving`. */
enum { WAITLOCK_SERVING, WAITLOCK_NEXT };

#define WAITLOCK_FIELDS(type, member)                                                              \
    {"wait_serving", offsetof(type, member), sizeof(uint16_t)},                                    \
    {                                                                                              \
        "wait_next", offsetof(type, member) + sizeof(uint16_t), sizeof(uint16_t)                   \
    }

/* `spins`, in pauses, read-only during a run: when to yield. The bound is for the checker, where
 * giving up a wait only to resume it changes nothing but the number of runs. */
#define WAITLOCK_NEVER_YIELDS 65536u

LL_TEMPLATE void waitlock_acquire(eng_u32 *word, uint32_t spins)
{
    /* rlx: the number orders the threads, the await takes the lock */
    uint16_t mine = eng_add_rlx(eng_half(word, WAITLOCK_NEXT), 1);
    /* pairs with waitlock_release */
    const struct eng_term called = eng_term_eq_acq(eng_half(word, WAITLOCK_SERVING), mine);
    const struct eng_giveup giveup = {.budget = spins < WAITLOCK_NEVER_YIELDS ? spins : 0};

    while (eng_await_any(&called, 1, &giveup) < 0) {
        eng_count(LL_EV_waitlock_yield);
        eng_yield();
    }
}

LL_TEMPLATE void waitlock_release(eng_u32 *word)
{
    eng_u16 *serving = eng_half(word, WAITLOCK_SERVING);

    /* a half: a store of the whole word would undo arrivals; pairs with waitlock_acquire */
    eng_store_rel(serving, (uint16_t)(eng_load_rlx(serving) + 1));
}
