/* SPDX-License-Identifier: MIT */
/* sites.c - the operations in a lock's source, and how often each was executed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "core/code_hash.h"
#include "engine/words.h"

/* the linker's bounds of the table that ENG_SITE fills in the virtual build */
extern const struct eng_site *const __start_ll_sites[] __attribute__((weak, visibility("hidden")));
extern const struct eng_site *const __stop_ll_sites[] __attribute__((weak, visibility("hidden")));

void check_sites_reset(void)
{
    for (const struct eng_site *const *s = __start_ll_sites; s < __stop_ll_sites; s++)
        memset((*s)->use, 0, sizeof(*(*s)->use));
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);

    return a >= b && !strcmp(text + a - b, end);
}

static int by_place(const void *a, const void *b)
{
    const struct ll_check_site *x = a, *y = b;
    int d = strcmp(x->file, y->file);

    return d ? d : x->line < y->line ? -1 : x->line > y->line;
}

struct ll_check_site *check_sites(const struct check_plan *plan, uint32_t *n)
{
    struct ll_check_site *out;
    char file[128];
    uint32_t count = 0;

    snprintf(file, sizeof(file), "locks/%s/%s.c", plan->lock->family, plan->lock->name);
    for (const struct eng_site *const *s = __start_ll_sites; s < __stop_ll_sites; s++)
        count += ends_with((*s)->base, file);
    out = calloc(count ? count : 1, sizeof(*out));
    *n = 0;
    for (const struct eng_site *const *s = __start_ll_sites; out && s < __stop_ll_sites; s++) {
        const struct eng_site *site = *s;
        if (!ends_with(site->base, file))
            continue;
        out[(*n)++] = (struct ll_check_site){.file = check_short_path(site->file),
                                             .function = site->function,
                                             .expression = site->expr,
                                             .line = site->line,
                                             .executed = site->use->executed,
                                             .blocked = site->use->blocked,
                                             .waits = site->use->waits};
    }
    if (out)
        qsort(out, *n, sizeof(*out), by_place);
    return out;
}

uint32_t check_code_hash(const char *lock_id)
{
    for (const struct ll_code_hash *h = ll_code_hashes; h->id; h++)
        if (!strcmp(h->id, lock_id))
            return h->hash;
    return 0;
}
