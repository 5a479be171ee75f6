/* SPDX-License-Identifier: MIT */
/* judge.c - explores one lock of the virtual build under its client and says what is wrong with it.
 *
 *   judge LOCK CLIENT THREADS TURNS EXECUTIONS KIND [SETTING|-] [ORDERS [sc]]
 *
 * One line per kind of fault: the kind, the execution that shows it first, the milliseconds of CPU
 * until then, what was seen; nothing if no fault was found. Ends when a fault of KIND has been seen. Half of
 * the executions at most are spent on a preemption bound of 1, the rest depth first with reduction, under
 * TSO or `sc`. With ORDERS (client ww), which make larger programs, samples come first. Exit 2: usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/program.h"
#include "core/registry.h"

#define KINDS 16u
#define SAMPLES 2000u

static const char *wanted;
static const char *seen[KINDS];
static struct ck_report report; /* of the exploration under way */
static uint64_t before;         /* executions of those that came before it */
static double began;

static double now_ms(void)
{
    struct timespec t;

    /* of the CPU: what else runs on the machine must not decide */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static bool was_seen(const char *kind)
{
    for (unsigned i = 0; i < KINDS && seen[i]; i++)
        if (!strcmp(seen[i], kind))
            return true;
    return false;
}

static uint64_t executions(void)
{
    return before + report.executions + report.blocked;
}

static bool on_fault(void *arg)
{
    struct ck_last last;
    unsigned free_row = 0;

    LL_UNUSED(arg);
    ck_last(&last);
    while (seen[free_row])
        free_row++;
    for (uint32_t i = 0; i < last.n_faults; i++)
        if (!was_seen(last.fault[i].kind)) {
            seen[free_row++] = last.fault[i].kind;
            printf("%s\t%llu\t%.2f\t%s\n", last.fault[i].kind, (unsigned long long)executions(),
                   now_ms() - began, last.fault[i].text);
        }
    return was_seen(wanted);
}

static void explore(const struct ll_program *program, struct ck_options *options)
{
    if (was_seen(wanted))
        return;
    before = executions();
    LL_ASSERT(ck_explore(&program->ck, options, &report) == 0);
    fprintf(stderr, "%llu executions, %llu blocked, %llu waits%s\n",
            (unsigned long long)report.executions, (unsigned long long)report.blocked,
            (unsigned long long)report.waits, report.wholly ? ", wholly" : "");
}

static void sample(const struct ll_program *program, struct ck_options *options)
{
    uint64_t all = options->executions;

    options->executions = SAMPLES;
    options->strategy = CK_PCT;
    explore(program, options);
    options->strategy = CK_RANDOM;
    explore(program, options);
    options->executions = all;
}

int main(int argc, char **argv)
{
    struct ll_program_spec spec = {0};
    struct ck_options options = {
        .memory = LL_MEMORY_TSO, .giveups = 1, .races = true, .seed = 1, .on_fault = on_fault};
    struct ll_setting setting = {0};
    struct ll_program program;
    struct ll_error error = {
        .text = "LOCK CLIENT THREADS TURNS EXECUTIONS KIND [SETTING|-] [ORDERS [sc]]"};
    const char *orders = argc >= 9 ? argv[8] : NULL;

    if (argc >= 8 && strcmp(argv[7], "-")) {
        setting.name = strtok(argv[7], "=");
        setting.value = strtok(NULL, "");
        spec.settings = &setting;
        spec.n_settings = 1;
    }
    if (argc >= 7 && argc <= 10) {
        spec.lock = ll_lock_find(argv[1], LL_VARIANT_VIRTUAL);
        spec.client = ll_client_find(argv[2], LL_VARIANT_VIRTUAL);
        spec.threads = (uint32_t)atoi(argv[3]);
        spec.turns = (uint32_t)atoi(argv[4]);
        spec.writers = spec.threads > 2 ? 2 : 1;
        options.executions = strtoull(argv[5], NULL, 10) / 2;
        wanted = argv[6];
    }
    if (!spec.lock || !spec.client || !ll_client_applies(spec.client, spec.lock) ||
        (orders && !ll_orders_read(orders, spec.threads, &spec.orders)) ||
        ll_program_init(&program, &spec, &error)) {
        fprintf(stderr, "judge: %s\n", error.text);
        return 2;
    }
    if (argc == 10)
        options.memory = LL_MEMORY_SC;
    options.first_relax_ends = spec.client->first_relax_ends;
    began = now_ms();
    if (orders)
        sample(&program, &options);
    options.strategy = CK_BOUNDED;
    options.bound = 1;
    explore(&program, &options);
    options.strategy = CK_DFS;
    explore(&program, &options);
    ll_program_fini(&program);
    return 0;
}
