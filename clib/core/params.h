/* SPDX-License-Identifier: MIT */
/* params.h - parameters as text into the memory of a lock or workload. */
#pragma once

#include "core/error.h"

/* Writes every parameter's default to base + offset. */
void ll_params_default(void *base, const struct ll_param *params);

/* ... or its value for the checker: short budgets. */
void ll_params_for_check(void *base, const struct ll_param *params);

/* Sends each setting to the lock's or the workload's table: NAME is looked up in the lock, then in
 * the workload; in both is an error that asks for lock.NAME or workload.NAME. `lock` and `state` may
 * be NULL: the setting is judged only. 0, -ENOENT (nearest suggested), -EINVAL, -ERANGE. */
int ll_params_apply(const struct ll_setting *settings, size_t n, const struct ll_param *lock_params,
                    void *lock, const struct ll_param *workload_params, void *state,
                    struct ll_error *err);
