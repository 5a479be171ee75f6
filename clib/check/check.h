/* SPDX-License-Identifier: MIT */
/* check.h - a check under way. Internal to check/; the public side is locklab.h.
 *
 *   plan.c      is it possible?          session.c   which programs, by which strategies
 *   shrink.c    the simplest execution   trace.c     its steps in words
 *   schedule.c  its string               check.c     the handle: threads, progress, result
 */
#pragma once

#include <pthread.h>

#include "check/program.h"
#include "include/locklab.h"

#define CHECK_FINDINGS 24u /* distinct (kind, role) that are kept */
#define CHECK_SETTINGS 16u

enum check_phase {
    CHECK_WAITING,
    CHECK_BOUND_0,
    CHECK_BOUND_1,
    CHECK_BOUND_2,
    CHECK_BOUND_MORE,
    CHECK_EVERYTHING,
    CHECK_AT_RANDOM,
    CHECK_BY_PRIORITY,
    CHECK_SHRINKING,
    CHECK_DONE,
};

struct check_plan { /* a copy of the user's, judged */
    struct ll_check_plan user;
    const struct ll_lock_desc *lock;
    const struct ll_client_desc *client;
    char lock_id[64];
    struct ll_setting setting[CHECK_SETTINGS];
    char *text;  /* what the settings point into */
    bool roles;  /* shared mode: who writes, who reads */
    bool orders; /* contexts: who takes the locks in which order */
    /* those that the user asked for, if so; what `user` points into */
    uint32_t order;
    char order_text[LL_ORDERS_TEXT];
};

struct check_finding {
    const char *kind;
    const char *role;
    char text[512];
    bool in_client; /* a race on the fields that the lock protects */
    uint32_t threads, n, split, preemptions;
    char orders[LL_ORDERS_TEXT];
    uint64_t execution;
    double seconds;
    uint8_t *choice; /* [n_choices], sparse */
    uint32_t n_choices;
    uint32_t unfit; /* of a replay: choices that the program could not follow */
    char schedule[256];
    struct ll_check_step *step;
    uint32_t n_steps;
    char **step_text; /* what the steps point into, NULL at the end */
};

struct ll_check {
    struct check_plan plan;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;     /* under mutex */
    uint32_t stop; /* atomic */
    /* progress, for any thread */
    uint32_t phase; /* enum check_phase */
    uint32_t n, writers;
    uint64_t executions, pass_executions; /* of passes that are over; of the one under way */
    uint64_t n_found;
    double began;
    /* the replay of a schedule instead */
    bool replay;
    struct check_finding given;
    /* what came out */
    struct ll_check_result result;
    struct ll_check_fault *fault, *note;
    struct ll_check_site *site;
    struct check_finding finding[CHECK_FINDINGS];
    uint32_t n_findings;
    char reason[256]; /* what result.reason may point to */
    struct ll_error error;
};

double check_now(void);

/* There is one machine in a process: who explores takes turns. -ECANCELED: `cancelled(arg)`, asked
 * every 2 ms while others are at it, answered true. */
int check_turn_acquire(bool (*cancelled)(void *arg), void *arg);
void check_turn_release(void);

const char *check_default_client(const struct ll_lock_desc *lock);
/* 0 or -errno with err. The copy must be freed also after an error. */
int check_plan_make(struct check_plan *plan, const struct ll_check_plan *user,
                    struct ll_error *err);
void check_plan_free(struct check_plan *plan);

/* Explores; fills check->result and the findings. */
void check_session(struct ll_check *check);

/* SPLIT: how the threads share the work. The number of writers, where they have roles; the orders in
 * which they take the locks; else nothing. Those of the plan, at most CHECK_SPLITS. */
#define CHECK_SPLITS 8u
uint32_t check_splits(const struct check_plan *plan, uint32_t split[CHECK_SPLITS]);

/* The program of the plan with so many threads. */
int check_program(const struct check_plan *plan, struct ll_program *program, uint32_t threads,
                  uint32_t n, uint32_t split, struct ll_error *err);
/* What every pass has in common. */
struct ck_options check_options(const struct check_plan *plan, enum ck_strategy strategy);
/* The role of that victim: "reader", "writer" or "". */
const char *check_role(const struct check_plan *plan, const struct ck_fault *fault, uint32_t split);
/* Is the fault one that the lock does not promise to be free of? Then it is only a note. */
bool check_is_note(const struct check_plan *plan, const struct ck_fault *fault);

/* Replaces the execution of `f` by a simpler one that shows the same; until: CLOCK_MONOTONIC s. Ends
 * early when *stop is set. */
void check_shrink(const struct check_plan *plan, struct check_finding *f, double until,
                  const uint32_t *stop);
/* Runs it once more; fills steps, preemptions and schedule. False: it does not show the fault. */
bool check_trace(const struct check_plan *plan, struct check_finding *f);
void check_finding_free(struct check_finding *f);

/* The string of a finding's execution, and back. The plan's and the finding's parts are filled; what
 * they point into belongs to the plan. */
void check_schedule_write(const struct check_plan *plan, struct check_finding *f);
int check_schedule_read(const char *text, struct check_plan *plan, struct check_finding *f,
                        struct ll_error *err);

/* "locks/spin/mcs.c" of a path in the source tree. */
const char *check_short_path(const char *file);
/* The operations in the lock's source, with their counts; *n of them, malloc'ed. */
struct ll_check_site *check_sites(const struct check_plan *plan, uint32_t *n);
void check_sites_reset(void);
/* Of the source that the lock was built from. */
uint32_t check_code_hash(const char *lock_id);
