/* SPDX-License-Identifier: MIT */
/* virtual_ops.h - the shim on fibers: every operation is a call into virtual.h. Included by engine.h.
 */
#pragma once

#include "engine/virtual.h"

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
        vt_await(&ENG_TERM(w, test_, m, v, (order) == __ATOMIC_ACQUIRE), 1, NULL, &seen_,          \
                 ENG_SITE(#w));                                                                    \
        ENG_CAST(w, seen_);                                                                        \
    })
#define eng_await_any(terms, n, giveup) vt_await(terms, n, giveup, NULL, ENG_SITE("await_any"))

#define eng_relax() vt_relax(1, ENG_SITE("relax"))
#define eng_backoff(n, max) vt_backoff(n, max, ENG_SITE("backoff"))
#define eng_yield() vt_yield(ENG_SITE("yield"))
#define eng_park(deadline_ns) vt_park(deadline_ns, ENG_SITE("park"))
#define eng_unpark(t) vt_unpark(t, ENG_SITE("unpark"))
#define eng_self() vt_self()
#define eng_on_cpu(t) vt_on_cpu(t)
#define eng_need_resched() vt_need_resched()
#define eng_cancelled() vt_cancelled()
#define eng_preempt_disable() vt_preempt(1)
#define eng_preempt_enable() vt_preempt(-1)
#define eng_irq_point() vt_irq_point()
#define eng_irq_disable() vt_irq(1)
#define eng_irq_enable() vt_irq(-1)
#define eng_now() vt_now()
#define eng_cpu() vt_cpu()
#define eng_node() 0u
#define eng_random() vt_random()
#define eng_delay(ns) vt_delay(ns)
#define eng_heartbeat() ((void)0) /* a virtual scheduler knows who runs */
#define eng_count(ev) vt_count(ev)
#define eng_doorway(op) (vt_doorway(), (op))
#define eng_mark_entered() vt_entered()
#define eng_sync_point(name) vt_sync_point(name)
