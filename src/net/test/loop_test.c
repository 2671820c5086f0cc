#include "net/loop.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_loop *loop_new(void)
{
    cd_loop *l = NULL;
    assert_int_equal(cd_loop_new(&l, NULL), CD_OK);
    return l;
}

enum { POSTERS = 3, TASKS = 5000 };

typedef struct post {
    cd_loop_task task;
    struct poster *from;
    u32 seq;
} post;

typedef struct poster {
    cd_loop *loop;
    cd_thread thread;
    u32 next;
    _Atomic u32 *left;
    post tasks[TASKS];
} poster;

static void on_post(cd_loop_task *t)
{
    post *x = (post *)(void *)t;
    assert_true(cd_loop_is_here(x->from->loop));
    assert_int_equal(x->seq, x->from->next++);
    if (atomic_fetch_sub(x->from->left, 1) == 1) {
        cd_loop_stop(x->from->loop);
    }
}

static void poster_main(void *arg)
{
    poster *p = arg;
    assert_false(cd_loop_is_here(p->loop));
    for (u32 i = 0; i < TASKS; i++) {
        p->tasks[i] = (post){.task.fn = on_post, .from = p, .seq = i};
        cd_loop_post(p->loop, &p->tasks[i].task);
    }
}

/* Nothing is lost, and each thread's tasks come in order. */
static void test_post(void **state)
{
    (void)state;
    cd_loop *l = loop_new();
    _Atomic u32 left = POSTERS * TASKS;
    poster *p = cd_new_array(poster, POSTERS);
    for (u32 i = 0; i < POSTERS; i++) {
        p[i].loop = l;
        p[i].left = &left;
        assert_int_equal(cd_thread_start(&p[i].thread, "post", poster_main, &p[i], NULL), CD_OK);
    }
    cd_loop_run(l);
    for (u32 i = 0; i < POSTERS; i++) {
        cd_thread_join(&p[i].thread);
        assert_int_equal(p[i].next, TASKS);
    }
    assert_false(cd_loop_is_here(l));
    cd_free(p);
    cd_loop_free(l);
    cd_loop_free(NULL);
}

typedef struct ticks {
    cd_loop *loop;
    cd_timer *timer;
    u32 cnt;
    u64 round;
    int signum;
} ticks;

static void on_tick(void *ctx)
{
    ticks *t = ctx;
    assert_true(t->cnt == 0 || cd_loop_round(t->loop) > t->round);
    t->round = cd_loop_round(t->loop);
    if (++t->cnt == 3) {
        cd_timer_stop(t->timer);
        cd_timer_start(t->timer, 1, 0);
    } else if (t->cnt == 4) {
        (void)raise(SIGUSR1);
    }
}

static void on_signal(void *ctx, int signum)
{
    ticks *t = ctx;
    t->signum = signum;
    cd_loop_stop(t->loop);
}

static void test_timer_and_signal(void **state)
{
    (void)state;
    ticks t = {.loop = loop_new()};
    cd_signal *s = NULL;
    cd_signal *bad = NULL;
    t.timer = cd_timer_new(t.loop, on_tick, &t);
    assert_int_equal(cd_signal_open(&bad, t.loop, SIGKILL, on_signal, &t, NULL), CD_EINVAL);
    assert_int_equal(cd_signal_open(&s, t.loop, SIGUSR1, on_signal, &t, NULL), CD_OK);
    u64 before = cd_loop_now_ms(t.loop);
    cd_timer_start(t.timer, 1, 1);
    cd_loop_run(t.loop);
    assert_int_equal(t.cnt, 4);
    assert_int_equal(t.signum, SIGUSR1);
    assert_true(cd_loop_now_ms(t.loop) >= before + 4);
    cd_signal_close(s);
    cd_signal_close(NULL);
    cd_timer_free(t.timer);
    cd_timer_free(NULL);
    cd_loop_free(t.loop);
}

/* An echo server that sends everything back as one large answer once the client has shut its side. */
typedef struct echo {
    cd_loop *loop;
    cd_tcp *tcp;
    cd_buf got;
    bool had_to_wait;
    bool has_closed;
} echo;

static void echo_data(void *ctx, cd_bytes data)
{
    echo *e = ctx;
    cd_buf_put(&e->got, data);
}

static void echo_sent(echo *e, cd_err err)
{
    assert_int_equal(err, CD_OK);
    cd_tcp_shutdown(e->tcp);
    cd_tcp_close(e->tcp);
    cd_tcp_close(e->tcp);
}

static void echo_end(void *ctx, cd_err err)
{
    echo *e = ctx;
    assert_int_equal(err, CD_OK);
    usize half = e->got.n / 2;
    const cd_bytes parts[] = {
        cd_bytes_of("<", 1),
        {0},
        cd_bytes_of(e->got.p, half),
        cd_bytes_of(e->got.p + half, e->got.n - half),
    };
    err = cd_tcp_write(e->tcp, parts, CD_COUNT(parts));
    e->had_to_wait = err == CD_EAGAIN;
    if (!e->had_to_wait) {
        echo_sent(e, err);
    }
}

static void echo_written(void *ctx, cd_err err)
{
    echo_sent(ctx, err);
}

static void echo_closed(void *ctx)
{
    echo *e = ctx;
    e->has_closed = true;
    cd_loop_stop(e->loop);
}

static const cd_tcp_events echo_events = {
    .data = echo_data,
    .end = echo_end,
    .written = echo_written,
    .closed = echo_closed,
};

static void echo_accept(void *ctx, cd_tcp *tcp)
{
    echo *e = ctx;
    e->tcp = tcp;
    cd_tcp_start(tcp, &echo_events, e);
    cd_tcp_pause(tcp);
    cd_tcp_pause(tcp);
    cd_tcp_resume(tcp);
    cd_tcp_resume(tcp);
}

typedef struct client {
    u16 port;
    usize size;
    cd_buf got;
} client;

static void client_main(void *arg)
{
    client *c = arg;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    addr.sin_port = htons(c->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    u8 chunk[4096];
    for (usize i = 0; i < c->size; i += sizeof chunk) {
        memset(chunk, (int)(i >> 12), sizeof chunk);
        for (usize sent = 0; sent < sizeof chunk;) {
            ssize_t n = send(fd, chunk + sent, sizeof chunk - sent, MSG_NOSIGNAL);
            assert_true(n > 0);
            sent += (usize)n;
        }
    }
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(&c->got, 65536), 65536, 0);
        if (n <= 0) {
            break;
        }
        c->got.n += (usize)n;
    }
    (void)close(fd);
}

static void run_echo(const char *host, usize size)
{
    echo e = {.loop = loop_new()};
    cd_listener *s = NULL;
    cd_thread t;
    assert_int_equal(cd_listener_open(&s, e.loop, host, 0, echo_accept, &e, NULL), CD_OK);
    client c = {.port = cd_listener_port(s), .size = size};
    assert_int_not_equal(c.port, 0);
    assert_int_equal(cd_thread_start(&t, "client", client_main, &c, NULL), CD_OK);
    cd_loop_run(e.loop);
    cd_thread_join(&t);
    assert_true(e.has_closed);
    assert_int_equal(c.got.n, size + 1);
    for (usize i = 0; i < size; i++) {
        assert_int_equal(c.got.p[i + 1], (u8)(i >> 12));
    }
    assert_true(size < 1 << 20 || e.had_to_wait);
    cd_buf_fini(&c.got);
    cd_buf_fini(&e.got);
    cd_listener_close(s);
    cd_listener_close(NULL);
    cd_loop_free(e.loop);
}

static void test_tcp(void **state)
{
    (void)state;
    run_echo("127.0.0.1", 0);
    run_echo("localhost", 4096);
    run_echo("", 16 << 20);
}

static void test_listen_errors(void **state)
{
    (void)state;
    cd_loop *l = loop_new();
    cd_listener *a = NULL;
    cd_listener *b = NULL;
    cd_errinfo why = {0};
    assert_int_equal(cd_listener_open(&a, l, "127.0.0.1", 0, echo_accept, NULL, &why), CD_OK);
    assert_int_equal(cd_listener_open(&b, l, "127.0.0.1", cd_listener_port(a), echo_accept, NULL, &why), CD_EADDRINUSE);
    assert_non_null(strstr(why.msg, "cannot listen on 127.0.0.1 port "));
    assert_int_equal(cd_listener_open(&b, l, "203.0.113.1", 0, echo_accept, NULL, &why), CD_ENOENT);
    cd_listener_close(a);
    cd_loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_timer_and_signal),
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_listen_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
