/* SPDX-License-Identifier: MIT */
/* explore.h - every interleaving of a small program, or many of them.
 *
 * A program is a body that runs once in each of a few threads, and the memory it touches. It is run
 * on fibers, from the same initial memory each time; a strategy decides at each operation who goes on.
 *
 *   dfs      depth first, with source sets and sleep sets (a complete execution of each Mazurkiewicz
 *            trace, exactly one), or with a bound on preemptions and without reduction
 *   pct      random priorities with a few random changes
 *   random   uniform among what can go on
 *
 * Deterministic: the same options give the same executions in the same order; only `until` is a
 * matter of the clock.
 */
#pragma once

#include "include/locklab.h"
#include "engine/virtual.h"

#define CK_THREADS LL_CHECK_MAX_THREADS
#define CK_OBJECTS 40u
#define CK_MAX_STEPS 3000u  /* an execution longer than this is cut, or a livelock */
#define CK_FAIR_STEPS 2000u /* ... after that many more, all threads in turn, without progress */
#define CK_ALL_STEPS (CK_MAX_STEPS + CK_FAIR_STEPS)
#define CK_USUAL 0xffu /* in a schedule: who ran goes on, or else the lowest that can */

struct ck_object { /* a part of the program's memory */
    void *base;
    uint32_t size;
    const char *name;
    const struct ll_field *fields; /* NULL: not named */
    bool judged;                   /* every access must fall into a field */
    bool state;                    /* what the lock is made of, for the search for starvation */
};

struct ck_program {
    uint32_t threads; /* 1 .. CK_THREADS */
    void (*body)(uint32_t thread, void *arg);
    /* after each complete execution; NULL: all is well, else what is wrong. It may look at memory. */
    const char *(*verdict)(void *arg);
    void *arg;
    /* what the threads share, in one piece; put back before each execution */
    void *memory;
    uint32_t memory_size;
    struct ck_object object[CK_OBJECTS];
    uint32_t n_objects;
    eng_u32 *bkl;     /* the big lock, in that memory; NULL: the program uses none */
    uint32_t claims;  /* enum ll_claim */
    uint32_t writers; /* roles: threads below this write; 0: no roles */
};

enum ck_op_kind {             /* of a pending operation */
                  CK_NOTHING, /* the thread has ended */
                  CK_ACCESS,
                  CK_AWAIT,
                  CK_RELAX,
                  CK_PARK,
                  CK_UNPARK,
                  CK_FENCE,
                  CK_QUERY, /* need_resched, on_cpu, cancelled: may be answered either way */
                  CK_ENTER,
                  CK_LEAVE,
                  CK_FREE,
                  CK_DELAY, /* nothing, but others can come first */
};

struct ck_happening { /* for a trace */
    int choice;
    enum ck_op_kind kind;
    enum vt_kind access;
    const struct eng_site *site;
    const void *addr; /* NULL: none */
    uint32_t width;
    uint64_t old_value, new_value;
    bool wrote;    /* memory */
    bool buffered; /* a store that went into the buffer */
    bool own;      /* read from there */
    bool plain;
    int reason; /* for which a wait was given up, or 0 */
    enum eng_mark mark;
    const struct eng_thread *target; /* unpark */
    bool blocked;                    /* it had waited */
    bool preempts;                   /* who ran before could have gone on */
};

enum ck_strategy { CK_DFS, CK_BOUNDED, CK_PCT, CK_RANDOM, CK_GIVEN };

struct ck_options {
    enum ck_strategy strategy;
    enum ll_memory memory;
    uint32_t bound;   /* CK_BOUNDED: preemptions */
    uint32_t giveups; /* how often each reason may end a wait, by thread */
    bool races;       /* judge plain fields by happens-before */
    bool starvation;  /* look for a waiter that is passed over for ever */
    bool
        first_relax_ends; /* the first relax of a thread ends it, the execution counts as blocked */
    uint64_t executions;  /* at most, blocked ones included; 0: no bound */
    uint64_t seed;
    const uint8_t *given; /* CK_GIVEN: one execution, these choices as far as they go */
    uint32_t n_given;
    uint8_t *
        sparse; /* [CK_ALL_STEPS], or NULL: the choices made, CK_USUAL where they need no mention */
    double until;         /* CLOCK_MONOTONIC seconds; 0: no bound */
    const uint32_t *stop; /* set by another thread: end soon; may be NULL */
    uint64_t *progress;   /* where to publish the number of executions; may be NULL */
    /* told of every operation as it happens; NULL: nobody wants to know. Told NULL: the execution begins
     * again, what was told of it is void */
    void (*trace)(void *arg, const struct ck_happening *h);
    void *trace_arg;
    /* called when an execution shows a fault: its schedule is in ck_last(); true: stop */
    bool (*on_fault)(void *arg);
    void *on_fault_arg;
};

struct ck_report {
    uint64_t executions, blocked, redundant;
    uint64_t tries_failed; /* try_acquire calls that found the lock taken */
    uint64_t waits;        /* times that a thread was blocked by an await, relax or park */
    uint64_t events;       /* operations executed */
    bool wholly;           /* all there is was explored */
    bool stopped;          /* by on_fault */
    uint32_t cut_giveups, cut_operations; /* executions in which the bound mattered */
    const struct eng_site *long_site; /* in the first of the latter: who did most of it, where */
    uint32_t long_thread;
    uint32_t unfit;        /* CK_GIVEN: choices that could not be followed, or were left over */
    uint32_t max_steps;    /* longest execution */
    uint64_t memory_bytes; /* what the explorer holds */
};

/* One program at a time in a process. 0, -ENOMEM, -EINVAL. */
int ck_explore(const struct ck_program *program, const struct ck_options *options,
               struct ck_report *report);

/* The execution that has just ended, for on_fault. */
#define CK_FAULTS 4u

struct ck_fault {
    const char *kind;
    uint32_t victim;  /* thread */
    const void *addr; /* of a race; else NULL */
    char text[512];
};

struct ck_last {
    const uint8_t *choice;
    uint32_t n, n_faults;
    struct ck_fault fault[CK_FAULTS];
};

void ck_last(struct ck_last *out);

/* Index of the thread that this is the descriptor of, or -1. */
int ck_thread_at(const void *p);
