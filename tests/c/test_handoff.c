/* SPDX-License-Identifier: MIT */
/* test_handoff.c - the merge of hand-off logs, on made-up times: bypasses, runs, what windows hide. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/clock.h"
#include "expect.h"
#include "run/handoff.h"

#define THREADS 3u
#define WINDOW (UINT64_C(1) << MT_WINDOW_SHIFT)

static struct mt_log log_of[THREADS];
static struct mt_merge *merge;
static uint64_t base; /* the beginning of a window that is logged */

static void begin(uint64_t every_mask)
{
    static const uint32_t slot[THREADS] = {0, 1, 0};
    struct mt_log **logs = calloc(THREADS, sizeof(*logs));

    for (uint32_t i = 0; i < THREADS; i++) {
        EXPECT(mt_log_init(&log_of[i], 256) == 0);
        log_of[i].every_mask = every_mask;
        logs[i] = &log_of[i];
    }
    merge = mt_merge_new(logs, slot, THREADS, 2, every_mask);
    base = ((eng_ticks() >> MT_WINDOW_SHIFT) / (every_mask + 1) + 1) * (every_mask + 1) * WINDOW;
}

static const struct mt_handoffs *end(void)
{
    mt_merge_drain(merge, true);
    return mt_merge_result(merge);
}

static void forget(void)
{
    mt_merge_free(merge);
    for (uint32_t i = 0; i < THREADS; i++)
        mt_log_fini(&log_of[i]);
}

/* One acquisition, times since `base`; false: not logged. */
static bool turn(uint32_t thread, uint64_t called, uint64_t got, uint64_t released)
{
    struct mt_log_entry *e = mt_log_open(&log_of[thread], base + called, base + got);

    if (e)
        mt_log_close(e, base + released);
    return e != NULL;
}

static uint64_t with_value(const struct ll_histogram *h, uint64_t value)
{
    return h->bucket[ll_bucket_of(value)];
}

static void bypasses_and_runs_are_counted(void)
{
    const struct mt_handoffs *h;

    begin(0);
    turn(0, 0, 10, 20);
    turn(1, 15, 30, 40); /* called while 0 was inside: nobody in between */
    turn(1, 45, 50, 60); /* a run of 2 */
    turn(2, 65, 70, 80);
    turn(0, 25, 90, 100); /* called before 1, 1, 2: bypassed by three */
    h = end();
    EXPECT(h->bypass.count == 5 && with_value(&h->bypass, 0) == 4 &&
           with_value(&h->bypass, 3) == 1);
    EXPECT(h->bypass_max == 3 && h->bypass_estimated == 0);
    /* the first run began before the log, the last one has not ended */
    EXPECT(h->run.count == 2 && with_value(&h->run, 2) == 1 && with_value(&h->run, 1) == 1);
    EXPECT(h->pairs == 4);
    EXPECT(h->times.count == 3 && h->matrix[1] == 1 && h->matrix[2] == 1 && h->matrix[0] == 1);
    forget();
}

static void a_window_hides_what_is_outside(void)
{
    const struct mt_handoffs *h;

    begin(3);
    EXPECT(turn(0, 0, 10, 20));
    EXPECT(turn(1, 30, 40, 50));
    EXPECT(!turn(0, WINDOW + 5, WINDOW + 10, WINDOW + 20));            /* not logged */
    EXPECT(turn(1, 4 * WINDOW - 5, 4 * WINDOW + 10, 4 * WINDOW + 20)); /* across an edge */
    EXPECT(turn(0, 4 * WINDOW + 25, 4 * WINDOW + 30, 4 * WINDOW + 40));
    EXPECT(turn(1, 4 * WINDOW + 45, 4 * WINDOW + 50, 4 * WINDOW + 60));
    h = end();
    EXPECT(h->bypass.count == 4 && h->bypass.sum == 0 && h->bypass_max == 0);
    EXPECT(h->times.count == 3);
    EXPECT(h->run.count == 1 && with_value(&h->run, 1) == 1); /* that of 0 in the second window */
    forget();
}

static void long_waits_are_estimated(void)
{
    const struct mt_handoffs *h;

    begin(3);
    mt_merge_note(merge, base, 0);
    mt_merge_note(merge, base + 4 * WINDOW, 4000);
    mt_merge_note(merge, base + 8 * WINDOW, 4400);
    EXPECT(turn(0, WINDOW, 4 * WINDOW + 10, 4 * WINDOW + 20));     /* 3 windows at 1000 */
    EXPECT(turn(1, 2 * WINDOW, 6 * WINDOW + 20, 6 * WINDOW + 30)); /* alone: only the most */
    EXPECT(turn(2, 0, 8 * WINDOW, 8 * WINDOW + 10));               /* all of it */
    h = end();
    EXPECT(h->bypass.count == 2 && h->bypass_estimated == 2, "%lu", (unsigned long)h->bypass.count);
    EXPECT(h->bypass.sum == 3000 + 4400 && h->bypass_max == 4400, "%lu",
           (unsigned long)h->bypass.sum);
    EXPECT(h->times.count == 0);
    forget();
    begin(3);
    mt_merge_note(merge, base + 2 * WINDOW, 0);
    mt_merge_note(merge, base + 8 * WINDOW, 600);
    EXPECT(turn(0, WINDOW, 4 * WINDOW + 10, 4 * WINDOW + 20)); /* called before all readings */
    EXPECT(turn(1, 2 * WINDOW, 7 * WINDOW, 7 * WINDOW + 30));
    h = end();
    EXPECT(h->bypass.count == 0 && h->bypass_max == 500);
    forget();
}

static void a_full_ring_loses_the_drain(void)
{
    const struct mt_handoffs *h;

    begin(0);
    for (uint64_t i = 0; i < 300; i++)
        EXPECT(turn(0, 100 * i, 100 * i + 10, 100 * i + 20) == (i < 256));
    mt_merge_drain(merge, true);
    EXPECT(turn(1, 50, 40000, 40010)); /* its wait reaches back into what was lost */
    EXPECT(turn(0, 40005, 40020, 40030));
    h = end();
    EXPECT(h->dropped == 1 && h->times.count == 1);
    forget();
}

int main(void)
{
    eng_clock_init();
    bypasses_and_runs_are_counted();
    a_window_hides_what_is_outside();
    long_waits_are_estimated();
    a_full_ring_loses_the_drain();
    DONE();
}
