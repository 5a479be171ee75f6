/* SPDX-License-Identifier: MIT */
/* test_rseq.c - the preemption marker: quiet when nothing happens, told by a sleep and by a rival. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "engine/rseq.h"
#include "expect.h"
#include "include/locklab.h"

static void nap(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

static void unattached_threads_are_told_nothing(void)
{
    EXPECT(!eng_rseq_word, "attached from the start");
    eng_rseq_arm();
    nap(1000);
    EXPECT(!eng_rseq_disarm(), "an answer without a marker");
}

static void quiet_when_nothing_happens(void)
{
    int armed = 0, quiet = 0;

    for (int i = 0; i < 1000; i++) {
        eng_rseq_arm();
        armed += *eng_rseq_word != 0;
        quiet += !eng_rseq_disarm();
        EXPECT(*eng_rseq_word == 0, "still armed");
    }
    EXPECT(armed > 900, "%d of 1000 times the word was armed", armed);
    EXPECT(quiet > 900, "%d of 1000 empty sections were undisturbed", quiet);
}

static void *attach_too(void *arg)
{
    int *result = arg;

    if (eng_rseq_attach() == 0) {
        eng_rseq_arm();
        nap(1000);
        *result = eng_rseq_disarm();
        eng_rseq_detach();
    }
    return NULL;
}

static void each_thread_has_its_own(void)
{
    pthread_t thread;
    int lost = -1;

    eng_rseq_arm();
    EXPECT(pthread_create(&thread, NULL, attach_too, &lost) == 0, "no thread");
    pthread_join(thread, NULL);
    eng_rseq_disarm();
    EXPECT(lost == 1, "the other thread saw %d", lost);
}

static uint32_t stop;

static void *spin(void *arg)
{
    volatile uint32_t turns = 0;

    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        turns++;
    return NULL;
}

static long involuntary(void)
{
    struct rusage r;

    getrusage(RUSAGE_THREAD, &r);
    return r.ru_nivcsw;
}

/* Two spinners on one CPU: sections of 20 us, until some were cut. Each cut must show as an
 * involuntary switch and the other way round, but for those between the sections. */
static void a_rival_is_noticed(void)
{
    cpu_set_t here, before;
    pthread_t rival;
    time_t end = time(NULL) + 20;
    long cut = 0, switches;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_getaffinity(0, sizeof(before), &before);
    EXPECT(sched_setaffinity(0, sizeof(here), &here) == 0, "cannot pin");
    EXPECT(pthread_create(&rival, NULL, spin, NULL) == 0, "no thread");
    switches = involuntary();
    while (cut < 20 && time(NULL) < end) {
        eng_rseq_arm();
        for (volatile int i = 0; i < 20000; i++)
            ;
        cut += eng_rseq_disarm();
    }
    switches = involuntary() - switches;
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(rival, NULL);
    sched_setaffinity(0, sizeof(before), &before);
    printf("%ld sections cut, %ld involuntary switches\n", cut, switches);
    EXPECT(cut >= 20, "only %ld sections were cut in 20 s", cut);
    EXPECT(switches >= 10, "%ld involuntary switches for %ld cut sections", switches, cut);
}

int main(void)
{
    int rc = ll_rseq_selftest();

    unattached_threads_are_told_nothing();
    if (rc) {
        EXPECT(eng_rseq_attach() == rc && !eng_rseq_word, "attached in spite of %d", rc);
        if (expect_failures)
            return 1;
        SKIP("the rseq marker does not work here: %s", strerror(-rc));
    }
    EXPECT(eng_rseq_attach() == 0, "self-test passed, attach failed");
    quiet_when_nothing_happens();
    each_thread_has_its_own();
    a_rival_is_noticed();
    eng_rseq_arm();
    volatile uint64_t *word = eng_rseq_word;
    eng_rseq_detach();
    EXPECT(*word == 0 && !eng_rseq_word, "detached and still armed");
    DONE();
}
