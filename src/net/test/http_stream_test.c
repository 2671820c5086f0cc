/* Streams and Server-Sent Events over real loopback sockets: the loop runs in a thread of its own, the test
 * is the client, over HTTP/1 and over HTTP/2. */
#include "net/http/stream.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "net/http/http2.h"
#include "net/http/sse.h"

#include <nghttp2/nghttp2.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PIECE = 1000, QUEUE_MAX = 100 * 1000, FLOOD = 20000 };
#define PIECES_SIZE ((usize)FLOOD * PIECE)

typedef struct rig {
    cd_loop *loop;
    cd_http_server *server;
    cd_thread thread;
    u16 port;
    cd_sse *hub;
    cd_loop_task task; /* what on_task does next */
    void (*job)(struct rig *g);
    cd_mutex lock; /* of what follows */
    cd_cond cond;
    u32 jobs_done;
    u32 drained;
    u32 closed;
    u32 full;
    cd_http_stream *stream; /* the newest; loop only */
    u32 flood_left;         /* pieces still to be written; loop only */
} rig;

static void note(rig *g, u32 *what)
{
    cd_mutex_lock(&g->lock);
    ++*what;
    cd_cond_wake_all(&g->cond);
    cd_mutex_unlock(&g->lock);
}

static void await(rig *g, const u32 *what, u32 min)
{
    cd_mutex_lock(&g->lock);
    while (*what < min) {
        cd_cond_wait(&g->cond, &g->lock);
    }
    cd_mutex_unlock(&g->lock);
}

static void on_task(cd_loop_task *t)
{
    rig *g = cd_list_of(t, rig, task);
    g->job(g);
    note(g, &g->jobs_done);
}

/* Does job on the loop, and waits for it. */
static void on_loop(rig *g, void (*job)(rig *g))
{
    u32 before = g->jobs_done;
    g->job = job;
    g->task.fn = on_task;
    cd_loop_post(g->loop, &g->task);
    await(g, &g->jobs_done, before + 1);
}

/* --- handlers --- */

static void on_drained(void *ctx);

static void on_closed(void *ctx)
{
    rig *g = ctx;
    g->stream = NULL;
    note(g, &g->closed);
}

static const cd_http_stream_events events = {.drained = on_drained, .closed = on_closed};

/* /open: "first", then whatever the test has written. */
static void on_open(void *ctx, cd_http_req *r)
{
    rig *g = ctx;
    cd_http_req_add_header(r, "X-More", "yes");
    g->stream = cd_http_req_stream(r, 200, "text/plain", QUEUE_MAX, &events, g);
    assert_int_equal(cd_http_stream_write(g->stream, cd_bytes_str("first")), CD_OK);
    assert_int_equal(cd_http_stream_write(g->stream, (cd_bytes){0}), CD_OK);
}

/* Writes as much as goes, and the end behind the last piece. */
static void flood(rig *g)
{
    char piece[PIECE];
    while (g->flood_left != 0) {
        memset(piece, 'a' + (int)(g->flood_left % 26), sizeof piece);
        if (cd_http_stream_write(g->stream, cd_bytes_of(piece, sizeof piece)) != CD_OK) {
            assert_true(cd_http_stream_waiting(g->stream) > QUEUE_MAX - PIECE);
            assert_true(cd_http_stream_waiting(g->stream) <= QUEUE_MAX + 100 * 10);
            note(g, &g->full);
            return;
        }
        g->flood_left--;
    }
    cd_http_stream_end(g->stream);
    cd_http_stream_end(g->stream);
    assert_int_equal(cd_http_stream_write(g->stream, cd_bytes_str("late")), CD_EIO);
}

static void on_drained(void *ctx)
{
    rig *g = ctx;
    assert_int_equal(cd_http_stream_waiting(g->stream), 0);
    note(g, &g->drained);
    flood(g);
}

/* /flood: FLOOD0 pieces, as fast as the client takes them. */
static void on_flood(void *ctx, cd_http_req *r)
{
    rig *g = ctx;
    g->flood_left = FLOOD;
    g->stream = cd_http_req_stream(r, 200, NULL, QUEUE_MAX, &events, g);
    flood(g);
}

/* /cut: a piece, and it breaks off. */
static void on_cut(void *ctx, cd_http_req *r)
{
    rig *g = ctx;
    cd_http_stream *s = cd_http_req_stream(r, 200, NULL, 0, &events, g);
    assert_int_equal(cd_http_stream_write(s, cd_bytes_str("half")), CD_OK);
    cd_http_stream_cut(s);
    cd_http_stream_cut(s);
}

static bool wants_even(const void *ctx, u64 topic)
{
    (void)ctx;
    return topic % 2 == 0;
}

static void on_events(void *ctx, cd_http_req *r)
{
    rig *g = ctx;
    bool even = cd_bytes_eq(cd_http_req_query(r), cd_bytes_str("even"));
    void *own = even ? cd_alloc(8) : NULL;
    if (!cd_sse_listen(g->hub, r, even ? wants_even : NULL, own)) {
        cd_free(own);
        cd_http_reply_error(r, 503, "too many listeners");
    }
}

static void on_plain(void *ctx, cd_http_req *r)
{
    (void)ctx;
    cd_buf_str(cd_http_req_out(r), "plain");
    cd_http_reply(r, 200, "text/plain");
}

/* --- the server --- */

static void loop_main(void *arg)
{
    rig *g = arg;
    cd_loop_run(g->loop);
}

static void rig_open_sse(rig *g, u32 write_timeout_ms, const cd_sse_cfg *sse)
{
    const cd_http_cfg cfg = {.write_timeout_ms = write_timeout_ms, .gzip = true};
    *g = (rig){0};
    cd_mutex_init(&g->lock);
    cd_cond_init(&g->cond);
    assert_int_equal(cd_loop_new(&g->loop, NULL), CD_OK);
    g->server = cd_http_server_new(g->loop, &cfg);
    g->hub = cd_sse_new(g->loop, sse, 77);
    const cd_http_route routes[] = {
        {.path = "/open", .methods = CD_HTTP_GET, .handler = on_open, .ctx = g},
        {.path = "/flood", .methods = CD_HTTP_GET, .handler = on_flood, .ctx = g},
        {.path = "/cut", .methods = CD_HTTP_GET, .handler = on_cut, .ctx = g},
        {.path = "/events", .methods = CD_HTTP_GET, .handler = on_events, .ctx = g},
        {.path = "/plain", .methods = CD_HTTP_GET, .handler = on_plain, .ctx = g},
    };
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(g->server, &routes[i]);
    }
    assert_int_equal(cd_http_server_listen(g->server, "127.0.0.1", 0, NULL), CD_OK);
    g->port = cd_http_server_port(g->server);
    assert_int_equal(cd_thread_start(&g->thread, "loop", loop_main, g, NULL), CD_OK);
}

static void rig_open(rig *g)
{
    rig_open_sse(g, 0, &(cd_sse_cfg){0});
}

static void on_stopped(void *ctx)
{
    rig *g = ctx;
    cd_sse_free(g->hub);
    cd_http_server_free(g->server);
    cd_loop_stop(g->loop);
}

static void stop(rig *g)
{
    cd_http_server_stop(g->server, 20000, on_stopped, g);
}

static void rig_close(rig *g)
{
    on_loop(g, stop);
    cd_thread_join(&g->thread);
    cd_loop_free(g->loop);
    cd_cond_fini(&g->cond);
    cd_mutex_fini(&g->lock);
}

/* --- a client of HTTP/1 --- */

static int dial_with(const rig *g, int rcvbuf)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    addr.sin_port = htons(g->port);
    if (rcvbuf != 0) {
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf), 0);
    }
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static int get(const rig *g, const char *path, const char *lines)
{
    char text[512];
    int fd = dial_with(g, 0);
    (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, lines);
    say(fd, text);
    return fd;
}

/* Reads until out holds text; the end of input before that is a failure. */
static void hear_until(int fd, cd_buf *out, const char *text)
{
    while (strstr(cd_buf_cstr(out), text) == NULL) {
        ssize_t n = recv(fd, cd_buf_reserve(out, 4096), 4096, 0);
        assert_true(n > 0);
        out->n += (usize)n;
    }
}

/* Reads to the end; false when it came by force. */
static bool hear_all(int fd, cd_buf *out)
{
    for (;;) {
        ssize_t n = recv(fd, cd_buf_reserve(out, 65536), 65536, 0);
        if (n <= 0) {
            (void)cd_buf_cstr(out);
            return n == 0;
        }
        out->n += (usize)n;
    }
}

/* The body of a chunked answer, which must be complete if is_whole. */
static void unchunk(cd_buf *out, cd_buf *in, bool is_whole)
{
    const char *at = strstr(cd_buf_cstr(in), "\r\n\r\n");
    assert_non_null(at);
    const char *end = (const char *)in->p + in->n;
    at += 4;
    while (at != end) {
        char *stop;
        usize n = strtoul(at, &stop, 16);
        assert_memory_equal(stop, "\r\n", 2);
        at = stop + 2;
        assert_true((usize)(end - at) >= n + 2);
        cd_buf_put(out, cd_bytes_of(at, n));
        at += n;
        assert_memory_equal(at, "\r\n", 2);
        at += 2;
        if (n == 0) {
            assert_true(is_whole && at == end);
            is_whole = false;
        }
    }
    assert_false(is_whole);
}

static void write_second(rig *g)
{
    assert_int_equal(cd_http_stream_write(g->stream, cd_bytes_str("second")), CD_OK);
    cd_http_stream_end(g->stream);
}

static void test_pieces(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    cd_buf body = {0};
    rig_open(&g);
    int fd = get(&g, "/open", "Accept-Encoding: gzip\r\n");
    hear_until(fd, &b, "\r\n\r\n5\r\nfirst\r\n");
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\nTransfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\nConnection: close\r\n"));
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\nContent-Type: text/plain\r\n"));
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\nX-More: yes\r\n"));
    assert_null(strstr(cd_buf_cstr(&b), "Content-Length"));
    assert_null(strstr(cd_buf_cstr(&b), "gzip"));
    say(fd, "GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n"); /* will not be answered */
    on_loop(&g, write_second);
    assert_true(hear_all(fd, &b));
    unchunk(&body, &b, true);
    assert_string_equal(cd_buf_cstr(&body), "firstsecond");
    (void)close(fd);
    await(&g, &g.closed, 1);

    /* HTTP/1.0 has no chunks. */
    cd_buf_clear(&b);
    fd = dial_with(&g, 0);
    say(fd, "GET /open HTTP/1.0\r\nHost: localhost\r\n\r\n");
    hear_until(fd, &b, "\r\n\r\nfirst");
    assert_null(strstr(cd_buf_cstr(&b), "Transfer-Encoding"));
    on_loop(&g, write_second);
    assert_true(hear_all(fd, &b));
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\n\r\nfirstsecond"));
    (void)close(fd);
    await(&g, &g.closed, 2);

    /* What is broken off has no last chunk. */
    cd_buf_clear(&b);
    cd_buf_clear(&body);
    fd = get(&g, "/cut", "");
    (void)hear_all(fd, &b);
    if (b.n != 0) {
        unchunk(&body, &b, false);
    }
    (void)close(fd);
    await(&g, &g.closed, 3);
    cd_buf_fini(&b);
    cd_buf_fini(&body);
    rig_close(&g);
}

/* Twenty megabytes through a queue of a tenth of one, in order and whole. */
static void test_back_pressure(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    cd_buf body = {0};
    rig_open(&g);
    int fd = dial_with(&g, 32 * 1024);
    say(fd, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await(&g, &g.full, 1);
    assert_true(hear_all(fd, &b));
    unchunk(&body, &b, true);
    assert_int_equal(body.n, PIECES_SIZE);
    for (usize i = 0; i < FLOOD; i++) {
        assert_int_equal(body.p[i * PIECE], 'a' + (FLOOD - i) % 26);
        assert_int_equal(body.p[(i + 1) * PIECE - 1], body.p[i * PIECE]);
    }
    (void)close(fd);
    await(&g, &g.closed, 1);
    assert_true(g.drained > 0);
    cd_buf_fini(&b);
    cd_buf_fini(&body);
    rig_close(&g);
}

/* Who takes nothing is cut off; who leaves is noticed, though nothing is written. */
static void test_gone(void **state)
{
    (void)state;
    rig g;
    rig_open_sse(&g, 200, &(cd_sse_cfg){0});
    int slow = dial_with(&g, 32 * 1024);
    say(slow, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await(&g, &g.full, 1);
    await(&g, &g.closed, 1);
    (void)close(slow);
    cd_buf b = {0};
    int fd = get(&g, "/open", "");
    hear_until(fd, &b, "first");
    (void)close(fd);
    await(&g, &g.closed, 2);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* A server that stops completes what is open. */
static void test_stop(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    cd_buf body = {0};
    rig_open(&g);
    int fd = get(&g, "/open", "");
    hear_until(fd, &b, "first");
    on_loop(&g, stop);
    assert_true(hear_all(fd, &b));
    unchunk(&body, &b, true);
    assert_string_equal(cd_buf_cstr(&body), "first");
    (void)close(fd);
    cd_thread_join(&g.thread);
    assert_int_equal(g.closed, 1);
    cd_loop_free(g.loop);
    cd_cond_fini(&g.cond);
    cd_mutex_fini(&g.lock);
    cd_buf_fini(&b);
    cd_buf_fini(&body);
}

/* --- events --- */

static void send_three(rig *g)
{
    cd_sse_send(g->hub, 1, "price", cd_bytes_str("{\"a\":1}"));
    cd_sse_send(g->hub, 2, "", cd_bytes_str("two\nlines"));
    cd_sse_send(g->hub, 3, "price", cd_bytes_str("x\r\n\ry"));
}

static void send_many(rig *g)
{
    for (u32 i = 0; i < 100; i++) {
        cd_sse_send(g->hub, 0, "n", cd_bytes_str("0123456789"));
    }
}

static void test_events(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open_sse(&g, 0, &(cd_sse_cfg){.kept_max = 2000, .listeners_max = 2, .retry_ms = 1234});
    int fd = get(&g, "/events", "");
    hear_until(fd, &b, "retry: 1234\n\n");
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(cd_buf_cstr(&b), "\r\nCache-Control: no-store\r\n"));
    int even = get(&g, "/events?even", "");
    cd_buf e = {0};
    hear_until(even, &e, "retry:");
    on_loop(&g, send_three);
    hear_until(fd, &b, "id: 77-1\nevent: price\ndata: {\"a\":1}\n\n");
    hear_until(fd, &b, "id: 77-2\ndata: two\ndata: lines\n\n");
    hear_until(fd, &b, "id: 77-3\nevent: price\ndata: x\ndata: \ndata: y\n\n");
    hear_until(even, &e, "id: 77-2\ndata: two\ndata: lines\n\n");
    assert_null(strstr(cd_buf_cstr(&e), "77-1"));

    cd_buf over = {0}; /* a third is one too many */
    int third = get(&g, "/events", "Connection: close\r\n");
    assert_true(hear_all(third, &over));
    assert_non_null(strstr(cd_buf_cstr(&over), "HTTP/1.1 503 "));
    (void)close(third);
    (void)close(fd);

    /* Back again: what was missed comes first, and nothing else. */
    static const struct {
        const char *last;
        const char *want;
        bool has_gap;
    } rows[] = {
        {"77-1", "id: 77-2\ndata: two\ndata: lines\n\n", false},
        {"77-3", NULL, false},
        {"76-1", "id: 77-3\nevent: gap\ndata: {}\n\n", true},
        {"77-9", "event: gap\n", true},
        {"junk", "event: gap\n", true},
        {"77-", "event: gap\n", true},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "Last-Event-ID: %s\r\n", rows[i].last);
        do { /* the one before may not have left yet */
            cd_buf_clear(&b);
            fd = get(&g, "/events", line);
            hear_until(fd, &b, "\r\n\r\n");
            if (strstr(cd_buf_cstr(&b), "HTTP/1.1 503 ") != NULL) {
                (void)close(fd);
                fd = -1;
            }
        } while (fd < 0);
        hear_until(fd, &b, "retry: 1234\n\n");
        if (rows[i].want != NULL) {
            hear_until(fd, &b, rows[i].want);
        }
        assert_null(strstr(cd_buf_cstr(&b), "id: 77-1\n"));
        assert_int_equal(strstr(cd_buf_cstr(&b), "gap") != NULL, rows[i].has_gap);
        (void)close(fd);
    }

    /* Events that are kept no more are a gap. */
    on_loop(&g, send_many);
    hear_until(even, &e, "id: 77-103\n");
    do {
        cd_buf_clear(&b);
        fd = get(&g, "/events", "Last-Event-ID: 77-5\r\n");
        hear_until(fd, &b, "\r\n\r\n");
        if (strstr(cd_buf_cstr(&b), "HTTP/1.1 503 ") != NULL) {
            (void)close(fd);
            fd = -1;
        }
    } while (fd < 0);
    hear_until(fd, &b, "id: 77-103\nevent: gap\n");
    (void)close(fd);
    (void)close(even);
    cd_buf_fini(&b);
    cd_buf_fini(&e);
    cd_buf_fini(&over);
    rig_close(&g);
}

static void send_big(rig *g)
{
    static char big[60000];
    memset(big, 'x', sizeof big);
    for (u32 i = 0; i < 400 && cd_sse_cnt(g->hub) != 0; i++) {
        cd_sse_send(g->hub, 0, "big", cd_bytes_of(big, sizeof big));
    }
}

static void count(rig *g)
{
    g->flood_left = (u32)cd_sse_cnt(g->hub);
}

/* Silence is broken by comments; who does not read is dropped. */
static void test_events_slow(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    rig_open_sse(&g, 0, &(cd_sse_cfg){.beat_ms = 20, .kept_max = 1000});
    int fd = dial_with(&g, 32 * 1024);
    say(fd, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    hear_until(fd, &b, "3\r\n:\n\n\r\n3\r\n:\n\n\r\n");
    on_loop(&g, send_big);
    do {
        on_loop(&g, count);
    } while (g.flood_left != 0);
    (void)close(fd);
    cd_buf_fini(&b);
    rig_close(&g);
}

/* --- a client of HTTP/2 --- */

typedef struct client2 {
    nghttp2_session *ng;
    int fd;
    cd_buf body;
    u32 status;
    bool is_closed;
    u32 error;
} client2;

static ssize_t on_send(nghttp2_session *ng, const u8 *data, size_t n, int flags, void *ctx)
{
    client2 *c = ctx;
    (void)ng;
    (void)flags;
    return send(c->fd, data, n, MSG_NOSIGNAL);
}

static int on_chunk(nghttp2_session *ng, u8 flags, i32 id, const u8 *data, size_t n, void *ctx)
{
    client2 *c = ctx;
    (void)ng;
    (void)flags;
    (void)id;
    cd_buf_put(&c->body, cd_bytes_of(data, n));
    return 0;
}

static int on_field(nghttp2_session *ng, const nghttp2_frame *f, const u8 *name, size_t name_n, const u8 *value,
                    size_t value_n, u8 flags, void *ctx)
{
    client2 *c = ctx;
    (void)ng;
    (void)f;
    (void)flags;
    (void)value_n;
    if (name_n == 7 && memcmp(name, ":status", 7) == 0) {
        c->status = (u32)strtoul((const char *)value, NULL, 10);
    }
    return 0;
}

static int on_stream_end(nghttp2_session *ng, i32 id, u32 error, void *ctx)
{
    client2 *c = ctx;
    (void)ng;
    (void)id;
    c->is_closed = true;
    c->error = error;
    return 0;
}

static i32 client2_get(client2 *c, const char *path)
{
#define NV(name, value)                                                                                                \
    {                                                                                                                  \
        (u8 *)(uintptr_t)(name), (u8 *)(uintptr_t)(value), strlen(name), strlen(value), 0                              \
    }
    const nghttp2_nv nv[] = {
        NV(":method", "GET"),
        NV(":scheme", "http"),
        NV(":authority", "localhost"),
        NV(":path", path),
    };
#undef NV
    c->is_closed = false;
    cd_buf_clear(&c->body);
    i32 id = nghttp2_submit_request(c->ng, NULL, nv, CD_COUNT(nv), NULL, NULL);
    assert_int_equal(nghttp2_session_send(c->ng), 0);
    return id;
}

static void client2_open(client2 *c, const rig *g)
{
    nghttp2_session_callbacks *cb;
    int on = 1; /* small frames for windows must not wait for each other */
    *c = (client2){.fd = dial_with(g, 0)};
    assert_int_equal(setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
    nghttp2_session_callbacks_set_send_callback(cb, on_send);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_chunk);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_field);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_end);
    assert_int_equal(nghttp2_session_client_new(&c->ng, cb, c), 0);
    nghttp2_session_callbacks_del(cb);
    assert_int_equal(nghttp2_submit_settings(c->ng, 0, NULL, 0), 0);
}

/* Reads once; false at the end of input. */
static bool client2_hear(client2 *c)
{
    u8 data[16384];
    ssize_t n = recv(c->fd, data, sizeof data, 0);
    if (n <= 0) {
        return false;
    }
    assert_int_equal(nghttp2_session_mem_recv(c->ng, data, (size_t)n), n);
    assert_int_equal(nghttp2_session_send(c->ng), 0);
    return true;
}

static void client2_await(client2 *c, const char *text)
{
    while (strstr(cd_buf_cstr(&c->body), text) == NULL) {
        assert_true(client2_hear(c));
    }
}

static void client2_close(client2 *c)
{
    nghttp2_session_del(c->ng);
    cd_buf_fini(&c->body);
    (void)close(c->fd);
}

static void test_http2(void **state)
{
    (void)state;
    rig g;
    client2 c;
    rig_open(&g);
    client2_open(&c, &g);
    (void)client2_get(&c, "/open");
    client2_await(&c, "first");
    assert_int_equal(c.status, 200);
    on_loop(&g, write_second);
    while (!c.is_closed) {
        assert_true(client2_hear(&c));
    }
    assert_int_equal(c.error, NGHTTP2_NO_ERROR);
    assert_string_equal(cd_buf_cstr(&c.body), "firstsecond");
    await(&g, &g.closed, 1);

    /* The connection goes on; much more than fits its windows and queues comes whole. */
    (void)client2_get(&c, "/flood");
    while (!c.is_closed) {
        assert_true(client2_hear(&c));
    }
    assert_int_equal(c.error, NGHTTP2_NO_ERROR);
    assert_int_equal(c.body.n, PIECES_SIZE);
    for (usize i = 0; i < FLOOD; i++) {
        assert_int_equal(c.body.p[i * PIECE], 'a' + (FLOOD - i) % 26);
    }
    await(&g, &g.closed, 2);

    (void)client2_get(&c, "/cut");
    while (!c.is_closed) {
        assert_true(client2_hear(&c));
    }
    assert_int_equal(c.error, NGHTTP2_CANCEL);
    await(&g, &g.closed, 3);

    /* A reset is noticed; so is the end of the connection. */
    i32 id = client2_get(&c, "/open");
    client2_await(&c, "first");
    assert_int_equal(nghttp2_submit_rst_stream(c.ng, 0, id, NGHTTP2_CANCEL), 0);
    assert_int_equal(nghttp2_session_send(c.ng), 0);
    await(&g, &g.closed, 4);
    (void)client2_get(&c, "/open");
    client2_await(&c, "first");
    client2_close(&c);
    await(&g, &g.closed, 5);

    /* So is a stop. */
    client2_open(&c, &g);
    (void)client2_get(&c, "/open");
    client2_await(&c, "first");
    on_loop(&g, stop);
    while (client2_hear(&c)) {
    }
    assert_true(c.is_closed);
    assert_int_equal(c.error, NGHTTP2_NO_ERROR);
    client2_close(&c);
    cd_thread_join(&g.thread);
    assert_int_equal(g.closed, 6);
    cd_loop_free(g.loop);
    cd_cond_fini(&g.cond);
    cd_mutex_fini(&g.lock);
}

/* A stream whose window the client never opens again. */
static void test_http2_stalled(void **state)
{
    (void)state;
    rig g;
    client2 c;
    rig_open_sse(&g, 200, &(cd_sse_cfg){0});
    client2_open(&c, &g);
    (void)client2_get(&c, "/flood");
    await(&g, &g.closed, 1); /* nothing is read here */
    client2_close(&c);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces), cmocka_unit_test(test_back_pressure), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_stop),   cmocka_unit_test(test_events),        cmocka_unit_test(test_events_slow),
        cmocka_unit_test(test_http2),  cmocka_unit_test(test_http2_stalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
