/* SPDX-License-Identifier: MIT */
/* error.c - filling struct ll_error; "did you mean". */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ll_fail(struct ll_error *err, int code, const char *field, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    snprintf(err->field, sizeof(err->field), "%s", field);
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return code;
}

/* Levenshtein distance of two short names; names longer than the row are far from everything. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[65];
    size_t la = strlen(a), lb = strlen(b);

    if (la > 64 || lb > 64)
        return 1000;
    for (size_t j = 0; j <= lb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

const char *ll_nearest(const char *name, const char *(*at)(size_t i, const void *ctx),
                       const void *ctx)
{
    const char *best = NULL, *candidate;
    unsigned best_distance = (unsigned)strlen(name) / 2 + 1;

    for (size_t i = 0; (candidate = at(i, ctx)); i++) {
        const char *slash = strrchr(candidate, '/');
        unsigned d = distance(name, candidate);
        /* "mcs" for "spin/mcs": the family left out */
        unsigned tail = slash ? distance(name, slash + 1) : d;
        if (tail < d)
            d = tail;
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}
