/* SPDX-License-Identifier: MIT */
/* aim7_core.h - the jobs of the aim7 set, after the mixes of the AIM7 benchmark.
 *
 * There a user is a task that works off small jobs in random order, and the figure is jobs per minute.
 * Here a thread is a user and a turn a job of fixed make, so that turns per minute stand for it. The
 * mixes differ in what lock they stress; the lengths are assumptions, all of them parameters.
 * AT in the tables is where the struct lies in the state, P goes in front of the names.
 *
 *   core     one of `locks` locks, a short section, now and then in shared mode
 *   system   core, and a walk along a chain inside; then, after `batch` jobs, a secondary lock
 *            (aim7_system.h)
 *   server   core with a reader-writer journal taken inside, now and then a sleep (aim7_server.h)
 */
#pragma once

#include "workloads/section.h"

struct aim7_core {
    uint32_t think_ns, section_min_ns, section_max_ns, lines_min, lines_max, locks;
    double shared_pct;
};

#define AIM7_CORE_PARAMS(AT, P, think, min, max, lmin, lmax, n)                                    \
    WL_UINT(AT, struct aim7_core, think_ns, P "think_ns", "ns", think, 0, 1e9,                     \
            "mean of the private work between two jobs, exponential"),                             \
        WL_UINT(AT, struct aim7_core, section_min_ns, P "section_min_ns", "ns", min, 0, 1e9,       \
                "shortest section"),                                                               \
        WL_UINT(AT, struct aim7_core, section_max_ns, P "section_max_ns", "ns", max, 0, 1e9,       \
                "longest section"),                                                                \
        WL_UINT(AT, struct aim7_core, lines_min, P "lines_min", "lines", lmin, 0, 64,              \
                "fewest shared lines written in it"),                                              \
        WL_UINT(AT, struct aim7_core, lines_max, P "lines_max", "lines", lmax, 0, 64,              \
                "most shared lines written in it"),                                                \
        WL_UINT(AT, struct aim7_core, locks, P "locks", "locks", n, 1, 1024,                       \
                "instances, one of which is drawn for each job")

#define AIM7_SHARE_PARAM(AT, P, share)                                                             \
    WL_REAL(AT, struct aim7_core, shared_pct, P "shared_pct", "%", share, 0, 100,                  \
            "share of the jobs in shared mode, where the lock has one")

struct aim7_drawn { /* the make of one job, drawn before it */
    uint32_t lock, lines;
    uint64_t ns;
    bool shared;
    struct wl_block *block;
};

/* `first` is the index of the first lock, `b` its blocks. */
LL_TEMPLATE struct aim7_drawn aim7_draw(const struct aim7_core *c, uint32_t first,
                                        struct wl_block *b)
{
    uint32_t k = c->locks > 1 ? wl_between(0, c->locks - 1) : 0;

    return (struct aim7_drawn){
        .lock = first + k,
        .lines = wl_between(c->lines_min, c->lines_max),
        .ns = wl_between(c->section_min_ns, c->section_max_ns),
        .shared = wl_chance(c->shared_pct),
        .block = b + (size_t)k * c->lines_max,
    };
}

LL_TEMPLATE uint32_t aim7_core_lines(const struct aim7_core *c)
{
    return c->locks * c->lines_max;
}

LL_TEMPLATE int aim7_core_check(const struct aim7_core *c, struct ll_error *err)
{
    int ret = wl_check_range("section_min_ns", c->section_min_ns, "section_max_ns",
                             c->section_max_ns, err);

    return ret ? ret : wl_check_range("lines_min", c->lines_min, "lines_max", c->lines_max, err);
}

LL_TEMPLATE void aim7_core_job(struct wl_thread *t, const struct aim7_core *c, uint32_t first,
                               struct wl_block *b)
{
    struct aim7_drawn d = aim7_draw(c, first, b);

    wl_turn(t, d.lock, d.shared, d.block, d.lines, d.ns);
    wl_job(t);
    wl_think(c->think_ns);
}

/* Hooks of a workload whose state is a core. */
LL_TEMPLATE uint32_t aim7_core_groups(const void *state, struct wl_group *group)
{
    group[0] = (struct wl_group){"lock", ((const struct aim7_core *)state)->locks, 0};
    return 1;
}

LL_TEMPLATE uint32_t aim7_core_data(const void *state)
{
    return aim7_core_lines(state);
}

LL_TEMPLATE int aim7_core_fits(const void *state, const struct ll_lock_desc *lock,
                               struct ll_error *err)
{
    LL_UNUSED(lock);
    return aim7_core_check(state, err);
}

LL_TEMPLATE void aim7_core_run(struct wl_thread *t, void *state, void *data)
{
    while (wl_more(t))
        aim7_core_job(t, state, 0, data);
}

LL_TEMPLATE bool aim7_core_checks(const void *state)
{
    return ((const struct aim7_core *)state)->lines_max > 0;
}

LL_TEMPLATE bool aim7_core_shares(const void *state)
{
    return ((const struct aim7_core *)state)->shared_pct > 0;
}

#define AIM7_ORIGIN                                                                                \
    "the AIM7 mixes with which the mutex changes of Linux 3.10 (2013) were measured; lengths "     \
    "assumed"

/* What the descriptors of its workloads have in common. */
#define AIM7_CORE_DESCRIPTION                                                                      \
    .origin = AIM7_ORIGIN, .params = params, .state_size = sizeof(struct aim7_core),               \
    .groups = aim7_core_groups, .check = aim7_core_fits, .data_lines = aim7_core_data,             \
    .run = aim7_core_run, .checks_overlap = aim7_core_checks, .uses_shared = aim7_core_shares
