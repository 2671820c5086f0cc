/* candela - the node. Wiring only: options, log, which virtual machine, the banner. */
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/term.h"
#include "base/version.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "codec/json.h"
#include "commands.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VERSION_LINE "candela/" CD_VERSION " [database=v1.4.5, rpcchainvm=42]"

/* --- the node ----------------------------------------------------------------------------------- */

/* What a new network begins with. */
typedef struct genesis_source {
    const cd__file *file; /* NULL: the development network's own */
    u64 time;             /* 0: that of the state it begins with, or now */
    cd_bytes state;       /* a dump, may be empty */
} genesis_source;

static cd_err make_genesis(void *ctx, cd_buf *out, u64 chain_id, u64 now)
{
    const genesis_source *g = ctx;
    if (g->file == NULL && g->time == 0 && g->state.n != 0) {
        /* What is wrong with a dump is told when it is loaded. */
        if (cd_dev_state_genesis(out, g->state, NULL) == CD_OK) {
            return CD_OK;
        }
    }
    if (g->file == NULL) {
        return cd_dev_genesis(out, chain_id, g->time != 0 ? g->time : now);
    }
    cd_buf_put(out, g->file->text);
    return CD_OK;
}

static u32 ms_of(const cd_args *a, usize id)
{
    return (u32)(cd_args_u64(a, id) / CD_NS_PER_MS);
}

/* Tells other programs who runs and where; "" for nobody. It need not survive the machine, so nothing waits for the disk. */
static bool write_process_file(const char *path, const char *uri)
{
    char fresh[4096];
    if (path[0] == '\0') {
        return true;
    }
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "we");
    bool is_good =
        f != NULL &&
        fprintf(f, "{\n  \"pid\": %d,\n  \"uri\": \"%s\",\n  \"stakingAddress\": \"\"\n}", getpid(),
                uri) > 0;
    is_good = (f == NULL || fclose(f) == 0) && is_good && rename(fresh, path) == 0;
    if (!is_good) {
        cd_errinfo why;
        (void)cd_fail(&why, CD_EIO, "%.200s: cannot write: %s", path, strerror(errno));
        cd__report("error", NULL, why.msg, "another place: --process-context-file=FILE");
    }
    return is_good;
}

static int serve(cd_node *n, const cd__banner *b, cd_logger *log, bool is_person)
{
    if (is_person) {
        cd__banner_print(b);
    } else {
        char rpc[300];
        (void)snprintf(rpc, sizeof rpc, "%s://%s:%u", b->scheme, b->host, b->port);
        cd_log_info(log, "ready", CD_F("version", "candela/" CD_VERSION),
                    CD_F("network", b->network->name), CD_F("network_id", b->network->id),
                    CD_F("ms", b->ready_ms), CD_F("rpc", (const char *)rpc));
    }
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

/* Reports why the node did not open; what begins with a key of one of the chain's files is shown there. */
static int report_open(const cd__chain_files *chain, cd_arena *mem, const cd_errinfo *why)
{
    const cd__file *const files[] = {&chain->upgrades, &chain->config};
    const char *colon = strstr(why->msg, ": ");
    for (usize i = 0; i < CD_COUNT(files) && colon != NULL; i++) {
        cd__place at = {.file = files[i]->name, .text = files[i]->text};
        const char *key = cd_arena_str(mem, cd_bytes_of(why->msg, (usize)(colon - why->msg)));
        if (files[i]->is_there && cd_json_locate(&at.line, &at.column, at.text, key)) {
            cd__place_value(&at);
            cd__report("error", &at, why->msg, "");
            return 1;
        }
    }
    return cd__report_start(why);
}

static int run(const cd_args *a, cd_arena *mem, const cd_network *net, cd_logger *log)
{
    cd_errinfo why = {0};
    cd_node *n = NULL;
    const char *const *hosts = NULL;
    usize hosts_cnt = cd_args_list(a, OPT_HOSTS, &hosts);
    const char *dir = NULL;
    u64 start = cd_clock_mono_ns(cd_clock_real());
    bool is_kept =
        !cd_args_bool(a, OPT_IN_MEMORY) && strcmp(cd_args_str(a, OPT_DB_TYPE), "memdb") != 0;
    if (is_kept) {
        dir = cd_arena_fmt(mem, "%s/%s", cd_args_path(a, mem, OPT_DATA_DIR), net->name);
    }
    bool is_person = isatty(STDOUT_FILENO) && strcmp(cd_args_str(a, OPT_LOG_FORMAT), "json") != 0;
    bool is_tls = cd_args_bool(a, OPT_TLS);
    bool has_port = cd_args_source(a, OPT_HTTP_PORT) != CD_ARG_FROM_DEFAULT;
    cd__chain_files chain;
    cd__file genesis_file;
    cd_dev_options dev;
    genesis_source genesis = {.time = cd_args_u64(a, OPT_DEV_TIME)};
    const char *genesis_path = cd_args_path(a, mem, OPT_DEV_GENESIS);
    cd_mem_tune();
    if (!cd__chain_files_load(&chain, a, mem) || !cd__chain_files_good(&chain, mem, is_person)) {
        return 1;
    }
    if (genesis_path[0] != '\0') {
        if (!cd__file_read(&genesis_file, mem, genesis_path, false)) {
            return 1;
        }
        genesis.file = &genesis_file;
    }
    if (!cd__dev_options_load(&dev, a, mem)) {
        return 1;
    }
    genesis.state = dev.state;
    cd_labels *labels = NULL;
    if (!cd__labels_load(&labels, mem, cd_args_path(a, mem, OPT_LABELS))) {
        return 1;
    }
    const char *explorer = cd_args_str(a, OPT_EXPLORER);
    bool has_explorer =
        strcmp(explorer, "on") == 0 || (strcmp(explorer, "auto") == 0 && net->is_dev);
    const cd__explorer_cfg pages = {
        .name = net->name,
        .log = log,
        .has_index = cd_args_bool(a, OPT_INDEX),
        .is_index_anew = cd_args_bool(a, OPT_INDEX_ANEW),
        .labels = labels,
    };
    cd_node_cfg cfg = {
        .network = net,
        .data_dir = dir,
        .http_host = cd_args_str(a, OPT_HTTP_HOST),
        .http_port = has_port ? (u16)cd_args_u64(a, OPT_HTTP_PORT) : net->http_port,
        .http_tls_cert = is_tls ? cd_args_path(a, mem, OPT_TLS_CERT) : NULL,
        .http_tls_key = is_tls ? cd_args_path(a, mem, OPT_TLS_KEY) : NULL,
        .allowed_origins = cd_args_str(a, OPT_ORIGINS),
        .allowed_hosts = hosts,
        .allowed_hosts_cnt = hosts_cnt,
        .read_timeout_ms = ms_of(a, OPT_READ_TIMEOUT),
        .header_timeout_ms = ms_of(a, OPT_HEADER_TIMEOUT),
        .write_timeout_ms = ms_of(a, OPT_WRITE_TIMEOUT),
        .idle_timeout_ms = ms_of(a, OPT_IDLE_TIMEOUT),
        .shutdown_wait_ms = ms_of(a, OPT_SHUTDOWN_WAIT),
        .shutdown_timeout_ms = ms_of(a, OPT_SHUTDOWN_TIMEOUT),
        .has_health = cd_args_bool(a, OPT_API_HEALTH),
        .has_metrics = cd_args_bool(a, OPT_API_METRICS),
        .is_admin_remote = cd_args_bool(a, OPT_ADMIN_REMOTE),
        .memory = cd_args_u64(a, OPT_MEMORY),
        .workers = (u32)cd_args_u64(a, OPT_WORKERS),
        .log = log,
        .has_log_file = cd_args_path(a, mem, OPT_LOG_DIR)[0] != '\0',
        .evm = cd_evm_vm_open,
        .evm_genesis = make_genesis,
        .evm_genesis_ctx = &genesis,
        .evm_dev = &dev,
        .evm_config = chain.config.text,
        .evm_upgrades = chain.upgrades.text,
        .pages = has_explorer ? cd__explorer_pages(&pages) : NULL,
    };
    if (cd_node_open(&n, &cfg, &why) != CD_OK) {
        return report_open(&chain, mem, &why);
    }
    const cd__banner banner = {
        .network = net,
        .scheme = is_tls ? "https" : "http",
        .host = cfg.http_host,
        .port = cd_node_http_port(n),
        .dir = dir,
        .home = getenv("HOME"),
        .has_explorer = has_explorer,
        .ready_ms = (cd_clock_mono_ns(cd_clock_real()) - start) / CD_NS_PER_MS,
    };
    const char *process_file = cd_args_path(a, mem, OPT_PROCESS_FILE);
    if (process_file[0] == '\0' && dir != NULL) {
        process_file = cd_arena_fmt(mem, "%s/process.json", dir);
    }
    char *uri = cd_arena_fmt(mem, "%s://%s:%u", banner.scheme, banner.host, banner.port);
    if (!write_process_file(process_file, uri)) {
        (void)cd_node_close(n);
        return 1;
    }
    int code = serve(n, &banner, log, is_person);
    if (process_file[0] != '\0') {
        (void)!cd_fs_remove_tree(cd_fs_real(), process_file, NULL);
    }
    return code;
}

static const cd_network *network_of(const cd_args *a)
{
    const char *name = cd_args_bool(a, OPT_DEV) ? "dev" : cd_args_str(a, OPT_NETWORK);
    const cd_network *net = cd_network_find(name);
    if (net == NULL || !net->is_dev) {
        char message[200];
        (void)snprintf(
            message, sizeof message,
            net == NULL
                ? "there is no network \"%.60s\""
                : "network \"%.60s\" needs consensus and peers, which this version does not have",
            name);
        cd__report("error", NULL, message, "what runs today: candela --network-id=dev");
        return NULL;
    }
    return net;
}

static int node_cmd(const cd_args *a, cd_arena *mem)
{
    cd_errinfo why = {0};
    cd_logger *log = NULL;
    const cd_network *net = network_of(a);
    if (net == NULL) {
        return 1;
    }
    if (cd__log_open(&log, a, mem, &why) != CD_OK) {
        return cd__report_start(&why);
    }
    int code = run(a, mem, net, log);
    cd_log_close(log);
    return code;
}

/* --- commands ----------------------------------------------------------------------------------- */

static int unknown_command(const char *word)
{
    static const char *const names[] = {"help", "version", "genesis", "config", "du", "top"};
    cd_buf advice = {0};
    char message[120];
    (void)snprintf(message, sizeof message, "unknown command \"%.60s\"", word);
    if (cd_args_suggest(&advice, "", word, names, CD_COUNT(names))) {
        cd_buf_str(&advice, "\n       ");
    }
    cd_buf_str(&advice, "all commands and flags: candela help");
    cd__report("error", NULL, message, cd_buf_cstr(&advice));
    cd_buf_fini(&advice);
    return 2;
}

static int wrong_usage(const char *usage)
{
    char message[100];
    (void)snprintf(message, sizeof message, "that command goes: %s", usage);
    cd__report("error", NULL, message, "");
    return 2;
}

static int command(cd_args *a, cd_arena *mem, const char *const *words, usize cnt)
{
    bool has_check = cnt >= 2 && strcmp(words[1], "check") == 0;
    if (strcmp(words[0], "genesis") == 0) {
        return has_check && cnt == 3 ? cd__genesis_check_cmd(words[2])
                                     : wrong_usage("candela genesis check FILE");
    }
    if (strcmp(words[0], "config") == 0) {
        return has_check && cnt <= 3 ? cd__config_check_cmd(a, cnt == 3 ? words[2] : NULL)
                                     : wrong_usage("candela config check [FILE]");
    }
    bool is_du = strcmp(words[0], "du") == 0;
    if ((is_du || strcmp(words[0], "top") == 0) && cnt == 1) {
        const cd_network *net = cd__config_load(a, mem) ? network_of(a) : NULL;
        bool has_port = cd_args_source(a, OPT_HTTP_PORT) != CD_ARG_FROM_DEFAULT;
        if (net == NULL) {
            return 1;
        }
        return is_du ? cd__du_cmd(cd_arena_fmt(mem, "%s/%s", cd_args_path(a, mem, OPT_DATA_DIR),
                                               net->name))
                     : cd__top_cmd(cd_args_str(a, OPT_HTTP_HOST),
                                   has_port ? (u16)cd_args_u64(a, OPT_HTTP_PORT) : net->http_port);
    }
    return unknown_command(words[0]);
}

static int main_with(cd_args *a, cd_arena *mem, int argc, char **argv)
{
    cd_errinfo why = {0};
    usize n;
    const char *later = cd__later_of_args(&n, argc, argv);
    if (later != NULL) {
        cd__report("error", NULL,
                   cd_arena_fmt(mem, "--%.*s has no effect in this version", (int)n, later),
                   "leave it out; all flags: candela help");
        return 2;
    }
    if (cd_args_parse(a, argc, argv, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
        return 2;
    }
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    if (cd_args_bool(a, OPT_VERSION_JSON)) {
        (void)printf("{\n  \"application\": \"candela/%s\",\n  \"database\": \"v1.4.5\",\n"
                     "  \"rpcchainvm\": 42\n}\n",
                     CD_VERSION);
        return 0;
    }
    if (cd_args_wants_version(a) || (cnt != 0 && strcmp(words[0], "version") == 0)) {
        (void)printf("%s\n", VERSION_LINE);
        return 0;
    }
    if (cd_args_wants_help(a) || (cnt != 0 && strcmp(words[0], "help") == 0)) {
        cd_buf text = {0};
        cd_args_help(a, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
        return 0;
    }
    if (cnt != 0) {
        return command(a, mem, words, cnt);
    }
    return cd__config_load(a, mem) ? node_cmd(a, mem) : 1;
}

int main(int argc, char **argv)
{
    cd_args_info info = {
        .program = "candela",
        .help_word = "help",
        .purpose = "runs a node",
        .usage = "candela [flags]\n"
                 "candela genesis check FILE     is it good, and what is its hash\n"
                 "candela config check [FILE]    configuration of node or VM, upgrade file\n"
                 "candela du                     what the network's data takes on disk\n"
                 "candela top                    what the running node does\n"
                 "candela help\n"
                 "candela version",
        .example = "candela --network-id=dev --in-memory",
        .words_max = 3,
    };
    cd_args *a = cd_args_new(&info, cd__options, OPT_CNT);
    cd_arena mem = {0};
    int code = main_with(a, &mem, argc, argv);
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}
