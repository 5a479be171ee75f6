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
#define wl_goes_on LL_BUILD_SYMBOL(wl_goes_on)
#define wl_backs_off LL_BUILD_SYMBOL(wl_backs_off)
#define wl_holds_all LL_BUILD_SYMBOL(wl_holds_all)
#define wl_job LL_BUILD_SYMBOL(wl_job)
#define wl_overlap LL_BUILD_SYMBOL(wl_overlap)

/* Calls that the order validator is told of: the instrumented build notes where they stand. */
struct wl_caller { /* the first member of a struct wl_thread there */
    const struct ll_site *site;
};
#define WL_HERE(t)                                                                                 \
    __extension__({                                                                                \
        static const struct ll_site here_ = {__FILE__, __func__, __LINE__};                        \
        struct wl_thread *caller_ = (t);                                                           \
        if (ENG_MEASURES)                                                                          \
            ((struct wl_caller *)(void *)caller_)->site = &here_;                                  \
        caller_;                                                                                   \
    })
#define WL_TOLD(call, t, ...) LL_BUILD_SYMBOL(call)(WL_HERE(t), ##__VA_ARGS__)
#define wl_acquire(t, lock) WL_TOLD(wl_acquire, t, lock)
#define wl_release(t, lock) WL_TOLD(wl_release, t, lock)
#define wl_acquire_shared(t, lock) WL_TOLD(wl_acquire_shared, t, lock)
#define wl_release_shared(t, lock) WL_TOLD(wl_release_shared, t, lock)
#define wl_acquire_nested(t, lock, outer) WL_TOLD(wl_acquire_nested, t, lock, outer)
#define wl_context_init(t) WL_TOLD(wl_context_init, t)
#define wl_context_done(t) WL_TOLD(wl_context_done, t)
#define wl_context_fini(t) WL_TOLD(wl_context_fini, t)
#define wl_acquire_ww(t, lock) WL_TOLD(wl_acquire_ww, t, lock)
#define wl_acquire_ww_slow(t, lock) WL_TOLD(wl_acquire_ww_slow, t, lock)
#define wl_sleep(t, ns) WL_TOLD(wl_sleep, t, ns)

uint32_t wl_index(const struct wl_thread *t); /* 0 .. threads - 1 */
bool wl_more(struct wl_thread *t);            /* false: leave run() */
bool wl_has_shared(const struct wl_thread *t, uint32_t lock);
void LL_BUILD_SYMBOL(wl_acquire)(struct wl_thread *t, uint32_t lock);
void LL_BUILD_SYMBOL(wl_release)(struct wl_thread *t, uint32_t lock);
void LL_BUILD_SYMBOL(wl_acquire_shared)(struct wl_thread *t, uint32_t lock);
void LL_BUILD_SYMBOL(wl_release_shared)(struct wl_thread *t, uint32_t lock);
/* Exclusively, one of many of its class that are taken while `outer` is held: nobody who holds two of
 * them got them without `outer`, so that their order does not matter. */
void LL_BUILD_SYMBOL(wl_acquire_nested)(struct wl_thread *t, uint32_t lock, uint32_t outer);
/* Locks of kind ww. A thread has one context at a time; what its calls return, ll_ww_ops says. All are
 * given back by wl_release. Only calls that end with the lock held count as acquisitions. */
void LL_BUILD_SYMBOL(wl_context_init)(struct wl_thread *t);
void LL_BUILD_SYMBOL(wl_context_done)(struct wl_thread *t);
void LL_BUILD_SYMBOL(wl_context_fini)(struct wl_thread *t);
int LL_BUILD_SYMBOL(wl_acquire_ww)(struct wl_thread *t, uint32_t lock);
int LL_BUILD_SYMBOL(wl_acquire_ww_slow)(struct wl_thread *t, uint32_t lock);
/* Marks of a transaction: the context is about to release the `depth` locks it holds because it was
 * told to; it has come to hold all it wanted, after so many restarts. */
void wl_backs_off(struct wl_thread *t, uint32_t depth);
void wl_holds_all(struct wl_thread *t, uint32_t restarts);
/* Shall a turn that may take for ever go on? False: the phase is over, wl_more will say so, too. */
bool wl_goes_on(const struct wl_thread *t);
void LL_BUILD_SYMBOL(wl_sleep)(struct wl_thread *t,
                               uint64_t ns); /* off the CPU, holding what it holds */
void wl_job(struct wl_thread *t);            /* a unit of the workload's own work is done */
void wl_overlap(struct wl_thread *t);        /* the section met somebody else inside */
