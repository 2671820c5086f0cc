#include "net/http/server_priv.h"

#include "base/mem/mem.h"

#include <string.h>

enum {
    BODY_MAX = 5 * 1024 * 1024,
    HEADER_MAX = 64 * 1024,
    BUFFERED_MAX = 32 * 1024 * 1024,
    MEMORY_MAX = 256 * 1024 * 1024,
    CONNS_MAX = 1024,
    CONNS_REFUSED_MAX = 64, /* at most so many refused connections are answered (503) at a time */
    STREAMS_MAX = 64,
    UP_GRACE_MS = 900, /* how long upgraded connections may take leave: a stop should take a second */
};

/* --- connections --- */

void cd__http_conn_close(cd__http_conn *c)
{
    if (!c->is_closed) {
        c->is_closed = true;
        cd_tcp_close(c->tcp);
    }
}

/* What all hold but the connection with the large body. */
static usize held_by_all(const cd_http_server *s)
{
    return s->held_bytes - (s->large == NULL ? 0 : s->large->held);
}

bool cd__http_is_full(const cd_http_server *s)
{
    return held_by_all(s) > s->cfg.memory_max;
}

bool cd__http_may_hold(const cd__http_conn *c, usize bytes)
{
    const cd_http_server *s = c->server;
    return held_by_all(s) - (c == s->large ? 0 : c->held) + bytes <= s->cfg.memory_max;
}

void cd__http_seat_large(cd__http_conn *c)
{
    if (c->server->large == NULL) {
        c->server->large = c;
    }
}

/* The connection goes, and its memory as soon as it is told. */
static void cut(cd__http_conn *c)
{
    cd__http_conn_close(c);
    cd__http_hold(c, 0);
}

/* Cuts off the client that has let an answer wait for longest; false when there are not two of them. */
static bool cut_slowest(cd_http_server *s)
{
    cd__http_conn *slowest = NULL;
    usize cnt = 0;
    cd_list_each(it, &s->conns)
    {
        cd__http_conn *c = cd_list_of(it, cd__http_conn, link);
        if (!c->is_closed && c != s->large && c->writing_ms != 0 && c->held != 0) {
            cnt++;
            slowest = slowest == NULL || c->writing_ms < slowest->writing_ms ? c : slowest;
        }
    }
    if (cnt < 2) {
        return false;
    }
    cut(slowest);
    return true;
}

/* Cuts off the client that for longest has been without a request at work, but not c; false when there is none that
 * holds something worth it. */
static bool cut_unoccupied(cd__http_conn *me)
{
    enum { WORTH = 8 * 1024 };
    cd_http_server *s = me->server;
    cd__http_conn *oldest = NULL;
    cd_list_each(it, &s->conns)
    {
        cd__http_conn *c = cd_list_of(it, cd__http_conn, link);
        if (!c->is_closed && c != me && c != s->large && c->free_ms != 0 && c->held >= WORTH &&
            (oldest == NULL || c->free_ms < oldest->free_ms)) {
            oldest = c;
        }
    }
    if (oldest != NULL) {
        cut(oldest);
    }
    return oldest != NULL;
}

void cd__http_hold(cd__http_conn *c, usize bytes)
{
    cd_http_server *s = c->server;
    s->held_bytes += bytes - c->held;
    bool grows = bytes > c->held;
    c->held = bytes;
    if (s->large == c && !grows && bytes <= s->cfg.body_max) {
        s->large = NULL;
    }
    while (grows && cd__http_is_full(s) && (cut_slowest(s) || cut_unoccupied(c))) {
    }
}

usize cd_http_server_conns(const cd_http_server *s)
{
    return s->conns_cnt;
}

u64 cd_http_server_crowded(const cd_http_server *s)
{
    return s->crowded;
}

usize cd_http_server_held(const cd_http_server *s)
{
    return s->held_bytes;
}

void cd__http_check_done(cd_http_server *s)
{
    if (s->is_stopping && s->conns_cnt == 0 && s->held == 0 && s->done != NULL) {
        void (*done)(void *ctx) = s->done;
        s->done = NULL;
        cd_timer_free(s->grace);
        cd_timer_free(s->up_grace);
        s->grace = NULL;
        s->up_grace = NULL;
        done(s->done_ctx); /* s may be freed by this */
    }
}

static void on_data(void *ctx, cd_bytes data)
{
    cd__http_conn *c = ctx;
    c->protocol->data(c->ctx, data);
}

static void on_end(void *ctx, cd_err err)
{
    cd__http_conn *c = ctx;
    c->protocol->end(c->ctx, err);
}

static void on_written(void *ctx, cd_err err)
{
    cd__http_conn *c = ctx;
    c->protocol->written(c->ctx, err);
}

static void on_closed(void *ctx)
{
    cd__http_conn *c = ctx;
    cd_http_server *s = c->server;
    c->protocol->closed(c->ctx);
    cd__http_hold(c, 0);
    cd_list_del(&c->link);
    s->conns_cnt--;
    if (s->conns_cnt == 0 && s->is_sweeping) {
        cd_timer_stop(s->sweep);
        s->is_sweeping = false;
    }
    cd_free(c);
    cd__http_check_done(s);
}

static void on_sweep(void *ctx)
{
    cd_http_server *s = ctx;
    u64 now = cd_loop_now_ms(s->loop);
    cd_list_each(it, &s->conns)
    { /* connections leave the list only in on_closed */
        cd__http_conn *c = cd_list_of(it, cd__http_conn, link);
        if (!c->is_closed && c->protocol->sweep != NULL) {
            c->protocol->sweep(c->ctx, now);
        }
    }
}

/* When all places are taken, the connection that has been without a request for longest goes, so that
 * connections that ask for nothing keep nobody out. */
static bool make_room(cd_http_server *s)
{
    cd__http_conn *oldest = NULL;
    cd_list_each(it, &s->conns)
    {
        cd__http_conn *c = cd_list_of(it, cd__http_conn, link);
        if (!c->is_closed && c->idle_ms != 0 && (oldest == NULL || c->idle_ms < oldest->idle_ms)) {
            oldest = c;
        }
    }
    if (oldest == NULL || cd_loop_now_ms(s->loop) - oldest->idle_ms < s->cfg.idle_min_ms) {
        return false;
    }
    cd__http_conn_close(oldest);
    return true;
}

static bool is_full(const cd_http_server *s)
{
    return s->conns_cnt >= (usize)s->cfg.conns_max + CONNS_REFUSED_MAX;
}

/* A connection on which HTTP can begin. */
static void on_ready(void *ctx, cd_tcp *tcp)
{
    static const cd_tcp_events events = {
        .data = on_data,
        .end = on_end,
        .written = on_written,
        .closed = on_closed,
    };
    const cd__http_listener *l = ctx;
    cd_http_server *s = l->server;
    s->crowded += s->conns_cnt >= s->cfg.conns_max;
    if (is_full(s) || s->is_stopping) {
        cd_tcp_close(tcp);
        return;
    }
    bool is_over = s->conns_cnt >= s->cfg.conns_max && !make_room(s);
    cd__http_conn *c = cd_new(cd__http_conn);
    c->server = s;
    c->tcp = tcp;
    c->is_secure = l->tls != NULL;
    cd_list_push_back(&s->conns, &c->link);
    s->conns_cnt++;
    if (!s->is_sweeping) {
        cd_timer_start(s->sweep, s->sweep_ms, s->sweep_ms);
        s->is_sweeping = true;
    }
    cd_tcp_start(tcp, &events, c);
    if (cd_bytes_eq(cd_tls_protocol(tcp), cd_bytes_str("h2"))) {
        cd__http_h2_start(c);
    } else {
        cd__http_h1_start(c, is_over);
    }
}

static void on_accept(void *ctx, cd_tcp *tcp)
{
    cd__http_listener *l = ctx;
    if (l->tls == NULL) {
        on_ready(l, tcp);
    } else if (is_full(l->server)) {
        l->server->crowded++;
        cd_tcp_close(tcp);
    } else {
        cd_tls_accept(l->tls, tcp, on_ready, l);
    }
}

/* --- a connection that left HTTP --- */

cd_err cd_http_up_write(cd_http_up *u, const cd_bytes *parts, usize cnt)
{
    return cd_tcp_write(u->tcp, parts, cnt);
}

void cd_http_up_pause(cd_http_up *u)
{
    cd_tcp_pause(u->tcp);
}

void cd_http_up_resume(cd_http_up *u)
{
    cd_tcp_resume(u->tcp);
}

void cd_http_up_shutdown(cd_http_up *u)
{
    cd_tcp_shutdown(u->tcp);
}

void cd_http_up_close(cd_http_up *u)
{
    cd__http_conn_close(u);
}

cd_loop *cd_http_up_loop(const cd_http_up *u)
{
    return u->server->loop;
}

/* --- the server --- */

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
    s->cfg.idle_min_ms = or_default(cfg->idle_min_ms, 1000);
    s->cfg.header_max = cfg->header_max == 0 ? HEADER_MAX : cfg->header_max;
    s->cfg.body_max = cfg->body_max == 0 ? BODY_MAX : cfg->body_max;
    s->cfg.buffered_max = cfg->buffered_max == 0 ? BUFFERED_MAX : cfg->buffered_max;
    cd_mutex_init(&s->coming_lock);
    cd_cond_init(&s->coming_less);
    s->cfg.memory_max = cfg->memory_max == 0 ? MEMORY_MAX : cfg->memory_max;
    s->cfg.streams_max = or_default(cfg->streams_max, STREAMS_MAX);
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
    u64 shortest =
        cd_min_u64(cd_min_u64(s->cfg.header_timeout_ms, s->cfg.read_timeout_ms),
                   cd_min_u64(cd_min_u64(s->cfg.write_timeout_ms, s->cfg.idle_timeout_ms), CD__HTTP_LINGER_MS));
    s->sweep_ms = cd_max_u64(shortest / 4, 1);
    return s;
}

cd_err cd_http_server_listen(cd_http_server *s, const char *host, u16 port, cd_errinfo *why)
{
    return cd_http_server_listen_tls(s, host, port, NULL, why);
}

cd_err cd_http_server_listen_tls(cd_http_server *s, const char *host, u16 port, cd_tls *tls, cd_errinfo *why)
{
    if (s->listeners_cnt == CD__HTTP_LISTENERS_MAX) {
        return cd_fail(why, CD_ELIMIT, "more than %d addresses to listen on", CD__HTTP_LISTENERS_MAX);
    }
    cd__http_listener *l = &s->listeners[s->listeners_cnt];
    *l = (cd__http_listener){.server = s, .tls = tls};
    CD_TRY(cd_listener_open(&l->listener, s->loop, host, port, on_accept, l, why));
    s->listeners_cnt++;
    return CD_OK;
}

u16 cd_http_server_port(const cd_http_server *s)
{
    return cd_http_server_port_at(s, 0);
}

u16 cd_http_server_port_at(const cd_http_server *s, usize idx)
{
    CD_ASSERT(idx < s->listeners_cnt);
    return cd_listener_port(s->listeners[idx].listener);
}

void cd_http_server_route(cd_http_server *s, const cd_http_route *r)
{
    CD_ASSERT(r->path[0] != '\0' && r->methods != 0 && r->handler != NULL);
    s->routes = cd_realloc(s->routes, (s->routes_cnt + 1) * sizeof *s->routes);
    usize n = strlen(r->path);
    bool is_prefix = r->path[n - 1] == '*';
    s->routes[s->routes_cnt++] =
        (cd__http_route){.pub = *r, .path = str_dup(r->path), .path_n = n - is_prefix, .is_prefix = is_prefix};
}

static void listeners_close(cd_http_server *s)
{
    for (usize i = 0; i < s->listeners_cnt; i++) {
        cd_listener_close(s->listeners[i].listener);
        cd_tls_drop(s->listeners[i].tls, &s->listeners[i]);
    }
    s->listeners_cnt = 0;
}

static void on_grace(void *ctx)
{
    cd_http_server *s = ctx;
    cd_list_each(it, &s->conns)
    {
        cd__http_conn_close(cd_list_of(it, cd__http_conn, link));
    }
}

/* Who has left HTTP has had time to take leave. */
static void on_up_grace(void *ctx)
{
    cd_http_server *s = ctx;
    cd_list_each(it, &s->conns)
    {
        cd__http_conn *c = cd_list_of(it, cd__http_conn, link);
        if (c->is_up) {
            cd__http_conn_close(c);
        }
    }
}

void cd_http_server_deafen(cd_http_server *s)
{
    CD_ASSERT(s->conns_cnt == 0);
    listeners_close(s);
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
        cd__http_conn *c = cd_list_of(it, cd__http_conn, link);
        if (!c->is_closed) {
            c->protocol->stop(c->ctx);
        }
    }
    s->grace = cd_timer_new(s->loop, on_grace, s);
    cd_timer_start(s->grace, grace_ms, 0);
    s->up_grace = cd_timer_new(s->loop, on_up_grace, s);
    cd_timer_start(s->up_grace, cd_min_u64(grace_ms, UP_GRACE_MS), 0);
    cd__http_check_done(s);
}

void cd_http_server_free(cd_http_server *s)
{
    if (s == NULL) {
        return;
    }
    CD_ASSERT(s->conns_cnt == 0 && s->held == 0);
    listeners_close(s);
    cd_timer_free(s->sweep);
    cd_timer_free(s->grace);
    cd_timer_free(s->up_grace);
    cd_http_access_free(s->access);
    for (usize i = 0; i < s->routes_cnt; i++) {
        cd_free(s->routes[i].path);
    }
    cd_free(s->routes);
    cd_free(s->extra_headers);
    cd_cond_fini(&s->coming_less);
    cd_mutex_fini(&s->coming_lock);
    cd_free(s);
}
