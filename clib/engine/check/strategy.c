/* SPDX-License-Identifier: MIT */
/* strategy.c - choosing without reduction: bounded depth first, uniform, by priority, as given. */
#include "engine/check/strategy.h"

#include <errno.h>
#include <stdlib.h>

#include "core/rng.h"

int ck_default_choice(uint64_t enabled)
{
    if (enabled & CK_BIT(CK_GO(ck.running)))
        return CK_GO((int)ck.running);
    return __builtin_ctzll(enabled);
}

static void nothing(void) {}

static void nothing_at_end(enum ck_end end)
{
    LL_UNUSED(end);
}

/* ---- at most so many preemptions ---- */

struct node {                    /* a state and what was chosen in it */
    uint64_t left;               /* to be tried yet */
    uint8_t choice, preemptions; /* so far, without this choice's */
    bool may_stay;               /* the thread that ran can go on */
    uint8_t running;
};

static struct {
    struct node *node;
    uint32_t depth, fresh, bound, preemptions;
} b;

/* To choose another thread, or to let a store reach memory, while the running thread could go on. */
static uint32_t cost(const struct node *n, int choice)
{
    return n->may_stay && (ck_is_flush(choice) || ck_thread_of(choice) != n->running);
}

static void bounded_begin(void)
{
    b.depth = b.preemptions = 0;
}

static int bounded_choose(uint64_t enabled)
{
    struct node *n = &b.node[b.depth];

    if (b.depth >= b.fresh && !(b.depth == b.fresh && n->left)) {
        n->running = (uint8_t)ck.running;
        n->may_stay = enabled & CK_BIT(CK_GO(ck.running));
        n->preemptions = (uint8_t)b.preemptions;
        n->choice = (uint8_t)ck_default_choice(enabled);
        n->left = 0;
        for (uint64_t m = enabled & ~CK_BIT(n->choice); m; m &= m - 1)
            if (b.preemptions + cost(n, __builtin_ctzll(m)) <= b.bound)
                n->left |= m & -m;
    } else if (b.depth == b.fresh) {
        n->choice = (uint8_t)__builtin_ctzll(n->left);
        n->left &= n->left - 1;
    }
    b.preemptions += cost(n, n->choice);
    b.depth++;
    return n->choice;
}

const struct ck_policy ck_bounded = {
    .begin = bounded_begin, .choose = bounded_choose, .ended = nothing_at_end};

int ck_bounded_init(uint32_t bound)
{
    if (!b.node)
        b.node = malloc(CK_ALL_STEPS * sizeof(*b.node));
    if (!b.node)
        return -ENOMEM;
    b.bound = bound;
    ck_bounded_restart();
    return 0;
}

void ck_bounded_restart(void)
{
    b.fresh = b.depth = 0;
    b.node[0].left = 0;
}

bool ck_bounded_next(void)
{
    for (uint32_t i = b.depth; i-- > 0;)
        if (b.node[i].left) {
            b.fresh = i;
            return true;
        }
    return false;
}

uint64_t ck_bounded_memory(void)
{
    return CK_ALL_STEPS * sizeof(*b.node);
}

void ck_bounded_fini(void)
{
    free(b.node);
    b.node = NULL;
}

/* ---- uniform ---- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(((random_state & UINT32_MAX) * below) >> 32);
}

/* Choices of up to three threads, and nothing else: how many, and which they are. */
static const struct {
    uint8_t n, choice[3];
} few[8] = {
    {0, {0}}, {1, {0}}, {1, {1}}, {2, {0, 1}}, {1, {2}}, {2, {0, 2}}, {2, {1, 2}}, {3, {0, 1, 2}},
};

static int random_choose(uint64_t enabled)
{
    uint32_t able = 0, skip;

    if (LL_LIKELY(enabled < 8))
        return few[enabled].choice[draw(few[enabled].n)];
    if (!(enabled & (enabled - 1)))
        return __builtin_ctzll(enabled);
    for (uint64_t rest = enabled; rest;
         rest &= rest - 1) /* few: no CPU has to be asked for popcnt */
        able++;
    for (skip = draw(able); skip; skip--)
        enabled &= enabled - 1;
    return __builtin_ctzll(enabled);
}

const struct ck_policy ck_random = {
    .begin = nothing, .choose = random_choose, .ended = nothing_at_end};

void ck_random_init(uint64_t seed)
{
    random_state = ll_rng_seed(seed, 17);
}

/* ---- priorities (PCT) ---- */

/* S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, A randomized scheduler with probabilistic
 * guarantees of finding bugs, ASPLOS 2010, doi:10.1145/1736020.1736040. Buffers have a priority as
 * threads do. */
#define MAX_CHANGES 8u

static struct {
    int32_t priority[CK_ACTORS];
    uint32_t change_at[MAX_CHANGES], changes, step;
    uint32_t next_change; /* the step of the next one; UINT32_MAX: none is left */
    uint32_t length;      /* of the longest execution so far */
} p;

static void look_for_change(void)
{
    p.next_change = UINT32_MAX;
    for (uint32_t i = 0; i < p.changes; i++)
        if (p.change_at[i] > p.step && p.change_at[i] < p.next_change)
            p.next_change = p.change_at[i];
}

static void pct_begin(void)
{
    p.step = 0;
    for (uint32_t i = 0; i < CK_ACTORS; i++) { /* a random permutation */
        uint32_t j = draw(i + 1);
        p.priority[i] = p.priority[j];
        p.priority[j] = (int32_t)(i + MAX_CHANGES);
    }
    for (uint32_t i = 0; i < p.changes; i++)
        p.change_at[i] = 1 + draw(p.length);
    look_for_change();
}

static int best(uint64_t enabled)
{
    uint64_t rest = enabled;
    int found = __builtin_ctzll(enabled);

    if (LL_LIKELY(enabled < CK_BIT(CK_ACTORS))) { /* no two have the same */
        while ((rest &= rest - 1)) {
            int c = __builtin_ctzll(rest);
            found = p.priority[c] > p.priority[found] ? c : found;
        }
        return found;
    }
    for (; rest; rest &= rest - 1) {
        int c = __builtin_ctzll(rest);
        int32_t more = p.priority[ck_actor_of(c)] - p.priority[ck_actor_of(found)];
        if (more > 0 || (more == 0 && c != found && draw(4) == 0)) /* seldom gives up */
            found = c;
    }
    return found;
}

static int pct_choose(uint64_t enabled)
{
    int c = best(enabled);

    if (LL_LIKELY(++p.step != p.next_change))
        return c;
    for (uint32_t i = 0; i < p.changes; i++)
        if (p.change_at[i] == p.step) {
            p.priority[ck_actor_of(c)] = (int32_t)i; /* below all others */
            c = best(enabled);
        }
    look_for_change();
    return c;
}

static void pct_ended(enum ck_end end)
{
    LL_UNUSED(end);
    if (ck.steps > p.length)
        p.length = ck.steps;
}

const struct ck_policy ck_pct = {.begin = pct_begin, .choose = pct_choose, .ended = pct_ended};

void ck_pct_init(uint64_t seed, uint32_t changes)
{
    random_state = ll_rng_seed(seed, 18);
    p.changes = changes < MAX_CHANGES ? changes : MAX_CHANGES;
    p.length = 1;
}

/* ---- as given ---- */

static struct {
    const uint8_t *choice;
    uint8_t *sparse;
    uint32_t n, at, unfit;
} g;

static void given_begin(void)
{
    g.at = g.unfit = 0;
}

static int given_choose(uint64_t enabled)
{
    uint32_t at = g.at++;
    int usual = ck_default_choice(enabled), c = usual;

    if (at < g.n && g.choice[at] != CK_USUAL) {
        if (enabled & CK_BIT(g.choice[at]))
            c = g.choice[at];
        else
            g.unfit++;
    }
    if (g.sparse)
        g.sparse[at] = c == usual ? CK_USUAL : (uint8_t)c;
    return c;
}

uint32_t ck_given_unfit(void)
{
    uint32_t unfit = g.unfit;

    for (uint32_t i = g.at; i < g.n; i++)
        unfit += g.choice[i] != CK_USUAL;
    return unfit;
}

const struct ck_policy ck_given = {
    .begin = given_begin, .choose = given_choose, .ended = nothing_at_end};

void ck_given_init(const uint8_t *choice, uint32_t n, uint8_t *sparse)
{
    g.choice = choice;
    g.n = n;
    g.sparse = sparse;
}
