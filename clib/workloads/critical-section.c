/* SPDX-License-Identifier: MIT */
/* critical-section - acquire, touch some shared lines, work, release, think, again
 *
 * The general workload. `lines` shared lines are read and written inside, then `section_ns` of
 * private work follows; outside, `think_ns`. With `shared_pct` that share of the turns enters in
 * shared mode and only reads. Overlap: the first shared line carries a word that says who is
 * inside; whoever finds somebody else there, at entry or before leaving, reports it. With lines=0
 * nothing shared is touched but the lock, so there is no check.
 */
#include "workloads/section.h"

struct state {
    uint32_t section_ns, think_ns, lines, shared_pct;
};

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;

    while (wl_more(t)) {
        if (s->shared_pct && eng_random() % 100 < s->shared_pct) {
            wl_acquire_shared(t, 0);
            wl_section_shared(t, data, s->lines, s->section_ns);
            wl_release_shared(t, 0);
        } else {
            wl_acquire(t, 0);
            wl_section(t, data, s->lines, s->section_ns);
            wl_release(t, 0);
        }
        eng_delay(s->think_ns);
    }
}

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    return wl_check_shared(((const struct state *)state)->shared_pct, lock, err);
}

static uint32_t data_lines(const void *state)
{
    return ((const struct state *)state)->lines;
}

static bool checks_overlap(const void *state)
{
    return ((const struct state *)state)->lines > 0;
}

static bool uses_shared(const void *state)
{
    return ((const struct state *)state)->shared_pct > 0;
}

static const struct ll_param params[] = {
    WL_UINT(0, struct state, section_ns, "section_ns", "ns", 200, 0, 1e9,
            "private work inside the section"),
    WL_UINT(0, struct state, think_ns, "think_ns", "ns", 400, 0, 1e9,
            "private work between two acquisitions"),
    WL_UINT(0, struct state, lines, "lines", "lines", 1, 0, 4096,
            "shared cache lines read and written inside"),
    WL_UINT(0, struct state, shared_pct, "shared_pct", "%", 0, 0, 100,
            "share of the turns that enter in shared mode"),
    LL_PARAM_END,
};

LL_WORKLOAD(critical_section) = {
    .name = "critical-section",
    .summary = "acquire, write shared lines, work, release, think",
    .origin = "the shape of every lock micro-benchmark since Anderson 1990, doi:10.1109/71.80120",
    .params = params,
    .state_size = sizeof(struct state),
    .check = check,
    .data_lines = data_lines,
    .run = run,
    .checks_overlap = checks_overlap,
    .uses_shared = uses_shared,
};
