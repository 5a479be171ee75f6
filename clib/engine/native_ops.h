/* SPDX-License-Identifier: MIT */
/* native_ops.h - the shim on real threads: a few instructions each. Included by engine.h alone.
 *
 * Waiting loops count their pauses; every 1,024 pauses eng_native_poll() looks whether the run wants
 * this thread back (it then unwinds to its start with longjmp and the lock instance is thrown away)
 * and notes who waits where, for the watchdog.
 */
#pragma once

#include "engine/native_thread.h"

#define ENG_SITE(expression)                                                                       \
    __extension__({                                                                                \
        static const struct eng_site site_ = {                                                     \
            .file = __FILE__, .function = __func__, .expr = expression, .line = __LINE__};         \
        &site_;                                                                                    \
    })

#ifdef ENG_PROBED
/* Before each access to a shared word: once every N the hook may time the word's line. */
#define ENG_PROBE(w, site) eng_native_probe(&(w)->raw, sizeof((w)->raw), site)
#else
#define ENG_PROBE(w, site) ((void)0)
#endif
LL_TEMPLATE void eng_native_probe(const void *addr, unsigned width, const struct eng_site *site)
{
    struct eng_thread *self = eng_native_self;

    if (LL_UNLIKELY(self->probe_every && --self->probe_left == 0))
        eng_native_probe_hit(self, addr, width, site);
}

/* Does this build count and time? The run's worker asks, too. */
#ifdef ENG_BARE
#define ENG_MEASURES 0
#define eng_count(ev) ((void)0)
#else
#define ENG_MEASURES 1
#define eng_count(ev) ((void)eng_native_self->events[ev]++)
#endif

#define ENG_LOAD(w, order)                                                                         \
    __extension__({                                                                                \
        ENG_PROBE(w, ENG_SITE(#w));                                                                \
        __atomic_load_n(&(w)->raw, order);                                                         \
    })
#define ENG_STORE(w, v, order)                                                                     \
    do {                                                                                           \
        ENG_PROBE(w, ENG_SITE(#w));                                                                \
        __atomic_store_n(&(w)->raw, v, order);                                                     \
    } while (0)
#define ENG_RMW(op, w, v, order)                                                                   \
    __extension__({                                                                                \
        ENG_PROBE(w, ENG_SITE(#w));                                                                \
        ENG_NATIVE_##op(&(w)->raw, v, order);                                                      \
    })
#define ENG_NATIVE_xchg __atomic_exchange_n
#define ENG_NATIVE_add __atomic_fetch_add
#define ENG_NATIVE_sub __atomic_fetch_sub
#define ENG_NATIVE_or __atomic_fetch_or
#define ENG_NATIVE_and __atomic_fetch_and
#define ENG_CAS(w, e, v, order)                                                                    \
    __extension__({                                                                                \
        __typeof__((w)->raw) expected_ = (e);                                                      \
        ENG_PROBE(w, ENG_SITE(#w));                                                                \
        __atomic_compare_exchange_n(&(w)->raw, &expected_, v, false, order, __ATOMIC_RELAXED);     \
    })
#define ENG_CMPXCHG(w, e, v, order)                                                                \
    __extension__({                                                                                \
        __typeof__((w)->raw) expected_ = (e);                                                      \
        ENG_PROBE(w, ENG_SITE(#w));                                                                \
        __atomic_compare_exchange_n(&(w)->raw, &expected_, v, false, order, __ATOMIC_RELAXED);     \
        expected_;                                                                                 \
    })

#define eng_fence_acq() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define eng_fence_rel() __atomic_thread_fence(__ATOMIC_RELEASE)
#define eng_fence_full() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* volatile: each access of the source is one access of the machine; TSan still sees a plain one */
#define eng_read(f) (*(const volatile __typeof__((f)->raw) *)&(f)->raw)
#define eng_write(f, v) ((void)(*(volatile __typeof__((f)->raw) *)&(f)->raw = (v)))

#define ENG_NATIVE_HOLDS_ENG_EQ(x, m, v) ((x) == (v))
#define ENG_NATIVE_HOLDS_ENG_NE(x, m, v) ((x) != (v))
#define ENG_NATIVE_HOLDS_ENG_GE(x, m, v) ((x) >= (v))
#define ENG_NATIVE_HOLDS_ENG_MASK_EQ(x, m, v) (((x) & (m)) == (v))
#define ENG_NATIVE_HOLDS_ENG_MASK_NE(x, m, v) (((x) & (m)) != (v))
/* The first look is inline, the wait is not; and the call must not make the fast path save
 * registers around it, so on x86-64 it goes through a thunk that preserves all of them. */
#define ENG_AWAIT(w, test_, m, v, order)                                                           \
    __extension__({                                                                                \
        __typeof__((w)->raw) want_ = (v), seen_ = ENG_LOAD(w, order);                              \
        if (LL_UNLIKELY(!ENG_NATIVE_HOLDS_##test_(seen_, m, want_))) {                             \
            static const struct eng_native_await await_ = {                                        \
                .site = {__FILE__, __func__, #w, __LINE__},                                        \
                .width = sizeof((w)->raw),                                                         \
                .test = (test_)};                                                                  \
            eng_count(LL_EV_await_blocked);                                                        \
            seen_ = (__typeof__(seen_))(uintptr_t)eng_native_await(&(w)->raw, ENG_BITS(w, want_),  \
                                                                   m, &await_);                    \
        }                                                                                          \
        seen_;                                                                                     \
    })

LL_TEMPLATE uint64_t eng_native_await(const void *addr, uint64_t want, uint64_t mask,
                                      const struct eng_native_await *await)
{
#if defined(__x86_64__) && !defined(LL_SANITIZED)
    uint64_t seen;

    /* steps over the red zone, since the compiler does not know of the call */
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "call eng_native_await_thunk\n\t"
                     "lea 128(%%rsp), %%rsp"
                     : "=a"(seen)
                     : "D"(addr), "S"(want), "d"(mask), "c"(await)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
    return seen;
#else
    return eng_native_await_body(addr, want, mask, await);
#endif
}

#define eng_await_any(terms, n, giveup)                                                            \
    eng_native_await_any(terms, n, giveup, ENG_SITE("await_any"))

/* One pause of a waiting loop. */
LL_TEMPLATE void eng_native_turn(unsigned *turn, const void *addr, const struct eng_site *site)
{
    eng_native_pause();
    if (LL_UNLIKELY((++*turn & (ENG_POLL_TURNS - 1)) == 0))
        eng_native_poll(addr, site);
}

#define eng_relax() eng_native_relax(ENG_SITE("relax"))
#define eng_relax_as(kind) eng_native_relax_as(kind, ENG_SITE("relax"))
#define eng_pause_as(kind) eng_native_pause_as(kind, NULL, 0)
#define eng_backoff(n, max) eng_native_backoff(n, max, ENG_SITE("backoff"))

LL_TEMPLATE void eng_native_relax(const struct eng_site *site)
{
    eng_native_turn(&eng_native_self->relax_turns, NULL, site);
}

LL_TEMPLATE void eng_native_relax_as(enum eng_relax_kind kind, const struct eng_site *site)
{
    if (LL_UNLIKELY(kind != ENG_RELAX_PAUSE))
        eng_native_pause_as(kind, NULL, 0);
    else
        eng_native_pause();
    if (LL_UNLIKELY((++eng_native_self->relax_turns & (ENG_POLL_TURNS - 1)) == 0))
        eng_native_poll(NULL, site);
}

LL_TEMPLATE uint32_t eng_native_backoff(uint32_t n, uint32_t max, const struct eng_site *site)
{
    for (uint32_t i = 0; i < n; i++)
        eng_native_relax(site);
    eng_count(LL_EV_backoff);
    return n < max / 2 ? 2 * n : max;
}

#define eng_yield() eng_native_yield(ENG_SITE("yield"))
#define eng_park(deadline) eng_park_for(&(struct eng_giveup){.deadline_ns = (deadline)})
#define eng_park_for(giveup) eng_native_park(giveup, ENG_SITE("park"))
#define eng_unpark(t) eng_native_unpark(t)
#define eng_bkl_acquire() eng_native_bkl_acquire()
#define eng_bkl_release() eng_native_bkl_release()
#define eng_bkl_depth() (eng_native_self->bkl.depth)
#define eng_bkl_drop() eng_native_bkl_drop()
#define eng_bkl_retake(depth) eng_native_bkl_retake(depth)
#define eng_self() (eng_native_self)
#define eng_on_cpu(t) eng_native_on_cpu(t)
#define eng_need_resched() eng_native_need_resched()
#define eng_spin_begin() eng_native_spin_begin()
#define eng_spin_queue() eng_native_spin_stage(ENG_SPIN_QUEUED)
#define eng_spin_head() eng_native_spin_stage(ENG_SPIN_SPINS)
#define eng_spin_end() eng_native_spin_end()
#define eng_cancelled() (__atomic_load_n(&eng_native_self->cancel, __ATOMIC_RELAXED) != 0)
#define eng_uncancel() __atomic_store_n(&eng_native_self->cancel, 0, __ATOMIC_RELAXED)
#define eng_preempt_disable() ((void)0)
#define eng_preempt_enable() ((void)0)
#define eng_irq_point() eng_native_irq_point()
#define eng_irq_disable() ((void)eng_native_self->irq_off++)
#define eng_irq_enable() ((void)eng_native_self->irq_off--)
#define eng_now() eng_native_now()
#define eng_cpu() eng_native_cpu()
#define eng_node() (eng_native_self->node)
#define eng_random() eng_native_random()
#define eng_delay(ns) eng_native_delay(ns)
#define eng_sleep(ns) eng_native_sleep(ns, ENG_SITE("sleep"))
#define eng_heartbeat()                                                                            \
    __atomic_store_n(&eng_native_self->heartbeat, eng_native_now(), __ATOMIC_RELAXED)
#define eng_doorway(op) (op)
#define eng_mark(mark, shared) ((void)0)
#define eng_mark_freed(base, size) ((void)(base), (void)(size))
#ifdef ENG_TEST
#define eng_sync_point(name) eng_native_sync_point(name)
#else
#define eng_sync_point(name) ((void)0)
#endif
