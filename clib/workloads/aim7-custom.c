/* SPDX-License-Identifier: MIT */
/* aim7-custom - fork and exec: shorter sections, the same two locks
 *
 * As aim7-high_systime without the walk inside.
 */
#include "workloads/aim7_system.h"

static const struct ll_param params[] = {
    AIM7_SYSTEM_PARAMS(0, "", 2000, 300, 1000, 4, 8, 1, 0),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_custom) = {
    .name = "aim7-custom",
    .summary = "AIM7 custom: a root lock, then a secondary lock in batches; short sections",
    .origin = "the AIM7 mixes with which the mutex changes of Linux 3.10 (2013) were measured; "
              "lengths assumed",
    .params = params,
    .state_size = sizeof(struct aim7_system),
    .groups = aim7_system_groups,
    .check = aim7_core_fits,
    .prepare = aim7_system_ready,
    .data_lines = aim7_system_data,
    .run = aim7_system_run,
    .checks_overlap = aim7_core_checks,
    .uses_shared = aim7_core_shares,
};
