/* SPDX-License-Identifier: MIT */
/* run.c - the controller: repetitions, phases, stop, watchdog; and the handle that others hold. */
#define _GNU_SOURCE
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CONTROLLER_NICE -10
#define STEP_S 0.01        /* the controller looks so often while hand-offs are logged */
#define STEP_EVENTS_S 0.05 /* ... and else */
#define STOP_GRACE_S 0.04  /* after a stop, waiters that do not end by themselves are torn out */
#define ABANDON_S 10.0     /* a thread that does not unwind by then is given up */
#define LOGGED_PER_S 1e5   /* hand-off log entries a second that the merge may cost */

double run_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void cond_until(struct ll_run *run, double until)
{
    struct timespec t = {(time_t)until, (long)((until - floor(until)) * 1e9)};

    pthread_cond_timedwait(&run->cond, &run->mutex, &t);
}

bool run_sleep(struct ll_run *run, double until)
{
    bool stop;

    pthread_mutex_lock(&run->mutex);
    while (!run->stop && run_now() < until)
        cond_until(run, until);
    stop = run->stop;
    pthread_mutex_unlock(&run->mutex);
    return stop;
}

void run_set_phase(struct ll_run *run, enum ll_phase phase, struct crew *crew)
{
    pthread_mutex_lock(&run->mutex);
    run->phase = phase;
    run->crew = crew;
    if (phase == LL_PHASE_MEASURE)
        run->measure_started = run_now();
    pthread_mutex_unlock(&run->mutex);
}

void run_fail(struct ll_run *run, enum ll_status status, const struct ll_error *err)
{
    run->tally.out.status = status;
    if (err)
        run->tally.out.failure = *err;
}

/* ---- one repetition ---- */

/* Which windows to log, so that the merge stays cheap: from the rate of the warm-up. */
static uint64_t every_mask(double rate_per_s)
{
    uint64_t every = 1;

    while (every < 1024 && rate_per_s / (double)every > LOGGED_PER_S)
        every *= 2;
    return every - 1;
}

struct pace {
    double at;
    uint64_t acquisitions;
};

static void note_total(const struct crew *c, struct mt_merge *merge)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < c->threads; i++)
        total += crew_measured(c, i);
    mt_merge_note(merge, eng_ticks(), total);
}

/* Merges what the logs hold, and logs more or fewer windows where the rate has changed a lot since
 * they were chosen: a lock that collapses is slow enough to be logged all the time. */
static void drain_logs(struct ll_run *run, const struct crew *c, struct mt_merge *merge,
                       struct pace *pace)
{
    uint64_t now_acquired = crew_acquisitions(c, 0), mask = mt_merge_every(merge), want;
    double now = run_now(), dt = now - pace->at;

    note_total(c, merge);
    mt_merge_drain(merge, false);
    run->tally.logged_s += dt / (double)(mask + 1);
    run->tally.log_s += dt;
    if (now_acquired >= pace->acquisitions) {
        want = every_mask((double)(now_acquired - pace->acquisitions) / dt);
        if (want > 4 * mask + 3 || 4 * want + 3 < mask)
            mt_merge_set_every(merge, want);
    }
    *pace = (struct pace){now, now_acquired};
}

/* Lets the phase run until `until`; drains logs, draws the series. */
static enum run_ended supervise(struct ll_run *run, struct crew *c, double until,
                                struct mt_merge *merge, bool draw)
{
    struct watchdog w = watch_begin(0);
    struct pace pace = {run_now(), 0};
    double start = pace.at, base = run->tally.out.seconds;
    double step = merge ? STEP_S : STEP_EVENTS_S, next = start;

    for (;;) {
        next += step;
        if (run_sleep(run, next < until ? next : until))
            return RUN_ENDED_STOP;
        if (merge)
            drain_logs(run, c, merge, &pace);
        if (draw)
            series_point(&run->series, c, base + run_now() - start, false);
        if (run_now() >= until)
            return RUN_ENDED_TIME;
        if (watch_hangs(run, c, &w, crew_acquisitions(c, 0))) {
            watch_declare(run, c, &w, "while measuring");
            return RUN_ENDED_HUNG;
        }
        if (next < run_now()) /* never try to catch up */
            next = run_now();
    }
}

void run_drain(struct ll_run *run, struct crew *c, enum run_ended why)
{
    struct watchdog w = watch_begin(crew_done(c));
    double start = run_now(), abort_at = why == RUN_ENDED_TIME ? INFINITY : start;
    bool aborted = false;
    long nap_ns = 200 * 1000;

    if (why == RUN_ENDED_STOP)
        abort_at = start + STOP_GRACE_S;
    crew_lead(c, LL_PHASE_DRAIN);
    while (crew_done(c) < c->threads) {
        double now = run_now();
        crew_nap(&nap_ns);
        if (run_sleep(run, now) && !isfinite(abort_at))
            abort_at = now + STOP_GRACE_S;
        if (!aborted && why == RUN_ENDED_TIME && watch_hangs(run, c, &w, crew_done(c))) {
            watch_declare(run, c, &w, "after the end of the measured phase");
            abort_at = now;
        }
        if (!aborted && now >= abort_at) {
            crew_abort(c);
            aborted = true;
            abort_at = now;
        }
        if (aborted && now > abort_at + ABANDON_S)
            break;
    }
    if (run_now() - start > run->tally.out.drain_s)
        run->tally.out.drain_s = run_now() - start;
}

static struct mt_merge *make_merge(struct ll_run *run, struct crew *c, double rate_per_s)
{
    uint64_t mask = every_mask(rate_per_s);
    struct mt_log **logs = calloc(c->threads, sizeof(*logs));
    struct mt_merge *merge;

    if (!logs)
        return NULL;
    for (uint32_t i = 0; i < c->threads; i++) {
        logs[i] = &c->member[i].log;
        eng_own_set(&logs[i]->every_mask, mask);
        mt_log_discard(logs[i]); /* what the warm-up left */
    }
    run->tally.last_mask = mask;
    merge = mt_merge_new(logs, run->plan.matrix_slot, c->threads, run->plan.n_cpus, mask);
    if (!merge)
        free(logs);
    return merge;
}

static void measure_regime(const struct ll_run *run, double *ns)
{
    *ns = NAN;
    if (run->plan.n_cpus > 1 && ll_regime(run->plan.distinct[0], run->plan.distinct[1], ns))
        *ns = NAN;
}

/* True: go on with the next repetition. */
static bool repetition(struct ll_run *run, uint32_t index, bool logs)
{
    const struct ll_plan *p = &run->plan.user;
    struct ll_error err = {"", ""};
    struct mt_merge *merge = NULL;
    struct crew *c;
    double regime[2], start, seconds = 0, rate = LOGGED_PER_S * 64;
    enum run_ended ended = RUN_ENDED_TIME;
    uint32_t abandoned;

    measure_regime(run, &regime[0]);
    if (crew_start(&run->plan, 1, logs, run->perf, run->validator, p->seed + index, &c, &err)) {
        run_fail(run, LL_STATUS_FAILED, &err);
        return false;
    }
    pthread_mutex_lock(&run->mutex);
    run->repeat = index;
    pthread_mutex_unlock(&run->mutex);
    if (p->warmup_s > 0) {
        run_set_phase(run, LL_PHASE_WARMUP, c);
        start = run_now();
        crew_lead(c, LL_PHASE_WARMUP);
        ended = supervise(run, c, start + p->warmup_s, NULL, false);
        rate = (double)crew_acquisitions(c, 0) / (run_now() - start);
    }
    if (logs && ended == RUN_ENDED_TIME && !(merge = make_merge(run, c, rate))) {
        ll_fail(&err, -ENOMEM, "", "out of memory");
        run_fail(run, LL_STATUS_FAILED, &err);
        ended = RUN_ENDED_STOP;
    }
    if (ended == RUN_ENDED_TIME) {
        series_start(&run->series, run->tally.out.seconds);
        run_set_phase(run, LL_PHASE_MEASURE, c);
        start = run_now();
        if (merge)
            mt_merge_note(merge, eng_ticks(), 0);
        crew_lead(c, LL_PHASE_MEASURE);
        ended = supervise(run, c, start + p->seconds, merge, true);
        crew_lead(c, LL_PHASE_DRAIN);
        seconds = run_now() - start;
        series_point(&run->series, c, run->tally.out.seconds + seconds, true);
        if (merge)
            note_total(c, merge);
    }
    run_set_phase(run, LL_PHASE_DRAIN, c);
    run_drain(run, c, ended);
    if (merge)
        mt_merge_drain(merge, true);
    measure_regime(run, &regime[1]);
    if (seconds > 0)
        tally_add(run, c, seconds, regime, merge ? mt_merge_result(merge) : NULL);
    run_set_phase(run, LL_PHASE_START, NULL);
    mt_merge_free(merge);
    abandoned = crew_free(c);
    if (abandoned) {
        ll_fail(&err, -ETIMEDOUT, "lock", "%u of %u threads could not be ended and were abandoned",
                abandoned, p->threads);
        if (run->tally.out.status == LL_STATUS_COMPLETE)
            run_fail(run, LL_STATUS_HUNG, &err);
        run->abandoned = true;
    }
    if (ended == RUN_ENDED_STOP && run->tally.out.status == LL_STATUS_COMPLETE)
        run_fail(run, LL_STATUS_INTERRUPTED, NULL);
    return ended == RUN_ENDED_TIME && run->tally.out.status == LL_STATUS_COMPLETE;
}

/* Why hand-offs cannot be had here, or NULL. */
static const char *no_handoffs(const struct run_plan *p, const void *state)
{
    const struct ll_workload_desc *w = p->workload[p->variant];

    if (p->user.metrics != LL_METRICS_FULL)
        return "needs clock readings: --metrics full";
    if (p->variant == LL_VARIANT_BARE)
        return "the bare build reads no clock";
    if (p->user.threads < 2)
        return "one thread hands the lock to nobody";
    if (p->lock[p->variant]->claims & LL_BROKEN)
        return "the lock does not exclude, so owners have no order";
    if (p->n_counted != 1)
        return "several locks: owners of different locks have no order";
    if (p->lock[p->variant]->kind == LL_KIND_SHARED && w->uses_shared && w->uses_shared(state))
        return "shared mode: several owners at once have no order";
    return NULL;
}

static void *controller_main(void *arg)
{
    struct ll_run *run = arg;
    const struct run_plan *p = &run->plan;
    struct ll_error err = {"", ""};
    void *state = run_plan_state(p);
    const char *reason = state ? no_handoffs(p, state) : "out of memory";
    bool go_on = true;

    pthread_setname_np(pthread_self(), "locklab-run");
    /* so that busy workers do not delay the end of a phase; refused without privilege, and then the
     * controller waits its turn: `seconds` is measured, not assumed. Linux: 0 is this thread */
    setpriority(PRIO_PROCESS, 0, CONTROLLER_NICE);
    tally_start(run, state, reason);
    for (uint32_t i = 0; go_on && i < p->user.repeat; i++)
        go_on = repetition(run, i, !reason);
    if (go_on && p->user.overhead) {
        int ret = blocks_run(run, &err);
        if (ret == -ECANCELED)
            run_fail(run, LL_STATUS_INTERRUPTED, NULL);
        else if (ret && ret != -ETIMEDOUT) /* the watchdog has said so already */
            run_fail(run, LL_STATUS_FAILED, &err);
    }
    tally_finish(run);
    free(state);
    pthread_mutex_lock(&run->mutex);
    run->phase = LL_PHASE_DONE;
    run->done = true;
    pthread_cond_broadcast(&run->cond);
    pthread_mutex_unlock(&run->mutex);
    return NULL;
}

/* ---- the handle ---- */

static void destroy(struct ll_run *run)
{
    if (run->abandoned)
        return; /* leaked on purpose */
    if (run->validator)
        ll_validator_unref(run->validator);
    tally_fini(run);
    series_fini(&run->series);
    free(run->cpu_s);
    mt_perf_set_free(run->perf);

    run_plan_fini(&run->plan);
    pthread_cond_destroy(&run->cond);
    pthread_mutex_destroy(&run->mutex);
    free(run);
}

int ll_run_start(const struct ll_plan *plan, struct ll_run **out, struct ll_error *err)
{
    struct ll_run *run = calloc(1, sizeof(*run));
    pthread_condattr_t attr;
    int ret;

    if (!run)
        return ll_fail(err, -ENOMEM, "", "out of memory");
    run->refs = 1;
    run->pid = getpid();
    pthread_mutex_init(&run->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&run->cond, &attr);
    pthread_condattr_destroy(&attr);
    eng_clock_init();
    if ((ret = run_plan_resolve(plan, &run->plan, err)))
        goto fail;
    if (plan->n_perf && (ret = mt_perf_set_new(plan->perf, plan->n_perf, &run->perf, err)))
        goto fail;

    if (plan->validate && (ret = ll_validator_create(NULL, &run->validator, err)))
        goto fail;
    run->cpu_s = calloc(plan->threads, sizeof(*run->cpu_s));
    if ((ret = run->cpu_s ? 0 : -ENOMEM) || (ret = tally_init(run)) ||
        (ret = series_init(&run->series, plan->threads, plan->tick_s)) ||
        (ret = -pthread_create(&run->controller, NULL, controller_main, run))) {
        ll_fail(err, ret, "threads", "the run could not be set up: %s", strerror(-ret));
        goto fail;
    }
    run->started = run_now();
    *out = run;
    return 0;
fail:
    destroy(run);
    return ret;
}

static bool is_ours(const struct ll_run *run)
{
    return run->pid == getpid();
}

int ll_run_wait(struct ll_run *run, double timeout_s)
{
    double until = run_now() + timeout_s;
    bool done, join;

    if (!is_ours(run))
        return -EPERM;
    pthread_mutex_lock(&run->mutex);
    while (!run->done && run_now() < until)
        cond_until(run, until);
    done = run->done;
    join = done && !run->joined;
    run->joined |= done;
    pthread_mutex_unlock(&run->mutex);
    if (join)
        pthread_join(run->controller, NULL);
    return done ? 0 : -ETIMEDOUT;
}

void ll_run_stop(struct ll_run *run)
{
    if (!is_ours(run))
        return;
    pthread_mutex_lock(&run->mutex);
    run->stop = true;
    pthread_cond_broadcast(&run->cond);
    pthread_mutex_unlock(&run->mutex);
}

struct ll_run *ll_run_ref(struct ll_run *run)
{
    eng_shared_add32(&run->refs, 1);
    return run;
}

void ll_run_unref(struct ll_run *run)
{
    if (!run || !is_ours(run) || eng_shared_add32(&run->refs, (uint32_t)-1) != 1)
        return;
    ll_run_stop(run);
    while (ll_run_wait(run, 1.0))
        ;
    destroy(run);
}

void ll_run_info(const struct ll_run *run, struct ll_run_info *out)
{
    const struct ll_plan *p = &run->plan.user;

    *out = (struct ll_run_info){
        .size = sizeof(*out),
        .version = LL_ABI,
        .lock = p->lock,
        .workload = p->workload,
        .threads = p->threads,
        .repeat = p->repeat,
        .cpus = run->plan.cpus,
        .seconds = p->seconds,
    };
}

static void look_at_crew(const struct ll_run *run, struct ll_snapshot *out)
{
    const struct crew *c = run->crew;

    out->t_s = run_now() - run->measure_started;
    for (uint32_t i = 0; i < c->threads; i++) {
        const struct wl_thread *t = c->member[i].wl[0];
        /* a worker that has not come to the measured phase yet still shows its warm-up */
        if (CREW_PHASE(eng_own_read_acq32(&t->want)) != LL_PHASE_MEASURE)
            continue;
        out->acquisitions[i] = crew_measured(c, i);
        out->overlap += eng_own_read(&t->counts.overlap);
        ll_histogram_merge(&out->wait, &t->wait);
        ll_histogram_merge(&out->hold, &t->hold);
    }
}

/* Between two repetitions and at the end: the one that is over. */
static void look_back(const struct ll_run *run, struct ll_snapshot *out)
{
    const struct ll_repeat *last = &run->tally.repeat[run->tally.out.repeats - 1];

    out->t_s = last->seconds;
    out->overlap = run->tally.out.overlap;
    memcpy(out->acquisitions, last->thread_acquisitions,
           run->plan.user.threads * sizeof(out->acquisitions[0]));
}

void ll_run_snapshot(struct ll_run *run, struct ll_snapshot *out)
{
    const struct ll_plan *p = &run->plan.user;
    double now = run_now();

    memset(out, 0, sizeof(*out));
    out->size = sizeof(*out);
    out->version = LL_ABI;
    out->threads = p->threads;
    out->expected_s = p->repeat * (p->seconds + p->warmup_s) + (p->overhead ? p->seconds : 0);
    if (!is_ours(run))
        return;
    pthread_mutex_lock(&run->mutex);
    out->phase = run->phase;
    out->repeat = run->repeat;
    out->elapsed_s = now - run->started;
    out->wait = run->tally.wait;
    out->hold = run->tally.hold;
    if (run->crew && (run->phase == LL_PHASE_MEASURE || run->phase == LL_PHASE_DRAIN))
        look_at_crew(run, out);
    else if (!run->crew && run->tally.out.repeats)
        look_back(run, out);
    pthread_mutex_unlock(&run->mutex);
}

int ll_run_result(struct ll_run *run, const struct ll_result **out)
{
    if (!is_ours(run))
        return -EPERM;
    if (ll_run_wait(run, 0))
        return -EAGAIN;
    *out = &run->tally.out;
    return 0;
}
