/* SPDX-License-Identifier: MIT */
/* memory.h - the memory that lock, node and state descriptors ask for. */
#pragma once

#include <stddef.h>

/* At least `size` bytes (0 too gives some), zeroed, on pairs of lines of their own; free with free().
 * NULL: out of memory. */
void *ll_zeroed(size_t size);
