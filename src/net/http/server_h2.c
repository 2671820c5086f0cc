/* One connection of HTTP/2: requests at the same time, answers as they come. */
#include "net/http/server_priv.h"

#include "base/mem/mem.h"

enum { BATCH = 64 * 1024 }; /* bytes of frames that are given to the socket at once */

typedef struct h2 {
    cd__http_conn *conn;
    cd_http2 *session;
    cd_list reqs; /* requests whose answer is awaited */
    usize reqs_cnt;
    cd_buf out; /* frames on their way: the socket's while is_writing */
    u64 deadline_ms;
    bool is_writing;
    bool is_lingering; /* the last frame was sent; what still comes in is dropped until the client closes */
    bool has_ended;    /* the client sends no more */
    bool in_session;   /* set within a callback: flush when that returns */
} h2;

typedef struct h2_req {
    cd_http_req pub;
    cd_list link;
    h2 *h;                   /* NULL once the connection is gone; loop thread only */
    cd_http2_stream *stream; /* NULL: an open answer that was let go */
    cd_http_stream open;     /* its answer, when that is a stream: ops != NULL */
    bool is_posted;
    bool has_drained;
    bool has_gone;
} h2_req;

static u64 now_ms(const cd_http_server *s)
{
    return cd_loop_now_ms(s->loop);
}

/* Everything that can be sent is sent, then the connection is closed. */
static void linger(h2 *h)
{
    h->is_lingering = true;
    h->deadline_ms = now_ms(h->conn->server) + CD__HTTP_LINGER_MS;
    cd_tcp_shutdown(h->conn->tcp);
    cd_tcp_resume(h->conn->tcp);
    if (h->has_ended) {
        cd__http_conn_close(h->conn);
    }
}

static void send(h2 *h)
{
    cd_http_server *s = h->conn->server;
    if (!cd_http2_is_idle(h->session)) {
        h->conn->idle_ms = 0;
    } else if (h->conn->idle_ms == 0) {
        h->conn->idle_ms = now_ms(s);
    }
    while (!h->conn->is_closed && !h->is_writing && !h->is_lingering && !h->in_session) {
        cd_buf_clear(&h->out);
        h->in_session = true;
        cd_http2_take(h->session, &h->out, BATCH, now_ms(s));
        h->in_session = false;
        if (h->out.n == 0) {
            cd__http_buf_recycle(s, &h->out);
            if (cd_http2_is_over(h->session)) {
                linger(h);
            }
            return;
        }
        const cd_bytes part = cd_buf_bytes(&h->out);
        cd_err err = cd_tcp_write(h->conn->tcp, &part, 1);
        if (err == CD_EAGAIN) {
            h->is_writing = true;
            h->deadline_ms = now_ms(s) + s->cfg.write_timeout_ms;
        } else if (err != CD_OK) {
            cd__http_conn_close(h->conn);
        }
    }
    if (h->is_writing && cd_http2_is_crowded(h->session)) {
        cd_tcp_pause(h->conn->tcp);
    }
}

static usize held_of(const h2 *h)
{
    return sizeof *h + h->reqs_cnt * sizeof(h2_req) + h->out.cap + cd_http2_kept(h->session);
}

/* Tells what the connection holds; too much of requests that are not even complete ends it. */
static void hold(h2 *h)
{
    cd__http_conn *c = h->conn;
    if (cd_http2_waiting_answers(h->session) == 0 && !h->is_writing) {
        c->writing_ms = 0;
    } else if (c->writing_ms == 0) {
        c->writing_ms = now_ms(c->server);
    }
    if (c->writing_ms != 0 || h->reqs_cnt != 0) {
        c->free_ms = 0;
    } else if (c->free_ms == 0) {
        c->free_ms = now_ms(c->server);
    }
    cd__http_hold(c, held_of(h));
    if (cd__http_is_full(c->server) && c->writing_ms == 0 && cd_http2_unfinished(h->session) > CD__HTTP_SHORT) {
        cd__http_conn_close(c);
        cd__http_hold(c, 0); /* what it held is given back in the accounts at once */
    }
}

static bool may_keep(void *ctx, usize more)
{
    const h2 *h = ctx;
    return cd_http2_unfinished(h->session) + more <= CD__HTTP_SHORT || cd__http_may_hold(h->conn, held_of(h) + more);
}

static void flush(h2 *h)
{
    send(h);
    if (!h->conn->is_closed) {
        hold(h);
    }
}

/* --- requests --- */

static void req_free(h2_req *r)
{
    if (r->h != NULL) {
        r->h->reqs_cnt--;
    }
    cd_list_del(&r->link);
    cd__http_req_fini(&r->pub);
    cd_free(r);
}

static void on_answer(cd_http_req *pub)
{
    h2_req *r = (h2_req *)pub;
    h2 *h = r->h;
    cd_buf lines = {0};
    cd_splices_flatten(&pub->splices, &pub->out); /* frames are made from one piece */
    cd__http_answer_lines(pub, &lines);
    cd_http2_reply reply = {
        .status = pub->status,
        .lines = cd_buf_bytes(&lines),
        .trailers = cd_buf_bytes(&pub->trailers),
        .body = cd__http_answer_has_body(pub) ? &pub->out : NULL,
    };
    cd_http2_answer(r->stream, &reply, now_ms(pub->server));
    cd_buf_fini(&lines);
    req_free(r);
    if (h != NULL) {
        flush(h);
    }
}

/* --- answers that go on --- */

static h2_req *req_of(const cd_http_stream *s)
{
    return (h2_req *)(void *)((char *)(uintptr_t)s - offsetof(h2_req, open));
}

/* Tells the stream's owner what has happened, outside of everything. */
static void on_news(cd_loop_task *t)
{
    h2_req *r = (h2_req *)(void *)t;
    cd_http_server *s = r->pub.server;
    r->is_posted = false;
    if (r->has_drained) {
        r->has_drained = false;
        cd__http_stream_drained(&r->open);
    }
    if (r->has_gone && !r->is_posted) {
        r->open.is_over = true;
        r->open.events->closed(r->open.ctx);
        if (r->stream != NULL) {
            cd_http2_cancel(r->stream, now_ms(s));
        }
        req_free(r);
        s->held--;
        cd__http_check_done(s);
    }
}

static void post_news(h2_req *r)
{
    if (!r->is_posted) {
        r->is_posted = true;
        r->pub.task.fn = on_news;
        cd_loop_post(r->pub.server->loop, &r->pub.task);
    }
}

static h2_req *req_find(h2 *h, const cd_http2_stream *stream)
{
    cd_list_each(it, &h->reqs)
    {
        h2_req *r = cd_list_of(it, h2_req, link);
        if (r->stream == stream) {
            return r;
        }
    }
    return NULL;
}

static void on_drained(void *ctx, cd_http2_stream *stream)
{
    h2_req *r = req_find(ctx, stream);
    if (r != NULL && r->open.is_full) {
        r->has_drained = true;
        post_news(r);
    }
}

static void on_gone(void *ctx, cd_http2_stream *stream)
{
    h2_req *r = req_find(ctx, stream);
    if (r != NULL) {
        r->has_gone = true;
        r->open.is_over = true;
        post_news(r);
    }
}

static void stream_write(cd_http_stream *s, cd_bytes bytes)
{
    h2_req *r = req_of(s);
    cd_http2_put(r->stream, bytes, now_ms(r->pub.server));
    if (r->h != NULL) {
        flush(r->h);
    }
}

static usize stream_waiting(const cd_http_stream *s)
{
    const h2_req *r = req_of(s);
    return r->stream == NULL ? 0 : cd_http2_waiting(r->stream);
}

static void stream_leave(cd_http_stream *s, void (*leave)(cd_http2_stream *st, u64 now_ms))
{
    h2_req *r = req_of(s);
    if (r->stream != NULL) {
        leave(r->stream, now_ms(r->pub.server));
        r->stream = NULL;
        r->has_gone = true;
        post_news(r);
        if (r->h != NULL) {
            flush(r->h);
        }
    }
}

static void stream_end(cd_http_stream *s)
{
    stream_leave(s, cd_http2_end);
}

static void stream_cut(cd_http_stream *s)
{
    stream_leave(s, cd_http2_cancel);
}

static cd_http_stream *begin_stream(cd_http_req *pub, const cd_http_stream *init)
{
    static const cd__http_stream_ops ops = {
        .write = stream_write,
        .waiting = stream_waiting,
        .end = stream_end,
        .cut = stream_cut,
    };
    h2_req *r = (h2_req *)pub;
    cd_buf lines = {0};
    cd__http_answer_lines(pub, &lines);
    const cd_http2_reply reply = {.status = pub->status, .lines = cd_buf_bytes(&lines)};
    cd_http2_open(r->stream, &reply, now_ms(pub->server));
    cd_buf_fini(&lines);
    r->open = *init;
    r->open.ops = &ops;
    flush(r->h);
    return &r->open;
}

static void peer(const cd_http_req *pub, char out[CD_TCP_PEER_MAX])
{
    const h2_req *r = (const h2_req *)pub;
    out[0] = '\0';
    if (r->h != NULL) {
        cd_tcp_peer(r->h->conn->tcp, out);
    }
}

static bool is_local(const cd_http_req *pub)
{
    const h2_req *r = (const h2_req *)pub;
    return r->h != NULL && cd_tcp_is_local(r->h->conn->tcp);
}

static u16 port_of(const cd_http_req *pub)
{
    const h2_req *r = (const h2_req *)pub;
    return r->h == NULL ? 0 : cd_tcp_port(r->h->conn->tcp);
}

static bool offers_upgrade(const cd_http_req *pub, const char *protocol)
{
    (void)pub;
    (void)protocol;
    return false; /* HTTP/2 has no Upgrade */
}

static usize body_max(void *ctx, const cd_http_msg *m)
{
    const h2 *h = ctx;
    return cd__http_body_max(h->conn->server, m);
}

static void on_request(void *ctx, cd_http2_stream *stream)
{
    static const cd__http_req_ops ops = {
        .answer = on_answer,
        .is_local = is_local,
        .port = port_of,
        .peer = peer,
        .offers_upgrade = offers_upgrade,
        .stream = begin_stream,
    };
    h2 *h = ctx;
    const char *text;
    u32 status = cd_http2_refusal(stream, &text);
    h2_req *r = cd_new(h2_req);
    cd__http_req_init(&r->pub, h->conn->server, &ops);
    r->pub.msg = cd_http2_msg(stream);
    r->h = h;
    r->stream = stream;
    cd_list_push_back(&h->reqs, &r->link);
    h->reqs_cnt++;
    if (status != 0) {
        cd__http_req_refuse(&r->pub, status, text);
    } else {
        cd__http_req_take(&r->pub);
    }
}

/* --- the connection --- */

static void on_data(void *ctx, cd_bytes data)
{
    h2 *h = ctx;
    if (!h->is_lingering) {
        h->in_session = true;
        cd_http2_feed(h->session, data, now_ms(h->conn->server));
        h->in_session = false;
        flush(h);
    }
}

/* Answers what was asked and takes no more; answers without an end get one. */
static void end_gently(h2 *h)
{
    cd_http2_stop(h->session);
    cd_list_each(it, &h->reqs)
    {
        h2_req *r = cd_list_of(it, h2_req, link);
        if (r->open.ops != NULL) {
            cd_http_stream_end(&r->open);
        }
    }
    flush(h);
}

static void on_end(void *ctx, cd_err err)
{
    h2 *h = ctx;
    h->has_ended = true;
    if (err != CD_OK || h->is_lingering) {
        cd__http_conn_close(h->conn);
        return;
    }
    end_gently(h); /* the client may still read the answers */
}

static void on_written(void *ctx, cd_err err)
{
    h2 *h = ctx;
    h->is_writing = false;
    if (err != CD_OK) {
        cd__http_conn_close(h->conn);
        return;
    }
    cd_tcp_resume(h->conn->tcp);
    flush(h);
}

static void on_stop(void *ctx)
{
    end_gently(ctx);
}

static void on_sweep(void *ctx, u64 now)
{
    h2 *h = ctx;
    if ((h->is_writing || h->is_lingering) && now >= h->deadline_ms) {
        cd__http_conn_close(h->conn);
    } else if (!h->is_lingering) {
        h->in_session = true;
        cd_http2_sweep(h->session, now);
        h->in_session = false;
        flush(h);
    }
}

static void on_closed(void *ctx)
{
    h2 *h = ctx;
    cd_list_each(it, &h->reqs)
    {
        h2_req *r = cd_list_of(it, h2_req, link);
        r->h = NULL;
        cd__http_req_leave(&r->pub);
        if (r->open.ops != NULL) {
            r->has_gone = true;
            r->open.is_over = true;
            post_news(r);
        }
    }
    cd_list_del(&h->reqs);
    cd_http2_free(h->session);
    cd_buf_fini(&h->out);
    cd_free(h);
}

static h2 *h2_new(cd__http_conn *c)
{
    static const cd_http_up_events protocol = {
        .data = on_data,
        .end = on_end,
        .written = on_written,
        .stop = on_stop,
        .sweep = on_sweep,
        .closed = on_closed,
    };
    static const cd_http2_events events = {
        .body_max = body_max,
        .may_keep = may_keep,
        .request = on_request,
        .drained = on_drained,
        .gone = on_gone,
    };
    const cd_http_cfg *cfg = &c->server->cfg;
    const cd_http2_cfg session = {
        .streams_max = cfg->streams_max,
        .header_max = cfg->header_max,
        .buffered_max = cfg->buffered_max,
        .header_timeout_ms = cfg->header_timeout_ms,
        .read_timeout_ms = cfg->read_timeout_ms,
        .write_timeout_ms = cfg->write_timeout_ms,
        .idle_timeout_ms = cfg->idle_timeout_ms,
    };
    h2 *h = cd_new(h2);
    h->conn = c;
    cd_list_init(&h->reqs);
    h->session = cd_http2_new(&session, &events, h, now_ms(c->server));
    c->protocol = &protocol;
    c->ctx = h;
    return h;
}

void cd__http_h2_start(cd__http_conn *c)
{
    flush(h2_new(c));
}

cd_err cd__http_h2_upgrade(cd__http_conn *c, cd_http_msg *m, cd_bytes settings)
{
    static const char go_on[] = "HTTP/1.1 101 Switching Protocols\r\n"
                                "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    const cd_http_up_events *old = c->protocol;
    void *old_ctx = c->ctx;
    h2 *h = h2_new(c);
    if (cd_http2_upgrade(h->session, m, settings) != CD_OK) {
        on_closed(h);
        c->protocol = old;
        c->ctx = old_ctx;
        return CD_EFORMAT;
    }
    const cd_bytes part = cd_bytes_of(go_on, sizeof go_on - 1);
    if (cd_tcp_write(c->tcp, &part, 1) != CD_OK) {
        cd__http_conn_close(c); /* the client does not read: not even these few bytes fit into its queue */
    }
    flush(h);
    return CD_OK;
}
