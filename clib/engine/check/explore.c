/* SPDX-License-Identifier: MIT */
/* explore.c - one execution after the other, until a strategy has no more or a bound is met. */
#define _GNU_SOURCE
#include "engine/check/explore.h"

#include <errno.h>
#include <time.h>

#include "core/error.h"
#include "engine/check/machine.h"
#include "engine/check/strategy.h"
#include "engine/own.h"

#define CLOCK_EVERY 64u /* executions between two looks at the clock */
#define PCT_CHANGES 3u

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct ck_policy *const policies[] = {
    [CK_DFS] = &ck_dpor,      [CK_BOUNDED] = &ck_bounded, [CK_PCT] = &ck_pct,
    [CK_RANDOM] = &ck_random, [CK_GIVEN] = &ck_given,
};

static int init(const struct ck_options *o, struct ck_report *report)
{
    ck.policy = policies[o->strategy];
    switch (o->strategy) {
    case CK_DFS: report->memory_bytes += ck_dpor_memory(); return ck_dpor_init();
    case CK_BOUNDED: report->memory_bytes += ck_bounded_memory(); return ck_bounded_init(o->bound);
    case CK_PCT: ck_pct_init(o->seed, PCT_CHANGES); break;
    case CK_RANDOM: ck_random_init(o->seed); break;
    case CK_GIVEN: ck_given_init(o->given, o->n_given, o->sparse); break;
    }
    return 0;
}

static bool next(const struct ck_options *o)
{
    switch (o->strategy) {
    case CK_DFS: return ck_dpor_next();
    case CK_BOUNDED: return ck_bounded_next();
    case CK_GIVEN: return false;
    case CK_PCT:
    case CK_RANDOM: break;
    }
    return true;
}

static void restart(const struct ck_options *o, struct ck_report *report)
{
    uint64_t memory = report->memory_bytes;

    if (o->strategy == CK_DFS)
        ck_dpor_restart();
    if (o->strategy == CK_BOUNDED)
        ck_bounded_restart();
    *report = (struct ck_report){.memory_bytes = memory};
}

static void count(enum ck_end end, struct ck_report *r)
{
    switch (end) {
    case CK_COMPLETE: r->executions++; break;
    case CK_REDUNDANT: r->redundant++; break;
    default: r->blocked++;
    }
    r->events += ck.steps;
    r->cut_operations += ck.fair;
    r->cut_giveups += ck.gave_up_all;
    if (ck.steps > r->max_steps)
        r->max_steps = ck.steps;
}

static bool enough(const struct ck_options *o, const struct ck_report *r)
{
    uint64_t runs = r->executions + r->blocked + r->redundant;

    if (o->executions && r->executions + r->blocked >= o->executions)
        return true;
    if (runs % CLOCK_EVERY)
        return false;
    if (o->progress)
        eng_own_set(o->progress, r->executions + r->blocked);
    return (o->stop && eng_own_read32(o->stop)) || (o->until > 0 && now_s() >= o->until);
}

static void explore(const struct ck_options *o, struct ck_report *r)
{
    for (;;) {
        enum ck_end end = ck_machine_run();
        if (end == CK_RESPLIT) {
            restart(o, r);
            if (o->trace)
                o->trace(o->trace_arg, NULL);
            continue;
        }
        count(end, r);
        if (ck.n_faults && o->on_fault && o->on_fault(o->on_fault_arg)) {
            r->stopped = true;
            return;
        }
        if (!next(o)) {
            r->wholly = true;
            return;
        }
        if (enough(o, r))
            return;
    }
}

int ck_explore(const struct ck_program *program, const struct ck_options *options,
               struct ck_report *report)
{
    int ret;

    memset(report, 0, sizeof(*report));
    if ((ret = ck_machine_init(program, options, report)))
        return ret;
    report->memory_bytes = ck_machine_memory();
    if (!(ret = init(options, report)))
        explore(options, report);
    report->tries_failed = ck.counted[LL_EV_try_failed];
    if (options->strategy == CK_GIVEN)
        report->unfit = ck_given_unfit();
    ck_dpor_fini();
    ck_bounded_fini();
    ck_machine_fini();
    return ret;
}

void ck_last(struct ck_last *out)
{
    out->choice = ck.choice;
    out->n = ck.steps;
    out->n_faults = ck.n_faults;
    for (uint32_t i = 0; i < ck.n_faults; i++)
        out->fault[i] = ck.fault[i];
}
