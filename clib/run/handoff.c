/* SPDX-License-Identifier: MIT */
/* handoff.c - writing and merging the hand-off logs.
 *
 * Why the merge is right. An entry is published inside its section, so before any later owner's. At
 * the start of a drain the reader notes the time T. An entry with got <= T that it does not see
 * belongs to a thread that held the lock at T, so no later owner has got <= T either. An entry whose
 * `released` is still missing stops the merge there. Hence the entries below that limit, sorted by
 * `got`, are the owners in order, without holes (unless a ring was full, which is counted).
 */
#include "run/handoff.h"

#include <stdlib.h>

#include "engine/clock.h"
#include "engine/own.h"
#include "core/error.h"
#include "metrics/histogram.h"

int mt_log_init(struct mt_log *log, uint32_t capacity)
{
    LL_ASSERT((capacity & (capacity - 1)) == 0);
    *log = (struct mt_log){.mask = capacity - 1};
    log->ring = calloc(capacity, sizeof(*log->ring));
    return log->ring ? 0 : -ENOMEM;
}

void mt_log_fini(struct mt_log *log)
{
    free(log->ring);
    log->ring = NULL;
}

struct mt_log_entry *mt_log_open(struct mt_log *log, uint64_t got)
{
    struct mt_log_entry *entry;
    uint64_t head = log->head;

    if ((got >> MT_WINDOW_SHIFT) & eng_own_read(&log->every_mask))
        return NULL;
    if (LL_UNLIKELY(head - log->tail_seen > log->mask)) {
        log->tail_seen = eng_own_read_acq(&log->tail);
        if (head - log->tail_seen > log->mask) {
            eng_own_set(&log->lost, log->lost + 1);
            return NULL;
        }
    }
    entry = &log->ring[head & log->mask];
    entry->got = got;
    entry->released = 0;
    eng_own_set_rel(&log->head, head + 1); /* pairs with the drain's read of head */
    return entry;
}

void mt_log_close(struct mt_log_entry *entry, uint64_t released)
{
    eng_own_set_rel(&entry->released, released);
}

void mt_log_discard(struct mt_log *log)
{
    eng_own_set_rel(&log->tail, eng_own_read_acq(&log->head));
    log->lost_seen = eng_own_read(&log->lost);
}

struct owner {
    uint64_t got, released;
    uint32_t thread;
};

struct mt_merge {
    struct mt_log **logs;
    const uint32_t *slot; /* row of the matrix, by thread */
    uint32_t threads, n_cpus;
    uint64_t every_mask;
    struct owner *owners; /* scratch */
    size_t capacity;
    struct owner last; /* the newest owner merged so far */
    bool have_last;
    uint64_t settled; /* ticks: entries acquired before then are not paired */
    struct mt_handoffs out;
};

struct mt_merge *mt_merge_new(struct mt_log **logs, const uint32_t *slot_of_thread,
                              uint32_t threads, uint32_t n_cpus, uint64_t every_mask)
{
    struct mt_merge *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->slot = slot_of_thread;
    m->threads = threads;
    m->n_cpus = n_cpus;
    m->every_mask = every_mask;
    for (uint32_t i = 0; i < threads; i++)
        m->capacity += logs[i]->mask + 1;
    m->owners = malloc(m->capacity * sizeof(*m->owners));
    m->out.matrix = calloc((size_t)n_cpus * n_cpus, sizeof(*m->out.matrix));
    if (!m->owners || !m->out.matrix) {
        mt_merge_free(m);
        return NULL;
    }
    m->logs = logs;
    return m;
}

void mt_merge_free(struct mt_merge *m)
{
    if (!m)
        return;
    free(m->logs);
    free(m->owners);
    free(m->out.matrix);
    free(m);
}

void mt_merge_set_every(struct mt_merge *m, uint64_t every_mask)
{
    m->every_mask = every_mask;
    for (uint32_t i = 0; i < m->threads; i++)
        eng_own_set(&m->logs[i]->every_mask, every_mask);
    m->settled = eng_ticks() + (UINT64_C(2) << MT_WINDOW_SHIFT);
}

uint64_t mt_merge_every(const struct mt_merge *m)
{
    return m->every_mask;
}

static int by_got(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;

    return (x->got > y->got) - (x->got < y->got);
}

/* Copies thread i's complete entries below `limit`; lowers `limit` to its first incomplete one. */
static size_t collect(struct mt_merge *m, uint32_t i, size_t n, uint64_t *limit)
{
    struct mt_log *log = m->logs[i];
    uint64_t head = eng_own_read_acq(&log->head);

    for (uint64_t at = log->tail; at != head; at++) {
        const struct mt_log_entry *e = &log->ring[at & log->mask];
        uint64_t released = eng_own_read_acq(&e->released);
        if (e->got > *limit)
            break;
        if (!released) {
            *limit = e->got;
            break;
        }
        m->owners[n++] = (struct owner){e->got, released, i};
    }
    return n;
}

static void pair(struct mt_merge *m, const struct owner *next)
{
    const struct owner *prev = &m->last;

    /* a window's edge hides who came between, unless every window is logged */
    if (m->have_last && prev->got >= m->settled && prev->thread != next->thread &&
        next->got >= prev->released &&
        (!m->every_mask || next->got >> MT_WINDOW_SHIFT == prev->got >> MT_WINDOW_SHIFT)) {
        mt_histogram_record(&m->out.times, eng_ticks_ns(next->got - prev->released));
        m->out.matrix[m->slot[prev->thread] * m->n_cpus + m->slot[next->thread]]++;
    }
    m->last = *next;
    m->have_last = true;
}

/* Was a ring full since the last drain? Then there are holes. */
static bool lost_any(struct mt_merge *m)
{
    bool lost = false;

    for (uint32_t i = 0; i < m->threads; i++) {
        uint64_t now = eng_own_read(&m->logs[i]->lost);
        lost |= now != m->logs[i]->lost_seen;
        m->logs[i]->lost_seen = now;
    }
    return lost;
}

void mt_merge_drain(struct mt_merge *m, bool final)
{
    uint64_t limit = final ? UINT64_MAX : eng_ticks();
    size_t n = 0;
    bool lost = lost_any(m);

    for (uint32_t i = 0; i < m->threads; i++)
        n = collect(m, i, n, &limit);
    lost |= lost_any(m);
    qsort(m->owners, n, sizeof(*m->owners), by_got);
    if (lost) {
        m->out.dropped++;
        m->have_last = false;
    }
    for (size_t k = 0; k < n && m->owners[k].got < limit; k++) {
        struct mt_log *log = m->logs[m->owners[k].thread];
        if (!lost)
            pair(m, &m->owners[k]);
        eng_own_set_rel(&log->tail, log->tail + 1);
    }
}

const struct mt_handoffs *mt_merge_result(const struct mt_merge *m)
{
    return &m->out;
}
