/* SPDX-License-Identifier: MIT */
/* test_run.c - runs end, add up, stop at once, and a lock that hangs is reported and left behind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/registry.h"
#include "expect.h"
#include "run/run.h"
#include "stuck_lock.h"

/* ---- locks broken on purpose ---- */

static void freed_release(void *lock, void *node)
{
    struct stuck *l = lock;

    (void)node;
    eng_store_rel(&l->word, 0);
}

static void asleep_acquire(void *lock, void *node)
{
    struct stuck *l = lock;

    (void)node;
    while (eng_xchg_acq(&l->word, 1))
        eng_park(0); /* the fault: nobody unparks */
}

/* right in the instrumented build; listed with `stuck` as its bare one */
static const struct ll_lock_desc half = {
    .name = "half",
    .family = "test",
    .summary = "never released in the bare build",
    .origin = "test",
    .lock_size = sizeof(struct stuck),
    .lock_fields = stuck_fields,
    .ops = {.acquire = stuck_acquire, .release = freed_release},
};
static const struct ll_lock_desc half_bare = {
    .name = "half",
    .family = "test",
    .summary = "never released in the bare build",
    .origin = "test",
    .lock_size = sizeof(struct stuck),
    .lock_fields = stuck_fields,
    .ops = {.acquire = stuck_acquire, .release = stuck_release},
};
static const struct ll_lock_desc asleep = {
    .name = "asleep",
    .family = "test",
    .summary = "nobody wakes",
    .origin = "test",
    .claims = LL_PARKS,
    .lock_size = sizeof(struct stuck),
    .lock_fields = stuck_fields,
    .ops = {.acquire = asleep_acquire, .release = stuck_release}};

/* ---- helpers ---- */

static struct ll_plan plan_of(const char *lock, uint32_t threads, double seconds)
{
    struct ll_plan p;

    ll_plan_init(&p);
    p.lock = lock;
    p.threads = threads;
    p.seconds = seconds;
    p.warmup_s = 0.01;
    p.watchdog_s = 60; /* a busy machine is not a broken lock */
    return p;
}

#define BOUND_S 100 /* far above what any of them takes */

static struct ll_run *start(const struct ll_plan *p)
{
    struct ll_error err;
    struct ll_run *run = NULL;

    if (ll_run_start(p, &run, &err)) {
        fprintf(stderr, "%s: %s\n", err.field, err.text);
        exit(1);
    }
    return run;
}

static const struct ll_result *finish(struct ll_run *run, double bound_s)
{
    const struct ll_result *out = NULL;

    EXPECT(ll_run_wait(run, bound_s) == 0);
    EXPECT(ll_run_result(run, &out) == 0);
    if (!out)
        exit(1);
    return out;
}

static uint64_t bucket_sum(const struct ll_histogram *h)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        sum += h->bucket[i];
    return sum;
}

static void figures_add_up(const struct ll_result *r)
{
    uint64_t total = 0, repeats = 0, matrix = 0;

    for (uint32_t i = 0; i < r->threads; i++)
        total += r->acquisitions[i];
    for (uint32_t k = 0; k < r->repeats; k++)
        repeats += r->repeat[k].acquisitions;
    EXPECT(total == repeats);
    if (r->wait) {
        EXPECT(r->wait->count == total && bucket_sum(r->wait) == total);
        EXPECT(r->hold->count == total && bucket_sum(r->hold) == total);
    }
    if (r->handoff) {
        for (uint32_t i = 0; i < r->n_cpus * r->n_cpus; i++)
            matrix += r->matrix[i];
        EXPECT(matrix == r->handoff->count && bucket_sum(r->handoff) == matrix);
    }
}

/* ---- tests ---- */

/* ThreadSanitizer sees no order in libck's inline assembly, and races are what spin/none is for. */
static bool tsan_understands(const struct ll_lock_info *info)
{
#ifdef __SANITIZE_THREAD__
    return strncmp(info->id, "host/ck-", 8) && !(info->claims & LL_BROKEN);
#else
    (void)info;
    return true;
#endif
}

static void every_lock_runs_and_adds_up(void)
{
    struct ll_lock_info info;

    for (size_t i = 0; !ll_lock_get(i, &info); i++) {
        if (!strncmp(info.id, "test/", 5) || !tsan_understands(&info))
            continue;
        for (int metrics = LL_METRICS_EVENTS; metrics <= LL_METRICS_FULL; metrics++) {
            struct ll_plan p = plan_of(info.id, 2, 0.02);
            struct ll_run *run;
            const struct ll_result *r;
            p.metrics = (enum ll_metrics)metrics;
            p.repeat = 2;
            run = start(&p);
            r = finish(run, BOUND_S);
            if (r->status != LL_STATUS_COMPLETE)
                fprintf(stderr, "%s: status %d %s\n", info.id, r->status, r->failure.text);
            EXPECT(r->status == LL_STATUS_COMPLETE && r->repeats == 2);
            EXPECT((r->wait != NULL) == (metrics == LL_METRICS_FULL));
            if (!(info.claims & LL_BROKEN))
                EXPECT(r->overlap == 0);
            figures_add_up(r);
            ll_run_unref(run);
        }
    }
}

static void more_threads_than_cpus_end(void)
{
    static const char *const ids[] = {"spin/mcs", "spin/ticket", "spin/osq", "spin/tas"};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct ll_plan p = plan_of(ids[i], 4, 0.2);
        struct ll_run *run = start(&p);
        const struct ll_result *r = finish(run, BOUND_S);
        EXPECT(r->status == LL_STATUS_COMPLETE && r->overlap == 0);
        figures_add_up(r);
        ll_run_unref(run);
    }
}

/* With far more threads than CPUs some never come to a short measured phase: what they did in the
 * warm-up must not be counted. The series tells the same story as the totals. */
static void only_the_measured_phase_counts(void)
{
    struct ll_plan p = plan_of("spin/tas", 48, 0.1);
    struct ll_run *run;
    const struct ll_result *r;
    double integral = 0, previous = 0;
    uint64_t total = 0;

    p.warmup_s = 0.1;
    p.tick_s = 0.02;
    run = start(&p);
    r = finish(run, BOUND_S);
    for (uint32_t i = 0; i < r->threads; i++) {
        EXPECT(r->cpu_ns[i] > 0 || r->acquisitions[i] == 0, "thread %u: %lu without CPU time", i,
               (unsigned long)r->acquisitions[i]);
        total += r->acquisitions[i];
    }
    for (uint32_t k = 0; k < r->n_series; k++) {
        for (uint32_t i = 0; i < r->threads; i++)
            integral += r->series_rate[k * r->threads + i] * (r->series_t_s[k] - previous);
        previous = r->series_t_s[k];
    }
    EXPECT(integral <= (double)total * 1.001 + 1, "series %g, total %lu", integral,
           (unsigned long)total);
    figures_add_up(r);
    ll_run_unref(run);
}

static void stop_ends_the_run_and_leaves_a_result(void)
{
    static struct ll_snapshot snapshot;
    struct ll_plan p = plan_of("spin/ttas", 2, 30);
    struct ll_run *run = start(&p);
    const struct ll_result *r;

    do {
        EXPECT(ll_run_wait(run, 0.01) == -ETIMEDOUT);
        ll_run_snapshot(run, &snapshot);
    } while (snapshot.phase != LL_PHASE_MEASURE || snapshot.t_s < 0.05);
    ll_run_stop(run);
    r = finish(run, BOUND_S);
    EXPECT(r->status == LL_STATUS_INTERRUPTED && r->repeats == 1 && r->seconds > 0.05);
    figures_add_up(r);
    ll_run_unref(run);
}

static void a_hung_lock_is_reported(const char *id, const char *state, const char *file)
{
    struct ll_plan p = plan_of(id, 2, 30);
    struct ll_run *run;
    const struct ll_result *r;
    bool named = false;

    p.watchdog_s = 0.3;
    run = start(&p);
    r = finish(run, BOUND_S);
    EXPECT(r->status == LL_STATUS_HUNG && strstr(r->failure.text, id) != NULL);
    EXPECT(r->n_waiters == 2);
    for (uint32_t i = 0; i < r->n_waiters; i++) {
        const struct ll_waiter *w = &r->waiter[i];
        EXPECT(w->since_s > 0.2);
        named |= !strcmp(w->state, state) && strstr(w->file, file) && w->line > 0;
        if (!strcmp(state, "waiting"))
            named &= !strcmp(w->object, "lock") && !strcmp(w->field, "word");
    }
    EXPECT(named);
    ll_run_unref(run);
}

static void bad_plans_are_refused(void)
{
    struct ll_setting unknown = {"section_n", "1"}, text = {"section_ns", "x"},
                      shared = {"shared_pct", "50"};
    const struct {
        struct ll_plan plan;
        int code;
        const char *field;
    } cases[] = {
        {plan_of("spin/msc", 2, 1), -ENOENT, "lock"},
        {plan_of(NULL, 2, 1), -EINVAL, "lock"},
        {plan_of("spin/mcs", 0, 1), -ERANGE, "threads"},
        {plan_of("spin/mcs", LL_MAX_THREADS + 1, 1), -ERANGE, "threads"},
        {plan_of("spin/mcs", 2, NAN), -ERANGE, "seconds"},
        {plan_of("spin/mcs", 2, -1), -ERANGE, "seconds"},
    };
    struct ll_error err;
    struct ll_plan p;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        EXPECT(ll_plan_validate(&cases[i].plan, &err) == cases[i].code);
        EXPECT(!strcmp(err.field, cases[i].field));
    }
    p = plan_of("spin/mcs", 2, 1);
    p.n_settings = 1;
    p.settings = &unknown;
    EXPECT(ll_plan_validate(&p, &err) == -ENOENT && strstr(err.text, "section_ns"));
    p.settings = &text;
    EXPECT(ll_plan_validate(&p, &err) == -EINVAL);
    p.settings = &shared;
    EXPECT(ll_plan_validate(&p, &err) == -EINVAL && !strcmp(err.field, "shared_pct"));
    p.lock = "host/pthread-rwlock";
    EXPECT(ll_plan_validate(&p, &err) == 0);
    p = plan_of("mcs", 2, 1);
    EXPECT(ll_plan_validate(&p, &err) == -ENOENT && strstr(err.text, "/mcs"));
}

static void overhead_blocks_alternate(void)
{
    struct ll_plan p = plan_of("spin/tas", 2, 0.2);
    struct ll_run *run;
    const struct ll_result *r;

    p.overhead = true;
    run = start(&p);
    r = finish(run, BOUND_S);
    EXPECT(r->n_blocks >= 5);
    for (uint32_t i = 0; i < r->n_blocks; i++)
        EXPECT(r->block_bare[i] >= 0 && r->block_instrumented[i] >= 0);
    ll_run_unref(run);
}

static void a_lock_that_hangs_in_the_blocks_is_reported(void)
{
    struct ll_plan p = plan_of("test/half", 2, 30);
    struct ll_run *run;
    const struct ll_result *r;

    p.seconds = 0.5;
    p.overhead = true;
    p.watchdog_s = 0.2;
    run = start(&p);
    r = finish(run, BOUND_S);
    EXPECT(r->status == LL_STATUS_HUNG && strstr(r->failure.text, "in the overhead blocks"),
           "status %d: %s", r->status, r->failure.text);
    EXPECT(r->repeats == 1 && r->n_waiters == 2);
    figures_add_up(r);
    ll_run_unref(run);
}

static void a_lock_is_usable_from_any_thread(void)
{
    struct ll_lock *lock;
    struct ll_error err;

    EXPECT(ll_lock_create("spin/clh", NULL, 0, &lock, &err) == 0);
    EXPECT(ll_lock_acquire(lock, false, -1, NULL, NULL) == 0);
    EXPECT(ll_lock_held(lock));
    EXPECT(ll_lock_acquire(lock, false, -1, NULL, NULL) == -EDEADLK);
    EXPECT(ll_lock_destroy(lock) == -EBUSY);
    EXPECT(ll_lock_release(lock, false) == 0);
    EXPECT(ll_lock_release(lock, false) == -EPERM);
    EXPECT(ll_lock_acquire(lock, true, -1, NULL, NULL) == -ENOTSUP);
    EXPECT(ll_lock_destroy(lock) == 0);
}

int main(void)
{
    const struct ll_lock_desc *const one[LL_VARIANTS] = {&stuck, &stuck, NULL, &stuck};
    const struct ll_lock_desc *const three[LL_VARIANTS] = {&half, &half_bare, NULL, &half};
    const struct ll_lock_desc *const two[LL_VARIANTS] = {&asleep, &asleep, NULL, &asleep};

    EXPECT(ll_registry_add(one) == 0 && ll_registry_add(two) == 0 && ll_registry_add(three) == 0);
    bad_plans_are_refused();
    a_hung_lock_is_reported("test/stuck", "waiting", "stuck_lock.h");
    a_hung_lock_is_reported("test/asleep", "parked", "test_run.c");
    stop_ends_the_run_and_leaves_a_result();
    every_lock_runs_and_adds_up();
    more_threads_than_cpus_end();
    for (int again = 0; again < 5; again++)
        only_the_measured_phase_counts();
    overhead_blocks_alternate();
    a_lock_that_hangs_in_the_blocks_is_reported();
    a_lock_is_usable_from_any_thread();
    DONE();
}
