/* SPDX-License-Identifier: MIT */
/* found.h - what an exploration found, as sets, and whether two explorations found the same.
 *
 * A member of a set is a 64-bit hash; with it stands the fewest preemptions of an execution that
 * shows it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"

#define FOUND_PREEMPTIONS 64u

struct set {
    uint64_t *key; /* 0: empty */
    uint32_t *least;
    size_t size, used;
};

struct found {
    struct set classes;               /* of equivalent executions that ran to their end */
    struct set states;                /* at the end */
    struct set faults;                /* but races and aborts */
    struct set races;                 /* pairs of sites */
    struct set aborts;                /* faults that end their execution where it stands */
    uint64_t runs[FOUND_PREEMPTIONS]; /* by number of preemptions */
    uint64_t finished;                /* complete or stuck */
    uint64_t aborted;
    uint64_t untrue;   /* executions whose races were not reported or are none; wrong counts */
    uint64_t past_own; /* loads from memory of what the thread itself has stored and not yet sent */
    uint64_t divided;  /* failed compare-exchanges on words that others use in parts */
    uint64_t giveups_cut; /* executions in which the bound on give-ups mattered */
    bool wholly;
};

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static inline size_t set_slot(const struct set *s, uint64_t key)
{
    size_t i = key * UINT64_C(0xD6E8FEB86659FD93) >> 20 & (s->size - 1);

    while (s->key[i] && s->key[i] != key)
        i = (i + 1) & (s->size - 1);
    return i;
}

static inline void set_grow(struct set *s)
{
    struct set bigger = {.size = s->size ? 2 * s->size : 64, .used = s->used};

    bigger.key = calloc(bigger.size, sizeof(*bigger.key));
    bigger.least = calloc(bigger.size, sizeof(*bigger.least));
    LL_ASSERT(bigger.key && bigger.least);
    for (size_t i = 0; i < s->size; i++)
        if (s->key[i]) {
            size_t at = set_slot(&bigger, s->key[i]);
            bigger.key[at] = s->key[i];
            bigger.least[at] = s->least[i];
        }
    free(s->key);
    free(s->least);
    *s = bigger;
}

static inline void set_add(struct set *s, uint64_t key, uint32_t preemptions)
{
    size_t at;

    key += !key;
    if (2 * s->used >= s->size)
        set_grow(s);
    at = set_slot(s, key);
    if (!s->key[at]) {
        s->key[at] = key;
        s->least[at] = preemptions;
        s->used++;
    } else if (preemptions < s->least[at]) {
        s->least[at] = preemptions;
    }
}

/* Members that some execution with at most `bound` preemptions shows. */
static inline size_t set_count(const struct set *s, uint32_t bound)
{
    size_t n = 0;

    for (size_t i = 0; i < s->size; i++)
        n += s->key[i] && s->least[i] <= bound;
    return n;
}

/* Those of `a` are in `b`. */
static inline bool set_within(const struct set *a, uint32_t bound, const struct set *b)
{
    for (size_t i = 0; i < a->size; i++)
        if (a->key[i] && a->least[i] <= bound && (!b->size || !b->key[set_slot(b, a->key[i])]))
            return false;
    return true;
}

static inline void set_empty(struct set *s)
{
    free(s->key);
    free(s->least);
    *s = (struct set){0};
}

static inline void found_empty(struct found *f)
{
    set_empty(&f->classes);
    set_empty(&f->states);
    set_empty(&f->faults);
    set_empty(&f->races);
    set_empty(&f->aborts);
    *f = (struct found){0};
}

/* ---- comparing; NULL: the same, else what differs ---- */

static char found_text[160];

static inline const char *same_set(const char *what, const struct set *all, uint32_t bound,
                                   const struct set *other, bool partly)
{
    size_t n = set_count(all, bound);

    if (set_within(all, bound, other) && (partly || n == other->used))
        return NULL;
    snprintf(found_text, sizeof(found_text), "%s: %zu by brute force, %zu found%s", what, n,
             other->used, set_within(all, bound, other) ? "" : ", some are missing");
    return found_text;
}

static inline const char *same_sets(const struct found *all, uint32_t bound,
                                    const struct found *other, bool partly)
{
    const char *text = same_set("classes", &all->classes, bound, &other->classes, partly);

    text = text ? text : same_set("states", &all->states, bound, &other->states, partly);
    text = text ? text : same_set("faults", &all->faults, bound, &other->faults, partly);
    return text ? text : same_set("races", &all->races, bound, &other->races, partly);
}

/* A search by brute force against one with reduction. Where a fault ends executions early, what
 * would have come after it is not looked at, so a reduction need only show that there is one. */
static inline const char *found_same(const struct found *all, const struct found *reduced)
{
    if (all->untrue || reduced->untrue)
        return "what the checker reports is not what was seen";
    if (all->past_own || reduced->past_own)
        return "a load passed a store of its own thread";
    if (!reduced->wholly)
        return "the reduced search was not finished";
    if (all->wholly && (all->aborted == 0) != (reduced->aborted == 0))
        return reduced->aborted ? "an abort by reduction only" : "no abort found";
    if (all->wholly && (!set_within(&reduced->states, UINT32_MAX, &all->states) ||
                        !set_within(&reduced->classes, UINT32_MAX, &all->classes) ||
                        !set_within(&reduced->faults, UINT32_MAX, &all->faults) ||
                        !set_within(&reduced->races, UINT32_MAX, &all->races) ||
                        !set_within(&reduced->aborts, UINT32_MAX, &all->aborts)))
        return "the reduced search found what does not exist";
    if (reduced->finished != reduced->classes.used && !reduced->divided) {
        snprintf(found_text, sizeof(found_text), "%llu executions of %zu classes",
                 (unsigned long long)reduced->finished, reduced->classes.used);
        return found_text;
    }
    return reduced->aborted ? NULL : same_sets(all, UINT32_MAX, reduced, !all->wholly);
}

/* ... against one under a bound on preemptions, without reduction: the same executions. */
static inline const char *found_same_bounded(const struct found *all, const struct found *bounded,
                                             uint32_t bound)
{
    uint64_t expected = 0, runs = 0;

    if (all->untrue || bounded->untrue)
        return "what the checker reports is not what was seen";
    for (uint32_t i = 0; i < FOUND_PREEMPTIONS; i++) {
        expected += i <= bound ? all->runs[i] : 0;
        runs += bounded->runs[i];
    }
    if (expected != runs || !bounded->wholly) {
        snprintf(found_text, sizeof(found_text), "%llu executions within the bound, %llu found",
                 (unsigned long long)expected, (unsigned long long)runs);
        return found_text;
    }
    return same_sets(all, bound, bounded, false)
               ? found_text
               : same_set("aborts", &all->aborts, bound, &bounded->aborts, false);
}
