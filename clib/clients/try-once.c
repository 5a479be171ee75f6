/* SPDX-License-Identifier: MIT */
/* try-once - try_acquire alone: who fails goes without and does not come back */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        counters_try_turn(c, thread);
}

LL_CLIENT(try_once) = {
    .name = "try-once",
    .summary = "each thread tries `turns` times and enters only if that succeeds",
    .kind = LL_KIND_EXCLUSIVE,
    .needs_try = true,
    .body = body,
    .verdict = counters_verdict,
};
