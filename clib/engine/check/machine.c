/* SPDX-License-Identifier: MIT */
/* machine.c - executions: fibers are started anew, and one goes on at a time. */
#define _GNU_SOURCE
#include "engine/check/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/check/memory.h"
#include "engine/check/turn.h"

#define STACK_BYTES (64u * 1024u)

struct ck_machine ck;

/* ---- who goes on ---- */

uint64_t ck_ask_waiting(void)
{
    uint64_t able = 0, watched = 0;

    for (uint32_t w = ck.waiting; w; w &= w - 1) {
        struct eng_thread *t = &ck.thread[__builtin_ctz(w)];
        bool can_go = ck_can_go(t);
        watched |= t->watch;
        if (can_go)
            able |= CK_BIT(CK_GO(t->index));
        if (LL_UNLIKELY(t->op.reasons || t->op.kind == CK_RELAX))
            for (uint32_t r = ck_reasons(t, can_go); r; r &= r - 1)
                able |= CK_BIT(CK_GIVE_UP(t->index, (uint32_t)__builtin_ctz(r)));
    }
    ck.stirred = false;
    ck.able = able;
    ck.watched = watched;
    return able;
}

/* In turn among threads and buffers; a wait that can be given up is, when nothing else is left. */
static int fair_choice(uint64_t mask)
{
    for (uint32_t k = 1; k <= CK_ACTORS; k++) {
        uint32_t a = (ck.fair_turn + k) % CK_ACTORS;
        if (mask & CK_BIT(a)) {
            ck.fair_turn = a;
            return (int)a;
        }
    }
    return __builtin_ctzll(mask);
}

/* Who has gone on most often, and where: a loop that waits by hand looks like that. */
static void note_long(void)
{
    const struct eng_thread *most = &ck.thread[0];

    for (uint32_t i = 1; i < ck.program->threads; i++)
        if (ck.thread[i].went > most->went)
            most = &ck.thread[i];
    ck.report->long_site = most->op.site ? most->op.site : most->last;
    ck.report->long_thread = most->index;
}

static LL_SLOW int too_long(uint64_t mask)
{
    if (!ck.fair && !ck.report->long_site)
        note_long();
    if (ck.steps < CK_ALL_STEPS) {
        ck.fair = true;
        return fair_choice(mask);
    }
    if (ck.progress_step < CK_MAX_STEPS) {
        ck_fault("livelock", ck.running,
                 "%u operations, all threads in turn, and nobody gets in or ends", CK_FAIR_STEPS);
        ck.end = CK_ABORTED;
    } else {
        ck.end = CK_CUT;
    }
    return -1;
}

/* Nobody can go on, so whoever has come to a park sleeps. */
static bool spins_on_sleeper(const struct eng_thread *t)
{
    return t->op.kind == CK_AWAIT && t->op.owner && t->op.owner->op.kind == CK_PARK;
}

static LL_SLOW int nobody(void)
{
    ck.end = CK_COMPLETE;
    for (uint32_t i = 0; i < ck.program->threads; i++)
        if (ck.thread[i].quit) {
            ck.end = CK_QUIT; /* perhaps on its way out of the lock, with others waiting for it */
            break;
        } else if (!ck.thread[i].ended) {
            ck.end = CK_STUCK;
        }
    for (uint32_t i = 0; ck.end == CK_STUCK && i < ck.program->threads; i++)
        if (spins_on_sleeper(&ck.thread[i]))
            ck.end = CK_IMPATIENT;
    return -1;
}

void ck_unusual_turn(int c)
{
    struct eng_thread *t = &ck.thread[ck_thread_of(c)];

    if (ck_is_flush(c)) {
        ck_flush(t);
    } else {
        t->reason = -1 - (int)(((unsigned)c - CK_ACTORS) / CK_THREADS);
    }
}

LL_SLOW int ck_unusual_choice(uint64_t mask)
{
    int c;

    if (ck.resplit) { /* what is known of cells so far is worthless */
        ck.end = CK_RESPLIT;
        return -1;
    }
    if (!mask)
        return nobody();
    if (ck.options->starvation)
        ck_starvation_note(mask);
    if (ck.steps >= CK_MAX_STEPS)
        return too_long(mask);
    c = ck.policy->choose(mask);
    if (c < 0)
        ck.end = CK_REDUNDANT;
    return c;
}

void ck_started(struct eng_thread *self)
{
    uint32_t next = self->index + 1;

    if (next < ck.program->threads) {
        ck.current = &ck.thread[next];
        fiber_switch(&self->fiber, &ck.current->fiber, self->ended);
    } else {
        ck.starting = false;
        ck.ordinary = ck.resplit || ck.options->starvation ? 0 : CK_MAX_STEPS;
        ck_turn(self, false);
    }
}

void ck_leave(struct eng_thread *self)
{
    self->ended = true;
    self->op.kind = CK_NOTHING;
    self->place = ENG_OUTSIDE;
    ck.progress_step = ck.steps;
    ck_go_on(self, false);
    __builtin_unreachable();
}

void ck_abort(struct eng_thread *self)
{
    ck.end = CK_ABORTED;
    fiber_switch(&self->fiber, &ck.main, true);
    __builtin_unreachable();
}

static void thread_main(void *arg)
{
    struct eng_thread *self = arg;

    ck.program->body(self->index, ck.program->arg);
    ck_leave(self);
}

/* ---- one execution ---- */

struct ck_fault *ck_fault(const char *kind, uint32_t victim, const char *format, ...)
{
    struct ck_fault *f = &ck.fault[ck.n_faults];
    va_list list;

    for (uint32_t i = 0; i < ck.n_faults; i++)
        if (!strcmp(ck.fault[i].kind, kind) && ck.fault[i].victim == victim)
            return NULL;
    if (ck.n_faults == CK_FAULTS)
        return NULL;
    ck.n_faults++;
    f->kind = kind;
    f->victim = victim;
    f->addr = NULL;
    va_start(list, format);
    vsnprintf(f->text, sizeof(f->text), format, list);
    va_end(list);
    return f;
}

const char *ck_short(const char *file)
{
    const char *found = strstr(file, "clib/");

    return found ? found + 5 : file;
}

static size_t say(char *text, size_t at, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static size_t say(char *text, size_t at, size_t size, const char *format, ...)
{
    va_list list;
    int n = 0;

    va_start(list, format);
    if (at < size)
        n = vsnprintf(text + at, size - at, format, list);
    va_end(list);
    return at + (size_t)(n > 0 ? n : 0);
}

/* Threads are left and nobody can go on. */
static LL_SLOW void judge_stuck(void)
{
    const struct eng_thread *victim = NULL;
    const char *kind = "stranded";
    char text[400];
    size_t at = 0;

    for (uint32_t i = 0; i < ck.program->threads; i++) {
        const struct eng_thread *t = &ck.thread[i];
        if (t->ended)
            continue;
        if (t->place >= ENG_HOLDING)
            kind = "deadlock"; /* who has it cannot give it back */
        if (!victim || (t->wait_began && t->wait_began < victim->wait_began))
            victim = t;
    }
    text[0] = 0;
    for (uint32_t i = 0; i < ck.program->threads; i++) {
        const struct eng_thread *t = &ck.thread[i];
        const char *what = t->ended                ? "has ended after"
                           : t->op.kind == CK_PARK ? "sleeps at"
                                                   : "waits at";
        const struct eng_site *s = t->ended ? t->last : t->op.site;
        if (t != victim && s)
            at = say(text, at, sizeof(text), "%sT%u %s %s:%u", at ? ", " : "", i, what,
                     ck_short(s->file), s->line);
    }
    ck_fault(kind, victim->index, "T%u %s at %s:%u (%s) and nobody will %s: %s", victim->index,
             victim->op.kind == CK_PARK ? "sleeps" : "waits",
             victim->op.site ? ck_short(victim->op.site->file) : "?",
             victim->op.site ? victim->op.site->line : 0,
             victim->op.site ? victim->op.site->expr : "?",
             victim->op.kind == CK_PARK ? "wake it" : "let it go on", text);
}

static void reset_thread(struct eng_thread *t)
{
    t->vc = t->fence_acquired = t->fence_released = (ck_vc){0};
    t->vc[t->index] = 1;
    t->op = (struct ck_op){0};
    memset(&t->buffered_first, 0,
           offsetof(struct eng_thread, read) - offsetof(struct eng_thread, buffered_first));
    t->n_read = 0;
    memset(&t->read_overflow, 0, sizeof(*t) - offsetof(struct eng_thread, read_overflow));
    t->bkl.word = ck.program->bkl;
    fiber_reset(&t->fiber, thread_main, t);
}

static void reset(void)
{
    memcpy(ck.memory, ck.pristine, ck.memory_size);
    ck.stamp++;
    ck.ready = 0;
    ck.waiting = 0;
    ck.able = ck.watched = 0;
    ck.stirred = false;
    ck.whole_size = ck.memory_size;
    ck.steps = ck.progress_step = ck.fair_turn = 0;
    ck.fair = ck.resplit = ck.gave_up_all = false;
    ck.running = 0;
    ck.doorways = 0;
    ck.n_faults = 0;
    ck.n_freed = 0;
    if (ck.options->starvation)
        ck_starvation_reset();
    for (uint32_t i = 0; i < ck.program->threads; i++)
        reset_thread(&ck.thread[i]);
}

/* Each thread starts the next one; whoever ends the execution comes back here. */
static void run(void)
{
    ck.starting = true;
    ck.ordinary = 0;
    ck.current = &ck.thread[0];
    fiber_switch(&ck.main, &ck.current->fiber, false);
}

enum ck_end ck_machine_run(void)
{
    const char *wrong;

    ck.lean = !ck.policy->happened && !ck_traced() && !ck.options->starvation;
    vt_engine = ck.lean ? &ck_lean_engine : &ck_engine;
    ck.policy->begin();
    reset();
    run();
    if (ck.end == CK_STUCK)
        judge_stuck();
    if (ck.end == CK_COMPLETE && ck.program->verdict &&
        (wrong = ck.program->verdict(ck.program->arg)))
        ck_fault("exclusion", 0, "%s", wrong);
    ck.policy->ended(ck.end);
    if (ck.resplit)
        ck.end = CK_RESPLIT;
    return ck.end;
}

/* ---- life of the machine ---- */

static int make_threads(void)
{
    int ret = 0;

    for (uint32_t i = 0; i < ck.program->threads && !ret; i++) {
        ck.thread[i].index = i;
        ret = fiber_init(&ck.thread[i].fiber, STACK_BYTES);
    }
    return ret;
}

int ck_machine_init(const struct ck_program *program, const struct ck_options *options,
                    struct ck_report *report)
{
    memset(&ck, 0, sizeof(ck));
    if (program->threads < 1 || program->threads > CK_THREADS || !program->memory_size)
        return -EINVAL;
    ck.program = program;
    ck.options = options;
    ck.report = report;
    ck.tso = options->memory == LL_MEMORY_TSO;
    ck.judge = options->races;
    ck.memory = program->memory;
    ck.memory_size = program->memory_size;
    ck.n_cells = CK_FIRST_CELL;
    ck.pristine = malloc(ck.memory_size);
    ck.cell_of = calloc(ck.memory_size, sizeof(*ck.cell_of));
    ck.whole = calloc(ck.memory_size, sizeof(*ck.whole));
    ck.cell = calloc(CK_CELLS, sizeof(*ck.cell));
    ck.choice = malloc(CK_ALL_STEPS);
    if (!ck.pristine || !ck.cell_of || !ck.whole || !ck.cell || !ck.choice || make_threads()) {
        ck_machine_fini();
        return -ENOMEM;
    }
    memcpy(ck.pristine, ck.memory, ck.memory_size);
    for (uint32_t i = 0; i < CK_FIRST_CELL; i++)
        ck.cell[i].offset = ck.cell[i].end = CK_NO_OFFSET;
    fiber_adopt(&ck.main);
    return 0;
}

uint64_t ck_machine_memory(void)
{
    return sizeof(ck) + ck.memory_size * (1 + sizeof(*ck.cell_of) + sizeof(*ck.whole)) +
           CK_CELLS * sizeof(*ck.cell) + CK_ALL_STEPS + (uint64_t)ck.program->threads * STACK_BYTES;
}

void ck_machine_fini(void)
{
    for (uint32_t i = 0; i < CK_THREADS; i++)
        if (ck.thread[i].fiber.stack)
            fiber_fini(&ck.thread[i].fiber);
    fiber_fini(&ck.main);
    if (ck.pristine)
        memcpy(ck.memory, ck.pristine, ck.memory_size);
    free(ck.pristine);
    free(ck.cell_of);
    free(ck.whole);
    free(ck.cell);
    free(ck.choice);
    vt_engine = NULL;
    memset(&ck, 0, sizeof(ck));
}

int ck_thread_at(const void *p)
{
    size_t at = (size_t)((const char *)p - (const char *)ck.thread);

    return at < sizeof(ck.thread) && at % sizeof(ck.thread[0]) == 0
               ? (int)(at / sizeof(ck.thread[0]))
               : -1;
}
