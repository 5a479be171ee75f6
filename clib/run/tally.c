/* SPDX-License-Identifier: MIT */
/* tally.c - pools the repetitions into one result. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/run.h"

enum { ACQUISITIONS, SHARED, WAIT_MAX, CPU_NS, VOLUNTARY, INVOLUNTARY, TALLY_COLUMNS };

static uint64_t *column(const struct ll_run *run, int which)
{
    return run->tally.per_thread + (size_t)which * run->plan.user.threads;
}

int tally_init(struct ll_run *run)
{
    struct tally *t = &run->tally;
    const struct ll_plan *p = &run->plan.user;
    uint32_t n = run->plan.n_cpus;
    struct timespec now;

    t->repeat = calloc(p->repeat, sizeof(*t->repeat));
    t->thread_acquisitions = calloc((size_t)p->repeat * p->threads, sizeof(uint64_t));
    t->per_thread = calloc((size_t)TALLY_COLUMNS * p->threads, sizeof(uint64_t));
    t->matrix = calloc((size_t)n * n, sizeof(uint64_t));
    if (!t->repeat || !t->thread_acquisitions || !t->per_thread || !t->matrix)
        return -ENOMEM;
    clock_gettime(CLOCK_REALTIME, &now);
    t->out = (struct ll_result){
        .validation = run->validator,
        .size = sizeof(t->out),
        .version = LL_ABI,
        .status = LL_STATUS_COMPLETE,
        .threads = p->threads,
        .repeat = t->repeat,
        .acquisitions = column(run, ACQUISITIONS),
        .shared_acquisitions = column(run, SHARED),
        .wait_max_ns = column(run, WAIT_MAX),
        .cpu_ns = column(run, CPU_NS),
        .voluntary = column(run, VOLUNTARY),
        .involuntary = column(run, INVOLUNTARY),
        .cpu = run->plan.cpus,
        .n_cpus = n,
        .matrix_cpus = run->plan.matrix_cpus,
        .matrix = t->matrix,
        .events = t->events,
        .perf = t->perf,
        .wait_reason = "",
        .hold_reason = "",
        .handoff_reason = "",
        .wake_reason = "",
        .started_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
    };
    return 0;
}

void tally_fini(struct ll_run *run)
{
    struct tally *t = &run->tally;

    free(t->repeat);
    free(t->thread_acquisitions);
    free(t->per_thread);
    free(t->matrix);
    free(t->waiter);
    free(t->waiter_object);
    free(t->block_bare);
    free(t->block_instrumented);
}

void tally_start(struct ll_run *run, const void *workload_state, const char *no_handoffs)
{
    struct tally *t = &run->tally;
    const struct run_plan *p = &run->plan;
    const struct ll_workload_desc *w = p->workload[p->variant];
    const struct ll_lock_desc *lock = p->lock[p->variant];
    const char *no_clock = p->variant == LL_VARIANT_BARE ? "the bare build reads no clock"
                           : p->user.metrics != LL_METRICS_FULL
                               ? "needs clock readings: --metrics full"
                               : NULL;

    t->out.n_groups = p->n_groups;
    t->out.group = t->group;
    for (uint32_t g = 0; g < p->n_groups; g++)
        t->group[g] = (struct ll_group){
            .name = p->group[g].name,
            .lock = ll_lock_id(p->group[g].lock[p->variant], t->group_lock[g],
                               sizeof(t->group_lock[g])),
            .count = p->group[g].count,
            .counted = p->group[g].counted,
        };
    t->out.overlap_checked =
        workload_state && w->checks_overlap && w->checks_overlap(workload_state);
    t->out.rseq = p->variant != LL_VARIANT_BARE && ll_rseq_selftest() == 0;
    t->out.wait_reason = t->out.hold_reason = no_clock ? no_clock : "";
    t->out.wait = no_clock ? NULL : &t->wait;
    t->out.hold = no_clock ? NULL : &t->hold;
    t->out.handoff_reason = no_handoffs ? no_handoffs : "";
    t->out.handoff = no_handoffs ? NULL : &t->handoff;
    if (lock->kind == LL_KIND_WW && p->variant != LL_VARIANT_BARE) {
        t->out.backoff_depth = &t->transactions.depth;
        t->out.restarts = &t->transactions.restarts;
        t->out.age = lock->ww.age ? &t->transactions.age : NULL;
    }
    t->out.bypass = no_handoffs ? NULL : &t->bypass;
    t->out.run_length = no_handoffs ? NULL : &t->run_length;
    if (!(lock->claims & LL_PARKS))
        t->out.wake_reason = "waiters of this lock never sleep";
    else if (!p->lock[LL_VARIANT_VIRTUAL])
        t->out.wake_reason = "a host lock's sleeping is out of our sight";
    else if (no_clock)
        t->out.wake_reason = no_clock;
    else
        t->out.wake = &t->wake;
}

static void add_groups(struct tally *t, const struct wl_thread *wl)
{
    for (uint32_t g = 0; g < t->out.n_groups; g++) {
        const struct wl_group_counts *from = &wl->group[g];
        struct ll_group *to = &t->group[g];
        uint64_t wait_max = eng_ticks_ns(from->wait_max_ticks);

        to->acquisitions += from->acquisitions;
        to->wait_ns += eng_ticks_ns(from->wait_ticks);
        to->hold_ns += eng_ticks_ns(from->hold_ticks);
        if (wait_max > to->wait_max_ns)
            to->wait_max_ns = wait_max;
    }
}

/* A run with one group keeps no counts for it: they are the totals. */
static void total_is_the_group(struct tally *t)
{
    struct ll_group *g = &t->group[0];

    g->acquisitions = 0;
    for (uint32_t k = 0; k < t->out.repeats; k++)
        g->acquisitions += t->repeat[k].acquisitions;
    g->wait_ns = t->wait.sum;
    g->hold_ns = t->hold.sum;
    g->wait_max_ns = t->wait.max;
}

static void add_member(struct ll_run *run, const struct crew_member *m, uint64_t *repeat_row)
{
    struct tally *t = &run->tally;
    const struct wl_thread *wl = m->wl[0];
    uint32_t i = m->index;

    repeat_row[i] = wl->counts.acquisitions;
    column(run, ACQUISITIONS)[i] += wl->counts.acquisitions;
    column(run, SHARED)[i] += wl->counts.shared_acquisitions;
    column(run, CPU_NS)[i] += m->usage.cpu_ns;
    column(run, VOLUNTARY)[i] += m->usage.voluntary;
    column(run, INVOLUNTARY)[i] += m->usage.involuntary;
    if (wl->wait.max > column(run, WAIT_MAX)[i])
        column(run, WAIT_MAX)[i] = wl->wait.max;
    t->out.overlap += wl->counts.overlap;
    ll_histogram_merge(&t->wait, &wl->wait);
    ll_histogram_merge(&t->hold, &wl->hold);
    ll_histogram_merge(&t->wake, &wl->wake);
    add_groups(t, wl);
    if (wl->transactions) {
        ll_histogram_merge(&t->transactions.depth, &wl->transactions->depth);
        ll_histogram_merge(&t->transactions.restarts, &wl->transactions->restarts);
        ll_histogram_merge(&t->transactions.age, &wl->transactions->age);
    }
    for (unsigned e = 0; e < LL_EVENT_COUNT; e++)
        t->events[e] += m->events[e];
}

void tally_add(struct ll_run *run, struct crew *crew, double seconds, const double regime_ns[2],
               const struct mt_handoffs *handoffs)
{
    struct tally *t = &run->tally;
    uint32_t k = t->out.repeats, n = run->plan.n_cpus;
    uint64_t *row = t->thread_acquisitions + (size_t)k * crew->threads;
    struct ll_repeat *r = &t->repeat[k];

    pthread_mutex_lock(&run->mutex); /* a snapshot must not count the crew twice */
    run->crew = NULL;
    for (uint32_t i = 0; i < crew->threads; i++) {
        /* a thread that was given up still writes: what it counted is not read; one that never came
         * to the measured phase (no CPU) holds what it counted in the warm-up */
        if (!eng_own_read_acq32(&crew->member[i].done) || !crew->member[i].measured)
            continue;
        add_member(run, &crew->member[i], row);
        if (run->perf)
            mt_perf_merge(run->perf, &crew->member[i].perf);
    }
    *r = (struct ll_repeat){
        .seconds = seconds,
        .regime_ns = {regime_ns[0], regime_ns[1]},
        .thread_acquisitions = row,
    };
    for (uint32_t i = 0; i < crew->threads; i++)
        r->acquisitions += row[i];
    t->out.seconds += seconds;
    t->out.repeats = k + 1;
    if (handoffs) {
        ll_histogram_merge(&t->handoff, &handoffs->times);
        ll_histogram_merge(&t->bypass, &handoffs->bypass);
        ll_histogram_merge(&t->run_length, &handoffs->run);
        t->out.log_pairs += handoffs->pairs;
        t->out.bypass_estimated += handoffs->bypass_estimated;
        if (handoffs->bypass_max > t->out.bypass_max)
            t->out.bypass_max = handoffs->bypass_max;
        t->out.log_dropped += handoffs->dropped;
        for (uint32_t i = 0; i < n * n; i++)
            t->matrix[i] += handoffs->matrix[i];
    }
    pthread_mutex_unlock(&run->mutex);
}

void tally_finish(struct ll_run *run)
{
    struct tally *t = &run->tally;

    t->out.handoff_sampled = t->log_s > 0 ? t->logged_s / t->log_s : 0;
    if (t->out.n_groups == 1)
        total_is_the_group(t);
    t->out.n_series = run->series.n;
    t->out.series_t_s = run->series.t_s;
    t->out.series_rate = run->series.rate;
    t->out.block_bare = t->block_bare;
    t->out.block_instrumented = t->block_instrumented;
    if (run->perf && !run->abandoned)
        t->out.n_perf = mt_perf_values(run->perf, t->perf, LL_MAX_PERF);
}
