/* SPDX-License-Identifier: MIT */
/* mcs - mutex: look before an RMW, and spinners stand in a queue
 *
 * Idea     As count-check, with an MCS queue in front of the spin loop: only its head looks at
 *          `owner` and tries `count`; the others spin on their own nodes. A head that fails goes to
 *          the end of the queue. Who finds the owner off its CPU does not queue at all.
 * Lines    As count-check, but one spinner at a time touches `owner` and `count`. Each round costs
 *          one or two RMWs on the tail of the queue, and a hand-over of one line.
 * Order    FIFO among spinners within a round, else none. release: as 3.7; in the queue store-rel
 *          `locked`, pairs with the await-acq of it, CAS-rel of the tail with its exchange.
 * Origin   The second of the mutex patches of January to April 2013 on the Linux kernel mailing
 *          list, merged into Linux 3.10; from a description in prose.
 * Differs  As 3.7. The queue node is part of the thread's node and not on its stack. Nobody leaves
 *          the queue: not on need_resched, not for a deadline. `mcs_yield` is ours.
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(false),
    MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEHIND),
    MUTEX_PARAM_OWNER_FORM(MUTEX_QUIT),
    MUTEX_PARAM_PRELOAD(true),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NEG),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_MCS),
    MUTEX_PARAM_PRECHECK(true),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_mcs) = {
    .name = "mcs",
    .family = "mutex",
    .summary = "mutex: looks before an RMW, and only the first of a queue spins on the owner",
    .origin = "Linux 3.10, mutex",
    MUTEX_DESCRIPTION,
};
