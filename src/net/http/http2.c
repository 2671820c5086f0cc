#include "net/http/http2.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/list.h"
#include "base/text.h"
#include "net/http/guard.h"

#include <nghttp2/nghttp2.h>

#include <stdio.h>

enum {
    STREAM_WINDOW = 256 * 1024,
    CONN_WINDOW = 1024 * 1024,
    OUTBOUND_MAX = 256, /* frames that wait while the socket is full */
    FIELDS_MAX = 64,    /* of an answer */
};

const char cd_http2_preface[CD_HTTP2_PREFACE_LEN + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct cd_http2_stream {
    cd_list link;
    cd_list ready;
    cd_http2 *h; /* NULL once the connection is gone */
    i32 id;
    cd_http_msg msg;
    usize header_bytes;
    usize body_max;
    u64 begun_ms;
    u64 write_end_ms;
    u32 refusal;
    char text[80];
    cd_buf out;
    usize out_at;
    cd_buf trailers;
    bool has_head;    /* the header block is complete */
    bool has_ended;   /* the request is complete */
    bool is_held;     /* somebody works on the answer */
    bool is_answered; /* submitted */
    bool is_open;     /* more of the body may come */
    bool is_idle;     /* nghttp2 waits for more of it */
    bool is_closed;   /* nghttp2 knows it no more */
    usize counted;    /* bytes of this stream in the connection's `buffered` */
};

struct cd_http2 {
    nghttp2_session *ng;
    cd_http2_cfg cfg;
    const cd_http2_events *events;
    void *ctx;
    cd_list streams;
    cd_list ready; /* requests that nobody works on yet */
    u32 open_cnt;  /* streams that are not closed */
    u32 held_cnt;
    usize session_bytes;    /* bytes that nghttp2 has allocated */
    usize buffered;         /* bytes that streams hold: themselves, heads, bodies, answers */
    usize held_bytes;       /* bytes of `buffered` in requests that somebody works on */
    usize answers_buffered; /* bytes of `buffered` in answers that are not sent yet */
    u64 now_ms;
    u64 idle_end_ms;
    cd_h2_guard guard;
    cd_buf *taking;
    usize take_max;
    bool is_pumping;
    bool is_held_up; /* until the client speaks HTTP/2, too: curl has little room for what follows 101 */
    bool is_ending;  /* GOAWAY is on its way */
    bool is_doomed;  /* for a reason: nothing more is read or handed out */
    bool is_broken;
};

/* --- streams --- */

static void stream_free(cd_http2_stream *st)
{
    cd_http_msg_fini(&st->msg);
    cd_buf_fini(&st->out);
    cd_buf_fini(&st->trailers);
    cd_free(st);
}

/* Brings the connection's sums up to date with what st holds; after each change of that. */
static void recount(cd_http2_stream *st)
{
    usize bytes = sizeof *st + st->msg.text.cap + st->msg.body.cap + st->out.cap + st->trailers.cap;
    st->h->buffered += bytes - st->counted;
    st->h->held_bytes += st->is_held ? bytes - st->counted : 0;
    st->counted = bytes;
}

/* Somebody begins to work on st, or has stopped. */
static void set_held(cd_http2_stream *st, bool is_held)
{
    CD_ASSERT(st->is_held != is_held);
    st->is_held = is_held;
    if (is_held) {
        st->h->held_cnt++;
        st->h->held_bytes += st->counted;
    } else {
        st->h->held_cnt--;
        st->h->held_bytes -= st->counted;
    }
}

/* May st take n bytes more of what the client sends? */
static bool may_keep(const cd_http2_stream *st, usize n)
{
    const cd_http2 *h = st->h;
    return h->buffered + n <= h->cfg.buffered_max && (h->events->may_keep == NULL || h->events->may_keep(h->ctx, n));
}

static void drop_msg(cd_http2_stream *st)
{
    cd_http_msg_fini(&st->msg);
    st->msg = (cd_http_msg){0};
    recount(st);
}

static void drop_out(cd_http2_stream *st)
{
    st->h->answers_buffered -= st->out.n - st->out_at;
    cd_buf_fini(&st->out);
    st->out_at = 0;
    recount(st);
}

static void stream_release(cd_http2_stream *st)
{
    drop_msg(st);
    drop_out(st);
    st->h->buffered -= st->counted;
    cd_list_del(&st->link);
    cd_list_del(&st->ready);
    stream_free(st);
}

static cd_http2_stream *stream_new(cd_http2 *h, i32 id)
{
    cd_http2_stream *st = cd_new(cd_http2_stream);
    st->h = h;
    st->id = id;
    st->begun_ms = h->now_ms;
    cd_list_init(&st->ready);
    cd_list_push_back(&h->streams, &st->link);
    h->open_cnt++;
    recount(st);
    return st;
}

static void make_ready(cd_http2_stream *st)
{
    if (cd_list_is_empty(&st->ready) && !st->is_held && !st->is_answered) {
        cd_list_push_back(&st->h->ready, &st->ready);
    }
}

static void refuse(cd_http2_stream *st, u32 status, const char *text)
{
    if (st->refusal == 0 && !st->is_held && !st->is_answered) {
        st->refusal = status;
        (void)snprintf(st->text, sizeof st->text, "%s", text);
        drop_msg(st);
        make_ready(st);
    }
}

static void refuse_crowd(cd_http2_stream *st)
{
    refuse(st, 503, "too much at a time");
}

static void refuse_body(cd_http2_stream *st, u64 size)
{
    char text[80];
    (void)snprintf(text, sizeof text, "content length too large (%llu>%zu)", (unsigned long long)size, st->body_max);
    refuse(st, 413, text);
}

/* --- credit --- */

static void terminate(cd_http2 *h, u32 code)
{
    h->is_ending = true;
    h->is_doomed = true;
    (void)nghttp2_session_terminate_session(h->ng, code);
}

static void pay(cd_http2 *h, u32 cost)
{
    if (!cd_h2_guard_pay(&h->guard, cost, h->now_ms)) {
        terminate(h, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

/* --- what nghttp2 tells --- */

static cd_http2_stream *stream_of(nghttp2_session *ng, i32 id)
{
    return nghttp2_session_get_stream_user_data(ng, id);
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx)
{
    cd_http2 *h = ctx;
    (void)ng;
    if (hd->type == NGHTTP2_CONTINUATION) {
        pay(h, CD_H2_COST_CONTINUATION);
    }
    if (hd->type != NGHTTP2_HEADERS) {
        return 0;
    }
    if (!cd_h2_guard_open(&h->guard, hd->stream_id)) {
        terminate(h, NGHTTP2_PROTOCOL_ERROR);
    }
    return 0;
}

static bool is_request(const nghttp2_frame *f)
{
    return f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    if (is_request(f)) {
        cd_http2_stream *st = stream_new(ctx, f->hd.stream_id);
        (void)nghttp2_session_set_stream_user_data(ng, f->hd.stream_id, st);
    }
    return 0;
}

static cd_http_method method_of(cd_bytes name)
{
    for (u32 bit = CD_HTTP_GET; bit < CD_HTTP_OTHER; bit *= 2) {
        if (cd_bytes_eq(name, cd_bytes_str(cd_http_method_name((cd_http_method)bit)))) {
            return (cd_http_method)bit;
        }
    }
    return CD_HTTP_OTHER;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const u8 *name, size_t name_n, const u8 *value,
                     size_t value_n, u8 flags, void *ctx)
{
    cd_http2_stream *st = stream_of(ng, f->hd.stream_id);
    cd_bytes n = cd_bytes_of(name, name_n);
    cd_bytes v = cd_bytes_of(value, value_n);
    (void)flags;
    (void)ctx;
    if (st == NULL || !is_request(f) || st->refusal != 0) {
        return 0; /* trailers are dropped */
    }
    st->header_bytes += name_n + value_n + 32;
    if (st->header_bytes > st->h->cfg.header_max) {
        pay(st->h, CD_H2_COST_HEADERS_TOO_LARGE);
        refuse(st, 431, "request header fields too large");
    } else if (!may_keep(st, name_n + value_n)) {
        refuse_crowd(st);
    } else if (cd_bytes_eq(n, cd_bytes_str(":method"))) {
        st->msg.method = method_of(v);
    } else if (cd_bytes_eq(n, cd_bytes_str(":path"))) {
        cd_http_msg_add(&st->msg, &st->msg.target, v);
    } else if (cd_bytes_eq(n, cd_bytes_str(":authority"))) {
        cd_http_msg_add(&st->msg, &st->msg.authority, v);
    } else if (name[0] != ':') {
        cd_http_field *field = cd_http_msg_add_field(&st->msg);
        if (field == NULL) {
            refuse(st, 431, "too many request header fields");
            return 0;
        }
        cd_http_msg_add(&st->msg, &field->name, n);
        cd_http_msg_add(&st->msg, &field->value, v);
    }
    recount(st);
    return 0;
}

static void submit_continue(cd_http2_stream *st)
{
    static char name[] = ":status";
    static char value[] = "100";
    const nghttp2_nv nv = {(u8 *)name, (u8 *)value, sizeof name - 1, sizeof value - 1, 0};
    (void)nghttp2_submit_headers(st->h->ng, NGHTTP2_FLAG_NONE, st->id, NULL, &nv, 1, NULL);
}

/* The head is complete and a body comes. */
static void expect_body(cd_http2_stream *st)
{
    cd_bytes length = cd_http_msg_header(&st->msg, "content-length");
    cd_bytes expect = cd_http_msg_header(&st->msg, "expect");
    u64 size = 0; /* nghttp2 has checked the number */
    st->body_max = st->h->events->body_max(st->h->ctx, &st->msg);
    if (length.n != 0 && cd_u64_parse(&size, length) == CD_OK && size > st->body_max) {
        refuse_body(st, size);
    } else if (cd_http_name_eq(expect, cd_bytes_str("100-continue"))) {
        submit_continue(st);
    }
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    cd_http2 *h = ctx;
    cd_http2_stream *st = f->hd.stream_id == 0 ? NULL : stream_of(ng, f->hd.stream_id);
    bool is_last = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (f->hd.type) {
    case NGHTTP2_HEADERS:
        if (st != NULL && is_request(f)) {
            st->has_head = true;
            if (!is_last && st->refusal == 0) {
                expect_body(st);
            }
        }
        break;
    case NGHTTP2_DATA:
        if (f->hd.length < CD_H2_TINY_DATA && !is_last) {
            pay(h, CD_H2_COST_FRAME);
        }
        break;
    case NGHTTP2_SETTINGS:
        pay(h, CD_H2_COST_SETTINGS);
        return 0;
    default:
        pay(h, CD_H2_COST_FRAME);
        return 0;
    }
    if (st != NULL && is_last) {
        st->has_ended = true;
        make_ready(st);
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
    cd_http2 *h = ctx;
    cd_http2_stream *st = stream_of(ng, id);
    (void)flags;
    if (st == NULL || st->refusal != 0 || st->is_answered) {
        return 0;
    }
    if (n > st->body_max - st->msg.body.n) {
        refuse_body(st, st->msg.body.n + n);
    } else if (!may_keep(st, n)) {
        refuse_crowd(st);
    } else {
        cd_buf_put(&st->msg.body, cd_bytes_of(data, n));
        recount(st);
        cd_h2_guard_earn_bytes(&h->guard, n);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *ng, i32 id, u32 code, void *ctx)
{
    cd_http2 *h = ctx;
    cd_http2_stream *st = stream_of(ng, id);
    (void)code;
    if (st == NULL) {
        return 0;
    }
    bool is_done = st->is_answered && st->out_at == st->out.n; /* so, too, the end of a stream */
    st->is_closed = true;
    if (--h->open_cnt == 0) {
        h->idle_end_ms = h->now_ms + h->cfg.idle_timeout_ms;
    }
    if (is_done) {
        cd_h2_guard_earn(&h->guard, CD_H2_EARN_ANSWER);
    } else {
        pay(h, CD_H2_COST_RESET);
    }
    if (!st->is_held) {
        stream_release(st);
    } else if (st->is_open) {
        h->events->gone(h->ctx, st);
    }
    return 0;
}

/* --- answers --- */

static int on_frame_sent(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
    (void)ctx;
    if ((f->hd.type == NGHTTP2_HEADERS || f->hd.type == NGHTTP2_DATA) && (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        const cd_http2_stream *st = stream_of(ng, f->hd.stream_id);
        if (st != NULL && !st->has_ended) {
            /* Answered before all of it was asked: the rest is not wanted [RFC 9113 8.1]. */
            (void)nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
        }
    }
    return 0;
}

/* Header fields for nghttp2; the names are in text, in lower case. */
typedef struct fields {
    nghttp2_nv nv[FIELDS_MAX];
    usize cnt;
    cd_buf text;
} fields;

static bool is_http1_only(cd_bytes name)
{
    static const char *const names[] = {"connection", "keep-alive", "transfer-encoding", "upgrade"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(names[i]))) {
            return true;
        }
    }
    return false;
}

static void fields_add(fields *f, u8 *name, usize name_n, u8 *value, usize value_n)
{
    CD_ASSERT(f->cnt < FIELDS_MAX);
    f->nv[f->cnt++] = (nghttp2_nv){name, value, name_n, value_n, NGHTTP2_NV_FLAG_NONE};
}

/* Splits lines into fields. */
static void fields_parse(fields *f, cd_bytes lines)
{
    cd_buf_clear(&f->text);
    cd_buf_put(&f->text, lines);
    u8 *at = f->text.p;
    u8 *end = at + f->text.n;
    while (at != end) {
        u8 *stop = memchr(at, '\r', (usize)(end - at));
        u8 *colon = memchr(at, ':', (usize)(end - at));
        CD_ASSERT(stop != NULL && colon != NULL && colon + 2 <= stop);
        for (u8 *c = at; c != colon; c++) {
            *c = cd_text_lower(*c);
        }
        usize name_n = (usize)(colon - at);
        if (!is_http1_only(cd_bytes_of(at, name_n))) {
            fields_add(f, at, name_n, colon + 2, (usize)(stop - colon - 2));
        }
        at = stop + 2;
    }
}

/* How much of the body goes into the next frame; it is copied when the frame is. */
static ssize_t read_body(nghttp2_session *ng, i32 id, u8 *buf, size_t max, u32 *flags, nghttp2_data_source *source,
                         void *ctx)
{
    cd_http2_stream *st = source->ptr;
    usize left = st->out.n - st->out_at;
    (void)buf;
    (void)ctx;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (left > max) {
        return (ssize_t)max;
    }
    if (st->is_open) {
        st->is_idle = left == 0;
        return st->is_idle ? NGHTTP2_ERR_DEFERRED : (ssize_t)left;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (st->trailers.n != 0) {
        fields f = {0};
        fields_parse(&f, cd_buf_bytes(&st->trailers));
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)nghttp2_submit_trailer(ng, id, f.nv, f.cnt);
        cd_buf_fini(&f.text);
    }
    return (ssize_t)left;
}

static int send_body(nghttp2_session *ng, nghttp2_frame *f, const u8 *head, size_t n, nghttp2_data_source *source,
                     void *ctx)
{
    enum { FRAME_HEAD = 9 };
    cd_http2 *h = ctx;
    cd_http2_stream *st = source->ptr;
    (void)ng;
    CD_ASSERT(f->data.padlen == 0);
    if (h->taking->n >= h->take_max) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    cd_buf_put(h->taking, cd_bytes_of(head, FRAME_HEAD));
    cd_buf_put(h->taking, cd_bytes_of(st->out.p + st->out_at, n));
    st->out_at += n;
    h->answers_buffered -= n;
    cd_h2_guard_earn_bytes(&h->guard, n);
    if (st->is_open) {
        st->write_end_ms = h->now_ms + h->cfg.write_timeout_ms;
        if (st->out_at == st->out.n) {
            st->out_at = 0;
            cd_buf_clear(&st->out);
            h->events->drained(h->ctx, st);
        }
    }
    return 0;
}

static void submit(cd_http2_stream *st, const cd_http2_reply *reply)
{
    static char status[] = ":status";
    char text[CD_U64_TEXT_MAX];
    usize text_n = cd_u64_fmt(text, reply->status);
    fields f = {0};
    fields_add(&f, (u8 *)status, sizeof status - 1, (u8 *)text, text_n);
    fields_parse(&f, reply->lines);
    const nghttp2_data_provider body = {.source = {.ptr = st}, .read_callback = read_body};
    bool has_body = st->out.n != 0 || st->trailers.n != 0 || st->is_open;
    int rc = nghttp2_submit_response(st->h->ng, st->id, f.nv, f.cnt, has_body ? &body : NULL);
    cd_buf_fini(&f.text);
    if (rc != 0) {
        (void)nghttp2_submit_rst_stream(st->h->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_INTERNAL_ERROR);
    }
}

usize cd_http2_kept(const cd_http2 *h)
{
    return sizeof *h + h->session_bytes + h->buffered;
}

usize cd_http2_unfinished(const cd_http2 *h)
{
    return h->buffered - h->held_bytes;
}

usize cd_http2_waiting_answers(const cd_http2 *h)
{
    return h->answers_buffered;
}

void cd_http2_answer(cd_http2_stream *st, const cd_http2_reply *reply, u64 now_ms)
{
    cd_http2 *h = st->h;
    CD_ASSERT(st->is_held);
    if (h == NULL) {
        stream_free(st);
        return;
    }
    h->now_ms = now_ms;
    set_held(st, false);
    st->is_answered = true;
    if (st->is_closed) {
        stream_release(st);
        return;
    }
    drop_msg(st);
    if (reply->body != NULL) {
        st->out = *reply->body;
        *reply->body = (cd_buf){0};
        h->answers_buffered += st->out.n;
    }
    cd_buf_put(&st->trailers, reply->trailers);
    recount(st);
    st->write_end_ms = now_ms + h->cfg.write_timeout_ms;
    submit(st, reply);
}

void cd_http2_open(cd_http2_stream *st, const cd_http2_reply *reply, u64 now_ms)
{
    cd_http2 *h = st->h;
    CD_ASSERT(st->is_held && h != NULL && reply->body == NULL && reply->trailers.n == 0);
    h->now_ms = now_ms;
    st->is_answered = true;
    st->is_open = true;
    drop_msg(st);
    if (!st->is_closed) {
        submit(st, reply);
    }
}

void cd_http2_put(cd_http2_stream *st, cd_bytes bytes, u64 now_ms)
{
    cd_http2 *h = st->h;
    CD_ASSERT(st->is_open);
    if (h == NULL || st->is_closed) {
        return;
    }
    h->now_ms = now_ms;
    if (st->out_at == st->out.n) {
        st->write_end_ms = now_ms + h->cfg.write_timeout_ms;
    } else if (st->out_at > st->out.n / 2) {
        st->out.n -= st->out_at;
        memmove(st->out.p, st->out.p + st->out_at, st->out.n);
        st->out_at = 0;
    }
    cd_buf_put(&st->out, bytes);
    recount(st);
    h->answers_buffered += bytes.n;
    if (st->is_idle) {
        st->is_idle = false;
        (void)nghttp2_session_resume_data(h->ng, st->id);
    }
}

usize cd_http2_waiting(const cd_http2_stream *st)
{
    return st->out.n - st->out_at;
}

/* The caller of an open answer lets go of it. False: nobody else knows it. */
static bool let_go(cd_http2_stream *st, u64 now_ms)
{
    cd_http2 *h = st->h;
    CD_ASSERT(st->is_open && st->is_held);
    st->is_open = false;
    if (h == NULL) {
        stream_free(st);
        return false;
    }
    h->now_ms = now_ms;
    set_held(st, false);
    if (st->is_closed) {
        stream_release(st);
        return false;
    }
    return true;
}

void cd_http2_end(cd_http2_stream *st, u64 now_ms)
{
    cd_http2 *h = st->h;
    if (let_go(st, now_ms)) {
        st->write_end_ms = now_ms + h->cfg.write_timeout_ms;
        if (st->is_idle) {
            (void)nghttp2_session_resume_data(h->ng, st->id);
        }
    }
}

void cd_http2_cancel(cd_http2_stream *st, u64 now_ms)
{
    cd_http2 *h = st->h;
    if (let_go(st, now_ms)) {
        (void)nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_CANCEL);
    }
}

/* Hands out requests as far as the limits allow. */
static void pump(cd_http2 *h)
{
    if (h->is_pumping || h->is_held_up) {
        return;
    }
    h->is_pumping = true;
    for (cd_list *it; !h->is_doomed && (it = cd_list_first(&h->ready)) != NULL;) {
        cd_http2_stream *st = cd_list_of(it, cd_http2_stream, ready);
        if (h->held_cnt >= h->cfg.streams_max || (h->answers_buffered != 0 && h->buffered > h->cfg.buffered_max)) {
            break;
        }
        cd_list_del(&st->ready);
        set_held(st, true);
        h->events->request(h->ctx, st);
    }
    h->is_pumping = false;
}

/* --- the connection --- */

/* nghttp2's memory is counted: a piece begins with its size. */
enum { PIECE_HEAD = 16 };

static void *session_realloc(void *p, size_t n, void *ctx)
{
    cd_http2 *h = ctx;
    u8 *old = p == NULL ? NULL : (u8 *)p - PIECE_HEAD;
    usize old_n = 0;
    if (old != NULL) {
        memcpy(&old_n, old, sizeof old_n);
    }
    usize bytes = n + PIECE_HEAD; /* of frames and fields, which nghttp2 bounds */
    u8 *piece = cd_realloc(old, bytes);
    memcpy(piece, &bytes, sizeof bytes);
    h->session_bytes += bytes - old_n;
    return piece + PIECE_HEAD;
}

static void *session_malloc(size_t n, void *ctx)
{
    return session_realloc(NULL, n, ctx);
}

static void *session_calloc(size_t cnt, size_t size, void *ctx)
{
    usize n;
    bool is_too_much = __builtin_mul_overflow(cnt, size, &n);
    return is_too_much ? NULL : memset(session_realloc(NULL, n, ctx), 0, n);
}

static void session_free(void *p, void *ctx)
{
    cd_http2 *h = ctx;
    if (p != NULL) {
        u8 *piece = (u8 *)p - PIECE_HEAD;
        usize bytes;
        memcpy(&bytes, piece, sizeof bytes);
        h->session_bytes -= bytes;
        cd_free(piece);
    }
}

static nghttp2_session *session_new(cd_http2 *h)
{
    nghttp2_mem mem = {
        .mem_user_data = h,
        .malloc = session_malloc,
        .free = session_free,
        .calloc = session_calloc,
        .realloc = session_realloc,
    };
    nghttp2_session_callbacks *cb;
    nghttp2_option *opt;
    nghttp2_session *ng;
    int rc = nghttp2_session_callbacks_new(&cb);
    rc |= nghttp2_option_new(&opt);
    CD_ASSERT(rc == 0);
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
    nghttp2_session_callbacks_set_send_data_callback(cb, send_body);
    rc = nghttp2_session_server_new3(&ng, cb, h, opt, &mem);
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(opt);
    CD_ASSERT(rc == 0);
    return ng;
}

cd_http2 *cd_http2_new(const cd_http2_cfg *cfg, const cd_http2_events *events, void *ctx, u64 now_ms)
{
    cd_http2 *h = cd_new(cd_http2);
    h->cfg = *cfg;
    h->events = events;
    h->ctx = ctx;
    h->now_ms = now_ms;
    h->idle_end_ms = now_ms + cfg->header_timeout_ms;
    cd_h2_guard_init(&h->guard, now_ms);
    cd_list_init(&h->streams);
    cd_list_init(&h->ready);
    h->ng = session_new(h);
    CD_ASSERT(cfg->header_max <= UINT32_MAX);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, cfg->streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (u32)cfg->header_max},
    };
    int rc = nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings, CD_COUNT(settings));
    rc |= nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW);
    CD_ASSERT(rc == 0);
    return h;
}

void cd_http2_free(cd_http2 *h)
{
    if (h == NULL) {
        return;
    }
    nghttp2_session_del(h->ng); /* tells of no stream */
    CD_ASSERT(h->session_bytes == 0);
    cd_list_each_safe(it, &h->streams)
    {
        cd_http2_stream *st = cd_list_of(it, cd_http2_stream, link);
        cd_list_del(&st->link);
        cd_list_del(&st->ready);
        st->h = NULL;
        if (!st->is_held) {
            stream_free(st);
        }
    }
    cd_free(h);
}

/* base64url without padding [RFC 4648 5]. False when it is not. */
static bool base64url_dec(cd_buf *out, cd_bytes in)
{
    u32 bits = 0;
    u32 acc = 0;
    for (usize i = 0; i < in.n; i++) {
        u8 c = in.p[i];
        u32 v;
        if (c >= 'A' && c <= 'Z') {
            v = c - 'A';
        } else if (c >= 'a' && c <= 'z') {
            v = c - 'a' + 26u;
        } else if (c >= '0' && c <= '9') {
            v = c - '0' + 52u;
        } else if (c == '-' || c == '_') {
            v = c == '-' ? 62 : 63;
        } else {
            return false;
        }
        acc = acc << 6 | v;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            cd_buf_u8(out, (u8)(acc >> bits));
        }
    }
    return bits != 6 && (acc & ((1u << bits) - 1)) == 0;
}

cd_err cd_http2_upgrade(cd_http2 *h, cd_http_msg *m, cd_bytes settings)
{
    cd_buf raw = {0};
    bool is_head = m->method == CD_HTTP_HEAD;
    bool ok = base64url_dec(&raw, settings) && nghttp2_session_upgrade2(h->ng, raw.p, raw.n, is_head, NULL) == 0;
    cd_buf_fini(&raw);
    if (!ok) {
        return CD_EFORMAT;
    }
    cd_http2_stream *st = stream_new(h, 1);
    h->guard.newest_id = 1;
    (void)nghttp2_session_set_stream_user_data(h->ng, 1, st);
    st->msg = *m;
    *m = (cd_http_msg){0};
    recount(st);
    st->has_head = true;
    st->has_ended = true;
    h->is_held_up = true;
    make_ready(st);
    return CD_OK;
}

void cd_http2_feed(cd_http2 *h, cd_bytes in, u64 now_ms)
{
    h->now_ms = now_ms;
    if (h->is_doomed) {
        return;
    }
    h->is_held_up = false;
    ssize_t n = nghttp2_session_mem_recv(h->ng, in.p, in.n);
    if (n < 0) { /* of these, all but a wrong preface are floods of some kind */
        terminate(h, n == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_ENHANCE_YOUR_CALM);
    }
    pump(h);
}

void cd_http2_take(cd_http2 *h, cd_buf *out, usize max, u64 now_ms)
{
    h->now_ms = now_ms;
    pump(h);
    h->taking = out;
    h->take_max = max;
    while (!h->is_broken && out->n < max) {
        const u8 *data;
        ssize_t n = nghttp2_session_mem_send(h->ng, &data);
        if (n < 0) {
            h->is_broken = true;
            h->is_doomed = true;
        } else if (n == 0) {
            break;
        } else {
            cd_buf_put(out, cd_bytes_of(data, (usize)n));
        }
    }
    h->taking = NULL;
}

void cd_http2_sweep(cd_http2 *h, u64 now_ms)
{
    h->now_ms = now_ms;
    cd_list_each(it, &h->streams)
    {
        cd_http2_stream *st = cd_list_of(it, cd_http2_stream, link);
        if (st->is_closed) {
            continue;
        }
        bool is_late = now_ms >= st->begun_ms + h->cfg.read_timeout_ms;
        if (!st->has_head && is_late) {
            terminate(h, NGHTTP2_NO_ERROR); /* in a header block there is no other way out */
            break;
        }
        if (!st->has_ended && is_late) {
            refuse(st, 408, "request not received in time");
        }
        bool waits = !st->is_open || st->out_at != st->out.n;
        if (st->is_answered && waits && now_ms >= st->write_end_ms) {
            (void)nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_CANCEL);
        }
    }
    if ((h->open_cnt == 0 || h->is_held_up) && now_ms >= h->idle_end_ms) {
        cd_http2_stop(h);
    }
    pump(h);
}

void cd_http2_stop(cd_http2 *h)
{
    if (h->is_held_up) { /* nobody there speaks HTTP/2, and its request would wait for ever */
        h->is_broken = true;
        h->is_doomed = true;
    }
    if (!h->is_ending) {
        h->is_ending = true;
        (void)nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h->ng),
                                    NGHTTP2_NO_ERROR, NULL, 0);
    }
}

bool cd_http2_is_idle(const cd_http2 *h)
{
    return h->open_cnt == 0 && h->held_cnt == 0;
}

bool cd_http2_is_over(const cd_http2 *h)
{
    return h->is_broken || (nghttp2_session_want_read(h->ng) == 0 && nghttp2_session_want_write(h->ng) == 0);
}

bool cd_http2_is_crowded(const cd_http2 *h)
{
    return nghttp2_session_get_outbound_queue_size(h->ng) > OUTBOUND_MAX;
}

const cd_http_msg *cd_http2_msg(const cd_http2_stream *st)
{
    return &st->msg;
}

u32 cd_http2_refusal(const cd_http2_stream *st, const char **text)
{
    *text = st->text;
    return st->refusal;
}
