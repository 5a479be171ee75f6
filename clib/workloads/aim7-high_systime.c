/* SPDX-License-Identifier: MIT */
/* aim7-high_systime - fork, exit and map: one root lock, then a secondary one
 *
 * Sections walk along chains, mostly short, sometimes long (Zipf). Every 14 jobs a thread hands what it
 * has gathered to a list under a secondary spinlock, after the release of the root lock: the next
 * bottleneck once the root lock is fast. Its part in the waiting is in the result.
 */
#include "workloads/aim7_system.h"

static const struct ll_param params[] = {
    AIM7_SYSTEM_PARAMS(0, "", 3000, 500, 2000, 4, 12, 1, 64),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_high_systime) = {
    .name = "aim7-high_systime",
    .summary = "AIM7 high_systime: a root lock with walks inside, then a secondary lock in batches",
    .origin = AIM7_ORIGIN,
    .check = aim7_core_fits,
    AIM7_SYSTEM_DESCRIPTION,
};
