#include "node/node.h"

#include "base/fileio.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/thread.h"
#include "base/version.h"
#include "net/http_server.h"
#include "node/executor.h"
#include "store/kv.h"

#include <signal.h>
#include <stdio.h>

enum {
    LAYOUT = 1,           /* of what the node keeps in its store */
    STOP_GRACE_MS = 2000, /* for requests that run when the node is asked to stop */
    GENESIS_MAX = 64 << 20,
    PATH_MAX_LEN = 4096,
};

/* A route to a handler of the chain. */
typedef struct chain_route {
    cd_node *node;
    const cd_vm_handler *handler;
} chain_route;

struct cd_node {
    cd_node_cfg cfg;
    cd_dirlock lock;
    bool is_locked;
    cd_kv *kv;
    cd_kv *chain_kv;
    cd_buf genesis;
    cd_pool *pool;
    cd_executor *executor;
    cd_loop *loop;
    cd_http_server *http;
    cd_signal *signals[2];
    chain_route *routes;
    cd_metrics *metrics;
    cd_counter *requests;
    cd_loop_task stop_task;
    bool is_stopping;
};

/* --- service ------------------------------------------------------------------------------------ */

static void on_reply(void *ctx, cd_buf *reply)
{
    cd_http_req *req = ctx;
    cd_buf *out = cd_http_req_out(req);
    cd_buf_fini(out);
    *out = *reply;
    *reply = (cd_buf){0};
    cd_http_reply(req, 200, "application/json");
}

/* The media types that JSON-RPC clients send, parameters aside. */
static bool is_json(cd_bytes type)
{
    static const char *const known[] = {"application/json", "application/json-rpc",
                                        "application/jsonrequest"};
    const u8 *end = type.n == 0 ? NULL : memchr(type.p, ';', type.n);
    if (end != NULL) {
        type.n = (usize)(end - type.p);
    }
    while (type.n != 0 && type.p[type.n - 1] == ' ') {
        type.n--;
    }
    for (usize i = 0; i < CD_COUNT(known); i++) {
        if (cd_http_name_eq(type, cd_bytes_str(known[i]))) {
            return true;
        }
    }
    return false;
}

static void serve_chain(void *ctx, cd_http_req *req)
{
    chain_route *route = ctx;
    cd_node *n = route->node;
    cd_bytes body = cd_http_req_body(req);
    if (cd_http_req_method(req) == CD_HTTP_GET && body.n == 0) {
        cd_http_reply(req, 200, NULL);
        return;
    }
    if (!is_json(cd_http_req_header(req, "content-type"))) {
        cd_http_reply_error(req, 415, "invalid content type, only application/json is supported");
        return;
    }
    cd_buf copy = {0};
    cd_buf_put(&copy, body);
    cd_counter_add(n->requests, 1);
    if (cd_executor_request(n->executor, route->handler, &copy, on_reply, req) != CD_OK) {
        cd_http_reply_error(req, 503, "the chain has too many requests waiting");
    }
}

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

static void add_routes(cd_node *n, cd_vm *vm)
{
    usize cnt;
    const cd_vm_handler *handlers = vm->ops->handlers(vm, &cnt);
    n->routes = cd_new_array(chain_route, cnt);
    for (usize i = 0; i < cnt; i++) {
        char path[128];
        n->routes[i] = (chain_route){.node = n, .handler = &handlers[i]};
        (void)snprintf(path, sizeof path, "/v1/bc/C%s", handlers[i].route);
        add_route(n, path, CD_HTTP_POST | CD_HTTP_GET, serve_chain, &n->routes[i]);
        (void)snprintf(path, sizeof path, "/ext/bc/C%s", handlers[i].route);
        add_route(n, path, CD_HTTP_POST | CD_HTTP_GET, serve_chain, &n->routes[i]);
    }
    if (n->cfg.network->is_dev && cnt != 0) {
        /* Any tool that expects a node at this port talks to "/". */
        add_route(n, "/", CD_HTTP_POST | CD_HTTP_GET, serve_chain, &n->routes[0]);
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
    cd_err e = cd_executor_start(n->executor, vm, why);
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
                                     "JSON-RPC requests over HTTP", NULL, 0);
    return CD_OK;
}

cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why)
{
    cd_node *n = cd_new(cd_node);
    n->cfg = *cfg;
    cd_err e = open_store(n, why);
    e = e != CD_OK ? e : load_genesis(n, why);
    e = e != CD_OK ? e : open_http(n, why);
    e = e != CD_OK ? e : open_chain(n, why);
    e = e != CD_OK ? e : cd_http_server_listen(n->http, cfg->http_host, cfg->http_port, why);
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

void cd_node_close(cd_node *n)
{
    if (n == NULL) {
        return;
    }
    cd_executor_free(n->executor);
    cd_http_server_free(n->http);
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
    cd_loop_free(n->loop);
    cd_metrics_free(n->metrics);
    cd_buf_fini(&n->genesis);
    cd_free(n->routes);
    cd_free(n);
}
