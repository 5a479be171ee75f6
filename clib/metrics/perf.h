/* SPDX-License-Identifier: MIT */
/* perf.h - counting perf events by thread, and saying why one does not count.
 *
 * A set is made once from the user's spellings. Each worker opens it for itself, enables and
 * disables it at the borders of its measured phase, and closes it; figures add up over any number
 * of such rounds in a struct that starts as all zeros. At the end the threads are merged.
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

struct mt_perf_thread {
    bool is_open;
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
/* By the thread that opened it, once each in turn; a few hundred ns to some us. */
void mt_perf_enable(const struct mt_perf_set *set, struct mt_perf_thread *t);
void mt_perf_disable(const struct mt_perf_set *set, struct mt_perf_thread *t);
/* Adds what was counted to *t and gives the descriptors back; nothing if *t is not open. May be
 * called by another thread after the owner's last call. */
void mt_perf_close(const struct mt_perf_set *set, struct mt_perf_thread *t);

/* Fills out[i] for event i over `n` threads, all closed. An event that failed in one thread counts
 * for none. The texts in `out` live as long as the set. */
void mt_perf_merge(struct mt_perf_set *set, const struct mt_perf_thread *const *threads, uint32_t n,
                   struct ll_perf_value *out);

/* ---- for tests: the system under the counters ---- */

struct mt_perf_sys {
    int (*open)(struct perf_event_attr *attr, int group_fd); /* calling thread; fd or -errno */
    int (*enable)(int fd, bool on);                          /* the whole group; 0 or -errno */
    int (*read)(int fd, uint64_t *words, size_t n);          /* words read, or -errno */
    int (*close)(int fd);
    int (*paranoid)(void); /* level, or INT_MIN if unknown */
    bool (*has_pmu)(void); /* does the kernel show a CPU's PMU? */
};
/* NULL: the real one again. Not while anything is open. */
void mt_perf_inject(const struct mt_perf_sys *sys);
