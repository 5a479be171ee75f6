/* SPDX-License-Identifier: MIT */
/* engine.h - the shim: the words in which every lock, workload and client is written.
 *
 * One source, several engines. This header says once what each operation means; native.h makes it a
 * few instructions, virtual.h makes it a call into a fiber scheduler (simulator, checker). It holds
 * the only `#if` on the engine in the tree.
 *
 * WORDS. `eng_u8 eng_u16 eng_u32 eng_u64 eng_i32 eng_i64 eng_ptr(T)` are structs around one raw
 * value, so that a plain access to a shared word does not compile. Orders are in the name: _rlx
 * _acq _rel _ar (acquire and release), those of C11. No operation is sequentially consistent by
 * itself: where store-then-load must not pass, eng_fence_full() stands with a comment that says what it forbids.
 *
 *   eng_load_{rlx,acq}(w)                  value of *w
 *   eng_store_{rlx,rel}(w, v)              *w = v
 *   eng_xchg_{rlx,acq,rel,ar}(w, v)        old = *w; *w = v; old
 *   eng_cas_{rlx,acq,rel,ar}(w, e, v)      *w == e ? (*w = v, true) : false; a failure is relaxed
 *   eng_cmpxchg_{rlx,acq,rel,ar}(w, e, v)  the same, yields the value seen
 *   eng_add_ eng_sub_ eng_or_ eng_and_{rlx,acq,rel,ar}(w, v)   old = *w; *w = old OP v; old
 *   eng_half(w, i)  eng_byte(w, i)         view of an eng_u32: eng_u16 * (i 0..1), eng_u8 * (0..3),
 *                                          low half / byte first; views and the word may be mixed
 *   eng_fence_{acq,rel,full}()
 *
 * PLAIN FIELDS. `eng_plain(T)` is a non-atomic field that a lock or an invariant protects:
 *   eng_read(f)  eng_write(f, v)           seen by the simulator, judged by the race detector
 *   eng_init(f, v)                         first value of a word or plain field before anybody else
 *                                          can see it, in init and node_init hooks: no engine seen
 * Parameters that are read-only during a run are ordinary members and need no shim.
 *
 * AWAITS. A wait loop is one operation; there are no hand-written ones. Semantics of all: "load the
 * terms in order; if one holds, return; relax; again". No term may read a word that the waiter
 * itself writes while it waits.
 *   eng_await_{eq,ne,ge}_{rlx,acq}(w, v)         until *w ==, !=, >= v (unsigned); yields *w
 *   eng_await_mask_{eq,ne}_{rlx,acq}(w, m, v)    until (*w & m) ==, != v; yields *w
 *   eng_await_any(terms, n, &giveup)             1..4 terms built by eng_term_*; ends when any
 *                                                holds: its index; or the reason to give up < 0
 *   eng_term_{eq,ne,ge}_{rlx,acq}(w, v)  eng_term_mask_{eq,ne}_{rlx,acq}(w, m, v)
 *   struct eng_giveup: all zero = never; checked at the end of each round in the order deadline,
 *   budget, need_resched, owner, cancel. Its `relax` is how to relax between two rounds.
 *
 * RETRY LOOPS. *Waiting* (the same RMW can only succeed after another thread's write): each turn
 * without success ends in a relax. *Updating* (a CAS whose expected value is the last read): no relax.
 *   eng_relax()                            one pause
 *   eng_relax_as(kind)                     the same by another means (enum eng_relax_kind)
 *   eng_backoff(n, max)                    n pauses; yields the next n: doubled, at most max
 *   eng_yield()                            gives the CPU away, clears need_resched
 * A loop of so many turns, which goes on whether or not anything has changed, waits for nothing:
 *   eng_pause_as(kind)                     a pause between two of its turns
 * ENG_RELAX_UMWAIT needs a CPU with WAITPKG; on others it pauses, and says so (event umwait_paused).
 * ENG_RELAX_YIELD gives the CPU away as a hypervisor would: need_resched is as before.
 *
 * SPIN PHASE. The part of an acquisition in which a thread spins instead of going to sleep, all rounds
 * of it. Told to the resched policy and to those who count why threads lost their CPUs; nothing in
 * the virtual build, where giving up is a choice. Each begin has its end, on every way out.
 *   eng_spin_begin()                       the spin phase begins, and with it the budget of
 *                                          resched=budget; eng_yield() starts the budget afresh
 *   eng_spin_queue()                       from here on the thread stands in a queue, where losing its
 *                                          CPU holds up those behind it ...
 *   eng_spin_head()                        ... until here: it is at the head, or has left the queue
 *   eng_spin_end()                         acquired, or on the way to sleep
 *
 * SLEEPING. One sticky permit per thread.
 *   eng_park(deadline_ns)                  0 = no deadline. Returns at once and takes the permit if
 *                                          there is one, else sleeps: ENG_WOKEN, ENG_TIMED_OUT;
 *                                          may be spurious: callers loop on their own condition.
 *                                          Drops the big lock meanwhile
 *   eng_park_for(&giveup)                  the same with the deadline and the `cancel` of a struct
 *                                          eng_giveup; also ENG_CANCELLED. Act on that answer: asked
 *                                          again, eng_now() and eng_cancelled() may say something else
 *   eng_unpark(t)                          gives the permit (always an exchange), wakes
 *
 * BIG LOCK. One for all threads of a run, recursive; not for use inside locks, but for the depth.
 *   eng_bkl_acquire() eng_bkl_release()
 *   eng_bkl_depth()                        how often this thread holds it, 0: not
 *   eng_bkl_drop()  eng_bkl_retake(depth)  for what sleeps: gives it up whatever its depth, which it
 *                                          yields; takes it back so often (0: not at all)
 *
 * ENVIRONMENT.
 *   eng_self()                             this thread, struct eng_thread * (opaque to locks)
 *   eng_on_cpu(t)                          is t running? by the run's owner_run policy
 *   eng_need_resched()                     should this thread stop spinning? by the run's resched
 *                                          policy; cleared by eng_yield() and eng_park()
 *   eng_cancelled()                        has somebody cancelled this thread's wait?
 *   eng_uncancel()                         whoever called for that wait has taken note
 *   eng_preempt_disable/enable()           native: nothing can be disabled, nothing is pretended
 *   eng_irq_point() eng_irq_disable/enable()   an emulated interrupt may run inline at a point
 *   eng_now()  ns, monotonic               eng_cpu()  eng_node()  eng_random()  64 random bits
 *   eng_delay(ns)                          private work of that length
 *   eng_sleep(ns)                          so long off the CPU, without the big lock; permits stay as
 *                                          they are
 *
 * MARKS.
 *   eng_count(EV)                          one event of metrics/events.def (nothing in the bare build)
 *   eng_heartbeat()                        "I run": for the heartbeat policy
 *   eng_doorway(op)                        op is the step whose order LL_FIFO promises
 *   eng_mark(where, shared)                in clients: where this thread stands (enum eng_mark)
 *   eng_mark_freed(base, size)             in clients: nobody may touch this memory any more
 *   eng_sync_point("name")                 place at which a script can hold a thread
 *
 * Every operation carries its site (struct eng_site: file, line, function, expression), which costs
 * nothing natively unless the operation turns out to wait.
 */
#pragma once

#include "engine/words.h"

#define ENG_TERM(w, t, m, v, acq)                                                                  \
    ((struct eng_term){.addr = &(w)->raw,                                                          \
                       .operand = ENG_BITS(w, v),                                                  \
                       .mask = (m),                                                                \
                       .width = sizeof((w)->raw),                                                  \
                       .test = (t),                                                                \
                       .acquire = (acq)})
/* The value as zero-extended bits of the word's own type. */
#define ENG_BITS(w, v)                                                                             \
    (((uint64_t)(uintptr_t)(__typeof__((w)->raw))(v)) &                                            \
     (sizeof((w)->raw) == 8 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * (sizeof((w)->raw) & 7))) - 1))
#define eng_term_eq_rlx(w, v) ENG_TERM(w, ENG_EQ, 0, v, false)
#define eng_term_eq_acq(w, v) ENG_TERM(w, ENG_EQ, 0, v, true)
#define eng_term_ne_rlx(w, v) ENG_TERM(w, ENG_NE, 0, v, false)
#define eng_term_ne_acq(w, v) ENG_TERM(w, ENG_NE, 0, v, true)
#define eng_term_ge_rlx(w, v) ENG_TERM(w, ENG_GE, 0, v, false)
#define eng_term_ge_acq(w, v) ENG_TERM(w, ENG_GE, 0, v, true)
#define eng_term_mask_eq_rlx(w, m, v) ENG_TERM(w, ENG_MASK_EQ, m, v, false)
#define eng_term_mask_eq_acq(w, m, v) ENG_TERM(w, ENG_MASK_EQ, m, v, true)
#define eng_term_mask_ne_rlx(w, m, v) ENG_TERM(w, ENG_MASK_NE, m, v, false)
#define eng_term_mask_ne_acq(w, m, v) ENG_TERM(w, ENG_MASK_NE, m, v, true)

#define eng_init(f, v) ((void)((f)->raw = (v)))

#ifdef ENG_VIRTUAL
#include "engine/virtual_ops.h"
#else
#include "engine/native_ops.h"
#endif

#define eng_load_rlx(w) ENG_LOAD(w, __ATOMIC_RELAXED)
#define eng_load_acq(w) ENG_LOAD(w, __ATOMIC_ACQUIRE)
#define eng_store_rlx(w, v) ENG_STORE(w, v, __ATOMIC_RELAXED)
#define eng_store_rel(w, v) ENG_STORE(w, v, __ATOMIC_RELEASE)
#define eng_xchg_rlx(w, v) ENG_RMW(xchg, w, v, __ATOMIC_RELAXED)
#define eng_xchg_acq(w, v) ENG_RMW(xchg, w, v, __ATOMIC_ACQUIRE)
#define eng_xchg_rel(w, v) ENG_RMW(xchg, w, v, __ATOMIC_RELEASE)
#define eng_xchg_ar(w, v) ENG_RMW(xchg, w, v, __ATOMIC_ACQ_REL)
#define eng_add_rlx(w, v) ENG_RMW(add, w, v, __ATOMIC_RELAXED)
#define eng_add_acq(w, v) ENG_RMW(add, w, v, __ATOMIC_ACQUIRE)
#define eng_add_rel(w, v) ENG_RMW(add, w, v, __ATOMIC_RELEASE)
#define eng_add_ar(w, v) ENG_RMW(add, w, v, __ATOMIC_ACQ_REL)
#define eng_sub_rlx(w, v) ENG_RMW(sub, w, v, __ATOMIC_RELAXED)
#define eng_sub_acq(w, v) ENG_RMW(sub, w, v, __ATOMIC_ACQUIRE)
#define eng_sub_rel(w, v) ENG_RMW(sub, w, v, __ATOMIC_RELEASE)
#define eng_sub_ar(w, v) ENG_RMW(sub, w, v, __ATOMIC_ACQ_REL)
#define eng_or_rlx(w, v) ENG_RMW(or, w, v, __ATOMIC_RELAXED)
#define eng_or_acq(w, v) ENG_RMW(or, w, v, __ATOMIC_ACQUIRE)
#define eng_or_rel(w, v) ENG_RMW(or, w, v, __ATOMIC_RELEASE)
#define eng_or_ar(w, v) ENG_RMW(or, w, v, __ATOMIC_ACQ_REL)
#define eng_and_rlx(w, v) ENG_RMW(and, w, v, __ATOMIC_RELAXED)
#define eng_and_acq(w, v) ENG_RMW(and, w, v, __ATOMIC_ACQUIRE)
#define eng_and_rel(w, v) ENG_RMW(and, w, v, __ATOMIC_RELEASE)
#define eng_and_ar(w, v) ENG_RMW(and, w, v, __ATOMIC_ACQ_REL)
#define eng_cas_rlx(w, e, v) ENG_CAS(w, e, v, __ATOMIC_RELAXED)
#define eng_cas_acq(w, e, v) ENG_CAS(w, e, v, __ATOMIC_ACQUIRE)
#define eng_cas_rel(w, e, v) ENG_CAS(w, e, v, __ATOMIC_RELEASE)
#define eng_cas_ar(w, e, v) ENG_CAS(w, e, v, __ATOMIC_ACQ_REL)
#define eng_cmpxchg_rlx(w, e, v) ENG_CMPXCHG(w, e, v, __ATOMIC_RELAXED)
#define eng_cmpxchg_acq(w, e, v) ENG_CMPXCHG(w, e, v, __ATOMIC_ACQUIRE)
#define eng_cmpxchg_rel(w, e, v) ENG_CMPXCHG(w, e, v, __ATOMIC_RELEASE)
#define eng_cmpxchg_ar(w, e, v) ENG_CMPXCHG(w, e, v, __ATOMIC_ACQ_REL)

#define eng_await_eq_rlx(w, v) ENG_AWAIT(w, ENG_EQ, 0, v, __ATOMIC_RELAXED)
#define eng_await_eq_acq(w, v) ENG_AWAIT(w, ENG_EQ, 0, v, __ATOMIC_ACQUIRE)
#define eng_await_ne_rlx(w, v) ENG_AWAIT(w, ENG_NE, 0, v, __ATOMIC_RELAXED)
#define eng_await_ne_acq(w, v) ENG_AWAIT(w, ENG_NE, 0, v, __ATOMIC_ACQUIRE)
#define eng_await_ge_rlx(w, v) ENG_AWAIT(w, ENG_GE, 0, v, __ATOMIC_RELAXED)
#define eng_await_ge_acq(w, v) ENG_AWAIT(w, ENG_GE, 0, v, __ATOMIC_ACQUIRE)
#define eng_await_mask_eq_rlx(w, m, v) ENG_AWAIT(w, ENG_MASK_EQ, m, v, __ATOMIC_RELAXED)
#define eng_await_mask_eq_acq(w, m, v) ENG_AWAIT(w, ENG_MASK_EQ, m, v, __ATOMIC_ACQUIRE)
#define eng_await_mask_ne_rlx(w, m, v) ENG_AWAIT(w, ENG_MASK_NE, m, v, __ATOMIC_RELAXED)
#define eng_await_mask_ne_acq(w, m, v) ENG_AWAIT(w, ENG_MASK_NE, m, v, __ATOMIC_ACQUIRE)
