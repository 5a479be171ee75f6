/* SPDX-License-Identifier: MIT */
/* dpor.c - depth first with source sets and sleep sets.
 *
 * Two operations depend on each other if they touch a cell in common and one writes it. Executions
 * that differ only in the order of independent operations are equivalent; exactly one complete
 * execution of each class is run, never two (sleep sets), never none (source sets: for every race
 * that an execution shows, some thread that can begin the reversed order is tried before the first
 * of the two). P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas, Optimal dynamic partial order reduction,
 * POPL 2014, doi:10.1145/2535838.2535845.
 *
 * What is particular here:
 *
 * - A wait is one operation that can happen only while its condition holds. Its race with the last
 *   write is no race if the condition did not hold before that write; then the write before is looked
 *   at, and so on. A wait that is still pending when an execution ends takes part as well, else the
 *   wait that would have been let through in time is never seen. Waits on several words, and those
 *   that can be given up, take no chances: everything is tried before each write that matters to them.
 *
 * - A store buffer is an actor of its own. A load that takes its value from its own thread's store
 *   is not ordered with that store's way to memory, nor with what others wrote before it; it is
 *   ordered before what others write after it. So executions are counted by program order, reads-from
 *   and coherence, and a program that TSO cannot tell from SC has the same number under both.
 */
#include "engine/check/strategy.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/check/memory.h"

struct event { /* and the state before it */
    ck_clock clock;
    uint64_t enabled, backtrack, sleep, done;
    uint8_t choice, actor;
    bool write;
    uint8_t n; /* cells, of a write */
    uint16_t cell[CK_WRITE_CELLS];
    int32_t previous[CK_WRITE_CELLS];  /* the write of that cell before this one */
    uint64_t old_bits[CK_WRITE_CELLS]; /* what the cell held before, as an integer */
};

static struct {
    struct event *event;
    ck_clock clock[CK_ACTORS]; /* of what the actor did last */
    uint32_t depth;            /* events so far */
    uint32_t fresh;            /* events before this one are a repetition */
    uint64_t next_sleep;       /* of the state after the event under way */
    bool wait;                 /* the event under way is a wait */
    bool single;               /* ... on one cell, which cannot be given up */
    struct eng_term term;      /* ... until this holds */
} d;

static uint32_t index_of(const struct event *e)
{
    return (uint32_t)e->clock[e->actor];
}

/* `e` is ordered before whatever has this clock. */
static bool before(const struct event *e, const ck_clock *clock)
{
    return (uint32_t)(*clock)[e->actor] >= index_of(e);
}

/* ---- reversing ---- */

/* With a thread, all the ways in which it can go on. */
static void try_before(struct event *e, uint64_t choices)
{
    uint64_t all = choices;

    for (uint32_t t = 0; t < ck.program->threads; t++)
        if (choices & CK_THREAD_MASK(t))
            all |= CK_THREAD_MASK(t) & e->enabled;
    e->backtrack |= all & e->enabled;
    if (!(choices & e->enabled)) /* cannot be; but then nothing may be missed */
        e->backtrack |= e->enabled;
}

/* Sees to it that before event i something is tried that can begin the events after i which do not
 * depend on it, followed by the one with `choice` and `clock`. */
static void reverse(uint32_t i, int choice, const ck_clock *clock)
{
    struct event *e = &d.event[i];
    uint32_t actor = ck_actor_of(choice), first[CK_ACTORS], in = 0;
    uint64_t initials = 0;

    for (uint32_t j = i + 1; j <= d.depth; j++) {
        bool last = j == d.depth;
        const struct event *v = &d.event[j];
        const ck_clock *c = last ? clock : &v->clock;
        uint32_t a = last ? actor : v->actor;
        bool initial = !(in & 1u << a);
        if (!last && before(e, &v->clock))
            continue;
        for (uint32_t rest = in; rest && initial; rest &= rest - 1) {
            uint32_t b = (uint32_t)__builtin_ctz(rest);
            initial = (uint32_t)(*c)[b] < first[b];
        }
        if (initial)
            initials |= CK_BIT(last ? choice : v->choice);
        if (!(in & 1u << a)) {
            in |= 1u << a;
            first[a] = (uint32_t)(*c)[a];
        }
    }
    if (initials & (e->backtrack | e->done | e->sleep))
        return;
    try_before(e, initials & CK_BIT(choice) ? CK_BIT(choice) : initials & -initials);
}

/* ---- waits ---- */

static bool held_before(const struct event *w, uint16_t cell)
{
    for (uint32_t k = 0; k < w->n; k++)
        if (w->cell[k] == cell)
            return eng_term_holds(&d.term, w->old_bits[k]);
    return false;
}

static int32_t write_before(const struct event *w, uint16_t cell)
{
    for (uint32_t k = 0; k < w->n; k++)
        if (w->cell[k] == cell)
            return w->previous[k];
    return -1;
}

/* In some order of these events the thread comes to its wait too early, and waits. */
static void could_have_waited(struct eng_thread *t)
{
    if (t->waited)
        return;
    t->waited = true;
    ck.report->waits++;
    if (t->op.site)
        t->op.site->use->blocked++;
}

/* The wait `choice` with these cells, of a thread whose last event has clock `previous`. */
static void wait_races(int choice, const struct ck_foot *foot, const ck_clock *previous)
{
    uint32_t own = CK_FLUSH(ck_thread_of(choice));

    for (uint32_t k = 0; k < foot->n; k++) {
        uint16_t cell = foot->cell[k];
        int32_t w = ck_cell(cell)->last_write;
        while (w >= 0) {
            struct event *e = &d.event[w];
            if (e->actor == own || before(e, previous))
                break;
            could_have_waited(&ck.thread[ck_thread_of(choice)]);
            if (!d.single) {
                e->backtrack |= e->enabled;
            } else if (held_before(e, cell)) {
                ck_clock mine = *previous;
                mine[ck_actor_of(choice)]++;
                reverse((uint32_t)w, choice, &mine);
                break;
            }
            w = write_before(e, cell);
        }
    }
}

/* Sets d.wait, d.single and d.term for the pending operation of t. */
static void look_at_wait(struct eng_thread *t, const struct ck_foot *foot, bool giving_up)
{
    const struct ck_op *op = &t->op;

    d.wait = op->kind == CK_AWAIT || op->kind == CK_RELAX || op->kind == CK_PARK;
    d.single = !giving_up && foot->n == 1 && !op->reasons;
    if (op->kind == CK_AWAIT && op->n_terms == 1)
        d.term = op->term[0];
    else if (op->kind == CK_PARK)
        d.term = (struct eng_term){.test = ENG_EQ, .operand = 1, .width = 4};
    else if (op->kind == CK_RELAX && t->n_read == 1 && !t->asked && !t->read_overflow)
        d.term = (struct eng_term){.test = ENG_NE, .operand = t->read[0].value};
    else
        d.single = false;
}

/* All terms: a later one may have held before. */
static void whole_await(const struct eng_thread *t, struct ck_foot *whole)
{
    const struct ck_op *op = &t->op;

    if (op->kind != CK_AWAIT || op->n_terms == 1)
        return;
    whole->n = 0;
    for (uint32_t i = 0; i < op->n_terms; i++)
        whole->n += ck_cells(op->term[i].addr, op->term[i].width, whole->cell + whole->n);
}

static void pending_waits(void)
{
    for (uint32_t i = 0; i < ck.program->threads; i++) {
        struct eng_thread *t = &ck.thread[i];
        struct ck_foot foot;
        if (!(ck.waiting & 1u << i))
            continue;
        ck_footprint(CK_GO(i), &foot);
        look_at_wait(t, &foot, false);
        if (d.wait)
            wait_races(CK_GO(i), &foot, &d.clock[i]);
    }
}

/* ---- what happened ---- */

static bool drains(const struct eng_thread *t)
{
    switch (t->op.kind) {
    case CK_ACCESS: return t->op.access->kind != VT_LOAD && t->op.access->kind != VT_STORE;
    case CK_UNPARK:
    case CK_PARK:
    case CK_FREE:
    case CK_FENCE: return true;
    default: return false;
    }
}

/* The events that this one comes after because of a cell. */
static uint32_t conflicts(uint32_t actor, const struct ck_foot *foot, uint32_t *out)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < foot->n; k++) {
        const struct ck_cell *c = ck_cell(foot->cell[k]);
        bool own_store = c->last_write >= 0 && actor < CK_THREADS && !foot->write &&
                         d.event[c->last_write].actor == CK_FLUSH(actor);
        if (c->last_write >= 0 && !own_store)
            out[n++] = (uint32_t)c->last_write;
        for (uint32_t r = foot->write ? c->readers : 0; r; r &= r - 1)
            out[n++] = (uint32_t)c->last_read[__builtin_ctz(r)];
    }
    return n;
}

/* Races of the event under way with those in `with`. */
static void races(int choice, const ck_clock *previous, const ck_clock *clock, const uint32_t *with,
                  uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const struct event *e = &d.event[with[k]];
        bool immediate = !before(e, previous);
        if (e->actor == ck_actor_of(choice))
            continue;
        for (uint32_t m = 0; m < n && immediate; m++)
            if (with[m] != with[k] && before(e, &d.event[with[m]].clock))
                immediate = false;
        if (immediate)
            reverse(with[k], choice, clock);
    }
}

static void touch_cells(struct event *e, const struct ck_foot *foot, const struct ck_store *store)
{
    e->write = foot->write;
    e->n = foot->write ? (uint8_t)foot->n : 0;
    for (uint32_t k = 0; k < foot->n; k++) {
        struct ck_cell *c = ck_cell(foot->cell[k]);
        if (!foot->write) {
            c->readers |= 1u << e->actor;
            c->last_read[e->actor] = (int32_t)d.depth;
            continue;
        }
        e->cell[k] = foot->cell[k];
        e->previous[k] = c->last_write;
        e->old_bits[k] = ck_cell_bits(foot->cell[k]);
        c->last_write = (int32_t)d.depth;
        c->readers = 0;
        if (store &&
            store->read_by >= 0) { /* what others write from now on comes after that load */
            uint32_t t = ck_thread_of(e->choice);
            c->readers = 1u << t;
            c->last_read[t] = store->read_by;
        }
    }
}

static void happened(int choice, const struct ck_foot *foot, const struct ck_store *store)
{
    struct eng_thread *t = &ck.thread[ck_thread_of(choice)];
    uint32_t actor = ck_actor_of(choice), with[CK_FOOT_CELLS * 4], n;
    ck_clock previous, clock;
    struct event *e;

    if (ck.fair)
        return;
    e = &d.event[d.depth];
    previous = d.clock[actor];
    if (store)
        ck_clock_join(&previous, &store->clock);
    else if (drains(t))
        ck_clock_join(&previous, &d.clock[CK_FLUSH(actor)]);
    clock = previous;
    n = conflicts(actor, foot, with);
    for (uint32_t k = 0; k < n; k++)
        ck_clock_join(&clock, &d.event[with[k]].clock);
    clock[actor] = (int16_t)(previous[actor] + 1);
    if (d.depth >= d.fresh) {
        d.wait = false;
        if (!store)
            look_at_wait(t, foot, choice >= (int)CK_ACTORS);
        if (d.wait) {
            struct ck_foot whole = *foot;
            whole_await(t, &whole);
            wait_races(choice, &whole, &previous);
        } else {
            races(choice, &previous, &clock, with, n);
        }
    }
    e->actor = (uint8_t)actor;
    e->clock = d.clock[actor] = clock;
    touch_cells(e, foot, store);
    d.depth++;
}

/* ---- choosing ---- */

/* Which of `asleep` stay so after `choice`. */
static uint64_t still_asleep(uint64_t asleep, int choice)
{
    struct ck_foot mine, other;
    uint64_t stay = 0;

    if (!asleep)
        return 0;
    ck_footprint(choice, &mine);
    for (; asleep; asleep &= asleep - 1) {
        int c = __builtin_ctzll(asleep);
        if (ck_thread_of(c) == ck_thread_of(choice)) {
            /* a thread and its own buffer: both orders end the same way */
            if (ck_is_flush(c) != ck_is_flush(choice))
                stay |= CK_BIT(c);
            continue;
        }
        ck_footprint(c, &other);
        if (ck_independent(&mine, &other))
            stay |= CK_BIT(c);
    }
    return stay;
}

/* Stay with the thread that runs: what is shown first has few switches. */
static int prefer(uint64_t choices)
{
    if (choices & CK_BIT(CK_GO(ck.running)))
        return CK_GO((int)ck.running);
    return __builtin_ctzll(choices);
}

static int choose(uint64_t enabled)
{
    struct event *e = &d.event[d.depth];

    if (d.depth > d.fresh || (d.depth == 0 && d.fresh == 0 && !e->backtrack)) {
        uint64_t able;
        e->enabled = enabled;
        e->sleep = d.next_sleep;
        e->done = 0;
        able = enabled & ~e->sleep;
        if (!able)
            return -1;
        e->choice = (uint8_t)prefer(able);
        e->backtrack = 0;
        try_before(e, CK_BIT(e->choice));
    }
    if (d.depth >= d.fresh)
        d.next_sleep = still_asleep((e->sleep | e->done) & ~CK_BIT(e->choice), e->choice);
    return e->choice;
}

static void begin(void)
{
    d.depth = 0;
    d.next_sleep = 0;
    memset(d.clock, 0, sizeof(d.clock));
}

static void ended(enum ck_end end)
{
    LL_UNUSED(end);
    if (!ck.fair)
        pending_waits();
}

static const ck_clock *thread_clock(uint32_t thread)
{
    return &d.clock[thread];
}

const struct ck_policy ck_dpor = {
    .begin = begin,
    .choose = choose,
    .happened = happened,
    .clock = thread_clock,
    .ended = ended,
};

int ck_dpor_init(void)
{
    if (!d.event)
        d.event = aligned_alloc(64, (CK_ALL_STEPS * sizeof(*d.event) + 63) / 64 * 64);
    if (!d.event)
        return -ENOMEM;
    ck_dpor_restart();
    return 0;
}

void ck_dpor_restart(void)
{
    d.fresh = d.depth = 0;
    d.event[0].backtrack = 0;
}

/* Turns to the next execution: the deepest state at which something is left to be tried. */
bool ck_dpor_next(void)
{
    for (uint32_t i = d.depth; i-- > 0;) {
        struct event *e = &d.event[i];
        uint64_t left;
        e->done |= CK_BIT(e->choice);
        left = e->backtrack & ~e->done & ~e->sleep & e->enabled;
        if (left) {
            e->choice = (uint8_t)__builtin_ctzll(left);
            d.fresh = i;
            return true;
        }
    }
    return false;
}

uint64_t ck_dpor_memory(void)
{
    return CK_ALL_STEPS * sizeof(*d.event);
}

void ck_dpor_fini(void)
{
    free(d.event);
    d.event = NULL;
}
