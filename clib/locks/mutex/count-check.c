/* SPDX-License-Identifier: MIT */
/* count-check - mutex: looks at the counter before it exchanges it
 *
 * Idea     As 3.7, but nobody writes to `count` what cannot help: a spinner tries only what it read
 *          as free, and a thread in the list skips the exchange of a count that is negative, which
 *          sends the next release to the list anyway.
 * Lines    As 3.7 with far fewer RMWs on `count`: spinners share the line for reading. A contended
 *          acquire that sleeps makes 1 RMW before that, and one for each time that it is woken.
 * Order    As 3.7.
 * Origin   The first of the mutex patches of January to April 2013 on the Linux kernel mailing list,
 *          merged into Linux 3.10; from a description in prose.
 * Differs  As 3.7. `xchg_check` offers the rule of x86 (neg) and that of other machines (m1).
 */
#include "locks/mutex/owner_tmpl.h"

static const struct ll_param params[] = {
    MUTEX_PARAM_GATE(false),
    MUTEX_PARAM_NULL_GUARD(MUTEX_GUARD_BEHIND),
    MUTEX_PARAM_OWNER_FORM(MUTEX_QUIT),
    MUTEX_PARAM_PRELOAD(true),
    MUTEX_PARAM_XCHG_CHECK(MUTEX_CHECK_NEG),
    MUTEX_PARAM_QUEUE(MUTEX_QUEUE_NONE),
    MUTEX_PARAM_PRECHECK(false),
    MUTEX_SPIN_PARAMS,
    MUTEX_PARAMS,
    LL_PARAM_END,
};

LL_LOCK(mutex_count_check) = {
    .name = "count-check",
    .family = "mutex",
    .summary = "mutex: spins while the owner runs, and looks before an RMW",
    .origin = "Linux 3.10, mutex",
    MUTEX_DESCRIPTION,
};
