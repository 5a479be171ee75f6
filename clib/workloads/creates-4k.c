/* SPDX-License-Identifier: MIT */
/* creates-4k - small files created in parallel
 *
 * Inserts into leaves are long, one in twenty splits its leaf and keeps the parent meanwhile, one in
 * twenty sleeps.
 */
#include "workloads/tree.h"

static const struct ll_param params[] = {
    TREE_PARAMS(5000, 300, 500, 10000, 20000, 5, 40000, 8, 8, 5, 500000, 1000000),
    LL_PARAM_END,
};

LL_WORKLOAD(creates_4k) = {
    .name = "creates-4k",
    .summary = "parallel file creation: long leaf sections, splits, sleeps in a tree of locks",
    TREE_DESCRIPTION,
};
