/* SPDX-License-Identifier: MIT */
/* 3.7 - mutex: spins while the owner runs, until the lock changes hands
 *
 * Idea     As v10-nowait, but a spinner leaves when the lock goes from one owner to another: then so
 *          many want it that spinning pays nobody.
 * Lines    Uncontended 1 RMW to acquire, 1 to release, on `count`, and a store to `owner` each. All
 *          spinners read `owner`, and exchange on `count` whenever it falls to NULL. A contended
 *          acquire that sleeps makes 3 RMWs on `count` before that, one each time that it is woken.
 * Order    None: spinners and newcomers overtake sleepers without bound. release: add-rel on
 *          `count`, or store-rel of 1 under wait_lock; pairs with sub-acq, cas-acq, xchg-acq there.
 * Origin   The kernel's mutex as it stood in Linux 3.7 (2012), from a description in prose. The base
 *          of the mutex patches of January to April 2013 on the Linux kernel mailing list.
 * Differs  As nospin; "the owner runs" is what the run's owner_run policy takes for it, and
 *          preemption cannot be disabled. Where it is built without spinning, it is nospin.
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(false),
    MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEHIND),
    MUTEX_PARAM_OWNER_FORM(MUTEX_QUIT),
    MUTEX_PARAM_PRELOAD(false),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_NONE),
    MUTEX_PARAM_PRECHECK(false),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_3_7) = {
    .name = "3.7",
    .family = "mutex",
    .summary = "mutex: spins while the owner runs, sleeps once the lock changes hands",
    .origin = "Linux 3.7, mutex",
    MUTEX_DESCRIPTION,
};
