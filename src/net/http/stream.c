/* What streams of both protocols share, and the stream on a connection of HTTP/1: it leaves the server's
 * HTTP/1 for good, as one that changes to another protocol. */
#include "net/http/server_priv.h"

#include "base/mem/mem.h"

#include <stdio.h>

enum { QUEUE_MAX = 256 * 1024 };

cd_http_stream *cd_http_req_stream(cd_http_req *r, u32 status, const char *content_type, usize queue_max,
                                   const cd_http_stream_events *events, void *ctx)
{
    cd_http_server *s = r->server;
    CD_ASSERT(s->dispatching == r && r->status == 0 && status >= 200);
    s->dispatching = NULL;
    cd__http_req_over(r);
    r->status = status;
    r->is_stream = true;
    r->trailers.n = 0;
    (void)snprintf(r->content_type, sizeof r->content_type, "%s", content_type == NULL ? "" : content_type);
    CD_ASSERT(cd__http_answer_has_body(r));
    const cd_http_stream pub = {
        .events = events,
        .ctx = ctx,
        .queue_max = queue_max == 0 ? QUEUE_MAX : queue_max,
    };
    return r->ops->stream(r, &pub);
}

cd_err cd_http_stream_write(cd_http_stream *s, cd_bytes bytes)
{
    if (s->is_over) {
        return CD_EIO;
    }
    usize waiting = s->ops->waiting(s);
    if (bytes.n > s->queue_max || waiting > s->queue_max - bytes.n) {
        s->is_full = true;
        return CD_EFULL;
    }
    if (bytes.n != 0) { /* an empty chunk would be the last */
        s->ops->write(s, bytes);
    }
    return CD_OK;
}

usize cd_http_stream_waiting(const cd_http_stream *s)
{
    return s->ops->waiting(s);
}

void cd_http_stream_end(cd_http_stream *s)
{
    if (!s->is_over) {
        s->is_over = true;
        s->ops->end(s);
    }
}

void cd_http_stream_cut(cd_http_stream *s)
{
    s->is_over = true;
    s->ops->cut(s);
}

void cd__http_stream_drained(cd_http_stream *s)
{
    if (s->is_full && !s->is_over) {
        s->is_full = false;
        if (s->events->drained != NULL) {
            s->events->drained(s->ctx);
        }
    }
}

/* --- HTTP/1 --- */

typedef struct h1_stream {
    cd_http_stream pub;
    cd_http_up *conn;
    cd_buf queue;
    cd_buf sending; /* the socket has it while is_writing */
    u64 deadline_ms;
    bool is_chunked;
    bool is_writing;
    bool is_lingering; /* all is out; the client closes */
} h1_stream;

static u64 now_ms(const h1_stream *t)
{
    return cd_loop_now_ms(cd_http_up_loop(t->conn));
}

static void flush(h1_stream *t)
{
    while (!t->is_writing && !t->conn->is_closed && t->queue.n != 0) {
        cd_buf swap = t->sending;
        t->sending = t->queue;
        t->queue = swap;
        cd_buf_clear(&t->queue);
        const cd_bytes part = cd_buf_bytes(&t->sending);
        cd_err err = cd_http_up_write(t->conn, &part, 1);
        if (err == CD_EAGAIN) {
            t->is_writing = true;
            t->deadline_ms = now_ms(t) + t->conn->server->cfg.write_timeout_ms;
        } else if (err != CD_OK) {
            cd_http_up_close(t->conn);
        } else {
            cd__http_buf_recycle(t->conn->server, &t->sending);
        }
    }
    if (t->pub.is_over && !t->is_writing && !t->is_lingering && !t->conn->is_closed) {
        t->is_lingering = true;
        t->deadline_ms = now_ms(t) + CD__HTTP_LINGER_MS;
        cd_http_up_shutdown(t->conn);
    }
}

static void h1_write(cd_http_stream *s, cd_bytes bytes)
{
    h1_stream *t = (h1_stream *)s;
    if (t->is_chunked) {
        cd_buf_fmt(&t->queue, "%zx\r\n", bytes.n);
    }
    cd_buf_put(&t->queue, bytes);
    if (t->is_chunked) {
        cd_buf_str(&t->queue, "\r\n");
    }
    flush(t);
}

static usize h1_waiting(const cd_http_stream *s)
{
    const h1_stream *t = (const h1_stream *)s;
    return t->queue.n + (t->is_writing ? t->sending.n : 0);
}

static void h1_end(cd_http_stream *s)
{
    h1_stream *t = (h1_stream *)s;
    if (t->is_chunked) {
        cd_buf_str(&t->queue, "0\r\n\r\n");
    }
    flush(t);
}

static void h1_cut(cd_http_stream *s)
{
    cd_http_up_close(((h1_stream *)s)->conn);
}

/* The request was the last of its connection: what the client sends on is dropped. */
static void on_data(void *ctx, cd_bytes data)
{
    (void)ctx;
    (void)data;
}

static void on_end(void *ctx, cd_err err)
{
    h1_stream *t = ctx;
    (void)err; /* a client that closes its half of an endless answer has gone, as far as can be told */
    cd_http_up_close(t->conn);
}

static void on_written(void *ctx, cd_err err)
{
    h1_stream *t = ctx;
    t->is_writing = false;
    cd__http_buf_recycle(t->conn->server, &t->sending);
    if (err != CD_OK) {
        cd_http_up_close(t->conn);
        return;
    }
    flush(t);
    if (!t->is_writing && !t->conn->is_closed) {
        cd__http_stream_drained(&t->pub);
    }
}

static void on_stop(void *ctx)
{
    cd_http_stream_end(ctx);
}

static void on_sweep(void *ctx, u64 now)
{
    h1_stream *t = ctx;
    if ((t->is_writing || t->is_lingering) && now >= t->deadline_ms) {
        cd_http_up_close(t->conn);
    }
}

static void on_closed(void *ctx)
{
    h1_stream *t = ctx;
    t->pub.is_over = true;
    t->pub.events->closed(t->pub.ctx);
    cd_buf_fini(&t->queue);
    cd_buf_fini(&t->sending);
    cd_free(t);
}

cd_http_stream *cd__http_h1_stream(cd_http_up *conn, const cd_http_stream *pub, cd_buf *head, bool is_chunked)
{
    static const cd_http_up_events events = {
        .data = on_data,
        .end = on_end,
        .written = on_written,
        .stop = on_stop,
        .sweep = on_sweep,
        .closed = on_closed,
    };
    static const cd__http_stream_ops ops = {
        .write = h1_write,
        .waiting = h1_waiting,
        .end = h1_end,
        .cut = h1_cut,
    };
    h1_stream *t = cd_new(h1_stream);
    t->pub = *pub;
    t->pub.ops = &ops;
    t->conn = conn;
    t->is_chunked = is_chunked;
    t->queue = *head;
    *head = (cd_buf){0};
    conn->protocol = &events;
    conn->ctx = t;
    flush(t);
    return &t->pub;
}
