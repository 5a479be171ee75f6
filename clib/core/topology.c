/* SPDX-License-Identifier: MIT */
/* topology.c - what hwloc knows of the host, reduced to one table of CPUs. */
#include "core/topology.h"

#include <hwloc.h>
#ifdef __linux__
#include <hwloc/linux.h>
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"

/* hwloc may bind the calling thread to each CPU in turn to look at it; not in a foreign program.
 * What we do not read is left out: it costs time. */
#if HWLOC_API_VERSION >= 0x00020800
#define LOAD_FLAGS                                                                                 \
    (HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |                  \
     HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS)
#elif HWLOC_API_VERSION >= 0x00020500
#define LOAD_FLAGS HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING
#else
#define LOAD_FLAGS 0
#endif

static uint32_t ancestor(hwloc_topology_t t, hwloc_obj_t pu, hwloc_obj_type_t type, uint32_t none)
{
    hwloc_obj_t obj = hwloc_get_ancestor_obj_by_type(t, type, pu);

    return obj ? obj->logical_index : none;
}

/* The first node that is local to the CPU; a second one (fast memory, say) has no CPUs of its own. */
static uint32_t node_of(hwloc_topology_t t, hwloc_obj_t pu)
{
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)))
        if (hwloc_bitmap_isset(node->cpuset, pu->os_index))
            return node->logical_index;
    return 0;
}

static uint32_t cache_group(hwloc_topology_t t, hwloc_obj_t pu)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_PACKAGE};

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        uint32_t group = ancestor(t, pu, types[i], UINT32_MAX);
        if (group != UINT32_MAX)
            return group;
    }
    return 0;
}

static uint32_t count_nodes(const struct ll_topology *topo)
{
    uint32_t n = 0;

    for (uint32_t i = 0, j; i < topo->n_cpus; i++) {
        for (j = 0; j < i && topo->cpu[j].node != topo->cpu[i].node; j++)
            ;
        n += j == i;
    }
    return n;
}

/* Copies the CPUs of `t` that are in `allowed` (NULL: all). */
static int copy_cpus(hwloc_topology_t t, hwloc_const_cpuset_t allowed, struct ll_topology *out)
{
    hwloc_obj_t pu = NULL;
    int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);

    *out = (struct ll_topology){0};
    if (n <= 0)
        return -ENOENT;
    out->cpu = calloc((size_t)n, sizeof(*out->cpu));
    if (!out->cpu)
        return -ENOMEM;
    while ((pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu))) {
        if (allowed && !hwloc_bitmap_isset(allowed, pu->os_index))
            continue;
        out->cpu[out->n_cpus++] = (struct ll_cpu){
            .os_index = pu->os_index,
            .core = ancestor(t, pu, HWLOC_OBJ_CORE, pu->logical_index),
            .package = ancestor(t, pu, HWLOC_OBJ_PACKAGE, 0),
            .node = node_of(t, pu),
            .l3 = cache_group(t, pu),
        };
    }
    if (out->n_cpus == 0) {
        ll_topology_free(out);
        return -ENOENT;
    }
    out->n_nodes = count_nodes(out);
    return 0;
}

/* The affinity of the main thread, not of the caller, who may be a pinned worker. Fills `set`. */
static int process_cpus(hwloc_topology_t t, hwloc_cpuset_t set)
{
#ifdef __linux__
    if (hwloc_linux_get_tid_cpubind(t, getpid(), set) == 0)
        return 0;
#endif
    return hwloc_get_cpubind(t, set, HWLOC_CPUBIND_THREAD);
}

static int load(const char *synthetic, struct ll_topology *out, struct ll_error *err)
{
    hwloc_topology_t t = NULL;
    hwloc_cpuset_t allowed = NULL;
    int rc = -ENOMEM;

    if (hwloc_topology_init(&t) != 0)
        return ll_fail(err, rc, "", "hwloc could not be initialised");
    if (synthetic && hwloc_topology_set_synthetic(t, synthetic) != 0) {
        rc = ll_fail(err, -EINVAL, "", "hwloc does not understand the machine '%s'", synthetic);
        goto out;
    }
    if (hwloc_topology_set_flags(t, LOAD_FLAGS) != 0 || hwloc_topology_load(t) != 0) {
        rc = ll_fail(err, -ENOTSUP, "", "hwloc cannot read the topology of this host");
        goto out;
    }
    if (!synthetic) {
        if (!hwloc_topology_is_thissystem(t)) {
            rc = ll_fail(err, -ENOTSUP, "",
                         "hwloc describes another machine than this one; unset HWLOC_XMLFILE, "
                         "HWLOC_SYNTHETIC, HWLOC_FSROOT and HWLOC_THISSYSTEM");
            goto out;
        }
        allowed = hwloc_bitmap_alloc();
        if (!allowed || process_cpus(t, allowed) != 0) {
            rc = ll_fail(err, -ENOMEM, "", "the CPU affinity of this process cannot be read");
            goto out;
        }
    }
    rc = copy_cpus(t, allowed, out);
    if (rc)
        ll_fail(err, rc, "", "no CPU that this process may use was found");
out:
    hwloc_bitmap_free(allowed);
    hwloc_topology_destroy(t);
    return rc;
}

int ll_topology_synthetic(const char *description, struct ll_topology *out, struct ll_error *err)
{
    return load(description, out, err);
}

void ll_topology_free(struct ll_topology *topo)
{
    free(topo->cpu);
    *topo = (struct ll_topology){0};
}

int ll_topology_get(const struct ll_topology **out, struct ll_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct ll_topology host;
    int rc = 0;

    pthread_mutex_lock(&mutex);
    if (!host.cpu)
        rc = load(NULL, &host, err);
    pthread_mutex_unlock(&mutex);
    *out = rc ? NULL : &host;
    return rc;
}

int ll_cpus(struct ll_cpu *out, size_t max, struct ll_error *err)
{
    const struct ll_topology *topo;
    int rc = ll_topology_get(&topo, err);

    if (rc)
        return rc;
    if (max > topo->n_cpus)
        max = topo->n_cpus;
    if (max)
        memcpy(out, topo->cpu, max * sizeof(*out));
    return (int)topo->n_cpus;
}
