#include "plugin/host/stream_priv.h"
#include "plugin/host/tunnel.h"

#include <stdio.h>

enum {
    OUT_MAX = 4 << 20, /* bytes that may wait for the client; a write beyond is answered later */
    READ_MAX = 1 << 20,
    ERROR = 500,
};

#define HOST "127.0.0.1"

/* --- the plugin's loop: reading and writing --- */

static void reply_read(cd_grpc_call *call, cd_bytes bytes, u32 code, const char *text)
{
    cd_buf msg = {0};
    cd_wire_io_error error = {.error_code = code, .message = cd_bytes_str(text)};
    const cd_wire_io_got m = {.read = bytes, .error = code == 0 ? NULL : &error};
    CD_WIRE_PUT(&msg, io_got, &m);
    cd_grpc_reply(call, &msg);
    cd_buf_fini(&msg);
}

static void reply_written(cd_grpc_call *call, usize n, const char *error)
{
    cd_buf msg = {0};
    const cd_wire_io_written m = {
        .length = (i32)n, .error = cd_bytes_str(error == NULL ? "" : error), .has_error = error == NULL ? 0 : 2};
    CD_WIRE_PUT(&msg, io_written, &m);
    cd_grpc_reply(call, &msg);
    cd_buf_fini(&msg);
}

/* Answers the read that waits, when there are bytes or no more will come. */
void cd__stream_serve_reading(cd__stream *s)
{
    if (s->reading == NULL) {
        return;
    }
    cd_mutex_lock(&s->lock);
    usize n = cd_min_u64(s->in.n, (u64)s->reading_n);
    cd_buf got = {0};
    cd_buf_put(&got, cd_bytes_of(s->in.p, n));
    if (n != 0) {
        memmove(s->in.p, s->in.p + n, s->in.n - n);
        s->in.n -= n;
        cd__stream_ask_flush(s); /* the client may be read again */
    }
    bool is_end = n == 0 && s->has_ended;
    cd_mutex_unlock(&s->lock);
    if (n != 0 || is_end || s->is_late || s->is_over) {
        cd_grpc_call *call = s->reading;
        s->reading = NULL;
        bool is_eof = n == 0 && (is_end || s->is_over);
        reply_read(call, cd_buf_bytes(&got),
                   is_eof                 ? CD_WIRE_EOF
                   : n == 0 && s->is_late ? CD_WIRE_TIME_OVER
                                          : 0,
                   is_eof ? "EOF" : "i/o timeout");
    }
    cd_buf_fini(&got);
}

void cd__stream_serve_writing(cd__stream *s)
{
    if (s->writing == NULL) {
        return;
    }
    cd_mutex_lock(&s->lock);
    bool is_broken = s->is_broken || s->is_over;
    bool has_room = s->out.n < OUT_MAX;
    cd_mutex_unlock(&s->lock);
    if (is_broken || has_room) {
        cd_grpc_call *call = s->writing;
        s->writing = NULL;
        reply_written(call, is_broken ? 0 : s->writing_n, is_broken ? "write: broken pipe" : NULL);
    }
}

/* Takes bytes for the client; false: the connection is gone or closing. */
bool cd__stream_put(cd__stream *s, cd_bytes bytes)
{
    cd_mutex_lock(&s->lock);
    bool is_good = !s->is_broken && !s->is_done;
    if (is_good) {
        cd_buf_put(&s->out, bytes);
        cd__stream_ask_flush(s);
    }
    cd_mutex_unlock(&s->lock);
    return is_good;
}

void cd__stream_close_after(cd__stream *s)
{
    cd_mutex_lock(&s->lock);
    s->is_done = true;
    cd__stream_ask_flush(s);
    cd_mutex_unlock(&s->lock);
}

/* --- what the plugin asks, of an answer --- */

/* Reads the message of a call into out; false: the call was answered with an error. */
static bool read_msg(cd_grpc_call *call, void *out, const cd_proto_type *type, cd_arena *mem)
{
    cd_errinfo why = {0};
    if (cd_proto_parse(out, type, mem, cd_grpc_call_msg(call), &why) == CD_OK) {
        return true;
    }
    cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str(why.msg), (cd_bytes){0});
    return false;
}

static bool is_framing(cd_bytes name)
{
    return cd_http_name_eq(name, cd_bytes_str("connection")) ||
           cd_http_name_eq(name, cd_bytes_str("transfer-encoding"));
}

/* Writes the head of the plugin's answer, once; the connection is closed behind the answer. */
void cd__stream_put_head(cd__stream *s, u32 status, const cd_proto_list *headers)
{
    const cd_wire_http_header *fields = headers->v;
    cd_buf text = {0};
    if (s->has_head) {
        return;
    }
    s->has_head = true;
    cd_buf_fmt(&text, "HTTP/1.1 %u %s\r\nConnection: close\r\n", status, cd_http_reason(status));
    for (u32 i = 0; i < headers->cnt; i++) {
        const cd_bytes *values = fields[i].values.v;
        for (u32 k = 0; k < fields[i].values.cnt; k++) {
            if (cd__tunnel_is_clean(fields[i].key, true) && cd__tunnel_is_clean(values[k], false) &&
                !is_framing(fields[i].key)) {
                cd_buf_put(&text, fields[i].key);
                cd_buf_str(&text, ": ");
                cd_buf_put(&text, values[k]);
                cd_buf_str(&text, "\r\n");
            }
        }
    }
    cd_buf_str(&text, "\r\n");
    (void)cd__stream_put(s, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void on_write(void *ctx, cd_grpc_call *call)
{
    enum { OK = 200 };
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_arena mem = {0};
    cd_wire_writer_write m = {0};
    if (!read_msg(call, &m, &cd_wire_writer_write_type, &mem)) {
        cd_arena_fini(&mem);
        return;
    }
    if (s->is_hijacked) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("http: connection has been hijacked"), (cd_bytes){0});
    } else {
        cd__stream_put_head(s, OK, &m.headers);
        if (s->writing != NULL) {
            cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("a write is under way"), (cd_bytes){0});
        } else {
            (void)cd__stream_put(s, m.payload);
            s->writing = call;
            s->writing_n = m.payload.n;
            cd__stream_serve_writing(s);
        }
    }
    cd_arena_fini(&mem);
}

static void on_write_header(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_arena mem = {0};
    cd_wire_writer_head m = {0};
    if (read_msg(call, &m, &cd_wire_writer_head_type, &mem)) {
        if (!s->is_hijacked) {
            cd__stream_put_head(s, m.status_code < 200 || m.status_code > 599 ? ERROR : (u32)m.status_code, &m.headers);
        }
        cd_grpc_reply(call, NULL);
    }
    cd_arena_fini(&mem);
}

static void on_nothing(void *ctx, cd_grpc_call *call)
{
    (void)ctx;
    cd_grpc_reply(call, NULL);
}

/* Gives the plugin the body of the request, which came whole. */
static void on_body(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_arena mem = {0};
    cd_wire_io_read m = {0};
    if (read_msg(call, &m, &cd_wire_io_read_type, &mem)) {
        usize left = s->body.n - s->body_at;
        usize n = m.length <= 0 ? 0 : cd_min_u64(left, cd_min_u64((u64)m.length, READ_MAX));
        bool is_end = n == left;
        cd_bytes bytes = cd_bytes_of(s->body.p + s->body_at, n);
        s->body_at += n;
        reply_read(call, bytes, is_end ? CD_WIRE_EOF : 0, "EOF");
    }
    cd_arena_fini(&mem);
}

/* --- what the plugin asks of the connection --- */

static void on_conn_read(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_arena mem = {0};
    cd_wire_io_read m = {0};
    bool is_good = read_msg(call, &m, &cd_wire_io_read_type, &mem);
    cd_arena_fini(&mem);
    if (!is_good) {
        return;
    }
    if (s->reading != NULL) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("a read is under way"), (cd_bytes){0});
    } else if (m.length <= 0) {
        reply_read(call, (cd_bytes){0}, 0, "");
    } else {
        s->reading = call;
        s->reading_n = (i32)cd_min_u64((u64)m.length, READ_MAX);
        cd__stream_serve_reading(s);
    }
}

static void on_conn_write(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_arena mem = {0};
    cd_wire_io_write m = {0};
    if (!read_msg(call, &m, &cd_wire_io_write_type, &mem)) {
        cd_arena_fini(&mem);
        return;
    }
    if (s->writing != NULL) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("a write is under way"), (cd_bytes){0});
    } else if (!cd__stream_put(s, m.payload)) {
        reply_written(call, 0, "write: broken pipe");
    } else {
        s->writing = call;
        s->writing_n = m.payload.n;
        cd__stream_serve_writing(s);
    }
    cd_arena_fini(&mem);
}

static void on_conn_close(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_grpc_reply(call, NULL);
    cd__stream_close_after(s);
    cd_mutex_lock(&s->lock);
    s->has_ended = true;
    cd__stream_ask_work(s);
    cd_mutex_unlock(&s->lock);
}

void cd__stream_on_late(void *ctx)
{
    cd__stream *s = ctx;
    s->is_late = true;
    cd__stream_serve_reading(s);
}

/* Sets the read deadline to a time as Go encodes it: version, seconds since the year 1, nanoseconds, zone. The zero
 * time means no deadline. */
static void set_deadline(cd__stream *s, cd_bytes time)
{
    enum { LEN = 15, NS_PER_MS = 1000000 };
    const u64 year_one = 62135596800;
    s->is_late = false;
    cd_timer_stop(s->timer);
    u64 seconds = time.n < LEN ? 0 : cd_be64(time.p + 1);
    if (seconds == 0 || seconds < year_one) {
        return;
    }
    u64 at_ms = (seconds - year_one) * 1000 + cd_be32(time.p + 9) / NS_PER_MS;
    u64 now_ms = cd_clock_wall_ns(cd_clock_real()) / NS_PER_MS;
    if (at_ms <= now_ms) {
        cd__stream_on_late(s);
    } else {
        cd_timer_start(s->timer, at_ms - now_ms, 0);
    }
}

static void on_read_deadline(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_arena mem = {0};
    cd_wire_conn_time m = {0};
    if (read_msg(call, &m, &cd_wire_conn_time_type, &mem)) {
        set_deadline(s, m.time);
        cd_grpc_reply(call, NULL);
    }
    cd_arena_fini(&mem);
}

/* --- doors --- */

static void on_hijack(void *ctx, cd_grpc_call *call);

static const cd_grpc_method answer_methods[] = {
    {"/http.responsewriter.Writer/Write", on_write},
    {"/http.responsewriter.Writer/WriteHeader", on_write_header},
    {"/http.responsewriter.Writer/Flush", on_nothing},
    {"/http.responsewriter.Writer/Hijack", on_hijack},
    {"/io.reader.Reader/Read", on_body},
};

/* A write deadline is accepted and has no effect: a write is taken, or waits for room. */
static const cd_grpc_method conn_methods[] = {
    {"/net.conn.Conn/Read", on_conn_read},
    {"/net.conn.Conn/Write", on_conn_write},
    {"/net.conn.Conn/Close", on_conn_close},
    {"/net.conn.Conn/SetDeadline", on_read_deadline},
    {"/net.conn.Conn/SetReadDeadline", on_read_deadline},
    {"/net.conn.Conn/SetWriteDeadline", on_nothing},
    {"/io.reader.Reader/Read", on_conn_read},
    {"/io.writer.Writer/Write", on_conn_write},
};

static cd_err open_server(cd__stream *s, cd__door *d, cd_errinfo *why)
{
    enum { CONNS = 4, CALLS = 16, MESSAGE = 8 << 20, MEMORY = 16 << 20 };
    cd_grpc_server_cfg cfg = cd_grpc_server_cfg_default();
    cfg.conns_max = CONNS;
    cfg.streams_max = CALLS;
    cfg.calls_max = CALLS;
    cfg.message_max = MESSAGE;
    cfg.memory_max = MEMORY;
    d->stream = s;
    CD_TRY(cd_grpc_server_open(&d->server, cd_plugin_loop(s->all->plugin), &cfg, HOST, 0, why));
    (void)snprintf(d->addr, sizeof d->addr, "%s:%u", HOST, cd_grpc_server_port(d->server));
    cd_plugin_guest(s->all->plugin);
    cd_mutex_lock(&s->lock);
    s->refs++;
    cd_mutex_unlock(&s->lock);
    return CD_OK;
}

static void on_hijack(void *ctx, cd_grpc_call *call)
{
    cd__stream *s = ((cd__door *)ctx)->stream;
    cd_errinfo why = {0};
    if (s->is_hijacked || s->has_head) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str("http: connection has been hijacked"), (cd_bytes){0});
        return;
    }
    if (open_server(s, &s->conn, &why) != CD_OK) {
        cd_grpc_fail(call, CD_GRPC_UNKNOWN, cd_bytes_str(why.msg), (cd_bytes){0});
        return;
    }
    cd_grpc_server_add(s->conn.server, conn_methods, CD_COUNT(conn_methods), &s->conn);
    s->is_hijacked = true;
    cd_buf msg = {0};
    const cd_wire_writer_hijacked m = {
        .local_network = cd_bytes_str("tcp"),
        .local_string = cd_bytes_str(HOST ":0"),
        .remote_network = cd_bytes_str("tcp"),
        .remote_string = s->head.remote_addr,
        .server_addr = cd_bytes_str(s->conn.addr),
    };
    CD_WIRE_PUT(&msg, writer_hijacked, &m);
    cd_grpc_reply(call, &msg);
    cd_buf_fini(&msg);
}

cd_err cd__stream_open_answer(cd__stream *s, cd_errinfo *why)
{
    CD_TRY(open_server(s, &s->answer, why));
    cd_grpc_server_add(s->answer.server, answer_methods, CD_COUNT(answer_methods), &s->answer);
    return CD_OK;
}
