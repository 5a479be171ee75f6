/* SPDX-License-Identifier: MIT */
/* client.h - the small programs with which a lock is judged, the same on every engine.
 *
 * A client is one file `clients/<id>.c`, one line in clients.def. `body` runs once in each of
 * `threads` threads; `verdict` runs when all have ended.
 */
#pragma once

#include "core/lock.h"

#define LL_CLIENT_MAX_THREADS 16u

enum ll_order { LL_ORDER_AB, LL_ORDER_BA, LL_ORDER_A, LL_ORDER_B }; /* in which locks are taken */

struct ll_client {                   /* one execution; the caller zeroes and fills the first part */
    const struct ll_lock_desc *lock; /* of the same engine build */
    uint32_t threads, turns;         /* turns: what each thread does, e.g. acquisitions */
    uint32_t writers;                /* shared mode: threads below this write */
    void *instance;                  /* the lock */
    void *node[LL_CLIENT_MAX_THREADS];
    /* contexts: `instance` is lock A, this is lock B */
    void *instance_b, *node_b[LL_CLIENT_MAX_THREADS];
    void *ww_class, *context[LL_CLIENT_MAX_THREADS];
    uint32_t orders; /* enum ll_order, two bits for each thread, the first one's lowest */
    /* what the clients keep: fields that the lock must protect */
    LL_OWN_LINE eng_plain(uint64_t) first;
    eng_plain(uint64_t) second; /* equal to `first` whenever nobody is inside */
    LL_OWN_LINE eng_u32 baton;  /* whose turn it is to come */
    LL_OWN_LINE eng_u32 bkl;    /* the big lock's word, where an engine gives it to the threads */
    LL_OWN_LINE uint64_t entered[LL_CLIENT_MAX_THREADS]; /* written by its thread alone */
    uint64_t torn[LL_CLIENT_MAX_THREADS];                /* first and second were seen to differ */
    uint64_t odd_answers[LL_CLIENT_MAX_THREADS];         /* of acquire_until */
};

static inline enum ll_order ll_order_of(uint32_t orders, uint32_t thread)
{
    return (enum ll_order)(orders >> 2 * thread & 3);
}

struct ll_client_desc {
    const char *name, *summary;
    enum ll_kind kind; /* the least that the lock must offer */
    bool needs_try, needs_until;
    bool first_relax_ends; /* checker: the first relax of a thread ends it, the run is incomplete */
    void (*body)(struct ll_client *c, uint32_t thread);
    const char *(*verdict)(const struct ll_client *c); /* NULL: right; else what is wrong */
};

#define LL_CLIENT(symbol) const struct ll_client_desc LL_BUILD_SYMBOL(ll_client_##symbol)
