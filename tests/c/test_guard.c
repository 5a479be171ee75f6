/* SPDX-License-Identifier: MIT */
/* test_guard.c - who may talk to the server: Host, Origin, token, type and size, case by case. */
#include "../../dashboard/guard.c"

#include "expect.h"

#define OK 0u

static struct dash_guard loopback, locked, open_to_all;

static unsigned judge(const struct dash_guard *guard, enum dash_method method, const char *uri,
                      struct dash_headers h)
{
    h.n_host += h.host != NULL;
    h.n_origin += h.origin != NULL;
    return dash_guard_check(guard, method, uri, &h).status;
}

#define HOST .host = "127.0.0.1:8123"
#define JUDGE(guard, method, uri, ...)                                                             \
    judge(&guard, method, uri, (struct dash_headers){__VA_ARGS__})
#define GIVES(want, guard, method, uri, ...)                                                       \
    do {                                                                                           \
        unsigned got_ = JUDGE(guard, method, uri, __VA_ARGS__);                                    \
        EXPECT(got_ == (want), "%u instead of %u", got_, want);                                    \
    } while (0)

static void host_is_matched_in_full(void)
{
    static const char *const good[] = {"127.0.0.1:8123", "localhost:8123", "LOCALHOST:8123",
                                       "[::1]:8123"};
    static const char *const bad[] = {"127.0.0.1",
                                      "127.0.0.1:8124",
                                      "127.0.0.1:81234",
                                      "127.0.0.1:8123.evil.example",
                                      "127.0.0.1.evil.example:8123",
                                      "evil.example:8123",
                                      "evil@127.0.0.1:8123",
                                      "0.0.0.0:8123",
                                      "[::1]",
                                      " 127.0.0.1:8123",
                                      ""};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        EXPECT(JUDGE(loopback, DASH_GET, "/", .host = good[i]) == OK, "%s", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(JUDGE(loopback, DASH_GET, "/", .host = bad[i]) == 421, "%s", bad[i]);
    GIVES(400u, loopback, DASH_GET, "/", .host = NULL);
    GIVES(400u, loopback, DASH_GET, "/", HOST, .n_host = 1); /* twice */
}

static void the_default_port_may_be_left_out(void)
{
    struct dash_guard guard;

    dash_guard_init(&guard, "127.0.0.1", false, 80, false, NULL);
    GIVES(OK, guard, DASH_GET, "/", .host = "localhost");
    GIVES(OK, guard, DASH_GET, "/", .host = "localhost:80");
    GIVES(421u, guard, DASH_GET, "/", .host = "localhos");
    GIVES(421u, guard, DASH_GET, "/", .host = "localhost:8");
}

static void a_bound_address_is_a_host(void)
{
    struct dash_guard guard;

    dash_guard_init(&guard, "fe80::7", true, 8123, false, "secret");
    GIVES(OK, guard, DASH_GET, "/", .host = "[fe80::7]:8123", .authorization = "Bearer secret");
    GIVES(421u, guard, DASH_GET, "/", .host = "[fe80::8]:8123", .authorization = "Bearer secret");
}

static void foreign_origins_are_refused(void)
{
    GIVES(OK, loopback, DASH_GET, "/", HOST, .origin = "http://127.0.0.1:8123");
    GIVES(OK, loopback, DASH_GET, "/", HOST, .origin = "http://localhost:8123");
    GIVES(403u, loopback, DASH_GET, "/", HOST, .origin = "null");
    GIVES(403u, loopback, DASH_GET, "/", HOST, .origin = "");
    GIVES(403u, loopback, DASH_GET, "/", HOST, .origin = "https://127.0.0.1:8123");
    GIVES(403u, loopback, DASH_GET, "/", HOST, .origin = "http://127.0.0.1:8124");
    GIVES(403u, loopback, DASH_GET, "/", HOST, .origin = "http://127.0.0.1:8123.evil.example");
    GIVES(400u, loopback, DASH_GET, "/", HOST, .origin = "http://127.0.0.1:8123", .n_origin = 1);
}

static void other_sites_cannot_make_the_browser_write(void)
{
    GIVES(OK, loopback, DASH_POST, "/x", HOST, .content_type = "application/json",
          .site = "same-origin");
    GIVES(OK, loopback, DASH_DELETE, "/x", HOST, .site = "none");
    GIVES(403u, loopback, DASH_DELETE, "/x", HOST, .site = "cross-site");
    GIVES(403u, loopback, DASH_POST, "/x", HOST, .content_type = "application/json",
          .site = "same-site");
    GIVES(OK, loopback, DASH_GET, "/", HOST, .site = "cross-site"); /* following a link */
    GIVES(403u, loopback, DASH_GET, "/api/v1/runs", HOST, .site = "cross-site");
    GIVES(403u, loopback, DASH_GET, "/metrics?x", HOST, .site = "same-site");
    GIVES(400u, loopback, DASH_POST, "/x", HOST, .content_type = "application/json",
          .content_length = "2", .n_content_length = 2);
}

static void the_token_is_asked_for(void)
{
    GIVES(401u, locked, DASH_GET, "/", HOST);
    GIVES(OK, locked, DASH_GET, "/healthz", HOST);
    GIVES(OK, locked, DASH_GET, "/healthz?x", HOST);
    GIVES(401u, locked, DASH_GET, "/healthz/", HOST);
    GIVES(OK, locked, DASH_GET, "/", HOST, .authorization = "Bearer s3cret+/=");
    GIVES(OK, locked, DASH_GET, "/", HOST, .authorization = "bearer  s3cret+/= ");
    GIVES(401u, locked, DASH_GET, "/", HOST, .authorization = "Bearer s3cret");
    GIVES(401u, locked, DASH_GET, "/", HOST, .authorization = "Bearer s3cret+/=s3cret+/=");
    GIVES(401u, locked, DASH_GET, "/", HOST, .authorization = "Bearer ");
    GIVES(401u, locked, DASH_GET, "/", HOST, .authorization = "Basic s3cret+/=");
    GIVES(OK, locked, DASH_GET, "/", HOST, .cookie = "a=b; locklab_token=s3cret+/=; c");
    GIVES(OK, locked, DASH_GET, "/", HOST, .cookie = "locklab_token=old;locklab_token=s3cret+/=");
    GIVES(401u, locked, DASH_GET, "/", HOST, .cookie = "xlocklab_token=s3cret+/=");
    GIVES(401u, locked, DASH_GET, "/", HOST, .cookie = "locklab_token=s3cret+/=x");
    GIVES(401u, locked, DASH_GET, "/", HOST, .cookie = "locklab_token");
    GIVES(421u, locked, DASH_GET, "/", .host = "evil.example:8123",
          .authorization = "Bearer s3cret+/=");
}

static void the_link_logs_in(void)
{
    GIVES(OK, locked, DASH_GET, "/?token=s3cret+/=", HOST);
    GIVES(OK, locked, DASH_HEAD, "/?a=1&token=s3cret%2B%2f%3D&b", HOST);
    GIVES(401u, locked, DASH_GET, "/?token=s3cret", HOST);
    GIVES(401u, locked, DASH_GET, "/?xtoken=s3cret+/=", HOST);
    GIVES(401u, locked, DASH_GET, "/x?token=s3cret+/=", HOST);
    GIVES(401u, locked, DASH_GET, "/?token=s3cret+/=%", HOST);
    GIVES(401u, locked, DASH_GET, "/?token=s3cret+/=%00", HOST);
    GIVES(401u, locked, DASH_POST, "/?token=s3cret+/=", HOST, .content_type = "application/json");
    EXPECT(!dash_guard_login(&loopback, "/?token=x"), "no token, no login");
}

static void with_all_addresses_the_token_decides(void)
{
    const char *bearer = "Bearer s3cret+/=";

    GIVES(OK, open_to_all, DASH_GET, "/", .host = "lab.example:8123", .authorization = bearer);
    GIVES(OK, open_to_all, DASH_GET, "/", .host = "lab.example:8123", .authorization = bearer,
          .origin = "http://lab.example:8123");
    GIVES(403u, open_to_all, DASH_GET, "/", .host = "lab.example:8123", .authorization = bearer,
          .origin = "http://evil.example:8123");
    GIVES(401u, open_to_all, DASH_GET, "/", .host = "lab.example:8123");
    GIVES(401u, open_to_all, DASH_GET, "/", .host = "lab.example:8123",
          .authorization = "Bearer old");
    GIVES(OK, open_to_all, DASH_GET, "/healthz", .host = "lab.example:8123");
    GIVES(421u, open_to_all, DASH_GET, "/", .host = "lab.example", .authorization = bearer);
    GIVES(421u, open_to_all, DASH_GET, "/", .host = ":8123", .authorization = bearer);
    GIVES(401u, open_to_all, DASH_GET, "/", HOST);
}

static void posts_are_json_and_short(void)
{
    static const char *const good[] = {"application/json", "Application/JSON",
                                       "application/json;charset=utf-8", "application/json ; q=1"};
    static const char *const bad[] = {"text/plain", "application/x-www-form-urlencoded",
                                      "application/jsonp", "application/json,text/plain", ""};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        EXPECT(JUDGE(loopback, DASH_POST, "/x", HOST, .content_type = good[i]) == OK, "%s",
               good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT(JUDGE(loopback, DASH_POST, "/x", HOST, .content_type = bad[i]) == 415, "%s", bad[i]);
    GIVES(415u, loopback, DASH_POST, "/x", HOST);
    GIVES(OK, loopback, DASH_DELETE, "/x", HOST, .content_length = "4096");
    GIVES(413u, loopback, DASH_DELETE, "/x", HOST, .content_length = "4097");
    GIVES(413u, loopback, DASH_GET, "/x", HOST, .content_length = "99999999999999999999999");
}

static void methods_and_targets(void)
{
    EXPECT(dash_method_of("get") == DASH_UNKNOWN, "methods are case-sensitive");
    GIVES(405u, loopback, dash_method_of("PUT"), "/", HOST);
    GIVES(405u, loopback, dash_method_of("OPTIONS"), "/", HOST);
    GIVES(501u, loopback, dash_method_of("BREW"), "/", HOST);
    GIVES(414u, loopback, DASH_GET, NULL, HOST);
    GIVES(400u, loopback, DASH_GET, "*", HOST);
    GIVES(400u, loopback, DASH_GET, "http://127.0.0.1:8123/", HOST);
    GIVES(400u, loopback, DASH_GET, "/\xc3\xa4", HOST);
    GIVES(400u, loopback, DASH_GET, "/a b", HOST);
    EXPECT(dash_path_is("/a?b", "/a") && !dash_path_is("/ab", "/a") && !dash_path_is("/", "/a"),
           "paths end at the query");
}

static void tokens_are_of_safe_characters(void)
{
    char longest[258] = {0};

    EXPECT(dash_token_valid("Az09-._~+/="), "all that is allowed");
    EXPECT(!dash_token_valid(""), "none");
    EXPECT(!dash_token_valid("a;b") && !dash_token_valid("a b") && !dash_token_valid("a\n"),
           "what would end a cookie or a header");
    memset(longest, 'x', 256);
    EXPECT(dash_token_valid(longest), "256 characters");
    longest[256] = 'x';
    EXPECT(!dash_token_valid(longest), "257 characters");
}

static void encodings_and_etags(void)
{
    EXPECT(dash_accepts_gzip("gzip") && dash_accepts_gzip("br, GZIP;q=0.1, x"), "asked for");
    EXPECT(!dash_accepts_gzip(NULL) && !dash_accepts_gzip("") && !dash_accepts_gzip("br"),
           "not asked for");
    EXPECT(!dash_accepts_gzip("gzip;q=0") && !dash_accepts_gzip("gzip; q=0.000"), "refused");
    EXPECT(!dash_accepts_gzip("xgzip") && !dash_accepts_gzip("gzipx"), "another name");
    EXPECT(dash_etag_matches("\"a\"", "\"a\"") && dash_etag_matches("\"b\", W/\"a\"", "\"a\"") &&
               dash_etag_matches("*", "\"a\""),
           "the same");
    EXPECT(!dash_etag_matches(NULL, "\"a\"") && !dash_etag_matches("\"ab\"", "\"a\"") &&
               !dash_etag_matches("a", "\"a\"") && !dash_etag_matches(", ,", "\"a\""),
           "another");
}

int main(void)
{
    dash_guard_init(&loopback, "127.0.0.1", false, 8123, false, NULL);
    dash_guard_init(&locked, "127.0.0.1", false, 8123, false, "s3cret+/=");
    dash_guard_init(&open_to_all, NULL, false, 8123, true, "s3cret+/=");
    host_is_matched_in_full();
    the_default_port_may_be_left_out();
    a_bound_address_is_a_host();
    foreign_origins_are_refused();
    other_sites_cannot_make_the_browser_write();
    the_token_is_asked_for();
    the_link_logs_in();
    with_all_addresses_the_token_decides();
    posts_are_json_and_short();
    methods_and_targets();
    tokens_are_of_safe_characters();
    encodings_and_etags();
    DONE();
}
