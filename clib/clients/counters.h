/* SPDX-License-Identifier: MIT */
/* counters.h - the section that every client shares: two plain counters that only the lock protects. */
#pragma once

#include "core/client.h"

/* In shared mode: are they equal? */
LL_TEMPLATE void counters_look(struct ll_client *c, uint32_t thread)
{
    if (eng_read(&c->first) != eng_read(&c->second))
        c->torn[thread]++;
}

/* From the return of acquire to the call of release: both go up, one after the other. */
LL_TEMPLATE void counters_section(struct ll_client *c, uint32_t thread)
{
    eng_mark(ENG_ENTERED, false);
    counters_look(c, thread);
    eng_write(&c->first, eng_read(&c->first) + 1);
    eng_write(&c->second, eng_read(&c->second) + 1);
    c->entered[thread]++;
    eng_mark(ENG_LEAVING, false);
}

/* acquire, the section, release. */
LL_TEMPLATE void counters_turn(struct ll_client *c, uint32_t thread)
{
    eng_mark(ENG_ACQUIRING, false);
    c->lock->ops.acquire(c->instance, c->node[thread]);
    counters_section(c, thread);
    c->lock->ops.release(c->instance, c->node[thread]);
    eng_mark(ENG_OUTSIDE, false);
}

/* try_acquire, and the section if that succeeds; else false. */
LL_TEMPLATE bool counters_try_turn(struct ll_client *c, uint32_t thread)
{
    eng_mark(ENG_ACQUIRING, false);
    if (!c->lock->ops.try_acquire(c->instance, c->node[thread])) {
        eng_mark(ENG_OUTSIDE, false);
        return false;
    }
    counters_section(c, thread);
    c->lock->ops.release(c->instance, c->node[thread]);
    eng_mark(ENG_OUTSIDE, false);
    return true;
}

/* acquire_until, and the section if that succeeds. Anybody's wait may be cancelled. */
LL_TEMPLATE void counters_until_turn(struct ll_client *c, uint32_t thread, uint64_t deadline_ns)
{
    int answer;

    eng_mark(ENG_ACQUIRING, false);
    answer = c->lock->ops.acquire_until(c->instance, c->node[thread], deadline_ns);
    if (answer) {
        eng_uncancel();
        c->odd_answers[thread] += answer != -EINTR && !(answer == -ETIMEDOUT && deadline_ns);
    } else {
        counters_section(c, thread);
        c->lock->ops.release(c->instance, c->node[thread]);
    }
    eng_mark(ENG_OUTSIDE, false);
}

/* acquire_shared, a look, release_shared. */
LL_TEMPLATE void counters_shared_turn(struct ll_client *c, uint32_t thread)
{
    eng_mark(ENG_ACQUIRING, true);
    c->lock->shared.acquire_shared(c->instance, c->node[thread]);
    eng_mark(ENG_ENTERED, true);
    counters_look(c, thread);
    eng_mark(ENG_LEAVING, true);
    c->lock->shared.release_shared(c->instance, c->node[thread]);
    eng_mark(ENG_OUTSIDE, true);
}

/* When all threads have ended. NULL: right. */
LL_TEMPLATE const char *counters_verdict(const struct ll_client *c)
{
    uint64_t total = 0, torn = 0, odd = 0;

    for (uint32_t i = 0; i < c->threads; i++) {
        total += c->entered[i];
        torn += c->torn[i];
        odd += c->odd_answers[i];
    }
    if (torn)
        return "two threads were inside at once: the counters were seen to differ";
    if (c->first.raw != total || c->second.raw != total)
        return "two threads were inside at once: an update was lost";
    if (odd)
        return "a wait ended for a reason that nobody gave";
    return NULL;
}
