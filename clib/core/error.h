/* SPDX-License-Identifier: MIT */
/* error.h - the closed list of error codes; the one way to report a mistake is ll_fail.
 *
 *   EINVAL          the value makes no sense          ERANGE     outside the allowed range
 *   ENOENT          no such name or entry             ENOTSUP    not offered by this lock, build or host
 *   ENOMEM          out of memory                     ENOSPC     a stated bound is full
 *   ETIMEDOUT       the deadline passed               ECANCELED  stopped on request
 *   EDEADLK         the caller holds it already       EPERM      the caller does not hold it
 *   EBUSY           still in use                      EAGAIN     not ready yet
 *   ENOTRECOVERABLE exclusion violated or a waiter was torn out of a queue
 *   EADDRINUSE, EACCES   the server could not bind
 *
 * Functions return the negative. The text is one sentence without a full stop that names the value
 * given and what is allowed.
 */
#pragma once

#include <errno.h>

#include "include/locklab.h"

/* The candidate nearest to `name` by edit distance, or NULL if none is near. `at(i)` yields the
 * i-th candidate, NULL at the end. Used for "did you mean". */
const char *ll_nearest(const char *name, const char *(*at)(size_t i, const void *ctx),
                       const void *ctx);

/* For states that cannot be; never with side effects. */
#define LL_ASSERT(cond)                                                                            \
    do {                                                                                           \
        if (!(cond))                                                                               \
            __builtin_trap();                                                                      \
    } while (0)
