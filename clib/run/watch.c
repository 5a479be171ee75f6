/* SPDX-License-Identifier: MIT */
/* watch.c - does anything move, and who waits where when nothing does. */
#include <stdio.h>
#include <stdlib.h>

#include "run/run.h"

#define STARVED_SHARE 0.02   /* a thread that got less of a CPU than this is starved, not stuck */
#define STARVED_PATIENCE 6.0 /* ... and delays the watchdog at most so many times its bound */

static const char *field_at(const struct ll_field *fields, size_t offset)
{
    for (const struct ll_field *f = fields; f && f->name; f++)
        if (offset >= f->offset && offset < (size_t)f->offset + f->size)
            return f->name;
    return "";
}

/* Is `addr` in the object? Then its field is noted. */
static bool in_object(const char *addr, const void *object, uint32_t size,
                      const struct ll_field *fields, struct ll_waiter *w)
{
    const char *base = object;

    if (!base || addr < base || addr >= base + size)
        return false;
    w->field = field_at(fields, (size_t)(addr - base));
    return true;
}

/* Names the object and field that `addr` belongs to, by address. */
static void name_address(const struct ll_run *run, const struct crew *crew, const char *addr,
                         struct ll_waiter *w, char object[OBJECT_NAME])
{
    const struct run_plan *p = &run->plan;
    const struct ll_lock_desc *test = p->lock[crew->variant[0]];

    for (uint32_t k = 0; k < p->n_locks; k++) {
        const struct ll_lock_desc *lock = run_plan_group(p, k)->lock[crew->variant[0]];
        if (in_object(addr, crew->lock[k], lock->lock_size, ll_fields_of(lock, crew->lock[k]), w)) {
            run_plan_name(p, k, object, OBJECT_NAME);
            return;
        }
        for (uint32_t i = 0; i < crew->threads; i++)
            if (in_object(addr, crew->node[(size_t)i * p->n_locks + k], lock->node_size,
                          lock->node_fields, w)) {
                char of[24];
                run_plan_name(p, k, of, sizeof(of));
                snprintf(object, OBJECT_NAME, "%s%snode of thread %u", p->n_locks > 1 ? of : "",
                         p->n_locks > 1 ? ", " : "", i);
                return;
            }
    }
    if (!crew->context)
        return;
    if (in_object(addr, crew->ww_class, test->class_size, test->class_fields, w))
        snprintf(object, OBJECT_NAME, "class");
    for (uint32_t i = 0; i < crew->threads; i++)
        if (in_object(addr, crew->context[i], test->context_size, test->context_fields, w))
            snprintf(object, OBJECT_NAME, "context of thread %u", i);
}

static const char *state_name(const struct crew_member *m, bool host)
{
    switch ((enum wl_state)eng_own_read32(&m->wl[0]->counts.state)) {
    case WL_THINKING: return "thinking";
    case WL_HOLDING: return "holding";
    case WL_WAITING: break;
    }
    if (host)
        return "in a host lock";
    return eng_own_read32(&m->eng->on_cpu) ? "waiting" : "parked";
}

static void report(struct ll_run *run, const struct crew *crew, double idle_s)
{
    struct tally *t = &run->tally;
    bool host = run->plan.lock[LL_VARIANT_VIRTUAL] == NULL;
    uint32_t n = 0;

    t->waiter = calloc(crew->threads, sizeof(*t->waiter));
    t->waiter_object = calloc(crew->threads, sizeof(*t->waiter_object));
    if (!t->waiter || !t->waiter_object)
        return;
    for (uint32_t i = 0; i < crew->threads; i++) {
        const struct crew_member *m = &crew->member[i];
        struct ll_waiter *w = &t->waiter[n];
        const struct eng_site *site;
        const void *addr;

        if (eng_own_read_acq32(&m->done))
            continue;
        site = eng_native_wait_site(m->eng);
        addr = eng_native_wait_addr(m->eng);
        *w = (struct ll_waiter){
            .thread = i,
            .cpu = run->plan.cpus[i],
            .state = state_name(m, host),
            .object = t->waiter_object[n],
            .field = "",
            .file = site ? site->file : "",
            .line = site ? site->line : 0,
            .since_s = idle_s,
        };
        if (site && addr)
            name_address(run, crew, addr, w, t->waiter_object[n]);
        n++;
    }
    t->out.waiter = t->waiter;
    t->out.n_waiters = n;
}

struct watchdog watch_begin(uint64_t progress)
{
    return (struct watchdog){.seen = progress, .moved = run_now()};
}

bool watch_hangs(struct ll_run *run, const struct crew *c, struct watchdog *w, uint64_t progress)
{
    double now = run_now(), bound = run->plan.user.watchdog_s;
    bool starved;

    if (progress != w->seen) {
        w->seen = progress;
        w->moved = now;
        w->looked = 0;
    }
    if (now - w->moved < bound / 2)
        return false;
    if (w->looked == 0) {
        crew_starved(c, run->cpu_s, 0);
        w->looked = now;
        return false;
    }
    if (now - w->looked < bound / 2)
        return false;
    starved = crew_starved(c, run->cpu_s, STARVED_SHARE * (now - w->looked));
    w->looked = now;
    return !starved || now - w->moved > STARVED_PATIENCE * bound;
}

void watch_declare(struct ll_run *run, const struct crew *c, const struct watchdog *w,
                   const char *when)
{
    struct ll_error err;
    double idle = run_now() - w->moved;

    report(run, c, idle);
    ll_fail(&err, -ETIMEDOUT, "lock", "%s: no thread of %u made progress for %.1f s %s, %u wait",
            run->plan.user.lock, c->threads, idle, when, run->tally.out.n_waiters);
    run_fail(run, LL_STATUS_HUNG, &err);
}
