#include "node/front/front.h"

#include "base/mem/mem.h"
#include "base/os/process.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "node/front/holder.h"
#include "node/front/readers.h"
#include "rpc/origin.h"

enum {
    READERS_MIN = 4,      /* threads that answer from frozen views */
    READERS_QUEUE = 4096, /* requests that wait for them */
};

#define MIB ((usize)1 << 20)

struct cd_front {
    cd_front_cfg cfg;
    cd_logger *log;
    usize ws_out; /* bytes of the budget that requests and answers may take */
    cd_loop *loop;
    cd_http_server *http;
    cd_tls *tls; /* NULL: none */
    cd_ws_hub *ws;
    cd_readers *readers;
    cd_rpc_origins *origins;
    cd_rpc_writing writing;
    cd_counter *requests;
    cd_loop_task kick; /* wakes readers at the end of a round; posted while is_kicking */
    bool is_kicking;
    cd_loop_task last;
};

/* --- readers --- */

static void on_kick(cd_loop_task *t)
{
    cd_front *f = cd_list_of(t, cd_front, kick);
    f->is_kicking = false;
    cd_readers_kick(f->readers);
}

/* What one round of the loop brings wakes one thread, which wakes others when there is enough for them. */
cd_err cd_front_run(cd_front *f, cd_rpc_job *job)
{
    if (!cd_loop_is_here(f->loop)) {
        return cd_readers_run(f->readers, job);
    }
    CD_TRY(cd_readers_push(f->readers, job));
    if (!f->is_kicking) {
        f->is_kicking = true;
        cd_loop_post(f->loop, &f->kick);
    }
    return CD_OK;
}

static double readers_waiting(void *ctx)
{
    return (double)cd_front_waiting(ctx);
}

/* --- TLS --- */

static void on_certificate(void *ctx, const cd_errinfo *why)
{
    const cd_front *f = ctx;
    if (why == NULL) {
        cd_log_info(f->log, "new TLS certificate", CD_F("file", f->cfg.tls_cert));
    } else {
        cd_log_warn(f->log, "the TLS certificate stays as it was", CD_F("why", why->msg));
    }
}

static cd_err open_tls(cd_front *f, cd_errinfo *why)
{
    static const char *const protocols[] = {"h2", "http/1.1"};
    const cd_tls_cfg cfg = {
        .cert_file = f->cfg.tls_cert,
        .key_file = f->cfg.tls_key,
        .protocols = protocols,
        .protocols_cnt = CD_COUNT(protocols),
        .reloaded = on_certificate,
        .ctx = f,
    };
    if (f->cfg.tls_cert == NULL) {
        return CD_OK;
    }
    if (cfg.cert_file[0] == '\0' || cfg.key_file[0] == '\0') {
        return cd_fail(why, CD_EINVAL,
                       "HTTPS needs a certificate and a key: "
                       "--http-tls-cert-file=FILE --http-tls-key-file=FILE");
    }
    cd_errinfo reason = {0};
    cd_err e = cd_tls_new(&f->tls, f->loop, &cfg, &reason);
    if (e != CD_OK) {
        return cd_fail(why, e, "HTTPS cannot use %.80s with %.80s: %.60s", cfg.cert_file, cfg.key_file, reason.msg);
    }
    return CD_OK;
}

void cd_front_reload_tls(cd_front *f)
{
    if (f->tls != NULL) {
        (void)!cd_tls_reload(f->tls, NULL); /* on_certificate says how it went */
    }
}

/* --- opening --- */

static usize bounded(usize v, usize min, usize max)
{
    return v < min ? min : v > max ? max : v;
}

/* Connections may not take the files that the store needs. */
static u32 conns_max(u32 max)
{
    enum { FOR_STORE = 512, CONNS_MIN = 64 };
    u64 files = cd_process_files_max();
    u64 left = files > FOR_STORE ? files - FOR_STORE : 0;
    return (u32)cd_max_u64(CONNS_MIN, cd_min_u64(max, left));
}

static void open_server(cd_front *f, const cd_budget *b)
{
    const cd_http_cfg http = {
        .extra_headers = f->cfg.all_answers,
        .admit = f->cfg.admit,
        .admit_ctx = f->cfg.admit_ctx,
        .allowed_origins = f->cfg.allowed_origins,
        .allowed_hosts = f->cfg.allowed_hosts,
        .allowed_hosts_cnt = f->cfg.allowed_hosts_cnt,
        .hosts_hint = f->cfg.hosts_hint,
        .read_timeout_ms = f->cfg.read_timeout_ms,
        .header_timeout_ms = f->cfg.header_timeout_ms,
        .write_timeout_ms = f->cfg.write_timeout_ms,
        .idle_timeout_ms = f->cfg.idle_timeout_ms,
        .conns_max = conns_max(b->conns_max),
        .memory_max = b->http,
        .buffered_max = bounded(b->http / 4, 6 * MIB, 32 * MIB),
    };
    const cd_ws_cfg ws = {
        .message_max = bounded(b->ws_in, 8 * MIB, 32 * MIB),
        .input_max = (usize)cd_max_u64(b->ws_in, 8 * MIB),
        .queue_max = bounded(b->ws_out / 4, MIB, 16 * MIB),
        .output_max = b->ws_out,
    };
    f->http = cd_http_server_new(f->loop, &http);
    f->ws = cd_ws_hub_new(f->loop, &ws);
    f->ws_out = b->ws_out;
    f->writing.max = b->writing;
}

cd_err cd_front_new(cd_front **out, const cd_front_cfg *cfg, const cd_budget *budget, cd_metrics *metrics,
                    cd_logger *log, cd_errinfo *why)
{
    cd_front *f = cd_new(cd_front);
    f->cfg = *cfg;
    f->log = log;
    f->kick.fn = on_kick;
    f->requests = cd_metrics_counter(metrics, "rpc_requests_total", "JSON-RPC requests and messages", NULL, 0);
    cd_metrics_gauge_fn(metrics, "rpc_reads_waiting", "Reading requests that no thread has begun", NULL, 0,
                        readers_waiting, f);
    cd_err e = cd_loop_new(&f->loop, why);
    if (e == CD_OK) {
        open_server(f, budget);
        f->origins = cd_rpc_origins_new(log);
        e = open_tls(f, why);
    }
    e = e != CD_OK ? e
                   : cd_readers_new(&f->readers, (u32)cd_max_u64(cd_thread_cpus(), READERS_MIN), READERS_QUEUE, why);
    if (e != CD_OK) {
        cd_front_free(f);
        return e;
    }
    *out = f;
    return CD_OK;
}

static cd_err listen_at(cd_front *f, u16 port, cd_errinfo *why)
{
    cd_holder holder;
    cd_err e = cd_http_server_listen_tls(f->http, f->cfg.host, port, f->tls, why);
    if (e == CD_EADDRINUSE && cd_holder_of_port(&holder, port)) {
        return cd_fail(why, e, "port %u is in use by \"%s\" (process %llu)", port, holder.name,
                       (unsigned long long)holder.pid);
    }
    if (e == CD_EADDRINUSE) {
        return cd_fail(why, e, "port %u is in use", port);
    }
    if (e == CD_EACCES) {
        return cd_fail(why, e, "port %u needs a privilege; one above 1023 does not: --http-port=8555", port);
    }
    return e;
}

cd_err cd_front_listen(cd_front *f, cd_errinfo *why)
{
    u32 more = f->cfg.more_ports;
    u32 gap = f->cfg.port == 0 ? 0 : 2;
    if (f->cfg.port + gap * more > UINT16_MAX) {
        return cd_fail(why, CD_ERANGE, "there are not %u ports above %u", gap * more, f->cfg.port);
    }
    cd_err e = listen_at(f, f->cfg.port, why);
    for (u32 i = 1; i <= more && e == CD_OK; i++) {
        e = listen_at(f, (u16)(f->cfg.port + gap * i), why);
    }
    if (e != CD_OK) {
        cd_http_server_deafen(f->http); /* who has connected meanwhile is nobody's */
    }
    return e;
}

u32 cd_front_place(const cd_front *f, const cd_http_req *r)
{
    u16 port = f->cfg.more_ports == 0 ? 0 : cd_http_req_port(r);
    u32 place = f->cfg.more_ports;
    while (place != 0 && cd_front_port_at(f, place) != port) {
        place--;
    }
    return place;
}

u16 cd_front_port_at(const cd_front *f, u32 place)
{
    return cd_http_server_port_at(f->http, place);
}

/* --- for others --- */

u16 cd_front_port(const cd_front *f)
{
    return cd_http_server_port(f->http);
}

cd_loop *cd_front_loop(const cd_front *f)
{
    return f->loop;
}

cd_http_server *cd_front_server(const cd_front *f)
{
    return f->http;
}

void cd_front_endpoint_cfg(cd_front *f, cd_rpc_endpoint_cfg *cfg)
{
    cfg->loop = f->loop;
    cfg->lanes.writing = &f->writing;
    cfg->lanes.origins = f->origins;
    cfg->lanes.log = f->log;
    cfg->ws = f->ws;
    cfg->queue_bytes = bounded(f->ws_out, 4 * MIB, 64 * MIB);
    cfg->answers_max = (usize)cd_min_u64(cfg->answers_max, f->ws_out);
    cfg->requests = f->requests;
}

u64 cd_front_requests(const cd_front *f)
{
    return cd_counter_get(f->requests);
}

usize cd_front_held(const cd_front *f)
{
    return cd_http_server_held(f->http);
}

usize cd_front_waiting(const cd_front *f)
{
    return f->readers == NULL ? 0 : cd_readers_waiting(f->readers);
}

/* --- the end --- */

void cd_front_stop(cd_front *f, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    cd_http_server_stop(f->http, grace_ms, done, ctx);
}

void cd_front_stop_readers(cd_front *f)
{
    cd_readers_stop(f->readers);
}

static void on_last(cd_loop_task *t)
{
    cd_loop_stop(cd_list_of(t, cd_front, last)->loop);
}

void cd_front_drain(cd_front *f)
{
    f->last.fn = on_last;
    cd_loop_post(f->loop, &f->last);
    cd_loop_run(f->loop);
}

void cd_front_free(cd_front *f)
{
    if (f == NULL) {
        return;
    }
    cd_readers_free(f->readers);
    cd_http_server_free(f->http);
    cd_tls_free(f->tls);
    cd_rpc_origins_free(f->origins);
    cd_ws_hub_free(f->ws);
    cd_loop_free(f->loop);
    cd_free(f);
}
