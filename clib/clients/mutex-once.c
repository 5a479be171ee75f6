/* SPDX-License-Identifier: MIT */
/* mutex-once - as mutex, but the first relax of a thread ends it */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        counters_turn(c, thread);
}

LL_CLIENT(mutex_once) = {
    .name = "mutex-once",
    .summary = "as mutex, without second attempts: the first relax of a thread ends it",
    .kind = LL_KIND_EXCLUSIVE,
    .first_relax_ends = true,
    .body = body,
    .verdict = counters_verdict,
};
