/* SPDX-License-Identifier: MIT */
/* workload.h - what a workload file says about itself, and the calls from which it is made.
 *
 * A workload is one file `workloads/<id>.c` that ends in one `LL_WORKLOAD(symbol) = { ... };` and has
 * one line in workloads.def. Each thread runs `run`, which loops `while (wl_more(t))` and takes locks
 * by wl_acquire and wl_release: all measuring happens there, so that workloads contain none.
 *
 * The locks of a run come in groups. An instance is named by its index: the groups stand one behind
 * the other, in the order in which the workload gives them. A group is of the lock under test, or of
 * a companion that a parameter of type LL_PARAM_LOCK names. Totals, histograms and hand-offs are of
 * the lock under test alone; every group has its own counts in the result besides.
 */
#pragma once

#include "core/error.h"
#include "core/lock.h"

struct wl_thread; /* one worker as its workload sees it; each engine's run defines it */

#define WL_GROUPS 8u            /* of one workload */
#define WL_LOCK_UNDER_TEST 0u   /* `lock` of a group */
#define WL_MAX_SLOTS (1u << 20) /* lock instances x threads of a run */

struct wl_group {
    const char *name; /* of a string constant */
    uint32_t count;   /* instances; 0: none this time */
    uint32_t lock;    /* WL_LOCK_UNDER_TEST, or what a parameter of type LL_PARAM_LOCK holds */
};

struct ll_workload_desc {
    const char *name; /* the id */
    const char *summary, *origin;
    const struct ll_param *params; /* offsets into the state below; optional, end-marked */
    uint32_t state_size; /* bytes shared by the threads of a run; zeroed, 128-byte aligned,
                                      then the parameters are set */
    /* fills in the groups and yields their number, at most WL_GROUPS; NULL: one lock, named "lock" */
    uint32_t (*groups)(const void *state, struct wl_group *group);
    /* 0, or -EINVAL and a sentence if the parameters fit neither each other nor the lock; optional */
    int (*check)(const void *state, const struct ll_lock_desc *lock, struct ll_error *err);
    /* after the check: computes what run() only reads; optional */
    void (*prepare)(void *state);
    uint32_t (*data_lines)(
        const void *state); /* shared 128-byte blocks that run() writes; optional */
    void (*run)(struct wl_thread *t, void *state,
                void *data);                   /* data: data_lines() blocks, zeroed */
    bool (*checks_overlap)(const void *state); /* does run() look for overlap? NULL: never */
    /* does run() acquire the lock under test in shared mode, if it has one? NULL: never */
    bool (*uses_shared)(const void *state);
};

#define LL_WORKLOAD(symbol) const struct ll_workload_desc LL_BUILD_SYMBOL(ll_workload_##symbol)

/* Each engine build has these of its own. `lock` is the index of the lock instance. */
#define wl_index LL_BUILD_SYMBOL(wl_index)
#define wl_more LL_BUILD_SYMBOL(wl_more)
#define wl_has_shared LL_BUILD_SYMBOL(wl_has_shared)
#define wl_acquire LL_BUILD_SYMBOL(wl_acquire)
#define wl_release LL_BUILD_SYMBOL(wl_release)
#define wl_acquire_shared LL_BUILD_SYMBOL(wl_acquire_shared)
#define wl_release_shared LL_BUILD_SYMBOL(wl_release_shared)
#define wl_acquire_nested LL_BUILD_SYMBOL(wl_acquire_nested)
#define wl_context_init LL_BUILD_SYMBOL(wl_context_init)
#define wl_context_done LL_BUILD_SYMBOL(wl_context_done)
#define wl_context_fini LL_BUILD_SYMBOL(wl_context_fini)
#define wl_acquire_ww LL_BUILD_SYMBOL(wl_acquire_ww)
#define wl_acquire_ww_slow LL_BUILD_SYMBOL(wl_acquire_ww_slow)
#define wl_goes_on LL_BUILD_SYMBOL(wl_goes_on)
#define wl_backs_off LL_BUILD_SYMBOL(wl_backs_off)
#define wl_holds_all LL_BUILD_SYMBOL(wl_holds_all)
#define wl_sleep LL_BUILD_SYMBOL(wl_sleep)
#define wl_job LL_BUILD_SYMBOL(wl_job)
#define wl_overlap LL_BUILD_SYMBOL(wl_overlap)

uint32_t wl_index(const struct wl_thread *t); /* 0 .. threads - 1 */
bool wl_more(struct wl_thread *t);            /* false: leave run() */
bool wl_has_shared(const struct wl_thread *t, uint32_t lock);
void wl_acquire(struct wl_thread *t, uint32_t lock);
void wl_release(struct wl_thread *t, uint32_t lock);
void wl_acquire_shared(struct wl_thread *t, uint32_t lock);
void wl_release_shared(struct wl_thread *t, uint32_t lock);
/* Exclusively, one of many of its class that are taken while `outer` is held: nobody who holds two of
 * them got them without `outer`, so that their order does not matter. */
void wl_acquire_nested(struct wl_thread *t, uint32_t lock, uint32_t outer);
/* Locks of kind ww. A thread has one context at a time; what its calls return, ll_ww_ops says. All are
 * given back by wl_release. Only calls that end with the lock held count as acquisitions. */
void wl_context_init(struct wl_thread *t);
void wl_context_done(struct wl_thread *t);
void wl_context_fini(struct wl_thread *t);
int wl_acquire_ww(struct wl_thread *t, uint32_t lock);
int wl_acquire_ww_slow(struct wl_thread *t, uint32_t lock);
/* Marks of a transaction: the context is about to release the `depth` locks it holds because it was
 * told to; it has come to hold all it wanted, after so many restarts. */
void wl_backs_off(struct wl_thread *t, uint32_t depth);
void wl_holds_all(struct wl_thread *t, uint32_t restarts);
/* Shall a turn that may take for ever go on? False: the phase is over, wl_more will say so, too. */
bool wl_goes_on(const struct wl_thread *t);
void wl_sleep(struct wl_thread *t, uint64_t ns); /* off the CPU, holding what it holds */
void wl_job(struct wl_thread *t);                /* a unit of the workload's own work is done */
void wl_overlap(struct wl_thread *t);            /* the section met somebody else inside */
