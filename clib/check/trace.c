/* SPDX-License-Identifier: MIT */
/* trace.c - an execution as steps that a person can read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "engine/check/explore.h"

#define NAME 64u  /* of a value or a word */
#define TEXT 240u /* of a step */

struct record {
    struct ck_happening *happening;
    uint32_t n, size;
};

struct telling { /* a finding that is being given its steps */
    const struct check_plan *plan;
    struct check_finding *f;
    const struct ll_program *program;
    bool everything; /* accesses to what the lock protects are shown as well */
    uint32_t n_text;
};

const char *check_short_path(const char *file)
{
    const char *found = strstr(file, "clib/");

    return found ? found + 5 : file;
}

static void record(void *arg, const struct ck_happening *h)
{
    struct record *r = arg;

    if (!h) {
        r->n = 0;
        return;
    }
    if (r->n == r->size) {
        uint32_t size = r->size ? 2 * r->size : 256;
        struct ck_happening *more = realloc(r->happening, size * sizeof(*more));
        if (!more)
            return;
        r->happening = more;
        r->size = size;
    }
    r->happening[r->n++] = *h;
}

/* A copy that lives as long as the finding; "" if there is no memory. */
static const char *keep(struct telling *t, const char *text)
{
    char *copy = *text ? strdup(text) : NULL;

    if (!copy)
        return "";
    t->f->step_text[t->n_text++] = copy;
    t->f->step_text[t->n_text] = NULL;
    return copy;
}

static const struct ck_object *object_of(const struct telling *t, const void *addr)
{
    for (uint32_t i = 0; i < t->program->ck.n_objects; i++) {
        const struct ck_object *o = &t->program->ck.object[i];
        if ((const char *)addr >= (const char *)o->base &&
            (const char *)addr < (const char *)o->base + o->size)
            return o;
    }
    return NULL;
}

static const char *field_of(const struct ck_object *o, const void *addr)
{
    size_t at = (size_t)((const char *)addr - (const char *)o->base);

    for (const struct ll_field *f = o->fields; f && f->name; f++)
        if (at >= f->offset && at < (size_t)f->offset + f->size)
            return f->name;
    return "";
}

/* "node of T1" or "lock.first" if the value points there, "T1" for a thread, else "". */
static void name_value(const struct telling *t, uint64_t value, uint32_t width, char *out)
{
    const void *p = (const void *)(uintptr_t)value; /* house-rule-ok: only compared */
    const struct ck_object *o = width == sizeof(void *) ? object_of(t, p) : NULL;
    int thread = width == sizeof(void *) ? ck_thread_at(p) : -1;

    out[0] = 0;
    if (thread >= 0)
        snprintf(out, NAME, "T%d", thread);
    else if (o && p == o->base)
        snprintf(out, NAME, "%s", o->name);
    else if (o)
        snprintf(out, NAME, "%.30s.%.30s", o->name, field_of(o, p));
}

/* The value in words: its name, NULL for a pointer's 0, small numbers as they are. */
static void spell(const char *name, uint64_t value, bool pointer, char *out)
{
    if (*name)
        snprintf(out, NAME, "%s", name);
    else if (pointer && !value)
        snprintf(out, NAME, "NULL");
    else if (value < 65536)
        snprintf(out, NAME, "%llu", (unsigned long long)value);
    else
        snprintf(out, NAME, "0x%llx", (unsigned long long)value);
}

static const char *const access_name[] = {
    [VT_LOAD] = "load", [VT_STORE] = "store",      [VT_xchg] = "exchange",
    [VT_add] = "add",   [VT_sub] = "subtract",     [VT_or] = "or",
    [VT_and] = "and",   [VT_xor] = "exclusive or", [VT_CAS] = "compare-exchange",
    [VT_READ] = "read", [VT_WRITE] = "write",
};

static const char *op_name(const struct ck_happening *h)
{
    switch (h->kind) {
    case CK_ACCESS:
        if (h->choice / (int)CK_THREADS == 1)
            return "flush";
        return access_name[h->access];
    case CK_AWAIT: return "await";
    case CK_RELAX: return "relax";
    case CK_PARK: return "park";
    case CK_UNPARK: return "unpark";
    case CK_FENCE: return "fence";
    case CK_QUERY: return "ask";
    case CK_ENTER: return "enter";
    case CK_LEAVE: return "leave";
    case CK_FREE: return "free";
    case CK_DELAY: return "delay";
    case CK_NOTHING: break;
    }
    return "nothing";
}

static const char *reason_name(int reason)
{
    switch ((enum eng_gave_up)reason) {
    case ENG_GAVE_UP_DEADLINE: return "its deadline has passed";
    case ENG_GAVE_UP_BUDGET: return "its budget is spent";
    case ENG_GAVE_UP_RESCHED: return "it is told to yield";
    case ENG_GAVE_UP_OWNER: return "the owner is off its CPU";
    case ENG_GAVE_UP_CANCEL: return "it is cancelled";
    }
    return "no reason";
}

static void say_access(const struct ck_happening *h, const char *word, const char *old,
                       const char *new, char *out)
{
    bool flush = h->choice / (int)CK_THREADS == 1;

    if (flush)
        snprintf(out, TEXT, "its store reaches memory, %s: %s -> %s", word, old, new);
    else if (h->buffered)
        snprintf(out, TEXT, "stores %s to %s, into its buffer", new, word);
    else if (h->access == VT_STORE || h->access == VT_WRITE)
        snprintf(out, TEXT, "%s: %s -> %s", word, old, new);
    else if (h->access == VT_LOAD || h->access == VT_READ)
        snprintf(out, TEXT, "reads %s: %s%s", word, old, h->own ? ", its own store" : "");
    else if (!h->wrote)
        snprintf(out, TEXT, "finds %s in %s and leaves it", old, word);
    else
        snprintf(out, TEXT, "%s, in one step: %s -> %s", word, old, new);
}

static void say(const struct ck_happening *h, const struct ll_check_step *s, const char *word,
                const char *old, const char *new, char *out)
{
    const char *waited = h->blocked ? "has waited, and " : "";

    if (h->reason && h->kind != CK_QUERY) {
        snprintf(out, TEXT, "gives up waiting: %s", reason_name(h->reason));
        return;
    }
    switch (h->kind) {
    case CK_ACCESS: say_access(h, word, old, new, out); break;
    case CK_AWAIT: snprintf(out, TEXT, "%ssees %s: %s, and goes on", waited, word, old); break;
    case CK_RELAX: snprintf(out, TEXT, "%ssees that what it read has changed", waited); break;
    case CK_PARK:
        snprintf(out, TEXT, "%s", h->blocked ? "wakes up" : "need not sleep: a permit");
        break;
    case CK_UNPARK: snprintf(out, TEXT, "wakes %s", s->new_name); break;
    case CK_FENCE: snprintf(out, TEXT, "its buffer is empty: the fence is passed"); break;
    case CK_QUERY:
        snprintf(out, TEXT, "asks %s: %s", h->site->expr,
                 !h->reason                       ? "the usual answer"
                 : h->reason == ENG_GAVE_UP_OWNER ? "no, off its CPU"
                                                  : "yes");
        break;
    case CK_ENTER: snprintf(out, TEXT, "is let in"); break;
    case CK_LEAVE: snprintf(out, TEXT, "is about to leave"); break;
    case CK_FREE: snprintf(out, TEXT, "frees the lock"); break;
    case CK_DELAY:
    case CK_NOTHING: out[0] = 0; break;
    }
}

static void tell_step(struct telling *t, const struct ck_happening *h, struct ll_check_step *s)
{
    const struct ck_object *o = h->addr ? object_of(t, h->addr) : NULL;
    const char *field = o ? field_of(o, h->addr) : "";
    char old_name[NAME], new_name[NAME], old[NAME], new[NAME], word[NAME], text[TEXT];
    bool pointer;

    name_value(t, h->old_value, h->width, old_name);
    name_value(t, h->new_value, h->width, new_name);
    pointer = *old_name || *new_name;
    if (h->target)
        snprintf(new_name, NAME, "T%d", ck_thread_at(h->target));
    spell(old_name, h->old_value, pointer, old);
    spell(new_name, h->new_value, pointer, new);
    snprintf(word, sizeof(word), "%.30s%s%.30s", o ? o->name : "", *field ? "." : "", field);
    *s = (struct ll_check_step){
        .thread = (uint32_t)h->choice % CK_THREADS,
        .op = op_name(h),
        .file = h->site ? check_short_path(h->site->file) : "",
        .function = h->site ? h->site->function : "",
        .expression = h->site ? h->site->expr : "",
        .line = h->site ? h->site->line : 0,
        .object = keep(t, o ? o->name : ""),
        .field = field,
        .writes = h->wrote,
        .old_value = h->old_value,
        .new_value = h->new_value,
        .preempts = h->preempts,
    };
    s->old_name = keep(t, old_name);
    s->new_name = keep(t, new_name);
    say(h, s, word, old, new, text);
    s->text = keep(t, text);
}

static bool shown(const struct telling *t, const struct ck_happening *h)
{
    const struct ck_object *o = h->addr ? object_of(t, h->addr) : NULL;

    if (h->kind == CK_FREE) /* once, though it may take effect in parts */
        return o && h->addr == o->base;
    return !h->plain || t->everything || !o || o->base != (void *)t->program->client;
}

static void free_steps(struct check_finding *f)
{
    for (char **text = f->step_text; text && *text; text++)
        free(*text);
    free(f->step_text);
    free(f->step);
    f->step_text = NULL;
    f->step = NULL;
    f->n_steps = 0;
}

static void tell(struct telling *t, const struct record *r)
{
    struct check_finding *f = t->f;

    free_steps(f);
    f->preemptions = 0;
    f->step = calloc(r->n ? r->n : 1, sizeof(*f->step));
    f->step_text = calloc(4 * (size_t)r->n + 1, sizeof(*f->step_text));
    if (!f->step || !f->step_text)
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        f->preemptions += r->happening[i].preempts;
        if (shown(t, &r->happening[i]))
            tell_step(t, &r->happening[i], &f->step[f->n_steps++]);
    }
}

/* ---- running it again ---- */

struct again {
    const struct check_plan *plan;
    struct check_finding *f;
    const char *kind, *role; /* that it must show; NULL: any */
    bool shows;
    uint32_t n;
};

static bool on_fault(void *arg)
{
    struct again *a = arg;
    struct ck_last last;

    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults; i++) {
        const struct ck_fault *fault = &last.fault[i];
        const char *role = check_role(a->plan, fault, a->f->split);
        bool asked = a->kind && !strcmp(a->kind, fault->kind) && !strcmp(a->role, role);
        /* a replay: exclusion before the race that it shows as, too */
        bool better = !a->kind && (!a->shows || !strcmp(fault->kind, "exclusion"));
        if (a->shows ? !better : !asked && !better)
            continue;
        a->f->kind = fault->kind;
        a->f->role = role;
        strcpy(a->f->text, fault->text);
        a->n = last.n;
        a->shows = true;
    }
    return true;
}

bool check_trace(const struct check_plan *plan, struct check_finding *f)
{
    struct again again = {.plan = plan, .f = f, .kind = f->kind, .role = f->role};
    struct ck_options o = check_options(plan, CK_GIVEN);
    struct record record_of = {0};
    struct ll_program program;
    struct ck_report report;
    uint8_t *sparse = malloc(CK_ALL_STEPS);
    struct telling t = {.plan = plan, .f = f, .program = &program};

    if (!sparse || check_program(plan, &program, f->threads, f->n, f->split, NULL)) {
        free(sparse);
        return false;
    }
    o.given = f->choice;
    o.n_given = f->n_choices;
    o.sparse = sparse;
    o.trace = record;
    o.trace_arg = &record_of;
    o.on_fault = on_fault;
    o.on_fault_arg = &again;
    ck_explore(&program.ck, &o, &report);
    t.everything = again.shows && !strcmp(f->kind, "race");
    tell(&t, &record_of);
    free(record_of.happening);
    ll_program_fini(&program);
    free(f->choice);
    f->choice = sparse;
    f->n_choices = again.shows ? again.n : report.max_steps;
    f->unfit = report.unfit;
    if (plan->orders)
        ll_orders_write(f->split, f->threads, f->orders);
    check_schedule_write(plan, f);
    return again.shows;
}

void check_finding_free(struct check_finding *f)
{
    free_steps(f);
    free(f->choice);
    f->choice = NULL;
}
