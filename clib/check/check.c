/* SPDX-License-Identifier: MIT */
/* check.c - the handle of a check: a thread that explores, its progress, its result. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/check.h"
#include "engine/own.h"

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

double check_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- taking turns ---- */

static void after_fork_in_child(void)
{
    pthread_mutex_init(&turn, NULL); /* whoever had it is no thread of this process */
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

int check_turn_acquire(bool (*cancelled)(void *arg), void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct timespec nap = {.tv_nsec = 2000000};

    pthread_once(&once, watch_forks);
    while (pthread_mutex_trylock(&turn)) {
        if (cancelled(arg))
            return -ECANCELED;
        nanosleep(&nap, NULL);
    }
    return 0;
}

void check_turn_release(void)
{
    pthread_mutex_unlock(&turn);
}

static bool stopped(void *arg)
{
    const struct ll_check *c = arg;

    return eng_own_read32(&c->stop);
}

/* ---- the result ---- */

static struct ll_check_fault public(const struct check_plan *plan, const struct check_finding *f,
                                    bool note)
{
    return (struct ll_check_fault){
        .kind = f->kind,
        .role = f->role,
        .text = f->text,
        .threads = f->threads,
        .n = f->n,
        .writers = plan->roles ? f->split : 0,
        .orders = f->orders,
        .preemptions = f->preemptions,
        .schedule = note ? "" : f->schedule,
        .execution = f->execution,
        .seconds = f->seconds,
        .n_steps = note ? 0 : f->n_steps,
        .step = note ? NULL : f->step,
    };
}

/* Findings into faults and notes, exclusion first, else as they were found. */
static void publish(struct ll_check *c)
{
    c->fault = calloc(c->n_findings + 1, sizeof(*c->fault));
    c->note = calloc(c->n_findings + 1, sizeof(*c->note));
    c->result.fault = c->fault;
    c->result.note = c->note;
    for (int exclusion = 1; exclusion >= 0 && c->fault && c->note; exclusion--)
        for (uint32_t i = 0; i < c->n_findings; i++) {
            const struct check_finding *f = &c->finding[i];
            struct ck_fault fault = {.kind = f->kind};
            if ((strcmp(f->kind, "exclusion") == 0) != (exclusion == 1))
                continue;
            if (check_is_note(&c->plan, &fault))
                c->note[c->result.n_notes++] = public(&c->plan, f, true);
            else
                c->fault[c->result.n_faults++] = public(&c->plan, f, false);
        }
}

static void replay(struct ll_check *c)
{
    if (check_trace(&c->plan, &c->given) && !c->given.unfit) {
        c->finding[c->n_findings++] = c->given;
        c->result.verdict = LL_FAULT;
    } else {
        c->result.verdict = LL_INCONCLUSIVE;
        c->result.reason = "the schedule shows no fault: it is damaged, or not whole";
        check_finding_free(&c->given);
    }
    memset(&c->given, 0, sizeof(c->given));
    c->result.executions = 1;
    c->result.seconds = check_now() - c->began;
}

static void *check_main(void *arg)
{
    struct ll_check *c = arg;

    if (check_turn_acquire(stopped, c)) {
        c->result.interrupted = true;
        c->result.verdict = LL_INCONCLUSIVE;
        c->result.reason = "interrupted while another check was running";
        goto done;
    }
    c->began = check_now();
    if (c->replay)
        replay(c);
    else
        check_session(c);
    check_turn_release();
done:
    publish(c);
    eng_own_set32(&c->phase, CHECK_DONE);
    pthread_mutex_lock(&c->mutex);
    c->done = true;
    pthread_cond_broadcast(&c->cond);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* ---- the handle ---- */

static struct ll_check *new_check(void)
{
    struct ll_check *c = calloc(1, sizeof(*c));
    pthread_condattr_t attr;

    if (!c)
        return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->cond, &attr);
    pthread_condattr_destroy(&attr);
    c->result.size = sizeof(c->result);
    c->result.version = LL_ABI;
    c->result.reason = "";
    c->result.bound = -2;
    c->result.giveups = -1;
    return c;
}

static void free_check(struct ll_check *c)
{
    for (uint32_t i = 0; i < c->n_findings; i++)
        check_finding_free(&c->finding[i]);
    check_finding_free(&c->given);
    free(c->fault);
    free(c->note);
    free(c->site);
    check_plan_free(&c->plan);
    pthread_mutex_destroy(&c->mutex);
    pthread_cond_destroy(&c->cond);
    free(c);
}

/* Starts the thread of a check whose plan (`ret`) is in order, else frees it. */
static int begin(struct ll_check *c, int ret, struct ll_check **out, struct ll_error *err)
{
    if (!ret) {
        c->result.client = c->plan.client->name;
        c->began = check_now();
        if (pthread_create(&c->thread, NULL, check_main, c))
            ret = ll_fail(err, -ENOMEM, "", "no thread for the check");
    }
    if (ret) {
        free_check(c);
        return ret;
    }
    *out = c;
    return 0;
}

int ll_check_start(const struct ll_check_plan *plan, struct ll_check **out, struct ll_error *err)
{
    struct ll_check *c = new_check();

    if (!c)
        return ll_fail(err, -ENOMEM, "", "no memory for the check");
    return begin(c, check_plan_make(&c->plan, plan, err), out, err);
}

int ll_check_replay(const char *schedule, struct ll_check **out, struct ll_error *err)
{
    struct ll_check *c = new_check();

    if (!c)
        return ll_fail(err, -ENOMEM, "", "no memory for the check");
    c->replay = true;
    return begin(c, check_schedule_read(schedule, &c->plan, &c->given, err), out, err);
}

int ll_check_wait(struct ll_check *c, double timeout_s)
{
    double until = check_now() + timeout_s;
    struct timespec t = {.tv_sec = (time_t)until,
                         .tv_nsec = (long)(1e9 * (until - (double)(time_t)until))};
    bool done;

    pthread_mutex_lock(&c->mutex);
    while (!c->done && !pthread_cond_timedwait(&c->cond, &c->mutex, &t))
        ;
    done = c->done;
    pthread_mutex_unlock(&c->mutex);
    return done ? 0 : -ETIMEDOUT;
}

void ll_check_stop(struct ll_check *c)
{
    eng_own_set32(&c->stop, 1);
}

void ll_check_unref(struct ll_check *c)
{
    ll_check_stop(c);
    pthread_join(c->thread, NULL);
    free_check(c);
}

const struct ll_setting *ll_check_settings(const struct ll_check *c, size_t *n)
{
    *n = c->plan.user.n_settings;
    return c->plan.setting;
}

void ll_check_get_progress(struct ll_check *c, struct ll_check_progress *out)
{
    static const char *const name[] = {
        [CHECK_WAITING] = "waiting",
        [CHECK_BOUND_0] = "0 preemptions",
        [CHECK_BOUND_1] = "1 preemption",
        [CHECK_BOUND_2] = "2 preemptions",
        [CHECK_BOUND_MORE] = "more preemptions",
        [CHECK_EVERYTHING] = "every interleaving",
        [CHECK_AT_RANDOM] = "random",
        [CHECK_BY_PRIORITY] = "pct",
        [CHECK_SHRINKING] = "shrinking",
        [CHECK_DONE] = "done",
    };

    *out = (struct ll_check_progress){
        .size = sizeof(*out),
        .version = LL_ABI,
        .phase = name[eng_own_read32(&c->phase)],
        .n = eng_own_read32(&c->n),
        .writers = eng_own_read32(&c->writers),
        .executions = eng_own_read(&c->executions) + eng_own_read(&c->pass_executions),
        .faults = eng_own_read(&c->n_found),
        .elapsed_s = check_now() - c->began,
        .seconds = c->plan.user.seconds,
    };
}

int ll_check_result(struct ll_check *c, const struct ll_check_result **out)
{
    if (ll_check_wait(c, 0))
        return -EAGAIN;
    *out = &c->result;
    return 0;
}
