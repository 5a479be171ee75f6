/* SPDX-License-Identifier: MIT */
/* virtual.c - the minimal virtual engine: two simple policies over fibers. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/rng.h"
#include "engine/fiber.h"
#include "engine/virtual.h"

#define STACK_BYTES (128u * 1024u)

enum fiber_state { READY, WAITING, PARKED, ENDED };

struct eng_thread { /* a fiber, as locks see it */
    struct fiber fiber;
    unsigned index;
    enum fiber_state state;
    /* WAITING */
    struct eng_term terms[4];
    unsigned n_terms;
    struct eng_giveup giveup;
    uint32_t rounds;
    /* PARKED */
    uint64_t park_deadline;
    bool permit, cancelled, resched;
    int preempt_off, irq_off;
    bool at_doorway;             /* the next access is the marked one */
    uint64_t doorway;            /* ticket of the last doorway passed; 0: not in line */
    const struct eng_site *site; /* of the operation under way */
};

struct object {
    const char *base;
    size_t size;
    const char *name;
    const struct ll_field *fields;
};

static struct {
    struct eng_thread *fiber[VT_MAX_FIBERS];
    struct eng_thread *current;
    struct fiber scheduler;
    const struct vt_options *options;
    struct vt_report *report;
    struct object object[VT_MAX_OBJECTS];
    unsigned n_objects;
    uint64_t now, random_state, policy_state, doorways;
    unsigned turn;
} vt;

static void to_scheduler(void)
{
    fiber_switch(&vt.current->fiber, &vt.scheduler, vt.current->state == ENDED);
}

static void to_fiber(struct eng_thread *f)
{
    vt.current = f;
    vt.report->switches++;
    fiber_switch(&vt.scheduler, &f->fiber, false);
    vt.current = NULL;
}

static void fiber_main(void *arg)
{
    struct eng_thread *f = arg;

    vt.options->body(f->index, vt.options->arg);
    f->state = ENDED;
    to_scheduler();
}

/* ---- who goes on ---- */

static uint64_t load_bits(const void *addr, unsigned width)
{
    uint64_t v = 0;

    memcpy(&v, addr, width); /* little endian, as everything here */
    return v;
}

static int holding_term(const struct eng_term *terms, unsigned n, uint64_t *seen)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t v = load_bits(terms[i].addr, terms[i].width);
        if (eng_term_holds(&terms[i], v)) {
            if (seen)
                *seen = v;
            return (int)i;
        }
    }
    return -1;
}

/* 0 or the reason, in the documented order. Rounds are not counted while asleep, so a budget is
 * spent when the scheduler has offered the fiber that many turns. */
static int giveup_reason(struct eng_thread *f)
{
    const struct eng_giveup *g = &f->giveup;

    if (g->deadline_ns && vt.now >= g->deadline_ns)
        return ENG_GAVE_UP_DEADLINE;
    if (g->budget && f->rounds >= g->budget)
        return ENG_GAVE_UP_BUDGET;
    if (g->resched && f->resched)
        return ENG_GAVE_UP_RESCHED;
    if (g->owner && !vt_on_cpu(g->owner))
        return ENG_GAVE_UP_OWNER;
    if (g->cancel && f->cancelled)
        return ENG_GAVE_UP_CANCEL;
    return 0;
}

static bool can_go_on(struct eng_thread *f)
{
    switch (f->state) {
    case READY: return true;
    case WAITING:
        f->rounds++;
        return holding_term(f->terms, f->n_terms, NULL) >= 0 || giveup_reason(f);
    case PARKED:
        return f->permit || f->cancelled || (f->park_deadline && vt.now >= f->park_deadline);
    case ENDED: break;
    }
    return false;
}

static unsigned draw(unsigned below)
{
    vt.policy_state = vt.policy_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)((vt.policy_state >> 33) % below);
}

static struct eng_thread *choose(void)
{
    unsigned n = vt.options->fibers, able = 0;
    struct eng_thread *list[VT_MAX_FIBERS];

    for (unsigned k = 0; k < n; k++) {
        struct eng_thread *f = vt.fiber[(vt.turn + k) % n];
        if (can_go_on(f))
            list[able++] = f;
    }
    if (!able)
        return NULL;
    if (vt.options->policy == VT_SEEDED)
        return list[draw(able)];
    vt.turn = list[0]->index + 1;
    return list[0];
}

/* Nobody can go on: if somebody waits for a moment, time passes until then. */
static bool jump_to_deadline(void)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < vt.options->fibers; i++) {
        const struct eng_thread *f = vt.fiber[i];
        uint64_t d = f->state == PARKED    ? f->park_deadline
                     : f->state == WAITING ? f->giveup.deadline_ns
                                           : 0;
        if (d && d < next)
            next = d;
    }
    if (next == UINT64_MAX)
        return false;
    vt.now = next;
    return true;
}

static void describe_stuck(void)
{
    struct vt_report *r = vt.report;
    size_t at = 0;

    for (unsigned i = 0; i < vt.options->fibers && at < sizeof(r->text); i++) {
        const struct eng_thread *f = vt.fiber[i];
        if (f->state != ENDED)
            at += (size_t)snprintf(r->text + at, sizeof(r->text) - at, "%sT%u %s at %s:%u (%s)",
                                   at ? "; " : "", i, f->state == PARKED ? "sleeps" : "waits",
                                   f->site ? f->site->file : "?", f->site ? f->site->line : 0,
                                   f->site ? f->site->expr : "?");
    }
}

/* A scheduling point: the operation at `site` comes next, somebody else may come first. */
static struct eng_thread *point(const struct eng_site *site)
{
    vt.current->site = site;
    vt.report->operations++;
    vt.now++;
    if (vt.options->resched_one_in && draw(vt.options->resched_one_in) == 0)
        vt.fiber[draw(vt.options->fibers)]->resched = true;
    to_scheduler();
    return vt.current;
}

/* ---- accesses ---- */

static void check_covered(const struct vt_access *a)
{
    const char *addr = a->addr;

    for (unsigned i = 0; i < vt.n_objects; i++) {
        const struct object *o = &vt.object[i];
        size_t offset = (size_t)(addr - o->base);
        if (addr < o->base || addr >= o->base + o->size)
            continue;
        for (size_t b = offset; b < offset + a->width; b++) {
            const struct ll_field *f = o->fields;
            while (f && f->name && !(b >= f->offset && b < (size_t)f->offset + f->size))
                f++;
            if (f && f->name)
                continue;
            if (!vt.report->uncovered++)
                snprintf(vt.report->text, sizeof(vt.report->text),
                         "byte %zu of %s has no field, accessed at %s:%u (%s)", b, o->name,
                         a->site->file, a->site->line, a->site->expr);
            return;
        }
        return;
    }
}

uint64_t vt_access(const struct vt_access *a)
{
    uint64_t old, new = a->value;
    bool writes = true;

    point(a->site);
    check_covered(a);
    old = load_bits(a->addr, a->width);
    switch (a->kind) {
    case VT_LOAD:
    case VT_READ: writes = false; break;
    case VT_STORE:
    case VT_WRITE:
    case VT_xchg: break;
    case VT_add: new = old + a->value; break;
    case VT_sub: new = old - a->value; break;
    case VT_or: new = old | a->value; break;
    case VT_and: new = old & a->value; break;
    case VT_CAS: writes = old == a->expected; break;
    }
    if (writes)
        memcpy(a->addr, &new, a->width);
    if (vt.current->at_doorway) {
        vt.current->at_doorway = false;
        if (writes) /* a failed CAS has not stood in line */
            vt.current->doorway = ++vt.doorways;
    }
    return old;
}

void vt_fence(int order, const struct eng_site *site)
{
    LL_UNUSED(order); /* sequentially consistent engine: nothing to order */
    point(site);
}

int vt_await(const struct eng_term *terms, unsigned n, const struct eng_giveup *giveup,
             uint64_t *seen, const struct eng_site *site)
{
    struct eng_thread *f = point(site);
    int result;

    LL_ASSERT(n >= 1 && n <= 4);
    for (unsigned i = 0; i < n; i++)
        check_covered(&(struct vt_access){
            .addr = (void *)(uintptr_t)terms[i].addr, .width = terms[i].width, .site = site});
    memcpy(f->terms, terms, n * sizeof(*terms));
    f->n_terms = n;
    f->giveup = giveup ? *giveup : (struct eng_giveup){0};
    f->rounds = 1;
    if (holding_term(terms, n, NULL) < 0) {
        vt.report->awaits_blocked++;
        vt.report->events[LL_EV_await_blocked]++;
    }
    while ((result = holding_term(terms, n, seen)) < 0) {
        result = giveup_reason(f);
        if (result) {
            vt.report->gave_up++;
            break;
        }
        f->state = WAITING;
        to_scheduler();
        f->state = READY;
    }
    return result;
}

void vt_relax(uint32_t turns, const struct eng_site *site)
{
    vt.report->relaxes++;
    for (uint32_t i = 0; i < turns; i++)
        point(site);
}

uint32_t vt_backoff(uint32_t n, uint32_t max, const struct eng_site *site)
{
    vt_count(LL_EV_backoff);
    vt_relax(n, site);
    return n < max / 2 ? 2 * n : max;
}

void vt_yield(const struct eng_site *site)
{
    vt_count(LL_EV_yields);
    point(site)->resched = false;
}

enum eng_park_result vt_park(uint64_t deadline_ns, const struct eng_site *site)
{
    struct eng_thread *f = point(site);
    enum eng_park_result result = ENG_TIMED_OUT;

    if (!f->permit && !f->cancelled) {
        vt.report->parks_blocked++;
        vt_count(LL_EV_parks);
        f->park_deadline = deadline_ns;
        f->state = PARKED;
        to_scheduler();
        f->state = READY;
    }
    if (f->permit)
        result = ENG_WOKEN;
    f->permit = false;
    return f->cancelled ? ENG_CANCELLED : result;
}

void vt_unpark(struct eng_thread *t, const struct eng_site *site)
{
    point(site);
    if (t->state == PARKED && !t->permit)
        vt_count(LL_EV_unparks);
    t->permit = true;
}

/* ---- environment ---- */

struct eng_thread *vt_self(void)
{
    return vt.current;
}

/* Fibers all have a CPU of their own here; only a sleeper is off it. */
bool vt_on_cpu(const struct eng_thread *t)
{
    return t->state != PARKED && t->state != ENDED;
}

bool vt_need_resched(void)
{
    return vt.current->resched;
}

bool vt_cancelled(void)
{
    return vt.current->cancelled;
}

void vt_preempt(int delta)
{
    vt.current->preempt_off += delta;
}

void vt_irq(int delta)
{
    vt.current->irq_off += delta;
}

void vt_irq_point(void)
{
    /* no interrupt source in the minimal engine */
}

uint64_t vt_now(void)
{
    return vt.now;
}

unsigned vt_cpu(void)
{
    return vt.current->index;
}

uint64_t vt_random(void)
{
    vt.random_state ^= vt.random_state >> 12;
    vt.random_state ^= vt.random_state << 25;
    vt.random_state ^= vt.random_state >> 27;
    return vt.random_state * UINT64_C(0x2545F4914F6CDD1D);
}

void vt_delay(uint64_t ns)
{
    vt.now += ns;
}

void vt_count(enum ll_event ev)
{
    vt.report->events[ev]++;
}

void vt_doorway(void)
{
    vt.current->at_doorway = true; /* its place in line is taken when the operation takes effect */
}

void vt_entered(void)
{
    uint64_t mine = vt.current->doorway;

    for (unsigned i = 0; mine && i < vt.options->fibers; i++)
        if (vt.fiber[i]->doorway && vt.fiber[i]->doorway < mine)
            vt.report->fifo_inversions++;
    vt.current->doorway = 0;
}

void vt_sync_point(const char *name)
{
    struct eng_site site = {"sync_point", "", name, 0};

    point(&site);
    vt.current->site = NULL;
}

/* ---- running ---- */

void vt_register(const void *base, size_t size, const char *name, const struct ll_field *fields)
{
    LL_ASSERT(vt.n_objects < VT_MAX_OBJECTS);
    vt.object[vt.n_objects++] = (struct object){base, size, name, fields};
}

static void free_fibers(void)
{
    for (unsigned i = 0; i < VT_MAX_FIBERS; i++) {
        if (!vt.fiber[i])
            continue;
        fiber_fini(&vt.fiber[i]->fiber);
        free(vt.fiber[i]);
        vt.fiber[i] = NULL;
    }
}

static int make_fiber(unsigned i)
{
    struct eng_thread *f = calloc(1, sizeof(*f));
    int ret;

    if (!f)
        return -ENOMEM;
    if ((ret = fiber_init(&f->fiber, STACK_BYTES))) {
        free(f);
        return ret;
    }
    vt.fiber[i] = f;
    f->index = i;
    fiber_reset(&f->fiber, fiber_main, f);
    return 0;
}

int vt_run(const struct vt_options *options, struct vt_report *report)
{
    uint64_t max = options->max_operations ? options->max_operations : 1000000;
    struct eng_thread *f;
    unsigned ended = 0;
    int ret = 0;

    memset(report, 0, sizeof(*report));
    if (options->fibers < 1 || options->fibers > VT_MAX_FIBERS)
        return -EINVAL;
    vt.options = options;
    vt.report = report;
    vt.now = vt.doorways = 0;
    vt.turn = 0;
    vt.random_state = ll_rng_seed(options->seed, 0);
    vt.policy_state = ll_rng_seed(options->seed, 1);
    fiber_adopt(&vt.scheduler);
    for (unsigned i = 0; i < options->fibers && !ret; i++)
        ret = make_fiber(i);
    while (!ret && ended < options->fibers) {
        if (report->operations >= max) {
            report->cut = true;
            break;
        }
        f = choose();
        if (!f && jump_to_deadline())
            continue;
        if (!f) {
            report->deadlock = true;
            break;
        }
        to_fiber(f);
        ended += f->state == ENDED;
    }
    report->complete = ended == options->fibers;
    if (!report->complete)
        describe_stuck();
    free_fibers();
    fiber_fini(&vt.scheduler);
    vt.n_objects = 0;
    return ret;
}
