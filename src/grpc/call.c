/* One call at a server: from its head until it is answered and its handler has let go of it. */
#include "grpc/server_priv.h"

#include "base/mem/mem.h"

static cd_grpc_call *call_of(cd__grpc_stream *st)
{
    return (cd_grpc_call *)st;
}

cd__grpc_stream *cd__grpc_call_new(cd__grpc_peer *p)
{
    cd_grpc_call *c = cd_new(cd_grpc_call);
    c->server = p->server;
    c->peer = p;
    c->deadline_ms = UINT64_MAX;
    cd__grpc_due_item_init(&c->due);
    cd_list_push_back(&c->server->calls, &c->link);
    c->server->calls_cnt++;
    p->calls_cnt++;
    return &c->st;
}

static void call_free(cd_grpc_call *c)
{
    cd_grpc_server *s = c->server;
    if (c->peer != NULL) {
        c->peer->calls_cnt--;
    }
    s->calls_cnt--;
    cd_list_del(&c->link);
    cd__grpc_due_del(&c->due);
    s->account.held -= c->reply_held;
    cd__grpc_msg_fini(&c->st.in, &s->account);
    cd_buf_fini(&c->st.out);
    cd_buf_fini(&c->path);
    cd_buf_fini(&c->in_meta);
    cd_buf_fini(&c->out_meta);
    cd_buf_fini(&c->reply);
    cd_buf_fini(&c->status_text);
    cd_grpc_status_fini(&c->status);
    cd_free(c->trailers);
    cd_free(c);
    cd__grpc_server_check_done(s);
}

/* Tells the handler that nobody wants the answer any more. */
static void tell_gone(cd_grpc_call *c)
{
    void (*gone)(void *ctx) = c->gone;
    c->is_told = true;
    c->gone = NULL;
    if (gone != NULL) {
        gone(c->gone_ctx);
    }
}

/* --- the answer --- */

static usize meta_fields(cd__grpc_field *out, const cd_buf *meta, u8 place)
{
    usize cnt = 0;
    usize at = 0;
    u8 where;
    cd__grpc_field f;
    while (cd__grpc_meta_next(meta, &at, &where, &f)) {
        if (where == place) {
            out[cnt++] = f;
        }
    }
    return cnt;
}

static usize meta_cnt(const cd_buf *meta)
{
    usize cnt = 0;
    u8 where;
    cd__grpc_field f;
    for (usize at = 0; cd__grpc_meta_next(meta, &at, &where, &f);) {
        cnt++;
    }
    return cnt;
}

enum { META_FIELDS_MAX = 32 };

/* Has the reply and trailers follow the head. */
static void give_reply(cd_grpc_call *c, cd__grpc_field *trailers, usize cnt)
{
    c->st.has_body = true;
    c->st.out = c->reply;
    c->reply = (cd_buf){0};
    c->reply_held = c->st.out.cap;
    c->server->account.held += c->reply_held;
    c->st.fields = trailers;
    c->st.fields_cnt = cnt;
}

/* Sends a status and, when it is OK, the reply. The stream must be there. own: the status is the server's own, and the
 * handler may be writing status, reply and fields of the call meanwhile, so those are not read. */
static void respond(cd_grpc_call *c, const cd_grpc_status *st, bool own)
{
    static const cd_buf none;
    const cd_buf *meta = own ? &none : &c->out_meta;
    cd__grpc_field head[2 + CD__GRPC_STATUS_FIELDS + META_FIELDS_MAX] = {
        {cd_bytes_str(":status"), cd_bytes_str("200")},
        {cd_bytes_str("content-type"), cd_bytes_str("application/grpc")},
    };
    usize head_cnt = 2 + meta_fields(head + 2, meta, false);
    CD_ASSERT(!c->is_responded);
    c->is_responded = true;
    cd__grpc_due_del(&c->due);
    if (st->code == CD_GRPC_OK && meta->n == 0) { /* nearly always: no memory of its own for what never changes */
        static cd__grpc_field fine[] = {{{(const u8 *)"grpc-status", 11}, {(const u8 *)"0", 1}}};
        give_reply(c, fine, CD_COUNT(fine));
        cd__grpc_conn_respond(&c->st, head, head_cnt);
        return;
    }
    c->trailers = cd_new_array(cd__grpc_field, CD__GRPC_STATUS_FIELDS + meta_cnt(meta));
    usize cnt = cd__grpc_status_fields(c->trailers, &c->status_text, st);
    cnt += meta_fields(c->trailers + cnt, meta, true);
    if (st->code == CD_GRPC_OK) {
        give_reply(c, c->trailers, cnt);
    } else {
        memcpy(head + head_cnt, c->trailers, cnt * sizeof *head);
        head_cnt += cnt;
    }
    cd__grpc_conn_respond(&c->st, head, head_cnt);
}

/* The server itself ends a call with an error. */
static void refuse(cd_grpc_call *c, u32 code, const char *text)
{
    if (!c->is_responded && c->st.conn != NULL) {
        cd_grpc_status st = {0};
        cd_grpc_status_set(&st, code, cd_bytes_str(text));
        respond(c, &st, true);
        cd_grpc_status_fini(&st);
    }
}

/* Answers a request that is not gRPC with an error of HTTP. */
static void refuse_http(cd_grpc_call *c)
{
    const cd__grpc_field head[] = {
        {cd_bytes_str(":status"), cd_bytes_str("415")},
        {cd_bytes_str("content-type"), cd_bytes_str("text/plain; charset=utf-8")},
    };
    c->is_responded = true;
    c->st.has_body = true;
    c->st.out_at = CD__GRPC_HEAD; /* the text is no gRPC message: no head of a message is sent before it */
    cd_buf_str(&c->st.out, "only POST with content-type application/grpc is served here\n");
    cd__grpc_conn_respond(&c->st, head, CD_COUNT(head));
}

/* --- what comes --- */

static bool is_grpc_type(cd_bytes v)
{
    static const char type[] = "application/grpc";
    usize n = sizeof type - 1;
    return v.n >= n && memcmp(v.p, type, n) == 0 && (v.n == n || v.p[n] == '+' || v.p[n] == ';');
}

void cd__grpc_call_header(void *ctx, cd__grpc_stream *st, cd_bytes name, cd_bytes value, bool is_trailer)
{
    cd_grpc_call *c = call_of(st);
    (void)ctx;
    if (is_trailer) {
        return; /* trailers of a caller mean nothing in gRPC */
    }
    if (cd_bytes_eq(name, cd_bytes_str(":path"))) {
        cd_buf_put(&c->path, value);
        (void)cd_buf_cstr(&c->path);
    } else if (cd_bytes_eq(name, cd_bytes_str(":method"))) {
        c->is_post = cd_bytes_eq(value, cd_bytes_str("POST"));
    } else if (cd_bytes_eq(name, cd_bytes_str("content-type"))) {
        c->is_grpc = is_grpc_type(value);
    } else if (cd_bytes_eq(name, cd_bytes_str("grpc-timeout"))) {
        c->has_timeout = true;
        c->is_bad = cd_grpc_timeout_parse(&c->timeout_ms, value) != CD_OK;
    } else if (name.p[0] != ':') {
        cd__grpc_meta_put(&c->in_meta, 0, name, value);
    }
}

void cd__grpc_call_head_end(void *ctx, cd__grpc_stream *st)
{
    cd_grpc_call *c = call_of(st);
    cd_grpc_server *s = c->server;
    (void)ctx;
    if (c->is_responded || c->is_http || c->row.method != NULL) {
        return; /* this is the end of trailers, not of the head */
    }
    c->is_http = !c->is_post || !c->is_grpc;
    if (c->is_http) {
        return;
    }
    if (c->is_bad) {
        refuse(c, CD_GRPC_INTERNAL, "malformed grpc-timeout");
        return;
    }
    const cd__grpc_row *row = cd__grpc_server_find(s, cd_buf_bytes(&c->path));
    if (row == NULL) {
        cd_buf text = {0};
        cd_buf_fmt(&text, "unknown method %s", cd_buf_cstr(&c->path));
        refuse(c, CD_GRPC_UNIMPLEMENTED, cd_buf_cstr(&text));
        cd_buf_fini(&text);
        return;
    }
    c->row = *row;
    if (c->has_timeout) {
        c->deadline_ms = cd_loop_now_ms(s->loop) + c->timeout_ms;
        cd__grpc_due_add(&s->due, &c->due, c->deadline_ms);
    }
}

void cd__grpc_call_data(void *ctx, cd__grpc_stream *st, cd_bytes data)
{
    cd_grpc_call *c = call_of(st);
    const char *text = "";
    (void)ctx;
    if (c->is_responded || c->is_http) {
        return;
    }
    u32 code = cd__grpc_msg_feed(&st->in, data, c->server->cfg.message_max, &c->server->account, &text);
    if (code != CD_GRPC_OK) {
        refuse(c, code, text);
    }
}

void cd__grpc_call_end(void *ctx, cd__grpc_stream *st)
{
    cd_grpc_call *c = call_of(st);
    (void)ctx;
    if (c->is_responded) {
        return;
    }
    if (c->is_http) {
        refuse_http(c);
        return;
    }
    if (!st->in.is_whole) {
        refuse(c, CD_GRPC_INTERNAL, "the message is missing, or not complete");
        return;
    }
    c->has_handler = true;
    c->row.method->serve(c->row.ctx, c);
}

void cd__grpc_call_closed(void *ctx, cd__grpc_stream *st, i32 code)
{
    cd_grpc_call *c = call_of(st);
    (void)ctx;
    (void)code;
    c->is_closed = true;
    cd__grpc_due_del(&c->due);
    if (!c->has_handler) {
        call_free(c);
    } else if (!c->is_told) {
        tell_gone(c);
    }
}

void cd__grpc_call_late(cd__grpc_due_item *it)
{
    cd_grpc_call *c = cd_list_of(it, cd_grpc_call, due);
    refuse(c, CD_GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
    if (c->has_handler && !c->is_told) {
        tell_gone(c);
    }
}

/* --- for handlers --- */

const char *cd_grpc_call_path(const cd_grpc_call *c)
{
    return c->row.method->path;
}

cd_bytes cd_grpc_call_msg(const cd_grpc_call *c)
{
    return cd_buf_bytes(&c->st.in.body);
}

cd_buf cd_grpc_call_take(cd_grpc_call *c)
{
    cd_buf out = c->st.in.body;
    c->st.in.body = (cd_buf){0};
    return out;
}

u64 cd_grpc_call_deadline_ms(const cd_grpc_call *c)
{
    return c->deadline_ms;
}

bool cd_grpc_call_metadata(const cd_grpc_call *c, const char *name, cd_bytes *value)
{
    u8 place;
    cd__grpc_field f;
    for (usize at = 0; cd__grpc_meta_next(&c->in_meta, &at, &place, &f);) {
        if (cd_bytes_eq(f.name, cd_bytes_str(name))) {
            *value = f.value;
            return true;
        }
    }
    return false;
}

void cd_grpc_call_on_gone(cd_grpc_call *c, void (*fn)(void *ctx), void *ctx)
{
    c->gone = fn;
    c->gone_ctx = ctx;
    if (c->is_told) {
        tell_gone(c);
    }
}

void cd_grpc_call_put(cd_grpc_call *c, const char *name, cd_bytes value, bool is_trailer)
{
    CD_ASSERT(meta_cnt(&c->out_meta) < META_FIELDS_MAX);
    cd__grpc_meta_put(&c->out_meta, is_trailer, cd_bytes_str(name), value);
}

static void on_answer(cd_loop_task *t)
{
    cd_grpc_call *c = (cd_grpc_call *)(void *)((char *)t - offsetof(cd_grpc_call, task));
    c->has_handler = false;
    c->gone = NULL;
    if (c->is_closed) {
        call_free(c);
    } else if (!c->is_responded) {
        respond(c, &c->status, false);
    }
}

static void post_answer(cd_grpc_call *c)
{
    CD_ASSERT(c->has_handler);
    c->task.fn = on_answer;
    cd_loop_post(c->server->loop, &c->task);
}

void cd_grpc_reply(cd_grpc_call *c, cd_buf *msg)
{
    if (msg != NULL) {
        c->reply = *msg;
        *msg = (cd_buf){0};
    }
    post_answer(c);
}

void cd_grpc_fail(cd_grpc_call *c, u32 code, cd_bytes message, cd_bytes details)
{
    cd_grpc_status_set(&c->status, code == CD_GRPC_OK ? CD_GRPC_UNKNOWN : code, message);
    cd_buf_put(&c->status.details, details);
    post_answer(c);
}
