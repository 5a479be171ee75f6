/* SPDX-License-Identifier: MIT */
/* virtual_worker.h - a workload on fibers: each runs its loop for a number of turns. */
#pragma once

#include "run/plan.h"

enum vt_call {
    VT_START, /* the execution begins, perhaps for a second time */
    VT_TURN,  /* wl_more */
    VT_ACQUIRE,
    VT_ACQUIRE_SHARED,
    VT_RELEASE,
    VT_RELEASE_SHARED,
    VT_CONTEXT_INIT,
    VT_CONTEXT_DONE,
    VT_CONTEXT_FINI,
    VT_ACQUIRE_WW, /* result: what it returned */
    VT_ACQUIRE_WW_SLOW,
    VT_BACKS_OFF, /* result: depth */
    VT_HOLDS_ALL, /* result: restarts */
    VT_SLEEP,     /* result: ns */
    VT_JOB,
    VT_OVERLAP
};

struct vt_workload {       /* the caller zeroes it and fills the first part */
    const char *lock, *id; /* of lock and workload */
    const struct ll_setting *settings;
    size_t n_settings;
    uint32_t fibers, turns; /* at most LL_CHECK_MAX_THREADS; about 3,000 operations in all */
    uint64_t seed;
    uint32_t giveups; /* how often each reason may end a wait of a thread */
    /* told of each call when it has returned; optional */
    void (*on_call)(void *arg, uint32_t fiber, enum vt_call call, uint32_t lock, int64_t result);
    void *on_call_arg;
    /* out */
    uint64_t acquisitions, overlap;
    struct run_plan plan;
    /* one piece, and what lies in it */
    char *memory;
    uint32_t memory_size;
    void **instance; /* [n_locks] */
    void **node;     /* [fibers * n_locks] */
    void *state, *data, *ww_class;
    void *context[LL_CHECK_MAX_THREADS];
    eng_u32 *bkl;
};

/* Lays everything out. 0, or as ll_plan_validate. */
int vt_workload_init(struct vt_workload *w, struct ll_error *err);
void vt_workload_fini(struct vt_workload *w);

struct ck_report;
/* One execution, by a random schedule under SC. As ck_explore. */
int vt_workload_run(struct vt_workload *w, struct ck_report *report);
