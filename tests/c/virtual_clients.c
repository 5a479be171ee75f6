/* SPDX-License-Identifier: MIT */
/* virtual_clients.c - every lock of the virtual build, every client, 3 fibers, many schedules.
 *
 * Totals are right, nobody is stuck, every access is covered by a field, queue locks really blocked
 * somebody, FIFO locks let in by the order of their doorways. A lock that claims to be broken must be caught.
 */
#include <stdio.h>

#include "client_setup.h"
#include "core/registry.h"
#include "engine/virtual.h"
#include "run/virtual_worker.h"

#define FIBERS 3u
#define TURNS 3u
#define SEEDS 300u

static const char *const clients[] = {"mutex", "try", "try-once", "shared"};
static unsigned failures;

static void complain(const char *lock, const char *client, uint64_t seed, const char *what)
{
    if (failures++ < 20)
        fprintf(stderr, "%s, client %s, seed %llu: %s\n", lock, client, (unsigned long long)seed,
                what);
}

struct job {
    struct ll_client *client;
    const struct ll_client_desc *desc;
};

static void body(unsigned fiber, void *arg)
{
    struct job *job = arg;

    job->desc->body(job->client, fiber);
}

static void register_all(const struct ll_client *c)
{
    static const char *const names[] = {"node of T0", "node of T1", "node of T2"};

    vt_register(c->instance, c->lock->lock_size, "lock", c->lock->lock_fields);
    for (uint32_t i = 0; i < c->threads && c->lock->node_size; i++)
        vt_register(c->node[i], c->lock->node_size, names[i], c->lock->node_fields);
}

static uint64_t blocked; /* of the lock under test, over all its executions */
static unsigned caught;

static void execute(const char *id, const struct ll_client_desc *desc,
                    const struct ll_lock_desc *lock, enum vt_policy policy, uint64_t seed)
{
    struct job job = {client_new(lock, FIBERS, TURNS), desc};
    struct vt_options options = {
        .fibers = FIBERS, .body = body, .arg = &job, .policy = policy, .seed = seed};
    struct vt_report report;
    const char *wrong;

    register_all(job.client);
    if (vt_run(&options, &report))
        complain(id, desc->name, seed, "vt_run failed");
    wrong = desc->verdict(job.client);
    blocked += report.awaits_blocked + report.parks_blocked;
    if (lock->claims & LL_BROKEN)
        caught += wrong != NULL;
    else if (wrong)
        complain(id, desc->name, seed, wrong);
    if (!report.complete || report.uncovered)
        complain(id, desc->name, seed, report.cut ? "does not end" : report.text);
    if ((lock->claims & LL_FIFO) && report.fifo_inversions)
        complain(id, desc->name, seed, "not in the order of the doorways");
    client_free(job.client);
}

static void general_workload(const char *id, const struct ll_lock_desc *lock)
{
    const struct ll_workload_desc *workload =
        ll_workload_find("critical-section", LL_VARIANT_VIRTUAL);
    struct ll_client *c = client_new(lock, FIBERS, 0);
    struct vt_workload w = {.lock = lock,
                            .workload = workload,
                            .fibers = FIBERS,
                            .turns = 20,
                            .seed = 7,
                            .instance = &c->instance,
                            .node = c->node};
    struct vt_report report;

    w.state = zeroed_pair(workload->state_size);
    ll_params_default(w.state, workload->params);
    w.data = zeroed_pair(workload->data_lines(w.state) * LL_PAIR);
    register_all(c);
    if (vt_workload_run(&w, &report) || !report.complete)
        complain(id, "critical-section", 7, report.text);
    if (w.acquisitions != FIBERS * 20u)
        complain(id, "critical-section", 7, "wrong number of acquisitions");
    if ((w.overlap != 0) != ((lock->claims & LL_BROKEN) != 0))
        complain(id, "critical-section", 7, w.overlap ? "overlap" : "no overlap seen");
    free(w.state);
    free(w.data);
    client_free(c);
}

int main(void)
{
    struct ll_lock_info info;
    unsigned locks = 0;

    for (size_t i = 0; !ll_lock_get(i, &info); i++) {
        const struct ll_lock_desc *lock = ll_lock_find(info.id, LL_VARIANT_VIRTUAL);
        if (!lock)
            continue;
        locks++;
        blocked = caught = 0;
        for (size_t k = 0; k < sizeof(clients) / sizeof(clients[0]); k++) {
            const struct ll_client_desc *desc = ll_client_find(clients[k], LL_VARIANT_VIRTUAL);
            if (!client_applies(desc, lock))
                continue;
            execute(info.id, desc, lock, VT_ROUND_ROBIN, 0);
            for (uint64_t seed = 1; seed <= SEEDS; seed++)
                execute(info.id, desc, lock, VT_SEEDED, seed);
        }
        if ((lock->claims & LL_QUEUES) && !blocked)
            complain(info.id, "any", 0, "no await ever blocked anybody");
        if ((lock->claims & LL_BROKEN) && !caught)
            complain(info.id, "any", 0, "claims to be broken, but was never caught");
        general_workload(info.id, lock);
    }
    if (locks < 8) {
        fprintf(stderr, "only %u locks in the virtual build\n", locks);
        failures++;
    }
    return failures != 0;
}
