/* SPDX-License-Identifier: MIT */
/* topology.h - the CPUs that this process may use, in topology order. */
#pragma once

#include "include/locklab.h"

struct ll_topology {
    uint32_t n_cpus;    /* at least 1 */
    uint32_t n_nodes;   /* distinct NUMA nodes among them */
    struct ll_cpu *cpu; /* [n_cpus] neighbours stand side by side: threads of a core, cores of a
                            cache, caches of a node */
};

/* The process's topology, read once and kept for its life: the CPUs of its main thread's affinity
 * mask and cpuset at that time. Returns 0, -ENOTSUP (hwloc was told to describe another machine),
 * -ENOENT (no CPU left) or -ENOMEM. */
int ll_topology_get(const struct ll_topology **out, struct ll_error *err);

/* A machine of hwloc's synthetic notation ("node:2 core:4 pu:2"), for tests; free with _free. */
int ll_topology_synthetic(const char *description, struct ll_topology *out, struct ll_error *err);
void ll_topology_free(struct ll_topology *topo);

/* ll_place on a given topology. */
int ll_place_on(const struct ll_topology *topo, const char *place, uint32_t threads, uint32_t *cpus,
                struct ll_error *err);
