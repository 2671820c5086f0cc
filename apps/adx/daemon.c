/* candela-adx daemon - an exchange and a miner of its own in one process, each on its port. */
#include "apps/adx/commands.h"
#include "apps/adx/options.h"

#include <signal.h>
#include <unistd.h>

// clang-format off
#define OPTIONS(X)                                                                                                   \
    X(OPT_NODE_ID, .name = "node-id", .type = CD_ARG_STR, .meta = "NAME", .group = "Daemon",                         \
      .help = "what this node is called in logs; required")                                                          \
    ADX_COMMON_OPTIONS(X) ADX_EXCHANGE_OPTIONS(X) ADX_MINER_OPTIONS(X, "miner-port", "8081") CD_SERVICE_OPTIONS(X)
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

#include "apps/adx/read_exchange.h"
#include "apps/adx/read_miner.h"

typedef struct app {
    cd_exchange *exchange;
    cd_home *home;
    cd_signal *reload;
    cd_logger *log;
    char miner_id[17];
    u32 grace_ms;
    void (*done)(void *ctx);
    void *done_ctx;
} app;

static void on_reload(void *ctx, int signum)
{
    app *a = ctx;
    cd_errinfo why = {0};
    (void)signum;
    if (cd_exchange_reload(a->exchange, &why) != CD_OK) {
        cd_log_error(a->log, "configuration not read, the old one stays", CD_F("why", (const char *)why.msg));
    }
}

static void stop_self(void *ctx)
{
    (void)ctx;
    (void)kill(getpid(), SIGTERM);
}

static cd_err open_miner(app *a, cd_home_cfg *cfg, const cd_service *s, cd_errinfo *why)
{
    if (cd_args_str(s->args, OPT_EXCHANGE)[0] == '\0') {
        cfg->exchange = cd_arena_fmt(s->mem, "http://127.0.0.1:%u", cd_exchange_port(a->exchange));
    }
    cfg->stop = stop_self;
    CD_TRY(cd_home_open(&a->home, cfg, why));
    return cd_signal_open(&a->reload, s->loop, SIGHUP, on_reload, a, why);
}

static cd_err open_app(void **out, const cd_service *s, cd_errinfo *why)
{
    app *a = cd_arena_new(s->mem, app);
    const char *node_id = cd_args_str(s->args, OPT_NODE_ID);
    cd_exchange_cfg exchange;
    cd_home_cfg miner;
    a->log = s->log;
    if (node_id[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--node-id is missing: what this node is called");
    }
    CD_TRY(read_exchange(&exchange, s, why));
    CD_TRY(read_miner(&miner, s, why));
    miner.data_dir = cd_arena_fmt(s->mem, "%s/miner", miner.data_dir);
    CD_TRY(cd_home_id(a->miner_id, miner.data_dir, why));
    exchange.node_miner = a->miner_id;
    CD_TRY(cd_exchange_open(&a->exchange, &exchange, why));
    cd_err err = open_miner(a, &miner, s, why);
    if (err != CD_OK) {
        cd_home_close(a->home);
        cd_exchange_close(a->exchange);
        return err;
    }
    cd_log_info(s->log, "listening", CD_F("node", node_id), CD_F("port", cd_exchange_port(a->exchange)),
                CD_F("miner_port", cd_home_port(a->home)), CD_F("miner", (const char *)a->miner_id));
    *out = a;
    return CD_OK;
}

static void on_miner_gone(void *ctx)
{
    app *a = ctx;
    cd_exchange_drain(a->exchange, a->grace_ms, a->done, a->done_ctx);
}

/* The miner first: it takes leave of the exchange, which writes down what it did. */
static void drain(void *ctx, u32 grace_ms, void (*done)(void *ctx), void *done_ctx)
{
    app *a = ctx;
    a->grace_ms = grace_ms;
    a->done = done;
    a->done_ctx = done_ctx;
    cd_home_drain(a->home, grace_ms, on_miner_gone, a);
}

static void close_app(void *ctx)
{
    app *a = ctx;
    cd_signal_close(a->reload);
    cd_home_close(a->home);
    cd_exchange_close(a->exchange);
}

int cd_cmd_daemon(int argc, char **argv)
{
    static const cd_service_def def = {
        .program = "candela-adx daemon",
        .purpose = "an ad exchange, and a miner that works for it",
        .example = "candela-adx daemon --node-id=home --wallet=0x52908400098527886E0F7030069857D2E4169EE7 "
                   "--config=adx.json",
        .metrics_prefix = "adx",
        .options = options,
        .options_cnt = OPT_CNT,
        .log_level = OPT_LOG_LEVEL,
        .open = open_app,
        .drain = drain,
        .close = close_app,
    };
    return cd_service_main(&def, argc, argv);
}
