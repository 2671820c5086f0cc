/* The server over real loopback sockets: the loop runs in a thread of its own, the test is the client. */
#include "net/http/server.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/thread/pool.h"
#include "base/thread/thread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_pool *pool;
    cd_thread thread;
    u16 port;
    cd_mutex lock; /* the gate of /gate */
    cd_cond cond;
    u32 waiting;
    bool is_open;
    _Atomic u32 made; /* answers of /made */
    bool is_stalled;  /* the loop stands still */
    cd_loop_task stop;
    u32 grace_ms;
    _Atomic bool is_done;
} rig;

/* GET, POST /echo: method, path, query and body of what came. */
static void on_echo(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_bytes path = cd_http_req_path(r);
    cd_bytes query = cd_http_req_query(r);
    cd_buf *out = cd_http_req_out(r);
    cd_buf_fmt(out, "%s ", cd_http_method_name(cd_http_req_method(r)));
    cd_buf_put(out, path);
    cd_buf_str(out, "?");
    cd_buf_put(out, query);
    cd_buf_str(out, " ");
    cd_buf_put(out, cd_http_req_body(r));
    cd_http_req_add_header(r, "X-Echo", "yes");
    cd_http_reply(r, 200, "text/plain");
}

static void worker_reply(void *arg)
{
    cd_http_req *r = arg;
    cd_bytes body = cd_http_req_body(r);
    cd_buf_fmt(cd_http_req_out(r), "worker %zu", body.n);
    cd_http_reply(r, 200, "text/plain");
}

static void on_later(void *ctx, cd_http_req *r)
{
    rig *g = ctx;
    if (cd_pool_submit(g->pool, worker_reply, r) != CD_OK) {
        cd_http_reply_error(r, 503, "busy");
    }
}

typedef struct gated {
    rig *g;
    cd_http_req *r;
} gated;

static void gate_wait(void *arg)
{
    gated *x = arg;
    cd_mutex_lock(&x->g->lock);
    x->g->waiting++;
    cd_cond_wake_all(&x->g->cond);
    while (!x->g->is_open) {
        cd_cond_wait(&x->g->cond, &x->g->lock);
    }
    cd_mutex_unlock(&x->g->lock);
    cd_buf_str(cd_http_req_out(x->r), "gate");
    cd_http_reply(x->r, 200, "text/plain");
    cd_free(x);
}

/* 1 MiB, made by a worker when the test opens the gate. */
static void make_large(void *arg)
{
    gated *x = arg;
    cd_mutex_lock(&x->g->lock);
    x->g->waiting++;
    cd_cond_wake_all(&x->g->cond);
    while (!x->g->is_open) {
        cd_cond_wait(&x->g->cond, &x->g->lock);
    }
    cd_mutex_unlock(&x->g->lock);
    cd_buf_fill(cd_http_req_out(x->r), 'm', 1 << 20);
    (void)atomic_fetch_add(&x->g->made, 1);
    cd_http_reply(x->r, 200, "text/plain");
    cd_free(x);
}

static void on_made(void *ctx, cd_http_req *r)
{
    gated *x = cd_new(gated);
    *x = (gated){.g = ctx, .r = r};
    assert_int_equal(cd_pool_submit(x->g->pool, make_large, x), CD_OK);
}

/* Holds the loop up until the test lets it go. */
static void on_stall(void *ctx, cd_http_req *r)
{
    rig *g = ctx;
    cd_mutex_lock(&g->lock);
    g->is_stalled = true;
    cd_cond_wake_all(&g->cond);
    while (g->is_stalled) {
        cd_cond_wait(&g->cond, &g->lock);
    }
    cd_mutex_unlock(&g->lock);
    cd_http_reply(r, 200, "text/plain");
}

/* Answers when the test opens the gate. */
static void on_gate(void *ctx, cd_http_req *r)
{
    gated *x = cd_new(gated);
    *x = (gated){.g = ctx, .r = r};
    assert_int_equal(cd_pool_submit(x->g->pool, gate_wait, x), CD_OK);
}

enum { BIG = 32 * 1024 * 1024, LARGE = 300000 };

static void on_big(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_fill(cd_http_req_out(r), 'b', BIG);
    cd_http_reply(r, 200, NULL);
}

/* 20 kB that compress well. */
static void on_text(void *ctx, cd_http_req *r)
{
    (void)ctx;
    for (u32 i = 0; i < 2000; i++) {
        cd_buf_str(cd_http_req_out(r), "0123456789");
    }
    cd_http_req_add_lines(r, cd_bytes_str("X-One: 1\r\nETag: \"t\"\r\nX-Two: 2\r\n"));
    cd_http_req_add_trailer(r, "X-Behind", "yes");
    cd_http_reply(r, 200, "text/plain");
}

/* "<", a shared text, "|", the same, ">". */
static void on_shared(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf text = {0};
    cd_buf *out = cd_http_req_out(r);
    cd_splices *l = cd_http_req_splices(r);
    cd_buf_fill(&text, 's', 20000);
    cd_shared *s = cd_shared_take(&text);
    cd_buf_u8(out, '<');
    assert_true(cd_splices_add(l, out, cd_shared_ref(s)));
    cd_buf_u8(out, '|');
    assert_true(cd_splices_add(l, out, s));
    cd_buf_u8(out, '>');
    cd_http_reply(r, 200, "text/plain");
}

static void on_nothing(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_http_reply(r, 204, NULL);
}

/* GET /held: what counts against memory_max, and figures. */
static void on_held(void *ctx, cd_http_req *r)
{
    const rig *g = ctx;
    cd_buf_fmt(cd_http_req_out(r), "%zu, %zu connections, crowded %d", cd_http_server_held(g->server),
               cd_http_server_conns(g->server), cd_http_server_crowded(g->server) != 0);
    cd_http_reply(r, 200, NULL);
}

static void loop_main(void *arg)
{
    rig *g = arg;
    cd_loop_run(g->loop);
}

static void rig_open(rig *g, const cd_http_cfg *cfg)
{
    *g = (rig){.grace_ms = 5000};
    cd_mutex_init(&g->lock);
    cd_cond_init(&g->cond);
    assert_int_equal(cd_pool_new(&g->pool, 2, 64, "worker", NULL), CD_OK);
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, cfg);
    const cd_http_route routes[] = {
        {.path = "/echo", .methods = CD_HTTP_GET | CD_HTTP_POST, .handler = on_echo},
        {.path = "/small", .methods = CD_HTTP_POST, .handler = on_echo, .body_max = 10},
        {.path = "/large", .methods = CD_HTTP_POST, .handler = on_echo, .body_max = LARGE},
        {.path = "/later", .methods = CD_HTTP_POST, .handler = on_later, .ctx = g},
        {.path = "/gate", .methods = CD_HTTP_ANY, .handler = on_gate, .ctx = g},
        {.path = "/made", .methods = CD_HTTP_GET, .handler = on_made, .ctx = g},
        {.path = "/stall", .methods = CD_HTTP_GET, .handler = on_stall, .ctx = g},
        {.path = "/big", .methods = CD_HTTP_GET, .handler = on_big},
        {.path = "/text", .methods = CD_HTTP_GET, .handler = on_text},
        {.path = "/shared", .methods = CD_HTTP_GET, .handler = on_shared},
        {.path = "/nothing", .methods = CD_HTTP_GET, .handler = on_nothing},
        {.path = "/page*", .methods = CD_HTTP_GET, .handler = on_echo, .is_page = true},
        {.path = "/held", .methods = CD_HTTP_GET, .handler = on_held, .ctx = g},
        {.path = "/below/*", .methods = CD_HTTP_GET, .handler = on_echo},
    };
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(g->server, &routes[i]);
    }
    assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    g->port = cd_http_server_port(g->server);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void on_stopped(void *ctx)
{
    rig *g = ctx;
    atomic_store(&g->is_done, true);
    cd_http_server_free(g->server);
    cd_loop_stop(g->loop);
}

static void stop_task(cd_loop_task *t)
{
    rig *g = (rig *)(void *)((char *)t - offsetof(rig, stop));
    cd_http_server_stop(g->server, g->grace_ms, on_stopped, g);
}

static void rig_stop(rig *g)
{
    g->stop.fn = stop_task;
    cd_loop_post(g->loop, &g->stop);
}

static void rig_join(rig *g)
{
    cd_thread_join(&g->thread);
    assert_true(atomic_load(&g->is_done));
    cd_pool_free(g->pool);
    cd_loop_free(g->loop);
    cd_cond_fini(&g->cond);
    cd_mutex_fini(&g->lock);
}

static void rig_close(rig *g)
{
    rig_stop(g);
    rig_join(g);
}

static void gate_await(rig *g, u32 waiting)
{
    cd_mutex_lock(&g->lock);
    while (g->waiting != waiting) {
        cd_cond_wait(&g->cond, &g->lock);
    }
    cd_mutex_unlock(&g->lock);
}

static void gate_open(rig *g)
{
    cd_mutex_lock(&g->lock);
    g->is_open = true;
    cd_cond_wake_all(&g->cond);
    cd_mutex_unlock(&g->lock);
}

/* --- a client --- */

static int dial(const rig *g)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(g->port);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    return fd;
}

static void say_n(int fd, const char *text, usize n)
{
    while (n != 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        assert_true(sent > 0);
        text += sent;
        n -= (usize)sent;
    }
}

static void say(int fd, const char *text)
{
    say_n(fd, text, strlen(text));
}

/* Reads one answer (its body by Content-Length unless no_body) into out; false at the end of input. */
static bool hear(int fd, cd_buf *out, bool no_body)
{
    cd_buf_clear(out);
    usize head = 0;
    usize want = 0;
    for (;;) {
        if (head == 0) {
            const char *end = strstr(cd_buf_cstr(out), "\r\n\r\n");
            if (end != NULL) {
                head = (usize)(end - (const char *)out->p) + 4;
                const char *cl = strstr((const char *)out->p, "Content-Length: ");
                want = head;
                if (cl != NULL && !no_body) {
                    want += (usize)strtoul(cl + 16, NULL, 10);
                }
            }
        }
        if (head != 0 && out->n == want) {
            (void)cd_buf_cstr(out);
            return true;
        }
        /* One byte at a time in the head, so that nothing of the next answer is taken. */
        usize step = head == 0 ? 1 : want - out->n;
        ssize_t n = recv(fd, cd_buf_reserve(out, step), step, 0);
        if (n <= 0) {
            assert_int_equal(out->n, 0);
            return false;
        }
        out->n += (usize)n;
    }
}

static const char *body_of(cd_buf *b)
{
    return strstr(cd_buf_cstr(b), "\r\n\r\n") + 4;
}

static void assert_status(cd_buf *b, u32 status)
{
    char want[32];
    (void)snprintf(want, sizeof want, "HTTP/1.1 %u ", status);
    assert_memory_equal(cd_buf_cstr(b), want, strlen(want));
}

static bool has(cd_buf *b, const char *text)
{
    return strstr(cd_buf_cstr(b), text) != NULL;
}

/* One request on a connection of its own; the answer must be the last. */
static void ask(const rig *g, cd_buf *out, const char *text)
{
    cd_buf rest = {0};
    int fd = dial(g);
    say(fd, text);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_true(hear(fd, out, false));
    assert_false(hear(fd, &rest, false));
    (void)close(fd);
    cd_buf_fini(&rest);
}

#define H "Host: localhost\r\n"

static void nap(u32 ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* What the server holds for others than the one who asks. */
static usize held(const rig *g)
{
    cd_buf b = {0};
    ask(g, &b, "GET /held HTTP/1.1\r\n" H "\r\n");
    usize n = (usize)strtoul(body_of(&b), NULL, 10);
    cd_buf_fini(&b);
    return n;
}

static void await_held_below(const rig *g, usize max)
{
    for (int i = 0; i < 500 && held(g) >= max; i++) {
        nap(10);
    }
    assert_true(held(g) < max);
}

static void test_basics(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    const cd_http_cfg cfg = {.extra_headers = "Node-Id: NodeID-x\r\n"};
    rig_open(&g, &cfg);
    int fd = dial(&g);

    say(fd, "GET /echo?a=b HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 200);
    assert_string_equal(body_of(&b), "GET /echo?a=b ");
    assert_true(has(&b, "\r\nContent-Type: text/plain\r\n"));
    assert_true(has(&b, "\r\nContent-Length: 14\r\n"));
    assert_true(has(&b, "\r\nX-Echo: yes\r\n"));
    assert_true(has(&b, "\r\nNode-Id: NodeID-x\r\n"));
    assert_true(has(&b, "\r\nVary: Origin\r\n"));
    assert_true(has(&b, "\r\nDate: "));
    assert_false(has(&b, "\r\nConnection:"));

    say(fd, "GET /below/a/b?c HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "GET /below/a/b?c ");
    say(fd, "GET /below HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 404);

    /* The same connection goes on: HEAD, POST, chunked POST, a worker's answer, 204, errors. */
    say(fd, "HEAD /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, true));
    assert_status(&b, 200);
    assert_true(has(&b, "\r\nContent-Length: 12\r\n"));
    say(fd, "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "POST /echo? hello");
    say(fd, "POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "POST /echo? abcde");
    say(fd, "POST /later HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "worker 3");
    say(fd, "GET /nothing HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 204);
    assert_false(has(&b, "Content-Length"));
    say(fd, "GET /none HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 404);
    assert_string_equal(body_of(&b), "404 page not found\n");
    assert_true(has(&b, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
    say(fd, "DELETE /echo HTTP/1.1\r\n" H "Accept: application/json, */*\r\n\r\n");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 405);
    assert_true(has(&b, "\r\nAllow: GET, HEAD, POST\r\n"));
    assert_string_equal(body_of(&b), "{\"error\":{\"code\":405,\"message\":\"method not allowed\"}}");
    say(fd, "GET /echo HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    assert_true(hear(fd, &b, false));
    assert_true(has(&b, "\r\nConnection: close\r\n"));
    assert_false(hear(fd, &b, false));
    (void)close(fd);

    ask(&g, &b, "GET /echo HTTP/1.0\r\n\r\n");
    assert_true(has(&b, "\r\nConnection: close\r\n"));
    fd = dial(&g);
    say(fd, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_true(hear(fd, &b, false));
    assert_true(has(&b, "\r\nConnection: keep-alive\r\n"));
    (void)close(fd);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* Requests sent ahead are answered in order, whatever thread answers them. */
static void test_pipeline(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    cd_buf text = {0};
    rig_open(&g, &(cd_http_cfg){.header_max = 2000});
    int fd = dial(&g);
    enum { N = 400 };
    for (u32 i = 0; i < N; i++) {
        const char *path = i % 3 == 0 ? "/later" : "/echo";
        cd_buf_fmt(&text, "POST %s HTTP/1.1\r\n" H "Content-Length: %u\r\n\r\n", path, i);
        cd_buf_fill(&text, 'x', i);
    }
    say_n(fd, (const char *)text.p, text.n);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    for (u32 i = 0; i < N; i++) {
        char want[32];
        assert_true(hear(fd, &b, false));
        assert_status(&b, 200);
        (void)snprintf(want, sizeof want, i % 3 == 0 ? "worker %u" : "POST /echo? ", i);
        assert_memory_equal(body_of(&b), want, strlen(want));
        usize body = (usize)(b.p + b.n - (const u8 *)body_of(&b));
        assert_int_equal(body, i % 3 == 0 ? strlen(want) : 12 + i);
    }
    assert_false(hear(fd, &b, false));
    (void)close(fd);
    cd_buf_fini(&text);
    cd_buf_fini(&b);
    rig_close(&g);
}

static void test_refusals(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.body_max = 100, .header_max = 2000});
    ask(&g, &b,
        "POST /echo HTTP/1.1\r\n" H "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0\r\n\r\nGET /echo?smuggled HTTP/1.1\r\n" H "\r\n");
    assert_status(&b, 400);
    assert_true(has(&b, "\r\nConnection: close\r\n"));
    ask(&g, &b, "GET /echo HTTP/1.1\r\n\r\n");
    assert_status(&b, 400);
    assert_string_equal(body_of(&b), "no Host header\n");
    ask(&g, &b,
        "GET /echo HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n"
        "Connection: close\r\n\r\n");
    assert_status(&b, 403);
    assert_string_equal(body_of(&b), "invalid host specified\n");
    assert_true(has(&b, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_true(has(&b, "\r\nAccess-Control-Allow-Origin: *\r\n"));
    ask(&g, &b, "POST /echo HTTP/1.1\r\n" H "Content-Length: 101\r\n\r\n");
    assert_status(&b, 413);
    assert_string_equal(body_of(&b), "content length too large (101>100)\n");
    ask(&g, &b, "POST /small HTTP/1.1\r\n" H "Content-Length: 11\r\n\r\n");
    assert_status(&b, 413);
    ask(&g, &b, "BREW / HTTP/1.1\r\n" H "\r\n");
    assert_status(&b, 501);
    ask(&g, &b, "GET / HTTP/3.0\r\n" H "\r\n");
    assert_status(&b, 505);

    /* The client is still sending when the answer comes, and can read it. */
    cd_buf big = {0};
    cd_buf_str(&big, "POST /echo HTTP/1.1\r\n" H "Content-Length: 5000000\r\n\r\n");
    cd_buf_fill(&big, 'x', 5000000);
    int fd = dial(&g);
    say_n(fd, (const char *)big.p, big.n);
    assert_true(hear(fd, &b, false));
    assert_status(&b, 413);
    (void)close(fd);
    cd_buf_clear(&big);
    cd_buf_str(&big, "GET /echo HTTP/1.1\r\n" H "X: ");
    cd_buf_fill(&big, 'x', 3000);
    ask(&g, &b, cd_buf_cstr(&big));
    assert_status(&b, 431);
    cd_buf_clear(&big);
    cd_buf_str(&big, "GET /");
    cd_buf_fill(&big, 'x', 3000);
    ask(&g, &b, cd_buf_cstr(&big));
    assert_status(&b, 414);
    cd_buf_fini(&big);
    cd_buf_fini(&b);
    rig_close(&g);
}

static void test_continue(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.body_max = 100});
    int fd = dial(&g);
    say(fd, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_true(hear(fd, &b, false));
    assert_string_equal(cd_buf_cstr(&b), "HTTP/1.1 100 Continue\r\n\r\n");
    say(fd, "abc");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "POST /echo? abc");
    say(fd, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 300\r\n\r\n");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 413);
    assert_false(hear(fd, &b, false));
    (void)close(fd);
    cd_buf_fini(&b);
    rig_close(&g);
}

static void test_cors(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    const cd_http_cfg cfg = {.allowed_origins = "https://*.lux.network"};
    rig_open(&g, &cfg);
    ask(&g, &b,
        "OPTIONS /echo HTTP/1.1\r\n" H "Origin: https://a.lux.network\r\n"
        "Access-Control-Request-Method: POST\r\n"
        "Access-Control-Request-Headers: content-type\r\n\r\n");
    assert_status(&b, 204);
    assert_true(has(&b, "\r\nAccess-Control-Allow-Methods: POST\r\n"));
    assert_true(has(&b, "\r\nAccess-Control-Allow-Headers: Content-Type\r\n"));
    assert_true(has(&b, "\r\nAccess-Control-Allow-Origin: https://a.lux.network\r\n"));
    ask(&g, &b, "OPTIONS /echo HTTP/1.1\r\n" H "Origin: https://a.lux.network\r\n\r\n");
    assert_status(&b, 405);
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "Origin: https://b.lux.network\r\n\r\n");
    assert_true(has(&b, "\r\nAccess-Control-Allow-Origin: https://b.lux.network\r\n"));
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "Origin: https://evil.example\r\n\r\n");
    assert_status(&b, 200);
    assert_false(has(&b, "Access-Control"));
    rig_close(&g);

    /* Pages for people never have such headers: whatever the method, whatever becomes of it. */
    static const char *const asks[] = {
        "GET /page HTTP/1.1\r\n",
        "GET /page/below?x HTTP/1.1\r\n",
        "POST /page HTTP/1.1\r\n",
        "OPTIONS /page HTTP/1.1\r\nAccess-Control-Request-Method: GET\r\n",
        "POST /page HTTP/1.1\r\nContent-Length: 99999999\r\n",
    };
    rig_open(&g, &(cd_http_cfg){0});
    for (usize i = 0; i < CD_COUNT(asks); i++) {
        cd_buf text = {0};
        cd_buf_fmt(&text, "%s" H "Origin: http://localhost:3000\r\n\r\n", asks[i]);
        ask(&g, &b, cd_buf_cstr(&text));
        cd_buf_fini(&text);
        assert_false(has(&b, "Access-Control"));
        assert_false(has(&b, "Vary: Origin"));
    }
    cd_buf_fini(&b);
    rig_close(&g);
}

/* A client that drips bytes does not get more time by it; an idle one is closed without a word. */
static void test_timeouts(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    const cd_http_cfg cfg = {.header_timeout_ms = 100, .read_timeout_ms = 200, .idle_timeout_ms = 100};
    static const char request[] = "GET /echo HTTP/1.1\r\n" H "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaa";
    rig_open(&g, &cfg);
    const cd_clock *clock = cd_clock_real();

    int fd = dial(&g);
    u64 start = cd_clock_mono_ns(clock);
    usize i = 0;
    while (i < sizeof request - 1 && cd_clock_mono_ns(clock) - start < 400 * CD_NS_PER_MS) {
        if (send(fd, request + i++, 1, MSG_NOSIGNAL) != 1) {
            break;
        }
        nap(10);
    }
    assert_true(hear(fd, &b, false));
    assert_status(&b, 408);
    assert_false(hear(fd, &b, false));
    (void)close(fd);

    fd = dial(&g); /* half a body */
    say(fd, "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\nabc");
    assert_true(hear(fd, &b, false));
    assert_status(&b, 408);
    (void)close(fd);

    fd = dial(&g); /* nothing at all */
    assert_false(hear(fd, &b, false));
    (void)close(fd);

    fd = dial(&g); /* idle between requests */
    say(fd, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_false(hear(fd, &b, false));
    (void)close(fd);

    fd = dial(&g); /* half a body and gone: no answer */
    say(fd, "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\nabc");
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_false(hear(fd, &b, false));
    (void)close(fd);
    cd_buf_fini(&b);
    rig_close(&g);
}

static void test_big_answer(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){0});
    int fd = dial(&g);
    for (u32 i = 0; i < 2; i++) {
        say(fd, "GET /big HTTP/1.1\r\n" H "\r\nGET /echo HTTP/1.1\r\n" H "\r\n");
        assert_true(hear(fd, &b, false));
        assert_status(&b, 200);
        assert_int_equal(b.n, (usize)(body_of(&b) - (const char *)b.p) + BIG);
        assert_int_equal(b.p[b.n - 1], 'b');
        assert_true(hear(fd, &b, false));
        assert_string_equal(body_of(&b), "GET /echo? ");
    }
    (void)close(fd);
    rig_close(&g);

    /* A client that does not take its answer is cut off. */
    rig_open(&g, &(cd_http_cfg){.write_timeout_ms = 100});
    fd = dial(&g);
    say(fd, "GET /big HTTP/1.1\r\n" H "\r\n");
    nap(400);
    usize got = 0;
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(&b, 65536), 65536, 0);
        if (n <= 0) {
            break;
        }
        got += (usize)n;
    }
    assert_true(got < BIG);
    (void)close(fd);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* Of two clients that do not take their answers, the one that waits longer goes; a long request is refused while too
 * much is held, a short one is not, and all is well when the answers have been taken. */
static void test_memory(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    cd_buf body = {0};
    char byte;
    rig_open(&g, &(cd_http_cfg){.memory_max = 1 << 20});
    int slow = dial(&g);
    say(slow, "GET /big HTTP/1.1\r\n" H "\r\n");
    assert_int_equal(recv(slow, &byte, 1, MSG_PEEK), 1); /* it has begun */
    int other = dial(&g);
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_string_equal(body_of(&b), "GET /echo? ");

    cd_buf_fmt(&body, "POST /echo HTTP/1.1\r\n" H "Content-Length: %d\r\n\r\n", 200000);
    say(other, cd_buf_cstr(&body));
    cd_buf_clear(&body);
    cd_buf_fill(&body, 'x', 100000);
    say_n(other, (const char *)body.p, body.n);
    assert_true(hear(other, &b, false));
    assert_status(&b, 503);
    assert_string_equal(body_of(&b), "too many requests are waiting\n");
    (void)close(other);

    other = dial(&g);
    say(other, "GET /big HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(other, &b, false)); /* whole, while the one before is cut off */
    assert_int_equal(strlen(body_of(&b)), BIG);
    ssize_t n = 1;
    usize got = 0;
    while (n > 0) {
        n = recv(slow, cd_buf_reserve(&b, 1 << 20), 1 << 20, 0);
        got += n > 0 ? (usize)n : 0;
    }
    assert_true(got < BIG);
    (void)close(slow);

    say(other, "POST /echo HTTP/1.1\r\n" H "Content-Length: 100000\r\n\r\n");
    say_n(other, (const char *)body.p, body.n);
    assert_true(hear(other, &b, false));
    assert_status(&b, 200);
    (void)close(other);
    rig_close(&g);
    cd_buf_fini(&b);
    cd_buf_fini(&body);
}

/* Where a route takes bodies beyond the server's size, one at a time is beside the budget of all: it is taken whole, it
 * costs others nothing, and another has to fit into the budget. Web pages of strangers have no such route. */
static void test_large_bodies(void **state)
{
    (void)state;
    enum { PART = 200000, USUAL = 20000, MEMORY = 100000 };
    static const char head[] = "POST /large HTTP/1.1\r\n" H "Content-Length: 300000\r\n\r\n";
    rig g;
    cd_buf b = {0};
    cd_buf body = {0};
    cd_buf_fill(&body, 'x', LARGE);
    rig_open(&g, &(cd_http_cfg){.body_max = USUAL, .memory_max = MEMORY});
    for (u32 round = 0; round < 2; round++) {
        int large = dial(&g);
        say(large, head);
        say_n(large, (const char *)body.p, PART);
        while (held(&g) < PART) {
        }
        int other = dial(&g);
        say(other, head);
        say_n(other, (const char *)body.p, PART);
        assert_true(hear(other, &b, false));
        assert_status(&b, 503);
        (void)close(other);
        other = dial(&g);
        say(other, "POST /echo HTTP/1.1\r\n" H "Content-Length: 15000\r\n\r\n");
        say_n(other, (const char *)body.p, 15000);
        assert_true(hear(other, &b, false));
        assert_status(&b, 200);
        (void)close(other);
        say_n(large, (const char *)body.p, LARGE - PART);
        assert_true(hear(large, &b, false));
        assert_status(&b, 200);
        assert_in_range(strlen(body_of(&b)), LARGE, LARGE + 100);
        (void)close(large);
        await_held_below(&g, 4096);
    }
    int stranger = dial(&g);
    say(stranger, "POST /large HTTP/1.1\r\n" H "Origin: https://page.example\r\nContent-Length: 300000\r\n\r\n");
    assert_true(hear(stranger, &b, false));
    assert_status(&b, 413);
    (void)close(stranger);
    rig_close(&g);
    cd_buf_fini(&b);
    cd_buf_fini(&body);
}

/* While the loop cannot send them, threads make no more of large answers than a quarter of the budget: here one is on
 * its way, and each of the two workers has one that waits for its turn. */
static void test_answers_wait_for_the_loop(void **state)
{
    (void)state;
    enum { CONNS = 12, WORKERS = 2, SOON_NS = 1000000000 };
    rig g;
    int fds[CONNS];
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.memory_max = 4 << 20});
    for (u32 i = 0; i < CONNS; i++) {
        fds[i] = dial(&g);
        say(fds[i], "GET /made HTTP/1.1\r\n" H "\r\n");
    }
    gate_await(&g, WORKERS);
    int stall = dial(&g);
    say(stall, "GET /stall HTTP/1.1\r\n" H "\r\n");
    cd_mutex_lock(&g.lock);
    while (!g.is_stalled) {
        cd_cond_wait(&g.cond, &g.lock);
    }
    cd_mutex_unlock(&g.lock);
    gate_open(&g);
    u64 start = cd_clock_mono_ns(cd_clock_real());
    while (atomic_load(&g.made) < WORKERS + 1) {
    }
    nap(50);
    u32 made = atomic_load(&g.made);
    if (cd_clock_mono_ns(cd_clock_real()) - start < SOON_NS) { /* later they lose patience */
        assert_int_equal(made, WORKERS + 1);
    }
    cd_mutex_lock(&g.lock);
    g.is_stalled = false;
    cd_cond_wake_all(&g.cond);
    cd_mutex_unlock(&g.lock);
    assert_true(hear(stall, &b, false));
    while (atomic_load(&g.made) < CONNS) {
    }
    for (u32 i = 0; i < CONNS; i++) {
        (void)close(fds[i]);
    }
    (void)close(stall);
    await_held_below(&g, 4096);
    rig_close(&g);
    cd_buf_fini(&b);
}

/* Shared bytes go out in their places, whatever carries them. */
static void check_shared(const char *body)
{
    cd_buf want = {0};
    cd_buf_u8(&want, '<');
    cd_buf_fill(&want, 's', 20000);
    cd_buf_u8(&want, '|');
    cd_buf_fill(&want, 's', 20000);
    cd_buf_u8(&want, '>');
    assert_string_equal(body, cd_buf_cstr(&want));
    cd_buf_fini(&want);
}

static void test_shared(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){0});
    int fd = dial(&g);
    for (int i = 0; i < 3; i++) {
        say(fd, "GET /shared HTTP/1.1\r\n" H "\r\n");
        assert_true(hear(fd, &b, false));
        assert_true(has(&b, "\r\nContent-Length: 40003\r\n"));
        check_shared(body_of(&b));
    }
    say(fd, "HEAD /shared HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, true));
    assert_true(has(&b, "\r\nContent-Length: 40003\r\n"));
    say(fd, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "GET /echo? ");
    (void)close(fd);
    rig_close(&g);

    rig_open(&g, &(cd_http_cfg){.gzip = true}); /* a server that compresses needs one piece */
    ask(&g, &b, "GET /shared HTTP/1.1\r\n" H "Accept-Encoding: gzip\r\n\r\n");
    assert_true(has(&b, "\r\nContent-Encoding: gzip\r\n"));
    ask(&g, &b, "GET /shared HTTP/1.1\r\n" H "\r\n");
    check_shared(body_of(&b));
    rig_close(&g);
    cd_buf_fini(&b);
}

static void test_gzip(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.gzip = true});
    ask(&g, &b, "GET /text HTTP/1.1\r\n" H "Accept-Encoding: deflate, gzip;q=0.5\r\n\r\n");
    assert_status(&b, 200);
    assert_true(has(&b, "\r\nContent-Encoding: gzip\r\n"));
    assert_true(has(&b, "\r\nX-One: 1\r\nETag: W/\"t\"\r\nX-Two: 2\r\n"));
    assert_true(has(&b, "\r\nVary: Accept-Encoding\r\n"));
    assert_memory_equal(body_of(&b), "\x1f\x8b\x08", 3);
    assert_true(b.n < 1000);
    ask(&g, &b, "GET /text HTTP/1.1\r\n" H "Accept-Encoding: gzip;q=0, br\r\n\r\n");
    assert_true(has(&b, "\r\nX-One: 1\r\nETag: \"t\"\r\nX-Two: 2\r\n"));
    assert_false(has(&b, "Content-Encoding"));
    assert_true(has(&b, "\r\nVary: Accept-Encoding\r\n"));
    assert_true(has(&b, "\r\nContent-Length: 20000\r\n"));
    assert_false(has(&b, "X-Behind"));
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "Accept-Encoding: gzip\r\n\r\n"); /* short */
    assert_false(has(&b, "Encoding"));
    rig_close(&g);
    rig_open(&g, &(cd_http_cfg){0});
    ask(&g, &b, "GET /text HTTP/1.1\r\n" H "Accept-Encoding: gzip\r\n\r\n");
    assert_false(has(&b, "Encoding"));
    cd_buf_fini(&b);
    rig_close(&g);
}

static void test_too_many(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.conns_max = 2});
    int a = dial(&g);
    int c = dial(&g);
    say(a, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(a, &b, false));
    say(c, "GET /held HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(c, &b, false));
    assert_true(has(&b, ", 2 connections, crowded 0"));
    int d = dial(&g);
    assert_true(hear(d, &b, false));
    assert_status(&b, 503);
    assert_string_equal(body_of(&b), "too many connections\n");
    (void)close(d);
    say(c, "GET /held HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(c, &b, false));
    assert_true(has(&b, "crowded 1"));
    (void)close(c);
    /* The freed place is found sooner or later. */
    for (;;) {
        d = dial(&g);
        say(d, "GET /echo HTTP/1.1\r\n" H "\r\n");
        assert_true(hear(d, &b, false));
        (void)close(d);
        if (has(&b, "HTTP/1.1 200")) {
            break;
        }
        nap(5);
    }
    (void)close(a);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* A connection that asks for nothing makes room for one that does. */
static void test_make_room(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.conns_max = 2, .idle_min_ms = 1});
    int a = dial(&g);
    int busy = dial(&g);
    say(a, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(a, &b, false));
    say(busy, "GET /gate HTTP/1.1\r\n" H "\r\n");
    gate_await(&g, 1);
    nap(20);
    int d = dial(&g);
    say(d, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(d, &b, false));
    assert_status(&b, 200);
    assert_false(hear(a, &b, false));
    gate_open(&g);
    assert_true(hear(busy, &b, false));
    assert_status(&b, 200);
    (void)close(a);
    (void)close(busy);
    (void)close(d);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* --- HTTP/2, frame by frame --- */

#define PREFACE  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"

enum { FRAME_DATA, FRAME_HEADERS, FRAME_GOAWAY = 7 };

/* HEADERS that ask for path on stream id, for "localhost", by the words of HPACK's static table. */
static void say_get(int fd, u8 id, const char *path)
{
    cd_buf b = {0};
    u8 path_n = (u8)strlen(path);
    const u8 head[] = {0, 0, (u8)(2 + 2 + path_n + 2 + 9), FRAME_HEADERS, 5, 0, 0, 0, id, 0x82, 0x86, 0x04, path_n};
    cd_buf_put(&b, cd_bytes_of(head, sizeof head));
    cd_buf_str(&b, path);
    cd_buf_str(&b, "\x01\x09localhost");
    say_n(fd, (const char *)b.p, b.n);
    cd_buf_fini(&b);
}

static bool recv_n(int fd, u8 *out, usize n)
{
    while (n != 0) {
        ssize_t got = recv(fd, out, n, 0);
        if (got <= 0) {
            return false;
        }
        out += got;
        n -= (usize)got;
    }
    return true;
}

/* The payload of the next frame of type; others are dropped. False at the end of input. */
static bool hear_frame(int fd, cd_buf *out, u8 type, u8 *id)
{
    u8 head[9];
    do {
        cd_buf_clear(out);
        if (!recv_n(fd, head, sizeof head)) {
            return false;
        }
        usize n = cd_be32(head) >> 8;
        assert_true(recv_n(fd, cd_buf_extend(out, n), n));
    } while (head[3] != type);
    *id = head[8];
    (void)cd_buf_cstr(out);
    return true;
}

static void assert_data(int fd, u8 want_id, const char *want)
{
    cd_buf b = {0};
    u8 id = 0;
    assert_true(hear_frame(fd, &b, FRAME_HEADERS, &id));
    assert_int_equal(id, want_id);
    assert_memory_equal(cd_buf_cstr(&b), "\x88", 1); /* 200 */
    assert_true(hear_frame(fd, &b, FRAME_DATA, &id));
    assert_int_equal(id, want_id);
    assert_string_equal(cd_buf_cstr(&b), want);
    cd_buf_fini(&b);
}

static void test_http2(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    u8 id = 0;
    rig_open(&g, &(cd_http_cfg){0});
    int fd = dial(&g);
    for (usize i = 0; i < sizeof PREFACE - 1; i++) { /* in the smallest pieces */
        say_n(fd, &PREFACE[i], 1);
        nap(1);
    }
    say_n(fd, SETTINGS, 9);
    say_get(fd, 1, "/echo?x");
    assert_data(fd, 1, "GET /echo?x ");
    /* One waits for its worker, another overtakes it. */
    say_get(fd, 3, "/gate");
    gate_await(&g, 1);
    say_get(fd, 5, "/echo");
    assert_data(fd, 5, "GET /echo? ");
    gate_open(&g);
    assert_data(fd, 3, "gate");
    (void)close(fd);

    /* What begins like the preface but is something else. */
    ask(&g, &b, "PUT /echo HTTP/1.1\r\n" H "\r\n");
    assert_status(&b, 405);
    fd = dial(&g);
    say(fd, "P");
    nap(20);
    say(fd, "OST /echo HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\nx");
    assert_true(hear(fd, &b, false));
    assert_string_equal(body_of(&b), "POST /echo? x");
    (void)close(fd);
    ask(&g, &b, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
    assert_status(&b, 505);

    /* The server stops: GOAWAY, and what runs is finished. The client with a dead request is forgotten. */
    g.is_open = false;
    g.waiting = 0;
    fd = dial(&g);
    int gone = dial(&g);
    say_n(fd, PREFACE SETTINGS, sizeof PREFACE - 1 + 9);
    say_n(gone, PREFACE SETTINGS, sizeof PREFACE - 1 + 9);
    say_get(fd, 1, "/gate");
    say_get(gone, 1, "/gate");
    gate_await(&g, 2);
    (void)close(gone);
    rig_stop(&g);
    assert_true(hear_frame(fd, &b, FRAME_GOAWAY, &id));
    gate_open(&g);
    assert_data(fd, 1, "gate");
    assert_false(hear_frame(fd, &b, FRAME_DATA, &id));
    (void)close(fd);
    cd_buf_fini(&b);
    rig_join(&g);
}

/* HEADERS on stream id whose block is head, then n times the newest field of the dynamic table; no body comes. */
static void say_head(int fd, u32 id, cd_bytes head, usize n)
{
    enum { END_HEADERS = 4, NEWEST = 0xbe };
    cd_buf b = {0};
    cd_put_be32(cd_buf_extend(&b, 4), (u32)(head.n + n) << 8 | FRAME_HEADERS);
    cd_buf_u8(&b, END_HEADERS);
    cd_put_be32(cd_buf_extend(&b, 4), id);
    cd_buf_put(&b, head);
    cd_buf_fill(&b, NEWEST, n);
    (void)send(fd, b.p, b.n, MSG_NOSIGNAL); /* refused, perhaps: it may be cut off */
    cd_buf_fini(&b);
}

/* A client that opens streams whose heads are some 60,000 bytes and cost it 20 each. */
static int dial_hoarder(const rig *g, u32 streams)
{
    enum { VALUE = 3900, REFS = 14 };
    static const u8 asks[] = {0x83, 0x86, 0x04, 5,   '/', 'e', 'c', 'h', 'o', 1,
                              9,    'l',  'o',  'c', 'a', 'l', 'h', 'o', 's', 't'};
    static const u8 field[] = {0x40, 1, 'x', 0x7f, (VALUE - 127) % 128 + 128, (VALUE - 127) / 128};
    cd_buf first = {0};
    int fd = dial(g);
    say_n(fd, PREFACE SETTINGS, sizeof PREFACE - 1 + 9);
    cd_buf_put(&first, cd_bytes_of(asks, sizeof asks));
    cd_buf_put(&first, cd_bytes_of(field, sizeof field));
    cd_buf_fill(&first, 'v', VALUE);
    for (u32 i = 0; i < streams; i++) {
        say_head(fd, 1 + 2 * i, i == 0 ? cd_buf_bytes(&first) : cd_bytes_of(asks, sizeof asks), REFS);
    }
    cd_buf_fini(&first);
    return fd;
}

/* Heads of open streams count like everything else, bounded for one connection and for all. */
static void test_hoarders(void **state)
{
    (void)state;
    enum { CONNS = 100, STREAMS = 60, HEAD = 50000, MEMORY = 2 << 20, EACH = 256 * 1024 };
    rig g;
    int fds[CONNS];
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.memory_max = 64 << 20, .buffered_max = 1 << 20});
    fds[0] = dial_hoarder(&g, 10);
    u8 id;
    while (held(&g) < (usize)10 * HEAD) {
    }
    int second = dial_hoarder(&g, STREAMS);
    assert_true(hear_frame(second, &b, FRAME_HEADERS, &id)); /* the first that did not fit */
    assert_true(id > 1 && id / 2 < (1 << 20) / HEAD);
    assert_in_range(held(&g), 20 * HEAD, 2 << 20);
    (void)close(fds[0]);
    (void)close(second);
    await_held_below(&g, 4096);
    rig_close(&g);

    rig_open(&g, &(cd_http_cfg){.memory_max = MEMORY});
    /* Who is over the budget is cut off, so what is held goes up and down. */
    usize most = 0;
    for (usize i = 0; i < CONNS; i++) {
        fds[i] = dial_hoarder(&g, STREAMS);
        for (u32 look = 0; look < 1000; look++) {
            most = cd_max_u64(most, held(&g));
        }
    }
    assert_in_range(most, MEMORY / 4, MEMORY + EACH);
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "\r\n"); /* a short request is served all the same */
    assert_status(&b, 200);
    for (usize i = 0; i < CONNS; i++) {
        (void)close(fds[i]);
    }
    await_held_below(&g, 4096);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* A request counts for as long as somebody works on it, also when its client has gone. */
static void test_left_behind(void **state)
{
    (void)state;
    enum { BODY = 200000 };
    rig g;
    cd_buf body = {0};
    u8 data[9] = {BODY / 20 >> 16, BODY / 20 >> 8 & 255, BODY / 20 & 255, FRAME_DATA, 0, 0, 0, 0, 1};
    rig_open(&g, &(cd_http_cfg){.memory_max = 1 << 20});
    cd_buf_fill(&body, 'x', BODY);
    int one = dial(&g);
    say(one, "POST /gate HTTP/1.1\r\n" H "Content-Length: 200000\r\n\r\n");
    say_n(one, (const char *)body.p, body.n);
    int two = dial(&g);
    say_n(two, PREFACE SETTINGS, sizeof PREFACE - 1 + 9);
    const u8 asks[] = {0x83, 0x86, 0x04, 5, '/', 'g', 'a', 't', 'e', 1, 9, 'l', 'o', 'c', 'a', 'l', 'h', 'o', 's', 't'};
    say_head(two, 1, cd_bytes_of(asks, sizeof asks), 0);
    for (int i = 0; i < 20; i++) {
        data[4] = i == 19;
        say_n(two, (const char *)data, sizeof data);
        say_n(two, (const char *)body.p, BODY / 20);
    }
    gate_await(&g, 2);
    (void)close(one);
    (void)close(two);
    nap(50);
    assert_in_range(held(&g), 2 * BODY, 4 * BODY);
    gate_open(&g);
    await_held_below(&g, 4096);
    cd_buf_fini(&body);
    rig_close(&g);
}

static void test_h2c_upgrade(void **state)
{
    (void)state;
    static const char want[] = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                               "Upgrade: h2c\r\n\r\n";
    rig g;
    cd_buf b = {0};
    char got[sizeof want] = {0};
    rig_open(&g, &(cd_http_cfg){0});
    int fd = dial(&g);
    say(fd, "POST /echo HTTP/1.1\r\n" H "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            "HTTP2-Settings: AAMAAABk\r\nContent-Length: 3\r\n\r\nabc");
    say_n(fd, PREFACE SETTINGS, sizeof PREFACE - 1 + 9);
    assert_true(recv_n(fd, (u8 *)got, sizeof want - 1));
    assert_string_equal(got, want);
    assert_data(fd, 1, "POST /echo? abc");
    say_get(fd, 3, "/echo");
    assert_data(fd, 3, "GET /echo? ");
    (void)close(fd);
    ask(&g, &b,
        "GET /echo HTTP/1.1\r\n" H "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        "HTTP2-Settings: !\r\n\r\n");
    assert_status(&b, 400);
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    assert_status(&b, 200);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* Who asks for HTTP/2 and never speaks it is let go: in time, when he closes his half, and when the server stops. */
static void test_h2c_silence(void **state)
{
    (void)state;
    static const char upgrade[] = "GET /echo HTTP/1.1\r\n" H "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                  "HTTP2-Settings: AAMAAABk\r\n\r\n";
    u8 got[512];
    for (int how = 0; how < 3; how++) {
        rig g;
        const cd_http_cfg quick = {.header_timeout_ms = 100};
        rig_open(&g, how == 0 ? &quick : &(cd_http_cfg){0});
        int fd = dial(&g);
        say(fd, upgrade);
        if (how == 1) {
            assert_int_equal(shutdown(fd, SHUT_WR), 0);
        }
        if (how == 2) {
            assert_true(recv(fd, got, 12, 0) == 12 && memcmp(got, "HTTP/1.1 101", 12) == 0);
            rig_stop(&g);
        }
        ssize_t n;
        while ((n = recv(fd, got, sizeof got, 0)) > 0) {
        }
        assert_int_equal(n, 0); /* its end, not the end of our patience */
        (void)close(fd);
        if (how == 2) {
            rig_join(&g);
        } else {
            await_held_below(&g, 4096);
            rig_close(&g);
        }
    }
}

/* Clients that leave while a worker has their request, in several ways. */
static void test_gone(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, &(cd_http_cfg){0});
    int a = dial(&g);
    int c = dial(&g);
    say(a, "GET /gate HTTP/1.1\r\n" H "\r\n");
    say(c, "GET /gate HTTP/1.1\r\n" H "\r\n");
    gate_await(&g, 2);
    struct linger hard = {.l_onoff = 1};
    assert_int_equal(setsockopt(a, SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
    (void)close(a); /* reset */
    (void)close(c); /* orderly */
    nap(20);
    gate_open(&g);
    cd_buf b = {0};
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_status(&b, 200);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* Stopping lets a running request finish, and closes idle connections and the door. */
static void test_graceful_stop(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){0});
    int idle = dial(&g);
    say(idle, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_true(hear(idle, &b, false));
    int busy = dial(&g);
    say(busy, "GET /gate HTTP/1.1\r\n" H "\r\n");
    gate_await(&g, 1);
    rig_stop(&g);
    assert_false(hear(idle, &b, false));
    assert_false(atomic_load(&g.is_done));
    int late = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    addr.sin_port = htons(g.port);
    assert_int_equal(connect(late, (struct sockaddr *)&addr, sizeof addr), -1);
    gate_open(&g);
    assert_true(hear(busy, &b, false));
    assert_true(has(&b, "\r\nConnection: close\r\n"));
    assert_string_equal(body_of(&b), "gate");
    assert_false(hear(busy, &b, false));
    (void)close(late);
    (void)close(busy);
    (void)close(idle);
    rig_join(&g);

    /* When the grace is over, clients are cut, and the end waits only for the worker. */
    rig_open(&g, &(cd_http_cfg){0});
    g.grace_ms = 20;
    busy = dial(&g);
    say(busy, "GET /gate HTTP/1.1\r\n" H "\r\n");
    gate_await(&g, 1);
    rig_stop(&g);
    assert_false(hear(busy, &b, false));
    assert_false(atomic_load(&g.is_done));
    gate_open(&g);
    (void)close(busy);
    rig_join(&g);
    cd_buf_fini(&b);
}

/* A service of its own: no host check, no CORS, no routes; and its own words for what is no request. */
static void site_request(void *ctx, cd_http_req *r)
{
    const char *lines = ctx;
    cd_http_req_add_lines(r, cd_bytes_str(lines));
    cd_buf_put(cd_http_req_out(r), cd_http_req_path(r));
    cd_http_reply(r, 200, "text/plain");
}

static void site_refused(void *ctx, cd_http_req *r, u32 status, const char *text)
{
    cd_http_req_add_lines(r, cd_bytes_str(ctx));
    cd_buf_fmt(cd_http_req_out(r), "no: %s", text);
    cd_http_reply(r, status, "text/plain");
}

static void test_site(void **state)
{
    (void)state;
    static const cd_http_site site = {.request = site_request, .refused = site_refused};
    static char lines[] = "X-Site: yes\r\n";
    rig g;
    cd_buf b = {0};
    rig_open(&g, &(cd_http_cfg){.site = &site, .site_ctx = lines, .header_max = 2000});
    ask(&g, &b, "PUT /echo/any HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://a\r\n\r\n");
    assert_status(&b, 200);
    assert_string_equal(body_of(&b), "/echo/any");
    assert_true(has(&b, "\r\nX-Site: yes\r\n"));
    assert_false(has(&b, "Vary"));
    ask(&g, &b, "OPTIONS * HTTP/1.1\r\n" H "Access-Control-Request-Method: GET\r\n\r\n");
    assert_status(&b, 200);
    ask(&g, &b, "GET / HTTP/1.1\r\n\r\n");
    assert_status(&b, 400);
    assert_string_equal(body_of(&b), "no: no Host header");
    assert_true(has(&b, "\r\nX-Site: yes\r\n"));
    cd_buf text = {0};
    cd_buf_str(&text, "GET /");
    cd_buf_fill(&text, 'a', 3000);
    cd_buf_str(&text, " HTTP/1.1\r\n" H "\r\n");
    ask(&g, &b, cd_buf_cstr(&text));
    assert_status(&b, 414);
    cd_buf_fini(&text);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* A doorkeeper: whom he refuses he has answered, also where there is no route. */
static bool admit_friend(void *ctx, cd_http_req *r)
{
    (*(u32 *)ctx)++;
    if (cd_bytes_eq(cd_http_req_header(r, "x-friend"), cd_bytes_str("yes"))) {
        return true;
    }
    cd_buf_str(cd_http_req_out(r), "who are you?");
    cd_http_reply(r, 401, "text/plain");
    return false;
}

static void test_admit(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    u32 asked = 0;
    rig_open(&g, &(cd_http_cfg){.admit = admit_friend, .admit_ctx = &asked});
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "\r\n");
    assert_status(&b, 401);
    assert_string_equal(body_of(&b), "who are you?");
    ask(&g, &b, "GET /nowhere HTTP/1.1\r\n" H "\r\n");
    assert_status(&b, 401);
    ask(&g, &b, "GET /echo HTTP/1.1\r\n" H "X-Friend: yes\r\n\r\n");
    assert_status(&b, 200);
    ask(&g, &b, "GET /nowhere HTTP/1.1\r\n" H "X-Friend: yes\r\n\r\n");
    assert_status(&b, 404);
    assert_int_equal(asked, 4);
    /* Who may not be here at all is not asked. */
    ask(&g, &b, "GET /echo HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_status(&b, 403);
    assert_int_equal(asked, 4);
    cd_buf_fini(&b);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basics),        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_continue),
        cmocka_unit_test(test_cors),          cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_big_answer),    cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_gzip),          cmocka_unit_test(test_make_room),
        cmocka_unit_test(test_http2),         cmocka_unit_test(test_h2c_upgrade),
        cmocka_unit_test(test_h2c_silence),   cmocka_unit_test(test_gone),
        cmocka_unit_test(test_graceful_stop), cmocka_unit_test(test_site),
        cmocka_unit_test(test_large_bodies),  cmocka_unit_test(test_answers_wait_for_the_loop),
        cmocka_unit_test(test_hoarders),      cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_admit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
