/* SPDX-License-Identifier: MIT */
/* program.c - lays lock, nodes and client out in one piece of memory. */
#include "check/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/params.h"

static const struct ll_field client_fields[] = {
    LL_FIELD(struct ll_client, first),
    LL_FIELD(struct ll_client, second),
    LL_FIELD(struct ll_client, baton),
    LL_FIELD(struct ll_client, bkl),
    LL_FIELD_END,
};

static const char order_letters[] = {
    [LL_ORDER_AB] = 'a', [LL_ORDER_BA] = 'b', [LL_ORDER_A] = 'A', [LL_ORDER_B] = 'B'};

bool ll_orders_read(const char *text, uint32_t threads, uint32_t *orders)
{
    *orders = 0;
    if (strlen(text) != threads || threads > LL_CLIENT_MAX_THREADS)
        return false;
    for (uint32_t i = 0; i < threads; i++) {
        const char *letter = memchr(order_letters, text[i], sizeof(order_letters));
        if (!letter)
            return false;
        *orders |= (uint32_t)(letter - order_letters) << 2 * i;
    }
    return true;
}

void ll_orders_write(uint32_t orders, uint32_t threads, char text[LL_ORDERS_TEXT])
{
    for (uint32_t i = 0; i < threads; i++)
        text[i] = order_letters[ll_order_of(orders, i)];
    text[threads] = 0;
}

bool ll_client_applies(const struct ll_client_desc *client, const struct ll_lock_desc *lock)
{
    /* every kind can be held exclusively, too */
    return (client->kind == LL_KIND_EXCLUSIVE || client->kind == lock->kind) &&
           (!client->needs_try || lock->ops.try_acquire) &&
           (!client->needs_until || lock->ops.acquire_until);
}

static void body(uint32_t thread, void *arg)
{
    struct ll_program *p = arg;

    p->desc->body(p->client, thread);
}

static const char *verdict(void *arg)
{
    struct ll_program *p = arg;

    return p->desc->verdict(p->client);
}

static uint32_t rounded(size_t size)
{
    return (uint32_t)((size + LL_PAIR - 1) / LL_PAIR * LL_PAIR);
}

/* An object of `size` bytes at the end of what is laid out so far. */
static void *place(struct ll_program *p, uint32_t *at, size_t size, const char *name,
                   const struct ll_field *fields)
{
    struct ck_object *o = &p->ck.object[p->ck.n_objects];
    char *kept = p->name[p->ck.n_objects];

    LL_ASSERT(p->ck.n_objects < CK_OBJECTS);
    p->ck.n_objects++;
    snprintf(kept, sizeof(p->name[0]), "%s", name);
    *o = (struct ck_object){.base = (char *)p->ck.memory + *at,
                            .size = (uint32_t)size,
                            .name = kept,
                            .fields = fields,
                            .judged = fields != NULL,
                            .state = fields && fields != client_fields};
    *at += rounded(size);
    return o->base;
}

static int init_lock(void *instance, const struct ll_program_spec *spec, struct ll_error *err)
{
    const struct ll_lock_desc *lock = spec->lock;
    int ret;

    ll_params_for_check(instance, lock->params);
    ret =
        ll_params_apply(spec->settings, spec->n_settings, lock->params, instance, NULL, NULL, err);
    if (!ret && lock->init && (ret = lock->init(instance, NULL)))
        ll_fail(err, ret, "lock", "%s/%s cannot be set up", lock->family, lock->name);
    return ret;
}

/* A lock with its nodes. */
static int init_instance(struct ll_program *p, void *instance, void **node,
                         const struct ll_program_spec *spec, struct ll_error *err)
{
    const struct ll_lock_desc *lock = spec->lock;
    int ret = init_lock(instance, spec, err);

    if (ret)
        return ret;
    for (uint32_t i = 0; i < p->ck.n_objects; i++)
        if (p->ck.object[i].base == instance) /* its parameters may decide */
            p->ck.object[i].fields = ll_fields_of(lock, instance);
    for (uint32_t i = 0; i < spec->threads && lock->node_init; i++)
        lock->node_init(instance, node[i]);
    return 0;
}

static void fini_instance(const struct ll_lock_desc *lock, void *instance)
{
    if (lock->fini)
        lock->fini(instance);
}

static bool two_locks(const struct ll_program_spec *spec)
{
    return spec->client->kind == LL_KIND_WW;
}

static void lay_out_one(struct ll_program *p, const struct ll_program_spec *spec, uint32_t *at)
{
    const struct ll_lock_desc *lock = spec->lock;
    char name[24];

    p->client->instance = place(p, at, lock->lock_size, "lock", lock->lock_fields);
    for (uint32_t i = 0; i < spec->threads && lock->node_size; i++) {
        snprintf(name, sizeof(name), "node of T%u", i);
        p->client->node[i] = place(p, at, lock->node_size, name, lock->node_fields);
    }
}

/* Two locks of a class, and a context for each thread. */
static void lay_out_two(struct ll_program *p, const struct ll_program_spec *spec, uint32_t *at)
{
    const struct ll_lock_desc *lock = spec->lock;
    struct ll_client *c = p->client;
    char name[24];

    c->ww_class = place(p, at, lock->class_size, "class", lock->class_fields);
    c->instance = place(p, at, lock->lock_size, "lock A", lock->lock_fields);
    c->instance_b = place(p, at, lock->lock_size, "lock B", lock->lock_fields);
    for (uint32_t i = 0; i < spec->threads; i++) {
        snprintf(name, sizeof(name), "context of T%u", i);
        c->context[i] = place(p, at, lock->context_size, name, lock->context_fields);
        snprintf(name, sizeof(name), "node A of T%u", i);
        c->node[i] = place(p, at, lock->node_size, name, lock->node_fields);
        snprintf(name, sizeof(name), "node B of T%u", i);
        c->node_b[i] = place(p, at, lock->node_size, name, lock->node_fields);
    }
}

static uint32_t locks_size(const struct ll_program_spec *spec)
{
    const struct ll_lock_desc *lock = spec->lock;
    uint32_t one = rounded(lock->lock_size) + spec->threads * rounded(lock->node_size);

    if (!two_locks(spec))
        return one;
    return 2 * one + rounded(lock->class_size) + spec->threads * rounded(lock->context_size);
}

/* Places everything, in the order in which traces are easiest to read by address. */
static void lay_out(struct ll_program *p, const struct ll_program_spec *spec)
{
    const struct ll_lock_desc *lock = spec->lock;
    uint32_t at = 0;

    p->client = place(p, &at, sizeof(struct ll_client), "client", client_fields);
    p->client->lock = lock;
    p->client->threads = spec->threads;
    p->client->turns = spec->turns;
    p->client->writers = spec->writers;
    p->client->orders = spec->orders;
    if (two_locks(spec))
        lay_out_two(p, spec, &at);
    else
        lay_out_one(p, spec, &at);
    if (spec->extra)
        p->extra = place(p, &at, spec->extra, "data", NULL);
}

int ll_program_init(struct ll_program *p, const struct ll_program_spec *spec, struct ll_error *err)
{
    const struct ll_lock_desc *lock = spec->lock;
    int ret;

    LL_ASSERT(spec->threads >= 1 && spec->threads <= CK_THREADS);
    memset(p, 0, sizeof(*p));
    p->desc = spec->client;
    p->ck.memory_size = rounded(sizeof(struct ll_client)) + locks_size(spec) + rounded(spec->extra);
    p->ck.memory = ll_zeroed(p->ck.memory_size);
    if (!p->ck.memory)
        return ll_fail(err, -ENOMEM, "", "no memory for a lock under the checker");
    lay_out(p, spec);
    if ((ret = init_instance(p, p->client->instance, p->client->node, spec, err)))
        goto fail;
    if (two_locks(spec) &&
        (ret = init_instance(p, p->client->instance_b, p->client->node_b, spec, err))) {
        fini_instance(lock, p->client->instance);
        goto fail;
    }
    p->ck.threads = spec->threads;
    p->ck.bkl = &p->client->bkl;
    p->ck.body = body;
    p->ck.verdict = spec->client->verdict ? verdict : NULL;
    p->ck.arg = p;
    p->ck.claims = lock->claims;
    p->ck.writers = lock->kind == LL_KIND_SHARED ? spec->writers : 0;
    return 0;
fail:
    free(p->ck.memory);
    memset(p, 0, sizeof(*p));
    return ret;
}

void ll_program_fini(struct ll_program *p)
{
    if (p->client) {
        fini_instance(p->client->lock, p->client->instance);
        if (p->client->instance_b)
            fini_instance(p->client->lock, p->client->instance_b);
    }
    free(p->ck.memory);
    memset(p, 0, sizeof(*p));
}
