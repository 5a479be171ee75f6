/* SPDX-License-Identifier: MIT */
/* pingpong.c - an independent yardstick: two pinned threads pass one shared word to and fro.
 *
 * Uses nothing of the library. Prints three medians over 31 batches, in ns: the round trip when each
 * player returns the word at once; the round trip when each holds it for as long as two readings of
 * its clock take; and how long that was, from the one reading to the other, on average.
 *
 * The two differ by more than the holding: a CPU that guesses that it may return the word asks for
 * the line to write it while its poll is still reading it, so a word that is returned at once costs
 * one line transfer; one that was held for even 10 ns has become a line that both read.
 *
 * Arguments: CPU A, CPU B, rounds a batch (0 1 2000). Exit 77 where two CPUs cannot be had.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 31 };
static _Alignas(128) atomic_uint word;
static _Alignas(128) uint64_t held[2][16]; /* clock units that each player held it; a line each */
static int arg[3] = {0, 1, 2000};          /* CPU A, CPU B, rounds */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* In whatever unit, but not before all that precedes it is done. */
static uint64_t clock_reading(void)
{
#ifdef __x86_64__
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
#else
    return now_ns();
#endif
}

static void await(unsigned value)
{
    while (atomic_load_explicit(&word, memory_order_acquire) != value)
#ifdef __x86_64__
        __builtin_ia32_pause();
#else
        ;
#endif
}

static void play(unsigned me, unsigned batch, int hold)
{
    unsigned rounds = (unsigned)arg[2];

    for (unsigned i = batch * rounds; i < (batch + 1) * rounds; i++) {
        await(2 * i + me);
        if (hold) {
            uint64_t got = clock_reading();
            held[me][0] += clock_reading() - got;
        }
        atomic_store_explicit(&word, 2 * i + me + 1, memory_order_release);
    }
}

static void *partner(void *unused)
{
    (void)unused;
    for (unsigned batch = 0; batch < 2 * BATCHES; batch++)
        play(1, batch, batch & 1);
    return NULL;
}

/* The attribute, not the thread, sets the CPU: a thread made here starts where its maker spins. */
static int start_partner(pthread_t *thread)
{
    pthread_attr_t attr;
    cpu_set_t set;
    int rc;

    CPU_ZERO(&set);
    CPU_SET(arg[0], &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        return -1;
    CPU_ZERO(&set);
    CPU_SET(arg[1], &set);
    pthread_attr_init(&attr);
    rc = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
    if (!rc)
        rc = pthread_create(thread, &attr, partner, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, BATCHES, sizeof(*values), ascending);
    return values[BATCHES / 2];
}

int main(int argc, char **argv)
{
    double trip[2][BATCHES], hold[BATCHES];
    pthread_t thread;

    for (int i = 1; i < argc && i < 4; i++)
        arg[i - 1] = atoi(argv[i]);
    if (start_partner(&thread)) {
        fprintf(stderr, "cannot run on CPUs %d and %d\n", arg[0], arg[1]);
        return 77;
    }
    for (unsigned batch = 0; batch < 2 * BATCHES; batch++) {
        uint64_t held_before = held[0][0], ticks = clock_reading(), ns = now_ns();
        play(0, batch, batch & 1);
        ns = now_ns() - ns;
        ticks = clock_reading() - ticks;
        trip[batch & 1][batch / 2] = (double)ns / arg[2];
        if (batch & 1)
            hold[batch / 2] =
                (double)(held[0][0] - held_before) / (double)ticks * (double)ns / arg[2];
    }
    pthread_join(thread, NULL);
    printf("%.2f %.2f %.2f\n", median(trip[0]), median(trip[1]), median(hold));
    return 0;
}
