/* SPDX-License-Identifier: MIT */
/* judge.c - runs one lock of the virtual build under its client and says what was wrong with it.
 *
 *   judge LOCK CLIENT THREADS TURNS SEEDS KIND
 *
 * One line per kind of fault: the kind, the first seed that shows it, what was seen; nothing if no
 * fault was found. Ends when a fault of KIND has been seen. Odd seeds also tell fibers need_resched,
 * so that waiters give up. Exit 2: usage.
 */
#include <stdio.h>

#include "client_setup.h"
#include "core/registry.h"
#include "engine/virtual.h"

#define MAX_OPERATIONS 20000u /* far more than any execution that makes progress */

enum kind { EXCLUSION, DEADLOCK, FIFO, KINDS };
static const char *const kind_name[KINDS] = {"exclusion", "deadlock", "fifo"};
static uint64_t seen[KINDS], blocked, gave_up;

struct job {
    struct ll_client *client;
    const struct ll_client_desc *desc;
};

static void body(unsigned fiber, void *arg)
{
    struct job *job = arg;

    job->desc->body(job->client, fiber);
}

static bool was_seen(const char *kind)
{
    for (int k = 0; k < KINDS; k++)
        if (seen[k] && !strcmp(kind, kind_name[k]))
            return true;
    return false;
}

static void fault(enum kind kind, uint64_t seed, const char *text)
{
    if (!seen[kind]++)
        printf("%s\t%llu\t%s\n", kind_name[kind], (unsigned long long)seed, text);
}

static void execute(const struct ll_lock_desc *lock, const struct ll_client_desc *desc,
                    uint32_t threads, uint32_t turns, uint64_t seed)
{
    struct job job = {client_new(lock, threads, turns), desc};
    struct vt_options options = {
        .fibers = threads,
        .body = body,
        .arg = &job,
        .policy = VT_SEEDED,
        .seed = seed,
        .max_operations = MAX_OPERATIONS,
        .resched_one_in = seed & 1 ? 8 : 0,
    };
    struct vt_report report;
    const char *wrong;

    if (vt_run(&options, &report))
        abort();
    wrong = desc->verdict(job.client);
    /* who is stuck has an unfinished total, which is no sign of two inside */
    if (report.complete && wrong)
        fault(EXCLUSION, seed, wrong);
    if (report.deadlock || report.cut)
        fault(DEADLOCK, seed, report.text);
    if ((lock->claims & LL_FIFO) && report.fifo_inversions)
        fault(FIFO, seed, "not in the order of the doorways");
    blocked += report.awaits_blocked + report.relaxes;
    gave_up += report.gave_up;
    client_free(job.client);
}

int main(int argc, char **argv)
{
    const struct ll_lock_desc *lock = argc == 7 ? ll_lock_find(argv[1], LL_VARIANT_VIRTUAL) : NULL;
    const struct ll_client_desc *client =
        argc == 7 ? ll_client_find(argv[2], LL_VARIANT_VIRTUAL) : NULL;
    uint32_t threads, turns;

    if (!lock || !client || !client_applies(client, lock)) {
        fprintf(stderr, "usage: judge LOCK CLIENT THREADS TURNS SEEDS KIND\n");
        return 2;
    }
    threads = (uint32_t)atoi(argv[3]);
    turns = (uint32_t)atoi(argv[4]);
    for (uint64_t seed = 1; seed <= strtoull(argv[5], NULL, 10) && !was_seen(argv[6]); seed++)
        execute(lock, client, threads, turns, seed);
    fprintf(stderr, "%llu waits blocked, %llu given up\n", (unsigned long long)blocked,
            (unsigned long long)gave_up);
    return 0;
}
