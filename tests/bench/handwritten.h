/* SPDX-License-Identifier: MIT */
/* handwritten.h - the spin locks once more, straight on C11 atomics, as a person would write them. */
#pragma once

#include <stddef.h>

struct hand {
    const char *name; /* of the spin/ lock it is compared with */
    size_t lock_size, node_size;
    void (*init)(void *lock, void *node);
    void (*acquire)(void *lock, void *node), (*release)(void *lock, void *node);
};
extern const struct hand hands[]; /* ends with name NULL */
