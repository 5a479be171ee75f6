/* SPDX-License-Identifier: MIT */
/* json.h - an append-only JSON writer over one growing buffer.
 *
 * Commas are set by the writer. Numbers that JSON cannot say (NaN, infinities) become null; bytes that
 * are not UTF-8 become U+FFFD, so that a text from outside cannot break a document. Counters are
 * written as JSON numbers: exact below 2^53, which no run reaches.
 * When memory runs out `failed` is set and further calls do nothing: look once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dash_json { /* all zero is an empty one */
    char *text;    /* not ended by a NUL */
    size_t len, size;
    uint32_t depth;  /* open brackets, at most 31 */
    uint32_t filled; /* bit d: the bracket at depth d has an element already */
    bool after_key, failed;
};

void dash_json_fini(struct dash_json *json);
void dash_json_reset(struct dash_json *json); /* empty again, keeps the memory */

/* Copies `text` as it is, for what stands around JSON. */
void dash_json_raw(struct dash_json *json, const char *text);

void dash_json_open(struct dash_json *json, char bracket);  /* '{' or '[' */
void dash_json_close(struct dash_json *json, char bracket); /* '}' or ']' */
void dash_json_key(struct dash_json *json, const char *key);
void dash_json_str(struct dash_json *json, const char *value); /* NULL: null */
void dash_json_u64(struct dash_json *json, uint64_t value);
void dash_json_f64(struct dash_json *json, double value); /* nine significant digits */
