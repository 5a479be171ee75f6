/* SPDX-License-Identifier: MIT */
/* requests.c - the bounded queue of API requests that the embedding program answers.
 *
 * A slot goes FREE -> QUEUED -> TAKEN -> ANSWERED -> FREE. The connection is suspended meanwhile. When the
 * client goes or its time is up, a QUEUED slot is freed at once; a TAKEN one stays, without its
 * connection, until the program answers (it may still read path and body): -ENOENT then.
 */
#include "dash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void free_slot(struct dash_request *request)
{
    free(request->path);
    free(request->body);
    free(request->content_type);
    free(request->location);
    free(request->answer);
    *request = (struct dash_request){.state = DASH_FREE};
}

static const char *method_name(enum dash_method method)
{
    switch (method) {
    case DASH_POST: return "POST";
    case DASH_DELETE: return "DELETE";
    default: return "GET"; /* libmicrohttpd drops the body of an answer to HEAD */
    }
}

enum MHD_Result dash_request_put(struct dash_conn *conn)
{
    struct ll_server *server = conn->server;
    struct dash_request *request = NULL;
    bool stopping;

    pthread_mutex_lock(&server->lock);
    stopping = server->stopping;
    for (uint32_t i = 0; i < DASH_REQUESTS && !request; i++)
        if (server->requests[i].state == DASH_FREE)
            request = &server->requests[i];
    if (request && !stopping) {
        *request = (struct dash_request){
            .state = DASH_QUEUED,
            .id = ++server->last_id,
            .since_ns = dash_now_ns(),
            .conn = conn,
            .method = method_name(conn->method),
            .path = conn->uri,
            .body = conn->body,
            .body_len = conn->body_len,
        };
        conn->request = request;
        conn->uri = NULL;
        conn->body = NULL;
        conn->body_len = 0;
        dash_suspend(conn); /* before anybody can answer */
        pthread_cond_broadcast(&server->changed);
    }
    pthread_mutex_unlock(&server->lock);
    if (conn->request)
        return MHD_YES;
    return dash_problem(conn, 503,
                        stopping ? "The server is stopping."
                                 : "Too many requests are waiting for an answer.",
                        NULL);
}

void dash_request_drop(struct dash_conn *conn)
{
    struct dash_request *request = conn->request;

    if (!request)
        return;
    pthread_mutex_lock(&conn->server->lock);
    if (request->state == DASH_TAKEN)
        request->conn = NULL;
    else
        free_slot(request);
    pthread_mutex_unlock(&conn->server->lock);
    conn->request = NULL;
}

enum MHD_Result dash_request_finish(struct dash_conn *conn)
{
    struct ll_server *server = conn->server;
    struct dash_request *request = conn->request;
    enum MHD_Result result;
    struct dash_reply reply;
    bool answered, stopping;

    pthread_mutex_lock(&server->lock);
    answered = request->state == DASH_ANSWERED;
    stopping = server->stopping;
    pthread_mutex_unlock(&server->lock);
    if (answered) { /* the slot is ours alone now */
        reply = (struct dash_reply){.status = request->status,
                                    .type = request->content_type,
                                    .location = request->location};
        result =
            dash_reply(conn, &reply, request->answer, request->answer_len, MHD_RESPMEM_MUST_FREE);
        request->answer = NULL;
    } else if (stopping) {
        result = dash_problem(conn, 503, "The server is stopping.", NULL);
    } else if (request->expired) {
        result =
            dash_problem(conn, 504, "The program behind this server did not answer in 10 s.", NULL);
    } else {
        dash_suspend(conn); /* libmicrohttpd asked although nothing has changed */
        return MHD_YES;
    }
    dash_request_drop(conn);
    return result;
}

void dash_requests_pump(struct ll_server *server)
{
    uint64_t now = dash_now_ns();

    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < DASH_REQUESTS; i++) {
        struct dash_request *request = &server->requests[i];

        if (request->state == DASH_FREE || !request->conn)
            continue;
        request->expired = request->expired || now - request->since_ns > DASH_ANSWER_NS;
        if (request->state == DASH_ANSWERED || request->expired || server->stopping)
            dash_resume(request->conn);
    }
    pthread_mutex_unlock(&server->lock);
}

void dash_requests_fini(struct ll_server *server)
{
    for (uint32_t i = 0; i < DASH_REQUESTS; i++)
        free_slot(&server->requests[i]);
}

static struct timespec deadline_after(double seconds)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    if (seconds > 1e8)
        seconds = 1e8;
    at.tv_sec += (time_t)seconds;
    at.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static struct dash_request *oldest_queued(struct ll_server *server)
{
    struct dash_request *found = NULL;

    for (uint32_t i = 0; i < DASH_REQUESTS; i++) {
        struct dash_request *request = &server->requests[i];

        if (request->state == DASH_QUEUED && !request->expired &&
            (!found || request->id < found->id))
            found = request;
    }
    return found;
}

/* Every entry counts itself in, so that ll_server_stop can wait for it to leave. */
static bool enter(struct ll_server *server)
{
    if (dash_is_forked(server))
        return false;
    pthread_mutex_lock(&server->lock);
    server->inside++;
    return true;
}

static void leave(struct ll_server *server)
{
    if (--server->inside == 0 && server->stopping)
        pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

int ll_server_next(struct ll_server *server, double timeout_s, struct ll_request *out)
{
    struct timespec deadline = deadline_after(timeout_s > 0 ? timeout_s : 0);
    struct dash_request *request;
    int result = 0;

    if (!enter(server))
        return -ECANCELED;
    while (!server->stopping && !(request = oldest_queued(server)) && result != ETIMEDOUT)
        result = timeout_s > 0 ? pthread_cond_timedwait(&server->changed, &server->lock, &deadline)
                               : ETIMEDOUT;
    if (server->stopping) {
        result = -ECANCELED;
    } else if ((request = oldest_queued(server))) {
        request->state = DASH_TAKEN;
        *out = (struct ll_request){
            .size = sizeof(*out),
            .version = LL_ABI,
            .id = request->id,
            .method = request->method,
            .path = request->path,
            .body = request->body ? request->body : "",
            .body_len = request->body_len,
        };
        result = 0;
    } else {
        result = -ETIMEDOUT;
    }
    leave(server);
    return result;
}

/* A header's value: nothing that could end the line. */
static bool header_valid(const char *value)
{
    for (; value && *value; value++)
        if ((unsigned char)*value < 0x20 || *value == 0x7f)
            return false;
    return true;
}

int ll_server_answer(struct ll_server *server, uint64_t id, uint32_t status,
                     const char *content_type, const char *location, const void *body, size_t len)
{
    struct dash_request *request = NULL;
    char *type_copy, *location_copy;
    void *body_copy;
    int result = 0;

    if (status < 200 || status > 599 || !header_valid(content_type) || !header_valid(location))
        return -EINVAL;
    if (!enter(server))
        return -ECANCELED;
    pthread_mutex_unlock(&server->lock); /* copying may take a while */
    type_copy = content_type ? strdup(content_type) : NULL;
    location_copy = location ? strdup(location) : NULL;
    body_copy = malloc(len ? len : 1);
    if (len && body_copy)
        memcpy(body_copy, body, len);

    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < DASH_REQUESTS; i++)
        if (server->requests[i].state == DASH_TAKEN && server->requests[i].id == id)
            request = &server->requests[i];
    if (!body_copy || (content_type && !type_copy) || (location && !location_copy)) {
        result = -ENOMEM; /* still to be answered */
    } else if (!request) {
        result = -ENOENT;
    } else if (!request->conn || request->expired) {
        if (!request->conn)
            free_slot(request);
        else
            request->state = DASH_QUEUED; /* its 504 is under way and frees the slot */
        result = -ENOENT;
    } else {
        request->status = status;
        request->content_type = type_copy;
        request->location = location_copy;
        request->answer = body_copy;
        request->answer_len = len;
        request->state = DASH_ANSWERED;
        dash_wake(server);
    }
    leave(server);
    if (result) {
        free(type_copy);
        free(location_copy);
        free(body_copy);
    }
    return result;
}
