/* SPDX-License-Identifier: MIT */
/* waitlock_tmpl.h - the small lock inside a sleeping lock: a ticket lock in one 32-bit word.
 *
 * FIFO, so that threads that come to wake somebody form the convoy that such locks are known for.
 * Nobody sleeps while holding it. Waiters only spin: with more threads than CPUs a preempted holder
 * costs them a time slice.
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

LL_TEMPLATE void waitlock_acquire(eng_u32 *word)
{
    /* rlx: the number orders the threads, the await takes the lock */
    uint16_t mine = eng_add_rlx(eng_half(word, WAITLOCK_NEXT), 1);

    eng_await_eq_acq(eng_half(word, WAITLOCK_SERVING), mine); /* pairs with waitlock_release */
}

LL_TEMPLATE void waitlock_release(eng_u32 *word)
{
    eng_u16 *serving = eng_half(word, WAITLOCK_SERVING);

    /* a half: a store of the whole word would undo arrivals; pairs with waitlock_acquire */
    eng_store_rel(serving, (uint16_t)(eng_load_rlx(serving) + 1));
}
