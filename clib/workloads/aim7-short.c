/* SPDX-License-Identifier: MIT */
/* aim7-short - many tiny jobs on one lock
 *
 * The queue in front of the lock is shallow and sections are of the length of a line transfer, so that
 * whatever a lock does besides shows at once.
 */
#include "workloads/aim7_core.h"

static const struct ll_param params[] = {
    AIM7_CORE_PARAMS(0, "", 1000, 100, 200, 1, 2, 1),
    AIM7_SHARE_PARAM(0, "", 0),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_short) = {
    .name = "aim7-short",
    .summary = "AIM7 short: one lock, tiny sections, shallow queues",
    .origin = "the AIM7 mixes with which the mutex changes of Linux 3.10 (2013) were measured; "
              "lengths assumed",
    .params = params,
    .state_size = sizeof(struct aim7_core),
    .groups = aim7_core_groups,
    .check = aim7_core_fits,
    .data_lines = aim7_core_data,
    .run = aim7_core_run,
    .checks_overlap = aim7_core_checks,
    .uses_shared = aim7_core_shares,
};
