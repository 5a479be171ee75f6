/* SPDX-License-Identifier: MIT */
/* virtual_ops.h - the shim on fibers: every operation is a call into virtual.h. Included by engine.h.
 */
#pragma once

#include "engine/virtual.h"

/* Sites are counted, and collected by the linker in a table of pointers: what was never executed is
 * found there. */
#define ENG_MEASURES 0 /* nothing is counted or timed */
#define ENG_SITE(expression)                                                                       \
    __extension__({                                                                                \
        static struct eng_site_use use_;                                                           \
        static const struct eng_site site_ = {__FILE__, __func__,      expression,                 \
                                              __LINE__, __BASE_FILE__, &use_};                     \
        static const struct eng_site *const listed_ __attribute__((section("ll_sites"), used)) =   \
            &site_;                                                                                \
        &site_;                                                                                    \
    })

#define ENG_CAST(w, bits) ((__typeof__((w)->raw))(uintptr_t)(bits))
#define ENG_VT(kind_, w, value_, expected_, order_, site_)                                         \
    vt_access(&(struct vt_access){.kind = (kind_),                                                 \
                                  .addr = &(w)->raw,                                               \
                                  .width = sizeof((w)->raw),                                       \
                                  .order = (order_),                                               \
                                  .value = (value_),                                               \
                                  .expected = (expected_),                                         \
                                  .site = (site_)})

#define ENG_LOAD(w, order) ENG_CAST(w, ENG_VT(VT_LOAD, w, 0, 0, order, ENG_SITE(#w)))
#define ENG_STORE(w, v, order) ((void)ENG_VT(VT_STORE, w, ENG_BITS(w, v), 0, order, ENG_SITE(#w)))
#define ENG_RMW(op, w, v, order)                                                                   \
    ENG_CAST(w, ENG_VT(VT_##op, w, ENG_BITS(w, v), 0, order, ENG_SITE(#w)))
#define ENG_CMPXCHG(w, e, v, order)                                                                \
    ENG_CAST(w, ENG_VT(VT_CAS, w, ENG_BITS(w, v), ENG_BITS(w, e), order, ENG_SITE(#w)))
#define ENG_CAS(w, e, v, order)                                                                    \
    __extension__({                                                                                \
        __typeof__((w)->raw) expected_ = (e);                                                      \
        ENG_CMPXCHG(w, expected_, v, order) == expected_;                                          \
    })

#define eng_fence_acq() vt_fence(__ATOMIC_ACQUIRE, ENG_SITE("fence"))
#define eng_fence_rel() vt_fence(__ATOMIC_RELEASE, ENG_SITE("fence"))
#define eng_fence_full() vt_fence(__ATOMIC_SEQ_CST, ENG_SITE("fence"))

#define eng_read(f) ENG_CAST(f, ENG_VT(VT_READ, f, 0, 0, __ATOMIC_RELAXED, ENG_SITE(#f)))
#define eng_write(f, v)                                                                            \
    ((void)ENG_VT(VT_WRITE, f, ENG_BITS(f, v), 0, __ATOMIC_RELAXED, ENG_SITE(#f)))

/* An await is the one-term form of await_any without a reason to give up; it yields the value that
 * held. */
#define ENG_AWAIT(w, test_, m, v, order)                                                           \
    __extension__({                                                                                \
        uint64_t seen_;                                                                            \
        vt_engine->await(&ENG_TERM(w, test_, m, v, (order) == __ATOMIC_ACQUIRE), 1, NULL, &seen_,  \
                         ENG_SITE(#w));                                                            \
        ENG_CAST(w, seen_);                                                                        \
    })
#define eng_await_any(terms, n, giveup)                                                            \
    vt_engine->await(terms, n, giveup, NULL, ENG_SITE("await_any"))

#define eng_relax() vt_engine->relax(1, ENG_SITE("relax"))
#define eng_relax_as(kind) ((void)(kind), eng_relax()) /* other means, the same meaning */
#define eng_pause_as(kind) ((void)(kind), vt_engine->delay(1, ENG_SITE("pause")))
#define eng_backoff(n, max) vt_backoff(n, max, ENG_SITE("backoff"))
#define eng_yield() vt_engine->yield(ENG_SITE("yield"))
#define eng_park(deadline) eng_park_for(&(struct eng_giveup){.deadline_ns = (deadline)})
#define eng_park_for(giveup) vt_park(giveup, ENG_SITE("park"))
#define eng_unpark(t) vt_engine->unpark(t, ENG_SITE("unpark"))
#define eng_bkl_acquire() vt_bkl_acquire()
#define eng_bkl_release() vt_bkl_release()
#define eng_bkl_depth() (vt_engine->bkl()->depth)
#define eng_bkl_drop() vt_bkl_drop()
#define eng_bkl_retake(depth) vt_bkl_retake(depth)
#define eng_self() vt_engine->self()
#define eng_on_cpu(t) vt_engine->on_cpu(t, ENG_SITE("on_cpu"))
#define eng_need_resched() vt_engine->need_resched(ENG_SITE("need_resched"))
#define eng_spin_begin() ((void)0) /* giving up is a choice here: no clock decides it */
#define eng_spin_queue() ((void)0)
#define eng_spin_head() ((void)0)
#define eng_spin_end() ((void)0)
#define eng_cancelled() vt_engine->cancelled(ENG_SITE("cancelled"))
#define eng_uncancel() ((void)0)        /* a cancelled wait is a choice, made anew each time */
#define eng_preempt_disable() ((void)0) /* fibers are not preempted between two operations */
#define eng_preempt_enable() ((void)0)
#define eng_irq_point() ((void)0) /* no source of interrupts yet */
#define eng_irq_disable() ((void)0)
#define eng_irq_enable() ((void)0)
#define eng_now() vt_engine->now()
#define eng_cpu() vt_engine->cpu()
#define eng_node() 0u
#define eng_random() vt_engine->random()
#define eng_delay(ns) vt_engine->delay(ns, ENG_SITE("delay"))
#define eng_sleep(ns) vt_sleep(ns, ENG_SITE("sleep")) /* anybody may come first, as there */
#define eng_heartbeat() ((void)0)                     /* a virtual scheduler knows who runs */
#define eng_count(ev) vt_engine->count(ev)
#define eng_doorway(op) (vt_engine->doorway(), (op))
#define eng_mark(mark_, shared_) vt_engine->mark(mark_, shared_, ENG_SITE(#mark_))
#define eng_mark_freed(base, size) vt_engine->freed(base, size)
#define eng_sync_point(name) ((void)0) /* scripts are for threads; here every order is explored */
