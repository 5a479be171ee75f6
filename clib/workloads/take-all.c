/* SPDX-License-Identifier: MIT */
/* take-all - now and then somebody takes every lock of a class at once
 *
 * Most turns take one of N inner locks. Some take an outer reader-writer lock, then the lock of those
 * who take all, then every inner lock, one after the other. No order among the inner locks is needed,
 * since only who holds the outer ones ever has two: `nest` tells the order validator so. An object is
 * reached by several ways; a mark, set under its lock, sees to it that it is locked once.
 */
#include "workloads/section.h"

#define INNER_MAX 1000u

struct state {
    uint32_t outer, all, inner, nest, section_ns, think_ns;
    double take_pct, again_pct;
};

struct object {
    LL_OWN_LINE eng_plain(uint64_t) marked; /* written under its lock and `all`, read under `all` */
    struct wl_block block;
};

enum { OUTER, ALL, INNER };

static uint32_t groups(const void *state, struct wl_group *group)
{
    const struct state *s = state;

    group[OUTER] = (struct wl_group){"outer", 1, s->outer};
    group[ALL] = (struct wl_group){"all", 1, s->all};
    group[INNER] = (struct wl_group){"inner", s->inner, WL_LOCK_UNDER_TEST};
    return 3;
}

static void take(struct wl_thread *t, const struct state *s, struct object *o, uint32_t i)
{
    if (eng_read(&o[i].marked))
        return;
    if (s->nest)
        wl_acquire_nested(t, INNER + i, OUTER);
    else
        wl_acquire(t, INNER + i);
    eng_write(&o[i].marked, 1);
    wl_enter(t, &o[i].block);
}

static void take_all(struct wl_thread *t, const struct state *s, struct object *o)
{
    wl_acquire(t, OUTER);
    wl_acquire(t, ALL);
    for (uint32_t i = 0; i < s->inner; i++) {
        take(t, s, o, i);
        if (wl_chance(s->again_pct))
            take(t, s, o, wl_between(0, i));
    }
    eng_delay(s->section_ns);
    for (uint32_t i = s->inner; i-- > 0;) {
        wl_leave(t, &o[i].block);
        eng_write(&o[i].marked, 0);
        wl_release(t, INNER + i);
    }
    wl_release(t, ALL);
    wl_release(t, OUTER);
}

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;
    struct object *o = data;

    while (wl_more(t)) {
        if (wl_chance(s->take_pct)) {
            take_all(t, s, o);
            wl_job(t);
        } else {
            uint32_t i = wl_between(0, s->inner - 1);
            wl_turn(t, INNER + i, false, &o[i].block, 1, s->section_ns);
        }
        wl_think(s->think_ns);
    }
}

static uint32_t data_lines(const void *state)
{
    return ((const struct state *)state)->inner * (uint32_t)(sizeof(struct object) / LL_PAIR);
}

static const struct ll_param params[] = {
    WL_LOCK(0, struct state, outer, "outer", "rwsem/3.12", 0, "the lock around all the others"),
    WL_LOCK(0, struct state, all, "all", "mutex/mcs", 0, "the lock of those who take all"),
    WL_UINT(0, struct state, inner, "inner", "locks", 64, 2, INNER_MAX, "locks of the class"),
    WL_BOOL(0, struct state, nest, "nest", 1, "the nest annotation, for the order validator"),
    WL_REAL(0, struct state, take_pct, "take_pct", "%", 10, 0, 100,
            "share of the turns that take all"),
    WL_REAL(0, struct state, again_pct, "again_pct", "%", 25, 0, 100,
            "chance, after each object, that one is reached that is locked already"),
    WL_UINT(0, struct state, section_ns, "section_ns", "ns", 500, 0, 1e9, "work of a section"),
    WL_UINT(0, struct state, think_ns, "think_ns", "ns", 2000, 0, 1e9,
            "mean of the private work between two turns, exponential"),
    LL_PARAM_END,
};

LL_WORKLOAD(take_all) = {
    .name = "take-all",
    .summary = "now and then every lock of a class is taken at once, under two outer locks",
    .origin =
        "mm_take_all_locks as the rwsem discussion of October 2013 tells of it; lengths assumed",
    .params = params,
    .state_size = sizeof(struct state),
    .groups = groups,
    .data_lines = data_lines,
    .run = run,
    .checks_overlap = wl_always_checks,
};
