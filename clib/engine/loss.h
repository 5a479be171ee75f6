/* SPDX-License-Identifier: MIT */
/* loss.h - where did a thread lose its CPU: spinning, in a queue, or holding a lock?
 *
 * The marker of rseq.h answers for the time since it was armed. So it is looked at and armed anew
 * wherever a thread goes from one of these to another: by the worker around acquire and release, by
 * the shim where a spin phase moves into a queue and out of it. The shim's own sleeping and yielding
 * is left out: what is given away is not lost.
 */
#pragma once

#include "engine/native_thread.h"
#include "engine/rseq.h"

/* Counts a loss, if there was one, under what the thread was doing, and goes on with `next`. */
LL_TEMPLATE void eng_loss_watch(struct eng_thread *self, enum eng_loss next)
{
    volatile uint64_t *word = eng_rseq_word;

    if (LL_LIKELY(word)) {
        if (LL_UNLIKELY(*word == 0 && self->loss))
            eng_native_lost_cpu(self);
        *word = next ? ENG_RSEQ_ARMED : 0;
    }
    self->loss = next;
}
