/* SPDX-License-Identifier: MIT */
/* guard.h - who may talk to the server: pure functions over the request's line and headers.
 *
 * The page controls real processes, so it must obey nobody but the user's own browser and scripts:
 * Host is checked against DNS rebinding, Origin and Sec-Fetch-Site against requests that foreign
 * pages make the browser send, the content type of POST against forms (which need no preflight),
 * the token off loopback. Everything is refused before anything is looked up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DASH_MAX_URI 2048u
#define DASH_MAX_BODY 4096u
#define DASH_COOKIE "locklab_token"

enum dash_method {
    DASH_GET = 1u << 0,
    DASH_HEAD = 1u << 1,
    DASH_POST = 1u << 2,
    DASH_DELETE = 1u << 3,
    DASH_OTHER = 1u << 4,   /* a method of HTTP that nothing here offers: 405 */
    DASH_UNKNOWN = 1u << 5, /* 501 */
};

struct dash_guard {
    uint16_t port;
    bool any_host;     /* bound to all addresses: the token decides, not the name */
    const char *token; /* NULL: none asked for */
    uint32_t n_hosts;
    char hosts[4][96]; /* allowed values of Host */
};

struct dash_headers { /* NULL: absent; counts: how often the header came */
    const char *host, *origin, *content_type, *content_length, *authorization, *cookie, *site;
    unsigned n_host, n_origin, n_authorization, n_cookie, n_content_type, n_content_length, n_site;
};

struct dash_refusal {
    unsigned status;    /* 0: not refused */
    const char *detail; /* one sentence */
};

enum dash_method dash_method_of(const char *name);

/* Adds the loopback names and, if given, the numeric address it is bound to. */
void dash_guard_init(struct dash_guard *guard, const char *address, bool is_v6, uint16_t port,
                     bool any_host, const char *token);
/* `uri` as on the request line (NULL: longer than DASH_MAX_URI). */
struct dash_refusal dash_guard_check(const struct dash_guard *guard, enum dash_method method,
                                     const char *uri, const struct dash_headers *headers);

/* True if the URI is "/?...token=TOKEN..." with the right token: the link that logs a browser in. */
bool dash_guard_login(const struct dash_guard *guard, const char *uri);

/* Characters that pass unchanged through a URL's query, a cookie and a header. */
bool dash_token_valid(const char *token);

/* True if the path of `uri`, up to its query, is `path`. */
bool dash_path_is(const char *uri, const char *path);
bool dash_accepts_gzip(const char *accept_encoding); /* NULL: no */
bool dash_etag_matches(const char *if_none_match,
                       const char *etag); /* weak comparison, lists, "*" */
