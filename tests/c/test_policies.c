/* SPDX-License-Identifier: MIT */
/* test_policies.c - who tells whether a thread has its CPU, and who tells it to stop spinning:
 * context-switch records (injected ones and the kernel's), lines of procfs, ticks; and the refusals. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/lock.h"
#include "engine/own.h"
#include "expect.h"
#include "run/crew.h"

static void nap_ms(long ms)
{
    struct timespec t = {0, ms * 1000 * 1000};

    nanosleep(&t, NULL);
}

/* ---- records ---- */

#define DATA 512u

static struct {
    struct perf_event_mmap_page meta;
    char data[DATA];
} ring;

/* As the kernel does it: backwards, the newest at data_head. */
static void record(uint32_t type, uint16_t misc)
{
    uint64_t head = ring.meta.data_head - 32;
    struct perf_event_header h = {.type = type, .misc = misc, .size = 32};

    memcpy(ring.data + (head & (DATA - 1)), &h, sizeof(h));
    ring.meta.data_head = head;
}

static void injected_records_are_understood(void)
{
    ring.meta.data_offset = offsetof(__typeof__(ring), data);
    ring.meta.data_size = DATA;
    EXPECT(mt_switch_on_cpu(&ring)); /* no switch yet */
    record(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT);
    EXPECT(!mt_switch_on_cpu(&ring));
    record(PERF_RECORD_SWITCH, 0);
    EXPECT(mt_switch_on_cpu(&ring));
    record(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    EXPECT(!mt_switch_on_cpu(&ring));
    for (unsigned i = 0; i < 3 * DATA / 32; i++) { /* round the ring */
        record(PERF_RECORD_SWITCH, i & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
        EXPECT(mt_switch_on_cpu(&ring) == !(i & 1));
    }
    record(PERF_RECORD_THROTTLE, PERF_RECORD_MISC_SWITCH_OUT);
    EXPECT(mt_switch_on_cpu(&ring)); /* says nothing about the CPU */
}

struct watched {
    struct mt_switch_ring ring;
    uint32_t opened, asleep, stop;
    int error;
};

static void *sleeps_and_runs(void *arg)
{
    struct watched *w = arg;

    w->error = mt_switch_open(&w->ring);
    eng_own_set_rel32(&w->opened, 1);
    while (!eng_own_read_acq32(&w->stop))
        if (eng_own_read32(&w->asleep))
            nap_ms(1);
    return NULL;
}

/* Both states must come to be seen; if one never does, the test hangs and its time limit ends it. */
static void the_kernels_records_are_seen(void)
{
    struct watched w = {.ring = {NULL, 0}};
    struct ll_error err;
    pthread_t thread;
    int ret = mt_switch_probe(&err);

    if (ret) {
        EXPECT(ret == -ENOTSUP && !strcmp(err.field, "owner_run") && strchr(err.text, ':'));
        fprintf(stderr, "skipped: %s\n", err.text);
        return;
    }
    pthread_create(&thread, NULL, sleeps_and_runs, &w);
    while (!eng_own_read_acq32(&w.opened))
        sched_yield();
    EXPECT(w.error == 0);
    eng_own_set32(&w.asleep, 1);
    while (mt_switch_on_cpu(w.ring.pages))
        sched_yield();
    eng_own_set32(&w.asleep, 0);
    while (!mt_switch_on_cpu(w.ring.pages))
        nap_ms(1);
    eng_own_set_rel32(&w.stop, 1);
    pthread_join(thread, NULL);
    mt_switch_close(&w.ring);
    EXPECT(!w.ring.pages);
}

static void a_refusal_names_errno_and_reason(void)
{
    struct rlimit before, none;
    struct ll_error err = {"", ""};
    struct ll_plan plan;

    ll_plan_init(&plan);
    plan.lock = "spin/tas";
    plan.owner_run = LL_OWNER_SWITCH_REC;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    EXPECT(ll_plan_validate(&plan, &err) == -ENOTSUP);
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT(!strcmp(err.field, "owner_run"));
    /* where the right is lacking, that is found first */
    EXPECT(strstr(err.text, "EMFILE: the limit of open files") || strstr(err.text, "EACCES: ") ||
           strstr(err.text, "EPERM: ") || strstr(err.text, "ENOSYS: "));
}

/* ---- procfs ---- */

static bool runs(const char *line)
{
    return monitor_runs(line, strlen(line));
}

static void lines_of_procfs_are_understood(void)
{
    EXPECT(runs("7 (locklab) R 1 7 7 0 -1"));
    EXPECT(!runs("7 (locklab) S 1 7 7 0 -1") && !runs("7 (locklab) D 1 7") && !runs("7 (x) Z 1"));
    EXPECT(!runs("7 (a) R b) S 1") && runs("7 (a) S b) R 1"));
    EXPECT(!runs("") && !runs("7") && !runs("7 (locklab)") && !runs("7 (locklab) "));
}

/* ---- the monitor, on a crew of descriptors without threads ---- */

#define THREADS 3u

static struct run_plan plan;
static struct crew_member member[THREADS];
static struct crew crew = {.plan = &plan, .threads = THREADS, .member = member};

static void make_crew(void)
{
    struct eng_thread *self = eng_native_self;

    for (uint32_t i = 0; i < THREADS; i++) {
        member[i].eng = eng_native_attach(i, 1);
        member[i].tid = gettid();
    }
    eng_native_self = self;
}

static uint32_t asked(void)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < THREADS; i++) {
        mask |= member[i].eng->resched << i;
        member[i].eng->resched = 0;
    }
    return mask;
}

static void ticks_hit_spinners_on_crowded_cpus(void)
{
    plan.cpus[0] = plan.cpus[1] = 5;
    plan.cpus[2] = 6;
    monitor_tick(&crew);
    EXPECT(asked() == 0); /* nobody spins */
    member[0].eng->spin = ENG_SPIN_SPINS;
    member[2].eng->spin = ENG_SPIN_QUEUED;
    monitor_tick(&crew);
    EXPECT(asked() == 1); /* thread 2 has its CPU to itself */
    member[1].eng->spin = ENG_SPIN_QUEUED;
    monitor_tick(&crew);
    EXPECT(asked() == 3);
    member[1].eng->on_cpu = 0; /* parked: it wants no CPU */
    monitor_tick(&crew);
    EXPECT(asked() == 0);
    member[1].eng->on_cpu = 1;
    member[1].done = 1;
    monitor_tick(&crew);
    EXPECT(asked() == 0);
    member[1].done = 0;
}

static void samples_tell_who_sleeps(void)
{
    int pipes[2];

    EXPECT(pipe(pipes) == 0);
    crew.monitor.stat = calloc(THREADS, sizeof(int));
    for (uint32_t i = 0; i < THREADS; i++)
        crew.monitor.stat[i] = pipes[0]; /* nothing that pread could read: as if ended */
    monitor_sample(&crew);
    EXPECT(!member[0].eng->sampled);
    eng_native_self->owner_policy = LL_OWNER_SAMPLE;
    EXPECT(!eng_on_cpu(member[0].eng));
    member[0].eng->sampled = 1;
    EXPECT(eng_on_cpu(member[0].eng));
    close(pipes[0]);
    close(pipes[1]);
    free(crew.monitor.stat);
    eng_native_self->owner_policy = LL_OWNER_COOP;
}

/* ---- whole runs ---- */

static void a_run_under_each_policy_ends(void)
{
    static const enum ll_owner_run owners[] = {LL_OWNER_HEARTBEAT, LL_OWNER_SWITCH_REC,
                                               LL_OWNER_SAMPLE};
    struct ll_error err;

    for (unsigned i = 0; i < 3; i++) {
        const struct ll_result *result;
        struct ll_run *run;
        struct ll_plan p;
        int ret;

        ll_plan_init(&p);
        p.lock = "spin/osq"; /* asks whether the thread ahead runs, and leaves on resched */
        p.threads = 4;
        p.seconds = 0.1;
        p.owner_run = owners[i];
        p.resched = i == 2 ? LL_RESCHED_BUDGET : LL_RESCHED_TICK;
        ret = ll_run_start(&p, &run, &err);
        if (ret == -ENOTSUP && owners[i] == LL_OWNER_SWITCH_REC)
            continue; /* said above */
        EXPECT(ret == 0);
        while (ll_run_wait(run, 1.0))
            ;
        EXPECT(ll_run_result(run, &result) == 0 && result->status == LL_STATUS_COMPLETE);
        EXPECT(result->acquisitions[0] + result->acquisitions[1] > 0 && !result->overlap);
        ll_run_unref(run);
    }
}

/* Nobody can leave mutex/mcs's queue, and the next in it seldom has a CPU: a stop ends it all the same,
 * wherever it hits. How soon is the benchmark's business. */
static void a_stop_brings_all_threads_back(void)
{
    struct ll_error err;

    for (long ms = 1; ms <= 64; ms *= 2) {
        const struct ll_result *result;
        struct ll_snapshot now;
        struct ll_run *run;
        struct ll_plan p;

        ll_plan_init(&p);
        p.lock = "mutex/mcs";
        p.threads = 16;
        p.seconds = 3600;
        p.warmup_s = 0;
        EXPECT(ll_run_start(&p, &run, &err) == 0);
        do {
            nap_ms(ms);
            ll_run_snapshot(run, &now);
        } while (now.phase != LL_PHASE_MEASURE);
        ll_run_stop(run);
        while (ll_run_wait(run, 1.0))
            ;
        EXPECT(ll_run_result(run, &result) == 0 && result->status == LL_STATUS_INTERRUPTED);
        EXPECT(result->failure.text[0] == 0); /* none was given up */
        ll_run_unref(run);
    }
}

int main(void)
{
    if (!eng_native_attach(0, 1))
        return 1;
    injected_records_are_understood();
    the_kernels_records_are_seen();
    a_refusal_names_errno_and_reason();
    lines_of_procfs_are_understood();
    make_crew();
    ticks_hit_spinners_on_crowded_cpus();
    samples_tell_who_sleeps();
    a_run_under_each_policy_ends();
    a_stop_brings_all_threads_back();
    DONE();
}
