/* SPDX-License-Identifier: MIT */
/* routes.c - what answers which path, and the way of a request through libmicrohttpd's callback. */
#include "dash.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum MHD_Result serve_health(struct dash_conn *conn)
{
    return dash_reply(conn, &(struct dash_reply){.status = 200, .type = "text/plain"}, "ok\n", 3,
                      MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result serve_stream(struct dash_conn *conn)
{
    const char *id = conn->uri + strlen("/api/v1/runs/");
    struct dash_run *run = dash_run_find(conn->server, id, strcspn(id, "/"));

    if (!run)
        return dash_problem(conn, 404, "No run of this id has a stream here.", NULL);
    return dash_stream_open(conn, run);
}

#define READ (DASH_GET | DASH_HEAD)

/* First match wins. In a path `*` stands for one segment; a last `/` takes all that is below. */
static const struct {
    unsigned methods;
    const char *path, *allow;
    enum MHD_Result (*serve)(struct dash_conn *conn);
} routes[] = {
    {READ, "/healthz", "GET, HEAD", serve_health},
    {READ, "/api/v1/runs/*/stream", "GET, HEAD", serve_stream},
    {READ | DASH_POST | DASH_DELETE, "/api/v1/", "GET, HEAD, POST, DELETE", dash_request_put},
    {READ, "/metrics", "GET, HEAD", dash_request_put},
};

static bool route_matches(const char *path, const char *uri)
{
    for (; *path; path++) {
        if (*path == '*') {
            size_t len = strcspn(uri, "/?");

            if (len == 0)
                return false;
            uri += len;
        } else if (*path != *uri++) {
            return false;
        } else if (*path == '/' && !path[1]) {
            return true;
        }
    }
    return !*uri || *uri == '?';
}

static enum MHD_Result dispatch(struct dash_conn *conn)
{
    const struct dash_asset *asset;

    if (dash_guard_login(&conn->server->guard, conn->uri))
        return dash_reply(conn,
                          &(struct dash_reply){.status = 303, .location = "/", .cookie = true}, "",
                          0, MHD_RESPMEM_PERSISTENT);
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (!route_matches(routes[i].path, conn->uri))
            continue;
        if (routes[i].methods & conn->method)
            return routes[i].serve(conn);
        return dash_problem(conn, 405, "This path does not offer the method.", routes[i].allow);
    }
    asset = dash_asset_find(conn->server, conn->uri);
    if (!asset)
        return dash_problem(conn, 404, "There is nothing at this path.", NULL);
    if (conn->method & READ)
        return dash_asset_serve(conn, asset);
    return dash_problem(conn, 405, "This path can only be read.", "GET, HEAD");
}

static enum MHD_Result collect(void *cls, enum MHD_ValueKind kind, const char *key,
                               const char *value)
{
    struct dash_headers *h = cls;
    const struct {
        const char *name, **value;
        unsigned *count;
    } wanted[] = {
        {"Host", &h->host, &h->n_host},
        {"Origin", &h->origin, &h->n_origin},
        {"Content-Type", &h->content_type, &h->n_content_type},
        {"Content-Length", &h->content_length, &h->n_content_length},
        {"Authorization", &h->authorization, &h->n_authorization},
        {"Cookie", &h->cookie, &h->n_cookie},
        {"Sec-Fetch-Site", &h->site, &h->n_site},
    };

    (void)kind;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strcasecmp(key, wanted[i].name) != 0)
            continue;
        *wanted[i].value = value;
        ++*wanted[i].count;
    }
    return MHD_YES;
}

/* Headers are complete, the body is not: what is refused is refused before any of it is read. */
static enum MHD_Result begin(struct dash_conn *conn, const char *method)
{
    struct dash_headers headers = {0};
    struct dash_refusal refusal;

    conn->method = dash_method_of(method);
    conn->server->stats.requests++;
    if (conn->over)
        return dash_problem(conn, 503, "All connections that this server allows are in use.", NULL);
    MHD_get_connection_values(conn->mhd, MHD_HEADER_KIND, collect, &headers);
    refusal = dash_guard_check(&conn->server->guard, conn->method, conn->uri, &headers);
    if (refusal.status)
        return dash_problem(conn, refusal.status, refusal.detail,
                            refusal.status == 405 ? "GET, HEAD, POST, DELETE" : NULL);
    return MHD_YES;
}

static enum MHD_Result receive(struct dash_conn *conn, const char *data, size_t *size)
{
    if (!conn->body)
        conn->body = malloc(DASH_MAX_BODY + 1);
    if (!conn->body)
        return MHD_NO;
    if (*size > DASH_MAX_BODY - conn->body_len) { /* chunked: no Content-Length said so */
        dash_send_too_long(conn);
        return MHD_NO;
    }
    memcpy(conn->body + conn->body_len, data, *size);
    conn->body_len += *size;
    conn->body[conn->body_len] = '\0';
    *size = 0;
    return MHD_YES;
}

enum MHD_Result dash_handle(void *server, struct MHD_Connection *mhd, const char *url,
                            const char *method, const char *version, const char *data, size_t *size,
                            void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct dash_conn *conn = info ? info->socket_context : NULL;

    (void)server, (void)url, (void)version;
    if (!conn)
        return MHD_NO;
    if (!*context) {
        *context = conn;
        return begin(conn, method);
    }
    if (*size)
        return receive(conn, data, size);
    conn->answering = true;
    return conn->request ? dash_request_finish(conn) : dispatch(conn);
}
