/* SPDX-License-Identifier: MIT */
/* validator.c - the validator and its threads come and go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "validate/validate.h"

#define MAX_REPORTS 64u
#define MAX_REPORTS_ASKED 65536u

int ll_validator_create(const struct ll_validator_options *options, struct ll_validator **out,
                        struct ll_error *err)
{
    uint32_t max = options && options->max_reports ? options->max_reports : MAX_REPORTS;
    struct ll_validator *v;

    if (max > MAX_REPORTS_ASKED)
        return ll_fail(err, -ERANGE, "max_reports", "max_reports %u asked, 1 to %u allowed", max,
                       MAX_REPORTS_ASKED);
    v = ll_zeroed(sizeof(*v));
    if (!v)
        return ll_fail(err, -ENOMEM, "", "out of memory");
    v->refs = 1;
    v->max_reports = max;
    v->n_classes = v->n_nodes = 1; /* number 0 is none */
    v->chain = calloc(VA_CHAINS, sizeof(*v->chain));
    v->class = calloc(LL_VALIDATOR_CLASSES, sizeof(*v->class));
    v->node = calloc(VA_NODES, sizeof(*v->node));
    v->search = va_search_make();
    pthread_mutex_init(&v->mutex, NULL);
    if (!v->chain || !v->class || !v->node || !v->search) {
        ll_validator_unref(v);
        return ll_fail(err, -ENOMEM, "", "out of memory");
    }
    *out = v;
    return 0;
}

void ll_validator_close(struct ll_validator *v)
{
    eng_own_set_rel32(&v->closed, 1);
}

bool ll_validator_is_closed(const struct ll_validator *v)
{
    return eng_own_read_acq32(&v->closed) != 0;
}

struct ll_validator *ll_validator_ref(struct ll_validator *v)
{
    eng_shared_add32(&v->refs, 1);
    return v;
}

void ll_validator_unref(struct ll_validator *v)
{
    if (eng_shared_add32(&v->refs, (uint32_t)-1) != 1)
        return;
    va_reports_fini(v);
    if (v->node)
        va_graph_fini(v);
    for (uint32_t b = 0; b < VA_SITE_BUCKETS; b++)
        while (v->sites[b]) {
            struct va_site *s = v->sites[b];

            v->sites[b] = s->next;
            free(s);
        }
    while (v->threads) {
        struct ll_validator_thread *t = v->threads;

        v->threads = t->next;
        free(t);
    }
    pthread_mutex_destroy(&v->mutex);
    free(v->chain);
    free(v->class);
    free(v->node);
    free(v);
}

int ll_validator_thread_create(struct ll_validator *v, const char *name,
                               bool (*asleep)(const void *arg), const void *arg,
                               struct ll_validator_thread **out)
{
    struct ll_validator_thread *t = ll_zeroed(sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->v = v;
    t->irq_state = VA_IRQS_ON;
    t->asleep = asleep;
    t->asleep_arg = arg;
    pthread_mutex_lock(&v->mutex);
    if (name && *name)
        snprintf(t->name, sizeof(t->name), "%s", name);
    else
        snprintf(t->name, sizeof(t->name), "thread %u", v->threads_made);
    v->threads_made++;
    t->next = v->threads;
    if (t->next)
        t->next->previous = t;
    v->threads = t;
    pthread_mutex_unlock(&v->mutex);
    *out = t;
    return 0;
}

static void tell_left(struct ll_validator_thread *t, const struct ll_site *site)
{
    for (uint32_t i = 0; i < t->depth; i++) {
        const struct va_entry *e = &t->held[i];
        struct va_finding f = {.kind = VA_EXIT_HELD, .thread = t, .site = site, .node = e->node};
        char name[VA_LOCK_NAME];

        va_lock_name(t->v, e->node, e->index, name);
        va_report(t->v, &f, "%s ends with %s held", t->name, name);
    }
}

void ll_validator_thread_end(struct ll_validator_thread *t, const struct ll_site *site)
{
    va_contexts_left(t, site);
    pthread_mutex_lock(&t->v->mutex);
    tell_left(t, site);
    pthread_mutex_unlock(&t->v->mutex);
    ll_validator_thread_abandon(t);
}

void ll_validator_thread_abandon(struct ll_validator_thread *t)
{
    struct ll_validator *v = t->v;

    pthread_mutex_lock(&v->mutex);
    for (struct ll_validator_lock *l = v->locks; l; l = l->next)
        if (eng_own_read(&l->nested) == va_word(t))
            eng_own_set(&l->nested, 0); /* of a nest that was left held */
    if (t->next)
        t->next->previous = t->previous;
    if (t->previous)
        t->previous->next = t->next;
    else
        v->threads = t->next;
    pthread_mutex_unlock(&v->mutex);
    free(t);
}

void ll_validator_get_stats(struct ll_validator *v, struct ll_validator_stats *out)
{
    pthread_mutex_lock(&v->mutex);
    *out = (struct ll_validator_stats){.size = sizeof(*out),
                                       .version = LL_ABI,
                                       .classes = v->n_classes - 1,
                                       .edges = v->n_edges,
                                       .chains = v->n_chains,
                                       .reports = v->n_reports,
                                       .dropped = v->dropped,
                                       .restamped = v->restamped,
                                       .most_held = v->most_held};
    pthread_mutex_unlock(&v->mutex);
}
