/* SPDX-License-Identifier: MIT */
/* timed - some threads give up at a deadline, the others wait: those that leave take no wake-up along */
#include "core/client.h"
#include "clients/counters.h"

#define PATIENCE_NS 1000u

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        if (thread % 2 == 0)
            counters_until_turn(c, thread, eng_now() + PATIENCE_NS);
        else
            counters_turn(c, thread);
}

LL_CLIENT(timed) = {
    .name = "timed",
    .summary = "every other thread, from the first on, goes without after a deadline, or cancelled",
    .kind = LL_KIND_EXCLUSIVE,
    .needs_until = true,
    .body = body,
    .verdict = counters_verdict,
};
