/* The server's session against nghttp2's client over memory; hostile frames are made by hand. */
#include "net/http/http2.h"

#include "base/mem/mem.h"
#include "net/http/guard.h"

#include <nghttp2/nghttp2.h>

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STREAMS = 64, WAITING = 256 };

/* What the client knows of one of its streams. */
typedef struct seen {
    u32 status;
    u32 code; /* of its end */
    bool is_closed;
    bool was_told_to_go_on;
    cd_buf body;
    cd_buf fields; /* "name: value\n" */
    cd_buf trailers;
    cd_bytes upload;
    usize upload_at;
} seen;

typedef struct rig {
    cd_http2 *h;
    cd_http2_cfg cfg;
    u64 now;
    bool answers_now;
    cd_http2_stream *waiting[WAITING];
    usize waiting_cnt;
    usize requests;
    cd_buf body; /* of answers */
    cd_bytes trailers;
    nghttp2_session *client;
    seen streams[STREAMS]; /* by (id - 1) / 2 */
    u32 goaway;            /* its code plus one; 0: none came */
} rig;

/* --- the server's side --- */

static usize body_max(void *ctx, const cd_http_msg *m)
{
    (void)ctx;
    return cd_bytes_eq(cd_http_msg_path(m), cd_bytes_str("/small")) ? 10 : 1 << 20;
}

/* Answers with what was asked, or with the rig's body. */
static void answer(rig *g, cd_http2_stream *st)
{
    const char *text;
    const cd_http_msg *m = cd_http2_msg(st);
    u32 status = cd_http2_refusal(st, &text);
    cd_bytes path = cd_http_msg_path(m);
    cd_bytes host = cd_http_msg_host(m);
    cd_buf body = {0};
    if (status != 0) {
        cd_buf_str(&body, text);
    } else if (g->body.n != 0) {
        cd_buf_put(&body, cd_buf_bytes(&g->body));
    } else {
        cd_buf_fmt(&body, "%s %.*s %.*s ", cd_http_method_name(m->method), (int)path.n, path.p, (int)host.n,
                   host.n == 0 ? (const u8 *)"" : host.p);
        cd_buf_put(&body, cd_buf_bytes(&m->body));
    }
    const cd_http2_reply reply = {
        .status = status == 0 ? 200 : status,
        .lines = cd_bytes_str("Content-Type: text/plain\r\nX-Two: b\r\nConnection: close\r\n"),
        .trailers = g->trailers,
        .body = m->method == CD_HTTP_HEAD ? NULL : &body,
    };
    cd_http2_answer(st, &reply, g->now);
    cd_buf_fini(&body);
}

static void on_request(void *ctx, cd_http2_stream *st)
{
    rig *g = ctx;
    g->requests++;
    if (g->answers_now) {
        answer(g, st);
    } else {
        assert_true(g->waiting_cnt < WAITING);
        g->waiting[g->waiting_cnt++] = st;
    }
}

static void answer_all(rig *g)
{
    usize n = g->waiting_cnt;
    g->waiting_cnt = 0;
    while (n != 0) { /* the newest first */
        answer(g, g->waiting[--n]);
    }
}

/* --- the client's side --- */

static seen *seen_of(rig *g, i32 id)
{
    usize i = (usize)(id - 1) / 2;
    assert_true(i < STREAMS);
    return &g->streams[i];
}

static int on_field(nghttp2_session *ng, const nghttp2_frame *f, const u8 *name, size_t name_n, const u8 *value,
                    size_t value_n, u8 flags, void *ctx)
{
    seen *s = seen_of(ctx, f->hd.stream_id);
    (void)ng;
    (void)flags;
    if (cd_bytes_eq(cd_bytes_of(name, name_n), cd_bytes_str(":status"))) {
        u32 status = (u32)(value[0] - '0') * 100u + (u32)(value[1] - '0') * 10u + (u32)(value[2] - '0');
        s->was_told_to_go_on = s->was_told_to_go_on || status == 100;
        s->status = status;
        return 0;
    }
    cd_buf *out = f->headers.cat == NGHTTP2_HCAT_HEADERS && s->status != 100 ? &s->trailers : &s->fields;
    cd_buf_fmt(out, "%.*s: %.*s\n", (int)name_n, name, (int)value_n, value);
    return 0;
}

static int on_body(nghttp2_session *ng, u8 flags, i32 id, const u8 *data, size_t n, void *ctx)
{
    (void)ng;
    (void)flags;
    cd_buf_put(&seen_of(ctx, id)->body, cd_bytes_of(data, n));
    return 0;
}

static int on_end(nghttp2_session *ng, i32 id, u32 code, void *ctx)
{
    seen *s = seen_of(ctx, id);
    (void)ng;
    s->is_closed = true;
    s->code = code;
    return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    rig *g = ctx;
    (void)ng;
    if (f->hd.type == NGHTTP2_GOAWAY) {
        g->goaway = f->goaway.error_code + 1;
    }
    return 0;
}

static ssize_t read_upload(nghttp2_session *ng, i32 id, u8 *buf, size_t max, u32 *flags, nghttp2_data_source *source,
                           void *ctx)
{
    seen *s = source->ptr;
    (void)ng;
    (void)id;
    (void)ctx;
    if (s->upload_at == s->upload.n) {
        return NGHTTP2_ERR_DEFERRED; /* more may come */
    }
    usize n = cd_min_u64(max, s->upload.n - s->upload_at);
    memcpy(buf, s->upload.p + s->upload_at, n);
    s->upload_at += n;
    *flags |= s->upload_at == s->upload.n ? NGHTTP2_DATA_FLAG_EOF : 0u;
    return (ssize_t)n;
}

static nghttp2_nv nv_of(const char *name, const char *value)
{
    return (nghttp2_nv){(u8 *)(uintptr_t)name, (u8 *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

/* Asks for path. upload: the body; NULL: none; empty: one that never comes. */
static i32 ask(rig *g, const char *method, const char *path, const cd_bytes *upload, const char *name,
               const char *value)
{
    const nghttp2_nv nv[] = {nv_of(":method", method), nv_of(":scheme", "http"), nv_of(":path", path),
                             nv_of(":authority", "a.example"),
                             nv_of(name == NULL ? "x" : name, value == NULL ? "y" : value)};
    i32 id = (i32)nghttp2_session_get_next_stream_id(g->client);
    seen *s = seen_of(g, id);
    const nghttp2_data_provider body = {.source = {.ptr = s}, .read_callback = read_upload};
    s->upload = upload == NULL ? (cd_bytes){0} : *upload;
    i32 got = nghttp2_submit_request(g->client, NULL, nv, CD_COUNT(nv), upload == NULL ? NULL : &body, NULL);
    assert_int_equal(got, id);
    return id;
}

static i32 get(rig *g, const char *path)
{
    return ask(g, "GET", path, NULL, NULL, NULL);
}

/* One direction each, until both have nothing to say. */
static void talk(rig *g)
{
    for (bool is_busy = true; is_busy;) {
        const u8 *data;
        ssize_t n;
        cd_buf out = {0};
        is_busy = false;
        while ((n = nghttp2_session_mem_send(g->client, &data)) > 0) {
            cd_http2_feed(g->h, cd_bytes_of(data, (usize)n), g->now);
            is_busy = true;
        }
        assert_int_equal(n, 0);
        cd_http2_take(g->h, &out, 5000, g->now);
        assert_true(out.n < 5000 + 16384 + 9);
        if (out.n != 0) {
            is_busy = true;
            n = nghttp2_session_mem_recv(g->client, out.p, out.n);
            assert_true(n == (ssize_t)out.n || g->goaway != 0);
        }
        cd_buf_fini(&out);
    }
}

static void rig_open(rig *g, const cd_http2_cfg *cfg)
{
    static const cd_http2_events events = {.body_max = body_max, .request = on_request};
    nghttp2_session_callbacks *cb;
    *g = (rig){.cfg = *cfg, .now = 1000, .answers_now = true};
    g->cfg.streams_max = cfg->streams_max == 0 ? 8 : cfg->streams_max;
    g->cfg.header_max = cfg->header_max == 0 ? 4000 : cfg->header_max;
    g->cfg.buffered_max = cfg->buffered_max == 0 ? 4 << 20 : cfg->buffered_max;
    g->cfg.header_timeout_ms = 1000;
    g->cfg.read_timeout_ms = 2000;
    g->cfg.write_timeout_ms = 3000;
    g->cfg.idle_timeout_ms = 5000;
    g->h = cd_http2_new(&g->cfg, &events, g, g->now);
    assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_field);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_body);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_end);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    assert_int_equal(nghttp2_session_client_new(&g->client, cb, g), 0);
    nghttp2_session_callbacks_del(cb);
    assert_int_equal(nghttp2_submit_settings(g->client, NGHTTP2_FLAG_NONE, NULL, 0), 0);
}

static void rig_close(rig *g)
{
    cd_http2_free(g->h);
    g->h = NULL;
    answer_all(g); /* to nobody */
    nghttp2_session_del(g->client);
    for (usize i = 0; i < STREAMS; i++) {
        cd_buf_fini(&g->streams[i].body);
        cd_buf_fini(&g->streams[i].fields);
        cd_buf_fini(&g->streams[i].trailers);
    }
    cd_buf_fini(&g->body);
}

static void assert_answer(rig *g, i32 id, u32 status, const char *body)
{
    seen *s = seen_of(g, id);
    assert_int_equal(s->status, status);
    assert_string_equal(cd_buf_cstr(&s->body), body);
}

/* --- tests --- */

static void test_basics(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, &(cd_http2_cfg){0});
    cd_bytes upload = cd_bytes_str("hello");
    i32 a = get(&g, "/a?b=c");
    i32 b = ask(&g, "POST", "/b", &upload, NULL, NULL);
    i32 c = ask(&g, "HEAD", "/c", NULL, NULL, NULL);
    i32 d = ask(&g, "POST", "/d", &upload, "expect", "100-continue");
    i32 e = ask(&g, "BREW", "/e", NULL, NULL, NULL);
    talk(&g);
    assert_answer(&g, a, 200, "GET /a a.example ");
    assert_answer(&g, b, 200, "POST /b a.example hello");
    assert_answer(&g, c, 200, "");
    assert_answer(&g, d, 200, "POST /d a.example hello");
    assert_answer(&g, e, 200, "? /e a.example ");
    assert_true(seen_of(&g, d)->was_told_to_go_on && !seen_of(&g, b)->was_told_to_go_on);
    assert_string_equal(cd_buf_cstr(&seen_of(&g, a)->fields), "content-type: text/plain\nx-two: b\n");
    assert_true(seen_of(&g, a)->is_closed && seen_of(&g, a)->code == 0);
    assert_true(cd_http2_is_idle(g.h) && !cd_http2_is_over(g.h));
    assert_int_equal(g.goaway, 0);
    rig_close(&g);
}

/* Answers come in any order, a big one through the client's small window, with or without trailers. */
static void test_later(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, &(cd_http2_cfg){0});
    g.answers_now = false;
    i32 ids[5];
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        ids[i] = get(&g, "/later");
    }
    talk(&g);
    assert_int_equal(g.waiting_cnt, 5);
    assert_false(cd_http2_is_idle(g.h));
    for (u32 i = 0; i < 300000; i++) {
        cd_buf_u8(&g.body, (u8)(i % 251));
    }
    g.trailers = cd_bytes_str("Grpc-Status: 0\r\nGrpc-Message: fine\r\n");
    answer_all(&g);
    talk(&g);
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        seen *s = seen_of(&g, ids[i]);
        assert_true(s->is_closed);
        assert_true(cd_bytes_eq(cd_buf_bytes(&s->body), cd_buf_bytes(&g.body)));
        assert_string_equal(cd_buf_cstr(&s->trailers), "grpc-status: 0\ngrpc-message: fine\n");
    }
    rig_close(&g);
}

static void test_refusals(void **state)
{
    (void)state;
    rig g;
    cd_buf big = {0};
    cd_buf_fill(&big, 'x', 3 << 20);
    cd_bytes eleven = cd_bytes_str("12345678901");
    cd_bytes ten = cd_bytes_str("1234567890");
    cd_bytes nothing = {0};
    cd_bytes two_mib = cd_buf_bytes(&big);
    rig_open(&g, &(cd_http2_cfg){.header_max = 2000});
    i32 a = ask(&g, "POST", "/small", &eleven, NULL, NULL);
    i32 b = ask(&g, "POST", "/small", &ten, NULL, NULL);
    i32 c = ask(&g, "POST", "/small", &nothing, "content-length", "12");
    i32 d = ask(&g, "POST", "/big", &two_mib, NULL, NULL);
    talk(&g);
    assert_answer(&g, a, 413, "content length too large (11>10)");
    assert_answer(&g, b, 200, "POST /small a.example 1234567890");
    assert_answer(&g, c, 413, "content length too large (12>10)");
    assert_int_equal(seen_of(&g, d)->status, 413);
    /* The rest of the body is not wanted. */
    assert_true(seen_of(&g, d)->is_closed && seen_of(&g, d)->code == NGHTTP2_NO_ERROR);
    assert_true(seen_of(&g, d)->upload_at < big.n);

    big.p[1999] = '\0';
    i32 e = ask(&g, "GET", "/", NULL, "x-long", (const char *)big.p);
    i32 f = get(&g, "/after");
    talk(&g);
    assert_answer(&g, e, 431, "request header fields too large");
    assert_answer(&g, f, 200, "GET /after a.example ");
    rig_close(&g);

    /* More bodies than the connection may hold. */
    rig_open(&g, &(cd_http2_cfg){.buffered_max = 100000});
    g.answers_now = false;
    cd_bytes part = cd_bytes_of(big.p, 60000);
    a = ask(&g, "POST", "/", &part, NULL, NULL);
    b = ask(&g, "POST", "/", &part, NULL, NULL);
    talk(&g);
    answer_all(&g);
    talk(&g);
    u32 first = seen_of(&g, a)->status;
    u32 second = seen_of(&g, b)->status;
    assert_true((first == 200 && second == 503) || (first == 503 && second == 200));
    g.answers_now = true;
    c = ask(&g, "POST", "/", &part, NULL, NULL);
    talk(&g);
    assert_int_equal(seen_of(&g, c)->status, 200);
    rig_close(&g);
    cd_buf_fini(&big);
}

/* Heads count as bodies do, and what nghttp2 keeps; all of it comes back. */
static void test_heads_count(void **state)
{
    (void)state;
    enum { N = 40, HEAD = 50000, MAX = 1 << 20 };
    rig g;
    cd_bytes nothing = {0};
    char value[HEAD + 1];
    i32 ids[N];
    memset(value, 'v', HEAD);
    value[HEAD] = '\0';
    rig_open(&g, &(cd_http2_cfg){.buffered_max = MAX, .header_max = 65536, .streams_max = N});
    g.answers_now = false;
    talk(&g);
    usize idle = cd_http2_kept(g.h);
    assert_in_range(idle, 1000, 32 * 1024);
    for (usize i = 0; i < N; i++) {
        ids[i] = ask(&g, "POST", "/", &nothing, "x-long", value);
        talk(&g);
        assert_in_range(cd_http2_kept(g.h), cd_min_u64(i * HEAD, MAX - HEAD), MAX + 128 * 1024);
    }
    assert_in_range(g.waiting_cnt, N - MAX / HEAD, N); /* refused: the others wait for their bodies */
    answer_all(&g);
    talk(&g);
    assert_int_equal(seen_of(&g, ids[N - 1])->status, 503);
    assert_int_equal(seen_of(&g, ids[0])->status, 0);
    g.now += 2000;
    cd_http2_sweep(g.h, g.now);
    answer_all(&g);
    talk(&g);
    assert_true(cd_http2_is_idle(g.h));
    assert_int_equal(cd_http2_unfinished(g.h), 0);
    assert_in_range(cd_http2_kept(g.h), 0, idle + (64u << 10));
    rig_close(&g);
}

/* Answers that the client does not take hold up its next requests, not those of others, and not for ever. */
static void test_answers_not_taken(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, &(cd_http2_cfg){.buffered_max = 100000});
    nghttp2_settings_entry none = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
    assert_int_equal(nghttp2_submit_settings(g.client, NGHTTP2_FLAG_NONE, &none, 1), 0);
    cd_buf_fill(&g.body, 'x', 60000);
    i32 a = get(&g, "/1");
    i32 b = get(&g, "/2");
    i32 c = get(&g, "/3");
    talk(&g);
    assert_int_equal(g.requests, 2);
    g.now += 2999;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(g.requests, 2);
    g.now += 1;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(g.requests, 3);
    assert_true(seen_of(&g, a)->is_closed && seen_of(&g, a)->code == NGHTTP2_CANCEL);
    assert_true(seen_of(&g, b)->is_closed && seen_of(&g, b)->code == NGHTTP2_CANCEL);
    assert_false(seen_of(&g, c)->is_closed);
    rig_close(&g);
}

static void test_time(void **state)
{
    (void)state;
    rig g;
    cd_bytes nothing = {0};
    rig_open(&g, &(cd_http2_cfg){0});
    talk(&g);
    g.now += 999;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(g.goaway, 0);
    i32 a = ask(&g, "POST", "/", &nothing, NULL, NULL);
    talk(&g);
    g.now += 1999;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(seen_of(&g, a)->status, 0);
    g.now += 1;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_answer(&g, a, 408, "request not received in time");
    assert_true(cd_http2_is_idle(g.h));
    g.now += 4999;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(g.goaway, 0);
    g.now += 1;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(g.goaway, NGHTTP2_NO_ERROR + 1);
    assert_true(cd_http2_is_over(g.h));
    rig_close(&g);

    rig_open(&g, &(cd_http2_cfg){0}); /* no request at all */
    g.now += 1000;
    cd_http2_sweep(g.h, g.now);
    talk(&g);
    assert_int_equal(g.goaway, NGHTTP2_NO_ERROR + 1);
    rig_close(&g);
}

static void test_stop(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, &(cd_http2_cfg){0});
    g.answers_now = false;
    i32 a = get(&g, "/");
    talk(&g);
    cd_http2_stop(g.h);
    cd_http2_stop(g.h);
    talk(&g);
    assert_int_equal(g.goaway, NGHTTP2_NO_ERROR + 1);
    assert_false(cd_http2_is_over(g.h));
    assert_false(cd_http2_is_idle(g.h)); /* a request is being answered */
    answer_all(&g);
    talk(&g);
    assert_int_equal(seen_of(&g, a)->status, 200);
    assert_true(cd_http2_is_idle(g.h));
    assert_true(cd_http2_is_over(g.h));
    rig_close(&g);
}

/* --- frames by hand --- */

static void put_frame(cd_buf *b, u8 type, u8 flags, u32 id, cd_bytes payload)
{
    cd_put_be32(cd_buf_extend(b, 4), (u32)payload.n << 8 | type);
    cd_buf_u8(b, flags);
    cd_put_be32(cd_buf_extend(b, 4), id);
    cd_buf_put(b, payload);
}

/* ":method: GET", ":scheme: http", ":path: /" of HPACK's static table, ":authority: h". */
static const u8 get_root[] = {0x82, 0x86, 0x84, 0x41, 1, 'h'};

/* The client takes everything, and looks for GOAWAY only. */
static void take_raw(rig *g)
{
    enum { FRAME_HEAD = 9 };
    cd_buf b = {0};
    do {
        cd_buf_clear(&b);
        cd_http2_take(g->h, &b, 1 << 20, g->now);
        for (usize at = 0; at < b.n;) {
            usize n = cd_be32(b.p + at) >> 8;
            assert_true(at + FRAME_HEAD + n <= b.n);
            if (b.p[at + 3] == NGHTTP2_GOAWAY) {
                g->goaway = cd_be32(b.p + at + FRAME_HEAD + 4) + 1;
            }
            at += FRAME_HEAD + n;
        }
    } while (b.n != 0);
    cd_buf_fini(&b);
}

static void raw_open(rig *g, const cd_http2_cfg *cfg)
{
    cd_buf b = {0};
    rig_open(g, cfg);
    cd_buf_str(&b, cd_http2_preface);
    put_frame(&b, NGHTTP2_SETTINGS, 0, 0, (cd_bytes){0});
    cd_http2_feed(g->h, cd_buf_bytes(&b), g->now);
    cd_buf_fini(&b);
}

/* Feeds count times the frames in unit behind a preface, in no time. What the client is told at the end:
 * the code of GOAWAY plus one. */
static u32 flood(rig *g, cd_bytes (*unit)(cd_buf *b, u32 i), u32 count)
{
    cd_buf b = {0};
    raw_open(g, &(cd_http2_cfg){0});
    for (u32 i = 0; i < count; i++) {
        cd_buf_clear(&b);
        cd_http2_feed(g->h, unit(&b, i), g->now);
        if (i % 16 == 0) {
            take_raw(g);
        }
    }
    take_raw(g);
    cd_buf_fini(&b);
    assert_true(g->goaway == 0 || cd_http2_is_over(g->h));
    return g->goaway;
}

static cd_bytes ping(cd_buf *b, u32 i)
{
    (void)i;
    put_frame(b, NGHTTP2_PING, 0, 0, cd_bytes_str("12345678"));
    return cd_buf_bytes(b);
}

static cd_bytes settings(cd_buf *b, u32 i)
{
    (void)i;
    put_frame(b, NGHTTP2_SETTINGS, 0, 0, (cd_bytes){0});
    return cd_buf_bytes(b);
}

static cd_bytes rapid_reset(cd_buf *b, u32 i)
{
    static const u8 cancel[4] = {0, 0, 0, NGHTTP2_CANCEL};
    put_frame(b, NGHTTP2_HEADERS, 5, 1 + 2 * i, cd_bytes_of(get_root, sizeof get_root));
    put_frame(b, NGHTTP2_RST_STREAM, 0, 1 + 2 * i, cd_bytes_of(cancel, 4));
    return cd_buf_bytes(b);
}

/* Makes the server reset: a window that grows beyond its limit. */
static cd_bytes made_reset(cd_buf *b, u32 i)
{
    static const u8 most[4] = {0x7f, 0xff, 0xff, 0xff};
    put_frame(b, NGHTTP2_HEADERS, 5, 1 + 2 * i, cd_bytes_of(get_root, sizeof get_root));
    put_frame(b, NGHTTP2_WINDOW_UPDATE, 0, 1 + 2 * i, cd_bytes_of(most, 4));
    return cd_buf_bytes(b);
}

static cd_bytes empty_data(cd_buf *b, u32 i)
{
    if (i == 0) {
        put_frame(b, NGHTTP2_HEADERS, 4, 1, cd_bytes_of(get_root, sizeof get_root));
    }
    put_frame(b, NGHTTP2_DATA, 0, 1, (cd_bytes){0});
    return cd_buf_bytes(b);
}

/* A body in the smallest pieces that are not counted. */
static cd_bytes fair_data(cd_buf *b, u32 i)
{
    static const u8 zeros[CD_H2_TINY_DATA] = {0};
    if (i == 0) {
        put_frame(b, NGHTTP2_HEADERS, 4, 1, cd_bytes_of(get_root, sizeof get_root));
    }
    put_frame(b, NGHTTP2_DATA, 0, 1, cd_bytes_of(zeros, sizeof zeros));
    return cd_buf_bytes(b);
}

static cd_bytes continuation(cd_buf *b, u32 i)
{
    if (i == 0) {
        put_frame(b, NGHTTP2_HEADERS, 0, 1, cd_bytes_of(get_root, sizeof get_root));
    }
    put_frame(b, NGHTTP2_CONTINUATION, 0, 1, (cd_bytes){0});
    return cd_buf_bytes(b);
}

static cd_bytes small_window(cd_buf *b, u32 i)
{
    static const u8 one[4] = {0, 0, 0, 1};
    (void)i;
    put_frame(b, NGHTTP2_WINDOW_UPDATE, 0, 0, cd_bytes_of(one, 4));
    return cd_buf_bytes(b);
}

static cd_bytes unknown(cd_buf *b, u32 i)
{
    (void)i;
    put_frame(b, 0xee, 0, 0, cd_bytes_str("?"));
    return cd_buf_bytes(b);
}

static cd_bytes honest(cd_buf *b, u32 i)
{
    static const u8 eight[4] = {0, 0, 0, 8};
    if (i % 10 == 0) {
        (void)ping(b, i);
    }
    put_frame(b, NGHTTP2_WINDOW_UPDATE, 0, 0, cd_bytes_of(eight, 4));
    put_frame(b, NGHTTP2_HEADERS, 5, 1 + 2 * i, cd_bytes_of(get_root, sizeof get_root));
    return cd_buf_bytes(b);
}

static void test_floods(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        cd_bytes (*unit)(cd_buf *b, u32 i);
        u32 fine; /* so many in a second are tolerated */
        u32 bad;  /* 0: nothing is too much */
    } rows[] = {
        {"ping", ping, 1000, 5000},
        {"settings", settings, 100, 5000},
        {"made reset", made_reset, 20, 1000},
        {"empty data", empty_data, 1000, 5000},
        {"continuation", continuation, 3, 1000},
        {"small window", small_window, 1000, 5000},
        {"unknown", unknown, 0, 5000},
        {"fair data", fair_data, 5000, 0},
    };
    rig g;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (flood(&g, rows[i].unit, rows[i].fine) != 0) {
            fail_msg("%s: a few are too many", rows[i].name);
        }
        rig_close(&g);
        if (rows[i].bad == 0) {
            continue;
        }
        u32 code = flood(&g, rows[i].unit, rows[i].bad);
        if (code != NGHTTP2_ENHANCE_YOUR_CALM + 1 && rows[i].unit != unknown) {
            fail_msg("%s: tolerated, or code %u", rows[i].name, code - 1);
        }
        rig_close(&g);
    }
}

/* A request whose stream is reset at once reaches no handler, or leaves room for no other one. */
static void test_rapid_reset(void **state)
{
    (void)state;
    rig g;
    assert_int_equal(flood(&g, rapid_reset, 50), 0);
    rig_close(&g);
    assert_int_equal(flood(&g, rapid_reset, 1000), NGHTTP2_ENHANCE_YOUR_CALM + 1);
    assert_int_equal(g.requests, 0);
    rig_close(&g);

    rig_open(&g, &(cd_http2_cfg){.streams_max = 4});
    g.answers_now = false;
    for (u32 i = 0; i < 40; i++) {
        i32 id = get(&g, "/");
        talk(&g);
        assert_int_equal(nghttp2_submit_rst_stream(g.client, 0, id, NGHTTP2_CANCEL), 0);
        talk(&g);
    }
    assert_int_equal(g.waiting_cnt, 4); /* the others were reset while they waited */
    i32 last = get(&g, "/last");
    talk(&g);
    assert_int_equal(g.waiting_cnt, 4);
    answer_all(&g);
    talk(&g);
    answer_all(&g);
    talk(&g);
    assert_answer(&g, last, 200, "GET /last a.example ");
    rig_close(&g);
}

static void test_honest_client(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    raw_open(&g, &(cd_http2_cfg){.streams_max = 100});
    for (u32 i = 0; i < 20000; i++) {
        cd_buf_clear(&b);
        cd_http2_feed(g.h, honest(&b, i), g.now);
        take_raw(&g);
    }
    assert_int_equal(g.requests, 20000);
    assert_true(cd_http2_is_idle(g.h) && !cd_http2_is_over(g.h));
    cd_buf_fini(&b);
    rig_close(&g);
}

/* A number that was skipped is not to be used later. */
static void test_stream_numbers(void **state)
{
    (void)state;
    rig g;
    cd_buf b = {0};
    raw_open(&g, &(cd_http2_cfg){0});
    put_frame(&b, NGHTTP2_HEADERS, 5, 5, cd_bytes_of(get_root, sizeof get_root));
    put_frame(&b, NGHTTP2_HEADERS, 5, 3, cd_bytes_of(get_root, sizeof get_root));
    cd_http2_feed(g.h, cd_buf_bytes(&b), g.now);
    take_raw(&g);
    assert_int_equal(g.goaway, NGHTTP2_PROTOCOL_ERROR + 1);
    cd_buf_fini(&b);
    rig_close(&g);
}

static void msg_make(cd_http_msg *m)
{
    *m = (cd_http_msg){.method = CD_HTTP_POST};
    cd_http_msg_add(m, &m->target, cd_bytes_str("/up?q"));
    cd_http_field *f = cd_http_msg_add_field(m);
    cd_http_msg_add(m, &f->name, cd_bytes_str("Host"));
    cd_http_msg_add(m, &f->value, cd_bytes_str("h"));
    cd_buf_str(&m->body, "old");
}

static void test_upgrade(void **state)
{
    (void)state;
    static const char *const bad[] = {"AAMAAABkAAQCAAAAAAIAAAA", "A", "AAMAAABkAA==", "!AMAAABk"};
    rig g;
    cd_http_msg m;
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        rig_open(&g, &(cd_http2_cfg){0});
        msg_make(&m);
        assert_int_equal(cd_http2_upgrade(g.h, &m, cd_bytes_str(bad[i])), CD_EFORMAT);
        assert_int_equal(m.body.n, 3);
        cd_http_msg_fini(&m);
        rig_close(&g);
    }
    /* Stream 1 belongs to the request that asked for the change, and it has the client's settings. */
    static const u8 raw[] = {0, 3, 0, 0, 0, 100, 0, 4, 0, 0, 0, 5};
    rig_open(&g, &(cd_http2_cfg){0});
    msg_make(&m);
    assert_int_equal(cd_http2_upgrade(g.h, &m, cd_bytes_str("AAMAAABkAAQAAAAF")), CD_OK);
    assert_int_equal(m.body.n, 0);
    assert_int_equal(nghttp2_session_upgrade2(g.client, raw, sizeof raw, 0, NULL), 0);
    i32 next = get(&g, "/next");
    assert_int_equal(next, 3);
    talk(&g);
    assert_answer(&g, 1, 200, "POST /up h old");
    assert_answer(&g, 3, 200, "GET /next a.example ");
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basics),        cmocka_unit_test(test_later),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_answers_not_taken),
        cmocka_unit_test(test_time),          cmocka_unit_test(test_stop),
        cmocka_unit_test(test_floods),        cmocka_unit_test(test_rapid_reset),
        cmocka_unit_test(test_honest_client), cmocka_unit_test(test_stream_numbers),
        cmocka_unit_test(test_upgrade),       cmocka_unit_test(test_heads_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
