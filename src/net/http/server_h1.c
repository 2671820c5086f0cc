/* One connection of HTTP/1: requests are handled one at a time, in order. */
#include "net/http/server_priv.h"

#include "base/mem/mem.h"
#include "net/http/parse.h"

enum { ONE_PIECE_MAX = 4096 };

typedef enum h1_state {
    H1_READING, /* a request, or waiting for one */
    H1_BUSY,    /* the handler has the request */
    H1_WRITING, /* the answer waits for the socket */
    H1_LINGER,  /* the last answer is out; input is dropped until the client closes */
    H1_LEFT,    /* the connection speaks another protocol */
} h1_state;

typedef struct h1 h1;

/* Lives with its connection and is used again and again; a client that goes away while the handler has
 * it leaves it behind with h == NULL. */
typedef struct h1_req {
    cd_http_req pub;
    h1 *h; /* loop thread only */
    cd_http_parse *parse;
    cd_buf head; /* of the answer */
} h1_req;

struct h1 {
    cd__http_conn *conn;
    h1_req *req;
    cd_buf in; /* arrived while the connection could not read; from in_at on */
    usize in_at;
    h1_state state;
    u64 started_ms; /* first byte of the request being read; 0 before */
    u64 deadline_ms;
    usize preface_at; /* bytes of the HTTP/2 preface that have arrived, and nothing else */
    bool is_fresh;
    bool is_last;   /* close after this answer */
    bool has_ended; /* the client sends no more */
    bool is_pumping;
    bool must_feed; /* the parser stopped at the head and goes on without new input */
};

static u64 now_ms(const h1 *h)
{
    return cd_loop_now_ms(h->conn->server->loop);
}

static void req_free(h1_req *r)
{
    cd_http_parse_free(r->parse);
    cd_buf_fini(&r->head);
    cd__http_req_fini(&r->pub);
    cd_free(r);
}

/* Tells what the connection holds. */
static void hold(const h1 *h)
{
    const h1_req *r = h->req;
    const cd_http_msg *m = r->pub.msg;
    h->conn->free_ms = h->state != H1_READING ? 0 : h->started_ms != 0 ? h->started_ms : h->conn->idle_ms;
    cd__http_hold(h->conn, h->in.cap + r->head.cap + r->pub.out.cap + m->body.cap + m->text.cap);
}

/* --- answers --- */

static void head_build(h1_req *r, bool is_last)
{
    cd_buf *b = &r->head;
    cd_buf_clear(b);
    cd_buf_str(b, "HTTP/1.1 ");
    cd__http_put_u64(b, r->pub.status);
    cd_buf_u8(b, ' ');
    cd_buf_str(b, cd_http_reason(r->pub.status));
    cd_buf_str(b, "\r\n");
    cd__http_answer_lines(&r->pub, b);
    if (is_last) {
        cd_buf_str(b, "Connection: close\r\n");
    } else if (cd_http_parse_is_http10(r->parse)) {
        cd_buf_str(b, "Connection: keep-alive\r\n");
    }
    cd_buf_str(b, "\r\n");
}

/* The answer is out: on to the next request, or to the end. */
static void answer_finish(h1 *h)
{
    h->conn->writing_ms = 0;
    cd__http_req_reset(&h->req->pub);
    if (h->is_last) {
        h->state = H1_LINGER;
        h->deadline_ms = now_ms(h) + CD__HTTP_LINGER_MS;
        cd_tcp_shutdown(h->conn->tcp);
        if (h->has_ended) {
            cd__http_conn_close(h->conn);
        }
        return;
    }
    cd_http_parse_next(h->req->parse);
    hold(h);
    h->state = H1_READING;
    h->started_ms = 0;
    h->conn->idle_ms = now_ms(h);
    h->deadline_ms = h->conn->idle_ms + h->conn->server->cfg.idle_timeout_ms;
}

static void answer_send(h1 *h)
{
    h1_req *r = h->req;
    h->is_last = h->is_last || h->conn->server->is_stopping;
    r->pub.trailers.n = 0; /* clients of HTTP/1 do not look for them */
    head_build(r, h->is_last);
    cd_bytes parts[1 + CD_SPLICE_PIECES_MAX];
    usize cnt = 1;
    if (cd__http_answer_has_body(&r->pub)) {
        if (r->pub.splices.cnt == 0 && r->pub.out.n <= ONE_PIECE_MAX) {
            cd_buf_put(&r->head, cd_buf_bytes(&r->pub.out)); /* cheaper than one part more */
        } else {
            cnt += cd_splices_pieces(&r->pub.splices, parts + 1, &r->pub.out);
        }
    }
    parts[0] = cd_buf_bytes(&r->head);
    h->state = H1_WRITING;
    cd_err err = cd_tcp_write(h->conn->tcp, parts, cnt);
    if (err == CD_OK) {
        answer_finish(h);
    } else if (err == CD_EAGAIN) {
        h->deadline_ms = now_ms(h) + h->conn->server->cfg.write_timeout_ms;
        h->conn->writing_ms = now_ms(h);
        hold(h);
    } else {
        cd__http_conn_close(h->conn);
    }
}

static void h1_resume(h1 *h);

static void on_answer(cd_http_req *pub)
{
    h1_req *r = (h1_req *)pub;
    h1 *h = r->h;
    if (h == NULL) {
        req_free(r);
        return;
    }
    if (h->conn->is_closed) {
        h->state = H1_WRITING; /* no handler has the request any more */
        return;
    }
    answer_send(h);
    if (!h->is_pumping) {
        h1_resume(h);
    }
}

/* --- other protocols --- */

static void peer(const cd_http_req *pub, char out[CD_TCP_PEER_MAX])
{
    const h1_req *r = (const h1_req *)pub;
    out[0] = '\0';
    if (r->h != NULL) {
        cd_tcp_peer(r->h->conn->tcp, out);
    }
}

static bool is_local(const cd_http_req *pub)
{
    const h1_req *r = (const h1_req *)pub;
    return r->h != NULL && cd_tcp_is_local(r->h->conn->tcp);
}

static u16 port_of(const cd_http_req *pub)
{
    const h1_req *r = (const h1_req *)pub;
    return r->h == NULL ? 0 : cd_tcp_port(r->h->conn->tcp);
}

static bool offers_upgrade(const cd_http_req *pub, const char *protocol)
{
    const h1_req *r = (const h1_req *)pub;
    return cd_http_parse_offers_upgrade(r->parse) &&
           (protocol == NULL || cd_http_list_has(cd_http_req_header(pub, "upgrade"), protocol));
}

static cd_http_stream *begin_stream(cd_http_req *pub, const cd_http_stream *init)
{
    h1_req *r = (h1_req *)pub;
    h1 *h = r->h;
    bool is_chunked = !cd_http_parse_is_http10(r->parse);
    pub->server->held--; /* the connection alone is counted from here on */
    if (is_chunked) {
        cd_buf_str(&pub->lines, "Transfer-Encoding: chunked\r\n");
    }
    head_build(r, true);
    h->state = H1_LEFT;
    return cd__http_h1_stream(h->conn, init, &r->head, is_chunked);
}

static cd_http_up *upgrade(cd_http_req *pub, const char *protocol, const cd_http_up_events *events, void *ctx)
{
    h1_req *r = (h1_req *)pub;
    h1 *h = r->h;
    cd__http_conn *c = h->conn;
    cd_buf_clear(&r->head);
    if (protocol != NULL) {
        cd_buf_fmt(&r->head, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\n", protocol);
        cd_buf_put(&r->head, cd_buf_bytes(&pub->lines));
        cd_buf_str(&r->head, "\r\n");
    }
    const cd_bytes part = cd_buf_bytes(&r->head);
    h->state = H1_LEFT;
    if (part.n != 0 && cd_tcp_write(c->tcp, &part, 1) != CD_OK) {
        cd__http_conn_close(c); /* not even these few bytes fit: the client does not read */
        return NULL;
    }
    c->protocol = events;
    c->ctx = ctx;
    c->is_up = true;
    return c;
}

/* Does the request ask to go on as HTTP/2 [RFC 7540 3.2]? */
static bool wants_h2c(const h1 *h, cd_bytes *settings)
{
    const cd_http_msg *m = h->req->pub.msg;
    return cd_http_parse_offers_upgrade(h->req->parse) && !h->conn->is_secure && !h->conn->server->is_stopping &&
           cd_http_list_has(cd_http_msg_header(m, "upgrade"), "h2c") &&
           cd_http_list_has(cd_http_msg_header(m, "connection"), "http2-settings") &&
           cd_http_msg_count(m, settings, "http2-settings") == 1;
}

/* --- requests --- */

/* Answers a connection that cannot go on: input that is no request, or a time that is up. */
static void refuse(h1 *h, u32 status, const char *text)
{
    h->state = H1_BUSY;
    h->conn->free_ms = 0;
    h->is_last = true;
    cd__http_req_refuse(&h->req->pub, status, text);
}

static bool go_h2c(h1 *h)
{
    cd_bytes settings;
    if (!wants_h2c(h, &settings)) {
        return false;
    }
    cd_http_msg m = cd_http_parse_take(h->req->parse);
    if (cd__http_h2_upgrade(h->conn, &m, settings) == CD_OK) {
        h->state = H1_LEFT;
    } else {
        cd_http_msg_fini(&m);
        refuse(h, 400, "malformed HTTP2-Settings header");
    }
    return true;
}

/* Gives a complete request to whoever answers it. */
static void take(h1 *h)
{
    if (go_h2c(h)) {
        return;
    }
    h->state = H1_BUSY;
    h->conn->free_ms = 0;
    h->deadline_ms = CD__HTTP_NEVER;
    h->is_last = h->is_last || !cd_http_parse_keeps_alive(h->req->parse);
    cd__http_req_take(&h->req->pub);
}

/* The headers are there: the route decides about the body's size, the client may wait for a word. */
static void on_head(h1 *h)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    cd_http_server *s = h->conn->server;
    cd_http_parse *p = h->req->parse;
    h->must_feed = true;
    h->conn->idle_ms = 0;
    h->deadline_ms = h->started_ms + s->cfg.read_timeout_ms;
    if (cd_http_parse_has_body(p) && cd_http_parse_set_body_max(p, cd__http_body_max(s, h->req->pub.msg)) &&
        cd_http_parse_wants_continue(p)) {
        cd_bytes part = cd_bytes_of(go_on, sizeof go_on - 1);
        if (cd_tcp_write(h->conn->tcp, &part, 1) != CD_OK) {
            cd__http_conn_close(h->conn); /* not even these few bytes fit: the client does not read */
        }
    }
}

static void start_clock(h1 *h)
{
    if (h->started_ms == 0) {
        h->started_ms = now_ms(h);
        h->deadline_ms = h->started_ms + h->conn->server->cfg.header_timeout_ms;
    }
}

/* Counts what the request holds by now; false when it is refused because all hold too much. */
static bool may_go_on(h1 *h)
{
    if (h->req->pub.msg->body.n > h->conn->server->cfg.body_max) {
        cd__http_seat_large(h->conn);
    }
    hold(h);
    /* What is left of the last answer is not this request's. */
    const cd_http_msg *m = h->req->pub.msg;
    usize own = h->in.cap + m->body.cap + m->text.cap;
    bool is_too_much = cd__http_is_full(h->conn->server) && own > CD__HTTP_SHORT;
    if (is_too_much) {
        refuse(h, 503, "too many requests are waiting");
    }
    return !is_too_much && !h->conn->is_closed;
}

/* Reads requests out of data and has them answered, as long as the answers go out at once. Gives what
 * is left of data. */
static cd_bytes pump(h1 *h, cd_bytes data)
{
    h->is_pumping = true;
    while (h->state == H1_READING && !h->conn->is_closed && (data.n != 0 || h->must_feed)) {
        usize used;
        const char *text;
        u32 status;
        h->must_feed = false;
        start_clock(h);
        cd_http_step step = cd_http_parse_feed(h->req->parse, &used, data);
        data = used == 0 ? data : cd_bytes_sub(data, used, data.n - used);
        switch (step) {
        case CD_HTTP_STEP_MORE:
            (void)may_go_on(h);
            break;
        case CD_HTTP_STEP_HEAD:
            on_head(h);
            break;
        case CD_HTTP_STEP_DONE:
            if (may_go_on(h)) {
                take(h);
            }
            break;
        case CD_HTTP_STEP_BAD:
            status = cd_http_parse_error(h->req->parse, &text);
            refuse(h, status, text);
            break;
        }
    }
    h->is_pumping = false;
    return data;
}

/* --- the connection --- */

static void h1_free(h1 *h)
{
    cd__http_hold(h->conn, 0);
    if (h->state == H1_BUSY) {
        h->req->h = NULL; /* its answer will find nobody */
        cd__http_req_leave(&h->req->pub);
    } else {
        req_free(h->req);
    }
    cd_buf_fini(&h->in);
    cd_free(h);
}

/* The connection speaks another protocol now, which gets what the client had sent ahead of the change. h is
 * gone afterwards. */
static void hand_over(h1 *h, cd_bytes rest)
{
    cd__http_conn *c = h->conn;
    cd_buf in = h->in; /* rest may be a part of it */
    bool has_ended = h->has_ended;
    h->in = (cd_buf){0};
    h1_free(h);
    if (has_ended) {
        cd__http_conn_close(c);
    } else if (!c->is_closed) {
        cd_tcp_resume(c->tcp);
        if (rest.n != 0) {
            c->protocol->data(c->ctx, rest);
        }
    }
    cd_buf_fini(&in);
}

static bool has_left(const h1 *h)
{
    return h->conn->ctx != h;
}

/* Keeps what a client sent ahead, and stops it from sending more than the buffer should hold. */
static void keep(h1 *h, cd_bytes data)
{
    if (h->state != H1_BUSY && h->state != H1_WRITING) {
        return;
    }
    if (h->in_at != 0) {
        h->in.n -= h->in_at;
        memmove(h->in.p, h->in.p + h->in_at, h->in.n);
        h->in_at = 0;
    }
    cd_buf_put(&h->in, data);
    if (h->in.n > h->conn->server->cfg.header_max) {
        cd_tcp_pause(h->conn->tcp);
    }
}

/* Goes on with what was kept; called whenever the connection may read again. */
static void h1_resume(h1 *h)
{
    if (h->state == H1_READING && h->in.n != h->in_at) {
        cd_bytes data = cd_bytes_of(h->in.p + h->in_at, h->in.n - h->in_at);
        data = pump(h, data);
        if (has_left(h)) {
            hand_over(h, data);
            return;
        }
        h->in_at = h->in.n - data.n;
    }
    if (h->in_at == h->in.n) {
        cd__http_buf_recycle(h->conn->server, &h->in);
        h->in_at = 0;
    }
    if (h->state == H1_READING || h->state == H1_LINGER) {
        if (h->has_ended) {
            cd__http_conn_close(h->conn);
        } else {
            cd_tcp_resume(h->conn->tcp);
        }
    }
}

/* Looks for the preface of HTTP/2 in the first bytes. True when data has been dealt with. */
static bool take_preface(h1 *h, cd_bytes *data)
{
    cd_bytes preface = cd_bytes_of(cd_http2_preface, CD_HTTP2_PREFACE_LEN);
    usize n = 0;
    while (n < data->n && h->preface_at < preface.n && data->p[n] == preface.p[h->preface_at]) {
        n++;
        h->preface_at++;
    }
    if (h->preface_at == preface.n) {
        cd__http_conn *c = h->conn;
        h->state = H1_LEFT;
        cd__http_h2_start(c);
        c->protocol->data(c->ctx, preface);
        hand_over(h, cd_bytes_sub(*data, n, data->n - n));
        return true;
    }
    if (n == data->n) {
        start_clock(h);
        return true;
    }
    h->is_fresh = false;
    if (h->preface_at > n) {
        (void)pump(h, cd_bytes_sub(preface, 0, h->preface_at - n)); /* came with earlier data */
    }
    return false;
}

static void on_data(void *ctx, cd_bytes data)
{
    h1 *h = ctx;
    if (h->is_fresh && h->state == H1_READING && take_preface(h, &data)) {
        return;
    }
    if (h->state == H1_READING) {
        data = pump(h, data);
        if (has_left(h)) {
            hand_over(h, data);
            return;
        }
    }
    if (data.n != 0) {
        keep(h, data);
    }
}

static void on_end(void *ctx, cd_err err)
{
    h1 *h = ctx;
    h->has_ended = true;
    /* A client may close its half and still read the answers. */
    if (err != CD_OK || h->state == H1_READING || h->state == H1_LINGER) {
        cd__http_conn_close(h->conn);
    }
}

static void on_written(void *ctx, cd_err err)
{
    h1 *h = ctx;
    if (err != CD_OK) {
        cd__http_conn_close(h->conn);
        return;
    }
    answer_finish(h);
    h1_resume(h);
}

static void on_stop(void *ctx)
{
    h1 *h = ctx;
    if (h->state == H1_READING && h->started_ms == 0) {
        cd__http_conn_close(h->conn);
    }
}

static void on_sweep(void *ctx, u64 now)
{
    h1 *h = ctx;
    if (now < h->deadline_ms) {
        return;
    }
    if (h->state == H1_READING && h->started_ms != 0) {
        refuse(h, 408, "request not received in time");
    } else {
        cd__http_conn_close(h->conn);
    }
}

static void on_closed(void *ctx)
{
    h1_free(ctx);
}

static const cd_http_up_events protocol = {
    .data = on_data,
    .end = on_end,
    .written = on_written,
    .stop = on_stop,
    .sweep = on_sweep,
    .closed = on_closed,
};

void cd__http_h1_start(cd__http_conn *c, bool is_refused)
{
    static const cd__http_req_ops ops = {
        .answer = on_answer,
        .is_local = is_local,
        .port = port_of,
        .peer = peer,
        .offers_upgrade = offers_upgrade,
        .upgrade = upgrade,
        .stream = begin_stream,
    };
    cd_http_server *s = c->server;
    h1 *h = cd_new(h1);
    h1_req *r = cd_new(h1_req);
    cd__http_req_init(&r->pub, s, &ops);
    r->h = h;
    r->parse = cd_http_parse_new(s->cfg.header_max, s->cfg.body_max);
    r->pub.msg = cd_http_parse_msg(r->parse);
    h->conn = c;
    h->req = r;
    h->state = H1_READING;
    h->is_fresh = !is_refused;
    h->deadline_ms = now_ms(h) + s->cfg.header_timeout_ms;
    c->protocol = &protocol;
    c->ctx = h;
    c->idle_ms = now_ms(h);
    if (is_refused) {
        refuse(h, 503, "too many connections");
    }
}
