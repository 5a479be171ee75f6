/* SPDX-License-Identifier: MIT */
/* aim7-fserver - a file server: a mutex of four, a journal inside
 *
 * Each job takes one of a few mutexes, inside it the reader-writer journal three times to read and once
 * to write. Now and then the holder sleeps with the mutex held, which spinning waiters must notice.
 */
#include "workloads/aim7_server.h"

static const struct ll_param params[] = {
    AIM7_SERVER_PARAMS(0, ""),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_fserver) = {
    .name = "aim7-fserver",
    .summary = "AIM7 fserver: one of 4 mutexes, a reader-writer journal inside, rare sleeps",
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
