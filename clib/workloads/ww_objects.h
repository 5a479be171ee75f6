/* SPDX-License-Identifier: MIT */
/* ww_objects.h - objects with a ww lock and a shared line each, and the section that uses them. */
#pragma once

#include "workloads/section.h"
#include "workloads/ww_protocols.h"

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
