/* SPDX-License-Identifier: MIT */
/* histogram.h - the recording half of the log-linear histograms, for the worker's path.
 *
 * 0..63 have a bucket each, then every octave has 32. With s = how far the value must be shifted to
 * have its top bit at position 5 (0 for values below 64), the bucket is 32 * s + (value >> s): the
 * shifted value runs from 32 to 63, and the octaves follow each other without a gap.
 */
#pragma once

#include "core/types.h"
#include "engine/own.h"
#include "include/locklab.h"

LL_TEMPLATE uint32_t mt_bucket_of(uint64_t value)
{
    uint64_t v = value < LL_HIST_MAX_NS ? value : LL_HIST_MAX_NS;
    uint32_t shift = 58u - (uint32_t)__builtin_clzll(v | 63);

    return 32 * shift + (uint32_t)(v >> shift);
}

/* Requires: the caller is the only writer of *h. Others may merge from it meanwhile. */
LL_TEMPLATE void mt_histogram_record(struct ll_histogram *h, uint64_t value)
{
    eng_own_add(&h->bucket[mt_bucket_of(value)], 1);
    eng_own_add(&h->count, 1);
    eng_own_add(&h->sum, value);
    if (LL_UNLIKELY(value > eng_own_read(&h->max)))
        eng_own_set(&h->max, value);
}

/* Requires: the caller is the only writer of *h. */
LL_TEMPLATE void mt_histogram_reset(struct ll_histogram *h)
{
    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        eng_own_set(&h->bucket[i], 0);
    eng_own_set(&h->count, 0);
    eng_own_set(&h->sum, 0);
    eng_own_set(&h->max, 0);
}
