/* SPDX-License-Identifier: MIT */
/* workload.h - what a workload file says about itself, and the calls from which it is made.
 *
 * A workload is one file `workloads/<id>.c` that ends in one `LL_WORKLOAD(symbol) = { ... };` and has
 * one line in workloads.def. Each thread runs `run`, which loops `while (wl_more(t))` and takes locks
 * by wl_acquire and wl_release: all measuring happens there, so that workloads contain none.
 */
#pragma once

#include "core/error.h"
#include "core/lock.h"

struct wl_thread; /* one worker as its workload sees it; each engine's run defines it */

struct ll_workload_desc {
    const char *name; /* the id */
    const char *summary, *origin;
    const struct ll_param *params; /* offsets into the state below; optional, end-marked */
    uint32_t state_size; /* bytes shared by the threads of a run; zeroed, 128-byte aligned,
                                      then the parameters are set */
    uint32_t locks;      /* lock instances of a run; 0 means 1 */
    /* 0, or -EINVAL and a sentence if the parameters fit neither each other nor the lock; optional */
    int (*check)(const void *state, enum ll_kind kind, struct ll_error *err);
    uint32_t (*data_lines)(
        const void *state); /* shared 128-byte blocks that run() writes; optional */
    void (*run)(struct wl_thread *t, void *state,
                void *data);                   /* data: data_lines() blocks, zeroed */
    bool (*checks_overlap)(const void *state); /* does run() look for overlap? NULL: never */
    bool (*uses_shared)(const void *state);    /* does run() acquire in shared mode? NULL: never */
};

#define LL_WORKLOAD(symbol) const struct ll_workload_desc LL_BUILD_SYMBOL(ll_workload_##symbol)

/* Each engine build has these of its own. `lock` is the index of the lock instance. */
#define wl_index LL_BUILD_SYMBOL(wl_index)
#define wl_more LL_BUILD_SYMBOL(wl_more)
#define wl_acquire LL_BUILD_SYMBOL(wl_acquire)
#define wl_release LL_BUILD_SYMBOL(wl_release)
#define wl_acquire_shared LL_BUILD_SYMBOL(wl_acquire_shared)
#define wl_release_shared LL_BUILD_SYMBOL(wl_release_shared)
#define wl_overlap LL_BUILD_SYMBOL(wl_overlap)

uint32_t wl_index(const struct wl_thread *t); /* 0 .. threads - 1 */
bool wl_more(struct wl_thread *t);            /* false: leave run() */
void wl_acquire(struct wl_thread *t, uint32_t lock);
void wl_release(struct wl_thread *t, uint32_t lock);
void wl_acquire_shared(struct wl_thread *t, uint32_t lock);
void wl_release_shared(struct wl_thread *t, uint32_t lock);
void wl_overlap(struct wl_thread *t); /* the section met somebody else inside */
