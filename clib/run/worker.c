/* SPDX-License-Identifier: MIT */
/* worker.c - the calls of which workloads are made; compiled once per native build.
 *
 * In the bare build an acquisition costs one counter and one look at the phase word besides the lock.
 * The instrumented build adds, under `full`, three clock readings, two histogram records and a log
 * entry, all in the worker's own lines.
 */
#include "run/worker.h"

#include "engine/clock.h"
#include "engine/loss.h"

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
    eng_loss_watch(eng_native_self, s->waits_as);
    if (t->full)
        s->called = eng_ticks();
}

/* The call is over, with the lock or without. */
LL_TEMPLATE void after_call(struct wl_thread *t, bool holds)
{
    eng_loss_watch(eng_native_self, holds ? ENG_LOSS_HOLDING : ENG_LOSS_NOT);
    set_state(t, holds ? WL_HOLDING : WL_THINKING);
}

LL_TEMPLATE void after_acquire(struct wl_thread *t, struct wl_slot *s, bool log)
{
    if (!MEASURES)
        return;
    if (t->full)
        s->got = eng_ticks_settled();
    t->held++;
    after_call(t, true);
    s->entry = log && s->counted && t->log ? mt_log_open(t->log, s->called, s->got) : NULL;
}

static void count_in_group(const struct wl_thread *t, const struct wl_slot *s, uint64_t released)
{
    struct wl_group_counts *g = s->group;

    g->acquisitions++;
    if (!t->full)
        return;
    g->wait_ticks += s->got - s->called;
    g->hold_ticks += released - s->got;
    if (s->got - s->called > g->wait_max_ticks)
        g->wait_max_ticks = s->got - s->called;
}

/* After the release: the section is over, now it may be written down. An acquisition belongs to the
 * phase in which it was released. */
LL_TEMPLATE void after_release(struct wl_thread *t, struct wl_slot *s, uint64_t released,
                               bool shared)
{
    bool counted = phase_now(t) == t->want;

    if (MEASURES) {
        t->held--;
        eng_loss_watch(eng_native_self, t->held ? ENG_LOSS_HOLDING : ENG_LOSS_NOT);
        set_state(t, t->held ? WL_HOLDING : WL_THINKING);
        if (s->entry)
            mt_log_close(s->entry, released);
    }
    if (!counted)
        return;
    if (MEASURES && s->group)
        count_in_group(t, s, released);
    if (!s->counted)
        return;
    if (MEASURES && t->full) {
        mt_histogram_record(&t->wait, eng_ticks_ns(s->got - s->called));
        mt_histogram_record(&t->hold, eng_ticks_ns(released - s->got));
    }
    eng_own_add(&t->counts.acquisitions, 1);
    if (shared)
        eng_own_add(&t->counts.shared_acquisitions, 1);
}

bool wl_has_shared(const struct wl_thread *t, uint32_t lock)
{
    return t->slot[lock].desc->kind == LL_KIND_SHARED;
}

/* Does the order validator look on? */
LL_TEMPLATE bool is_validated(const struct wl_thread *t)
{
    return MEASURES && LL_UNLIKELY(t->validated != NULL);
}

/* `outer` is NULL if it is not nested. */
LL_TEMPLATE void acquire(struct wl_thread *t, struct wl_slot *s, const struct wl_slot *outer,
                         bool shared)
{
    if (is_validated(t)) {
        uint32_t how = shared ? LL_VALIDATOR_SHARED : 0;
        if (outer)
            ll_validator_acquire_nested(t->validated, s->guard, how, outer->guard, t->caller.site);
        else
            ll_validator_acquire(t->validated, s->guard, how, t->caller.site);
    }
    before_acquire(t, s);
    (shared ? s->desc->shared.acquire_shared : s->desc->ops.acquire)(s->lock, s->node);
    after_acquire(t, s, !shared);
    if (is_validated(t))
        ll_validator_acquired(t->validated, s->guard, 0);
}

LL_TEMPLATE void release(struct wl_thread *t, struct wl_slot *s, bool shared)
{
    uint64_t released;

    if (is_validated(t))
        ll_validator_release(t->validated, s->guard, shared ? LL_VALIDATOR_SHARED : 0,
                             t->caller.site);
    released = MEASURES && t->full ? eng_ticks_settled() : 0;
    (shared ? s->desc->shared.release_shared : s->desc->ops.release)(s->lock, s->node);
    if (is_validated(t))
        ll_validator_released(t->validated, s->guard);
    after_release(t, s, released, shared);
}

void LL_BUILD_SYMBOL(wl_acquire)(struct wl_thread *t, uint32_t lock)
{
    acquire(t, &t->slot[lock], NULL, false);
}

void LL_BUILD_SYMBOL(wl_acquire_nested)(struct wl_thread *t, uint32_t lock, uint32_t outer)
{
    acquire(t, &t->slot[lock], &t->slot[outer], false);
}

void LL_BUILD_SYMBOL(wl_release)(struct wl_thread *t, uint32_t lock)
{
    release(t, &t->slot[lock], false);
}

void LL_BUILD_SYMBOL(wl_acquire_shared)(struct wl_thread *t, uint32_t lock)
{
    acquire(t, &t->slot[lock], NULL, true);
}

void LL_BUILD_SYMBOL(wl_release_shared)(struct wl_thread *t, uint32_t lock)
{
    release(t, &t->slot[lock], true);
}

/* ---- transactions ---- */

void LL_BUILD_SYMBOL(wl_context_init)(struct wl_thread *t)
{
    t->ww->ww.context_init(t->context, t->ww_class);
    if (is_validated(t))
        ll_validator_context_init(t->validated, t->guard_context, t->guard_ww_class,
                                  t->caller.site);
}

void LL_BUILD_SYMBOL(wl_context_done)(struct wl_thread *t)
{
    if (is_validated(t))
        ll_validator_context_done(t->validated, t->guard_context, t->caller.site);
    t->ww->ww.acquire_done(t->context);
}

void LL_BUILD_SYMBOL(wl_context_fini)(struct wl_thread *t)
{
    if (is_validated(t))
        ll_validator_context_fini(t->validated, t->guard_context, t->caller.site);
    t->ww->ww.context_fini(t->context);
}

typedef int acquire_ww(void *lock, void *node, void *ctx, const struct ll_ww_wait *wait);

LL_TEMPLATE int with_context(struct wl_thread *t, struct wl_slot *s, bool slow)
{
    static const struct ll_ww_wait for_ever = {0};
    acquire_ww *hook = slow ? s->desc->ww.acquire_slow : s->desc->ww.acquire;
    int ret;

    if (is_validated(t))
        ll_validator_acquire_ww(t->validated, s->guard, t->guard_context, slow, t->caller.site);
    before_acquire(t, s);
    ret = hook(s->lock, s->node, t->context, &for_ever);
    if (ret == 0)
        after_acquire(t, s, true);
    else if (MEASURES)
        after_call(t, t->held > 0);
    if (is_validated(t))
        ll_validator_acquired_ww(t->validated, s->guard, t->guard_context, slow, ret,
                                 t->caller.site);
    return ret;
}

int LL_BUILD_SYMBOL(wl_acquire_ww)(struct wl_thread *t, uint32_t lock)
{
    return with_context(t, &t->slot[lock], false);
}

int LL_BUILD_SYMBOL(wl_acquire_ww_slow)(struct wl_thread *t, uint32_t lock)
{
    return with_context(t, &t->slot[lock], true);
}

void wl_backs_off(struct wl_thread *t, uint32_t depth)
{
    eng_count(LL_EV_ww_backoffs);
    if (MEASURES)
        mt_histogram_record(&t->transactions->depth, depth);
}

void wl_holds_all(struct wl_thread *t, uint32_t restarts)
{
    eng_count(LL_EV_ww_transactions);
    if (!MEASURES)
        return;
    mt_histogram_record(&t->transactions->restarts, restarts);
    if (t->ww->ww.age)
        mt_histogram_record(&t->transactions->age, t->ww->ww.age(t->context));
}

bool wl_goes_on(const struct wl_thread *t)
{
    return phase_now(t) == t->want;
}

/* ---- what is no lock ---- */

void LL_BUILD_SYMBOL(wl_sleep)(struct wl_thread *t, uint64_t ns)
{
    if (is_validated(t))
        ll_validator_sleep(t->validated, t->caller.site);
    eng_count(LL_EV_section_sleeps);
    eng_sleep(ns);
}

void wl_job(struct wl_thread *t)
{
    LL_UNUSED(t);
    eng_count(LL_EV_jobs);
}

void wl_overlap(struct wl_thread *t)
{
    eng_own_add(&t->counts.overlap, 1);
}
