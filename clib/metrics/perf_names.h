/* SPDX-License-Identifier: MIT */
/* perf_names.h - from a user's spelling of a perf event to what the kernel is asked. */
#pragma once

#include "include/locklab.h"

#define MT_PERF_NAME_MAX 127u /* bytes of a spelling */

struct perf_event_attr;

/* What getrusage can stand in for. */
enum mt_usage { MT_USAGE_NONE, MT_USAGE_SWITCHES, MT_USAGE_FAULTS, MT_USAGE_MINOR, MT_USAGE_MAJOR };
#define MT_USAGE_COUNT 5

struct mt_perf_kind {
    bool software;       /* counted by the kernel, not by the PMU */
    enum mt_usage usage; /* of an event that includes the kernel */
    const char *unit;    /* "events" or "ns" */
    const char *refusal; /* NULL, or why it would open but count something else as spelled */
};

/* Fills attr's event, privilege and modifier members (the rest is zero) from `name`: a name of
 * libpfm4's (generic, PMU-specific, perf::) or a generic one of perf(1) with modifiers from u, k, h.
 * Without such modifiers a PMU event counts user space only, a software event the kernel as well.
 * Success says nothing about this host: only opening does.
 * Returns 0, -ENOENT (unknown), -EINVAL (modifiers), -ENOTSUP (not in this build, or of a PMU that
 * the kernel does not show) or -ENOMEM. */
int mt_perf_encode(const char *name, struct perf_event_attr *attr, struct mt_perf_kind *kind,
                   struct ll_error *err);

/* Value of LIBPFM_FORCE_PMU as libpfm4 found it, which hides all other PMUs; NULL if unset. */
const char *mt_perf_forced_pmu(void);
