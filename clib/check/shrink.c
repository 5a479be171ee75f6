/* SPDX-License-Identifier: MIT */
/* shrink.c - a simpler execution that shows a fault: in a smaller program, with fewer preemptions.
 *
 * Programs of few threads and turns are searched with growing bounds on preemptions. The schedule is
 * then made simpler by leaving out one mention after the other, and the same program is searched for
 * one with fewer preemptions still.
 */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "engine/own.h"

#define TRIES 30000u      /* executions of one search */
#define SMALLER_SHARE 0.3 /* of the time */
#define FEW 3u            /* preemptions in which a smaller program is searched */
#define FEW_TURNS 6u

struct shrinking {
    const struct check_plan *plan;
    struct check_finding *f;
    double until;
    const uint32_t *stop;
};

struct search {
    const struct check_plan *plan;
    struct check_finding *f;
    uint32_t split;
    bool found;
    uint8_t *choice;
    uint32_t n_choices;
    char text[512];
};

static bool over(const struct shrinking *k)
{
    return check_now() >= k->until || eng_own_read32(k->stop);
}

static struct ck_options options(const struct shrinking *k, enum ck_strategy strategy)
{
    struct ck_options o = check_options(k->plan, strategy);

    o.until = k->until;
    o.stop = k->stop;
    return o;
}

static bool same(const struct search *s, const struct ck_fault *fault)
{
    return !strcmp(fault->kind, s->f->kind) &&
           !strcmp(check_role(s->plan, fault, s->split), s->f->role);
}

static bool on_fault(void *arg)
{
    struct search *s = arg;
    struct ck_last last;

    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults && !s->found; i++) {
        if (!same(s, &last.fault[i]))
            continue;
        s->choice = malloc(last.n ? last.n : 1);
        if (!s->choice)
            return true;
        memcpy(s->choice, last.choice, last.n);
        s->n_choices = last.n;
        strcpy(s->text, last.fault[i].text);
        s->found = true;
    }
    return s->found;
}

/* Looks for the fault in a program of this size; the finding becomes what is found. */
static bool search(const struct check_plan *plan, struct check_finding *f, uint32_t threads,
                   uint32_t n, uint32_t split, struct ck_options o)
{
    struct search s = {.plan = plan, .f = f, .split = split};
    struct ll_program program;
    struct ck_report report;

    if (check_program(plan, &program, threads, n, split, NULL))
        return false;
    o.on_fault = on_fault;
    o.on_fault_arg = &s;
    ck_explore(&program.ck, &o, &report);
    ll_program_fini(&program);
    if (!s.found)
        return false;
    free(f->choice);
    f->choice = s.choice;
    f->n_choices = s.n_choices;
    f->threads = threads;
    f->n = n;
    f->split = split;
    strcpy(f->text, s.text);
    return true;
}

/* With so many preemptions at most, in a program of so many threads and turns, with each split into
 * roles, one as that of the finding first; then the finding is of that program. */
static bool with_size(const struct shrinking *k, uint32_t threads, uint32_t n, uint32_t bound)
{
    struct ck_options o = options(k, CK_BOUNDED);
    uint32_t writers = k->f->split < threads ? k->f->split : threads - 1;

    o.bound = bound;
    o.executions = TRIES;
    if (k->plan->orders) /* of the first threads as it is */
        return search(k->plan, k->f, threads, n, k->f->split & ((1u << 2 * threads) - 1), o);
    if (!k->plan->roles)
        return search(k->plan, k->f, threads, n, threads, o);
    for (uint32_t w = writers; w >= 1 && !over(k); w--)
        if (search(k->plan, k->f, threads, n, w, o))
            return true;
    return false;
}

/* A smaller program is easier to understand, and quicker to search, than a shorter execution of a large
 * one; so it comes first, if the fault shows there with no more preemptions. */
static void smaller(const struct shrinking *k)
{
    uint32_t threads = k->f->threads, n = k->f->n;

    for (uint32_t bound = 0; bound <= k->f->preemptions && bound <= FEW; bound++)
        for (uint32_t turns = 2; turns <= FEW_TURNS; turns++) /* of all threads together */
            for (uint32_t t = turns; t >= 2; t--)
                if (turns % t == 0 && t <= threads && turns / t <= n && turns < threads * n &&
                    !over(k) && with_size(k, t, turns / t, bound))
                    return;
}

static void fewer(const struct shrinking *k)
{
    struct ck_options o = options(k, CK_BOUNDED);
    struct check_finding *f = k->f;

    o.executions = TRIES;
    for (o.bound = 0; o.bound < f->preemptions && !over(k); o.bound++)
        if (search(k->plan, f, f->threads, f->n, f->split, o))
            return;
}

/* Leaves out what the fault does not need. */
static void leave_out(const struct shrinking *k)
{
    struct check_finding *f = k->f;
    uint8_t *kept = malloc(f->n_choices + 1);
    uint32_t n = f->n_choices;

    if (!kept)
        return;
    memcpy(kept, f->choice, n);
    for (uint32_t i = n; i-- > 0 && !over(k);) {
        struct ck_options o = options(k, CK_GIVEN);
        uint8_t was = kept[i];
        if (was == CK_USUAL)
            continue;
        kept[i] = CK_USUAL;
        o.given = kept;
        o.n_given = n;
        if (!search(k->plan, f, f->threads, f->n, f->split, o))
            kept[i] = was;
    }
    free(kept);
}

void check_shrink(const struct check_plan *plan, struct check_finding *f, double until,
                  const uint32_t *stop)
{
    const struct shrinking k = {plan, f, until, stop};
    struct shrinking part = k;

    if (!check_trace(plan, f)) /* makes the choices sparse and counts preemptions */
        return;
    part.until = check_now() + SMALLER_SHARE * (until - check_now());
    smaller(&part);
    if (!check_trace(plan, f))
        return;
    leave_out(&k);
    if (check_trace(plan, f))
        fewer(&k);
}
