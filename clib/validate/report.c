/* SPDX-License-Identifier: MIT */
/* report.c - findings made into reports that outlive locks and threads. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validate/validate.h"

static const struct ll_validator_kind kinds[VA_KINDS] = {
#define VA_KIND(symbol, name, help) {name, help},
#include "validate/reports.def"
#undef VA_KIND
};

int ll_validator_kind_get(size_t i, struct ll_validator_kind *out)
{
    if (i >= VA_KINDS)
        return -ENOENT;
    *out = kinds[i];
    return 0;
}

/* ---- stacks ---- */

static struct va_seen see(const struct va_entry *e)
{
    return (struct va_seen){.site = va_site_of(e),
                            .index = e->index,
                            .refs = eng_own_read32(&e->refs),
                            .node = e->node,
                            .outer_node = eng_own_read(&e->outer) ? e->outer_node : 0,
                            .outer_index = e->outer_index,
                            .shared = e->shared,
                            .tried = e->tried};
}

struct va_stack *va_stack_now(const struct ll_validator_thread *t, const struct va_request *asked)
{
    uint32_t depth = eng_own_read_acq32(&t->depth);
    struct va_stack *s = malloc(sizeof(*s) + (depth + 1) * sizeof(s->seen[0]));

    if (!s)
        return NULL;
    memcpy(s->thread, t->name, sizeof(s->thread));
    for (s->n = 0; s->n < depth; s->n++)
        s->seen[s->n] = see(&t->held[s->n]);
    if (asked)
        s->seen[s->n++] =
            (struct va_seen){.site = asked->site,
                             .index = asked->lock->index,
                             .refs = 1,
                             .node = asked->node,
                             .outer_node = asked->outer ? (uint16_t)asked->outer->node : 0,
                             .outer_index = asked->outer ? asked->outer->index : 0,
                             .shared = asked->shared,
                             .tried = asked->tried,
                             .asked = true};
    return s;
}

static struct ll_site site_or_none(const struct ll_site *site)
{
    return site ? *site : (struct ll_site){"", "", 0};
}

/* Strings of a report are made one by one and freed with it. */
static const char *lock_name(const struct ll_validator *v, uint16_t node, uint32_t index)
{
    char name[VA_LOCK_NAME], *copy;

    va_lock_name(v, node, index, name);
    copy = strdup(name);
    return copy ? copy : "";
}

static struct ll_validator_held *stack_out(const struct ll_validator *v, const struct va_stack *s)
{
    struct ll_validator_held *out = s ? calloc(s->n + 1, sizeof(*out)) : NULL;

    for (uint32_t i = 0; out && i < s->n; i++) {
        const struct va_seen *e = &s->seen[i];

        out[i] = (struct ll_validator_held){
            .lock = lock_name(v, e->node, e->index),
            .class_name = va_class_of(v, e->node)->name,
            .subclass = v->node[e->node].subclass,
            .refs = e->refs,
            .shared = e->shared,
            .tried = e->tried,
            .asked = e->asked,
            .outer = e->outer_node ? lock_name(v, e->outer_node, e->outer_index) : "",
            .site = site_or_none(e->site)};
    }
    return out;
}

static void free_stack(const struct ll_validator_held *held, uint32_t n)
{
    for (uint32_t i = 0; held && i < n; i++) {
        if (*held[i].lock)
            free((char *)held[i].lock);
        if (*held[i].outer)
            free((char *)held[i].outer);
    }
    free((struct ll_validator_held *)held);
}

void va_link_out(struct ll_validator *v, const struct va_link *in, struct ll_validator_link *out)
{
    *out = (struct ll_validator_link){.from = v->node[in->from].name,
                                      .to = v->node[in->to].name,
                                      .from_shared = (in->bits & VA_HELD_SHARED) != 0,
                                      .to_shared = (in->bits & VA_TAKES_RECURSIVE) != 0,
                                      .interrupt = in->interrupt,
                                      .thread = in->stack ? in->stack->thread : "",
                                      .from_site = site_or_none(in->from_site),
                                      .to_site = site_or_none(in->to_site)};
}

/* ---- reports ---- */

static uint64_t key_of(const struct va_finding *f)
{
    uint64_t key = va_mix(f->kind, f->node);

    key = va_mix(key, va_word(f->site));
    for (uint32_t i = 0; i < f->n_links; i++)
        key = va_mix(key, (uint64_t)f->link[i].from << 16 | f->link[i].to);
    return key;
}

static struct va_report *find(const struct ll_validator *v, uint64_t key)
{
    struct va_report *r;

    for (r = v->first; r && r->key != key; r = r->next)
        ;
    return r;
}

static void fill_links(struct ll_validator *v, struct ll_validator_report *out,
                       const struct va_finding *f)
{
    struct ll_validator_link *link = f->n_links ? calloc(f->n_links, sizeof(*link)) : NULL;

    if (!link)
        return;
    for (uint32_t i = 0; i < f->n_links; i++) {
        va_link_out(v, &f->link[i], &link[i]);
        link[i].thread = strdup(link[i].thread);
        link[i].held = stack_out(v, f->link[i].stack);
        link[i].n_held = link[i].held ? f->link[i].stack->n : 0;
    }
    out->link = link;
    out->n_links = f->n_links;
}

static void fill_stacks(struct ll_validator *v, struct ll_validator_report *out,
                        const struct va_finding *f)
{
    struct va_stack *own = f->thread ? va_stack_now(f->thread, f->asked) : NULL;
    struct va_stack *other = f->other ? va_stack_now(f->other, NULL) : NULL;
    const struct va_stack *second = other;

    /* the other side of a cycle is what was done when its second link was seen first */
    if (!second && f->n_links > 1)
        second = f->link[1].stack;
    out->held = stack_out(v, own);
    out->n_held = out->held ? own->n : 0;
    out->other = stack_out(v, second);
    out->n_other = out->other ? second->n : 0;
    out->other_thread = strdup(second ? second->thread : "");
    free(own);
    free(other);
}

static struct va_report *make(struct ll_validator *v, const struct va_finding *f, const char *text)
{
    struct va_report *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->key = key_of(f);
    r->kind = f->kind;
    r->out = (struct ll_validator_report){.size = sizeof(r->out),
                                          .version = LL_ABI,
                                          .kind = kinds[f->kind].name,
                                          .text = strdup(text),
                                          .thread = strdup(f->thread ? f->thread->name : ""),
                                          .site = site_or_none(f->site),
                                          .count = 1};
    fill_links(v, &r->out, f);
    fill_stacks(v, &r->out, f);
    return r;
}

void va_report(struct ll_validator *v, const struct va_finding *f, const char *format, ...)
{
    struct va_report *r = find(v, key_of(f));
    char text[1024];
    va_list args;

    if (r) {
        r->out.count++;
        return;
    }
    if (v->n_reports == v->max_reports) {
        v->dropped++;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r = make(v, f, text);
    if (!r) {
        v->dropped++;
        return;
    }
    if (v->last)
        v->last->next = r;
    else
        v->first = r;
    v->last = r;
    v->n_reports++;
}

static void free_report(struct va_report *r)
{
    for (uint32_t i = 0; i < r->out.n_links; i++) {
        free((char *)r->out.link[i].thread);
        free_stack(r->out.link[i].held, r->out.link[i].n_held);
    }
    free((struct ll_validator_link *)r->out.link);
    free_stack(r->out.held, r->out.n_held);
    free_stack(r->out.other, r->out.n_other);
    free((char *)r->out.other_thread);
    free((char *)r->out.text);
    free((char *)r->out.thread);
    free(r);
}

void va_reports_fini(struct ll_validator *v)
{
    while (v->first) {
        struct va_report *r = v->first;

        v->first = r->next;
        free_report(r);
    }
}

int ll_validator_report_get(struct ll_validator *v, size_t i, struct ll_validator_report *out)
{
    const struct va_report *r;

    pthread_mutex_lock(&v->mutex);
    for (r = v->first; r && i > 0; r = r->next)
        i--;
    if (r)
        *out = r->out;
    pthread_mutex_unlock(&v->mutex);
    return r ? 0 : -ENOENT;
}
