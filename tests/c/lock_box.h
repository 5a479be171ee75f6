/* SPDX-License-Identifier: MIT */
/* lock_box.h - a lock instance with its nodes, for C programs that call a lock's hooks themselves. */
#pragma once

#include <stdlib.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/params.h"
#include "core/registry.h"
#include "core/topology.h"

#define BOX_NODES 8u

struct lock_box {
    const struct ll_lock_desc *desc;
    void *lock, *node[BOX_NODES];
};

static inline void *box_memory(uint32_t size)
{
    void *p = ll_zeroed(size);

    LL_ASSERT(p);
    return p;
}

static inline struct lock_box box_make(const struct ll_lock_desc *desc)
{
    struct lock_box box = {.desc = desc, .lock = box_memory(desc->lock_size)};
    const struct ll_topology *topo;

    LL_ASSERT(ll_topology_get(&topo, NULL) == 0);
    if (desc->params)
        ll_params_default(box.lock, desc->params);
    if (desc->init)
        LL_ASSERT(desc->init(box.lock, topo) == 0);
    for (unsigned i = 0; i < BOX_NODES; i++) {
        box.node[i] = box_memory(desc->node_size);
        if (desc->node_init)
            desc->node_init(box.lock, box.node[i]);
    }
    return box;
}

static inline void box_free(struct lock_box *box)
{
    if (box->desc->fini)
        box->desc->fini(box->lock);
    for (unsigned i = 0; i < BOX_NODES; i++)
        free(box->node[i]);
    free(box->lock);
}
