/* Messages that cannot be broken out of, and a server that this test plays, on loopback. */
#include "net/smtp.h"

#include "base/thread/thread.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- composing --- */

static void compose(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_errinfo why = {0};
    const cd_mail m = {
        .from = "svc@candela.example",
        .to = "owner@b.example",
        .name = "Svc \"x\"\r\nBcc: a",
        .subject = "[Svc] Webhook wh_1 paused\r\nBcc: evil@x.example",
        .body = cd_bytes_str("Gr\xc3\xbc\xc3\x9f"
                             "e = all\nline two \n.\n\nend"),
        .id = "1.2",
        .unix_s = 784111777,
    };
    assert_int_equal(cd_mail_compose(&out, &m, &why), CD_OK);
    assert_string_equal(cd_buf_cstr(&out), "Date: Sun, 06 Nov 1994 08:49:37 +0000\r\n"
                                           "From: \"Svc xBcc: a\" <svc@candela.example>\r\n"
                                           "To: <owner@b.example>\r\n"
                                           "Message-ID: <1.2@candela.example>\r\n"
                                           "Subject: [Svc] Webhook wh_1 paused  Bcc: evil@x.example\r\n"
                                           "MIME-Version: 1.0\r\n"
                                           "Content-Type: text/plain; charset=utf-8\r\n"
                                           "Content-Transfer-Encoding: quoted-printable\r\n"
                                           "Auto-Submitted: auto-generated\r\n\r\n"
                                           "Gr=C3=BC=C3=9Fe =3D all\r\nline two=20\r\n.\r\n\r\nend\r\n");
    cd_buf_clear(&out);
    cd_mail other = m;
    other.subject = "\xc3\xa4";
    char longest[2000];
    memset(longest, 'a', sizeof longest);
    other.body = cd_bytes_of(longest, sizeof longest);
    assert_int_equal(cd_mail_compose(&out, &other, &why), CD_OK);
    assert_non_null(strstr(cd_buf_cstr(&out), "Subject: =?UTF-8?B?w6Q=?=\r\n"));
    usize column = 0;
    for (usize i = 0; i < out.n; i++) {
        column = out.p[i] == '\n' ? 0 : column + 1;
        assert_true(column <= 78);
    }
    static const char *const none[] = {"",        "a",     "@b",   "a@",         "a@b@c", "a b@c",  "a@b\r\nBcc: x@y",
                                       "a@b,c@d", "<a@b>", "a@b>", "\xc3\xa4@b", "a@b;",  "\"a\"@b"};
    for (usize i = 0; i < CD_COUNT(none); i++) {
        other.to = none[i];
        assert_false(cd_mail_is_address(none[i]));
        assert_int_equal(cd_mail_compose(&out, &other, &why), CD_EINVAL);
    }
    cd_buf_fini(&out);
}

/* --- a server --- */

typedef struct server {
    int fd;
    u16 port;
    cd_thread thread;
    const char *mail_answer; /* to MAIL */
    char seen[4000];
} server;

static void say(int fd, const char *text)
{
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Reads until the line, or the data, is whole. */
static bool hear(int fd, char *buf, usize cap, const char *end)
{
    usize n = 0;
    while (n + 1 < cap) {
        ssize_t got = recv(fd, buf + n, cap - 1 - n, 0);
        if (got <= 0) {
            return false;
        }
        n += (usize)got;
        buf[n] = '\0';
        if (n >= strlen(end) && strcmp(buf + n - strlen(end), end) == 0) {
            return true;
        }
    }
    return false;
}

static void serve(void *arg)
{
    server *s = arg;
    char line[3000];
    int fd = accept(s->fd, NULL, NULL);
    struct timeval tv = {.tv_sec = 10};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    say(fd, "220 sink ESMTP\r\n");
    while (fd >= 0 && hear(fd, line, sizeof line, "\r\n")) {
        usize n = strlen(s->seen);
        (void)snprintf(s->seen + n, sizeof s->seen - n, "%s", line);
        if (strncmp(line, "EHLO", 4) == 0) {
            say(fd, "250-sink\r\n250 AUTH PLAIN\r\n");
        } else if (strncmp(line, "AUTH", 4) == 0) {
            say(fd, "235 ok\r\n");
        } else if (strncmp(line, "MAIL", 4) == 0) {
            say(fd, s->mail_answer);
        } else if (strncmp(line, "DATA", 4) == 0) {
            say(fd, "354 go\r\n");
            if (!hear(fd, line, sizeof line, "\r\n.\r\n")) {
                break;
            }
            n = strlen(s->seen);
            (void)snprintf(s->seen + n, sizeof s->seen - n, "%s", line);
            say(fd, "250 taken\r\n");
        } else if (strncmp(line, "QUIT", 4) == 0) {
            say(fd, "221 bye\r\n");
            break;
        } else {
            say(fd, "250 ok\r\n");
        }
    }
    (void)close(fd);
}

static void server_start(server *s, const char *mail_answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *s = (server){.mail_answer = mail_answer, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(cd_thread_start(&s->thread, "sink", serve, s, NULL), CD_OK);
}

typedef struct heard {
    cd_loop *loop;
    cd_err err;
    u32 times;
} heard;

static void on_sent(void *ctx, cd_err err, const char *reason)
{
    heard *h = ctx;
    assert_true(err == CD_OK || reason[0] != '\0');
    h->err = err;
    h->times++;
    cd_loop_stop(h->loop);
}

static const char message[] = "Subject: x\r\n\r\nhello\r\n.\r\n..two\r\n";

static cd_err hand_over(cd_loop *loop, const cd_smtp_cfg *cfg)
{
    cd_smtp *s;
    cd_errinfo why = {0};
    heard h = {.loop = loop};
    assert_int_equal(cd_smtp_new(&s, loop, cfg, &why), CD_OK);
    cd_smtp_send(s, "a@b.example", "c@d.example", cd_bytes_str(message), on_sent, &h);
    assert_int_equal(h.times, 0);
    cd_loop_run(loop);
    assert_int_equal(h.times, 1);
    cd_smtp_free(s);
    return h.err;
}

static void servers(void **state)
{
    (void)state;
    static const struct {
        const char *mail_answer;
        bool needs_tls;
        cd_err want;
    } rows[] = {
        {"250 ok\r\n", false, CD_OK},
        {"451 later\r\n", false, CD_EAGAIN},
        {"550 never\r\n", false, CD_EACCES},
        {"250 ok\r\n", true, CD_ESIG}, /* it offers no STARTTLS */
    };
    cd_loop *loop;
    assert_int_equal(cd_loop_new(&loop, NULL), CD_OK);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        server s;
        char url[100];
        server_start(&s, rows[i].mail_answer);
        (void)snprintf(url, sizeof url, "smtp://us%%40er:p%%3aw@127.0.0.1:%u", s.port);
        const cd_smtp_cfg cfg = {.url = url, .timeout_ms = 5000, .needs_tls = rows[i].needs_tls};
        assert_int_equal(hand_over(loop, &cfg), rows[i].want);
        cd_thread_join(&s.thread);
        (void)close(s.fd);
        if (rows[i].want == CD_OK) {
            assert_non_null(strstr(s.seen, "AUTH PLAIN AHVzQGVyAHA6dw==\r\n"));
            assert_non_null(strstr(s.seen, "MAIL FROM:<a@b.example>"));
            assert_non_null(strstr(s.seen, "RCPT TO:<c@d.example>\r\n"));
            assert_non_null(strstr(s.seen, "hello\r\n..\r\n...two\r\n.\r\n"));
        }
        if (rows[i].needs_tls) {
            assert_null(strstr(s.seen, "AUTH")); /* no password in the clear */
        }
    }
    /* Nobody there. */
    const cd_smtp_cfg cfg = {.url = "smtp://127.0.0.1:1", .timeout_ms = 5000};
    assert_int_equal(hand_over(loop, &cfg), CD_EIO);
    /* Freed while it runs. */
    cd_smtp *s;
    heard h = {.loop = loop};
    server slow;
    server_start(&slow, "250 ok\r\n");
    char url[100];
    (void)snprintf(url, sizeof url, "smtp://localhost:%u", slow.port);
    assert_int_equal(cd_smtp_new(&s, loop, &(cd_smtp_cfg){.url = url}, NULL), CD_OK);
    cd_smtp_send(s, "a@b.example", "c@d.example", cd_bytes_str(message), on_sent, &h);
    cd_smtp_free(s);
    assert_int_equal(h.times, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* for a server to which nobody came */
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(slow.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)connect(fd, (struct sockaddr *)&a, sizeof a);
    (void)close(fd);
    cd_thread_join(&slow.thread);
    (void)close(slow.fd);
    static const char *const urls[] = {"", "smtp", "http://x", "smtp://", "smtp://a@", "smtp://a%0d%0a:b@h"};
    for (usize i = 0; i < CD_COUNT(urls); i++) {
        assert_int_equal(cd_smtp_new(&s, loop, &(cd_smtp_cfg){.url = urls[i]}, NULL), CD_EFORMAT);
    }
    cd_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(compose), cmocka_unit_test(servers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
