/* SPDX-License-Identifier: MIT */
/* handoff - each thread comes when the one before it is on its way out: a release beside an acquire */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++) {
        uint32_t mine = i * c->threads + thread;
        eng_await_eq_rlx(&c->baton, mine);
        eng_mark(ENG_ACQUIRING, false);
        c->lock->ops.acquire(c->instance, c->node[thread]);
        counters_section(c, thread);
        eng_store_rlx(&c->baton, mine + 1); /* relaxed: the lock alone orders the sections */
        c->lock->ops.release(c->instance, c->node[thread]);
        eng_mark(ENG_OUTSIDE, false);
    }
}

LL_CLIENT(handoff) = {
    .name = "handoff",
    .summary = "threads enter one after the other, each while the one before it releases",
    .kind = LL_KIND_EXCLUSIVE,
    .body = body,
    .verdict = counters_verdict,
};
