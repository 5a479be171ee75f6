/* SPDX-License-Identifier: MIT */
/* stuck_lock.h - test/stuck, a lock that is never released: who comes second waits for ever. */
#pragma once

#include "core/lock.h"

struct stuck {
    eng_u32 word;
};

static inline void stuck_acquire(void *lock, void *node)
{
    struct stuck *l = lock;

    (void)node;
    do
        eng_await_eq_rlx(&l->word, 0);
    while (eng_xchg_acq(&l->word, 1));
}

static inline void stuck_release(void *lock, void *node)
{
    (void)lock, (void)node; /* the fault: never lets anybody in again */
}

static const struct ll_field stuck_fields[] = {LL_FIELD(struct stuck, word), LL_FIELD_END};

static const struct ll_lock_desc stuck = {
    .name = "stuck",
    .family = "test",
    .summary = "never released",
    .origin = "test",
    .lock_size = sizeof(struct stuck),
    .lock_fields = stuck_fields,
    .ops = {.acquire = stuck_acquire, .release = stuck_release},
};
