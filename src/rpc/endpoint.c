#include "rpc/endpoint.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "rpc/work.h"

#include <stdatomic.h>

struct cd_rpc_endpoint {
    cd_rpc_endpoint_cfg cfg;
    cd_rpc_hub *hub;
    cd_list conns; /* open connections: ws_conn */
    /* HTTP requests that run; requests that begin and end on the loop are counted without atomic instructions. */
    u64 begun;
    u64 ended;
    _Atomic u64 ended_elsewhere;
    struct http_work *spare; /* kept for the next request, for most are done before the next one comes */
};

typedef struct http_work {
    cd__rpc_work work; /* first */
    cd_http_req *req;
    cd_rpc_endpoint *endpoint;
} http_work;

/* --- HTTP --- */

static void work_free(http_work *w)
{
    if (w != NULL) {
        cd_arena_fini(&w->work.req.arena);
        cd_free(w);
    }
}

static void on_done(cd__rpc_work *work)
{
    http_work *w = (http_work *)(void *)work;
    cd_rpc_endpoint *e = w->endpoint;
    cd_http_req *req = w->req;
    u32 status = work->is_refused ? 503 : 200;
    const char *type = "application/json";
    if (work->service->form == CD_RPC_JSON2) {
        type = "application/json; charset=utf-8";
        if (work->req.error_message == NULL) {
            cd_http_req_add_header(req, "X-Content-Type-Options", "nosniff");
        }
    }
    /* The spare one is the loop's alone. */
    bool is_here = cd_loop_is_here(e->cfg.loop);
    if (is_here && e->spare == NULL && cd_http_req_body(req).n <= CD__RPC_INLINE_MAX) {
        e->spare = w;
    } else {
        work_free(w);
    }
    if (is_here) {
        e->ended++;
    } else {
        (void)atomic_fetch_add(&e->ended_elsewhere, 1); /* from here on e may have been freed */
    }
    cd_http_reply(req, status, type);
}

static void serve(cd_rpc_endpoint *e, cd_http_req *req)
{
    http_work *w = e->spare != NULL ? e->spare : cd_new(http_work);
    e->spare = NULL;
    e->begun++;
    if (e->cfg.requests != NULL) {
        cd_counter_add(e->cfg.requests, 1);
    }
    w->req = req;
    w->endpoint = e;
    w->work = (cd__rpc_work){
        .req = {.arena = w->work.req.arena},
        .service = e->cfg.service,
        .lanes = &e->cfg.lanes,
        .foreign = cd_http_req_foreign(req),
        .body = cd_http_req_body(req),
        .out = cd_http_req_out(req),
        .splices = cd_http_req_splices(req),
        .done = on_done,
    };
    cd__rpc_work_start(&w->work);
}

/* The media type of a Content-Type, parameters aside. */
static cd_bytes media_type(cd_bytes type)
{
    const u8 *end = type.n == 0 ? NULL : memchr(type.p, ';', type.n);
    if (end != NULL) {
        type.n = (usize)(end - type.p);
    }
    while (type.n != 0 && type.p[type.n - 1] == ' ') {
        type.n--;
    }
    return type;
}

/* The media types that JSON-RPC clients send. */
static bool is_json(cd_bytes type)
{
    static const char *const known[] = {"application/json", "application/json-rpc", "application/jsonrequest"};
    type = media_type(type);
    for (usize i = 0; i < CD_COUNT(known); i++) {
        if (cd_http_name_eq(type, cd_bytes_str(known[i]))) {
            return true;
        }
    }
    return false;
}

static void serve_eth(cd_rpc_endpoint *e, cd_http_req *req)
{
    cd_http_method method = cd_http_req_method(req);
    bool is_empty_get = (method == CD_HTTP_GET || method == CD_HTTP_HEAD) && cd_http_req_body(req).n == 0 &&
                        cd_http_req_query(req).n == 0;
    if (is_empty_get) {
        cd_http_reply(req, 200, NULL);
    } else if (!is_json(cd_http_req_header(req, "content-type"))) {
        cd_http_reply_error(req, 415, "invalid content type, only application/json is supported");
    } else {
        serve(e, req);
    }
}

static void reply_text(cd_http_req *req, u32 status)
{
    cd_http_reply(req, status, "text/plain; charset=utf-8");
}

static void serve_json2(cd_rpc_endpoint *e, cd_http_req *req)
{
    cd_bytes type = media_type(cd_http_req_header(req, "content-type"));
    if (cd_http_req_method(req) != CD_HTTP_POST) {
        cd_buf_fmt(cd_http_req_out(req), "rpc: POST method required, received %s",
                   cd_http_method_name(cd_http_req_method(req)));
        reply_text(req, 405);
    } else if (!cd_http_name_eq(type, cd_bytes_str("application/json"))) {
        cd_buf_fmt(cd_http_req_out(req), "rpc: unrecognized Content-Type: %.*s", (int)type.n, (const char *)type.p);
        reply_text(req, 415);
    } else {
        serve(e, req);
    }
}

static void on_http(void *ctx, cd_http_req *req)
{
    cd_rpc_endpoint *e = ctx;
    if (e->cfg.is_local_only && !cd_http_req_is_local(req)) {
        cd_http_reply_error(req, 403, "only for clients on the node's own machine");
        return;
    }
    switch (e->cfg.service->form) {
    case CD_RPC_ETH:
        serve_eth(e, req);
        break;
    case CD_RPC_JSON2:
        serve_json2(e, req);
        break;
    }
}

/* --- WebSocket --- */

/* A WebSocket connection; its session may outlive it. */
typedef struct ws_conn {
    cd_list link;
    cd_rpc_endpoint *endpoint;
    cd_ws *ws;
    cd_rpc_session *session;
} ws_conn;

static cd_err wire_send(void *wire, cd_bytes head, cd_ws_payload *body)
{
    return cd_ws_send(wire, CD_WS_TEXT, head, body);
}

static void wire_cork(void *wire)
{
    cd_ws_cork(wire);
}

static void wire_uncork(void *wire)
{
    cd_ws_uncork(wire);
}

static void wire_pause(void *wire)
{
    cd_ws_pause(wire);
}

static void wire_resume(void *wire)
{
    cd_ws_resume(wire);
}

static void wire_close(void *wire, u16 code, const char *reason)
{
    cd_ws_close(wire, code, cd_bytes_str(reason));
}

static const cd_rpc_wire wire_ops = {
    .send = wire_send,
    .cork = wire_cork,
    .uncork = wire_uncork,
    .pause = wire_pause,
    .resume = wire_resume,
    .close = wire_close,
};

static void on_message(void *ctx, cd_ws *ws, cd_ws_kind kind, cd_bytes data)
{
    ws_conn *c = ctx;
    (void)ws;
    (void)kind; /* some clients send JSON in binary messages */
    if (c->endpoint->cfg.requests != NULL) {
        cd_counter_add(c->endpoint->cfg.requests, 1);
    }
    cd_rpc_session_message(c->session, data);
}

static void on_drained(void *ctx, cd_ws *ws)
{
    ws_conn *c = ctx;
    (void)ws;
    cd_rpc_session_writable(c->session);
}

static void on_closed(void *ctx, u16 code, cd_bytes reason)
{
    ws_conn *c = ctx;
    (void)code;
    (void)reason;
    cd_rpc_session_end(c->session);
    cd_list_del(&c->link);
    cd_free(c);
}

static void on_upgrade(void *ctx, cd_http_req *req)
{
    static const cd_ws_events events = {
        .message = on_message,
        .drained = on_drained,
        .closed = on_closed,
    };
    cd_rpc_endpoint *e = ctx;
    ws_conn *c = cd_new(ws_conn);
    c->endpoint = e;
    cd_bytes origin = cd_http_req_foreign(req);
    cd_buf foreign = {0}; /* the request is gone when the session begins */
    cd_buf_put(&foreign, origin);
    c->ws = cd_ws_accept(e->cfg.ws, req, &events, c);
    if (c->ws == NULL) {
        cd_free(c);
    } else {
        cd_list_push_back(&e->conns, &c->link);
        c->session = cd_rpc_session_new(e->hub, &wire_ops, c->ws, cd_buf_bytes(&foreign));
    }
    cd_buf_fini(&foreign);
}

static void on_either(void *ctx, cd_http_req *req)
{
    if (cd_http_req_offers_upgrade(req, "websocket")) {
        on_upgrade(ctx, req);
    } else {
        on_http(ctx, req);
    }
}

/* --- endpoints --- */

cd_rpc_endpoint *cd_rpc_endpoint_new(const cd_rpc_endpoint_cfg *cfg)
{
    cd_rpc_endpoint *e = cd_new(cd_rpc_endpoint);
    e->cfg = *cfg;
    cd_list_init(&e->conns);
    if (cfg->ws != NULL) {
        cd_rpc_hub_cfg hub = {
            .service = cfg->service,
            .lanes = &e->cfg.lanes,
            .home = cfg->loop,
            .queue_bytes = cfg->queue_bytes,
            .answers_max = cfg->answers_max,
            .cpu_refill_ns = cfg->service->limits.cpu_refill_ns,
            .cpu_max_ns = cfg->service->limits.cpu_max_ns,
        };
        e->hub = cd_rpc_hub_new(&hub);
    }
    return e;
}

void cd_rpc_endpoint_free(cd_rpc_endpoint *e)
{
    if (e != NULL) {
        cd_rpc_hub_free(e->hub);
        work_free(e->spare);
        cd_free(e);
    }
}

static u32 methods_of(const cd_rpc_endpoint *e, u32 over)
{
    return over == CD_RPC_OVER_WS                 ? (u32)CD_HTTP_GET
           : e->cfg.service->form == CD_RPC_JSON2 ? (u32)CD_HTTP_ANY
                                                  : (u32)(CD_HTTP_POST | CD_HTTP_GET);
}

static cd_http_handler *handler_of(const cd_rpc_endpoint *e, u32 over)
{
    CD_ASSERT((over & CD_RPC_OVER_WS) == 0 || e->hub != NULL);
    return over == CD_RPC_OVER_WS ? on_upgrade : (over & CD_RPC_OVER_WS) != 0 ? on_either : on_http;
}

void cd_rpc_endpoint_route(cd_rpc_endpoint *e, cd_http_server *s, const char *path, u32 over)
{
    const cd_http_route route = {
        .path = path,
        .methods = methods_of(e, over),
        .handler = handler_of(e, over),
        .ctx = e,
        .body_max = e->cfg.service->limits.body_max,
    };
    cd_http_server_route(s, &route);
}

void cd_rpc_endpoint_serve(cd_rpc_endpoint *e, cd_http_req *req, u32 over)
{
    u32 methods = methods_of(e, over);
    u32 method = cd_http_req_method(req);
    method = method == CD_HTTP_HEAD ? CD_HTTP_HEAD | CD_HTTP_GET : method;
    if ((methods & method) == 0) {
        cd_http_reply_not_allowed(req, methods);
        return;
    }
    handler_of(e, over)(e, req);
}

void cd_rpc_endpoint_leave(cd_rpc_endpoint *e)
{
    cd_list_each(it, &e->conns)
    { /* connections leave the list in a later round */
        cd_ws_close(cd_list_of(it, ws_conn, link)->ws, CD_WS_GOING_AWAY, cd_bytes_str("going away"));
    }
}

bool cd_rpc_endpoint_is_idle(const cd_rpc_endpoint *e)
{
    return e->begun == e->ended + atomic_load(&e->ended_elsewhere) && cd_list_is_empty(&e->conns) &&
           (e->hub == NULL || cd_rpc_hub_cnt(e->hub) == 0);
}
