/* SPDX-License-Identifier: MIT */
/* crew.h - the threads, locks and memory of one repetition.
 *
 * A crew has one side (one variant of lock and workload), or two for the comparison of the bare with
 * the instrumented build: the same threads then switch sides from block to block. Both sides use the
 * same lock, nodes and data: where a line lies decides how fast it moves, by more than is compared. It is led by one
 * phase word: LL_PHASE_* in the low byte, the block's number above.
 */
#pragma once

#include <pthread.h>

#include "engine/native_thread.h"
#include "metrics/perf.h"
#include "metrics/perf_switch.h"
#include "run/guards.h"
#include "run/monitor.h"
#include "run/plan.h"
#include "run/worker.h"

#define CREW_SIDES 2u
#define CREW_PHASE(word) ((enum ll_phase)((word)&255u))
#define CREW_BLOCK(number) ((uint32_t)LL_PHASE_OVERHEAD | (uint32_t)(number) << 8)
#define CREW_SIDE(word) ((word) >> 8 & 1u)

struct crew;

struct crew_usage { /* of the measured phase, by the thread itself */
    uint64_t cpu_ns;
    uint64_t voluntary, involuntary;
};

struct crew_member {
    struct wl_thread *wl[CREW_SIDES];
    struct wl_slot *slot[CREW_SIDES];
    struct crew *crew;
    uint32_t index;
    pthread_t thread;
    pid_t tid;
    bool started;
    struct mt_switch_ring switches; /* kept until all have ended: who asks may come late */
    struct eng_thread *eng;         /* valid until `done` */
    struct mt_log log;
    struct crew_usage usage;
    uint64_t events[LL_EVENT_COUNT];
    struct mt_perf_thread perf;
    int error;     /* why it could not start */
    bool measured; /* it came to the measured phase: its figures count */
    uint32_t done; /* atomic: the thread touches the crew no more */
};

struct crew {
    LL_OWN_LINE uint32_t phase; /* written by the controller */
    LL_OWN_LINE const struct run_plan *plan;
    uint32_t threads, sides, ready;
    uint64_t seed;
    bool logs;                      /* hand-offs are logged */
    const struct mt_perf_set *perf; /* NULL: none */
    enum ll_variant variant[CREW_SIDES];
    /* what is competed for, and with; shared by the sides */
    void **lock; /* [n_locks] */
    void **node; /* [threads * n_locks], NULL where node_size is 0 */
    void *state, *data;
    void *ww_class, **context;  /* of the ww locks, [threads]; NULL if there are none */
    struct crew_member *member; /* [threads] */
    struct monitor monitor;
    struct guards guards;
    LL_OWN_LINE eng_u32 bkl; /* the big lock; who wants it writes it */
};

/* Makes locks and starts the threads, which wait for the first phase. `sides` 1: the plan's variant;
 * 2: side 0 bare, side 1 instrumented. `validator` (may be NULL) looks on, of a crew with one side. */
int crew_start(const struct run_plan *plan, uint32_t sides, bool logs,
               const struct mt_perf_set *perf, struct ll_validator *validator, uint64_t seed,
               struct crew **out, struct ll_error *err);
/* Leads all threads to the next phase. */
void crew_lead(struct crew *c, uint32_t phase_word);
/* Acquisitions of all threads on one side, in the current phase. */
uint64_t crew_acquisitions(const struct crew *c, uint32_t side);
/* Of thread i in the measured phase; 0 while it has not come to it: what it shows then is its warm-up.
 * For one-sided crews. */
uint64_t crew_measured(const struct crew *c, uint32_t i);
uint32_t crew_done(const struct crew *c); /* threads that have ended */
/* Sleeps *ns and doubles it, to 10 ms at most. A controller that goes on waking thousands of times a
 * second, at its high priority, makes some kernels (Linux 6.18, with scheduling groups) forget what
 * the group has used: every other group on that CPU starves, among them perhaps who is waited for. */
void crew_nap(long *ns);
/* Is a thread that neither has ended nor sleeps in a park short of CPU: did it get less than `least_s`
 * since the last call with the same `cpu_s` ([threads], filled anew)? */
bool crew_starved(const struct crew *c, double *cpu_s, double least_s);
/* Makes every waiting thread unwind. */
void crew_abort(struct crew *c);
/* Joins and frees; threads that are not done are abandoned with all memory they may touch, and their
 * number is returned. */
uint32_t crew_free(struct crew *c);
