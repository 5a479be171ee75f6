/* SPDX-License-Identifier: MIT */
/* test_fiber.c - fibers switch, keep their registers and stacks, and start afresh after a reset. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "engine/fiber.h"

#include "expect.h"

#define FIBERS 3
#define ROUNDS 1000

static struct fiber host, fiber[FIBERS];
static unsigned long sums[FIBERS];
static unsigned ended;

/* Enough live values for every preserved register, and a stack that must survive the others' turns. */
static void body(void *arg)
{
    unsigned me = (unsigned)((struct fiber *)arg - fiber);
    unsigned long a = me, b = 2, c = 3, d = 5, e = 7, f = 11;
    volatile unsigned char stack[4096];

    for (unsigned i = 0; i < sizeof(stack); i++)
        stack[i] = (unsigned char)(i + me);
    for (unsigned i = 0; i < ROUNDS; i++) {
        a += b, b += c, c += d, d += e, e += f, f += i;
        fiber_switch(&fiber[me], &fiber[(me + 1) % FIBERS], false);
    }
    for (unsigned i = 0; i < sizeof(stack); i++)
        EXPECT(stack[i] == (unsigned char)(i + me));
    sums[me] = a + b + c + d + e + f;
    ended++;
    fiber_switch(&fiber[me], ended == FIBERS ? &host : &fiber[(me + 1) % FIBERS], true);
}

static void run_all(void)
{
    unsigned long expected[FIBERS];

    ended = 0;
    for (unsigned i = 0; i < FIBERS; i++)
        fiber_reset(&fiber[i], body, &fiber[i]);
    fiber_switch(&host, &fiber[0], false);
    EXPECT(ended == FIBERS);
    for (unsigned me = 0; me < FIBERS; me++) {
        unsigned long a = me, b = 2, c = 3, d = 5, e = 7, f = 11;
        for (unsigned i = 0; i < ROUNDS; i++)
            a += b, b += c, c += d, d += e, e += f, f += i;
        expected[me] = a + b + c + d + e + f;
        EXPECT(sums[me] == expected[me]);
    }
}

/* Comes back to the host from within a frame, and is never run again. */
static void abandoned(void *arg)
{
    volatile char local[4096]; /* with red zones around it under ASan */

    local[0] = 1;
    fiber_switch(arg, &host, false);
    local[1] = local[0];
}

/* What is mapped where a stack was must be plain memory. */
static void free_abandoned(void)
{
    enum { SIZE = 64 * 1024 };
    struct fiber f;
    char *pages;

    EXPECT(fiber_init(&f, SIZE) == 0);
    pages = (char *)f.stack;
    fiber_reset(&f, abandoned, &f);
    fiber_switch(&host, &f, false);
    fiber_fini(&f);
    pages = mmap(pages, SIZE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT(pages != MAP_FAILED);
    memset(pages, 1, SIZE);
    EXPECT(pages[SIZE - 1] == 1);
    munmap(pages, SIZE);
}

int main(void)
{
    fiber_adopt(&host);
    for (unsigned i = 0; i < FIBERS; i++)
        EXPECT(fiber_init(&fiber[i], 64 * 1024) == 0);
    for (unsigned again = 0; again < 3; again++)
        run_all();
    free_abandoned();
    for (unsigned i = 0; i < FIBERS; i++)
        fiber_fini(&fiber[i]);
    fiber_fini(&host);
    DONE();
}
