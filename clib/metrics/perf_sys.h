/* SPDX-License-Identifier: MIT */
/* perf_sys.h - the system under the counters, and the sentences for what it refuses. */
#pragma once

#include "include/locklab.h"

struct perf_event_attr;

struct mt_perf_sys {
    int (*open)(struct perf_event_attr *attr, int group_fd); /* calling thread; fd or -errno */
    int (*enable)(int fd, bool on);                          /* the whole group; 0 or -errno */
    int (*read)(int fd, uint64_t *words, size_t n);          /* words read, or -errno */
    int (*close)(int fd);
    int (*paranoid)(void); /* level, or INT_MIN if unknown */
    bool (*has_pmu)(void); /* does the kernel show a PMU of the CPUs? */
};
extern const struct mt_perf_sys *mt_perf_sys;

/* For tests: another system; NULL: the real one again. Not while anything is open. */
void mt_perf_inject(const struct mt_perf_sys *fake);

/* What failure `err` (-errno) means for an event that is counted by the kernel or not, with its part
 * of the kernel or not, and what helps; one sentence led by the errno's name. */
void mt_perf_explain(int err, bool software, bool with_kernel, char *text, size_t size);
