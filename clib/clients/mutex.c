/* SPDX-License-Identifier: MIT */
/* mutex - acquire, two unprotected counters, release: they stay equal, the total is exact */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        counters_turn(c, thread);
}

LL_CLIENT(mutex) = {
    .name = "mutex",
    .summary = "each thread enters `turns` times",
    .kind = LL_KIND_EXCLUSIVE,
    .body = body,
    .verdict = counters_verdict,
};
