/* SPDX-License-Identifier: MIT */
/* rseq.c - the marker's descriptor, finding the kernel's word, and the test that it works here. */
#define _GNU_SOURCE
#include "engine/rseq.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "core/error.h"
#include "engine/native_thread.h"

__thread volatile uint64_t *eng_rseq_word;

#ifdef ENG_HAS_RSEQ
#include <sys/rseq.h>

/* A build against a newer C library may run with one that does not register the area. */
#pragma weak __rseq_offset
#pragma weak __rseq_size

/* The kernel wants a whole descriptor, also of a range that is never run: an abort address outside
 * the range, behind the signature that the area was registered with. */
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
__asm__(".pushsection .text\n"
        ".balign 16\n"
        ".globl eng_rseq_range, eng_rseq_abort\n"
        ".hidden eng_rseq_range, eng_rseq_abort\n"
        "eng_rseq_range:\n"
        ".zero 16\n"
        ".long " TEXT(RSEQ_SIG) "\n"
                                "eng_rseq_abort:\n"
                                ".zero 4\n"
                                ".popsection\n");
extern const char eng_rseq_range[], eng_rseq_abort[];

const struct eng_rseq_cs eng_rseq_marker = {
    .start = eng_rseq_range,
    .length = 16,
    .abort = eng_rseq_abort,
};

static struct rseq *area(void)
{
    struct rseq *rs;

    if (!&__rseq_size || __rseq_size == 0)
        return NULL;
    rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    /* registered for this thread? (valgrind and old kernels refuse, each thread asks anew) */
    return (int32_t) * (volatile uint32_t *)&rs->cpu_id >= 0 ? rs : NULL;
}

static volatile uint64_t *word_of(struct rseq *rs)
{
    return (volatile uint64_t *)((char *)rs + offsetof(struct rseq, rseq_cs));
}

static void nap(long ns)
{
    struct timespec t = {0, ns};

    nanosleep(&t, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Does the word stay as it is while nothing happens? One try in many suffices: a tick may hit any. */
static bool stays(volatile uint64_t *word)
{
    for (int i = 0; i < 100; i++) {
        *word = ENG_RSEQ_ARMED;
        for (int turn = 0; turn < 100; turn++)
            eng_native_pause();
        if (*word == ENG_RSEQ_ARMED)
            return true;
    }
    return false;
}

/* Is it cleared when the thread is switched out and in again? Sleeping is a sure way to be. A kernel
 * that looks at the word only after it interrupted user code needs a rival on the same CPU. */
static bool clears_by_sleep(volatile uint64_t *word)
{
    *word = ENG_RSEQ_ARMED;
    nap(1000);
    return *word == 0;
}

struct rival {
    uint32_t stop;
};

static void *rival_main(void *arg)
{
    struct rival *r = arg;

    while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED))
        nap(200000);
    return NULL;
}

static bool clears_by_rival(volatile uint64_t *word)
{
    struct rival rival = {0};
    pthread_attr_t attr;
    pthread_t thread;
    cpu_set_t here;
    bool cleared = false;
    uint64_t end;

    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof(here), &here);
    if (pthread_create(&thread, &attr, rival_main, &rival) == 0) {
        end = now_ns() + 20 * 1000 * 1000;
        *word = ENG_RSEQ_ARMED;
        do
            cleared = *word == 0;
        while (!cleared && now_ns() < end);
        __atomic_store_n(&rival.stop, 1, __ATOMIC_RELAXED);
        pthread_join(thread, NULL);
    }
    pthread_attr_destroy(&attr);
    return cleared;
}

static int verdict = -ENOTSUP;

static void selftest(void)
{
    struct rseq *rs = area();
    volatile uint64_t *word;

    if (!rs)
        return;
    word = word_of(rs);
    if (*word == 0 && stays(word) && (clears_by_sleep(word) || clears_by_rival(word)))
        verdict = 0;
    *word = 0;
}

int ll_rseq_selftest(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (!area())
        return -ENOTSUP;
    pthread_once(&once, selftest);
    return verdict;
}

int eng_rseq_attach(void)
{
    int rc = ll_rseq_selftest();

    eng_rseq_word = rc ? NULL : word_of(area());
    return rc;
}

#else /* no such area in this C library, on this CPU, or under ThreadSanitizer */

const struct eng_rseq_cs eng_rseq_marker = {0};

int ll_rseq_selftest(void)
{
    return -ENOTSUP;
}

int eng_rseq_attach(void)
{
    return -ENOTSUP;
}

#endif

void eng_rseq_detach(void)
{
    if (eng_rseq_word)
        *eng_rseq_word = 0;
    eng_rseq_word = NULL;
}
