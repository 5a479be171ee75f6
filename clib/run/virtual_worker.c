/* SPDX-License-Identifier: MIT */
/* virtual_worker.c - the calls of which workloads are made, on fibers. */
#include "run/virtual_worker.h"

#include "engine/check/explore.h"

struct wl_thread {
    struct vt_workload *w;
    uint32_t index, left;
};

static void *node_of(const struct wl_thread *t, uint32_t lock)
{
    uint32_t locks = t->w->workload->locks ? t->w->workload->locks : 1;

    return t->w->node[t->index * locks + lock];
}

uint32_t wl_index(const struct wl_thread *t)
{
    return t->index;
}

bool wl_more(struct wl_thread *t)
{
    return t->left-- > 0;
}

void wl_acquire(struct wl_thread *t, uint32_t lock)
{
    t->w->lock->ops.acquire(t->w->instance[lock], node_of(t, lock));
    t->w->acquisitions++;
}

void wl_release(struct wl_thread *t, uint32_t lock)
{
    t->w->lock->ops.release(t->w->instance[lock], node_of(t, lock));
}

void wl_acquire_shared(struct wl_thread *t, uint32_t lock)
{
    t->w->lock->shared.acquire_shared(t->w->instance[lock], node_of(t, lock));
    t->w->acquisitions++;
}

void wl_release_shared(struct wl_thread *t, uint32_t lock)
{
    t->w->lock->shared.release_shared(t->w->instance[lock], node_of(t, lock));
}

void wl_overlap(struct wl_thread *t)
{
    t->w->overlap++;
}

static void body(uint32_t fiber, void *arg)
{
    struct vt_workload *w = arg;
    struct wl_thread t = {.w = w, .index = fiber, .left = w->turns};

    if (fiber == 0) /* starts first; an execution may have been begun before and given up */
        w->acquisitions = w->overlap = 0;
    w->workload->run(&t, w->state, w->data);
}

int vt_workload_run(struct vt_workload *w, struct ck_report *report)
{
    struct ck_program program = {.threads = w->fibers,
                                 .body = body,
                                 .arg = w,
                                 .memory = w->memory,
                                 .memory_size = w->memory_size,
                                 .n_objects = 1};
    struct ck_options options = {.strategy = CK_RANDOM,
                                 .memory = LL_MEMORY_SC,
                                 .giveups = 1,
                                 .seed = w->seed,
                                 .executions = 1};

    program.object[0] =
        (struct ck_object){.base = w->memory, .size = w->memory_size, .name = "memory"};
    return ck_explore(&program, &options, report);
}
