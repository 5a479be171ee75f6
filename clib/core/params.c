/* SPDX-License-Identifier: MIT */
/* params.c - judging and storing -p NAME=VALUE. */
#include "core/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/registry.h"

static void store(void *base, const struct ll_param *p, double value)
{
    uint32_t u = (uint32_t)value;

    if (!base)
        return;
    if (p->type == LL_PARAM_REAL)
        memcpy((char *)base + p->offset, &value, sizeof(value));
    else
        memcpy((char *)base + p->offset, &u, sizeof(u));
}

static double default_of(const struct ll_param *p)
{
    return p->type == LL_PARAM_LOCK ? ll_lock_number(p->lock) : p->def;
}

void ll_params_default(void *base, const struct ll_param *params)
{
    for (const struct ll_param *p = params; p && p->name; p++)
        store(base, p, default_of(p));
}

void ll_params_for_check(void *base, const struct ll_param *params)
{
    for (const struct ll_param *p = params; p && p->name; p++)
        store(base, p, p->check != 0 ? p->check : default_of(p));
}

static const struct ll_param *find(const struct ll_param *params, const char *name)
{
    for (const struct ll_param *p = params; p && p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

static int parse_enum(const struct ll_param *p, const char *text, double *value,
                      struct ll_error *err)
{
    char list[256] = "";

    for (unsigned i = 0; p->names[i]; i++) {
        if (!strcmp(p->names[i], text)) {
            *value = i;
            return 0;
        }
        strncat(list, i ? ", " : "", sizeof(list) - strlen(list) - 1);
        strncat(list, p->names[i], sizeof(list) - strlen(list) - 1);
    }
    return ll_fail(err, -EINVAL, p->name, "%s=%.40s is not one of: %s", p->name, text, list);
}

static int parse_bool(const struct ll_param *p, const char *text, double *value,
                      struct ll_error *err)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"false", "true"}, {"no", "yes"}, {"off", "on"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (unsigned v = 0; v < 2; v++)
            if (!strcmp(words[i][v], text)) {
                *value = v;
                return 0;
            }
    return ll_fail(err, -EINVAL, p->name, "%s=%.40s is neither true nor false", p->name, text);
}

static int parse_number(const struct ll_param *p, const char *text, double *value,
                        struct ll_error *err)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value))
        return ll_fail(err, -EINVAL, p->name, "%s=%.40s is not a number", p->name, text);
    if (p->type == LL_PARAM_UINT && *value != floor(*value))
        return ll_fail(err, -EINVAL, p->name, "%s=%.40s is not a whole number", p->name, text);
    if (*value < p->min || *value > p->max)
        return ll_fail(err, -ERANGE, p->name, "%s=%.40s is outside %.10g to %.10g%s%s", p->name,
                       text, p->min, p->max, p->unit ? " " : "", p->unit ? p->unit : "");
    return 0;
}

static int parse_lock(const struct ll_param *p, const char *text, double *value,
                      struct ll_error *err)
{
    uint32_t number = ll_lock_number(text);
    const char *near = number ? NULL : ll_nearest(text, ll_lock_id_at, NULL);
    const struct ll_lock_desc *lock = ll_lock_at(number, LL_VARIANT_NATIVE);

    if (!number)
        return ll_fail(err, -ENOENT, p->name, "%s=%.40s is no lock%s%s", p->name, text,
                       near ? ", did you mean " : "", near ? near : "");
    if (p->kinds && !(p->kinds >> lock->kind & 1)) {
        enum ll_kind wanted = LL_KIND_EXCLUSIVE;
        while (!(p->kinds >> wanted & 1))
            wanted++;
        return ll_fail(err, -EINVAL, p->name, "%s=%s must be a lock of kind %s, this one is %s",
                       p->name, text, ll_kind_name(wanted), ll_kind_name(lock->kind));
    }
    *value = number;
    return 0;
}

static int parse(const struct ll_param *p, const char *text, double *value, struct ll_error *err)
{
    switch (p->type) {
    case LL_PARAM_ENUM: return parse_enum(p, text, value, err);
    case LL_PARAM_BOOL: return parse_bool(p, text, value, err);
    case LL_PARAM_LOCK: return parse_lock(p, text, value, err);
    case LL_PARAM_UINT:
    case LL_PARAM_REAL: break;
    }
    return parse_number(p, text, value, err);
}

struct both {
    const struct ll_param *lock, *workload;
};

static const char *name_at(size_t i, const void *ctx)
{
    const struct both *b = ctx;

    for (const struct ll_param *p = b->lock; p && p->name; p++)
        if (i-- == 0)
            return p->name;
    for (const struct ll_param *p = b->workload; p && p->name; p++)
        if (i-- == 0)
            return p->name;
    return NULL;
}

static int unknown(const char *name, const struct both *tables, struct ll_error *err)
{
    const char *near = ll_nearest(name, name_at, tables);

    return ll_fail(err, -ENOENT, name, "%s a parameter %.40s%s%s",
                   tables->workload ? "neither the lock nor the workload has"
                                    : "the lock does not have",
                   name, near ? ", did you mean " : "", near ? near : "");
}

int ll_params_apply(const struct ll_setting *settings, size_t n, const struct ll_param *lock_params,
                    void *lock, const struct ll_param *workload_params, void *state,
                    struct ll_error *err)
{
    struct both tables = {lock_params, workload_params};

    for (size_t i = 0; i < n; i++) {
        const char *name = settings[i].name;
        bool only_lock = !strncmp(name, "lock.", 5), only_workload = !strncmp(name, "workload.", 9);
        const char *bare = name + (only_lock ? 5 : only_workload ? 9 : 0);
        const struct ll_param *in_lock = only_workload ? NULL : find(lock_params, bare);
        const struct ll_param *in_workload = only_lock ? NULL : find(workload_params, bare);
        double value = 0;
        int ret;

        if (in_lock && in_workload)
            return ll_fail(err, -EINVAL, name,
                           "%s is a parameter of both, write lock.%s or workload.%s", name, name,
                           name);
        if (!in_lock && !in_workload)
            return unknown(name, &tables, err);
        ret = parse(in_lock ? in_lock : in_workload, settings[i].value, &value, err);
        if (ret)
            return ret;
        store(in_lock ? lock : state, in_lock ? in_lock : in_workload, value);
    }
    return 0;
}
