/* SPDX-License-Identifier: MIT */
/* shared - odd threads read, even threads write: no reader sees a torn pair, the total is exact */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++) {
        if (thread & 1) {
            c->lock->shared.acquire_shared(c->instance, c->node[thread]);
            counters_look(c, thread);
            c->lock->shared.release_shared(c->instance, c->node[thread]);
        } else {
            c->lock->ops.acquire(c->instance, c->node[thread]);
            counters_section(c, thread);
            c->lock->ops.release(c->instance, c->node[thread]);
        }
    }
}

LL_CLIENT(shared) = {
    .name = "shared",
    .summary = "even threads write, odd threads read, `turns` times each",
    .kind = LL_KIND_SHARED,
    .body = body,
    .verdict = counters_verdict,
};
