/* bench-floor - what an HTTP answer costs when nothing is done for it: the least a server can need on a machine.
 *
 *   bench-floor PORT
 *
 * Whatever arrives on a connection is answered with the same 200 bytes. Nothing is parsed: epoll_wait, recv and send
 * are all there is, so a server with keep-alive connections cannot be cheaper. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, BODY = 200 };

static int listen_on(unsigned short port)
{
    const int on = 1;
    const struct sockaddr_in addr = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&addr, sizeof addr) != 0 || listen(fd, 1024) != 0) {
        perror("bench-floor");
        exit(1);
    }
    return fd;
}

static void watch(int epoll, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) != 0) {
        perror("bench-floor");
        exit(1);
    }
}

static void accept_all(int epoll, int listener)
{
    const int on = 1;
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(epoll, fd);
    }
}

int main(int argc, char **argv)
{
    static char in[65536];
    char out[64 + BODY];
    int head = snprintf(out, sizeof out, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY);
    memset(out + head, 'x', BODY);
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench-floor PORT\n");
        return 2;
    }
    int listener = listen_on((unsigned short)strtoul(argv[1], NULL, 10));
    int epoll = epoll_create1(0);
    watch(epoll, listener);
    for (;;) {
        struct epoll_event evs[EVENTS];
        int cnt = epoll_wait(epoll, evs, EVENTS, -1);
        for (int i = 0; i < cnt; i++) {
            int fd = evs[i].data.fd;
            if (fd == listener) {
                accept_all(epoll, listener);
            } else if (recv(fd, in, sizeof in, 0) <= 0 || send(fd, out, (size_t)head + BODY, MSG_NOSIGNAL) < 0) {
                (void)close(fd);
            }
        }
    }
}
