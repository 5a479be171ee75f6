/* SPDX-License-Identifier: MIT */
/* validator_script.h - what threads do to locks, in a letter or two each, told to the validator alone.
 *
 *   A .. E   take lock A exclusively       a .. e   take it shared          ?A ?a  by a try that gets it
 *   A'       another instance of A's class  A:1     as subclass 1           A^B    nested in B
 *   -A -a    give it back                  %A       make it shared          .      give all back, last first
 *   *A       initialise it again           !A       free it                 &A     use a copy of it
 *   ( )      an interrupt begins, ends     [ ]      interrupts off, on      ~      sleep
 *   #A -#A   take and give back unvalidated
 *   1 2 3    who does what follows         $        the thread ends
 *
 * Locks are of one type, or `types` gives each class its own.
 */
#pragma once

#include <string.h>

#include "core/error.h"
#include "expect.h"
#include "include/locklab.h"

enum type { SPIN, RWLOCK, QRWLOCK, MUTEX, RWSEM, TYPES };
static const char *const type_name[TYPES] = {"spin", "rwlock", "qrwlock", "mutex", "rwsem"};
static const uint32_t type_traits[TYPES] = {
    [SPIN] = LL_VALIDATOR_SPINS,
    [RWLOCK] = LL_VALIDATOR_SPINS | LL_VALIDATOR_READ_RECURSIVE,
    [QRWLOCK] = LL_VALIDATOR_SPINS | LL_VALIDATOR_READ_RECURSIVE_IRQ,
};

#define S_CLASSES 5u
#define S_THREADS 3u

struct script {
    struct ll_validator *v;
    struct ll_validator_lock lock[S_CLASSES][2], copy;
    struct ll_validator_thread *thread[S_THREADS], *now;
    struct { /* what to give back, per thread */
        struct ll_validator_lock *lock;
        uint32_t how;
    } held[S_THREADS][80];
    uint32_t n_held[S_THREADS], me;
};

static inline void script_open(struct script *s, const enum type types[S_CLASSES])
{
    memset(s, 0, sizeof(*s));
    LL_ASSERT(ll_validator_create(NULL, &s->v, NULL) == 0);
    for (uint32_t c = 0; c < S_CLASSES; c++) {
        char name[2] = {(char)('A' + c), 0};
        uint32_t id;

        LL_ASSERT(ll_validator_class(s->v, name, type_traits[types[c]], &id, NULL) == 0);
        for (uint32_t i = 0; i < 2; i++)
            LL_ASSERT(ll_validator_lock_init(s->v, &s->lock[c][i], id, 0, NULL, NULL, NULL, NULL) ==
                      0);
    }
    for (uint32_t i = 0; i < S_THREADS; i++)
        LL_ASSERT(ll_validator_thread_create(s->v, NULL, NULL, NULL, &s->thread[i]) == 0);
    s->now = s->thread[0];
}

static inline const char *lock_at(struct script *s, const char *p, struct ll_validator_lock **lock,
                                  uint32_t *how)
{
    bool shared = *p >= 'a';
    uint32_t c = (uint32_t)(*p++ - (shared ? 'a' : 'A')), instance = 0;

    LL_ASSERT(c < S_CLASSES);
    if (*p == '\'') {
        instance = 1;
        p++;
    }
    *how = shared ? LL_VALIDATOR_SHARED : 0;
    if (*p == ':') {
        *how |= LL_VALIDATOR_SUBCLASS((uint32_t)(p[1] - '0'));
        p += 2;
    }
    *lock = &s->lock[c][instance];
    return p;
}

static inline void note_held(struct script *s, struct ll_validator_lock *lock, uint32_t how)
{
    s->held[s->me][s->n_held[s->me]].lock = lock;
    s->held[s->me][s->n_held[s->me]++].how = how & LL_VALIDATOR_SHARED;
}

static inline void give_back(struct script *s, struct ll_validator_lock *lock, uint32_t how,
                             const struct ll_site *site)
{
    ll_validator_release(s->now, lock, how & LL_VALIDATOR_SHARED, site);
    ll_validator_released(s->now, lock);
    for (uint32_t i = s->n_held[s->me]; i > 0; i--)
        if (s->held[s->me][i - 1].lock == lock) {
            memmove(&s->held[s->me][i - 1], &s->held[s->me][i],
                    (s->n_held[s->me] - i) * sizeof(s->held[0][0]));
            s->n_held[s->me]--;
            return;
        }
}

/* One step; where the next one begins. */
static inline const char *script_step(struct script *s, const char *p, const struct ll_site *site)
{
    struct ll_validator_thread *t = s->now;
    struct ll_validator_lock *l, *outer;
    uint32_t how, outer_how;

    switch (*p) {
    case ' ': return p + 1;
    case '1':
    case '2':
    case '3':
        s->me = (uint32_t)(*p - '1');
        s->now = s->thread[s->me];
        return p + 1;
    case '.':
        while (s->n_held[s->me])
            give_back(s, s->held[s->me][s->n_held[s->me] - 1].lock,
                      s->held[s->me][s->n_held[s->me] - 1].how, site);
        return p + 1;
    case '(': ll_validator_irq_enter(t); return p + 1;
    case ')': ll_validator_irq_exit(t, site); return p + 1;
    case '[': ll_validator_irq_disable(t); return p + 1;
    case ']': ll_validator_irq_enable(t, site); return p + 1;
    case '~': ll_validator_sleep(t, site); return p + 1;
    case '$':
        ll_validator_thread_end(t, site);
        s->thread[s->me] = NULL;
        return p + 1;
    case '-':
        if (p[1] == '#') {
            p = lock_at(s, p + 2, &l, &how);
            ll_validator_raw_release(t, l);
            return p;
        }
        p = lock_at(s, p + 1, &l, &how);
        give_back(s, l, how, site);
        return p;
    case '#':
        p = lock_at(s, p + 1, &l, &how);
        ll_validator_raw_acquire(t, l, site);
        return p;
    case '%':
        p = lock_at(s, p + 1, &l, &how);
        ll_validator_downgrade(t, l, site);
        for (uint32_t i = 0; i < s->n_held[s->me]; i++)
            if (s->held[s->me][i].lock == l)
                s->held[s->me][i].how = LL_VALIDATOR_SHARED;
        return p;
    case '*':
        p = lock_at(s, p + 1, &l, &how);
        LL_ASSERT(ll_validator_lock_init(s->v, l, l->class_id, 0, NULL, NULL, t, site) == 0);
        return p;
    case '!':
        p = lock_at(s, p + 1, &l, &how);
        ll_validator_lock_fini(l, t, site);
        return p;
    case '&':
        p = lock_at(s, p + 1, &l, &how);
        s->copy = *l;
        ll_validator_acquire(t, &s->copy, how, site);
        ll_validator_acquired(t, &s->copy, 0);
        return p;
    case '?':
        p = lock_at(s, p + 1, &l, &how);
        ll_validator_tried(t, l, how, true, site);
        note_held(s, l, how);
        return p;
    default:
        p = lock_at(s, p, &l, &how);
        if (*p == '^') {
            p = lock_at(s, p + 1, &outer, &outer_how);
            ll_validator_acquire_nested(t, l, how, outer, site);
        } else {
            ll_validator_acquire(t, l, how, site);
        }
        ll_validator_acquired(t, l, 0);
        note_held(s, l, how);
        return p;
    }
}

static inline void script_run(struct script *s, const char *text)
{
    for (const char *p = text; *p;)
        p = script_step(s, p,
                        ll_validator_site(s->v, text, "", (uint32_t)(p - text))); /* its position */
}

/* The kinds that were reported, in order, commas between. */
static inline const char *script_found(const struct script *s)
{
    static char found[64 * 32]; /* 64 reports are kept */
    struct ll_validator_report r;
    size_t n = 0;

    found[0] = 0;
    for (size_t i = 0; ll_validator_report_get(s->v, i, &r) == 0; i++)
        n += (size_t)snprintf(found + n, sizeof(found) - n, "%s%s", i ? ", " : "", r.kind);
    return found;
}

static inline void script_close(struct script *s)
{
    for (uint32_t c = 0; c < S_CLASSES; c++)
        for (uint32_t i = 0; i < 2; i++)
            if (s->lock[c][i].magic)
                ll_validator_lock_fini(&s->lock[c][i], NULL, NULL);
    for (uint32_t i = 0; i < S_THREADS; i++)
        if (s->thread[i])
            ll_validator_thread_end(s->thread[i], NULL);
    ll_validator_unref(s->v);
}
