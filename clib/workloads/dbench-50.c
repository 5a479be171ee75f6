/* SPDX-License-Identifier: MIT */
/* dbench-50 - 50 clients in a directory tree with a hot root
 *
 * Hand over hand from the root to a leaf; one leaf section in a hundred sleeps. The original has 50
 * clients: run it with 50 threads.
 */
#include "workloads/tree.h"

static const struct ll_param params[] = {
    TREE_PARAMS(10000, 300, 500, 2000, 4000, 0, 0, 2, 2, 1, 200000, 200000),
    LL_PARAM_END,
};

LL_WORKLOAD(dbench_50) = {
    .name = "dbench-50",
    .summary = "dbench: hand over hand down a tree of locks with a hot root; 50 clients, so -t 50",
    TREE_DESCRIPTION,
};
