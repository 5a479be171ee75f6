/* SPDX-License-Identifier: MIT */
/* lock.h - what a lock file says about itself, and the only header it needs.
 *
 * A lock is one file `locks/<family>/<id>.c` that ends in one `LL_LOCK(symbol) = { ... };` and has
 * one line in locks.def. The file is compiled once per engine build; everything that other parts
 * know of the lock stands in the descriptor. `locks/spin/none.c` is the skeleton.
 */
#pragma once

#include <errno.h>

#include "core/types.h"
#include "engine/engine.h"
#include "include/locklab.h"

struct ll_topology;

/* Hooks of an exclusive lock. `lock` and `node` are zeroed and 128-byte aligned when they are made;
 * a node belongs to one (thread, lock instance) and lives until the instance is destroyed, also
 * after its thread has ended. */
struct ll_exclusive_ops {
    void (*acquire)(void *lock, void *node);     /* required */
    void (*release)(void *lock, void *node);     /* required */
    bool (*try_acquire)(void *lock, void *node); /* optional, NULL means not offered */
    /* optional: as acquire, but 0, or -ETIMEDOUT once eng_now() has come to `deadline_ns` (0: never),
     * or -EINTR once the caller's wait was cancelled; then it does not hold the lock */
    int (*acquire_until)(void *lock, void *node, uint64_t deadline_ns);
};

/* What a reader-writer lock has besides. */
struct ll_shared_ops {
    void (*acquire_shared)(void *lock, void *node);     /* required */
    void (*release_shared)(void *lock, void *node);     /* required */
    bool (*try_acquire_shared)(void *lock, void *node); /* optional */
    void (*downgrade)(void *lock, void *node); /* optional: held exclusively before, shared after,
                                                  and nobody was inside in between */
};

/* How a context waits for a lock. */
struct ll_ww_wait {
    bool interruptible;   /* -EINTR once the thread's wait is cancelled */
    uint64_t deadline_ns; /* eng_now(); 0: never */
};

/* What a wound/wait lock has besides: a transaction (context) takes several locks of one class in
 * whatever order; which of two that collide backs off is decided by their age. The hooks of
 * ll_exclusive_ops are those without a context. Contexts and classes are zeroed and 128-byte
 * aligned when they are made. */
struct ll_ww_ops {
    void (*context_init)(void *ctx, void *ww_class); /* draws the stamp; also after context_fini */
    void (*acquire_done)(void *ctx);                 /* no further locks through this context */
    void (*context_fini)(void *ctx);                 /* all of its locks have been released */
    /* 0: held; -EALREADY: held by this very context before; -EDEADLK: not held, the context shall
     * release all it holds and come back by acquire_slow; -EINTR, -ETIMEDOUT */
    int (*acquire)(void *lock, void *node, void *ctx, const struct ll_ww_wait *wait);
    /* after -EDEADLK, nothing held: waits for that lock; 0, -EINTR, -ETIMEDOUT */
    int (*acquire_slow)(void *lock, void *node, void *ctx, const struct ll_ww_wait *wait);
    uint64_t (*age)(const void *ctx); /* optional: stamps that the class has drawn after this one */
};

struct ll_lock_desc {
    const char *name, *family;
    const char *summary; /* one line for catalogues */
    const char *origin;  /* doi or URL; the story is in the file's top comment */
    enum ll_kind kind;
    uint32_t lock_size, node_size;                           /* bytes; node_size 0: no node */
    uint32_t claims;                                         /* enum ll_claim */
    int (*init)(void *lock, const struct ll_topology *topo); /* optional: 0 or -errno; NULL means
                                                zeroed memory + parameters is a free lock */
    void (*fini)(void *lock);                                /* optional: for what init took */
    void (*node_init)(void *lock, void *node);               /* optional */
    struct ll_exclusive_ops ops;
    struct ll_shared_ops shared;       /* LL_KIND_SHARED only */
    struct ll_ww_ops ww;               /* LL_KIND_WW only, as the next two lines */
    uint32_t class_size, context_size; /* bytes */
    const struct ll_field *class_fields, *context_fields;
    const struct ll_field *lock_fields, *node_fields; /* ascending, no overlap, end-marked */
    /* optional, of sleeping locks: what holds while somebody waits in the lock; may hold as well
     * while somebody has it. For the watchdog, which is no thread of the engine. */
    struct eng_term (*waiters)(const void *lock);
    /* optional: the table of this instance, where a parameter decides where fields lie */
    const struct ll_field *(*fields_of)(const void *lock);
    const struct ll_param *params;  /* optional, end-marked */
    const struct ll_expect *expect; /* optional: default is none-found on every client */
};

/* The fields of this instance. */
static inline const struct ll_field *ll_fields_of(const struct ll_lock_desc *desc, const void *lock)
{
    return desc->fields_of ? desc->fields_of(lock) : desc->lock_fields;
}

/* What the order validator is told of the lock's class: enum ll_validator_trait. */
static inline uint32_t ll_lock_traits(const struct ll_lock_desc *desc)
{
    return (desc->claims & LL_PARKS ? 0 : LL_VALIDATOR_SPINS) |
           (desc->claims & LL_READ_RECURSIVE ? LL_VALIDATOR_READ_RECURSIVE : 0) |
           (desc->kind == LL_KIND_WW ? LL_VALIDATOR_WW : 0);
}

/* One descriptor per engine build: ll_lock_spin_mcs_native, _bare, _probed, _virtual. */
#define LL_LOCK(symbol) const struct ll_lock_desc LL_BUILD_SYMBOL(ll_lock_##symbol)

#define LL_FIELD(type, member)                                                                     \
    {                                                                                              \
#member, offsetof(type, member), sizeof(((type *)0)->member)                               \
    }
#define LL_FIELD_END                                                                               \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }
#define LL_PARAM_END                                                                               \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define LL_EXPECT_END                                                                              \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
