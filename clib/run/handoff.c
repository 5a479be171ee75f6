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

/* A wait of a window or more is logged also where no window is: it may be the longest there is. */
#define LONG_WAIT (UINT64_C(1) << MT_WINDOW_SHIFT)

struct mt_log_entry *mt_log_open(struct mt_log *log, uint64_t called, uint64_t got)
{
    struct mt_log_entry *entry;
    uint64_t head = log->head;
    bool alone = (got >> MT_WINDOW_SHIFT) & eng_own_read(&log->every_mask);

    if (alone && got - called < LONG_WAIT)
        return NULL;
    if (LL_UNLIKELY(head - log->tail_seen > log->mask)) {
        log->tail_seen = eng_own_read_acq(&log->tail);
        if (head - log->tail_seen > log->mask) {
            eng_own_set(&log->lost, log->lost + 1);
            return NULL;
        }
    }
    entry = &log->ring[head & log->mask];
    entry->called = called;
    entry->got = got;
    entry->alone = alone;
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
    uint64_t called, got, released;
    uint32_t thread;
    bool alone;
};

#define RECENT 65536u /* owners remembered, and readings of the total: powers of two */
#define READINGS 8192u

struct reading {
    uint64_t ticks, total;
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
    /* when the last owners got the lock, ascending; without holes since `whole_since` but for those
     * between logged windows */
    uint64_t *recent, n_recent, whole_since;
    struct reading *reading;
    uint64_t n_readings;
    uint64_t run; /* acquisitions in a row by `last` */
    bool run_whole;
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
    m->whole_since = eng_ticks();
    for (uint32_t i = 0; i < threads; i++)
        m->capacity += logs[i]->mask + 1;
    m->owners = malloc(m->capacity * sizeof(*m->owners));
    m->recent = malloc(RECENT * sizeof(*m->recent));
    m->reading = malloc(READINGS * sizeof(*m->reading));
    m->out.matrix = calloc((size_t)n_cpus * n_cpus, sizeof(*m->out.matrix));
    if (!m->owners || !m->recent || !m->reading || !m->out.matrix) {
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
    free(m->recent);
    free(m->reading);
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
        m->owners[n++] = (struct owner){e->called, e->got, released, i, e->alone};
    }
    return n;
}

/* Have all owners between these two moments been logged? */
static bool logged_between(const struct mt_merge *m, uint64_t from, uint64_t to)
{
    /* a window's edge hides who came between, unless every window is logged */
    return from >= m->settled &&
           (!m->every_mask || to >> MT_WINDOW_SHIFT == from >> MT_WINDOW_SHIFT);
}

static void end_run(struct mt_merge *m, bool known)
{
    if (known && m->run_whole)
        mt_histogram_record(&m->out.run, m->run);
    m->run = 0;
    m->run_whole = known;
}

static void pair(struct mt_merge *m, const struct owner *next)
{
    const struct owner *prev = &m->last;
    bool known = m->have_last && logged_between(m, prev->got, next->got);

    if (!known || prev->thread != next->thread)
        end_run(m, known);
    m->run++;
    m->out.pairs += known;
    if (known && prev->thread != next->thread && next->got >= prev->released) {
        mt_histogram_record(&m->out.times, eng_ticks_ns(next->got - prev->released));
        m->out.matrix[m->slot[prev->thread] * m->n_cpus + m->slot[next->thread]]++;
    }
    m->last = *next;
    m->have_last = true;
}

/* ---- bypasses ---- */

void mt_merge_note(struct mt_merge *m, uint64_t ticks, uint64_t total)
{
    m->reading[m->n_readings++ & (READINGS - 1)] = (struct reading){ticks, total};
}

/* Acquisitions before `ticks`, as if they came evenly between two readings; < 0: nobody knows. */
static double total_at(const struct mt_merge *m, uint64_t ticks)
{
    uint64_t low = m->n_readings > READINGS ? m->n_readings - READINGS : 0, high = m->n_readings;
    const struct reading *a, *b;

    if (low == high || m->reading[low & (READINGS - 1)].ticks > ticks)
        return -1;
    while (high - low > 1) { /* low: the last reading that is not later */
        uint64_t middle = low + (high - low) / 2;
        if (m->reading[middle & (READINGS - 1)].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    a = &m->reading[low & (READINGS - 1)];
    if (low + 1 == m->n_readings)
        return (double)a->total;
    b = &m->reading[(low + 1) & (READINGS - 1)];
    return (double)a->total + (double)(b->total - a->total) * (double)(ticks - a->ticks) /
                                  (double)(b->ticks - a->ticks);
}

/* Of the owners remembered, how many got the lock after `ticks`. */
static uint64_t got_since(const struct mt_merge *m, uint64_t ticks)
{
    uint64_t low = m->n_recent > RECENT ? m->n_recent - RECENT : 0, high = m->n_recent;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (m->recent[middle & (RECENT - 1)] <= ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return m->n_recent - low;
}

static bool remembered_since(const struct mt_merge *m, uint64_t ticks)
{
    return ticks >= m->whole_since &&
           (m->n_recent <= RECENT || m->recent[m->n_recent & (RECENT - 1)] <= ticks);
}

/* The long waits that are logged alone would outweigh the others: of them the longest is kept. */
static void bypassed(struct mt_merge *m, uint64_t by, bool sample)
{
    if (sample)
        mt_histogram_record(&m->out.bypass, by);
    if (by > m->out.bypass_max)
        m->out.bypass_max = by;
}

static void count_bypass(struct mt_merge *m, const struct owner *o)
{
    double before, after;

    if (!o->alone && logged_between(m, o->called, o->got) && remembered_since(m, o->called)) {
        bypassed(m, got_since(m, o->called), true);
        return;
    }
    if (o->got - o->called < LONG_WAIT)
        return; /* short, and across an edge: such waits are sampled by the others */
    before = total_at(m, o->called);
    after = total_at(m, o->got);
    if (before < 0)
        return; /* called before the measured phase */
    bypassed(m, (uint64_t)(after - before + 0.5), !o->alone);
    m->out.bypass_estimated += !o->alone;
}

static void take(struct mt_merge *m, const struct owner *o)
{
    count_bypass(m, o);
    if (o->alone)
        return;
    m->recent[m->n_recent++ & (RECENT - 1)] = o->got;
    pair(m, o);
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
        m->n_recent = 0;
        m->whole_since = limit;
    }
    for (size_t k = 0; k < n && m->owners[k].got < limit; k++) {
        struct mt_log *log = m->logs[m->owners[k].thread];
        if (!lost)
            take(m, &m->owners[k]);
        eng_own_set_rel(&log->tail, log->tail + 1);
    }
}

const struct mt_handoffs *mt_merge_result(const struct mt_merge *m)
{
    return &m->out;
}
