/* SPDX-License-Identifier: MIT */
/* aim7-five_sec - the control that no lock should change
 *
 * Many locks, one drawn for each job, and long thinking: contention is rare. A change that moves this
 * figure changed something else than contended locks.
 */
#include "workloads/aim7_core.h"

static const struct ll_param params[] = {
    AIM7_CORE_PARAMS(0, "", 50000, 200, 200, 1, 1, 64),
    AIM7_SHARE_PARAM(0, "", 0),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_five_sec) = {
    .name = "aim7-five_sec",
    .summary = "AIM7 five_sec: 64 locks, long thinking; a control without contention",
    AIM7_CORE_DESCRIPTION,
};
