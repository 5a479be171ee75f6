/* SPDX-License-Identifier: MIT */
/* bkl_tmpl.h - the big lock: one a run, recursive, given up whenever its holder sleeps.
 *
 * It spins, without a queue, as its model did while owners of mutexes were first spun for. A thread
 * holds it `depth` times over; a park drops all of them and takes them back before it returns, which
 * makes "big lock, then mutex" in one thread and "mutex, then big lock" in another legal, unless the
 * first of them spins on the mutex instead of sleeping. Included once per engine.
 *
 * Order: CAS-acq of the word, pairs with its store-rel; the depth is the thread's own.
 */
#pragma once

#include "engine/engine.h"

LL_TEMPLATE void bkl_take(struct eng_bkl *b, uint32_t depth)
{
    for (;;) {
        eng_await_eq_rlx(b->word, 0);
        if (eng_cas_acq(b->word, 0, 1)) /* pairs with bkl_drop */
            break;
        eng_relax();
    }
    b->depth = depth;
}

LL_TEMPLATE uint32_t bkl_drop(struct eng_bkl *b)
{
    uint32_t depth = b->depth;

    if (depth) {
        b->depth = 0;
        eng_store_rel(b->word, 0); /* pairs with bkl_take */
    }
    return depth;
}

LL_TEMPLATE void bkl_acquire(struct eng_bkl *b)
{
    if (b->depth)
        b->depth++;
    else
        bkl_take(b, 1);
}

LL_TEMPLATE void bkl_release(struct eng_bkl *b)
{
    if (b->depth > 1)
        b->depth--;
    else
        bkl_drop(b);
}
