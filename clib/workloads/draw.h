/* SPDX-License-Identifier: MIT */
/* draw.h - random choices of workloads: lengths, shares, ranks. To be drawn outside sections. */
#pragma once

#include <math.h>

#include "core/workload.h"

/* Uniform in [0, 1). */
LL_TEMPLATE double wl_unit(void)
{
    return (double)(eng_random() >> 11) * 0x1p-53;
}

LL_TEMPLATE bool wl_chance(double pct)
{
    return pct > 0 && wl_unit() * 100 < pct;
}

/* Uniform in min .. max. */
LL_TEMPLATE uint32_t wl_between(uint32_t min, uint32_t max)
{
    return min + (uint32_t)(wl_unit() * ((double)max - min + 1));
}

/* Exponential: as if what it ends came at random. */
LL_TEMPLATE uint64_t wl_exponential(uint32_t mean)
{
    return mean ? (uint64_t)(-log(1 - wl_unit()) * mean) : 0;
}

/* Private work between sections. */
LL_TEMPLATE void wl_think(uint32_t mean_ns)
{
    eng_delay(wl_exponential(mean_ns));
}

/* Zipf, exponent 1: rank k of 1 .. n is drawn in proportion to 1 / k. */
#define WL_ZIPF_MAX 256u

struct wl_zipf {
    uint32_t n;
    double below[WL_ZIPF_MAX]; /* [n] probability of a rank up to this one */
};

LL_TEMPLATE void wl_zipf_prepare(struct wl_zipf *z, uint32_t n)
{
    double sum = 0;

    z->n = n;
    for (uint32_t k = 0; k < n; k++)
        z->below[k] = sum += 1.0 / (k + 1);
    for (uint32_t k = 0; k < n; k++)
        z->below[k] /= sum;
}

/* 1 .. n; 0 if n is 0. */
LL_TEMPLATE uint32_t wl_zipf_rank(const struct wl_zipf *z)
{
    double u = wl_unit();
    uint32_t low = 0, high = z->n;

    if (!z->n)
        return 0;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (u < z->below[middle - 1])
            high = middle;
        else
            low = middle;
    }
    return low + 1;
}
