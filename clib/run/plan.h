/* SPDX-License-Identifier: MIT */
/* plan.h - a validated plan with everything looked up. */
#pragma once

#include "core/registry.h"

struct run_group { /* lock instances `first` .. first + count - 1 */
    const char *name;
    uint32_t first, count;
    bool counted; /* of the lock under test */
    const struct ll_lock_desc *lock[LL_VARIANTS];
};

struct run_plan {
    struct ll_plan user;                          /* own copies of all it points to */
    const struct ll_lock_desc *lock[LL_VARIANTS]; /* by variant, NULL where absent */
    const struct ll_workload_desc *workload[LL_VARIANTS];
    enum ll_variant variant; /* that the plan asks for */
    uint32_t n_groups;
    struct run_group group[WL_GROUPS];
    uint32_t n_locks, n_counted; /* lock instances, and those of the lock under test */
    int nice;                    /* of the workers: that of the caller, not of the controller */
    uint32_t cpus[LL_MAX_THREADS];
    uint32_t distinct[2]; /* the first two different CPUs, for the regime; equal: only one */
    uint32_t n_cpus;      /* distinct CPUs; matrix_cpus lists them */
    uint32_t matrix_cpus[LL_MAX_THREADS];
    uint32_t matrix_slot[LL_MAX_THREADS]; /* thread -> index into matrix_cpus */
};

/* Validates and resolves; `out` may be NULL. */
int run_plan_resolve(const struct ll_plan *user, struct run_plan *out, struct ll_error *err);
/* Its part that needs no threads: lock and workload are looked up, their parameters judged and the
 * groups made, for `r->variant`. */
int run_plan_settle(const struct ll_plan *user, struct run_plan *r, struct ll_error *err);
void run_plan_fini(struct run_plan *plan);
/* The group that lock instance `k` is of. */
const struct run_group *run_plan_group(const struct run_plan *plan, uint32_t k);
/* Instance `k` in words, as "lock" or "leaf[17]". */
void run_plan_name(const struct run_plan *plan, uint32_t k, char *buf, size_t size);
/* A workload state with the plan's parameters, prepared, to be asked; NULL: out of memory. Free with free(). */
void *run_plan_state(const struct run_plan *plan);
