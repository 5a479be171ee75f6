/* SPDX-License-Identifier: MIT */
/* spin_tmpl.h - body shared by tas, ttas and ttas-backoff; see those files for ideas and origins.
 *
 * All three are one word that an exchange takes; they differ in how a thread waits between two
 * exchanges, and that is the policy. Each file passes a constant, so that it folds away.
 */
#pragma once

#include "core/lock.h"

struct spin {
    eng_u32 word; /* 0 free, 1 held */
};

struct spin_delay { /* parameters of the back-off, in pauses; read-only during a run */
    uint32_t min, max;
};

struct spin_policy {
    bool read_first; /* poll with loads and exchange only a word that was seen free */
    bool backoff;    /* wait longer after each exchange that failed */
};

/* The first turn of acquire; false: go on in spin_wait. */
LL_TEMPLATE bool spin_acquire(struct spin *l, struct spin_policy policy)
{
    if (policy.read_first)
        eng_await_eq_rlx(&l->word, 0);
    return LL_LIKELY(eng_xchg_acq(&l->word, 1) == 0); /* pairs with spin_release */
}

/* All further turns; `delay` is read under policy.backoff only. */
LL_TEMPLATE void spin_wait(struct spin *l, struct spin_policy policy,
                           const struct spin_delay *delay)
{
    uint32_t pauses = policy.backoff ? delay->min : 0;

    do {
        eng_count(LL_EV_rmw_failed);
        if (policy.backoff)
            pauses = eng_backoff(pauses, delay->max);
        else
            eng_relax();
    } while (!spin_acquire(l, policy));
}

/* One exchange; a lock that reads first does not write to a line it cannot win. */
LL_TEMPLATE bool spin_try_acquire(struct spin *l, struct spin_policy policy)
{
    /* pairs with spin_release */
    if (!(policy.read_first && eng_load_rlx(&l->word)) && eng_xchg_acq(&l->word, 1) == 0)
        return true;
    eng_count(LL_EV_try_failed);
    return false;
}

LL_TEMPLATE void spin_release(struct spin *l)
{
    eng_store_rel(&l->word, 0); /* pairs with the exchanges above */
}
