/* SPDX-License-Identifier: MIT */
/* virtual_workloads.c - does each workload do what its description says? Its calls are recorded on
 * fibers and compared, one after the other: which lock inside which, how often, in what mode.
 */
#include <string.h>

#include "check/program.h"
#include "core/registry.h"
#include "expect.h"
#include "run/virtual_worker.h"

#define CALLS_MAX 4000u

struct call {
    uint32_t fiber;
    enum vt_call what;
    uint32_t lock;
    int64_t result;
};

static struct call calls[CALLS_MAX];
static uint32_t n_calls;

static void record(void *arg, uint32_t fiber, enum vt_call what, uint32_t lock, int64_t result)
{
    (void)arg;
    if (what == VT_START)
        n_calls = 0;
    else if (n_calls < CALLS_MAX)
        calls[n_calls++] = (struct call){fiber, what, lock, result};
}

static bool takes(const struct call *c)
{
    return c->what == VT_ACQUIRE || c->what == VT_ACQUIRE_SHARED ||
           ((c->what == VT_ACQUIRE_WW || c->what == VT_ACQUIRE_WW_SLOW) && c->result == 0);
}

static bool gives(const struct call *c)
{
    return c->what == VT_RELEASE || c->what == VT_RELEASE_SHARED;
}

/* Runs it; afterwards its calls are in `calls`. What holds of every workload is looked at here. */
static struct vt_workload run(const char *lock, const char *id, uint32_t fibers, uint32_t turns,
                              const struct ll_setting *settings)
{
    struct vt_workload w = {.lock = lock,
                            .id = id,
                            .fibers = fibers,
                            .turns = turns,
                            .seed = 3,
                            .giveups = 50,
                            .settings = settings,
                            .on_call = record};
    struct ck_report report;
    struct ll_error err = {"", ""};
    uint32_t taken = 0, given = 0;

    while (settings && settings[w.n_settings].name)
        w.n_settings++;
    n_calls = 0;
    EXPECT(vt_workload_init(&w, &err) == 0, "%s: %s", id, err.text);
    if (!w.memory)
        exit(1);
    EXPECT(vt_workload_run(&w, &report) == 0 && report.executions == 1, "%s on %s: %lu", id, lock,
           (unsigned long)report.executions);
    EXPECT(n_calls > 0 && n_calls < CALLS_MAX);
    EXPECT(w.overlap == 0, "%s", id);
    for (uint32_t i = 0; i < n_calls; i++) {
        taken += takes(&calls[i]);
        given += gives(&calls[i]);
    }
    EXPECT(taken == given && taken == w.acquisitions, "%s: %u taken, %u given", id, taken, given);
    return w;
}

static uint32_t count(enum vt_call what)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_calls; i++)
        n += calls[i].what == what;
    return n;
}

static uint32_t count_of(enum vt_call what, uint32_t lock)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_calls; i++)
        n += calls[i].what == what && calls[i].lock == lock;
    return n;
}

/* Locks that the fiber of call `i` holds just after it, in the order in which they were taken. */
static uint32_t held_after(uint32_t i, uint32_t *lock, uint32_t max)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k <= i; k++) {
        if (calls[k].fiber != calls[i].fiber)
            continue;
        if (takes(&calls[k]) && n < max)
            lock[n++] = calls[k].lock;
        for (uint32_t j = 0; gives(&calls[k]) && j < n; j++)
            if (lock[j] == calls[k].lock) {
                memmove(&lock[j], &lock[j + 1], (n - j - 1) * sizeof(*lock));
                n--;
                break;
            }
    }
    return n;
}

static uint32_t deepest(void)
{
    uint32_t most = 0, lock[64], n;

    for (uint32_t i = 0; i < n_calls; i++)
        if ((n = held_after(i, lock, 64)) > most)
            most = n;
    return most;
}

/* The calls of fiber 0 from its k-th turn to the next must be these. */
struct step {
    enum vt_call what;
    uint32_t lock;
    int64_t result;
};

static void expect_turn(const char *id, uint32_t turn, const struct step *want, uint32_t n)
{
    uint32_t i = 0, k = 0;

    for (; i < n_calls; i++)
        if (calls[i].fiber == 0 && calls[i].what == VT_TURN && turn-- == 0)
            break;
    for (i++; i < n_calls && k < n; i++) {
        if (calls[i].fiber != 0)
            continue;
        EXPECT(calls[i].what == want[k].what && calls[i].lock == want[k].lock &&
                   calls[i].result == want[k].result,
               "%s, step %u: call %d of lock %u gave %ld, expected %d, %u, %ld", id, k,
               calls[i].what, calls[i].lock, (long)calls[i].result, want[k].what, want[k].lock,
               (long)want[k].result);
        k++;
    }
    while (i < n_calls && calls[i].fiber != 0)
        i++;
    EXPECT(k == n && i < n_calls && calls[i].what == VT_TURN, "%s: %u steps of %u", id, k, n);
}
#define EXPECT_TURN(id, turn, ...)                                                                 \
    expect_turn(id, turn, (const struct step[]){__VA_ARGS__},                                      \
                sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step))

#define SETTINGS(...) ((const struct ll_setting[]){__VA_ARGS__, {NULL, NULL}})

/* ---- the aim7 set ---- */

static void core_mixes_take_one_lock_at_a_time(void)
{
    static const char *const ids[] = {"aim7-short", "aim7-shared", "aim7-five_sec"};
    struct vt_workload w;

    for (unsigned i = 0; i < 3; i++) {
        w = run("spin/ticket", ids[i], 3, 8, NULL);
        EXPECT(deepest() == 1 && count(VT_JOB) == 24 && count(VT_ACQUIRE) == 24, "%s", ids[i]);
        EXPECT(count(VT_SLEEP) == 0);
        EXPECT(w.plan.n_locks == (i == 2 ? 64 : 1));
        vt_workload_fini(&w);
    }
    /* five_sec draws among all its locks */
    w = run("spin/ticket", "aim7-five_sec", 2, 40, SETTINGS({"locks", "2"}));
    EXPECT(count_of(VT_ACQUIRE, 0) > 20 && count_of(VT_ACQUIRE, 1) > 20);
    vt_workload_fini(&w);
}

static void shares_of_readers_are_as_told(void)
{
    struct vt_workload w;

    w = run("rwsem/3.12", "aim7-shared", 2, 20, SETTINGS({"shared_pct", "100"}));
    EXPECT(count(VT_ACQUIRE_SHARED) == 40 && count(VT_ACQUIRE) == 0);
    vt_workload_fini(&w);
    w = run("rwsem/3.12", "aim7-shared", 2, 20, SETTINGS({"shared_pct", "0"}));
    EXPECT(count(VT_ACQUIRE_SHARED) == 0 && count(VT_ACQUIRE) == 40);
    vt_workload_fini(&w);
    w = run("rwsem/3.12", "aim7-shared", 1, 100, SETTINGS({"shared_pct", "25"}));
    EXPECT(count(VT_ACQUIRE_SHARED) > 10 && count(VT_ACQUIRE_SHARED) < 45, "%u",
           count(VT_ACQUIRE_SHARED));
    vt_workload_fini(&w);
    /* a lock without a shared mode is then held exclusively */
    w = run("spin/mcs", "aim7-shared", 2, 20, SETTINGS({"shared_pct", "100"}));
    EXPECT(count(VT_ACQUIRE_SHARED) == 0 && count(VT_ACQUIRE) == 40);
    vt_workload_fini(&w);
}

static void high_systime_takes_the_second_lock_after_the_root_in_batches(void)
{
    static const char *const ids[] = {"aim7-high_systime", "aim7-custom"};

    for (unsigned i = 0; i < 2; i++) {
        struct vt_workload w =
            run("spin/mcs", ids[i], 2, 29, SETTINGS({"lines_min", "1"}, {"lines_max", "1"}));
        EXPECT(count_of(VT_ACQUIRE, 0) == 58 && count_of(VT_ACQUIRE, 1) == 2 * 2); /* 29 / 14 */
        EXPECT(deepest() == 1);
        EXPECT_TURN(ids[i], 12, {VT_ACQUIRE, 0, 0}, {VT_RELEASE, 0, 0}, {VT_JOB, 0, 0});
        EXPECT_TURN(ids[i], 13, {VT_ACQUIRE, 0, 0}, {VT_RELEASE, 0, 0}, {VT_ACQUIRE, 1, 0},
                    {VT_RELEASE, 1, 0}, {VT_JOB, 0, 0});
        vt_workload_fini(&w);
    }
}

static void fserver_takes_the_journal_inside_and_sleeps_with_the_mutex_only(void)
{
    static const char *const ids[] = {"aim7-fserver", "aim7-new_fserver"};
    const struct ll_setting *one = SETTINGS({"locks", "1"}, {"sleep_pct", "100"});

    for (unsigned i = 0; i < 2; i++) {
        struct vt_workload w = run("rwsem/3.12", ids[i], 2, 4, one);
        EXPECT(w.plan.n_locks == 2 && w.plan.n_counted == 1);
        EXPECT(count_of(VT_ACQUIRE_SHARED, 1) == 3 * 8 && count_of(VT_ACQUIRE, 1) == 8);
        EXPECT(count(VT_SLEEP) == 8 && deepest() == 2);
        EXPECT_TURN(ids[i], 1, {VT_ACQUIRE, 0, 0}, {VT_ACQUIRE_SHARED, 1, 0},
                    {VT_RELEASE_SHARED, 1, 0}, {VT_ACQUIRE_SHARED, 1, 0}, {VT_RELEASE_SHARED, 1, 0},
                    {VT_ACQUIRE_SHARED, 1, 0}, {VT_RELEASE_SHARED, 1, 0}, {VT_ACQUIRE, 1, 0},
                    {VT_RELEASE, 1, 0}, {VT_SLEEP, 0, 100000}, {VT_RELEASE, 0, 0}, {VT_JOB, 0, 0});
        vt_workload_fini(&w);
    }
}

static void alltests_draws_from_all_four(void)
{
    struct vt_workload w = run("rwsem/3.12", "aim7-alltests", 1, 60, NULL);
    const struct run_group *g = w.plan.group;
    uint32_t by_group[WL_GROUPS] = {0};

    EXPECT(w.plan.n_groups == 6 && w.plan.n_locks == 1 + 1 + 4 + 1 + 1 + 64);
    for (uint32_t i = 0; i < n_calls; i++)
        if (takes(&calls[i]))
            by_group[run_plan_group(&w.plan, calls[i].lock) - g]++;
    /* 40, 25, 15 and 20 of a hundred; the journal four times for each of its jobs */
    EXPECT(by_group[0] + by_group[2] + by_group[4] + by_group[5] == 60);
    EXPECT(by_group[0] > by_group[4] && by_group[2] && by_group[4] && by_group[5]);
    EXPECT(by_group[3] == 4 * by_group[2] && by_group[1] == by_group[0] / 14);
    vt_workload_fini(&w);
    w = run("spin/mcs", "aim7-alltests", 1, 20,
            SETTINGS({"system_pct", "0"}, {"server_pct", "0"}, {"short_pct", "100"},
                     {"server.sleep_pct", "0"}));
    EXPECT(count_of(VT_ACQUIRE, 7) == 20);
    vt_workload_fini(&w);
}

/* ---- trees ---- */

static bool is_child(uint32_t parent, uint32_t child, uint32_t fanout)
{
    uint32_t from = parent == 0 ? 1 : 1 + fanout + (parent - 1) * fanout;

    return child >= from && child < from + fanout;
}

static void trees_go_down_hand_over_hand(void)
{
    static const char *const ids[] = {"dbench-50", "creates-4k", "file-stats"};

    for (unsigned i = 0; i < 3; i++) {
        struct vt_workload w = run("rwsem/3.12", ids[i], 2, 6, SETTINGS({"split_pct", "0"}));
        uint32_t held[4];
        EXPECT(w.plan.n_locks == 1 + 16 + 256 && w.plan.n_groups == 3);
        EXPECT(count(VT_ACQUIRE) == 3 * 12 && count(VT_JOB) == 12 && deepest() == 2, "%s", ids[i]);
        for (uint32_t k = 0; k < n_calls; k++) {
            uint32_t n = takes(&calls[k]) ? held_after(k, held, 4) : 0;
            if (n)
                EXPECT(calls[k].lock == 0 ? n == 1 : n == 2 && is_child(held[0], held[1], 16));
        }
        vt_workload_fini(&w);
    }
}

static void a_split_keeps_the_parent(void)
{
    struct vt_workload w = run("rwsem/3.12", "creates-4k", 1, 3,
                               SETTINGS({"fanout", "1"}, {"split_pct", "100"}, {"sleep_pct", "100"},
                                        {"sleep_min_ns", "7"}, {"sleep_max_ns", "7"}));

    EXPECT_TURN("creates-4k", 1, {VT_ACQUIRE, 0, 0}, {VT_ACQUIRE, 1, 0}, {VT_RELEASE, 0, 0},
                {VT_ACQUIRE, 2, 0}, {VT_SLEEP, 0, 7}, {VT_RELEASE, 2, 0}, {VT_RELEASE, 1, 0},
                {VT_JOB, 0, 0});
    vt_workload_fini(&w);
}

static void trees_have_the_depth_they_are_told(void)
{
    static const char *const depth[] = {"1", "2", "3", "4"};

    for (unsigned i = 0; i < 4; i++) {
        struct vt_workload w =
            run("spin/mcs", "file-stats", 1, 4, SETTINGS({"depth", depth[i]}, {"fanout", "2"}));
        EXPECT(count(VT_ACQUIRE) == 4 * (i + 1));
        EXPECT(w.plan.n_locks == (2u << i) - 1 && w.plan.n_groups == i + 1);
        vt_workload_fini(&w);
    }
}

/* ---- special scenarios ---- */

static void take_all_takes_each_inner_lock_once(void)
{
    struct vt_workload w = run("spin/mcs", "take-all", 2, 4,
                               SETTINGS({"inner", "3"}, {"take_pct", "100"}, {"again_pct", "100"}));

    EXPECT_TURN("take-all", 2, {VT_ACQUIRE, 0, 0}, {VT_ACQUIRE, 1, 0}, {VT_ACQUIRE, 2, 0},
                {VT_ACQUIRE, 3, 0}, {VT_ACQUIRE, 4, 0}, {VT_RELEASE, 4, 0}, {VT_RELEASE, 3, 0},
                {VT_RELEASE, 2, 0}, {VT_RELEASE, 1, 0}, {VT_RELEASE, 0, 0}, {VT_JOB, 0, 0});
    EXPECT(deepest() == 5);
    vt_workload_fini(&w);
    w = run("spin/mcs", "take-all", 2, 6, SETTINGS({"inner", "3"}, {"take_pct", "0"}));
    EXPECT(deepest() == 1 && count_of(VT_ACQUIRE, 0) == 0 && count(VT_ACQUIRE) == 12);
    vt_workload_fini(&w);
}

static void the_big_lock_in_both_orders_ends(void)
{
    struct vt_workload w = run("rwsem/3.12", "bkl-abba", 2, 8, NULL);

    EXPECT(count(VT_ACQUIRE) == 16 && count(VT_JOB) == 16);
    vt_workload_fini(&w);
    w = run("mutex/mcs", "bkl-abba", 3, 6, NULL);
    EXPECT(count(VT_ACQUIRE) == 18);
    vt_workload_fini(&w);
}

/* ---- transactions, on a lock that answers as it was told ---- */

static int answers[64]; /* to the n-th call of an execution */
static unsigned n_answered;

static void plain(void *lock, void *node)
{
    (void)lock, (void)node;
}

static void context(void *ctx)
{
    (void)ctx;
}

static void context_init(void *ctx, void *class)
{
    (void)ctx, (void)class;
    n_answered = 0;
}

static int acquire(void *lock, void *node, void *ctx, const struct ll_ww_wait *wait)
{
    (void)lock, (void)node, (void)ctx, (void)wait;
    return n_answered < 64 ? answers[n_answered++] : 0;
}

static const struct ll_lock_desc told = {
    .name = "told",
    .family = "test",
    .summary = "answers as it was told",
    .origin = "test",
    .kind = LL_KIND_WW,
    .lock_size = 8,
    .class_size = 8,
    .context_size = 8,
    .claims = LL_PARKS,
    .ops = {.acquire = plain, .release = plain},
    .ww = {.context_init = context_init,
           .acquire_done = context,
           .context_fini = context,
           .acquire = acquire,
           .acquire_slow = acquire},
};

static struct vt_workload transaction(const char *protocol, const int *told_answers, unsigned n)
{
    memset(answers, 0, sizeof(answers));
    memcpy(answers, told_answers, n * sizeof(*answers));
    /* as many objects as a transaction takes, and only one order */
    return run("test/told", strcmp(protocol, "modeset") ? "ww-execbuf" : "ww-modeset", 1, 1,
               strcmp(protocol, "modeset")
                   ? SETTINGS({"locks", "3"}, {"k_min", "3"}, {"k_max", "3"},
                              {"protocol", protocol}, {"again_pct", "0"})
                   : SETTINGS({"locks", "3"}));
}

#define WW(lock, ret)                                                                              \
    {                                                                                              \
        VT_ACQUIRE_WW, lock, ret                                                                   \
    }
#define REL(lock)                                                                                  \
    {                                                                                              \
        VT_RELEASE, lock, 0                                                                        \
    }

static void the_fixed_list_passes_over_the_contended_lock(void)
{
    struct vt_workload w = transaction("modeset", (const int[]){0, 0, -EDEADLK}, 3);

    EXPECT_TURN("fixed", 0, {VT_CONTEXT_INIT, 0, 0}, WW(0, 0), WW(1, 0), WW(2, -EDEADLK),
                {VT_BACKS_OFF, 0, 2}, REL(1), REL(0), {VT_ACQUIRE_WW_SLOW, 2, 0}, WW(0, 0),
                WW(1, 0), {VT_CONTEXT_DONE, 0, 0}, {VT_HOLDS_ALL, 0, 1}, REL(1), REL(0), REL(2),
                {VT_CONTEXT_FINI, 0, 0}, {VT_JOB, 0, 0});
    vt_workload_fini(&w);
    /* told twice: what it came back with is released, too, and is asked for again */
    w = transaction("modeset", (const int[]){0, -EDEADLK, 0, 0, -EDEADLK}, 5);
    EXPECT_TURN("fixed, twice", 0, {VT_CONTEXT_INIT, 0, 0}, WW(0, 0), WW(1, -EDEADLK),
                {VT_BACKS_OFF, 0, 1}, REL(0), {VT_ACQUIRE_WW_SLOW, 1, 0}, WW(0, 0), WW(2, -EDEADLK),
                {VT_BACKS_OFF, 0, 2}, REL(0), REL(1), {VT_ACQUIRE_WW_SLOW, 2, 0}, WW(0, 0),
                WW(1, 0), {VT_CONTEXT_DONE, 0, 0}, {VT_HOLDS_ALL, 0, 2}, REL(1), REL(0), REL(2),
                {VT_CONTEXT_FINI, 0, 0}, {VT_JOB, 0, 0});
    vt_workload_fini(&w);
}

static void a_lock_listed_twice_ends_a_fixed_transaction(void)
{
    struct vt_workload w = transaction("modeset", (const int[]){0, -EALREADY}, 2);

    EXPECT_TURN("twice listed", 0, {VT_CONTEXT_INIT, 0, 0}, WW(0, 0), WW(1, -EALREADY), REL(0),
                {VT_CONTEXT_FINI, 0, 0});
    vt_workload_fini(&w);
}

/* The three objects of a transaction in the order in which it asked first. */
static void asked(uint32_t *lock)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_calls && n < 3; i++)
        if (calls[i].what == VT_ACQUIRE_WW || calls[i].what == VT_ACQUIRE)
            lock[n++] = calls[i].lock;
}

static void the_reorderable_list_begins_with_the_contended_lock(void)
{
    struct vt_workload w = transaction("reorder", (const int[]){0, 0, -EDEADLK, 0, 0, -EDEADLK}, 6);
    uint32_t k[3];

    asked(k);
    EXPECT(k[0] != k[1] && k[1] != k[2] && k[0] != k[2]);
    EXPECT_TURN("reorder", 0, {VT_CONTEXT_INIT, 0, 0}, WW(k[0], 0), WW(k[1], 0), WW(k[2], -EDEADLK),
                {VT_BACKS_OFF, 0, 2}, REL(k[1]), REL(k[0]), {VT_ACQUIRE_WW_SLOW, k[2], 0},
                WW(k[0], 0), WW(k[1], -EDEADLK), {VT_BACKS_OFF, 0, 2}, REL(k[0]), REL(k[2]),
                {VT_ACQUIRE_WW_SLOW, k[1], 0}, WW(k[2], 0), WW(k[0], 0), {VT_CONTEXT_DONE, 0, 0},
                {VT_HOLDS_ALL, 0, 2}, REL(k[0]), REL(k[2]), REL(k[1]), {VT_CONTEXT_FINI, 0, 0},
                {VT_JOB, 0, 0});
    vt_workload_fini(&w);
}

static void a_walk_goes_on_at_what_it_has(void)
{
    struct vt_workload w =
        transaction("discover", (const int[]){0, 0, -EDEADLK, 0, 0, 0, -EALREADY}, 7);
    uint32_t k[3];

    asked(k);
    EXPECT_TURN("discover", 0, {VT_CONTEXT_INIT, 0, 0}, WW(k[0], 0), WW(k[1], 0),
                WW(k[2], -EDEADLK), {VT_BACKS_OFF, 0, 2}, REL(k[1]), REL(k[0]),
                {VT_ACQUIRE_WW_SLOW, k[2], 0}, WW(k[0], 0), WW(k[1], 0), WW(k[2], -EALREADY),
                {VT_CONTEXT_DONE, 0, 0}, {VT_HOLDS_ALL, 0, 1}, REL(k[1]), REL(k[0]), REL(k[2]),
                {VT_CONTEXT_FINI, 0, 0}, {VT_JOB, 0, 0});
    vt_workload_fini(&w);
}

static void single_locks_need_no_context(void)
{
    struct vt_workload w = transaction("single", (const int[]){0}, 1);
    uint32_t k[3];

    asked(k);
    EXPECT_TURN("single", 0, {VT_ACQUIRE, k[0], 0}, REL(k[0]), {VT_ACQUIRE, k[1], 0}, REL(k[1]),
                {VT_ACQUIRE, k[2], 0}, REL(k[2]), {VT_JOB, 0, 0});
    vt_workload_fini(&w);
}

/* Every ww lock there is, against others for real: nothing is lost, nothing overlaps. */
static void real_transactions_end(void)
{
    struct ll_lock_info info;

    for (size_t i = 0; !ll_lock_get(i, &info); i++) {
        struct vt_workload w;
        if (info.kind != LL_KIND_WW || !strcmp(info.family, "test"))
            continue;
        w = run(info.id, "ww-execbuf", 3, 6,
                SETTINGS({"locks", "3"}, {"k_min", "2"}, {"k_max", "3"}, {"protocol", "mix"}));
        EXPECT(count(VT_JOB) == 18 && count(VT_HOLDS_ALL) == count(VT_CONTEXT_INIT), "%s", info.id);
        vt_workload_fini(&w);
    }
}

int main(void)
{
    const struct ll_lock_desc *const variants[LL_VARIANTS] = {
        [LL_VARIANT_NATIVE] = &told, [LL_VARIANT_BARE] = &told, [LL_VARIANT_VIRTUAL] = &told};

    EXPECT(ll_registry_add(variants) == 0);
    core_mixes_take_one_lock_at_a_time();
    shares_of_readers_are_as_told();
    high_systime_takes_the_second_lock_after_the_root_in_batches();
    fserver_takes_the_journal_inside_and_sleeps_with_the_mutex_only();
    alltests_draws_from_all_four();
    trees_go_down_hand_over_hand();
    a_split_keeps_the_parent();
    trees_have_the_depth_they_are_told();
    take_all_takes_each_inner_lock_once();
    the_big_lock_in_both_orders_ends();
    the_fixed_list_passes_over_the_contended_lock();
    a_lock_listed_twice_ends_a_fixed_transaction();
    the_reorderable_list_begins_with_the_contended_lock();
    a_walk_goes_on_at_what_it_has();
    single_locks_need_no_context();
    real_transactions_end();
    DONE();
}
