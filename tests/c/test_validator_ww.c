/* SPDX-License-Identifier: MIT */
/* test_validator_ww.c - wound/wait misuse and mixing, taking many of a class, what is found late.
 *
 * The locks answer what a row says: the validator goes by answers, not by stamps. With real locks:
 * tests/test_validator_run.py.
 */
#include "core/types.h"
#include "validator_script.h"

static bool prints;

struct ww { /* one thread, two contexts, three locks of a class and one of another */
    struct ll_validator *v;
    struct ll_validator_thread *t;
    struct ll_validator_lock o[4], spin;
    struct ll_validator_context c[2];
    uint32_t class_id, other_class;
};

static void ww_open(struct ww *w)
{
    uint32_t spin;

    memset(w, 0, sizeof(*w));
    LL_ASSERT(ll_validator_create(NULL, &w->v, NULL) == 0);
    LL_ASSERT(ll_validator_class(w->v, "ww", LL_VALIDATOR_WW, &w->class_id, NULL) == 0);
    LL_ASSERT(ll_validator_class(w->v, "ww2", LL_VALIDATOR_WW, &w->other_class, NULL) == 0);
    LL_ASSERT(ll_validator_class(w->v, "spin", LL_VALIDATOR_SPINS, &spin, NULL) == 0);
    for (unsigned i = 0; i < 4; i++)
        LL_ASSERT(ll_validator_lock_init(w->v, &w->o[i], i < 3 ? w->class_id : w->other_class, 0,
                                         NULL, NULL, NULL, NULL) == 0);
    LL_ASSERT(ll_validator_lock_init(w->v, &w->spin, spin, 0, NULL, NULL, NULL, NULL) == 0);
    LL_ASSERT(ll_validator_thread_create(w->v, NULL, NULL, NULL, &w->t) == 0);
}

/* One step, a word of a row:
 *   init done fini (2: of the second context)      lock(i) = 0, -EALREADY, -EDEADLK: lock, again, die
 *   slow slow-die   through context 0               plain try unlock base-unlock   spin unspin */
static void ww_step(struct ww *w, const char *word, uint32_t i, const struct ll_site *s)
{
    struct ll_validator_lock *l = &w->o[i];
    struct ll_validator_context *c = &w->c[0];

    if (strcmp(word, "init") == 0) {
        ll_validator_context_init(w->t, &w->c[i], w->class_id, s);
    } else if (strcmp(word, "init-other") == 0) {
        ll_validator_context_init(w->t, &w->c[i], w->other_class, s);
    } else if (strcmp(word, "done") == 0) {
        ll_validator_context_done(w->t, &w->c[i], s);
    } else if (strcmp(word, "fini") == 0) {
        ll_validator_context_fini(w->t, &w->c[i], s);
    } else if (strncmp(word, "slow", 4) == 0) {
        ll_validator_acquire_ww(w->t, l, c, true, s);
        ll_validator_acquired_ww(w->t, l, c, true, word[4] ? -EDEADLK : 0, s);
    } else if (strcmp(word, "plain") == 0) {
        ll_validator_acquire(w->t, l, 0, s);
        ll_validator_acquired(w->t, l, 0);
    } else if (strcmp(word, "try") == 0 || strcmp(word, "try-fail") == 0) {
        ll_validator_tried(w->t, l, 0, word[3] == 0, s);
    } else if (strstr(word, "unlock")) {
        ll_validator_release(w->t, l, word[0] == 'b' ? LL_VALIDATOR_BASE : 0, s);
        ll_validator_released(w->t, l);
    } else if (strcmp(word, "spin") == 0) {
        ll_validator_acquire(w->t, &w->spin, 0, s);
        ll_validator_acquired(w->t, &w->spin, 0);
    } else if (strcmp(word, "unspin") == 0) {
        ll_validator_release(w->t, &w->spin, 0, s);
        ll_validator_released(w->t, &w->spin);
    } else {
        int ret = strcmp(word, "lock") == 0    ? 0
                  : strcmp(word, "again") == 0 ? -EALREADY
                  : strcmp(word, "die") == 0   ? -EDEADLK
                                               : 1;
        LL_ASSERT(ret <= 0);
        ll_validator_acquire_ww(w->t, l, c, false, s);
        ll_validator_acquired_ww(w->t, l, c, false, ret, s);
    }
}

static void ww_run(struct ww *w, const char *text)
{
    char copy[256], *rest, *word;

    snprintf(copy, sizeof(copy), "%s", text);
    for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t n = strlen(word);
        uint32_t i = 0;

        if (word[n - 1] >= '0' && word[n - 1] <= '9') {
            i = (uint32_t)(word[n - 1] - '0');
            word[n - 1] = 0;
        }
        ww_step(w, word, i, ll_validator_site(w->v, text, "", (uint32_t)(word - copy)));
    }
}

static void row(const char *what, const char *text, const char *wanted)
{
    struct ww w;
    struct script as = {0};
    const char *found;

    ww_open(&w);
    ww_run(&w, text);
    ll_validator_thread_end(w.t, NULL);
    as.v = w.v;
    found = script_found(&as);
    if (prints)
        printf("%-48s %-52s %s\n", what, text, *found ? found : "-");
    EXPECT(strcmp(found, wanted) == 0, "%s: %s: found \"%s\", wanted \"%s\"", what, text, found,
           wanted);
    ll_validator_unref(w.v);
}

static void try_misuse(void)
{
    row("a transaction", "init lock0 lock1 lock2 done unlock1 unlock0 unlock2 fini", "");
    row("lock twice", "init lock0 again0 unlock0 fini", "");
    row("try while held by its own context", "init lock0 try-fail0 unlock0 fini", "");
    row("die", "init lock0 die1 unlock0 slow1 lock0 unlock0 unlock1 fini", "");
    row("die, then by lock", "init lock0 die1 unlock0 lock1 unlock1 fini", "");
    row("die, then give up", "init lock0 die1 unlock0 fini", "");
    row("without a context", "plain0 unlock0", "");
    row("acquire_slow unprompted", "init slow0 unlock0 fini", "ww-slow-unprompted");
    row("two contexts", "init init1 fini1 fini", "ww-second-context");
    row("contexts of two classes", "init init-other1 fini1 fini", "");
    row("context of another class", "init lock3 unlock3 fini", "ww-wrong-class");
    row("acquire_done twice", "init done done fini", "ww-done-twice");
    row("ended twice", "init fini fini", "ww-fini-twice");
    row("ended with a lock held", "init lock0 fini unlock0", "ww-fini-held");
    row("lock after acquire_done", "init lock0 done lock1 unlock0 unlock1 fini", "ww-after-done");
    row("unlock twice", "init lock0 unlock0 unlock0 fini", "not-held");
    row("unlock with none acquired", "init lock0 fini init unlock0 fini",
        "ww-fini-held, inversion, ww-none-acquired");
    row("unlocked by the plain unlock", "init lock0 base-unlock0 lock0 unlock0 fini",
        "ww-stale-context, ww-fini-held");
    row("the same, then without a context", "init lock0 base-unlock0 fini plain0 unlock0",
        "ww-fini-held, ww-stale-context");
    row("die, keeps the others, lock", "init lock0 die1 lock1 unlock0 unlock1 fini",
        "ww-not-backed-off");
    row("die, keeps the others, slow", "init lock0 die1 slow1 unlock0 unlock1 fini",
        "ww-not-backed-off");
    row("die, another, lock", "init lock0 die1 unlock0 lock2 unlock2 fini", "ww-other-lock");
    row("die, another, slow", "init lock0 die1 unlock0 slow2 unlock2 fini", "ww-other-lock");
    row("die, keeps the others, another", "init lock0 die1 lock2 unlock0 unlock2 fini",
        "ww-other-lock");
    row("die, keeps the others, another, slow", "init lock0 die1 slow2 unlock0 unlock2 fini",
        "ww-other-lock");
    row("die, another, which dies too", "init lock0 die1 die2 unlock0 slow2 unlock2 fini",
        "ww-other-lock");
    row("context never ended", "init lock0 unlock0", "ww-context-left");
    row("context used again", "init lock0 unlock0 init lock0 unlock0 fini", "ww-context-left");
    row("lock through no open context", "lock0", "ww-not-open");
    row("acquire_slow refused", "init lock0 die1 unlock0 slow-die1 slow1 unlock1 fini",
        "ww-slow-refused");
    row("without its open context", "init plain0 unlock0 fini", "ww-plain-in-context");
}

static void try_mixing(void)
{
    row("context, then block", "init lock0 plain1 unlock1 unlock0 fini", "ww-plain-in-context");
    row("context, then try", "init lock0 try1 unlock1 unlock0 fini", "");
    row("context, then context", "init lock0 lock1 unlock1 unlock0 fini", "");
    row("try, then block", "try0 plain1 unlock1 unlock0", "same-class");
    row("try, then try", "try0 try1 unlock1 unlock0", "");
    row("try, then context", "try0 init lock1 unlock1 fini unlock0", "same-class");
    row("block, then block", "plain0 plain1 unlock1 unlock0", "same-class");
    row("block, then try", "plain0 try1 unlock1 unlock0", "");
    row("block, then context", "plain0 init lock1 unlock1 fini unlock0", "same-class");
    row("context, try, then context", "init lock0 try1 lock2 unlock2 unlock1 unlock0 fini", "");
    row("spin in o, o by block in spin", "plain0 spin unspin unlock0 spin plain0 unlock0 unspin",
        "sleep-in-spin, inversion");
    row("spin in o, o by try in spin", "plain0 spin unspin unlock0 spin try0 unlock0 unspin", "");
    row("spin in o, o by context in spin",
        "init lock0 spin unspin unlock0 fini init spin lock0 unlock0 unspin fini",
        "sleep-in-spin, inversion");
}

/* Who waits for a lock through a context does not hold it yet. */
static void try_collision(void)
{
    struct ll_validator_thread *other;
    struct ll_validator_context c = {0};
    struct script as = {0};
    struct ww w;

    ww_open(&w);
    LL_ASSERT(ll_validator_thread_create(w.v, NULL, NULL, NULL, &other) == 0);
    ww_run(&w, "init lock0 lock1");
    ll_validator_context_init(other, &c, w.class_id, NULL);
    for (int die = 0; die < 2; die++) {
        ll_validator_acquire_ww(other, &w.o[0], &c, die, NULL);
        ww_run(&w, die ? "unlock0 fini" : "unlock1");
        ll_validator_acquired_ww(other, &w.o[0], &c, die, die ? 0 : -EDEADLK, NULL);
    }
    ll_validator_release(other, &w.o[0], 0, NULL);
    ll_validator_released(other, &w.o[0]);
    ll_validator_context_fini(other, &c, NULL);
    ll_validator_thread_end(other, NULL);
    ll_validator_thread_end(w.t, NULL);
    as.v = w.v;
    EXPECT(strcmp(script_found(&as), "") == 0, "%s", script_found(&as));
    ll_validator_unref(w.v);
}

/* ---- many of one class ---- */

#define MOST 1000u

struct many {
    struct script s;
    struct ll_validator_lock *lock;
    const struct ll_site *site;
};

static void many_open(struct many *m, enum type type)
{
    const enum type types[S_CLASSES] = {type, RWSEM, MUTEX, type, type};

    script_open(&m->s, types);
    m->lock = calloc(MOST, sizeof(*m->lock));
    LL_ASSERT(m->lock);
    for (uint32_t i = 0; i < MOST; i++)
        LL_ASSERT(ll_validator_lock_init(m->s.v, &m->lock[i], m->s.lock[0][0].class_id, 0, NULL,
                                         NULL, NULL, NULL) == 0);
    m->site = ll_validator_site(m->s.v, "many", "", 1);
    script_run(&m->s, "BC"); /* the outer semaphore and the mutex of those who take all */
}

static void many_close(struct many *m)
{
    script_run(&m->s, ".");
    for (uint32_t i = 0; i < MOST; i++)
        ll_validator_lock_fini(&m->lock[i], NULL, NULL);
    free(m->lock);
    script_close(&m->s);
}

enum how { NESTED, BARE, RAW };

static void take_all(struct many *m, uint32_t n, enum how how)
{
    struct ll_validator_thread *t = m->s.now;

    for (uint32_t i = 0; i < n; i++) {
        if (how == RAW) {
            ll_validator_raw_acquire(t, &m->lock[i], m->site);
            continue;
        }
        if (how == NESTED)
            ll_validator_acquire_nested(t, &m->lock[i], 0, &m->s.lock[1][0], m->site);
        else
            ll_validator_acquire(t, &m->lock[i], 0, m->site);
        ll_validator_acquired(t, &m->lock[i], 0);
    }
    for (uint32_t i = n; i > 0; i--) {
        if (how == RAW) {
            ll_validator_raw_release(t, &m->lock[i - 1]);
        } else {
            ll_validator_release(t, &m->lock[i - 1], 0, m->site);
            ll_validator_released(t, &m->lock[i - 1]);
        }
    }
}

static void try_many(void)
{
    static const char *const how_name[] = {"nested", "not nested", "unvalidated"};
    static const uint32_t sizes[] = {2, 64, 255, 256, MOST};

    for (enum type type = 0; type < TYPES; type++)
        for (enum how how = NESTED; how <= RAW; how++)
            for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
                uint32_t n = sizes[k];
                bool too_deep = type_traits[type] & LL_VALIDATOR_SPINS && n > 255;
                char wanted[80];
                struct ll_validator_stats stats;
                struct many m;

                snprintf(wanted, sizeof(wanted), "%s%s%s", how == BARE ? "same-class" : "",
                         how == BARE && n > 62 ? ", held-overflow" : "",
                         !too_deep     ? ""
                         : how == BARE ? ", nest-depth-overflow"
                                       : "nest-depth-overflow");
                many_open(&m, type);
                take_all(&m, n, how);
                ll_validator_get_stats(m.s.v, &stats);
                if (prints)
                    printf("take all %-4u %-12s %-8s stack %2llu  %s\n", n, how_name[how],
                           type_name[type], (unsigned long long)stats.most_held,
                           *script_found(&m.s) ? script_found(&m.s) : "-");
                EXPECT(strcmp(script_found(&m.s), wanted) == 0, "%u %s %s: \"%s\", not \"%s\"", n,
                       how_name[how], type_name[type], script_found(&m.s), wanted);
                EXPECT(how == BARE || stats.most_held == (how == RAW ? 2 : 3), "%llu",
                       (unsigned long long)stats.most_held);
                script_run(&m.s, "."); /* the stack is as it was: nothing is said of this */
                EXPECT(strcmp(script_found(&m.s), wanted) == 0, "%s", script_found(&m.s));
                many_close(&m);
            }
}

/* The report of a nest says for how many locks its one entry stands. */
static void try_count_of_nest(void)
{
    struct ll_validator_report r;
    struct many m;

    many_open(&m, MUTEX);
    for (uint32_t i = 0; i < MOST; i++) {
        ll_validator_acquire_nested(m.s.now, &m.lock[i], 0, &m.s.lock[1][0], m.site);
        ll_validator_acquired(m.s.now, &m.lock[i], 0);
    }
    script_run(&m.s, "D D");
    EXPECT(ll_validator_report_get(m.s.v, 0, &r) == 0);
    EXPECT(r.n_held == 5 && r.held[2].refs == MOST && strcmp(r.held[2].outer, "B[0]") == 0,
           "%u entries, %u in the nest of %s", r.n_held, r.held[2].refs, r.held[2].outer);
    many_close(&m);
}

/* A ww transaction of thousands is one entry too. */
static void try_big_transaction(void)
{
    enum { N = 3000 };
    struct ll_validator_stats stats;
    struct ll_validator_lock *many = calloc(N, sizeof(*many));
    struct ww w;

    LL_ASSERT(many);
    ww_open(&w);
    for (uint32_t i = 0; i < N; i++)
        LL_ASSERT(ll_validator_lock_init(w.v, &many[i], w.class_id, 0, NULL, NULL, NULL, NULL) ==
                  0);
    ww_run(&w, "init");
    for (uint32_t i = 0; i < N; i++) {
        ll_validator_acquire_ww(w.t, &many[i], &w.c[0], false, NULL);
        ll_validator_acquired_ww(w.t, &many[i], &w.c[0], false, 0, NULL);
    }
    for (uint32_t i = 0; i < N; i++) {
        ll_validator_release(w.t, &many[i], 0, NULL);
        ll_validator_released(w.t, &many[i]);
    }
    ww_run(&w, "fini");
    ll_validator_thread_end(w.t, NULL);
    ll_validator_get_stats(w.v, &stats);
    EXPECT(stats.reports == 0 && stats.most_held == 2, "%u reports, %llu entries", stats.reports,
           (unsigned long long)stats.most_held);
    ll_validator_unref(w.v);
    free(many);
}

/* ---- in the midst of a call ---- */

static bool always(const void *arg)
{
    LL_UNUSED(arg);
    return true;
}

static void try_busy(void)
{
    const enum type types[S_CLASSES] = {MUTEX, MUTEX, MUTEX, MUTEX, MUTEX};
    struct ll_validator_lock *l;
    struct script s;

    /* another thread owns it and frees it while the first is on its way out */
    script_open(&s, types);
    l = &s.lock[0][0];
    script_run(&s, "1A");
    ll_validator_release(s.thread[0], l, 0, NULL);
    script_run(&s, "2A-A!A");
    EXPECT(strcmp(script_found(&s), "free-busy") == 0, "%s", script_found(&s));
    ll_validator_released(s.thread[0], l);
    s.n_held[0] = 0;
    script_close(&s);

    /* likewise initialised again, and a call that waits */
    script_open(&s, types);
    ll_validator_acquire(s.thread[0], &s.lock[0][0], 0, NULL);
    script_run(&s, "2*A");
    EXPECT(strcmp(script_found(&s), "reinit-held") == 0, "%s", script_found(&s));
    script_close(&s);

    /* a call that came back without the lock */
    script_open(&s, types);
    ll_validator_acquire(s.thread[0], &s.lock[0][0], 0, NULL);
    ll_validator_acquired(s.thread[0], &s.lock[0][0], -EINTR);
    script_run(&s, "2A.!A");
    EXPECT(strcmp(script_found(&s), "") == 0, "%s", script_found(&s));
    script_close(&s);
}

static void try_stranded(void)
{
    const uint64_t T = LL_VALIDATOR_STRANDED_NS;
    struct ll_validator_thread *sleeper, *waker;
    struct ll_validator_lock l = {0};
    struct ll_validator_report r;
    struct script s = {0};
    uint32_t id;

    LL_ASSERT(ll_validator_create(NULL, &s.v, NULL) == 0);
    LL_ASSERT(ll_validator_class(s.v, "mutex", 0, &id, NULL) == 0);
    LL_ASSERT(ll_validator_lock_init(s.v, &l, id, 0, &l, always, NULL, NULL) == 0);
    LL_ASSERT(ll_validator_thread_create(s.v, "sleeper", always, NULL, &sleeper) == 0);
    LL_ASSERT(ll_validator_thread_create(s.v, "waker", NULL, NULL, &waker) == 0);
    ll_validator_acquire(waker, &l, 0, NULL);
    ll_validator_acquired(waker, &l, 0);
    ll_validator_acquire(sleeper, &l, 0, NULL);
    ll_validator_watch(s.v, 1); /* held */
    ll_validator_watch(s.v, 2 * T);
    ll_validator_release(waker, &l, 0, NULL);
    ll_validator_watch(s.v, 3 * T); /* the holder is on its way out */
    ll_validator_watch(s.v, 4 * T);
    ll_validator_released(waker, &l);
    ll_validator_watch(s.v, 5 * T); /* not for long yet */
    ll_validator_watch(s.v, 6 * T - 1);
    EXPECT(ll_validator_report_get(s.v, 0, &r) == -ENOENT, "%s", script_found(&s));
    ll_validator_watch(s.v, 6 * T);
    EXPECT(strcmp(script_found(&s), "stranded") == 0, "%s", script_found(&s));
    EXPECT(ll_validator_report_get(s.v, 0, &r) == 0 && strcmp(r.other_thread, "sleeper") == 0);
    ll_validator_acquired(sleeper, &l, -EINTR);
    ll_validator_thread_end(sleeper, NULL);
    ll_validator_thread_end(waker, NULL);
    ll_validator_unref(s.v);
}

/* ---- what a report holds ---- */

static void try_report(void)
{
    const enum type types[S_CLASSES] = {MUTEX, MUTEX, MUTEX, MUTEX, MUTEX};
    const char *text = "1AB.2BC.3CA.";
    struct ll_validator_report r;
    struct script s;

    script_open(&s, types);
    script_run(&s, text);
    LL_ASSERT(ll_validator_report_get(s.v, 0, &r) == 0);
    EXPECT(strcmp(r.kind, "inversion") == 0 && strcmp(r.thread, "thread 2") == 0, "%s", r.text);
    EXPECT(strcmp(r.text, "thread 2 asks for A[0] while it holds C[0], but others have been taken "
                          "in orders that close a cycle: C -> A -> B -> C") == 0,
           "%s", r.text);
    EXPECT(r.n_held == 2 && strcmp(r.held[0].lock, "C[0]") == 0 && !r.held[0].asked &&
           strcmp(r.held[1].lock, "A[0]") == 0 && r.held[1].asked);
    EXPECT(strcmp(r.other_thread, "thread 0") == 0 && r.n_other == 2 &&
               strcmp(r.other[0].lock, "A[0]") == 0,
           "%s, %u", r.other_thread, r.n_other);
    EXPECT(r.n_links == 3);
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const from[] = {"C", "A", "B"}, *const thread[] = {
                                                               "thread 2", "thread 0", "thread 1"};
        const struct ll_validator_link *k = &r.link[i];

        EXPECT(strcmp(k->from, from[i]) == 0 && strcmp(k->thread, thread[i]) == 0 && k->n_held == 2,
               "link %u: %s by %s, %u", i, k->from, k->thread, k->n_held);
        EXPECT(text[k->from_site.line] == *k->from && text[k->to_site.line] == *k->to, "link %u",
               i);
    }
    script_run(&s, "3CA.CA."); /* elsewhere it is another report; here it is one, seen twice */
    EXPECT(strcmp(script_found(&s), "inversion") == 0, "%s", script_found(&s));
    script_close(&s);
}

static void try_bound(void)
{
    struct ll_validator_options options = {
        .size = sizeof(options), .version = LL_ABI, .max_reports = 2};
    const enum type types[S_CLASSES] = {MUTEX, MUTEX, MUTEX, MUTEX, MUTEX};
    struct ll_validator_report r;
    struct ll_validator_stats stats;
    struct script s;

    script_open(&s, types);
    for (int i = 0; i < 3; i++) /* the same place again and again */
        script_run(&s, "A-A-A");
    EXPECT(ll_validator_report_get(s.v, 0, &r) == 0 && r.count == 3, "%llu",
           (unsigned long long)r.count);
    EXPECT(ll_validator_report_get(s.v, 1, &r) == -ENOENT);
    script_close(&s);

    LL_ASSERT(ll_validator_create(&options, &s.v, NULL) == 0);
    LL_ASSERT(ll_validator_thread_create(s.v, NULL, NULL, NULL, &s.now) == 0);
    ll_validator_irq_enter(s.now);
    for (uint32_t line = 0; line < 5; line++)
        ll_validator_sleep(s.now, ll_validator_site(s.v, "f", "", line));
    ll_validator_get_stats(s.v, &stats);
    EXPECT(stats.reports == 2 && stats.dropped == 3, "%u, %llu", stats.reports,
           (unsigned long long)stats.dropped);
    ll_validator_unref(s.v);
}

int main(int argc, char **argv)
{
    prints = argc > 1 && strcmp(argv[1], "table") == 0;
    try_misuse();
    try_mixing();
    try_collision();
    try_many();
    try_count_of_nest();
    try_big_transaction();
    try_busy();
    try_stranded();
    try_report();
    try_bound();
    DONE();
}
