/* SPDX-License-Identifier: MIT */
/* shrink.c - the simplest execution that shows a fault: fewest preemptions, then turns, then threads.
 *
 * Small programs are searched with growing bounds on preemptions; what they do not show is made
 * simpler by leaving out one mention after the other from the schedule as it was found.
 */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

#define TRIES 60000u /* executions of one search */

struct search {
    const struct check_plan *plan;
    struct check_finding *f;
    uint32_t writers;
    bool found;
    uint8_t *choice;
    uint32_t n_choices;
    char text[512];
};

static bool same(const struct search *s, const struct ck_fault *fault)
{
    return !strcmp(fault->kind, s->f->kind) &&
           !strcmp(check_role(s->plan, fault, s->writers), s->f->role);
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
                   uint32_t n, uint32_t writers, struct ck_options o)
{
    struct search s = {.plan = plan, .f = f, .writers = writers};
    struct ll_program program;
    struct ck_report report;

    if (check_program(plan, &program, threads, n, writers, NULL))
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
    f->writers = writers;
    strcpy(f->text, s.text);
    return true;
}

/* With fewer preemptions than `below`, in a program of this size. */
static bool with_fewer(const struct check_plan *plan, struct check_finding *f, uint32_t threads,
                       uint32_t n, uint32_t writers, uint32_t below, double until)
{
    for (uint32_t bound = 0; bound < below && check_now() < until; bound++) {
        struct ck_options o = check_options(plan, CK_BOUNDED);
        o.bound = bound;
        o.executions = TRIES;
        o.until = until;
        if (search(plan, f, threads, n, writers, o))
            return true;
    }
    return false;
}

/* Leaves out what the fault does not need. */
static void leave_out(const struct check_plan *plan, struct check_finding *f, double until)
{
    uint8_t *kept = malloc(f->n_choices + 1);
    uint32_t n = f->n_choices;

    if (!kept)
        return;
    memcpy(kept, f->choice, n);
    for (uint32_t i = n; i-- > 0 && check_now() < until;) {
        struct ck_options o = check_options(plan, CK_GIVEN);
        uint8_t was = kept[i];
        if (was == CK_USUAL)
            continue;
        kept[i] = CK_USUAL;
        o.given = kept;
        o.n_given = n;
        if (!search(plan, f, f->threads, f->n, f->writers, o))
            kept[i] = was;
    }
    free(kept);
}

void check_shrink(const struct check_plan *plan, struct check_finding *f, double until)
{
    uint32_t most;

    if (!check_trace(plan, f)) /* makes the choices sparse and counts preemptions */
        return;
    leave_out(plan, f, until);
    if (!check_trace(plan, f))
        return;
    with_fewer(plan, f, f->threads, f->n, f->writers, f->preemptions, until);
    check_trace(plan, f);
    most = f->preemptions + 1;
    for (uint32_t n = 1; n < f->n; n++)
        if (with_fewer(plan, f, f->threads, n, f->writers, most, until))
            break;
    for (uint32_t t = 2; t < f->threads; t++) {
        uint32_t writers = f->writers < t ? f->writers : t;
        if (with_fewer(plan, f, t, f->n, plan->roles ? writers : t, most, until))
            break;
    }
}
