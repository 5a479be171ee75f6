/* SPDX-License-Identifier: MIT */
/* loop.c - the server's thread: libmicrohttpd's epoll descriptor, a clock and a bell in one epoll.
 *
 * The clock ticks at the stream's rate while somebody reads one, every second while anybody is
 * connected, else not at all. libmicrohttpd uses epoll edge-triggered, so its own timeout must be
 * honoured in every turn and MHD_run be called after every wait, or data stays unread.
 */
#define _GNU_SOURCE
#include "dash.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- connections */

static struct dash_conn *conn_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

void dash_suspend(struct dash_conn *conn)
{
    if (conn->suspended)
        __builtin_trap();
    conn->suspended = true;
    MHD_suspend_connection(conn->mhd);
}

void dash_resume(struct dash_conn *conn)
{
    if (!conn->suspended)
        return;
    conn->suspended = false;
    MHD_resume_connection(conn->mhd);
}

static void forget_request(struct dash_conn *conn)
{
    dash_request_drop(conn);
    dash_stream_close(conn);
    free(conn->uri);
    free(conn->body);
    conn->uri = conn->body = NULL;
    conn->body_len = 0;
    conn->answering = false;
    conn->since_ns = dash_now_ns();
}

static void opened(struct ll_server *server, struct MHD_Connection *mhd, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct dash_conn *conn = NULL;
    int send_buffer = 16384;         /* a client that does not read holds so much, not a megabyte */
    unsigned int patience_ms = 5000; /* and for so long */

    for (uint32_t i = 0; i < server->n_conns && !conn; i++)
        if (server->conns[i].fd < 0)
            conn = &server->conns[i];
    if (!conn || !info)
        return; /* its requests are refused for want of a context */
    *conn = (struct dash_conn){
        .server = server, .mhd = mhd, .fd = info->connect_fd, .since_ns = dash_now_ns()};
    setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    setsockopt(conn->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
    conn->over = server->n_open >= server->max_clients;
    server->n_open++;
    server->stats.clients++;
    if (server->n_open > server->stats.clients_max)
        server->stats.clients_max++;
    *context = conn;
}

static void connection_event(void *cls, struct MHD_Connection *mhd, void **context,
                             enum MHD_ConnectionNotificationCode event)
{
    struct ll_server *server = cls;
    struct dash_conn *conn = *context;

    if (event == MHD_CONNECTION_NOTIFY_STARTED) {
        opened(server, mhd, context);
    } else if (conn) {
        forget_request(conn);
        conn->fd = -1;
        *context = NULL;
        server->n_open--;
        server->stats.clients--;
    }
}

/* The raw request target: what the access handler gets is decoded and without its query. */
static void *target_seen(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct dash_conn *conn = conn_of(mhd);

    (void)cls;
    if (conn) {
        free(conn->uri);
        conn->uri = strlen(uri) <= DASH_MAX_URI ? strdup(uri) : NULL;
    }
    return NULL;
}

static void request_over(void *cls, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode why)
{
    (void)cls, (void)mhd, (void)why;
    if (*context)
        forget_request(*context);
    *context = NULL;
}

/* The client has hung up. libmicrohttpd misses it if the end came before it read the last bytes. */
static bool has_ended(const struct dash_conn *conn)
{
    char byte;

    return recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Closes those that never finish a request, however busily they send bits of it. */
static void sweep(struct ll_server *server)
{
    uint64_t now = dash_now_ns();

    for (uint32_t i = 0; i < server->n_conns; i++) {
        struct dash_conn *conn = &server->conns[i];
        uint64_t limit = DASH_IDLE_S;

        if (conn->fd < 0 || conn->answering)
            continue;
        if (has_ended(conn))
            limit = 1;
        else if (conn->over)
            limit = 2;
        if (now - conn->since_ns > limit * DASH_SECOND_NS)
            shutdown(conn->fd, SHUT_RDWR); /* libmicrohttpd sees that and frees it */
    }
    server->swept_ns = now;
}

/* ---------------------------------------------------------------- set-up */

static int watch(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static struct MHD_Daemon *start_daemon(struct ll_server *server)
{
    unsigned int per_address = server->loopback ? 0 : server->max_clients * 3 / 4 + 1;
    unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;

    return MHD_start_daemon(
        flags, 0, NULL, NULL, dash_handle, server, /* */
        MHD_OPTION_LISTEN_SOCKET, server->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned int)server->n_conns, MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)DASH_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_STRICT_FOR_CLIENT, 1, /* */
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,                                               /* */
        MHD_OPTION_NOTIFY_CONNECTION, connection_event, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_over, server, MHD_OPTION_URI_LOG_CALLBACK, target_seen, server, /* */
        MHD_OPTION_END);
}

int dash_loop_open(struct ll_server *server)
{
    const union MHD_DaemonInfo *info;
    int result;

    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->epoll_fd < 0 || server->timer_fd < 0 || server->wake_fd < 0)
        return -errno;
    server->daemon = start_daemon(server);
    if (!server->daemon)
        return -ENOMEM;
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        return -ENOTSUP;
    server->mhd_fd = info->epoll_fd;
    if ((result = watch(server->epoll_fd, server->mhd_fd)) == 0 &&
        (result = watch(server->epoll_fd, server->timer_fd)) == 0)
        result = watch(server->epoll_fd, server->wake_fd);
    return result;
}

/* ---------------------------------------------------------------- the thread */

static void set_clock(struct ll_server *server)
{
    struct itimerspec spec;
    uint64_t period = 0;

    if (server->n_streams)
        period = (uint64_t)(1e9 / server->rate_hz);
    else if (server->n_open)
        period = DASH_SECOND_NS;
    if (period == server->period_ns)
        return;
    server->period_ns = period;
    spec.it_value.tv_sec = spec.it_interval.tv_sec = (time_t)(period / DASH_SECOND_NS);
    spec.it_value.tv_nsec = spec.it_interval.tv_nsec = (long)(period % DASH_SECOND_NS);
    timerfd_settime(server->timer_fd, 0, &spec, NULL);
}

/* True if the descriptor had anything. */
static bool drain(int fd)
{
    uint64_t value;

    return read(fd, &value, sizeof(value)) == sizeof(value);
}

static bool is_stopping(struct ll_server *server)
{
    bool stopping;

    pthread_mutex_lock(&server->lock);
    stopping = server->stopping;
    pthread_mutex_unlock(&server->lock);
    return stopping;
}

/* One turn; false: stop. */
static bool turn(struct ll_server *server)
{
    struct epoll_event events[4];
    unsigned long long left_ms;
    int timeout_ms = -1, n;
    bool ticked = false, woken = false;

    if (MHD_get_timeout(server->daemon, &left_ms) == MHD_YES)
        timeout_ms = left_ms > 60000 ? 60000 : (int)left_ms;
    n = epoll_wait(server->epoll_fd, events, 4, timeout_ms);
    for (int i = 0; i < n; i++) {
        ticked = ticked || (events[i].data.fd == server->timer_fd && drain(server->timer_fd));
        woken = woken || (events[i].data.fd == server->wake_fd && drain(server->wake_fd));
    }
    if (woken && is_stopping(server))
        return false;
    if (ticked) {
        dash_streams_tick(server);
        if (dash_now_ns() - server->swept_ns > DASH_SECOND_NS * 9 / 10) {
            sweep(server);
            woken = true; /* some requests may have run out of time */
        }
    }
    if (woken)
        dash_requests_pump(server);
    MHD_run(server->daemon);
    set_clock(server);
    pthread_mutex_lock(&server->lock);
    server->published = server->stats;
    pthread_mutex_unlock(&server->lock);
    return true;
}

/* Below whoever measures: batch class and nice 10, for this thread alone. */
static void step_back(void)
{
    struct sched_param none = {0};
    pid_t tid = gettid();

    pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
    if (getpriority(PRIO_PROCESS, (id_t)tid) < 10)
        setpriority(PRIO_PROCESS, (id_t)tid, 10);
    pthread_setname_np(pthread_self(), "locklab-http");
}

void *dash_loop(void *cls)
{
    struct ll_server *server = cls;
    unsigned long long left_ms;

    step_back();
    while (turn(server))
        ;
    server->quitting = true;
    for (uint32_t i = 0; i < server->n_conns; i++)
        if (server->conns[i].fd >= 0)
            dash_resume(&server->conns[i]);
    for (int i = 0; i < 8; i++) { /* last answers; whoever does not take them at once is cut off */
        MHD_run(server->daemon);
        if (MHD_get_timeout(server->daemon, &left_ms) != MHD_YES || left_ms > 0)
            break;
    }
    MHD_stop_daemon(server->daemon);
    return NULL;
}
