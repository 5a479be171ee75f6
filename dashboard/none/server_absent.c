/* SPDX-License-Identifier: MIT */
/* server_absent.c - compiled in place of the server where libmicrohttpd is absent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "locklab.h"

void ll_server_after_fork_child(void);

int ll_server_start(const struct ll_server_options *opt, struct ll_server **out,
                    struct ll_error *err)
{
    (void)opt, (void)out;
    if (err) {
        err->field[0] = '\0';
        snprintf(err->text, sizeof(err->text),
                 "this build has no HTTP server (libmicrohttpd was not found when it was built)");
    }
    return -ENOTSUP;
}

/* There is no server, so the functions below are never called with one. */

uint16_t ll_server_port(const struct ll_server *server)
{
    (void)server;
    return 0;
}

int ll_server_attach(struct ll_server *server, const char *run_id, struct ll_run *run)
{
    (void)server, (void)run_id, (void)run;
    return -ENOTSUP;
}

int ll_server_next(struct ll_server *server, double timeout_s, struct ll_request *out)
{
    (void)server, (void)timeout_s, (void)out;
    return -ENOTSUP;
}

int ll_server_answer(struct ll_server *server, uint64_t id, uint32_t status,
                     const char *content_type, const char *location, const void *body, size_t len)
{
    (void)server, (void)id, (void)status, (void)content_type, (void)location, (void)body, (void)len;
    return -ENOTSUP;
}

void ll_server_get_stats(struct ll_server *server, struct ll_server_stats *out)
{
    (void)server;
    memset(out, 0, sizeof(*out));
}

void ll_server_stop(struct ll_server *server)
{
    (void)server;
}

void ll_server_after_fork_child(void) {}
