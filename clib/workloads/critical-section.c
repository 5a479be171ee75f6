/* SPDX-License-Identifier: MIT */
/* critical-section - acquire, touch some shared lines, work, release, think, again
 *
 * The general workload. `lines` shared lines are read and written inside, then `section_ns` of
 * private work follows; outside, `think_ns`. With `shared_pct` that share of the turns enters in
 * shared mode and only reads. Overlap: the first shared line carries a word that says who is
 * inside; whoever finds somebody else there, at entry or before leaving, reports it. With lines=0
 * nothing shared is touched but the lock, so there is no check.
 */
#include "core/workload.h"

struct state {
    uint32_t section_ns, think_ns, lines, shared_pct;
};

struct block {
    LL_OWN_LINE eng_plain(uint64_t) value;
    eng_plain(uint64_t) inside; /* block 0: 0 nobody, else index + 1 of the writer inside */
};

static void exclusive_section(struct wl_thread *t, const struct state *s, struct block *b)
{
    uint64_t me = wl_index(t) + 1u;

    if (s->lines) {
        if (eng_read(&b->inside) != 0)
            wl_overlap(t);
        eng_write(&b->inside, me);
    }
    for (uint32_t i = 0; i < s->lines; i++)
        eng_write(&b[i].value, eng_read(&b[i].value) + 1);
    eng_delay(s->section_ns);
    if (s->lines) {
        if (eng_read(&b->inside) != me)
            wl_overlap(t);
        eng_write(&b->inside, 0);
    }
}

static void shared_section(struct wl_thread *t, const struct state *s, struct block *b)
{
    for (uint32_t i = 0; i < s->lines; i++)
        (void)eng_read(&b[i].value);
    eng_delay(s->section_ns);
    if (s->lines && eng_read(&b->inside) != 0)
        wl_overlap(t);
}

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;

    while (wl_more(t)) {
        if (s->shared_pct && eng_random() % 100 < s->shared_pct) {
            wl_acquire_shared(t, 0);
            shared_section(t, s, data);
            wl_release_shared(t, 0);
        } else {
            wl_acquire(t, 0);
            exclusive_section(t, s, data);
            wl_release(t, 0);
        }
        eng_delay(s->think_ns);
    }
}

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    const struct state *s = state;

    if (s->shared_pct && lock->kind != LL_KIND_SHARED)
        return ll_fail(err, -EINVAL, "shared_pct",
                       "shared_pct=%u needs a lock with a shared mode, this one is %s",
                       s->shared_pct, ll_kind_name(lock->kind));
    return 0;
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
    {.name = "section_ns",
     .unit = "ns",
     .help = "private work inside the section",
     .type = LL_PARAM_UINT,
     .offset = offsetof(struct state, section_ns),
     .def = 200,
     .max = 1e9},
    {.name = "think_ns",
     .unit = "ns",
     .help = "private work between two acquisitions",
     .type = LL_PARAM_UINT,
     .offset = offsetof(struct state, think_ns),
     .def = 400,
     .max = 1e9},
    {.name = "lines",
     .unit = "lines",
     .help = "shared cache lines read and written inside",
     .type = LL_PARAM_UINT,
     .offset = offsetof(struct state, lines),
     .def = 1,
     .max = 4096},
    {.name = "shared_pct",
     .unit = "%",
     .help = "share of the turns that enter in shared mode",
     .type = LL_PARAM_UINT,
     .offset = offsetof(struct state, shared_pct),
     .def = 0,
     .max = 100},
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
