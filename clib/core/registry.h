/* SPDX-License-Identifier: MIT */
/* registry.h - locks and workloads by id, for each engine build. */
#pragma once

#include "core/client.h"
#include "core/lock.h"
#include "core/workload.h"

enum ll_variant {
    LL_VARIANT_NATIVE,
    LL_VARIANT_BARE,
    LL_VARIANT_PROBED,
    LL_VARIANT_VIRTUAL,
    LL_VARIANTS
};

/* NULL if there is no such id or this build lacks it (host/ck-mcs without libck, any
 * host lock in the virtual build). */
const struct ll_lock_desc *ll_lock_find(const char *id, enum ll_variant variant);
const struct ll_workload_desc *ll_workload_find(const char *id, enum ll_variant variant);
const struct ll_client_desc *ll_client_find(const char *id, enum ll_variant variant);

/* A lock as a number, which is what a parameter of type LL_PARAM_LOCK stores: 0 if this build has no
 * such lock. ll_lock_at is NULL for 0 and where that build lacks it. */
uint32_t ll_lock_number(const char *id);
const struct ll_lock_desc *ll_lock_at(uint32_t number, enum ll_variant variant);
/* For ll_nearest: the id of the i-th lock. */
const char *ll_lock_id_at(size_t i, const void *unused);

/* Lists a lock that stands in no .def file, e.g. one broken on purpose by a test; variants may be NULL.
 * Not thread-safe: before any run. 0, -EINVAL (no native variant), -ENOSPC (16 at most). */
int ll_registry_add(const struct ll_lock_desc *const variant[LL_VARIANTS]);

/* "family/name" into buf; returns buf. */
const char *ll_lock_id(const struct ll_lock_desc *desc, char *buf, size_t size);
