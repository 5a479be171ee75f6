/* SPDX-License-Identifier: MIT */
/* fiber.h - switching stacks, and nothing else: who runs next is a policy's business.
 *
 * x86-64 has a hand-written switch of about 3 ns (only the callee-saved registers move; the floating
 * point control words are never changed here); other CPUs take ucontext. A fiber is reset by writing a
 * new first frame: nothing is allocated between two executions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/types.h"

struct fiber {
    void *sp;    /* saved stack pointer while it does not run */
    char *stack; /* lowest address */
    size_t size;
    void (*entry)(void *arg); /* must not return */
    void *arg;
    void *impl;             /* ucontext, where there is no hand-written switch */
    void *asan_fake, *tsan; /* what the sanitizers want to know */
};

/* 0 or -ENOMEM. The stack has a guard page below it. */
int fiber_init(struct fiber *f, size_t stack_bytes);
void fiber_fini(struct fiber *f);
/* Makes `entry(arg)` what the next switch to `f` runs, whatever it did before. */
void fiber_reset(struct fiber *f, void (*entry)(void *arg), void *arg);
/* For the OS thread's own stack, so that fibers can switch back to it. */
void fiber_adopt(struct fiber *f);
/* Stops `from`, goes on with `to`. `last`: `from` will not run again before it is
 * reset. Comes back when somebody switches to `from`. */
/* The hand-written switch: pushes what the ABI wants preserved, swaps stacks. */
void fiber_jump(void **save_sp, void *load_sp);
#if defined(__x86_64__) && !defined(LL_FIBER_UCONTEXT) && !defined(LL_SANITIZED)
#define FIBER_JUMPS 1 /* nobody has to be told: it is all there is to do */
static inline void fiber_switch(struct fiber *from, struct fiber *to, bool last)
{
    (void)last;
    fiber_jump(&from->sp, to->sp);
}
#else
void fiber_switch(struct fiber *from, struct fiber *to, bool last);
#endif
