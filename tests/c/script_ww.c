/* SPDX-License-Identifier: MIT */
/* script_ww.c - locks with contexts on real threads, step by step.
 *
 *   script_ww [TIMES]     the whole play so often, 3 by default
 *
 * FOUR CONTEXTS on two locks, C1 the oldest: the fault of publish=count in ww/wait-die.
 *
 *   who  does                             held, or seen                        count of A
 *   C3   takes A; C2 takes B
 *   C4   takes A                          sleeps                               -1
 *   C2   takes A                          sleeps: older than C3, may wait      -1
 *   C3   releases A                       has freed it, woken nobody yet       1
 *   C1   takes A by its first RMW         count: finds 0, goes on              0
 *                                         list: finds C4, comes for wait_lock
 *   C3   goes on, wakes C4                C4 finds A taken, sleeps again       -1
 *   C1   takes B                          count: sleeps: older than C2
 *
 * C2 sleeps on A, which C1 has; C1 sleeps on B, which C2 has. C2 would have to die for C1 but does not
 * look again: nobody has told it that A has another holder. Any stray wake-up would; the script ends
 * with one. With publish=list C1 wakes C2, which backs off.
 *
 * ABBA. C1 has A, C2 has B, each wants the other's. wait-die: C2 dies when it asks. wound-wait: C2
 * sleeps, and dies when C1 asks.
 *
 * PUBLICATION. C1 has A and its context is not there yet. C2, which has B, sees no context and sleeps.
 * C1 publishes, finds C2 asleep and wakes it: it dies.
 */
#define _GNU_SOURCE
#include "stage.h"

#include "locks/ww/ww_tmpl.h"

extern const struct ll_lock_desc ll_lock_ww_wait_die_test, ll_lock_ww_wound_wait_test;

enum { C1, C2, C3, C4, CONTEXTS };
enum { BEGIN = STAGE_MORE, TAKE_A, TAKE_B, SLOW_A, GIVE_A, GIVE_B };

#define LOAD(word) __atomic_load_n(&(word).raw, __ATOMIC_ACQUIRE)

static struct stage s;
static struct ww *a, *b;
static struct lock_box box_b;
static void *class, *context[CONTEXTS];
static int answer[CONTEXTS]; /* of the last call */

static void act(struct actor *actor, unsigned action)
{
    static const struct ll_ww_wait for_ever = {0};
    const struct ll_lock_desc *d = s.box.desc;
    unsigned who = actor->who;

    switch (action) {
    case BEGIN: d->ww.context_init(context[who], class); break;
    case TAKE_A: answer[who] = d->ww.acquire(a, s.box.node[who], context[who], &for_ever); break;
    case TAKE_B: answer[who] = d->ww.acquire(b, box_b.node[who], context[who], &for_ever); break;
    case SLOW_A:
        answer[who] = d->ww.acquire_slow(a, s.box.node[who], context[who], &for_ever);
        break;
    case GIVE_A: d->ops.release(a, s.box.node[who]); break;
    case GIVE_B: d->ops.release(b, box_b.node[who]); break;
    default: break;
    }
}

/* Contexts begin in order; nobody spins on an owner or is told to yield. */
static void open_with(const char *name, const struct ll_lock_desc *desc, enum ww_publish publish,
                      unsigned contexts)
{
    stage_open(&s, name, desc, contexts);
    s.act = act;
    box_b = box_make(desc);
    a = s.box.lock;
    b = box_b.lock;
    a->publish = b->publish = publish;
    class = box_memory(desc->class_size);
    for (unsigned i = 0; i < contexts; i++) {
        s.actor[i].engine->owner_policy = LL_OWNER_NEVER;
        s.actor[i].engine->spin_budget = 0;
        context[i] = box_memory(desc->context_size);
        stage_ask_and_see(&s, i, BEGIN);
    }
}

static void close_all(void)
{
    unsigned contexts = s.actors;

    EXPECT(LOAD(a->base.count) == 1 && LOAD(b->base.count) == 1, "%s: not free in the end", s.name);
    stage_close(&s);
    box_free(&box_b);
    free(class);
    for (unsigned i = 0; i < contexts; i++)
        free(context[i]);
}

static void does(unsigned who, int action)
{
    stage_ask(&s, who, action, NULL);
}

static void has_done(unsigned who, int want)
{
    stage_see(&s, who);
    EXPECT(answer[who] == want, "%s: C%u is answered %d, not %d", s.name, who + 1, answer[who],
           want);
}

static void sleeps(unsigned who)
{
    STAGE_LOOK(&s, stage_is_parked(&s, who));
}

static uint64_t event(unsigned who, enum ll_event ev)
{
    return __atomic_load_n(&s.actor[who].engine->events[ev], __ATOMIC_RELAXED);
}

static unsigned waiting_for(eng_u32 *wait_lock)
{
    uint32_t word = LOAD(*wait_lock);

    return (uint16_t)(word >> 16) - (uint16_t)word;
}

/* C2 has just been told to back off from A; C1 holds that. All end. */
static void afterwards(void)
{
    stage_ask_and_see(&s, C2, GIVE_B);
    has_done(C1, 0);
    does(C2, SLOW_A);
    sleeps(C2);
    stage_ask_and_see(&s, C1, GIVE_B);
    stage_ask_and_see(&s, C1, GIVE_A);
}

static void four_contexts(enum ww_publish publish)
{
    bool fault = publish == WW_PUBLISH_COUNT;

    open_with(fault ? "four contexts, publish=count" : "four contexts, publish=list",
              &ll_lock_ww_wait_die_test, publish, CONTEXTS);
    does(C3, TAKE_A);
    has_done(C3, 0);
    does(C2, TAKE_B);
    has_done(C2, 0);
    does(C4, TAKE_A);
    sleeps(C4);
    does(C2, TAKE_A);
    sleeps(C2);

    stage_ask(&s, C3, GIVE_A, "mutex.freed");
    stage_until_held(&s, C3);
    EXPECT(LOAD(a->base.count) == 1 && LOAD(a->base.list->first), "%s: not freed", s.name);
    does(C1, TAKE_A);
    if (fault)
        has_done(C1, 0);
    else
        STAGE_LOOK(&s, waiting_for(a->base.wait_lock) == 2); /* C3 has it, C1 wants it */
    EXPECT(LOAD(a->base.count) == 0, "%s: C1 did not come in past the list", s.name);
    stage_let_go(&s, C3, NULL);
    stage_see(&s, C3);
    if (!fault)
        has_done(C1, 0);
    STAGE_LOOK(&s, event(C4, LL_EV_lost_race_wake) >= 1);
    sleeps(C4);
    does(C1, TAKE_B);
    if (fault) {
        sleeps(C1);
        EXPECT(stage_is_parked(&s, C2) && stage_is_parked(&s, C4) &&
                   s.actor[C3].done == s.actor[C3].asked && waiting_for(a->base.wait_lock) == 0 &&
                   waiting_for(b->base.wait_lock) == 0,
               "%s: no deadlock", s.name);
        EXPECT(a->base.extra->raw == context[C1] && b->base.extra->raw == context[C2],
               "%s: held by others", s.name);
        eng_native_unpark(s.actor[C2].engine);
    }
    has_done(C2, -EDEADLK);
    afterwards();
    STAGE_UNTIL(&s, s.actor[C4].done == s.actor[C4].asked || s.actor[C2].done == s.actor[C2].asked);
    for (unsigned last = s.actor[C4].done == s.actor[C4].asked ? C4 : C2, i = 0; i < 2; i++) {
        has_done(last, 0);
        stage_ask_and_see(&s, last, GIVE_A);
        last = C2 + C4 - last;
    }
    close_all();
}

static void abba(const struct ll_lock_desc *desc, bool dies_at_once)
{
    open_with(dies_at_once ? "ABBA, wait-die" : "ABBA, wound-wait", desc, WW_PUBLISH_LIST, 2);
    does(C1, TAKE_A);
    has_done(C1, 0);
    does(C2, TAKE_B);
    has_done(C2, 0);
    does(C2, TAKE_A);
    if (dies_at_once)
        has_done(C2, -EDEADLK);
    else
        sleeps(C2);
    does(C1, TAKE_B);
    has_done(C2, -EDEADLK);
    EXPECT(event(C2, LL_EV_ww_edeadlk_real) == 1 &&
               event(C1, LL_EV_ww_wounds) == (dies_at_once ? 0 : 1),
           "%s: counts", s.name);
    afterwards();
    has_done(C2, 0);
    stage_ask_and_see(&s, C2, GIVE_A);
    close_all();
}

static void publication(void)
{
    open_with("publication", &ll_lock_ww_wait_die_test, WW_PUBLISH_LIST, 2);
    does(C2, TAKE_B);
    has_done(C2, 0);
    stage_ask(&s, C1, TAKE_A, "ww.before_publish");
    stage_until_held(&s, C1);
    EXPECT(LOAD(a->base.count) == 0 && !a->base.extra->raw, "%s: published", s.name);
    does(C2, TAKE_A);
    STAGE_LOOK(&s, event(C2, LL_EV_spin_enter) >= 1);
    __atomic_store_n(&s.actor[C2].engine->resched, 1, __ATOMIC_RELAXED); /* it sees no owner */
    sleeps(C2);
    stage_let_go(&s, C1, NULL);
    has_done(C1, 0);
    has_done(C2, -EDEADLK);
    EXPECT(event(C1, LL_EV_ww_wake_all_woken) == 1, "%s: C2 woke by itself", s.name);
    does(C1, TAKE_B);
    afterwards();
    has_done(C2, 0);
    stage_ask_and_see(&s, C2, GIVE_A);
    close_all();
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 3;

    LL_ASSERT(eng_native_attach(CONTEXTS, 1)); /* it wakes somebody */
    for (int i = 0; i < times && !expect_failures; i++) {
        four_contexts(WW_PUBLISH_COUNT);
        four_contexts(WW_PUBLISH_LIST);
        abba(&ll_lock_ww_wait_die_test, true);
        abba(&ll_lock_ww_wound_wait_test, false);
        publication();
    }
    eng_native_detach();
    DONE();
}
