/* SPDX-License-Identifier: MIT */
/* session.c - which programs are explored, by which strategies, in which order, and what it means.
 *
 * A CONFIGURATION is a number of turns and a way in which the threads share the work. `auto` looks with
 * 0, 1, 2 preemptions first, where faults are short, then at everything; in between, if few preemptions
 * are too many executions already, at samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "engine/own.h"

#define QUICK_EXECUTIONS 20000u /* of one bounded pass of `auto` */
#define QUICK_BOUND 2u
#define QUICK_SAMPLES 2000u
#define MAIN_SHARE 0.8 /* of the budget; the rest is for random schedules if n = 1 is too large */
#define SHRINK_SHARE 0.1
#define SHRINK_S 2.0
#define LATE_S 0.1 /* that shrinking may go on after the time is up */

struct session {
    struct ll_check *check;
    const struct check_plan *plan;
    double deadline, until; /* of all; of the configuration under way */
    uint64_t left;          /* executions of the budget */
    uint64_t tries_failed;
    uint64_t run;                     /* executions of all passes, for numbering */
    uint64_t cut;                     /* ... of them, those that were too long */
    const struct eng_site *long_site; /* in the first of these: who did most of it, and where */
    uint32_t long_thread;
    bool gives_up; /* some wait of the lock can be given up */
    bool enough;   /* budget, time, stop or --first */
    /* the configuration under way */
    uint32_t n, split;
    struct ll_program program;
    struct ck_options options; /* of the pass under way */
    int error;
};

static bool stopped(const struct session *s)
{
    return eng_own_read32(&s->check->stop) != 0;
}

static bool over(struct session *s)
{
    if (stopped(s) || check_now() >= s->deadline || (s->plan->user.budget && !s->left))
        s->enough = true;
    return s->enough;
}

/* ---- findings ---- */

const char *check_role(const struct check_plan *plan, const struct ck_fault *fault, uint32_t split)
{
    if (!plan->roles)
        return "";
    return fault->victim < split ? "writer" : "reader";
}

bool check_is_note(const struct check_plan *plan, const struct ck_fault *fault)
{
    return !strcmp(fault->kind, "life-time") && !(plan->lock->claims & LL_LIFE_TIME);
}

static struct check_finding *known(struct session *s, const char *kind, const char *role)
{
    struct ll_check *c = s->check;

    for (uint32_t i = 0; i < c->n_findings; i++)
        if (!strcmp(c->finding[i].kind, kind) && !strcmp(c->finding[i].role, role))
            return &c->finding[i];
    return NULL;
}

static void add(struct session *s, const struct ck_last *last, const struct ck_fault *fault)
{
    struct ll_check *c = s->check;
    const char *role = check_role(s->plan, fault, s->split);
    struct check_finding *f = known(s, fault->kind, role);

    if (f || c->n_findings == CHECK_FINDINGS)
        return;
    f = &c->finding[c->n_findings];
    f->choice = malloc(last->n ? last->n : 1);
    if (!f->choice)
        return;
    memcpy(f->choice, last->choice, last->n);
    f->n_choices = last->n;
    f->kind = fault->kind;
    f->role = role;
    strcpy(f->text, fault->text);
    f->in_client =
        fault->addr >= (void *)s->program.client && fault->addr < (void *)(s->program.client + 1);
    f->threads = s->plan->user.threads;
    f->n = s->n;
    f->split = s->split;
    f->execution = s->run + eng_own_read(&c->pass_executions) + 1;
    f->seconds = check_now() - c->began;
    c->n_findings++;
    eng_own_add(&c->n_found, !check_is_note(s->plan, fault));
}

/* Is there a fault that says all? A race on what the lock protects may only be the first sight of two
 * threads inside at once: the configuration is explored on. */
static bool settled(const struct session *s)
{
    const struct ll_check *c = s->check;

    for (uint32_t i = 0; i < c->n_findings; i++) {
        const struct ck_fault fault = {.kind = c->finding[i].kind};
        if (!c->finding[i].in_client && !check_is_note(s->plan, &fault))
            return true;
    }
    return false;
}

/* What was found is to be shown in a simple execution: that takes time, too. */
static void leave_time(struct session *s)
{
    double seconds = s->plan->user.seconds, share = SHRINK_SHARE * seconds;
    double deadline = s->check->began + seconds - (share < SHRINK_S ? share : SHRINK_S);

    if (s->check->n_findings && s->deadline > deadline)
        s->deadline = deadline;
    if (s->options.until > s->deadline)
        s->options.until = s->deadline;
}

static bool on_fault(void *arg)
{
    struct session *s = arg;
    struct ck_last last;

    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults; i++)
        add(s, &last, &last.fault[i]);
    leave_time(s);
    return s->plan->user.first && settled(s);
}

/* ---- one pass: one strategy over one configuration ---- */

struct pass {
    enum ck_strategy strategy;
    uint32_t bound;
    uint64_t executions; /* at most; 0: what the budget has left */
    double until;        /* 0: the deadline */
    bool counts;         /* its executions are those that are reported */
    bool never_gives_up; /* no wait is given up; counts if none could have been */
    enum check_phase phase;
};

static void count(struct session *s, const struct pass *pass, const struct ck_report *r)
{
    struct ll_check_result *out = &s->check->result;

    s->run += r->executions + r->blocked;
    s->cut += r->cut_operations;
    if (!s->long_site) {
        s->long_site = r->long_site;
        s->long_thread = r->long_thread;
    }
    eng_own_set(&s->check->executions, s->run);
    eng_own_set(&s->check->pass_executions, 0);
    s->tries_failed += r->tries_failed;
    out->waits += r->waits;
    if (r->memory_bytes > out->memory_bytes)
        out->memory_bytes = r->memory_bytes;
    if (s->plan->user.budget)
        s->left -= r->executions + r->blocked < s->left ? r->executions + r->blocked : s->left;
    if (!pass->counts) {
        out->preliminary += r->executions + r->blocked;
        return;
    }
    out->executions += r->executions;
    out->blocked += r->blocked;
    out->redundant += r->redundant;
    if (r->cut_giveups)
        out->giveups = pass->never_gives_up ? 0 : (int32_t)s->plan->user.giveups;
    if (r->cut_operations)
        out->operations = CK_MAX_STEPS;
}

/* True: everything that the pass is about was explored. */
static bool run_pass(struct session *s, struct pass pass)
{
    struct ck_options *o = &s->options;
    struct ck_report report;

    if (over(s))
        return false;
    *o = check_options(s->plan, pass.strategy);
    eng_own_set32(&s->check->phase, pass.phase);
    o->bound = pass.bound;
    if (pass.never_gives_up)
        o->giveups = 0;
    o->executions = s->plan->user.budget ? s->left : 0;
    if (pass.executions && (!o->executions || pass.executions < o->executions))
        o->executions = pass.executions;
    o->until = pass.until > 0 && pass.until < s->deadline ? pass.until : s->deadline;
    o->stop = &s->check->stop;
    o->progress = &s->check->pass_executions;
    o->on_fault = on_fault;
    o->on_fault_arg = s;
    s->error = ck_explore(&s->program.ck, o, &report);
    if (s->error) {
        s->enough = true;
        return false;
    }
    if (pass.never_gives_up) {
        s->gives_up = report.cut_giveups != 0;
        pass.counts = !s->gives_up;
    }
    count(s, &pass, &report);
    if (s->plan->user.first && settled(s))
        s->enough = true;
    return report.wholly && !report.cut_operations;
}

/* ---- configurations ---- */

static bool enter(struct session *s, uint32_t n, uint32_t split)
{
    s->n = n;
    s->split = split;
    eng_own_set32(&s->check->n, n);
    eng_own_set32(&s->check->writers, s->plan->roles ? split : 0);
    s->error =
        check_program(s->plan, &s->program, s->plan->user.threads, n, split, &s->check->error);
    if (s->error)
        s->enough = true;
    return !s->error;
}

static void sample(struct session *s, enum ck_strategy strategy, enum check_phase phase)
{
    struct pass pass = {.strategy = strategy, .executions = QUICK_SAMPLES, .phase = phase};

    if (s->plan->user.budget && s->plan->user.budget / 20 < pass.executions)
        pass.executions = s->plan->user.budget / 20 + 1;
    run_pass(s, pass);
}

/* The bounds that auto looks at first; how many were explored wholly. */
static uint32_t quick_look(struct session *s)
{
    uint32_t done = 0;

    for (uint32_t k = 0; k <= QUICK_BOUND; k++) {
        struct pass pass = {.strategy = CK_BOUNDED,
                            .bound = k,
                            .executions = QUICK_EXECUTIONS,
                            .phase = CHECK_BOUND_0 + k};
        if (s->plan->user.budget && s->plan->user.budget / 10 < pass.executions)
            pass.executions = s->plan->user.budget / 10 + 1;
        if (!run_pass(s, pass))
            break;
        done++;
    }
    if (done <=
        QUICK_BOUND) { /* faults that many executions show, others in reach of few changes */
        sample(s, CK_PCT, CHECK_BY_PRIORITY);
        sample(s, CK_RANDOM, CHECK_AT_RANDOM);
    }
    return done;
}

struct outcome {
    bool wholly;   /* every interleaving */
    int32_t bound; /* with at most so many preemptions, wholly; -1: not even with none */
    bool patient;  /* every interleaving in which no wait is given up */
};

static struct outcome run_auto(struct session *s, bool first_n)
{
    struct outcome o = {.bound = (int32_t)quick_look(s) - 1};
    struct pass all = {.strategy = CK_DFS, .counts = true, .phase = CHECK_EVERYTHING};
    double now = check_now();

    if (first_n) { /* if it is too large, random schedules have the rest */
        all.until = now + MAIN_SHARE * (s->until - now);
        all.executions = (uint64_t)(MAIN_SHARE * (double)s->left) + !!s->plan->user.budget;
    }
    if (s->plan->user.giveups) { /* far fewer executions, if the lock gives up at all */
        struct pass patient = all;
        patient.counts = false;
        patient.never_gives_up = true;
        o.patient = run_pass(s, patient);
        if (o.patient && !s->gives_up) {
            o.wholly = true;
            return o;
        }
    }
    o.wholly = run_pass(s, all);
    if (!o.wholly && first_n)
        run_pass(s, (struct pass){.strategy = CK_RANDOM,
                                  .until = s->until,
                                  .counts = true,
                                  .phase = CHECK_AT_RANDOM});
    return o;
}

static struct outcome run_bounded(struct session *s)
{
    struct outcome o = {.bound = -1};

    for (uint32_t k = 0; k <= (uint32_t)s->plan->user.bound; k++) {
        struct pass pass = {.strategy = CK_BOUNDED,
                            .bound = k,
                            .phase = k < 3 ? CHECK_BOUND_0 + k : CHECK_BOUND_MORE};
        pass.counts = k == (uint32_t)s->plan->user.bound; /* it has all that the others had */
        if (!run_pass(s, pass))
            break;
        o.bound = (int32_t)k;
    }
    return o;
}

static struct outcome run_configuration(struct session *s, bool first_n)
{
    struct outcome o = {.bound = -1};

    if (s->plan->user.bound >= 0)
        return run_bounded(s);
    switch (s->plan->user.strategy) {
    case LL_STRATEGY_AUTO: return run_auto(s, first_n);
    case LL_STRATEGY_DFS:
        o.wholly = run_pass(
            s, (struct pass){.strategy = CK_DFS, .counts = true, .phase = CHECK_EVERYTHING});
        break;
    case LL_STRATEGY_PCT:
    case LL_STRATEGY_RANDOM: break;
    }
    return o;
}

/* All configurations of n turns. */
static struct outcome run_n(struct session *s, uint32_t n, bool first_n)
{
    struct outcome all = {.wholly = true, .bound = INT32_MAX, .patient = true};
    uint32_t split[CHECK_SPLITS], splits = check_splits(s->plan, split);

    for (uint32_t i = 0; i < splits; i++) {
        struct outcome o = {.bound = -1};
        /* of roles the first are those that matter most; orders are worth the same */
        s->until = s->deadline;
        if (s->plan->orders)
            s->until -= (s->deadline - check_now()) * (splits - i - 1) / (splits - i);
        if (!over(s) && enter(s, n, split[i])) {
            o = run_configuration(s, first_n);
            ll_program_fini(&s->program);
            if (s->plan->user.first && eng_own_read(&s->check->n_found))
                s->enough = true;
        }
        all.wholly = all.wholly && o.wholly;
        all.patient = all.patient && (o.wholly || o.patient);
        if (o.bound < all.bound)
            all.bound = o.bound;
    }
    return all;
}

/* pct and random: all configurations take turns, with growing n if none is given. */
static bool run_random(struct session *s)
{
    const struct ll_check_plan *u = &s->plan->user;
    uint32_t split[CHECK_SPLITS], splits = check_splits(s->plan, split), part = 0;
    uint32_t from = u->n ? u->n : 1, to = u->n ? u->n : 3, parts;
    double start = check_now();
    bool pct = u->strategy == LL_STRATEGY_PCT;

    parts = splits * (to - from + 1);
    for (uint32_t n = from; n <= to; n++)
        for (uint32_t i = 0; i < splits; i++) {
            struct pass pass = {.strategy = pct ? CK_PCT : CK_RANDOM,
                                .phase = pct ? CHECK_BY_PRIORITY : CHECK_AT_RANDOM,
                                .counts = true,
                                .executions = s->left / (parts - part),
                                .until = start + (s->deadline - start) * (part + 1) / parts};
            part++;
            if (over(s) || !enter(s, n, split[i]))
                return false;
            run_pass(s, pass);
            ll_program_fini(&s->program);
        }
    return !stopped(s) && (!u->budget || !s->left);
}

/* ---- the verdict ---- */

static const char *too_long(struct session *s)
{
    snprintf(
        s->check->reason, sizeof(s->check->reason),
        "%llu of %llu executions went on for more than %u operations, the first with T%u at "
        "%s:%u: threads x turns are too many, or a loop there waits without eng_await or eng_relax",
        (unsigned long long)s->cut, (unsigned long long)s->run, CK_MAX_STEPS, s->long_thread,
        s->long_site ? check_short_path(s->long_site->file) : "?",
        s->long_site ? s->long_site->line : 0);
    return s->check->reason;
}

static void set_verdict(struct session *s, const struct outcome *first, bool sampled)
{
    struct ll_check_result *out = &s->check->result;
    bool sampling = s->plan->user.strategy >= LL_STRATEGY_PCT;
    bool enough = sampling ? sampled : first->wholly || first->patient || first->bound >= 1;

    if (eng_own_read(&s->check->n_found)) {
        out->verdict = LL_FAULT;
    } else if (out->executions == 0 && out->blocked == 0 && out->preliminary == 0) {
        out->verdict = LL_INCONCLUSIVE;
        out->reason = "nothing was explored in the time given";
    } else if (s->cut && (2 * s->cut > s->run || !enough)) {
        out->verdict = LL_INCONCLUSIVE;
        out->reason = too_long(s);
    } else if (out->executions == 0) {
        out->verdict = out->blocked ? LL_VACUOUS : LL_INCONCLUSIVE;
        out->reason = out->blocked ? "not one execution came to its end: all were cut off"
                                   : "the time or budget ended before one execution was complete";
    } else if (s->plan->user.threads > 1 && !out->waits && !s->tries_failed) {
        out->verdict = LL_VACUOUS;
        out->reason = "the threads never met: no wait of the lock ever blocked anybody";
    } else if (enough) {
        out->verdict = LL_NONE_FOUND;
    } else {
        out->verdict = LL_INCONCLUSIVE;
        out->reason = stopped(s) ? "interrupted before enough was explored"
                                 : "the time or budget ended before enough was explored";
    }
}

/* The simplest executions first found may take long; what is needed for them is bounded. */
static void finish_findings(struct session *s)
{
    struct ll_check *c = s->check;
    double now = check_now(), until = now + SHRINK_SHARE * s->plan->user.seconds;
    double latest = c->began + s->plan->user.seconds + LATE_S;

    if (until > now + SHRINK_S)
        until = now + SHRINK_S;
    if (until > latest)
        until = latest;
    eng_own_set32(&c->phase, CHECK_SHRINKING);
    for (uint32_t i = 0; i < c->n_findings; i++) {
        struct check_finding *f = &c->finding[i];
        double share = (until - check_now()) / (c->n_findings - i);
        check_shrink(s->plan, f, check_now() + (share > 0 ? share : 0), &c->stop);
        check_trace(s->plan, f);
    }
}

/* Two inside at once shows as a race on what they work on as well: one fault, not two. */
static void drop_shadows(struct session *s)
{
    struct ll_check *c = s->check;
    bool exclusion = false;

    for (uint32_t i = 0; i < c->n_findings; i++)
        exclusion |= !strcmp(c->finding[i].kind, "exclusion");
    for (uint32_t i = 0; exclusion && i < c->n_findings;) {
        if (!c->finding[i].in_client) {
            i++;
            continue;
        }
        check_finding_free(&c->finding[i]);
        memmove(&c->finding[i], &c->finding[i + 1],
                (c->n_findings - i - 1) * sizeof(c->finding[0]));
        c->n_findings--;
        memset(&c->finding[c->n_findings], 0, sizeof(c->finding[0]));
        eng_own_set(&c->n_found, eng_own_read(&c->n_found) - 1);
    }
}

void check_session(struct ll_check *check)
{
    const struct ll_check_plan *u = &check->plan.user;
    struct session s = {.check = check,
                        .plan = &check->plan,
                        .deadline = check->began + u->seconds,
                        .left = u->budget};
    struct outcome first = {.bound = -1}, o;
    struct ll_check_result *out = &check->result;
    bool sampled = false;

    out->bound = out->giveups = -1;
    check_sites_reset();
    if (u->strategy >= LL_STRATEGY_PCT) {
        sampled = run_random(&s);
    } else if (u->n) {
        first = run_n(&s, u->n, true);
        out->n = first.wholly || first.bound >= 1 ? u->n : 0;
    } else {
        for (uint32_t n = 1; n <= LL_CHECK_MAX_N && !s.enough; n++) {
            o = run_n(&s, n, n == 1);
            if (n == 1)
                first = o;
            if (!o.wholly && !(u->bound >= 0 && o.bound == u->bound))
                break;
            out->n = n;
        }
        if (!out->n && first.bound >= 1)
            out->n = 1;
    }
    out->exhaustive = first.wholly && (u->n <= 1) && !out->operations;
    if (!first.wholly && first.patient)
        out->giveups = 0;
    else if (!first.wholly)
        out->bound = first.bound >= 0 ? first.bound : -2;
    out->interrupted = stopped(&s);
    drop_shadows(&s);
    out->site = check->site = check_sites(&check->plan, &out->n_sites);
    out->seconds = check_now() - check->began;
    finish_findings(&s);
    set_verdict(&s, &first, sampled);
}
