/* SPDX-License-Identifier: MIT */
/* aim7-shared - a shared system, one lock, contended from few users on
 *
 * One lock for all, sections of about the length of the thinking.
 */
#include "workloads/aim7_core.h"

static const struct ll_param params[] = {
    AIM7_CORE_PARAMS(0, "", 2000, 1000, 2000, 4, 4, 1),
    AIM7_SHARE_PARAM(0, "", 5),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_shared) = {
    .name = "aim7-shared",
    .summary = "AIM7 shared: one lock, strong contention from few threads on",
    AIM7_CORE_DESCRIPTION,
};
