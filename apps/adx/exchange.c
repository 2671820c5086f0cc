/* candela-adx exchange - the exchange as a service: options, and a configuration that is read again on SIGHUP. */
#include "apps/adx/commands.h"
#include "apps/adx/options.h"

#include <signal.h>

// clang-format off
#define OPTIONS(X) ADX_COMMON_OPTIONS(X) ADX_EXCHANGE_OPTIONS(X) CD_SERVICE_OPTIONS(X)
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

#include "apps/adx/read_exchange.h"

typedef struct app {
    cd_exchange *exchange;
    cd_signal *reload;
    cd_logger *log;
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

static cd_err open_app(void **out, const cd_service *s, cd_errinfo *why)
{
    app *a = cd_arena_new(s->mem, app);
    cd_exchange_cfg cfg;
    a->log = s->log;
    CD_TRY(read_exchange(&cfg, s, why));
    CD_TRY(cd_exchange_open(&a->exchange, &cfg, why));
    cd_err err = cd_signal_open(&a->reload, s->loop, SIGHUP, on_reload, a, why);
    if (err != CD_OK) {
        cd_exchange_close(a->exchange);
        return err;
    }
    cd_log_info(s->log, "listening", CD_F("port", cd_exchange_port(a->exchange)));
    *out = a;
    return CD_OK;
}

static void drain(void *ctx, u32 grace_ms, void (*done)(void *ctx), void *done_ctx)
{
    cd_exchange_drain(((app *)ctx)->exchange, grace_ms, done, done_ctx);
}

static void close_app(void *ctx)
{
    app *a = ctx;
    cd_signal_close(a->reload);
    cd_exchange_close(a->exchange);
}

int cd_cmd_exchange(int argc, char **argv)
{
    static const cd_service_def def = {
        .program = "candela-adx exchange",
        .purpose = "an ad exchange: OpenRTB, VAST, and books that balance",
        .example = "candela-adx exchange --config=adx.json --port=8080",
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
