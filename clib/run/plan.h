/* SPDX-License-Identifier: MIT */
/* plan.h - a validated plan with everything looked up. */
#pragma once

#include "core/registry.h"

struct run_plan {
    struct ll_plan user;                          /* own copies of all it points to */
    const struct ll_lock_desc *lock[LL_VARIANTS]; /* by variant, NULL where absent */
    const struct ll_workload_desc *workload[LL_VARIANTS];
    enum ll_variant variant; /* that the plan asks for */
    uint32_t n_locks;        /* lock instances */
    int nice;                /* of the workers: that of the caller, not of the controller */
    uint32_t cpus[LL_MAX_THREADS];
    uint32_t distinct[2]; /* the first two different CPUs, for the regime; equal: only one */
    uint32_t n_cpus;      /* distinct CPUs; matrix_cpus lists them */
    uint32_t matrix_cpus[LL_MAX_THREADS];
    uint32_t matrix_slot[LL_MAX_THREADS]; /* thread -> index into matrix_cpus */
};

/* Validates and resolves; `out` may be NULL. */
int run_plan_resolve(const struct ll_plan *user, struct run_plan *out, struct ll_error *err);
void run_plan_fini(struct run_plan *plan);
/* A workload state with the plan's parameters, to be asked; NULL: out of memory. Free with free(). */
void *run_plan_state(const struct run_plan *plan);
