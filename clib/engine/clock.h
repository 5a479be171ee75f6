/* SPDX-License-Identifier: MIT */
/* clock.h - the time stamp counter as a monotonic clock in ns.
 *
 * One reading costs about 9 ns on current x86 against 20 for clock_gettime. The counter is used only
 * if the CPU says that it is constant and never stops; otherwise ticks are clock_gettime
 * nanoseconds. Calibrated once per process against CLOCK_MONOTONIC_RAW.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "core/types.h"

struct eng_clock {
    uint64_t mult; /* ns = ticks * mult >> 32, ticks counted from `base` */
    uint64_t base;
    bool counter; /* ticks are the CPU's counter, not clock_gettime */
    bool ready;
};
extern struct eng_clock eng_clock;

/* Calibrates on first call (about 50 ms); later calls return at once. */
void eng_clock_init(void);

LL_TEMPLATE uint64_t eng_ticks(void)
{
    struct timespec t;

#if defined(__x86_64__)
    if (LL_LIKELY(eng_clock.counter))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (LL_LIKELY(eng_clock.counter)) {
        uint64_t v;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
        return v;
    }
#endif
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A reading that comes after everything before it in the program. The plain one may be executed while
 * the load that ends a wait is still under way, on the guess that it will end it: the time stamp is
 * then one line transfer too early, or not, as the guessing goes. Costs about 5 ns more. */
LL_TEMPLATE uint64_t eng_ticks_settled(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
    return eng_ticks();
}

/* Ticks in `ns`. */
LL_TEMPLATE uint64_t eng_clock_ticks(uint64_t ns)
{
    return (uint64_t)(((unsigned __int128)ns << 32) / eng_clock.mult);
}

/* Duration of `ticks` in ns. */
LL_TEMPLATE uint64_t eng_ticks_ns(uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * eng_clock.mult) >> 32);
}
