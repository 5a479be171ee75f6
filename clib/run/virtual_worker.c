/* SPDX-License-Identifier: MIT */
/* virtual_worker.c - the calls of which workloads are made, on fibers. */
#include "run/virtual_worker.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/params.h"
#include "engine/check/explore.h"

struct wl_thread {
    struct vt_workload *w;
    uint32_t index, left;
};

/* ---- the calls ---- */

static int64_t tell(const struct wl_thread *t, enum vt_call call, uint32_t lock, int64_t result)
{
    if (t->w->on_call)
        t->w->on_call(t->w->on_call_arg, t->index, call, lock, result);
    return result;
}

static const struct ll_lock_desc *desc_of(const struct wl_thread *t, uint32_t lock)
{
    return run_plan_group(&t->w->plan, lock)->lock[LL_VARIANT_VIRTUAL];
}

static void *node_of(const struct wl_thread *t, uint32_t lock)
{
    return t->w->node[t->index * t->w->plan.n_locks + lock];
}

uint32_t wl_index(const struct wl_thread *t)
{
    return t->index;
}

bool wl_more(struct wl_thread *t)
{
    tell(t, VT_TURN, 0, t->left > 0);
    return t->left-- > 0;
}

bool wl_has_shared(const struct wl_thread *t, uint32_t lock)
{
    return desc_of(t, lock)->kind == LL_KIND_SHARED;
}

static void acquired(struct wl_thread *t, enum vt_call call, uint32_t lock)
{
    t->w->acquisitions++;
    tell(t, call, lock, 0);
}

void LL_BUILD_SYMBOL(wl_acquire)(struct wl_thread *t, uint32_t lock)
{
    desc_of(t, lock)->ops.acquire(t->w->instance[lock], node_of(t, lock));
    acquired(t, VT_ACQUIRE, lock);
}

void LL_BUILD_SYMBOL(wl_acquire_nested)(struct wl_thread *t, uint32_t lock, uint32_t outer)
{
    LL_UNUSED(outer);
    LL_BUILD_SYMBOL(wl_acquire)(t, lock);
}

/* Told before it happens: what others do then comes after it in what is told. */
void LL_BUILD_SYMBOL(wl_release)(struct wl_thread *t, uint32_t lock)
{
    tell(t, VT_RELEASE, lock, 0);
    desc_of(t, lock)->ops.release(t->w->instance[lock], node_of(t, lock));
}

void LL_BUILD_SYMBOL(wl_acquire_shared)(struct wl_thread *t, uint32_t lock)
{
    desc_of(t, lock)->shared.acquire_shared(t->w->instance[lock], node_of(t, lock));
    acquired(t, VT_ACQUIRE_SHARED, lock);
}

void LL_BUILD_SYMBOL(wl_release_shared)(struct wl_thread *t, uint32_t lock)
{
    tell(t, VT_RELEASE_SHARED, lock, 0);
    desc_of(t, lock)->shared.release_shared(t->w->instance[lock], node_of(t, lock));
}

static const struct ll_ww_ops *ww_of(const struct wl_thread *t)
{
    return &t->w->plan.lock[LL_VARIANT_VIRTUAL]->ww;
}

void LL_BUILD_SYMBOL(wl_context_init)(struct wl_thread *t)
{
    ww_of(t)->context_init(t->w->context[t->index], t->w->ww_class);
    tell(t, VT_CONTEXT_INIT, 0, 0);
}

void LL_BUILD_SYMBOL(wl_context_done)(struct wl_thread *t)
{
    ww_of(t)->acquire_done(t->w->context[t->index]);
    tell(t, VT_CONTEXT_DONE, 0, 0);
}

void LL_BUILD_SYMBOL(wl_context_fini)(struct wl_thread *t)
{
    tell(t, VT_CONTEXT_FINI, 0, 0);
    ww_of(t)->context_fini(t->w->context[t->index]);
}

static const struct ll_ww_wait for_ever;

static int told_ww(struct wl_thread *t, enum vt_call call, uint32_t lock, int ret)
{
    t->w->acquisitions += ret == 0;
    return (int)tell(t, call, lock, ret);
}

int LL_BUILD_SYMBOL(wl_acquire_ww)(struct wl_thread *t, uint32_t lock)
{
    return told_ww(t, VT_ACQUIRE_WW, lock,
                   ww_of(t)->acquire(t->w->instance[lock], node_of(t, lock),
                                     t->w->context[t->index], &for_ever));
}

int LL_BUILD_SYMBOL(wl_acquire_ww_slow)(struct wl_thread *t, uint32_t lock)
{
    return told_ww(t, VT_ACQUIRE_WW_SLOW, lock,
                   ww_of(t)->acquire_slow(t->w->instance[lock], node_of(t, lock),
                                          t->w->context[t->index], &for_ever));
}

void wl_backs_off(struct wl_thread *t, uint32_t depth)
{
    tell(t, VT_BACKS_OFF, 0, depth);
}

void wl_holds_all(struct wl_thread *t, uint32_t restarts)
{
    tell(t, VT_HOLDS_ALL, 0, restarts);
}

bool wl_goes_on(const struct wl_thread *t)
{
    LL_UNUSED(t);
    return true;
}

void LL_BUILD_SYMBOL(wl_sleep)(struct wl_thread *t, uint64_t ns)
{
    vt_sleep(ns, NULL);
    tell(t, VT_SLEEP, 0, (int64_t)ns);
}

void wl_job(struct wl_thread *t)
{
    tell(t, VT_JOB, 0, 0);
}

void wl_overlap(struct wl_thread *t)
{
    t->w->overlap++;
    tell(t, VT_OVERLAP, 0, 0);
}

/* ---- the program ---- */

static uint32_t rounded(size_t size)
{
    return (uint32_t)((size + LL_PAIR - 1) / LL_PAIR * LL_PAIR);
}

/* The next object; NULL while there is no memory and the sizes are only added up. */
static void *place(const struct vt_workload *w, size_t *at, size_t size)
{
    char *object = w->memory ? w->memory + *at : NULL;

    *at += rounded(size);
    return object;
}

/* Lays the objects out behind each other and yields their size. */
static uint32_t lay_out(struct vt_workload *w, uint32_t lines)
{
    const struct ll_lock_desc *test = w->plan.lock[LL_VARIANT_VIRTUAL];
    uint32_t n = w->plan.n_locks;
    size_t at = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct ll_lock_desc *lock = run_plan_group(&w->plan, k)->lock[LL_VARIANT_VIRTUAL];
        w->instance[k] = place(w, &at, lock->lock_size);
        for (uint32_t i = 0; lock->node_size && i < w->fibers; i++)
            w->node[i * n + k] = place(w, &at, lock->node_size);
    }
    if (test->kind == LL_KIND_WW) {
        w->ww_class = place(w, &at, test->class_size);
        for (uint32_t i = 0; i < w->fibers; i++)
            w->context[i] = place(w, &at, test->context_size);
    }
    w->state = place(w, &at, w->plan.workload[LL_VARIANT_VIRTUAL]->state_size);
    w->data = place(w, &at, (size_t)lines * LL_PAIR);
    w->bkl = place(w, &at, sizeof(*w->bkl));
    return (uint32_t)at;
}

static int init_locks(struct vt_workload *w, struct ll_error *err)
{
    const struct run_plan *p = &w->plan;

    for (uint32_t k = 0; k < p->n_locks; k++) {
        const struct run_group *g = run_plan_group(p, k);
        const struct ll_lock_desc *lock = g->lock[LL_VARIANT_VIRTUAL];
        int ret = 0;
        ll_params_for_check(w->instance[k], lock->params);
        if (g->counted)
            ret = ll_params_apply(w->settings, w->n_settings, lock->params, w->instance[k],
                                  p->workload[LL_VARIANT_VIRTUAL]->params, NULL, err);
        if (!ret && lock->init)
            ret = lock->init(w->instance[k], NULL);
        if (ret)
            return ret;
        for (uint32_t i = 0; lock->node_init && lock->node_size && i < w->fibers; i++)
            lock->node_init(w->instance[k], w->node[i * p->n_locks + k]);
    }
    return 0;
}

int vt_workload_init(struct vt_workload *w, struct ll_error *err)
{
    struct ll_plan plan;
    const struct ll_workload_desc *workload;
    void *state;
    uint32_t lines;
    int ret;

    ll_plan_init(&plan);
    plan.lock = w->lock;
    plan.workload = w->id;
    plan.threads = w->fibers;
    plan.settings = w->settings;
    plan.n_settings = w->n_settings;
    w->plan.user = plan; /* the strings stay the caller's */
    w->plan.variant = LL_VARIANT_VIRTUAL;
    if ((ret = run_plan_settle(&plan, &w->plan, err)))
        return ret;
    workload = w->plan.workload[LL_VARIANT_VIRTUAL];
    if (!(state = run_plan_state(&w->plan)))
        return -ENOMEM;
    lines = workload->data_lines ? workload->data_lines(state) : 0;
    w->instance = calloc(w->plan.n_locks, sizeof(*w->instance));
    w->node = calloc((size_t)w->plan.n_locks * w->fibers, sizeof(*w->node));
    w->memory = NULL;
    if (w->instance && w->node) {
        w->memory_size = lay_out(w, lines);
        w->memory = ll_zeroed(w->memory_size);
    }
    ret = w->memory ? 0 : -ENOMEM;
    if (!ret) {
        lay_out(w, lines);
        memcpy(w->state, state, workload->state_size);
        ret = init_locks(w, err);
    }
    free(state);
    if (ret)
        vt_workload_fini(w);
    return ret;
}

/* Locks of the virtual build need no fini: all they have lies in the memory. */
void vt_workload_fini(struct vt_workload *w)
{
    free(w->instance);
    free(w->node);
    free(w->memory);
    w->instance = w->node = NULL;
    w->memory = NULL;
}

static void body(uint32_t fiber, void *arg)
{
    struct vt_workload *w = arg;
    struct wl_thread t = {.w = w, .index = fiber, .left = w->turns};

    if (fiber == 0) { /* starts first; an execution may have been begun before and given up */
        w->acquisitions = w->overlap = 0;
        tell(&t, VT_START, 0, 0);
    }
    w->plan.workload[LL_VARIANT_VIRTUAL]->run(&t, w->state, w->data);
}

int vt_workload_run(struct vt_workload *w, struct ck_report *report)
{
    struct ck_program program = {.threads = w->fibers,
                                 .body = body,
                                 .arg = w,
                                 .memory = w->memory,
                                 .memory_size = w->memory_size,
                                 .n_objects = 1,
                                 .bkl = w->bkl};
    struct ck_options options = {.strategy = CK_RANDOM,
                                 .memory = LL_MEMORY_SC,
                                 .giveups = w->giveups ? w->giveups : 1,
                                 .seed = w->seed,
                                 .executions = 1};

    program.object[0] =
        (struct ck_object){.base = w->memory, .size = w->memory_size, .name = "memory"};
    return ck_explore(&program, &options, report);
}
