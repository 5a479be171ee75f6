/* SPDX-License-Identifier: MIT */
/* native_thread.h - a real thread as the shim and the run see it.
 *
 * Descriptors come from a pool that is never unmapped (type-stable): a lock that follows a stale
 * owner pointer reads a recycled descriptor, gets a wrong hint and nothing worse.
 */
#pragma once

#include <setjmp.h>

#include "engine/clock.h"
#include "engine/words.h"
#include "include/locklab.h"

#define ENG_SPIN_BUDGET_NS 100000u /* of resched=budget, unless the run says otherwise */
#define ENG_POLL_TURNS 1024u       /* pauses between two looks at the abort flag; a power of two */

/* Where a thread stands in the spin phase of an acquisition. */
enum eng_spin { ENG_SPIN_NOT, ENG_SPIN_SPINS, ENG_SPIN_QUEUED };

/* What a loss of the CPU is counted as, unless `spin` knows better; see loss.h. */
enum eng_loss {
    ENG_LOSS_NOT,
    ENG_LOSS_SPINNING,
    ENG_LOSS_QUEUED,
    ENG_LOSS_HOLDING,
    ENG_LOSS_WAKING
};

struct eng_thread {
    /* line 0: written by others, seldom */
    LL_OWN_LINE uint32_t permit; /* futex word: 0 none, 1 permit, 2 parked */
    uint32_t abort;              /* the run wants this thread to unwind */
    uint32_t resched;            /* stop spinning and yield */
    uint32_t cancel;             /* cancel token */
    uint64_t unparked_ticks;     /* stamp of the last unpark, for the wake latency */
    /* line 1: written by the thread, read by others who ask whether it runs */
    LL_OWN_LINE uint32_t on_cpu;
    uint64_t heartbeat; /* eng_now() of the last sign of life */
    uint32_t spin;      /* enum eng_spin, for the monitor of resched=tick */
    /* line 2: written by the run's monitor */
    LL_OWN_LINE uint32_t sampled; /* may it be on a CPU? */
    /* own lines */
    LL_OWN_LINE uint64_t events[LL_EVENT_COUNT];
    uint64_t random_state;
    unsigned relax_turns;
    uint32_t index, cpu, node, irq_off;
    uint32_t generation;  /* counts reuse of this descriptor */
    uint64_t spin_budget; /* ticks that a spin phase may last; 0: no such bound */
    bool spin_times;      /* the time in each stage of a spin phase is wanted */
    uint64_t spin_since;  /* ticks at which the present stage began */
    enum eng_loss loss;   /* NOT: nobody wants to know */
    struct eng_bkl bkl;
    uint64_t spin_until; /* end of the budget, in ticks; 0: no budget is running */
    enum ll_owner_run owner_policy;
    uint64_t heartbeat_max_ns;
    /* who waits where: written after a long wait only, read by the watchdog */
    const struct eng_site *wait_site;
    const void *wait_addr;
    /* hooks of the owner of this thread; NULL: none */
    void (*on_wake)(struct eng_thread *self, uint64_t latency_ns);
    bool (*on_poll)(struct eng_thread *self);    /* true: unwind now */
    bool (*has_cpu)(const struct eng_thread *t); /* of any thread; for owner_run=switch-rec */
    void (*irq_body)(struct eng_thread *self);
    void (*on_probe)(struct eng_thread *self, const void *addr, unsigned width,
                     const struct eng_site *site);
    void (*on_sync_point)(struct eng_thread *self, const char *name); /* test build: may wait */
    void *owner_data;
    const void *switches; /* this thread's ring, for has_cpu */
    uint32_t irq_pending, probe_every, probe_left;
    bool can_unwind; /* `unwind` is set: aborts may jump there */
    jmp_buf unwind;
    struct eng_thread *next_free;
};

extern __thread struct eng_thread *eng_native_self __attribute__((tls_model("initial-exec")));

/* Takes a descriptor for the calling thread and makes it eng_self(); NULL if out of memory. */
struct eng_thread *eng_native_attach(uint32_t index, uint64_t seed);
/* Gives the calling thread's descriptor back to the pool. */
void eng_native_detach(void);
/* Gives back the descriptor of a thread that has ended and let go of it (eng_native_self = NULL). */
void eng_native_recycle(struct eng_thread *t);
/* Asks `t` to unwind at its next poll and wakes it if it is parked. */
void eng_native_abort(struct eng_thread *t);

/* Where `t` has been waiting for long, or NULL; read this before wait_addr. */
LL_TEMPLATE const struct eng_site *eng_native_wait_site(const struct eng_thread *t)
{
    return __atomic_load_n(&t->wait_site, __ATOMIC_ACQUIRE);
}

LL_TEMPLATE const void *eng_native_wait_addr(const struct eng_thread *t)
{
    return __atomic_load_n(&t->wait_addr, __ATOMIC_RELAXED);
}

/* Out-of-line parts of the shim. */
void eng_native_poll(const void *addr, const struct eng_site *site);
void eng_native_yield(const struct eng_site *site);
/* The rest of an await whose condition did not hold at the first look; the value that met it. Cold,
 * so that the code in front of it keeps its registers where a call would lose them. */
/* Waits on after a first look that failed; always with acquire order; the value that held. */
struct eng_native_await { /* what is constant about one await of the source */
    struct eng_site site;
    unsigned width;
    enum eng_test test;
};
uint64_t eng_native_await_body(const void *addr, uint64_t want, uint64_t mask,
                               const struct eng_native_await *await) __attribute__((cold));
int eng_native_await_any(const struct eng_term *terms, unsigned n, const struct eng_giveup *giveup,
                         const struct eng_site *site);
enum eng_park_result eng_native_park(const struct eng_giveup *giveup, const struct eng_site *site);
/* One pause of that kind; `terms` (may be NULL) are what the caller waits for. */
void eng_native_pause_as(enum eng_relax_kind kind, const struct eng_term *terms, unsigned n);
void eng_native_unpark(struct eng_thread *t);
void eng_native_cancel(struct eng_thread *t);
bool eng_native_on_cpu(struct eng_thread *t);
void eng_native_bkl_acquire(void);
void eng_native_bkl_release(void);
uint32_t eng_native_bkl_drop(void);
void eng_native_bkl_retake(uint32_t depth);
void eng_native_lost_cpu(struct eng_thread *self);
void eng_native_spin_begin(void);
void eng_native_spin_stage(enum eng_spin stage);
void eng_native_spin_end(void);
void eng_native_irq_point(void);
void eng_native_probe_hit(struct eng_thread *self, const void *addr, unsigned width,
                          const struct eng_site *site);
unsigned eng_native_cpu(void);
/* Does the term hold now? For threads that are none of the engine's, too. */
bool eng_native_holds(struct eng_term term);
/* Sleeps in a park, and nobody has woken it yet. For any thread. */
LL_TEMPLATE bool eng_native_parked(const struct eng_thread *t)
{
    return __atomic_load_n(&t->permit, __ATOMIC_RELAXED) == 2;
}
void eng_native_delay(uint64_t ns);
void eng_native_sleep(uint64_t ns, const struct eng_site *site);

LL_TEMPLATE void eng_native_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

LL_TEMPLATE uint64_t eng_native_now(void)
{
    return eng_ticks_ns(eng_ticks() - eng_clock.base);
}

/* Somebody else's wish, or the end of the budget of this spin phase. */
LL_TEMPLATE bool eng_native_need_resched(void)
{
    const struct eng_thread *self = eng_native_self;

    return __atomic_load_n(&self->resched, __ATOMIC_RELAXED) ||
           (self->spin_until && eng_ticks() >= self->spin_until);
}

/* The test build's eng_sync_point: tells the thread's script, which may hold it there. */
LL_TEMPLATE void eng_native_sync_point(const char *name)
{
    if (eng_native_self->on_sync_point)
        eng_native_self->on_sync_point(eng_native_self, name);
}

/* xorshift64*: good enough to spread back-offs and choices, one line of state */
LL_TEMPLATE uint64_t eng_native_random(void)
{
    uint64_t x = eng_native_self->random_state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    eng_native_self->random_state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}
