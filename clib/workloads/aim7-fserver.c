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
    AIM7_SERVER_DESCRIPTION,
};
