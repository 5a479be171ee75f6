/* SPDX-License-Identifier: MIT */
/* rng.h - seeds. The generators themselves are one line where they are used. */
#pragma once

#include <stdint.h>

/* A well-mixed non-zero state for stream `stream` of `seed` (splitmix64, S. Vigna, public domain
 * algorithm): neighbouring streams share no visible pattern. */
static inline uint64_t ll_rng_seed(uint64_t seed, uint64_t stream)
{
    uint64_t z = seed + (stream + 1) * UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return z ? z : 1;
}
