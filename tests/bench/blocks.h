/* SPDX-License-Identifier: MIT */
/* blocks.h - rows that are compared run block by block, in a random order, in one thread that stays on
 * its CPU. A second thread is alive and asleep: glibc drops the lock prefix in single-threaded processes.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/native_thread.h"

enum { BLOCKS_ROWS = 64 };

struct blocks {
    unsigned rows, blocks;         /* blocks of each row */
    double (*timed)(unsigned row); /* one block; ns a turn */
    const char *(*name)(unsigned row);
};

static uint64_t blocks_random;

static inline unsigned blocks_below(unsigned n)
{
    blocks_random ^= blocks_random << 13;
    blocks_random ^= blocks_random >> 7;
    blocks_random ^= blocks_random << 17;
    return (unsigned)(blocks_random % n);
}

static void *blocks_sleeper(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

/* Moving to another CPU in the middle would only add noise. False: it cannot be measured here. */
static inline bool blocks_begin(const char *seed)
{
    pthread_t thread;
    cpu_set_t set;

    blocks_random = 88172645463325252u + (seed ? strtoull(seed, NULL, 10) : 0);
    eng_clock_init();
    if (pthread_create(&thread, NULL, blocks_sleeper, NULL) || !eng_native_attach(0, 1))
        return false;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof(set), &set);
    return true;
}

/* Warms up, measures, and prints one JSON object: {"name": [ns, one per block], ...}. */
static inline void blocks_run(const struct blocks *b)
{
    double *ns = calloc((size_t)b->rows * b->blocks + 1, sizeof(*ns));
    unsigned order[BLOCKS_ROWS];

    if (!ns || b->rows > BLOCKS_ROWS)
        abort();
    for (unsigned i = 0; i < b->rows; i++) {
        order[i] = i;
        b->timed(i);
    }
    for (unsigned k = 0; k < b->blocks; k++) {
        for (unsigned i = b->rows - 1; i > 0; i--) {
            unsigned other = blocks_below(i + 1), swap = order[i];
            order[i] = order[other];
            order[other] = swap;
        }
        for (unsigned i = 0; i < b->rows; i++)
            ns[(size_t)order[i] * b->blocks + k] = b->timed(order[i]);
    }
    for (unsigned i = 0; i < b->rows; i++) {
        printf("%s\"%s\": [", i ? ",\n" : "{", b->name(i));
        for (unsigned k = 0; k < b->blocks; k++)
            printf("%s%.3f", k ? "," : "", ns[(size_t)i * b->blocks + k]);
        printf("]");
    }
    printf("}\n");
    free(ns);
}
