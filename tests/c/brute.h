/* SPDX-License-Identifier: MIT */
/* brute.h - the second method: every sequence of choices, and which executions are the same one.
 *
 * brute_force() explores a program without any reduction. recorded() lets the checker explore it and
 * watches. Both look at the operations as they are told to a trace, and put together from them
 *
 *   the class   what each thread does, in its order, and for each byte that it reads or writes the
 *               write from which it reads or after which it comes in memory: executions with equal
 *               reads-from, coherence and program order are one class. A fence is part of none.
 *   the state   memory, permits, which threads have ended. What a race leaves behind in plain fields
 *               depends on an order that no operation fixes: it is left out where there is one.
 *   the races   all pairs of plain accesses that no happens-before orders, not only the first.
 */
#pragma once

#include <string.h>

#include "engine/check/explore.h"
#include "engine/check/machine.h"
#include "found.h"

#define BRUTE_PLAIN 128u
#define BRUTE_RACES 256u

struct brute_program {
    const struct ck_program *ck;
    uint32_t plain_at; /* memory from this offset on holds what depends on plain fields */
};

struct plain_access {
    uint32_t thread, offset, width;
    bool write;
    ck_vc vc;
    const struct eng_site *site;
};

static struct { /* the execution under way */
    struct found *found;
    const struct brute_program *program;
    uint64_t ends, most; /* executions of any kind, redundant ones as well */
    uint32_t stop;
    struct ck_program watched; /* the same, with our body */
    struct ck_policy policy;   /* the strategy's, with our end */
    void (*strategy_ended)(enum ck_end end);
    uint64_t hash[CK_ACTORS];
    uint16_t writes[CK_ACTORS];           /* so far, of the actor */
    uint16_t *byte;                       /* the last write of it */
    uint16_t permit[CK_THREADS], section; /* likewise */
    struct plain_access plain[BRUTE_PLAIN];
    uint32_t n_plain, preemptions;
    bool loads;                 /* the operation under way: a relax only looks whether to wait */
    uint64_t race[BRUTE_RACES]; /* pairs of sites */
    uint32_t n_races;
} rec;

/* ---- the class ---- */

static void hash_in(uint32_t actor, uint64_t v)
{
    rec.hash[actor] = mix(rec.hash[actor], v);
}

static uint16_t next_write(uint32_t actor)
{
    return (uint16_t)(actor << 11 | ++rec.writes[actor]);
}

static uint32_t offset_of(const void *addr)
{
    return (uint32_t)((const char *)addr - ck.memory);
}

/* These bytes as memory has them. */
static void see_memory(uint32_t actor, const void *addr, uint32_t width)
{
    for (uint32_t b = 0; b < width; b++)
        hash_in(actor, rec.byte[offset_of(addr) + b]);
}

static void see_write(uint32_t actor, const void *addr, uint32_t width)
{
    uint16_t id = next_write(actor);

    see_memory(actor, addr, width);
    for (uint32_t b = 0; b < width; b++)
        rec.byte[offset_of(addr) + b] = id;
}

/* Thread t reads there: from its own buffer, or from memory. The value. */
static uint64_t see_read(uint32_t t, const void *addr, uint32_t width)
{
    const struct eng_thread *self = &ck.thread[t];
    uint32_t buffer = CK_FLUSH(t), from = offset_of(addr);
    uint64_t value = 0;

    hash_in(t, (uint64_t)from << 8 | width);
    for (uint32_t k = self->buffered; k-- > 0;) {
        const struct ck_store *s = &self->buffer[(self->buffered_first + k) % CK_BUFFER];
        uint32_t at = offset_of(s->addr);
        if (from + width <= at || at + s->width <= from)
            continue;
        if (at > from || from + width > at + s->width) { /* a load or await would have waited */
            rec.found->past_own += rec.loads;
            break;
        }
        for (uint32_t b = 0; b < width; b++)
            hash_in(t, buffer << 11 | (rec.writes[buffer] + k + 1));
        memcpy(&value, (const char *)&s->value + (from - at), width);
        return value;
    }
    see_memory(t, addr, width);
    memcpy(&value, addr, width);
    return value;
}

static void see_word(uint32_t t, uint16_t *last, bool write)
{
    hash_in(t, *last);
    if (write)
        *last = next_write(t);
}

static void see_await(uint32_t t)
{
    const struct eng_thread *self = &ck.thread[t];

    for (uint32_t i = 0; i < self->op.n_terms; i++) {
        const struct eng_term *term = &self->op.term[i];
        uint64_t v = see_read(t, term->addr, term->width);
        if (!self->reason && eng_term_holds(term, v))
            return;
    }
}

/* ---- races ---- */

static void note_race(uint64_t pair)
{
    for (uint32_t i = 0; i < rec.n_races; i++)
        if (rec.race[i] == pair)
            return;
    LL_ASSERT(rec.n_races < BRUTE_RACES);
    rec.race[rec.n_races++] = pair;
}

static void see_plain(uint32_t t, const struct ck_happening *h)
{
    struct plain_access a = {.thread = t,
                             .offset = offset_of(h->addr),
                             .width = h->width,
                             .write = h->wrote,
                             .vc = ck.thread[t].vc,
                             .site = h->site};

    for (uint32_t i = 0; i < rec.n_plain; i++) {
        const struct plain_access *b = &rec.plain[i];
        uint64_t one = (uintptr_t)a.site, other = (uintptr_t)b->site;
        if (b->thread == t || !(a.write || b->write) || a.offset + a.width <= b->offset ||
            b->offset + b->width <= a.offset || b->vc[b->thread] <= a.vc[b->thread])
            continue;
        note_race(mix(mix(7, one < other ? one : other), one ^ other));
    }
    LL_ASSERT(rec.n_plain < BRUTE_PLAIN);
    rec.plain[rec.n_plain++] = a;
}

static void on_operation(void *arg, const struct ck_happening *h)
{
    uint32_t t = h ? ck_thread_of(h->choice) : 0;
    const struct eng_thread *self = &ck.thread[t];

    LL_UNUSED(arg);
    if (!h) /* again: see end */
        return;
    if (h->plain)
        see_plain(t, h);
    if (h->plain || h->buffered) /* a buffered store counts when it reaches memory */
        return;
    if (ck_is_flush(h->choice)) {
        see_write(CK_FLUSH(t), h->addr, h->width);
        return;
    }
    hash_in(t, (uint64_t)h->kind << 8 | (uint32_t)h->choice);
    hash_in(t, (uintptr_t)h->site);
    rec.loads = h->kind != CK_RELAX;
    switch (h->kind) {
    case CK_ACCESS:
        if (h->wrote)
            see_write(t, h->addr, h->width);
        else if (h->access == VT_LOAD)
            LL_ASSERT(see_read(t, h->addr, h->width) == h->old_value);
        else { /* a compare-exchange that failed */
            see_memory(t, h->addr, h->width);
            rec.found->divided +=
                ck.cell[ck.cell_of[offset_of(h->addr)]].end < offset_of(h->addr) + h->width;
        }
        break;
    case CK_AWAIT: see_await(t); break;
    case CK_RELAX:
        LL_ASSERT(!self->read_overflow);
        for (uint32_t i = 0; i < self->n_read; i++)
            see_read(t, self->read[i].addr, self->read[i].width);
        break;
    case CK_FREE: see_write(t, h->addr, h->width); break;
    case CK_PARK: see_word(t, &rec.permit[t], !h->reason); break;
    case CK_UNPARK: see_word(t, &rec.permit[h->target->index], true); break;
    case CK_ENTER:
    case CK_LEAVE: see_word(t, &rec.section, !self->op.shared); break;
    default: break;
    }
}

/* ---- an execution begins, and ends ---- */

static void watched_strategy_end(enum ck_end end);

static void watched_body(uint32_t thread, void *arg)
{
    if (thread == 0) {
        memset(rec.hash, 0, sizeof(rec.hash));
        memset(rec.writes, 0, sizeof(rec.writes));
        memset(rec.byte, 0, ck.memory_size * sizeof(*rec.byte));
        memset(rec.permit, 0, sizeof(rec.permit));
        rec.section = 0;
        rec.n_plain = rec.n_races = 0;
        if (ck.policy != &rec.policy) { /* of a strategy of the checker's */
            rec.policy = *ck.policy;
            rec.strategy_ended = rec.policy.ended;
            rec.policy.ended = watched_strategy_end;
            ck.policy = &rec.policy;
        }
    }
    rec.program->ck->body(thread, arg);
}

static uint64_t class_at_end(void)
{
    uint64_t h = 1;

    for (uint32_t a = 0; a < CK_ACTORS; a++)
        h = mix(h, rec.hash[a]);
    return h;
}

static uint32_t threads_left(void)
{
    uint32_t left = 0;

    for (uint32_t t = 0; t < ck.program->threads; t++)
        left |= (uint32_t)!ck.thread[t].ended << t;
    return left;
}

static uint64_t state_at_end(enum ck_end end)
{
    uint64_t h = mix(mix(2, end), threads_left());
    uint32_t size = rec.n_races ? rec.program->plain_at : ck.memory_size;

    for (uint32_t t = 0; t < ck.program->threads; t++)
        h = mix(h, ck.thread[t].permit);
    for (uint32_t at = 0; at < size; at += 8) {
        uint64_t v;
        memcpy(&v, ck.memory + at, sizeof(v));
        h = mix(h, v);
    }
    return h;
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = 3;

    for (; *text; text++)
        h = mix(h, (unsigned char)*text);
    return h;
}

/* Is what the checker says of races true? It names one for each victim, up to CK_FAULTS faults. */
static bool races_are_true(void)
{
    bool reported = false;

    for (uint32_t i = 0; i < ck.n_faults; i++)
        reported |= !strcmp(ck.fault[i].kind, "race");
    return reported == (rec.n_races > 0) || ck.n_faults == CK_FAULTS;
}

static void note_faults(enum ck_end end)
{
    for (uint32_t i = 0; i < ck.n_faults; i++) {
        const struct ck_fault *f = &ck.fault[i];
        uint64_t who = end == CK_STUCK ? threads_left() : f->victim;
        if (strcmp(f->kind, "race") != 0) /* those have a set of their own */
            set_add(end == CK_ABORTED ? &rec.found->aborts : &rec.found->faults,
                    mix(hash_text(f->kind), who), rec.preemptions);
    }
}

static void watched_end(enum ck_end end)
{
    struct found *f = rec.found;
    uint32_t p = rec.preemptions < FOUND_PREEMPTIONS ? rec.preemptions : FOUND_PREEMPTIONS - 1;

    rec.stop = ++rec.ends >= rec.most;
    if (end == CK_RESPLIT || ck.resplit) { /* the exploration starts again */
        found_empty(f);
        return;
    }
    for (uint32_t i = 0; i < rec.n_races; i++)
        set_add(&f->races, rec.race[i], rec.preemptions);
    f->untrue += ck.judge && !races_are_true();
    note_faults(end);
    if (end == CK_REDUNDANT)
        return;
    f->runs[p]++;
    LL_ASSERT(end != CK_CUT);
    if (end == CK_ABORTED) {
        f->aborted++;
        return;
    }
    f->finished++;
    set_add(&f->classes, class_at_end(), rec.preemptions);
    set_add(&f->states, state_at_end(end), rec.preemptions);
}

static void watched_strategy_end(enum ck_end end)
{
    rec.strategy_ended(end);
    watched_end(end);
}

static void watch(const struct brute_program *program, uint64_t most, struct found *found)
{
    memset(found, 0, sizeof(*found));
    memset(&rec, 0, sizeof(rec));
    rec.program = program;
    rec.most = most;
    rec.found = found;
    rec.watched = *program->ck;
    rec.watched.body = watched_body;
    rec.byte = calloc(program->ck->memory_size, sizeof(*rec.byte));
    LL_ASSERT(rec.byte && program->ck->memory_size % 8 == 0);
}

/* ---- every sequence of choices ---- */

static struct {
    uint64_t enabled[CK_ALL_STEPS], left[CK_ALL_STEPS]; /* left: to be tried yet */
    uint8_t choice[CK_ALL_STEPS];
    uint32_t depth, fresh; /* before `fresh`: a repetition */
} brute;

static void brute_begin(void)
{
    brute.depth = rec.preemptions = 0;
}

static int brute_choose(uint64_t enabled)
{
    uint32_t at = brute.depth++;
    int c;

    if (at >= brute.fresh) {
        brute.enabled[at] = brute.left[at] = enabled;
        brute.fresh = at + 1;
        brute.choice[at] = (uint8_t)__builtin_ctzll(enabled);
        brute.left[at] &= enabled - 1;
    }
    LL_ASSERT(brute.enabled[at] == enabled); /* else the program is not deterministic */
    c = brute.choice[at];
    if (enabled & CK_BIT(CK_GO(ck.running)) && (ck_is_flush(c) || ck_thread_of(c) != ck.running))
        rec.preemptions++;
    return c;
}

static bool brute_next(void)
{
    while (brute.fresh && !brute.left[brute.fresh - 1])
        brute.fresh--;
    if (!brute.fresh)
        return false;
    brute.choice[brute.fresh - 1] = (uint8_t)__builtin_ctzll(brute.left[brute.fresh - 1]);
    brute.left[brute.fresh - 1] &= brute.left[brute.fresh - 1] - 1;
    return true;
}

static const struct ck_policy brute_policy = {
    .begin = brute_begin, .choose = brute_choose, .ended = watched_end};

/* Until nothing is left (found->wholly), or `most` executions. */
static void brute_force(const struct brute_program *program, struct ck_options options,
                        uint64_t most, struct found *found)
{
    struct ck_report report = {0};

    watch(program, most, found);
    rec.policy = brute_policy;
    options.trace = on_operation;
    LL_ASSERT(ck_machine_init(&rec.watched, &options, &report) == 0);
    ck.policy = &rec.policy;
    brute.fresh = 0;
    do {
        if (ck_machine_run() == CK_RESPLIT || ck.resplit)
            brute.fresh = 0;
        else if (!brute_next())
            found->wholly = true;
    } while (!found->wholly && !rec.stop);
    ck_machine_fini();
    free(rec.byte);
}

/* The same program by a strategy of the checker's, likewise. */
static void recorded(const struct brute_program *program, struct ck_options options, uint64_t most,
                     struct found *found)
{
    struct ck_report report;

    watch(program, most, found);
    options.trace = on_operation;
    options.stop = &rec.stop;
    LL_ASSERT(ck_explore(&rec.watched, &options, &report) == 0);
    found->untrue += report.executions + report.blocked != found->finished + found->aborted;
    found->wholly = report.wholly;
    found->giveups_cut = report.cut_giveups;
    free(rec.byte);
}
