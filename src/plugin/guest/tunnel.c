/* HTTP that comes through the node: a server of gRPC for each route of the VM. */
#include "plugin/guest/tunnel_priv.h"

#include "base/mem/mem.h"
#include "base/text.h"

#include <stdio.h>

enum { HTTP_INTERNAL_ERROR = 500, SPARE_MAX = 64, SPARE_SIZE = 32 * 1024 };

/* --- what came, as a request for our own handlers --- */

void cd__tunnel_field(cd_http_msg *m, cd_bytes name, cd_bytes value)
{
    cd_http_field *f = cd_http_msg_add_field(m);
    if (f != NULL) {
        u8 *lower;
        cd_http_msg_add(m, &f->name, name);
        lower = m->text.p + f->name.at;
        for (u32 i = 0; i < f->name.n; i++) {
            lower[i] = cd_text_lower(lower[i]);
        }
        cd_http_msg_add(m, &f->value, value);
    }
}

cd_http_method cd__tunnel_method(cd_bytes name)
{
    for (u32 bit = CD_HTTP_GET; bit < CD_HTTP_OTHER; bit *= 2) {
        if (cd_bytes_eq(name, cd_bytes_str(cd_http_method_name((cd_http_method)bit)))) {
            return (cd_http_method)bit;
        }
    }
    return CD_HTTP_OTHER;
}

void cd__tunnel_target(const cd__tunnel_route *r, cd_buf *out, cd_bytes url)
{
    const u8 *query = url.n == 0 ? NULL : memchr(url.p, '?', url.n);
    cd_buf_str(out, r->handler->route);
    if (query != NULL) {
        cd_buf_put(out, cd_bytes_of(query, (usize)(url.p + url.n - query)));
    }
}

/* --- the answer, as fields of the protocol --- */

/* Is it a field that the node writes itself? */
static bool is_nodes(cd_bytes name)
{
    return cd_text_same(name, cd_bytes_str("date")) || cd_text_same(name, cd_bytes_str("content-length"));
}

typedef struct fields {
    cd_wire_http_header *v;
    u32 cnt;
    u32 cap;
} fields;

static cd_wire_http_header *field_of(fields *f, cd_bytes name)
{
    for (u32 i = 0; i < f->cnt; i++) {
        if (cd_text_same(f->v[i].key, name)) {
            return &f->v[i];
        }
    }
    return NULL;
}

/* Adds a value to a field; the first value of ours replaces those that the node gave. */
static void field_put(fields *f, cd_arena *mem, u32 given, cd_bytes name, cd_bytes value)
{
    cd_wire_http_header *h = field_of(f, name);
    if (h == NULL) {
        CD_ASSERT(f->cnt < f->cap);
        h = &f->v[f->cnt++];
        *h = (cd_wire_http_header){.key = name};
    }
    bool is_given = (u32)(h - f->v) < given && h->values.cap == 0;
    u32 cnt = is_given ? 0 : h->values.cnt;
    cd_bytes *values = cd_arena_array(mem, cd_bytes, cnt + 1);
    if (cnt != 0) {
        memcpy(values, h->values.v, cnt * sizeof *values);
    }
    values[cnt] = value;
    h->values = (cd_proto_list){.v = values, .cnt = cnt + 1, .cap = cnt + 1};
}

static u32 lines_cnt(cd_bytes lines)
{
    u32 cnt = 0;
    for (usize i = 0; i < lines.n; i++) {
        cnt += lines.p[i] == '\n';
    }
    return cnt;
}

cd_proto_list cd__tunnel_headers(cd_arena *mem, const cd_proto_list *given, cd_bytes lines)
{
    u32 cap = given->cnt + lines_cnt(lines);
    fields f = {.v = cd_arena_array(mem, cd_wire_http_header, cap), .cap = cap};
    for (; f.cnt < given->cnt; f.cnt++) {
        f.v[f.cnt] = ((const cd_wire_http_header *)given->v)[f.cnt];
        f.v[f.cnt].values.cap = 0;
    }
    while (lines.n != 0) {
        const u8 *end = memchr(lines.p, '\r', lines.n);
        const u8 *colon = memchr(lines.p, ':', lines.n);
        CD_ASSERT(end != NULL && colon != NULL && colon + 2 <= end);
        cd_bytes name = cd_bytes_of(lines.p, (usize)(colon - lines.p));
        if (!is_nodes(name)) {
            field_put(&f, mem, given->cnt, name, cd_bytes_of(colon + 2, (usize)(end - colon - 2)));
        }
        usize n = (usize)(end - lines.p) + 2;
        lines = cd_bytes_sub(lines, n, lines.n - n);
    }
    return cd_wire_list(f.v, f.cnt);
}

/* --- HandleSimple --- */

typedef struct cd__tunnel_simple {
    cd_http_inner in; /* first */
    cd__tunnel *tunnel;
    struct cd__tunnel_simple *next; /* among the spare ones */
    cd_grpc_call *call;
    cd_arena mem;
    cd_wire_http_simple req; /* borrows from the call */
} simple;

static simple *simple_new(cd__tunnel *t)
{
    simple *s = t->spare;
    if (s == NULL) {
        s = cd_new(simple);
        s->tunnel = t;
    } else {
        t->spare = s->next;
        t->spare_cnt--;
    }
    return s;
}

static void simple_free(simple *s)
{
    cd_http_inner_fini(&s->in);
    cd_arena_fini(&s->mem);
    cd_free(s);
}

/* Keeps the memory of a request that is over, unless there is much of it: used bytes were parsed or written. */
static void simple_done(simple *s, usize used)
{
    cd__tunnel *t = s->tunnel;
    if (used > SPARE_SIZE || t->spare_cnt == SPARE_MAX) {
        simple_free(s);
        return;
    }
    cd_http_msg_clear(&s->in.msg);
    cd_buf_clear(&s->in.lines);
    cd_buf_fini(&s->in.body);
    cd_arena_reset(&s->mem);
    s->req = (cd_wire_http_simple){0};
    s->next = t->spare;
    t->spare = s;
    t->spare_cnt++;
}

/* An answer with 500 travels as an error that carries it [spec:plugin#6]. */
static void fail_with(cd_grpc_call *call, const cd_wire_http_answer *answer)
{
    cd_buf packed = {0};
    cd_buf details = {0};
    CD_WIRE_PUT(&packed, http_answer, answer);
    const cd_wire_rpc_any any = {
        .type_url = cd_bytes_str("type.googleapis.com/http.HandleSimpleHTTPResponse"),
        .value = cd_buf_bytes(&packed),
    };
    const cd_wire_rpc_status status = {
        .code = HTTP_INTERNAL_ERROR,
        .message = answer->body,
        .details = cd_wire_list(&any, 1),
    };
    CD_WIRE_PUT(&details, rpc_status, &status);
    cd_grpc_fail(call, HTTP_INTERNAL_ERROR, answer->body, cd_buf_bytes(&details));
    cd_buf_fini(&packed);
    cd_buf_fini(&details);
}

static void on_simple(cd_http_inner *in)
{
    simple *s = (simple *)in;
    usize used = cd_grpc_call_msg(s->call).n + in->lines.n;
    const cd_wire_http_answer answer = {
        .code = (i32)in->status,
        .headers = cd__tunnel_headers(&s->mem, &s->req.response_headers, cd_buf_bytes(&in->lines)),
        .body = cd_buf_bytes(&in->body),
    };
    if (in->status == HTTP_INTERNAL_ERROR) {
        fail_with(s->call, &answer);
    } else {
        cd_buf out = {0};
        CD_WIRE_PUT(&out, http_answer, &answer);
        cd_grpc_reply(s->call, &out);
    }
    simple_done(s, used);
}

void cd__tunnel_fields(cd_http_msg *m, const cd_proto_list *headers)
{
    const cd_wire_http_header *rows = headers->v;
    for (u32 i = 0; i < headers->cnt; i++) {
        const cd_bytes *values = rows[i].values.v;
        for (u32 k = 0; k < rows[i].values.cnt; k++) {
            cd__tunnel_field(m, rows[i].key, values[k]);
        }
    }
}

static void serve_simple(void *ctx, cd_grpc_call *call)
{
    const cd__tunnel_route *r = ctx;
    simple *s = simple_new(r->tunnel);
    cd_errinfo why = {0};
    cd_buf target = {0};
    cd_err err = CD_WIRE_PARSE(&s->req, http_simple, &s->mem, cd_grpc_call_msg(call), &why);
    if (err != CD_OK) {
        usize used = cd_grpc_call_msg(call).n;
        cd__guest_fail(call, err, &why);
        simple_done(s, used);
        return;
    }
    s->call = call;
    s->in.done = on_simple;
    s->in.msg.method = cd__tunnel_method(s->req.method);
    cd__tunnel_target(r, &target, s->req.url);
    cd_http_msg_add(&s->in.msg, &s->in.msg.target, cd_buf_bytes(&target));
    cd_buf_fini(&target);
    cd__tunnel_fields(&s->in.msg, &s->req.request_headers);
    cd_buf_put(&s->in.msg.body, s->req.body);
    cd_http_inner_ask(cd_front_server(r->tunnel->guest->front), &s->in);
}

/* --- routes --- */

static const cd_grpc_method methods[] = {
    {"/http.HTTP/HandleSimple", serve_simple},
    {"/http.HTTP/Handle", cd__tunnel_handle},
};

static cd_err run_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    cd_guest *g = ctx;
    switch (lane) {
    case CD_RPC_FAST:
    case CD_RPC_TRY:
    case CD_RPC_READ:
        return cd_front_run(g->front, job);
    case CD_RPC_OWNER:
        return cd_executor_run(g->executor, job);
    }
    CD_UNREACHABLE();
}

static void serve_raw(void *ctx, cd_http_req *req)
{
    const cd_vm_handler *h = ctx;
    h->serve(h->ctx, req);
}

/* Makes our own server answer at the handler's route. */
static void route_add(cd__tunnel_route *r, const cd_vm_handler *h)
{
    cd_guest *g = r->tunnel->guest;
    cd_http_server *s = cd_front_server(g->front);
    if (h->service == NULL) {
        const cd_http_route raw = {
            .path = h->route,
            .methods = CD_HTTP_ANY,
            .handler = serve_raw,
            .ctx = (void *)(uintptr_t)h,
        };
        cd_http_server_route(s, &raw);
        return;
    }
    cd_rpc_endpoint_cfg cfg = {
        .lanes = {.run = run_lane, .ctx = g},
        .service = h->service,
        .answers_max = g->budget.ws_out,
    };
    cd_front_endpoint_cfg(g->front, &cfg);
    r->endpoint = cd_rpc_endpoint_new(&cfg);
    u32 over = ((h->over & CD_VM_HTTP) != 0 ? (u32)CD_RPC_OVER_HTTP : 0) |
               ((h->over & CD_VM_WS) != 0 ? (u32)CD_RPC_OVER_WS : 0);
    cd_rpc_endpoint_route(r->endpoint, s, h->route, over);
}

static cd_err route_open(cd__tunnel_route *r, const cd_vm_handler *h, cd_errinfo *why)
{
    const cd_grpc_server_cfg cfg = cd_grpc_server_cfg_default();
    r->handler = h;
    route_add(r, h);
    CD_TRY(cd_grpc_server_open(&r->server, r->tunnel->guest->loop, &cfg, "127.0.0.1", 0, why));
    cd_grpc_server_add(r->server, methods, CD_COUNT(methods), r);
    (void)snprintf(r->addr, sizeof r->addr, "127.0.0.1:%u", cd_grpc_server_port(r->server));
    return CD_OK;
}

cd_err cd__tunnel_open(cd__tunnel **out, cd_guest *g, cd_errinfo *why)
{
    usize cnt = 0;
    const cd_vm_handler *handlers = g->vm->ops->handlers(g->vm, &cnt);
    cd_err err = cd_front_listen(g->front, why);
    if (err != CD_OK) {
        return err;
    }
    cd__tunnel *t = cd_new(cd__tunnel);
    t->guest = g;
    t->routes = cd_new_array(cd__tunnel_route, cnt + 1);
    for (; t->cnt < cnt && err == CD_OK; t->cnt++) {
        t->routes[t->cnt].tunnel = t;
        err = route_open(&t->routes[t->cnt], &handlers[t->cnt], why);
    }
    *out = t;
    return err;
}

void cd__tunnel_answer(const cd__tunnel *t, cd_buf *answer)
{
    cd_wire_vm_route *rows = cd_new_array(cd_wire_vm_route, t->cnt + 1);
    for (usize i = 0; i < t->cnt; i++) {
        rows[i] = (cd_wire_vm_route){
            .prefix = cd_bytes_str(t->routes[i].handler->route),
            .server_addr = cd_bytes_str(t->routes[i].addr),
        };
    }
    const cd_wire_vm_routes msg = {.handlers = cd_wire_list(rows, t->cnt)};
    CD_WIRE_PUT(answer, vm_routes, &msg);
    cd_free(rows);
}

void cd__tunnel_leave(cd__tunnel *t)
{
    for (usize i = 0; i < t->cnt; i++) {
        cd__tunnel_route *r = &t->routes[i];
        if (r->endpoint != NULL) {
            cd_rpc_endpoint_leave(r->endpoint);
            cd_rpc_table_end(r->handler->service->table);
        } else if (r->handler->leave != NULL) {
            r->handler->leave(r->handler->ctx);
        }
    }
}

bool cd__tunnel_is_idle(const cd__tunnel *t)
{
    for (usize i = 0; i < t->cnt; i++) {
        const cd__tunnel_route *r = &t->routes[i];
        const cd_vm_handler *h = r->handler;
        bool is_idle =
            r->endpoint != NULL ? cd_rpc_endpoint_is_idle(r->endpoint) : h->is_idle == NULL || h->is_idle(h->ctx);
        if (!is_idle) {
            return false;
        }
    }
    return true;
}

void cd__tunnel_close(cd__tunnel *t)
{
    for (usize i = 0; i < t->cnt; i++) {
        cd_grpc_server_close(t->routes[i].server, 0, NULL, NULL);
        t->routes[i].server = NULL;
    }
}

void cd__tunnel_free(cd__tunnel *t)
{
    if (t == NULL) {
        return;
    }
    for (usize i = 0; i < t->cnt; i++) {
        cd_rpc_endpoint_free(t->routes[i].endpoint);
    }
    while (t->spare != NULL) {
        simple *s = t->spare;
        t->spare = s->next;
        simple_free(s);
    }
    cd_free(t->routes);
    cd_free(t);
}
