/* SPDX-License-Identifier: MIT */
/* rseq.h - did this thread lose its CPU since it last armed the marker?
 *
 * The kernel clears the rseq_cs word of a thread whenever it preempts, migrates or interrupts it with
 * a signal. We put a descriptor there whose range no instruction pointer is ever in, so that clearing
 * it is all that happens. Arming and looking cost a few stores and loads; the answer comes to the
 * thread itself, afterwards. A sleep in the kernel counts as losing the CPU too.
 *
 * Rules: a word that is armed points into this library, so it must be disarmed before the thread
 * returns to code that is not ours, also when a wait was torn down. Arming does not nest.
 */
#pragma once

#include "core/types.h"

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__)) &&    \
    defined(__has_include) && !defined(__SANITIZE_THREAD__)
#if __has_include(<sys/rseq.h>)
#define ENG_HAS_RSEQ 1
#endif
#endif

/* The calling thread's rseq_cs word; NULL: not attached, or not to be had here. */
extern __thread volatile uint64_t *eng_rseq_word __attribute__((tls_model("initial-exec")));

/* A descriptor as the kernel's ABI defines it (struct rseq_cs of linux/rseq.h). */
struct eng_rseq_cs {
    uint32_t version, flags;
    const char *start;
    uint64_t length;
    const char *abort;
} __attribute__((aligned(32)));
extern const struct eng_rseq_cs eng_rseq_marker __attribute__((visibility("hidden")));
#define ENG_RSEQ_ARMED ((uint64_t)(uintptr_t)&eng_rseq_marker)

/* Makes the marker work on the calling thread: 0, or -errno of ll_rseq_selftest() and arm and disarm
 * then do nothing. */
int eng_rseq_attach(void);
/* Clears the word for good. */
void eng_rseq_detach(void);

LL_TEMPLATE void eng_rseq_arm(void)
{
    volatile uint64_t *word = eng_rseq_word;

    if (LL_LIKELY(word))
        *word = ENG_RSEQ_ARMED;
}

/* Was this thread off its CPU since eng_rseq_arm()? False if nobody can tell. */
LL_TEMPLATE bool eng_rseq_disarm(void)
{
    volatile uint64_t *word = eng_rseq_word;
    bool lost = false;

    if (LL_LIKELY(word)) {
        lost = *word == 0;
        *word = 0;
    }
    return lost;
}
