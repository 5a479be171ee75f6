/* SPDX-License-Identifier: MIT */
/* validator.c - what the order validator costs one thread that takes two nested mutexes of two classes,
 * through the very calls of workloads in the instrumented build (blocks.h). After the first block the
 * chain is known.
 *
 * Arguments: lock, blocks, seed. Prints one JSON object: {"off-events": [ns a turn], "on-events", ...}.
 */
#define _GNU_SOURCE
#include "blocks.h"
#include "core/memory.h"
#include "core/params.h"
#include "core/registry.h"
#include "run/worker.h"

enum { TURNS = 4000, WAYS = 4 };

static const char *const way_name[WAYS] = {"off-events", "on-events", "off-full", "on-full"};
static struct wl_thread *way[WAYS];
static uint32_t phase;

static void *made(void *p)
{
    if (!p)
        abort();
    return p;
}

static struct wl_slot slot(const struct ll_lock_desc *d, struct ll_validator *v, const char *name)
{
    struct ll_validator_lock *guard = made(ll_zeroed(sizeof(*guard)));
    struct wl_slot s = {.desc = d,
                        .lock = made(ll_zeroed(d->lock_size)),
                        .node = made(ll_zeroed(d->node_size)),
                        .guard = guard,
                        .counted = true};
    uint32_t id;

    ll_params_default(s.lock, d->params);
    if (d->init && d->init(s.lock, NULL))
        abort();
    if (d->node_init)
        d->node_init(s.lock, s.node);
    if (ll_validator_class(v, name, ll_lock_traits(d), &id, NULL) ||
        ll_validator_lock_init(v, guard, id, 0, s.lock, NULL, NULL, NULL))
        abort();
    return s;
}

static double __attribute__((noinline)) block(unsigned row)
{
    struct wl_thread *t = way[row];
    uint64_t start = eng_ticks();

    for (int i = 0; i < TURNS; i++) {
        wl_acquire(t, 0);
        wl_acquire(t, 1);
        wl_release(t, 1);
        wl_release(t, 0);
    }
    return (double)eng_ticks_ns(eng_ticks() - start) / TURNS;
}

static const char *name(unsigned row)
{
    return way_name[row];
}

int main(int argc, char **argv)
{
    const struct ll_lock_desc *d = argc > 1 ? ll_lock_find(argv[1], LL_VARIANT_NATIVE) : NULL;
    struct ll_validator_thread *validated;
    struct ll_validator *v;
    struct wl_slot slots[2];

    if (!d || !blocks_begin(argc > 3 ? argv[3] : NULL) || ll_validator_create(NULL, &v, NULL) ||
        ll_validator_thread_create(v, "thread 0", NULL, NULL, &validated))
        return 1;
    slots[0] = slot(d, v, "outer");
    slots[1] = slot(d, v, "inner");
    for (unsigned i = 0; i < WAYS; i++) {
        way[i] = made(ll_zeroed(sizeof(*way[i])));
        way[i]->phase = &phase;
        way[i]->slot = slots;
        way[i]->full = i >= 2;
        way[i]->validated = i % 2 ? validated : NULL;
    }
    blocks_run(&(struct blocks){.rows = WAYS,
                                .blocks = argc > 2 ? (unsigned)atoi(argv[2]) : 100,
                                .timed = block,
                                .name = name});
    return 0;
}
