/* SPDX-License-Identifier: MIT */
/* aim7_server.h - jobs of the aim7 set with a mutex outside and a journal inside */
#pragma once

#include "workloads/aim7_core.h"

struct aim7_server {
    struct aim7_core core;
    uint32_t journal, reads, read_ns, writes, write_ns, journal_lines;
    struct wl_sleeping sleeping;
};

#define AIM7_SERVER_PARAMS(AT, P)                                                                  \
    AIM7_CORE_PARAMS(AT, P, 5000, 1000, 3000, 6, 6, 4),                                            \
        WL_LOCK(AT, struct aim7_server, journal, P "journal", "rwsem/3.12", 1u << LL_KIND_SHARED,  \
                "the reader-writer lock taken inside"),                                            \
        WL_UINT(AT, struct aim7_server, reads, P "reads", "times", 3, 0, 64,                       \
                "times a job takes the journal in shared mode"),                                   \
        WL_UINT(AT, struct aim7_server, read_ns, P "read_ns", "ns", 150, 0, 1e9, "work of each"),  \
        WL_UINT(AT, struct aim7_server, writes, P "writes", "times", 1, 0, 64,                     \
                "times a job takes the journal exclusively"),                                      \
        WL_UINT(AT, struct aim7_server, write_ns, P "write_ns", "ns", 300, 0, 1e9,                 \
                "work of each"),                                                                   \
        WL_UINT(AT, struct aim7_server, journal_lines, P "journal_lines", "lines", 2, 0, 64,       \
                "shared lines touched under the journal"),                                         \
        WL_SLEEP_PARAMS(AT + offsetof(struct aim7_server, sleeping), P, 0.5, 100000, 100000)

LL_TEMPLATE uint32_t aim7_server_lines(const struct aim7_server *s)
{
    return aim7_core_lines(&s->core) + s->journal_lines;
}

LL_TEMPLATE int aim7_server_check(const struct aim7_server *s, const struct ll_lock_desc *lock,
                                  struct ll_error *err)
{
    int ret = aim7_core_check(&s->core, err);

    return ret ? ret : wl_check_sleeping(&s->sleeping, lock, err);
}

LL_TEMPLATE void aim7_server_job(struct wl_thread *t, const struct aim7_server *s, uint32_t first,
                                 uint32_t journal, struct wl_block *b)
{
    struct aim7_drawn d = aim7_draw(&s->core, first, b);
    struct wl_block *log = b + aim7_core_lines(&s->core);
    uint64_t nap = wl_sleep_drawn(&s->sleeping);

    wl_acquire(t, d.lock);
    wl_section(t, d.block, d.lines, d.ns);
    for (uint32_t i = 0; i < s->reads; i++)
        wl_turn(t, journal, true, log, s->journal_lines, s->read_ns);
    for (uint32_t i = 0; i < s->writes; i++)
        wl_turn(t, journal, false, log, s->journal_lines, s->write_ns);
    wl_sleep_now(t, &s->sleeping, nap);
    wl_release(t, d.lock);
    wl_job(t);
    wl_think(s->core.think_ns);
}

LL_TEMPLATE uint32_t aim7_server_groups(const void *state, struct wl_group *group)
{
    const struct aim7_server *s = state;

    group[0] = (struct wl_group){"mutex", s->core.locks, WL_LOCK_UNDER_TEST};
    group[1] = (struct wl_group){"journal", 1, s->journal};
    return 2;
}

/* Hooks of a workload whose state is a server; a core comes first in it. */
LL_TEMPLATE uint32_t aim7_server_data(const void *state)
{
    return aim7_server_lines(state);
}

LL_TEMPLATE int aim7_server_fits(const void *state, const struct ll_lock_desc *lock,
                                 struct ll_error *err)
{
    return aim7_server_check(state, lock, err);
}

LL_TEMPLATE void aim7_server_run(struct wl_thread *t, void *state, void *data)
{
    const struct aim7_server *s = state;

    while (wl_more(t))
        aim7_server_job(t, s, 0, s->core.locks, data);
}

/* What the descriptors of its workloads have in common. */
#define AIM7_SERVER_DESCRIPTION                                                                    \
    .origin = AIM7_ORIGIN, .params = params, .state_size = sizeof(struct aim7_server),             \
    .groups = aim7_server_groups, .check = aim7_server_fits, .data_lines = aim7_server_data,       \
    .run = aim7_server_run, .checks_overlap = aim7_core_checks
