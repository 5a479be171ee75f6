/* SPDX-License-Identifier: MIT */
/* aim7-new_fserver - the second file server mix, which is measured like the first
 *
 * Published beside aim7-fserver under a name of its own; nothing that tells the two apart was said, so
 * the make of a job is the same here.
 */
#include "workloads/aim7_server.h"

static const struct ll_param params[] = {
    AIM7_SERVER_PARAMS(0, ""),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_new_fserver) = {
    .name = "aim7-new_fserver",
    .summary = "AIM7 new_fserver: as aim7-fserver, under the name of the second published mix",
    AIM7_SERVER_DESCRIPTION,
};
