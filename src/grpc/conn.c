#include "grpc/conn_priv.h"

#include "base/mem/mem.h"
#include "grpc/out_priv.h"
#include "net/http/guard.h"

#include <nghttp2/nghttp2.h>

enum {
    STREAM_WINDOW = 4 * 1024 * 1024,
    CONN_WINDOW = 16 * 1024 * 1024,
    FRAME_MAX = 16 * 1024,
    COPY_MAX = 4096,    /* bytes of a body up to which it is copied behind its frame's head */
    OUTBOUND_MAX = 512, /* frames that may wait while the socket is full; with more, nothing is read from the peer */
    FIELDS_MAX = 96,
    TICK_MS = 1000,
    FRAME_HEAD = 9,
};

struct cd__grpc_conn {
    cd_loop *loop;
    cd_tcp *tcp;
    nghttp2_session *ng;
    cd__grpc_conn_cfg cfg;
    const cd__grpc_conn_events *events;
    void *ctx;
    cd_list streams;
    cd_h2_guard guard;
    cd_timer *timer;
    cd_loop_task flush;
    cd__grpc_out out;
    u64 read_ms;    /* when the peer last sent something */
    u64 ping_ms;    /* when the ping was sent whose answer is still missing; 0: none */
    u64 writing_ms; /* when the socket became full */
    bool is_writing;
    bool in_session; /* nghttp2 is at work: it must not be ended */
    bool is_posted;  /* flush was posted */
    bool is_doomed;  /* the connection is to be closed when nghttp2 has returned */
    bool is_closed;
    bool is_gone; /* the socket is closed, too */
    bool is_stopping;
};

static u64 now_ms(const cd__grpc_conn *c)
{
    return cd_loop_now_ms(c->loop);
}

/* --- end --- */

static void conn_free(cd__grpc_conn *c)
{
    cd__grpc_out_fini(&c->out);
    cd_free(c);
}

/* Ends a stream: its owner gets st back. */
static void stream_end(cd__grpc_conn *c, cd__grpc_stream *st, i32 code)
{
    if (st->conn == NULL) {
        return;
    }
    bool is_lent = st->out_at > CD__GRPC_HEAD && c->out.parts_cnt != 0;
    if (code == CD__GRPC_RST_REFUSED && is_lent) {
        cd_buf copy = {0};
        cd_buf_put(&copy, cd_buf_bytes(&st->out));
        cd__grpc_out_keep(&c->out, &st->out);
        st->out = copy;
    } else if (is_lent) {
        cd__grpc_out_keep(&c->out, &st->out);
    } else if (code != CD__GRPC_RST_REFUSED) {
        cd_buf_fini(&st->out);
    }
    cd_list_del(&st->link);
    st->conn = NULL;
    st->out_at = 0;
    c->events->closed(c->ctx, st, code);
}

void cd__grpc_conn_close(cd__grpc_conn *c)
{
    c->is_doomed = true;
    if (c->is_closed || c->in_session) {
        return;
    }
    c->is_closed = true;
    c->is_writing = false;
    cd_timer_free(c->timer);
    cd_tcp_close(c->tcp);
    for (cd_list *it; (it = cd_list_first(&c->streams)) != NULL;) {
        cd__grpc_stream *st = cd_list_of(it, cd__grpc_stream, link);
        stream_end(c, st, st->is_sent || c->cfg.is_server ? CD__GRPC_RST_BROKEN : CD__GRPC_RST_REFUSED);
    }
    nghttp2_session_del(c->ng);
    c->events->after(c->ctx);
}

static void on_tcp_closed(void *ctx)
{
    cd__grpc_conn *c = ctx;
    c->is_gone = true;
    c->events->gone(c->ctx);
    if (!c->is_posted) {
        conn_free(c);
    }
}

/* --- out --- */

/* Collects a frame of n bytes that nghttp2 wants to send: its head as a copy, the body from where it lies. */
static int send_data(nghttp2_session *ng, nghttp2_frame *f, const u8 *head, size_t n, nghttp2_data_source *source,
                     void *ctx)
{
    cd__grpc_conn *c = ctx;
    cd__grpc_stream *st = source->ptr;
    (void)ng;
    CD_ASSERT(f->data.padlen == 0);
    if (cd__grpc_out_is_full(&c->out)) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    cd__grpc_out_copy(&c->out, head, FRAME_HEAD);
    if (st->out_at < CD__GRPC_HEAD) {
        u8 msg_head[CD__GRPC_HEAD];
        usize take = cd_min_u64(n, CD__GRPC_HEAD - st->out_at);
        cd__grpc_head(msg_head, st->out.n);
        cd__grpc_out_copy(&c->out, msg_head + st->out_at, take);
        st->out_at += take;
        n -= take;
    }
    const u8 *from = st->out.n == 0 ? NULL : st->out.p + (st->out_at - CD__GRPC_HEAD);
    if (n != 0 && n <= COPY_MAX) {
        cd__grpc_out_copy(&c->out, from, n);
    } else if (n != 0) {
        cd__grpc_out_lend(&c->out, from, n);
    }
    st->out_at += n;
    cd_h2_guard_earn_bytes(&c->guard, n);
    return 0;
}

static usize nv_put(nghttp2_nv *nv, const cd__grpc_field *fields, usize cnt)
{
    CD_ASSERT(cnt <= FIELDS_MAX);
    for (usize i = 0; i < cnt; i++) {
        nv[i] = (nghttp2_nv){(u8 *)(uintptr_t)fields[i].name.p, (u8 *)(uintptr_t)fields[i].value.p, fields[i].name.n,
                             fields[i].value.n, NGHTTP2_NV_FLAG_NONE};
    }
    return cnt;
}

/* How much of the body goes into the next frame. */
static ssize_t read_body(nghttp2_session *ng, i32 id, u8 *buf, size_t max, u32 *flags, nghttp2_data_source *source,
                         void *ctx)
{
    cd__grpc_stream *st = source->ptr;
    usize left = CD__GRPC_HEAD + st->out.n - st->out_at;
    (void)buf;
    (void)ctx;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (left > max) {
        return (ssize_t)max;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (st->fields != NULL) {
        nghttp2_nv nv[FIELDS_MAX];
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)nghttp2_submit_trailer(ng, id, nv, nv_put(nv, st->fields, st->fields_cnt));
    }
    return (ssize_t)left;
}

static ssize_t frame_size(nghttp2_session *ng, u8 type, i32 id, i32 conn_window, i32 stream_window, u32 frame_max,
                          void *ctx)
{
    i32 n = conn_window < stream_window ? conn_window : stream_window;
    (void)ng;
    (void)type;
    (void)id;
    (void)ctx;
    return (ssize_t)cd_min_u64(cd_min_u64((u64)n, frame_max), FRAME_MAX);
}

/* Collects what nghttp2 has to send, as much as goes into one write. */
static void collect(cd__grpc_conn *c)
{
    CD_ASSERT(c->out.parts_cnt == 0);
    c->in_session = true;
    while (!cd__grpc_out_is_full(&c->out)) {
        const u8 *data;
        ssize_t n = nghttp2_session_mem_send(c->ng, &data);
        if (n <= 0) {
            c->is_doomed = c->is_doomed || n < 0;
            break;
        }
        cd__grpc_out_copy(&c->out, data, (usize)n);
    }
    c->in_session = false;
}

static bool is_over(const cd__grpc_conn *c)
{
    return nghttp2_session_want_read(c->ng) == 0 && nghttp2_session_want_write(c->ng) == 0;
}

/* Writes what was collected; false when that has to wait. */
static bool write_out(cd__grpc_conn *c)
{
    cd_err err = cd__grpc_out_write(&c->out, c->tcp);
    if (err == CD_EAGAIN) {
        c->is_writing = true;
        c->writing_ms = now_ms(c);
        return false;
    }
    c->is_doomed = c->is_doomed || err != CD_OK;
    return true;
}

static void flush(cd__grpc_conn *c)
{
    bool goes_on = !c->is_writing;
    while (goes_on && !c->is_doomed) {
        collect(c);
        if (c->out.parts_cnt == 0) {
            c->is_doomed = c->is_doomed || is_over(c);
            break;
        }
        goes_on = write_out(c);
    }
    if (c->is_doomed) {
        cd__grpc_conn_close(c);
    } else if (c->is_writing && nghttp2_session_get_outbound_queue_size(c->ng) > OUTBOUND_MAX) {
        cd_tcp_pause(c->tcp);
    }
}

static void on_flush(cd_loop_task *t)
{
    cd__grpc_conn *c = (cd__grpc_conn *)(void *)((char *)t - offsetof(cd__grpc_conn, flush));
    c->is_posted = false;
    if (c->is_gone) {
        conn_free(c);
        return;
    }
    if (!c->is_closed) {
        flush(c);
        c->events->after(c->ctx);
    }
}

/* Something is to be sent: posts a flush, so that everything of this turn of the loop is sent together. */
static void post_flush(cd__grpc_conn *c)
{
    if (!c->is_posted && !c->is_closed) {
        c->is_posted = true;
        cd_loop_post(c->loop, &c->flush);
    }
}

static void terminate(cd__grpc_conn *c, u32 code)
{
    (void)nghttp2_session_terminate_session(c->ng, code);
}

static void pay(cd__grpc_conn *c, u32 cost)
{
    if (!cd_h2_guard_pay(&c->guard, cost, now_ms(c))) {
        terminate(c, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

/* --- in --- */

static cd__grpc_stream *stream_of(nghttp2_session *ng, i32 id)
{
    return id == 0 ? NULL : nghttp2_session_get_stream_user_data(ng, id);
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx)
{
    cd__grpc_conn *c = ctx;
    (void)ng;
    if (hd->type == NGHTTP2_CONTINUATION) {
        pay(c, CD_H2_COST_CONTINUATION);
    }
    if (hd->type == NGHTTP2_HEADERS && c->cfg.is_server && !cd_h2_guard_open(&c->guard, hd->stream_id)) {
        terminate(c, NGHTTP2_PROTOCOL_ERROR);
    }
    return 0;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    cd__grpc_conn *c = ctx;
    if (!c->cfg.is_server || f->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    cd__grpc_stream *st = c->is_doomed ? NULL : c->events->open(c->ctx);
    if (st == NULL) {
        pay(c, CD_H2_COST_SETTINGS);
        (void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    st->conn = c;
    st->id = f->hd.stream_id;
    cd_list_push_back(&c->streams, &st->link);
    (void)nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, st);
    return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const u8 *name, size_t name_n, const u8 *value,
                     size_t value_n, u8 flags, void *ctx)
{
    cd__grpc_conn *c = ctx;
    cd__grpc_stream *st = stream_of(ng, f->hd.stream_id);
    (void)flags;
    if (st == NULL || st->header_bytes > c->cfg.header_max) {
        return 0;
    }
    st->header_bytes += name_n + value_n + 32;
    if (st->header_bytes > c->cfg.header_max) {
        pay(c, CD_H2_COST_HEADERS_TOO_LARGE);
        cd__grpc_conn_reset(st, CD__GRPC_RST_CALM);
        return 0;
    }
    bool is_trailer = f->headers.cat == NGHTTP2_HCAT_HEADERS;
    c->events->header(c->ctx, st, cd_bytes_of(name, name_n), cd_bytes_of(value, value_n), is_trailer);
    return 0;
}

static void on_ping(cd__grpc_conn *c, bool is_ack)
{
    if (!is_ack) {
        pay(c, CD_H2_COST_FRAME);
        return;
    }
    c->ping_ms = 0;
    if (c->is_stopping) {
        i32 last = nghttp2_session_get_last_proc_stream_id(c->ng);
        (void)nghttp2_submit_goaway(c->ng, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    }
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    cd__grpc_conn *c = ctx;
    cd__grpc_stream *st = stream_of(ng, f->hd.stream_id);
    bool is_last = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (f->hd.type) {
    case NGHTTP2_HEADERS:
        if (st != NULL && st->header_bytes <= c->cfg.header_max) {
            st->has_ended = is_last;
            c->events->head_end(c->ctx, st);
        }
        break;
    case NGHTTP2_DATA:
        if (f->hd.length < CD_H2_TINY_DATA && !is_last) {
            pay(c, CD_H2_COST_FRAME);
        }
        break;
    case NGHTTP2_PING:
        on_ping(c, (f->hd.flags & NGHTTP2_FLAG_ACK) != 0);
        return 0;
    case NGHTTP2_SETTINGS:
        pay(c, CD_H2_COST_SETTINGS);
        return 0;
    default:
        pay(c, CD_H2_COST_FRAME);
        return 0;
    }
    st = stream_of(ng, f->hd.stream_id);
    if (st != NULL && is_last) {
        st->has_ended = true;
        c->events->end(c->ctx, st);
    }
    return 0;
}

static int on_invalid_frame(nghttp2_session *ng, const nghttp2_frame *f, int err, void *ctx)
{
    (void)ng;
    (void)f;
    (void)err;
    pay(ctx, CD_H2_COST_RESET);
    return 0;
}

static int on_data(nghttp2_session *ng, u8 flags, i32 id, const u8 *data, size_t n, void *ctx)
{
    cd__grpc_conn *c = ctx;
    cd__grpc_stream *st = stream_of(ng, id);
    (void)flags;
    if (st != NULL && st->header_bytes <= c->cfg.header_max) {
        cd_h2_guard_earn_bytes(&c->guard, n);
        c->events->data(c->ctx, st, cd_bytes_of(data, n));
    }
    return 0;
}

static int on_frame_sent(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    cd__grpc_conn *c = ctx;
    cd__grpc_stream *st = stream_of(ng, f->hd.stream_id);
    bool is_last = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (st == NULL || (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA)) {
        return 0;
    }
    st->is_sent = true;
    if (c->cfg.is_server && is_last && !st->has_ended) {
        /* The call was answered before its request was complete: the rest of it is not wanted [RFC 9113 8.1]. */
        (void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *ng, i32 id, u32 code, void *ctx)
{
    cd__grpc_conn *c = ctx;
    cd__grpc_stream *st = stream_of(ng, id);
    if (st == NULL) {
        return 0;
    }
    if (code == NGHTTP2_NO_ERROR) {
        cd_h2_guard_earn(&c->guard, CD_H2_EARN_ANSWER);
    } else {
        pay(c, CD_H2_COST_SETTINGS);
    }
    bool was_begun = st->is_sent || c->cfg.is_server;
    stream_end(c, st, was_begun ? (i32)(code & INT32_MAX) : CD__GRPC_RST_REFUSED);
    return 0;
}

static void on_tcp_data(void *ctx, cd_bytes data)
{
    cd__grpc_conn *c = ctx;
    c->read_ms = now_ms(c);
    c->in_session = true;
    ssize_t n = nghttp2_session_mem_recv(c->ng, data.p, data.n);
    c->in_session = false;
    if (n < 0) { /* the possible errors, a wrong preface aside, are floods of some kind */
        terminate(c, n == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_ENHANCE_YOUR_CALM);
    }
    post_flush(c);
    c->events->after(c->ctx);
}

static void on_tcp_end(void *ctx, cd_err err)
{
    (void)err;
    cd__grpc_conn_close(ctx);
}

static void on_tcp_written(void *ctx, cd_err err)
{
    cd__grpc_conn *c = ctx;
    c->is_writing = false;
    cd__grpc_out_done(&c->out);
    if (err != CD_OK) {
        cd__grpc_conn_close(c);
        return;
    }
    cd_tcp_resume(c->tcp);
    flush(c);
    c->events->after(c->ctx);
}

/* --- time --- */

static void on_tick(void *ctx)
{
    cd__grpc_conn *c = ctx;
    u64 now = now_ms(c);
    u64 silence = now - c->read_ms;
    bool is_stuck = c->is_writing && now - c->writing_ms >= c->cfg.write_timeout_ms;
    bool is_dead = c->ping_ms != 0 && now - c->ping_ms >= c->cfg.ping_timeout_ms && c->read_ms < c->ping_ms;
    if (is_stuck || is_dead) {
        cd__grpc_conn_close(c);
    } else if (c->cfg.ping_ms != 0 && silence >= c->cfg.ping_ms && (c->ping_ms == 0 || c->read_ms >= c->ping_ms)) {
        c->ping_ms = now;
        (void)nghttp2_submit_ping(c->ng, NGHTTP2_FLAG_NONE, NULL);
        post_flush(c);
    }
}

/* --- begin --- */

static nghttp2_session *session_new(cd__grpc_conn *c)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;
    nghttp2_session *ng;
    int rc = nghttp2_session_callbacks_new(&cb);
    rc |= nghttp2_option_new(&opt);
    CD_ASSERT(rc == 0);
    nghttp2_option_set_peer_max_concurrent_streams(opt, UINT32_MAX / 2);
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
    nghttp2_session_callbacks_set_send_data_callback(cb, send_data);
    nghttp2_session_callbacks_set_data_source_read_length_callback(cb, frame_size);
    rc = c->cfg.is_server ? nghttp2_session_server_new2(&ng, cb, c, opt) : nghttp2_session_client_new2(&ng, cb, c, opt);
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(opt);
    CD_ASSERT(rc == 0);
    return ng;
}

static void settings_submit(cd__grpc_conn *c)
{
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (u32)c->cfg.header_max},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, c->cfg.streams_max},
    };
    if (!c->cfg.is_server) {
        settings[CD_COUNT(settings) - 1] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    }
    int rc = nghttp2_submit_settings(c->ng, NGHTTP2_FLAG_NONE, settings, CD_COUNT(settings));
    rc |= nghttp2_session_set_local_window_size(c->ng, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW);
    CD_ASSERT(rc == 0);
}

cd__grpc_conn *cd__grpc_conn_new(cd_loop *l, cd_tcp *tcp, const cd__grpc_conn_cfg *cfg,
                                 const cd__grpc_conn_events *events, void *ctx)
{
    static const cd_tcp_events tcp_events = {
        .data = on_tcp_data,
        .end = on_tcp_end,
        .written = on_tcp_written,
        .closed = on_tcp_closed,
    };
    cd__grpc_conn *c = cd_new(cd__grpc_conn);
    CD_ASSERT(cfg->header_max <= UINT32_MAX);
    c->loop = l;
    c->tcp = tcp;
    c->cfg = *cfg;
    c->events = events;
    c->ctx = ctx;
    c->flush.fn = on_flush;
    c->read_ms = now_ms(c);
    cd_list_init(&c->streams);
    cd_h2_guard_init(&c->guard, now_ms(c));
    c->ng = session_new(c);
    settings_submit(c);
    c->timer = cd_timer_new(l, on_tick, c);
    u64 tick =
        cfg->ping_ms == 0 ? TICK_MS : cd_min_u64(TICK_MS, cd_min_u64(cfg->ping_ms, cfg->ping_timeout_ms) / 2 + 1);
    cd_timer_start(c->timer, tick, tick);
    cd_tcp_start(tcp, &tcp_events, c);
    post_flush(c);
    return c;
}

bool cd__grpc_conn_is_open(const cd__grpc_conn *c)
{
    return !c->is_doomed && !c->is_closed && nghttp2_session_check_request_allowed(c->ng) != 0;
}

bool cd__grpc_conn_request(cd__grpc_conn *c, cd__grpc_stream *st, const cd__grpc_field *fields, usize cnt)
{
    nghttp2_nv nv[FIELDS_MAX];
    const nghttp2_data_provider body = {.source = {.ptr = st}, .read_callback = read_body};
    if (!cd__grpc_conn_is_open(c)) {
        return false;
    }
    i32 id = nghttp2_submit_request(c->ng, NULL, nv, nv_put(nv, fields, cnt), &body, st);
    if (id < 0) {
        return false;
    }
    st->conn = c;
    st->id = id;
    st->out_at = 0;
    st->is_sent = false;
    cd_list_push_back(&c->streams, &st->link);
    post_flush(c);
    return true;
}

void cd__grpc_conn_respond(cd__grpc_stream *st, const cd__grpc_field *fields, usize cnt)
{
    nghttp2_nv nv[FIELDS_MAX];
    const nghttp2_data_provider body = {.source = {.ptr = st}, .read_callback = read_body};
    cd__grpc_conn *c = st->conn;
    int rc = nghttp2_submit_response(c->ng, st->id, nv, nv_put(nv, fields, cnt), st->has_body ? &body : NULL);
    if (rc != 0) {
        cd__grpc_conn_reset(st, NGHTTP2_INTERNAL_ERROR);
    }
    post_flush(c);
}

void cd__grpc_conn_reset(cd__grpc_stream *st, i32 code)
{
    (void)nghttp2_submit_rst_stream(st->conn->ng, NGHTTP2_FLAG_NONE, st->id, (u32)code);
    post_flush(st->conn);
}

void cd__grpc_conn_stop(cd__grpc_conn *c)
{
    if (!c->is_stopping && !c->is_closed) {
        c->is_stopping = true;
        (void)nghttp2_submit_shutdown_notice(c->ng);
        (void)nghttp2_submit_ping(c->ng, NGHTTP2_FLAG_NONE, NULL);
        post_flush(c);
    }
}
