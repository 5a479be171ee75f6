/* SPDX-License-Identifier: MIT */
/* test_json.c - what the server's JSON writer writes can be read back as it was. */
#include "../../dashboard/json.c"

#include "core/rng.h"
#include "expect.h"

/* The text of a writer, ended by a NUL; lives until the writer's next change. */
static const char *text_of(struct dash_json *json)
{
    dash_json_raw(json, "");
    append(json, "", 1);
    json->len--;
    return json->failed ? "(failed)" : json->text;
}

static void expect_text(struct dash_json *json, const char *want)
{
    const char *got = text_of(json);

    EXPECT(strcmp(got, want) == 0, "got %s, expected %s", got, want);
    dash_json_reset(json);
}

static void commas_stand_between_elements(void)
{
    struct dash_json json = {0};

    dash_json_open(&json, '{');
    dash_json_key(&json, "empty");
    dash_json_open(&json, '[');
    dash_json_close(&json, ']');
    dash_json_key(&json, "nested");
    dash_json_open(&json, '[');
    for (int i = 0; i < 2; i++) {
        dash_json_open(&json, '{');
        dash_json_key(&json, "i");
        dash_json_u64(&json, (uint64_t)i);
        dash_json_key(&json, "s");
        dash_json_str(&json, NULL);
        dash_json_close(&json, '}');
    }
    dash_json_f64(&json, 0.5);
    dash_json_close(&json, ']');
    dash_json_close(&json, '}');
    expect_text(&json, "{\"empty\":[],\"nested\":[{\"i\":0,\"s\":null},{\"i\":1,\"s\":null},0.5]}");
    dash_json_raw(&json, "id: 7\n");
    dash_json_open(&json, '[');
    dash_json_close(&json, ']');
    dash_json_raw(&json, "\n");
    expect_text(&json, "id: 7\n[]\n");
    dash_json_fini(&json);
}

static void wrong_nesting_is_noticed(void)
{
    struct dash_json json = {0};

    dash_json_close(&json, '}');
    EXPECT(json.failed, "more closed than opened");
    dash_json_reset(&json);
    for (int i = 0; i < 31; i++)
        dash_json_open(&json, '[');
    EXPECT(!json.failed, "31 levels are allowed");
    dash_json_open(&json, '[');
    EXPECT(json.failed, "32 are not");
    dash_json_fini(&json);
}

static void numbers_come_back(void)
{
    struct dash_json json = {0};

    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = ll_rng_seed(21, i) >> (ll_rng_seed(22, i) % 64);
        double real, back;

        dash_json_u64(&json, bits);
        EXPECT(strtoull(text_of(&json), NULL, 10) == bits, "%s", text_of(&json));
        dash_json_reset(&json);
        memcpy(&real, &bits, sizeof(real));
        if (!isfinite(real))
            real = (double)bits;
        dash_json_f64(&json, real);
        back = strtod(text_of(&json), NULL);
        EXPECT(fabs(back - real) <= fabs(real) * 1e-8 + 1e-320, "%.17g became %s", real,
               text_of(&json));
        dash_json_reset(&json);
    }
    dash_json_u64(&json, UINT64_MAX);
    expect_text(&json, "18446744073709551615");
    dash_json_f64(&json, -0.0);
    expect_text(&json, "-0");
    dash_json_f64(&json, NAN);
    expect_text(&json, "null");
    dash_json_f64(&json, -INFINITY);
    expect_text(&json, "null");
    dash_json_fini(&json);
}

static void a_foreign_decimal_point_stays_out(void)
{
    static const char *const foreign[] = {"1234,5e-08", "1234\xd9\xab"
                                                        "5e-08"};

    for (size_t i = 0; i < 2; i++) {
        char text[32];
        int len = snprintf(text, sizeof(text), "%s", foreign[i]);

        len = plain_point(text, len);
        EXPECT(len == 10 && memcmp(text, "1234.5e-08", 10) == 0, "%.*s", len, text);
    }
}

static unsigned code_unit(const char *hex4)
{
    char digits[5] = {hex4[0], hex4[1], hex4[2], hex4[3], 0};

    return (unsigned)strtoul(digits, NULL, 16);
}

/* Reads a JSON string as RFC 8259 says; false: it is none. */
static bool unquote(const char *json, char *out)
{
    if (*json++ != '"')
        return false;
    for (; *json && *json != '"'; json++) {
        if ((unsigned char)*json < 0x20)
            return false;
        if (*json != '\\') {
            *out++ = *json;
        } else if (*++json == 'u') {
            unsigned unit = code_unit(json + 1);
            json += 4;
            if (unit < 0x80) {
                *out++ = (char)unit;
            } else {
                *out++ = (char)(0xe0 | unit >> 12);
                *out++ = (char)(0x80 | (unit >> 6 & 0x3f));
                *out++ = (char)(0x80 | (unit & 0x3f));
            }
        } else if (*json == '"' || *json == '\\') {
            *out++ = *json;
        } else {
            return false;
        }
    }
    *out = '\0';
    return json[0] == '"' && json[1] == '\0';
}

static void texts_come_back(void)
{
    static const struct {
        const char *in, *out; /* out NULL: the same */
    } cases[] = {
        {"", NULL},
        {"plain", NULL},
        {"\"quoted\" \\ and \n\r\t\b\f\x01\x1f\x7f", NULL},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92", NULL}, /* two, three and four bytes */
        {"</script>", NULL},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong / */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
    };
    struct dash_json json = {0};
    char back[256];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *want = cases[i].out ? cases[i].out : cases[i].in;

        dash_json_str(&json, cases[i].in);
        EXPECT(unquote(text_of(&json), back), "case %zu is no JSON: %s", i, text_of(&json));
        EXPECT(strcmp(back, want) == 0, "case %zu: %s", i, text_of(&json));
        dash_json_reset(&json);
    }
    dash_json_fini(&json);
}

int main(void)
{
    commas_stand_between_elements();
    wrong_nesting_is_noticed();
    numbers_come_back();
    a_foreign_decimal_point_stays_out();
    texts_come_back();
    DONE();
}
