/* SPDX-License-Identifier: MIT */
/* plan.c - defaults, validation, own copies. */
#define _GNU_SOURCE
#include "run/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/params.h"
#include "engine/native_thread.h"
#include "metrics/perf.h"
#include "metrics/perf_switch.h"

void ll_plan_init(struct ll_plan *plan)
{
    *plan = (struct ll_plan){
        .size = sizeof(*plan),
        .version = LL_ABI,
        .workload = "critical-section",
        .place = "compact",
        .threads = 2,
        .repeat = 1,
        .seconds = 1.0,
        .warmup_s = 0.1,
        .seed = 1,
        .metrics = LL_METRICS_FULL,
        .build = LL_BUILD_INSTRUMENTED,
        .owner_run = LL_OWNER_COOP,
        .heartbeat_s = 50e-6,
        .resched = LL_RESCHED_BUDGET,
        .resched_budget_ns = ENG_SPIN_BUDGET_NS,
        .hz = 250,
        .watchdog_s = 10.0,
        .tick_s = 0.1,
    };
}

static const char *workload_at(size_t i, const void *ctx)
{
    static __thread struct ll_workload_info info;

    LL_UNUSED(ctx);
    return ll_workload_get(i, &info) ? NULL : info.id;
}

static int unknown(const char *field, const char *name,
                   const char *(*at)(size_t i, const void *ctx), struct ll_error *err)
{
    const char *near = ll_nearest(name, at, NULL);

    if (near)
        return ll_fail(err, -ENOENT, field, "there is no %s %.60s, did you mean %s", field, name,
                       near);
    return ll_fail(err, -ENOENT, field, "there is no %s %.60s", field, name);
}

/* NaN fails every comparison, so the test is written for what is allowed. */
static int in_range(const char *field, double value, double min, double max, struct ll_error *err)
{
    if (value >= min && value <= max)
        return 0;
    return ll_fail(err, -ERANGE, field, "%s %.9g is outside %.9g to %.9g", field, value, min, max);
}

static int check_numbers(const struct ll_plan *p, struct ll_error *err)
{
    int ret;

    if ((ret = in_range("threads", p->threads, 1, LL_MAX_THREADS, err)) ||
        (ret = in_range("repeat", p->repeat, 1, LL_MAX_REPEATS, err)) ||
        (ret = in_range("seconds", p->seconds, 0.001, 86400, err)) ||
        (ret = in_range("warmup_s", p->warmup_s, 0, 3600, err)) ||
        (ret = in_range("watchdog_s", p->watchdog_s, 0.05, 3600, err)) ||
        (ret = in_range("tick_s", p->tick_s, 0.01, 60, err)) ||
        (ret = in_range("heartbeat_s", p->heartbeat_s, 1e-6, 10, err)) ||
        (ret = in_range("resched_budget_ns", (double)p->resched_budget_ns, 1, 1e10, err)) ||
        (ret = in_range("hz", p->hz, 1, 1000, err)) ||
        (ret = in_range("perf", (double)p->n_perf, 0, LL_MAX_PERF, err)))
        return ret;
    if (p->metrics != LL_METRICS_EVENTS && p->metrics != LL_METRICS_FULL)
        return ll_fail(err, -EINVAL, "metrics", "metrics %d is neither events nor full",
                       (int)p->metrics);
    if ((unsigned)p->build > LL_BUILD_PROBED || (unsigned)p->owner_run > LL_OWNER_SAMPLE ||
        (unsigned)p->resched > LL_RESCHED_NEVER)
        return ll_fail(err, -EINVAL, "build", "unknown build, owner_run or resched");
    if (p->validate && p->build == LL_BUILD_BARE)
        return ll_fail(err, -ENOTSUP, "validate",
                       "the bare build tells the validator nothing, instrumented and probed do");
    return 0;
}

static int check_perf(const struct ll_plan *p, struct ll_error *err)
{
    for (size_t i = 0; i < p->n_perf; i++) {
        struct ll_perf_probe probe;
        int ret = ll_perf_probe(p->perf[i], &probe, err);
        if (ret)
            return ret;
    }
    return 0;
}

static int look_up(const struct ll_plan *p, struct run_plan *r, struct ll_error *err)
{
    if (!p->lock)
        return ll_fail(err, -EINVAL, "lock", "no lock given");
    for (int v = 0; v < LL_VARIANTS; v++) {
        r->lock[v] = ll_lock_find(p->lock, (enum ll_variant)v);
        r->workload[v] = ll_workload_find(p->workload, (enum ll_variant)v);
    }
    if (!r->lock[r->variant])
        return unknown("lock", p->lock, ll_lock_id_at, err);
    if (!r->workload[r->variant])
        return unknown("workload", p->workload, workload_at, err);
    return 0;
}

/* A companion must be there: its default may be a lock that this build has left out. */
static int check_companions(const struct ll_workload_desc *w, const void *state,
                            struct ll_error *err)
{
    for (const struct ll_param *p = w->params; p && p->name; p++) {
        uint32_t number;
        if (p->type != LL_PARAM_LOCK)
            continue;
        memcpy(&number, (const char *)state + p->offset, sizeof(number));
        if (!number)
            return ll_fail(err, -ENOTSUP, p->name, "%s=%s, the default, is not in this build",
                           p->name, p->lock);
    }
    return 0;
}

static int add_group(struct run_plan *r, const struct wl_group *from)
{
    struct run_group *g = &r->group[r->n_groups++];

    g->name = from->name;
    g->first = r->n_locks;
    g->count = from->count;
    g->counted = from->lock == WL_LOCK_UNDER_TEST;
    for (int v = 0; v < LL_VARIANTS; v++)
        g->lock[v] = g->counted ? r->lock[v] : ll_lock_at(from->lock, (enum ll_variant)v);
    r->n_locks += g->count;
    r->n_counted += g->counted ? g->count : 0;
    return g->lock[r->variant] ? 0 : -ENOTSUP;
}

static int make_groups(const struct ll_plan *p, struct run_plan *r, const void *state,
                       struct ll_error *err)
{
    const struct ll_workload_desc *w = r->workload[r->variant];
    struct wl_group group[WL_GROUPS] = {{"lock", 1, WL_LOCK_UNDER_TEST}};
    uint32_t n = w->groups ? w->groups(state, group) : 1;

    LL_ASSERT(n >= 1 && n <= WL_GROUPS);
    for (uint32_t i = 0; i < n; i++)
        if (group[i].count && add_group(r, &group[i]))
            return ll_fail(err, -ENOTSUP, "build", "the lock of group %s is not in this build",
                           group[i].name);
    if ((uint64_t)r->n_locks * p->threads > WL_MAX_SLOTS)
        return ll_fail(err, -ERANGE, "threads",
                       "%u locks for each of %u threads are more than the %u that are allowed",
                       r->n_locks, p->threads, WL_MAX_SLOTS);
    return 0;
}

/* Parameters are judged on throw-away memory: the workload's own check sees them in place. */
static int check_settings(const struct ll_plan *p, struct run_plan *r, struct ll_error *err)
{
    const struct ll_lock_desc *lock = r->lock[r->variant];
    const struct ll_workload_desc *workload = r->workload[r->variant];
    void *state = calloc(1, workload->state_size + 1);
    int ret;

    if (!state)
        return -ENOMEM;
    ll_params_default(state, workload->params);
    ret = ll_params_apply(p->settings, p->n_settings, lock->params, NULL, workload->params, state,
                          err);
    if (!ret)
        ret = check_companions(workload, state, err);
    if (!ret && workload->check)
        ret = workload->check(state, lock, err);
    if (!ret)
        ret = make_groups(p, r, state, err);
    free(state);
    return ret;
}

int run_plan_settle(const struct ll_plan *p, struct run_plan *r, struct ll_error *err)
{
    int ret = look_up(p, r, err);

    return ret ? ret : check_settings(p, r, err);
}

const struct run_group *run_plan_group(const struct run_plan *r, uint32_t k)
{
    const struct run_group *g = r->group;

    while (k >= g->first + g->count)
        g++;
    return g;
}

void run_plan_name(const struct run_plan *r, uint32_t k, char *buf, size_t size)
{
    const struct run_group *g = run_plan_group(r, k);

    if (g->count == 1)
        snprintf(buf, size, "%s", g->name);
    else
        snprintf(buf, size, "%s[%u]", g->name, k - g->first);
}

static int place(const struct ll_plan *p, struct run_plan *r, struct ll_error *err)
{
    int ret = ll_place(p->place, p->threads, r->cpus, err);

    if (ret < 0)
        return ret;
    r->n_cpus = 0;
    for (uint32_t i = 0; i < p->threads; i++) {
        uint32_t slot = 0;
        while (slot < r->n_cpus && r->matrix_cpus[slot] != r->cpus[i])
            slot++;
        if (slot == r->n_cpus)
            r->matrix_cpus[r->n_cpus++] = r->cpus[i];
        r->matrix_slot[i] = slot;
    }
    r->distinct[0] = r->matrix_cpus[0];
    r->distinct[1] = r->matrix_cpus[r->n_cpus > 1];
    return 0;
}

/* Own copies of every string, so that the caller may drop theirs. */
static int copy(const struct ll_plan *p, struct run_plan *r)
{
    struct ll_setting *settings = calloc(p->n_settings + 1, sizeof(*settings));
    const char **perf = calloc(p->n_perf + 1, sizeof(*perf));
    bool ok = settings && perf;

    r->user = *p;
    r->user.settings = settings;
    r->user.perf = perf;
    r->user.lock = strdup(p->lock);
    r->user.workload = strdup(p->workload);
    r->user.place = strdup(p->place);
    ok = ok && r->user.lock && r->user.workload && r->user.place;
    for (size_t i = 0; ok && i < p->n_settings; i++) {
        settings[i].name = strdup(p->settings[i].name);
        settings[i].value = strdup(p->settings[i].value);
        ok = settings[i].name && settings[i].value;
    }
    for (size_t i = 0; ok && i < p->n_perf; i++)
        ok = (perf[i] = strdup(p->perf[i])) != NULL;
    return ok ? 0 : -ENOMEM;
}

void run_plan_fini(struct run_plan *r)
{
    for (size_t i = 0; r->user.settings && i < r->user.n_settings; i++) {
        free((void *)r->user.settings[i].name);
        free((void *)r->user.settings[i].value);
    }
    for (size_t i = 0; r->user.perf && i < r->user.n_perf; i++)
        free((void *)r->user.perf[i]);
    free((void *)r->user.settings);
    free((void *)r->user.perf);
    free((void *)r->user.lock);
    free((void *)r->user.workload);
    free((void *)r->user.place);
    *r = (struct run_plan){0};
}

int run_plan_resolve(const struct ll_plan *p, struct run_plan *out, struct ll_error *err)
{
    static const enum ll_variant of_build[] = {
        [LL_BUILD_INSTRUMENTED] = LL_VARIANT_NATIVE,
        [LL_BUILD_BARE] = LL_VARIANT_BARE,
        [LL_BUILD_PROBED] = LL_VARIANT_PROBED,
    };
    struct run_plan *r = calloc(1, sizeof(*r));
    int ret;

    if (!r)
        return ll_fail(err, -ENOMEM, "", "out of memory");
    if (p->size != sizeof(*p) || p->version != LL_ABI) {
        ret = ll_fail(err, -EINVAL, "version", "plan of another version of the library");
        goto out;
    }
    if ((ret = check_numbers(p, err)))
        goto out;
    r->variant = of_build[p->build];
    r->nice = getpriority(PRIO_PROCESS, 0);
    if ((ret = run_plan_settle(p, r, err)) || (ret = place(p, r, err)) ||
        (ret = check_perf(p, err)) ||
        (ret = p->owner_run == LL_OWNER_SWITCH_REC ? mt_switch_probe(err) : 0) || !out)
        goto out;
    ret = copy(p, r);
    if (ret) {
        run_plan_fini(r);
        goto out;
    }
    *out = *r;
out:
    free(r);
    return ret;
}

void *run_plan_state(const struct run_plan *r)
{
    const struct ll_workload_desc *workload = r->workload[r->variant];
    void *state = calloc(1, workload->state_size + 1);

    if (!state)
        return NULL;
    ll_params_default(state, workload->params);
    ll_params_apply(r->user.settings, r->user.n_settings, r->lock[r->variant]->params, NULL,
                    workload->params, state, NULL); /* judged before */
    if (workload->prepare)
        workload->prepare(state);
    return state;
}

int ll_plan_validate(const struct ll_plan *plan, struct ll_error *err)
{
    return run_plan_resolve(plan, NULL, err);
}
