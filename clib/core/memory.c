/* SPDX-License-Identifier: MIT */
/* memory.c - whole pairs of lines, so that no neighbour shares one. */
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

#include "core/types.h"

void *ll_zeroed(size_t size)
{
    size_t whole = size ? (size + LL_PAIR - 1) / LL_PAIR * LL_PAIR : LL_PAIR;
    void *p = aligned_alloc(LL_PAIR, whole);

    return p ? memset(p, 0, whole) : NULL;
}
