/* SPDX-License-Identifier: MIT */
/* handoff.h - hand-off times, the hand-off matrix, bypasses and runs of one thread, from per-thread logs.
 *
 * A stamp that every release writes to a shared line would inflate what it measures; so each thread
 * logs (called, acquired, released) in a ring of its own, and the controller merges the rings by time: of
 * two consecutive owners in different threads, the second's `acquired` minus the first's `released` is a
 * hand-off. Fast locks are logged in windows only: all threads log while the time stamp counter's
 * window number is a multiple of `every`, so nobody has to be told.
 *
 * BYPASS. How many acquisitions by others lie between a thread's call and its acquire: counted where
 * the log has all of them, that is within a window. A wait that is longer than a window is logged
 * whenever it ends ("alone": then only the most counts), and its bypasses are estimated by the totals that the controller reads every
 * few milliseconds, taken to grow evenly in between.
 * RUN. Consecutive acquisitions by one thread; where the edge of a window cuts one it is left out.
 */
#pragma once

#include "core/types.h"
#include "include/locklab.h"

#define MT_WINDOW_SHIFT 19u /* a window is 2^19 ticks, about 0.2 ms */

struct mt_log_entry {
    uint64_t called, got, released; /* ticks; released 0: still inside */
    bool alone; /* others may have come between it and its neighbours in the log */
};

struct mt_log {
    /* the worker's */
    LL_OWN_LINE uint64_t head; /* entries opened so far */
    uint64_t tail_seen;        /* last reading of `tail` */
    uint64_t lost;             /* entries that found the ring full */
    /* the controller's */
    LL_OWN_LINE uint64_t tail; /* entries taken so far */
    uint64_t lost_seen;
    /* the controller's, set before the measured phase */
    LL_OWN_LINE uint64_t mask; /* capacity - 1 */
    uint64_t every_mask;       /* windows with (number & every_mask) == 0 are logged */
    struct mt_log_entry *ring;
};

int mt_log_init(struct mt_log *log, uint32_t capacity); /* a power of two; -ENOMEM */
void mt_log_fini(struct mt_log *log);

/* Opens an entry right after an acquire, still inside the section: whoever acquires later is later
 * in every reader's eyes too. NULL: not logged. */
struct mt_log_entry *mt_log_open(struct mt_log *log, uint64_t called, uint64_t got);
/* Completes it after the release. */
void mt_log_close(struct mt_log_entry *entry, uint64_t released);
/* Forgets what is in the ring (overhead blocks: the cost is wanted, the data is not). */
void mt_log_discard(struct mt_log *log);

struct mt_merge; /* the reader's side: all rings of a repetition */

/* Takes over the array `logs` (from malloc); NULL: out of memory, then it does not. */
struct mt_merge *mt_merge_new(struct mt_log **logs, const uint32_t *slot_of_thread,
                              uint32_t threads, uint32_t n_cpus, uint64_t every_mask);
void mt_merge_free(struct mt_merge *m);
/* At `ticks` the workers had `total` acquisitions in all; in ascending order. */
void mt_merge_note(struct mt_merge *m, uint64_t ticks, uint64_t total);
/* Takes what is complete out of the rings. `final`: the workers have ended. */
void mt_merge_drain(struct mt_merge *m, bool final);
/* Logs windows with (number & every_mask) == 0 from now on. Pairs of the next moment are given up, until
 * every thread is sure to know. */
void mt_merge_set_every(struct mt_merge *m, uint64_t every_mask);
uint64_t mt_merge_every(const struct mt_merge *m);
struct mt_handoffs {
    struct ll_histogram times;       /* ns */
    struct ll_histogram bypass, run; /* acquisitions */
    uint64_t pairs;                  /* consecutive owners, by the same thread or another */
    uint64_t bypass_estimated;       /* of those in `bypass` */
    uint64_t bypass_max;             /* also of those that were logged alone */
    uint64_t dropped; /* drains whose entries were thrown away because a ring was full */
    uint64_t *matrix; /* [n_cpus][n_cpus], row = from */
};
const struct mt_handoffs *mt_merge_result(const struct mt_merge *m);
