/* SPDX-License-Identifier: MIT */
/* client_setup.h - memory for one execution of a client, for tests. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "core/memory.h"
#include "core/params.h"

static inline void *zeroed_pair(size_t size)
{
    void *p = ll_zeroed(size);

    if (!p)
        abort();
    return p;
}

/* The parameters' values for the checker: short budgets. */
static inline void set_check_params(void *base, const struct ll_param *params)
{
    for (const struct ll_param *p = params; p && p->name; p++) {
        uint32_t v = (uint32_t)(p->check != 0 ? p->check : p->def);
        if (p->type == LL_PARAM_REAL)
            memcpy((char *)base + p->offset, p->check != 0 ? &p->check : &p->def, sizeof(double));
        else
            memcpy((char *)base + p->offset, &v, sizeof(v));
    }
}

static inline struct ll_client *client_new(const struct ll_lock_desc *lock, uint32_t threads,
                                           uint32_t turns)
{
    struct ll_client *c = zeroed_pair(sizeof(*c));

    c->lock = lock;
    c->threads = threads;
    c->turns = turns;
    c->instance = zeroed_pair(lock->lock_size);
    set_check_params(c->instance, lock->params);
    if (lock->init && lock->init(c->instance, NULL))
        abort();
    for (uint32_t i = 0; i < threads; i++) {
        c->node[i] = zeroed_pair(lock->node_size);
        if (lock->node_init)
            lock->node_init(c->instance, c->node[i]);
    }
    return c;
}

static inline void client_free(struct ll_client *c)
{
    if (c->lock->fini)
        c->lock->fini(c->instance);
    for (uint32_t i = 0; i < c->threads; i++)
        free(c->node[i]);
    free(c->instance);
    free(c);
}

static inline bool client_applies(const struct ll_client_desc *client,
                                  const struct ll_lock_desc *lock)
{
    return lock->kind >= client->kind && (!client->needs_try || lock->ops.try_acquire);
}
