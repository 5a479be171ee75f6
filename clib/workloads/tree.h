/* SPDX-License-Identifier: MIT */
/* tree.h - descents through a tree of locks, hand over hand, as file servers go through directories.
 *
 * Each node has a lock and lines of its own. A turn takes the root, works there, takes a random child,
 * releases the root, works there, and so on to a leaf. When it splits the leaf it keeps the parent
 * until it is done.
 */
#pragma once

#include "workloads/section.h"

#define TREE_DEPTH_MAX 4u

struct tree {
    uint32_t depth, fanout, think_ns, root_ns, inner_ns, leaf_min_ns, leaf_max_ns, split_ns;
    uint32_t lines_min, lines_max;
    double split_pct;
    struct wl_sleeping sleeping;
};

#define TREE_PARAMS(think, root, inner, lmin, lmax, splits, split, lines_lo, lines_hi, sleeps,     \
                    nap_min, nap_max)                                                              \
    WL_UINT(0, struct tree, depth, "depth", "levels", 3, 1, TREE_DEPTH_MAX, "levels of the tree"), \
        WL_UINT(0, struct tree, fanout, "fanout", "nodes", 16, 1, 64, "children of a node"),       \
        WL_UINT(0, struct tree, think_ns, "think_ns", "ns", think, 0, 1e9,                         \
                "mean of the private work between two descents, exponential"),                     \
        WL_UINT(0, struct tree, root_ns, "root_ns", "ns", root, 0, 1e9, "work at the root"),       \
        WL_UINT(0, struct tree, inner_ns, "inner_ns", "ns", inner, 0, 1e9,                         \
                "work at an inner node"),                                                          \
        WL_UINT(0, struct tree, leaf_min_ns, "leaf_min_ns", "ns", lmin, 0, 1e9,                    \
                "least work at a leaf"),                                                           \
        WL_UINT(0, struct tree, leaf_max_ns, "leaf_max_ns", "ns", lmax, 0, 1e9,                    \
                "most work at a leaf"),                                                            \
        WL_REAL(0, struct tree, split_pct, "split_pct", "%", splits, 0, 100,                       \
                "share of the descents that split the leaf and keep its parent for that"),         \
        WL_UINT(0, struct tree, split_ns, "split_ns", "ns", split, 0, 1e9, "work of a split"),     \
        WL_UINT(0, struct tree, lines_min, "lines_min", "lines", lines_lo, 0, 64,                  \
                "fewest shared lines written at a node"),                                          \
        WL_UINT(0, struct tree, lines_max, "lines_max", "lines", lines_hi, 0, 64,                  \
                "most shared lines written at a node"),                                            \
        WL_SLEEP_PARAMS(offsetof(struct tree, sleeping), "", sleeps, nap_min, nap_max)

/* Nodes on one level. */
LL_TEMPLATE uint32_t tree_width(const struct tree *s, uint32_t level)
{
    uint32_t n = 1;

    while (level--)
        n *= s->fanout;
    return n;
}

LL_TEMPLATE uint32_t tree_groups(const void *state, struct wl_group *group)
{
    static const char *const inner[] = {"root", "inner", "inner2"};
    const struct tree *s = state;

    for (uint32_t level = 0; level < s->depth; level++)
        group[level] = (struct wl_group){
            .name = level && level + 1 == s->depth ? "leaf" : inner[level],
            .count = tree_width(s, level),
            .lock = WL_LOCK_UNDER_TEST,
        };
    return s->depth;
}

LL_TEMPLATE uint32_t tree_nodes(const struct tree *s)
{
    uint32_t n = 0;

    for (uint32_t level = 0; level < s->depth; level++)
        n += tree_width(s, level);
    return n;
}

LL_TEMPLATE int tree_check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    const struct tree *s = state;
    int ret;

    if (tree_nodes(s) > WL_MAX_SLOTS / 16)
        return ll_fail(err, -ERANGE, "fanout", "fanout=%u and depth=%u are %u locks, at most %u",
                       s->fanout, s->depth, tree_nodes(s), WL_MAX_SLOTS / 16);
    if ((ret = wl_check_range("leaf_min_ns", s->leaf_min_ns, "leaf_max_ns", s->leaf_max_ns, err)) ||
        (ret = wl_check_range("lines_min", s->lines_min, "lines_max", s->lines_max, err)))
        return ret;
    return wl_check_sleeping(&s->sleeping, lock, err);
}

struct tree_turn { /* drawn before the descent */
    uint32_t lines[TREE_DEPTH_MAX];
    uint64_t leaf_ns, nap_ns;
    bool splits;
};

LL_TEMPLATE struct tree_turn tree_draw(const struct tree *s)
{
    struct tree_turn d = {
        .leaf_ns = wl_between(s->leaf_min_ns, s->leaf_max_ns),
        .nap_ns = wl_sleep_drawn(&s->sleeping),
        .splits = wl_chance(s->split_pct),
    };

    for (uint32_t level = 0; level < s->depth; level++)
        d.lines[level] = wl_between(s->lines_min, s->lines_max);
    return d;
}

LL_TEMPLATE void tree_descend(struct wl_thread *t, const struct tree *s, struct wl_block *b)
{
    struct tree_turn d = tree_draw(s);
    uint32_t node = 0, parent = 0, first = 0, leaf = s->depth - 1;
    bool keeps = d.splits && leaf > 0;

    wl_acquire(t, node);
    for (uint32_t level = 0;; level++) {
        uint64_t ns = level == leaf ? d.leaf_ns : level ? s->inner_ns : s->root_ns;
        wl_section(t, b + (size_t)node * s->lines_max, d.lines[level], ns);
        if (level == leaf)
            break;
        parent = node;
        node = first + tree_width(s, level) + (node - first) * s->fanout +
               wl_between(0, s->fanout - 1);
        first += tree_width(s, level);
        wl_acquire(t, node);
        if (!keeps || level + 1 != leaf)
            wl_release(t, parent);
    }
    if (d.splits)
        eng_delay(s->split_ns);
    wl_sleep_now(t, &s->sleeping, d.nap_ns);
    wl_release(t, node);
    if (keeps)
        wl_release(t, parent);
    wl_job(t);
}

LL_TEMPLATE void tree_run(struct wl_thread *t, void *state, void *data)
{
    const struct tree *s = state;

    while (wl_more(t)) {
        tree_descend(t, s, data);
        wl_think(s->think_ns);
    }
}

LL_TEMPLATE uint32_t tree_lines(const void *state)
{
    const struct tree *s = state;

    return tree_nodes(s) * s->lines_max;
}

LL_TEMPLATE bool tree_checks(const void *state)
{
    return ((const struct tree *)state)->lines_max > 0;
}

/* What the descriptors of its workloads have in common. */
#define TREE_DESCRIPTION                                                                           \
    .origin = "the file server and creation loads of the adaptive spinning discussion of January " \
              "2009; lengths assumed",                                                             \
    .params = params, .state_size = sizeof(struct tree), .groups = tree_groups,                    \
    .check = tree_check, .data_lines = tree_lines, .run = tree_run, .checks_overlap = tree_checks
