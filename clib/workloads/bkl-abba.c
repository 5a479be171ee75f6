/* SPDX-License-Identifier: MIT */
/* bkl-abba - the big lock and a mutex, taken in both orders
 *
 * Some take the big lock and then the mutex, some the other way round. That is legal because who
 * sleeps for the mutex gives the big lock up for so long. Who spins for it does not: then each side
 * spins on the other until something ends a spin. The wait histogram shows those stalls; the lock's
 * parameter bkl_guard, where it has one, avoids them.
 */
#include "workloads/section.h"

struct state {
    uint32_t first_ns, section_ns, think_ns;
    double big_first_pct;
};

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    LL_UNUSED(state);
    if (lock->claims & LL_PARKS && __builtin_strcmp(lock->family, "host"))
        return 0;
    return ll_fail(
        err, -EINVAL, "lock",
        "bkl-abba needs waiters that sleep and so give the big lock up: those of %s/%s %s",
        lock->family, lock->name, lock->claims & LL_PARKS ? "sleep out of our sight" : "only spin");
}

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;

    while (wl_more(t)) {
        bool big_first = wl_chance(s->big_first_pct);
        if (big_first)
            eng_bkl_acquire();
        else
            wl_acquire(t, 0);
        eng_delay(s->first_ns);
        if (big_first)
            wl_acquire(t, 0);
        else
            eng_bkl_acquire();
        wl_section(t, data, 1, s->section_ns);
        wl_release(t, 0);
        eng_bkl_release();
        wl_job(t);
        wl_think(s->think_ns);
    }
}

static uint32_t data_lines(const void *state)
{
    LL_UNUSED(state);
    return 1;
}

static const struct ll_param params[] = {
    WL_REAL(0, struct state, big_first_pct, "big_first_pct", "%", 50, 0, 100,
            "share of the turns that take the big lock first"),
    WL_UINT(0, struct state, first_ns, "first_ns", "ns", 500, 0, 1e9,
            "work with the first lock held, before the second"),
    WL_UINT(0, struct state, section_ns, "section_ns", "ns", 500, 0, 1e9, "work with both held"),
    WL_UINT(0, struct state, think_ns, "think_ns", "ns", 2000, 0, 1e9,
            "mean of the private work between two turns, exponential"),
    LL_PARAM_END,
};

LL_WORKLOAD(bkl_abba) = {
    .name = "bkl-abba",
    .summary = "the big lock and the lock under test, taken in both orders: spin against spin",
    .origin =
        "the stall that ended with the big kernel lock's guard in Linux 2.6.34; lengths assumed",
    .params = params,
    .state_size = sizeof(struct state),
    .check = check,
    .data_lines = data_lines,
    .run = run,
    .checks_overlap = wl_always_checks,
};
