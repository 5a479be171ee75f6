/* SPDX-License-Identifier: MIT */
/* blocks.c - what our instrumentation costs: the same threads run the bare and the instrumented build
 * in short blocks, in the order A B B A, so that drifts of the machine hit both alike. */
#include <stdlib.h>

#include "run/run.h"

#define BLOCK_S 0.002
#define BLOCK_PAIRS_MAX 50000u

/* Leads the crew through block `number` and yields its rate; < 0: stop asked. */
static double block(struct ll_run *run, struct crew *c, uint32_t number, uint32_t side)
{
    uint64_t before = crew_acquisitions(c, side);
    double start;

    crew_lead(c, CREW_BLOCK(number << 1 | side));
    start = run_now();
    if (run_sleep(run, start + BLOCK_S))
        return -1;
    return (double)(crew_acquisitions(c, side) - before) / (run_now() - start);
}

int blocks_run(struct ll_run *run, struct ll_error *err)
{
    static const uint32_t order[2][2] = {{0, 1}, {1, 0}};
    struct tally *t = &run->tally;
    struct watchdog w;
    double end;
    struct crew *c;
    uint32_t n = 0, capacity = (uint32_t)(run->plan.user.seconds / (2 * BLOCK_S)) + 1;
    bool logs = t->out.handoff != NULL;
    int ret;

    if (capacity > BLOCK_PAIRS_MAX)
        capacity = BLOCK_PAIRS_MAX;
    t->block_bare = calloc(capacity, sizeof(double));
    t->block_instrumented = calloc(capacity, sizeof(double));
    if (!t->block_bare || !t->block_instrumented)
        return ll_fail(err, -ENOMEM, "", "out of memory");
    if ((ret = crew_start(&run->plan, CREW_SIDES, logs, NULL, NULL, run->plan.user.seed, &c, err)))
        return ret;
    for (uint32_t i = 0; i < c->threads; i++)
        eng_own_set(&c->member[i].log.every_mask, t->last_mask);
    run_set_phase(run, LL_PHASE_OVERHEAD, c);
    end = run_now() + run->plan.user.seconds;
    w = watch_begin(0);
    while (n < capacity && run_now() < end) {
        double rate[2];
        for (uint32_t k = 0; k < 2 && !ret; k++) {
            uint32_t side = order[n & 1][k];
            rate[side] = block(run, c, 2 * n + k + 1, side);
            if (rate[side] < 0)
                ret = -ECANCELED;
        }
        for (uint32_t i = 0; i < c->threads && logs; i++)
            mt_log_discard(&c->member[i].log);
        if (!ret && watch_hangs(run, c, &w, crew_acquisitions(c, 0) + crew_acquisitions(c, 1))) {
            watch_declare(run, c, &w, "in the overhead blocks");
            ret = -ETIMEDOUT;
        }
        if (ret)
            break;
        t->block_bare[n] = rate[0];
        t->block_instrumented[n] = rate[1];
        n++;
    }
    t->out.n_blocks = n;
    run_drain(run, c, ret ? RUN_ENDED_STOP : RUN_ENDED_TIME);
    run_set_phase(run, LL_PHASE_START, NULL);
    run->abandoned |= crew_free(c) != 0;
    return ret;
}
