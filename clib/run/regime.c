/* SPDX-License-Identifier: MIT */
/* regime.c - how long one word takes to and fro between two CPUs right now.
 *
 * A hypervisor may move its CPUs closer or farther without a sign, which changes everything that is
 * measured here by a factor of five. So each repetition is preceded and followed by this: two threads
 * of our own, pinned, pass one word to and fro. Some batches are hit by other load on the machine;
 * the median of the batches is not.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/error.h"
#include "engine/engine.h"

#define BATCHES 11
#define ENOUGH 5   /* batches that make a median if time runs out */
#define ROUNDS 300 /* of a batch */
#define LIMIT_NS 200000000u
#define GRACE_NS 20000000u
#define LOOK 4096u           /* turns of a wait between two looks at the clock */
#define CPU_LIMIT (1u << 16) /* far above any kernel's; bounds the memory of a CPU set */

struct ping {
    LL_OWN_LINE eng_u32 word;  /* 2i + 1: ball i served, 2i + 2: returned, GONE: one gave up */
    LL_OWN_LINE eng_u32 users; /* threads that still use this memory, the caller included */
    uint64_t deadline_ns;
    uint32_t batches;   /* done; written by the server, read after it was joined */
    double ns[BATCHES]; /* mean round trip of each */
};
#define GONE UINT32_MAX

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(struct ping *p)
{
    if (eng_sub_ar(&p->users, 1) == 1)
        free(p);
}

/* Waits for `ball` without a pause, which would add its own length to what is measured. */
static bool catch_ball(struct ping *p, uint32_t ball)
{
    uint32_t seen;

    for (uint32_t turn = 1; (seen = eng_load_acq(&p->word)) != ball; turn++) {
        if (seen == GONE)
            return false;
        if (turn % LOOK == 0 && now_ns() > p->deadline_ns) {
            eng_store_rel(&p->word, GONE);
            return false;
        }
    }
    return true;
}

static void *serve(void *arg)
{
    struct ping *p = arg;
    uint32_t ball = 0;
    bool alive = true;

    while (alive && p->batches < BATCHES) {
        uint64_t start;
        /* one round ahead: the partner may not run yet */
        eng_store_rel(&p->word, ball + 1);
        alive = catch_ball(p, ball + 2);
        ball += 2;
        start = now_ns();
        for (unsigned i = 0; alive && i < ROUNDS; i++, ball += 2) {
            eng_store_rel(&p->word, ball + 1);
            alive = catch_ball(p, ball + 2);
        }
        if (alive)
            p->ns[p->batches++] = (double)(now_ns() - start) / ROUNDS;
    }
    eng_store_rel(&p->word, GONE);
    put(p);
    return NULL;
}

static void *give_back(void *arg)
{
    struct ping *p = arg;

    for (uint32_t ball = 1; catch_ball(p, ball); ball += 2)
        eng_store_rel(&p->word, ball + 1);
    put(p);
    return NULL;
}

/* A thread pinned to `cpu` that takes no signals: those are the embedding program's. */
static int start_pinned(pthread_t *thread, uint32_t cpu, void *(*body)(void *), void *arg)
{
    size_t size = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    pthread_attr_t attr;
    sigset_t all;
    int rc;

    if (!set)
        return -ENOMEM;
    CPU_ZERO_S(size, set);
    CPU_SET_S(cpu, size, set);
    sigfillset(&all);
    pthread_attr_init(&attr);
    rc = pthread_attr_setaffinity_np(&attr, size, set);
    if (!rc)
        rc = pthread_attr_setsigmask_np(&attr, &all);
    if (!rc)
        rc = pthread_create(thread, &attr, body, arg);
    pthread_attr_destroy(&attr);
    CPU_FREE(set);
    return -rc;
}

/* True if the thread has ended within `ns`. One that never got a CPU is left to end by itself. */
static bool join_within(pthread_t thread, uint64_t ns)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t); /* the clock of this call */
    ns += (uint64_t)t.tv_nsec;
    t.tv_sec += (time_t)(ns / 1000000000u);
    t.tv_nsec = (long)(ns % 1000000000u);
    if (pthread_timedjoin_np(thread, NULL, &t) == 0)
        return true;
    pthread_detach(thread);
    return false;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int ll_regime(uint32_t cpu_a, uint32_t cpu_b, double *round_trip_ns)
{
    struct ping *p;
    pthread_t server, partner;
    bool ended;
    int rc;

    *round_trip_ns = 0;
    if (cpu_a == cpu_b)
        return 0;
    if (cpu_a >= CPU_LIMIT || cpu_b >= CPU_LIMIT)
        return -EINVAL;
    p = aligned_alloc(LL_PAIR, sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct ping){.users = {3}, .deadline_ns = now_ns() + LIMIT_NS};
    rc = start_pinned(&partner, cpu_b, give_back, p);
    if (rc) {
        free(p);
        return rc;
    }
    rc = start_pinned(&server, cpu_a, serve, p);
    if (rc) {
        eng_store_rel(&p->word, GONE);
        put(p); /* the server's share */
    }
    /* both see the deadline themselves; the grace is for one that waits for its CPU just then */
    ended = rc || join_within(server, LIMIT_NS + GRACE_NS);
    if (join_within(partner, GRACE_NS) && ended && !rc) {
        uint32_t n = p->batches;
        rc = n >= ENOUGH ? 0 : -ETIMEDOUT;
        qsort(p->ns, n, sizeof(*p->ns), ascending);
        if (!rc)
            *round_trip_ns = n % 2 ? p->ns[n / 2] : (p->ns[n / 2 - 1] + p->ns[n / 2]) / 2;
    } else if (!rc) {
        rc = -ETIMEDOUT;
    }
    put(p);
    return rc;
}
