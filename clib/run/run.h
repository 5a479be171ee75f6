/* SPDX-License-Identifier: MIT */
/* run.h - a run as its controller, its watchdog and its readers share it. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "run/crew.h"

#define SERIES_MAX 3600u /* points kept; then neighbours are merged and the period doubles */

#define OBJECT_NAME 64u /* bytes, of what a waiter waits on */

struct series {
    uint32_t n, threads;
    double period_s;
    double *t_s;      /* [SERIES_MAX] end of each interval */
    double *rate;     /* [SERIES_MAX][threads] */
    uint64_t *before; /* [threads] counters at the last point */
    double before_s;
};

struct tally {            /* pooled over repetitions */
    struct ll_result out; /* points into the arrays below */
    struct ll_repeat *repeat;
    uint64_t *thread_acquisitions; /* [repeats][threads] */
    uint64_t *per_thread;          /* [TALLY_COLUMNS][threads], out points into it */
    struct ll_histogram wait, hold, handoff, wake, bypass, run_length;
    struct wl_transactions transactions;
    uint64_t *matrix;
    uint64_t events[LL_EVENT_COUNT];
    struct ll_perf_value perf[LL_MAX_PERF];
    struct ll_waiter *waiter;
    char (*waiter_object)[OBJECT_NAME];
    struct ll_group group[WL_GROUPS];
    char group_lock[WL_GROUPS][64]; /* ids */
    double *block_bare, *block_instrumented;
    double logged_s, log_s; /* time in which hand-offs were logged, of how much */
    uint64_t last_mask;     /* windows logged in the last repetition */
};

struct ll_run {
    uint32_t refs; /* atomic */
    pid_t pid;     /* in a forked child the run is dead */
    struct run_plan plan;
    struct mt_perf_set *perf;       /* NULL: nothing is counted */
    struct ll_validator *validator; /* NULL: nobody validates */

    pthread_t controller;
    pthread_mutex_t mutex; /* protects all below but what says otherwise */
    pthread_cond_t cond;   /* stop asked, or done */
    bool stop, done;
    bool joined;
    bool abandoned;    /* threads that could not be ended may still use this memory */
    struct crew *crew; /* current repetition; NULL between two */
    enum ll_phase phase;
    uint32_t repeat;                 /* index of the current repetition */
    double started, measure_started; /* run_now() */
    /* the controller's own until `done` */
    struct tally tally;
    struct series series;
    double *cpu_s; /* [threads] for the watchdog */
};

enum run_ended { RUN_ENDED_TIME, RUN_ENDED_STOP, RUN_ENDED_HUNG };

/* CLOCK_MONOTONIC in seconds. */
double run_now(void);
/* Sleeps until `until` or until a stop is asked for; true: stop. Call without the mutex. */
bool run_sleep(struct ll_run *run, double until);
/* Ends in this status; `err` says why, NULL: nothing to say. */
void run_fail(struct ll_run *run, enum ll_status status, const struct ll_error *err);
void run_set_phase(struct ll_run *run, enum ll_phase phase, struct crew *crew);

/* Waits until every thread of the crew has ended; tears out those that do not. */
void run_drain(struct ll_run *run, struct crew *c, enum run_ended why);

/* tally.c */
int tally_init(struct ll_run *run);
/* Says which histograms apply; `no_handoffs` is the reason if they do not. */
void tally_start(struct ll_run *run, const void *workload_state, const char *no_handoffs);
void tally_fini(struct ll_run *run);
/* Pools a repetition whose threads have ended. */
void tally_add(struct ll_run *run, struct crew *crew, double seconds, const double regime_ns[2],
               const struct mt_handoffs *handoffs);
void tally_finish(struct ll_run *run);

/* series.c */
int series_init(struct series *s, uint32_t threads, double period_s);
void series_fini(struct series *s);
void series_start(struct series *s, double offset_s); /* a measured phase begins */
void series_point(struct series *s, const struct crew *crew, double t_s, bool last);

/* watch.c */
struct watchdog {
    uint64_t seen;
    double moved, looked; /* when something last moved; when the CPU times were taken, 0: not yet */
};
struct watchdog watch_begin(uint64_t progress);
/* Has `progress` stood still for too long? A thread that the machine gives no CPU is not stuck, so the
 * verdict waits while there is one, but not for ever: a host lock's sleeper looks the same. */
bool watch_hangs(struct ll_run *run, const struct crew *c, struct watchdog *w, uint64_t progress);
/* Makes the run's status hung and notes who waits where; `when` ends the sentence. */
void watch_declare(struct ll_run *run, const struct crew *c, const struct watchdog *w,
                   const char *when);

/* blocks.c: the bare against the instrumented build, block by block. 0, -ECANCELED (stopped),
 * -ETIMEDOUT (hung, and declared so) or why it could not start. */
int blocks_run(struct ll_run *run, struct ll_error *err);
