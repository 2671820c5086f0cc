#define _GNU_SOURCE /* accept4, memmem */
#include "bench/load/webhook_sink.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUF = 16 << 10, EVENTS = 256, FDS_MAX = 1 << 20 };

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* Bytes of one request that begin at p, 0: not whole yet. */
static usize request_len(const char *p, usize n)
{
    const char *end = memmem(p, n, "\r\n\r\n", 4);
    if (end == NULL) {
        return 0;
    }
    const char *length = memmem(p, (usize)(end - p), "Content-Length: ", 16);
    usize body = length == NULL ? 0 : (usize)strtoul(length + 16, NULL, 10);
    usize all = (usize)(end - p) + 4 + body;
    return all <= n ? all : 0;
}

typedef struct conn {
    int fd;
    usize n;
    char buf[BUF];
} conn;

static void drop(webhook_sink *s, conn *c)
{
    (void)close(c->fd);
    cd_free(c);
    atomic_fetch_sub(&s->conns, 1);
}

static void serve(webhook_sink *s, conn *c)
{
    ssize_t got = recv(c->fd, c->buf + c->n, sizeof c->buf - c->n, 0);
    if (got <= 0) {
        drop(s, c);
        return;
    }
    if (atomic_load_explicit(&s->first_ns, memory_order_relaxed) == 0) {
        atomic_store(&s->first_ns, cd_clock_mono_ns(cd_clock_real()));
    }
    c->n += (usize)got;
    usize len;
    while ((len = request_len(c->buf, c->n)) != 0) {
        bool may_hang = memcmp(c->buf, "POST /hang", 10) == 0;
        if (may_hang) {
            atomic_fetch_add(&s->hanging, 1);
        }
        if (may_hang && !atomic_load(&s->answers_all)) {
            /* for ever */
        } else if (send(c->fd, answer, sizeof answer - 1, MSG_NOSIGNAL) == sizeof answer - 1) {
            atomic_fetch_add_explicit(&s->answered, 1, memory_order_relaxed);
        }
        memmove(c->buf, c->buf + len, c->n - len);
        c->n -= len;
    }
}

static void run(webhook_sink *s, int listener)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN};
    CD_ASSERT(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &ev) == 0);
    for (;;) {
        struct epoll_event evs[EVENTS];
        int n = epoll_wait(epoll, evs, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (evs[i].data.ptr != NULL) {
                serve(s, evs[i].data.ptr);
                continue;
            }
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            if (fd >= 0) {
                conn *c = cd_new(conn);
                c->fd = fd;
                atomic_fetch_add(&s->conns, 1);
                ev = (struct epoll_event){.events = EPOLLIN, .data.ptr = c};
                CD_ASSERT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) == 0);
            }
        }
    }
}

webhook_sink *webhook_sink_start(void)
{
    webhook_sink *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t len = sizeof a;
    CD_ASSERT(s != MAP_FAILED && listener >= 0);
    bool ok = bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 8192) == 0 &&
              getsockname(listener, (struct sockaddr *)&a, &len) == 0;
    CD_ASSERT(ok);
    s->port = ntohs(a.sin_port);
    pid_t pid = fork();
    CD_ASSERT(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(s, listener);
        _exit(0);
    }
    (void)close(listener);
    s->pid = pid; /* in memory that both have: the child would write 0 */
    return s;
}

void webhook_sink_stop(webhook_sink *s)
{
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
    (void)munmap(s, sizeof *s);
}
