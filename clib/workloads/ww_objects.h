/* SPDX-License-Identifier: MIT */
/* ww_objects.h - objects with a ww lock and a shared line each, and the section that uses them. */
#pragma once

#include "workloads/section.h"
#include "workloads/ww_protocols.h"

struct ww_objects { /* at the start of the state */
    uint32_t locks;
};

LL_TEMPLATE uint32_t ww_object_groups(const void *state, struct wl_group *group)
{
    group[0] = (struct wl_group){"object", ((const struct ww_objects *)state)->locks, 0};
    return 1;
}

LL_TEMPLATE uint32_t ww_object_lines(const void *state)
{
    return ((const struct ww_objects *)state)->locks;
}

struct ww_section {
    struct wl_block *object; /* one for each lock */
    uint64_t ns;
};

/* Overlap is looked for at every object. */
static inline void ww_use_objects(struct wl_thread *t, const struct ww_held *h, void *arg)
{
    const struct ww_section *s = arg;

    for (uint32_t i = 0; i < h->n; i++) {
        wl_enter(t, &s->object[h->lock[i]]);
        wl_write_lines(&s->object[h->lock[i]], 1);
    }
    eng_delay(s->ns);
    for (uint32_t i = 0; i < h->n; i++)
        wl_leave(t, &s->object[h->lock[i]]);
}

/* What the descriptors of its workloads have in common. */
#define WW_OBJECTS_DESCRIPTION                                                                     \
    .origin = "the users for which Linux 3.11 (2013) got mutexes with contexts; lengths assumed",  \
    .params = params, .groups = ww_object_groups, .data_lines = ww_object_lines,                   \
    .checks_overlap = wl_always_checks
