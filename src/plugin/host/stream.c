#include "plugin/host/stream.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "plugin/host/stream_priv.h"
#include "plugin/host/tunnel.h"

enum {
    IN_MAX = 1 << 20, /* bytes from the client that may wait for the plugin; then no more are read */
    ERROR = 500,
    GONE = 503,
};

/* --- life --- */

static void free_all(cd__streams *all)
{
    cd_mutex_fini(&all->lock);
    cd_free(all);
}

/* Counts a stream as gone; the last one frees all when the owner has left it to that. */
static void left(cd__streams *all)
{
    cd_mutex_lock(&all->lock);
    bool is_last = --all->cnt == 0 && all->is_freed;
    cd_mutex_unlock(&all->lock);
    if (is_last) {
        free_all(all);
    }
}

void cd__stream_unref(cd__stream *s)
{
    cd_mutex_lock(&s->lock);
    bool is_last = --s->refs == 0;
    cd_mutex_unlock(&s->lock);
    if (!is_last) {
        return;
    }
    left(s->all);
    cd_arena_fini(&s->mem);
    cd_buf_fini(&s->body);
    cd_buf_fini(&s->sending);
    cd_buf_fini(&s->in);
    cd_buf_fini(&s->out);
    cd_mutex_fini(&s->lock);
    cd_free(s);
}

/* Has the plugin's side look again. The caller holds the lock. */
void cd__stream_ask_work(cd__stream *s)
{
    if (!s->is_work_posted && !s->is_deaf) {
        s->is_work_posted = true;
        s->refs++;
        cd_loop_post(cd_plugin_loop(s->all->plugin), &s->work);
    }
}

void cd__stream_ask_flush(cd__stream *s)
{
    if (!s->is_flush_posted) {
        s->is_flush_posted = true;
        s->refs++;
        cd_loop_post(s->loop, &s->flush);
    }
}

/* --- the node's loop: the client --- */

static void break_off(cd__stream *s)
{
    cd_mutex_lock(&s->lock);
    s->is_broken = true;
    s->has_ended = true;
    cd__stream_ask_work(s);
    cd_mutex_unlock(&s->lock);
}

/* Writes what waits for the client; closes the connection when it is done or cut off. */
static void pump(cd__stream *s)
{
    while (s->up != NULL && !s->is_sending) {
        cd_buf_clear(&s->sending);
        cd_mutex_lock(&s->lock);
        cd_buf swap = s->sending;
        s->sending = s->out;
        s->out = swap;
        bool is_done = s->is_done;
        bool is_cut = s->is_cut;
        bool may_resume = s->is_paused && s->in.n < IN_MAX / 2;
        if (s->sending.n != 0) {
            cd__stream_ask_work(s); /* out has room again */
        }
        cd_mutex_unlock(&s->lock);
        if (may_resume) {
            s->is_paused = false;
            cd_http_up_resume(s->up);
        }
        if (s->sending.n == 0 || is_cut) {
            if (is_done || is_cut) {
                cd_http_up_close(s->up);
            }
            return;
        }
        const cd_bytes part = cd_buf_bytes(&s->sending);
        cd_err e = cd_http_up_write(s->up, &part, 1);
        s->is_sending = e == CD_EAGAIN;
        if (e != CD_OK && e != CD_EAGAIN) {
            break_off(s);
            cd_http_up_close(s->up);
            return;
        }
    }
}

/* Is the stream cut off? Then a write to a client that reads nothing is not waited for. */
static bool is_cut(cd__stream *s)
{
    cd_mutex_lock(&s->lock);
    bool is = s->is_cut && s->up != NULL;
    cd_mutex_unlock(&s->lock);
    return is;
}

static void on_flush(cd_loop_task *t)
{
    cd__stream *s = cd_list_of(t, cd__stream, flush);
    cd_mutex_lock(&s->lock);
    s->is_flush_posted = false;
    cd_mutex_unlock(&s->lock);
    if (s->is_sending && is_cut(s)) {
        cd_http_up_close(s->up);
    } else {
        pump(s);
    }
    cd__stream_unref(s);
}

static void on_data(void *ctx, cd_bytes data)
{
    cd__stream *s = ctx;
    cd_mutex_lock(&s->lock);
    cd_buf_put(&s->in, data);
    bool is_full = s->in.n >= IN_MAX;
    cd__stream_ask_work(s);
    cd_mutex_unlock(&s->lock);
    if (is_full && !s->is_paused) {
        s->is_paused = true;
        cd_http_up_pause(s->up);
    }
}

static void on_end(void *ctx, cd_err err)
{
    cd__stream *s = ctx;
    if (err != CD_OK) {
        break_off(s);
        cd_http_up_close(s->up);
        return;
    }
    cd_mutex_lock(&s->lock);
    s->has_ended = true;
    cd__stream_ask_work(s);
    cd_mutex_unlock(&s->lock);
}

static void on_written(void *ctx, cd_err err)
{
    cd__stream *s = ctx;
    s->is_sending = false;
    if (err != CD_OK) {
        break_off(s);
        cd_http_up_close(s->up);
        return;
    }
    pump(s);
}

static void on_stop(void *ctx)
{
    cd_http_up_close(((cd__stream *)ctx)->up);
}

static void on_closed(void *ctx)
{
    cd__stream *s = ctx;
    s->up = NULL;
    break_off(s);
    cd__stream_unref(s);
}

static const cd_http_up_events up_events = {
    .data = on_data,
    .end = on_end,
    .written = on_written,
    .stop = on_stop,
    .closed = on_closed,
};

/* --- the end of a stream --- */

void cd__stream_door_closed(void *ctx)
{
    cd__stream *s = ctx;
    cd_plugin_guest_left(s->all->plugin);
    cd__stream_unref(s);
}

static void close_door(cd__door *d)
{
    if (d->server != NULL) {
        cd_grpc_server_close(d->server, 0, cd__stream_door_closed, d->stream);
        d->server = NULL;
    }
}

/* Ends the plugin's side: answers calls that wait, and closes the servers. */
static void end(cd__stream *s)
{
    if (s->is_over) {
        return;
    }
    s->is_over = true;
    cd__stream_serve_reading(s);
    cd__stream_serve_writing(s);
    cd_timer_free(s->timer);
    s->timer = NULL;
    cd__stream_close_after(s);
    cd_mutex_lock(&s->lock);
    s->is_deaf = true;
    cd_mutex_unlock(&s->lock);
    if (s->is_asked && !s->is_handled) {
        cd_grpc_ask_cancel(&s->handle);
    }
    close_door(&s->answer);
    close_door(&s->conn);
    cd__stream **at = &s->all->first;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    cd__stream_unref(s);
}

/* Ends the stream when the handler has returned and the connection is closed, or was not taken over. */
static void look(cd__stream *s)
{
    cd_mutex_lock(&s->lock);
    bool is_gone = s->is_broken || s->is_done;
    cd_mutex_unlock(&s->lock);
    if (s->is_handled && (is_gone || !s->is_hijacked)) {
        end(s);
    }
}

static void on_work(cd_loop_task *t)
{
    cd__stream *s = cd_list_of(t, cd__stream, work);
    cd_mutex_lock(&s->lock);
    s->is_work_posted = false;
    cd_mutex_unlock(&s->lock);
    if (!s->is_over) {
        cd__stream_serve_reading(s);
        cd__stream_serve_writing(s);
        look(s);
    }
    cd__stream_unref(s);
}

/* --- the call --- */

static void say_error(cd__stream *s, u32 status, cd_bytes text)
{
    const cd_proto_list none = {0};
    if (!s->has_head && !s->is_hijacked) {
        cd__stream_put_head(s, status, &none);
        (void)cd__stream_put(s, text);
    }
}

static void on_handled(cd_grpc_ask *a)
{
    enum { OK = 200 };
    cd__stream *s = cd_list_of(a, cd__stream, handle);
    cd_arena mem = {0};
    cd_wire_http_handled m = {0};
    if (a->status.code != CD_GRPC_OK) {
        bool is_gone = a->status.code == CD_GRPC_CANCELLED || a->status.code == CD_GRPC_UNAVAILABLE;
        say_error(s, is_gone ? GONE : ERROR, cd_buf_bytes(&a->status.message));
    } else if (!s->is_hijacked && CD_WIRE_PARSE(&m, http_handled, &mem, cd_buf_bytes(&a->reply), NULL) == CD_OK) {
        cd__stream_put_head(s, OK, &m.header);
    }
    cd_arena_fini(&mem);
    cd_grpc_ask_fini(a);
    s->is_handled = true;
    if (!s->is_over) {
        look(s);
    }
    cd__stream_unref(s);
}

/* On the plugin's loop, before everything else there: opens the first server and calls the handler. */
static void on_open(cd_loop_task *t)
{
    cd__stream *s = cd_list_of(t, cd__stream, open);
    cd_errinfo why = {0};
    char reason[CD_PLUGIN_REASON_MAX];
    s->next = s->all->first;
    s->all->first = s;
    s->timer = cd_timer_new(cd_plugin_loop(s->all->plugin), cd__stream_on_late, s);
    bool has_failed = cd_plugin_has_failed(s->all->plugin, reason);
    if (has_failed || cd__stream_open_answer(s, &why) != CD_OK) {
        say_error(s, GONE, cd_bytes_str(has_failed ? reason : why.msg));
        s->is_handled = true;
        end(s);
        return;
    }
    s->writer.server_addr = cd_bytes_str(s->answer.addr);
    s->handle = (cd_grpc_ask){.path = "/http.HTTP/Handle", .done = on_handled};
    CD_WIRE_PUT(&s->handle.msg, http_handle, &s->request);
    cd_mutex_lock(&s->lock);
    s->refs++;
    cd_mutex_unlock(&s->lock);
    s->is_asked = true;
    cd_grpc_ask_start(s->client, &s->handle);
}

/* Copies the request, which is gone when its connection has been taken over. */
static void keep_request(cd__stream *s, const cd_http_req *req)
{
    cd_wire_http_simple m;
    char peer[CD_TCP_PEER_MAX];
    cd__tunnel_ask(&m, &s->mem, req);
    cd_wire_http_header *fields = m.request_headers.v;
    for (u32 i = 0; i < m.request_headers.cnt; i++) {
        cd_bytes *values = fields[i].values.v;
        for (u32 k = 0; k < fields[i].values.cnt; k++) {
            values[k] = cd_arena_dup(&s->mem, values[k]);
        }
    }
    cd_http_req_peer(req, peer);
    cd_buf_put(&s->body, m.body);
    s->url = (cd_wire_http_url){
        .path = cd_arena_dup(&s->mem, cd_http_req_path(req)),
        .raw_query = cd_arena_dup(&s->mem, cd_http_req_query(req)),
    };
    s->head = (cd_wire_http_req){
        .method = m.method,
        .url = &s->url,
        .proto = cd_bytes_str("HTTP/1.1"),
        .proto_major = 1,
        .proto_minor = 1,
        .header = m.request_headers,
        .content_length = (i64)m.body.n,
        .host = cd_arena_dup(&s->mem, cd_http_req_header(req, "host")),
        .remote_addr = cd_bytes_str(cd_arena_fmt(&s->mem, "%s:0", peer)),
        .request_uri = m.url,
    };
    s->request = (cd_wire_http_handle){.response_writer = &s->writer, .request = &s->head};
}

static bool take_place(cd__streams *all)
{
    cd_mutex_lock(&all->lock);
    bool is_free = all->cnt < CD_PLUGIN_STREAMS_MAX;
    all->cnt += is_free;
    cd_mutex_unlock(&all->lock);
    return is_free;
}

void cd__stream_begin(cd__streams *all, cd_grpc_client *client, cd_loop *loop, cd_http_req *req)
{
    if (!take_place(all)) {
        cd_http_reply_error(req, GONE, "too many connections were given over to this chain's plugin");
        return;
    }
    cd__stream *s = cd_new(cd__stream);
    s->all = all;
    s->loop = loop;
    s->client = client;
    s->refs = 2; /* one for the client's side, one for the plugin's */
    s->work.fn = on_work;
    s->open.fn = on_open;
    s->flush.fn = on_flush;
    cd_mutex_init(&s->lock);
    keep_request(s, req);
    s->up = cd_http_req_upgrade(req, NULL, &up_events, s);
    if (s->up == NULL) {
        cd__stream_unref(s);
        cd__stream_unref(s);
        return;
    }
    cd_loop_post(cd_plugin_loop(all->plugin), &s->open);
}

/* --- all of them --- */

void cd__streams_end(void *ctx)
{
    cd__streams *all = ctx;
    while (all->first != NULL) {
        end(all->first);
    }
}

static void on_leave(cd_loop_task *t)
{
    cd__streams *all = cd_list_of(t, cd__streams, leave);
    for (cd__stream *s = all->first; s != NULL; s = s->next) {
        cd_mutex_lock(&s->lock);
        s->is_cut = true;
        cd_mutex_unlock(&s->lock);
    }
    cd__streams_end(all);
}

void cd__streams_leave(cd__streams *all)
{
    if (!all->has_left) {
        all->has_left = true;
        cd_loop_post(cd_plugin_loop(all->plugin), &all->leave);
    }
}

bool cd__streams_is_idle(cd__streams *all)
{
    cd_mutex_lock(&all->lock);
    bool is_idle = all->cnt == 0;
    cd_mutex_unlock(&all->lock);
    return is_idle;
}

cd__streams *cd__streams_new(cd_plugin *p)
{
    cd__streams *all = cd_new(cd__streams);
    all->plugin = p;
    all->leave.fn = on_leave;
    cd_mutex_init(&all->lock);
    return all;
}

void cd__streams_free(cd__streams *all)
{
    if (all == NULL) {
        return;
    }
    cd_mutex_lock(&all->lock);
    all->is_freed = true;
    bool is_last = all->cnt == 0;
    cd_mutex_unlock(&all->lock);
    if (is_last) {
        free_all(all);
    }
}
