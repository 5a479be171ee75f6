/* SPDX-License-Identifier: MIT */
/* spin_tmpl.h - spinning for as long as the owner of a mutex runs, instead of going to sleep.
 *
 * In rounds. The blocks of one, in this order, each of which a parameter can leave out or change:
 *
 *   bkl_guard    leave if this thread holds the big lock: the owner may spin for that one, and a
 *                sleeper would drop it
 *   gate         leave if somebody sleeps on the lock
 *   queue        wait in the queue of spinners: mcs until the end of the round, osq of all rounds
 *   own          if there is an owner, spin until it is another or gone; leave if it does not run, or
 *                the spinner should yield (need_resched)
 *   null guard   before or behind the next: leave if there was no owner and the spinner should yield
 *   cas          count 1 -> 0: acquired
 *   relax
 *
 * Where owner_form is `continue` a spinner stays when the lock goes to another thread. Where it is
 * `quit` it leaves then: so many want the lock that sleeping is no loss.
 *
 * The null guard: between its RMW and saying so, or between taking its name off and releasing, a
 * holder is not to be seen. If it loses its CPU there, a spinner does not notice; one that outranks
 * it (rt) would keep it from ever going on.
 */
#pragma once

#include "locks/mutex/mutex_tmpl.h"

enum mutex_guard { MUTEX_NO_GUARD, MUTEX_GUARD_BEFORE, MUTEX_GUARD_BEHIND };
enum mutex_form { MUTEX_CONTINUE, MUTEX_QUIT };
enum mutex_queueing { MUTEX_QUEUE_NONE, MUTEX_QUEUE_MCS, MUTEX_QUEUE_OSQ };

enum mutex_round { MUTEX_GOT, MUTEX_LEAVES, MUTEX_GOES_ON, MUTEX_SAW_NOBODY };

/* Why the spinning ended; counted. */
LL_TEMPLATE void mutex_stopped(struct mutex_wait *w, int why)
{
    switch (why) {
    case ENG_GAVE_UP_DEADLINE: w->given_up = -ETIMEDOUT; break;
    case ENG_GAVE_UP_CANCEL: w->given_up = -EINTR; break;
    case ENG_GAVE_UP_RESCHED: eng_count(LL_EV_spin_leave_resched); break;
    case ENG_GAVE_UP_OWNER: eng_count(LL_EV_spin_leave_owner_off); break;
    default: break;
    }
}

/* False: leave. */
LL_TEMPLATE bool mutex_spin_on_owner(struct mutex *l, struct eng_thread *owner,
                                     struct mutex_wait *w, const struct eng_term *stop)
{
    const struct eng_term terms[] = {eng_term_ne_rlx(l->owner, owner),
                                     stop ? *stop : (struct eng_term){0}};
    const struct eng_giveup giveup = {.deadline_ns = w->deadline_ns,
                                      .resched = true,
                                      .owner = owner,
                                      .cancel = w->interruptible,
                                      .relax = (enum eng_relax_kind)l->relax};
    int why = eng_await_any(terms, stop ? 2 : 1, &giveup);

    if (why > 0) {
        eng_count(LL_EV_spin_leave_ww);
        return false;
    }
    if (l->owner_form == MUTEX_CONTINUE && why == 0)
        return true;
    if (l->owner_form == MUTEX_QUIT) {
        struct eng_thread *now = eng_load_rlx(l->owner);
        if (!now)
            return true; /* free, or about to be; or taken, and not said so yet */
        if (now != owner) {
            eng_count(LL_EV_spin_leave_owner_switch);
            return false;
        }
    }
    mutex_stopped(w, why);
    return false;
}

/* A round has seen no owner: is it better to leave? */
LL_TEMPLATE bool mutex_guarded(const struct mutex *l)
{
    if (!l->rt && !eng_need_resched())
        return false;
    eng_count(LL_EV_spin_leave_null_guard);
    return true;
}

/* own, cas, and a null guard between them. */
LL_TEMPLATE enum mutex_round mutex_look(struct mutex *l, struct mutex_node *n, struct mutex_wait *w,
                                        const struct eng_term *stop, struct mutex_policy p)
{
    struct eng_thread *owner = eng_load_rlx(l->owner);

    if (owner && !mutex_spin_on_owner(l, owner, w, stop))
        return MUTEX_LEAVES;
    if (!owner && l->null_guard == MUTEX_GUARD_BEFORE && mutex_guarded(l))
        return MUTEX_LEAVES;
    if (!mutex_grab(l))
        return owner ? MUTEX_GOES_ON : MUTEX_SAW_NOBODY;
    if (p.publish)
        p.publish(l, n, w);
    mutex_set_owner(l, p); /* before the queue is left, so that the next head sees it */
    return MUTEX_GOT;
}

LL_TEMPLATE enum mutex_round mutex_round(struct mutex *l, struct mutex_node *n,
                                         struct mutex_wait *w, struct mutex_policy p)
{
    struct eng_term stop;
    enum mutex_round r;
    int stops = p.stop ? p.stop(l, w, &stop) : 0;

    if (stops < 0) {
        eng_count(LL_EV_spin_leave_ww);
        return MUTEX_LEAVES;
    }
    if (l->bkl_guard && eng_bkl_depth()) {
        eng_count(LL_EV_spin_leave_bkl);
        return MUTEX_LEAVES;
    }
    if (l->gate && eng_load_rlx(&l->list->first)) {
        eng_count(LL_EV_spin_leave_gate);
        return MUTEX_LEAVES;
    }
    if (l->queueing == MUTEX_QUEUE_MCS)
        mspin_enter(&l->queue->mcs, &n->mcs, (enum eng_relax_kind)l->relax, l->mcs_yield);
    r = mutex_look(l, n, w, stops ? &stop : NULL, p);
    if (l->queueing == MUTEX_QUEUE_MCS)
        mspin_leave(&l->queue->mcs, &n->mcs);
    if (r == MUTEX_SAW_NOBODY && l->null_guard == MUTEX_GUARD_BEHIND && mutex_guarded(l))
        return MUTEX_LEAVES;
    return r;
}

/* 0: at the head; else the reason to leave, from then on out of the queue. */
LL_TEMPLATE int mutex_queue_up(struct mutex *l, struct mutex_node *n, const struct mutex_wait *w)
{
    struct osq_node *prev = osq_join(&l->queue->osq, &n->osq);
    int why;

    if (!prev)
        return 0;
    eng_count(LL_EV_spin_queued);
    eng_spin_queue();
    why = osq_wait(&l->queue->osq, &n->osq, prev,
                   (struct eng_giveup){.deadline_ns = w->deadline_ns,
                                       .resched = true,
                                       .cancel = w->interruptible,
                                       .relax = (enum eng_relax_kind)l->relax});
    eng_spin_head();
    return why;
}

/* Round after round. */
LL_TEMPLATE bool mutex_spin_rounds(struct mutex *l, struct mutex_node *n, struct mutex_wait *w,
                                   struct mutex_policy p)
{
    enum mutex_round r;

    while ((r = mutex_round(l, n, w, p)) >= MUTEX_GOES_ON)
        eng_relax_as((enum eng_relax_kind)l->relax);
    return r == MUTEX_GOT;
}

/* After a mutex_enter that failed. True: acquired; else there is mutex_sleep. */
LL_TEMPLATE bool mutex_spin(struct mutex *l, struct mutex_node *n, struct mutex_wait *w,
                            struct mutex_policy p)
{
    struct eng_thread *owner = l->precheck ? eng_load_rlx(l->owner) : NULL;
    bool got = false;
    int why;

    eng_count(LL_EV_spin_enter);
    eng_spin_begin();
    if (owner && !eng_on_cpu(owner)) { /* not worth joining the queue */
        mutex_stopped(w, ENG_GAVE_UP_OWNER);
    } else if (l->queueing != MUTEX_QUEUE_OSQ) {
        got = mutex_spin_rounds(l, n, w, p);
    } else if ((why = mutex_queue_up(l, n, w))) {
        mutex_stopped(w, why);
    } else {
        got = mutex_spin_rounds(l, n, w, p);
        osq_release(&l->queue->osq, &n->osq);
    }
    eng_spin_end();
    if (got)
        eng_count(LL_EV_spin_win);
    return got;
}

/* 0: acquired; else why not. */
LL_TEMPLATE int mutex_spin_then_sleep(struct mutex *l, struct mutex_node *n, struct mutex_wait *w,
                                      struct mutex_policy p)
{
    eng_count(LL_EV_fast_failed);
    return mutex_spin(l, n, w, p) ? 0 : mutex_sleep(l, n, w, p);
}

/* ---- parameters ---- */

static const char *const mutex_guard_names[]
    __attribute__((unused)) = {"off", "before", "behind", NULL};
static const char *const mutex_form_names[] __attribute__((unused)) = {"continue", "quit", NULL};
static const char *const mutex_queueing_names[]
    __attribute__((unused)) = {"none", "mcs", "osq", NULL};

#define MUTEX_PARAM_GATE(def)                                                                      \
    MUTEX_BOOL("gate", gate, def, "nobody spins while somebody sleeps on the lock")
#define MUTEX_PARAM_NULL_GUARD(def)                                                                \
    MUTEX_ENUM("null_guard", null_guard, mutex_guard_names, 2, def,                                \
               "who sees no owner and should yield stops spinning, before or behind the CAS")
#define MUTEX_PARAM_OWNER_FORM(def)                                                                \
    MUTEX_ENUM("owner_form", owner_form, mutex_form_names, 1, def,                                 \
               "a spinner goes on, or quits, when the lock goes to another owner")
#define MUTEX_PARAM_PRELOAD(def)                                                                   \
    MUTEX_BOOL("preload", preload, def, "a spinner's CAS only if a load says that it can succeed")
#define MUTEX_PARAM_QUEUE(def)                                                                     \
    MUTEX_ENUM("queue", queueing, mutex_queueing_names, 2, def,                                    \
               "spinners queue, and only the first looks at the lock")
#define MUTEX_PARAM_PRECHECK(def)                                                                  \
    MUTEX_BOOL("precheck", precheck, def, "nobody begins to spin on an owner that does not run")
#define MUTEX_SPIN_PARAMS                                                                          \
    MUTEX_PARAM_RELAX,                                                                             \
        MUTEX_BOOL("bkl_guard", bkl_guard, 0, "nobody spins who holds the big lock"),              \
        MUTEX_BOOL("rt", rt, 0,                                                                    \
                   "every thread counts as one that outranks the holder (null_guard)"),            \
    {                                                                                              \
        .name = "mcs_yield", .unit = "relaxes",                                                    \
        .help = "a spinner in the MCS queue yields its CPU after so many; 0: never",               \
        .type = LL_PARAM_UINT, .offset = offsetof(struct mutex, mcs_yield), .max = 1000000         \
    }

#define MUTEX_SPIN_NODE_FIELDS                                                                     \
    {"mcs_next", offsetof(struct mutex_node, mcs.next), sizeof(void *)},                           \
        {"mcs_locked", offsetof(struct mutex_node, mcs.locked), sizeof(uint32_t)},                 \
        {"osq_next", offsetof(struct mutex_node, osq.next), sizeof(void *)},                       \
        {"osq_prev", offsetof(struct mutex_node, osq.prev), sizeof(void *)},                       \
        {"osq_locked", offsetof(struct mutex_node, osq.locked), sizeof(uint32_t)},                 \
    {                                                                                              \
        "osq_thread", offsetof(struct mutex_node, osq.thread), sizeof(void *)                      \
    }
