/* SPDX-License-Identifier: MIT */
/* shared - some threads write, the others read: no reader sees a torn pair, the total is exact */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        if (thread < c->writers)
            counters_turn(c, thread);
        else
            counters_shared_turn(c, thread);
}

LL_CLIENT(shared) = {
    .name = "shared",
    .summary = "the first `writers` threads write, the others read, `turns` times each",
    .kind = LL_KIND_SHARED,
    .body = body,
    .verdict = counters_verdict,
};
