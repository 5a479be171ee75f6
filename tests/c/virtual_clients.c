/* SPDX-License-Identifier: MIT */
/* virtual_clients.c - every lock of the virtual build, every client, 3 fibers, many random schedules.
 *
 * Locks that announce a fault go depth first instead, since it may be rare.
 * No fault but those that the lock's descriptor announces, and those are seen; locks that queue really
 * blocked somebody. The general workload runs on fibers as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/program.h"
#include "core/registry.h"
#include "run/virtual_worker.h"

#define FIBERS 3u
#define TURNS 3u
#define EXECUTIONS 600u
#define EXHAUSTED 20000u /* at most, depth first */

static unsigned failures;

static void complain(const char *lock, const char *client, const char *what)
{
    if (failures++ < 20)
        fprintf(stderr, "%s, client %s: %s\n", lock, client, what);
}

struct seen {
    const char *lock, *client, *expected;
    uint32_t claims;
    unsigned expected_faults;
};

static bool on_fault(void *arg)
{
    struct seen *seen = arg;
    struct ck_last last;

    ck_last(&last);
    for (uint32_t i = 0; i < last.n_faults; i++)
        if (!strcmp(last.fault[i].kind, "life-time") && !(seen->claims & LL_LIFE_TIME))
            continue; /* nobody promised */
        else if (seen->expected && strstr(seen->expected, last.fault[i].kind))
            seen->expected_faults++;
        else
            complain(seen->lock, seen->client, last.fault[i].text);
    return false;
}

static const char *expected(const struct ll_lock_desc *lock, const char *client)
{
    if (lock->claims & LL_BROKEN) /* who gets in beside another races with it */
        return "exclusion, race";
    for (const struct ll_expect *e = lock->expect; e && e->client; e++)
        if (!e->setting && !strcmp(e->client, client))
            return e->verdict;
    return NULL;
}

/* Times that somebody was blocked. */
static uint64_t run_client(const char *id, const struct ll_lock_desc *lock,
                           const struct ll_client_desc *client)
{
    struct ck_options options = {.strategy = expected(lock, client->name) ? CK_DFS : CK_RANDOM,
                                 .memory = LL_MEMORY_TSO,
                                 .giveups = 2,
                                 .races = true,
                                 .executions = EXECUTIONS,
                                 .first_relax_ends = client->first_relax_ends,
                                 .on_fault = on_fault,
                                 .seed = 1};
    struct seen seen = {id, client->name, expected(lock, client->name), lock->claims, 0};
    struct ll_program_spec spec = {.lock = lock,
                                   .client = client,
                                   .threads = FIBERS,
                                   /* later turns would make up for a lost wake-up */
                                   .turns = seen.expected ? 1 : TURNS,
                                   .writers = 2,
                                   .orders = LL_ORDER_BA << 2};
    struct ll_program program;
    struct ck_report report;

    options.on_fault_arg = &seen;
    if (seen.expected)
        options.executions = EXHAUSTED;
    LL_ASSERT(ll_program_init(&program, &spec, NULL) == 0);
    if (ck_explore(&program.ck, &options, &report))
        complain(id, client->name, "cannot be explored");
    if (!report.wholly && report.executions + report.blocked != options.executions)
        complain(id, client->name, "executions were lost");
    if (seen.expected && !strcmp(client->name, "mutex") && !seen.expected_faults)
        complain(id, client->name, "announces a fault that was never seen");
    ll_program_fini(&program);
    return report.waits;
}

static void general_workload(const char *id, const struct ll_lock_desc *lock)
{
    struct vt_workload w = {
        .lock = id, .id = "critical-section", .fibers = FIBERS, .turns = 20, .seed = 7};
    struct ck_report report;

    LL_ASSERT(vt_workload_init(&w, NULL) == 0);
    if (vt_workload_run(&w, &report) || report.executions != 1)
        complain(id, w.id, "does not end");
    if (w.acquisitions != FIBERS * 20u)
        complain(id, w.id, "wrong number of acquisitions");
    if ((w.overlap != 0) != ((lock->claims & LL_BROKEN) != 0))
        complain(id, w.id, w.overlap ? "overlap" : "no overlap seen");
    vt_workload_fini(&w);
}

int main(void)
{
    struct ll_lock_info info;
    struct ll_client_info client;
    unsigned locks = 0;

    for (size_t i = 0; !ll_lock_get(i, &info); i++) {
        const struct ll_lock_desc *lock = ll_lock_find(info.id, LL_VARIANT_VIRTUAL);
        uint64_t waits = 0;
        if (!lock)
            continue;
        locks++;
        for (size_t k = 0; !ll_client_get(k, &client); k++) {
            const struct ll_client_desc *desc = ll_client_find(client.id, LL_VARIANT_VIRTUAL);
            if (ll_client_applies(desc, lock))
                waits += run_client(info.id, lock, desc);
        }
        if ((lock->claims & LL_QUEUES) && !waits)
            complain(info.id, "any", "no wait ever blocked anybody");
        general_workload(info.id, lock);
    }
    if (locks < 8) {
        fprintf(stderr, "only %u locks in the virtual build\n", locks);
        failures++;
    }
    return failures != 0;
}
