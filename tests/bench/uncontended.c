/* SPDX-License-Identifier: MIT */
/* uncontended.c - acquire + release by one thread: ours (bare build), the same algorithm written by
 * hand against C11 atomics, and the counterparts of libck and glibc, all through the same indirect
 * calls in one process, block by block in a random order.
 *
 * A second thread is alive and asleep: glibc drops the lock prefix in single-threaded processes.
 * Prints one JSON object: {"name": [ns per pair, one per block], ...}. Argument: blocks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/params.h"
#include "core/registry.h"
#include "engine/native_thread.h"
#include "handwritten.h"

enum { PAIRS = 2000, MAX_ROWS = 64 };

struct row {
    char name[48];
    void (*acquire)(void *, void *), (*release)(void *, void *);
    void *lock, *node;
    double *ns;
};

static struct row rows[MAX_ROWS];
static unsigned n_rows;

static void *zeroed(size_t size)
{
    size_t rounded = (size + 255) / 128 * 128;
    void *p = aligned_alloc(128, rounded);

    if (!p)
        abort();
    return memset(p, 0, rounded);
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

static void *sleeper(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, order[MAX_ROWS];
    struct ll_lock_info info;
    pthread_t thread;
    uint64_t x = 88172645463325252u;

    if (pthread_create(&thread, NULL, sleeper, NULL) || !eng_native_attach(0, 1))
        return 1;
    for (size_t i = 0; !ll_lock_get(i, &info); i++)
        add_ours(info.id);
    for (const struct hand *h = hands; h->name; h++)
        add_hand(h);
    for (unsigned i = 0; i < n_rows; i++) {
        rows[i].ns = calloc(blocks, sizeof(double));
        order[i] = i;
        block(&rows[i]);
    }
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = n_rows - 1; i > 0; i--) {
            unsigned k, swap = order[i];
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            k = (unsigned)(x % (i + 1));
            order[i] = order[k];
            order[k] = swap;
        }
        for (unsigned i = 0; i < n_rows; i++)
            rows[order[i]].ns[b] = block(&rows[order[i]]);
    }
    for (unsigned i = 0; i < n_rows; i++) {
        printf("%s\"%s\": [", i ? ",\n" : "{", rows[i].name);
        for (unsigned b = 0; b < blocks; b++)
            printf("%s%.3f", b ? "," : "", rows[i].ns[b]);
        printf("]");
    }
    printf("}\n");
    return 0;
}
