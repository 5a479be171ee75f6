/* SPDX-License-Identifier: MIT */
/* section.h - what happens inside a critical section: shared lines, work, the look for overlap, sleep.
 *
 * A section has an array of blocks. The first carries a word that says who is inside; whoever finds
 * somebody else there, at entry or before leaving, reports it.
 */
#pragma once

#include "core/workload.h"
#include "workloads/draw.h"
#include "workloads/params.h"

struct wl_block {
    LL_OWN_LINE eng_plain(uint64_t) value;
    eng_plain(uint64_t) inside; /* block 0: 0 nobody, else index + 1 of the writer inside */
};

LL_TEMPLATE void wl_enter(struct wl_thread *t, struct wl_block *b)
{
    if (eng_read(&b->inside) != 0)
        wl_overlap(t);
    eng_write(&b->inside, wl_index(t) + 1u);
}

LL_TEMPLATE void wl_leave(struct wl_thread *t, struct wl_block *b)
{
    if (eng_read(&b->inside) != wl_index(t) + 1u)
        wl_overlap(t);
    eng_write(&b->inside, 0);
}

LL_TEMPLATE void wl_write_lines(struct wl_block *b, uint32_t lines)
{
    for (uint32_t i = 0; i < lines; i++)
        eng_write(&b[i].value, eng_read(&b[i].value) + 1);
}

/* For workloads whose every section carries the word. */
LL_TEMPLATE bool wl_always_checks(const void *state)
{
    LL_UNUSED(state);
    return true;
}

/* With lines=0 nothing shared is touched but the lock, so there is no check. */
LL_TEMPLATE void wl_section(struct wl_thread *t, struct wl_block *b, uint32_t lines, uint64_t ns)
{
    if (lines)
        wl_enter(t, b);
    wl_write_lines(b, lines);
    eng_delay(ns);
    if (lines)
        wl_leave(t, b);
}

LL_TEMPLATE void wl_section_shared(struct wl_thread *t, struct wl_block *b, uint32_t lines,
                                   uint64_t ns)
{
    for (uint32_t i = 0; i < lines; i++)
        (void)eng_read(&b[i].value);
    eng_delay(ns);
    if (lines && eng_read(&b->inside) != 0)
        wl_overlap(t);
}

/* In shared mode if that is asked for; a lock without one is then held exclusively. */
LL_TEMPLATE void wl_turn(struct wl_thread *t, uint32_t lock, bool shared, struct wl_block *b,
                         uint32_t lines, uint64_t ns)
{
    if (shared && wl_has_shared(t, lock)) {
        wl_acquire_shared(t, lock);
        wl_section_shared(t, b, lines, ns);
        wl_release_shared(t, lock);
    } else {
        wl_acquire(t, lock);
        wl_section(t, b, lines, ns);
        wl_release(t, lock);
    }
}

/* ---- sleeping inside ---- */

enum { WL_SLEEP_SLEEP, WL_SLEEP_BUSY };
static const char *const wl_sleep_names[] __attribute__((unused)) = {"sleep", "busy", NULL};

struct wl_sleeping {
    double pct; /* of the sections */
    uint32_t min_ns, max_ns, as;
};

/* Its parameters, for one that lies AT bytes into the state; P goes in front of the names. */
#define WL_SLEEP_PARAMS(AT, P, pct_, min_, max_)                                                   \
    WL_REAL(AT, struct wl_sleeping, pct, P "sleep_pct", "%", pct_, 0, 100,                         \
            "share of the sections that sleep while they hold the lock"),                          \
        WL_UINT(AT, struct wl_sleeping, min_ns, P "sleep_min_ns", "ns", min_, 0, 1e9,              \
                "shortest such sleep"),                                                            \
        WL_UINT(AT, struct wl_sleeping, max_ns, P "sleep_max_ns", "ns", max_, 0, 1e9,              \
                "longest such sleep"),                                                             \
        WL_CHOICE(AT, struct wl_sleeping, as, P "sleep_as", wl_sleep_names, WL_SLEEP_BUSY,         \
                  WL_SLEEP_SLEEP, "off the CPU, or busy there (for locks that spin)")

/* ns of the sleep that this section shall have, mostly 0. */
LL_TEMPLATE uint64_t wl_sleep_drawn(const struct wl_sleeping *s)
{
    return wl_chance(s->pct) ? wl_between(s->min_ns, s->max_ns) : 0;
}

LL_TEMPLATE void wl_sleep_now(struct wl_thread *t, const struct wl_sleeping *s, uint64_t ns)
{
    if (ns && s->as == WL_SLEEP_SLEEP)
        wl_sleep(t, ns);
    else
        eng_delay(ns);
}

/* Whose waiters spin must not be held asleep. */
LL_TEMPLATE int wl_check_sleeping(const struct wl_sleeping *s, const struct ll_lock_desc *lock,
                                  struct ll_error *err)
{
    if (s->min_ns > s->max_ns)
        return ll_fail(err, -EINVAL, "sleep_min_ns", "sleep_min_ns=%u is above sleep_max_ns=%u",
                       s->min_ns, s->max_ns);
    if (s->pct > 0 && s->as == WL_SLEEP_SLEEP && !(lock->claims & LL_PARKS))
        return ll_fail(err, -EINVAL, "sleep_pct",
                       "sleep_pct=%g sleeps while it holds the lock, and waiters of %s/%s spin: "
                       "take a lock that sleeps, or sleep_pct=0, or sleep_as=busy",
                       s->pct, lock->family, lock->name);
    return 0;
}

LL_TEMPLATE int wl_check_range(const char *min_name, uint32_t min, const char *max_name,
                               uint32_t max, struct ll_error *err)
{
    if (min <= max)
        return 0;
    return ll_fail(err, -EINVAL, min_name, "%s=%u is above %s=%u", min_name, min, max_name, max);
}

LL_TEMPLATE int wl_check_shared(double shared_pct, const struct ll_lock_desc *lock,
                                struct ll_error *err)
{
    if (shared_pct > 0 && lock->kind != LL_KIND_SHARED)
        return ll_fail(err, -EINVAL, "shared_pct",
                       "shared_pct=%g needs a lock with a shared mode, this one is %s", shared_pct,
                       ll_kind_name(lock->kind));
    return 0;
}
