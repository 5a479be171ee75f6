/* SPDX-License-Identifier: MIT */
/* v10-nowait - mutex: spins while the owner runs, whether or not anybody sleeps
 *
 * Idea     As v10 without the gate: a spinner takes the lock while a woken sleeper is still on its way,
 *          so that the lock is not idle for a wake-up at each hand-over. The null guard stands behind
 *          the CAS: one attempt is always made.
 * Lines    As 3.7, but spinners stay when the lock changes hands: all read `owner`, and all
 *          exchange on `count` at each release.
 * Order    None: sleepers are overtaken without bound. Else as 3.7.
 * Origin   The patch that answered version 10 of the adaptive spinning patches, Linux kernel mailing
 *          list, January 2009, from a description in prose.
 * Differs  As 3.7.
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(false),
    MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEHIND),
    MUTEX_PARAM_OWNER_FORM(MUTEX_CONTINUE),
    MUTEX_PARAM_PRELOAD(false),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_NONE),
    MUTEX_PARAM_PRECHECK(false),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_v10_nowait) = {
    .name = "v10-nowait",
    .family = "mutex",
    .summary = "mutex: spins while the owner runs, sleepers or not",
    .origin = "Linux kernel mailing list, January 2009, adaptive mutex spinning",
    MUTEX_DESCRIPTION,
};
