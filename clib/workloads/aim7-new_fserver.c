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
    .origin = "the AIM7 mixes with which the mutex changes of Linux 3.10 (2013) were measured; "
              "lengths assumed",
    .params = params,
    .state_size = sizeof(struct aim7_server),
    .groups = aim7_server_groups,
    .check = aim7_server_fits,
    .data_lines = aim7_server_data,
    .run = aim7_server_run,
    .checks_overlap = aim7_core_checks,
};
