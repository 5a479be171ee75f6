/* SPDX-License-Identifier: MIT */
/* registry.c - the tables made from locks.def, workloads.def and clients.def.
 *
 * The descriptors are weak: what a build does not compile (host locks in the virtual build, ck-*
 * without libck) is simply absent from its table.
 */
#include "core/registry.h"

#include <stdio.h>
#include <string.h>

#define DECLARE(kind, symbol)                                                                      \
    extern const struct ll_##kind##_desc ll_##kind##_##symbol##_native __attribute__((weak));      \
    extern const struct ll_##kind##_desc ll_##kind##_##symbol##_bare __attribute__((weak));        \
    extern const struct ll_##kind##_desc ll_##kind##_##symbol##_probed __attribute__((weak));      \
    extern const struct ll_##kind##_desc ll_##kind##_##symbol##_virtual __attribute__((weak));
#define ROW(kind, symbol)                                                                          \
    {&ll_##kind##_##symbol##_native, &ll_##kind##_##symbol##_bare, &ll_##kind##_##symbol##_probed, \
     &ll_##kind##_##symbol##_virtual},

#define LL_LOCK_ENTRY(symbol) DECLARE(lock, symbol)
#include "locks/locks.def"
#undef LL_LOCK_ENTRY
#define LL_WORKLOAD_ENTRY(symbol) DECLARE(workload, symbol)
#include "workloads/workloads.def"
#undef LL_WORKLOAD_ENTRY
#define LL_CLIENT_ENTRY(symbol) DECLARE(client, symbol)
#include "clients/clients.def"
#undef LL_CLIENT_ENTRY

#define LL_LOCK_ENTRY(symbol) ROW(lock, symbol)
static const struct ll_lock_desc *const locks[][LL_VARIANTS] = {
#include "locks/locks.def"
};
#undef LL_LOCK_ENTRY
#define LL_WORKLOAD_ENTRY(symbol) ROW(workload, symbol)
static const struct ll_workload_desc *const workloads[][LL_VARIANTS] = {
#include "workloads/workloads.def"
};
#undef LL_WORKLOAD_ENTRY
#define LL_CLIENT_ENTRY(symbol) ROW(client, symbol)
static const struct ll_client_desc *const clients[][LL_VARIANTS] = {
#include "clients/clients.def"
};
#undef LL_CLIENT_ENTRY

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define ID_SIZE 64
#define ADDED_MAX 16

static const struct ll_lock_desc *added[ADDED_MAX][LL_VARIANTS];
static size_t n_added;

static const struct ll_field no_fields[] = {LL_FIELD_END};
static const struct ll_param no_params[] = {LL_PARAM_END};
static const struct ll_expect no_expect[] = {LL_EXPECT_END};

const char *ll_kind_name(enum ll_kind kind)
{
    switch (kind) {
    case LL_KIND_EXCLUSIVE: return "exclusive";
    case LL_KIND_SHARED: return "shared";
    case LL_KIND_WW: return "ww";
    case LL_KIND_COUNT: break;
    }
    return "unknown";
}

const char *ll_lock_id(const struct ll_lock_desc *desc, char *buf, size_t size)
{
    snprintf(buf, size, "%s/%s", desc->family, desc->name);
    return buf;
}

/* Row of the table, those of the .def file first; NULL at the end. */
static const struct ll_lock_desc *const *lock_row(size_t row)
{
    if (row < COUNT(locks))
        return locks[row];
    return row - COUNT(locks) < n_added ? added[row - COUNT(locks)] : NULL;
}

int ll_registry_add(const struct ll_lock_desc *const variant[LL_VARIANTS])
{
    if (!variant[LL_VARIANT_NATIVE])
        return -EINVAL;
    if (n_added == ADDED_MAX)
        return -ENOSPC;
    memcpy(added[n_added++], variant, sizeof(added[0]));
    return 0;
}

const struct ll_lock_desc *ll_lock_find(const char *id, enum ll_variant variant)
{
    const struct ll_lock_desc *const *row;
    char buf[ID_SIZE];

    for (size_t i = 0; (row = lock_row(i)); i++)
        if (row[variant] && !strcmp(ll_lock_id(row[variant], buf, sizeof(buf)), id))
            return row[variant];
    return NULL;
}

uint32_t ll_lock_number(const char *id)
{
    const struct ll_lock_desc *const *row;
    char buf[ID_SIZE];

    for (uint32_t i = 0; (row = lock_row(i)); i++)
        if (row[LL_VARIANT_NATIVE] &&
            !strcmp(ll_lock_id(row[LL_VARIANT_NATIVE], buf, sizeof(buf)), id))
            return i + 1;
    return 0;
}

const struct ll_lock_desc *ll_lock_at(uint32_t number, enum ll_variant variant)
{
    const struct ll_lock_desc *const *row = number ? lock_row(number - 1) : NULL;

    return row ? row[variant] : NULL;
}

const struct ll_workload_desc *ll_workload_find(const char *id, enum ll_variant variant)
{
    for (size_t i = 0; i < COUNT(workloads); i++)
        if (workloads[i][variant] && !strcmp(workloads[i][variant]->name, id))
            return workloads[i][variant];
    return NULL;
}

const struct ll_client_desc *ll_client_find(const char *id, enum ll_variant variant)
{
    for (size_t i = 0; i < COUNT(clients); i++)
        if (clients[i][variant] && !strcmp(clients[i][variant]->name, id))
            return clients[i][variant];
    return NULL;
}

/* Row of the i-th lock that this build has; its table's end if there is none. */
static size_t nth_lock(size_t i)
{
    const struct ll_lock_desc *const *row;
    size_t n = 0;

    for (; (row = lock_row(n)); n++)
        if (row[LL_VARIANT_NATIVE] && i-- == 0)
            break;
    return n;
}

size_t ll_lock_count(void)
{
    size_t n = 0;

    while (lock_row(nth_lock(n)))
        n++;
    return n;
}

int ll_lock_get(size_t i, struct ll_lock_info *out)
{
    static char ids[COUNT(locks) + ADDED_MAX][ID_SIZE]; /* the same bytes whoever writes them */
    size_t row = nth_lock(i);
    const struct ll_lock_desc *d;

    if (!lock_row(row))
        return -ENOENT;
    d = lock_row(row)[LL_VARIANT_NATIVE];
    *out = (struct ll_lock_info){
        .size = sizeof(*out),
        .version = LL_ABI,
        .id = ll_lock_id(d, ids[row], ID_SIZE),
        .name = d->name,
        .family = d->family,
        .summary = d->summary,
        .origin = d->origin,
        .kind = d->kind,
        .claims = d->claims,
        /* the simulator, which will run the virtual build as the checker does, is not here yet */
        .engines = LL_ENGINE_NATIVE | (lock_row(row)[LL_VARIANT_VIRTUAL] ? LL_ENGINE_CHECK : 0),
        .lock_size = d->lock_size,
        .node_size = d->node_size,
        .has_try = d->ops.try_acquire != NULL,
        .has_until = d->ops.acquire_until != NULL,
        .lock_fields = d->lock_fields ? d->lock_fields : no_fields,
        .node_fields = d->node_fields ? d->node_fields : no_fields,
        .params = d->params ? d->params : no_params,
        .expect = d->expect ? d->expect : no_expect,
    };
    return 0;
}

const char *ll_lock_id_at(size_t i, const void *unused)
{
    static __thread struct ll_lock_info info;

    LL_UNUSED(unused);
    return ll_lock_get(i, &info) ? NULL : info.id;
}

size_t ll_workload_count(void)
{
    return COUNT(workloads);
}

int ll_workload_get(size_t i, struct ll_workload_info *out)
{
    const struct ll_workload_desc *d;

    if (i >= COUNT(workloads))
        return -ENOENT;
    d = workloads[i][LL_VARIANT_NATIVE];
    *out = (struct ll_workload_info){
        .size = sizeof(*out),
        .version = LL_ABI,
        .id = d->name,
        .summary = d->summary,
        .origin = d->origin,
        .params = d->params ? d->params : no_params,
    };
    return 0;
}

int ll_client_get(size_t i, struct ll_client_info *out)
{
    const struct ll_client_desc *d = i < COUNT(clients) ? clients[i][LL_VARIANT_NATIVE] : NULL;

    if (!d)
        return -ENOENT;
    *out = (struct ll_client_info){.size = sizeof(*out),
                                   .version = LL_ABI,
                                   .id = d->name,
                                   .summary = d->summary,
                                   .kind = d->kind,
                                   .needs_try = d->needs_try,
                                   .needs_until = d->needs_until,

                                   .ends_early = d->first_relax_ends};
    return 0;
}
