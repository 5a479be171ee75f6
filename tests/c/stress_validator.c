/* SPDX-License-Identifier: MIT */
/* stress_validator.c - the order validator under arbitrary use, from several threads, beside real locks.
 *
 * Arbitrary scripts must do no harm (ASan says); scripts that keep to one order must be silent; threads at
 * once, with one that looks on, must be silent and race with nobody (TSan says).
 */
#include <pthread.h>
#include <sched.h>

#include "core/registry.h"
#include "engine/native_thread.h"
#include "engine/own.h"
#include "lock_box.h"
#include "validator_script.h"

static uint64_t random_state = 88172645463325252u;

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state % n);
}

/* ---- arbitrary scripts ---- */

static void add_lock(char *text)
{
    static const char *const suffix[] = {"", "", "", "'", ":1", "':3"};
    size_t n = strlen(text);

    text[n++] =
        (char)((below(&random_state, 3) ? 'A' : 'a') + (int)below(&random_state, S_CLASSES));
    text[n] = 0;
    strcat(text, suffix[below(&random_state, 6)]);
}

/* Interrupts nest as they must, which is all that a script has to keep to. */
static void any_script(char *text, uint32_t steps)
{
    uint32_t irqs[S_THREADS] = {0}, me = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t what = below(&random_state, 20);

        if (what < 5) {
            add_lock(text);
        } else if (what < 14) {
            static const char *const prefix[] = {"-", "-", "-", "-", "?", "%", "*", "!", "&"};
            strcat(text, prefix[what - 5]);
            add_lock(text);
        } else if (what == 14) {
            add_lock(text);
            strcat(text, "^");
            add_lock(text);
        } else if (what == 15) {
            me = below(&random_state, S_THREADS);
            strcat(text, (const char *[]){"1", "2", "3"}[me]);
        } else if (what == 16 && irqs[me] < LL_VALIDATOR_IRQ_NEST) {
            irqs[me]++;
            strcat(text, "(");
        } else if (what == 17 && irqs[me]) {
            irqs[me]--;
            strcat(text, ")");
        } else {
            strcat(text, (const char *[]){"[", "]", "~", "."}[below(&random_state, 4)]);
        }
    }
}

static void try_any(uint32_t scripts)
{
    for (uint32_t i = 0; i < scripts; i++) {
        enum type types[S_CLASSES];
        char text[1024];
        struct script s;
        struct ll_validator_link link;

        for (uint32_t c = 0; c < S_CLASSES; c++)
            types[c] = (enum type)below(&random_state, TYPES);
        any_script(text, 60);
        script_open(&s, types);
        script_run(&s, text);
        script_found(&s);
        for (size_t k = 0; ll_validator_edge_get(s.v, k, &link) == 0; k++)
            EXPECT(*link.from && *link.to);
        script_close(&s);
    }
}

/* ---- scripts in one order ---- */

/* Sleeping locks before spinning ones, classes upwards; given back, and tried, in any order. */
static void ordered_script(char *text, const enum type types[S_CLASSES], uint32_t steps)
{
    bool held[S_CLASSES] = {false};
    uint32_t highest = 0; /* one above the highest class that is held */
    size_t n = 0;

    for (uint32_t i = 0; i < steps; i++) {
        uint32_t c = below(&random_state, S_CLASSES), what = below(&random_state, 3);

        if (what == 0 && held[c]) {
            text[n++] = '-';
            text[n++] = (char)('A' + c);
            held[c] = false;
        } else if (what == 1 && !held[c] && types[c] == MUTEX) {
            text[n++] = '?';
            text[n++] = (char)('A' + c);
            held[c] = true;
        } else if (what == 2 && c >= highest) {
            text[n++] = (char)('A' + c);
            held[c] = true;
        }
        for (highest = S_CLASSES; highest > 0 && !held[highest - 1]; highest--)
            ;
    }
    text[n++] = '.';
    text[n] = 0;
}

static void try_ordered(uint32_t scripts)
{
    static const enum type types[S_CLASSES] = {MUTEX, MUTEX, RWSEM, SPIN, RWLOCK};

    for (uint32_t i = 0; i < scripts; i++) {
        char text[256];
        struct script s;

        script_open(&s, types);
        for (int k = 0; k < 4; k++) {
            ordered_script(text, types, 60);
            script_run(&s, text);
            EXPECT(*script_found(&s) == 0, "%s: %s", text, script_found(&s));
        }
        script_close(&s);
    }
}

/* ---- threads at once ---- */

enum { THREADS = 4, TURNS = 2000 };

struct crowd {
    struct ll_validator *v;
    uint32_t class_id[S_CLASSES];
    uint32_t done; /* atomic */
};

struct one {
    struct crowd *crowd;
    uint64_t seed;
};

static void *one_thread(void *arg)
{
    struct one *o = arg;
    struct crowd *c = o->crowd;
    struct ll_validator_lock lock[S_CLASSES] = {{0}};
    struct ll_validator_thread *t;

    LL_ASSERT(ll_validator_thread_create(c->v, NULL, NULL, NULL, &t) == 0);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t set = below(&o->seed, 1u << S_CLASSES);

        for (uint32_t i = 0; i < S_CLASSES && turn % 50 == 0; i++)
            LL_ASSERT(ll_validator_lock_init(c->v, &lock[i], c->class_id[i], 0, NULL, NULL, t,
                                             NULL) == 0);
        for (uint32_t i = 0; i < S_CLASSES; i++)
            if (set & 1u << i) {
                ll_validator_acquire(t, &lock[i], turn & 1, NULL);
                ll_validator_acquired(t, &lock[i], 0);
            }
        for (uint32_t i = 0; i < S_CLASSES; i++)
            if (set & 1u << i) {
                ll_validator_release(t, &lock[i], turn & 1, NULL);
                ll_validator_released(t, &lock[i]);
            }
        for (uint32_t i = 0; i < S_CLASSES && turn % 50 == 49; i++)
            ll_validator_lock_fini(&lock[i], t, NULL);
    }
    ll_validator_thread_end(t, NULL);
    eng_shared_add32(&c->done, 1);
    return NULL;
}

static void try_crowd(void)
{
    struct ll_validator_stats stats;
    struct ll_validator_link link;
    struct one one[THREADS];
    pthread_t thread[THREADS];
    struct crowd c = {0};
    struct script as = {0};

    LL_ASSERT(ll_validator_create(NULL, &c.v, NULL) == 0);
    for (uint32_t i = 0; i < S_CLASSES; i++) {
        char name[2] = {(char)('A' + i), 0};
        LL_ASSERT(ll_validator_class(c.v, name, 0, &c.class_id[i], NULL) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        one[i] = (struct one){&c, 77 + i};
        LL_ASSERT(pthread_create(&thread[i], NULL, one_thread, &one[i]) == 0);
    }
    for (uint64_t now = 1; eng_own_read_acq32(&c.done) < THREADS; now++) {
        ll_validator_watch(c.v, now);
        ll_validator_get_stats(c.v, &stats);
        for (size_t i = 0; ll_validator_edge_get(c.v, i, &link) == 0; i++)
            ;
        sched_yield();
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    as.v = c.v;
    EXPECT(*script_found(&as) == 0, "%s", script_found(&as));
    ll_validator_get_stats(c.v, &stats);
    /* from each of the five to each above it, exclusive and shared */
    EXPECT(stats.edges == 2 * 10, "%u", stats.edges);
    ll_validator_unref(c.v);
}

/* ---- what real locks say of their waiters ---- */

static void *waiter(void *arg)
{
    struct lock_box *box = arg;

    LL_ASSERT(eng_native_attach(1, 2));
    box->desc->ops.acquire(box->lock, box->node[1]);
    box->desc->ops.release(box->lock, box->node[1]);
    eng_native_detach();
    return NULL;
}

static bool waits(const struct lock_box *box)
{
    return eng_native_holds(box->desc->waiters(box->lock));
}

static void try_waiters(void)
{
    struct ll_lock_info info;
    uint32_t tried = 0;

    eng_clock_init();
    LL_ASSERT(eng_native_attach(0, 1));
    for (size_t i = 0; ll_lock_get(i, &info) == 0; i++) {
        const struct ll_lock_desc *desc = ll_lock_find(info.id, LL_VARIANT_NATIVE);
        struct lock_box box;
        pthread_t thread;

        if (!desc->waiters)
            continue;
        tried++;
        box = box_make(desc);
        EXPECT(!waits(&box), "%s, free", info.id);
        desc->ops.acquire(box.lock, box.node[0]);
        LL_ASSERT(pthread_create(&thread, NULL, waiter, &box) == 0);
        while (!waits(&box)) /* for ever, if it never says so */
            sched_yield();
        desc->ops.release(box.lock, box.node[0]);
        pthread_join(thread, NULL);
        EXPECT(!waits(&box), "%s, free again", info.id);
        box_free(&box);
    }
    EXPECT(tried >= 10, "%u locks say who waits", tried);
    eng_native_detach();
}

int main(void)
{
    try_any(1000);
    try_ordered(300);
    try_crowd();
    try_waiters();
    DONE();
}
