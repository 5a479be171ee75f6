/* SPDX-License-Identifier: MIT */
/* classes.c - what is judged alike: classes, their levels as nodes of the graph, and sites. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validate/validate.h"

uint16_t va_node_of(struct ll_validator *v, uint32_t class_id, uint32_t subclass)
{
    uint16_t *slot = &v->class[class_id].node[subclass];

    if (*slot == 0 && v->n_nodes < VA_NODES) {
        struct va_node *n = &v->node[v->n_nodes];

        n->class_id = class_id;
        n->subclass = subclass;
        snprintf(n->name, sizeof(n->name), subclass ? "%s/%u" : "%s", v->class[class_id].name,
                 subclass);
        *slot = (uint16_t)v->n_nodes++;
    }
    return *slot;
}

static uint32_t find(const struct ll_validator *v, const char *name)
{
    for (uint32_t i = 1; i < v->n_classes; i++)
        if (strcmp(v->class[i].name, name) == 0)
            return i;
    return 0;
}

uint32_t va_class_make(struct ll_validator *v, const char *name, uint32_t traits)
{
    struct va_class *c = &v->class[v->n_classes];

    if (v->n_classes == LL_VALIDATOR_CLASSES)
        return 0;
    snprintf(c->name, sizeof(c->name), "%s", name);
    c->traits = traits;
    return v->n_classes++;
}

/* A class of ww locks has one more, of what its contexts are. */
static uint32_t make_with_contexts(struct ll_validator *v, const char *name, uint32_t traits)
{
    char context[VA_NAME];
    uint32_t id, of_context;

    if (!(traits & LL_VALIDATOR_WW))
        return va_class_make(v, name, traits);
    snprintf(context, sizeof(context), "%.40s context", name);
    of_context = va_class_make(v, context, 0);
    id = of_context ? va_class_make(v, name, traits) : 0;
    if (id)
        v->class[id].context_class = of_context;
    return id;
}

int ll_validator_class(struct ll_validator *v, const char *name, uint32_t traits,
                       uint32_t *class_id, struct ll_error *err)
{
    uint32_t id;

    if (!name || !*name || strlen(name) >= VA_NAME)
        return ll_fail(err, -EINVAL, "name",
                       "name of %zu characters asked for a class, 1 to %u allowed",
                       name ? strlen(name) : 0, VA_NAME - 1);
    pthread_mutex_lock(&v->mutex);
    id = find(v, name);
    if (!id)
        id = make_with_contexts(v, name, traits);
    else if (v->class[id].traits != traits)
        id = UINT32_MAX;
    pthread_mutex_unlock(&v->mutex);
    if (id == UINT32_MAX)
        return ll_fail(err, -EINVAL, "name",
                       "class %s holds locks of another kind, one kind a class allowed", name);
    if (id == 0)
        return ll_fail(err, -ENOSPC, "name", "class %s would be one more than the %u allowed", name,
                       LL_VALIDATOR_CLASSES - 1);
    *class_id = id;
    return 0;
}

int ll_validator_class_get(struct ll_validator *v, size_t i, const char **name, uint32_t *traits)
{
    int ret = -ENOENT;

    pthread_mutex_lock(&v->mutex);
    if (i + 1 < v->n_classes) {
        *name = v->class[i + 1].name;
        *traits = v->class[i + 1].traits;
        ret = 0;
    }
    pthread_mutex_unlock(&v->mutex);
    return ret;
}

void va_lock_name(const struct ll_validator *v, uint16_t node, uint32_t index,
                  char out[VA_LOCK_NAME])
{
    const struct va_class *c = va_class_of(v, node);
    uint32_t subclass = v->node[node].subclass;
    char level[16] = "";

    if (subclass)
        snprintf(level, sizeof(level), "/%u", subclass);
    if (c->instances > 1)
        snprintf(out, VA_LOCK_NAME, "%s[%u]%s", c->name, index, level);
    else
        snprintf(out, VA_LOCK_NAME, "%s%s", c->name, level);
}

/* ---- sites ---- */

static const struct ll_site *intern(struct va_site **bucket, const char *file, const char *function,
                                    uint32_t line)
{
    struct va_site *s;

    for (s = *bucket; s; s = s->next)
        if (s->site.line == line && strcmp(s->site.file, file) == 0 &&
            strcmp(s->site.function, function) == 0)
            return &s->site;
    s = calloc(1, sizeof(*s) + strlen(file) + strlen(function) + 2);
    if (!s)
        return NULL;
    s->site.file = strcpy((char *)(s + 1), file);
    s->site.function = strcpy((char *)(s + 1) + strlen(file) + 1, function);
    s->site.line = line;
    s->next = *bucket;
    *bucket = s;
    return &s->site;
}

const struct ll_site *ll_validator_site(struct ll_validator *v, const char *file,
                                        const char *function, uint32_t line)
{
    const struct ll_site *site;
    uint64_t hash = line;

    for (const char *c = file; *c; c++)
        hash = va_mix(hash, (uint8_t)*c);
    pthread_mutex_lock(&v->mutex);
    site = intern(&v->sites[hash % VA_SITE_BUCKETS], file, function, line);
    pthread_mutex_unlock(&v->mutex);
    return site;
}
