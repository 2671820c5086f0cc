#include "net/redis.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/list.h"
#include "net/dns.h"
#include "net/loop_priv.h"

#include <arpa/inet.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>

enum {
    PORT = 6379,
    TIMEOUT_MS = 250,
    CONNECT_MS = 2000,
    PAUSE_MS = 100,
    PAUSE_MAX_MS = 5000,
    TICKS = 4, /* looks at the clock within one time-out */
    PART_MAX = 256,
};

typedef struct call {
    cd_list link;
    cd_redis *redis;
    cd_redis_fn *fn;
    void *ctx;
    u64 begin_ms;
} call;

struct cd_redis {
    cd_loop *loop;
    char host[PART_MAX];
    char user[PART_MAX];
    char password[PART_MAX];
    u16 port;
    u32 db;
    u32 timeout_ms;
    void (*changed)(void *ctx, bool is_there);
    void *ctx;
    redisAsyncContext *conn; /* NULL: none */
    cd__poll *poll;
    bool wants_read;
    bool wants_write;
    bool is_there;
    bool is_closing;
    u64 connect_ms; /* when connecting began */
    u32 pause_ms;
    cd_lookup *lookup;
    usize address_at; /* index among the addresses that the name leads to */
    cd_timer *retry;
    cd_timer *tick;
    cd_timer *refuse;
    cd_list calls;   /* sent, oldest first */
    cd_list refused; /* told in the next round */
};

static void connect_now(cd_redis *r);

/* --- hiredis on the loop --- */

static void want(cd_redis *r, bool wants_read, bool wants_write)
{
    r->wants_read = wants_read;
    r->wants_write = wants_write;
    cd__poll_set(r->poll, wants_read, wants_write);
}

static void add_read(void *ctx)
{
    cd_redis *r = ctx;
    want(r, true, r->wants_write);
}

static void del_read(void *ctx)
{
    cd_redis *r = ctx;
    want(r, false, r->wants_write);
}

static void add_write(void *ctx)
{
    cd_redis *r = ctx;
    want(r, r->wants_read, true);
}

static void del_write(void *ctx)
{
    cd_redis *r = ctx;
    want(r, r->wants_read, false);
}

/* The connection goes; hiredis frees it. */
static void clean_up(void *ctx)
{
    cd_redis *r = ctx;
    cd__poll_free(r->poll);
    r->poll = NULL;
    r->conn = NULL;
}

static void on_ready(void *ctx, bool can_read, bool can_write)
{
    cd_redis *r = ctx;
    if (can_read && r->wants_read) {
        redisAsyncHandleRead(r->conn);
    }
    if (can_write && r->conn != NULL && r->wants_write) {
        redisAsyncHandleWrite(r->conn);
    }
}

/* --- the connection --- */

static void set_there(cd_redis *r, bool is_there)
{
    if (r->is_there != is_there) {
        r->is_there = is_there;
        if (r->changed != NULL) {
            r->changed(r->ctx, is_there);
        }
    }
}

static void try_later(cd_redis *r)
{
    if (!r->is_closing) {
        cd_timer_start(r->retry, r->pause_ms, 0);
        r->pause_ms = r->pause_ms * 2 < PAUSE_MAX_MS ? r->pause_ms * 2 : PAUSE_MAX_MS;
    }
}

/* Ends the connection; what waits is told by hiredis, without an answer. */
static void cut(cd_redis *r)
{
    if (r->conn != NULL) {
        redisAsyncFree(r->conn);
    }
}

static void on_gone(const redisAsyncContext *conn, int status)
{
    cd_redis *r = conn->data;
    (void)status;
    set_there(r, false);
    try_later(r);
}

static void on_let_in(void *ctx, const cd_redis_reply *reply)
{
    cd_redis *r = ctx;
    if (reply != NULL && cd_redis_kind_of(reply) == CD_REDIS_TEXT) {
        r->pause_ms = PAUSE_MS;
        set_there(r, true);
    } else if (reply != NULL) {
        cut(r); /* wrong password, or no such database */
    }
}

static void send_words(cd_redis *r, const cd_bytes *words, usize cnt, cd_redis_fn *fn, void *ctx);

/* Says who we are. The last of these commands tells whether we are let in. */
static void on_connect(const redisAsyncContext *conn, int status)
{
    cd_redis *r = conn->data;
    if (status != REDIS_OK) {
        /* hiredis frees it without calling on_gone */
        try_later(r);
        return;
    }
    if (r->password[0] != '\0') {
        cd_bytes auth[3] = {cd_bytes_str("AUTH")};
        usize cnt = 1;
        if (r->user[0] != '\0') {
            auth[cnt++] = cd_bytes_str(r->user);
        }
        auth[cnt++] = cd_bytes_str(r->password);
        send_words(r, auth, cnt, NULL, NULL);
    }
    char db[CD_U64_TEXT_MAX];
    const cd_bytes select[] = {cd_bytes_str("SELECT"), cd_bytes_of(db, cd_u64_fmt(db, r->db))};
    send_words(r, select, CD_COUNT(select), on_let_in, r);
}

/* Of several addresses another at every attempt: one may refuse. */
static void on_address(void *ctx, cd_err err, const cd_ip *found, usize cnt)
{
    cd_redis *r = ctx;
    r->lookup = NULL;
    char text[INET6_ADDRSTRLEN];
    found += err != CD_OK ? 0 : r->address_at++ % cnt;
    const char *address =
        err != CD_OK ? NULL : inet_ntop(found->n == 4 ? AF_INET : AF_INET6, found->b, text, sizeof text);
    redisAsyncContext *conn = address == NULL ? NULL : redisAsyncConnect(address, r->port);
    if (conn == NULL || conn->err != 0) {
        if (conn != NULL) {
            redisAsyncFree(conn);
        }
        try_later(r);
        return;
    }
    r->conn = conn;
    r->connect_ms = cd_loop_now_ms(r->loop);
    conn->data = r;
    conn->ev.data = r;
    conn->ev.addRead = add_read;
    conn->ev.delRead = del_read;
    conn->ev.addWrite = add_write;
    conn->ev.delWrite = del_write;
    conn->ev.cleanup = clean_up;
    r->wants_read = false;
    r->wants_write = false;
    r->poll = cd__poll_new(r->loop, conn->c.fd, on_ready, r);
    (void)redisAsyncSetDisconnectCallback(conn, on_gone);
    (void)redisAsyncSetConnectCallback(conn, on_connect);
}

static void connect_now(cd_redis *r)
{
    r->lookup = cd_lookup_new(r->loop, r->host, on_address, r);
}

static void on_retry(void *ctx)
{
    connect_now(ctx);
}

static void on_tick(void *ctx)
{
    cd_redis *r = ctx;
    u64 now_ms = cd_loop_now_ms(r->loop);
    cd_list *first = cd_list_first(&r->calls);
    bool is_late = first != NULL && now_ms - cd_list_of(first, call, link)->begin_ms > r->timeout_ms;
    bool is_slow = r->conn != NULL && !r->is_there && now_ms - r->connect_ms > CONNECT_MS;
    if (r->conn != NULL && (is_late || is_slow)) {
        bool was_connected = (r->conn->c.flags & REDIS_CONNECTED) != 0;
        cut(r);
        if (!was_connected) {
            try_later(r); /* on_gone is called only for what was connected */
        }
    }
}

/* --- calls --- */

static void call_end(call *c, const cd_redis_reply *reply)
{
    cd_list_del(&c->link);
    if (c->fn != NULL) {
        c->fn(c->ctx, reply);
    }
    cd_free(c);
}

static void on_reply(redisAsyncContext *conn, void *reply, void *ctx)
{
    (void)conn;
    call_end(ctx, reply);
}

static void on_refuse(void *ctx)
{
    cd_redis *r = ctx;
    while (!cd_list_is_empty(&r->refused)) {
        call_end(cd_list_of(r->refused.next, call, link), NULL);
    }
}

static void send_words(cd_redis *r, const cd_bytes *words, usize cnt, cd_redis_fn *fn, void *ctx)
{
    call *c = cd_new(call);
    c->redis = r;
    c->fn = fn;
    c->ctx = ctx;
    c->begin_ms = cd_loop_now_ms(r->loop);
    const char **argv = cd_new_array(const char *, cnt);
    size_t *lens = cd_new_array(size_t, cnt);
    for (usize i = 0; i < cnt; i++) {
        argv[i] = words[i].n == 0 ? "" : (const char *)words[i].p;
        lens[i] = words[i].n;
    }
    bool is_sent = r->conn != NULL && redisAsyncCommandArgv(r->conn, on_reply, c, (int)cnt, argv, lens) == REDIS_OK;
    cd_list_push_back(is_sent ? &r->calls : &r->refused, &c->link);
    if (!is_sent) {
        cd_timer_start(r->refuse, 0, 0);
    }
    cd_free(argv);
    cd_free(lens);
}

void cd_redis_call(cd_redis *r, const cd_bytes *words, usize cnt, cd_redis_fn *fn, void *ctx)
{
    send_words(r, words, cnt, fn, ctx);
}

/* --- replies --- */

static const redisReply *reply_of(const cd_redis_reply *v)
{
    return (const redisReply *)(const void *)v;
}

cd_redis_kind cd_redis_kind_of(const cd_redis_reply *v)
{
    switch (reply_of(v)->type) {
    case REDIS_REPLY_INTEGER:
        return CD_REDIS_INT;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return CD_REDIS_TEXT;
    case REDIS_REPLY_ARRAY:
        return CD_REDIS_ARRAY;
    case REDIS_REPLY_NIL:
        return CD_REDIS_NIL;
    default: /* an int, not an enum */
        return CD_REDIS_ERROR;
    }
}

cd_bytes cd_redis_text(const cd_redis_reply *v)
{
    return cd_bytes_of(reply_of(v)->str, reply_of(v)->len);
}

i64 cd_redis_int(const cd_redis_reply *v)
{
    return reply_of(v)->integer;
}

usize cd_redis_len(const cd_redis_reply *v)
{
    return reply_of(v)->elements;
}

const cd_redis_reply *cd_redis_at(const cd_redis_reply *v, usize idx)
{
    CD_ASSERT(idx < reply_of(v)->elements);
    return (const cd_redis_reply *)(const void *)reply_of(v)->element[idx];
}

/* --- life --- */

static bool take_part(char out[PART_MAX], const char *p, usize n)
{
    if (n >= PART_MAX) {
        return false;
    }
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

/* HOST[:PORT][/DB] behind the '@'. */
static bool take_place(cd_redis *r, const char *text)
{
    usize n = strcspn(text, "/");
    const char *db = text[n] == '/' ? text + n + 1 : "";
    usize host_n = text[0] == '[' ? strcspn(text, "]") : strcspn(text, ":/");
    const char *host = text[0] == '[' ? text + 1 : text;
    const char *behind = text + host_n + (text[0] == '[' && text[host_n] == ']');
    u64 port = PORT;
    u64 number = 0;
    if (*behind == ':' && (cd_u64_parse(&port, cd_bytes_of(behind + 1, (usize)(text + n - behind - 1))) != CD_OK ||
                           port == 0 || port > UINT16_MAX)) {
        return false;
    }
    if (db[0] != '\0' && (cd_u64_parse(&number, cd_bytes_str(db)) != CD_OK || number > 65535)) {
        return false;
    }
    r->port = (u16)port;
    r->db = (u32)number;
    return take_part(r->host, host, host_n - (usize)(host - text)) && r->host[0] != '\0';
}

static cd_err take_url(cd_redis *r, const char *url, cd_errinfo *why)
{
    const char *scheme = strstr(url, "://");
    usize n = scheme == NULL ? 0 : (usize)(scheme - url);
    bool is_plain = (n == 5 && memcmp(url, "redis", n) == 0) || (n == 6 && memcmp(url, "valkey", n) == 0);
    if (!is_plain && n != 0) {
        return cd_fail(why, CD_EUNSUPPORTED, "the shared store's URL must begin with redis://");
    }
    const char *rest = n == 0 ? "" : scheme + 3;
    const char *at = strrchr(rest, '@');
    bool is_good = true;
    if (at != NULL) {
        usize user_n = strcspn(rest, ":@");
        bool has_password = rest[user_n] == ':';
        is_good = has_password && take_part(r->user, rest, user_n) &&
                  take_part(r->password, rest + user_n + 1, (usize)(at - rest) - user_n - 1);
        rest = at + 1;
    }
    if (!is_good || !take_place(r, rest)) {
        return cd_fail(why, CD_EINVAL, "the shared store's URL must be redis://[USER:PASSWORD@]HOST[:PORT][/DB]");
    }
    return CD_OK;
}

cd_err cd_redis_open(cd_redis **out, cd_loop *l, const cd_redis_cfg *cfg, cd_errinfo *why)
{
    cd_redis *r = cd_new(cd_redis);
    cd_err err = take_url(r, cfg->url, why);
    if (err != CD_OK) {
        explicit_bzero(r, sizeof *r);
        cd_free(r);
        return err;
    }
    r->loop = l;
    r->timeout_ms = cfg->timeout_ms != 0 ? cfg->timeout_ms : TIMEOUT_MS;
    r->changed = cfg->changed;
    r->ctx = cfg->ctx;
    r->pause_ms = PAUSE_MS;
    cd_list_init(&r->calls);
    cd_list_init(&r->refused);
    r->retry = cd_timer_new(l, on_retry, r);
    r->refuse = cd_timer_new(l, on_refuse, r);
    r->tick = cd_timer_new(l, on_tick, r);
    cd_timer_start(r->tick, r->timeout_ms / TICKS + 1, r->timeout_ms / TICKS + 1);
    connect_now(r);
    *out = r;
    return CD_OK;
}

void cd_redis_close(cd_redis *r)
{
    if (r == NULL) {
        return;
    }
    r->is_closing = true;
    r->changed = NULL;
    cd_lookup_drop(r->lookup);
    cut(r);
    on_refuse(r);
    cd_timer_free(r->retry);
    cd_timer_free(r->refuse);
    cd_timer_free(r->tick);
    explicit_bzero(r, sizeof *r);
    cd_free(r);
}

bool cd_redis_is_there(const cd_redis *r)
{
    return r->is_there;
}
