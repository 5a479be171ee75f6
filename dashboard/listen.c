/* SPDX-License-Identifier: MIT */
/* listen.c - the listening socket, made here so that refusals have a reason and a sentence. */
#include "dash.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse(const char *host, union address *out, socklen_t *len)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;

    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (getaddrinfo(host, NULL, &hints, &found))
        return -EINVAL;
    *len = found->ai_addrlen;
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static bool is_loopback(const union address *at)
{
    if (at->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&at->v6.sin6_addr);
    return ntohl(at->v4.sin_addr.s_addr) >> 24 == 127;
}

static bool is_any(const union address *at)
{
    if (at->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&at->v6.sin6_addr);
    return at->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static int open_socket(union address *at, socklen_t len, uint16_t port)
{
    int yes = 1, only_v6 = !is_any(at), code;
    int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (at->any.sa_family == AF_INET6)
        at->v6.sin6_port = htons(port);
    else
        at->v4.sin_port = htons(port);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        (at->any.sa_family != AF_INET6 ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6)) == 0) &&
        bind(fd, &at->any, len) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, &at->any, &len) == 0)
        return fd;
    code = -errno;
    close(fd);
    return code;
}

int dash_listen(struct ll_server *server, const struct ll_server_options *opt, struct ll_error *err)
{
    const char *host = opt->host ? opt->host : "127.0.0.1";
    char name[64] = "";
    union address at;
    socklen_t len;
    bool is_v6;
    int fd;

    if (parse(host, &at, &len))
        return ll_fail(err, -EINVAL, "host", "%.100s is neither a numeric address nor localhost",
                       host);
    if (!opt->token && !is_loopback(&at))
        return ll_fail(err, -EACCES, "host",
                       "%.100s can be reached from other machines, which needs a token", host);
    fd = open_socket(&at, len, opt->port);
    if (fd == -EADDRINUSE)
        return ll_fail(err, fd, "port", "port %u of %.100s is in use", opt->port, host);
    if (fd == -EACCES || fd == -EPERM)
        return ll_fail(err, -EACCES, "port", "port %u of %.100s may not be opened by this user",
                       opt->port, host);
    if (fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT)
        return ll_fail(err, -EINVAL, "host", "%.100s is no address of this host", host);
    if (fd < 0)
        return ll_fail(err, -EINVAL, "host", "cannot listen on port %u of %.100s: %s", opt->port,
                       host, strerror(-fd));
    is_v6 = at.any.sa_family == AF_INET6;
    if (getnameinfo(&at.any, len, name, sizeof(name), NULL, 0, NI_NUMERICHOST) != 0)
        name[0] = '\0';
    dash_guard_init(&server->guard, name[0] ? name : NULL, is_v6,
                    ntohs(is_v6 ? at.v6.sin6_port : at.v4.sin_port), is_any(&at), server->token);
    server->loopback = is_loopback(&at);
    return fd;
}
