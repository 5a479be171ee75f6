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

/* In exclusive mode: both go up, one after the other. */
LL_TEMPLATE void counters_section(struct ll_client *c, uint32_t thread)
{
    eng_mark_entered();
    counters_look(c, thread);
    eng_write(&c->first, eng_read(&c->first) + 1);
    eng_write(&c->second, eng_read(&c->second) + 1);
    c->entered[thread]++;
}

/* When all threads have ended. NULL: right. */
LL_TEMPLATE const char *counters_verdict(const struct ll_client *c)
{
    uint64_t total = 0, torn = 0;

    for (uint32_t i = 0; i < c->threads; i++) {
        total += c->entered[i];
        torn += c->torn[i];
    }
    if (torn)
        return "two threads were inside at once: the counters were seen to differ";
    if (c->first.raw != total || c->second.raw != total)
        return "two threads were inside at once: an update was lost";
    return NULL;
}
