/* SPDX-License-Identifier: MIT */
/* file-stats - look-ups that go through exclusive locks all the same
 *
 * Nothing is changed but the locks, at most one line at each node.
 */
#include "workloads/tree.h"

static const struct ll_param params[] = {
    TREE_PARAMS(1000, 300, 300, 300, 300, 0, 0, 0, 1, 0, 0, 0),
    LL_PARAM_END,
};

LL_WORKLOAD(file_stats) = {
    .name = "file-stats",
    .summary = "look-ups in a tree of locks: short sections on every level, no sleep",
    TREE_DESCRIPTION,
};
