/* SPDX-License-Identifier: MIT */
/* stage.h - scripts on real threads: each actor does what it is asked to, one action after the other,
 * and can be held at the sync points of a lock (test build). The script's own thread directs. No step
 * depends on time, but for a bound after which a script has failed.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "expect.h"
#include "lock_box.h"

#define STAGE_BOUND_S 60 /* of one script; a machine must be very busy for that */
#define STAGE_ACTORS 4

enum { STAGE_ACQUIRE, STAGE_RELEASE, STAGE_LEAVE, STAGE_MORE /* and on: a script's own */ };

struct actor {
    struct stage *stage;
    unsigned who;
    pthread_t thread;
    struct eng_thread *engine;
    /* under stage.mutex */
    unsigned asked, done; /* actions, in order */
    unsigned next;
    const char *hold;   /* sync point at which to stop next, NULL: run through */
    const char *at;     /* where it stands held, NULL: it runs */
    const char *passed; /* sync point that it came to last */
};

struct stage {
    const char *name;
    unsigned actors;
    void (*act)(struct actor *a, unsigned action); /* those of the script */
    struct lock_box box;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct timespec end;
    struct actor actor[STAGE_ACTORS];
};

static inline void stage_fail(const struct stage *s, const char *what)
{
    fprintf(stderr, "%s: after %d s not so: %s\n", s->name, STAGE_BOUND_S, what);
    for (unsigned i = 0; i < s->actors; i++) {
        const struct actor *a = &s->actor[i];
        fprintf(stderr, "  %u: %u of %u done, at %s, passed %s\n", i, a->done, a->asked,
                a->at ? a->at : "-", a->passed ? a->passed : "-");
    }
    exit(1); /* the threads cannot be joined */
}

/* With the mutex: waits for a change. */
static inline void stage_wait(struct stage *s, const char *what)
{
    if (pthread_cond_timedwait(&s->changed, &s->mutex, &s->end) == ETIMEDOUT)
        stage_fail(s, what);
}

#define STAGE_UNTIL(s, condition)                                                                  \
    do {                                                                                           \
        pthread_mutex_lock(&(s)->mutex);                                                           \
        while (!(condition))                                                                       \
            stage_wait(s, #condition);                                                             \
        pthread_mutex_unlock(&(s)->mutex);                                                         \
    } while (0)

/* For what nobody tells, as a sleep or a spin: looks until it is so. */
#define STAGE_LOOK(s, condition)                                                                   \
    do {                                                                                           \
        struct timespec now_;                                                                      \
        while (!(condition)) {                                                                     \
            clock_gettime(CLOCK_REALTIME, &now_);                                                  \
            if (now_.tv_sec > (s)->end.tv_sec)                                                     \
                stage_fail(s, #condition);                                                         \
            sched_yield();                                                                         \
        }                                                                                          \
    } while (0)

/* Runs in an actor's thread, in the lock. */
static inline void stage_on_sync_point(struct eng_thread *self, const char *name)
{
    struct actor *a = self->owner_data;
    struct stage *s = a->stage;

    pthread_mutex_lock(&s->mutex);
    a->passed = name;
    if (a->hold && !strcmp(a->hold, name)) {
        a->at = name;
        a->hold = NULL;
        pthread_cond_broadcast(&s->changed);
        while (a->at)
            stage_wait(s, "an actor is let go");
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static inline void *stage_play(void *arg)
{
    struct actor *a = arg;
    struct stage *s = a->stage;
    const struct ll_lock_desc *d = s->box.desc;
    struct eng_thread *self = eng_native_attach(a->who, 1);
    bool leaves = false;

    LL_ASSERT(self);
    self->owner_data = a;
    self->on_sync_point = stage_on_sync_point;
    pthread_mutex_lock(&s->mutex);
    a->engine = self;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    while (!leaves) {
        STAGE_UNTIL(s, a->asked > a->done);
        if (a->next == STAGE_ACQUIRE)
            d->ops.acquire(s->box.lock, s->box.node[a->who]);
        else if (a->next == STAGE_RELEASE)
            d->ops.release(s->box.lock, s->box.node[a->who]);
        else if (a->next >= STAGE_MORE)
            s->act(a, a->next);
        leaves = a->next == STAGE_LEAVE;
        pthread_mutex_lock(&s->mutex);
        a->done++;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
    }
    STAGE_UNTIL(s, s->actors == 0); /* descriptors stay until nobody wakes anybody any more */
    eng_native_detach();
    return NULL;
}

/* The actor begins; where to hold it, or NULL. */
static inline void stage_ask(struct stage *s, unsigned who, unsigned action, const char *hold)
{
    pthread_mutex_lock(&s->mutex);
    s->actor[who].next = action;
    s->actor[who].hold = hold;
    s->actor[who].asked++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static inline void stage_see(struct stage *s, unsigned who)
{
    STAGE_UNTIL(s, s->actor[who].done == s->actor[who].asked);
}

static inline void stage_ask_and_see(struct stage *s, unsigned who, unsigned action)
{
    stage_ask(s, who, action, NULL);
    stage_see(s, who);
}

static inline void stage_until_held(struct stage *s, unsigned who)
{
    STAGE_UNTIL(s, s->actor[who].at != NULL);
}

static inline void stage_let_go(struct stage *s, unsigned who, const char *hold)
{
    pthread_mutex_lock(&s->mutex);
    s->actor[who].at = NULL;
    s->actor[who].hold = hold;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static inline bool stage_is_parked(const struct stage *s, unsigned who)
{
    return __atomic_load_n(&s->actor[who].engine->permit, __ATOMIC_ACQUIRE) == 2;
}

static inline void stage_open(struct stage *s, const char *name, const struct ll_lock_desc *desc,
                              unsigned actors)
{
    LL_ASSERT(actors <= STAGE_ACTORS);
    *s = (struct stage){.name = name, .actors = actors, .box = box_make(desc)};
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    clock_gettime(CLOCK_REALTIME, &s->end);
    s->end.tv_sec += STAGE_BOUND_S;
    for (unsigned i = 0; i < actors; i++) {
        s->actor[i].stage = s;
        s->actor[i].who = i;
        LL_ASSERT(!pthread_create(&s->actor[i].thread, NULL, stage_play, &s->actor[i]));
        STAGE_UNTIL(s, s->actor[i].engine);
    }
}

static inline void stage_close(struct stage *s)
{
    unsigned actors = s->actors;

    for (unsigned i = 0; i < actors; i++)
        stage_ask_and_see(s, i, STAGE_LEAVE);
    pthread_mutex_lock(&s->mutex);
    s->actors = 0;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    for (unsigned i = 0; i < actors; i++)
        pthread_join(s->actor[i].thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    box_free(&s->box);
}
