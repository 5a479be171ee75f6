/* SPDX-License-Identifier: MIT */
/* script_mutex.c - three windows of the mutexes, held open on real threads.
 *
 *   script_mutex [TIMES]     the whole play so often, 3 by default
 *
 * NULL OWNER. A has the lock and has not said so; B spins.
 *
 *   who  does                            held, or seen                   v9            v10
 *   A    acquires                        before it sets the owner        count 0
 *   B    acquires                        in its spin loop                spins         spins
 *   B    should yield                                                    spins on      sleeps
 *   A    goes on, releases               B has the lock
 *
 * A third thread would sleep and so open v9's gate: there are just two. v10 with a resched policy of
 * `never` spins as v9 does.
 *
 * HALF LINK. A has the lock; B is at the head of the queue of spinners; C has exchanged the tail and is
 * held before it links itself. A releases. B has the lock then, or saw the owner gone and the counter
 * not yet free; either way it must wait for the link before it can leave the queue.
 *
 * STEAL. A releases slowly: it has freed the lock and not yet woken V, the first in the list. B takes it
 * by its first RMW. V is woken, finds it taken, sleeps again, and gets it when B releases.
 */
#define _GNU_SOURCE
#include "stage.h"

#include "locks/mutex/spin_tmpl.h"

extern const struct ll_lock_desc ll_lock_mutex_nospin_test, ll_lock_mutex_v9_test,
    ll_lock_mutex_v10_test, ll_lock_mutex_v10_nowait_test, ll_lock_mutex_3_7_test,
    ll_lock_mutex_count_check_test, ll_lock_mutex_mcs_test, ll_lock_mutex_osq_test,
    ll_lock_mutex_appspin_test;

enum { A, B, C, V = C };

#define LOAD(word) __atomic_load_n(&(word).raw, __ATOMIC_ACQUIRE)
#define SPUN 20000u /* RMWs of a spinner after which it is believed not to leave */

static uint64_t event(const struct stage *s, unsigned who, enum ll_event ev)
{
    return __atomic_load_n(&s->actor[who].engine->events[ev], __ATOMIC_RELAXED);
}

static void count_is(const struct stage *s, const char *step, bool is)
{
    const struct mutex *l = s->box.lock;

    EXPECT(is, "%s, %s: count is %d", s->name, step, LOAD(l->count));
}

/* ---- null owner ---- */

static void resched(struct stage *s, unsigned who)
{
    __atomic_store_n(&s->actor[who].engine->resched, 1, __ATOMIC_RELAXED);
}

static void null_owner(const struct ll_lock_desc *desc, bool asks, bool leaves)
{
    struct stage s;
    const struct eng_site *site;
    struct mutex *l;
    uint64_t before;

    stage_open(&s, desc->name, desc, 2);
    l = s.box.lock;
    s.actor[B].engine->spin_budget = 0; /* no resched but the one below */
    stage_ask(&s, A, STAGE_ACQUIRE, "mutex.before_set_owner");
    stage_until_held(&s, A);
    EXPECT(LOAD(*l->owner) == NULL, "%s: the owner is set", s.name);
    count_is(&s, "A is held", LOAD(l->count) == 0);

    stage_ask(&s, B, STAGE_ACQUIRE, NULL);
    STAGE_LOOK(&s, event(&s, B, LL_EV_cas_issued) >= 10);
    count_is(&s, "B spins", LOAD(l->count) == -1);
    before = event(&s, B, LL_EV_cas_issued);
    if (asks)
        resched(&s, B);
    if (leaves) {
        STAGE_LOOK(&s, stage_is_parked(&s, B));
        EXPECT(event(&s, B, LL_EV_spin_leave_null_guard) == 1, "%s: left for another reason",
               s.name);
    } else {
        STAGE_LOOK(&s, event(&s, B, LL_EV_cas_issued) >= before + SPUN);
        EXPECT(!stage_is_parked(&s, B) && s.actor[B].done == 0, "%s: B does not spin", s.name);
        EXPECT(event(&s, B, LL_EV_spin_leave_null_guard) == 0, "%s: B has left", s.name);
        site = eng_native_wait_site(s.actor[B].engine); /* as a run's watchdog reports it */
        EXPECT(site && strstr(site->file, "mutex/spin_tmpl.h"), "%s: B waits at %s", s.name,
               site ? site->file : "no place");
    }

    stage_let_go(&s, A, NULL);
    stage_see(&s, A);
    stage_ask_and_see(&s, A, STAGE_RELEASE);
    stage_see(&s, B);
    if (leaves || !asks) /* one that should yield may go to sleep once there is an owner */
        EXPECT(event(&s, B, LL_EV_spin_win) == !leaves, "%s: B got the lock the other way", s.name);
    stage_ask_and_see(&s, B, STAGE_RELEASE);
    count_is(&s, "the end", LOAD(l->count) == 1);
    stage_close(&s);
}

/* ---- half link ---- */

static void half_link(void)
{
    struct stage s;
    struct mutex *l;
    struct mutex_node *b, *c;
    unsigned first;

    stage_open(&s, "mcs, half link", &ll_lock_mutex_mcs_test, 3);
    l = s.box.lock;
    b = s.box.node[B];
    c = s.box.node[C];
    s.actor[B].engine->spin_budget = s.actor[C].engine->spin_budget = 0;
    stage_ask_and_see(&s, A, STAGE_ACQUIRE);
    stage_ask(&s, B, STAGE_ACQUIRE, "mcs.halflink");
    STAGE_LOOK(&s, LOAD(l->queue->mcs.tail) == &b->mcs); /* B spins on A */
    stage_ask(&s, C, STAGE_ACQUIRE, "mcs.before_link");
    stage_until_held(&s, C);
    EXPECT(LOAD(l->queue->mcs.tail) == &c->mcs && !LOAD(b->mcs.next), "%s: C is linked", s.name);

    stage_ask_and_see(&s, A, STAGE_RELEASE);
    stage_until_held(&s, B); /* it wants to leave the queue, and finds that it is not the last */
    stage_let_go(&s, B, NULL);
    STAGE_LOOK(&s, event(&s, B, LL_EV_link_wait) == 1 &&
                       event(&s, B, LL_EV_await_blocked) >= 1); /* waits for the link */
    EXPECT(s.actor[B].done == 0 && LOAD(c->mcs.locked) == 0, "%s: handed over", s.name);

    stage_let_go(&s, C, NULL);
    STAGE_UNTIL(&s, s.actor[B].done == 1 || s.actor[C].done == 1);
    first = s.actor[B].done == 1 ? B : C;
    stage_ask_and_see(&s, first, STAGE_RELEASE);
    stage_see(&s, B + C - first);
    stage_ask_and_see(&s, B + C - first, STAGE_RELEASE);
    count_is(&s, "the end", LOAD(l->count) == 1);
    EXPECT(!LOAD(l->queue->mcs.tail), "%s: the queue is not empty", s.name);
    stage_close(&s);
}

/* ---- slow release against a steal ---- */

static void steal(const struct ll_lock_desc *desc)
{
    struct stage s;
    struct mutex *l;

    stage_open(&s, desc->name, desc, 3);
    l = s.box.lock;
    for (unsigned i = 0; i < 3; i++) /* nobody spins */
        s.actor[i].engine->owner_policy = LL_OWNER_NEVER;
    stage_ask_and_see(&s, A, STAGE_ACQUIRE);
    stage_ask(&s, V, STAGE_ACQUIRE, NULL);
    STAGE_LOOK(&s, stage_is_parked(&s, V));
    count_is(&s, "V sleeps", LOAD(l->count) < 0);

    stage_ask(&s, A, STAGE_RELEASE, "mutex.freed");
    stage_until_held(&s, A);
    count_is(&s, "freed", LOAD(l->count) == 1);
    EXPECT(stage_is_parked(&s, V), "%s: V was woken too early", s.name);
    stage_ask_and_see(&s, B, STAGE_ACQUIRE);
    count_is(&s, "stolen", LOAD(l->count) == 0);

    stage_let_go(&s, A, NULL);
    stage_see(&s, A);
    STAGE_LOOK(&s, event(&s, V, LL_EV_lost_race_wake) == 1 && stage_is_parked(&s, V));
    count_is(&s, "V sleeps again", LOAD(l->count) < 0);
    EXPECT(LOAD(l->list->first) == s.box.node[V], "%s: V has lost its place", s.name);
    stage_ask_and_see(&s, B, STAGE_RELEASE); /* finds the count negative: slow */
    stage_see(&s, V);
    count_is(&s, "V has it", LOAD(l->count) == 0);
    EXPECT(!LOAD(l->list->first), "%s: V is still in the list", s.name);
    stage_ask_and_see(&s, V, STAGE_RELEASE);
    count_is(&s, "the end", LOAD(l->count) == 1);
    stage_close(&s);
}

int main(int argc, char **argv)
{
    static const struct ll_lock_desc *const all[] = {
        &ll_lock_mutex_nospin_test,      &ll_lock_mutex_v9_test,  &ll_lock_mutex_v10_test,
        &ll_lock_mutex_v10_nowait_test,  &ll_lock_mutex_3_7_test, &ll_lock_mutex_appspin_test,
        &ll_lock_mutex_count_check_test, &ll_lock_mutex_mcs_test, &ll_lock_mutex_osq_test};
    int times = argc > 1 ? atoi(argv[1]) : 3;

    for (int i = 0; i < times && !expect_failures; i++) {
        null_owner(&ll_lock_mutex_v9_test, true, false);
        null_owner(&ll_lock_mutex_v10_test, true, true);
        null_owner(&ll_lock_mutex_v10_test, false, false);
        null_owner(&ll_lock_mutex_v10_nowait_test, true, true);
        null_owner(&ll_lock_mutex_3_7_test, true, true);
        half_link();
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            steal(all[k]);
    }
    DONE();
}
