/* SPDX-License-Identifier: MIT */
/* placement.c - which thread runs on which CPU.
 *
 *   compact       neighbours first: both threads of a core, then the cores of a cache, ...
 *   scatter       as far apart as can be: one thread a package, then a node, a cache, a core
 *   interleave:K  every K-th CPU of the compact order, then every K-th from the next one on
 *   nodes:LIST    the CPUs of these NUMA nodes (logical indices), node by node as listed
 *   cpus:LIST     these CPUs (indices of the operating system) in the order given; one may be named
 *                 more than once
 *
 * Each yields an order of CPUs; thread i runs on the (i mod length)-th.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/topology.h"

struct order {
    uint32_t n, max;
    uint32_t *cpu; /* os indices */
};

static int push(struct order *o, uint32_t os_index)
{
    if (o->n == o->max) {
        uint32_t max = o->max ? 2 * o->max : 64;
        uint32_t *cpu = realloc(o->cpu, max * sizeof(*cpu));
        if (!cpu)
            return -ENOMEM;
        o->cpu = cpu;
        o->max = max;
    }
    o->cpu[o->n++] = os_index;
    return 0;
}

static int interleave(const struct ll_topology *topo, uint32_t stride, struct order *o)
{
    int rc = 0;

    for (uint32_t first = 0; first < stride && !rc; first++)
        for (uint32_t c = first; c < topo->n_cpus && !rc; c += stride)
            rc = push(o, topo->cpu[c].os_index);
    return rc;
}

/* ---- scatter ---- */

static uint32_t key_of(const struct ll_cpu *cpu, unsigned level)
{
    switch (level) {
    case 0: return cpu->package;
    case 1: return cpu->node;
    case 2: return cpu->l3;
    default: return cpu->core;
    }
}
#define SCATTER_LEVELS 4

/* End of the group of equal keys that begins at `start`. */
static uint32_t group_end(const struct ll_cpu *cpu, uint32_t start, uint32_t n, unsigned level)
{
    uint32_t end = start + 1;

    while (end < n && key_of(&cpu[end], level) == key_of(&cpu[start], level))
        end++;
    return end;
}

/* Reorders cpu[0..n), whose groups of one key stand together: each group in itself, then the first
 * of every group, the second of every group, ... `spare` has room for n. */
static void scatter(struct ll_cpu *cpu, struct ll_cpu *spare, uint32_t n, unsigned level)
{
    uint32_t taken = 0;

    if (level == SCATTER_LEVELS || n < 2)
        return;
    for (uint32_t start = 0, end; start < n; start = end) {
        end = group_end(cpu, start, n, level);
        scatter(cpu + start, spare, end - start, level + 1);
    }
    /* The recursion reorders within a group of this level, so the bounds can be found again. */
    for (uint32_t turn = 0; taken < n; turn++) {
        for (uint32_t start = 0, end; start < n; start = end) {
            end = group_end(cpu, start, n, level);
            if (start + turn < end)
                spare[taken++] = cpu[start + turn];
        }
    }
    memcpy(cpu, spare, n * sizeof(*cpu));
}

static int order_scatter(const struct ll_topology *topo, struct order *o)
{
    uint32_t n = topo->n_cpus;
    struct ll_cpu *cpu = malloc(2 * (size_t)n * sizeof(*cpu));
    int rc = 0;

    if (!cpu)
        return -ENOMEM;
    memcpy(cpu, topo->cpu, n * sizeof(*cpu));
    scatter(cpu, cpu + n, n, 0);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = push(o, cpu[i].os_index);
    free(cpu);
    return rc;
}

/* ---- lists ---- */

/* What is there to choose from, as "0-3,8" (cut short with "..."). `nodes`: nodes, else CPUs. */
static void describe(const struct ll_topology *topo, bool nodes, char *text, size_t size)
{
    uint32_t top = 0;
    size_t used = 0;

    for (uint32_t i = 0; i < topo->n_cpus; i++) {
        uint32_t id = nodes ? topo->cpu[i].node : topo->cpu[i].os_index;
        if (id > top)
            top = id;
    }
    text[0] = '\0';
    for (uint32_t id = 0, run = 0; id <= top + 1 && used + 28 < size; id++) {
        bool there = false;
        for (uint32_t i = 0; i < topo->n_cpus && !there; i++)
            there = (nodes ? topo->cpu[i].node : topo->cpu[i].os_index) == id;
        if (there) {
            run++;
        } else if (run) {
            used += (size_t)snprintf(text + used, size - used, used ? ",%u" : "%u", id - run);
            if (run > 1)
                used += (size_t)snprintf(text + used, size - used, "-%u", id - 1);
            run = 0;
            if (used + 28 >= size && id < top)
                snprintf(text + used, size - used, ",...");
        }
    }
}

static int push_id(const struct ll_topology *topo, bool nodes, uint32_t id, struct order *o,
                   struct ll_error *err)
{
    uint32_t before = o->n;
    char allowed[160];

    for (uint32_t i = 0; i < topo->n_cpus; i++) {
        uint32_t mine = nodes ? topo->cpu[i].node : topo->cpu[i].os_index;
        if (mine == id && push(o, topo->cpu[i].os_index))
            return -ENOMEM;
    }
    if (o->n > before)
        return 0;
    describe(topo, nodes, allowed, sizeof(allowed));
    return ll_fail(err, -ERANGE, "place", "%s %u is not available to this process, %s %s",
                   nodes ? "node" : "CPU", id, allowed, strpbrk(allowed, ",-") ? "are" : "is");
}

/* Decimal number at *p, which is moved behind it; false if there is none or it is absurd. */
static bool number(const char **p, uint32_t *value)
{
    uint32_t v = 0;
    const char *s = *p;

    for (; *s >= '0' && *s <= '9'; s++) {
        if (v > 1000000)
            return false;
        v = 10 * v + (uint32_t)(*s - '0');
    }
    if (s == *p)
        return false;
    *p = s;
    *value = v;
    return true;
}

static int order_list(const struct ll_topology *topo, bool nodes, const char *place,
                      const char *list, struct order *o, struct ll_error *err)
{
    const char *p = list;

    for (;;) {
        uint32_t from, to;
        if (!number(&p, &from))
            break;
        to = from;
        if (*p == '-') {
            p++;
            if (!number(&p, &to) || to < from)
                break;
        }
        for (uint32_t id = from; id <= to; id++) {
            int rc = push_id(topo, nodes, id, o, err);
            if (rc)
                return rc;
        }
        if (*p == '\0')
            return 0;
        if (*p++ != ',')
            break;
    }
    return ll_fail(err, -EINVAL, "place", "'%.64s' is not a placement, %s takes a list like 0,2-3",
                   place, nodes ? "nodes:" : "cpus:");
}

static int order_interleave(const struct ll_topology *topo, const char *place, const char *text,
                            struct order *o, struct ll_error *err)
{
    uint32_t stride;

    if (!number(&text, &stride) || *text)
        return ll_fail(err, -EINVAL, "place",
                       "'%.64s' is not a placement, interleave: takes a whole number", place);
    if (stride < 1 || stride > topo->n_cpus)
        return ll_fail(err, -ERANGE, "place", "interleave:%u asked, 1 to %u (CPUs) allowed", stride,
                       topo->n_cpus);
    return interleave(topo, stride, o);
}

static const char *place_name(size_t i, const void *ctx)
{
    static const char *const names[] = {"compact", "scatter", "interleave:", "nodes:", "cpus:"};

    (void)ctx;
    return i < sizeof(names) / sizeof(*names) ? names[i] : NULL;
}

static int order_by(const struct ll_topology *topo, const char *place, struct order *o,
                    struct ll_error *err)
{
    const char *near, *rest = strchr(place, ':');
    size_t head = rest ? (size_t)(rest - place) : 0;

    if (strcmp(place, "compact") == 0)
        return interleave(topo, 1, o);
    if (strcmp(place, "scatter") == 0)
        return order_scatter(topo, o);
    if (head == 10 && memcmp(place, "interleave", head) == 0)
        return order_interleave(topo, place, rest + 1, o, err);
    if (head == 5 && memcmp(place, "nodes", head) == 0)
        return order_list(topo, true, place, rest + 1, o, err);
    if (head == 4 && memcmp(place, "cpus", head) == 0)
        return order_list(topo, false, place, rest + 1, o, err);
    near = ll_nearest(place, place_name, NULL);
    return ll_fail(err, -EINVAL, "place",
                   "'%.64s' is not a placement, compact, scatter, interleave:K, nodes:LIST and "
                   "cpus:LIST are%s%s%s",
                   place, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int distinct(const uint32_t *cpus, uint32_t n)
{
    int count = 0;

    for (uint32_t i = 0, j; i < n; i++) {
        for (j = 0; j < i && cpus[j] != cpus[i]; j++)
            ;
        count += j == i;
    }
    return count;
}

int ll_place_on(const struct ll_topology *topo, const char *place, uint32_t threads, uint32_t *cpus,
                struct ll_error *err)
{
    struct order o = {0};
    int rc;

    if (threads < 1 || threads > LL_MAX_THREADS)
        return ll_fail(err, -ERANGE, "threads", "%u asked, 1 to %u allowed", threads,
                       LL_MAX_THREADS);
    if (!place)
        return ll_fail(err, -EINVAL, "place", "no placement given");
    rc = order_by(topo, place, &o, err);
    if (rc == -ENOMEM)
        ll_fail(err, rc, "place", "out of memory");
    if (!rc) {
        for (uint32_t i = 0; i < threads; i++)
            cpus[i] = o.cpu[i % o.n];
        rc = distinct(cpus, threads);
    }
    free(o.cpu);
    return rc;
}

int ll_place(const char *place, uint32_t threads, uint32_t *cpus, struct ll_error *err)
{
    const struct ll_topology *topo;
    int rc = ll_topology_get(&topo, err);

    return rc ? rc : ll_place_on(topo, place, threads, cpus, err);
}
