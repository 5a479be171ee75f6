/* SPDX-License-Identifier: MIT */
/* guard.c - Host, Origin, token and size checks of guard.h. */
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum dash_method dash_method_of(const char *name)
{
    static const struct {
        const char *name;
        enum dash_method method;
    } known[] = {
        {"GET", DASH_GET},       {"HEAD", DASH_HEAD},   {"POST", DASH_POST},
        {"DELETE", DASH_DELETE}, {"PUT", DASH_OTHER},   {"PATCH", DASH_OTHER},
        {"OPTIONS", DASH_OTHER}, {"TRACE", DASH_OTHER}, {"CONNECT", DASH_OTHER},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].method;
    return DASH_UNKNOWN;
}

void dash_guard_init(struct dash_guard *guard, const char *address, bool is_v6, uint16_t port,
                     bool any_host, const char *token)
{
    static const char *const loopback[] = {"127.0.0.1", "localhost", "[::1]"};

    *guard = (struct dash_guard){.port = port, .any_host = any_host, .token = token};
    for (size_t i = 0; i < 3; i++)
        snprintf(guard->hosts[guard->n_hosts++], sizeof(guard->hosts[0]), "%s:%u", loopback[i],
                 port);
    if (address && !any_host)
        snprintf(guard->hosts[guard->n_hosts++], sizeof(guard->hosts[0]),
                 is_v6 ? "[%s]:%u" : "%s:%u", address, port);
}

/* Both sides in full, whatever differs: the time tells the length alone. */
static bool same_secret(const char *secret, const char *given, size_t len)
{
    size_t want = strlen(secret);
    unsigned char differ = want != len;

    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(secret[want ? i % want : 0] ^ given[i]);
    return differ == 0;
}

bool dash_token_valid(const char *token)
{
    size_t len = strlen(token);

    return len >= 1 && len <= 256 &&
           strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                         "-._~+/=") == len;
}

static bool token_in_authorization(const char *token, const char *value)
{
    if (!value || strncasecmp(value, "Bearer ", 7) != 0)
        return false;
    value += 7;
    value += strspn(value, " ");
    return same_secret(token, value, strcspn(value, " \t"));
}

static bool token_in_cookie(const char *token, const char *value)
{
    const size_t name_len = strlen(DASH_COOKIE);

    while (value && *value) {
        size_t len;

        value += strspn(value, "; \t");
        len = strcspn(value, ";");
        if (len > name_len && strncmp(value, DASH_COOKIE, name_len) == 0 &&
            value[name_len] == '=') {
            size_t end = len;

            while (end > name_len + 1 && (value[end - 1] == ' ' || value[end - 1] == '\t'))
                end--;
            if (same_secret(token, value + name_len + 1, end - name_len - 1))
                return true;
        }
        value += len;
    }
    return false;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool dash_guard_login(const struct dash_guard *guard, const char *uri)
{
    const char *at;

    if (!guard->token || strncmp(uri, "/?", 2) != 0)
        return false;
    for (at = uri + 2; *at; at += strcspn(at, "&"), at += *at == '&') {
        char given[257];
        size_t len = 0, end = strcspn(at, "&");

        if (strncmp(at, "token=", 6) != 0)
            continue;
        for (size_t i = 6; i < end && len < sizeof(given); i++) {
            if (at[i] == '%' && i + 2 < end && hex(at[i + 1]) >= 0 && hex(at[i + 2]) >= 0) {
                given[len++] = (char)(hex(at[i + 1]) * 16 + hex(at[i + 2]));
                i += 2;
            } else {
                given[len++] = at[i];
            }
        }
        if (same_secret(guard->token, given, len))
            return true;
    }
    return false;
}

static bool port_matches(const struct dash_guard *guard, const char *host)
{
    const char *colon = strrchr(host, ':');
    char port[8];

    if (!colon || colon == host || strcspn(host, "/@ ") != strlen(host))
        return false;
    snprintf(port, sizeof(port), "%u", guard->port);
    return strcmp(colon + 1, port) == 0;
}

static bool host_listed(const struct dash_guard *guard, const char *host)
{
    for (uint32_t i = 0; i < guard->n_hosts; i++) {
        const char *allowed = guard->hosts[i];

        if (strcasecmp(host, allowed) == 0)
            return true;
        /* Browsers leave out the port that is HTTP's default. */
        if (guard->port == 80 && strlen(host) + 3 == strlen(allowed) &&
            strncasecmp(host, allowed, strlen(host)) == 0)
            return true;
    }
    return false;
}

static bool origin_is_ours(const struct dash_guard *guard, const char *origin, const char *host)
{
    if (strncmp(origin, "http://", 7) != 0)
        return false;
    return host_listed(guard, origin + 7) || strcasecmp(origin + 7, host) == 0;
}

static bool is_json(const char *type)
{
    const size_t len = strlen("application/json");

    return type && strncasecmp(type, "application/json", len) == 0 && strchr("; \t", type[len]);
}

bool dash_path_is(const char *uri, const char *path)
{
    size_t len = strcspn(uri, "?");

    return strlen(path) == len && memcmp(uri, path, len) == 0;
}

static bool is_printable(const char *uri)
{
    for (; *uri; uri++)
        if (*uri <= 0x20 || *uri >= 0x7f) /* also what a signed char makes negative */
            return false;
    return true;
}

#define REFUSE(code, sentence)                                                                     \
    return (struct dash_refusal)                                                                   \
    {                                                                                              \
        code, sentence                                                                             \
    }

/* What only programs and our own page ask for; a foreign page must not even make us work for it. */
static bool is_data(const char *uri)
{
    return strncmp(uri, "/api/", 5) == 0 || dash_path_is(uri, "/metrics");
}

struct dash_refusal dash_guard_check(const struct dash_guard *guard, enum dash_method method,
                                     const char *uri, const struct dash_headers *h)
{
    bool token_ok;

    if (!uri)
        REFUSE(414, "The URL is longer than 2,048 bytes.");
    if (uri[0] != '/' || !is_printable(uri))
        REFUSE(400, "The request target must be a path of printable ASCII characters.");
    if (h->n_host != 1 || !h->host)
        REFUSE(400, "Exactly one Host header is needed.");
    if (h->n_origin > 1 || h->n_authorization > 1 || h->n_cookie > 1 || h->n_content_type > 1 ||
        h->n_content_length > 1 || h->n_site > 1)
        REFUSE(400, "A header that may come once came several times.");

    token_ok = !guard->token || token_in_authorization(guard->token, h->authorization) ||
               token_in_cookie(guard->token, h->cookie) ||
               ((method & (DASH_GET | DASH_HEAD)) && dash_guard_login(guard, uri));
    if (!host_listed(guard, h->host) &&
        !(guard->any_host && guard->token && port_matches(guard, h->host)))
        REFUSE(421, "This server does not answer for the host named in the Host header.");
    if (h->n_origin && (!h->origin || !origin_is_ours(guard, h->origin, h->host)))
        REFUSE(403, "Requests from pages of another origin are not answered.");

    if (method == DASH_UNKNOWN)
        REFUSE(501, "The method is not known.");
    if (method == DASH_OTHER)
        REFUSE(405, "The method is not offered here.");
    if (h->site && (method & (DASH_POST | DASH_DELETE) || is_data(uri)) &&
        strcasecmp(h->site, "same-origin") != 0 && strcasecmp(h->site, "none") != 0)
        REFUSE(403, "The browser says that another site's page made this request.");
    if (!token_ok && !dash_path_is(uri, "/healthz"))
        REFUSE(401, "A token is needed: open the URL that was printed at the start, or send "
                    "Authorization: Bearer.");
    if (method == DASH_POST && !is_json(h->content_type))
        REFUSE(415, "POST needs Content-Type: application/json.");
    if (h->content_length && strtoull(h->content_length, NULL, 10) > DASH_MAX_BODY)
        REFUSE(413, "The body is longer than 4,096 bytes.");
    REFUSE(0, NULL);
}

/* One element of a header's comma-separated list: skips to it, returns its length, 0 at the end. */
static size_t element(const char **at)
{
    size_t len;

    *at += strspn(*at, ", \t");
    len = strcspn(*at, ",");
    while (len && ((*at)[len - 1] == ' ' || (*at)[len - 1] == '\t'))
        len--;
    return len;
}

bool dash_accepts_gzip(const char *accept)
{
    size_t len;

    for (; accept && (len = element(&accept)) > 0; accept += len) {
        size_t name = strcspn(accept, "; \t,");
        const char *q;

        if (name != 4 || strncasecmp(accept, "gzip", 4) != 0)
            continue;
        q = memchr(accept, ';', len);
        if (!q)
            return true;
        q++;
        q += strspn(q, " \t");
        return strncasecmp(q, "q=", 2) != 0 || strtod(q + 2, NULL) > 0;
    }
    return false;
}

bool dash_etag_matches(const char *list, const char *etag)
{
    size_t len;

    for (; list && (len = element(&list)) > 0; list += len) {
        const char *tag = list;
        size_t tag_len = len;

        if (len == 1 && *tag == '*')
            return true;
        if (len > 2 && strncmp(tag, "W/", 2) == 0) {
            tag += 2;
            tag_len -= 2;
        }
        if (strlen(etag) == tag_len && memcmp(tag, etag, tag_len) == 0)
            return true;
    }
    return false;
}
