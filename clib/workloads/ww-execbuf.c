/* SPDX-License-Identifier: MIT */
/* ww-execbuf - transactions over some of many objects, in random order
 *
 * As a graphics driver that locks all buffers of a batch: each transaction draws its objects, takes
 * them in the order in which they were drawn, works, and releases all. Two that collide settle by
 * age who backs off.
 */
#include "workloads/ww_objects.h"

struct state {
    struct ww_objects objects; /* first */
    uint32_t k_min, k_max, protocol, section_min_ns, section_max_ns, think_ns;
    double again_pct;
};

enum { MIX = WW_SINGLE + 1 };
static const char *const protocols[] = {"fixed", "reorder", "discover", "single", "mix", NULL};

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    const struct state *s = state;
    int ret;

    if ((ret = ww_check_kind("ww-execbuf", lock, err)) ||
        (ret = wl_check_range("k_min", s->k_min, "k_max", s->k_max, err)) ||
        (ret = wl_check_range("k_max", s->k_max, "locks", s->objects.locks, err)))
        return ret;
    return wl_check_range("section_min_ns", s->section_min_ns, "section_max_ns", s->section_max_ns,
                          err);
}

/* `n` different objects; a walk comes upon some of them again. */
static void draw(const struct state *s, enum ww_protocol protocol, uint32_t *lock, uint32_t n)
{
    uint64_t seen[WW_LOCKS_MAX / 64 + 1] = {0};

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k;
        if (i && protocol == WW_DISCOVER && wl_chance(s->again_pct)) {
            lock[i] = lock[wl_between(0, i - 1)];
            continue;
        }
        do
            k = wl_between(0, s->objects.locks - 1);
        while (seen[k / 64] >> k % 64 & 1);
        seen[k / 64] |= UINT64_C(1) << k % 64;
        lock[i] = k;
    }
}

static enum ww_protocol mixed(void)
{
    static const enum ww_protocol of[] = {WW_FIXED, WW_REORDER, WW_SINGLE};

    return of[wl_between(0, 2)];
}

static void run(struct wl_thread *t, void *state, void *data)
{
    const struct state *s = state;
    uint32_t lock[WW_LOCKS_MAX];

    while (wl_more(t)) {
        struct ww_section section = {.object = data,
                                     .ns = wl_between(s->section_min_ns, s->section_max_ns)};
        enum ww_protocol protocol = s->protocol == MIX ? mixed() : (enum ww_protocol)s->protocol;
        uint32_t n = wl_between(s->k_min, s->k_max);
        draw(s, protocol, lock, n);
        if (ww_transact(t, protocol, lock, n, ww_use_objects, &section) == 0)
            wl_job(t);
        wl_think(s->think_ns);
    }
}

static const struct ll_param params[] = {
    WL_UINT(0, struct state, objects.locks, "locks", "locks", 512, 1, WW_LOCKS_MAX,
            "objects there are"),
    WL_UINT(0, struct state, k_min, "k_min", "locks", 8, 1, WW_LOCKS_MAX,
            "fewest objects of a transaction"),
    WL_UINT(0, struct state, k_max, "k_max", "locks", 64, 1, WW_LOCKS_MAX,
            "most objects of a transaction"),
    WL_CHOICE(0, struct state, protocol, "protocol", protocols, MIX, WW_FIXED,
              "how it takes them; mix: fixed, reorder or single, drawn for each"),
    WL_REAL(0, struct state, again_pct, "again_pct", "%", 25, 0, 100,
            "discover: share of the steps that come upon an object again"),
    WL_UINT(0, struct state, section_min_ns, "section_min_ns", "ns", 5000, 0, 1e9,
            "least work with all of them held"),
    WL_UINT(0, struct state, section_max_ns, "section_max_ns", "ns", 50000, 0, 1e9,
            "most work with all of them held"),
    WL_UINT(0, struct state, think_ns, "think_ns", "ns", 5000, 0, 1e9,
            "mean of the private work between two transactions, exponential"),
    LL_PARAM_END,
};

LL_WORKLOAD(ww_execbuf) = {
    .name = "ww-execbuf",
    .summary = "transactions over some of many ww locks, in random order",
    .state_size = sizeof(struct state),
    .check = check,
    WW_OBJECTS_DESCRIPTION,
    .run = run,
};
