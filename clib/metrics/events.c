/* SPDX-License-Identifier: MIT */
/* events.c - the catalogue of counters. */
#include "metrics/events.h"

#include "core/error.h"

#define LL_EVENT(name, unit, help) {#name, unit, help},
static const struct ll_event_info events[] = {
#include "metrics/events.def"
};
#undef LL_EVENT

size_t ll_event_count(void)
{
    return LL_EVENT_COUNT;
}

int ll_event_get(size_t i, struct ll_event_info *out)
{
    if (i >= LL_EVENT_COUNT)
        return -ENOENT;
    *out = events[i];
    return 0;
}
