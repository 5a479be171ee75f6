/* SPDX-License-Identifier: MIT */
/* reply.c - responses: the headers that all of them carry, and problem documents (RFC 9457). */
#include "dash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

const char *dash_status_name(unsigned status)
{
    static const struct {
        unsigned status;
        const char *name;
    } names[] = {
        {400, "Bad Request"},     {401, "Unauthorized"},           {403, "Forbidden"},
        {404, "Not Found"},       {405, "Method Not Allowed"},     {413, "Content Too Large"},
        {414, "URI Too Long"},    {415, "Unsupported Media Type"}, {421, "Misdirected Request"},
        {501, "Not Implemented"}, {503, "Service Unavailable"},    {504, "Gateway Timeout"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].status == status)
            return names[i].name;
    return "Error";
}

bool dash_header(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

bool dash_common_headers(struct MHD_Response *response)
{
    return dash_header(response, "X-Content-Type-Options", "nosniff") &&
           dash_header(response, "Referrer-Policy", "no-referrer") &&
           dash_header(response, "Cross-Origin-Resource-Policy", "same-origin") &&
           dash_header(response, "Content-Security-Policy",
                       "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

static bool reply_headers(struct MHD_Response *response, const struct dash_conn *conn,
                          const struct dash_reply *reply)
{
    char cookie[400];

    if (!dash_common_headers(response) ||
        !dash_header(response, "Cache-Control", reply->cache ? reply->cache : "no-store"))
        return false;
    if (reply->type && !dash_header(response, "Content-Type", reply->type))
        return false;
    if (reply->location && !dash_header(response, "Location", reply->location))
        return false;
    if (reply->allow && !dash_header(response, "Allow", reply->allow))
        return false;
    if (reply->status == 401 && !dash_header(response, "WWW-Authenticate", "Bearer"))
        return false;
    if (reply->status == 503 && !dash_header(response, "Retry-After", "1"))
        return false;
    if (reply->close && !dash_header(response, "Connection", "close"))
        return false;
    if (reply->cookie) {
        snprintf(cookie, sizeof(cookie), DASH_COOKIE "=%s; HttpOnly; SameSite=Strict; Path=/",
                 conn->server->token);
        if (!dash_header(response, "Set-Cookie", cookie))
            return false;
    }
    return true;
}

enum MHD_Result dash_reply(struct dash_conn *conn, const struct dash_reply *reply, const void *body,
                           size_t len, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response;
    enum MHD_Result result = MHD_NO;

    /* libmicrohttpd declares the body as writable but only reads it. */
    response = MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, mode);
    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free((void *)(uintptr_t)body);
        return MHD_NO;
    }
    if (reply_headers(response, conn, reply))
        result = MHD_queue_response(conn->mhd, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

static void problem_text(struct dash_json *json, unsigned status, const char *detail)
{
    dash_json_open(json, '{');
    dash_json_key(json, "type");
    dash_json_str(json, "about:blank");
    dash_json_key(json, "title");
    dash_json_str(json, dash_status_name(status));
    dash_json_key(json, "status");
    dash_json_u64(json, status);
    dash_json_key(json, "detail");
    dash_json_str(json, detail);
    dash_json_close(json, '}');
    dash_json_raw(json, "\n");
}

enum MHD_Result dash_problem(struct dash_conn *conn, unsigned status, const char *detail,
                             const char *allow)
{
    struct dash_reply reply = {.status = status, .type = "application/problem+json"};
    struct dash_json json = {0};

    reply.allow = allow;
    reply.close = conn->over;
    conn->server->stats.refused++;
    problem_text(&json, status, detail);
    if (json.failed) {
        dash_json_fini(&json);
        return MHD_NO;
    }
    return dash_reply(conn, &reply, json.text, json.len, MHD_RESPMEM_MUST_FREE);
}

void dash_send_too_long(struct dash_conn *conn)
{
    struct dash_json json = {0};
    char head[256];
    int len;

    conn->server->stats.refused++;
    problem_text(&json, 413, "The body is longer than 4,096 bytes.");
    len = snprintf(head, sizeof(head),
                   "HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json\r\n"
                   "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
                   json.len);
    /* Nothing of ours is under way on this socket while a body comes in: both fit its buffer. */
    if (!json.failed && send(conn->fd, head, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) == len)
        send(conn->fd, json.text, json.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    dash_json_fini(&json);
}
