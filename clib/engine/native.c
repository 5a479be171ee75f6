/* SPDX-License-Identifier: MIT */
/* native.c - the out-of-line half of the shim on real threads: pool, polling, parking. */
#define _GNU_SOURCE
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "core/rng.h"
#include "engine/engine.h"
#include "engine/loss.h"
#include "engine/own.h"

__thread struct eng_thread *eng_native_self;

/* ---- pool: descriptors are recycled, never freed ---- */

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct eng_thread *pool_free;

struct eng_thread *eng_native_attach(uint32_t index, uint64_t seed)
{
    struct eng_thread *t;
    uint32_t generation = 0;

    eng_clock_init();
    pthread_mutex_lock(&pool_mutex);
    t = pool_free;
    if (t) {
        pool_free = t->next_free;
        generation = t->generation + 1;
    }
    pthread_mutex_unlock(&pool_mutex);
    if (!t && !(t = aligned_alloc(LL_PAIR, sizeof(*t))))
        return NULL;
    memset(t, 0, sizeof(*t));
    t->generation = generation;
    t->index = index;
    t->random_state = ll_rng_seed(seed, index);
    t->on_cpu = t->sampled = 1;
    t->spin_budget = eng_clock_ticks(ENG_SPIN_BUDGET_NS);
    eng_native_self = t;
    return t;
}

void eng_native_recycle(struct eng_thread *t)
{
    eng_own_set32(&t->on_cpu, 0);
    pthread_mutex_lock(&pool_mutex);
    t->next_free = pool_free;
    pool_free = t;
    pthread_mutex_unlock(&pool_mutex);
}

void eng_native_detach(void)
{
    struct eng_thread *t = eng_native_self;

    LL_ASSERT(t);
    eng_native_self = NULL;
    eng_native_recycle(t);
}

/* ---- waiting ---- */

/* A sign of life, where the heartbeat policy asks for them: in delays, and in waits, since others ask
 * after queued spinners, too. */
static void beat(struct eng_thread *self)
{
    if (self && self->owner_policy == LL_OWNER_HEARTBEAT)
        eng_heartbeat();
}

/* Leaves the lock in whatever state it is in; the run throws the instance away. */
static void unwind_if_asked(struct eng_thread *self)
{
    bool asked = __atomic_load_n(&self->abort, __ATOMIC_RELAXED) != 0;

    if (self->on_poll && self->on_poll(self))
        asked = true;
    if (asked && self->can_unwind)
        longjmp(self->unwind, 1);
}

void eng_native_abort(struct eng_thread *t)
{
    __atomic_store_n(&t->abort, 1, __ATOMIC_RELAXED);
    eng_native_unpark(t);
}

static void note_wait(struct eng_thread *self, const void *addr, const struct eng_site *site)
{
    __atomic_store_n(&self->wait_addr, addr, __ATOMIC_RELAXED);
    __atomic_store_n(&self->wait_site, site, __ATOMIC_RELEASE); /* the watchdog reads it first */
}

void eng_native_poll(const void *addr, const struct eng_site *site)
{
    note_wait(eng_native_self, addr, site);
    unwind_if_asked(eng_native_self);
}

/* It gives its CPU away, so the wish that it do so is granted, and a spin that goes on is a new one. */
static void not_asked_any_more(struct eng_thread *self)
{
    __atomic_store_n(&self->resched, 0, __ATOMIC_RELAXED);
    if (self->spin_until)
        self->spin_until = eng_ticks() + self->spin_budget;
}

static void give_cpu_away(struct eng_thread *self)
{
    enum eng_loss loss = self->loss;

    eng_loss_watch(self, ENG_LOSS_NOT);
    sched_yield();
    eng_loss_watch(self, loss);
    self->events[LL_EV_yields]++;
}

void eng_native_yield(const struct eng_site *site)
{
    struct eng_thread *self = eng_native_self;

    give_cpu_away(self);
    not_asked_any_more(self);
    note_wait(self, NULL, site);
    unwind_if_asked(self);
}

/* Acquire, asked for or not: nothing beside the pause, and TSan does not understand fences. */
static uint64_t load_term(const struct eng_term *t)
{
    switch (t->width) {
    case 1: return __atomic_load_n((const uint8_t *)t->addr, __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n((const uint16_t *)t->addr, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const uint32_t *)t->addr, __ATOMIC_ACQUIRE);
    case 8: return __atomic_load_n((const uint64_t *)t->addr, __ATOMIC_ACQUIRE);
    default: LL_ASSERT(0); return 0;
    }
}

bool eng_native_holds(struct eng_term term)
{
    return eng_term_holds(&term, load_term(&term));
}

static void turns_done(struct eng_thread *self, unsigned turn)
{
    if (turn >= ENG_POLL_TURNS) {
        __atomic_store_n(&self->wait_site, NULL, __ATOMIC_RELAXED);
        self->events[LL_EV_await_long]++;
    }
}

uint64_t eng_native_await_body(const void *addr, uint64_t want, uint64_t mask,
                               const struct eng_native_await *await)
{
    const struct eng_term term = {.addr = addr,
                                  .operand = want,
                                  .mask = mask,
                                  .width = (uint8_t)await->width,
                                  .test = (uint8_t)await->test,
                                  .acquire = true};
    unsigned turn = 0;
    uint64_t seen;

    do {
        beat(eng_native_self);
        eng_native_turn(&turn, addr, &await->site);
        eng_native_probe(addr, await->width, &await->site);
        seen = load_term(&term);
    } while (!eng_term_holds(&term, seen));
    turns_done(eng_native_self, turn);
    return seen;
}

#if defined(__x86_64__) && !defined(LL_SANITIZED)
/* Calls eng_native_await_body(rdi, rsi, rdx, rcx) and preserves every general register but rax. */
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
        ".globl eng_native_await_thunk\n"
        ".hidden eng_native_await_thunk\n"
        ".type eng_native_await_thunk,@function\n"
        "eng_native_await_thunk:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register rbp\n"
        "push %rdi\n"
        "push %rsi\n"
        "push %rdx\n"
        "push %rcx\n"
        "push %r8\n"
        "push %r9\n"
        "push %r10\n"
        "push %r11\n"
        "and $-16, %rsp\n"
        "call eng_native_await_body\n"
        "lea -64(%rbp), %rsp\n"
        "pop %r11\n"
        "pop %r10\n"
        "pop %r9\n"
        "pop %r8\n"
        "pop %rcx\n"
        "pop %rdx\n"
        "pop %rsi\n"
        "pop %rdi\n"
        "pop %rbp\n"
        ".cfi_def_cfa rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size eng_native_await_thunk, .-eng_native_await_thunk\n"
        ".popsection\n");
#endif

/* 0, or the reason to give up after `round` rounds, asked in the documented order. */
static int gave_up(const struct eng_giveup *g, uint32_t round)
{
    if (!g)
        return 0;
    if (g->deadline_ns && eng_native_now() >= g->deadline_ns)
        return ENG_GAVE_UP_DEADLINE;
    if (g->budget && round >= g->budget)
        return ENG_GAVE_UP_BUDGET;
    if (g->resched && eng_need_resched())
        return ENG_GAVE_UP_RESCHED;
    if (g->owner && !eng_native_on_cpu(g->owner))
        return ENG_GAVE_UP_OWNER;
    if (g->cancel && eng_cancelled())
        return ENG_GAVE_UP_CANCEL;
    return 0;
}

/* ---- other ways to relax ---- */

#if defined(__x86_64__)
#define UMWAIT_TICKS                                                                               \
    10000u /* how long at most: a store just before the line is watched is missed */

static bool has_waitpkg(void)
{
    static int known; /* 0: not asked yet, 1: no, 2: yes */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (!answer) {
        unsigned a, b, c = 0, d;
        answer = __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & 1u << 5 ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2;
}

/* Control 1: the lighter of the two sleeps. */
static void umwait(const struct eng_term *terms, unsigned n)
{
    uint64_t until = __builtin_ia32_rdtsc() + UMWAIT_TICKS;

    if (!n) {
        __asm__ volatile("tpause %0" ::"r"(1), "a"((uint32_t)until), "d"((uint32_t)(until >> 32))
                         : "cc", "memory");
        return;
    }
    __asm__ volatile("umonitor %0" ::"r"(terms[0].addr) : "memory");
    for (unsigned i = 0; i < n; i++)
        if (eng_term_holds(&terms[i], load_term(&terms[i])))
            return;
    __asm__ volatile("umwait %0" ::"r"(1), "a"((uint32_t)until), "d"((uint32_t)(until >> 32))
                     : "cc", "memory");
}
#else
static bool has_waitpkg(void)
{
    return false;
}

static void umwait(const struct eng_term *terms, unsigned n)
{
    LL_UNUSED(terms);
    LL_UNUSED(n);
}
#endif

void eng_native_pause_as(enum eng_relax_kind kind, const struct eng_term *terms, unsigned n)
{
    switch (kind) {
    case ENG_RELAX_PAUSE: eng_native_pause(); return;
    case ENG_RELAX_NONE: __asm__ volatile("" ::: "memory"); return;
    case ENG_RELAX_YIELD: give_cpu_away(eng_native_self); return;
    case ENG_RELAX_UMWAIT:
        if (has_waitpkg()) {
            umwait(terms, n);
            return;
        }
        eng_native_self->events[LL_EV_umwait_paused]++;
        eng_native_pause();
    }
}

/* eng_native_turn with another relax than a pause. */
static void turn_as(enum eng_relax_kind kind, const struct eng_term *terms, unsigned n,
                    unsigned *turn, const struct eng_site *site)
{
    eng_native_pause_as(kind, terms, n);
    if ((++*turn & (ENG_POLL_TURNS - 1)) == 0)
        eng_native_poll(terms[0].addr, site);
}

int eng_native_await_any(const struct eng_term *terms, unsigned n, const struct eng_giveup *giveup,
                         const struct eng_site *site)
{
    struct eng_thread *self = eng_native_self;
    unsigned turn = 0;
    int result;

    LL_ASSERT(n >= 1 && n <= 4);
    for (uint32_t round = 1;; round++) {
        for (unsigned i = 0; i < n; i++)
            if (eng_term_holds(&terms[i], load_term(&terms[i]))) {
                result = (int)i;
                goto out;
            }
        if (round == 1)
            self->events[LL_EV_await_blocked]++;
        if ((result = gave_up(giveup, round)))
            goto out;
        beat(self);
        if (giveup && giveup->relax)
            turn_as(giveup->relax, terms, n, &turn, site);
        else
            eng_native_turn(&turn, terms[0].addr, site);
    }
out:
    turns_done(self, turn);
    return result;
}

/* ---- sleeping ---- */

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static bool take_permit(struct eng_thread *self, uint32_t from, uint32_t to, int order)
{
    return __atomic_compare_exchange_n(&self->permit, &from, to, false, order, __ATOMIC_RELAXED);
}

/* How long one futex wait may last: to the deadline, at most 50 ms, so that a thread that may be
 * asked to unwind never sleeps through it. False: the deadline has passed. */
static bool next_nap(uint64_t deadline_ns, struct timespec *nap)
{
    uint64_t now = eng_native_now(), ns = 50 * 1000 * 1000;

    if (deadline_ns) {
        if (now >= deadline_ns)
            return false;
        if (deadline_ns - now < ns)
            ns = deadline_ns - now;
    }
    *nap = (struct timespec){0, (long)ns};
    return true;
}

/* With permit == 2, until somebody changes that or the deadline. */
static enum eng_park_result sleep_parked(struct eng_thread *self, uint64_t deadline_ns,
                                         const struct eng_site *site)
{
    enum eng_park_result result = ENG_WOKEN;
    enum eng_loss loss = self->loss;
    struct timespec nap;
    uint64_t stamp;

    self->events[LL_EV_parks]++;
    eng_loss_watch(self, ENG_LOSS_NOT);
    note_wait(self, NULL, site);
    __atomic_store_n(&self->on_cpu, 0, __ATOMIC_RELAXED);
    while (__atomic_load_n(&self->permit, __ATOMIC_RELAXED) == 2) {
        if (!next_nap(deadline_ns, &nap)) {
            result = ENG_TIMED_OUT;
            break;
        }
        /* 0: woken, and if that was by no unpark, spuriously */
        if (futex(&self->permit, FUTEX_WAIT, 2, &nap) == 0 &&
            __atomic_load_n(&self->permit, __ATOMIC_RELAXED) == 2)
            self->events[LL_EV_spurious_wake]++;
        if (__atomic_load_n(&self->abort, __ATOMIC_RELAXED) || self->on_poll)
            unwind_if_asked(self);
    }
    /* pairs with the exchange in unpark; a permit that came with the deadline counts as woken */
    if (__atomic_exchange_n(&self->permit, 0, __ATOMIC_ACQUIRE) == 1)
        result = ENG_WOKEN;
    __atomic_store_n(&self->on_cpu, 1, __ATOMIC_RELAXED);
    eng_loss_watch(self, loss);
    self->wait_site = NULL;
    stamp = __atomic_exchange_n(&self->unparked_ticks, 0, __ATOMIC_RELAXED);
    if (stamp && result == ENG_WOKEN && self->on_wake)
        self->on_wake(self, eng_ticks_ns(eng_ticks() - stamp));
    return result;
}

static enum eng_park_result take_permit_or_sleep(struct eng_thread *self,
                                                 const struct eng_giveup *giveup,
                                                 const struct eng_site *site)
{
    enum eng_park_result result;

    /* a permit that is there is taken without sleeping; a token set later comes with one */
    do {
        if (giveup->cancel && eng_cancelled())
            return ENG_CANCELLED;
        if (take_permit(self, 1, 0, __ATOMIC_ACQUIRE))
            return ENG_WOKEN;
    } while (!take_permit(self, 0, 2, __ATOMIC_RELAXED));
    result = sleep_parked(self, giveup->deadline_ns, site);
    return giveup->cancel && eng_cancelled() ? ENG_CANCELLED : result;
}

enum eng_park_result eng_native_park(const struct eng_giveup *giveup, const struct eng_site *site)
{
    struct eng_thread *self = eng_native_self;
    uint32_t bkl = eng_bkl_drop();
    enum eng_park_result result;

    not_asked_any_more(self);
    result = take_permit_or_sleep(self, giveup, site);
    eng_bkl_retake(bkl);
    return result;
}

/* Who is woken on the same CPU often takes it at once. */
static void wake(uint32_t *permit, struct eng_thread *waker)
{
    enum eng_loss loss = waker ? waker->loss : ENG_LOSS_NOT;

    if (loss)
        eng_loss_watch(waker, ENG_LOSS_WAKING);
    futex(permit, FUTEX_WAKE, 1, NULL);
    if (loss)
        eng_loss_watch(waker, loss);
    if (waker)
        waker->events[LL_EV_unparks]++;
}

void eng_native_unpark(struct eng_thread *t)
{
    __atomic_store_n(&t->unparked_ticks, eng_ticks(), __ATOMIC_RELAXED);
    /* always an exchange: looking first and skipping at permit == 1 loses a wake-up under TSO */
    if (__atomic_exchange_n(&t->permit, 1, __ATOMIC_RELEASE) == 2) {
        wake(&t->permit, eng_native_self);
    }
}

void eng_native_sleep(uint64_t ns, const struct eng_site *site)
{
    struct eng_thread *self = eng_native_self;
    uint64_t until = eng_native_now() + ns;
    uint32_t bkl = eng_bkl_drop();
    enum eng_loss loss = self->loss;
    struct timespec nap;

    not_asked_any_more(self);
    eng_loss_watch(self, ENG_LOSS_NOT);
    note_wait(self, NULL, site);
    __atomic_store_n(&self->on_cpu, 0, __ATOMIC_RELAXED);
    while (next_nap(until, &nap)) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        unwind_if_asked(self);
    }
    __atomic_store_n(&self->on_cpu, 1, __ATOMIC_RELAXED);
    eng_loss_watch(self, loss);
    self->wait_site = NULL;
    eng_bkl_retake(bkl);
}

void eng_native_cancel(struct eng_thread *t)
{
    __atomic_store_n(&t->cancel, 1, __ATOMIC_RELAXED);
    eng_native_unpark(t);
}

/* ---- the spin phase ---- */

void eng_native_lost_cpu(struct eng_thread *self)
{
    static const enum ll_event of_loss[] = {
        [ENG_LOSS_SPINNING] = LL_EV_preempted_while_spinning,
        [ENG_LOSS_QUEUED] = LL_EV_preempted_while_queued,
        [ENG_LOSS_HOLDING] = LL_EV_preempted_while_holding,
        [ENG_LOSS_WAKING] = LL_EV_preempted_while_waking,
    };
    enum eng_loss loss = self->loss;

    if (self->spin && loss < ENG_LOSS_HOLDING)
        loss = self->spin == ENG_SPIN_QUEUED ? ENG_LOSS_QUEUED : ENG_LOSS_SPINNING;
    self->events[of_loss[loss]]++;
}

/* On to the next stage. What was lost was lost in the one before, and the time up to now, if somebody
 * wants to know, was spent in it. */
static void spin_stage(struct eng_thread *self, enum eng_spin stage, uint64_t now)
{
    eng_loss_watch(self, self->loss);
    if (self->spin && self->spin_times)
        self->events[self->spin == ENG_SPIN_QUEUED ? LL_EV_spin_queued_ns : LL_EV_spin_owner_ns] +=
            eng_ticks_ns(now - self->spin_since);
    self->spin_since = now;
    __atomic_store_n(&self->spin, (uint32_t)stage, __ATOMIC_RELAXED);
}

void eng_native_spin_stage(enum eng_spin stage)
{
    struct eng_thread *self = eng_native_self;

    spin_stage(self, stage, self->spin_times ? eng_ticks() : 0);
}

void eng_native_spin_begin(void)
{
    struct eng_thread *self = eng_native_self;
    uint64_t now = self->spin_budget || self->spin_times ? eng_ticks() : 0;

    spin_stage(self, ENG_SPIN_SPINS, now);
    self->spin_until = self->spin_budget ? now + self->spin_budget : 0;
}

void eng_native_spin_end(void)
{
    eng_native_spin_stage(ENG_SPIN_NOT);
    eng_native_self->spin_until = 0;
}

/* ---- environment ---- */

bool eng_native_on_cpu(struct eng_thread *t)
{
    switch (eng_native_self->owner_policy) {
    case LL_OWNER_COOP: return __atomic_load_n(&t->on_cpu, __ATOMIC_RELAXED) != 0;
    case LL_OWNER_HEARTBEAT: {
        uint64_t beat = __atomic_load_n(&t->heartbeat, __ATOMIC_RELAXED), now = eng_native_now();
        return now <= beat || now - beat < eng_native_self->heartbeat_max_ns;
    }
    case LL_OWNER_SWITCH_REC: return eng_native_self->has_cpu(t);
    case LL_OWNER_SAMPLE: return __atomic_load_n(&t->sampled, __ATOMIC_RELAXED) != 0;
    case LL_OWNER_ALWAYS: return true;
    case LL_OWNER_NEVER: return false;
    }
    return true;
}

void eng_native_irq_point(void)
{
    struct eng_thread *self = eng_native_self;

    if (!self->irq_off && __atomic_exchange_n(&self->irq_pending, 0, __ATOMIC_ACQUIRE) &&
        self->irq_body) {
        self->irq_off++; /* interrupts do not nest */
        self->irq_body(self);
        self->irq_off--;
    }
}

void eng_native_probe_hit(struct eng_thread *self, const void *addr, unsigned width,
                          const struct eng_site *site)
{
    self->probe_left = self->probe_every;
    if (self->on_probe)
        self->on_probe(self, addr, width, site);
}

unsigned eng_native_cpu(void)
{
    int cpu = sched_getcpu();

    return cpu < 0 ? 0 : (unsigned)cpu;
}

void eng_native_delay(uint64_t ns)
{
    struct eng_thread *self = eng_native_self;
    uint64_t start, ticks;

    if (!ns)
        return;
    start = eng_ticks();
    ticks = eng_clock_ticks(ns);
    while (eng_ticks() - start < ticks)
        beat(self);
}
