/* SPDX-License-Identifier: MIT */
/* uncontended.c - acquire + release by one thread: ours (bare build), the same algorithm written by
 * hand against C11 atomics, and the counterparts of libck and glibc, all through the same indirect
 * calls in one process, block by block in a random order (blocks.h).
 *
 * Where code and data lie changes such small times by some per cent, for reasons that are not the
 * lock's. So the runner builds several of these with code pushed about by pad.c, and each process
 * puts every lock and node on a random line of its own.
 *
 * Arguments: blocks, seed. Prints one JSON object: {"name": [ns per pair, one per block], ...}.
 */
#define _GNU_SOURCE
#include <string.h>

#include "blocks.h"
#include "core/params.h"
#include "core/registry.h"
#include "handwritten.h"

enum { PAIRS = 4000, SLOT = 2048, LINE = 128 };

struct row {
    char name[48];
    void (*acquire)(void *, void *), (*release)(void *, void *);
    int (*acquire_ww)(void *, void *, void *, const struct ll_ww_wait *); /* NULL: no context */
    void *lock, *node, *context;
};

static struct row rows[BLOCKS_ROWS];
static unsigned n_rows;
/* Zeroed memory somewhere in a slot of its own. */
static void *zeroed(size_t size)
{
    size_t room = SLOT - (size + LINE - 1) / LINE * LINE;
    char *slot = aligned_alloc(SLOT, SLOT);

    if (!slot || size > SLOT)
        abort();
    memset(slot, 0, SLOT);
    return slot + LINE * blocks_below((unsigned)(room / LINE) + 1);
}

static void add_ours(const char *id)
{
    const struct ll_lock_desc *d = ll_lock_find(id, LL_VARIANT_BARE);
    struct row *r = &rows[n_rows];

    if (!d)
        return;
    *r = (struct row){.acquire = d->ops.acquire, .release = d->ops.release};
    snprintf(r->name, sizeof(r->name), "%s", id);
    r->lock = zeroed(d->lock_size);
    r->node = zeroed(d->node_size);
    ll_params_default(r->lock, d->params);
    if (d->init && d->init(r->lock, NULL))
        abort();
    if (d->node_init)
        d->node_init(r->lock, r->node);
    if (d->kind == LL_KIND_WW) {
        r->acquire_ww = d->ww.acquire;
        r->context = zeroed(d->context_size);
        d->ww.context_init(r->context, zeroed(d->class_size));
    }
    n_rows++;
}

static void add_hand(const struct hand *h)
{
    struct row *r = &rows[n_rows++];

    *r = (struct row){.acquire = h->acquire, .release = h->release};
    snprintf(r->name, sizeof(r->name), "hand/%s", h->name);
    r->lock = zeroed(h->lock_size);
    r->node = zeroed(h->node_size);
    if (h->init)
        h->init(r->lock, r->node);
}

/* Never inlined and told nothing: every row runs this very code. */
static double __attribute__((noinline)) block(const struct row *r)
{
    void (*volatile acquire)(void *, void *) = r->acquire;
    void (*volatile release)(void *, void *) = r->release;
    uint64_t start = eng_ticks();

    for (int i = 0; i < PAIRS; i++) {
        acquire(r->lock, r->node);
        release(r->lock, r->node);
    }
    return (double)eng_ticks_ns(eng_ticks() - start) / PAIRS;
}

/* The same with a context. */
static double __attribute__((noinline)) block_ww(const struct row *r)
{
    static const struct ll_ww_wait for_ever = {0};
    int (*volatile acquire)(void *, void *, void *, const struct ll_ww_wait *) = r->acquire_ww;
    void (*volatile release)(void *, void *) = r->release;
    uint64_t start = eng_ticks();

    for (int i = 0; i < PAIRS; i++) {
        acquire(r->lock, r->node, r->context, &for_ever);
        release(r->lock, r->node);
    }
    return (double)eng_ticks_ns(eng_ticks() - start) / PAIRS;
}

static double timed(unsigned row)
{
    const struct row *r = &rows[row];

    return r->acquire_ww ? block_ww(r) : block(r);
}

static const char *name(unsigned row)
{
    return rows[row].name;
}

int main(int argc, char **argv)
{
    struct ll_lock_info info;

    if (!blocks_begin(argc > 2 ? argv[2] : NULL))
        return 1;
    for (size_t i = 0; !ll_lock_get(i, &info); i++)
        add_ours(info.id);
    for (const struct hand *h = hands; h->name; h++)
        add_hand(h);
    blocks_run(&(struct blocks){.rows = n_rows,
                                .blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 1000,
                                .timed = timed,
                                .name = name});
    return 0;
}
