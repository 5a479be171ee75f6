/* SPDX-License-Identifier: MIT */
/* ww - transactions over two locks, each thread in its own order: none is left waiting */
#include "core/client.h"

/* What one transaction holds, 0 for A and 1 for B, in the order in which it came by them. */
struct transaction {
    struct ll_client *c;
    uint32_t thread, n;
    uint32_t held[2];
};

typedef int acquire_ww(void *lock, void *node, void *ctx, const struct ll_ww_wait *wait);

/* What the call says; a lock taken is among those held. */
LL_TEMPLATE int take(struct transaction *t, uint32_t lock, acquire_ww *acquire)
{
    static const struct ll_ww_wait for_ever = {0};
    struct ll_client *c = t->c;
    int ret;

    eng_mark(t->n ? ENG_HOLDING : ENG_ACQUIRING, false);
    ret =
        acquire(lock ? c->instance_b : c->instance,
                lock ? c->node_b[t->thread] : c->node[t->thread], c->context[t->thread], &for_ever);
    if (ret == 0)
        t->held[t->n++] = lock;
    return ret;
}

static void release_all(struct transaction *t)
{
    struct ll_client *c = t->c;

    while (t->n) {
        uint32_t lock = t->held[--t->n];
        c->lock->ops.release(lock ? c->instance_b : c->instance,
                             lock ? c->node_b[t->thread] : c->node[t->thread]);
    }
}

/* Told to back off at `lock`: afterwards that is held and nothing else. */
static int back_off(struct transaction *t, uint32_t lock)
{
    release_all(t);
    return take(t, lock, t->c->lock->ww.acquire_slow);
}

/* By a fixed list: on its way through it again a transaction passes over the lock that it has backed
 * off for. */
static int take_all(struct transaction *t, const uint32_t *list, uint32_t n)
{
    uint32_t i = 0;
    int ret = 0;

    while (i < n && ret == 0) {
        bool has_it = t->n && list[i] == t->held[0];
        ret = has_it ? 0 : take(t, list[i], t->c->lock->ww.acquire);
        if (ret == 0)
            i++;
        else if (ret == -EDEADLK && (ret = back_off(t, list[i])) == 0)
            i = 0;
    }
    return ret;
}

static void turn(struct ll_client *c, uint32_t thread)
{
    static const uint32_t list[][2] = {
        [LL_ORDER_AB] = {0, 1}, [LL_ORDER_BA] = {1, 0}, [LL_ORDER_A] = {0}, [LL_ORDER_B] = {1}};
    enum ll_order order = ll_order_of(c->orders, thread);
    struct transaction t = {.c = c, .thread = thread};

    c->lock->ww.context_init(c->context[thread], c->ww_class);
    if (take_all(&t, list[order], order <= LL_ORDER_BA ? 2 : 1))
        c->torn[thread]++;
    c->lock->ww.acquire_done(c->context[thread]);
    for (uint32_t i = 0; i < t.n; i++)
        if (t.held[i])
            eng_write(&c->second, eng_read(&c->second) + 1);
        else
            eng_write(&c->first, eng_read(&c->first) + 1);
    c->entered[thread]++;
    release_all(&t);
    c->lock->ww.context_fini(c->context[thread]);
    eng_mark(ENG_OUTSIDE, false);
}

static void body(struct ll_client *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->turns; i++)
        turn(c, thread);
}

static const char *verdict(const struct ll_client *c)
{
    uint64_t a = 0, b = 0;

    for (uint32_t i = 0; i < c->threads; i++) {
        enum ll_order order = ll_order_of(c->orders, i);
        if (c->torn[i])
            return "a call ended without the lock and did not ask to back off";
        a += order == LL_ORDER_B ? 0 : c->entered[i];
        b += order == LL_ORDER_A ? 0 : c->entered[i];
    }
    if (c->first.raw != a || c->second.raw != b)
        return "two threads were inside at once: an update was lost";
    return NULL;
}

LL_CLIENT(ww) = {
    .name = "ww",
    .summary = "each thread takes locks A and B, or one of them, in its own order, `turns` times",
    .kind = LL_KIND_WW,
    .body = body,
    .verdict = verdict,
};
