/* SPDX-License-Identifier: MIT */
/* guards.c - see guards.h. */
#include "run/guards.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "engine/own.h"
#include "run/crew.h"

static bool has_waiters(const void *address)
{
    const struct guard *g = address;

    return eng_native_holds(g->desc->waiters(g->guarded));
}

/* All ww locks of a run share their contexts: they are one class, named after the first group. */
static const char *class_name(const struct run_plan *p, const struct run_group *g,
                              enum ll_variant variant)
{
    for (uint32_t i = 0; g->lock[variant]->kind == LL_KIND_WW; i++)
        if (p->group[i].lock[variant]->kind == LL_KIND_WW)
            return p->group[i].name;
    return g->name;
}

static int make_guard(struct crew *c, uint32_t k, struct ll_error *err)
{
    struct guards *gs = &c->guards;
    struct guard *g = &gs->guard[k];
    const struct run_group *group = run_plan_group(c->plan, k);
    uint32_t id;
    int ret;

    g->desc = group->lock[c->variant[0]];
    g->guarded = c->lock[k];
    ret = ll_validator_class(gs->validator, class_name(c->plan, group, c->variant[0]),
                             ll_lock_traits(g->desc), &id, err);
    if (ret)
        return ret;
    if (g->desc->kind == LL_KIND_WW)
        gs->ww_class = id;
    return ll_validator_lock_init(gs->validator, &g->lock, id, 0, g,
                                  g->desc->waiters ? has_waiters : NULL, NULL, NULL);
}

int guards_make(struct crew *c, struct ll_error *err)
{
    struct guards *gs = &c->guards;
    int ret = 0;

    if (!gs->validator)
        return 0;
    gs->guard = ll_zeroed(c->plan->n_locks * sizeof(*gs->guard));
    gs->context = ll_zeroed(c->threads * sizeof(*gs->context));
    if (!gs->guard || !gs->context)
        return -ENOMEM;
    for (uint32_t k = 0; k < c->plan->n_locks && !ret; k++)
        ret = make_guard(c, k, err);
    for (uint32_t i = 0; i < c->threads && !ret; i++) {
        for (uint32_t k = 0; k < c->plan->n_locks; k++)
            c->member[i].slot[0][k].guard = &gs->guard[k].lock;
        c->member[i].wl[0]->guard_context = &gs->context[i];
        c->member[i].wl[0]->guard_ww_class = gs->ww_class;
    }
    return ret;
}

void guards_free(struct crew *c)
{
    struct guards *gs = &c->guards;

    for (uint32_t k = 0; gs->guard && k < c->plan->n_locks; k++)
        if (gs->guard[k].lock.magic)
            ll_validator_lock_fini(&gs->guard[k].lock, NULL, NULL);
    free(gs->guard);
    free(gs->context);
}

static bool asleep(const void *arg)
{
    return eng_native_parked(arg);
}

int guards_enter(struct crew *c, uint32_t i, struct eng_thread *self)
{
    char name[24];

    if (!c->guards.validator)
        return 0;
    snprintf(name, sizeof(name), "thread %u", i);
    return ll_validator_thread_create(c->guards.validator, name, asleep, self,
                                      &c->member[i].wl[0]->validated);
}

void guards_leave(struct crew *c, uint32_t i, bool torn)
{
    struct ll_validator_thread *t = c->member[i].wl[0]->validated;

    if (!t)
        return;
    c->member[i].wl[0]->validated = NULL;
    if (torn)
        ll_validator_thread_abandon(t);
    else
        ll_validator_thread_end(t, NULL);
}
