/* SPDX-License-Identifier: MIT */
/* v10 - mutex: spins while the owner runs and nobody sleeps on the lock
 *
 * Idea     As v9, with a null guard: who sees no owner and should yield, or would keep the owner from
 *          running, leaves. One sleeper is enough to send all later arrivals to sleep (the gate), so
 *          that none of them overtakes it by spinning.
 * Lines    As 3.7. Where the lock is hot there is always a sleeper, so hardly anybody spins.
 * Order    As 3.7, but spinners do not overtake sleepers; newcomers do.
 * Origin   Version 10 of the adaptive spinning patches, Linux kernel mailing list, January 2009, from
 *          a description in prose.
 * Differs  As 3.7.
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(true),
    MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEFORE),
    MUTEX_PARAM_OWNER_FORM(MUTEX_CONTINUE),
    MUTEX_PARAM_PRELOAD(false),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_NONE),
    MUTEX_PARAM_PRECHECK(false),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_v10) = {
    .name = "v10",
    .family = "mutex",
    .summary = "mutex: spins while the owner runs and nobody sleeps",
    .origin = "Linux kernel mailing list, January 2009, adaptive mutex spinning",
    MUTEX_DESCRIPTION,
};
