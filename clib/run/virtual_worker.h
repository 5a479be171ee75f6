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
    uint64_t acquisitions, overlap; /* out */
};

struct vt_report;
/* As vt_run. */
int vt_workload_run(struct vt_workload *w, struct vt_report *report);
