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
    .origin = AIM7_ORIGIN,
    .check = aim7_core_fits,
    AIM7_SYSTEM_DESCRIPTION,
};
