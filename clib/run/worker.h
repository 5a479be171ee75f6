/* SPDX-License-Identifier: MIT */
/* worker.h - one measured thread: what it counts, and the words by which it is led.
 *
 * A wl_thread is written by its worker alone, but for what says otherwise; the controller reads it
 * through eng_own_read. worker.c is compiled once per native build: that is the whole difference
 * between the instrumented and the bare measurement.
 */
#pragma once

#include "core/workload.h"
#include "engine/native_thread.h"
#include "engine/own.h"
#include "metrics/histogram.h"
#include "run/handoff.h"

enum wl_state { WL_THINKING, WL_WAITING, WL_HOLDING };

struct wl_group_counts { /* of one group of locks; clocks under full */
    uint64_t acquisitions;
    uint64_t wait_ticks, hold_ticks, wait_max_ticks;
};

struct wl_slot { /* one lock of the run as this thread uses it */
    void *lock, *node;
    const struct ll_lock_desc *desc;
    struct ll_validator_lock *guard; /* if the thread is validated */
    struct wl_group_counts *group;   /* NULL: the run has one group, the totals say it all */
    bool counted;                    /* part of totals, histograms and hand-offs */
    enum eng_loss waits_as;          /* what losing the CPU in its acquire means */
    uint64_t called, got;            /* ticks, under full */
    struct mt_log_entry
        *entry; /* open entry of the hand-off log, NULL if this turn is not logged */
};

struct wl_counts { /* of the current repetition's current phase */
    LL_OWN_LINE uint64_t acquisitions;
    uint64_t shared_acquisitions, overlap;
    uint32_t state; /* enum wl_state, for the watchdog */
};

struct wl_transactions { /* of the current phase; full and events alike */
    struct ll_histogram depth, restarts, age;
};

struct wl_thread {
    struct wl_caller caller; /* first */
    /* read-only while the worker runs */
    LL_OWN_LINE const uint32_t *phase; /* the controller's word; run() is left when it changes */
    struct wl_slot *slot;
    uint32_t index;
    bool full;                     /* read clocks, fill histograms */
    struct mt_log *log;            /* NULL: hand-offs are not logged */
    const struct ll_lock_desc *ww; /* NULL: no lock of the run is one */
    void *ww_class, *context;
    struct ll_validator_thread *validated; /* NULL: no validator looks on */
    struct ll_validator_context *guard_context;
    uint32_t guard_ww_class;
    struct wl_transactions *transactions; /* the worker's; NULL as ww */
    /* the worker's */
    LL_OWN_LINE uint32_t want; /* the phase that is being counted */
    uint32_t held;             /* locks */
    struct wl_counts counts;
    struct ll_histogram wait, hold, wake;
    struct wl_group_counts group[WL_GROUPS];
};
