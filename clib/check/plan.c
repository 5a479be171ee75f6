/* SPDX-License-Identifier: MIT */
/* plan.c - is what the user asks for possible? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "core/registry.h"

void ll_check_plan_init(struct ll_check_plan *plan)
{
    *plan = (struct ll_check_plan){
        .size = sizeof(*plan),
        .version = LL_ABI,
        .threads = 3,
        .strategy = LL_STRATEGY_AUTO,
        .memory = LL_MEMORY_TSO,
        .bound = -1,
        .giveups = 1,
        .races = true,
        .seconds = 10,
        .seed = 1,
    };
}

static const char *lock_at(size_t i, const void *ctx)
{
    struct ll_lock_info info;

    LL_UNUSED(ctx);
    return ll_lock_get(i, &info) ? NULL : info.id;
}

static const char *client_at(size_t i, const void *ctx)
{
    struct ll_client_info info;

    LL_UNUSED(ctx);
    return ll_client_get(i, &info) ? NULL : info.id;
}

static int unknown(struct ll_error *err, const char *field, const char *name,
                   const char *(*at)(size_t i, const void *ctx))
{
    const char *near = ll_nearest(name, at, NULL);

    return ll_fail(err, -ENOENT, field, "there is no %s %.60s%s%s%s", field, name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int find_lock(struct check_plan *p, struct ll_error *err)
{
    const char *id = p->user.lock;

    if (!id || !*id)
        return ll_fail(err, -EINVAL, "lock", "a lock must be named");
    p->lock = ll_lock_find(id, LL_VARIANT_VIRTUAL);
    if (p->lock) {
        snprintf(p->lock_id, sizeof(p->lock_id), "%s", id);
        p->user.lock = p->lock_id;
        p->roles = p->lock->kind == LL_KIND_SHARED;
        return 0;
    }
    if (ll_lock_find(id, LL_VARIANT_NATIVE))
        return ll_fail(err, -ENOTSUP, "lock",
                       "%s cannot be checked: it is made of another library's code, which runs on "
                       "real threads only",
                       id);
    return unknown(err, "lock", id, lock_at);
}

const char *check_default_client(const struct ll_lock_desc *lock)
{
    switch (lock->kind) {
    case LL_KIND_SHARED: return "shared";
    case LL_KIND_WW: return "ww";
    default: return "mutex";
    }
}

static int find_client(struct check_plan *p, struct ll_error *err)
{
    const char *id = p->user.client ? p->user.client : check_default_client(p->lock);

    p->client = ll_client_find(id, LL_VARIANT_VIRTUAL);
    if (!p->client)
        return unknown(err, "client", id, client_at);
    p->user.client = p->client->name;
    if (!ll_client_applies(p->client, p->lock))
        return ll_fail(err, -ENOTSUP, "client", "%s has no %s, which the client %s needs",
                       p->lock_id,
                       p->client->needs_try     ? "try_acquire"
                       : p->client->needs_until ? "acquire_until"
                                                : "shared mode",
                       id);
    p->roles = p->client->kind == LL_KIND_SHARED;
    p->orders = p->client->kind == LL_KIND_WW;
    return 0;
}

static int judge_numbers(const struct ll_check_plan *u, struct ll_error *err)
{
    if (u->threads < 1 || u->threads > LL_CHECK_MAX_THREADS)
        return ll_fail(err, -ERANGE, "threads", "%u threads asked, 1 to %u can be checked",
                       u->threads, LL_CHECK_MAX_THREADS);
    if (u->n > LL_CHECK_MAX_N)
        return ll_fail(err, -ERANGE, "n", "%u turns asked, 1 to %u allowed (or none: it grows)",
                       u->n, LL_CHECK_MAX_N);
    if (u->writers > u->threads)
        return ll_fail(err, -ERANGE, "writers", "%u writers asked of %u threads", u->writers,
                       u->threads);
    if ((unsigned)u->strategy > LL_STRATEGY_RANDOM || (unsigned)u->memory > LL_MEMORY_SC)
        return ll_fail(err, -EINVAL, "strategy", "no such strategy or memory model");
    if (u->bound < -1 || u->bound > 100)
        return ll_fail(err, -ERANGE, "bound", "a bound of %d preemptions, 0 to 100 allowed",
                       u->bound);
    if (u->bound >= 0 && u->strategy != LL_STRATEGY_DFS && u->strategy != LL_STRATEGY_AUTO)
        return ll_fail(err, -EINVAL, "bound", "a bound on preemptions needs strategy dfs or auto");
    if (u->giveups > 8)
        return ll_fail(err, -ERANGE, "giveups", "%u give-ups asked, 0 to 8 allowed", u->giveups);
    if (!(u->seconds > 0 && u->seconds <= 1e6))
        return ll_fail(err, -ERANGE, "seconds", "%g seconds asked, more than 0 and at most 1e6",
                       u->seconds);
    if (u->n_settings > CHECK_SETTINGS)
        return ll_fail(err, -ERANGE, "params", "%zu parameters given, at most %u", u->n_settings,
                       CHECK_SETTINGS);
    return 0;
}

static int copy_settings(struct check_plan *p, const struct ll_check_plan *user)
{
    size_t bytes = 1, at = 0;

    for (size_t i = 0; i < user->n_settings; i++)
        bytes += strlen(user->settings[i].name) + strlen(user->settings[i].value) + 2;
    p->text = malloc(bytes);
    if (!p->text)
        return -ENOMEM;
    for (size_t i = 0; i < user->n_settings; i++) {
        const char *from[2] = {user->settings[i].name, user->settings[i].value};
        const char **to[2] = {&p->setting[i].name, &p->setting[i].value};
        for (int k = 0; k < 2; k++) {
            *to[k] = p->text + at;
            at += (size_t)sprintf(p->text + at, "%s", from[k]) + 1;
        }
    }
    p->user.settings = p->setting;
    return 0;
}

static int judge_orders(struct check_plan *p, struct ll_error *err)
{
    if (!p->user.orders)
        return 0;
    if (!p->orders)
        return ll_fail(err, -EINVAL, "orders", "the client %s has one lock", p->client->name);
    if (!ll_orders_read(p->user.orders, p->user.threads, &p->order))
        return ll_fail(
            err, -EINVAL, "orders",
            "orders %.20s are not %u letters, one a thread: a (A, then B), b (B, then A), "
            "A or B",
            p->user.orders, p->user.threads);
    strcpy(p->order_text, p->user.orders);
    p->user.orders = p->order_text;
    return 0;
}

int check_plan_make(struct check_plan *p, const struct ll_check_plan *user, struct ll_error *err)
{
    uint32_t split[CHECK_SPLITS];
    struct ll_program program;
    int ret;

    memset(p, 0, sizeof(*p));
    if (user->size != sizeof(*user) || user->version != LL_ABI)
        return ll_fail(err, -EINVAL, "", "the plan is of another version of the library");
    p->user = *user;
    if ((ret = find_lock(p, err)) || (ret = find_client(p, err)) ||
        (ret = judge_numbers(&p->user, err)))
        return ret;
    if (copy_settings(p, user))
        return ll_fail(err, -ENOMEM, "", "no memory for the plan");
    if (p->user.writers && !p->roles)
        return ll_fail(err, -EINVAL, "writers", "the client %s has no readers", p->client->name);
    if ((ret = judge_orders(p, err)))
        return ret;
    check_splits(p, split);
    ret = check_program(p, &program, p->user.threads, 1, split[0], err);
    if (!ret)
        ll_program_fini(&program); /* parameters and init are in order */
    return ret;
}

void check_plan_free(struct check_plan *p)
{
    free(p->text);
    p->text = NULL;
}

/* Two writers first: most of what a reader-writer lock can do wrong needs two writers and a reader. */
static uint32_t roles(uint32_t threads, uint32_t split[CHECK_SPLITS])
{
    uint32_t n = 0;

    if (threads >= 2)
        split[n++] = 2;
    for (uint32_t w = 1; w <= threads; w++)
        if (w != 2)
            split[n++] = w;
    return n;
}

/* Two threads in opposite orders; three in all that there are; of more, the others take A alone, which
 * is what the fault of publish=count in ww/wait-die needs. */
static uint32_t orders(uint32_t threads, uint32_t split[CHECK_SPLITS])
{
    uint32_t only_a = 0;

    if (threads == 3) {
        for (uint32_t i = 0; i < 8; i++)
            split[i] = (i & 1) | (i & 2) << 1 | (i & 4) << 2;
        return 8;
    }
    for (uint32_t i = 2; i < threads; i++)
        only_a |= (uint32_t)LL_ORDER_A << 2 * i;
    split[0] = only_a | (threads >= 2 ? LL_ORDER_BA << 2 : 0);
    return 1;
}

uint32_t check_splits(const struct check_plan *plan, uint32_t split[CHECK_SPLITS])
{
    if (plan->orders && !plan->user.orders)
        return orders(plan->user.threads, split);
    if (plan->roles && !plan->user.writers)
        return roles(plan->user.threads, split);
    split[0] = plan->orders ? plan->order : plan->roles ? plan->user.writers : plan->user.threads;
    return 1;
}

int check_program(const struct check_plan *plan, struct ll_program *program, uint32_t threads,
                  uint32_t n, uint32_t split, struct ll_error *err)
{
    return ll_program_init(program,
                           &(struct ll_program_spec){.lock = plan->lock,
                                                     .client = plan->client,
                                                     .threads = threads,
                                                     .turns = n,
                                                     .writers = plan->orders ? threads : split,
                                                     .orders = plan->orders ? split : 0,
                                                     .settings = plan->setting,
                                                     .n_settings = plan->user.n_settings},
                           err);
}

struct ck_options check_options(const struct check_plan *plan, enum ck_strategy strategy)
{
    bool promised = plan->lock->claims & LL_STARVATION_FREE,
         sampling = strategy == CK_RANDOM || strategy == CK_PCT;

    return (struct ck_options){
        .strategy = strategy,
        .memory = plan->user.memory,
        .giveups = plan->user.giveups,
        .races = plan->user.races,
        /* of what is promised; but it costs samples a third of their speed, and they seldom meet it */
        .starvation = plan->user.starvation || (promised && !sampling),
        .first_relax_ends = plan->client->first_relax_ends,
        .seed = plan->user.seed,
    };
}
