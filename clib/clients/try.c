/* SPDX-License-Identifier: MIT */
/* try - try_acquire first, acquire if it fails: both ways in exclude each other */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        if (!counters_try_turn(c, thread))
            counters_turn(c, thread);
}

LL_CLIENT(try) = {
    .name = "try",
    .summary = "each thread tries, and waits if that fails, `turns` times",
    .kind = LL_KIND_EXCLUSIVE,
    .needs_try = true,
    .body = body,
    .verdict = counters_verdict,
};
