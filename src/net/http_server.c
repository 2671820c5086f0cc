#include "net/http_server.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num_text.h"
#include "net/http_access.h"
#include "net/http_parse.h"

#include <stdio.h>
#include <string.h>

enum {
    BODY_MAX = 5 * 1024 * 1024,
    HEADER_MAX = 64 * 1024,
    CONNS_MAX = 1024,
    CONNS_REFUSED_MAX = 64, /* connections beyond the limit that are told so at a time */
    LINGER_MS = 2000,       /* for a client to read the last answer before the connection is cut */
    LISTENERS_MAX = 4,
    KEEP_MAX = 64 * 1024, /* memory an answer may leave to the next one */
};

#define NEVER UINT64_MAX

typedef enum conn_state {
    CONN_READING, /* a request, or waiting for one */
    CONN_BUSY,    /* the handler has the request */
    CONN_WRITING, /* the answer waits for the socket */
    CONN_LINGER,  /* the last answer is out; input is dropped until the client closes */
    CONN_CLOSED,
} conn_state;

typedef struct conn conn;

/* Lives with its connection and is used again and again; a client that goes away while the handler has
 * it leaves it behind with conn == NULL. */
struct cd_http_req {
    cd_loop_task task;
    cd_http_server *server;
    conn *conn; /* loop thread only, like in_dispatch */
    bool in_dispatch;
    cd_http_parse *parse;
    cd_buf head;  /* of the answer */
    cd_buf lines; /* more header lines of the answer */
    cd_buf out;   /* body of the answer */
    u32 status;
    char content_type[96];
};

struct conn {
    cd_list link;
    cd_http_server *server;
    cd_tcp *tcp;
    cd_http_req *req;
    cd_buf in; /* arrived while the connection could not read; from in_at on */
    usize in_at;
    conn_state state;
    u64 started_ms; /* first byte of the request being read; 0 before */
    u64 deadline_ms;
    bool is_last;   /* close after this answer */
    bool has_ended; /* the client sends no more */
    bool must_feed; /* the parser stopped at the head and goes on without new input */
};

typedef struct route {
    cd_http_route pub;
    char *path;
} route;

struct cd_http_server {
    cd_loop *loop;
    cd_http_cfg cfg;
    char *extra_headers;
    cd_http_access *access;
    cd_listener *listeners[LISTENERS_MAX];
    usize listeners_cnt;
    route *routes;
    usize routes_cnt;
    cd_list conns;
    usize conns_cnt;
    usize orphans; /* requests whose client has gone */
    cd_timer *sweep;
    u64 sweep_ms;
    bool is_sweeping;
    bool is_stopping;
    cd_timer *grace;
    void (*done)(void *ctx);
    void *done_ctx;
    u64 date_s;
    char date[CD_HTTP_DATE_LEN];
};

static void conn_close(conn *c);
static void conn_resume(conn *c);

/* ---- requests ---- */

static cd_http_req *req_new(cd_http_server *s, conn *c)
{
    cd_http_req *r = cd_new(cd_http_req);
    r->server = s;
    r->conn = c;
    r->parse = cd_http_parse_new(s->cfg.header_max, s->cfg.body_max);
    return r;
}

static void req_free(cd_http_req *r)
{
    if (r != NULL) {
        cd_http_parse_free(r->parse);
        cd_buf_fini(&r->head);
        cd_buf_fini(&r->lines);
        cd_buf_fini(&r->out);
        cd_free(r);
    }
}

cd_http_method cd_http_req_method(const cd_http_req *r)
{
    return cd_http_parse_method(r->parse);
}

cd_bytes cd_http_req_path(const cd_http_req *r)
{
    return cd_http_parse_path(r->parse);
}

cd_bytes cd_http_req_query(const cd_http_req *r)
{
    return cd_http_parse_query(r->parse);
}

cd_bytes cd_http_req_header(const cd_http_req *r, const char *name)
{
    return cd_http_parse_header(r->parse, name);
}

cd_bytes cd_http_req_body(const cd_http_req *r)
{
    return cd_http_parse_body(r->parse);
}

cd_buf *cd_http_req_out(cd_http_req *r)
{
    return &r->out;
}

void cd_http_req_add_header(cd_http_req *r, const char *name, const char *value)
{
    CD_ASSERT(strpbrk(name, "\r\n:") == NULL && strpbrk(value, "\r\n") == NULL);
    cd_buf_fmt(&r->lines, "%s: %s\r\n", name, value);
}

/* ---- answers ---- */

static const char *date_now(cd_http_server *s)
{
    u64 now = cd_clock_wall_s(cd_clock_real());
    if (now != s->date_s) {
        s->date_s = now;
        cd_http_date_fmt(s->date, now);
    }
    return s->date;
}

static void put_u64(cd_buf *b, u64 v)
{
    char *at = (char *)cd_buf_reserve(b, CD_U64_TEXT_MAX);
    b->n += cd_u64_fmt(at, v);
}

static void head_build(cd_http_req *r, bool is_last)
{
    cd_http_server *s = r->server;
    cd_buf *h = &r->head;
    cd_buf_clear(h);
    cd_buf_str(h, "HTTP/1.1 ");
    put_u64(h, r->status);
    cd_buf_u8(h, ' ');
    cd_buf_str(h, cd_http_reason(r->status));
    cd_buf_str(h, "\r\nDate: ");
    cd_buf_put(h, cd_bytes_of(date_now(s), CD_HTTP_DATE_LEN));
    if (r->content_type[0] != '\0') {
        cd_buf_str(h, "\r\nContent-Type: ");
        cd_buf_str(h, r->content_type);
    }
    if (r->status != 204 && r->status != 304) {
        cd_buf_str(h, "\r\nContent-Length: ");
        put_u64(h, r->out.n);
    }
    cd_buf_str(h, "\r\n");
    if (is_last) {
        cd_buf_str(h, "Connection: close\r\n");
    } else if (cd_http_parse_is_http10(r->parse)) {
        cd_buf_str(h, "Connection: keep-alive\r\n");
    }
    cd_buf_str(h, s->extra_headers);
    cd_buf_put(h, cd_buf_bytes(&r->lines));
    cd_buf_str(h, "\r\n");
}

static void buf_recycle(cd_buf *b)
{
    if (b->cap > KEEP_MAX) {
        cd_buf_fini(b);
    }
    cd_buf_clear(b);
}

/* The answer is out: on to the next request, or to the end. */
static void answer_finish(conn *c)
{
    cd_http_server *s = c->server;
    u64 now = cd_loop_now_ms(s->loop);
    buf_recycle(&c->req->out);
    cd_buf_clear(&c->req->lines);
    if (c->is_last) {
        c->state = CONN_LINGER;
        c->deadline_ms = now + LINGER_MS;
        cd_tcp_shutdown(c->tcp);
        if (c->has_ended) {
            conn_close(c);
        }
        return;
    }
    cd_http_parse_next(c->req->parse);
    c->state = CONN_READING;
    c->started_ms = 0;
    c->deadline_ms = now + s->cfg.idle_timeout_ms;
}

static void answer_send(conn *c)
{
    cd_http_req *r = c->req;
    c->is_last = c->is_last || c->server->is_stopping;
    head_build(r, c->is_last);
    bool has_body =
        r->status != 204 && r->status != 304 &&
        (cd_http_parse_is_idle(r->parse) || cd_http_parse_method(r->parse) != CD_HTTP_HEAD);
    const cd_bytes parts[] = {
        cd_buf_bytes(&r->head),
        has_body ? cd_buf_bytes(&r->out) : (cd_bytes){0},
    };
    c->state = CONN_WRITING;
    cd_err err = cd_tcp_write(c->tcp, parts, CD_COUNT(parts));
    if (err == CD_OK) {
        answer_finish(c);
    } else if (err == CD_EAGAIN) {
        c->deadline_ms = cd_loop_now_ms(c->server->loop) + c->server->cfg.write_timeout_ms;
    } else {
        conn_close(c);
    }
}

static void server_check_done(cd_http_server *s)
{
    if (s->is_stopping && s->conns_cnt == 0 && s->orphans == 0 && s->done != NULL) {
        void (*done)(void *ctx) = s->done;
        s->done = NULL;
        cd_timer_free(s->grace);
        s->grace = NULL;
        done(s->done_ctx); /* may free s */
    }
}

/* An answer that came after its handler had returned. */
static void on_reply(cd_loop_task *t)
{
    cd_http_req *r = (cd_http_req *)(void *)t;
    conn *c = r->conn;
    if (c == NULL) {
        cd_http_server *s = r->server;
        req_free(r);
        s->orphans--;
        server_check_done(s);
        return;
    }
    answer_send(c);
    conn_resume(c);
}

void cd_http_reply(cd_http_req *r, u32 status, const char *content_type)
{
    CD_ASSERT(status >= 200 && status <= 999 && r->status == 0);
    r->status = status;
    (void)snprintf(r->content_type, sizeof r->content_type, "%s",
                   content_type == NULL ? "" : content_type);
    if (cd_loop_is_here(r->server->loop) && r->in_dispatch) {
        r->in_dispatch = false;
        answer_send(r->conn);
        return;
    }
    r->task.fn = on_reply;
    cd_loop_post(r->server->loop, &r->task);
}

static bool wants_json(const cd_http_req *r)
{
    static const char want[] = "application/json";
    cd_bytes accept = cd_http_parse_header(r->parse, "accept");
    usize n = sizeof want - 1;
    return accept.n >= n && cd_http_name_eq(cd_bytes_sub(accept, 0, n), cd_bytes_of(want, n));
}

static void put_json_text(cd_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        u8 c = (u8)*text;
        if (c == '"' || c == '\\') {
            cd_buf_u8(out, '\\');
        }
        if (c < 0x20) {
            cd_buf_fmt(out, "\\u%04x", c);
        } else {
            cd_buf_u8(out, c);
        }
    }
}

void cd_http_reply_error(cd_http_req *r, u32 status, const char *text)
{
    cd_buf_clear(&r->out);
    cd_http_req_add_header(r, "X-Content-Type-Options", "nosniff");
    if (wants_json(r)) {
        cd_buf_fmt(&r->out, "{\"error\":{\"code\":%u,\"message\":\"", status);
        put_json_text(&r->out, text);
        cd_buf_str(&r->out, "\"}}");
        cd_http_reply(r, status, "application/json");
    } else {
        cd_buf_fmt(&r->out, "%s\n", text);
        cd_http_reply(r, status, "text/plain; charset=utf-8");
    }
}

/* ---- routing ---- */

/* The route of path and method; *allowed collects the methods of the path. method 0: any. */
static const route *route_find(const cd_http_server *s, cd_bytes path, u32 method, u32 *allowed)
{
    const route *found = NULL;
    *allowed = 0;
    for (usize i = 0; i < s->routes_cnt; i++) {
        const route *x = &s->routes[i];
        if (cd_bytes_eq(path, cd_bytes_str(x->path))) {
            *allowed |= x->pub.methods;
            bool fits = method == 0 || (x->pub.methods & method) != 0 ||
                        (method == CD_HTTP_HEAD && (x->pub.methods & CD_HTTP_GET) != 0);
            found = found == NULL && fits ? x : found;
        }
    }
    return found;
}

static void reply_not_allowed(cd_http_req *r, u32 allowed)
{
    char text[64];
    usize n = 0;
    allowed |= (allowed & CD_HTTP_GET) != 0 ? CD_HTTP_HEAD : 0;
    text[0] = '\0';
    for (u32 bit = CD_HTTP_GET; bit < CD_HTTP_OTHER; bit *= 2) {
        if ((allowed & bit) != 0) {
            n += (usize)snprintf(text + n, sizeof text - n, "%s%s", n == 0 ? "" : ", ",
                                 cd_http_method_name((cd_http_method)bit));
        }
    }
    cd_http_req_add_header(r, "Allow", text);
    cd_http_reply_error(r, 405, "method not allowed");
}

/* Gives a complete request to whoever answers it. */
static void dispatch(conn *c)
{
    cd_http_server *s = c->server;
    cd_http_req *r = c->req;
    cd_bytes origin = cd_http_req_header(r, "origin");
    cd_bytes asked = cd_http_req_header(r, "access-control-request-method");
    cd_http_method method = cd_http_req_method(r);

    c->state = CONN_BUSY;
    c->deadline_ms = NEVER;
    c->is_last = c->is_last || !cd_http_parse_keeps_alive(r->parse);
    r->status = 0;
    r->in_dispatch = true;
    if (method == CD_HTTP_OPTIONS && asked.p != NULL) {
        cd_http_access_preflight(s->access, &r->lines, origin, asked,
                                 cd_http_req_header(r, "access-control-request-headers"));
        cd_http_reply(r, 204, NULL);
        return;
    }
    cd_http_access_cors(s->access, &r->lines, origin);
    if (!cd_http_access_host(s->access, cd_http_parse_host(r->parse))) {
        cd_http_reply_error(r, 403, "invalid host specified");
        return;
    }
    u32 allowed;
    const route *x = route_find(s, cd_http_req_path(r), method, &allowed);
    if (x != NULL) {
        x->pub.handler(x->pub.ctx, r);
        if (c->req == r) {
            r->in_dispatch = false;
        }
    } else if (allowed != 0) {
        reply_not_allowed(r, allowed);
    } else {
        cd_http_reply_error(r, 404, "404 page not found");
    }
}

/* Answers a connection that cannot go on: input that is no request, or a time that is up. */
static void refuse(conn *c, u32 status, const char *text)
{
    cd_http_req *r = c->req;
    c->state = CONN_BUSY;
    c->is_last = true;
    r->status = 0;
    r->in_dispatch = true;
    cd_http_access_cors(c->server->access, &r->lines, cd_http_req_header(r, "origin"));
    cd_http_reply_error(r, status, text);
}

/* ---- connections ---- */

/* The headers are there: the route decides about the body's size, the client may wait for a word. */
static void on_head(conn *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    cd_http_server *s = c->server;
    cd_http_parse *p = c->req->parse;
    u32 allowed;
    c->must_feed = true;
    c->deadline_ms = c->started_ms + s->cfg.read_timeout_ms;
    if (!cd_http_parse_has_body(p)) {
        return;
    }
    const route *x = route_find(s, cd_http_parse_path(p), cd_http_parse_method(p), &allowed);
    bool fits = cd_http_parse_set_body_max(p, x != NULL && x->pub.body_max != 0 ? x->pub.body_max
                                                                                : s->cfg.body_max);
    if (fits && cd_http_parse_wants_continue(p)) {
        cd_bytes part = cd_bytes_of(go_on, sizeof go_on - 1);
        if (cd_tcp_write(c->tcp, &part, 1) != CD_OK) {
            conn_close(c); /* not even these few bytes fit: the client does not read */
        }
    }
}

/* Reads requests out of data and has them answered, as long as the answers go out at once. Gives what
 * is left of data. */
static cd_bytes conn_pump(conn *c, cd_bytes data)
{
    while (c->state == CONN_READING && (data.n != 0 || c->must_feed)) {
        usize used;
        const char *text;
        u32 status;
        c->must_feed = false;
        if (c->started_ms == 0) {
            c->started_ms = cd_loop_now_ms(c->server->loop);
            c->deadline_ms = c->started_ms + c->server->cfg.header_timeout_ms;
        }
        cd_http_step step = cd_http_parse_feed(c->req->parse, &used, data);
        data = used == 0 ? data : cd_bytes_sub(data, used, data.n - used);
        switch (step) {
        case CD_HTTP_STEP_MORE:
            break;
        case CD_HTTP_STEP_HEAD:
            on_head(c);
            break;
        case CD_HTTP_STEP_DONE:
            dispatch(c);
            break;
        case CD_HTTP_STEP_BAD:
            status = cd_http_parse_error(c->req->parse, &text);
            refuse(c, status, text);
            break;
        }
    }
    return data;
}

/* Keeps what a client sent ahead, and stops it from sending more than the buffer should hold. */
static void conn_keep(conn *c, cd_bytes data)
{
    if (c->state != CONN_BUSY && c->state != CONN_WRITING) {
        return;
    }
    if (c->in_at != 0) {
        c->in.n -= c->in_at;
        memmove(c->in.p, c->in.p + c->in_at, c->in.n);
        c->in_at = 0;
    }
    cd_buf_put(&c->in, data);
    if (c->in.n > c->server->cfg.header_max) {
        cd_tcp_pause(c->tcp);
    }
}

/* Goes on with what was kept; called whenever the connection may read again. */
static void conn_resume(conn *c)
{
    if (c->state == CONN_READING && c->in.n != c->in_at) {
        cd_bytes data = cd_bytes_of(c->in.p + c->in_at, c->in.n - c->in_at);
        c->in_at = c->in.n - conn_pump(c, data).n;
    }
    if (c->in_at == c->in.n) {
        buf_recycle(&c->in);
        c->in_at = 0;
    }
    if (c->state == CONN_READING || c->state == CONN_LINGER) {
        if (c->has_ended) {
            conn_close(c);
        } else {
            cd_tcp_resume(c->tcp);
        }
    }
}

static void on_data(void *ctx, cd_bytes data)
{
    conn *c = ctx;
    if (c->state == CONN_READING) {
        data = conn_pump(c, data);
    }
    if (data.n != 0) {
        conn_keep(c, data);
    }
}

static void on_end(void *ctx, cd_err err)
{
    conn *c = ctx;
    c->has_ended = true;
    /* A client may close its half and still read the answers. */
    if (err != CD_OK || c->state == CONN_READING || c->state == CONN_LINGER) {
        conn_close(c);
    }
}

static void on_written(void *ctx, cd_err err)
{
    conn *c = ctx;
    if (err != CD_OK) {
        conn_close(c);
        return;
    }
    answer_finish(c);
    conn_resume(c);
}

static void on_closed(void *ctx)
{
    conn *c = ctx;
    cd_http_server *s = c->server;
    cd_list_del(&c->link);
    s->conns_cnt--;
    if (s->conns_cnt == 0 && s->is_sweeping) {
        cd_timer_stop(s->sweep);
        s->is_sweeping = false;
    }
    cd_buf_fini(&c->in);
    req_free(c->req);
    cd_free(c);
    server_check_done(s);
}

static void conn_close(conn *c)
{
    if (c->state == CONN_CLOSED) {
        return;
    }
    if (c->state == CONN_BUSY) {
        c->req->conn = NULL;
        c->req = NULL;
        c->server->orphans++;
    }
    c->state = CONN_CLOSED;
    cd_tcp_close(c->tcp);
}

static void on_sweep(void *ctx)
{
    cd_http_server *s = ctx;
    u64 now = cd_loop_now_ms(s->loop);
    cd_list_each(it, &s->conns)
    { /* connections leave the list only in on_closed */
        conn *c = cd_list_of(it, conn, link);
        if (now < c->deadline_ms || c->state == CONN_CLOSED) {
            continue;
        }
        if (c->state == CONN_READING && c->started_ms != 0) {
            refuse(c, 408, "request not received in time");
        } else {
            conn_close(c);
        }
    }
}

static void on_accept(void *ctx, cd_tcp *tcp)
{
    static const cd_tcp_events events = {
        .data = on_data,
        .end = on_end,
        .written = on_written,
        .closed = on_closed,
    };
    cd_http_server *s = ctx;
    if (s->conns_cnt >= (usize)s->cfg.conns_max + CONNS_REFUSED_MAX) {
        cd_tcp_close(tcp);
        return;
    }
    conn *c = cd_new(conn);
    c->server = s;
    c->tcp = tcp;
    c->req = req_new(s, c);
    c->state = CONN_READING;
    c->deadline_ms = cd_loop_now_ms(s->loop) + s->cfg.header_timeout_ms;
    cd_list_push_back(&s->conns, &c->link);
    s->conns_cnt++;
    if (!s->is_sweeping) {
        cd_timer_start(s->sweep, s->sweep_ms, s->sweep_ms);
        s->is_sweeping = true;
    }
    cd_tcp_start(tcp, &events, c);
    if (s->conns_cnt > s->cfg.conns_max) {
        refuse(c, 503, "too many connections");
    }
}

/* ---- the server ---- */

static u32 or_default(u32 v, u32 dflt)
{
    return v == 0 ? dflt : v;
}

static char *str_dup(const char *s)
{
    usize n = strlen(s) + 1;
    return memcpy(cd_alloc(n), s, n);
}

cd_http_server *cd_http_server_new(cd_loop *loop, const cd_http_cfg *cfg)
{
    static const char *const localhost[] = {"localhost"};
    cd_http_server *s = cd_new(cd_http_server);
    s->loop = loop;
    s->cfg = *cfg;
    s->cfg.conns_max = or_default(cfg->conns_max, CONNS_MAX);
    s->cfg.header_max = cfg->header_max == 0 ? HEADER_MAX : cfg->header_max;
    s->cfg.body_max = cfg->body_max == 0 ? BODY_MAX : cfg->body_max;
    s->cfg.header_timeout_ms = or_default(cfg->header_timeout_ms, 30000);
    s->cfg.read_timeout_ms = or_default(cfg->read_timeout_ms, 30000);
    s->cfg.write_timeout_ms = or_default(cfg->write_timeout_ms, 30000);
    s->cfg.idle_timeout_ms = or_default(cfg->idle_timeout_ms, 120000);
    bool has_hosts = cfg->allowed_hosts_cnt != 0;
    s->access = cd_http_access_new(has_hosts ? cfg->allowed_hosts : localhost,
                                   has_hosts ? cfg->allowed_hosts_cnt : CD_COUNT(localhost),
                                   cfg->allowed_origins == NULL ? "*" : cfg->allowed_origins);
    s->extra_headers = str_dup(cfg->extra_headers == NULL ? "" : cfg->extra_headers);
    cd_list_init(&s->conns);
    s->sweep = cd_timer_new(loop, on_sweep, s);
    /* A time-out is noticed at most a quarter late. */
    u64 shortest = cd_min_u64(
        cd_min_u64(s->cfg.header_timeout_ms, s->cfg.read_timeout_ms),
        cd_min_u64(cd_min_u64(s->cfg.write_timeout_ms, s->cfg.idle_timeout_ms), LINGER_MS));
    s->sweep_ms = cd_max_u64(shortest / 4, 1);
    return s;
}

cd_err cd_http_server_listen(cd_http_server *s, const char *host, u16 port, cd_errinfo *why)
{
    if (s->listeners_cnt == LISTENERS_MAX) {
        return cd_fail(why, CD_ELIMIT, "more than %d addresses to listen on", LISTENERS_MAX);
    }
    cd_listener *l;
    CD_TRY(cd_listener_open(&l, s->loop, host, port, on_accept, s, why));
    s->listeners[s->listeners_cnt++] = l;
    return CD_OK;
}

u16 cd_http_server_port(const cd_http_server *s)
{
    CD_ASSERT(s->listeners_cnt != 0);
    return cd_listener_port(s->listeners[0]);
}

void cd_http_server_route(cd_http_server *s, const cd_http_route *r)
{
    CD_ASSERT(r->path[0] != '\0' && r->methods != 0 && r->handler != NULL);
    s->routes = cd_realloc(s->routes, (s->routes_cnt + 1) * sizeof *s->routes);
    s->routes[s->routes_cnt++] = (route){.pub = *r, .path = str_dup(r->path)};
}

static void listeners_close(cd_http_server *s)
{
    for (usize i = 0; i < s->listeners_cnt; i++) {
        cd_listener_close(s->listeners[i]);
    }
    s->listeners_cnt = 0;
}

static void on_grace(void *ctx)
{
    cd_http_server *s = ctx;
    cd_list_each(it, &s->conns)
    {
        conn_close(cd_list_of(it, conn, link));
    }
}

void cd_http_server_stop(cd_http_server *s, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    CD_ASSERT(!s->is_stopping && done != NULL);
    s->is_stopping = true;
    s->done = done;
    s->done_ctx = ctx;
    listeners_close(s);
    cd_list_each(it, &s->conns)
    {
        conn *c = cd_list_of(it, conn, link);
        if (c->state == CONN_READING && c->started_ms == 0) {
            conn_close(c);
        }
    }
    s->grace = cd_timer_new(s->loop, on_grace, s);
    cd_timer_start(s->grace, grace_ms, 0);
    server_check_done(s);
}

void cd_http_server_free(cd_http_server *s)
{
    if (s == NULL) {
        return;
    }
    CD_ASSERT(s->conns_cnt == 0 && s->orphans == 0);
    listeners_close(s);
    cd_timer_free(s->sweep);
    cd_timer_free(s->grace);
    cd_http_access_free(s->access);
    for (usize i = 0; i < s->routes_cnt; i++) {
        cd_free(s->routes[i].path);
    }
    cd_free(s->routes);
    cd_free(s->extra_headers);
    cd_free(s);
}
