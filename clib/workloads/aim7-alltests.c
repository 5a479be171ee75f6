/* SPDX-License-Identifier: MIT */
/* aim7-alltests - the union: each job is drawn from four of the other mixes
 *
 * The locks of all four are there at once, and a thread thinks as the job's mix says.
 */
#include "workloads/aim7_server.h"
#include "workloads/aim7_system.h"

struct state {
    struct aim7_system system;
    struct aim7_server server;
    struct aim7_core brief, control;
    double system_pct, server_pct, brief_pct;
};

enum { SYSTEM, SECOND, SERVER, JOURNAL, SHORT, FIVE_SEC, GROUPS };

static uint32_t groups(const void *state, struct wl_group *group)
{
    const struct state *s = state;

    group[SYSTEM] = (struct wl_group){"root", s->system.core.locks, WL_LOCK_UNDER_TEST};
    group[SECOND] = (struct wl_group){"second", 1, s->system.second};
    group[SERVER] = (struct wl_group){"mutex", s->server.core.locks, WL_LOCK_UNDER_TEST};
    group[JOURNAL] = (struct wl_group){"journal", 1, s->server.journal};
    group[SHORT] = (struct wl_group){"short", s->brief.locks, WL_LOCK_UNDER_TEST};
    group[FIVE_SEC] = (struct wl_group){"five_sec", s->control.locks, WL_LOCK_UNDER_TEST};
    return GROUPS;
}

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    const struct state *s = state;
    int ret;

    if (s->system_pct + s->server_pct + s->brief_pct > 100)
        return ll_fail(err, -EINVAL, "system_pct",
                       "system_pct=%g, server_pct=%g and short_pct=%g are more than 100%%",
                       s->system_pct, s->server_pct, s->brief_pct);
    if ((ret = aim7_core_check(&s->system.core, err)) ||
        (ret = aim7_server_check(&s->server, lock, err)) || (ret = aim7_core_check(&s->brief, err)))
        return ret;
    return aim7_core_check(&s->control, err);
}

static void prepare(void *state)
{
    aim7_system_prepare(&((struct state *)state)->system);
}

static uint32_t data_lines(const void *state)
{
    const struct state *s = state;

    return aim7_system_lines(&s->system) + aim7_server_lines(&s->server) +
           aim7_core_lines(&s->brief) + aim7_core_lines(&s->control);
}

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;
    struct wl_group g[WL_GROUPS];
    struct wl_block *server = (struct wl_block *)data + aim7_system_lines(&s->system);
    struct wl_block *brief = server + aim7_server_lines(&s->server);
    struct wl_block *control = brief + aim7_core_lines(&s->brief);
    uint32_t first[GROUPS] = {0}, batched = 0;

    groups(s, g);
    for (unsigned i = 1; i < GROUPS; i++)
        first[i] = first[i - 1] + g[i - 1].count;
    while (wl_more(t)) {
        double which = wl_unit() * 100;
        if (which < s->system_pct)
            aim7_system_job(t, &s->system, first[SYSTEM], first[SECOND], data, &batched);
        else if (which < s->system_pct + s->server_pct)
            aim7_server_job(t, &s->server, first[SERVER], first[JOURNAL], server);
        else if (which < s->system_pct + s->server_pct + s->brief_pct)
            aim7_core_job(t, &s->brief, first[SHORT], brief);
        else
            aim7_core_job(t, &s->control, first[FIVE_SEC], control);
    }
}

static bool checks_overlap(const void *state)
{
    const struct state *s = state;

    return s->system.core.lines_max && s->server.core.lines_max && s->brief.lines_max &&
           s->control.lines_max;
}

static bool uses_shared(const void *state)
{
    const struct state *s = state;

    return s->system.core.shared_pct > 0 || s->brief.shared_pct > 0 || s->control.shared_pct > 0;
}

#define AT(member) offsetof(struct state, member)

static const struct ll_param params[] = {
    WL_REAL(0, struct state, system_pct, "system_pct", "%", 40, 0, 100, "jobs of high_systime"),
    WL_REAL(0, struct state, server_pct, "server_pct", "%", 25, 0, 100, "jobs of fserver"),
    WL_REAL(0, struct state, brief_pct, "short_pct", "%", 15, 0, 100,
            "jobs of short; the rest is five_sec"),
    AIM7_SYSTEM_PARAMS(AT(system), "system.", 3000, 500, 2000, 4, 12, 1, 64),
    AIM7_SERVER_PARAMS(AT(server), "server."),
    AIM7_CORE_PARAMS(AT(brief), "short.", 1000, 100, 200, 1, 2, 1),
    AIM7_SHARE_PARAM(AT(brief), "short.", 0),
    AIM7_CORE_PARAMS(AT(control), "five_sec.", 50000, 200, 200, 1, 1, 64),
    AIM7_SHARE_PARAM(AT(control), "five_sec.", 0),
    LL_PARAM_END,
};

LL_WORKLOAD(aim7_alltests) = {
    .name = "aim7-alltests",
    .summary = "AIM7 alltests: jobs drawn from high_systime, fserver, short and five_sec",
    .origin = "the AIM7 mixes with which the mutex changes of Linux 3.10 (2013) were measured; "
              "lengths and shares assumed",
    .params = params,
    .state_size = sizeof(struct state),
    .groups = groups,
    .check = check,
    .prepare = prepare,
    .data_lines = data_lines,
    .run = run,
    .checks_overlap = checks_overlap,
    .uses_shared = uses_shared,
};
