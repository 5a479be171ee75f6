/* SPDX-License-Identifier: MIT */
/* events.h - enum of the counters in events.def; names and help are in events.c. */
#pragma once

#define LL_EVENT(name, unit, help) LL_EV_##name,
enum ll_event {
#include "metrics/events.def"
    LL_EVENT_COUNT
};
#undef LL_EVENT
