/* SPDX-License-Identifier: MIT */
/* json.c - the append-only writer of json.h. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dash_json_fini(struct dash_json *json)
{
    free(json->text);
    *json = (struct dash_json){0};
}

void dash_json_reset(struct dash_json *json)
{
    *json = (struct dash_json){.text = json->text, .size = json->size};
}

static void append(struct dash_json *json, const char *bytes, size_t len)
{
    if (json->failed)
        return;
    if (json->len + len > json->size) {
        size_t size = (json->len + len) * 2 + 256;
        char *text = realloc(json->text, size);

        if (!text) {
            json->failed = true;
            return;
        }
        json->text = text;
        json->size = size;
    }
    memcpy(json->text + json->len, bytes, len);
    json->len += len;
}

void dash_json_raw(struct dash_json *json, const char *text)
{
    append(json, text, strlen(text));
}

/* Comma before every element but the first of its bracket, none between key and value. */
static void separate(struct dash_json *json)
{
    uint32_t bit = UINT32_C(1) << json->depth;

    if (!json->after_key && (json->filled & bit))
        append(json, ",", 1);
    if (json->depth)
        json->filled |= bit;
    json->after_key = false;
}

void dash_json_open(struct dash_json *json, char bracket)
{
    separate(json);
    append(json, &bracket, 1);
    if (++json->depth > 31) {
        json->depth = 31;
        json->failed = true;
    }
    json->filled &= ~(UINT32_C(1) << json->depth);
}

void dash_json_close(struct dash_json *json, char bracket)
{
    append(json, &bracket, 1);
    if (json->depth)
        json->depth--;
    else
        json->failed = true;
}

/* Length of the well-formed UTF-8 sequence at `s` (Unicode 15, table 3-7), 0 if there is none. */
static size_t utf8(const unsigned char *s)
{
    unsigned low = 0x80, high = 0xbf;
    size_t len;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        len = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        len = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        len = 4;
    else
        return 0;
    if (s[0] == 0xe0) /* no overlong forms, no surrogates, nothing above U+10FFFF */
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < len; i++) {
        if (s[i] < low || s[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

static void quote(struct dash_json *json, const char *value)
{
    append(json, "\"", 1);
    while (*value) {
        unsigned char c = (unsigned char)*value;
        size_t len = utf8((const unsigned char *)value);
        char escape[8];

        if (c == '"' || c == '\\') {
            escape[0] = '\\';
            escape[1] = (char)c;
            append(json, escape, 2);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof(escape), "\\u%04x", c);
            append(json, escape, 6);
        } else if (len == 0) {
            append(json, "\\ufffd", 6);
        } else {
            append(json, value, len);
        }
        value += len ? len : 1;
    }
    append(json, "\"", 1);
}

void dash_json_key(struct dash_json *json, const char *key)
{
    separate(json);
    quote(json, key);
    append(json, ":", 1);
    json->after_key = true;
}

void dash_json_str(struct dash_json *json, const char *value)
{
    separate(json);
    if (value)
        quote(json, value);
    else
        append(json, "null", 4);
}

void dash_json_u64(struct dash_json *json, uint64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%" PRIu64, value);

    separate(json);
    append(json, text, (size_t)len);
}

/* Turns the decimal point of a foreign locale, of one byte or several, into ours; the new length. */
static int plain_point(char *text, int len)
{
    for (int i = 0; i < len; i++) {
        int end = i;

        while (end < len && !strchr("0123456789+-.e", text[end]))
            end++;
        if (end == i)
            continue;
        text[i] = '.';
        memmove(text + i + 1, text + end, (size_t)(len - end));
        len -= end - i - 1;
    }
    return len;
}

void dash_json_f64(struct dash_json *json, double value)
{
    char text[32];

    separate(json);
    if (isfinite(value))
        append(json, text, (size_t)plain_point(text, snprintf(text, sizeof(text), "%.9g", value)));
    else
        append(json, "null", 4);
}
