/* `relay`: carries messages between chains until it is told to end. [spec:warp] */
#include "base/num_text.h"
#include "base/os/process.h"
#include "commands.h"
#include "net/http/server.h"
#include "relay/relay_config.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_CONFIG, .name = "config-file", .type = CD_ARG_PATH, .meta = "FILE", .help = "names the chains")              \
    X(OPT_STATE, .name = "state-dir", .type = CD_ARG_PATH, .dflt = "relay-state", .meta = "DIR",                       \
      .help = "remembers how far each chain was read; one relay at a time")                                            \
    X(OPT_HOST, .name = "http-host", .type = CD_ARG_STR, .dflt = "127.0.0.1", .meta = "ADDR",                          \
      .help = "where /metrics and /health listen")                                                                     \
    X(OPT_PORT, .name = "http-port", .type = CD_ARG_STR, .meta = "PORT",                                               \
      .help = "for /metrics and /health; 0: any; without it there are none")                                           \
    X(OPT_LEVEL, .name = "log-level", .type = CD_ARG_STR, .dflt = "info", .meta = "LEVEL",                             \
      .choices = "trace|debug|info|warn|error|off", .help = "what is logged, to standard error")                       \
    X(OPT_FORM, .name = "log-format", .type = CD_ARG_STR, .dflt = "auto", .choices = "auto|plain|colors|json",         \
      .meta = "FORM", .help = "how")                                                                                   \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "errors as one line of JSON")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

enum { GRACE_MS = 1000, LOG_QUEUE = 4096 };

typedef struct world {
    const cd_args *args;
    cd_arena mem;
    cd__relay_config config;
    cd_dirlock lock;
    bool is_locked;
    cd_logger *log;
    cd_metrics *metrics;
    cd_loop *loop;
    cd_signal *signals[2];
    cd_http_server *http;
    cd_relay *relay;
} world;

/* --- what it shows --- */

static void on_metrics(void *ctx, cd_http_req *req)
{
    world *w = ctx;
    cd_process_metrics(w->metrics);
    cd_metrics_fmt(w->metrics, cd_http_req_out(req));
    cd_http_reply(req, 200, CD_METRICS_CONTENT_TYPE);
}

static void on_health(void *ctx, cd_http_req *req)
{
    world *w = ctx;
    cd_json_w out = {.out = cd_http_req_out(req)};
    bool is_well = cd_relay_health(w->relay, &out);
    cd_http_reply(req, is_well ? 200 : 503, "application/json");
}

static cd_err listen(world *w, cd_errinfo *why)
{
    const char *text = cd_args_str(w->args, OPT_PORT);
    u64 port;
    if (text[0] == '\0') {
        return CD_OK;
    }
    if (cd_u64_parse(&port, cd_bytes_str(text)) != CD_OK || port > UINT16_MAX) {
        return cd_fail(why, CD_EINVAL, "--http-port: a number up to 65535 is needed, got \"%.40s\"", text);
    }
    cd_process_metrics_open(w->metrics);
    w->http = cd_http_server_new(w->loop, &(cd_http_cfg){.conns_max = 64, .gzip = true});
    cd_http_server_route(w->http, &(cd_http_route){"/metrics", CD_HTTP_GET, on_metrics, w, 0, NULL, false});
    cd_http_server_route(w->http, &(cd_http_route){"/health", CD_HTTP_GET, on_health, w, 0, NULL, false});
    CD_TRY(cd_http_server_listen(w->http, cd_args_str(w->args, OPT_HOST), (u16)port, why));
    cd_log_info(w->log, "listening", CD_F("port", cd_http_server_port(w->http)));
    return CD_OK;
}

/* --- life --- */

static void on_stopped(void *ctx)
{
    cd_loop_stop(((world *)ctx)->loop);
}

static void on_signal(void *ctx, int signum)
{
    world *w = ctx;
    cd_log_info(w->log, "ending", CD_F("signal", signum));
    if (w->http != NULL && cd_http_server_port(w->http) != 0) {
        cd_http_server_stop(w->http, GRACE_MS, on_stopped, w);
    } else {
        cd_loop_stop(w->loop);
    }
    cd_signal_close(w->signals[0]); /* a second one ends the process at once */
    cd_signal_close(w->signals[1]);
    w->signals[0] = w->signals[1] = NULL;
}

static cd_err open_log(world *w, cd_errinfo *why)
{
    cd_log_cfg cfg = {.fd = STDERR_FILENO, .queue = LOG_QUEUE};
    CD_TRY(cd_log_level_parse(&cfg.level, cd_bytes_str(cd_args_str(w->args, OPT_LEVEL))));
    CD_TRY(cd_log_form_parse(&cfg.form, cd_bytes_str(cd_args_str(w->args, OPT_FORM))));
    return cd_log_open(&w->log, &cfg, why);
}

static cd_err open_relay(world *w, cd_errinfo *why)
{
    const char *dir = cd_args_path(w->args, &w->mem, OPT_STATE);
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, 0755, why));
    CD_TRY(cd_dirlock_take(cd_fs_real(), &w->lock, dir, why));
    w->is_locked = true;
    w->metrics = cd_metrics_new("relay");
    CD_TRY(cd_loop_new(&w->loop, why));
    CD_TRY(cd_signal_open(&w->signals[0], w->loop, SIGTERM, on_signal, w, why));
    CD_TRY(cd_signal_open(&w->signals[1], w->loop, SIGINT, on_signal, w, why));
    const cd_relay_cfg cfg = {.chains = w->config.chains,
                              .chain_cnt = w->config.chain_cnt,
                              .limits = w->config.limits,
                              .senders = w->config.senders,
                              .sender_cnt = w->config.sender_cnt,
                              .quorum = (u32)w->config.quorum,
                              .gas_max = w->config.gas_max,
                              .fs = cd_fs_real(),
                              .place_path = cd_arena_fmt(&w->mem, "%s/places.json", dir),
                              .log = w->log,
                              .metrics = w->metrics};
    CD_TRY(cd_relay_open(&w->relay, w->loop, &cfg, why));
    return listen(w, why);
}

static void end(world *w)
{
    cd_relay_close(w->relay);
    cd_http_server_free(w->http);
    cd_signal_close(w->signals[0]);
    cd_signal_close(w->signals[1]);
    cd_loop_free(w->loop);
    cd_metrics_free(w->metrics);
    cd_log_close(w->log);
    if (w->is_locked) {
        cd_dirlock_release(&w->lock);
    }
    cd__relay_config_fini(&w->config);
    cd_arena_fini(&w->mem);
}

static cd_err run(world *w, cd_errinfo *why)
{
    const char *path = cd_args_path(w->args, &w->mem, OPT_CONFIG);
    if (path[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--config-file is wanted, which names the chains");
    }
    CD_TRY(cd__relay_config_read(&w->config, &w->mem, path, why));
    CD_TRY(open_log(w, why));
    CD_TRY(open_relay(w, why));
    cd_loop_run(w->loop);
    return CD_OK;
}

int cd__relay_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli relay",
        .purpose = "Carries messages between the messenger contracts of chains.",
        .usage = "--config-file=FILE [flags]",
        .example = "candela-cli relay --config-file=relay.json --http-port=9700",
        .options = options,
        .option_cnt = CD_COUNT(options),
        .json = OPT_JSON,
    };
    cd_errinfo why = {0};
    int code = 0;
    cd_args *args = cd__cmd_args(&cmd, &code, argc, argv);
    if (args == NULL) {
        return code;
    }
    world w = {.args = args};
    cd_err e = run(&w, &why);
    end(&w);
    if (e != CD_OK) {
        if (why.msg[0] == '\0') {
            (void)cd_fail(&why, e, "%s", cd_err_str(e));
        }
        code = cd__cmd_fail(&why, cd_args_bool(args, OPT_JSON), e == CD_EINVAL ? 2 : 1);
    }
    cd_args_free(args);
    return code;
}
