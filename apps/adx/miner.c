/* candela-adx miner - a home miner: its start as a service, and commands to the one that runs. */
#include "apps/adx/commands.h"
#include "apps/adx/options.h"

#include "base/os/term.h"
#include "base/version.h"
#include "services/adx/miner/control.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

// clang-format off
#define OPTIONS(X) ADX_COMMON_OPTIONS(X) ADX_MINER_OPTIONS(X, "port", "8081") CD_SERVICE_OPTIONS(X)
#define ASK_OPTIONS(X)                                                                                               \
    X(ASK_DATA_DIR, .name = "data-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/adx", .meta = "DIR",            \
      .group = "Miner", .help = "of the miner that runs")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};
enum { ASK_OPTIONS(CD_ARG_ID) ASK_CNT };
static const cd_arg_def ask_options[] = {ASK_OPTIONS(CD_ARG_ROW)};

#include "apps/adx/read_miner.h"

enum { GONE_MS = 20000, GONE_STEP_MS = 50 };

/* --- start --- */

static void stop_self(void *ctx)
{
    (void)ctx;
    (void)kill(getpid(), SIGTERM);
}

static cd_err open_app(void **out, const cd_service *s, cd_errinfo *why)
{
    cd_home_cfg cfg;
    cd_home *home = NULL;
    CD_TRY(read_miner(&cfg, s, why));
    cfg.stop = stop_self;
    CD_TRY(cd_home_open(&home, &cfg, why));
    cd_log_info(s->log, "listening", CD_F("port", cd_home_port(home)));
    *out = home;
    return CD_OK;
}

static void drain(void *ctx, u32 grace_ms, void (*done)(void *ctx), void *done_ctx)
{
    cd_home_drain(ctx, grace_ms, done, done_ctx);
}

static void close_app(void *ctx)
{
    cd_home_close(ctx);
}

static int run_start(int argc, char **argv)
{
    static const cd_service_def def = {
        .program = "candela-adx miner start",
        .purpose = "serves media to players from this machine, and earns by it",
        .example = "candela-adx miner start --wallet=0x52908400098527886E0F7030069857D2E4169EE7 --cache-size=10GB "
                   "--tunnel=cloudflare --exchange=https://ads.example",
        .metrics_prefix = "adx_miner",
        .options = options,
        .options_cnt = OPT_CNT,
        .log_level = OPT_LOG_LEVEL,
        .open = open_app,
        .drain = drain,
        .close = close_app,
    };
    return cd_service_main(&def, argc, argv);
}

/* --- stop, status, earnings --- */

/* Whether nobody answers at the socket any more. */
static bool is_gone(const char *path)
{
    for (u32 waited = 0; waited < GONE_MS; waited += GONE_STEP_MS) {
        cd_buf answer = {0};
        cd_err err = access(path, F_OK) == 0 ? cd_control_ask(&answer, path, "status", NULL) : CD_ENOENT;
        cd_buf_fini(&answer);
        if (err == CD_ENOENT) {
            return true;
        }
        (void)poll(NULL, 0, GONE_STEP_MS);
    }
    return false;
}

static cd_err ask(const cd_args *args, cd_arena *mem, const char *word, cd_errinfo *why)
{
    const char *path = cd_arena_fmt(mem, "%s/miner.sock", cd_args_path(args, mem, ASK_DATA_DIR));
    cd_buf answer = {0};
    cd_err err = cd_control_ask(&answer, path, word, why);
    if (err == CD_OK && strcmp(word, "stop") == 0 && !is_gone(path)) {
        err = cd_fail(why, CD_ETIMEOUT, "the miner is still at work");
    } else if (err == CD_OK && strcmp(word, "stop") == 0) {
        (void)printf("stopped\n");
    } else if (err == CD_OK) {
        (void)printf("%s\n", cd_buf_cstr(&answer));
    }
    cd_buf_fini(&answer);
    return err;
}

static int run_ask(int argc, char **argv)
{
    static const cd_args_info info = {
        .program = "candela-adx miner",
        .purpose = "asks the miner that runs; answers are JSON",
        .example = "candela-adx miner status --data-dir=DIR",
        .is_plain_env = true,
    };
    cd_errinfo why = {0};
    cd_arena mem = {0};
    int code = 0;
    cd_args *args = cd_args_new(&info, ask_options, ASK_CNT);
    cd_err err = cd_args_parse(args, argc, argv, &why);
    if (err == CD_OK && cd_args_wants_help(args)) {
        cd_buf text = {0};
        cd_args_help(args, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
    } else if (err != CD_OK || ask(args, &mem, argv[0], &why) != CD_OK) {
        (void)fprintf(stderr, "candela-adx miner %s: error: %s\n", argv[0], why.msg);
        code = err != CD_OK ? 2 : 1;
    }
    cd_arena_fini(&mem);
    cd_args_free(args);
    return code;
}

static int run_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)printf("candela-adx/%s\n", CD_VERSION);
    return 0;
}

static int usage(int code)
{
    (void)printf("candela-adx miner: serve media at home, and earn by it\n\nUsage\n"
                 "  candela-adx miner start --wallet=ADDR [--tunnel=PROVIDER] [--cache-size=10GB] [--exchange=URL]\n"
                 "  candela-adx miner status | earnings | stop [--data-dir=DIR]\n"
                 "  candela-adx miner version\n\nAll options of start: candela-adx miner start --help\n");
    return code;
}

int cd_cmd_miner(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"start", run_start}, {"stop", run_ask}, {"status", run_ask}, {"earnings", run_ask}, {"version", run_version}};
    const char *name = argc < 2 ? "" : argv[1];
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return usage(strcmp(name, "--help") == 0 ? 0 : 1);
}
