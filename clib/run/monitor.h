/* SPDX-License-Identifier: MIT */
/* monitor.h - the thread that looks after the others where a policy needs one.
 *
 * resched=tick: every 1/HZ it asks the spinning threads of each CPU on which more than one thread
 * wants to run to stop spinning, as the timer interrupt of a kernel would. owner_run=sample: every
 * millisecond it reads from procfs which threads are asleep. For the order validator it looks for
 * stranded waiters.
 */
#pragma once

#include <pthread.h>

#include "include/locklab.h"

struct crew;

#define MONITOR_SAMPLE_NS 1000000u

struct monitor {
    pthread_t thread;
    bool started;
    uint32_t stop;      /* atomic */
    uint64_t tick_ns;   /* 0: no ticks */
    uint64_t sample_ns; /* 0: no samples */
    uint64_t watch_ns;  /* 0: nobody looks for stranded waiters */
    int *stat;          /* [threads] /proc/self/task/TID/stat, if sampled */
};

/* Starts the monitor if the crew's plan needs it; the crew's threads are ready. */
int monitor_start(struct crew *c, struct ll_error *err);
/* Ends it, if it was started. */
void monitor_stop(struct crew *c);

/* One tick and one round of samples, as the monitor does them. */
void monitor_tick(struct crew *c);
void monitor_sample(struct crew *c);

/* May a thread with this line of /proc/TID/stat be on a CPU? */
bool monitor_runs(const char *stat, size_t length);
