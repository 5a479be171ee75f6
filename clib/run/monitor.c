/* SPDX-License-Identifier: MIT */
/* monitor.c - ticks and samples, see monitor.h. */
#define _GNU_SOURCE
#include "run/monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "engine/own.h"
#include "run/crew.h"

static bool ended(const struct crew_member *m)
{
    return eng_own_read_acq32(&m->done) != 0;
}

/* Neither ended nor asleep in a park: it has a CPU or waits for one. */
static bool wants_cpu(const struct crew_member *m)
{
    return !ended(m) && eng_own_read32(&m->eng->on_cpu);
}

void monitor_tick(struct crew *c)
{
    for (uint32_t i = 0; i < c->threads; i++) {
        struct crew_member *m = &c->member[i];
        uint32_t rivals = 0;
        if (ended(m) || eng_own_read32(&m->eng->spin) == ENG_SPIN_NOT)
            continue;
        for (uint32_t k = 0; k < c->threads; k++)
            rivals += c->plan->cpus[k] == c->plan->cpus[i] && wants_cpu(&c->member[k]);
        if (rivals > 1)
            eng_own_set32(&m->eng->resched, 1);
    }
}

bool monitor_runs(const char *stat, size_t length)
{
    /* "TID (name) STATE ..."; the name may hold anything, also brackets */
    const char *end = length ? memrchr(stat, ')', length) : NULL;
    size_t at = end ? (size_t)(end - stat) + 2 : length;

    return at < length && stat[at] == 'R';
}

void monitor_sample(struct crew *c)
{
    for (uint32_t i = 0; i < c->threads; i++) {
        struct crew_member *m = &c->member[i];
        char line[256];
        ssize_t n = ended(m) ? 0 : pread(c->monitor.stat[i], line, sizeof(line), 0);
        eng_own_set32(&m->eng->sampled, n > 0 && monitor_runs(line, (size_t)n));
    }
}

static void add_ns(struct timespec *t, uint64_t ns)
{
    uint64_t sum = (uint64_t)t->tv_nsec + ns;

    t->tv_sec += (time_t)(sum / 1000000000u);
    t->tv_nsec = (long)(sum % 1000000000u);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Does what is due at `*next` and says when it is due again; a period that was missed stays so. */
static void when_due(struct crew *c, struct timespec *next, uint64_t period_ns,
                     void (*work)(struct crew *c))
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (is_before(&now, next))
        return;
    work(c);
    do
        add_ns(next, period_ns);
    while (is_before(next, &now));
}

static void watch(struct crew *c)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ll_validator_watch(c->guards.validator,
                       (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

static void *monitor_main(void *arg)
{
    struct crew *c = arg;
    struct monitor *m = &c->monitor;
    struct {
        struct timespec next;
        uint64_t period_ns; /* 0: not at all */
        void (*work)(struct crew *c);
    } duty[] = {{{0, 0}, m->tick_ns, monitor_tick},
                {{0, 0}, m->sample_ns, monitor_sample},
                {{0, 0}, m->watch_ns, watch}};
    enum { DUTIES = sizeof(duty) / sizeof(duty[0]) };

    pthread_setname_np(pthread_self(), "locklab-monitor");
    for (unsigned i = 0; i < DUTIES; i++)
        clock_gettime(CLOCK_MONOTONIC, &duty[i].next);
    while (!eng_own_read_acq32(&m->stop)) {
        const struct timespec *first = NULL;
        for (unsigned i = 0; i < DUTIES; i++) {
            if (!duty[i].period_ns)
                continue;
            when_due(c, &duty[i].next, duty[i].period_ns, duty[i].work);
            if (!first || is_before(&duty[i].next, first))
                first = &duty[i].next;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, first, NULL);
    }
    return NULL;
}

static int open_stats(struct crew *c, struct ll_error *err)
{
    struct monitor *m = &c->monitor;
    char path[64];

    m->stat = malloc(c->threads * sizeof(*m->stat));
    if (!m->stat)
        return -ENOMEM;
    memset(m->stat, -1, c->threads * sizeof(*m->stat));
    for (uint32_t i = 0; i < c->threads; i++) {
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", c->member[i].tid);
        m->stat[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (m->stat[i] < 0)
            return ll_fail(err, -ENOTSUP, "owner_run",
                           "owner_run sample reads %s, which cannot be opened: %s", path,
                           strerror(errno));
    }
    return 0;
}

static void close_stats(struct crew *c)
{
    struct monitor *m = &c->monitor;

    for (uint32_t i = 0; m->stat && i < c->threads; i++)
        if (m->stat[i] >= 0)
            close(m->stat[i]);
    free(m->stat);
    m->stat = NULL;
}

int monitor_start(struct crew *c, struct ll_error *err)
{
    const struct ll_plan *p = &c->plan->user;
    struct monitor *m = &c->monitor;
    int ret;

    m->tick_ns = p->resched == LL_RESCHED_TICK ? 1000000000u / p->hz : 0;
    m->sample_ns = p->owner_run == LL_OWNER_SAMPLE ? MONITOR_SAMPLE_NS : 0;
    m->watch_ns = c->guards.validator ? GUARDS_WATCH_NS : 0;
    if (!m->tick_ns && !m->sample_ns && !m->watch_ns)
        return 0;
    if (m->sample_ns && (ret = open_stats(c, err))) {
        close_stats(c);
        return ret;
    }
    ret = pthread_create(&m->thread, NULL, monitor_main, c);
    if (ret) {
        close_stats(c);
        return ll_fail(err, -ret, "threads", "the monitor thread could not be started: %s",
                       strerror(ret));
    }
    m->started = true;
    return 0;
}

void monitor_stop(struct crew *c)
{
    struct monitor *m = &c->monitor;

    if (!m->started)
        return;
    eng_own_set_rel32(&m->stop, 1);
    pthread_join(m->thread, NULL);
    m->started = false;
    close_stats(c);
}
