/* SPDX-License-Identifier: MIT */
/* aim7_system.h - jobs of the aim7 set with a root lock, and after its release now and then a secondary one */
#pragma once

#include "workloads/aim7_core.h"

struct aim7_system {
    struct aim7_core core;
    uint32_t chain, step_ns, second, batch, entry_ns;
    struct wl_zipf zipf;
};

#define AIM7_SYSTEM_PARAMS(AT, P, think, min, max, lmin, lmax, share, chain_)                      \
    AIM7_CORE_PARAMS(AT, P, think, min, max, lmin, lmax, 1), AIM7_SHARE_PARAM(AT, P, share),       \
        WL_UINT(AT, struct aim7_system, chain, P "chain", "steps", chain_, 0, WL_ZIPF_MAX,         \
                "longest walk inside; lengths from 1 by Zipf, 0: none"),                           \
        WL_UINT(AT, struct aim7_system, step_ns, P "step_ns", "ns", 20, 0, 1e6,                    \
                "work of one step"),                                                               \
        WL_LOCK(AT, struct aim7_system, second, P "second", "spin/ticket", 0,                      \
                "the secondary lock, taken after the release"),                                    \
        WL_UINT(AT, struct aim7_system, batch, P "batch", "jobs", 14, 1, 1e6,                      \
                "jobs of a thread for each time it takes the secondary lock"),                     \
        WL_UINT(AT, struct aim7_system, entry_ns, P "entry_ns", "ns", 20, 0, 1e6,                  \
                "work under the secondary lock for each job of the batch")

LL_TEMPLATE void aim7_system_prepare(struct aim7_system *s)
{
    wl_zipf_prepare(&s->zipf, s->chain);
}

/* One block more: the secondary lock's. */
LL_TEMPLATE uint32_t aim7_system_lines(const struct aim7_system *s)
{
    return aim7_core_lines(&s->core) + 1;
}

/* `batched` is the thread's own: jobs since it last took the secondary lock. */
LL_TEMPLATE void aim7_system_job(struct wl_thread *t, const struct aim7_system *s, uint32_t root,
                                 uint32_t second, struct wl_block *b, uint32_t *batched)
{
    struct aim7_drawn d = aim7_draw(&s->core, root, b);

    d.ns += (uint64_t)wl_zipf_rank(&s->zipf) * s->step_ns;
    wl_turn(t, d.lock, d.shared, d.block, d.lines, d.ns);
    if (++*batched >= s->batch) {
        *batched = 0;
        wl_turn(t, second, false, b + aim7_core_lines(&s->core), 1,
                (uint64_t)s->batch * s->entry_ns);
    }
    wl_job(t);
    wl_think(s->core.think_ns);
}

LL_TEMPLATE uint32_t aim7_system_groups(const void *state, struct wl_group *group)
{
    const struct aim7_system *s = state;

    group[0] = (struct wl_group){"root", s->core.locks, WL_LOCK_UNDER_TEST};
    group[1] = (struct wl_group){"second", 1, s->second};
    return 2;
}

/* Hooks of a workload whose state is a system; a core comes first in it. */
LL_TEMPLATE uint32_t aim7_system_data(const void *state)
{
    return aim7_system_lines(state);
}

LL_TEMPLATE void aim7_system_ready(void *state)
{
    aim7_system_prepare(state);
}

LL_TEMPLATE void aim7_system_run(struct wl_thread *t, void *state, void *data)
{
    const struct aim7_system *s = state;
    uint32_t batched = 0;

    while (wl_more(t))
        aim7_system_job(t, s, 0, s->core.locks, data, &batched);
}

/* What the descriptors of its workloads have in common. */
#define AIM7_SYSTEM_DESCRIPTION                                                                    \
    .params = params, .state_size = sizeof(struct aim7_system), .groups = aim7_system_groups,      \
    .prepare = aim7_system_ready, .data_lines = aim7_system_data, .run = aim7_system_run,          \
    .checks_overlap = aim7_core_checks, .uses_shared = aim7_core_shares
