/* SPDX-License-Identifier: MIT */
#include "handwritten.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RLX memory_order_relaxed
#define ACQ memory_order_acquire
#define REL memory_order_release
#define AR memory_order_acq_rel
#define PAUSE() __builtin_ia32_pause()

/* ---- none ---- */

static void none_acquire(void *lock, void *node)
{
    (void)lock, (void)node;
}

static void none_release(void *lock, void *node)
{
    (void)lock, (void)node;
}

/* ---- tas, ttas, ttas-backoff ---- */

struct word {
    atomic_uint held;
};

static void tas_acquire(void *lock, void *node)
{
    struct word *l = lock;

    (void)node;
    while (atomic_exchange_explicit(&l->held, 1, ACQ))
        PAUSE();
}

static void ttas_acquire(void *lock, void *node)
{
    struct word *l = lock;

    (void)node;
    for (;;) {
        while (atomic_load_explicit(&l->held, RLX))
            PAUSE();
        if (!atomic_exchange_explicit(&l->held, 1, ACQ))
            return;
    }
}

static void backoff_acquire(void *lock, void *node)
{
    struct word *l = lock;
    unsigned wait = 4;

    (void)node;
    for (;;) {
        while (atomic_load_explicit(&l->held, RLX))
            PAUSE();
        if (!atomic_exchange_explicit(&l->held, 1, ACQ))
            return;
        for (unsigned i = 0; i < wait; i++)
            PAUSE();
        wait = wait < 512 ? 2 * wait : 1024;
    }
}

static void word_release(void *lock, void *node)
{
    struct word *l = lock;

    (void)node;
    atomic_store_explicit(&l->held, 0, REL);
}

/* ---- ticket: two halves of one word ---- */

struct ticket {
    _Alignas(4) _Atomic uint16_t owner, next;
};

static void ticket_acquire(void *lock, void *node)
{
    struct ticket *l = lock;
    uint16_t mine = atomic_fetch_add_explicit(&l->next, 1, RLX);

    (void)node;
    while (atomic_load_explicit(&l->owner, ACQ) != mine)
        PAUSE();
}

static void ticket_release(void *lock, void *node)
{
    struct ticket *l = lock;

    (void)node;
    atomic_store_explicit(&l->owner, (uint16_t)(atomic_load_explicit(&l->owner, RLX) + 1), REL);
}

/* ---- mcs ---- */

struct mcs_node {
    _Atomic(struct mcs_node *) next;
    atomic_uint go;
};
struct mcs {
    _Atomic(struct mcs_node *) tail;
};

static void mcs_acquire(void *lock, void *node)
{
    struct mcs *l = lock;
    struct mcs_node *n = node, *prev;

    atomic_store_explicit(&n->next, NULL, RLX);
    prev = atomic_exchange_explicit(&l->tail, n, AR);
    if (!prev)
        return;
    atomic_store_explicit(&n->go, 0, RLX);
    atomic_store_explicit(&prev->next, n, REL);
    while (!atomic_load_explicit(&n->go, ACQ))
        PAUSE();
}

static void mcs_release(void *lock, void *node)
{
    struct mcs *l = lock;
    struct mcs_node *n = node, *next = atomic_load_explicit(&n->next, ACQ), *expected = n;

    if (!next) {
        if (atomic_compare_exchange_strong_explicit(&l->tail, &expected, NULL, REL, RLX))
            return;
        while (!(next = atomic_load_explicit(&n->next, ACQ)))
            PAUSE();
    }
    atomic_store_explicit(&next->go, 1, REL);
}

/* ---- clh ---- */

struct clh_cell {
    _Alignas(128) atomic_uint busy;
};
struct clh {
    _Atomic(struct clh_cell *) tail;
    struct clh_cell first;
};
struct clh_node {
    struct clh_cell *mine, *prev;
    struct clh_cell cell;
};

static void clh_init(void *lock, void *node)
{
    struct clh *l = lock;
    struct clh_node *n = node;

    atomic_store(&l->tail, &l->first);
    n->mine = &n->cell;
}

static void clh_acquire(void *lock, void *node)
{
    struct clh *l = lock;
    struct clh_node *n = node;

    atomic_store_explicit(&n->mine->busy, 1, RLX);
    n->prev = atomic_exchange_explicit(&l->tail, n->mine, AR);
    while (atomic_load_explicit(&n->prev->busy, ACQ))
        PAUSE();
}

static void clh_release(void *lock, void *node)
{
    struct clh_node *n = node;
    struct clh_cell *mine = n->mine;

    (void)lock;
    n->mine = n->prev;
    atomic_store_explicit(&mine->busy, 0, REL);
}

/* ---- osq: an mcs queue whose waiters can leave; the leaving is never taken here. Who is waited for
 * is written into the node, since that is what a waiter asks before it goes on spinning. ---- */

struct osq_node {
    _Atomic(struct osq_node *) next, prev;
    atomic_uint go;
    const void *thread;
};
/* initial-exec, as ours: a library's default model is a call, for which gcc saves registers */
static _Thread_local char here __attribute__((tls_model("initial-exec")));
struct osq {
    _Atomic(struct osq_node *) tail;
};

static void osq_acquire(void *lock, void *node)
{
    struct osq *l = lock;
    struct osq_node *n = node, *prev;

    if (!n->thread)
        n->thread = &here;
    atomic_store_explicit(&n->go, 0, RLX);
    atomic_store_explicit(&n->next, NULL, RLX);
    prev = atomic_exchange_explicit(&l->tail, n, AR);
    if (!prev)
        return;
    atomic_store_explicit(&n->prev, prev, RLX);
    atomic_store_explicit(&prev->next, n, REL);
    while (!atomic_load_explicit(&n->go, ACQ))
        PAUSE();
}

static void osq_release(void *lock, void *node)
{
    struct osq *l = lock;
    struct osq_node *n = node, *next, *expected = n;

    if (atomic_compare_exchange_strong_explicit(&l->tail, &expected, NULL, REL, RLX))
        return;
    next = atomic_exchange_explicit(&n->next, NULL, AR);
    while (!next && !(next = atomic_exchange_explicit(&n->next, NULL, AR)))
        PAUSE();
    atomic_store_explicit(&next->go, 1, REL);
}

const struct hand hands[] = {
    {"none", 4, 0, NULL, none_acquire, none_release},
    {"tas", sizeof(struct word), 0, NULL, tas_acquire, word_release},
    {"ttas", sizeof(struct word), 0, NULL, ttas_acquire, word_release},
    {"ttas-backoff", sizeof(struct word), 0, NULL, backoff_acquire, word_release},
    {"ticket", sizeof(struct ticket), 0, NULL, ticket_acquire, ticket_release},
    {"mcs", sizeof(struct mcs), sizeof(struct mcs_node), NULL, mcs_acquire, mcs_release},
    {"clh", sizeof(struct clh), sizeof(struct clh_node), clh_init, clh_acquire, clh_release},
    {"osq", sizeof(struct osq), sizeof(struct osq_node), NULL, osq_acquire, osq_release},
    {NULL, 0, 0, NULL, NULL, NULL},
};
