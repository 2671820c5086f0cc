#include "node/node.h"

#include "base/fileio.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/process.h"
#include "base/thread.h"
#include "base/version.h"
#include "net/http_server.h"
#include "node/budget.h"
#include "node/executor.h"
#include "node/health.h"
#include "node/holder.h"
#include "node/readers.h"
#include "rpc/endpoint.h"
#include "store/kv.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/statvfs.h>

enum {
    LAYOUT = 2,           /* of what the node keeps in its store */
    ROOM_MIN = 32000000,  /* free bytes without which a node does not start */
    DISK_MIN = 512 << 20, /* free bytes below which health says no */
    GENESIS_MAX = 64 << 20,
    PATH_MAX_LEN = 4096,
    READERS_MIN = 4,       /* threads that answer from frozen views */
    READERS_QUEUE = 4096,  /* requests that wait for them */
    CALLS_GRACE_MS = 2000, /* for those that run when service ends */
    TRIM_MS = 5000,
};

#define MIB ((usize)1 << 20)

struct cd_node {
    cd_node_cfg cfg;
    cd_dirlock lock;
    bool is_locked;
    cd_kv *kv;
    cd_kv *chain_kv;
    cd_buf genesis;
    cd_pool *pool;
    char chain_dir[PATH_MAX_LEN];
    cd_executor *executor;
    cd_readers *readers;
    cd_loop *loop;
    cd_http_server *http;
    cd_tls *tls; /* NULL: none */
    cd_signal *signals[2];
    cd_signal *hangup;
    cd_ws_hub *ws;
    cd_rpc_endpoint **endpoints;
    const cd_rpc_service **services; /* of the endpoints */
    usize endpoints_cnt;
    cd_health *health;
    cd_budget budget;
    cd_rpc_writing writing;
    cd_metrics *metrics;
    cd_counter *requests;
    cd_loop_task stop_task;
    cd_loop_task kick; /* wakes readers at the end of a round; posted while is_kicking */
    bool is_kicking;
    cd_timer *trim_timer; /* looks now and then whether free memory should be given back */
    cd_timer *stop_timer; /* runs between the signal and the end of service */
    cd_timer *late_timer; /* runs from there; then requests that still run are told to end */
    u64 start_ns;
    u64 stop_ns; /* when it was asked to stop; 0: not yet */
    bool is_stopping;
    cd_loop_task failed_task;
    atomic_bool is_running; /* the loop may be told to stop */
    atomic_bool has_failed; /* the store takes no more writes */
    atomic_bool is_failing; /* failed_task was posted */
};

/* --- health and figures ------------------------------------------------------------------------- */

static const char *check_bootstrapped(void *ctx, cd_json_w *message)
{
    (void)ctx;
    cd_json_w_arr(message);
    cd_json_w_arr_end(message);
    return NULL;
}

static const char *check_chain(void *ctx, cd_json_w *message)
{
    const cd_node *n = ctx;
    cd_executor_tip tip;
    cd_executor_tip_get(n->executor, &tip);
    cd_json_w_obj(message);
    cd_json_w_key(message, "engine");
    cd_json_w_obj(message);
    cd_json_w_key(message, "consensus");
    cd_json_w_obj(message);
    cd_json_w_key(message, "lastAcceptedHeight");
    cd_json_w_u64(message, tip.height);
    cd_json_w_key(message, "lastAcceptedID");
    cd_json_w_hex(message, cd_bytes_of(tip.id.b, 32));
    cd_json_w_key(message, "longestProcessingBlock");
    cd_json_w_cstr(message, "0s");
    cd_json_w_key(message, "processingBlocks");
    cd_json_w_u64(message, 0);
    cd_json_w_obj_end(message);
    cd_json_w_key(message, "vm");
    cd_json_w_null(message);
    cd_json_w_obj_end(message);
    cd_json_w_key(message, "networking");
    cd_json_w_obj(message);
    cd_json_w_key(message, "percentConnected");
    cd_json_w_u64(message, 1);
    cd_json_w_obj_end(message);
    cd_json_w_obj_end(message);
    return NULL;
}

static const char *check_database(void *ctx, cd_json_w *message)
{
    cd_kv_stats stats;
    (void)message;
    return cd_kv_stats_get(((const cd_node *)ctx)->kv, &stats) == CD_OK
               ? NULL
               : "the store does not answer";
}

static const char *check_disk(void *ctx, cd_json_w *message)
{
    struct statvfs st;
    if (statvfs(((const cd_node *)ctx)->cfg.data_dir, &st) != 0) {
        return "the data directory cannot be reached";
    }
    u64 space = (u64)st.f_bavail * st.f_frsize;
    cd_json_w_obj(message);
    cd_json_w_key(message, "availableDiskBytes");
    cd_json_w_u64(message, space);
    cd_json_w_key(message, "availableDiskPercentage");
    cd_json_w_u64(message, st.f_blocks == 0 ? 0 : (u64)st.f_bavail * 100 / st.f_blocks);
    cd_json_w_obj_end(message);
    return space < DISK_MIN ? "remaining available disk space is below the required 536870912 bytes"
                            : NULL;
}

static const char *check_stop(void *ctx, cd_json_w *message)
{
    (void)ctx;
    cd_json_w_obj(message);
    cd_json_w_key(message, "isShuttingDown");
    cd_json_w_bool(message, true);
    cd_json_w_obj_end(message);
    return "server shutting down";
}

static void open_health(cd_node *n)
{
    n->health = cd_health_new();
    cd_health_add(n->health, "C", CD_HEALTH_HEALTH, check_chain, n);
    cd_health_add(n->health, "bootstrapped", CD_HEALTH_HEALTH | CD_HEALTH_READINESS,
                  check_bootstrapped, n);
    cd_health_add(n->health, "database", CD_HEALTH_HEALTH, check_database, n);
    if (n->cfg.data_dir != NULL) {
        cd_health_add(n->health, "diskspace", CD_HEALTH_HEALTH, check_disk, n);
    }
}

static double readers_waiting(void *ctx)
{
    const cd_node *n = ctx;
    return n->readers == NULL ? 0 : (double)cd_readers_waiting(n->readers);
}

static double checks_failing(void *ctx)
{
    return (double)cd_health_failing(((const cd_node *)ctx)->health);
}

static void set_gauge(cd_node *n, const char *name, const char *help, cd_label label, u64 v)
{
    cd_gauge_set(cd_metrics_gauge(n->metrics, name, help, &label, 1), (i64)v);
}

static void open_metrics(cd_node *n)
{
    const struct {
        const char *name;
        usize bytes;
    } shares[] = {
        {"store", n->budget.store}, {"state", n->budget.state},       {"tries", n->budget.tries},
        {"texts", n->budget.texts}, {"requests", n->budget.requests},
    };
    const cd_label all[] = {{"check", "health"}, {"tag", "all"}};
    n->metrics = cd_metrics_new("lux");
    n->requests = cd_metrics_counter(n->metrics, "rpc_requests_total",
                                     "JSON-RPC requests and messages", NULL, 0);
    cd_metrics_gauge_fn(n->metrics, "rpc_reads_waiting",
                        "Reading requests that no thread has begun", NULL, 0, readers_waiting, n);
    cd_metrics_gauge_fn(n->metrics, "health_checks_failing", "Checks that failed", all,
                        CD_COUNT(all), checks_failing, n);
    for (usize i = 0; i < CD_COUNT(shares); i++) {
        set_gauge(n, "memory_budget_bytes", "Shares of the memory budget",
                  (cd_label){"share", shares[i].name}, shares[i].bytes);
    }
    cd_process_metrics_open(n->metrics);
}

/* Methods that were never called are left out. Services may share a table; what was counted stays. */
static void refresh_calls(cd_node *n, const cd_rpc_table *t)
{
    for (usize i = 0; i < cd_rpc_table_cnt(t); i++) {
        const cd_rpc_method *m = cd_rpc_table_at(t, i);
        u64 calls = cd_rpc_method_calls(m);
        if (calls != 0) {
            const cd_label label = {"method", m->name};
            cd_counter *c =
                cd_metrics_counter(n->metrics, "rpc_calls_total", "Calls of a method", &label, 1);
            cd_counter_add(c, calls - cd_counter_get(c));
        }
    }
}

/* Those that nobody keeps up to date by himself. */
static void refresh_metrics(cd_node *n)
{
    cd_executor_tip tip;
    cd_kv_stats stats;
    cd_executor_tip_get(n->executor, &tip);
    set_gauge(n, "snowman_last_accepted_height", "Height of the last accepted block",
              (cd_label){"chain", "C"}, tip.height);
    set_gauge(n, "snowman_blks_accepted_count", "Blocks accepted since the start",
              (cd_label){"chain", "C"}, tip.accepted);
    if (cd_kv_stats_get(n->kv, &stats) == CD_OK) {
        set_gauge(n, "memory_used_bytes", "What shares of the memory budget hold",
                  (cd_label){"share", "store"}, stats.mem_bytes);
        cd_gauge_set(
            cd_metrics_gauge(n->metrics, "db_disk_bytes", "Size of the store's files", NULL, 0),
            (i64)stats.disk_bytes);
    }
    set_gauge(n, "memory_used_bytes", "What shares of the memory budget hold",
              (cd_label){"share", "requests"}, cd_http_server_held(n->http));
    cd_process_metrics(n->metrics);
    for (usize i = 0; i < n->endpoints_cnt; i++) {
        refresh_calls(n, n->services[i]->table);
    }
}

/* --- service ------------------------------------------------------------------------------------ */

static void serve_metrics(void *ctx, cd_http_req *req)
{
    cd_node *n = ctx;
    refresh_metrics(n);
    cd_metrics_fmt(n->metrics, cd_http_req_out(req));
    cd_http_reply(req, 200, CD_METRICS_CONTENT_TYPE);
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
    case CD_RPC_TRY:
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

static usize bounded(usize v, usize min, usize max)
{
    return v < min ? min : v > max ? max : v;
}

/* One page on its way. */
typedef struct page_job {
    cd_rpc_job job; /* first */
    cd_node *node;
    cd_http_req *req;
} page_job;

static void serve_page(cd_rpc_job *job)
{
    page_job *p = (page_job *)(void *)job;
    p->node->cfg.pages->serve(p->node->cfg.pages->ctx, p->req);
    cd_free(p);
}

static void on_page(void *ctx, cd_http_req *req)
{
    cd_node *n = ctx;
    if (n->cfg.pages->serve_here(n->cfg.pages->ctx, req)) {
        return;
    }
    page_job *p = cd_new(page_job);
    *p = (page_job){.job = {.run = serve_page, .kind = n->cfg.pages}, .node = n, .req = req};
    if (run_read(n, &p->job) != CD_OK) {
        cd_http_reply_error(req, 503, "too many requests wait; try again in a moment");
        cd_free(p);
    }
}

/* Work of the pages that no request waits for. */
typedef struct work_job {
    cd_rpc_job job; /* first */
    void (*fn)(void *arg);
    void *arg;
} work_job;

static void do_work(cd_rpc_job *job)
{
    work_job *w = (work_job *)(void *)job;
    w->fn(w->arg);
    cd_free(w);
}

static cd_err run_work(cd_node *n, void (*fn)(void *arg), void *arg)
{
    work_job *w = cd_new(work_job);
    *w = (work_job){.job = {.run = do_work, .kind = n->cfg.pages}, .fn = fn, .arg = arg};
    cd_err e = run_read(n, &w->job);
    if (e != CD_OK) {
        cd_free(w);
    }
    return e;
}

static void put_state(cd_node *n, cd_buf *out)
{
    cd_kv_stats stats = {0};
    cd_json_w w = {.out = out};
    u64 up_ns = cd_clock_mono_ns(cd_clock_real()) - n->start_ns;
    (void)!cd_kv_stats_get(n->kv, &stats); // health tells
    const struct {
        const char *name;
        u64 value;
    } rows[] = {
        {"uptimeMs", up_ns / CD_NS_PER_MS},
        {"memory", cd_process_rss()},
        {"memoryBudget", n->cfg.memory},
        {"disk", n->cfg.data_dir == NULL ? 0 : stats.disk_bytes},
        {"requests", cd_counter_get(n->requests)},
        {"requestBytes", cd_http_server_held(n->http)},
        {"readsWaiting", cd_readers_waiting(n->readers)},
        {"threads", cd_thread_cpus()},
    };
    cd_json_w_obj(&w);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_json_w_key(&w, rows[i].name);
        cd_json_w_u64(&w, rows[i].value);
    }
    cd_json_w_key(&w, "inMemory");
    cd_json_w_bool(&w, n->cfg.data_dir == NULL);
    cd_json_w_key(&w, "health");
    cd_buf health = {0};
    (void)cd_health_fmt(n->health, &health, CD_HEALTH_HEALTH);
    cd_json_w_raw(&w, cd_buf_bytes(&health));
    cd_buf_fini(&health);
    cd_json_w_obj_end(&w);
}

static void add_pages(cd_node *n, cd_vm *vm)
{
    const cd_node_pages *pages = n->cfg.pages;
    const cd_node_hands hands = {.node = n, .loop = n->loop, .run = run_work, .state = put_state};
    char below[128];
    if (pages == NULL) {
        return;
    }
    pages->open(pages->ctx, vm, &hands);
    (void)snprintf(below, sizeof below, "%s/*", pages->root);
    add_route(n, pages->root, CD_HTTP_GET, on_page, n);
    add_route(n, below, CD_HTTP_GET | CD_HTTP_POST, on_page, n);
}

static void add_routes(cd_node *n, cd_vm *vm)
{
    static const char *const roots[] = {"/v1/bc/C", "/ext/bc/C"};
    static const char *const prefixes[] = {"/v1", "/ext"};
    usize cnt;
    const cd_vm_handler *handlers = vm->ops->handlers(vm, &cnt);
    const usize share = n->budget.ws_out;
    const cd_ws_cfg ws = {
        .message_max = bounded(n->budget.ws_in, 8 * MIB, 32 * MIB),
        .input_max = (usize)cd_max_u64(n->budget.ws_in, 8 * MIB),
        .queue_max = bounded(share / 4, MIB, 16 * MIB),
        .output_max = share,
    };
    n->ws = cd_ws_hub_new(n->loop, &ws);
    n->endpoints = cd_new_array(cd_rpc_endpoint *, cnt);
    n->services = cd_new_array(const cd_rpc_service *, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_rpc_endpoint_cfg cfg = {
            .loop = n->loop,
            .lanes = {.run = run_lane, .ctx = n, .writing = &n->writing},
            .service = handlers[i].service,
            .ws = n->ws,
            .is_local_only = (handlers[i].over & CD_VM_LOCAL) != 0 && !n->cfg.is_admin_remote,
            .queue_bytes = bounded(n->budget.ws_out, 4 * MIB, 64 * MIB),
            .answers_max = n->budget.ws_out,
            .requests = n->requests,
        };
        n->services[i] = handlers[i].service;
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
    const cd_rpc_lanes lanes = {.run = run_lane, .ctx = n};
    for (usize i = 0; i < CD_COUNT(prefixes); i++) {
        char path[128];
        if (n->cfg.has_health) {
            cd_health_routes(n->health, n->http, prefixes[i], n->loop, &lanes);
        }
        if (n->cfg.has_metrics) {
            (void)snprintf(path, sizeof path, "%s/metrics", prefixes[i]);
            add_route(n, path, CD_HTTP_ANY, serve_metrics, n);
        }
    }
}

/* --- opening ------------------------------------------------------------------------------------ */

/* The store's engine does not survive a disk that is full while it opens, so nothing begins without room for it. */
static cd_err check_room(const char *dir, cd_errinfo *why)
{
    struct statvfs st;
    if (statvfs(dir, &st) != 0) {
        return cd_fail(why, CD_EIO, "%s: cannot be looked at", dir);
    }
    u64 space = (u64)st.f_bavail * st.f_frsize;
    if ((st.f_flag & ST_RDONLY) == 0 && space < ROOM_MIN) {
        return cd_fail(why, CD_ENOSPC, "no space left for %s: %llu kB are free, %u kB are needed",
                       dir, (unsigned long long)space / 1000, ROOM_MIN / 1000);
    }
    return CD_OK;
}

static cd_err take_dir(cd_node *n, cd_errinfo *why)
{
    char path[PATH_MAX_LEN];
    cd_holder holder;
    cd_err e = cd_dirlock_take(cd_fs_real(), &n->lock, n->cfg.data_dir, why);
    n->is_locked = e == CD_OK;
    (void)snprintf(path, sizeof path, "%s/LOCK", n->cfg.data_dir);
    if (e == CD_EBUSY && cd_holder_of_lock(&holder, path)) {
        return cd_fail(why, e, "%s is in use by \"%s\" (process %llu)", n->cfg.data_dir,
                       holder.name, (unsigned long long)holder.pid);
    }
    return e;
}

static void stop_failed(cd_node *n)
{
    if (atomic_load(&n->is_running) && atomic_load(&n->has_failed) &&
        !atomic_exchange(&n->is_failing, true)) {
        cd_loop_post(n->loop, &n->failed_task);
    }
}

/* On the thread that wrote. What was acknowledged is on disk; a node that can keep nothing more is of no use. */
static void on_store_failed(void *ctx, const cd_errinfo *why)
{
    cd_node *n = ctx;
    cd_log_error(n->cfg.log,
                 why->code == CD_ENOSPC
                     ? "the disk is full: make room, then start again; nothing acknowledged is lost"
                     : "the data directory cannot be written: look at the disk, then start again; "
                       "nothing acknowledged is lost",
                 CD_F("dir", n->cfg.data_dir), CD_F("error", (const char *)why->msg));
    atomic_store(&n->has_failed, true);
    stop_failed(n);
}

static cd_err open_store(cd_node *n, cd_errinfo *why)
{
    static const u8 chain_prefix = 'C';
    if (n->cfg.data_dir == NULL) {
        n->kv = cd_kv_mem_open();
    } else {
        char path[PATH_MAX_LEN];
        CD_TRY(cd_fs_mkdirs(cd_fs_real(), n->cfg.data_dir, 0700, why));
        CD_TRY(check_room(n->cfg.data_dir, why));
        CD_TRY(take_dir(n, why));
        (void)snprintf(path, sizeof path, "%s/db", n->cfg.data_dir);
        cd_kv_cfg cfg = {.dir = path, .layout = LAYOUT, .cache_bytes = n->budget.store};
        cfg.failed = on_store_failed;
        cfg.failed_ctx = n;
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
        return n->cfg.evm_genesis(n->cfg.evm_genesis_ctx, &n->genesis, n->cfg.network->evm_chain_id,
                                  now);
    }
    char path[PATH_MAX_LEN];
    (void)snprintf(path, sizeof path, "%s/genesis-C.json", n->cfg.data_dir);
    cd_err e = cd_fs_read_file(cd_fs_real(), &n->genesis, path, GENESIS_MAX, why);
    if (e != CD_ENOENT) {
        return e;
    }
    CD_TRY(
        n->cfg.evm_genesis(n->cfg.evm_genesis_ctx, &n->genesis, n->cfg.network->evm_chain_id, now));
    return cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&n->genesis), 0600, why);
}

static cd_err open_chain(cd_node *n, cd_errinfo *why)
{
    cd_vm *vm = NULL;
    u32 workers = n->cfg.workers != 0 ? n->cfg.workers : cd_thread_cpus() - 1;
    CD_TRY(cd_pool_new(&n->pool, workers, 4096, "worker", why));
    n->executor = cd_executor_new("C", n->cfg.log);
    if (n->cfg.data_dir != NULL) {
        (void)snprintf(n->chain_dir, sizeof n->chain_dir, "%s/chainData/C", n->cfg.data_dir);
    }
    cd_vm_ctx ctx = {
        .kv = n->chain_kv,
        .log = n->cfg.log,
        .pool = n->pool,
        .host = cd_executor_host(n->executor),
        .loop = n->loop,
        .genesis = cd_buf_bytes(&n->genesis),
        .config = n->cfg.evm_config,
        .upgrades = n->cfg.evm_upgrades,
        .is_dev = n->cfg.network->is_dev,
        .dev = n->cfg.evm_dev,
        .metrics = n->metrics,
        .dir = n->cfg.data_dir == NULL ? NULL : n->chain_dir,
        .cache_bytes = n->budget.state,
        .trie_bytes = n->budget.tries,
        .text_bytes = n->budget.texts,
    };
    CD_TRY(n->cfg.evm(&vm, &ctx, why));
    add_routes(n, vm);
    add_pages(n, vm);
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

static void end_calls(void *ctx)
{
    cd_node *n = ctx;
    for (usize i = 0; i < n->endpoints_cnt; i++) {
        cd_rpc_table_end(n->services[i]->table);
    }
}

static void end_service(void *ctx)
{
    cd_node *n = ctx;
    if (!n->is_stopping) {
        n->is_stopping = true;
        cd_timer_start(n->late_timer, CALLS_GRACE_MS, 0);
        cd_http_server_stop(n->http, n->cfg.shutdown_timeout_ms, on_http_stopped, n);
    }
}

static void begin_stop(cd_node *n)
{
    if (n->stop_ns != 0) {
        return;
    }
    n->stop_ns = cd_clock_mono_ns(cd_clock_real());
    cd_log_debug(n->cfg.log, "stopping");
    cd_health_add(n->health, "shuttingDown", CD_HEALTH_HEALTH, check_stop, n);
    if (n->cfg.shutdown_wait_ms == 0) {
        end_service(n);
    } else {
        cd_timer_start(n->stop_timer, n->cfg.shutdown_wait_ms, 0);
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

static void on_failed_task(cd_loop_task *t)
{
    begin_stop((cd_node *)(void *)((u8 *)t - offsetof(cd_node, failed_task)));
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
    (void)cd_log_reopen(n->cfg.log);
    if (n->tls != NULL) {
        (void)!cd_tls_reload(n->tls, NULL); /* on_certificate says how it went */
    }
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
    cd_errinfo reason = {0};
    cd_err e = cd_tls_new(&n->tls, n->loop, &cfg, &reason);
    if (e != CD_OK) {
        return cd_fail(why, e, "HTTPS cannot use %.80s with %.80s: %.60s", cfg.cert_file,
                       cfg.key_file, reason.msg);
    }
    return CD_OK;
}

static void trim(void *arg)
{
    (void)arg;
    cd_mem_trim();
}

/* What a burst of requests has left free stays with the process otherwise. */
static void on_trim(void *ctx)
{
    cd_node *n = ctx;
    if (cd_process_rss() > n->cfg.memory / 4 * 3) {
        (void)!cd_pool_submit(n->pool, trim, NULL);
    }
}

/* Connections may not take the files that the store needs. */
static u32 conns_max(u32 max)
{
    enum { FOR_STORE = 512, CONNS_MIN = 64 };
    u64 files = cd_process_files_max();
    u64 left = files > FOR_STORE ? files - FOR_STORE : 0;
    return (u32)cd_max_u64(CONNS_MIN, cd_min_u64(max, left));
}

static cd_err open_http(cd_node *n, cd_errinfo *why)
{
    static const int stops[] = {SIGINT, SIGTERM};
    cd_http_cfg cfg = {
        .allowed_origins = n->cfg.allowed_origins,
        .allowed_hosts = n->cfg.allowed_hosts,
        .allowed_hosts_cnt = n->cfg.allowed_hosts_cnt,
        .read_timeout_ms = n->cfg.read_timeout_ms,
        .header_timeout_ms = n->cfg.header_timeout_ms,
        .write_timeout_ms = n->cfg.write_timeout_ms,
        .idle_timeout_ms = n->cfg.idle_timeout_ms,
        .conns_max = conns_max(n->budget.conns_max),
        .memory_max = n->budget.http,
        .buffered_max = bounded(n->budget.http / 4, 6 * MIB, 32 * MIB),
    };
    CD_TRY(cd_loop_new(&n->loop, why));
    n->stop_timer = cd_timer_new(n->loop, end_service, n);
    n->late_timer = cd_timer_new(n->loop, end_calls, n);
    n->trim_timer = cd_timer_new(n->loop, on_trim, n);
    cd_timer_start(n->trim_timer, TRIM_MS, TRIM_MS);
    n->stop_task.fn = on_stop_task;
    n->failed_task.fn = on_failed_task;
    for (usize i = 0; i < CD_COUNT(stops); i++) {
        CD_TRY(cd_signal_open(&n->signals[i], n->loop, stops[i], on_signal, n, why));
    }
    n->http = cd_http_server_new(n->loop, &cfg);
    open_metrics(n);
    open_health(n);
    CD_TRY(open_tls(n, why));
    /* Without anything to open again the signal does what it does to others. */
    bool hears_hangup = n->tls != NULL || n->cfg.has_log_file;
    return hears_hangup ? cd_signal_open(&n->hangup, n->loop, SIGHUP, on_hangup, n, why) : CD_OK;
}

static cd_err listen_http(cd_node *n, cd_errinfo *why)
{
    cd_holder holder;
    u16 port = n->cfg.http_port;
    cd_err e = cd_http_server_listen_tls(n->http, n->cfg.http_host, port, n->tls, why);
    if (e == CD_EADDRINUSE && cd_holder_of_port(&holder, port)) {
        return cd_fail(why, e, "port %u is in use by \"%s\" (process %llu)", port, holder.name,
                       (unsigned long long)holder.pid);
    }
    if (e == CD_EADDRINUSE) {
        return cd_fail(why, e, "port %u is in use", port);
    }
    if (e == CD_EACCES) {
        return cd_fail(
            why, e, "port %u needs a privilege; one above 1023 does not: --http-port=8555", port);
    }
    return e;
}

cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why)
{
    cd_node *n = cd_new(cd_node);
    n->cfg = *cfg;
    n->start_ns = cd_clock_mono_ns(cd_clock_real());
    n->budget = cd_budget_of(cfg->memory);
    n->writing.max = n->budget.writing;
    cd_err e = open_store(n, why);
    e = e != CD_OK ? e : load_genesis(n, why);
    e = e != CD_OK ? e : open_http(n, why);
    e = e != CD_OK ? e : open_chain(n, why);
    e = e != CD_OK ? e : listen_http(n, why);
    if (e != CD_OK) {
        (void)cd_node_close(n);
        return e;
    }
    *out = n;
    return CD_OK;
}

u32 cd_node_layout(void)
{
    return LAYOUT;
}

u16 cd_node_http_port(const cd_node *n)
{
    return cd_http_server_port(n->http);
}

u64 cd_node_run(cd_node *n)
{
    atomic_store(&n->is_running, true);
    stop_failed(n);
    cd_loop_run(n->loop);
    atomic_store(&n->is_running, false);
    return n->stop_ns;
}

bool cd_node_has_failed(const cd_node *n)
{
    return atomic_load(&n->has_failed);
}

/* Requests whose clients are gone may still be on their way back to the loop. */
static void on_last_task(cd_loop_task *t)
{
    cd_loop_stop(((cd_node *)(void *)((u8 *)t - offsetof(cd_node, stop_task)))->loop);
}

u64 cd_node_close(cd_node *n)
{
    cd_executor_tip tip = {.accepted = 0};
    if (n == NULL) {
        return 0;
    }
    if (n->readers != NULL) {
        cd_readers_stop(n->readers);
    }
    if (n->executor != NULL) {
        cd_executor_stop(n->executor);
        cd_executor_tip_get(n->executor, &tip);
        cd_executor_free(n->executor);
    }
    if (n->loop != NULL) {
        n->stop_task.fn = on_last_task;
        cd_loop_post(n->loop, &n->stop_task);
        cd_loop_run(n->loop);
    }
    cd_readers_free(n->readers);
    if (n->cfg.pages != NULL) {
        n->cfg.pages->close(n->cfg.pages->ctx);
    }
    cd_http_server_free(n->http);
    cd_tls_free(n->tls);
    cd_timer_free(n->stop_timer);
    cd_timer_free(n->late_timer);
    cd_timer_free(n->trim_timer);
    cd_health_free(n->health);
    for (usize i = 0; i < n->endpoints_cnt; i++) {
        cd_rpc_endpoint_free(n->endpoints[i]);
    }
    cd_free(n->endpoints);
    cd_free(n->services);
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
    return tip.accepted;
}
