/* SPDX-License-Identifier: MIT */
/* schedule.c - an execution as a short string.
 *
 *   LOCK[@CLIENT]:TxN[wW][oO][gG][s][p]:HASH[:NAME=VALUE,...]:CHOICES
 *
 * T threads, N turns, W writers, O orders of locks, G give-ups if not 1, s for SC, p if starvation is looked for. HASH is
 * that of the lock's code, so that a string is refused when the code has changed. Names of parameters
 * and of their values are cut to what tells them from the others. CHOICES has, for each choice that is not the usual
 * one (who ran goes on, else the lowest that can), the distance from the last such and the choice:
 * base-64 digits, five bits of the distance in each, the sixth says that more follow.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "core/memory.h"
#include "core/params.h"
#include "core/registry.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define MORE 32u
#define LOW 31u

struct writer {
    char *text;
    size_t at, size;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writer *w, const char *format, ...)
{
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(w->text + w->at, w->size - w->at, format, list);
    va_end(list);
    w->at += (size_t)n < w->size - w->at ? (size_t)n : w->size - w->at - 1;
}

static void put_choices(struct writer *w, const struct check_finding *f)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < f->n_choices; i++) {
        uint32_t distance = i - last;
        if (f->choice[i] == CK_USUAL)
            continue;
        for (; distance > LOW; distance >>= 5)
            put(w, "%c", digits[MORE | (distance & LOW)]);
        put(w, "%c%c", digits[distance], digits[f->choice[i]]);
        last = i;
    }
}

/* Does the setting say what is so without it? */
static bool is_default(const struct ll_lock_desc *lock, const struct ll_setting *setting)
{
    void *without = ll_zeroed(lock->lock_size), *with = ll_zeroed(lock->lock_size);
    bool same = false;

    if (without && with) {
        ll_params_for_check(without, lock->params);
        ll_params_for_check(with, lock->params);
        same = !ll_params_apply(setting, 1, lock->params, with, NULL, NULL, NULL) &&
               !memcmp(without, with, lock->lock_size);
    }
    free(without);
    free(with);
    return same;
}

/* The one parameter of the lock whose name begins so, or is this; NULL: none, or several. */
static const struct ll_param *param_of(const struct ll_lock_desc *lock, const char *name)
{
    const struct ll_param *found = NULL;

    for (const struct ll_param *p = lock->params; p && p->name; p++) {
        if (!strcmp(p->name, name))
            return p;
        if (!strncmp(p->name, name, strlen(name))) {
            if (found)
                return NULL;
            found = p;
        }
    }
    return found;
}

/* Likewise of the names of its values, if it has such. */
static const char *value_of(const struct ll_param *param, const char *name)
{
    const char *found = NULL;

    for (const char *const *v = param->type == LL_PARAM_ENUM ? param->names : NULL; v && *v; v++) {
        if (!strcmp(*v, name))
            return *v;
        if (!strncmp(*v, name, strlen(name))) {
            if (found)
                return NULL;
            found = *v;
        }
    }
    return found;
}

/* name=value with as few letters as are understood. */
static void put_setting(struct writer *w, const struct ll_lock_desc *lock,
                        const struct ll_setting *s)
{
    const struct ll_param *param = param_of(lock, s->name);
    char name[64], value[64];
    size_t n = 0;

    snprintf(name, sizeof(name), "%s", s->name);
    snprintf(value, sizeof(value), "%s", s->value);
    if (param) {
        do {
            snprintf(name, sizeof(name), "%.*s", (int)++n, param->name);
        } while (param_of(lock, name) != param);
        if (value_of(param, s->value)) {
            n = 0;
            do {
                snprintf(value, sizeof(value), "%.*s", (int)++n, s->value);
            } while (value_of(param, value) != value_of(param, s->value));
        }
    }
    put(w, "%s=%s", name, value);
}

static void put_settings(struct writer *w, const struct check_plan *plan)
{
    const char *before = "";

    for (size_t i = 0; i < plan->user.n_settings; i++) {
        if (is_default(plan->lock, &plan->setting[i]))
            continue;
        put(w, "%s", before);
        put_setting(w, plan->lock, &plan->setting[i]);
        before = ",";
    }
    if (*before)
        put(w, ":");
}

void check_schedule_write(const struct check_plan *plan, struct check_finding *f)
{
    struct writer w = {f->schedule, 0, sizeof(f->schedule)};

    put(&w, "%s", plan->lock_id);
    if (strcmp(plan->client->name, check_default_client(plan->lock)))
        put(&w, "@%s", plan->client->name);
    put(&w, ":%ux%u", f->threads, f->n);
    if (plan->roles)
        put(&w, "w%u", f->split);
    if (plan->orders)
        put(&w, "o%s", f->orders);
    if (plan->user.giveups != 1)
        put(&w, "g%u", plan->user.giveups);
    if (plan->user.memory == LL_MEMORY_SC)
        put(&w, "s");
    if (plan->user.starvation)
        put(&w, "p");
    put(&w, ":%06x:", check_code_hash(plan->lock_id));
    put_settings(&w, plan);
    put_choices(&w, f);
    if (w.at + 1 >= w.size) /* too long to be one; the trace still tells it */
        f->schedule[0] = 0;
}

static int malformed(struct ll_error *err, const char *text, const char *what)
{
    return ll_fail(err, -EINVAL, "schedule", "%.80s is not a schedule: %s", text, what);
}

/* The next part up to a colon, ended by 0; NULL if there is none. */
static char *part(char **at)
{
    char *start = *at, *colon = start ? strchr(start, ':') : NULL;

    if (!colon)
        return NULL;
    *colon = 0;
    *at = colon + 1;
    return start;
}

static bool number(const char **at, uint32_t max, uint32_t *out)
{
    uint32_t v = 0;
    const char *p = *at;

    while (*p >= '0' && *p <= '9' && v <= max)
        v = v * 10 + (uint32_t)(*p++ - '0');
    if (p == *at || v > max)
        return false;
    *at = p;
    *out = v;
    return true;
}

/* Orders, as many letters as there are. */
static bool letters(const char **at, uint32_t max, char text[LL_ORDERS_TEXT])
{
    size_t n = strspn(*at, "abAB");

    if (!n || n > max)
        return false;
    memcpy(text, *at, n);
    text[n] = 0;
    *at += n;
    return true;
}

/* TxN[wW][oO][gG][s][p] */
static bool read_size(const char *text, struct ll_check_plan *plan, char orders[LL_ORDERS_TEXT])
{
    const char *at = text;

    if (!number(&at, LL_CHECK_MAX_THREADS, &plan->threads) || *at++ != 'x' ||
        !number(&at, LL_CHECK_MAX_N, &plan->n) || !plan->n)
        return false;
    if (*at == 'w' && (at++, !number(&at, plan->threads, &plan->writers)))
        return false;
    if (*at == 'o' && (at++, plan->orders = orders, !letters(&at, plan->threads, orders)))
        return false;
    if (*at == 'g' && (at++, !number(&at, 8, &plan->giveups)))
        return false;
    if (*at == 's') {
        at++;
        plan->memory = LL_MEMORY_SC;
    }
    if (*at == 'p') {
        at++;
        plan->starvation = true;
    }
    return !*at;
}

static bool read_choices(const char *text, struct check_finding *f)
{
    uint32_t at = 0;

    f->choice = malloc(CK_ALL_STEPS);
    if (!f->choice)
        return false;
    memset(f->choice, CK_USUAL, CK_ALL_STEPS);
    f->n_choices = CK_ALL_STEPS;
    while (*text) {
        uint32_t distance = 0, shift = 0;
        const char *d;
        do {
            d = *text ? strchr(digits, *text++) : NULL;
            if (!d || shift > 15)
                return false;
            distance |= ((uint32_t)(d - digits) & LOW) << shift;
            shift += 5;
        } while ((uint32_t)(d - digits) & MORE);
        d = *text ? strchr(digits, *text++) : NULL;
        at += distance;
        if (!d || at >= CK_ALL_STEPS)
            return false;
        f->choice[at] = (uint8_t)(d - digits);
    }
    return true;
}

/* What put_setting has cut, whole; what it has not stays. */
static void spell_out(const struct ll_lock_desc *lock, struct ll_setting *s)
{
    const struct ll_param *param = param_of(lock, s->name);
    const char *value = param ? value_of(param, s->value) : NULL;

    if (param)
        s->name = param->name;
    if (value)
        s->value = value;
}

/* NAME=VALUE,... into the user's settings, which point into the text or the lock's tables. */
static bool read_settings(const char *id, char *text, struct ll_setting *setting, size_t *n)
{
    const struct ll_lock_desc *lock = ll_lock_find(id, LL_VARIANT_VIRTUAL);
    char *rest = text;

    for (char *one; (one = strsep(&rest, ",")); (*n)++) {
        char *equals = strchr(one, '=');
        if (!equals || *n == CHECK_SETTINGS)
            return false;
        *equals = 0;
        setting[*n].name = one;
        setting[*n].value = equals + 1;
        if (lock)
            spell_out(lock, &setting[*n]);
    }
    return true;
}

static int read_parts(const char *whole, char *at, struct check_plan *plan, struct check_finding *f,
                      struct ll_error *err)
{
    struct ll_setting setting[CHECK_SETTINGS];
    struct ll_check_plan user;
    char *id = part(&at), *size = part(&at), *hash = part(&at), *middle = strchr(at ? at : "", ':');
    char *client = id ? strchr(id, '@') : NULL, expected[16];
    char orders[LL_ORDERS_TEXT];
    uint32_t split[CHECK_SPLITS];
    int ret;

    ll_check_plan_init(&user);
    if (!id || !size || !hash)
        return malformed(err, whole, "it has fewer than four parts between colons");
    if (client)
        *client++ = 0;
    user.lock = id;
    user.client = client;
    user.settings = setting;
    if (!read_size(size, &user, orders))
        return malformed(err, whole, "its second part does not tell threads and turns");
    if (middle && !read_settings(id, part(&at), setting, &user.n_settings))
        return malformed(err, whole, "its parameters are not name=value");
    if (!read_choices(at, f))
        return malformed(err, whole, "its last part is no list of choices");
    if ((ret = check_plan_make(plan, &user, err)))
        return ret;
    snprintf(expected, sizeof(expected), "%06x", check_code_hash(plan->lock_id));
    if (strcmp(hash, expected))
        return ll_fail(err, -EINVAL, "schedule",
                       "the schedule was made by another version of %s (code %.12s, this one is "
                       "%s): check the lock again",
                       plan->lock_id, hash, expected);
    f->threads = user.threads;
    f->n = user.n;
    check_splits(plan, split);
    f->split = split[0];
    return 0;
}

int check_schedule_read(const char *text, struct check_plan *plan, struct check_finding *f,
                        struct ll_error *err)
{
    char *copy;
    int ret;

    memset(plan, 0, sizeof(*plan));
    memset(f, 0, sizeof(*f));
    if (strlen(text) > 4096)
        return malformed(err, text, "it has more than 4096 characters");
    copy = strdup(text);
    if (!copy)
        return ll_fail(err, -ENOMEM, "", "no memory for the schedule");
    ret = read_parts(text, copy, plan, f, err);
    free(copy);
    return ret;
}
