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
    AIM7_CORE_DESCRIPTION,
};
