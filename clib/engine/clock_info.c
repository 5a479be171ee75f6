/* SPDX-License-Identifier: MIT */
/* clock_info.c - what the clock that stamps everything is worth. */
#include <pthread.h>

#include "engine/clock.h"
#include "include/locklab.h"

#define READINGS 20000u

static struct ll_clock_info info = {.size = sizeof(info), .version = LL_ABI};

static void measure(void)
{
    uint64_t first, last, now, step = UINT64_MAX;

    eng_clock_init();
    first = last = eng_ticks();
    for (unsigned i = 0; i < READINGS; i++) {
        now = eng_ticks();
        if (now > last && now - last < step)
            step = now - last;
        last = now;
    }
    info.source = "clock_gettime";
#if defined(__x86_64__)
    if (eng_clock.counter)
        info.source = "tsc";
#elif defined(__aarch64__)
    if (eng_clock.counter)
        info.source = "cntvct";
#endif
    info.ticks_per_s = 1e9 * 4294967296.0 / (double)eng_clock.mult;
    info.step_ns = step == UINT64_MAX ? 0 : eng_ticks_ns(step);
    info.read_cost_ns = (double)eng_ticks_ns(last - first) / READINGS;
}

void ll_clock(struct ll_clock_info *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, measure);
    *out = info;
}
