#include "services/common/test/sink.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void say(int fd, const char *text)
{
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static usize hear(int fd, char *buf, usize cap, const char *end)
{
    usize n = 0;
    while (n + 1 < cap) {
        ssize_t got = recv(fd, buf + n, cap - 1 - n, 0);
        if (got <= 0) {
            return 0;
        }
        n += (usize)got;
        buf[n] = '\0';
        if (n >= strlen(end) && strcmp(buf + n - strlen(end), end) == 0) {
            return n;
        }
    }
    return 0;
}

static void talk(sink *s, int fd)
{
    char line[4000];
    say(fd, "220 sink\r\n");
    while (hear(fd, line, sizeof line, "\r\n") != 0) {
        if (strncmp(line, "MAIL", 4) == 0 && atomic_load(&s->refuses)) {
            atomic_fetch_add(&s->refused, 1);
            say(fd, "451 later\r\n");
        } else if (strncmp(line, "DATA", 4) == 0) {
            say(fd, "354 go\r\n");
            if (hear(fd, s->last, sizeof s->last, "\r\n.\r\n") == 0) {
                return;
            }
            atomic_fetch_add(&s->taken, 1);
            say(fd, "250 taken\r\n");
        } else if (strncmp(line, "QUIT", 4) == 0) {
            say(fd, "221 bye\r\n");
            return;
        } else {
            say(fd, "250 ok\r\n");
        }
    }
}

static void serve(void *arg)
{
    sink *s = arg;
    int fd;
    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        talk(s, fd);
        (void)close(fd);
    }
}

void sink_start(sink *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 16), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(cd_thread_start(&s->thread, "sink", serve, s, NULL), CD_OK);
}

void sink_stop(sink *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
    cd_thread_join(&s->thread);
    (void)close(s->fd);
}
