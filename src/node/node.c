#include "node/node.h"

#include "base/fileio.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/version.h"
#include "net/http_server.h"
#include "node/executor.h"
#include "node/readers.h"
#include "rpc/endpoint.h"
#include "store/kv.h"

#include <signal.h>
#include <stdio.h>

enum {
    LAYOUT = 1,           /* of what the node keeps in its store */
    STOP_GRACE_MS = 2000, /* for requests that run when the node is asked to stop */
    GENESIS_MAX = 64 << 20,
    PATH_MAX_LEN = 4096,
    READERS_MIN = 4,      /* threads that answer from frozen views */
    READERS_QUEUE = 4096, /* requests that wait for them */
};

struct cd_node {
    cd_node_cfg cfg;
    cd_dirlock lock;
    bool is_locked;
    cd_kv *kv;
    cd_kv *chain_kv;
    cd_buf genesis;
    cd_pool *pool;
    cd_executor *executor;
    cd_readers *readers;
    cd_loop *loop;
    cd_http_server *http;
    cd_tls *tls; /* NULL: none */
    cd_signal *signals[2];
    cd_signal *hangup;
    cd_ws_hub *ws;
    cd_rpc_endpoint **endpoints;
    usize endpoints_cnt;
    cd_metrics *metrics;
    cd_counter *requests;
    cd_loop_task stop_task;
    cd_loop_task kick; /* wakes readers at the end of a round; posted while is_kicking */
    bool is_kicking;
    bool is_stopping;
};

/* --- service ------------------------------------------------------------------------------------ */

static void serve_health(void *ctx, cd_http_req *req)
{
    (void)ctx;
    cd_buf_str(cd_http_req_out(req), "{\"healthy\":true}\n");
    cd_http_reply(req, 200, "application/json");
}

static void serve_metrics(void *ctx, cd_http_req *req)
{
    cd_node *n = ctx;
    cd_metrics_fmt(n->metrics, cd_http_req_out(req));
    cd_http_reply(req, 200, "text/plain; version=0.0.4");
}

static void add_route(cd_node *n, const char *path, u32 methods, cd_http_handler *handler,
                      void *ctx)
{
    cd_http_route route = {.path = path, .methods = methods, .handler = handler, .ctx = ctx};
    cd_http_server_route(n->http, &route);
}

static void on_kick(cd_loop_task *t)
{
    cd_node *n = (cd_node *)(void *)((u8 *)t - offsetof(cd_node, kick));
    n->is_kicking = false;
    cd_readers_kick(n->readers);
}

/* What one round of the loop brings wakes one thread, which wakes others when there is enough for them. */
static cd_err run_read(cd_node *n, cd_rpc_job *job)
{
    if (!cd_loop_is_here(n->loop)) {
        return cd_readers_run(n->readers, job);
    }
    CD_TRY(cd_readers_push(n->readers, job));
    if (!n->is_kicking) {
        n->is_kicking = true;
        n->kick.fn = on_kick;
        cd_loop_post(n->loop, &n->kick);
    }
    return CD_OK;
}

static cd_err run_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    cd_node *n = ctx;
    switch (lane) {
    case CD_RPC_FAST:
    case CD_RPC_READ:
        return run_read(n, job);
    case CD_RPC_OWNER:
        return cd_executor_run(n->executor, job);
    }
    CD_UNREACHABLE();
}

/* The OpenRPC document of the chain that the root of a development network speaks to, or of the C-Chain. */
static void serve_openrpc(void *ctx, cd_http_req *req)
{
    const cd_rpc_service *service = ctx;
    cd_buf_put(cd_http_req_out(req), service->openrpc);
    cd_http_reply(req, 200, "application/json");
}

static u32 over_of(u32 vm_over)
{
    return ((vm_over & CD_VM_HTTP) != 0 ? (u32)CD_RPC_OVER_HTTP : 0) |
           ((vm_over & CD_VM_WS) != 0 ? (u32)CD_RPC_OVER_WS : 0);
}

static void add_routes(cd_node *n, cd_vm *vm)
{
    static const char *const roots[] = {"/v1/bc/C", "/ext/bc/C"};
    usize cnt;
    const cd_vm_handler *handlers = vm->ops->handlers(vm, &cnt);
    n->ws = cd_ws_hub_new(n->loop, NULL);
    n->endpoints = cd_new_array(cd_rpc_endpoint *, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rpc_endpoint_cfg cfg = {
            .loop = n->loop,
            .lanes = {.run = run_lane, .ctx = n},
            .service = handlers[i].service,
            .ws = n->ws,
            .requests = n->requests,
        };
        n->endpoints[n->endpoints_cnt++] = cd_rpc_endpoint_new(&cfg);
        for (usize j = 0; j < CD_COUNT(roots); j++) {
            char path[128];
            (void)snprintf(path, sizeof path, "%s%s", roots[j], handlers[i].route);
            cd_rpc_endpoint_route(n->endpoints[i], n->http, path, over_of(handlers[i].over));
        }
    }
    if (n->cfg.network->is_dev && cnt != 0) {
        /* Any tool that expects a node at this port talks to "/". */
        cd_rpc_endpoint_route(n->endpoints[0], n->http, "/", CD_RPC_OVER_HTTP | CD_RPC_OVER_WS);
    }
    if (cnt != 0 && handlers[0].service->openrpc.n != 0) {
        cd_http_route route = {
            .path = "/openrpc.json",
            .methods = CD_HTTP_GET,
            .handler = serve_openrpc,
            .ctx = (void *)(usize)handlers[0].service,
        };
        cd_http_server_route(n->http, &route);
    }
    add_route(n, "/v1/health", CD_HTTP_GET, serve_health, n);
    add_route(n, "/v1/metrics", CD_HTTP_GET, serve_metrics, n);
}

/* --- opening ------------------------------------------------------------------------------------ */

static cd_err open_store(cd_node *n, cd_errinfo *why)
{
    static const u8 chain_prefix = 'C';
    if (n->cfg.data_dir == NULL) {
        n->kv = cd_kv_mem_open();
    } else {
        char path[PATH_MAX_LEN];
        CD_TRY(cd_fs_mkdirs(cd_fs_real(), n->cfg.data_dir, 0700, why));
        CD_TRY(cd_dirlock_take(cd_fs_real(), &n->lock, n->cfg.data_dir, why));
        n->is_locked = true;
        (void)snprintf(path, sizeof path, "%s/db", n->cfg.data_dir);
        cd_kv_cfg cfg = {.dir = path, .layout = LAYOUT};
        CD_TRY(cd_kv_rocksdb_open(&n->kv, &cfg, why));
    }
    n->chain_kv = cd_kv_prefix_open(n->kv, cd_bytes_of(&chain_prefix, 1));
    return CD_OK;
}

/* The genesis lies beside the data it belongs to: a new one is made once. */
static cd_err load_genesis(cd_node *n, cd_errinfo *why)
{
    u64 now = cd_clock_wall_s(cd_clock_real());
    if (n->cfg.data_dir == NULL) {
        return n->cfg.evm_genesis(&n->genesis, n->cfg.network->evm_chain_id, now);
    }
    char path[PATH_MAX_LEN];
    (void)snprintf(path, sizeof path, "%s/genesis-C.json", n->cfg.data_dir);
    cd_err e = cd_fs_read_file(cd_fs_real(), &n->genesis, path, GENESIS_MAX, why);
    if (e != CD_ENOENT) {
        return e;
    }
    CD_TRY(n->cfg.evm_genesis(&n->genesis, n->cfg.network->evm_chain_id, now));
    return cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&n->genesis), 0600, why);
}

static cd_err open_chain(cd_node *n, cd_errinfo *why)
{
    cd_vm *vm = NULL;
    u32 workers = n->cfg.workers != 0 ? n->cfg.workers : cd_thread_cpus() - 1;
    CD_TRY(cd_pool_new(&n->pool, workers, 4096, "worker", why));
    n->executor = cd_executor_new("C", n->cfg.log);
    cd_vm_ctx ctx = {
        .kv = n->chain_kv,
        .log = n->cfg.log,
        .pool = n->pool,
        .host = cd_executor_host(n->executor),
        .genesis = cd_buf_bytes(&n->genesis),
        .is_dev = n->cfg.network->is_dev,
    };
    CD_TRY(n->cfg.evm(&vm, &ctx, why));
    add_routes(n, vm);
    cd_err e = cd_readers_new(&n->readers, (u32)cd_max_u64(cd_thread_cpus(), READERS_MIN),
                              READERS_QUEUE, why);
    e = e != CD_OK ? e : cd_executor_start(n->executor, vm, why);
    if (e != CD_OK) {
        vm->ops->close(vm);
    }
    return e;
}

/* --- stopping ----------------------------------------------------------------------------------- */

static void on_http_stopped(void *ctx)
{
    cd_loop_stop(((cd_node *)ctx)->loop);
}

static void begin_stop(cd_node *n)
{
    if (!n->is_stopping) {
        n->is_stopping = true;
        cd_log_info(n->cfg.log, "stopping");
        cd_http_server_stop(n->http, STOP_GRACE_MS, on_http_stopped, n);
    }
}

static void on_signal(void *ctx, int signum)
{
    (void)signum;
    begin_stop(ctx);
}

static void on_stop_task(cd_loop_task *t)
{
    begin_stop((cd_node *)(void *)((u8 *)t - offsetof(cd_node, stop_task)));
}

void cd_node_stop(cd_node *n)
{
    cd_loop_post(n->loop, &n->stop_task);
}

static void on_certificate(void *ctx, const cd_errinfo *why)
{
    const cd_node *n = ctx;
    if (why == NULL) {
        cd_log_info(n->cfg.log, "new TLS certificate", CD_F("file", n->cfg.http_tls_cert));
    } else {
        cd_log_warn(n->cfg.log, "the TLS certificate stays as it was", CD_F("why", why->msg));
    }
}

static void on_hangup(void *ctx, int signum)
{
    cd_node *n = ctx;
    (void)signum;
    (void)!cd_tls_reload(n->tls, NULL); /* on_certificate says how it went */
}

static cd_err open_tls(cd_node *n, cd_errinfo *why)
{
    static const char *const protocols[] = {"h2", "http/1.1"};
    const cd_tls_cfg cfg = {
        .cert_file = n->cfg.http_tls_cert,
        .key_file = n->cfg.http_tls_key,
        .protocols = protocols,
        .protocols_cnt = CD_COUNT(protocols),
        .reloaded = on_certificate,
        .ctx = n,
    };
    if (n->cfg.http_tls_cert == NULL) {
        return CD_OK;
    }
    if (cfg.cert_file[0] == '\0' || cfg.key_file[0] == '\0') {
        return cd_fail(why, CD_EINVAL,
                       "HTTPS needs a certificate and a key: "
                       "--http-tls-cert-file=FILE --http-tls-key-file=FILE");
    }
    CD_TRY(cd_tls_new(&n->tls, n->loop, &cfg, why));
    return cd_signal_open(&n->hangup, n->loop, SIGHUP, on_hangup, n, why);
}

static double readers_waiting(void *ctx)
{
    const cd_node *n = ctx;
    return n->readers == NULL ? 0 : (double)cd_readers_waiting(n->readers);
}

static cd_err open_http(cd_node *n, cd_errinfo *why)
{
    static const int stops[] = {SIGINT, SIGTERM};
    cd_http_cfg cfg = {
        .allowed_origins = n->cfg.allowed_origins,
        .allowed_hosts = n->cfg.allowed_hosts,
        .allowed_hosts_cnt = n->cfg.allowed_hosts_cnt,
    };
    CD_TRY(cd_loop_new(&n->loop, why));
    n->stop_task.fn = on_stop_task;
    for (usize i = 0; i < CD_COUNT(stops); i++) {
        CD_TRY(cd_signal_open(&n->signals[i], n->loop, stops[i], on_signal, n, why));
    }
    n->http = cd_http_server_new(n->loop, &cfg);
    n->metrics = cd_metrics_new("lux");
    n->requests = cd_metrics_counter(n->metrics, "rpc_requests_total",
                                     "JSON-RPC requests and messages", NULL, 0);
    cd_metrics_gauge_fn(n->metrics, "rpc_reads_waiting",
                        "Reading requests that no thread has begun", NULL, 0, readers_waiting, n);
    return open_tls(n, why);
}

static cd_err listen_http(cd_node *n, cd_errinfo *why)
{
    return cd_http_server_listen_tls(n->http, n->cfg.http_host, n->cfg.http_port, n->tls, why);
}

cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why)
{
    cd_node *n = cd_new(cd_node);
    n->cfg = *cfg;
    cd_err e = open_store(n, why);
    e = e != CD_OK ? e : load_genesis(n, why);
    e = e != CD_OK ? e : open_http(n, why);
    e = e != CD_OK ? e : open_chain(n, why);
    e = e != CD_OK ? e : listen_http(n, why);
    if (e != CD_OK) {
        cd_node_close(n);
        return e;
    }
    *out = n;
    return CD_OK;
}

u16 cd_node_http_port(const cd_node *n)
{
    return cd_http_server_port(n->http);
}

void cd_node_run(cd_node *n)
{
    cd_loop_run(n->loop);
}

/* Requests whose clients are gone may still be on their way back to the loop. */
static void on_last_task(cd_loop_task *t)
{
    cd_loop_stop(((cd_node *)(void *)((u8 *)t - offsetof(cd_node, stop_task)))->loop);
}

void cd_node_close(cd_node *n)
{
    if (n == NULL) {
        return;
    }
    if (n->readers != NULL) {
        cd_readers_stop(n->readers);
    }
    cd_executor_free(n->executor);
    if (n->loop != NULL) {
        n->stop_task.fn = on_last_task;
        cd_loop_post(n->loop, &n->stop_task);
        cd_loop_run(n->loop);
    }
    cd_readers_free(n->readers);
    cd_http_server_free(n->http);
    cd_tls_free(n->tls);
    for (usize i = 0; i < n->endpoints_cnt; i++) {
        cd_rpc_endpoint_free(n->endpoints[i]);
    }
    cd_free(n->endpoints);
    cd_ws_hub_free(n->ws);
    cd_pool_free(n->pool);
    cd_kv_close(n->chain_kv);
    cd_kv_close(n->kv);
    if (n->is_locked) {
        cd_dirlock_release(&n->lock);
    }
    /* Last: without them a second signal ends the process at once. */
    for (usize i = 0; i < CD_COUNT(n->signals); i++) {
        cd_signal_close(n->signals[i]);
    }
    cd_signal_close(n->hangup);
    cd_loop_free(n->loop);
    cd_metrics_free(n->metrics);
    cd_buf_fini(&n->genesis);
    cd_free(n);
}
