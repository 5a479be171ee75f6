/* SPDX-License-Identifier: MIT */
/* life-time - the last one out frees the lock: nobody touches it any more */
#include "core/client.h"
#include "clients/counters.h"

static void body(struct ll_client *c, uint32_t thread)
{
    bool last;

    eng_mark(ENG_ACQUIRING, false);
    c->lock->ops.acquire(c->instance, c->node[thread]);
    counters_section(c, thread);
    last = eng_read(&c->first) == c->threads;
    c->lock->ops.release(c->instance, c->node[thread]);
    eng_mark(ENG_OUTSIDE, false);
    if (last) /* all others have been inside, some may be on their way out yet */
        eng_mark_freed(c->instance, c->lock->lock_size);
}

LL_CLIENT(life_time) = {
    .name = "life-time",
    .summary = "each thread enters once, and who finds that all have been inside frees the lock",
    .kind = LL_KIND_EXCLUSIVE,
    .body = body,
    .verdict = counters_verdict,
};
