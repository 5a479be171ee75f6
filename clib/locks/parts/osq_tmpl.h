/* SPDX-License-Identifier: MIT */
/* osq_tmpl.h - an MCS queue that a waiter can leave: of spin/osq, and of spinners in front of a mutex.
 *
 * Doubly linked. A waiter gives up when it should yield, or when the thread ahead of it has lost its
 * CPU and would only keep it waiting.
 */
#pragma once

#include "core/lock.h"

struct osq_node {
    eng_ptr(struct osq_node) next; /* taken by exchange or CAS alone, by one taker */
    eng_ptr(struct osq_node) prev; /* re-read: a predecessor that leaves puts its own here */
    eng_u32 locked;                /* 1: handed over */
    eng_plain(struct eng_thread *) thread; /* set once, before the node is first seen */
};

struct osq {
    eng_ptr(struct osq_node) tail; /* last in the queue; NULL: free */
};

/* The node behind `n`, unlinked from it; or NULL after the tail went from `n` to `old`. Both tests
 * are repeated, neither may be waited for alone: a successor can link itself, leave again and put
 * the tail back to `n`. */
static struct osq_node *osq_take_next(struct osq *l, struct osq_node *n, struct osq_node *old)
{
    struct osq_node *next;

    for (;;) {
        if (eng_load_rlx(&l->tail) == n && eng_cas_ar(&l->tail, n, old))
            return NULL;
        if (eng_load_rlx(&n->next)) {
            /* by exchange: a successor that leaves takes its own link back with a CAS */
            next = eng_xchg_ar(&n->next, NULL);
            if (next)
                return next;
        }
        eng_relax();
    }
}

/* Leaves the queue; true: too late, the lock has been handed over meanwhile. */
LL_TEMPLATE_SLOW bool osq_leave(struct osq *l, struct osq_node *n)
{
    struct osq_node *prev, *next;

    /* A: cut the link in front; prev is asked anew each turn, since it may leave as well */
    for (;;) {
        prev = eng_load_acq(&n->prev);
        if (eng_load_rlx(&prev->next) == n && eng_cas_ar(&prev->next, n, NULL)) /* remote */
            break;
        if (eng_load_acq(&n->locked)) /* pairs with release */
            return true;
        eng_relax();
    }
    /* B: take the successor, or give the tail back to prev */
    next = osq_take_next(l, n, prev);
    /* C: join the two, backward first: once linked forward, next may want to leave past prev */
    if (next) {
        eng_store_rel(&next->prev, prev); /* remote: next->prev */
        eng_store_rel(&prev->next, next); /* remote: prev->next */
    }
    eng_count(LL_EV_osq_abort);
    return false;
}

/* Behind `prev`. 0: at the head; else the reason to give up, from then on out of the queue. Of
 * `giveup` the owner is filled in. */
LL_TEMPLATE_SLOW int osq_wait(struct osq *l, struct osq_node *n, struct osq_node *prev,
                              struct eng_giveup giveup)
{
    int why;

    eng_store_rlx(&n->prev, prev);
    eng_store_rel(&prev->next,
                  n); /* remote: prev->next; after n->prev, for whoever links past us */
    do {
        const struct eng_term terms[] = {
            eng_term_eq_acq(&n->locked, 1), /* pairs with release */
            eng_term_ne_acq(&n->prev, prev),
        };

        giveup.owner = eng_read(&prev->thread);
        why = eng_await_any(terms, 2, &giveup);
        if (why == 1) /* prev has left: watch the new one */
            prev = eng_load_acq(&n->prev);
    } while (why == 1);
    return why == 0 || osq_leave(l, n) ? 0 : why;
}

/* The predecessor behind which the node now stands; NULL: the lock is ours. */
LL_TEMPLATE struct osq_node *osq_join(struct osq *l, struct osq_node *n)
{
    if (LL_UNLIKELY(!eng_read(&n->thread)))
        eng_write(&n->thread, eng_self());
    eng_store_rlx(&n->locked, 0);
    eng_store_rlx(&n->next, NULL);
    return eng_xchg_ar(&l->tail, n); /* rel: the node is complete; acq: pairs with release */
}

LL_TEMPLATE_SLOW void osq_hand_over(struct osq *l, struct osq_node *n)
{
    struct osq_node *next = eng_xchg_ar(&n->next, NULL);

    if (!next) {
        eng_count(LL_EV_link_wait);
        next = osq_take_next(l, n, NULL);
    }
    if (next)
        eng_store_rel(&next->locked, 1); /* remote: next->locked; pairs with the loads of it */
}

LL_TEMPLATE void osq_release(struct osq *l, struct osq_node *n)
{
    if (LL_UNLIKELY(!eng_cas_rel(&l->tail, n, NULL)))
        osq_hand_over(l, n);
}
