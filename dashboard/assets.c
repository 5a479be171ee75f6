/* SPDX-License-Identifier: MIT */
/* assets.c - the page's files: prepared responses, ETag and gzip, both of which libmicrohttpd lacks. */
#include "dash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A strong ETag names bytes: the compressed ones need another. "abc" becomes "abc+gz". */
static char *gzip_etag(const char *etag)
{
    size_t len = strlen(etag);
    char *out = malloc(len + 4);

    if (out)
        snprintf(out, len + 4, "%.*s+gz\"", (int)(len - 1), etag);
    return out;
}

static struct MHD_Response *prepare(const struct ll_asset *asset, const char *etag, bool gz)
{
    const void *bytes = gz ? asset->gz : asset->body;
    size_t len = gz ? asset->gz_len : asset->len;
    struct MHD_Response *response;

    response =
        MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return NULL;
    if (!dash_common_headers(response) || !dash_header(response, "ETag", etag) ||
        !dash_header(response, "Cache-Control", "no-cache") ||
        !dash_header(response, "Content-Type", asset->type) ||
        (asset->gz && !dash_header(response, "Vary", "Accept-Encoding")) ||
        (gz && !dash_header(response, "Content-Encoding", "gzip"))) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

static bool etag_valid(const char *etag)
{
    size_t len = etag ? strlen(etag) : 0;

    if (len < 3 || etag[0] != '"' || etag[len - 1] != '"')
        return false;
    for (size_t i = 1; i < len - 1; i++)
        if (etag[i] <= ' ' || etag[i] == '"' || etag[i] == 0x7f || etag[i] == ',')
            return false;
    return true;
}

int dash_assets_init(struct ll_server *server, const struct ll_asset *assets, size_t n,
                     struct ll_error *err)
{
    server->assets = calloc(n ? n : 1, sizeof(*server->assets));
    if (!server->assets)
        return ll_fail(err, -ENOMEM, "assets", "out of memory");
    for (size_t i = 0; i < n; i++) {
        const struct ll_asset *asset = &assets[i];
        struct dash_asset *out = &server->assets[server->n_assets++];

        if (!asset->path || asset->path[0] != '/' || !asset->type || !etag_valid(asset->etag))
            return ll_fail(err, -EINVAL, "assets",
                           "asset %zu (%s) needs a path that begins with /, a type and an ETag in "
                           "quotes",
                           i, asset->path ? asset->path : "no path");
        out->path = asset->path;
        out->etag = asset->etag;
        out->response[0] = prepare(asset, asset->etag, false);
        if (asset->gz && (out->gz_etag = gzip_etag(asset->etag)))
            out->response[1] = prepare(asset, out->gz_etag, true);
        if (!out->response[0] || (asset->gz && !out->response[1]))
            return ll_fail(err, -ENOMEM, "assets", "out of memory");
    }
    return 0;
}

void dash_assets_fini(struct ll_server *server)
{
    for (size_t i = 0; i < server->n_assets; i++) {
        struct dash_asset *asset = &server->assets[i];

        for (int gz = 0; gz < 2; gz++)
            if (asset->response[gz])
                MHD_destroy_response(asset->response[gz]);
        free(asset->gz_etag);
    }
    free(server->assets);
    server->assets = NULL;
    server->n_assets = 0;
}

const struct dash_asset *dash_asset_find(const struct ll_server *server, const char *uri)
{
    if (dash_path_is(uri, "/"))
        uri = "/index.html";
    for (size_t i = 0; i < server->n_assets; i++)
        if (dash_path_is(uri, server->assets[i].path))
            return &server->assets[i];
    return NULL;
}

enum MHD_Result dash_asset_serve(struct dash_conn *conn, const struct dash_asset *asset)
{
    const char *accept = MHD_lookup_connection_value(conn->mhd, MHD_HEADER_KIND, "Accept-Encoding");
    const char *known = MHD_lookup_connection_value(conn->mhd, MHD_HEADER_KIND, "If-None-Match");
    int gz = asset->response[1] && dash_accepts_gzip(accept);
    bool same = dash_etag_matches(known, gz ? asset->gz_etag : asset->etag);

    /* libmicrohttpd leaves the body out of a 304 and keeps the length, as it should be. */
    return MHD_queue_response(conn->mhd, same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                              asset->response[gz]);
}
