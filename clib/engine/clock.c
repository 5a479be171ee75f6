/* SPDX-License-Identifier: MIT */
/* clock.c - calibration of the time stamp counter. */
#include "engine/clock.h"

#include <pthread.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct eng_clock eng_clock = {.mult = UINT64_C(1) << 32};

static uint64_t raw_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Does the CPU promise a counter of constant rate that never stops? */
static bool counter_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

struct pair {
    uint64_t ticks, ns;
};

/* Counter and clock read together; the tightest of several tries, so that an interrupt between the
 * two readings does not skew the rate. */
static struct pair read_both(void)
{
    struct pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;

    for (int i = 0; i < 64; i++) {
        uint64_t before = eng_ticks(), ns = raw_ns(), after = eng_ticks();
        if (after - before < best_width) {
            best_width = after - before;
            best = (struct pair){before + (after - before) / 2, ns};
        }
    }
    return best;
}

static void calibrate(void)
{
    struct timespec nap = {0, 50 * 1000 * 1000};
    struct pair a, b;

    eng_clock.counter = counter_is_invariant();
    if (eng_clock.counter) {
        a = read_both();
        nanosleep(&nap, NULL);
        b = read_both();
        eng_clock.mult = (uint64_t)(((unsigned __int128)(b.ns - a.ns) << 32) / (b.ticks - a.ticks));
    }
    eng_clock.base = eng_ticks();
    eng_clock.ready = true;
}

void eng_clock_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, calibrate);
}
