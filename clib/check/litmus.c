/* SPDX-License-Identifier: MIT */
/* litmus.c - runs a litmus test: every execution, counted by the final state that it leaves. */
#define _GNU_SOURCE
#include "check/litmus.h"

#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "core/memory.h"
#include "engine/own.h"

#define MAX_STATES (1u << 20)
#define FIRST_CAPACITY 64u
#define CLOCK_EVERY 64u /* executions between two looks at the clock */
#define POLL_S 0.01

void litmus_fail(struct litmus *l, int ret, const struct ll_error *error)
{
    if (!l->ret) {
        l->ret = ret;
        l->error = *error;
    }
    eng_own_set32(&l->stop, 1);
}

/* ---- is it a program? ---- */

static bool is_width(uint32_t width)
{
    return width == 1 || width == 2 || width == 4 || width == 8;
}

static bool is_register(uint32_t reg)
{
    return reg < LL_LITMUS_REGISTERS;
}

static bool op_fits(const struct ll_litmus_program *p, const struct ll_litmus_thread *t,
                    const struct ll_litmus_op *op)
{
    if (op->code >= LL_LITMUS_CODES || !is_width(op->width) || !is_register(op->dst))
        return false;
    if (op->src != LL_LITMUS_NONE && !is_register(op->src))
        return false;
    if (op->cond != LL_LITMUS_NONE && (op->cond > 15 || op->cond / 2 == 5))
        return false;
    if (op->code == LL_LITMUS_JUMP && op->target > t->n_ops)
        return false;
    if (!litmus_accesses(op->code))
        return true;
    return op->base == LL_LITMUS_NONE ? op->location < p->n_locations : is_register(op->base);
}

static int judge_thread(const struct ll_litmus_program *p, uint32_t index, struct ll_error *err)
{
    const struct ll_litmus_thread *t = &p->thread[index];

    if (t->n_ops > LL_LITMUS_MAX_OPS)
        return ll_fail(err, -ERANGE, "program", "thread %u has %u operations, at most %u allowed",
                       index, t->n_ops, LL_LITMUS_MAX_OPS);
    for (uint32_t i = 0; i < t->n_ops; i++)
        if (!op_fits(p, t, &t->op[i]))
            return ll_fail(err, -EINVAL, "program", "operation %u of thread %u makes no sense", i,
                           index);
    return 0;
}

static bool observed_fits(const struct ll_litmus_program *p, const struct ll_litmus_observed *o)
{
    if (o->thread == LL_LITMUS_NONE)
        return o->index < p->n_locations;
    return o->thread < p->threads && is_register(o->index) && is_width(o->width);
}

static int judge(const struct ll_litmus_program *p, struct ll_error *err)
{
    int ret = 0;

    if (p->threads < 1 || p->threads > CK_THREADS)
        return ll_fail(err, -ERANGE, "program", "%u threads, 1 to %u allowed", p->threads,
                       CK_THREADS);
    if (p->n_locations > LL_LITMUS_MAX_LOCATIONS)
        return ll_fail(err, -ERANGE, "program", "%u locations, at most %u allowed", p->n_locations,
                       LL_LITMUS_MAX_LOCATIONS);
    if (p->n_observed > LL_LITMUS_MAX_OBSERVED)
        return ll_fail(err, -ERANGE, "program", "%u registers and locations, at most %u allowed",
                       p->n_observed, LL_LITMUS_MAX_OBSERVED);
    if (p->turns > LL_LITMUS_MAX_TURNS)
        return ll_fail(err, -ERANGE, "turns", "turns %u asked, 0 to %u allowed", p->turns,
                       LL_LITMUS_MAX_TURNS);
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (!is_width(p->location[i].width))
            return ll_fail(err, -EINVAL, "program", "location %u has %u bytes, not 1, 2, 4 or 8", i,
                           p->location[i].width);
    for (uint32_t i = 0; i < p->n_observed; i++)
        if (!observed_fits(p, &p->observed[i]))
            return ll_fail(err, -EINVAL, "program", "part %u of the final state makes no sense", i);
    for (uint32_t i = 0; i < p->threads && !ret; i++)
        ret = judge_thread(p, i, err);
    return ret;
}

/* ---- final states ---- */

static uint64_t hash(const uint64_t *value, uint32_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u;

    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ value[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

/* The slot of this state, or the free one where it belongs. */
static uint32_t *slot_of(const struct litmus_states *s, const uint64_t *value, uint32_t n)
{
    uint32_t wrap = 2 * s->capacity - 1, i = (uint32_t)hash(value, n) & wrap;

    while (s->slot[i] && memcmp(&s->value[(size_t)(s->slot[i] - 1) * n], value, n * sizeof(*value)))
        i = (i + 1) & wrap;
    return &s->slot[i];
}

static void states_free(struct litmus_states *s)
{
    free(s->value);
    free(s->executions);
    free(s->slot);
}

static int grow(struct litmus_states *s, uint32_t n)
{
    struct litmus_states more = {.n = s->n,
                                 .capacity = s->capacity ? 2 * s->capacity : FIRST_CAPACITY};

    more.value = calloc((size_t)more.capacity * (n ? n : 1), sizeof(*more.value));
    more.executions = calloc(more.capacity, sizeof(*more.executions));
    more.slot = calloc(2 * (size_t)more.capacity, sizeof(*more.slot));
    if (!more.value || !more.executions || !more.slot) {
        states_free(&more);
        return -ENOMEM;
    }
    if (s->n) {
        memcpy(more.value, s->value, (size_t)s->n * n * sizeof(*s->value));
        memcpy(more.executions, s->executions, s->n * sizeof(*s->executions));
    }
    for (uint32_t i = 0; i < s->n; i++)
        *slot_of(&more, &more.value[(size_t)i * n], n) = i + 1;
    states_free(s);
    *s = more;
    return 0;
}

static int note_state(struct litmus *l, const uint64_t *value, struct ll_error *err)
{
    struct litmus_states *s = &l->states;
    uint32_t n = l->program->n_observed, *slot;

    if (s->n == s->capacity && grow(s, n))
        return ll_fail(err, -ENOMEM, "", "no memory for the final states");
    slot = slot_of(s, value, n);
    if (!*slot) {
        if (s->n == MAX_STATES)
            return ll_fail(err, -ERANGE, "program", "more than %u distinct final states",
                           MAX_STATES);
        memcpy(&s->value[(size_t)s->n * n], value, n * sizeof(*value));
        *slot = ++s->n;
    }
    s->executions[*slot - 1]++;
    return 0;
}

static uint64_t final_value(const struct litmus *l, const struct ll_litmus_observed *o)
{
    uint32_t width = o->width;
    uint64_t v = 0;

    if (o->thread == LL_LITMUS_NONE) {
        width = l->program->location[o->index].width;
        memcpy(&v, l->memory + LITMUS_CELL * o->index, width); /* little endian */
    } else {
        v = l->thread[o->thread].reg[o->index];
    }
    return width == 8 ? v : v & ((UINT64_C(1) << 8 * width) - 1);
}

static void poll_caller(struct litmus *l)
{
    const struct ll_litmus_program *p = l->program;
    struct ll_error err;
    double now;

    if (!p->poll || (l->executions + l->cut + l->idle) % CLOCK_EVERY ||
        (now = check_now()) - l->polled < POLL_S)
        return;
    l->polled = now;
    if (p->poll(p->poll_arg))
        litmus_fail(l, ll_fail(&err, -ECANCELED, "", "stopped on request"), &err);
}

/* After each complete execution: always "all is well", it is only looked at. */
static const char *observe(void *arg)
{
    struct litmus *l = arg;
    uint64_t value[LL_LITMUS_MAX_OBSERVED];
    struct ll_error err;
    bool cut = false, idle = false;
    int ret;

    for (uint32_t i = 0; i < l->program->threads; i++) {
        cut = cut || l->thread[i].cut;
        idle = idle || l->thread[i].idle;
    }
    if (idle) {
        l->idle++;
    } else if (cut) {
        l->cut++;
    } else {
        l->executions++;
        for (uint32_t i = 0; i < l->program->n_observed; i++)
            value[i] = final_value(l, &l->program->observed[i]);
        if ((ret = note_state(l, value, &err)))
            litmus_fail(l, ret, &err);
    }
    poll_caller(l);
    return NULL;
}

/* ---- the result ---- */

struct result { /* and what its pointers need */
    struct ll_litmus_result public;
    struct litmus_states states;
    struct ll_litmus_state *state;
};

static int by_value(const void *a, const void *b, void *n)
{
    const struct ll_litmus_state *x = a, *y = b;

    for (uint32_t i = 0; i < *(const uint32_t *)n; i++)
        if (x->value[i] != y->value[i])
            return x->value[i] < y->value[i] ? -1 : 1;
    return 0;
}

static int publish(struct litmus *l, const struct ck_report *report, double seconds,
                   struct ll_litmus_result **out)
{
    struct result *r = calloc(1, sizeof(*r));
    uint32_t n = l->program->n_observed;

    if (r)
        r->state = calloc(l->states.n + 1, sizeof(*r->state));
    if (!r || !r->state) {
        free(r);
        return -ENOMEM;
    }
    r->states = l->states;
    memset(&l->states, 0, sizeof(l->states));
    for (uint32_t i = 0; i < r->states.n; i++)
        r->state[i] = (struct ll_litmus_state){.value = &r->states.value[(size_t)i * n],
                                               .executions = r->states.executions[i]};
    qsort_r(r->state, r->states.n, sizeof(*r->state), by_value, &n);
    r->public = (struct ll_litmus_result){
        .size = sizeof(r->public),
        .version = LL_ABI,
        .n_states = r->states.n,
        .state = r->state,
        .executions = l->executions,
        .cut = l->cut + report->blocked,
        .idle = l->idle,
        .redundant = report->redundant,
        .wholly = report->wholly,
        .seconds = seconds,
    };
    *out = &r->public;
    return 0;
}

void ll_litmus_free(struct ll_litmus_result *result)
{
    struct result *r = (struct result *)result; /* its first member */

    if (!r)
        return;
    states_free(&r->states);
    free(r->state);
    free(r);
}

/* ---- the run ---- */

static bool poll_in_line(void *arg)
{
    const struct ll_litmus_program *p = arg;

    return p->poll && p->poll(p->poll_arg);
}

static int explore(struct litmus *l, struct ck_report *report)
{
    const struct ll_litmus_program *p = l->program;
    struct ck_program ck = {
        .threads = p->threads,
        .body = litmus_thread_run,
        .verdict = observe,
        .arg = l,
        .memory_size = LITMUS_CELL * (p->n_locations ? p->n_locations : 1),
        .n_objects = 1,
    };
    struct ck_options options = {
        .strategy = CK_DFS,
        .memory = p->memory,
        .executions = p->budget,
        .until = p->seconds > 0 ? check_now() + p->seconds : 0,
        .stop = &l->stop,
    };
    int ret;

    l->memory = ll_zeroed(ck.memory_size);
    if (!l->memory)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->n_locations; i++)
        memcpy(l->memory + LITMUS_CELL * i, &p->location[i].initial, p->location[i].width);
    ck.memory = l->memory;
    ck.object[0] =
        (struct ck_object){.base = l->memory, .size = ck.memory_size, .name = "locations"};
    ret = ck_explore(&ck, &options, report);
    free(l->memory);
    return ret ? ret : l->ret;
}

int ll_litmus_run(const struct ll_litmus_program *p, struct ll_litmus_result **out,
                  struct ll_error *err)
{
    struct litmus *l;
    struct ck_report report;
    double began;
    int ret = judge(p, err);

    *out = NULL;
    if (ret)
        return ret;
    l = calloc(1, sizeof(*l));
    if (!l)
        return ll_fail(err, -ENOMEM, "", "no memory for the test");
    l->program = p;
    if (check_turn_acquire(poll_in_line, (void *)p)) {
        ret = ll_fail(&l->error, -ECANCELED, "", "stopped on request");
    } else {
        began = l->polled = check_now();
        ret = explore(l, &report);
        check_turn_release();
        if (!ret)
            ret = publish(l, &report, check_now() - began, out);
    }
    if (ret == -ENOMEM)
        ll_fail(err, ret, "", "no memory for the test");
    else if (ret && err)
        *err = l->error;
    states_free(&l->states);
    free(l);
    return ret;
}
