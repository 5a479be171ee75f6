/* SPDX-License-Identifier: MIT */
/* relax-yield - what a spinning waiter does between two looks, under high_systime's load
 *
 * A pause that gives the CPU away (as on some virtualised machines) ruins spinning. The load is that of
 * aim7-high_systime; the pause is the lock's parameter `relax`, so run it with relax=pause, yield, none.
 */
#include "workloads/aim7_system.h"

static int check(const void *state, const struct ll_lock_desc *lock, struct ll_error *err)
{
    for (const struct ll_param *p = lock->params; p && p->name; p++)
        if (!__builtin_strcmp(p->name, "relax"))
            return aim7_core_fits(state, lock, err);
    return ll_fail(err, -EINVAL, "lock",
                   "relax-yield varies the parameter relax of the lock, which %s/%s "
                   "does not have",
                   lock->family, lock->name);
}

static const struct ll_param params[] = {
    AIM7_SYSTEM_PARAMS(0, "", 3000, 500, 2000, 4, 12, 1, 64),
    LL_PARAM_END,
};

LL_WORKLOAD(relax_yield) = {
    .name = "relax-yield",
    .summary =
        "the load of aim7-high_systime for locks with a parameter relax (pause, yield, none)",
    .origin = "the relax hook of the mutex changes of Linux 3.10 (2013); lengths assumed",
    .check = check,
    AIM7_SYSTEM_DESCRIPTION,
};
