/* SPDX-License-Identifier: MIT */
/* validator.c - what the order validator costs one thread that takes two nested mutexes of two classes,
 * through the very calls of workloads in the instrumented build, block by block in a random order.
 *
 * A second thread is alive and asleep, as in uncontended.c. After the first block the chain is warm.
 *
 * Arguments: lock, blocks, seed. Prints one JSON object: {"off-events": [ns a turn], "on-events", ...}.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/params.h"
#include "core/registry.h"
#include "engine/native_thread.h"
#include "run/worker.h"

enum { TURNS = 4000, WAYS = 4 };

static const char *const way_name[WAYS] = {"off-events", "on-events", "off-full", "on-full"};
static struct wl_thread *way[WAYS];
static double *ns[WAYS];
static uint32_t phase;
static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % n);
}

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

static double __attribute__((noinline)) block(struct wl_thread *t)
{
    uint64_t start = eng_ticks();

    for (int i = 0; i < TURNS; i++) {
        wl_acquire(t, 0);
        wl_acquire(t, 1);
        wl_release(t, 1);
        wl_release(t, 0);
    }
    return (double)eng_ticks_ns(eng_ticks() - start) / TURNS;
}

static void *sleeper(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static void stay_here(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
    const struct ll_lock_desc *d = argc > 1 ? ll_lock_find(argv[1], LL_VARIANT_NATIVE) : NULL;
    unsigned blocks = argc > 2 ? (unsigned)atoi(argv[2]) : 100, order[WAYS];
    struct ll_validator_thread *validated;
    struct ll_validator *v;
    struct wl_slot slots[2];
    pthread_t thread;

    random_state = 88172645463325252u + (argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    eng_clock_init();
    if (!d || pthread_create(&thread, NULL, sleeper, NULL) || !eng_native_attach(0, 1))
        return 1;
    stay_here();
    if (ll_validator_create(NULL, &v, NULL) ||
        ll_validator_thread_create(v, "thread 0", NULL, NULL, &validated))
        return 1;
    slots[0] = slot(d, v, "outer");
    slots[1] = slot(d, v, "inner");
    for (unsigned i = 0; i < WAYS; i++) {
        way[i] = made(ll_zeroed(sizeof(*way[i])));
        ns[i] = made(calloc(blocks, sizeof(double)));
        way[i]->phase = &phase;
        way[i]->slot = slots;
        way[i]->full = i >= 2;
        way[i]->validated = i % 2 ? validated : NULL;
        order[i] = i;
        block(way[i]);
    }
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = WAYS - 1; i > 0; i--) {
            unsigned k = random_below(i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        for (unsigned i = 0; i < WAYS; i++)
            ns[order[i]][b] = block(way[order[i]]);
    }
    for (unsigned i = 0; i < WAYS; i++) {
        printf("%s\"%s\": [", i ? ",\n" : "{", way_name[i]);
        for (unsigned b = 0; b < blocks; b++)
            printf("%s%.3f", b ? "," : "", ns[i][b]);
        printf("]");
    }
    printf("}\n");
    return 0;
}
