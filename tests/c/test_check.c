/* SPDX-License-Identifier: MIT */
/* test_check.c - the checker's counts, verdicts, schedules and bounds, through the public interface. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "include/locklab.h"

static struct ll_check *finish(struct ll_check *c, const struct ll_check_result **r)
{
    while (ll_check_wait(c, 1))
        ;
    EXPECT(ll_check_result(c, r) == 0);
    return c;
}

static struct ll_check *check(const struct ll_check_plan *plan, const struct ll_check_result **r)
{
    struct ll_error err = {.text = ""};
    struct ll_check *c = NULL;
    int ret = ll_check_start(plan, &c, &err);

    if (ret) {
        fprintf(stderr, "%s: %s\n", plan->lock, err.text);
        exit(1);
    }
    return finish(c, r);
}

static struct ll_check_plan plan_of(const char *lock, uint32_t threads, uint32_t n)
{
    struct ll_check_plan plan;

    ll_check_plan_init(&plan);
    plan.lock = lock;
    plan.threads = threads;
    plan.n = n;
    plan.seconds = 60;
    return plan;
}

/* Complete executions that GenMC and Nidhugg report for the same locks, one for each trace. */
static void counts(void)
{
    static const struct {
        const char *lock, *client;
        uint32_t threads, n;
        uint64_t executions;
    } known[] = {
        {"spin/ticket", "mutex", 3, 1, 6},       {"spin/ticket", "mutex", 4, 1, 24},
        {"spin/ticket", "mutex", 3, 2, 90},      {"spin/ticket", "mutex", 3, 3, 1680},
        {"spin/ticket", "mutex", 4, 2, 2520},    {"spin/mcs", "mutex", 2, 1, 6},
        {"spin/mcs", "mutex", 3, 1, 66},         {"spin/mcs", "mutex", 4, 1, 1080},
        {"spin/mcs", "mutex", 3, 2, 17670},      {"spin/mcs", "mutex", 5, 1, 23640},
        {"spin/ttas", "mutex-once", 3, 1, 36},   {"spin/ttas", "mutex-once", 4, 1, 576},
        {"spin/ttas", "mutex-once", 3, 2, 7134},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (int memory = LL_MEMORY_TSO; memory <= LL_MEMORY_SC; memory++) {
            struct ll_check_plan plan = plan_of(known[i].lock, known[i].threads, known[i].n);
            const struct ll_check_result *r;
            struct ll_check *c;
            plan.client = known[i].client;
            plan.memory = (enum ll_memory)memory;
            plan.strategy = LL_STRATEGY_DFS;
            c = check(&plan, &r);
            if (r->executions != known[i].executions)
                fprintf(stderr, "%s %ux%u: %llu executions\n", known[i].lock, known[i].threads,
                        known[i].n, (unsigned long long)r->executions);
            EXPECT(r->executions == known[i].executions);
            EXPECT(r->verdict == LL_NONE_FOUND && r->bound == -1 && r->n == known[i].n);
            EXPECT(r->n_faults == 0 && r->waits > 0);
            ll_check_unref(c);
        }
}

/* Kind and role of every fault, sorted as found, in one text. */
static void expect_faults(struct ll_check_plan plan, const char *wanted)
{
    const struct ll_check_result *r, *again;
    struct ll_check *c = check(&plan, &r), *replayed;
    char seen[256] = "";
    struct ll_error err;

    for (uint32_t i = 0; i < r->n_faults; i++) {
        const struct ll_check_fault *f = &r->fault[i];
        char one[64];
        snprintf(one, sizeof(one), "%s %s;", f->kind, f->role);
        if (!strstr(wanted, one))
            fprintf(stderr, "%s: unexpected %s %s\n", plan.lock, one, f->text);
        strncat(seen, one, sizeof(seen) - strlen(seen) - 1);
        EXPECT(strlen(f->schedule) > 0 && strlen(f->schedule) <= 64);
        EXPECT(f->n_steps > 0 && f->preemptions <= 4);
        EXPECT(ll_check_replay(f->schedule, &replayed, &err) == 0);
        finish(replayed, &again);
        EXPECT(again->n_faults == 1 && !strcmp(again->fault[0].kind, f->kind));
        EXPECT(again->n_faults == 1 && again->fault[0].n_steps == f->n_steps);
        ll_check_unref(replayed);
    }
    if (strlen(seen) != strlen(wanted))
        fprintf(stderr, "%s: found {%s}, wanted {%s}\n", plan.lock, seen, wanted);
    EXPECT(strlen(seen) == strlen(wanted));
    EXPECT(r->verdict == (*wanted ? LL_FAULT : LL_NONE_FOUND));
    EXPECT(r->exhaustive || plan.n != 1 || plan.first);
    ll_check_unref(c);
}

static void rwsems(void)
{
    static const char *const steal[] = {"fast", "slow"};
    struct ll_setting setting[] = {{"steal", NULL}, {"mode", "retry"}};

    for (int k = 0; k < 4; k++) {
        struct ll_check_plan plan = plan_of("rwsem/3.12", 3, 1);
        plan.memory = k & 1 ? LL_MEMORY_SC : LL_MEMORY_TSO;
        plan.writers = 2;
        plan.seconds = 4;
        plan.budget = 200000;
        plan.strategy = LL_STRATEGY_DFS;
        setting[0].value = steal[k >> 1];
        plan.settings = setting;
        plan.n_settings = 1;
        expect_faults(plan, "");
        plan.lock = "rwsem/wakeup-flag";
        expect_faults(plan, "stranded reader;stranded writer;");
        plan.lock = "rwsem/wakeup-flag-fixed";
        expect_faults(plan, "");
        plan.n_settings = 2;
        expect_faults(plan, "stranded writer;");
    }
}

static void refused(struct ll_check_plan plan, const char *field)
{
    struct ll_check *c;
    struct ll_error err;

    EXPECT(ll_check_start(&plan, &c, &err) == -EINVAL);
    EXPECT(!strcmp(err.field, field));
}

/* The published fault needs four contexts; what is needed against it holds. Two are explored wholly,
 * three in all their orders with a preemption. */
static void contexts(void)
{
    static const char *const lock[] = {"ww/wait-die", "ww/wound-wait"};
    struct ll_setting setting = {"publish", "count"};
    struct ll_check_plan plan = plan_of("ww/wait-die", 4, 1);
    const struct ll_check_result *r, *again;
    struct ll_check *c, *replayed;
    struct ll_error err;

    plan.strategy = LL_STRATEGY_RANDOM;
    plan.budget = 6000;
    plan.seconds = 30;
    plan.first = true; /* samples are never all */
    expect_faults(plan, "");
    plan.settings = &setting;
    plan.n_settings = 1;
    c = check(&plan, &r);
    EXPECT(r->n_faults == 1 && !strcmp(r->fault[0].kind, "deadlock"));
    EXPECT(r->n_faults == 1 && !strcmp(r->fault[0].orders, "abAA") && r->fault[0].threads == 4);
    EXPECT(ll_check_replay(r->fault[0].schedule, &replayed, &err) == 0);
    finish(replayed, &again);
    EXPECT(again->n_faults == 1 && !strcmp(again->fault[0].orders, "abAA"));
    EXPECT(again->n_faults == 1 && again->fault[0].n_steps == r->fault[0].n_steps);
    ll_check_unref(replayed);
    ll_check_unref(c);
    for (int i = 0; i < 2; i++) {
        plan = plan_of(lock[i], 2, 1);
        plan.strategy = LL_STRATEGY_DFS;
        plan.giveups = 0;
        plan.seconds = 30;
        expect_faults(plan, "");
        plan = plan_of(lock[i], 3, 1);
        plan.memory = LL_MEMORY_SC;
        plan.strategy = LL_STRATEGY_DFS;
        plan.bound = 1;
        plan.seconds = 30;
        plan.first = true;
        expect_faults(plan, "");
    }
    plan.orders = "ab";
    refused(plan, "orders");
    plan = plan_of("spin/mcs", 2, 1);
    plan.orders = "ab";
    refused(plan, "orders");
}

/* A lock without an order lets a waiter starve; a queue does not. */
static void starvation(void)
{
    static const char *const lock[] = {"spin/tas", "spin/ttas", "spin/ticket", "spin/mcs"};

    for (size_t i = 0; i < sizeof(lock) / sizeof(lock[0]); i++) {
        struct ll_check_plan plan = plan_of(lock[i], 2, 3);
        plan.starvation = true;
        plan.strategy = LL_STRATEGY_DFS;
        plan.budget = 5000;
        expect_faults(plan, i < 2 ? "starvation ;" : "");
        plan.starvation = false;
        expect_faults(plan, "");
    }
}

static void verdicts(void)
{
    struct ll_check_plan plan = plan_of("spin/none", 3, 1);
    const struct ll_check_result *r;
    struct ll_check *c;

    expect_faults(plan, "exclusion ;");
    plan.first = true;
    expect_faults(plan, "exclusion ;");
    plan = plan_of("spin/mcs", 3, 0); /* grows until the budget is spent */
    plan.budget = 20000;
    c = check(&plan, &r);
    EXPECT(r->verdict == LL_NONE_FOUND && r->exhaustive && r->n >= 1);
    ll_check_unref(c);
    plan = plan_of("spin/tas", 3, 2);
    plan.strategy = LL_STRATEGY_RANDOM;
    plan.budget = 5000;
    c = check(&plan, &r);
    EXPECT(r->verdict == LL_NONE_FOUND && r->executions + r->blocked == 5000 && !r->exhaustive);
    ll_check_unref(c);
}

static void refusals(void)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "spin/mcs:2x1:zzz",
                                      "spin/mcs:2x1:000000:AB",
                                      "spin/mcs:0x1:000000:AB",
                                      "spin/mcs:99999999999x1:000000:AB",
                                      "spin/none:2x1:000000:!!"};
    struct ll_check_plan plan = plan_of("host/pthread-mutex", 3, 1);
    struct ll_error err;
    struct ll_check *c;

    EXPECT(ll_check_start(&plan, &c, &err) == -ENOTSUP);
    plan.lock = "spin/mc";
    EXPECT(ll_check_start(&plan, &c, &err) == -ENOENT && strstr(err.text, "spin/mcs"));
    plan.lock = "spin/clh";
    plan.client = "try";
    EXPECT(ll_check_start(&plan, &c, &err) == -ENOTSUP);
    plan = plan_of("spin/mcs", 9, 1);
    EXPECT(ll_check_start(&plan, &c, &err) == -ERANGE);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(ll_check_replay(bad[i], &c, &err) < 0);
}

int main(void)
{
    counts();
    rwsems();
    contexts();
    starvation();
    verdicts();
    refusals();
    DONE();
}
