/* SPDX-License-Identifier: MIT */
/* test_native_shim.c - the shim's vocabulary on real threads: words, views, awaits and their reasons
 * to give up, parking, cancelling, unwinding, owner policies, irq points, the probe's hook. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/lock.h"
#include "engine/loss.h"
#include "expect.h"

static void nap_ms(long ms)
{
    struct timespec t = {0, ms * 1000 * 1000};

    nanosleep(&t, NULL);
}

static void words_and_views(void)
{
    eng_u32 w = {0x04030201};
    eng_u64 q = {5};
    eng_i64 i = {-3};
    int x = 1, y = 2;
    eng_ptr(int) p = {&x};
    eng_plain(int32_t) plain = {7};

    EXPECT(eng_load_rlx(eng_byte(&w, 0)) == 1 && eng_load_acq(eng_byte(&w, 3)) == 4);
    EXPECT(eng_load_rlx(eng_half(&w, 1)) == 0x0403);
    eng_store_rel(eng_half(&w, 0), 0xffff);
    EXPECT(eng_load_rlx(&w) == 0x0403ffff);
    EXPECT(eng_add_rlx(eng_half(&w, 0), 1) == 0xffff && eng_load_rlx(&w) == 0x04030000);
    EXPECT(eng_or_ar(&w, 1) == 0x04030000 && eng_and_rel(&w, 1) == 0x04030001);
    EXPECT(eng_sub_acq(&w, 2) == 1 && eng_load_rlx(&w) == UINT32_MAX);
    EXPECT(eng_xchg_ar(&q, 9) == 5 && !eng_cas_acq(&q, 5, 1) && eng_cas_acq(&q, 9, 1));
    EXPECT(eng_cmpxchg_ar(&q, 2, 3) == 1 && eng_cmpxchg_ar(&q, 1, 3) == 1 && eng_load_rlx(&q) == 3);
    EXPECT(eng_add_rlx(&i, -1) == -3 && eng_load_rlx(&i) == -4);
    EXPECT(eng_xchg_acq(&p, &y) == &x && eng_cas_rel(&p, &y, NULL) && !eng_load_acq(&p));
    eng_write(&plain, eng_read(&plain) + 1);
    EXPECT(eng_read(&plain) == 8);
    eng_fence_full();
}

struct setter {
    eng_u32 *word;
    uint32_t value;
};

static void *set_later(void *arg)
{
    struct setter *s = arg;

    nap_ms(5);
    eng_store_rel(s->word, s->value);
    return NULL;
}

static void awaits_wait(void)
{
    eng_u32 w = {0};
    struct setter s = {&w, 0x105};
    struct eng_term terms[2] = {eng_term_eq_acq(&w, 99), eng_term_mask_ne_rlx(&w, 0xff, 0)};
    uint64_t before = eng_native_self->events[LL_EV_await_blocked];
    pthread_t thread;

    pthread_create(&thread, NULL, set_later, &s);
    EXPECT(eng_await_any(terms, 2, NULL) == 1);
    pthread_join(thread, NULL);
    EXPECT(eng_native_self->events[LL_EV_await_blocked] == before + 1);
    EXPECT(eng_await_mask_eq_acq(&w, 0xff, 5) == 0x105 && eng_await_ge_rlx(&w, 0x100) == 0x105);
    EXPECT(eng_await_ne_rlx(&w, 0) == 0x105);
    w.raw = 0;
    pthread_create(&thread, NULL, set_later, &s);
    EXPECT(eng_await_eq_acq(&w, 0x105) == 0x105); /* through the out-of-line half */
    pthread_join(thread, NULL);
}

static void awaits_give_up(void)
{
    eng_u32 w = {0};
    struct eng_term never = eng_term_eq_rlx(&w, 1);
    struct eng_thread *self = eng_self();
    struct eng_giveup deadline = {.deadline_ns = eng_now() + 1000000}, budget = {.budget = 3},
                      resched = {.resched = true}, owner = {.owner = self},
                      cancel = {.cancel = true};

    EXPECT(eng_await_any(&never, 1, &deadline) == ENG_GAVE_UP_DEADLINE);
    EXPECT(eng_now() >= deadline.deadline_ns);
    EXPECT(eng_await_any(&never, 1, &budget) == ENG_GAVE_UP_BUDGET);
    self->resched = 1;
    EXPECT(eng_need_resched() && eng_await_any(&never, 1, &resched) == ENG_GAVE_UP_RESCHED);
    eng_yield();
    EXPECT(!eng_need_resched());
    self->owner_policy = LL_OWNER_NEVER;
    EXPECT(eng_await_any(&never, 1, &owner) == ENG_GAVE_UP_OWNER);
    self->owner_policy = LL_OWNER_COOP;
    self->cancel = 1;
    EXPECT(eng_cancelled() && eng_await_any(&never, 1, &cancel) == ENG_GAVE_UP_CANCEL);
    self->cancel = 0;
    w.raw = 1; /* a condition that holds is never given up on */
    EXPECT(eng_await_any(&never, 1, &budget) == 0);
}

/* The budget is that of the whole spin phase, not of one await in it. */
static void a_spin_phase_has_a_budget(void)
{
    eng_u32 w = {0};
    struct eng_term never = eng_term_eq_rlx(&w, 1);
    struct eng_thread *self = eng_self();
    struct eng_giveup resched = {.resched = true}, budget = {.budget = 1};
    uint64_t began;

    eng_delay(2 * ENG_SPIN_BUDGET_NS);
    EXPECT(!eng_need_resched()); /* outside of a spin phase nothing runs out */
    EXPECT(self->spin == ENG_SPIN_NOT);
    began = eng_now();
    eng_spin_begin();
    EXPECT(self->spin == ENG_SPIN_SPINS);
    EXPECT(eng_await_any(&never, 1, &resched) == ENG_GAVE_UP_RESCHED);
    EXPECT(eng_now() - began >= ENG_SPIN_BUDGET_NS);
    EXPECT(eng_await_any(&never, 1, &resched) == ENG_GAVE_UP_RESCHED); /* and is not renewed */
    began = eng_now();
    eng_yield(); /* but here */
    eng_spin_queue();
    EXPECT(self->spin == ENG_SPIN_QUEUED);
    while (eng_await_any(&never, 1, &budget) && !eng_need_resched())
        ;
    EXPECT(eng_now() - began >= ENG_SPIN_BUDGET_NS);
    eng_spin_head();
    EXPECT(self->spin == ENG_SPIN_SPINS && self->resched == 0);
    eng_spin_end();
    EXPECT(!eng_need_resched() && self->spin == ENG_SPIN_NOT);
    self->spin_budget = 0; /* resched=never, tick */
    eng_spin_begin();
    eng_delay(2 * ENG_SPIN_BUDGET_NS);
    EXPECT(!eng_need_resched());
    self->resched = 1;
    EXPECT(eng_need_resched());
    EXPECT(eng_park(eng_now() + 1000) == ENG_TIMED_OUT && !eng_need_resched());
    eng_spin_end();
    self->spin_budget = eng_clock_ticks(ENG_SPIN_BUDGET_NS);
}

static uint64_t lost(enum ll_event event)
{
    uint64_t n = eng_native_self->events[event];

    eng_native_self->events[event] = 0;
    return n;
}

/* Sleeping behind the shim's back is a sure way to lose the CPU. */
static void losses_are_told_apart(void)
{
    struct eng_thread *self = eng_self();

    if (eng_rseq_attach())
        return; /* test_rseq.c says so */
    eng_loss_watch(self, ENG_LOSS_QUEUED);
    nap_ms(1);
    eng_loss_watch(self, ENG_LOSS_HOLDING);
    EXPECT(lost(LL_EV_preempted_while_queued) == 1 && !lost(LL_EV_preempted_while_holding));
    nap_ms(1);
    eng_loss_watch(self, ENG_LOSS_SPINNING);
    EXPECT(lost(LL_EV_preempted_while_holding) == 1 && !lost(LL_EV_preempted_while_queued));
    nap_ms(1);
    eng_spin_begin();
    EXPECT(lost(LL_EV_preempted_while_spinning) == 1);
    nap_ms(1);
    eng_spin_queue();
    EXPECT(lost(LL_EV_preempted_while_spinning) == 1);
    nap_ms(1);
    eng_spin_head();
    EXPECT(lost(LL_EV_preempted_while_queued) == 1 && !lost(LL_EV_preempted_while_spinning));
    eng_spin_end();
    eng_loss_watch(self, ENG_LOSS_NOT);
    nap_ms(1);
    eng_loss_watch(self, ENG_LOSS_NOT);
    EXPECT(!lost(LL_EV_preempted_while_queued) && !lost(LL_EV_preempted_while_holding));
}

/* The shim's own sleeps are given, not lost; tried until the machine leaves one of them alone. */
static void what_is_given_away_is_not_lost(void)
{
    struct eng_thread *self = eng_self();
    bool quiet = false;

    if (eng_rseq_attach())
        return;
    for (int i = 0; i < 1000 && !quiet; i++) {
        eng_loss_watch(self, ENG_LOSS_SPINNING);
        eng_park(eng_now() + 1000000);
        eng_sleep(1000000);
        eng_yield();
        eng_loss_watch(self, ENG_LOSS_NOT);
        quiet = lost(LL_EV_preempted_while_spinning) == 0;
    }
    EXPECT(quiet);
    eng_rseq_detach();
}

static void stages_are_timed(void)
{
    struct eng_thread *self = eng_self();

    lost(LL_EV_spin_queued_ns);
    lost(LL_EV_spin_owner_ns);
    self->spin_times = true;
    eng_spin_begin();
    eng_delay(100000);
    eng_spin_queue();
    eng_delay(200000);
    eng_spin_head();
    eng_spin_end();
    EXPECT(lost(LL_EV_spin_queued_ns) >= 199000);
    EXPECT(lost(LL_EV_spin_owner_ns) >= 99000);
    self->spin_times = false;
    eng_spin_begin();
    eng_spin_end();
    EXPECT(!lost(LL_EV_spin_queued_ns) && !lost(LL_EV_spin_owner_ns));
}

static void policies_answer(void)
{
    struct eng_thread *self = eng_self();

    self->owner_policy = LL_OWNER_ALWAYS;
    EXPECT(eng_on_cpu(self));
    self->owner_policy = LL_OWNER_COOP;
    EXPECT(eng_on_cpu(self));
    self->on_cpu = 0;
    EXPECT(!eng_on_cpu(self));
    self->on_cpu = 1;
    self->owner_policy = LL_OWNER_HEARTBEAT;
    self->heartbeat_max_ns = 1000000000;
    eng_heartbeat();
    EXPECT(eng_on_cpu(self));
    self->heartbeat_max_ns = 1;
    nap_ms(1);
    EXPECT(!eng_on_cpu(self));
    self->heartbeat_max_ns = 1000000000;
    self->heartbeat = 0;
    eng_delay(1000); /* work is a sign of life */
    EXPECT(eng_on_cpu(self));
    self->owner_policy = LL_OWNER_COOP;
}

static uint64_t wake_latency;

static void note_wake(struct eng_thread *self, uint64_t ns)
{
    (void)self;
    wake_latency = ns;
}

static void *unpark_later(void *arg)
{
    nap_ms(5);
    eng_unpark((struct eng_thread *)arg);
    return NULL;
}

static void *cancel_later(void *arg)
{
    nap_ms(5);
    eng_native_cancel(arg);
    return NULL;
}

static void parking(void)
{
    struct eng_thread *self = eng_self();
    uint64_t parks = self->events[LL_EV_parks];
    const struct eng_giveup cancel = {.cancel = true};
    pthread_t thread;

    self->on_wake = note_wake;
    eng_unpark(self); /* before the park: the permit sticks, once */
    eng_unpark(self);
    EXPECT(eng_park(0) == ENG_WOKEN && wake_latency == 0);
    EXPECT(eng_park(eng_now() + 2000000) == ENG_TIMED_OUT);
    pthread_create(&thread, NULL, unpark_later, self);
    EXPECT(eng_park(0) == ENG_WOKEN);
    pthread_join(thread, NULL);
    EXPECT(wake_latency > 0 && wake_latency < 5000000000u);
    EXPECT(self->events[LL_EV_parks] == parks + 2 && self->permit == 0 && self->on_cpu == 1);
    pthread_create(&thread, NULL, cancel_later, self);
    EXPECT(eng_park_for(&cancel) == ENG_CANCELLED);
    pthread_join(thread, NULL);
    self->cancel = 0;
    self->on_wake = NULL;
}

static eng_u32 big_lock;

static void *wants_the_big_lock(void *arg)
{
    struct eng_thread *waker = arg;

    eng_native_attach(9, 1);
    eng_self()->bkl.word = &big_lock;
    eng_bkl_acquire();
    EXPECT(eng_bkl_depth() == 1);
    eng_unpark(waker); /* who cannot go on before the lock is free again */
    nap_ms(1);
    EXPECT(eng_bkl_depth() == 1 && eng_load_rlx(&big_lock) == 1);
    eng_bkl_release();
    eng_native_detach();
    return NULL;
}

static void the_big_lock_is_dropped_by_sleepers(void)
{
    struct eng_thread *self = eng_self();
    pthread_t thread;

    self->bkl.word = &big_lock;
    EXPECT(eng_bkl_depth() == 0);
    eng_bkl_acquire();
    eng_bkl_acquire();
    eng_bkl_release();
    EXPECT(eng_bkl_depth() == 1 && eng_load_rlx(&big_lock) == 1);
    eng_bkl_acquire();
    pthread_create(&thread, NULL, wants_the_big_lock, self);
    EXPECT(eng_park(0) == ENG_WOKEN); /* woken by who holds it now */
    EXPECT(eng_bkl_depth() == 2 && eng_load_rlx(&big_lock) == 1);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, wants_the_big_lock, self);
    eng_sleep(2000000); /* leaves the permit alone */
    EXPECT(eng_bkl_depth() == 2);
    EXPECT(eng_park(0) == ENG_WOKEN);
    pthread_join(thread, NULL);
    eng_bkl_release();
    eng_bkl_release();
    EXPECT(eng_bkl_depth() == 0 && eng_load_rlx(&big_lock) == 0);
    EXPECT(eng_park(eng_now() + 1) == ENG_TIMED_OUT && eng_load_rlx(&big_lock) == 0);
    self->bkl.word = NULL;
}

static void *abort_later(void *arg)
{
    nap_ms(5);
    eng_native_abort(arg);
    return NULL;
}

static void a_stuck_wait_unwinds(bool asleep)
{
    static eng_u32 never;
    struct eng_thread *self = eng_self();
    pthread_t thread;

    pthread_create(&thread, NULL, abort_later, self);
    self->can_unwind = true;
    if (setjmp(self->unwind) == 0) {
        if (asleep)
            eng_park(0);
        eng_await_eq_acq(&never, 1);
        EXPECT(!"came back from a wait that never holds");
    }
    self->can_unwind = false;
    pthread_join(thread, NULL);
    self->abort = 0;
    self->permit = 0;
    EXPECT(asleep || (self->wait_site && strstr(self->wait_site->expr, "never")));
}

static unsigned irqs;

static void irq_body(struct eng_thread *self)
{
    irqs++;
    self->irq_pending = 1; /* must not nest */
    eng_irq_point();
}

static void irq_points(void)
{
    struct eng_thread *self = eng_self();

    self->irq_body = irq_body;
    self->irq_pending = 1;
    eng_irq_disable();
    eng_irq_point();
    EXPECT(irqs == 0);
    eng_irq_enable();
    eng_irq_point();
    EXPECT(irqs == 1);
    self->irq_pending = 0;
    eng_irq_point();
    EXPECT(irqs == 1);
    self->irq_body = NULL;
}

static unsigned probes;

static void on_probe(struct eng_thread *self, const void *addr, unsigned width,
                     const struct eng_site *site)
{
    (void)self;
    probes += addr && width == 4 && site->line > 0;
}

/* The probed build of a lock offers every Nth access to the hook; the others have no hook at all. */
static void the_probed_build_samples(void)
{
    extern const struct ll_lock_desc ll_lock_spin_tas_probed, ll_lock_spin_tas_native;
    struct eng_thread *self = eng_self();
    char lock[256] __attribute__((aligned(128))) = {0};

    self->on_probe = on_probe;
    self->probe_every = self->probe_left = 4;
    for (int i = 0; i < 8; i++) { /* an exchange and a store each: 16 accesses */
        ll_lock_spin_tas_probed.ops.acquire(lock, NULL);
        ll_lock_spin_tas_probed.ops.release(lock, NULL);
    }
    EXPECT(probes == 4);
    ll_lock_spin_tas_native.ops.acquire(lock, NULL);
    ll_lock_spin_tas_native.ops.release(lock, NULL);
    EXPECT(probes == 4 && self->probe_left == 4);
    self->probe_every = 0;
    self->on_probe = NULL;
}

static void the_environment(void)
{
    uint64_t a = eng_now(), b;
    struct eng_thread *first = eng_self();

    eng_delay(2000000);
    b = eng_now();
    EXPECT(b - a >= 2000000);
    EXPECT(eng_random() != eng_random());
    EXPECT(eng_backoff(1, 4) == 2 && eng_backoff(2, 4) == 4 && eng_backoff(4, 4) == 4);
    eng_native_detach();
    EXPECT(eng_native_attach(3, 1) == first && first->generation == 1 && first->index == 3);
}

int main(void)
{
    if (!eng_native_attach(0, 1))
        return 1;
    words_and_views();
    awaits_wait();
    awaits_give_up();
    a_spin_phase_has_a_budget();
    losses_are_told_apart();
    what_is_given_away_is_not_lost();
    stages_are_timed();
    policies_answer();
    parking();
    the_big_lock_is_dropped_by_sleepers();
    a_stuck_wait_unwinds(false);
    a_stuck_wait_unwinds(true);
    irq_points();
    the_probed_build_samples();
    the_environment();
    DONE();
}
