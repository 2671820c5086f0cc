/* Tunnelled requests with a writer of their own. One that changes to another protocol gets a connection to our own
 * server, and its bytes are carried both ways: what the node reads and writes for its client is Conn.Read and
 * Conn.Write. Others are answered as simple ones are, through the writer. */
#include "plugin/guest/tunnel_priv.h"

#include "base/mem/mem.h"
#include "base/text.h"

#include <stdio.h>

enum {
    PIECE = 64 * 1024,  /* bytes of one Conn.Read */
    BODY_MAX = 8 << 20, /* bytes of the body of a request that stays HTTP */
    CONNECT_MS = 5000,
    WAITING_MAX = 256 * 1024, /* bytes that may wait for the node; then our own server is not read from */
};

/* One request. It stays until every call of its own is over and its socket is closed. */
typedef struct flow {
    cd_http_inner in; /* first; for a request that stays HTTP */
    const cd__tunnel_route *route;
    cd_grpc_call *call; /* the call of Handle; NULL: answered */
    cd_arena mem;
    cd_wire_http_handle req;
    cd_grpc_client *writer; /* the node's server for this request */
    cd_grpc_client *conn;   /* the node's server for the connection, after Hijack */
    cd_connect *connect;
    cd_tcp *tcp; /* to our own server */
    cd_buf head; /* head of the request to our own server */
    cd_buf down; /* from the node, on its way to our own server */
    cd_buf up;   /* for the node: what waits while a call is under way */
    cd_grpc_ask read;
    cd_grpc_ask write;
    cd_grpc_ask other; /* the call of Hijack, WriteHeader or Close */
    bool is_reading;   /* is_reading, is_writing, is_other: that call is under way */
    bool is_writing;
    bool is_other;
    bool is_down_busy; /* the socket has not taken all of down */
    bool is_paused;
    bool is_tcp_open;
    bool has_ended; /* our own server sends no more */
    bool is_over;
    bool is_closing; /* Conn.Close was sent */
    cd_loop_task task;
    bool is_posted;
} flow;

static cd_guest *guest_of(const flow *f)
{
    return f->route->tunnel->guest;
}

static void flow_look(flow *f);

/* --- the end --- */

static void answer(flow *f)
{
    const cd_wire_http_handled msg = {0};
    cd_buf out = {0};
    if (f->call != NULL) {
        CD_WIRE_PUT(&out, http_handled, &msg);
        cd_grpc_call_on_gone(f->call, NULL, NULL);
        cd_grpc_reply(f->call, &out);
        f->call = NULL;
    }
}

static void fail(flow *f, const char *text)
{
    if (f->call != NULL) {
        cd_grpc_call_on_gone(f->call, NULL, NULL);
        cd_grpc_fail(f->call, CD_GRPC_UNKNOWN, cd_bytes_str(text), (cd_bytes){0});
        f->call = NULL;
    }
}

static void flow_free(flow *f)
{
    cd_grpc_client_free(f->writer);
    cd_grpc_client_free(f->conn);
    cd_http_inner_fini(&f->in);
    cd_arena_fini(&f->mem);
    cd_buf_fini(&f->head);
    cd_buf_fini(&f->down);
    cd_buf_fini(&f->up);
    cd_free(f);
}

static void on_look(cd_loop_task *t)
{
    flow *f = (flow *)(void *)((char *)t - offsetof(flow, task));
    f->is_posted = false;
    flow_look(f);
}

/* Posts a look at f, for a moment when no function of it is on the stack. */
static void look_later(flow *f)
{
    if (!f->is_posted) {
        f->is_posted = true;
        f->task.fn = on_look;
        cd_loop_post(guest_of(f)->loop, &f->task);
    }
}

static void end(flow *f)
{
    f->is_over = true;
    look_later(f);
}

static void on_closed_conn(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, other));
    cd_grpc_ask_fini(a);
    f->is_other = false;
    end(f);
}

/* Ends a flow that is over, step by step: its socket, its calls, then Conn.Close at the node. */
static void flow_look(flow *f)
{
    if (!f->is_over) {
        return;
    }
    if (f->connect != NULL) {
        cd_connect_drop(f->connect);
        f->connect = NULL;
    }
    if (f->is_tcp_open) {
        cd_tcp_close(f->tcp);
        return; /* the event that it is closed follows */
    }
    if (f->is_reading) {
        cd_grpc_ask_cancel(&f->read);
    }
    if (f->is_writing || f->is_other) {
        return; /* the answers of these calls follow */
    }
    if (f->conn != NULL && !f->is_closing && f->call != NULL) {
        f->is_closing = true;
        f->is_other = true;
        f->other = (cd_grpc_ask){
            .path = "/net.conn.Conn/Close",
            .timeout_ms = CONNECT_MS,
            .fails_fast = true,
            .done = on_closed_conn,
        };
        cd_grpc_ask_start(f->conn, &f->other);
        return;
    }
    answer(f);
    flow_free(f);
}

/* --- from our own server to the node --- */

static void write_up(flow *f);

static void on_write(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, write));
    bool ok = a->status.code == CD_GRPC_OK;
    cd_arena mem = {0};
    cd_wire_io_written written = {0};
    ok = ok && CD_WIRE_PARSE(&written, io_written, &mem, cd_buf_bytes(&a->reply), NULL) == CD_OK &&
         written.has_error == 0;
    cd_arena_fini(&mem);
    cd_grpc_ask_fini(a);
    f->is_writing = false;
    if (!ok || f->is_over) {
        end(f);
        return;
    }
    write_up(f);
}

/* Sends what waits, one call at a time, in order. */
static void write_up(flow *f)
{
    if (f->is_writing || f->is_over) {
        return;
    }
    if (f->up.n != 0) {
        const cd_wire_io_write msg = {.payload = cd_buf_bytes(&f->up)};
        f->is_writing = true;
        f->write = (cd_grpc_ask){.path = "/net.conn.Conn/Write", .done = on_write};
        CD_WIRE_PUT(&f->write.msg, io_write, &msg);
        cd_buf_clear(&f->up);
        cd_grpc_ask_start(f->conn, &f->write);
    } else if (f->has_ended) {
        end(f);
        return;
    }
    if (f->is_paused && f->up.n < WAITING_MAX) {
        f->is_paused = false;
        cd_tcp_resume(f->tcp);
    }
}

static void on_tcp_data(void *ctx, cd_bytes data)
{
    flow *f = ctx;
    if (f->is_over) {
        return;
    }
    cd_buf_put(&f->up, data);
    write_up(f);
    if (f->up.n >= WAITING_MAX && !f->is_paused) {
        f->is_paused = true;
        cd_tcp_pause(f->tcp);
    }
}

static void on_tcp_end(void *ctx, cd_err err)
{
    flow *f = ctx;
    (void)err;
    f->has_ended = true;
    if (!f->is_over) {
        write_up(f);
    }
}

/* --- from the node to our own server --- */

static void read_down(flow *f);

static void on_read(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, read));
    cd_wire_io_got got = {0};
    cd_arena mem = {0};
    bool ok = a->status.code == CD_GRPC_OK &&
              CD_WIRE_PARSE(&got, io_got, &mem, cd_buf_bytes(&a->reply), NULL) == CD_OK && got.read.n <= PIECE;
    f->is_reading = false;
    cd_buf_clear(&f->down);
    if (ok) {
        cd_buf_put(&f->down, got.read);
    }
    bool is_last = !ok || got.error != NULL;
    cd_arena_fini(&mem);
    cd_grpc_ask_fini(a);
    if (f->is_over || !f->is_tcp_open) {
        end(f);
        return;
    }
    const cd_bytes part = cd_buf_bytes(&f->down);
    cd_err err = part.n == 0 ? CD_OK : cd_tcp_write(f->tcp, &part, 1);
    f->is_down_busy = err == CD_EAGAIN;
    if ((err != CD_OK && err != CD_EAGAIN) || is_last) {
        end(f);
    } else if (err == CD_OK) {
        read_down(f);
    }
}

static void read_down(flow *f)
{
    const cd_wire_io_read msg = {.length = PIECE};
    f->is_reading = true;
    f->read = (cd_grpc_ask){.path = "/net.conn.Conn/Read", .done = on_read};
    CD_WIRE_PUT(&f->read.msg, io_read, &msg);
    cd_grpc_ask_start(f->conn, &f->read);
}

static void on_tcp_written(void *ctx, cd_err err)
{
    flow *f = ctx;
    f->is_down_busy = false;
    if (err != CD_OK) {
        end(f);
    } else if (!f->is_over) {
        read_down(f);
    }
}

static void on_tcp_closed(void *ctx)
{
    flow *f = ctx;
    f->is_tcp_open = false;
    end(f);
}

static void on_connected(void *ctx, cd_tcp *tcp, cd_err err)
{
    static const cd_tcp_events events = {
        .data = on_tcp_data,
        .end = on_tcp_end,
        .written = on_tcp_written,
        .closed = on_tcp_closed,
    };
    flow *f = ctx;
    f->connect = NULL;
    if (tcp == NULL) {
        (void)err;
        end(f);
        return;
    }
    f->tcp = tcp;
    f->is_tcp_open = true;
    cd_tcp_start(tcp, &events, f);
    const cd_bytes part = cd_buf_bytes(&f->head);
    cd_err e = cd_tcp_write(tcp, &part, 1);
    f->is_down_busy = e == CD_EAGAIN;
    if (e == CD_OK) {
        read_down(f);
    } else if (e != CD_EAGAIN) {
        end(f);
    }
}

/* --- Hijack --- */

static bool is_line(cd_bytes text)
{
    for (usize i = 0; i < text.n; i++) {
        if (text.p[i] < 0x20 && text.p[i] != '\t') {
            return false;
        }
    }
    return true;
}

/* Writes the request as HTTP/1.1 for our own server; false: it cannot be written so. */
static bool head_put(flow *f, cd_buf *out)
{
    const cd_wire_http_req *r = f->req.request;
    const cd_wire_http_header *rows = r->header.v;
    bool ok = is_line(r->method) && is_line(r->request_uri) && is_line(r->host) && r->method.n != 0;
    cd_buf_put(out, r->method);
    cd_buf_str(out, " ");
    cd__tunnel_target(f->route, out, r->request_uri);
    cd_buf_str(out, " HTTP/1.1\r\nHost: localhost\r\n");
    for (u32 i = 0; i < r->header.cnt; i++) {
        const cd_bytes *values = rows[i].values.v;
        for (u32 k = 0; k < rows[i].values.cnt && !cd_text_same(rows[i].key, cd_bytes_str("host")); k++) {
            ok = ok && is_line(rows[i].key) && is_line(values[k]) && rows[i].key.n != 0;
            cd_buf_put(out, rows[i].key);
            cd_buf_str(out, ": ");
            cd_buf_put(out, values[k]);
            cd_buf_str(out, "\r\n");
        }
    }
    cd_buf_str(out, "\r\n");
    return ok;
}

static void on_hijacked(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, other));
    const cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    cd_wire_writer_hijacked got = {0};
    cd_errinfo why = {0};
    cd_guest *g = guest_of(f);
    f->is_other = false;
    cd_err err = cd_grpc_status_err(&a->status, &why);
    err = err != CD_OK ? err : CD_WIRE_PARSE(&got, writer_hijacked, &f->mem, cd_buf_bytes(&a->reply), &why);
    err = err != CD_OK || f->is_over
              ? err
              : cd_grpc_client_new(&f->conn, g->loop, &cfg, cd_arena_str(&f->mem, got.server_addr), &why);
    cd_grpc_ask_fini(a);
    if (err != CD_OK) {
        fail(f, why.msg);
        end(f);
    } else if (f->is_over) {
        end(f);
    } else {
        f->connect = cd_connect_new(g->loop, "127.0.0.1", cd_front_port(g->front), CONNECT_MS, on_connected, f);
    }
}

static void hijack(flow *f)
{
    if (!head_put(f, &f->head)) {
        fail(f, "malformed request");
        end(f);
        return;
    }
    f->is_other = true;
    f->other = (cd_grpc_ask){.path = "/http.responsewriter.Writer/Hijack", .done = on_hijacked};
    cd_grpc_ask_start(f->writer, &f->other);
}

/* --- requests that stay HTTP --- */

static void on_body_sent(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, write));
    f->is_writing = false;
    cd_grpc_ask_fini(a);
    end(f);
}

static void on_head_sent(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, other));
    bool ok = a->status.code == CD_GRPC_OK;
    const cd_wire_writer_write msg = {.payload = cd_buf_bytes(&f->in.body)};
    f->is_other = false;
    cd_grpc_ask_fini(a);
    if (!ok || f->is_over || f->in.body.n == 0) {
        end(f);
        return;
    }
    f->is_writing = true;
    f->write = (cd_grpc_ask){.path = "/http.responsewriter.Writer/Write", .done = on_body_sent};
    CD_WIRE_PUT(&f->write.msg, writer_write, &msg);
    cd_grpc_ask_start(f->writer, &f->write);
}

static void on_answered(cd_http_inner *in)
{
    flow *f = (flow *)in;
    f->is_other = false;
    if (f->is_over) {
        end(f);
        return;
    }
    const cd_wire_writer_head msg = {
        .headers = cd__tunnel_headers(&f->mem, &f->req.response_writer->header, cd_buf_bytes(&in->lines)),
        .status_code = (i32)in->status,
    };
    f->is_other = true;
    f->other = (cd_grpc_ask){.path = "/http.responsewriter.Writer/WriteHeader", .done = on_head_sent};
    CD_WIRE_PUT(&f->other.msg, writer_head, &msg);
    cd_grpc_ask_start(f->writer, &f->other);
}

static void ask_here(flow *f)
{
    cd_http_inner *in = &f->in;
    const cd_wire_http_req *r = f->req.request;
    cd_buf target = {0};
    in->done = on_answered;
    in->msg.method = cd__tunnel_method(r->method);
    cd__tunnel_target(f->route, &target, r->request_uri);
    cd_http_msg_add(&in->msg, &in->msg.target, cd_buf_bytes(&target));
    cd_buf_fini(&target);
    cd__tunnel_fields(&in->msg, &r->header);
    f->is_other = true;
    cd_http_inner_ask(cd_front_server(guest_of(f)->front), in);
}

static void read_body(flow *f);

static void on_body_read(cd_grpc_ask *a)
{
    flow *f = (flow *)(void *)((char *)a - offsetof(flow, read));
    cd_wire_io_got got = {0};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_err err = cd_grpc_status_err(&a->status, &why);
    err = err != CD_OK ? err : CD_WIRE_PARSE(&got, io_got, &mem, cd_buf_bytes(&a->reply), &why);
    f->is_reading = false;
    if (err == CD_OK && f->in.msg.body.n + got.read.n > BODY_MAX) {
        err = cd_fail(&why, CD_ELIMIT, "http: request body too large");
    }
    if (err == CD_OK) {
        cd_buf_put(&f->in.msg.body, got.read);
    }
    bool is_last = got.error != NULL;
    cd_arena_fini(&mem);
    cd_grpc_ask_fini(a);
    if (err != CD_OK) {
        fail(f, why.msg);
        end(f);
    } else if (f->is_over) {
        end(f);
    } else if (is_last) {
        ask_here(f);
    } else {
        read_body(f);
    }
}

static void read_body(flow *f)
{
    const cd_wire_io_read msg = {.length = PIECE};
    f->is_reading = true;
    f->read = (cd_grpc_ask){.path = "/io.reader.Reader/Read", .done = on_body_read};
    CD_WIRE_PUT(&f->read.msg, io_read, &msg);
    cd_grpc_ask_start(f->writer, &f->read);
}

/* --- Handle --- */

static void on_call_gone(void *ctx)
{
    end(ctx);
}

static bool wants_upgrade(const cd_wire_http_req *r)
{
    const cd_wire_http_header *rows = r->header.v;
    for (u32 i = 0; i < r->header.cnt; i++) {
        const cd_bytes *values = rows[i].values.v;
        if (cd_text_same(rows[i].key, cd_bytes_str("upgrade")) && rows[i].values.cnt != 0 && values[0].n != 0) {
            return true;
        }
    }
    return false;
}

static cd_err begin(flow *f, cd_errinfo *why)
{
    const cd_grpc_client_cfg cfg = cd_grpc_client_cfg_default();
    CD_TRY(CD_WIRE_PARSE(&f->req, http_handle, &f->mem, cd_grpc_call_msg(f->call), why));
    if (f->req.request == NULL || f->req.response_writer == NULL) {
        return cd_fail(why, CD_EFORMAT, "request and response writer are missing");
    }
    const char *addr = cd_arena_str(&f->mem, f->req.response_writer->server_addr);
    return cd_grpc_client_new(&f->writer, guest_of(f)->loop, &cfg, addr, why);
}

void cd__tunnel_handle(void *ctx, cd_grpc_call *call)
{
    flow *f = cd_new(flow);
    cd_errinfo why = {0};
    f->route = ctx;
    f->call = call;
    cd_err err = begin(f, &why);
    if (err != CD_OK) {
        cd__guest_fail(call, err, &why);
        f->call = NULL;
        flow_free(f);
        return;
    }
    cd_grpc_call_on_gone(call, on_call_gone, f);
    if (wants_upgrade(f->req.request)) {
        hijack(f);
    } else if (f->req.request->content_length == 0) {
        ask_here(f);
    } else {
        read_body(f);
    }
}
