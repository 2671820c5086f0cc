/* The command without a name: runs the node until somebody stops it. */
#include "aliases.h"
#include "auth.h"
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/os/process.h"
#include "base/version.h"
#include "chains.h"
#include "codec/json.h"
#include "commit.h"
#include "consensus/proposer/cert_staking.h"
#include "effective.h"
#include "explorer/explorer.h"
#include "identity.h"
#include "options.h"
#include "peers.h"
#include "plugins.h"
#include "process_file.h"
#include "report.h"
#include "stamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static u32 ms_of(const cd_args *a, usize id)
{
    return (u32)(cd_args_u64(a, id) / CD_NS_PER_MS);
}

static int serve(cd_node *n, const cd__banner *b, cd_logger *log, bool is_person)
{
    if (is_person) {
        cd__banner_print(b);
    } else {
        cd__banner_log(b, log);
    }
    cd_process_trim(); /* many nodes live on one machine: what only the start needed is given back */
    u64 stop = cd_node_run(n);
    bool has_failed = cd_node_has_failed(n);
    u64 blocks = cd_node_close(n);
    u64 ms = (cd_clock_mono_ns(cd_clock_real()) - stop) / CD_NS_PER_MS;
    if (is_person) {
        cd__farewell_print(ms, b->dir != NULL, blocks);
    } else {
        cd_log_info(log, "stopped", CD_F("ms", ms), CD_F("blocks", blocks));
    }
    return has_failed ? 1 : 0;
}

/* Reports why the node did not open; when the message begins with a key of a chain's file, at the place of that key. */
static int report_open(const cd__chains *chains, cd_arena *mem, const cd_errinfo *why)
{
    const char *colon = strstr(why->msg, ": ");
    for (usize i = 0; i < 2 * chains->cnt && colon != NULL; i++) {
        const cd__chain_files *c = &chains->items[i / 2].files;
        const cd__file *file = i % 2 == 0 ? &c->upgrades : &c->config;
        cd__place at = {.file = file->name, .text = file->text};
        const char *key = cd_arena_str(mem, cd_bytes_of(why->msg, (usize)(colon - why->msg)));
        if (file->is_there && cd_json_locate(&at.line, &at.column, at.text, key)) {
            cd__place_value(&at);
            cd__report("error", &at, why->msg, "");
            return 1;
        }
    }
    return cd__report_start(why);
}

static cd_front_cfg front_of(const cd_args *a, cd_arena *mem, const cd_network *net)
{
    bool is_tls = cd_args_bool(a, OPT_TLS);
    bool has_port = cd_args_source(a, OPT_HTTP_PORT) != CD_ARG_FROM_DEFAULT;
    cd_front_cfg front = {
        .host = cd_args_str(a, OPT_HTTP_HOST),
        .port = has_port ? (u16)cd_args_u64(a, OPT_HTTP_PORT) : net->http_port,
        .more_ports = (u32)cd_args_u64(a, OPT_VALIDATORS) - 1,
        .tls_cert = is_tls ? cd_args_path(a, mem, OPT_TLS_CERT) : NULL,
        .tls_key = is_tls ? cd_args_path(a, mem, OPT_TLS_KEY) : NULL,
        .allowed_origins = cd_args_str(a, OPT_ORIGINS),
        .read_timeout_ms = ms_of(a, OPT_READ_TIMEOUT),
        .header_timeout_ms = ms_of(a, OPT_HEADER_TIMEOUT),
        .write_timeout_ms = ms_of(a, OPT_WRITE_TIMEOUT),
        .idle_timeout_ms = ms_of(a, OPT_IDLE_TIMEOUT),
    };
    front.allowed_hosts_cnt = cd_args_list(a, OPT_HOSTS, &front.allowed_hosts);
    front.hosts_hint = net->is_dev ? "--http-allowed-hosts says which are served" : NULL;
    return front;
}

static bool has_explorer(const cd_args *a, const cd_network *net)
{
    const char *explorer = cd_args_str(a, OPT_EXPLORER);
    return strcmp(explorer, "on") == 0 || (strcmp(explorer, "auto") == 0 && net->is_dev);
}

static bool is_kept(const cd_args *a)
{
    return !cd_args_bool(a, OPT_IN_MEMORY) && strcmp(cd_args_str(a, OPT_DB_TYPE), "memdb") != 0;
}

/* The network's folder; NULL: nothing is kept. */
static const char *dir_of(const cd_args *a, cd_arena *mem, const cd_network *net)
{
    return is_kept(a) ? cd_arena_fmt(mem, "%s/%s", cd_args_path(a, mem, OPT_DATA_DIR), net->name) : NULL;
}

/* Checks that --fd-limit, which scripts for the original node give, is not above what the system allows. */
static bool check_files(const cd_args *a, cd_arena *mem)
{
    u64 wanted = cd_args_u64(a, OPT_FD_LIMIT);
    u64 max = cd_process_files_max();
    if (wanted > max) {
        cd__report("error", NULL,
                   cd_arena_fmt(mem, "couldn't start node: error fd-limit: (%llu) greater than max: (%llu)",
                                (unsigned long long)wanted, (unsigned long long)max),
                   "raise the limit of this shell or service: ulimit -n, LimitNOFILE=");
        return false;
    }
    return true;
}

static int run(const cd_args *a, cd_arena *mem, const cd_network *net, cd_logger *log, const cd__explorer_cfg *pages,
               const cd_p2p_identity *self, const cd_staking *staking)
{
    cd_errinfo why = {0};
    cd_node *n = NULL;
    const char *dir = dir_of(a, mem, net);
    u64 start = cd_clock_mono_ns(cd_clock_real());
    bool is_person = isatty(STDOUT_FILENO) && strcmp(cd_args_str(a, OPT_LOG_FORMAT), "json") != 0;
    cd__chains chains;
    bool has_pages = has_explorer(a, net);
    if (!check_files(a, mem)) {
        return 1;
    }
    if (!cd__chains_load(&chains, a, mem, net, has_pages ? pages : NULL, is_person)) {
        return 1;
    }
    chains.primary.dir = dir;
    chains.primary.node_id = self->node_id;
    cd_node_peers_cfg peers;
    if (!cd__peers_load(&peers, a, mem, net, self, chains.primary.is_alone)) {
        return 1;
    }
    chains.primary.peers = &peers;
    cd__plugins plugins;
    if (!cd__plugins_load(&plugins, a, mem, net, self, &peers, &chains.cfgs[0], has_pages)) {
        return 1;
    }
    plugins.cfg.log = log;
    cd_node_cfg cfg = {
        .network = net,
        .node_id = self->node_id,
        .bls_key = cd_bytes_of(self->bls_public, sizeof self->bls_public),
        .bls_pop = cd_bytes_of(self->bls_pop, sizeof self->bls_pop),
        .signer = &plugins.signer,
        .data_dir = dir,
        .accepts_loss = cd_args_bool(a, OPT_ACCEPT_LOSS),
        .http = front_of(a, mem, net),
        .shutdown_wait_ms = ms_of(a, OPT_SHUTDOWN_WAIT),
        .shutdown_timeout_ms = ms_of(a, OPT_SHUTDOWN_TIMEOUT),
        .has_info = cd_args_bool(a, OPT_API_INFO),
        .commit = cd__commit,
        .has_admin = cd_args_bool(a, OPT_API_ADMIN),
        .has_keystore = cd_args_bool(a, OPT_API_KEYSTORE),
        .has_health = cd_args_bool(a, OPT_API_HEALTH),
        .health_fresh_ns = cd_args_u64(a, OPT_HEALTH_FREQUENCY),
        .has_metrics = cd_args_bool(a, OPT_API_METRICS),
        .has_index = cd_args_bool(a, OPT_INDEX_API),
        .has_ipcs = cd_args_bool(a, OPT_API_IPCS),
        .ipcs_dir = cd_args_path(a, mem, OPT_IPCS_PATH),
        .profile_dir = is_kept(a) || cd_args_source(a, OPT_PROFILE_DIR) != CD_ARG_FROM_DEFAULT
                           ? cd_args_path(a, mem, OPT_PROFILE_DIR)
                           : NULL,
        .config = cd__effective_config(a, mem),
        .is_admin_remote = cd_args_bool(a, OPT_ADMIN_REMOTE),
        .serves_early = cd_args_bool(a, OPT_SERVE_EARLY),
        .memory = cd_args_u64(a, OPT_MEMORY),
        .workers = (u32)cd_args_u64(a, OPT_WORKERS),
        .log = log,
        .has_log_file = cd_args_path(a, mem, OPT_LOG_DIR)[0] != '\0',
        .staking = chains.primary.is_alone ? NULL : staking,
        .peers = net->is_dev ? NULL : &peers,
        .prepare = cd__primary_prepare,
        .prepare_ctx = &chains.primary,
        .primary = &chains.primary.ids,
        .chains = chains.cfgs,
        .chain_cnt = chains.cfg_cnt,
        .pages_root = has_pages ? CD_EXPLORER_ROOT : NULL,
        .plugins = &plugins.cfg,
        .tracked = plugins.has_tracked ? &plugins.tracked : NULL,
    };
    cfg.ipcs_cnt = cd_args_list(a, OPT_IPCS_CHAINS, &cfg.ipcs);
    if (!cd__aliases_load(&cfg, a, mem) || !cd__auth_load(&cfg, a, mem) || !cd__stamp_load(&cfg, a, mem, is_kept(a))) {
        return 1;
    }
    cfg.http.all_answers = cd__identity_header(self, mem);
    cfg.staking_host = cd__staking_host(a, mem);
    cfg.staking_port = (u16)cd_args_u64(a, OPT_STAKING_PORT);
    cd_err e = cd_node_open(&n, &cfg, &why);
    cd__auth_forget();
    cd__stamp_forget();
    if (e != CD_OK) {
        cd__primary_refused(&chains.primary, e);
        return report_open(&chains, mem, &why);
    }
    cd__banner banner = {
        .network = net,
        .scheme = cfg.http.tls_cert != NULL ? "https" : "http",
        .host = cfg.http.host,
        .port = cd_node_http_port(n),
        .dir = dir,
        .home = getenv("HOME"),
        .has_explorer = has_pages,
        .validators = (u32)cd_args_u64(a, OPT_VALIDATORS),
        .ready_ms = (cd_clock_mono_ns(cd_clock_real()) - start) / CD_NS_PER_MS,
    };
    for (u32 i = 0; i < banner.validators; i++) {
        banner.ports[i] = cd_node_http_port_at(n, i);
    }
    const char *process_file = cd_args_path(a, mem, OPT_PROCESS_FILE);
    if (process_file[0] == '\0' && dir != NULL) {
        process_file = cd_arena_fmt(mem, "%s/process.json", dir);
    }
    char *uri = cd_arena_fmt(mem, "%s://%s:%u", banner.scheme, banner.host, banner.port);
    u16 peers_port = cd_node_peers_at(n);
    const char *listens = peers_port != 0 ? cd__peers_listen_text(mem, &peers, peers_port) : "";
    if (!cd__process_file_write(process_file, uri, listens)) {
        (void)cd_node_close(n);
        return 1;
    }
    int code = serve(n, &banner, log, is_person);
    if (process_file[0] != '\0') {
        (void)!cd_fs_remove_tree(cd_fs_real(), process_file, NULL);
    }
    return code;
}

static int run_with_labels(const cd_args *a, cd_arena *mem, const cd_network *net, cd_logger *log)
{
    cd_labels *labels = NULL;
    cd_mem_tune();
    if (!cd__labels_load(&labels, mem, cd_args_path(a, mem, OPT_LABELS))) {
        return 1;
    }
    cd_p2p_identity self = {0};
    cd_errinfo why = {0};
    const char *dir = dir_of(a, mem, net);
    if (dir != NULL && cd_node_make_dir(dir, &why) != CD_OK) {
        cd_labels_free(labels);
        return cd__report_start(&why);
    }
    bool is_good = cd__identity_open(&self, a, mem, is_kept(a)) && cd__identity_may_serve(&self, net);
    int code = 1;
    if (is_good) {
        cd_staking *staking = cd_cert_staking_new(cd_buf_bytes(&self.cert), self.key);
        const cd_primary_cfg site = {.clock = cd_clock_real(), .network = net->name, .root = CD_EXPLORER_ROOT};
        const cd__explorer_cfg pages = {
            .name = net->name,
            .log = log,
            .has_index = cd_args_bool(a, OPT_INDEX),
            .is_index_anew = cd_args_bool(a, OPT_INDEX_ANEW),
            .labels = labels,
            .primary = cd_primary_new(&site),
        };
        code = run(a, mem, net, log, &pages, &self, staking);
        cd_primary_free(pages.primary);
        cd_cert_staking_free(staking);
    }
    cd_p2p_identity_close(&self);
    cd_labels_free(labels);
    return code;
}

int cd__node_cmd(const cd_args *a, cd_arena *mem)
{
    cd_errinfo why = {0};
    cd_logger *log = NULL;
    const cd_network *net = cd__network_of(a);
    if (net == NULL) {
        return 1;
    }
    if (cd__log_open(&log, a, mem, &why) != CD_OK) {
        return cd__report_start(&why);
    }
    int code = run_with_labels(a, mem, net, log);
    cd_log_close(log);
    return code;
}
