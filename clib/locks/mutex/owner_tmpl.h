/* SPDX-License-Identifier: MIT */
/* owner_tmpl.h - the mutexes that spin on the owner, which differ in parameters alone. */
#pragma once

#include "locks/mutex/hooks_tmpl.h"
#include "locks/mutex/spin_tmpl.h"

static int contend(struct mutex *l, struct mutex_node *n, struct mutex_wait *w)
{
    return mutex_spin_then_sleep(l, n, w, policy);
}

static const struct mutex_policy policy = {.owned = true, .contend = contend};

static const struct ll_field node_fields[] = {MUTEX_NODE_FIELDS, MUTEX_SPIN_NODE_FIELDS,
                                              LL_FIELD_END};
