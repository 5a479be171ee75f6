/* SPDX-License-Identifier: MIT */
/* crew.c - starting, leading and ending the threads of one repetition. */
#define _GNU_SOURCE
#include "run/crew.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/params.h"
#include "core/topology.h"
#include "engine/own.h"
#include "engine/rseq.h"

#define LOG_ENTRIES_MAX 4096u /* per thread; 64 KiB */
#define LOG_ENTRIES_ALL 65536u
#define NAP_MAX_NS 10000000

/* ---- memory ---- */

/* The workload's state must have its parameters before. */
static int make_lock(struct crew *c, const struct run_group *g, void **out, struct ll_error *err)
{
    const struct run_plan *p = c->plan;
    const struct ll_lock_desc *lock = g->lock[c->variant[0]];
    const struct ll_topology *topo;
    void *l;
    int ret;

    if ((ret = ll_topology_get(&topo, err)))
        return ret;
    l = ll_zeroed(lock->lock_size);
    if (!l)
        return -ENOMEM;
    ll_params_default(l, lock->params);
    if (g->counted) /* companions have their defaults */
        ret = ll_params_apply(p->user.settings, p->user.n_settings, lock->params, l,
                              p->workload[c->variant[0]]->params, NULL, err);
    if (!ret && lock->init)
        ret = lock->init(l, topo);
    if (ret)
        free(l);
    else
        *out = l;
    return ret;
}

/* Transactions are of the lock under test: one class, and a context for each thread. */
static int make_contexts(struct crew *c)
{
    const struct ll_lock_desc *lock = c->plan->lock[c->variant[0]];

    if (lock->kind != LL_KIND_WW)
        return 0;
    c->ww_class = ll_zeroed(lock->class_size);
    c->context = calloc(c->threads, sizeof(*c->context));
    if (!c->ww_class || !c->context)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->threads; i++)
        if (!(c->context[i] = ll_zeroed(lock->context_size)))
            return -ENOMEM;
    return 0;
}

/* What one variant made any other can use. */
static void expect_equal_sizes(const struct crew *c, enum ll_variant a, enum ll_variant b)
{
    const struct run_plan *p = c->plan;

    LL_ASSERT(p->workload[a]->state_size == p->workload[b]->state_size);
    for (uint32_t g = 0; g < p->n_groups; g++) {
        const struct ll_lock_desc *x = p->group[g].lock[a], *y = p->group[g].lock[b];
        LL_ASSERT(x->lock_size == y->lock_size && x->node_size == y->node_size &&
                  x->class_size == y->class_size && x->context_size == y->context_size);
    }
}

/* By the first side's variant. */
static int make_memory(struct crew *c, struct ll_error *err)
{
    const struct run_plan *p = c->plan;
    const struct ll_workload_desc *workload = p->workload[c->variant[0]];
    uint32_t lines;
    int ret;

    for (uint32_t s = 1; s < c->sides; s++)
        expect_equal_sizes(c, c->variant[0], c->variant[s]);
    c->state = ll_zeroed(workload->state_size);
    c->lock = calloc(p->n_locks, sizeof(*c->lock));
    c->node = calloc((size_t)p->n_locks * c->threads, sizeof(*c->node));
    if (!c->state || !c->lock || !c->node)
        return -ENOMEM;
    ll_params_default(c->state, workload->params);
    if ((ret = ll_params_apply(p->user.settings, p->user.n_settings, p->lock[c->variant[0]]->params,
                               NULL, workload->params, c->state, err)))
        return ret;
    if (workload->prepare)
        workload->prepare(c->state);
    for (uint32_t k = 0; k < p->n_locks; k++)
        if ((ret = make_lock(c, run_plan_group(p, k), &c->lock[k], err)))
            return ret;
    lines = workload->data_lines ? workload->data_lines(c->state) : 0;
    c->data = ll_zeroed((size_t)lines * LL_PAIR);
    return c->data ? make_contexts(c) : -ENOMEM;
}

static int make_nodes(struct crew *c, struct crew_member *m)
{
    const struct run_plan *p = c->plan;

    for (uint32_t k = 0; k < p->n_locks; k++) {
        const struct ll_lock_desc *lock = run_plan_group(p, k)->lock[c->variant[0]];
        void *node;
        if (!lock->node_size)
            continue;
        node = ll_zeroed(lock->node_size);
        if (!node)
            return -ENOMEM;
        if (lock->node_init)
            lock->node_init(c->lock[k], node);
        c->node[(size_t)m->index * p->n_locks + k] = node;
    }
    return 0;
}

static int make_slots(struct crew *c, struct crew_member *m, uint32_t s)
{
    const struct run_plan *p = c->plan;
    struct wl_slot *slot = ll_zeroed(p->n_locks * sizeof(*slot));

    m->slot[s] = slot;
    if (!slot)
        return -ENOMEM;
    for (uint32_t k = 0; k < p->n_locks; k++) {
        const struct run_group *g = run_plan_group(p, k);
        slot[k] = (struct wl_slot){
            .lock = c->lock[k],
            .node = c->node[(size_t)m->index * p->n_locks + k],
            .desc = g->lock[c->variant[s]],
            .group = p->n_groups > 1 ? &m->wl[s]->group[g - p->group] : NULL,
            .counted = g->counted,
            .waits_as = g->lock[c->variant[s]]->claims & (LL_QUEUES | LL_FIFO) ? ENG_LOSS_QUEUED
                                                                               : ENG_LOSS_SPINNING,
        };
    }
    return 0;
}

static uint32_t log_entries(uint32_t threads)
{
    uint32_t entries = LOG_ENTRIES_MAX;

    while (entries > 256 && (uint64_t)entries * threads > LOG_ENTRIES_ALL)
        entries /= 2;
    return entries;
}

static int make_member(struct crew *c, uint32_t i)
{
    struct crew_member *m = &c->member[i];
    int ret;

    m->crew = c;
    m->index = i;
    if (c->logs && (ret = mt_log_init(&m->log, log_entries(c->threads))))
        return ret;
    if ((ret = make_nodes(c, m)))
        return ret;
    for (uint32_t s = 0; s < c->sides; s++) {
        struct wl_thread *t = ll_zeroed(sizeof(*t));
        m->wl[s] = t;
        if (!t)
            return -ENOMEM;
        if ((ret = make_slots(c, m, s)))
            return ret;
        t->phase = &c->phase;
        t->slot = m->slot[s];
        t->index = i;
        t->full = c->plan->user.metrics == LL_METRICS_FULL;
        t->log = c->logs ? &m->log : NULL;
        if (c->context) {
            t->ww = c->plan->lock[c->variant[s]];
            t->ww_class = c->ww_class;
            t->context = c->context[i];
            if (!(t->transactions = ll_zeroed(sizeof(*t->transactions))))
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- the thread ---- */

static void begin_measure(struct crew_member *m)
{
    struct rusage r;
    struct timespec cpu;

    m->measured = true;
    memset(m->eng->events, 0, sizeof(m->eng->events));
    mt_perf_enable(&m->perf);
    getrusage(RUSAGE_THREAD, &r);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    m->usage = (struct crew_usage){
        .cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec,
        .voluntary = (uint64_t)r.ru_nvcsw,
        .involuntary = (uint64_t)r.ru_nivcsw,
    };
}

static void end_measure(struct crew_member *m)
{
    struct crew_usage before = m->usage;
    struct rusage r;
    struct timespec cpu;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_THREAD, &r);
    mt_perf_disable(&m->perf);
    m->usage = (struct crew_usage){
        .cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec - before.cpu_ns,
        .voluntary = (uint64_t)r.ru_nvcsw - before.voluntary,
        .involuntary = (uint64_t)r.ru_nivcsw - before.involuntary,
    };
    memcpy(m->events, m->eng->events, sizeof(m->events));
}

/* Counters start afresh with each phase, but not with each overhead block: there the controller
 * takes differences. */
static void reset_counts(struct wl_thread *t)
{
    eng_own_set(&t->counts.acquisitions, 0);
    eng_own_set(&t->counts.shared_acquisitions, 0);
    eng_own_set(&t->counts.overlap, 0);
    mt_histogram_reset(&t->wait);
    mt_histogram_reset(&t->hold);
    mt_histogram_reset(&t->wake);
    memset(t->group, 0, sizeof(t->group));
    if (t->transactions)
        memset(t->transactions, 0, sizeof(*t->transactions));
}

static void work(struct crew_member *m)
{
    struct crew *c = m->crew;
    uint32_t word;

    /* acquire: all threads have their descriptors by then, which others read through owner words */
    while (CREW_PHASE(word = eng_own_read_acq32(&c->phase)) == LL_PHASE_START)
        sched_yield();
    while (CREW_PHASE(word) != LL_PHASE_DRAIN) {
        uint32_t s = c->sides == 1 ? 0 : CREW_SIDE(word);
        struct wl_thread *t = m->wl[s];
        bool measure = CREW_PHASE(word) == LL_PHASE_MEASURE;
        if (CREW_PHASE(word) != LL_PHASE_OVERHEAD)
            reset_counts(t);
        if (measure)
            begin_measure(m);
        m->eng->spin_times = t->full && c->variant[s] != LL_VARIANT_BARE;
        eng_own_set_rel32(&t->want, word); /* after the counters were reset */
        c->plan->workload[c->variant[s]]->run(t, c->state, c->data);
        if (measure)
            end_measure(m);
        word = eng_own_read32(&c->phase);
    }
}

static void on_wake(struct eng_thread *self, uint64_t latency_ns)
{
    struct crew_member *m = self->owner_data;

    mt_histogram_record(&m->wl[m->crew->sides - 1]->wake, latency_ns);
}

static uint32_t node_of(uint32_t os_index)
{
    const struct ll_topology *topo;

    if (ll_topology_get(&topo, NULL))
        return 0;
    for (uint32_t i = 0; i < topo->n_cpus; i++)
        if (topo->cpu[i].os_index == os_index)
            return topo->cpu[i].node;
    return 0;
}

/* Called by whoever waits for long. Once the run drains, more spinning only keeps those from their
 * CPUs who are waited for. */
static bool yield_in_the_drain(struct eng_thread *self)
{
    const struct crew_member *m = self->owner_data;

    if (CREW_PHASE(eng_own_read32(&m->crew->phase)) == LL_PHASE_DRAIN)
        sched_yield();
    return false;
}

/* Has `t` its CPU? What it says itself comes first: nobody records how a thread ends. */
static bool has_cpu(const struct eng_thread *t)
{
    const void *pages = t->switches;

    return eng_own_read32(&t->on_cpu) && (!pages || mt_switch_on_cpu(pages));
}

static int obey_policies(struct crew_member *m)
{
    const struct ll_plan *p = &m->crew->plan->user;
    struct eng_thread *self = m->eng;
    int ret;

    self->bkl.word = &m->crew->bkl;
    self->owner_policy = p->owner_run;
    self->heartbeat_max_ns = (uint64_t)(p->heartbeat_s * 1e9);
    self->spin_budget = p->resched == LL_RESCHED_BUDGET ? eng_clock_ticks(p->resched_budget_ns) : 0;
    if (p->owner_run == LL_OWNER_SWITCH_REC) {
        if ((ret = mt_switch_open(&m->switches)))
            return ret;
        self->switches = m->switches.pages;
        self->has_cpu = has_cpu;
    }
    return 0;
}

static void *member_main(void *arg)
{
    struct crew_member *m = arg;
    struct crew *c = m->crew;
    struct eng_thread *self = eng_native_attach(m->index, c->seed);

    setpriority(PRIO_PROCESS, 0, c->plan->nice);

    m->eng = self;
    m->tid = gettid();
    if (self) {
        self->cpu = c->plan->cpus[m->index];
        self->node = node_of(self->cpu);
        m->error = obey_policies(m);
        if (!m->error)
            m->error = guards_enter(c, m->index, self);
        self->on_wake = on_wake;
        self->on_poll = yield_in_the_drain;
        self->owner_data = m;
        eng_rseq_attach(); /* where that fails, losses of the CPU are not seen */
        if (c->perf)
            mt_perf_open(c->perf, &m->perf);
    } else {
        m->error = -ENOMEM;
    }
    eng_shared_add32(&c->ready, 1);
    if (self) {
        self->can_unwind = true;
        if (setjmp(self->unwind) == 0) {
            work(m);
            guards_leave(c, m->index, false);
        } else { /* torn out of a wait */
            guards_leave(c, m->index, true);
            if (CREW_PHASE(m->wl[0]->want) == LL_PHASE_MEASURE)
                end_measure(m);
        }
        self->can_unwind = false;
        if (c->perf)
            mt_perf_close(c->perf, &m->perf);
    }
    eng_rseq_detach();
    /* crew_free gives the descriptor back: until then an abort that comes late hits nobody else */
    if (self)
        eng_own_set32(&self->on_cpu, 0);
    eng_native_self = NULL;
    eng_own_set_rel32(&m->done, 1);
    return NULL;
}

static int start_member(struct crew *c, struct crew_member *m, struct ll_error *err)
{
    pthread_attr_t attr;
    cpu_set_t set;
    int ret;

    CPU_ZERO(&set);
    CPU_SET(c->plan->cpus[m->index], &set);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    ret = pthread_create(&m->thread, &attr, member_main, m);
    pthread_attr_destroy(&attr);
    m->started = ret == 0;
    if (ret)
        return ll_fail(err, -ret, "threads", "thread %u of %u could not be started on CPU %u: %s",
                       m->index + 1, c->threads, c->plan->cpus[m->index], strerror(ret));
    return 0;
}

/* ---- the controller's side ---- */

void crew_nap(long *ns)
{
    struct timespec nap = {0, *ns};

    nanosleep(&nap, NULL);
    *ns = *ns < NAP_MAX_NS / 2 ? *ns * 2 : NAP_MAX_NS;
}

static void wait_until_ready(struct crew *c)
{
    long nap_ns = 20 * 1000;

    while (eng_own_read_acq32(&c->ready) < c->threads)
        crew_nap(&nap_ns);
}

int crew_start(const struct run_plan *plan, uint32_t sides, bool logs,
               const struct mt_perf_set *perf, struct ll_validator *validator, uint64_t seed,
               struct crew **out, struct ll_error *err)
{
    struct crew *c = ll_zeroed(sizeof(*c));
    int ret = -ENOMEM;

    if (!c)
        return ll_fail(err, -ENOMEM, "", "out of memory");
    c->plan = plan;
    c->threads = plan->user.threads;
    c->sides = sides;
    c->logs = logs;
    c->perf = perf;
    c->guards.validator = validator;
    c->seed = seed;
    c->phase = LL_PHASE_START;
    c->member = calloc(c->threads, sizeof(*c->member));
    if (!c->member)
        goto fail;
    for (uint32_t s = 0; s < sides; s++)
        c->variant[s] = sides == 1 ? plan->variant : s ? LL_VARIANT_NATIVE : LL_VARIANT_BARE;
    if ((ret = make_memory(c, err)))
        goto fail;
    for (uint32_t i = 0; i < c->threads; i++) {
        if ((ret = make_member(c, i)))
            goto fail;
    }
    if ((ret = guards_make(c, err)))
        goto fail;
    for (uint32_t i = 0; i < c->threads; i++)
        if ((ret = start_member(c, &c->member[i], err))) {
            eng_shared_add32(&c->ready, c->threads - i);
            wait_until_ready(c);
            crew_lead(c, LL_PHASE_DRAIN);
            goto fail;
        }
    wait_until_ready(c);
    for (uint32_t i = 0; i < c->threads; i++)
        if ((ret = c->member[i].error)) {
            if (ret != -ENOMEM)
                mt_switch_refused(ret, i + 1, err);
            crew_lead(c, LL_PHASE_DRAIN);
            goto fail;
        }
    if ((ret = monitor_start(c, err))) {
        crew_lead(c, LL_PHASE_DRAIN);
        goto fail;
    }
    *out = c;
    return 0;
fail:
    if (ret == -ENOMEM)
        ll_fail(err, ret, "", "out of memory");
    for (uint32_t i = 0; c->member && i < c->threads; i++)
        while (c->member[i].started && !eng_own_read_acq32(&c->member[i].done))
            sched_yield();
    crew_free(c);
    return ret;
}

void crew_lead(struct crew *c, uint32_t phase_word)
{
    eng_own_set_rel32(&c->phase, phase_word);
}

uint64_t crew_acquisitions(const struct crew *c, uint32_t side)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < c->threads; i++)
        sum += eng_own_read(&c->member[i].wl[side]->counts.acquisitions);
    return sum;
}

uint64_t crew_measured(const struct crew *c, uint32_t i)
{
    const struct wl_thread *t = c->member[i].wl[0];

    if (CREW_PHASE(eng_own_read_acq32(&t->want)) != LL_PHASE_MEASURE)
        return 0;
    return eng_own_read(&t->counts.acquisitions);
}

uint32_t crew_done(const struct crew *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->threads; i++)
        n += eng_own_read_acq32(&c->member[i].done);
    return n;
}

bool crew_starved(const struct crew *c, double *cpu_s, double least_s)
{
    bool starved = false;

    for (uint32_t i = 0; i < c->threads; i++) {
        const struct crew_member *m = &c->member[i];
        struct timespec t;
        clockid_t clock;
        double before = cpu_s[i];
        if (eng_own_read_acq32(&m->done) || !eng_own_read32(&m->eng->on_cpu) ||
            pthread_getcpuclockid(m->thread, &clock) || clock_gettime(clock, &t))
            continue;
        cpu_s[i] = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
        starved |= cpu_s[i] - before < least_s;
    }
    return starved;
}

void crew_abort(struct crew *c)
{
    crew_lead(c, LL_PHASE_DRAIN);
    for (uint32_t i = 0; i < c->threads; i++)
        if (!eng_own_read_acq32(&c->member[i].done))
            eng_native_abort(c->member[i].eng);
}

static void free_memory(struct crew *c)
{
    const struct run_plan *p = c->plan;

    guards_free(c);
    for (uint32_t k = 0; c->lock && k < p->n_locks; k++)
        if (c->lock[k]) {
            const struct ll_lock_desc *lock = run_plan_group(p, k)->lock[c->variant[0]];
            if (lock->fini)
                lock->fini(c->lock[k]);
            free(c->lock[k]);
        }
    for (size_t k = 0; c->node && k < (size_t)p->n_locks * c->threads; k++)
        free(c->node[k]);
    for (uint32_t i = 0; c->context && i < c->threads; i++)
        free(c->context[i]);
    free(c->context);
    free(c->ww_class);
    free(c->lock);
    free(c->node);
    free(c->state);
    free(c->data);
}

uint32_t crew_free(struct crew *c)
{
    uint32_t abandoned = 0;

    monitor_stop(c);

    for (uint32_t i = 0; c->member && i < c->threads; i++) {
        struct crew_member *m = &c->member[i];
        if (!m->started)
            continue;
        if (eng_own_read_acq32(&m->done)) {
            pthread_join(m->thread, NULL);
            if (m->eng)
                eng_native_recycle(m->eng);
            m->started = false;
        } else {
            pthread_detach(m->thread);
            abandoned++;
        }
    }
    if (abandoned)
        return abandoned; /* all of it stays: they may still write there */
    for (uint32_t i = 0; c->member && i < c->threads; i++) {
        for (uint32_t s = 0; s < c->sides; s++) {
            if (c->member[i].wl[s])
                free(c->member[i].wl[s]->transactions);
            free(c->member[i].wl[s]);
            free(c->member[i].slot[s]);
        }
        mt_log_fini(&c->member[i].log);
        mt_switch_close(&c->member[i].switches);
    }
    free_memory(c);
    free(c->member);
    free(c);
    return 0;
}
