#include "grpc/server_priv.h"

#include "base/mem/mem.h"

#include <stdlib.h>

enum {
    PING_MS = 2 * 3600 * 1000,
    PING_TIMEOUT_MS = 20 * 1000,
    STREAMS_SLACK = 16, /* streams above the limit that nghttp2 lets through, so that we refuse them with a reason */
};

cd_grpc_server_cfg cd_grpc_server_cfg_default(void)
{
    return (cd_grpc_server_cfg){
        .conns_max = 64,
        .streams_max = 4096,
        .calls_max = 16384,
        .header_max = (usize)16 * 1024,
        .message_max = (usize)1 << 30,
        .memory_max = (usize)2 << 30,
        .write_timeout_ms = 120 * 1000,
    };
}

/* --- methods --- */

static int by_path(const void *a, const void *b)
{
    const cd__grpc_row *x = a;
    const cd__grpc_row *y = b;
    return cd_bytes_cmp(x->path, y->path);
}

void cd_grpc_server_add(cd_grpc_server *s, const cd_grpc_method *methods, usize cnt, void *ctx)
{
    usize all = s->rows_cnt + cnt;
    s->rows = cd_realloc(s->rows, all * sizeof *s->rows);
    for (usize i = 0; i < cnt; i++) {
        s->rows[s->rows_cnt + i] = (cd__grpc_row){cd_bytes_str(methods[i].path), &methods[i], ctx};
    }
    s->rows_cnt = all;
    qsort(s->rows, all, sizeof *s->rows, by_path);
    for (usize i = 1; i < all; i++) {
        CD_ASSERT(!cd_bytes_eq(s->rows[i - 1].path, s->rows[i].path));
    }
}

const cd__grpc_row *cd__grpc_server_find(const cd_grpc_server *s, cd_bytes path)
{
    const cd__grpc_row key = {.path = path};
    return bsearch(&key, s->rows, s->rows_cnt, sizeof *s->rows, by_path);
}

bool cd__grpc_server_has_service(const cd_grpc_server *s, cd_bytes name)
{
    for (usize i = 0; i < s->rows_cnt; i++) {
        cd_bytes path = s->rows[i].path;
        if (path.n > name.n + 2 && path.p[name.n + 1] == '/' && cd_bytes_eq(cd_bytes_sub(path, 1, name.n), name)) {
            return true;
        }
    }
    return false;
}

/* --- connections --- */

static void on_done(cd_loop_task *t)
{
    cd_grpc_server *s = (cd_grpc_server *)(void *)((char *)t - offsetof(cd_grpc_server, over));
    void (*done)(void *ctx) = s->done;
    void *ctx = s->done_ctx;
    cd__grpc_due_fini(&s->due);
    cd_timer_free(s->grace);
    cd_free(s->rows);
    cd_free(s);
    if (done != NULL) {
        done(ctx);
    }
}

void cd__grpc_server_check_done(cd_grpc_server *s)
{
    if (s->is_closing && !s->is_over && s->calls_cnt == 0 && s->peers_cnt == 0) {
        s->is_over = true;
        s->over.fn = on_done;
        cd_loop_post(s->loop, &s->over);
    }
}

static cd__grpc_stream *on_open(void *ctx)
{
    cd__grpc_peer *p = ctx;
    cd_grpc_server *s = p->server;
    if (p->calls_cnt >= s->cfg.streams_max || s->calls_cnt >= s->cfg.calls_max || s->is_closing) {
        return NULL;
    }
    return cd__grpc_call_new(p);
}

static void on_after(void *ctx)
{
    (void)ctx;
}

static void on_gone(void *ctx)
{
    cd__grpc_peer *p = ctx;
    cd_grpc_server *s = p->server;
    cd_list_each_safe(it, &s->calls)
    {
        cd_grpc_call *call = cd_list_of(it, cd_grpc_call, link);
        if (call->peer == p) {
            call->peer = NULL;
        }
    }
    cd_list_del(&p->link);
    s->peers_cnt--;
    cd_free(p);
    cd__grpc_server_check_done(s);
}

static void on_accept(void *ctx, cd_tcp *tcp)
{
    static const cd__grpc_conn_events events = {
        .open = on_open,
        .header = cd__grpc_call_header,
        .head_end = cd__grpc_call_head_end,
        .data = cd__grpc_call_data,
        .end = cd__grpc_call_end,
        .closed = cd__grpc_call_closed,
        .after = on_after,
        .gone = on_gone,
    };
    cd_grpc_server *s = ctx;
    if (s->peers_cnt >= s->cfg.conns_max || s->is_closing) {
        cd_tcp_close(tcp);
        return;
    }
    const cd__grpc_conn_cfg cfg = {
        .is_server = true,
        .streams_max = s->cfg.streams_max + STREAMS_SLACK,
        .header_max = s->cfg.header_max,
        .ping_ms = PING_MS,
        .ping_timeout_ms = PING_TIMEOUT_MS,
        .write_timeout_ms = s->cfg.write_timeout_ms,
    };
    cd__grpc_peer *p = cd_new(cd__grpc_peer);
    p->server = s;
    cd_list_push_back(&s->peers, &p->link);
    s->peers_cnt++;
    p->conn = cd__grpc_conn_new(s->loop, tcp, &cfg, &events, p);
}

/* --- life --- */

static void on_grace(void *ctx)
{
    cd_grpc_server *s = ctx;
    cd_list_each_safe(it, &s->peers)
    {
        cd__grpc_conn_close(cd_list_of(it, cd__grpc_peer, link)->conn);
    }
}

cd_err cd_grpc_server_open(cd_grpc_server **out, cd_loop *l, const cd_grpc_server_cfg *cfg, const char *host, u16 port,
                           cd_errinfo *why)
{
    cd_grpc_server *s = cd_new(cd_grpc_server);
    s->loop = l;
    s->cfg = *cfg;
    s->account.max = cfg->memory_max;
    cd_list_init(&s->peers);
    cd_list_init(&s->calls);
    cd_err err = cd_listener_open(&s->listener, l, host, port, on_accept, s, why);
    if (err != CD_OK) {
        cd_free(s);
        return err;
    }
    cd__grpc_due_init(&s->due, l, cd__grpc_call_late);
    s->grace = cd_timer_new(l, on_grace, s);
    cd_grpc_server_add(s, &cd__grpc_health, 1, s);
    *out = s;
    return CD_OK;
}

u16 cd_grpc_server_port(const cd_grpc_server *s)
{
    return cd_listener_port(s->listener);
}

void cd_grpc_server_close(cd_grpc_server *s, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    if (s == NULL) {
        return;
    }
    CD_ASSERT(!s->is_closing);
    s->is_closing = true;
    s->done = done;
    s->done_ctx = ctx;
    cd_listener_close(s->listener);
    cd_list_each_safe(it, &s->peers)
    {
        cd__grpc_peer *p = cd_list_of(it, cd__grpc_peer, link);
        if (grace_ms == 0) {
            cd__grpc_conn_close(p->conn);
        } else {
            cd__grpc_conn_stop(p->conn);
        }
    }
    if (grace_ms != 0) {
        cd_timer_start(s->grace, grace_ms, 0);
    }
    cd__grpc_server_check_done(s);
}
