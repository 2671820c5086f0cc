#include "grpc/client.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/thread/thread.h"
#include "grpc/due_priv.h"
#include "grpc/meta_priv.h"

#include <stdatomic.h>
#include <stdio.h>

enum { BACKOFF_FIRST_MS = 20, BACKOFF_MAX_MS = 1000, SENDS_MAX = 3, HOST_MAX = 256, WRITE_TIMEOUT_MS = 120 * 1000 };

/* A call that is under way. The client needs it until its ask is told, the connection until its stream is closed. */
typedef struct call {
    cd__grpc_stream st; /* first */
    cd_grpc_client *client;
    cd_grpc_ask *ask; /* NULL: its end was told */
    cd__grpc_due_item due;
    u64 end_ms; /* UINT64_MAX: no deadline */
    u32 sends;
    u32 http_status;
    bool has_status;
    bool is_failed; /* status is one that we set; what the server says does not change it */
    cd_grpc_status status;
} call;

/* A connection: the one that takes new calls, or one that only finishes its calls. */
typedef struct line {
    cd_list link;
    cd_grpc_client *client;
    cd__grpc_conn *conn;
} line;

struct cd_grpc_client {
    cd_loop *loop;
    cd_grpc_client_cfg cfg;
    char host[HOST_MAX];
    char authority[HOST_MAX + 8];
    u16 port;
    cd_list calls;   /* asks whose call is on a connection, by own.link */
    cd_list waiting; /* asks that wait for a connection, by the same link */
    u32 calls_cnt;
    cd__grpc_account account;
    cd__grpc_due due;
    cd_list lines;
    line *line; /* the connection that takes new calls; NULL: none */
    cd_connect *connect;
    cd_timer *retry;
    bool is_retry_set;
    u32 backoff_ms; /* pause before the next attempt to connect; 0: none */
    cd_list told;   /* asks whose done is to be called */
    cd_loop_task tell;
    bool is_tell_posted;
    bool is_closed;
    bool is_freed;
};

cd_grpc_client_cfg cd_grpc_client_cfg_default(void)
{
    return (cd_grpc_client_cfg){
        .connect_ms = 5000,
        .ping_ms = 30 * 1000,
        .ping_timeout_ms = 10 * 1000,
        .calls_max = 16384,
        .header_max = (usize)256 * 1024,
        .message_max = (usize)1 << 30,
        .memory_max = (usize)2 << 30,
    };
}

/* --- the end of a call --- */

static void check_free(cd_grpc_client *c)
{
    if (c->is_freed && cd_list_is_empty(&c->lines) && !c->is_tell_posted) {
        cd_free(c);
    }
}

static void on_tell(cd_loop_task *t)
{
    cd_grpc_client *c = (cd_grpc_client *)(void *)((char *)t - offsetof(cd_grpc_client, tell));
    for (cd_list *it; (it = cd_list_first(&c->told)) != NULL;) { /* is_tell_posted keeps c alive */
        cd_grpc_ask *a = cd_list_of(it, cd_grpc_ask, own.link);
        cd_list_del(it);
        a->done(a);
    }
    c->is_tell_posted = false;
    check_free(c);
}

/* Queues the ask of a call that is over; its done is called in a later turn of the loop. */
static void tell(cd_grpc_client *c, cd_grpc_ask *a)
{
    a->own.call = NULL;
    cd_list_push_back(&c->told, &a->own.link);
    if (!c->is_tell_posted) {
        c->is_tell_posted = true;
        cd_loop_post(c->loop, &c->tell);
    }
}

static void call_free(call *k)
{
    cd__grpc_msg_fini(&k->st.in, &k->client->account);
    cd_buf_fini(&k->st.out);
    cd_grpc_status_fini(&k->status);
    cd_free(k);
}

/* Ends k for its caller, with the status that k has. k itself stays until its stream is closed. */
static void finish(call *k)
{
    cd_grpc_ask *a = k->ask;
    cd_grpc_client *c = k->client;
    k->ask = NULL;
    cd__grpc_due_del(&k->due);
    c->calls_cnt--;
    cd_list_del(&a->own.link);
    a->status = k->status;
    k->status = (cd_grpc_status){0};
    if (a->status.code == CD_GRPC_OK) {
        a->reply = k->st.in.body;
        k->st.in.body = (cd_buf){0};
    }
    if (k->st.conn == NULL) {
        call_free(k);
    } else {
        cd__grpc_conn_reset(&k->st, CD__GRPC_RST_CANCEL);
    }
    tell(c, a);
}

static void fail(call *k, u32 code, const char *text)
{
    cd_grpc_status_set(&k->status, code, cd_bytes_str(text));
    finish(k);
}

static void on_late(cd__grpc_due_item *it)
{
    fail(cd_list_of(it, call, due), CD_GRPC_DEADLINE_EXCEEDED, "context deadline exceeded");
}

/* --- streams --- */

static void on_header(void *ctx, cd__grpc_stream *st, cd_bytes name, cd_bytes value, bool is_trailer)
{
    call *k = (call *)st;
    u64 status = 0;
    (void)ctx;
    (void)is_trailer;
    if (k->ask == NULL || k->is_failed) {
        return;
    }
    if (cd_bytes_eq(name, cd_bytes_str(":status")) && cd_u64_parse(&status, value) == CD_OK) {
        k->http_status = (u32)cd_min_u64(status, 999);
    } else {
        (void)cd__grpc_status_field(&k->status, &k->has_status, name, value);
    }
}

static void on_head_end(void *ctx, cd__grpc_stream *st)
{
    (void)ctx;
    (void)st;
}

static void on_data(void *ctx, cd__grpc_stream *st, cd_bytes data)
{
    call *k = (call *)st;
    const char *text = "";
    (void)ctx;
    if (k->ask == NULL || k->is_failed || k->http_status != 200) {
        return;
    }
    u32 code = cd__grpc_msg_feed(&st->in, data, k->client->cfg.message_max, &k->client->account, &text);
    if (code != CD_GRPC_OK) {
        k->is_failed = true;
        cd_grpc_status_set(&k->status, code, cd_bytes_str(text));
        cd__grpc_conn_reset(st, CD__GRPC_RST_CANCEL);
    }
}

static void on_end(void *ctx, cd__grpc_stream *st)
{
    (void)ctx;
    (void)st;
}

static u32 code_of_http(u32 status)
{
    switch (status) {
    case 400:
        return CD_GRPC_INTERNAL;
    case 401:
        return CD_GRPC_UNAUTHENTICATED;
    case 403:
        return CD_GRPC_PERMISSION_DENIED;
    case 404:
        return CD_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return CD_GRPC_UNAVAILABLE;
    default:
        return CD_GRPC_UNKNOWN;
    }
}

static u32 code_of_reset(i32 code)
{
    switch (code) {
    case CD__GRPC_RST_BROKEN:
    case CD__GRPC_RST_REFUSED:
        return CD_GRPC_UNAVAILABLE;
    case CD__GRPC_RST_CANCEL:
        return CD_GRPC_CANCELLED;
    case CD__GRPC_RST_CALM:
        return CD_GRPC_RESOURCE_EXHAUSTED;
    case CD__GRPC_RST_SECURITY:
        return CD_GRPC_PERMISSION_DENIED;
    default:
        return CD_GRPC_INTERNAL;
    }
}

/* Sets the status of a call whose stream was closed. */
static void judge(call *k, i32 code)
{
    char text[80];
    if (k->is_failed) {
        return;
    }
    if (k->has_status && k->status.code == CD_GRPC_OK && !k->st.in.is_whole) {
        cd_grpc_status_set(&k->status, CD_GRPC_INTERNAL, cd_bytes_str("the answer is missing, or not complete"));
    } else if (k->has_status) {
        return;
    } else if (code == CD__GRPC_RST_BROKEN) {
        cd_grpc_status_set(&k->status, CD_GRPC_UNAVAILABLE, cd_bytes_str("the connection is broken"));
    } else if (k->http_status != 0 && k->http_status != 200) {
        (void)snprintf(text, sizeof text, "unexpected HTTP status %u", k->http_status);
        cd_grpc_status_set(&k->status, code_of_http(k->http_status), cd_bytes_str(text));
    } else if (code != CD__GRPC_RST_NONE) {
        (void)snprintf(text, sizeof text, "stream ended with HTTP/2 error %d", code);
        cd_grpc_status_set(&k->status, code_of_reset(code), cd_bytes_str(text));
    } else {
        cd_grpc_status_set(&k->status, CD_GRPC_UNKNOWN, cd_bytes_str("the server sent no status"));
    }
}

static void wait_for_conn(call *k);

static void on_closed(void *ctx, cd__grpc_stream *st, i32 code)
{
    call *k = (call *)st;
    cd_grpc_client *c = k->client;
    (void)ctx;
    if (k->ask == NULL) {
        call_free(k);
        return;
    }
    if (code == CD__GRPC_RST_REFUSED && (!st->is_sent || k->sends < SENDS_MAX)) {
        wait_for_conn(k);
        return;
    }
    if (code == CD__GRPC_RST_NONE) {
        c->backoff_ms = 0;
    }
    judge(k, code);
    finish(k);
}

/* --- the connection --- */

static bool send(call *k)
{
    char timeout[CD_GRPC_TIMEOUT_MAX];
    cd_grpc_client *c = k->client;
    u64 now = cd_loop_now_ms(c->loop);
    cd__grpc_field f[8] = {
        {cd_bytes_str(":method"), cd_bytes_str("POST")},
        {cd_bytes_str(":scheme"), cd_bytes_str("http")},
        {cd_bytes_str(":path"), cd_bytes_str(k->ask->path)},
        {cd_bytes_str(":authority"), cd_bytes_str(c->authority)},
        {cd_bytes_str("te"), cd_bytes_str("trailers")},
        {cd_bytes_str("content-type"), cd_bytes_str("application/grpc")},
        {cd_bytes_str("user-agent"), cd_bytes_str("candela-grpc")},
    };
    usize cnt = 7;
    if (k->end_ms != UINT64_MAX) {
        usize n = cd_grpc_timeout_fmt(timeout, k->end_ms > now ? k->end_ms - now : 1);
        f[cnt++] = (cd__grpc_field){cd_bytes_str("grpc-timeout"), cd_bytes_of(timeout, n)};
    }
    k->sends++;
    return cd__grpc_conn_request(c->line->conn, &k->st, f, cnt);
}

static void send_waiting(cd_grpc_client *c)
{
    while (!cd_list_is_empty(&c->waiting) && cd_grpc_client_is_up(c)) {
        cd_grpc_ask *a = cd_list_of(cd_list_first(&c->waiting), cd_grpc_ask, own.link);
        cd_list_del(&a->own.link);
        cd_list_push_back(&c->calls, &a->own.link);
        if (!send(a->own.call)) {
            cd_list_del(&a->own.link);
            cd_list_push_front(&c->waiting, &a->own.link);
            break;
        }
    }
}

/* Sends what waits, or sets the timer for a new connection. */
static void need_conn(cd_grpc_client *c)
{
    if (cd_grpc_client_is_up(c)) {
        send_waiting(c);
    } else if (!c->is_closed && c->connect == NULL && !c->is_retry_set && !cd_list_is_empty(&c->waiting)) {
        c->is_retry_set = true;
        cd_timer_start(c->retry, c->backoff_ms, 0);
    }
}

static void wait_for_conn(call *k)
{
    cd_grpc_client *c = k->client;
    cd__grpc_msg_fini(&k->st.in, &c->account);
    cd_grpc_status_fini(&k->status);
    k->has_status = false;
    k->http_status = 0;
    k->st.header_bytes = 0;
    k->st.has_ended = false;
    cd_list_del(&k->ask->own.link);
    cd_list_push_back(&c->waiting, &k->ask->own.link);
}

static void on_after(void *ctx)
{
    const line *l = ctx;
    need_conn(l->client);
}

static void on_gone(void *ctx)
{
    line *l = ctx;
    cd_grpc_client *c = l->client;
    if (c->line == l) {
        c->line = NULL;
    }
    cd_list_del(&l->link);
    cd_free(l);
    check_free(c);
}

/* Doubles the pause before the next attempt to connect. */
static void back_off(cd_grpc_client *c)
{
    u32 twice = c->backoff_ms * 2;
    c->backoff_ms = twice < BACKOFF_FIRST_MS ? BACKOFF_FIRST_MS : twice > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : twice;
}

/* An attempt to connect failed: ends the waiting calls that want to fail fast. */
static void connect_failed(cd_grpc_client *c, const char *text)
{
    back_off(c);
    cd_list_each_safe(it, &c->waiting)
    {
        cd_grpc_ask *a = cd_list_of(it, cd_grpc_ask, own.link);
        if (a->fails_fast) {
            fail(a->own.call, CD_GRPC_UNAVAILABLE, text);
        }
    }
    need_conn(c);
}

static void on_connected(void *ctx, cd_tcp *tcp, cd_err err)
{
    static const cd__grpc_conn_events events = {
        .header = on_header,
        .head_end = on_head_end,
        .data = on_data,
        .end = on_end,
        .closed = on_closed,
        .after = on_after,
        .gone = on_gone,
    };
    cd_grpc_client *c = ctx;
    c->connect = NULL;
    if (tcp == NULL) {
        char text[HOST_MAX + 80];
        (void)snprintf(text, sizeof text, "cannot connect to %s: %s", c->authority, cd_err_str(err));
        connect_failed(c, text);
        return;
    }
    const cd__grpc_conn_cfg cfg = {
        .header_max = c->cfg.header_max,
        .ping_ms = c->cfg.ping_ms,
        .ping_timeout_ms = c->cfg.ping_timeout_ms,
        .write_timeout_ms = WRITE_TIMEOUT_MS,
    };
    /* Should this connection break before an answer came over it, the next attempt waits. */
    back_off(c);
    line *l = cd_new(line);
    l->client = c;
    cd_list_push_back(&c->lines, &l->link);
    l->conn = cd__grpc_conn_new(c->loop, tcp, &cfg, &events, l);
    c->line = l;
    send_waiting(c);
}

static void on_retry(void *ctx)
{
    cd_grpc_client *c = ctx;
    c->is_retry_set = false;
    if (!c->is_closed && c->connect == NULL && !cd_grpc_client_is_up(c)) {
        c->connect = cd_connect_new(c->loop, c->host, c->port, c->cfg.connect_ms, on_connected, c);
    }
}

/* --- life --- */

/* Takes host and port out of "127.0.0.1:1", "[::1]:1" or "host:1". */
static cd_err addr_parse(cd_grpc_client *c, const char *addr, cd_errinfo *why)
{
    const char *colon = strrchr(addr, ':');
    u64 port = 0;
    usize n = colon == NULL ? 0 : (usize)(colon - addr);
    if (n == 0 || n >= HOST_MAX || cd_u64_parse(&port, cd_bytes_str(colon + 1)) != CD_OK || port == 0 || port > 65535) {
        return cd_fail(why, CD_EFORMAT, "not an address with a port: \"%.100s\"", addr);
    }
    bool is_v6 = addr[0] == '[' && addr[n - 1] == ']';
    (void)snprintf(c->host, sizeof c->host, "%.*s", (int)(is_v6 ? n - 2 : n), is_v6 ? addr + 1 : addr);
    (void)snprintf(c->authority, sizeof c->authority, "%s", addr);
    c->port = (u16)port;
    return CD_OK;
}

cd_err cd_grpc_client_new(cd_grpc_client **out, cd_loop *l, const cd_grpc_client_cfg *cfg, const char *addr,
                          cd_errinfo *why)
{
    cd_grpc_client *c = cd_new(cd_grpc_client);
    cd_err err = addr_parse(c, addr, why);
    if (err != CD_OK) {
        cd_free(c);
        return err;
    }
    c->loop = l;
    c->cfg = *cfg;
    c->account.max = cfg->memory_max;
    c->tell.fn = on_tell;
    cd_list_init(&c->calls);
    cd_list_init(&c->waiting);
    cd_list_init(&c->told);
    cd_list_init(&c->lines);
    cd__grpc_due_init(&c->due, l, on_late);
    c->retry = cd_timer_new(l, on_retry, c);
    *out = c;
    return CD_OK;
}

static void fail_all(cd_list *asks)
{
    for (cd_list *it; (it = cd_list_first(asks)) != NULL;) {
        fail(cd_list_of(it, cd_grpc_ask, own.link)->own.call, CD_GRPC_CANCELLED, "the client is closed");
    }
}

void cd_grpc_client_close(cd_grpc_client *c)
{
    if (c->is_closed) {
        return;
    }
    c->is_closed = true;
    fail_all(&c->waiting);
    fail_all(&c->calls);
    if (c->connect != NULL) {
        cd_connect_drop(c->connect);
        c->connect = NULL;
    }
    cd_timer_free(c->retry);
    cd__grpc_due_fini(&c->due);
    cd_list_each(it, &c->lines)
    {
        cd__grpc_conn_close(cd_list_of(it, line, link)->conn);
    }
}

void cd_grpc_client_free(cd_grpc_client *c)
{
    if (c == NULL) {
        return;
    }
    cd_grpc_client_close(c);
    for (cd_list *it; (it = cd_list_first(&c->told)) != NULL;) {
        cd_grpc_ask *a = cd_list_of(it, cd_grpc_ask, own.link);
        cd_list_del(it);
        a->done(a);
    }
    c->is_freed = true;
    check_free(c);
}

bool cd_grpc_client_is_up(const cd_grpc_client *c)
{
    return c->line != NULL && cd__grpc_conn_is_open(c->line->conn);
}

/* --- calls --- */

static void on_ask(cd_loop_task *t)
{
    cd_grpc_ask *a = (cd_grpc_ask *)(void *)((char *)t - offsetof(cd_grpc_ask, own.task));
    cd_grpc_client *c = a->own.client;
    call *k = cd_new(call);
    k->client = c;
    k->ask = a;
    k->st.out = a->msg;
    a->msg = (cd_buf){0};
    a->own.call = k;
    k->end_ms = UINT64_MAX;
    cd__grpc_due_item_init(&k->due);
    c->calls_cnt++;
    cd_list_push_back(&c->waiting, &a->own.link);
    if (c->is_closed) {
        fail(k, CD_GRPC_CANCELLED, "the client is closed");
        return;
    }
    if (c->calls_cnt > c->cfg.calls_max) {
        fail(k, CD_GRPC_RESOURCE_EXHAUSTED, "too many calls at a time");
        return;
    }
    if (k->st.out.n > UINT32_MAX) {
        fail(k, CD_GRPC_RESOURCE_EXHAUSTED, "message is too large");
        return;
    }
    if (a->timeout_ms != 0) {
        k->end_ms = cd_loop_now_ms(c->loop) + a->timeout_ms;
        cd__grpc_due_add(&c->due, &k->due, k->end_ms);
    }
    need_conn(c);
}

void cd_grpc_ask_start(cd_grpc_client *c, cd_grpc_ask *a)
{
    a->own.client = c;
    a->own.call = NULL;
    a->own.task.fn = on_ask;
    cd_list_init(&a->own.link);
    if (cd_loop_is_here(c->loop)) {
        on_ask(&a->own.task);
    } else {
        cd_loop_post(c->loop, &a->own.task);
    }
}

void cd_grpc_ask_cancel(cd_grpc_ask *a)
{
    if (a->own.call != NULL) {
        fail(a->own.call, CD_GRPC_CANCELLED, "context canceled");
    }
    CD_ASSERT(!cd_list_is_empty(&a->own.link));
    cd_list_del(&a->own.link);
    a->done(a);
}

void cd_grpc_ask_fini(cd_grpc_ask *a)
{
    cd_buf_fini(&a->msg);
    cd_buf_fini(&a->reply);
    cd_grpc_status_fini(&a->status);
}

/* A thread that sleeps until its call is over. There are two references: the thread's, and the loop's until it has
 * woken the thread. The loop wakes it with the lock free, so that the thread need not wait for the lock then. */
typedef struct sleeper {
    cd_grpc_ask ask; /* first */
    _Atomic u32 refs;
    cd_mutex lock; /* protects is_done */
    cd_cond cond;
    bool is_done;
} sleeper;

static void sleeper_unref(sleeper *s)
{
    if (atomic_fetch_sub(&s->refs, 1) == 1) {
        cd_cond_fini(&s->cond);
        cd_mutex_fini(&s->lock);
        cd_grpc_ask_fini(&s->ask);
        cd_free(s);
    }
}

static void on_sleeper(cd_grpc_ask *a)
{
    sleeper *s = (sleeper *)a;
    cd_mutex_lock(&s->lock);
    s->is_done = true;
    cd_mutex_unlock(&s->lock);
    cd_cond_wake_one(&s->cond);
    sleeper_unref(s);
}

cd_err cd_grpc_call_wait(cd_grpc_client *c, cd_buf *reply, const char *path, cd_buf *msg, u64 timeout_ms,
                         cd_grpc_status *st, cd_errinfo *why)
{
    CD_ASSERT(!cd_loop_is_here(c->loop));
    sleeper *s = cd_new(sleeper);
    s->ask = (cd_grpc_ask){.path = path, .timeout_ms = timeout_ms, .done = on_sleeper};
    atomic_store(&s->refs, 2);
    if (msg != NULL) {
        s->ask.msg = *msg;
        *msg = (cd_buf){0};
    }
    cd_mutex_init(&s->lock);
    cd_cond_init(&s->cond);
    cd_grpc_ask_start(c, &s->ask);
    cd_mutex_lock(&s->lock);
    while (!s->is_done) {
        cd_cond_wait(&s->cond, &s->lock);
    }
    cd_mutex_unlock(&s->lock);
    cd_err err = cd_grpc_status_err(&s->ask.status, why);
    if (err == CD_OK) {
        cd_buf_fini(reply);
        *reply = s->ask.reply;
        s->ask.reply = (cd_buf){0};
    }
    if (st != NULL) {
        *st = s->ask.status;
        s->ask.status = (cd_grpc_status){0};
    }
    sleeper_unref(s);
    return err;
}
