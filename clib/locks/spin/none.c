/* SPDX-License-Identifier: MIT */
/* none - a lock that does nothing: baseline, negative control and skeleton
 *
 * Idea     acquire and release return at once. What remains is the cost of calling a lock, which is
 *          to be taken off every other figure; and a workload or checker that finds no fault in
 *          this lock is broken itself.
 * Lines    None.
 * Order    None: it does not exclude (LL_BROKEN), so an overlap is expected, not a failure.
 * Origin   Ours. To write a lock, copy this file: docs/ADDING_A_LOCK.md.
 * Differs  Nothing to differ from.
 */
#include "core/lock.h"

struct none {
    eng_u32 word; /* never accessed: a lock needs a size and somewhere to point */
};

static void acquire(void *lock, void *node)
{
    LL_UNUSED(lock);
    LL_UNUSED(node);
}

static bool try_acquire(void *lock, void *node)
{
    LL_UNUSED(lock);
    LL_UNUSED(node);
    return true;
}

static void release(void *lock, void *node)
{
    LL_UNUSED(lock);
    LL_UNUSED(node);
}

static const struct ll_field fields[] = {LL_FIELD(struct none, word), LL_FIELD_END};

static const struct ll_expect expect[] = {{"mutex", "exclusion"}, LL_EXPECT_END};

/* clang-format off */
LL_LOCK(spin_none) = {
    .name = "none",                            /* required: the file's name */
    .family = "spin",                          /* required: the directory's name */
    .summary = "does nothing: baseline and negative control", /* required: one line */
    .origin = "locklab",                       /* required: doi:..., a URL, or locklab */
    .kind = LL_KIND_EXCLUSIVE,                 /* or LL_KIND_SHARED, see .shared */
    .lock_size = sizeof(struct none),          /* required */
    /* .node_size: optional, 0 means that there is no node and `node` is not to be used */
    .claims = LL_BROKEN,                       /* optional: promises that the tests verify */
    /* .init(lock, topo): optional, NULL means zeroed memory with its parameters is a free lock */
    /* .fini(lock): optional, NULL means that init took nothing to give back */
    /* .node_init(lock, node): optional, NULL means that a zeroed node is ready */
    .ops = {
        .acquire = acquire,                    /* required */
        .release = release,                    /* required */
        .try_acquire = try_acquire,            /* optional, NULL means not offered */
    },
    /* .shared: LL_KIND_SHARED only; acquire_shared and release_shared required, the try optional */
    .lock_fields = fields,                     /* required: covers every byte that a run accesses */
    /* .node_fields: required if there is a node */
    /* .params: optional, NULL means none */
    .expect = expect,                          /* optional, NULL means none-found on every client */
};
