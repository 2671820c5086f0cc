/* candela-webhooks serve - the service: options, and which chains. */
#include "apps/webhooks/commands.h"
#include "base/os/fileio.h"
#include "services/common/service.h"
#include "services/webhook/core/names.h"
#include "services/webhook/webhook.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAINS_MAX = 16, PORT_A = 8091 };

// clang-format off
#define OPTIONS(X)                                                                                                   \
    X(OPT_VARIANT, .name = "variant", .type = CD_ARG_STR, .dflt = "all", .choices = "a|b|c|all", .meta = "V",        \
      .group = "Service", .help = "whose interface is served; all: the key decides")                                 \
    X(OPT_PORT, .name = "port", .type = CD_ARG_U64, .max = 65535, .meta = "PORT",                                    \
      .help = "where it listens; 8091, 8092 or 8093 by variant, all three for all")                                  \
    X(OPT_BIND, .name = "bind", .type = CD_ARG_STR, .dflt = "127.0.0.1", .meta = "ADDR", .help = "its address")      \
    X(OPT_ACCESS_LOG, .name = "access-log", .type = CD_ARG_BOOL, .help = "log every request")                        \
    X(OPT_NO_RATES, .name = "no-rate-limit", .type = CD_ARG_BOOL, .help = "requests are not limited")                \
    CD_STORE_OPTIONS(X)                                                                                              \
    X(OPT_WORKER, .name = "worker", .type = CD_ARG_STR, .dflt = "main", .meta = "NAME",                              \
      .help = "names this process among several on one database")                                                    \
    X(OPT_RETENTION, .name = "retention", .type = CD_ARG_DURATION, .dflt = "720h", .meta = "TIME",                   \
      .help = "how long bodies and attempts are kept")                                                               \
    CD_CHAIN_OPTIONS(X)                                                                                              \
    X(OPT_CONFIRMATIONS, .name = "confirmations", .type = CD_ARG_U64, .max = 100000, .meta = "N",                    \
      .help = "blocks above one before it counts; 0 where blocks are final")                                         \
    X(OPT_FINALITY, .name = "finality", .type = CD_ARG_STR, .dflt = "accepted", .choices = "accepted|final",          \
      .meta = "WHAT", .help = "blocks that count: all, or those below the node's `finalized`; bodies say it then")   \
    X(OPT_REPLACED, .name = "replaced-blocks", .type = CD_ARG_STR, .dflt = "auto", .choices = "auto|follow|stop",    \
      .meta = "WHAT", .help = "when a node's blocks are others by now; auto: follow on dev networks, else stop") \
    X(OPT_L1_LOOK, .name = "l1-look", .type = CD_ARG_DURATION, .dflt = "1m", .meta = "TIME",                           \
      .help = "how often the node of an L1's chain is asked how the L1 is; 0: never")                                \
    X(OPT_BRAND, .name = "header-brand", .type = CD_ARG_STR, .dflt = "Svc", .meta = "WORD", .group = "Deliveries",   \
      .help = "the word in X-WORD-Signature")                                                                        \
    X(OPT_ALLOW_HTTP, .name = "allow-http", .type = CD_ARG_BOOL, .help = "receivers may be without TLS")             \
    X(OPT_ALLOW_CIDR, .name = "allow-cidr", .type = CD_ARG_LIST, .meta = "NETWORK",                                  \
      .help = "receivers in a network that is denied otherwise")                                                     \
    X(OPT_CA_FILE, .name = "ca-file", .type = CD_ARG_PATH, .meta = "FILE",                                           \
      .help = "certificates to believe, instead of the system's")                                                    \
    X(OPT_JITTER, .name = "jitter", .type = CD_ARG_STR, .dflt = "0", .meta = "PART",                                 \
      .help = "0.1: waits are up to a tenth longer")                                                                 \
    X(OPT_SMTP, .name = "smtp", .type = CD_ARG_STR, .meta = "URL", .group = "Mail",                                  \
      .help = "smtp://USER:PASSWORD@HOST:587; no mails when not given")                                              \
    X(OPT_MAIL_FROM, .name = "mail-from", .type = CD_ARG_STR, .dflt = "webhooks@localhost.localdomain",              \
      .meta = "ADDR", .help = "their sender")                                                                        \
    X(OPT_PUBLIC_URL, .name = "public-url", .type = CD_ARG_STR, .meta = "URL",                                       \
      .help = "where people find the dashboard, for links in mails")                                                 \
    CD_SERVICE_OPTIONS(X)
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct app {
    u8 master_key[32];
    cd_webhook_chain chains[CHAINS_MAX];
    cd_webhook *webhook;
    cd_dirlock place;
} app;

static const char *or_null(const char *s)
{
    return s[0] == '\0' ? NULL : s;
}

/* --- chains --- */

static bool is_chain(const app *a, usize cnt, cd_bytes name)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(name, cd_bytes_str(a->chains[i].name))) {
            return true;
        }
    }
    return false;
}

static cd_err read_chains(app *a, usize *cnt, const cd_service *s, cd_errinfo *why)
{
    const char *const *list;
    *cnt = cd_args_list(s->args, OPT_CHAIN, &list);
    if (*cnt == 0 || *cnt > CHAINS_MAX) {
        return cd_fail(why, CD_EINVAL,
                       "--chain is wanted, such as lux=ws://127.0.0.1:9650/ext/bc/C/ws"
                       " (%d at most)",
                       CHAINS_MAX);
    }
    for (usize i = 0; i < *cnt; i++) {
        CD_TRY(cd_chain_read(&a->chains[i], s->mem, s->args, list[i], OPT_CHAIN_HTTP, why));
        if (is_chain(a, i, cd_bytes_str(a->chains[i].name))) {
            return cd_fail(why, CD_EINVAL, "--chain %s is there twice", a->chains[i].name);
        }
    }
    usize https = cd_args_list(s->args, OPT_CHAIN_HTTP, &list);
    for (usize i = 0; i < https; i++) {
        if (!is_chain(a, *cnt, cd_bytes_of(list[i], strcspn(list[i], "=")))) {
            return cd_fail(why, CD_EINVAL, "--chain-http %.60s belongs to no --chain", list[i]);
        }
    }
    return CD_OK;
}

/* --- the rest --- */

static void read_ports(cd_webhook_cfg *cfg, const cd_service *s)
{
    cd_wh_face face;
    bool is_one = cd_wh_face_of(&face, cd_bytes_str(cd_args_str(s->args, OPT_VARIANT))) == CD_OK;
    cfg->faces = is_one ? 1u << face : 0;
    if (cd_args_source(s->args, OPT_PORT) != CD_ARG_FROM_DEFAULT) {
        cfg->ports[0] = (u16)cd_args_u64(s->args, OPT_PORT);
        return;
    }
    for (u32 i = 0; i < 3; i++) {
        cfg->ports[i] = (u16)(PORT_A + (is_one ? (u32)face : i));
        if (is_one) {
            return;
        }
    }
}

static cd_wh_replaced read_replaced(const cd_service *s)
{
    const char *word = cd_args_str(s->args, OPT_REPLACED);
    return word[0] == 'f' ? CD_WH_REPLACED_FOLLOW : word[0] == 's' ? CD_WH_REPLACED_STOP : CD_WH_REPLACED_AUTO;
}

static cd_err read_jitter(double *out, const cd_service *s, cd_errinfo *why)
{
    const char *text = cd_args_str(s->args, OPT_JITTER);
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !(v >= 0 && v <= 1)) {
        return cd_fail(why, CD_EINVAL, "--jitter must be 0 to 1, got \"%.20s\"", text);
    }
    *out = v;
    return CD_OK;
}

static cd_err check_brand(const char *brand, cd_errinfo *why)
{
    usize n = strlen(brand);
    for (usize i = 0; i < n; i++) {
        if (!isalnum((unsigned char)brand[i])) {
            n = 0;
        }
    }
    return n != 0 && n <= 20 ? CD_OK : cd_fail(why, CD_EINVAL, "--header-brand must be letters and digits");
}

static cd_err check_ca_file(const char *path, cd_errinfo *why)
{
    cd_fs_stat st;
    return path == NULL ? CD_OK : cd_fs_stat_get(cd_fs_real(), &st, path, why);
}

/* Two processes of one name would each take what the other has in hand for its own, left from before. */
static cd_err take_place(app *a, const cd_service *s, cd_errinfo *why)
{
    const char *name = cd_args_str(s->args, OPT_WORKER);
    const char *dir = cd_args_path(s->args, s->mem, OPT_DATA_DIR);
    usize n = strlen(name);
    for (usize i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_') {
            n = 0;
        }
    }
    if (n == 0 || n > 40) {
        return cd_fail(why, CD_EINVAL, "--worker must be letters, digits, - and _");
    }
    if (strncmp(cd_args_str(s->args, OPT_DB), "postgres", 8) == 0) {
        return CD_OK; // the server knows its clients, from whichever machine
    }
    const char *place = cd_arena_fmt(s->mem, "%s/workers/%s", dir, name);
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), place, 0700, why));
    cd_err err = cd_dirlock_take(cd_fs_real(), &a->place, place, why);
    return err != CD_EBUSY
               ? err
               : cd_fail(why, CD_EBUSY, "worker %s runs already (%s); another one wants another --worker", name, dir);
}

static cd_err open_app(void **out, const cd_service *s, cd_errinfo *why)
{
    app *a = cd_arena_new(s->mem, app);
    bool is_final_only = strcmp(cd_args_str(s->args, OPT_FINALITY), "final") == 0;
    if (is_final_only && cd_args_u64(s->args, OPT_CONFIRMATIONS) != 0) {
        return cd_fail(why, CD_EINVAL, "--confirmations and --finality=final: one of the two");
    }
    a->place.fd = -1;
    cd_webhook_cfg cfg = {
        .loop = s->loop,
        .log = s->log,
        .access_log = cd_args_bool(s->args, OPT_ACCESS_LOG) ? s->log : NULL,
        .metrics = s->metrics,
        .bind = cd_args_str(s->args, OPT_BIND),
        .chains = a->chains,
        .confirmations = (u32)cd_args_u64(s->args, OPT_CONFIRMATIONS),
        .is_final_only = is_final_only,
        .replaced = read_replaced(s),
        .brand = cd_args_str(s->args, OPT_BRAND),
        .allow_http = cd_args_bool(s->args, OPT_ALLOW_HTTP),
        .ca_file = or_null(cd_args_path(s->args, s->mem, OPT_CA_FILE)),
        .retention_ms = cd_args_u64(s->args, OPT_RETENTION) / CD_NS_PER_MS,
        .smtp_url = or_null(cd_args_str(s->args, OPT_SMTP)),
        .mail_from = cd_args_str(s->args, OPT_MAIL_FROM),
        .public_url = or_null(cd_args_str(s->args, OPT_PUBLIC_URL)),
        .l1_look_ms = cd_min_u64(cd_args_u64(s->args, OPT_L1_LOOK) / CD_NS_PER_MS, 24ull * 3600 * 1000),
        .no_rate_limit = cd_args_bool(s->args, OPT_NO_RATES),
    };
    cfg.allow_cidrs_cnt = cd_args_list(s->args, OPT_ALLOW_CIDR, &cfg.allow_cidrs);
    CD_TRY(check_brand(cfg.brand, why));
    CD_TRY(read_jitter(&cfg.jitter, s, why));
    CD_TRY(read_chains(a, &cfg.chains_cnt, s, why));
    read_ports(&cfg, s);
    CD_TRY(check_ca_file(cfg.ca_file, why));
    CD_TRY(cd_store_cfg(&cfg.store, a->master_key, s->mem, s->args, OPT_DATA_DIR, false, why));
    cfg.store.worker = cd_args_str(s->args, OPT_WORKER);
    CD_TRY(take_place(a, s, why));
    cd_err err = cd_webhook_open(&a->webhook, &cfg, why);
    if (err != CD_OK) {
        cd_dirlock_release(&a->place);
        return err;
    }
    for (usize i = 0; i < CD_COUNT(cfg.ports) && (i == 0 || cfg.ports[i] != 0); i++) {
        cd_log_info(s->log, "listening", CD_F("port", i == 0 ? cd_webhook_port(a->webhook) : cfg.ports[i]));
    }
    *out = a;
    return CD_OK;
}

static void drain(void *ctx, u32 grace_ms, void (*done)(void *ctx), void *done_ctx)
{
    cd_webhook_drain(((app *)ctx)->webhook, grace_ms, done, done_ctx);
}

static void close_app(void *ctx)
{
    app *a = ctx;
    cd_webhook_close(a->webhook);
    cd_dirlock_release(&a->place);
}

int cd_cmd_serve(int argc, char **argv)
{
    static const cd_service_def def = {
        .program = "candela-webhooks serve",
        .purpose = "tells webhooks what happens on a chain",
        .example = "candela-webhooks serve --chain=lux=ws://127.0.0.1:9650/ext/bc/C/ws",
        .metrics_prefix = "webhook",
        .options = options,
        .options_cnt = OPT_CNT,
        .log_level = OPT_LOG_LEVEL,
        .open = open_app,
        .drain = drain,
        .close = close_app,
    };
    return cd_service_main(&def, argc, argv);
}
