/* SPDX-License-Identifier: MIT */
/* cancel - as timed, without the deadline: some threads' waits are cancelled */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        if (thread % 2 == 0)
            counters_until_turn(c, thread, 0);
        else
            counters_turn(c, thread);
}

LL_CLIENT(cancel) = {
    .name = "cancel",
    .summary = "every other thread, from the first on, goes without once its wait is cancelled",
    .kind = LL_KIND_EXCLUSIVE,
    .needs_until = true,
    .body = body,
    .verdict = counters_verdict,
};
