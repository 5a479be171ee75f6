/* SPDX-License-Identifier: MIT */
/* stress_locks.c - every lock on real threads: two plain counters stay equal, the total is exact.
 *
 *   stress_locks [LOCK ...]     all of them, or those that are named
 *
 * The counters have no protection but the lock, so that TSan judges its orders besides. With 4
 * threads on fewer CPUs a queue lock needs a time slice per hand-over, hence the bound in time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "engine/native_thread.h"
#include "expect.h"
#include "lock_box.h"

#define MAX_THREADS 4u
#define TURNS 3000u /* of each thread, unless time is up first */
#define LEAST_TURNS 8u
#define BOUND_NS 150000000u

#ifdef __SANITIZE_THREAD__
static const bool under_tsan = true;
#else
static const bool under_tsan = false;
#endif

struct stress {
    const struct ll_lock_desc *desc;
    struct lock_box box;
    pthread_barrier_t start;
    uint64_t end_ns;
    LL_OWN_LINE uint64_t first; /* protected by the lock */
    LL_OWN_LINE uint64_t second;
};

struct worker {
    struct stress *s;
    unsigned index;
    pthread_t thread;
    struct eng_thread *engine;
    uint32_t running;
    uint64_t entered, torn, tried, blocked, gave_up, odd;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void inside(struct worker *w)
{
    struct stress *s = w->s;
    uint64_t seen = s->first;

    w->torn += s->second != seen;
    s->first = seen + 1;
    if (seen % 256 == 0) /* a holder that loses its CPU: else short turns seldom meet */
        sched_yield();
    if (seen % 8 == 0 && s->desc->ops.acquire_until)
        eng_delay(10000); /* ... and some that are worth giving up for */
    s->second = seen + 1;
    w->entered++;
}

static void inside_shared(struct worker *w)
{
    w->torn += w->s->first != w->s->second;
}

/* A wait with an end; the disturber cancels some of them. */
static void turn_until(struct worker *w, unsigned i)
{
    const struct ll_lock_desc *d = w->s->desc;
    void *lock = w->s->box.lock, *node = w->s->box.node[w->index];
    uint64_t deadline_ns = i & 4 ? eng_now() + 2000 : 0;
    int answer = d->ops.acquire_until(lock, node, deadline_ns);

    if (!answer) {
        inside(w);
        d->ops.release(lock, node);
        return;
    }
    w->gave_up++;
    w->odd +=
        answer != -EINTR && !(answer == -ETIMEDOUT && deadline_ns && eng_now() >= deadline_ns);
    eng_uncancel();
}

static void turn(struct worker *w, unsigned i)
{
    const struct ll_lock_desc *d = w->s->desc;
    void *lock = w->s->box.lock, *node = w->s->box.node[w->index];

    if (d->kind == LL_KIND_SHARED && i % 3 == 0) {
        d->shared.acquire_shared(lock, node);
        inside_shared(w);
        d->shared.release_shared(lock, node);
    } else if (d->kind == LL_KIND_SHARED && d->shared.try_acquire_shared && i % 8 == 4) {
        if (d->shared.try_acquire_shared(lock, node)) {
            inside_shared(w);
            d->shared.release_shared(lock, node);
        }
    } else if (d->ops.acquire_until && i % 4 == 3) {
        turn_until(w, i);
    } else if (d->ops.try_acquire && i % 4 == 1) {
        w->tried++;
        if (d->ops.try_acquire(lock, node)) {
            inside(w);
            d->ops.release(lock, node);
        }
    } else {
        d->ops.acquire(lock, node);
        inside(w);
        d->ops.release(lock, node);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct eng_thread *self = eng_native_attach(w->index, 7);

    LL_ASSERT(self);
    w->engine = self;
    pthread_barrier_wait(&w->s->start);
    for (unsigned i = 0; i < TURNS && (i < LEAST_TURNS || now_ns() < w->s->end_ns); i++)
        turn(w, i + w->index);
    w->blocked = self->events[LL_EV_await_blocked] + self->events[LL_EV_rmw_failed];
    __atomic_store_n(&w->running, 0, __ATOMIC_RELEASE);
    pthread_barrier_wait(&w->s->start); /* descriptors stay until nobody disturbs them any more */
    eng_native_detach();
    return NULL;
}

/* While the workers run, tells them now and then to stop spinning: what an osq waiter leaves for. */
static void disturb(struct worker *w, unsigned threads)
{
    bool any = true;

    for (unsigned round = 0; any; round++) {
        nanosleep(&(struct timespec){0, 50000}, NULL);
        any = false;
        for (unsigned i = 0; i < threads; i++) {
            any |= __atomic_load_n(&w[i].running, __ATOMIC_ACQUIRE) != 0;
            __atomic_store_n(&w[i].engine->resched, 1, __ATOMIC_RELAXED);
            if (round % 4 == 0)
                eng_native_cancel(w[i].engine);
        }
    }
}

static void stress(const char *id, const struct ll_lock_desc *d, const char *build,
                   unsigned threads)
{
    struct stress s = {.desc = d, .box = box_make(d)};
    struct worker w[MAX_THREADS] = {0};
    uint64_t entered = 0, tried = 0, blocked = 0, gave_up = 0;

    pthread_barrier_init(&s.start, NULL, threads + 1);
    s.end_ns = now_ns() + BOUND_NS;
    for (unsigned i = 0; i < threads; i++) {
        w[i] = (struct worker){.s = &s, .index = i, .running = 1};
        LL_ASSERT(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
    }
    pthread_barrier_wait(&s.start);
    disturb(w, threads);
    pthread_barrier_wait(&s.start);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        EXPECT(w[i].torn == 0, "%s (%s, %u threads): %lu torn pairs", id, build, threads,
               (unsigned long)w[i].torn);
        EXPECT(w[i].odd == 0, "%s (%s): %lu odd answers of acquire_until", id, build,
               (unsigned long)w[i].odd);
        EXPECT(w[i].entered > 0, "%s: a thread never entered", id);
        entered += w[i].entered;
        tried += w[i].tried;
        blocked += w[i].blocked;
        gave_up += w[i].gave_up;
    }
    EXPECT(s.first == entered && s.second == entered, "%s (%s, %u threads): %lu and %lu, not %lu",
           id, build, threads, (unsigned long)s.first, (unsigned long)s.second,
           (unsigned long)entered);
    printf("%-22s %-7s %u threads: %6lu entered, %5lu tried, %6lu blocked, %5lu gave up\n", id,
           build, threads, (unsigned long)entered, (unsigned long)tried, (unsigned long)blocked,
           (unsigned long)gave_up);
    pthread_barrier_destroy(&s.start);
    box_free(&s.box);
}

/* Two threads strand nobody; with more, the last waiter may wait for ever. */
static bool strands(const struct ll_lock_desc *d)
{
    for (const struct ll_expect *e = d->expect; e && e->client; e++)
        if (!e->setting && strstr(e->verdict, "stranded"))
            return true;
    return false;
}

static bool asked_for(const char *id, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], id))
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    struct ll_lock_info info = {.size = sizeof(info), .version = LL_ABI};
    int stressed = 0;

    for (size_t i = 0; i < ll_lock_count(); i++) {
        LL_ASSERT(ll_lock_get(i, &info) == 0);
        if ((info.claims & LL_BROKEN) || !asked_for(info.id, argc, argv))
            continue;
        if (under_tsan && !strncmp(info.id, "host/ck-", 8)) {
            printf("%s is left out: TSan does not see libck's inline assembly\n", info.id);
            continue;
        }
        stress(info.id, ll_lock_find(info.id, LL_VARIANT_NATIVE), "native", 2);
        if (!strands(ll_lock_find(info.id, LL_VARIANT_NATIVE)))
            stress(info.id, ll_lock_find(info.id, LL_VARIANT_NATIVE), "native", 4);
        stress(info.id, ll_lock_find(info.id, LL_VARIANT_BARE), "bare", 2);
        stress(info.id, ll_lock_find(info.id, LL_VARIANT_PROBED), "probed", 2);
        stressed++;
    }
    EXPECT(argc > 1 ? stressed == argc - 1 : stressed >= 11, "only %d locks were stressed",
           stressed);
    DONE();
}
