/* SPDX-License-Identifier: MIT */
/* script_rwsem.c - how wakeup-flag strands a reader and a writer, step by step on real threads.
 *
 *   script_rwsem [TIMES]     the whole play so often, 3 by default
 *
 * Four threads play: the waker A and the thief B, who write, the victim V in the queue, and a
 * passer-by D. This one directs. Sync points of the locks (test build) hold A where the fault
 * needs it; no step depends on time, but for a bound after which a script has failed.
 *
 *   step  who  does                                      held, or seen to be    count after   flag
 *   0     A    writes; V queues behind it                V is parked            2Z + 1        0
 *   1     A    releases, owes a wake-up                  A at `hold`            Z             1
 *   2     B    steals: enters past the queue             B has returned         2Z + 1        1
 *   3, 4  A    reader: counts V in, takes that back      A at the flag's clear  2Z + 1        1
 *              writer: wakes V, who finds B and parks    V is parked again
 *   5     B    releases: skips, or queues for wait_lock  B is done, or there    Z             1
 *   6     A    clears the flag, leaves                   A and B are done       Z             0
 *
 * Another way needs no thief: A grants the lock to a reader B at the front, V writes and stands
 * behind. B comes in and leaves before A clears the flag, and skips.
 *
 *   0     A    writes; B, then V queue behind it         both are parked         2Z + 1        0
 *   1     A    releases, wakes: grants B                 A at the flag's clear   Z + 1         1
 *   2     B    comes in, releases: skips, or queues      B is done, or there     Z             1
 *   3     A    clears the flag, leaves                   A and B are done        Z             0
 *
 * In a trace of the checker (client shared, 2 writers and a reader, or 3 writers) the steps are
 *
 *   1     count by rwsem_leave, wakeup 0 -> 1 in rwsem_wake_queue, first read in rwsem_wake_front
 *   2     count by the thief's rwsem_enter, or by its rwsem_take if it stood in the queue
 *   3, 4  count up and down in rwsem_count_reader; or the unpark in rwsem_wake_front, then V's park
 *         and its look at count; or, without a thief, `task` cleared in rwsem_grant
 *   5     count by the rwsem_leave of B, wakeup read as 1 in rwsem_wake_queue: the end of B
 *   6     wakeup 1 -> 0 in rwsem_do_wake: the end of A
 *
 * A stranded reader takes 4 preemptions, a writer 3 with a thief and 2 without. With clear-first,
 * and for a reader with retry, the flag is down when B comes, and B queues for the wait lock.
 *
 * Stranded: A and B have returned, nobody is active, the queue is not empty, the flag is down, the
 * wait lock free, and V is parked without a permit. Nobody is left who could wake it; so D does, as
 * passers-by do in life, and the script ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "expect.h"
#include "lock_box.h"
#include "locks/rwsem/rwsem_tmpl.h"

#define BOUND_S 60 /* of one script; a machine must be very busy for that */

extern const struct ll_lock_desc ll_lock_rwsem_3_12_test, ll_lock_rwsem_wakeup_flag_test,
    ll_lock_rwsem_wakeup_flag_fixed_test;

enum who { A, B, V, D, ACTORS };

struct script {
    const char *name;
    const struct ll_lock_desc *desc;
    const char *hold; /* sync point at which step 1 ends */
    uint32_t mode, steal, check_first;
    bool writer;     /* V writes */
    bool downgrades; /* A, between entering and leaving */
    bool b_reads;
    bool is_stranded; /* what must come out */
};

struct actor {
    struct stage *stage;
    enum who who;
    pthread_t thread;
    struct eng_thread *engine;
    /* under stage.mutex */
    unsigned asked, done; /* actions, in order */
    const char *hold;     /* sync point at which to stop next, NULL: run through */
    const char *at;       /* where it stands held, NULL: it runs */
    const char *passed;   /* sync point that it came to last */
};

struct stage {
    const struct script *script;
    struct lock_box box;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct timespec end;
    struct actor actor[ACTORS];
};

/* ---- the stage ---- */

static void give_up(const struct stage *s, const char *what)
{
    fprintf(stderr, "%s: after %d s not so: %s\n", s->script->name, BOUND_S, what);
    for (int i = 0; i < ACTORS; i++) {
        const struct actor *a = &s->actor[i];
        fprintf(stderr, "  %c: %u of %u done, at %s, passed %s\n", "ABVD"[i], a -> done, a -> asked,
                a -> at ? a -> at : "-", a->passed ? a->passed : "-");
    }
    exit(1); /* the threads cannot be joined */
}

/* With the mutex: waits for a change. */
static void wait_for_change(struct stage *s, const char *what)
{
    if (pthread_cond_timedwait(&s->changed, &s->mutex, &s->end) == ETIMEDOUT)
        give_up(s, what);
}

#define UNTIL(s, condition)                                                                        \
    do {                                                                                           \
        pthread_mutex_lock(&(s)->mutex);                                                           \
        while (!(condition))                                                                       \
            wait_for_change(s, #condition);                                                        \
        pthread_mutex_unlock(&(s)->mutex);                                                         \
    } while (0)

/* Runs in an actor's thread, in the lock. */
static void on_sync_point(struct eng_thread *self, const char *name)
{
    struct actor *a = self->owner_data;
    struct stage *s = a->stage;

    pthread_mutex_lock(&s->mutex);
    a->passed = name;
    if (a->hold && !strcmp(a->hold, name)) {
        a->at = name;
        pthread_cond_broadcast(&s->changed);
        while (a->at)
            wait_for_change(s, "an actor is let go");
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static void act(struct actor *a, unsigned action)
{
    const struct ll_lock_desc *d = a->stage->script->desc;
    void *lock = a->stage->box.lock, *node = a->stage->box.node[a->who];
    bool downgrades = a->who == A && a->stage->script->downgrades;
    bool shared = a->who == V   ? !a->stage->script->writer
                  : a->who == B ? a->stage->script->b_reads
                                : action == 2;

    if (action == 1 && downgrades)
        d->shared.downgrade(lock, node);
    else if (action == 0)
        (shared ? d->shared.acquire_shared : d->ops.acquire)(lock, node);
    else
        (shared ? d->shared.release_shared : d->ops.release)(lock, node);
}

/* Each actor enters once and leaves once, when it is asked to; A may downgrade in between. */
static void *play(void *arg)
{
    struct actor *a = arg;
    struct stage *s = a->stage;
    struct eng_thread *self = eng_native_attach((uint32_t)a->who, 1);
    unsigned actions = a->who == A && s->script->downgrades ? 3 : 2;

    LL_ASSERT(self);
    self->owner_data = a;
    self->on_sync_point = on_sync_point;
    pthread_mutex_lock(&s->mutex);
    a->engine = self;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    for (unsigned action = 0; action < actions; action++) {
        UNTIL(s, a->asked > action);
        act(a, action);
        pthread_mutex_lock(&s->mutex);
        a->done++;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
    }
    UNTIL(s, a->asked > actions); /* descriptors stay until nobody wakes anybody any more */
    eng_native_detach();
    return NULL;
}

static void ask(struct stage *s, enum who who)
{
    pthread_mutex_lock(&s->mutex);
    s->actor[who].asked++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static void ask_and_see(struct stage *s, enum who who)
{
    struct actor *a = &s->actor[who];

    ask(s, who);
    UNTIL(s, a->done == a->asked);
}

/* Lets A run from where it is held to sync point `name`, or out if that is NULL. */
static void let_go(struct stage *s, const char *name)
{
    struct actor *a = &s->actor[A];

    pthread_mutex_lock(&s->mutex);
    a->at = NULL;
    a->hold = name;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    UNTIL(s, name ? a->at != NULL : a->done == a->asked);
}

static bool is_parked(const struct stage *s, enum who who)
{
    return __atomic_load_n(&s->actor[who].engine->permit, __ATOMIC_ACQUIRE) == 2;
}

/* A park tells nobody; so this looks, until it is so. */
static void until_parked(struct stage *s, enum who who)
{
    struct timespec now;

    while (!is_parked(s, who)) {
        clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_sec > s->end.tv_sec)
            give_up(s, "V is parked");
        sched_yield();
    }
}

static void raise_curtain(struct stage *s, const struct script *script)
{
    struct rwsem *l;

    *s = (struct stage){.script = script, .box = box_make(script->desc)};
    l = s->box.lock;
    l->steal = script->steal;
    l->check_first = script->check_first;
    l->mode = script->mode;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    clock_gettime(CLOCK_REALTIME, &s->end);
    s->end.tv_sec += BOUND_S;
    for (int i = 0; i < ACTORS; i++) {
        s->actor[i].stage = s;
        s->actor[i].who = (enum who)i;
        LL_ASSERT(!pthread_create(&s->actor[i].thread, NULL, play, &s->actor[i]));
        UNTIL(s, s->actor[i].engine);
    }
}

static void drop_curtain(struct stage *s)
{
    for (int i = 0; i < ACTORS; i++)
        ask(s, (enum who)i);
    for (int i = 0; i < ACTORS; i++)
        pthread_join(s->actor[i].thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    box_free(&s->box);
}

/* ---- the play ---- */

#define LOAD(word) __atomic_load_n(&(word).raw, __ATOMIC_ACQUIRE)

static void count_is(const struct stage *s, int step, int64_t count)
{
    const struct rwsem *l = s->box.lock;

    EXPECT(LOAD(l->count) == count, "%s, step %d: count is %llx", s->script->name, step,
           (unsigned long long)LOAD(l->count));
}

/* B releases while A is held at the flag's clear; then A goes. */
static void last_steps(struct stage *s, int step)
{
    const struct actor *b = &s->actor[B];

    ask(s, B);
    UNTIL(s, b->done == b->asked || (b->passed && !strcmp(b->passed, "rwsem.before_wait_lock")));
    count_is(s, step, RWSEM_WAITING);
    EXPECT((b->done == b->asked) == s->script->is_stranded, "%s, step %d: B %s", s->script->name,
           step, b->done == b->asked ? "left without waking" : "came for the wait lock");
    let_go(s, NULL);
    UNTIL(s, b->done == b->asked);
}

/* The first table: B is a thief. */
static void steps(struct stage *s)
{
    uint64_t undone;

    ask_and_see(s, A);
    count_is(s, 0, RWSEM_WRITE);
    ask(s, V);
    until_parked(s, V);
    count_is(s, 0, 2 * RWSEM_WAITING + 1);

    pthread_mutex_lock(&s->mutex);
    s->actor[A].hold = s->script->hold;
    pthread_mutex_unlock(&s->mutex);
    ask(s, A);
    UNTIL(s, s->actor[A].at != NULL);
    count_is(s, 1, RWSEM_WAITING);

    ask_and_see(s, B);
    count_is(s, 2, 2 * RWSEM_WAITING + 1);

    undone = s->actor[A].engine->events[LL_EV_probe_undone];
    let_go(s, "rwsem.before_flag_clear");
    if (s->script->writer)
        until_parked(s, V); /* again: A has woken it */
    else if (!s->script->check_first)
        EXPECT(s->actor[A].engine->events[LL_EV_probe_undone] > undone, "%s: nothing was undone",
               s->script->name);
    count_is(s, 4, 2 * RWSEM_WAITING + 1);

    last_steps(s, 5);
}

/* The second table: B is a reader in front of V. */
static void steps_behind_a_reader(struct stage *s)
{
    ask_and_see(s, A);
    ask(s, B);
    until_parked(s, B);
    ask(s, V);
    until_parked(s, V);
    count_is(s, 0, 2 * RWSEM_WAITING + 1);

    pthread_mutex_lock(&s->mutex);
    s->actor[A].hold = "rwsem.before_flag_clear";
    pthread_mutex_unlock(&s->mutex);
    ask(s, A);
    UNTIL(s, s->actor[A].at != NULL);
    UNTIL(s, s->actor[B].done == 1);
    count_is(s, 1, RWSEM_WAITING + 1);

    last_steps(s, 2);
}

/* V sleeps, and whoever could have woken it has left. */
static void is_stranded(struct stage *s)
{
    const struct rwsem *l = s->box.lock;
    uint32_t wait_lock = LOAD(l->wait_lock);

    count_is(s, 6, (int64_t)0xFFFFFFFF00000000);
    EXPECT(LOAD(l->wakeup) == 0, "%s: the flag is up", s->script->name);
    EXPECT(wait_lock >> 16 == (wait_lock & 0xFFFF), "%s: wait lock %x", s->script->name, wait_lock);
    EXPECT(s->actor[V].done == 0 && is_parked(s, V), "%s: V does not sleep", s->script->name);
    EXPECT(l->first.raw == s->box.node[V] && l->last.raw == s->box.node[V] &&
               LOAD(l->first.raw->task) == s->actor[V].engine,
           "%s: V is not the queue", s->script->name);
    EXPECT(s->actor[B].engine->events[LL_EV_wake_skipped] == 1, "%s: B did not skip",
           s->script->name);
}

/* Another writer enters past the queue, if there is one, and wakes it when it leaves. */
static void pass_by(struct stage *s)
{
    ask_and_see(s, D);
    ask_and_see(s, D);
}

static void run_script(const struct script *script)
{
    static struct stage s;

    raise_curtain(&s, script);
    if (script->b_reads)
        steps_behind_a_reader(&s);
    else
        steps(&s);
    if (script->is_stranded) {
        is_stranded(&s);
        pass_by(&s);
    }
    UNTIL(&s, s.actor[V].done == 1);
    ask_and_see(&s, V);
    if (!script->is_stranded) /* the lock is as good as before */
        pass_by(&s);
    count_is(&s, 7, 0);
    drop_curtain(&s);
}

/* V queues behind A, who downgrades: a reader comes in beside A, a writer when A leaves. */
static void run_downgrade(const struct script *script)
{
    static struct stage s;
    const struct rwsem *l;

    raise_curtain(&s, script);
    l = s.box.lock;
    ask_and_see(&s, A);
    ask(&s, V);
    until_parked(&s, V);
    ask_and_see(&s, A);
    if (script->writer) {
        EXPECT(is_parked(&s, V), "%s: a writer comes in", script->name);
        count_is(&s, 1, RWSEM_WAITING + 1);
    } else {
        UNTIL(&s, s.actor[V].done == 1);
        count_is(&s, 1, 2);
    }
    EXPECT(LOAD(l->wakeup) == 0, "%s: the flag is up", script->name);
    ask_and_see(&s, A);
    UNTIL(&s, s.actor[V].done == 1);
    ask_and_see(&s, V);
    count_is(&s, 2, 0);
    for (int who = 0; who < ACTORS; who++)
        if (s.actor[who].asked == 0) {
            ask_and_see(&s, (enum who)who);
            ask_and_see(&s, (enum who)who);
        }
    drop_curtain(&s);
}

#define FIXED &ll_lock_rwsem_wakeup_flag_fixed_test
#define FLAG &ll_lock_rwsem_wakeup_flag_test
#define BASE &ll_lock_rwsem_3_12_test
#define CLEAR_FIRST RWSEM_CLEAR_FIRST
#define RETRY RWSEM_RETRY

static void both_victims(const char *reader, const char *writer, struct script script,
                         bool strands_reader, bool strands_writer)
{
    script.name = reader;
    script.is_stranded = strands_reader;
    run_script(&script);
    script.name = writer;
    script.writer = true;
    script.is_stranded = strands_writer;
    run_script(&script);
}

/* Every lock, mode and parameter. Stealing in the slow path takes wait_lock: A must not have it. */
static void whole_play(void)
{
    static const struct {
        const char *hold;
        uint32_t steal;
    } way[] = {{"rwsem.do_wake", RWSEM_STEAL_FAST},
               {"rwsem.before_wait_lock", RWSEM_STEAL_FAST},
               {"rwsem.before_wait_lock", RWSEM_STEAL_SLOW}};

    for (unsigned i = 0; i < 2 * sizeof(way) / sizeof(way[0]); i++) {
        struct script s = {
            .hold = way[i / 2].hold, .steal = way[i / 2].steal, .check_first = i % 2};
        s.desc = BASE;
        both_victims("3.12, reader", "3.12, writer", s, false, false);
        s.desc = FLAG;
        both_victims("wakeup-flag, reader", "wakeup-flag, writer", s, true, true);
        s.desc = FIXED;
        s.mode = CLEAR_FIRST;
        both_victims("clear-first, reader", "clear-first, writer", s, false, false);
        s.mode = RETRY;
        both_victims("retry, reader", "retry, writer", s, false, true);
    }
}

static void behind_a_reader(void)
{
    static const struct script script[] = {
        {.name = "3.12, behind a reader", .desc = BASE},
        {.name = "wakeup-flag, behind a reader", .desc = FLAG, .is_stranded = true},
        {.name = "clear-first, behind a reader", .desc = FIXED, .mode = CLEAR_FIRST},
        {.name = "retry, behind a reader", .desc = FIXED, .mode = RETRY, .is_stranded = true}};

    for (unsigned i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
        struct script s = script[i];
        s.writer = s.b_reads = true;
        run_script(&s);
    }
}

static void downgrades(void)
{
    static const struct ll_lock_desc *const lock[] = {BASE, FLAG, FIXED};

    for (unsigned i = 0; i < 2 * sizeof(lock) / sizeof(lock[0]); i++)
        run_downgrade(&(struct script){.name = i % 2 ? "downgrade, writer" : "downgrade, reader",
                                       .desc = lock[i / 2],
                                       .writer = i % 2,
                                       .downgrades = true});
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 3;

    for (int i = 0; i < times && !expect_failures; i++) {
        whole_play();
        behind_a_reader();
        downgrades();
    }
    DONE();
}
