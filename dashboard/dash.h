/* SPDX-License-Identifier: MIT */
/* dash.h - what the files of the HTTP server share.
 *
 * One thread ("locklab-http") runs libmicrohttpd with our own epoll and is the only one that calls into
 * it; connections, streams and frames belong to that thread. Other threads reach it through `lock`
 * (requests, runs, stopping) and `wake_fd`. A connection is suspended by that thread alone and `suspended`
 * says so: resuming twice, suspending twice or stopping with a suspended one is undefined behaviour
 * in libmicrohttpd.
 */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <microhttpd.h>

#include "guard.h"
#include "json.h"
#include "locklab.h"

#define DASH_REQUESTS 32u                    /* API requests waiting for the embedding program */
#define DASH_ANSWER_NS UINT64_C(10000000000) /* it has so long to answer one */
#define DASH_RUNS 64u                        /* runs whose stream can be had */
#define DASH_RING 64u                        /* ticks kept for Last-Event-ID */
#define DASH_IDLE_S 15u /* a connection without a complete request for so long is closed */
#define DASH_SECOND_NS UINT64_C(1000000000)

/* ---------------------------------------------------------------- frames and runs */

struct dash_frame { /* bytes of one event, immutable, shared by all its readers */
    uint32_t refs, len;
    char text[];
};

struct dash_run {
    char id[64];
    struct ll_run *run;
    struct ll_run_info info;
    uint32_t refs; /* table and streams; under the server's lock */
    /* From here on the server thread's own. */
    uint32_t listeners;
    uint64_t seq;                /* of the newest tick; 0: none yet. The end has seq + 1. */
    uint64_t n_hist;             /* hist frames built so far */
    uint64_t ticked_ns, hist_ns; /* CLOCK_MONOTONIC of the newest tick and hist */
    uint64_t *acquisitions;      /* [threads] as of the newest tick */
    uint32_t repeat;             /* as of the newest tick */
    struct dash_frame *hello, *hist, *end, *ring[DASH_RING];
};

/* Building the frames of a run (frames.c). They return NULL when memory is short. */
struct dash_frame *dash_frame_hello(const struct dash_run *run, double rate_hz);
struct dash_frame *dash_frame_tick(struct dash_json *json, struct dash_run *run,
                                   const struct ll_snapshot *snap, uint64_t now_ns);
struct dash_frame *dash_frame_hist(struct dash_json *json, const struct dash_run *run,
                                   const struct ll_snapshot *snap);
struct dash_frame *dash_frame_end(struct dash_json *json, const struct dash_run *run);
struct dash_frame *dash_frame_ref(struct dash_frame *frame);
void dash_frame_unref(struct dash_frame *frame); /* NULL is fine */

/* ---------------------------------------------------------------- connections */

struct dash_stream {          /* one reader of a run */
    struct dash_run *run;     /* NULL: this connection is no stream */
    struct dash_frame *frame; /* being copied, or NULL */
    uint32_t offset;          /* into frame, then into tail */
    char tail[32];            /* what a frame ends in for this client alone */
    uint32_t tail_len;
    uint64_t next;      /* seq of the tick wanted next */
    uint64_t hist_seen; /* value of n_hist at the newest one sent */
    uint64_t lost;      /* ticks that this client was too slow for */
    bool greeted, replay, ended;
};

struct dash_conn { /* one TCP connection with at most one request under way */
    struct ll_server *server;
    struct MHD_Connection *mhd;
    int fd;    /* -1: this slot is free */
    bool over; /* above max_clients: gets 503 whatever it asks for */
    bool suspended;
    bool answering;    /* its request is complete: we work on it */
    uint64_t since_ns; /* when we began to wait for a request */
    char *uri;         /* raw request target, NULL if too long */
    enum dash_method method;
    char *body; /* NULL: none so far */
    size_t body_len;
    struct dash_request *request; /* handed over to the embedding program, or NULL */
    struct dash_stream stream;
};

void dash_suspend(struct dash_conn *conn);
void dash_resume(struct dash_conn *conn);

/* ---------------------------------------------------------------- the server */

enum dash_request_state { DASH_FREE, DASH_QUEUED, DASH_TAKEN, DASH_ANSWERED };

struct dash_request { /* under the server's lock */
    enum dash_request_state state;
    bool expired;
    uint64_t id, since_ns;
    struct dash_conn *conn; /* NULL: the client has gone or got its 504 */
    const char *method;
    char *path, *body;
    size_t body_len;
    uint32_t status; /* the answer */
    char *content_type, *location;
    void *answer;
    size_t answer_len;
};

struct dash_asset {
    const char *path;
    char *gz_etag;
    const char *etag;
    /* Made once, shared by all connections: they never suspend. Index 1: compressed. */
    struct MHD_Response *response[2];
};

struct ll_server {
    pid_t pid;              /* a forked child must not touch the daemon */
    struct ll_server *next; /* all servers of this process */
    struct dash_guard guard;
    char *token;
    double rate_hz;
    bool loopback;
    uint32_t max_clients;
    struct dash_asset *assets;
    size_t n_assets;

    struct MHD_Daemon *daemon;
    int listen_fd, mhd_fd, epoll_fd, timer_fd, wake_fd;
    pthread_t thread;
    clockid_t cpu_clock;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a request was queued, the server stops, somebody left */
    bool stopping;          /* written under lock */
    uint32_t inside;        /* threads that use the server right now */
    uint64_t last_id;
    struct dash_request requests[DASH_REQUESTS];
    struct dash_run *runs[DASH_RUNS]; /* oldest first */
    uint32_t n_runs;
    struct ll_server_stats published; /* copy of stats, after each turn of the loop */

    /* The server thread's own. */
    bool quitting; /* nothing may be suspended any more */
    struct dash_conn *conns;
    uint32_t n_conns, n_open, n_streams;
    uint64_t period_ns, swept_ns;
    struct ll_snapshot snapshot;
    struct dash_json json;
    struct ll_server_stats stats;
};

uint64_t dash_now_ns(void);                          /* CLOCK_MONOTONIC */
bool dash_is_forked(const struct ll_server *server); /* this process is a child of its owner */
void dash_wake(struct ll_server *server);

/* listen.c: a listening socket, fills guard (hosts, port); the descriptor or -errno. */
int dash_listen(struct ll_server *server, const struct ll_server_options *opt,
                struct ll_error *err);

/* loop.c */
int dash_loop_open(struct ll_server *server); /* daemon and descriptors; 0 or -errno */
void *dash_loop(void *server);                /* the thread; ends the daemon as well */

/* routes.c: libmicrohttpd's callbacks */
enum MHD_Result dash_handle(void *server, struct MHD_Connection *mhd, const char *url,
                            const char *method, const char *version, const char *data, size_t *size,
                            void **context);

/* reply.c */
struct dash_reply {
    unsigned status;
    const char *type, *location, *cache, *allow;
    bool close;  /* after this reply */
    bool cookie; /* hand out the token */
};
const char *dash_status_name(unsigned status);
bool dash_header(struct MHD_Response *response, const char *name, const char *value);
bool dash_common_headers(struct MHD_Response *response);
/* `mode` says whose the memory of `body` is; MHD_RESPMEM_MUST_FREE frees it in any case. */
enum MHD_Result dash_reply(struct dash_conn *conn, const struct dash_reply *reply, const void *body,
                           size_t len, enum MHD_ResponseMemoryMode mode);
enum MHD_Result dash_problem(struct dash_conn *conn, unsigned status, const char *detail,
                             const char *allow);
/* For a body that turns out too long: writes a 413 past libmicrohttpd, which cannot answer there. */
void dash_send_too_long(struct dash_conn *conn);

/* assets.c */
int dash_assets_init(struct ll_server *server, const struct ll_asset *assets, size_t n,
                     struct ll_error *err);
void dash_assets_fini(struct ll_server *server);
const struct dash_asset *dash_asset_find(const struct ll_server *server, const char *uri);
enum MHD_Result dash_asset_serve(struct dash_conn *conn, const struct dash_asset *asset);

/* requests.c */
enum MHD_Result dash_request_put(struct dash_conn *conn);    /* queues and suspends, or 503 */
enum MHD_Result dash_request_finish(struct dash_conn *conn); /* after it was resumed */
void dash_request_drop(struct dash_conn *conn);              /* the connection lets go of it */
void dash_requests_pump(struct ll_server *server); /* resumes those answered or out of time */
void dash_requests_fini(struct ll_server *server);

/* runs.c */
struct dash_run *dash_run_find(struct ll_server *server, const char *id, size_t len); /* or NULL */
void dash_run_unref(struct ll_server *server, struct dash_run *run);
void dash_runs_fini(struct ll_server *server);

/* stream.c */
enum MHD_Result dash_stream_open(struct dash_conn *conn, struct dash_run *run); /* takes the ref */
void dash_stream_close(struct dash_conn *conn); /* does nothing on other connections */
void dash_streams_tick(struct ll_server *server);
