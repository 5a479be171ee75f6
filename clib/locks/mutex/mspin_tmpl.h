/* SPDX-License-Identifier: MIT */
/* mspin_tmpl.h - the MCS queue in front of a spin loop: only its head looks at the lock.
 *
 * FIFO, and nobody can leave it: not for a deadline, not when it should yield, not when the thread
 * ahead has lost its CPU. A thread stands in it once a round.
 */
#pragma once

#include "core/lock.h"

struct mspin_node {
    eng_ptr(struct mspin_node) next; /* successor; written by it, once a round */
    eng_u32 locked;                  /* 1: at the head */
};

struct mspin {
    eng_ptr(struct mspin_node) tail; /* last in the queue; NULL: nobody spins */
};

/* Until `n` is at the head. After `yield_after` relaxes (0: never) a waiter gives its CPU away. */
LL_TEMPLATE void mspin_enter(struct mspin *q, struct mspin_node *n, enum eng_relax_kind relax,
                             uint32_t yield_after)
{
    const struct eng_term called = eng_term_eq_acq(&n->locked, 1); /* pairs with mspin_leave */
    const struct eng_giveup giveup = {.budget = yield_after, .relax = relax};
    struct mspin_node *prev;

    /* both before the exchange: from there on a successor may link itself, and once we are linked
     * the head may come to us */
    eng_store_rlx(&n->next, NULL);
    eng_store_rlx(&n->locked, 0);
    /* rel: whoever finds us there finds the node ready; acq: pairs with the CAS in mspin_leave */
    prev = eng_xchg_ar(&q->tail, n);
    if (!prev)
        return;
    eng_count(LL_EV_spin_queued);
    eng_spin_queue();
    eng_sync_point("mcs.before_link");
    eng_store_rel(&prev->next, n); /* remote: prev->next; pairs with the loads in mspin_leave */
    eng_sync_point("mcs.linked");
    while (eng_await_any(&called, 1, &giveup) < 0) {
        eng_count(LL_EV_mcs_yield);
        eng_yield();
    }
    eng_spin_head();
}

LL_TEMPLATE void mspin_leave(struct mspin *q, struct mspin_node *n)
{
    struct mspin_node *next = eng_load_acq(&n->next); /* pairs with the link in mspin_enter */

    if (!next) {
        if (eng_cas_rel(&q->tail, n, NULL))
            return; /* pairs with the next exchange */
        /* a successor has swapped itself in and is about to link itself */
        eng_count(LL_EV_link_wait);
        eng_sync_point("mcs.halflink");
        next = eng_await_ne_acq(&n->next, NULL);
    }
    eng_store_rel(&next->locked, 1); /* remote: next->locked; pairs with the await there */
}
