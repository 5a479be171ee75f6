/* SPDX-License-Identifier: MIT */
/* expect.h - the whole test framework of the C programs: say what was expected, count, exit 0/1/77. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int expect_failures __attribute__((unused));

/* EXPECT(cond) or EXPECT(cond, "format", ...): the format is a literal. */
#define EXPECT(cond, ...)                                                                          \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            expect_failures++;                                                                     \
            fprintf(stderr, "%s:%d: not so: %s", __FILE__, __LINE__, #cond);                       \
            fprintf(stderr, " " __VA_ARGS__);                                                      \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

#define SKIP(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        exit(77);                                                                                  \
    } while (0)

#define DONE() return expect_failures ? 1 : 0
