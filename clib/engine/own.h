/* SPDX-License-Identifier: MIT */
/* own.h - counters with one writer and readers that look on.
 *
 * Only the thread that owns a counter writes it, so no locked operation is needed: a relaxed load and
 * a relaxed store are the plain add of the machine, and a reader sees a whole number, old or new.
 */
#pragma once

#include "core/types.h"

/* Requires: the caller is the only writer of *p. */
LL_TEMPLATE void eng_own_set(uint64_t *p, uint64_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}

/* For the owner and for any reader. */
LL_TEMPLATE uint64_t eng_own_read(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Requires: the caller is the only writer of *p. */
LL_TEMPLATE void eng_own_add(uint64_t *p, uint64_t n)
{
    eng_own_set(p, eng_own_read(p) + n);
}

/* The same with orders, for what is published: a reader that sees the value sees what was written
 * before it. */
LL_TEMPLATE void eng_own_set_rel(uint64_t *p, uint64_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
LL_TEMPLATE uint64_t eng_own_read_acq(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Words that lead threads: 32 bits. */
LL_TEMPLATE void eng_own_set32(uint32_t *p, uint32_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
LL_TEMPLATE uint32_t eng_own_read32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
LL_TEMPLATE void eng_own_set_rel32(uint32_t *p, uint32_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
LL_TEMPLATE uint32_t eng_own_read_acq32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* A word with many writers; yields the old value. */
LL_TEMPLATE uint32_t eng_shared_add32(uint32_t *p, uint32_t n)
{
    return __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL);
}
LL_TEMPLATE uint64_t eng_shared_add64(uint64_t *p, uint64_t n)
{
    return __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL);
}
