/* SPDX-License-Identifier: MIT */
/* ww-modeset - all of N ww locks in order: a user that practically never collides
 *
 * With one thread nobody ever contends, so that every back-off comes from the lock's injection: what it
 * costs as a function of N. (The original has one thread: run it with -t 1.)
 */
#include "workloads/ww_objects.h"

struct state {
    struct ww_objects objects; /* first */
    uint32_t section_ns, think_ns;
};

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    LL_UNUSED(state);
    return ww_check_kind("ww-modeset", lock, err);
}

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;
    struct ww_section section = {.object = data, .ns = s->section_ns};
    uint32_t lock[WW_LOCKS_MAX];

    for (uint32_t i = 0; i < s->objects.locks; i++)
        lock[i] = i;
    while (wl_more(t)) {
        if (ww_transact(t, WW_FIXED, lock, s->objects.locks, ww_use_objects, &section) == 0)
            wl_job(t);
        wl_think(s->think_ns);
    }
}

static const struct ll_param params[] = {
    WL_UINT(0, struct state, objects.locks, "locks", "locks", 64, 1, WW_LOCKS_MAX,
            "locks, all of which a transaction takes"),
    WL_UINT(0, struct state, section_ns, "section_ns", "ns", 5000, 0, 1e9,
            "work with all of them held"),
    WL_UINT(0, struct state, think_ns, "think_ns", "ns", 10000, 0, 1e9,
            "mean of the private work between two transactions, exponential"),
    LL_PARAM_END,
};

LL_WORKLOAD(ww_modeset) = {
    .name = "ww-modeset",
    .summary = "one transaction after the other over all of N ww locks; uncontended with -t 1",
    .state_size = sizeof(struct state),
    .check = check,
    WW_OBJECTS_DESCRIPTION,
    .run = run,
};
