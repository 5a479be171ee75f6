/* SPDX-License-Identifier: MIT */
/* litmus.h - a litmus test under way. Internal to check/; the public side is locklab.h.
 *
 *   litmus.c          is it a program? runs it, counts its executions by final state
 *   litmus_thread.c   what a thread does: registers, flags, jumps, accesses
 */
#pragma once

#include "engine/check/explore.h"
#include "include/locklab.h"

#define LITMUS_CELL 64u       /* bytes between two locations */
#define LITMUS_MAX_STORES 32u /* of a thread without a fence: as many as can be buffered */
#define LITMUS_NO_REGISTER LL_LITMUS_NONE

struct litmus_thread {
    uint64_t reg[LL_LITMUS_REGISTERS];
    bool zero, sign, carry, overflow;
    bool cut;                                 /* took more turns than allowed */
    bool idle;                                /* went round without a change */
    bool wrote;                               /* changed memory since its last jump backwards */
    uint32_t stores;                          /* since its last fence */
    uint32_t jumped;                          /* 1 + the operation of that jump; 0: none yet */
    uint64_t before[LL_LITMUS_REGISTERS + 1]; /* registers and flags at that jump */
    uint32_t turns[LL_LITMUS_MAX_OPS];
};

struct litmus_states { /* distinct final states, by hash */
    uint64_t *value;   /* [capacity][n_observed] */
    uint64_t *executions;
    uint32_t *slot; /* [2 * capacity]: 1 + index, 0: free */
    uint32_t n, capacity;
};

struct litmus {
    const struct ll_litmus_program *program;
    char *memory; /* location i at LITMUS_CELL * i */
    struct litmus_thread thread[CK_THREADS];
    struct litmus_states states;
    uint64_t executions, cut, idle;
    double polled;
    uint32_t stop;
    int ret; /* why it was stopped */
    struct ll_error error;
};

/* Of the explorer: runs thread `index` of the struct litmus. */
void litmus_thread_run(uint32_t index, void *litmus);
/* Ends the whole with this error, unless it has one already. */
void litmus_fail(struct litmus *l, int ret, const struct ll_error *error);
bool litmus_accesses(enum ll_litmus_code code); /* memory */
