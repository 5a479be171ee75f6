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
#include "stage.h"

#include "locks/rwsem/rwsem_tmpl.h"

extern const struct ll_lock_desc ll_lock_rwsem_3_12_test, ll_lock_rwsem_wakeup_flag_test,
    ll_lock_rwsem_wakeup_flag_fixed_test;

enum who { A, B, V, D, ACTORS };

struct script {
    const char *name;
    const struct ll_lock_desc *desc;
    const char *hold; /* sync point at which step 1 ends */
    uint32_t mode, steal, check_first;
    bool writer; /* V writes */
    bool b_reads;
    bool is_stranded; /* what must come out */
};

enum {
    ENTER = STAGE_MORE,
    GO,
    DOWNGRADE
}; /* in the mode that the script says; or A stays, and reads */

static const struct script *script;
static bool a_reads; /* A's own while it plays */

static void act(struct actor *a, unsigned action)
{
    const struct ll_lock_desc *d = a->stage->box.desc;
    void *lock = a->stage->box.lock, *node = a->stage->box.node[a->who];
    bool shared = a->who == V   ? !script->writer
                  : a->who == B ? script->b_reads
                                : a->who == A && a_reads;

    if (action == ENTER) {
        (shared ? d->shared.acquire_shared : d->ops.acquire)(lock, node);
    } else if (action == GO) {
        (shared ? d->shared.release_shared : d->ops.release)(lock, node);
    } else {
        d->shared.downgrade(lock, node);
        a_reads = true;
    }
}

static void raise_curtain(struct stage *s, const struct script *of)
{
    struct rwsem *l;

    script = of;
    a_reads = false;
    stage_open(s, of->name, of->desc, ACTORS);
    s->act = act;
    l = s->box.lock; /* nobody touches it before being asked to */
    l->steal = of->steal;
    l->check_first = of->check_first;
    l->mode = of->mode;
}

static void until_parked(struct stage *s, unsigned who)
{
    STAGE_LOOK(s, stage_is_parked(s, who));
}

static bool is_idle(const struct actor *a)
{
    return a->done == a->asked;
}

/* ---- the play ---- */

#define LOAD(word) __atomic_load_n(&(word).raw, __ATOMIC_ACQUIRE)

static void count_is(const struct stage *s, int step, int64_t count)
{
    const struct rwsem *l = s->box.lock;

    EXPECT(LOAD(l->count) == count, "%s, step %d: count is %llx", s->name, step,
           (unsigned long long)LOAD(l->count));
}

/* B releases while A is held at the flag's clear; then A goes. */
static void last_steps(struct stage *s, int step)
{
    const struct actor *b = &s->actor[B];

    stage_ask(s, B, GO, NULL);
    STAGE_UNTIL(s, is_idle(b) || (b->passed && !strcmp(b->passed, "rwsem.before_wait_lock")));
    count_is(s, step, RWSEM_WAITING);
    EXPECT(is_idle(b) == script->is_stranded, "%s, step %d: B %s", s->name, step,
           is_idle(b) ? "left without waking" : "came for the wait lock");
    stage_let_go(s, A, NULL);
    stage_see(s, A);
    stage_see(s, B);
}

/* The first table: B is a thief. */
static void steps(struct stage *s)
{
    uint64_t undone;

    stage_ask_and_see(s, A, ENTER);
    count_is(s, 0, RWSEM_WRITE);
    stage_ask(s, V, ENTER, NULL);
    until_parked(s, V);
    count_is(s, 0, 2 * RWSEM_WAITING + 1);

    stage_ask(s, A, GO, script->hold);
    stage_until_held(s, A);
    count_is(s, 1, RWSEM_WAITING);

    stage_ask_and_see(s, B, ENTER);
    count_is(s, 2, 2 * RWSEM_WAITING + 1);

    undone = s->actor[A].engine->events[LL_EV_probe_undone];
    stage_let_go(s, A, "rwsem.before_flag_clear");
    stage_until_held(s, A);
    if (script->writer)
        until_parked(s, V); /* again: A has woken it */
    else if (!script->check_first)
        EXPECT(s->actor[A].engine->events[LL_EV_probe_undone] > undone, "%s: nothing was undone",
               s->name);
    count_is(s, 4, 2 * RWSEM_WAITING + 1);

    last_steps(s, 5);
}

/* The second table: B is a reader in front of V. */
static void steps_behind_a_reader(struct stage *s)
{
    stage_ask_and_see(s, A, ENTER);
    stage_ask(s, B, ENTER, NULL);
    until_parked(s, B);
    stage_ask(s, V, ENTER, NULL);
    until_parked(s, V);
    count_is(s, 0, 2 * RWSEM_WAITING + 1);

    stage_ask(s, A, GO, "rwsem.before_flag_clear");
    stage_until_held(s, A);
    stage_see(s, B);
    count_is(s, 1, RWSEM_WAITING + 1);

    last_steps(s, 2);
}

/* V sleeps, and whoever could have woken it has left. */
static void is_stranded(struct stage *s)
{
    const struct rwsem *l = s->box.lock;
    uint32_t wait_lock = LOAD(l->wait_lock);

    count_is(s, 6, (int64_t)0xFFFFFFFF00000000);
    EXPECT(LOAD(l->wakeup) == 0, "%s: the flag is up", s->name);
    EXPECT(wait_lock >> 16 == (wait_lock & 0xFFFF), "%s: wait lock %x", s->name, wait_lock);
    EXPECT(s->actor[V].done == 0 && stage_is_parked(s, V), "%s: V does not sleep", s->name);
    EXPECT(l->first.raw == s->box.node[V] && l->last.raw == s->box.node[V] &&
               LOAD(l->first.raw->task) == s->actor[V].engine,
           "%s: V is not the queue", s->name);
    EXPECT(s->actor[B].engine->events[LL_EV_wake_skipped] == 1, "%s: B did not skip", s->name);
}

/* Another writer enters past the queue, if there is one, and wakes it when it leaves. */
static void pass_by(struct stage *s)
{
    stage_ask_and_see(s, D, ENTER);
    stage_ask_and_see(s, D, GO);
}

static void run_script(const struct script *of)
{
    static struct stage s;

    raise_curtain(&s, of);
    if (script->b_reads)
        steps_behind_a_reader(&s);
    else
        steps(&s);
    if (script->is_stranded) {
        is_stranded(&s);
        pass_by(&s);
    }
    stage_see(&s, V);
    stage_ask_and_see(&s, V, GO);
    if (!script->is_stranded) /* the lock is as good as before */
        pass_by(&s);
    count_is(&s, 7, 0);
    stage_close(&s);
}

/* V queues behind A, who downgrades: a reader comes in beside A, a writer when A leaves. */
static void run_downgrade(const struct script *of)
{
    static struct stage s;
    const struct rwsem *l;

    raise_curtain(&s, of);
    l = s.box.lock;
    stage_ask_and_see(&s, A, ENTER);
    stage_ask(&s, V, ENTER, NULL);
    until_parked(&s, V);
    stage_ask_and_see(&s, A, DOWNGRADE);
    if (script->writer) {
        EXPECT(stage_is_parked(&s, V), "%s: a writer comes in", s.name);
        count_is(&s, 1, RWSEM_WAITING + 1);
    } else {
        stage_see(&s, V);
        count_is(&s, 1, 2);
    }
    EXPECT(LOAD(l->wakeup) == 0, "%s: the flag is up", s.name);
    stage_ask_and_see(&s, A, GO);
    stage_see(&s, V);
    stage_ask_and_see(&s, V, GO);
    count_is(&s, 2, 0);
    stage_ask_and_see(&s, B, ENTER); /* the lock is as good as before */
    stage_ask_and_see(&s, B, GO);
    pass_by(&s);
    stage_close(&s);
}

#define FIXED &ll_lock_rwsem_wakeup_flag_fixed_test
#define FLAG &ll_lock_rwsem_wakeup_flag_test
#define BASE &ll_lock_rwsem_3_12_test
#define CLEAR_FIRST RWSEM_CLEAR_FIRST
#define RETRY RWSEM_RETRY

static void both_victims(const char *reader, const char *writer, struct script s,
                         bool strands_reader, bool strands_writer)
{
    s.name = reader;
    s.is_stranded = strands_reader;
    run_script(&s);
    s.name = writer;
    s.writer = true;
    s.is_stranded = strands_writer;
    run_script(&s);
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
    static const struct script play[] = {
        {.name = "3.12, behind a reader", .desc = BASE},
        {.name = "wakeup-flag, behind a reader", .desc = FLAG, .is_stranded = true},
        {.name = "clear-first, behind a reader", .desc = FIXED, .mode = CLEAR_FIRST},
        {.name = "retry, behind a reader", .desc = FIXED, .mode = RETRY, .is_stranded = true}};

    for (unsigned i = 0; i < sizeof(play) / sizeof(play[0]); i++) {
        struct script s = play[i];
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
                                       .writer = i % 2});
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
