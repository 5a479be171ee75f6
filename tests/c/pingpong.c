/* SPDX-License-Identifier: MIT */
/* pingpong.c - an independent yardstick: two pinned threads pass one shared word to and fro.
 *
 * Uses nothing of the library. Prints the median round trip in ns over 31 batches; half of it is what
 * one hand-off of a ticket lock should cost. Arguments: CPU A, CPU B, rounds a batch (0 1 2000).
 * Exit 77 where two CPUs cannot be had.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 31 };
static _Alignas(128) atomic_uint word;
static int arg[3] = {0, 1, 2000}; /* CPU A, CPU B, rounds */
static double ns[BATCHES];

static int pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set);
}

static void play(unsigned me, unsigned batch)
{
    unsigned rounds = (unsigned)arg[2];

    for (unsigned i = batch * rounds; i < (batch + 1) * rounds; i++) {
        while (atomic_load_explicit(&word, memory_order_acquire) != 2 * i + me)
            __builtin_ia32_pause();
        atomic_store_explicit(&word, 2 * i + me + 1, memory_order_release);
    }
}

static void *partner(void *unused)
{
    (void)unused;
    if (pin(arg[1]))
        exit(77);
    for (unsigned batch = 0; batch < BATCHES; batch++)
        play(1, batch);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct timespec a, b;

    for (int i = 1; i < argc && i < 4; i++)
        arg[i - 1] = atoi(argv[i]);
    if (pin(arg[0]) || pthread_create(&thread, NULL, partner, NULL)) {
        fprintf(stderr, "cannot run on CPU %d\n", arg[0]);
        return 77;
    }
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        play(0, batch);
        clock_gettime(CLOCK_MONOTONIC, &b);
        ns[batch] =
            ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / arg[2];
    }
    pthread_join(thread, NULL);
    qsort(ns, BATCHES, sizeof(ns[0]), ascending);
    printf("%.2f\n", ns[BATCHES / 2]);
    return 0;
}
