/* SPDX-License-Identifier: MIT */
/* v9 - mutex: an early form of spinning on the owner, with a window in which it never ends
 *
 * Idea     Who does not get the lock spins while its owner runs, and leaves as soon as anybody sleeps
 *          on it. An owner that cannot be seen, since it lost its CPU before it said who it is, is
 *          spun on without end: there is no null guard.
 * Lines    As 3.7. All spinners exchange on `count` in each round in which there is no owner.
 * Order    As 3.7. Spinners overtake each other until one goes to sleep.
 * Origin   Placeholder. Version 9 of the adaptive spinning patches, January 2009, is known to us by
 *          the subject of its message alone; this preset is so chosen that the window can be shown.
 * Differs  From what, nobody can say: make no claims about version 9 with it. Else as 3.7.
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(true),
    MUTEX_PARAM_NULL_GUARD(MUTEX_NO_GUARD),
    MUTEX_PARAM_OWNER_FORM(MUTEX_CONTINUE),
    MUTEX_PARAM_PRELOAD(false),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NONE),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_NONE),
    MUTEX_PARAM_PRECHECK(false),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_v9) = {
    .name = "v9",
    .family = "mutex",
    .summary = "mutex: spins while the owner runs and nobody sleeps; may spin on nobody",
    .origin =
        "Linux kernel mailing list, January 2009, adaptive mutex spinning (a guess, see the file)",
    MUTEX_DESCRIPTION,
};
