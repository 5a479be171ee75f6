/* SPDX-License-Identifier: MIT */
/* fiber.c - the hand-written switch for x86-64, ucontext elsewhere. */
#define _GNU_SOURCE
#include "engine/fiber.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/types.h"

#if !defined(__x86_64__) || defined(LL_FIBER_UCONTEXT)
#include <ucontext.h>
#define USE_UCONTEXT 1
#endif
#ifdef LL_SANITIZED_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define FIBER_ASAN 1
#endif
#ifdef LL_SANITIZED_THREAD
#include <sanitizer/tsan_interface.h>
#define FIBER_TSAN 1
#endif

int fiber_init(struct fiber *f, size_t stack_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (stack_bytes + page - 1) / page * page;
    char *base = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

    memset(f, 0, sizeof(*f));
    if (base == MAP_FAILED)
        return -ENOMEM;
    mprotect(base, page, PROT_NONE);
    f->stack = base + page;
    f->size = size;
#ifdef USE_UCONTEXT
    f->impl = calloc(1, sizeof(ucontext_t));
    if (!f->impl) {
        munmap(base, size + page);
        return -ENOMEM;
    }
#endif
#ifdef FIBER_TSAN
    f->tsan = __tsan_create_fiber(0);
#endif
    return 0;
}

void fiber_fini(struct fiber *f)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

#ifdef FIBER_TSAN
    if (f->stack) /* not one that was adopted */
        __tsan_destroy_fiber(f->tsan);
#endif
    free(f->impl);
#ifdef FIBER_ASAN
    if (f->stack) /* who gets these pages next knows nothing of frames that never returned */
        __asan_unpoison_memory_region(f->stack, f->size);
#endif
    if (f->stack)
        munmap(f->stack - page, f->size + page);
    memset(f, 0, sizeof(*f));
}

void fiber_adopt(struct fiber *f)
{
    memset(f, 0, sizeof(*f));
#ifdef USE_UCONTEXT
    f->impl = calloc(1, sizeof(ucontext_t));
    LL_ASSERT(f->impl);
#endif
#ifdef FIBER_TSAN
    f->tsan = __tsan_get_current_fiber();
#endif
}

#ifndef USE_UCONTEXT
__asm__(".text\n"
        ".globl fiber_jump\n"
        ".hidden fiber_jump\n"
        ".type fiber_jump,@function\n"
        ".p2align 4\n"
        "fiber_jump:\n"
        "push %rbp\n"
        "push %rbx\n"
        "push %r12\n"
        "push %r13\n"
        "push %r14\n"
        "push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n"
        "pop %r14\n"
        "pop %r13\n"
        "pop %r12\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size fiber_jump, .-fiber_jump\n"
        /* the first frame: rbx = entry, r12 = arg; the stack is aligned as after a call */
        ".globl fiber_begin\n"
        ".hidden fiber_begin\n"
        ".type fiber_begin,@function\n"
        "fiber_begin:\n"
        "xor %ebp, %ebp\n"
        "mov %r12, %rdi\n"
        "call *%rbx\n"
        "ud2\n"
        ".size fiber_begin, .-fiber_begin\n");
void fiber_begin(void);
#endif

/* ---- sanitizers ---- */

#ifdef FIBER_ASAN
static struct {
    const void *bottom; /* the OS thread's stack, learnt at the first switch away from it */
    size_t size;
} main_stack;
#endif

static void arrive(struct fiber *at, bool first)
{
#ifdef FIBER_ASAN
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(first ? NULL : at->asan_fake, &bottom, &size);
    if (first && !main_stack.bottom) {
        main_stack.bottom = bottom;
        main_stack.size = size;
    }
#endif
    LL_UNUSED(at);
    LL_UNUSED(first);
}

/* ---- reset and switch ---- */

static void first_frame(struct fiber *f)
{
    arrive(f, true);
    f->entry(f->arg);
    LL_ASSERT(0);
}

#ifdef USE_UCONTEXT
static void enter_context(unsigned high, unsigned low)
{
    first_frame((struct fiber *)(((uintptr_t)high << 32) | low));
}

static void set_first_frame(struct fiber *f)
{
    ucontext_t *c = f->impl;
    uintptr_t p = (uintptr_t)f;

    getcontext(c);
    c->uc_stack.ss_sp = f->stack;
    c->uc_stack.ss_size = f->size;
    makecontext(c, (void (*)(void))enter_context, 2, (unsigned)(p >> 32), (unsigned)p);
}
#else
static void set_first_frame(struct fiber *f)
{
    uintptr_t top = ((uintptr_t)f->stack + f->size) & ~(uintptr_t)15;
    void **sp = (void **)top;

    *--sp = NULL; /* fiber_begin starts two words below an aligned top, as its call wants it */
    *--sp = NULL;
    *--sp = (void *)fiber_begin; /* where the switch returns to */
    *--sp = NULL;                /* rbp */
    *--sp = (void *)first_frame; /* rbx */
    *--sp = f;                   /* r12 */
    *--sp = NULL;                /* r13 */
    *--sp = NULL;                /* r14 */
    *--sp = NULL;                /* r15 */
    f->sp = sp;
}
#endif

void fiber_reset(struct fiber *f, void (*entry)(void *arg), void *arg)
{
    f->entry = entry;
    f->arg = arg;
    f->asan_fake = NULL;
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(f->stack, f->size); /* frames that never returned */
#endif
#ifdef FIBER_TSAN
    __tsan_destroy_fiber(f->tsan); /* those frames would stay on its shadow stack */
    f->tsan = __tsan_create_fiber(0);
#endif
    set_first_frame(f);
}

#ifndef FIBER_JUMPS
static void leave(struct fiber *from, const struct fiber *to, bool last)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &from->asan_fake,
                                   to->stack ? to->stack : main_stack.bottom,
                                   to->stack ? to->size : main_stack.size);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    LL_UNUSED(from);
    LL_UNUSED(to);
    LL_UNUSED(last);
}

void fiber_switch(struct fiber *from, struct fiber *to, bool last)
{
    leave(from, to, last);
#ifdef USE_UCONTEXT
    swapcontext(from->impl, to->impl);
#else
    fiber_jump(&from->sp, to->sp);
#endif
    arrive(from, false);
}
#endif
