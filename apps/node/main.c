/* candela - the node. Wiring only: options, log, which virtual machine, the banner. */
#include "base/args.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/term.h"
#include "base/thread.h"
#include "base/version.h"
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "crypto/secp256k1.h"
#include "node/node.h"
#include "wallet/hd.h"

#include <stdio.h>
#include <unistd.h>

#define OPTIONS(X)                                                                                 \
    X(OPT_NETWORK, .name = "network-id", .type = CD_ARG_STR, .dflt = "dev", .meta = "NAME",        \
      .help = "which network: dev (the others come with consensus)", .group = "Network")           \
    X(OPT_HTTP_HOST, .name = "http-host", .type = CD_ARG_STR, .dflt = "127.0.0.1", .meta = "ADDR", \
      .help = "where the API listens", .group = "API")                                             \
    X(OPT_HTTP_PORT, .name = "http-port", .type = CD_ARG_U64, .max = 65535, .meta = "PORT",        \
      .help = "its port; the network's own when not given, 0 for any free one")                    \
    X(OPT_TLS, .name = "http-tls-enabled", .type = CD_ARG_BOOL, .help = "HTTPS instead of HTTP")   \
    X(OPT_TLS_CERT, .name = "http-tls-cert-file", .type = CD_ARG_PATH, .meta = "FILE",             \
      .help = "its certificate, PEM, with those that lead to the root; read again at SIGHUP")      \
    X(OPT_TLS_KEY, .name = "http-tls-key-file", .type = CD_ARG_PATH, .meta = "FILE",               \
      .help = "the key of the certificate, PEM")                                                   \
    X(OPT_ORIGINS, .name = "http-allowed-origins", .type = CD_ARG_STR, .dflt = "*",                \
      .meta = "ORIGINS", .help = "origins that browsers may call from")                            \
    X(OPT_HOSTS, .name = "http-allowed-hosts", .type = CD_ARG_LIST, .dflt = "localhost",           \
      .meta = "HOSTS", .help = "host names that requests may name; * for any")                     \
    X(OPT_DATA_DIR, .name = "data-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela",             \
      .meta = "DIR", .help = "where networks keep their data, a folder each", .group = "Data")     \
    X(OPT_IN_MEMORY, .name = "in-memory", .type = CD_ARG_BOOL, .help = "keep nothing")             \
    X(OPT_WORKERS, .name = "workers", .type = CD_ARG_U64, .max = 256, .meta = "N",                 \
      .help = "threads for signatures and hashing; 0 for one less than CPUs")                      \
    X(OPT_LOG_LEVEL, .name = "log-level", .type = CD_ARG_STR, .dflt = "info",                      \
      .choices = "trace|debug|info|warn|error|off", .meta = "LEVEL", .help = "what is logged",     \
      .group = "Log")                                                                              \
    X(OPT_LOG_FORMAT, .name = "log-format", .type = CD_ARG_STR, .dflt = "auto",                    \
      .choices = "auto|plain|colors|json", .meta = "FORM",                                         \
      .help = "auto: text on a terminal, JSON lines otherwise")

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static int fail(const cd_errinfo *why)
{
    (void)fprintf(stderr, "error: %s\n", why->msg[0] != '\0' ? why->msg : cd_err_str(why->code));
    return 1;
}

/* --- what a person sees ------------------------------------------------------------------------- */

static void print_accounts(void)
{
    enum { SHOWN = 3 };
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < SHOWN; i++) {
        u8 secret[32];
        u8 pub[64];
        cd_addr20 addr;
        char addr_text[41] = {0};
        char secret_text[65] = {0};
        if (cd_hd_account(secret, seed, i) != CD_OK || cd_secp256k1_pub(pub, secret) != CD_OK) {
            return;
        }
        cd_secp256k1_addr(&addr, pub);
        cd_hex_fmt(addr_text, cd_bytes_of(addr.b, 20));
        cd_hex_fmt(secret_text, cd_bytes_of(secret, 32));
        (void)printf("    %u  0x%s  0x%s\n", i, addr_text, secret_text);
    }
    (void)printf("    …  7 more, from the phrase \"%s\"\n", CD_HD_DEV_PHRASE);
}

static void print_banner(const cd_node *n, const cd_network *net, const char *scheme,
                         const char *host, const char *dir, u64 ms)
{
    unsigned port = cd_node_http_port(n);
    (void)printf("  ╭──\n  │ ●───  candela %s · %s network %u · ready in %llu ms\n  ╰──\n\n",
                 CD_VERSION, net->name, net->id, (unsigned long long)ms);
    (void)printf("  RPC        %s://%s:%u           %s://%s:%u/v1/bc/C/rpc\n", scheme, host, port,
                 scheme, host, port);
    (void)printf("  Metrics    %s://%s:%u/v1/metrics\n", scheme, host, port);
    (void)printf("  Chains     C    EVM chain id %llu, a block whenever a transaction arrives\n",
                 (unsigned long long)net->evm_chain_id);
    (void)printf("  Data       %s\n\n", dir == NULL ? "in memory, gone at the end" : dir);
    (void)printf(
        "  Accounts   10 with 10,000 LUX each, publicly known: never use them elsewhere\n");
    print_accounts();
    (void)printf(
        "\n  Try        curl -s %s://%s:%u -H 'content-type: application/json' \\\n"
        "               -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_blockNumber\"}'\n\n"
        "  Ctrl-C stops it.\n\n",
        scheme, host, port);
    (void)fflush(stdout);
}

/* --- running ------------------------------------------------------------------------------------ */

static int run(const cd_args *a, cd_arena *mem, const cd_network *net, cd_logger *log)
{
    cd_errinfo why = {0};
    cd_node *n = NULL;
    const char *const *hosts = NULL;
    usize hosts_cnt = cd_args_list(a, OPT_HOSTS, &hosts);
    const char *dir = NULL;
    u64 start = cd_clock_mono_ns(cd_clock_real());
    if (!cd_args_bool(a, OPT_IN_MEMORY)) {
        dir = cd_arena_fmt(mem, "%s/%s", cd_args_path(a, mem, OPT_DATA_DIR), net->name);
    }
    bool is_tls = cd_args_bool(a, OPT_TLS);
    const char *scheme = is_tls ? "https" : "http";
    bool has_port = cd_args_source(a, OPT_HTTP_PORT) != CD_ARG_FROM_DEFAULT;
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
        .workers = (u32)cd_args_u64(a, OPT_WORKERS),
        .log = log,
        .evm = cd_evm_vm_open,
        .evm_genesis = cd_dev_genesis,
    };
    if (cd_node_open(&n, &cfg, &why) != CD_OK) {
        return fail(&why);
    }
    u64 ms = (cd_clock_mono_ns(cd_clock_real()) - start) / 1000000;
    if (isatty(STDOUT_FILENO)) {
        print_banner(n, net, scheme, cfg.http_host, dir, ms);
    } else {
        char *rpc = cd_arena_fmt(mem, "%s://%s:%u", scheme, cfg.http_host, cd_node_http_port(n));
        cd_log_info(log, "ready", CD_F("version", "candela/" CD_VERSION),
                    CD_F("network", net->name), CD_F("network_id", net->id), CD_F("ms", ms),
                    CD_F("rpc", rpc));
    }
    cd_node_run(n);
    cd_node_close(n);
    return 0;
}

static cd_err open_log(cd_logger **out, const cd_args *a, cd_errinfo *why)
{
    cd_log_cfg cfg = {.fd = STDOUT_FILENO};
    CD_TRY(cd_log_level_parse(&cfg.level, cd_bytes_str(cd_args_str(a, OPT_LOG_LEVEL))));
    CD_TRY(cd_log_form_parse(&cfg.form, cd_bytes_str(cd_args_str(a, OPT_LOG_FORMAT))));
    return cd_log_open(out, &cfg, why);
}

static int main_with(cd_args *a, int argc, char **argv)
{
    cd_errinfo why = {0};
    if (cd_args_parse(a, argc, argv, &why) != CD_OK) {
        (void)fail(&why);
        return 2;
    }
    const char *const *words;
    bool has_word = cd_args_words(a, &words) != 0;
    if (cd_args_wants_version(a) || (has_word && strcmp(words[0], "version") == 0)) {
        (void)printf("candela/%s\n", CD_VERSION);
        return 0;
    }
    if (cd_args_wants_help(a) || (has_word && strcmp(words[0], "help") == 0)) {
        cd_buf text = {0};
        cd_args_help(a, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
        return 0;
    }
    if (has_word) {
        (void)fprintf(stderr, "error: unknown command \"%s\"\n       all flags: candela help\n",
                      words[0]);
        return 2;
    }
    const cd_network *net = cd_network_find(cd_args_str(a, OPT_NETWORK));
    if (net == NULL || !net->is_dev) {
        (void)fprintf(
            stderr,
            "error: network \"%s\" needs consensus and peers, which this version does not have\n"
            "       what runs today: candela --network-id=dev\n",
            cd_args_str(a, OPT_NETWORK));
        return 1;
    }
    cd_logger *log = NULL;
    if (open_log(&log, a, &why) != CD_OK) {
        return fail(&why);
    }
    cd_arena mem = {0};
    int code = run(a, &mem, net, log);
    cd_arena_fini(&mem);
    cd_log_close(log);
    return code;
}

int main(int argc, char **argv)
{
    cd_args_info info = {
        .program = "candela",
        .help_word = "help",
        .purpose = "runs a node",
        .usage = "candela [flags]\ncandela help\ncandela version",
        .example = "candela --network-id=dev --in-memory",
        .words_max = 1,
    };
    cd_args *a = cd_args_new(&info, options, OPT_CNT);
    int code = main_with(a, argc, argv);
    cd_args_free(a);
    return code;
}
