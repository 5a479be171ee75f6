/* SPDX-License-Identifier: MIT */
/* test_place.c - placements on made-up machines, the host's own topology, the regime ping-pong. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/topology.h"
#include "expect.h"

static struct ll_topology topo;

/* The placement as "0,4,1", or "field: code: text" of the error. */
static const char *place(const char *spelling, uint32_t threads)
{
    static char text[8192];
    static uint32_t cpus[LL_MAX_THREADS];
    struct ll_error err = {.field = "?"};
    int n = ll_place_on(&topo, spelling, threads, cpus, &err);
    size_t used = 0;

    if (n < 0) {
        snprintf(text, sizeof(text), "%s: %d: %s", err.field, n, err.text);
        return text;
    }
    for (uint32_t i = 0; i < threads; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, i ? ",%u" : "%u", cpus[i]);
    snprintf(text + used, sizeof(text) - used, " on %d", n);
    return text;
}

static void gives(const char *spelling, uint32_t threads, const char *wanted)
{
    const char *got = place(spelling, threads);

    EXPECT(strcmp(got, wanted) == 0, "%s for %u threads gave %s, not %s", spelling, threads, got,
           wanted);
}

static void fails(const char *spelling, uint32_t threads, int code, const char *part)
{
    char head[64];
    const char *got = place(spelling, threads);

    snprintf(head, sizeof(head), ": %d: ", code);
    EXPECT(strstr(got, head) && strstr(got, part), "%s for %u threads gave: %s", spelling, threads,
           got);
}

static void two_nodes_of_two_cores_of_two_threads(void)
{
    struct ll_error err;

    EXPECT(ll_topology_synthetic("node:2 l3:1 core:2 pu:2", &topo, &err) == 0, "%s", err.text);
    EXPECT(topo.n_cpus == 8 && topo.n_nodes == 2, "%u CPUs, %u nodes", topo.n_cpus, topo.n_nodes);
    for (uint32_t i = 0; i < topo.n_cpus; i++)
        EXPECT(topo.cpu[i].os_index == i && topo.cpu[i].core == i / 2 &&
                   topo.cpu[i].node == i / 4 && topo.cpu[i].l3 == i / 4,
               "CPU %u: core %u node %u l3 %u", i, topo.cpu[i].core, topo.cpu[i].node,
               topo.cpu[i].l3);
    gives("compact", 3, "0,1,2 on 3");
    gives("compact", 10, "0,1,2,3,4,5,6,7,0,1 on 8");
    gives("scatter", 8, "0,4,2,6,1,5,3,7 on 8");
    gives("scatter", 2, "0,4 on 2");
    gives("interleave:1", 3, "0,1,2 on 3");
    gives("interleave:2", 8, "0,2,4,6,1,3,5,7 on 8");
    gives("interleave:3", 8, "0,3,6,1,4,7,2,5 on 8");
    gives("interleave:8", 3, "0,1,2 on 3");
    gives("nodes:1", 5, "4,5,6,7,4 on 4");
    gives("nodes:1,0", 6, "4,5,6,7,0,1 on 6");
    gives("nodes:0-1", 8, "0,1,2,3,4,5,6,7 on 8");
    gives("cpus:5", 2, "5,5 on 1");
    gives("cpus:6,0-2", 5, "6,0,1,2,6 on 4");
    gives("cpus:3,3,1", 3, "3,3,1 on 2");
    ll_topology_free(&topo);
}

static void uneven_machine(void)
{
    struct ll_error err;

    EXPECT(ll_topology_synthetic("package:2 node:1 l3:2 core:2 pu:1", &topo, &err) == 0, "%s",
           err.text);
    gives("scatter", 8, "0,4,2,6,1,5,3,7 on 8");
    topo.n_cpus = 5; /* the second package has one CPU left */
    gives("scatter", 5, "0,4,2,1,3 on 5");
    fails("cpus:5", 1, -ERANGE, "CPU 5 is not available to this process, 0-4 are");
    topo.n_cpus = 1;
    gives("scatter", 2, "0,0 on 1");
    fails("nodes:1", 1, -ERANGE, "node 1 is not available to this process, 0 is");
    ll_topology_free(&topo);
}

static void nodes_within_a_package(void)
{
    struct ll_error err;

    EXPECT(ll_topology_synthetic("package:2 node:2 core:2 pu:1", &topo, &err) == 0, "%s", err.text);
    EXPECT(topo.n_nodes == 4, "%u nodes", topo.n_nodes);
    gives("scatter", 8, "0,4,2,6,1,5,3,7 on 8");
    gives("nodes:1,3", 4, "2,3,6,7 on 4");
    ll_topology_free(&topo);
}

static void mistakes_name_value_and_range(void)
{
    struct ll_error err;

    EXPECT(ll_topology_synthetic("node:2 core:2 pu:1", &topo, &err) == 0, "%s", err.text);
    fails("compct", 1, -EINVAL, "did you mean compact?");
    fails("", 1, -EINVAL, "interleave:K");
    fails("compact:1", 1, -EINVAL, "'compact:1'");
    fails("interleave", 1, -EINVAL, "did you mean interleave:?");
    fails("interleave:", 1, -EINVAL, "whole number");
    fails("interleave:0", 1, -ERANGE, "1 to 4");
    fails("interleave:5", 1, -ERANGE, "1 to 4");
    fails("interleave:-1", 1, -EINVAL, "whole number");
    fails("interleave:2x", 1, -EINVAL, "whole number");
    fails("interleave:99999999999999999999", 1, -EINVAL, "whole number");
    fails("cpus:", 1, -EINVAL, "list like 0,2-3");
    fails("cpus:1,", 1, -EINVAL, "list like 0,2-3");
    fails("cpus:,1", 1, -EINVAL, "list like 0,2-3");
    fails("cpus:3-1", 1, -EINVAL, "list like 0,2-3");
    fails("cpus:1-", 1, -EINVAL, "list like 0,2-3");
    fails("cpus: 1", 1, -EINVAL, "list like 0,2-3");
    fails("cpus:2-9", 1, -ERANGE, "CPU 4 is not available");
    fails("nodes:2", 1, -ERANGE, "node 2 is not available to this process, 0-1 are");
    fails("nodes:99999999999", 1, -EINVAL, "list like 0,2-3");
    fails("compact", 0, -ERANGE, "0 asked, 1 to 1024 allowed");
    fails("compact", 1025, -ERANGE, "1025 asked, 1 to 1024 allowed");
    fails(NULL, 1, -EINVAL, "no placement");
    ll_topology_free(&topo);
    EXPECT(ll_topology_synthetic("nonsense", &topo, &err) == -EINVAL, "a machine out of nonsense");
    EXPECT(ll_place("cpus:999999", 1, &(uint32_t){0}, NULL) == -ERANGE, "err may be NULL");
}

static void host_topology_is_the_affinity_mask(void)
{
    static struct ll_cpu cpu[LL_MAX_THREADS];
    struct ll_error err = {0};
    cpu_set_t mask;
    int n = ll_cpus(cpu, LL_MAX_THREADS, &err);

    EXPECT(n > 0, "%s", err.text);
    EXPECT(sched_getaffinity(0, sizeof(mask), &mask) == 0 && CPU_COUNT(&mask) == n,
           "%d CPUs, the mask has %d", n, CPU_COUNT(&mask));
    for (int i = 0; i < n; i++)
        EXPECT(CPU_ISSET(cpu[i].os_index, &mask), "CPU %u is not in the mask", cpu[i].os_index);
    EXPECT(ll_cpus(NULL, 0, &err) == n, "counting alone");
}

/* In a child, because the topology is read once: only the last CPU of the mask may be used. */
static void narrower_affinity_is_obeyed(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        uint32_t last = 0, cpus[2];
        cpu_set_t mask;
        sched_getaffinity(0, sizeof(mask), &mask);
        for (uint32_t i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &mask))
                last = i;
        CPU_ZERO(&mask);
        CPU_SET(last, &mask);
        if (sched_setaffinity(0, sizeof(mask), &mask) != 0)
            _exit(2);
        _exit(ll_cpus(NULL, 0, NULL) == 1 && ll_place("scatter", 2, cpus, NULL) == 1 &&
                      cpus[0] == last && cpus[1] == last
                  ? 0
                  : 1);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0, "child: %x", status);
}

static void foreign_topology_is_refused(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct ll_error err = {0};
        setenv("HWLOC_SYNTHETIC", "node:4 core:4 pu:1", 1);
        _exit(ll_cpus(NULL, 0, &err) == -ENOTSUP && strstr(err.text, "HWLOC_SYNTHETIC") ? 0 : 1);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0, "child: %x", status);
}

static void regime_is_a_plausible_time(void)
{
    uint32_t cpus[2];
    double ns = -1;
    int rc;

    EXPECT(ll_place("compact", 2, cpus, NULL) > 0, "no placement");
    EXPECT(ll_regime(cpus[0], cpus[0], &ns) == 0 && ns == 0, "one CPU: %g", ns);
    EXPECT(ll_regime(0, 1000000, &ns) == -EINVAL, "a CPU that does not exist");
    if (cpus[0] == cpus[1])
        return;
    rc = ll_regime(cpus[0], cpus[1], &ns);
    /* -ETIMEDOUT is its answer on a machine where the two never run at a time */
    EXPECT(rc == 0 || rc == -ETIMEDOUT, "ll_regime: %d", rc);
    EXPECT(rc || (ns > 1 && ns < 1e6), "a round trip of %g ns", ns);
    printf("round trip between CPU %u and %u: %.0f ns\n", cpus[0], cpus[1], ns);
}

int main(void)
{
    /* children first: they must find the host's topology unread */
    narrower_affinity_is_obeyed();
    foreign_topology_is_refused();
    two_nodes_of_two_cores_of_two_threads();
    uneven_machine();
    nodes_within_a_package();
    mistakes_name_value_and_range();
    host_topology_is_the_affinity_mask();
    regime_is_a_plausible_time();
    DONE();
}
