/* SPDX-License-Identifier: MIT */
/* test_ww.c - ww/wait-die and ww/wound-wait in one thread: what calls return, injection and its cost. */
#include <math.h>
#include <string.h>

#include "expect.h"
#include "lock_box.h"
#include "locks/ww/inject_tmpl.h"

#define LOCKS 2046u

static const struct ll_ww_wait for_ever = {0};

static struct stage {
    const struct ll_lock_desc *desc;
    struct ww *lock[LOCKS];
    void *node[LOCKS];
    struct ww_class *class;
    struct ww_context *ctx;
    uint32_t calls, injected;
} s;

static void *made(const struct ll_lock_desc *desc, uint32_t inject)
{
    struct ww *l = box_memory(desc->lock_size);

    ll_params_default(l, desc->params);
    l->inject = inject;
    LL_ASSERT(desc->init(l, NULL) == 0);
    return l;
}

static void raise_curtain(const char *id, uint32_t locks, uint32_t inject)
{
    s = (struct stage){.desc = ll_lock_find(id, LL_VARIANT_NATIVE)};
    LL_ASSERT(s.desc);
    s.class = box_memory(s.desc->class_size);
    s.ctx = box_memory(s.desc->context_size);
    for (uint32_t i = 0; i < locks; i++) {
        s.lock[i] = made(s.desc, inject);
        s.node[i] = box_memory(s.desc->node_size);
    }
}

static void drop_curtain(void)
{
    for (uint32_t i = 0; i < LOCKS && s.lock[i]; i++) {
        free(s.lock[i]);
        free(s.node[i]);
    }
    free(s.class);
    free(s.ctx);
}

static int take(uint32_t i)
{
    s.calls++;
    return s.desc->ww.acquire(s.lock[i], s.node[i], s.ctx, &for_ever);
}

static int take_slow(uint32_t i)
{
    s.calls++;
    return s.desc->ww.acquire_slow(s.lock[i], s.node[i], s.ctx, &for_ever);
}

static void give(uint32_t i)
{
    s.desc->ops.release(s.lock[i], s.node[i]);
}

/* A context whose stamp is 16 + phase. */
static void begin(uint32_t phase)
{
    s.class->stamp.raw = 15 + phase;
    s.desc->ww.context_init(s.ctx, s.class);
}

/* A whole transaction over the first n locks, in order (protocol P1), as told to back off. */
static void transact(uint32_t n)
{
    uint32_t slow = UINT32_MAX, i = 0;

    while (i < n) {
        int ret = i == slow ? 0 : take(i);
        if (ret == 0) {
            i++;
            continue;
        }
        LL_ASSERT(ret == -EDEADLK);
        s.injected++;
        for (uint32_t k = 0; k < n; k++)
            if (k < i || k == slow)
                give(k);
        LL_ASSERT(s.ctx->acquired.raw == 0 && s.ctx->contending_lock == s.lock[i]);
        LL_ASSERT(take_slow(i) == 0);
        slow = i;
        i = 0;
    }
    LL_ASSERT(s.ctx->acquired.raw == n);
    for (uint32_t k = 0; k < n; k++)
        give(k);
}

/* ---- what calls return ---- */

static void answers(const char *id)
{
    raise_curtain(id, 2, WW_INJECT_OFF);
    begin(0);
    EXPECT(take(0) == 0 && take(1) == 0, "%s: a free lock is refused", id);
    EXPECT(take(0) == -EALREADY && s.ctx->acquired.raw == 2, "%s: taken twice", id);
    EXPECT(!s.desc->ops.try_acquire(s.lock[0], s.node[0]), "%s: try takes a held lock", id);
    EXPECT(s.lock[0]->base.extra->raw == s.ctx, "%s: the holder's context is not there", id);
    give(0);
    EXPECT(s.ctx->acquired.raw == 1 && !s.lock[0]->base.extra->raw, "%s: not given back", id);
    s.desc->ops.acquire(s.lock[0], s.node[0]);
    EXPECT(!s.lock[0]->base.extra->raw, "%s: a plain holder has a context", id);
    give(0);
    EXPECT(s.desc->ops.try_acquire(s.lock[0], s.node[0]) && s.ctx->acquired.raw == 1,
           "%s: try counts as the context's", id);
    give(0);
    give(1);
    s.class->stamp.raw += 3;
    EXPECT(s.desc->ww.age(s.ctx) == 3, "%s: age", id);
    drop_curtain();
}

static void ages(void)
{
    static struct ww_context c[2];
    static const struct {
        uint64_t a, b;
        bool younger;
    } want[] = {{2, 1, true},           {1, 2, false},        {0, UINT64_MAX, true},
                {UINT64_MAX, 0, false}, {INT64_MAX, 0, true}, {(uint64_t)INT64_MAX + 1, 0, false},
                {5, 5, false}};

    for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        c[0].stamp.raw = want[i].a;
        c[1].stamp.raw = want[i].b;
        EXPECT(ww_younger(&c[0], &c[1]) == want[i].younger, "case %u of ages", i);
    }
    EXPECT(ww_younger(&c[1], &c[0]), "of the same stamp the higher address is not the younger");
}

/* ---- injection ---- */

static void intervals(void)
{
    static const uint32_t want[] = {3,         10,         35,         122,       427,
                                    1494,      5229,       18301,      64053,     224185,
                                    784647,    2746264,    9611924,    33641734,  117746069,
                                    412111241, 1442389343, UINT32_MAX, UINT32_MAX};
    uint32_t interval = 1;

    for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        interval = ww_next_interval(interval);
        EXPECT(interval == want[i], "interval %u is %u", i, interval);
    }
}

/* Which eligible acquisitions are taken back: c0 + 1, and from there on by the intervals, the last of
 * which are waited out by turning the countdown forward. */
static void positions(const char *id)
{
    raise_curtain(id, 2, WW_INJECT_BACKOFF);
    for (uint32_t phase = 0; phase < 16; phase++) {
        uint32_t next = phase + 1, interval = 1, number = 1;
        begin(phase);
        LL_ASSERT(take(0) == 0);
        for (; number <= 2200; number++) {
            bool told = take(1) == -EDEADLK;
            EXPECT(told == (number == next), "%s: phase %u, acquisition %u", id, phase, number);
            if (!told) {
                give(1);
                continue;
            }
            EXPECT(!s.lock[1]->base.extra->raw && s.lock[1]->base.count.raw == 1,
                   "%s: the lock taken back is not free", id);
            interval = ww_next_interval(interval);
            next += interval + 1;
        }
        for (int i = 0; i < 16; i++) {
            s.ctx->inject_countdown = 0;
            LL_ASSERT(take(1) == -EDEADLK);
            interval = ww_next_interval(interval);
            EXPECT(s.ctx->inject_countdown == interval, "%s: phase %u, interval %u", id, phase,
                   s.ctx->inject_countdown);
        }
        EXPECT(interval == UINT32_MAX, "%s: phase %u ends at %u", id, phase, interval);
        give(0);
    }
    drop_curtain();
}

/* The number of calls of a transaction over n locks, for every n and phase. */
static void costs(const char *id)
{
    double worst_mean = 0, worst = 0, last_mean = 0;
    uint32_t worst_mean_n = 0, worst_n = 0, most = 0;

    raise_curtain(id, LOCKS, WW_INJECT_BACKOFF);
    for (uint32_t n = 1; n <= LOCKS; n++) {
        uint64_t sum = 0;
        for (uint32_t phase = 0; phase < 16; phase++) {
            s.calls = s.injected = 0;
            begin(phase);
            transact(n);
            sum += s.calls;
            if ((double)s.calls / n > worst) {
                worst = (double)s.calls / n;
                worst_n = n;
            }
            if (s.injected > most)
                most = s.injected;
        }
        last_mean = (double)sum / 16 / n;
        if (last_mean > worst_mean) {
            worst_mean = last_mean;
            worst_mean_n = n;
        }
    }
    printf("%s: at most %u injections; mean %.4f N at N=%u, worst %.4f N at N=%u; %.2f N at %u\n",
           id, most, worst_mean, worst_mean_n, worst, worst_n, last_mean, LOCKS);
    EXPECT(most <= 7, "%s: %u injections", id, most);
    EXPECT(worst_mean <= 2.72 && worst_mean_n == 37, "%s: mean %g N", id, worst_mean);
    EXPECT(worst <= 3.42 && worst_n == 12, "%s: worst %g N", id, worst);
    EXPECT(fabs(last_mean - 2.03) < 0.005, "%s: %g N in the end", id, last_mean);
    drop_curtain();
}

/* Against the expectation, N - 1 acquisitions being eligible. */
static void by_chance(double p, uint32_t n, uint32_t times)
{
    double a = pow(1 - p, -(double)(n - 1)), want = a + (a - 1) / p, seen;

    raise_curtain("ww/wait-die", n, WW_INJECT_FIXED);
    for (uint32_t i = 0; i < n; i++)
        s.lock[i]->inject_p = p;
    for (uint32_t i = 0; i < times; i++) {
        begin(0);
        transact(n);
    }
    seen = (double)s.calls / times;
    printf("fixed(%g), N=%u: %.1f calls, %.1f expected\n", p, n, seen, want);
    /* a transaction's number of calls spreads about as far as its mean */
    EXPECT(fabs(seen - want) < 6 * want / sqrt(times), "%g calls, %g expected", seen, want);
    drop_curtain();
}

static void capped(void)
{
    raise_curtain("ww/wait-die", 2, WW_INJECT_FIXED);
    s.lock[0]->inject_p = s.lock[1]->inject_p = 1;
    s.lock[0]->inject_cap = s.lock[1]->inject_cap = 5;
    begin(0);
    transact(2);
    EXPECT(s.injected == 5, "%u back-offs under a cap of 5", s.injected);
    drop_curtain();
}

/* inject_min_acquired=1, as first merged: the call after backing off comes back without the lock. */
static void slow_unheld(void)
{
    const struct ll_ww_wait interruptible = {.interruptible = true};
    uint64_t *unheld = &eng_native_self->events[LL_EV_ww_slow_unheld];

    raise_curtain("ww/wait-die", 1, WW_INJECT_FIXED);
    s.lock[0]->inject_p = 1;
    s.lock[0]->inject_min_acquired = 1;
    begin(0);
    *unheld = 0;
    EXPECT(take(0) == -EDEADLK, "the first lock of a context is not refused");
    EXPECT(take_slow(0) == 0 && s.lock[0]->base.count.raw == 1 && *unheld == 1,
           "acquire_slow is no longer at fault");
    EXPECT(s.desc->ww.acquire_slow(s.lock[0], s.node[0], s.ctx, &interruptible) == -EDEADLK,
           "its interruptible form does not tell");
    drop_curtain();
}

int main(void)
{
    static const char *const ids[] = {"ww/wait-die", "ww/wound-wait"};

    LL_ASSERT(eng_native_attach(0, 1));
    ages();
    intervals();
    for (unsigned i = 0; i < 2; i++) {
        answers(ids[i]);
        positions(ids[i]);
    }
    costs("ww/wait-die");
    by_chance(0.1, 16, 20000);
    by_chance(0.1, 32, 4000);
    by_chance(0.3, 16, 1000);
    capped();
    slow_unheld();
    eng_native_detach();
    DONE();
}
