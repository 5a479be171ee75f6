/* SPDX-License-Identifier: MIT */
/* perf.h - counting perf events by thread, and saying why one does not count.
 *
 * A set is made once from the user's spellings. Each worker opens it for itself, enables and disables
 * it at the borders of its measured phase, and closes it. The controller then merges the thread into
 * the set, which adds up over threads and repetitions.
 *
 * The PMU's events of a thread form one group, so that they count over the same time; the kernel
 * refuses a group that can never fit, then some events lead groups of their own. Software events have
 * a group of their own: they never wait for a counter, and multiplexing must not turn exact figures
 * into estimates. Where the kernel's part of an event is forbidden, getrusage stands in for what it
 * counts too, for all threads or for none.
 */
#pragma once

#include "include/locklab.h"
#include "metrics/perf_names.h"

struct mt_perf_set;

struct mt_perf_thread {            /* all zero before the first use */
    const struct mt_perf_set *set; /* not NULL while open */
    uint32_t phases;               /* enabled and disabled again */
    int fd[LL_MAX_PERF];           /* -1: none; valid while open */
    int err[LL_MAX_PERF];          /* first failure, -errno */
    uint8_t leader[LL_MAX_PERF];   /* event that leads the group of this one */
    uint64_t value[LL_MAX_PERF];   /* raw */
    uint64_t enabled[LL_MAX_PERF]; /* ns */
    uint64_t running[LL_MAX_PERF]; /* ns */
    uint64_t usage[MT_USAGE_COUNT], usage_start[MT_USAGE_COUNT];
};

/* Makes a set of `n` spellings. -ENOENT, -EINVAL, -ENOTSUP of the first that is wrong, -EINVAL if
 * one stands there twice, -ERANGE if there are more than LL_MAX_PERF, -ENOMEM. An event that this
 * host cannot count is no error. */
int mt_perf_set_new(const char *const *names, size_t n, struct mt_perf_set **out,
                    struct ll_error *err);
/* NULL is allowed. */
void mt_perf_set_free(struct mt_perf_set *set);

/* For the calling thread; what does not open is noted in t->err. Requires: *t is not open. */
void mt_perf_open(const struct mt_perf_set *set, struct mt_perf_thread *t);
/* By the thread that opened it, in turn; about 1 us each. Nothing if *t is not open. */
void mt_perf_enable(struct mt_perf_thread *t);
void mt_perf_disable(struct mt_perf_thread *t);
/* Reads what was counted into *t and gives the descriptors back. Nothing if *t is not open. */
void mt_perf_close(const struct mt_perf_set *set, struct mt_perf_thread *t);

/* Adds a closed thread. One that never came to its measured phase adds nothing. */
void mt_perf_merge(struct mt_perf_set *set, const struct mt_perf_thread *t);
/* What was merged so far, at most `max` events in the order of the spellings; returns how many. An
 * event that failed in one thread has no value: a sum over the others would be a wrong figure. The
 * texts live as long as the set. */
uint32_t mt_perf_values(struct mt_perf_set *set, struct ll_perf_value *out, uint32_t max);
