/* SPDX-License-Identifier: MIT */
/* starvation.c - a waiter that can be passed over for ever.
 *
 * When a thread is let in, the lock, the nodes and what each thread is about to do are compared with
 * what they were when somebody was let in before, since a waiter began to wait. If nothing differs,
 * the steps between the two can follow again and again, and the waiter never gets in. It counts only if
 * that would be fair: each thread has gone on in between, or could not for a moment.
 *
 * What is not compared is what threads keep in registers and on their stacks, e.g. the length of their
 * next back-off.
 */
#include "engine/check/machine.h"

#define SEEN 32u

struct sight {
    uint64_t hash;
    uint32_t step;
    uint32_t went[CK_THREADS]; /* operations of each thread by then */
};

static struct {
    struct sight sight[SEEN];
    uint32_t n;
    uint32_t began; /* the step at which the victim began to wait */
} seen[CK_THREADS]; /* by victim */

static void mix(uint64_t *hash, const void *data, size_t size)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < size; i++) /* FNV-1a */
        *hash = (*hash ^ p[i]) * UINT64_C(1099511628211);
}

/* False: stores are on their way, which the state does not show. */
static bool state(uint32_t entering, uint64_t *hash)
{
    *hash = UINT64_C(14695981039346656037);
    mix(hash, &entering, sizeof(entering));
    for (uint32_t i = 0; i < ck.program->n_objects; i++) {
        const struct ck_object *o = &ck.program->object[i];
        if (o->state)
            mix(hash, o->base, o->size);
    }
    for (uint32_t i = 0; i < ck.program->threads; i++) {
        const struct eng_thread *t = &ck.thread[i];
        if (t->buffered)
            return false;
        mix(hash, &t->op.kind, sizeof(t->op.kind));
        mix(hash, &t->op.site, sizeof(t->op.site));
        mix(hash, &t->permit, sizeof(t->permit));
        mix(hash, &t->place, sizeof(t->place));
    }
    return true;
}

static bool fair_since(const struct sight *s)
{
    for (uint32_t i = 0; i < ck.program->threads; i++) {
        const struct eng_thread *t = &ck.thread[i];
        if (!t->ended && t->went == s->went[i] && t->disabled_at <= s->step)
            return false;
    }
    return true;
}

static void look_at(const struct eng_thread *victim, uint32_t entering, uint64_t hash)
{
    uint32_t v = victim->index;
    struct sight *s;

    if (seen[v].began != victim->wait_began) {
        seen[v].began = victim->wait_began;
        seen[v].n = 0;
    }
    for (uint32_t i = 0; i < seen[v].n; i++)
        if (seen[v].sight[i].hash == hash && fair_since(&seen[v].sight[i]))
            ck_fault("starvation", v,
                     "T%u waits at %s:%u (%s) for ever while T%u gets in again and again: after "
                     "operation %u all is as it was after operation %u, and the same can follow",
                     v, victim->op.site ? ck_short(victim->op.site->file) : "?",
                     victim->op.site ? victim->op.site->line : 0,
                     victim->op.site ? victim->op.site->expr : "?", entering, ck.steps,
                     seen[v].sight[i].step);
    if (seen[v].n == SEEN)
        return;
    s = &seen[v].sight[seen[v].n++];
    s->hash = hash;
    s->step = ck.steps;
    for (uint32_t i = 0; i < ck.program->threads; i++)
        s->went[i] = ck.thread[i].went;
}

void ck_starvation_reset(void)
{
    for (uint32_t i = 0; i < CK_THREADS; i++)
        seen[i].n = seen[i].began = 0;
}

void ck_starvation_note(uint64_t enabled)
{
    for (uint32_t i = 0; i < ck.program->threads; i++)
        if (!(enabled & CK_THREAD_MASK(i)))
            ck.thread[i].disabled_at = ck.steps + 1;
}

void ck_starvation_entry(uint32_t entering)
{
    uint64_t hash;

    if (!state(entering, &hash))
        return;
    for (uint32_t i = 0; i < ck.program->threads; i++)
        if (i != entering && ck.thread[i].place == ENG_ACQUIRING && ck.thread[i].wait_began)
            look_at(&ck.thread[i], entering, hash);
}
