/* SPDX-License-Identifier: MIT */
/* worker.c - the calls of which workloads are made; compiled once per native build.
 *
 * In the bare build an acquisition costs one counter and one look at the phase word besides the lock.
 * The instrumented build adds, under `full`, three clock readings, two histogram records and a log
 * entry, all in the worker's own lines.
 */
#include "run/worker.h"

#include "engine/clock.h"
#include "engine/rseq.h"

enum { MEASURES = ENG_MEASURES };

uint32_t wl_index(const struct wl_thread *t)
{
    return t->index;
}

LL_TEMPLATE uint32_t phase_now(const struct wl_thread *t)
{
    return eng_own_read32(t->phase);
}

bool wl_more(struct wl_thread *t)
{
    return phase_now(t) == t->want;
}

LL_TEMPLATE void set_state(struct wl_thread *t, enum wl_state state)
{
    if (MEASURES)
        eng_own_set32(&t->counts.state, state);
}

LL_TEMPLATE void before_acquire(struct wl_thread *t, struct wl_slot *s)
{
    if (!MEASURES)
        return;
    set_state(t, WL_WAITING);
    if (t->rseq)
        eng_rseq_arm();
    if (t->full)
        s->called = eng_ticks();
}

LL_TEMPLATE void after_acquire(struct wl_thread *t, struct wl_slot *s, bool log)
{
    if (!MEASURES)
        return;
    if (t->full)
        s->got = eng_ticks_settled();
    if (t->rseq) {
        if (LL_UNLIKELY(eng_rseq_disarm()))
            eng_count(LL_EV_preempted_waiting);
        eng_rseq_arm();
    }
    set_state(t, WL_HOLDING);
    s->entry = log && t->log ? mt_log_open(t->log, s->got) : NULL;
}

/* After the release: the section is over, now it may be written down. An acquisition belongs to the
 * phase in which it was released. */
LL_TEMPLATE void after_release(struct wl_thread *t, struct wl_slot *s, uint64_t released,
                               bool shared)
{
    bool counted = phase_now(t) == t->want;

    if (MEASURES) {
        if (t->rseq && LL_UNLIKELY(eng_rseq_disarm()))
            eng_count(LL_EV_preempted_holding);
        set_state(t, WL_THINKING);
        if (s->entry)
            mt_log_close(s->entry, released);
    }
    if (!counted)
        return;
    if (MEASURES && t->full) {
        mt_histogram_record(&t->wait, eng_ticks_ns(s->got - s->called));
        mt_histogram_record(&t->hold, eng_ticks_ns(released - s->got));
    }
    eng_own_add(&t->counts.acquisitions, 1);
    if (shared)
        eng_own_add(&t->counts.shared_acquisitions, 1);
}

void wl_acquire(struct wl_thread *t, uint32_t lock)
{
    struct wl_slot *s = &t->slot[lock];

    before_acquire(t, s);
    s->desc->ops.acquire(s->lock, s->node);
    after_acquire(t, s, true);
}

void wl_release(struct wl_thread *t, uint32_t lock)
{
    struct wl_slot *s = &t->slot[lock];
    uint64_t released = MEASURES && t->full ? eng_ticks_settled() : 0;

    s->desc->ops.release(s->lock, s->node);
    after_release(t, s, released, false);
}

void wl_acquire_shared(struct wl_thread *t, uint32_t lock)
{
    struct wl_slot *s = &t->slot[lock];

    before_acquire(t, s);
    s->desc->shared.acquire_shared(s->lock, s->node);
    after_acquire(t, s, false);
}

void wl_release_shared(struct wl_thread *t, uint32_t lock)
{
    struct wl_slot *s = &t->slot[lock];
    uint64_t released = MEASURES && t->full ? eng_ticks_settled() : 0;

    s->desc->shared.release_shared(s->lock, s->node);
    after_release(t, s, released, true);
}

void wl_overlap(struct wl_thread *t)
{
    eng_own_add(&t->counts.overlap, 1);
}
