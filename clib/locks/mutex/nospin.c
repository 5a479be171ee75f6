/* SPDX-License-Identifier: MIT */
/* nospin - mutex: a counter and a FIFO list, whoever does not get it at once sleeps
 *
 * Idea     One counter says whether the lock is held and whether anybody may sleep (mutex_tmpl.h).
 *          Who does not get it queues, announces that by writing -1, and sleeps. A release that
 *          finds the count negative frees the lock first and then wakes the first in the list, who
 *          competes with whoever comes along.
 * Lines    Uncontended 1 RMW to acquire, 1 to release, on `count`. A contended acquire makes 3 there
 *          before it sleeps, in quick succession, and one for each time that it is woken.
 * Order    FIFO for waking, none for acquiring: newcomers overtake. release: add-rel on `count`, or
 *          store-rel of 1 under wait_lock; pairs with sub-acq, xchg-acq and cas-acq there.
 * Origin   The kernel's mutex before Linux 2.6.30 (2009), from a description in prose.
 * Differs  Records live in the threads' nodes, not on stacks. The woken thread parks on a permit.
 *          wait_lock's waiters yield after `waitlock_spin` pauses. There is no owner.
 */
#include "locks/mutex/hooks_tmpl.h"

static int contend(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    eng_count(LL_EV_fast_failed);
    return mutex_sleep(l, n, w, policy);
}

static const struct mutex_policy policy = {.contend = contend};

static const struct ll_field node_fields[] = {MUTEX_NODE_FIELDS, LL_FIELD_END};

static const struct ll_param params[] = {
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_nospin) = {
    .name = "nospin",
    .family = "mutex",
    .summary = "mutex: counter and FIFO list, who does not get it at once sleeps",
    .origin = "Linux kernel before 2.6.30, mutex",
    MUTEX_DESCRIPTION,
};
