/* SPDX-License-Identifier: MIT */
/* test_locks.c - what each lock says of itself, and what one thread can see of it. */
#include <string.h>

#include "engine/native_thread.h"
#include "expect.h"
#include "lock_box.h"

static const char *const variant_name[] = {"native", "bare", "probed", "virtual"};

/* ---- descriptors ---- */

static void check_fields(const char *id, const char *what, const struct ll_field *f, uint32_t size)
{
    uint32_t end = 0;

    EXPECT((f && f->name) == (size != 0), "%s: %s fields for %u bytes", id, what, size);
    for (; f && f->name; f++) {
        EXPECT(f->size > 0 && f->offset >= end, "%s: %s field %s overlaps", id, what, f->name);
        end = f->offset + f->size;
        EXPECT(end <= size, "%s: %s field %s ends at %u of %u", id, what, f->name, end, size);
    }
}

static bool has_field(const struct ll_field *f, uint32_t offset)
{
    for (; f->name; f++)
        if (f->offset <= offset && offset < (uint32_t)f->offset + f->size)
            return true;
    return false;
}

static void check_params(const char *id, const struct ll_lock_desc *d)
{
    for (const struct ll_param *p = d->params; p && p->name; p++) {
        EXPECT(p->min <= p->def && p->def <= p->max, "%s: default of %s", id, p->name);
        EXPECT(p->check == 0 || (p->min <= p->check && p->check <= p->max), "%s: %s under check",
               id, p->name);
        EXPECT(p->help && *p->help, "%s: %s has no help", id, p->name);
        EXPECT(has_field(d->lock_fields, p->offset), "%s: no field covers %s", id, p->name);
    }
}

static void check_descriptor(const char *id, const struct ll_lock_desc *d)
{
    bool shared = d->kind == LL_KIND_SHARED;

    EXPECT(d->summary && *d->summary && !strchr(d->summary, '\n'), "%s: summary", id);
    EXPECT(d->origin && *d->origin, "%s: no origin", id);
    EXPECT(d->lock_size > 0, "%s: no memory", id);
    EXPECT(d->ops.acquire && d->ops.release, "%s: a required hook is missing", id);
    EXPECT((d->shared.acquire_shared && d->shared.release_shared) == shared, "%s: shared hooks",
           id);
    EXPECT(!(d->claims & LL_BROKEN) == (strcmp(id, "spin/none") != 0), "%s: claims %x", id,
           d->claims);
    EXPECT(!(d->claims & LL_FIFO) || (d->claims & LL_STARVATION_FREE), "%s: FIFO but starving", id);
    EXPECT(!(d->claims & LL_BROKEN) || d->expect, "%s: broken, but no verdict is expected", id);
    check_fields(id, "lock", d->lock_fields, d->lock_size);
    check_fields(id, "node", d->node_fields, d->node_size);
    check_params(id, d);
}

/* The builds differ in code only: whoever measures bare against native measures the same lock. */
static void check_same(const char *id, const struct ll_lock_desc *d,
                       const struct ll_lock_desc *other)
{
    EXPECT(d->lock_size == other->lock_size && d->node_size == other->node_size &&
               d->claims == other->claims && !d->ops.try_acquire == !other->ops.try_acquire &&
               !d->shared.downgrade == !other->shared.downgrade,
           "%s: the builds differ", id);
}

/* ---- behaviour ---- */

/* More rounds than a 16-bit ticket has numbers; two nodes take turns. */
static void many_rounds(const struct ll_lock_desc *d)
{
    struct lock_box box = box_make(d);

    for (unsigned i = 0; i < 70000; i++) {
        d->ops.acquire(box.lock, box.node[i & 1]);
        d->ops.release(box.lock, box.node[i & 1]);
    }
    box_free(&box);
}

/* An attempt while somebody holds the lock. need_resched, so that osq does not wait in its queue. */
static bool attempt(bool (*hook)(void *, void *), struct lock_box *box, unsigned node)
{
    eng_native_self->resched = 1;
    bool got = hook(box->lock, box->node[node]);
    eng_native_self->resched = 0;
    return got;
}

static void try_tells_the_truth(const char *id, const struct ll_lock_desc *d, bool counts)
{
    struct lock_box box = box_make(d);
    const uint64_t *failed = &eng_native_self->events[LL_EV_try_failed], before = *failed;
    bool broken = d->claims & LL_BROKEN;

    d->ops.acquire(box.lock, box.node[0]);
    for (unsigned i = 0; i < 3; i++)
        EXPECT(attempt(d->ops.try_acquire, &box, 1) == broken, "%s: tried while held", id);
    EXPECT(*failed - before == (counts && !broken ? 3 : 0), "%s: %lu failures counted", id,
           (unsigned long)(*failed - before));
    d->ops.release(box.lock, box.node[0]);
    EXPECT(attempt(d->ops.try_acquire, &box, 1), "%s: tried while free", id);
    EXPECT(attempt(d->ops.try_acquire, &box, 0) == broken, "%s: tried while held by a try", id);
    d->ops.release(box.lock, box.node[1]);
    EXPECT(attempt(d->ops.try_acquire, &box, 0), "%s: tried after a try was released", id);
    d->ops.release(box.lock, box.node[0]);
    box_free(&box);
}

static void readers_share(const char *id, const struct ll_lock_desc *d)
{
    struct lock_box box = box_make(d);

    d->shared.acquire_shared(box.lock, box.node[0]);
    d->shared.acquire_shared(box.lock, box.node[1]);
    if (d->shared.try_acquire_shared) {
        EXPECT(attempt(d->shared.try_acquire_shared, &box, 2), "%s: a third reader", id);
        d->shared.release_shared(box.lock, box.node[2]);
    }
    if (d->ops.try_acquire)
        EXPECT(!attempt(d->ops.try_acquire, &box, 2), "%s: a writer among readers", id);
    d->shared.release_shared(box.lock, box.node[1]);
    d->shared.release_shared(box.lock, box.node[0]);
    d->ops.acquire(box.lock, box.node[0]);
    if (d->shared.try_acquire_shared)
        EXPECT(!attempt(d->shared.try_acquire_shared, &box, 1), "%s: a reader and a writer", id);
    d->ops.release(box.lock, box.node[0]);
    box_free(&box);
}

/* To hold it shared after exclusively is to hold it shared. */
static void downgrade_shares(const char *id, const struct ll_lock_desc *d)
{
    struct lock_box box = box_make(d);

    d->ops.acquire(box.lock, box.node[0]);
    d->shared.downgrade(box.lock, box.node[0]);
    d->shared.acquire_shared(box.lock, box.node[1]);
    if (d->ops.try_acquire)
        EXPECT(!attempt(d->ops.try_acquire, &box, 2), "%s: a writer beside a former one", id);
    d->shared.release_shared(box.lock, box.node[0]);
    d->shared.release_shared(box.lock, box.node[1]);
    d->ops.acquire(box.lock, box.node[0]);
    d->ops.release(box.lock, box.node[0]);
    box_free(&box);
}

static void check_lock(const char *id)
{
    const struct ll_lock_desc *first = ll_lock_find(id, LL_VARIANT_NATIVE), *d;
    int v;

    check_descriptor(id, first);
    for (v = 0; v < LL_VARIANTS; v++) {
        d = ll_lock_find(id, (enum ll_variant)v);
        EXPECT(d || (v == LL_VARIANT_VIRTUAL && !strncmp(id, "host/", 5)), "%s: no %s build", id,
               variant_name[v]);
        if (d)
            check_same(id, first, d);
        if (!d || v == LL_VARIANT_VIRTUAL) /* its operations need an engine below them */
            continue;
        many_rounds(d);
        if (d->ops.try_acquire)
            try_tells_the_truth(id, d, v != LL_VARIANT_BARE);
        if (d->kind == LL_KIND_SHARED)
            readers_share(id, d);
        if (d->shared.downgrade)
            downgrade_shares(id, d);
    }
}

int main(void)
{
    struct ll_lock_info info = {.size = sizeof(info), .version = LL_ABI};

    EXPECT(ll_lock_count() >= 12, "%zu locks", ll_lock_count());
    LL_ASSERT(eng_native_attach(0, 1));
    for (size_t i = 0; i < ll_lock_count(); i++) {
        EXPECT(ll_lock_get(i, &info) == 0, "entry %zu", i);
        check_lock(info.id);
    }
    eng_native_detach();
    DONE();
}
