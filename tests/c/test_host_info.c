/* SPDX-License-Identifier: MIT */
/* test_host_info.c - what the library says of its clock and its build. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "engine/clock.h"
#include "expect.h"
#include "include/locklab.h"

static void clock_agrees_with_the_system(void)
{
    struct ll_clock_info info = {.size = sizeof(info)}, again = {.size = sizeof(again)};
    struct timespec nap = {0, 20 * 1000 * 1000}, a, b;
    double ns, wanted;
    uint64_t ticks;

    ll_clock(&info);
    printf("%s: %.0f ticks/s, step %lu ns, %.1f ns a reading\n", info.source, info.ticks_per_s,
           info.step_ns, info.read_cost_ns);
    EXPECT(strcmp(info.source, eng_clock.counter ? "tsc" : "clock_gettime") == 0 ||
               strcmp(info.source, "cntvct") == 0,
           "source %s", info.source);
    EXPECT(info.read_cost_ns > 0.1 && info.read_cost_ns < 1e5, "%g ns a reading",
           info.read_cost_ns);
    EXPECT(info.step_ns < 1000000, "step of %lu ns", info.step_ns);
    clock_gettime(CLOCK_MONOTONIC_RAW, &a);
    ticks = eng_ticks();
    nanosleep(&nap, NULL);
    ticks = eng_ticks() - ticks;
    clock_gettime(CLOCK_MONOTONIC_RAW, &b);
    wanted = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    ns = (double)ticks / info.ticks_per_s * 1e9;
    /* our span is within the system's; a thread that lost its CPU between the two makes it shorter */
    EXPECT(ns <= wanted * 1.001 && ns >= 19.9e6, "%g ns by ticks_per_s, %g by the system", ns,
           wanted);
    ll_clock(&again);
    EXPECT(again.ticks_per_s == info.ticks_per_s && again.step_ns == info.step_ns,
           "measured twice");
}

/* Copies the value of `name`; the flags may hold commas, but no name. */
static void part(const char *name, char *value, size_t size)
{
    char key[32];
    const char *at;

    snprintf(key, sizeof(key), ",%s=", name);
    at = strncmp(ll_build_info(), key + 1, strlen(key) - 1) == 0 ? ll_build_info() - 1
                                                                 : strstr(ll_build_info(), key);
    EXPECT(at, "no %s in %s", name, ll_build_info());
    snprintf(value, size, "%s", at ? at + strlen(key) : "");
    value[strcspn(value, ",")] = '\0';
}

static void build_is_told(void)
{
    char value[256];

    part("compiler", value, sizeof(value));
#ifdef __clang__
    EXPECT(strncmp(value, "clang ", 6) == 0, "%s", value);
#else
    EXPECT(strncmp(value, "gcc ", 4) == 0, "%s", value);
#endif
    part("flags", value, sizeof(value));
    EXPECT(strstr(value, "-O"), "flags %s", value);
    part("pfm", value, sizeof(value));
#ifdef HAVE_PFM
    EXPECT(strcmp(value, "yes") == 0, "pfm %s", value);
#else
    EXPECT(strcmp(value, "no") == 0, "pfm %s", value);
#endif
    part("ck", value, sizeof(value));
#ifdef HAVE_CK
    EXPECT(strcmp(value, "yes") == 0, "ck %s", value);
#else
    EXPECT(strcmp(value, "no") == 0, "ck %s", value);
#endif
    part("sanitizer", value, sizeof(value));
#if defined(__SANITIZE_ADDRESS__)
    EXPECT(strcmp(value, "address") == 0, "sanitizer %s", value);
#elif defined(__SANITIZE_THREAD__)
    EXPECT(strcmp(value, "thread") == 0, "sanitizer %s", value);
#else
    EXPECT(strcmp(value, "no") == 0, "sanitizer %s", value);
#endif
}

int main(void)
{
    clock_agrees_with_the_system();
    build_is_told();
    DONE();
}
