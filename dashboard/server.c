/* SPDX-License-Identifier: MIT */
/* server.c - starting, stopping and forking. */
#include "dash.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* All servers of this process. Fork waits for the lock, so that the child finds the list whole. */
static struct ll_server *servers;
static pthread_mutex_t servers_lock = PTHREAD_MUTEX_INITIALIZER;

void ll_server_after_fork_child(void);

static void hold_list(void)
{
    pthread_mutex_lock(&servers_lock);
}

static void release_list(void)
{
    pthread_mutex_unlock(&servers_lock);
}

static void guard_list(void)
{
    pthread_atfork(hold_list, release_list, release_list);
}

uint64_t dash_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * DASH_SECOND_NS + (uint64_t)now.tv_nsec;
}

bool dash_is_forked(const struct ll_server *server)
{
    return server->pid != getpid();
}

void dash_wake(struct ll_server *server)
{
    uint64_t one = 1;
    ssize_t written = write(server->wake_fd, &one, sizeof(one));

    (void)written; /* full means that the bell rings already */
}

/* ---------------------------------------------------------------- start */

static int check_options(const struct ll_server_options *opt, struct ll_error *err)
{
    struct rlimit files;

    if (!opt || opt->version != LL_ABI || opt->size != sizeof(*opt))
        return ll_fail(err, -EINVAL, "version", "options of another version of locklab.h");
    if (!(opt->rate_hz >= 1 && opt->rate_hz <= 20))
        return ll_fail(err, -ERANGE, "rate_hz", "%g asked, 1 to 20 allowed", opt->rate_hz);
    if (opt->max_clients < 1 || opt->max_clients > 4096)
        return ll_fail(err, -ERANGE, "max_clients", "%u asked, 1 to 4096 allowed",
                       opt->max_clients);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
        opt->max_clients + 64 > files.rlim_cur)
        return ll_fail(err, -ERANGE, "max_clients",
                       "%u asked, but this process may have %llu open files (ulimit -n) and needs "
                       "64 more than clients",
                       opt->max_clients, (unsigned long long)files.rlim_cur);
    if (opt->token && !dash_token_valid(opt->token))
        return ll_fail(err, -EINVAL, "token",
                       "the token must be 1 to 256 letters, digits and - . _ ~ + / =");
    if (opt->n_assets && !opt->assets)
        return ll_fail(err, -EINVAL, "assets", "%zu asked, none given", opt->n_assets);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void free_server(struct ll_server *server)
{
    dash_runs_fini(server);
    dash_requests_fini(server);
    dash_assets_fini(server);
    dash_json_fini(&server->json);
    close_fd(&server->epoll_fd);
    close_fd(&server->timer_fd);
    close_fd(&server->wake_fd);
    close_fd(&server->listen_fd);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server->conns);
    free(server->token);
    free(server);
}

static struct ll_server *make_server(const struct ll_server_options *opt)
{
    struct ll_server *server = calloc(1, sizeof(*server));
    pthread_condattr_t attr;

    if (!server)
        return NULL;
    server->pid = getpid();
    server->listen_fd = server->mhd_fd = -1;
    server->epoll_fd = server->timer_fd = server->wake_fd = -1;
    server->rate_hz = opt->rate_hz;
    server->max_clients = opt->max_clients;
    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attr);
    pthread_condattr_destroy(&attr);
    /* Some more than allowed, so that those can be told 503 instead of waiting in the backlog. */
    server->n_conns = opt->max_clients + 8 + opt->max_clients / 16;
    server->conns = calloc(server->n_conns, sizeof(*server->conns));
    server->token = opt->token ? strdup(opt->token) : NULL;
    if (!server->conns || (opt->token && !server->token)) {
        free_server(server);
        return NULL;
    }
    for (uint32_t i = 0; i < server->n_conns; i++)
        server->conns[i].fd = -1;
    return server;
}

/* Signals are the embedding program's business: none is delivered to our thread. */
static int start_thread(struct ll_server *server)
{
    sigset_t all, before;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&server->thread, NULL, dash_loop, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        pthread_getcpuclockid(server->thread, &server->cpu_clock);
    return -code;
}

int ll_server_start(const struct ll_server_options *opt, struct ll_server **out,
                    struct ll_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct ll_server *server;
    int result = check_options(opt, err);

    if (result)
        return result;
    server = make_server(opt);
    if (!server)
        return ll_fail(err, -ENOMEM, "", "out of memory");
    result = dash_assets_init(server, opt->assets, opt->n_assets, err);
    if (result)
        goto out;
    server->listen_fd = dash_listen(server, opt, err);
    if (server->listen_fd < 0) {
        result = server->listen_fd;
        goto out;
    }
    result = dash_loop_open(server);
    if (result == 0)
        result = start_thread(server);
    if (result) {
        ll_fail(err, result, "", "the server could not be set up: %s", strerror(-result));
        goto out;
    }
    pthread_once(&once, guard_list);
    hold_list();
    server->next = servers;
    servers = server;
    release_list();
    *out = server;
    return 0;
out:
    if (server->daemon) {
        MHD_stop_daemon(server->daemon);
        server->listen_fd = -1; /* it closed that */
    }
    free_server(server);
    return result;
}

/* ---------------------------------------------------------------- use */

uint16_t ll_server_port(const struct ll_server *server)
{
    return server->guard.port;
}

void ll_server_get_stats(struct ll_server *server, struct ll_server_stats *out)
{
    struct timespec cpu;

    memset(out, 0, sizeof(*out));
    if (!dash_is_forked(server)) {
        pthread_mutex_lock(&server->lock);
        *out = server->published;
        pthread_mutex_unlock(&server->lock);
        if (clock_gettime(server->cpu_clock, &cpu) == 0)
            out->cpu_ns = (uint64_t)cpu.tv_sec * DASH_SECOND_NS + (uint64_t)cpu.tv_nsec;
    }
    out->size = sizeof(*out);
    out->version = LL_ABI;
}

/* ---------------------------------------------------------------- stop */

static void unlist(struct ll_server *server)
{
    struct ll_server **at = &servers;

    hold_list();
    while (*at && *at != server)
        at = &(*at)->next;
    if (*at)
        *at = server->next;
    release_list();
}

/* In a forked child. The descriptors go, the memory stays: libmicrohttpd has no way to forget a daemon,
 * and stopping it here would shut down the parent's sockets. One eventfd of its own stays open. */
static void forget(struct ll_server *server)
{
    close_fd(&server->listen_fd);
    close_fd(&server->mhd_fd);
    close_fd(&server->epoll_fd);
    close_fd(&server->timer_fd);
    close_fd(&server->wake_fd);
    for (uint32_t i = 0; i < server->n_conns; i++)
        close_fd(&server->conns[i].fd);
}

void ll_server_stop(struct ll_server *server)
{
    if (!server)
        return;
    unlist(server);
    if (dash_is_forked(server)) {
        forget(server);
        return;
    }
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->changed);
    dash_wake(server);
    while (server->inside)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->thread, NULL);
    server->listen_fd = -1; /* MHD_stop_daemon closed it */
    free_server(server);
}

void ll_server_after_fork_child(void)
{
    hold_list();
    while (servers) {
        forget(servers);
        servers = servers->next;
    }
    release_list();
}
