#include "plugin/host/tunnel.h"

#include "base/mem/mem.h"
#include "plugin/host/stream.h"

#include <stdio.h>

enum { PREFIX_MAX = 128, HTTP_MIN = 200, HTTP_END = 600, ERROR = 500, GONE = 503, SMALL = 64 * 1024 };

typedef struct tunnel_route {
    cd__tunnel *tunnel;
    cd_grpc_client *client; /* client of the plugin's server for the route, on the plugin's loop */
    cd_grpc_client *near;   /* another one, on the node's loop and its alone; NULL before the first request */
    char addr[CD_PLUGIN_ADDR_MAX];
    char path[PREFIX_MAX];
} tunnel_route;

struct cd__tunnel {
    cd__plugin_vm *vm;
    tunnel_route routes[CD_PLUGIN_ROUTES_MAX];
    cd_vm_handler handlers[CD_PLUGIN_ROUTES_MAX];
    usize cnt;
    /* Of the node's loop alone. */
    bool has_left; /* nothing is passed on any more */
    cd_arena mem;  /* memory of one request, or of one answer */
    cd__streams *streams;
};

/* A request on its way to the plugin. */
typedef struct simple {
    cd_grpc_ask ask; /* first */
    cd_http_req *req;
    cd__tunnel *tunnel;
} simple;

/* --- names of header fields --- */

static bool is_lower(u8 c)
{
    return c >= 'a' && c <= 'z';
}

/* The canonical name of a field in Go: "User-Agent" for "user-agent". */
static cd_bytes canonical(cd_arena *mem, cd_bytes name)
{
    enum { CASE = 'a' - 'A' };
    u8 *out = cd_arena_alloc(mem, name.n + 1);
    bool is_first = true;
    for (usize i = 0; i < name.n; i++) {
        u8 c = name.p[i];
        bool is_upper = c >= 'A' && c <= 'Z';
        out[i] = is_first && is_lower(c) ? (u8)(c - CASE) : !is_first && is_upper ? (u8)(c + CASE) : c;
        is_first = c == '-';
    }
    return cd_bytes_of(out, name.n);
}

/* Adds a field; values of one name stand together. */
static void add_field(cd_wire_http_header *all, u32 *cnt, cd_arena *mem, cd_bytes name, cd_bytes value)
{
    cd_wire_http_header *h = NULL;
    cd_bytes key = canonical(mem, name);
    for (u32 i = 0; i < *cnt && h == NULL; i++) {
        h = cd_bytes_eq(all[i].key, key) ? &all[i] : NULL;
    }
    if (h == NULL) {
        h = &all[(*cnt)++];
        *h = (cd_wire_http_header){.key = key};
    }
    cd_bytes *values = cd_arena_array(mem, cd_bytes, h->values.cnt + 1);
    if (h->values.cnt != 0) {
        memcpy(values, h->values.v, h->values.cnt * sizeof *values);
    }
    values[h->values.cnt] = value;
    h->values = cd_wire_list(values, h->values.cnt + 1);
}

static cd_proto_list fields_of(cd_arena *mem, const cd_http_req *req)
{
    cd_bytes name;
    cd_bytes value;
    u32 cnt = 0;
    u32 max = 0;
    while (cd_http_req_field(req, max, &name, &value)) {
        max++;
    }
    cd_wire_http_header *all = cd_arena_array(mem, cd_wire_http_header, max);
    for (u32 i = 0; i < max && cd_http_req_field(req, i, &name, &value); i++) {
        /* Go does not count host and framing among the fields of a request. */
        if (!cd_http_name_eq(name, cd_bytes_str("host")) && !cd_http_name_eq(name, cd_bytes_str("transfer-encoding"))) {
            add_field(all, &cnt, mem, name, value);
        }
    }
    return cd_wire_list(all, cnt);
}

void cd__tunnel_ask(cd_wire_http_simple *out, cd_arena *mem, const cd_http_req *req)
{
    cd_bytes path = cd_http_req_path(req);
    cd_bytes query = cd_http_req_query(req);
    const char *target = query.p == NULL ? cd_arena_str(mem, path)
                                         : cd_arena_fmt(mem, "%.*s?%.*s", (int)path.n, (const char *)path.p,
                                                        (int)query.n, (const char *)query.p);
    *out = (cd_wire_http_simple){
        .method = cd_bytes_str(cd_http_method_name(cd_http_req_method(req))),
        .url = cd_bytes_str(target),
        .request_headers = fields_of(mem, req),
        .body = cd_http_req_body(req),
    };
}

/* --- what comes back --- */

/* Takes an answer of 500 out of the error in which it travels as the only detail; false: there is none. */
static bool unpack(cd_wire_http_answer *out, cd_arena *mem, const cd_grpc_status *st)
{
    static const char suffix[] = "/http.HandleSimpleHTTPResponse";
    cd_wire_rpc_status s = {0};
    if (st->details.n == 0 || CD_WIRE_PARSE(&s, rpc_status, mem, cd_buf_bytes(&st->details), NULL) != CD_OK ||
        s.details.cnt != 1) {
        return false;
    }
    const cd_wire_rpc_any *any = s.details.v;
    usize n = sizeof suffix - 1;
    bool is_it = any->type_url.n >= n && memcmp(any->type_url.p + any->type_url.n - n, suffix, n) == 0;
    return is_it && CD_WIRE_PARSE(out, http_answer, mem, any->value, NULL) == CD_OK;
}

static u32 blame(cd_wire_http_answer *out, u32 status, cd_bytes text)
{
    *out = (cd_wire_http_answer){.code = (i32)status, .body = text};
    return status;
}

u32 cd__tunnel_answer(cd_wire_http_answer *out, cd_arena *mem, const cd_grpc_status *st, cd_bytes reply)
{
    cd_errinfo why = {0};
    *out = (cd_wire_http_answer){0};
    if (st->code != CD_GRPC_OK) {
        if (!unpack(out, mem, st)) {
            bool is_gone = st->code == CD_GRPC_CANCELLED || st->code == CD_GRPC_UNAVAILABLE ||
                           st->code == CD_GRPC_DEADLINE_EXCEEDED;
            return blame(out, is_gone ? GONE : ERROR, cd_buf_bytes(&st->message));
        }
    } else if (CD_WIRE_PARSE(out, http_answer, mem, reply, &why) != CD_OK) {
        return blame(out, ERROR, cd_bytes_str(cd_arena_fmt(mem, "the plugin's answer is none: %s", why.msg)));
    }
    return out->code < HTTP_MIN || out->code >= HTTP_END ? ERROR : (u32)out->code;
}

/* Is it a field that our server writes itself, or one about the plugin's connection, not the client's? */
static bool is_ours(cd_bytes name)
{
    static const char *const ours[] = {"content-length", "transfer-encoding", "connection", "keep-alive",
                                       "date",           "trailer",           "upgrade",    "content-type"};
    for (usize i = 0; i < CD_COUNT(ours); i++) {
        if (cd_http_name_eq(name, cd_bytes_str(ours[i]))) {
            return true;
        }
    }
    return false;
}

bool cd__tunnel_is_clean(cd_bytes text, bool is_name)
{
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f || (is_name && (c == ':' || c == ' ' || c == '\t'))) {
            return false;
        }
    }
    return !is_name || text.n != 0;
}

static void reply(cd_http_req *req, cd_arena *mem, u32 status, const cd_wire_http_answer *a)
{
    const cd_wire_http_header *fields = a->headers.v;
    const char *type = NULL;
    for (u32 i = 0; i < a->headers.cnt; i++) {
        const cd_bytes *values = fields[i].values.v;
        bool is_type = cd_http_name_eq(fields[i].key, cd_bytes_str("content-type"));
        for (u32 k = 0; k < fields[i].values.cnt; k++) {
            if (!cd__tunnel_is_clean(fields[i].key, true) || !cd__tunnel_is_clean(values[k], false)) {
                continue;
            }
            if (is_type) {
                type = cd_arena_str(mem, values[k]);
            } else if (!is_ours(fields[i].key)) {
                cd_http_req_add_header(req, cd_arena_str(mem, fields[i].key), cd_arena_str(mem, values[k]));
            }
        }
    }
    cd_buf_put(cd_http_req_out(req), a->body);
    cd_http_reply(req, status, type);
}

/* Memory for a message: the tunnel's where the node's loop does all, else own. Gives it back, too: a large message
 * leaves nothing behind. */
static cd_arena *mem_of(cd__tunnel *t, cd_arena *own)
{
    return t->vm->ctx.loop != NULL ? &t->mem : own;
}

static void mem_done(cd__tunnel *t, cd_arena *mem, usize used)
{
    if (mem == &t->mem && used <= SMALL) {
        cd_arena_reset(mem);
    } else {
        cd_arena_fini(mem);
    }
}

/* Replies with the plugin's answer; on the loop that asked. */
static void on_done(cd_grpc_ask *ask)
{
    simple *s = (simple *)(void *)ask;
    cd_arena own = {0};
    cd_arena *mem = mem_of(s->tunnel, &own);
    cd_wire_http_answer a;
    u32 status = cd__tunnel_answer(&a, mem, &ask->status, cd_buf_bytes(&ask->reply));
    reply(s->req, mem, status, &a);
    mem_done(s->tunnel, mem, ask->reply.n + ask->status.details.n);
    cd_grpc_ask_fini(ask);
    cd_free(s);
}

/* The client that asks for a request. Where the node has a loop it is one on that: a request then wakes this process
 * once, not three times. NULL: there is none any more. */
static cd_grpc_client *client_for(tunnel_route *r)
{
    const cd__plugin_vm *v = r->tunnel->vm;
    cd_errinfo why = {0};
    if (v->ctx.loop == NULL || r->tunnel->has_left) {
        return v->ctx.loop == NULL ? r->client : NULL;
    }
    if (r->near == NULL) {
        const cd_grpc_client_cfg cfg = cd_plugin_client_cfg(v->plugin);
        cd_err e = cd_grpc_client_new(&r->near, v->ctx.loop, &cfg, r->addr, &why);
        CD_ASSERT(e == CD_OK); /* the plugin's loop has a client of the same address */
    }
    return r->near;
}

/* Passes a request to the plugin; on the node's loop. */
static void serve(void *ctx, cd_http_req *req)
{
    tunnel_route *r = ctx;
    cd__plugin_vm *v = r->tunnel->vm;
    char reason[CD_PLUGIN_REASON_MAX];
    if (cd_plugin_has_failed(v->plugin, reason)) {
        char text[CD_PLUGIN_REASON_MAX + 64];
        (void)snprintf(text, sizeof text, "the chain's plugin has failed: %s", reason);
        cd_http_reply_error(req, GONE, text);
        return;
    }
    if (v->ctx.loop != NULL && cd_http_req_header(req, "upgrade").n != 0 && cd_http_req_offers_upgrade(req, NULL)) {
        cd__stream_begin(r->tunnel->streams, r->client, v->ctx.loop, req);
        return;
    }
    cd_grpc_client *client = client_for(r);
    if (client == NULL) {
        cd_http_reply_error(req, GONE, "the chain is being closed");
        return;
    }
    simple *s = cd_new(simple);
    cd_arena own = {0};
    cd_arena *mem = mem_of(r->tunnel, &own);
    cd_wire_http_simple m;
    cd__tunnel_ask(&m, mem, req);
    s->req = req;
    s->tunnel = r->tunnel;
    /* A plugin that cannot be reached has ended: its servers listen before it names them. */
    s->ask = (cd_grpc_ask){
        .path = "/http.HTTP/HandleSimple",
        .timeout_ms = v->cfg.http_ms,
        .fails_fast = true,
        .done = on_done,
    };
    CD_WIRE_PUT(&s->ask.msg, http_simple, &m);
    mem_done(r->tunnel, mem, s->ask.msg.n);
    cd_grpc_ask_start(client, &s->ask);
}

/* On the node's loop, whose clients end here: they must not outlive it, nor the plugin's address. */
static void leave(void *ctx)
{
    cd__tunnel *t = ((const tunnel_route *)ctx)->tunnel;
    t->has_left = true;
    for (usize i = 0; i < t->cnt; i++) {
        cd_grpc_client_free(t->routes[i].near);
        t->routes[i].near = NULL;
    }
    cd__streams_leave(t->streams);
}

static bool is_idle(void *ctx)
{
    return cd__streams_is_idle(((const tunnel_route *)ctx)->tunnel->streams);
}

/* --- routes --- */

static cd_err add_route(cd__tunnel *t, const cd_wire_vm_route *m, cd_errinfo *why)
{
    if (t->cnt == CD_PLUGIN_ROUTES_MAX) {
        return cd_fail(why, CD_ELIMIT, "more than %d routes", CD_PLUGIN_ROUTES_MAX);
    }
    tunnel_route *r = &t->routes[t->cnt];
    const char *slash = m->prefix.n != 0 && m->prefix.p[0] != '/' ? "/" : "";
    if (m->prefix.n + 2 > sizeof r->path || !cd__tunnel_is_clean(m->prefix, m->prefix.n != 0)) {
        return cd_fail(why, CD_EFORMAT, "the plugin has a route that is none");
    }
    if (m->server_addr.n >= sizeof r->addr) {
        return cd_fail(why, CD_EFORMAT, "an address of %zu bytes", m->server_addr.n);
    }
    r->tunnel = t;
    memcpy(r->addr, m->server_addr.p, m->server_addr.n);
    r->addr[m->server_addr.n] = '\0';
    (void)snprintf(r->path, sizeof r->path, "%s%.*s", slash, (int)m->prefix.n, (const char *)m->prefix.p);
    for (usize i = 0; i < t->cnt; i++) {
        if (strcmp(t->routes[i].path, r->path) == 0) {
            return cd_fail(why, CD_EEXIST, "the plugin has the route \"%s\" twice", r->path);
        }
    }
    CD_TRY(cd_plugin_dial(t->vm->plugin, &r->client, m->server_addr, why));
    /* All routes share their streams, so only the first one leaves them and says whether they are idle. */
    t->handlers[t->cnt] = (cd_vm_handler){
        .route = r->path,
        .over = CD_VM_HTTP | CD_VM_WS,
        .serve = serve,
        .leave = t->cnt == 0 ? leave : NULL,
        .is_idle = t->cnt == 0 ? is_idle : NULL,
        .ctx = r,
    };
    t->cnt++;
    return CD_OK;
}

/* Has the streams end when the plugin fails; on the plugin's loop. */
static void watch(void *arg)
{
    const cd__tunnel *t = arg;
    cd_plugin_on_cut(t->vm->plugin, cd__streams_end, t->streams);
}

cd_err cd__tunnel_new(cd__tunnel **out, cd__plugin_vm *v, cd_errinfo *why)
{
    cd_wire_vm_routes said = {0};
    CD_TRY(cd__pvm_call(v, "/vm.VM/CreateHandlers", NULL, NULL, &cd_wire_vm_routes_type, &said, why));
    cd__tunnel *t = cd_new(cd__tunnel);
    const cd_wire_vm_route *rows = said.handlers.v;
    cd_err e = CD_OK;
    t->vm = v;
    t->streams = cd__streams_new(v->plugin);
    for (u32 i = 0; i < said.handlers.cnt && e == CD_OK; i++) {
        e = add_route(t, &rows[i], why);
    }
    if (e != CD_OK) {
        cd__tunnel_free(t);
        return e;
    }
    cd_plugin_run(v->plugin, watch, t);
    *out = t;
    return CD_OK;
}

void cd__tunnel_end(cd__tunnel *t)
{
    if (t != NULL) {
        cd_plugin_run(t->vm->plugin, cd__streams_end, t->streams);
    }
}

void cd__tunnel_free(cd__tunnel *t)
{
    if (t != NULL) {
        cd__streams_free(t->streams);
        cd_arena_fini(&t->mem);
        cd_free(t);
    }
}

const cd_vm_handler *cd__tunnel_handlers(const cd__tunnel *t, usize *cnt)
{
    *cnt = t->cnt;
    return t->handlers;
}
