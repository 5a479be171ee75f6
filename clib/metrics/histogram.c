/* SPDX-License-Identifier: MIT */
/* histogram.c - bounds, merging and quantiles of the log-linear histograms. */
#include "metrics/histogram.h"

#include <float.h>
#include <math.h>

_Static_assert(LL_BUCKETS == 64 + 32 * (42 - 6), "0..63, then 32 an octave up to 2^42");

uint64_t ll_bucket_upper(uint32_t i)
{
    uint32_t shift;

    if (i < 64)
        return i;
    if (i >= LL_BUCKETS)
        return LL_HIST_MAX_NS;
    shift = i / 32 - 1;
    return ((uint64_t)(i - 32 * shift + 1) << shift) - 1;
}

uint32_t ll_bucket_of(uint64_t value)
{
    return mt_bucket_of(value);
}

void ll_histogram_record(struct ll_histogram *h, uint64_t value)
{
    mt_histogram_record(h, value);
}

/* `from` may be recorded into meanwhile. The count is taken from the buckets as they were read, so
 * that buckets add up to count in every snapshot. */
void ll_histogram_merge(struct ll_histogram *into, const struct ll_histogram *from)
{
    uint64_t count = 0, max = eng_own_read(&from->max);

    for (uint32_t i = 0; i < LL_BUCKETS; i++) {
        uint64_t n = eng_own_read(&from->bucket[i]);
        into->bucket[i] += n;
        count += n;
    }
    into->count += count;
    into->sum += eng_own_read(&from->sum);
    if (max > into->max)
        into->max = max;
}

/* Which value, counted from 1 in ascending order, is the q-quantile. */
static uint64_t rank_of(double q, uint64_t count)
{
    double exact, whole;

    if (!(q > 0))
        return 1;
    if (q >= 1)
        return count;
    exact = q * (double)count;
    whole = floor(exact);
    /* 0.07 * 100 is a little more than 7: that is rounding, not an eighth value */
    if (exact - whole > exact * 4 * DBL_EPSILON)
        whole += 1;
    if (whole < 1)
        return 1;
    return whole >= (double)count ? count : (uint64_t)whole;
}

uint64_t ll_histogram_quantile(const struct ll_histogram *h, double q)
{
    uint64_t rank, seen = 0, upper;
    uint32_t i, last = 0;

    if (h->count == 0)
        return 0;
    rank = rank_of(q, h->count);
    for (i = 0; i < LL_BUCKETS; i++) {
        seen += h->bucket[i];
        if (h->bucket[i])
            last = i;
        if (seen >= rank)
            break;
    }
    /* the last bucket has no upper end */
    upper = last == LL_BUCKETS - 1 ? UINT64_MAX : ll_bucket_upper(last);
    return upper < h->max ? upper : h->max;
}
