/* SPDX-License-Identifier: MIT */
/* virtual_worker.h - a workload on fibers: each runs its loop for a number of turns. */
#pragma once

#include "core/workload.h"

struct vt_workload {                 /* the caller zeroes it and fills the first part */
    const struct ll_lock_desc *lock; /* of the virtual build, as the workload */
    const struct ll_workload_desc *workload;
    uint32_t fibers, turns;
    uint64_t seed;
    void **instance; /* [locks] */
    void **node;     /* [fibers * locks] */
    void *state, *data;
    void *memory; /* one piece that holds all of the above but the pointers */
    uint32_t memory_size;
    uint64_t acquisitions, overlap; /* out */
};

struct ck_report;
/* One execution, by a random schedule under SC. As ck_explore. */
int vt_workload_run(struct vt_workload *w, struct ck_report *report);
