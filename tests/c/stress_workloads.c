/* SPDX-License-Identifier: MIT */
/* stress_workloads.c - every workload on real threads: figures of the groups add up, sections exclude each
 * other, sleeps are counted; and what does not fit is refused in a sentence that says why.
 */
#include <string.h>

#include "core/registry.h"
#include "expect.h"
#include "include/locklab.h"
#include "stuck_lock.h"

#define BOUND_S 100.0

static struct ll_plan plan_of(const char *lock, const char *workload, uint32_t threads,
                              const struct ll_setting *settings)
{
    struct ll_plan p;

    ll_plan_init(&p);
    p.lock = lock;
    p.workload = workload;
    p.threads = threads;
    p.seconds = 0.02;
    p.warmup_s = 0.002;
    p.watchdog_s = 60; /* a busy machine is not a broken lock */
    p.settings = settings;
    while (settings && settings[p.n_settings].name)
        p.n_settings++;
    return p;
}

#define SETTINGS(...) ((const struct ll_setting[]){__VA_ARGS__, {NULL, NULL}})

static uint64_t event(const struct ll_result *r, const char *name)
{
    struct ll_event_info info;

    for (size_t i = 0; !ll_event_get(i, &info); i++)
        if (!strcmp(info.name, name))
            return r->events[i];
    EXPECT(false, "no event %s", name);
    return 0;
}

/* A busy machine may give a run no CPU to speak of: then there is nothing to look at. */
static bool did_much(const struct ll_result *r)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < r->threads; i++)
        total += r->acquisitions[i];
    return total > 2000;
}

static void groups_add_up(const struct ll_plan *p, const struct ll_result *r)
{
    uint64_t total = 0, counted = 0, wait = 0, hold = 0, wait_max = 0;

    for (uint32_t i = 0; i < r->threads; i++)
        total += r->acquisitions[i];
    for (uint32_t g = 0; g < r->n_groups; g++) {
        EXPECT(r->group[g].count > 0 && r->group[g].name[0] && r->group[g].lock[0]);
        EXPECT(!r->group[g].counted || !strcmp(r->group[g].lock, p->lock));
        if (!r->group[g].counted)
            continue;
        counted += r->group[g].acquisitions;
        wait += r->group[g].wait_ns;
        hold += r->group[g].hold_ns;
        if (r->group[g].wait_max_ns > wait_max)
            wait_max = r->group[g].wait_max_ns;
    }
    EXPECT(r->n_groups > 0 && counted == total, "%s: %lu of %lu", p->workload,
           (unsigned long)counted, (unsigned long)total);
    EXPECT(r->wait->count == total && r->hold->count == total);
    /* each sample is rounded down to a whole ns, sums of ticks only once */
    EXPECT(wait >= r->wait->sum && wait - r->wait->sum <= total + r->n_groups * r->threads);
    EXPECT(hold >= r->hold->sum && hold - r->hold->sum <= total + r->n_groups * r->threads);
    EXPECT(wait_max == r->wait->max);
}

static struct ll_run *run(const struct ll_plan *p, const struct ll_result **out)
{
    struct ll_error err = {"", ""};
    struct ll_run *made = NULL;

    EXPECT(ll_run_start(p, &made, &err) == 0, "%s on %s: %s", p->workload, p->lock, err.text);
    if (!made)
        exit(1);
    EXPECT(ll_run_wait(made, BOUND_S) == 0 && ll_run_result(made, out) == 0);
    EXPECT((*out)->status == LL_STATUS_COMPLETE, "%s on %s: %s", p->workload, p->lock,
           (*out)->failure.text);
    EXPECT((*out)->overlap == 0, "%s on %s", p->workload, p->lock);
    return made;
}

/* All that fit, by their own word. */
static void every_workload_runs(void)
{
    static const char *const locks[] = {"spin/mcs", "mutex/mcs", "rwsem/3.12", "ww/wait-die"};
    struct ll_workload_info info;

    for (size_t i = 0; !ll_workload_get(i, &info); i++) {
        unsigned fitting = 0;
        for (unsigned k = 0; k < sizeof(locks) / sizeof(*locks); k++) {
            struct ll_plan p = plan_of(locks[k], info.id, 3, NULL);
            struct ll_error err = {"", ""};
            const struct ll_result *r;
            struct ll_run *made;
            if (!ll_lock_find(locks[k], LL_VARIANT_NATIVE))
                continue;
            if (ll_plan_validate(&p, &err)) {
                EXPECT(err.text[0] && err.field[0], "%s on %s", info.id, locks[k]);
                continue;
            }
            fitting++;
            made = run(&p, &r);
            groups_add_up(&p, r);
            if (strcmp(info.id, "critical-section"))
                EXPECT(event(r, "jobs") > 0 || !did_much(r), "%s on %s", info.id, locks[k]);
            ll_run_unref(made);
        }
        EXPECT(fitting > 0 || !ll_lock_find("ww/wait-die", LL_VARIANT_NATIVE) ||
                   !strcmp(info.id, "relax-yield"),
               "%s fits no lock", info.id);
    }
}

static void sleeps_are_counted(void)
{
    struct ll_plan p = plan_of("rwsem/3.12", "aim7-fserver", 2, SETTINGS({"sleep_pct", "100"}));
    const struct ll_result *r;
    struct ll_run *made = run(&p, &r);

    EXPECT(event(r, "section_sleeps") > 0 || !did_much(r));
    ll_run_unref(made);
    p = plan_of("spin/mcs", "aim7-fserver", 2,
                SETTINGS({"sleep_pct", "100"}, {"sleep_as", "busy"}));
    made = run(&p, &r);
    EXPECT(event(r, "section_sleeps") == 0 && (event(r, "jobs") > 0 || !did_much(r)));
    ll_run_unref(made);
}

static void both_sides_of_the_overhead_have_all_groups(void)
{
    struct ll_plan p = plan_of("mutex/mcs", "aim7-high_systime", 2, NULL);
    const struct ll_result *r;
    struct ll_run *made;

    p.overhead = true;
    made = run(&p, &r);
    EXPECT(r->n_blocks > 0 && r->n_groups == 2);
    EXPECT(!strcmp(r->group[1].lock, "spin/ticket") && !r->group[1].counted);
    ll_run_unref(made);
}

static void a_companion_is_chosen_by_its_parameter(void)
{
    struct ll_plan p = plan_of("spin/mcs", "aim7-custom", 2, SETTINGS({"second", "mutex/mcs"}));
    const struct ll_result *r;
    struct ll_run *made = run(&p, &r);

    EXPECT(!strcmp(r->group[1].lock, "mutex/mcs"));
    EXPECT(r->group[1].acquisitions > 0 || !did_much(r));
    ll_run_unref(made);
}

/* ---- a lock that is never released ---- */

/* Who waits is told by group and instance. */
static void waiters_are_named(const char *workload, const struct ll_setting *settings,
                              const char *begins, const char *ends)
{
    struct ll_plan p = plan_of("test/stuck", workload, 3, settings);
    struct ll_error err = {"", ""};
    struct ll_run *made = NULL;
    const struct ll_result *r = NULL;
    uint32_t named = 0;

    p.watchdog_s = 0.2;
    EXPECT(ll_run_start(&p, &made, &err) == 0, "%s", err.text);
    EXPECT(ll_run_wait(made, BOUND_S) == 0 && ll_run_result(made, &r) == 0);
    if (!r)
        exit(1);
    EXPECT(r->status == LL_STATUS_HUNG && r->n_waiters > 0);
    for (uint32_t i = 0; i < r->n_waiters; i++) {
        const struct ll_waiter *w = &r->waiter[i];
        size_t n = strlen(w->object), m = strlen(ends);
        if (strcmp(w->state, "waiting") || !w->object[0])
            continue;
        EXPECT(!strncmp(w->object, begins, strlen(begins)) && n >= m &&
                   !strcmp(w->object + n - m, ends) && !strcmp(w->field, "word"),
               "%s: %s.%s", workload, w->object, w->field);
        named++;
    }
    EXPECT(named > 0, "%s: nobody is named", workload);
    ll_run_unref(made);
}

static void a_hang_says_where(void)
{
    const struct ll_lock_desc *const variants[LL_VARIANTS] = {
        [LL_VARIANT_NATIVE] = &stuck, [LL_VARIANT_BARE] = &stuck, [LL_VARIANT_VIRTUAL] = &stuck};

    EXPECT(ll_registry_add(variants) == 0);
    waiters_are_named("critical-section", NULL, "lock", "lock");
    waiters_are_named("aim7-custom", NULL, "root", "root");
    waiters_are_named("aim7-five_sec", SETTINGS({"locks", "2"}), "lock[", "]");
}

/* ---- refusals ---- */

struct refusal {
    const char *lock, *workload, *name, *value;
    int code;
    const char *field, *says;
};

static void what_does_not_fit_is_refused(void)
{
    static const struct refusal refusals[] = {
        {"spin/mcs", "aim7-fserver", "locks", "4", -EINVAL, "sleep_pct", "spin/mcs spin"},
        {"spin/mcs", "creates-4k", "depth", "3", -EINVAL, "sleep_pct", "sleep_as=busy"},
        {"mutex/mcs", "aim7-fserver", "journal", "spin/mcs", -EINVAL, "journal", "kind shared"},
        {"mutex/mcs", "aim7-custom", "second", "spin/tickt", -ENOENT, "second", "spin/ticket"},
        {"mutex/mcs", "aim7-short", "section_min_ns", "300", -EINVAL, "section_min_ns",
         "above section_max_ns=200"},
        {"mutex/mcs", "aim7-alltests", "system_pct", "90", -EINVAL, "system_pct", "more than 100%"},
        {"mutex/mcs", "dbench-50", "depth", "5", -ERANGE, "depth", "outside 1 to 4"},
        {"mutex/mcs", "ww-execbuf", "locks", "64", -EINVAL, "lock", "needs a lock of kind ww"},
        {"mutex/mcs", "ww-modeset", "locks", "64", -EINVAL, "lock", "needs a lock of kind ww"},
        {"spin/mcs", "bkl-abba", "first_ns", "1", -EINVAL, "lock", "only spin"},
        {"host/pthread-mutex", "bkl-abba", "first_ns", "1", -EINVAL, "lock", "out of our sight"},
        {"spin/mcs", "relax-yield", "batch", "1", -EINVAL, "lock", "relax"},
        {"spin/mcs", "take-all", "inner", "1", -ERANGE, "inner", "outside 2 to 1000"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
        const struct refusal *c = &refusals[i];
        struct ll_plan p = plan_of(c->lock, c->workload, 2, SETTINGS({c->name, c->value}));
        struct ll_error err = {"", ""};
        int ret = ll_plan_validate(&p, &err);
        EXPECT(ret == c->code && !strcmp(err.field, c->field) && strstr(err.text, c->says),
               "%s on %s: %d %s: %s", c->workload, c->lock, ret, err.field, err.text);
    }
}

static void too_many_locks_for_the_threads_are_refused(void)
{
    struct ll_plan p = plan_of("spin/mcs", "file-stats", 1024, SETTINGS({"fanout", "64"}));
    struct ll_error err = {"", ""};

    EXPECT(ll_plan_validate(&p, &err) == -ERANGE && !strcmp(err.field, "threads"), "%s", err.text);
    p.threads = 16;
    EXPECT(ll_plan_validate(&p, &err) == 0);
}

int main(void)
{
    every_workload_runs();
    sleeps_are_counted();
    both_sides_of_the_overhead_have_all_groups();
    a_companion_is_chosen_by_its_parameter();
    what_does_not_fit_is_refused();
    too_many_locks_for_the_threads_are_refused();
    a_hang_says_where();
    DONE();
}
