#include "node/node.h"

#include "base/log/metrics.h"
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/os/process.h"
#include "base/thread/pool.h"
#include "base/thread/thread.h"
#include "codec/api_json.h"
#include "node/api/admin.h"
#include "node/api/api.h"
#include "node/api/auth.h"
#include "node/api/backup_api.h"
#include "node/api/info.h"
#include "node/api/ipcs.h"
#include "node/api/keystore.h"
#include "node/budget.h"
#include "node/chain/aliases.h"
#include "node/finality.h"
#include "node/front/health.h"
#include "node/front/holder.h"
#include "node/ipc.h"
#include "store/kv.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/statvfs.h>

enum {
    LAYOUT = 2,           /* version of what the node keeps in its store */
    ROOM_MIN = 32000000,  /* free bytes without which a node does not start */
    DISK_MIN = 512 << 20, /* free bytes below which health says no */
    PATH_MAX_LEN = 4096,
    CALLS_GRACE_MS = 2000, /* time that running calls have when the service ends */
    TRIM_MS = 5000,
    SLOW_TOLD_MS = 10000, /* between two lines about a slow disk */
};

struct cd_node {
    cd_node_cfg cfg;
    const cd_clock *clock;
    cd_dirlock lock;
    bool is_locked;
    cd_kv *kv;
    cd_pool *pool;   /* NULL in a stepped node */
    cd_front *front; /* NULL in a stepped node */
    cd_chains *chains;
    cd_node_peers *peers;             /* NULL: it speaks to nobody */
    bool has_peers;                   /* they are open */
    char address[CD_P2P_IP_TEXT_MAX]; /* where peers are told to reach it */
    cd_signal *signals[2];
    cd_signal *hangup;
    cd_health *health;
    cd_api *api; /* this and info are NULL in a stepped node */
    cd_info_api *info;
    cd_admin_api *admin; /* NULL: admin.* is not served */
    cd_plugins *plugins; /* NULL: there are none */
    cd_tracked *tracked;
    cd_l1_watch *l1s;
    cd_thread loader; /* of the plugins that were there at the start */
    bool has_loader;
    cd_backup_api *backup;
    cd_node_finality *finality; /* NULL: blocks are not made final */
    cd_keystore_api *keystore;  /* NULL: there are no users */
    cd_ipc *ipc;                /* these two NULL: no chain is ever streamed, none is by hand */
    cd_ipcs_api *ipcs;
    cd_auth_api *auth; /* NULL: everybody may call */
    cd_budget budget;
    cd_metrics *metrics;
    cd_loop_task stop_task;
    cd_timer *trim_timer;     /* looks now and then whether free memory should be given back */
    u64 crowded_told;         /* refused connections that the log has spoken of */
    _Atomic u64 slow_told_ns; /* when it was last told that the disk is slow; 0: never */
    _Atomic u64 trimmed;      /* bytes resident after memory was last given back; 0: it never was */
    cd_timer *stop_timer;     /* runs between the signal and the end of service */
    cd_timer *late_timer;     /* runs from the end of service; when it is over, running requests are told to end */
    char early[40];           /* what the check of chains that catch up says */
    u64 start_ns;
    u64 stop_ns; /* monotonic time of the order to stop; 0: there was none */
    bool is_stopping;
    cd_loop_task failed_task;
    atomic_bool is_running; /* true while cd_node_run is in the loop */
    atomic_bool has_failed; /* the store takes no more writes */
    atomic_bool is_failing; /* failed_task was posted: once is enough */
};

/* --- health and figures --- */

/* The chains of a net are there together, or not. */
static const char *check_bootstrapped(void *ctx, cd_json_w *message)
{
    enum { NETS_MAX = 64 };
    cd_hash32 late[NETS_MAX];
    cd_node *n = ctx;
    usize cnt = n->chains == NULL ? 0 : cd_chains_late(n->chains, late, NETS_MAX);
    cd_json_w_arr(message);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_id(message, &late[i]);
    }
    cd_json_w_arr_end(message);
    (void)snprintf(n->early, sizeof n->early, "%ss not bootstrapped", n->cfg.network->family->net);
    return cnt == 0 ? NULL : n->early;
}

static const char *check_database(void *ctx, cd_json_w *message)
{
    cd_kv_stats stats;
    (void)message;
    return cd_kv_stats_get(((const cd_node *)ctx)->kv, &stats) == CD_OK ? NULL : "the store does not answer";
}

static const char *check_disk(void *ctx, cd_json_w *message)
{
    struct statvfs st;
    if (statvfs(((const cd_node *)ctx)->cfg.data_dir, &st) != 0) {
        return "the data directory cannot be reached";
    }
    u64 space = (u64)st.f_bavail * st.f_frsize;
    cd_json_w_obj(message);
    cd_json_put_u64(message, "availableDiskBytes", space);
    cd_json_put_u64(message, "availableDiskPercentage", st.f_blocks == 0 ? 0 : (u64)st.f_bavail * 100 / st.f_blocks);
    cd_json_w_obj_end(message);
    return space < DISK_MIN ? "remaining available disk space is below the required 536870912 bytes" : NULL;
}

static const char *check_stop(void *ctx, cd_json_w *message)
{
    (void)ctx;
    cd_json_w_obj(message);
    cd_json_put_bool(message, "isShuttingDown", true);
    cd_json_w_obj_end(message);
    return "server shutting down";
}

static void open_health(cd_node *n)
{
    n->health = cd_health_new(n->clock, n->cfg.health_fresh_ns);
    cd_health_add(n->health, "bootstrapped", CD_HEALTH_HEALTH | CD_HEALTH_READINESS, check_bootstrapped, n);
    cd_health_add(n->health, "database", CD_HEALTH_HEALTH, check_database, n);
    if (n->cfg.data_dir != NULL) {
        cd_health_add(n->health, "diskspace", CD_HEALTH_HEALTH, check_disk, n);
    }
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
    cd_metrics_gauge_fn(n->metrics, "health_checks_failing", "Checks that failed", all, CD_COUNT(all), checks_failing,
                        n);
    for (usize i = 0; i < CD_COUNT(shares); i++) {
        set_gauge(n, "memory_budget_bytes", "Shares of the memory budget", (cd_label){"share", shares[i].name},
                  shares[i].bytes);
    }
    cd_process_metrics_open(n->metrics);
}

/* Brings a counter to what somebody else has counted. */
static void raise_counter(cd_node *n, const char *name, const char *help, u64 to)
{
    cd_counter *c = cd_metrics_counter(n->metrics, name, help, NULL, 0);
    cd_counter_add(c, to - cd_counter_get(c));
}

/* Brings up to date the metrics that no event counts. */
static void refresh_metrics(cd_node *n)
{
    static const char used[] = "What shares of the memory budget hold";
    cd_kv_stats stats;
    if (cd_kv_stats_get(n->kv, &stats) == CD_OK) {
        set_gauge(n, "memory_used_bytes", used, (cd_label){"share", "store"}, stats.mem_bytes);
        cd_gauge_set(cd_metrics_gauge(n->metrics, "db_disk_bytes", "Size of the store's files", NULL, 0),
                     (i64)stats.disk_bytes);
        raise_counter(n, "db_commits_total", "Commits to the store", stats.commits);
        raise_counter(n, "db_commit_milliseconds_total", "Time that commits took", stats.commit_ns / CD_NS_PER_MS);
        raise_counter(n, "db_commits_slow_total", "Commits that took half a second or longer", stats.slow);
    }
    set_gauge(n, "memory_used_bytes", used, (cd_label){"share", "requests"}, cd_front_held(n->front));
    const cd_http_server *http = cd_front_server(n->front);
    cd_gauge_set(cd_metrics_gauge(n->metrics, "http_connections", "Connections of clients", NULL, 0),
                 (i64)cd_http_server_conns(http));
    raise_counter(n, "http_connections_crowded_total", "Connections that found all places taken",
                  cd_http_server_crowded(http));
    cd_process_metrics(n->metrics);
    cd_chains_metrics(n->chains);
}

/* --- service --- */

static bool info_chain(void *ctx, cd_info_chain *out, cd_bytes name)
{
    const cd_node_chain *c = cd_chains_find_chain(((const cd_node *)ctx)->chains, name);
    if (c != NULL) {
        *out = (cd_info_chain){.id = *cd_node_chain_id(c), .is_bootstrapped = cd_node_chain_is_bootstrapped(c)};
    }
    return c != NULL;
}

static usize info_peers(void *ctx, cd_json_w *w, const cd_node_id *ids, usize cnt)
{
    const cd_node *n = ctx;
    return !n->has_peers ? 0 : cd_node_peers_list(n->peers, w, ids, cnt);
}

/* Who speaks to nobody is always there for itself. */
static bool info_uptime(void *ctx, cd_info_uptime *out)
{
    const cd_node *n = ctx;
    return !n->has_peers || cd_node_peers_uptime(n->peers, out);
}

static void info_vms(void *ctx, cd_json_w *w)
{
    cd_plugins_put_vms(((const cd_node *)ctx)->plugins, w);
}

static void info_versions(void *ctx, cd_json_w *w)
{
    cd_plugins_put_versions(((const cd_node *)ctx)->plugins, w);
}

static void put_final(cd_json_w *w, const char *key, const cd_node_final *m)
{
    static const char *const types[] = {"bls", "threshold", "bls+threshold", "bls+mldsa"};
    cd_json_w_key(w, key);
    if (!m->is_there) {
        cd_json_w_null(w);
        return;
    }
    cd_json_w_obj(w);
    cd_json_put_id(w, "blockID", &m->block);
    cd_json_put_dec(w, "height", m->height);
    cd_json_put_cstr(w, "type", types[m->type]);
    cd_json_w_obj_end(w);
}

static bool info_finality(void *ctx, cd_json_w *w, const cd_hash32 *chain)
{
    cd_node_finality *f = ((const cd_node *)ctx)->finality;
    cd_node_final by_bls;
    cd_node_final final;
    if (f != NULL) {
        cd_node_finality_get(f, &by_bls, &final, chain);
        put_final(w, "signed", &by_bls);
        put_final(w, "final", &final);
    }
    return f != NULL;
}

static cd_err info_certificate(void *ctx, cd_buf *out, const cd_hash32 *chain, const cd_hash32 *block, u64 height)
{
    const cd_node_finality *f = ((const cd_node *)ctx)->finality;
    if (f == NULL) {
        return CD_EUNSUPPORTED;
    }
    return block != NULL ? cd_node_finality_cert(f, out, chain, block)
                         : cd_node_finality_cert_at(f, out, chain, height);
}

static cd_err info_checkpoint(void *ctx, cd_buf *out)
{
    cd_node_finality *f = ((const cd_node *)ctx)->finality;
    return f == NULL ? CD_EUNSUPPORTED : cd_node_finality_checkpoint(f, out);
}

static cd_err info_changes(void *ctx, cd_buf *out, u64 epoch)
{
    cd_node_finality *f = ((const cd_node *)ctx)->finality;
    return f == NULL ? CD_EUNSUPPORTED : cd_node_finality_changes(f, out, epoch);
}

static void open_api(cd_node *n)
{
    const cd_info_cfg cfg = {
        .network = n->cfg.network,
        .node_id = n->cfg.node_id,
        .bls_key = n->cfg.bls_key,
        .bls_pop = n->cfg.bls_pop,
        .address = n->address,
        .commit = n->cfg.commit == NULL ? "" : n->cfg.commit,
        .chain = info_chain,
        .peers = info_peers,
        .uptime = info_uptime,
        .vms = n->plugins == NULL ? NULL : info_vms,
        .versions = n->plugins == NULL ? NULL : info_versions,
        .finality = info_finality,
        .certificate = info_certificate,
        .checkpoint = info_checkpoint,
        .changes = info_changes,
        .ctx = n,
    };
    n->api = cd_api_new(n->front);
    if (n->auth != NULL) {
        cd_api_add(n->api, "/auth", cd_auth_api_service(n->auth), false);
    }
    if (n->keystore != NULL) {
        cd_api_add(n->api, "/keystore", cd_keystore_api_service(n->keystore), !n->cfg.is_admin_remote);
    }
    if (n->cfg.has_info) {
        n->info = cd_info_api_new(&cfg);
        cd_api_add(n->api, "/info", cd_info_api_service(n->info), false);
    }
    if (n->cfg.has_ipcs && n->ipc != NULL) {
        n->ipcs = cd_ipcs_api_new(n->ipc);
        cd_api_add(n->api, "/ipcs", cd_ipcs_api_service(n->ipcs), !n->cfg.is_admin_remote);
    }
    if (n->cfg.has_admin) {
        n->admin = cd_admin_api_new(&(cd_admin_cfg){.network = n->cfg.network,
                                                    .log = n->cfg.log,
                                                    .config = n->cfg.config,
                                                    .profile_dir = n->cfg.profile_dir,
                                                    .store = n->kv,
                                                    .plugins = n->plugins});
        cd_api_add(n->api, "/admin", cd_admin_api_service(n->admin), !n->cfg.is_admin_remote);
        const cd_tracked_own *own = n->cfg.tracked == NULL ? NULL : n->cfg.tracked->own;
        n->backup = cd_backup_api_new(&(cd_backup_cfg){.store = n->kv,
                                                       .dir = n->cfg.data_dir,
                                                       .clock = n->clock,
                                                       .is_apart = own == NULL ? NULL : &own->vm->has_own_store});
        cd_api_add(n->api, "/backup", cd_backup_api_service(n->backup), !n->cfg.is_admin_remote);
    }
}

static void serve_metrics(void *ctx, cd_http_req *req)
{
    cd_node *n = ctx;
    refresh_metrics(n);
    cd_metrics_fmt(n->metrics, cd_http_req_out(req));
    cd_http_reply(req, 200, CD_METRICS_CONTENT_TYPE);
}

static cd_err run_lane(void *ctx, cd_rpc_lane lane, cd_rpc_job *job)
{
    (void)lane;
    return cd_front_run(((cd_node *)ctx)->front, job);
}

static void put_state(void *ctx, cd_buf *out)
{
    cd_node *n = ctx;
    cd_kv_stats stats = {0};
    cd_json_w w = {.out = out};
    u64 up_ns = cd_clock_mono_ns(n->clock) - n->start_ns;
    (void)!cd_kv_stats_get(n->kv, &stats); /* health tells */
    const struct {
        const char *name;
        u64 value;
    } rows[] = {
        {"uptimeMs", up_ns / CD_NS_PER_MS},
        {"memory", cd_process_rss()},
        {"memoryBudget", n->cfg.memory},
        {"disk", n->cfg.data_dir == NULL ? 0 : stats.disk_bytes},
        {"requests", cd_front_requests(n->front)},
        {"requestBytes", cd_front_held(n->front)},
        {"readsWaiting", cd_front_waiting(n->front)},
        {"threads", cd_thread_cpus()},
    };
    cd_json_w_obj(&w);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_json_w_key(&w, rows[i].name);
        cd_json_w_u64(&w, rows[i].value);
    }
    cd_json_put_bool(&w, "inMemory", n->cfg.data_dir == NULL);
    cd_json_w_key(&w, "health");
    cd_buf health = {0};
    (void)cd_health_fmt(n->health, &health, CD_HEALTH_HEALTH);
    cd_json_w_raw(&w, cd_buf_bytes(&health));
    cd_buf_fini(&health);
    cd_json_w_obj_end(&w);
}

static void add_routes(cd_node *n)
{
    static const char *const prefixes[] = {"/v1", "/ext"};
    cd_http_server *http = cd_front_server(n->front);
    const cd_rpc_lanes lanes = {.run = run_lane, .ctx = n};
    for (usize i = 0; i < CD_COUNT(prefixes); i++) {
        char path[32];
        if (n->cfg.has_health) {
            cd_health_routes(n->health, http, prefixes[i], cd_front_loop(n->front), &lanes);
        }
        if (n->cfg.has_metrics) {
            (void)snprintf(path, sizeof path, "%s/metrics", prefixes[i]);
            const cd_http_route route = {.path = path, .methods = CD_HTTP_ANY, .handler = serve_metrics, .ctx = n};
            cd_http_server_route(http, &route);
        }
    }
}

/* --- opening --- */

/* The store's engine does not survive a disk that is full while it opens, so nothing begins without room for it. */
static cd_err check_room(const char *dir, cd_errinfo *why)
{
    struct statvfs st;
    if (statvfs(dir, &st) != 0) {
        return cd_fail(why, CD_EIO, "%s: cannot be looked at", dir);
    }
    u64 space = (u64)st.f_bavail * st.f_frsize;
    if ((st.f_flag & ST_RDONLY) == 0 && space < ROOM_MIN) {
        return cd_fail(why, CD_ENOSPC, "no space left for %s: %llu kB are free, %u kB are needed", dir,
                       (unsigned long long)space / 1000, ROOM_MIN / 1000);
    }
    return CD_OK;
}

cd_err cd_node_make_dir(const char *dir, cd_errinfo *why)
{
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, 0700, why));
    return check_room(dir, why);
}

static cd_err take_dir(cd_node *n, cd_errinfo *why)
{
    char path[PATH_MAX_LEN];
    cd_holder holder;
    cd_err e = cd_dirlock_take(cd_fs_real(), &n->lock, n->cfg.data_dir, why);
    n->is_locked = e == CD_OK;
    (void)snprintf(path, sizeof path, "%s/LOCK", n->cfg.data_dir);
    if (e == CD_EBUSY && cd_holder_of_lock(&holder, path)) {
        return cd_fail(why, e, "%s is in use by \"%s\" (process %llu)", n->cfg.data_dir, holder.name,
                       (unsigned long long)holder.pid);
    }
    return e;
}

static void stop_failed(cd_node *n)
{
    if (n->front != NULL && atomic_load(&n->is_running) && atomic_load(&n->has_failed) &&
        !atomic_exchange(&n->is_failing, true)) {
        cd_loop_post(cd_front_loop(n->front), &n->failed_task);
    }
}

/* On the thread that wrote. What was acknowledged is on disk; a node that can keep nothing more is of no use. */
static void on_store_failed(void *ctx, const cd_errinfo *why)
{
    cd_node *n = ctx;
    cd_log_error(n->cfg.log,
                 why->code == CD_ENOSPC ? "the disk is full: make room, then start again; nothing acknowledged is lost"
                                        : "the data directory cannot be written: look at the disk, then start again; "
                                          "nothing acknowledged is lost",
                 CD_F("dir", n->cfg.data_dir), CD_F("error", (const char *)why->msg));
    atomic_store(&n->has_failed, true);
    stop_failed(n);
}

/* On the thread that wrote; told now and then only. */
static void on_store_slow(void *ctx, u64 ms)
{
    cd_node *n = ctx;
    u64 now = cd_clock_mono_ns(cd_clock_real());
    u64 told = atomic_load(&n->slow_told_ns);
    bool is_due = told == 0 || now - told > SLOW_TOLD_MS * CD_NS_PER_MS;
    if (is_due && atomic_compare_exchange_strong(&n->slow_told_ns, &told, now)) {
        cd_log_warn(n->cfg.log, "the disk is slow: whatever waits for a commit waits for it", CD_F("ms", ms),
                    CD_F("dir", n->cfg.data_dir));
    }
}

/* A backup that an operator has asked for takes the place of the store. */
static cd_err restore(cd_node *n, cd_errinfo *why)
{
    cd_buf name = {0};
    cd_err e = cd_backup_apply(&name, n->cfg.data_dir, why);
    if (e == CD_OK && name.n != 0) {
        cd_log_info(n->cfg.log, "data restored", CD_F("backup", cd_buf_bytes(&name)));
    }
    cd_buf_fini(&name);
    return e;
}

static cd_err open_store(cd_node *n, cd_errinfo *why)
{
    if (n->cfg.data_dir != NULL) {
        CD_TRY(cd_node_make_dir(n->cfg.data_dir, why));
        CD_TRY(take_dir(n, why));
        CD_TRY(restore(n, why));
    }
    if (n->cfg.kv != NULL) {
        n->kv = n->cfg.kv;
    } else if (n->cfg.data_dir == NULL) {
        n->kv = cd_kv_mem_open();
    } else {
        char path[PATH_MAX_LEN];
        (void)snprintf(path, sizeof path, "%s/db", n->cfg.data_dir);
        cd_kv_cfg cfg = {.dir = path, .layout = LAYOUT, .cache_bytes = n->budget.store};
        cfg.accept_loss = n->cfg.accepts_loss;
        cfg.failed = on_store_failed;
        cfg.slow = on_store_slow;
        cfg.ctx = n;
        CD_TRY(cd_kv_rocksdb_open(&n->kv, &cfg, why));
    }
    return CD_OK;
}

static cd_err open_pool(cd_node *n, cd_errinfo *why)
{
    u32 workers = n->cfg.workers != 0 ? n->cfg.workers : cd_thread_cpus() - 1;
    return n->cfg.is_stepped ? CD_OK : cd_pool_new(&n->pool, workers, 4096, "worker", why);
}

/* --- peers --- */

static const cd_vm_validators *validators_of(void *ctx)
{
    const cd_node *n = ctx;
    return n->chains == NULL ? NULL : cd_chains_validators(n->chains);
}

static void make_peers(cd_node *n)
{
    if (n->cfg.peers == NULL || n->cfg.peers->is_off) {
        return;
    }
    const cd_node_peers_env env = {
        .network = n->cfg.network,
        .loop = cd_front_loop(n->front),
        .clock = n->clock,
        .metrics = n->metrics,
        .log = n->cfg.log,
        .validators = validators_of,
        .ctx = n,
    };
    n->peers = cd_node_peers_new(n->cfg.peers, &env);
}

static cd_err open_peers(cd_node *n, cd_errinfo *why)
{
    if (n->peers == NULL) {
        return CD_OK;
    }
    CD_TRY(cd_node_peers_open(n->peers, why));
    const cd_p2p_ip own = cd_node_peers_own(n->peers);
    cd_p2p_ip_fmt(n->address, &own);
    n->has_peers = true;
    cd_health_add(n->health, "network", CD_HEALTH_HEALTH, cd_node_peers_health, n->peers);
    cd_health_add(n->health, "router", CD_HEALTH_HEALTH, cd_node_peers_router_health, n->peers);
    cd_health_add(n->health, "bls", CD_HEALTH_HEALTH, cd_node_peers_bls_health, n->peers);
    return CD_OK;
}

static cd_err give_aliases(const cd_node *n, cd_errinfo *why)
{
    cd_err e = CD_OK;
    for (usize i = 0; i < n->cfg.alias_cnt && e == CD_OK; i++) {
        const cd_node_alias *alias = &n->cfg.aliases[i];
        cd_buf id = {0};
        cd_id_put(&id, &alias->chain);
        e = cd_alias_chain(n->chains, cd_buf_bytes(&id), alias->name, why);
        if (e == CD_ENOENT) {
            cd_log_warn(n->cfg.log, "a name is for a chain that is not here", CD_F("name", alias->name),
                        CD_F("chain", cd_buf_bytes(&id)));
            e = CD_OK;
        }
        cd_buf_fini(&id);
    }
    return e;
}

/* Blocks become final where validators decide them together. */
static cd_err open_finality(cd_node *n, cd_errinfo *why)
{
    const cd_node_finality_cfg cfg = {
        .store = n->kv,
        .clock = n->clock,
        .log = n->cfg.log,
        .validators = cd_chains_seat(n->chains),
        .signer = n->cfg.signer,
        .mldsa_seed = n->cfg.mldsa_seed,
        .group = n->cfg.group,
        .share = n->cfg.share,
        .self = n->cfg.node_id,
        .network_id = n->cfg.network->id,
        .wants_threshold = n->cfg.wants_threshold,
        .metrics = n->metrics,
    };
    if (!n->cfg.makes_final || n->cfg.staking == NULL || n->peers == NULL) {
        return CD_OK;
    }
    CD_TRY(cd_node_finality_new(&n->finality, &cfg, why));
    cd_chains_make_final(n->chains, n->finality);
    return CD_OK;
}

/* Before chains are opened: one of them may be a plugin's. */
static void begin_tracking(cd_node *n)
{
    const cd_tracked_env env = {
        .chains = n->chains,
        .plugins = n->plugins,
        .front = n->front,
        .health = n->health,
        .store = n->kv,
        .bls_key = n->cfg.bls_key,
        .log = n->cfg.log,
    };
    if (n->plugins != NULL && n->cfg.tracked != NULL) {
        n->tracked = cd_tracked_new(n->cfg.tracked, &env);
    }
}

/* The chains that the operator has named. One that is to be opened later is named by its ID. */
static cd_err open_ipcs(cd_node *n, cd_errinfo *why)
{
    cd_err e = CD_OK;
    for (usize i = 0; i < n->cfg.ipcs_cnt && n->ipc != NULL && e == CD_OK; i++) {
        cd_bytes name = cd_bytes_str(n->cfg.ipcs[i]);
        cd_hash32 id;
        if (cd_node_names_find(cd_chains_names(n->chains), &id, name) != CD_OK &&
            cd_id_parse(&id, name, NULL) != CD_OK) {
            e = cd_fail(why, CD_EINVAL, "--ipcs-chain-ids: no chain is called \"%.80s\"", n->cfg.ipcs[i]);
        }
        e = e != CD_OK ? e : cd_ipc_publish(n->ipc, &id, why);
    }
    if (n->ipcs != NULL) {
        cd_ipcs_api_serve(n->ipcs, cd_chains_names(n->chains));
    }
    return e;
}

static cd_err open_chains(cd_node *n, cd_errinfo *why)
{
    if (n->cfg.prepare != NULL) {
        CD_TRY(n->cfg.prepare(n->cfg.prepare_ctx, why));
    }
    make_peers(n);
    u32 light = 0;
    for (usize i = 0; i < n->cfg.chain_cnt; i++) {
        light += n->cfg.chains[i].is_light;
    }
    u32 max = n->cfg.chains_max != 0 ? n->cfg.chains_max : (u32)cd_max_u64(n->cfg.chain_cnt - light, 1);
    const cd_chains_cfg cfg = {
        .env =
            {
                .network = n->cfg.network,
                .node_id = n->cfg.node_id,
                .log = n->cfg.log,
                .clock = n->clock,
                .seed = n->cfg.seed,
                .is_stepped = n->cfg.is_stepped,
                .data_dir = n->cfg.data_dir,
                .store = n->kv,
                .primary = n->cfg.primary,
                .users = n->keystore == NULL ? NULL : cd_keystore_api_users(n->keystore),
                .staking = n->cfg.staking,
                .pool = n->pool,
                .metrics = n->metrics,
                .loop = n->front == NULL ? NULL : cd_front_loop(n->front),
                .share = cd_budget_part(&n->budget, max),
                .signer = n->cfg.signer,
                .peers = n->peers,
                .ipc = n->ipc,
                .has_index = n->cfg.has_index,
            },
        .front = n->front,
        .health = n->health,
        .max = max + light + (n->cfg.tracked == NULL ? 0 : CD_TRACKED_MAX),
        .is_admin_remote = n->cfg.is_admin_remote,
        .serves_early = n->cfg.serves_early,
        .pages_root = n->cfg.pages_root,
        .state = put_state,
        .ctx = n,
    };
    n->chains = cd_chains_new(&cfg);
    begin_tracking(n);
    CD_TRY(open_finality(n, why));
    CD_TRY(cd_chains_open(n->chains, n->cfg.chains, n->cfg.chain_cnt, why));
    CD_TRY(give_aliases(n, why));
    CD_TRY(open_ipcs(n, why));
    if (n->admin != NULL) {
        cd_admin_api_serve(n->admin, n->chains, n->cfg.chains, n->cfg.chain_cnt);
    }
    return CD_OK;
}

/* --- plugins --- */

static void load_plugins(void *arg)
{
    const cd_node *n = arg;
    cd_errinfo why = {0};
    cd_err e = cd_plugins_load(n->plugins, NULL, &why);
    if (e != CD_OK) {
        cd_log_error(n->cfg.log, "plugins cannot be loaded", CD_F("error", (const char *)why.msg));
    }
}

/* Names that are none end the start; what the plugins are takes its time, and nobody waits for it. */
static cd_err make_plugins(cd_node *n, cd_errinfo *why)
{
    const cd_plugins_cfg *cfg = n->cfg.plugins;
    cd_arena mem = {0};
    cd_plugin_file *files;
    usize cnt;
    if (cfg == NULL || n->cfg.is_stepped) {
        return CD_OK;
    }
    cd_err e = cd_plugins_list(cfg, &files, &cnt, &mem, why);
    cd_arena_fini(&mem);
    CD_TRY(e);
    n->plugins = cd_plugins_new(cfg);
    return CD_OK;
}

static cd_err open_plugins(cd_node *n, cd_errinfo *why)
{
    if (n->plugins == NULL) {
        return CD_OK;
    }
    CD_TRY(cd_thread_start(&n->loader, "plugins", load_plugins, n, why));
    n->has_loader = true;
    return CD_OK;
}

/* --- L1s --- */

static void watch_l1s(cd_node *n)
{
    if (n->cfg.tracked == NULL || n->cfg.tracked->l1s == NULL || n->cfg.tracked->net_cnt == 0 || n->front == NULL ||
        n->cfg.is_stepped) {
        return;
    }
    const cd_l1_watch_env env = {
        .chains = n->chains,
        .loop = cd_front_loop(n->front),
        .health = n->health,
        .metrics = n->metrics,
        .log = n->cfg.log,
    };
    n->l1s = cd_l1_watch_new(n->cfg.tracked->l1s, &env);
}

/* --- stopping --- */

static void on_http_stopped(void *ctx)
{
    cd_loop_stop(cd_front_loop(((cd_node *)ctx)->front));
}

static void end_calls(void *ctx)
{
    cd_chains_hurry(((cd_node *)ctx)->chains);
}

static void end_service(void *ctx)
{
    cd_node *n = ctx;
    if (!n->is_stopping) {
        n->is_stopping = true;
        cd_timer_start(n->late_timer, CALLS_GRACE_MS, 0);
        cd_front_stop(n->front, n->cfg.shutdown_timeout_ms, on_http_stopped, n);
    }
}

static void begin_stop(cd_node *n)
{
    if (n->stop_ns != 0) {
        return;
    }
    n->stop_ns = cd_clock_mono_ns(n->clock);
    cd_log_debug(n->cfg.log, "stopping");
    cd_health_add(n->health, "shuttingDown", CD_HEALTH_HEALTH, check_stop, n);
    if (n->cfg.shutdown_wait_ms == 0) {
        end_service(n);
    } else {
        cd_timer_start(n->stop_timer, n->cfg.shutdown_wait_ms, 0);
    }
}

/* The first one asks for an orderly stop; from then on the signals do what they do to others, so that a second one ends
 * the process at once, whatever it is busy with: nothing acknowledged is lost by that. */
static void on_signal(void *ctx, int signum)
{
    cd_node *n = ctx;
    (void)signum;
    begin_stop(n);
    for (usize i = 0; i < CD_COUNT(n->signals); i++) {
        cd_signal_close(n->signals[i]);
        n->signals[i] = NULL;
    }
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
    cd_loop_post(cd_front_loop(n->front), &n->stop_task);
}

static void on_hangup(void *ctx, int signum)
{
    cd_node *n = ctx;
    (void)signum;
    (void)cd_log_reopen(n->cfg.log);
    cd_front_reload_tls(n->front);
    if (n->has_peers) {
        cd_node_peers_reload(n->peers);
    }
}

static void trim(void *arg)
{
    cd_node *n = arg;
    cd_mem_trim();
    atomic_store(&n->trimmed, cd_process_rss());
}

/* One line for all that were turned away since the last one. */
static void tell_crowd(cd_node *n)
{
    const cd_http_server *http = cd_front_server(n->front);
    u64 all = cd_http_server_crowded(http);
    if (all != n->crowded_told) {
        cd_log_warn(n->cfg.log, "all connections are taken: some were refused, or idle ones ended for them",
                    CD_F("times", all - n->crowded_told), CD_F("connections", cd_http_server_conns(http)));
        n->crowded_told = all;
    }
}

/* What a burst of requests has left free stays with the process otherwise. Memory that is in use is looked through
 * once, and again when there is more of it. */
static void on_trim(void *ctx)
{
    cd_node *n = ctx;
    tell_crowd(n);
    u64 rss = cd_process_rss();
    u64 budget = n->cfg.memory;
    if (rss > budget / 4 * 3 || rss > atomic_load(&n->trimmed) + budget / 16) {
        (void)!cd_pool_submit(n->pool, trim, n);
    }
}

/* Everything on the loop. */
static cd_err open_front(cd_node *n, cd_errinfo *why)
{
    static const int stops[] = {SIGINT, SIGTERM};
    if (n->cfg.is_stepped) {
        return CD_OK;
    }
    if (n->cfg.auth_password.n != 0) {
        CD_TRY(cd_auth_api_new(&n->auth, n->cfg.auth_password, n->clock, why));
        n->cfg.http.admit = cd_auth_admit;
        n->cfg.http.admit_ctx = n->auth;
    }
    CD_TRY(cd_front_new(&n->front, &n->cfg.http, &n->budget, n->metrics, n->cfg.log, why));
    cd_loop *loop = cd_front_loop(n->front);
    n->stop_timer = cd_timer_new(loop, end_service, n);
    n->late_timer = cd_timer_new(loop, end_calls, n);
    n->trim_timer = cd_timer_new(loop, on_trim, n);
    cd_timer_start(n->trim_timer, TRIM_MS, TRIM_MS);
    n->stop_task.fn = on_stop_task;
    n->failed_task.fn = on_failed_task;
    for (usize i = 0; i < CD_COUNT(stops); i++) {
        CD_TRY(cd_signal_open(&n->signals[i], loop, stops[i], on_signal, n, why));
    }
    add_routes(n);
    if (n->cfg.ipcs_dir != NULL && (n->cfg.has_ipcs || n->cfg.ipcs_cnt != 0)) {
        n->ipc = cd_ipc_new(
            &(cd_ipc_cfg){.loop = loop, .dir = n->cfg.ipcs_dir, .network_id = n->cfg.network->id, .log = n->cfg.log});
    }
    open_api(n);
    return cd_signal_open(&n->hangup, loop, SIGHUP, on_hangup, n,
                          why); /* SIGHUP never ends the node, as it does not end other servers */
}

/* Where peers would reach a node that speaks to none: the port of the API is known only now. */
static cd_err listen(cd_node *n, cd_errinfo *why)
{
    if (n->front == NULL) {
        return CD_OK;
    }
    CD_TRY(cd_front_listen(n->front, why));
    if (!n->has_peers && n->cfg.staking_host != NULL) {
        unsigned port = n->cfg.staking_port != 0 ? n->cfg.staking_port : cd_front_port(n->front) + 1U;
        (void)snprintf(n->address, sizeof n->address, "%s:%u", n->cfg.staking_host, port);
    }
    return CD_OK;
}

cd_err cd_node_open(cd_node **out, const cd_node_cfg *cfg, cd_errinfo *why)
{
    cd_node *n = cd_new(cd_node);
    n->cfg = *cfg;
    n->clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    n->start_ns = cd_clock_mono_ns(n->clock);
    n->budget = cd_budget_of(cfg->memory);
    open_metrics(n);
    open_health(n);
    cd_err e = open_store(n, why);
    if (e == CD_OK && n->cfg.has_keystore) {
        n->keystore = cd_keystore_api_new(n->kv, n->clock, n->cfg.network->id);
    }
    e = e != CD_OK ? e : make_plugins(n, why);
    e = e != CD_OK ? e : open_front(n, why);
    e = e != CD_OK ? e : open_pool(n, why);
    e = e != CD_OK ? e : open_chains(n, why);
    e = e != CD_OK ? e : open_peers(n, why);
    e = e != CD_OK ? e : open_plugins(n, why);
    e = e != CD_OK ? e : listen(n, why);
    if (e != CD_OK) {
        (void)cd_node_close(n);
        return e;
    }
    watch_l1s(n);
    *out = n;
    return CD_OK;
}

u32 cd_node_layout(void)
{
    return LAYOUT;
}

u16 cd_node_http_port(const cd_node *n)
{
    return cd_front_port(n->front);
}

u16 cd_node_http_port_at(const cd_node *n, u32 idx)
{
    return cd_front_port_at(n->front, idx);
}

u16 cd_node_peers_at(const cd_node *n)
{
    return !n->has_peers ? 0 : cd_node_peers_port(n->peers);
}

u64 cd_node_run(cd_node *n)
{
    atomic_store(&n->is_running, true);
    stop_failed(n);
    cd_loop_run(cd_front_loop(n->front));
    atomic_store(&n->is_running, false);
    return n->stop_ns;
}

void cd_node_open_chain(cd_node *n, const cd_node_chain_cfg *cfg, cd_chains_told *told, void *ctx)
{
    cd_chains_order_open(n->chains, cfg, told, ctx);
}

void cd_node_close_chain(cd_node *n, const char *name, cd_chains_told *told, void *ctx)
{
    cd_chains_order_close(n->chains, name, told, ctx);
}

u64 cd_node_step(cd_node *n)
{
    CD_ASSERT(n->cfg.is_stepped);
    return cd_chains_step(n->chains);
}

cd_err cd_node_ask(cd_node *n, const char *chain, const char *route, cd_buf *reply, cd_bytes body)
{
    CD_ASSERT(n->cfg.is_stepped);
    cd_service *s = cd_chains_find(n->chains, cd_bytes_str(chain));
    return s == NULL ? CD_ENOENT : cd_service_ask(s, cd_bytes_str(route), reply, body);
}

cd_node_chain *cd_node_chain_of(cd_node *n, const char *name)
{
    return cd_chains_find_chain(n->chains, cd_bytes_str(name));
}

bool cd_node_health(cd_node *n, cd_buf *out)
{
    return cd_health_fmt(n->health, out, CD_HEALTH_HEALTH);
}

bool cd_node_has_failed(const cd_node *n)
{
    return atomic_load(&n->has_failed);
}

/* Requests whose clients are gone may still be on their way back to the loop, and so may the ends of chains. */
static void close_chains(cd_node *n)
{
    if (n->front != NULL) {
        cd_front_stop_readers(n->front);
    }
    if (n->chains != NULL) {
        cd_chains_end(n->chains);
    }
    if (n->front != NULL) {
        cd_front_drain(n->front);
    }
}

static void close_peers(cd_node *n)
{
    if (n->has_peers) {
        cd_health_remove(n->health, "network");
        cd_health_remove(n->health, "router");
        cd_health_remove(n->health, "bls");
    }
    n->has_peers = false;
    cd_node_peers_close(n->peers);
    n->peers = NULL;
}

u64 cd_node_close(cd_node *n)
{
    if (n == NULL) {
        return 0;
    }
    cd_tracked_stop(n->tracked);
    cd_l1_watch_stop(n->l1s);
    close_chains(n);
    cd_tracked_free(n->tracked);
    cd_l1_watch_free(n->l1s);
    if (n->has_loader) {
        cd_thread_join(&n->loader);
    }
    cd_node_finality_stop(n->finality);
    u64 accepted = n->chains == NULL ? 0 : cd_chains_accepted(n->chains);
    cd_chains_free(n->chains);
    cd_node_finality_free(n->finality);
    close_peers(n);
    cd_timer_free(n->stop_timer);
    cd_timer_free(n->late_timer);
    cd_timer_free(n->trim_timer);
    cd_health_free(n->health);
    cd_pool_free(n->pool);
    cd_api_free(n->api);
    cd_ipcs_api_free(n->ipcs);
    cd_ipc_free(n->ipc);
    cd_keystore_api_free(n->keystore);
    cd_kv_close(n->kv == n->cfg.kv ? NULL : n->kv);
    if (n->is_locked) {
        cd_dirlock_release(&n->lock);
    }
    for (usize i = 0; i < CD_COUNT(n->signals); i++) {
        cd_signal_close(n->signals[i]);
    }
    cd_signal_close(n->hangup);
    cd_info_api_free(n->info);
    cd_admin_api_free(n->admin);
    cd_plugins_free(n->plugins);
    cd_backup_api_free(n->backup);
    cd_front_free(n->front);
    cd_auth_api_free(n->auth);
    cd_metrics_free(n->metrics);
    cd_free(n);
    return accepted;
}
