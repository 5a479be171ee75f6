/* SPDX-License-Identifier: MIT */
/* virtual_bkl.c - the big lock and another one, taken in both orders, every interleaving: legal where
 * waiters for the other sleep, which drops the big lock; a deadlock where they spin.
 */
#define ENG_VIRTUAL /* the body below runs on the checker's fibers */
#include <stdio.h>
#include <string.h>

#include "check/program.h"
#include "clients/counters.h"
#include "core/registry.h"
#include "expect.h"

/* Thread 0 takes the big lock first, twice over; the others take it inside. */
static void body(struct ll_client *c, uint32_t thread)
{
    if (thread == 0) {
        eng_bkl_acquire();
        eng_bkl_acquire();
    }
    eng_mark(ENG_ACQUIRING, false);
    c->lock->ops.acquire(c->instance, c->node[thread]);
    if (eng_bkl_depth() != (thread == 0 ? 2 : 0)) /* back as it was */
        c->torn[thread]++;
    eng_bkl_acquire();
    counters_section(c, thread); /* with both */
    eng_bkl_release();
    c->lock->ops.release(c->instance, c->node[thread]);
    eng_mark(ENG_OUTSIDE, false);
    if (thread == 0) {
        eng_bkl_release();
        eng_bkl_release();
    }
    if (eng_bkl_depth())
        c->torn[thread]++;
}

static const struct ll_client_desc client = {
    .name = "bkl", .kind = LL_KIND_EXCLUSIVE, .body = body, .verdict = counters_verdict};

static unsigned stuck; /* executions in which nobody could go on */

static bool on_fault(void *arg)
{
    struct ck_last last;

    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults; i++)
        if (!strcmp(last.fault[i].kind, "stranded") || !strcmp(last.fault[i].kind, "deadlock"))
            stuck++;
        else
            EXPECT(false, "%s: %s: %s", (const char *)arg, last.fault[i].kind, last.fault[i].text);
    return false;
}

static void explore(const char *id, uint32_t threads, enum ll_memory memory, bool locks_up)
{
    struct ll_program_spec spec = {.lock = ll_lock_find(id, LL_VARIANT_VIRTUAL),
                                   .client = &client,
                                   .threads = threads,
                                   .writers = threads,
                                   .turns = 1};
    struct ck_options options = {.strategy = CK_DFS,
                                 .memory = memory,
                                 .giveups = 1,
                                 .races = true,
                                 .on_fault = on_fault,
                                 .on_fault_arg = (void *)(uintptr_t)id};
    struct ll_program program;
    struct ck_report report;
    struct ll_error error;

    stuck = 0;
    LL_ASSERT(spec.lock && ll_program_init(&program, &spec, &error) == 0);
    EXPECT(ck_explore(&program.ck, &options, &report) == 0, "%s", id);
    EXPECT(report.wholly && report.waits > 0, "%s: %lu executions, %lu waits", id,
           (unsigned long)report.executions, (unsigned long)report.waits);
    EXPECT((stuck != 0) == locks_up, "%s: %u stuck in %lu executions", id, stuck,
           (unsigned long)report.executions);
    ll_program_fini(&program);
}

int main(void)
{
    for (int m = 0; m < 2; m++) {
        explore("rwsem/3.12", 2, m ? LL_MEMORY_SC : LL_MEMORY_TSO, false);
        explore("spin/ticket", 2, m ? LL_MEMORY_SC : LL_MEMORY_TSO, true);
    }
    DONE();
}
