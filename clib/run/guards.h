/* SPDX-License-Identifier: MIT */
/* guards.h - the order validator beside the locks of a crew. */
#pragma once

#include "engine/native_thread.h"
#include "include/locklab.h"

struct crew;

#define GUARDS_WATCH_NS (LL_VALIDATOR_STRANDED_NS / 5)

struct guard { /* of one lock */
    struct ll_validator_lock lock;
    const struct ll_lock_desc *desc;
    const void *guarded;
};

struct guards {
    struct ll_validator *validator;       /* of the run; NULL: it has none */
    uint32_t ww_class;                    /* validator's class of the ww locks */
    struct guard *guard;                  /* [n_locks] */
    struct ll_validator_context *context; /* [threads] */
};

/* The crew's locks, each group a class; nothing if the crew has no validator. */
int guards_make(struct crew *c, struct ll_error *err);
void guards_free(struct crew *c);
/* Of the calling thread, which is member i. */
int guards_enter(struct crew *c, uint32_t i, struct eng_thread *self);
/* `torn`: out of a wait, so that what it holds is not its fault. */
void guards_leave(struct crew *c, uint32_t i, bool torn);
