/* candela-pricing - the pricing gateway. Wiring only: options, which providers, the engine and its front. */
#include "base/num_text.h"
#include "services/common/service.h"
#include "services/pricing/front.h"
#include "services/pricing/gateway.h"
#include "services/pricing/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// clang-format off
#define OPTIONS(X)                                                                                                   \
    X(OPT_PORT, .name = "port", .type = CD_ARG_U64, .dflt = "8080", .max = 65535, .meta = "PORT",                    \
      .group = "Service", .help = "where the gateway listens; 0 for any free port")                                  \
    X(OPT_BIND, .name = "bind", .type = CD_ARG_STR, .meta = "ADDR", .help = "its address; every one when not given") \
    X(OPT_ACCESS_LOG, .name = "access-log", .type = CD_ARG_BOOL, .help = "log every request")                        \
    X(OPT_KEY, .name = "upstream-api-key", .type = CD_ARG_LIST, .alias = "coingecko-api-key", .meta = "KEY",         \
      .group = "Providers", .help = "key of the provider; several as UPSTREAM_URL has several (last for the rest)") \
    X(OPT_PLAN, .name = "upstream-plan", .type = CD_ARG_STR, .dflt = "demo", .choices = "demo|pro", .meta = "PLAN",  \
      .help = "which of the provider's plans the key is for")                                                        \
    X(OPT_URL, .name = "upstream-url", .type = CD_ARG_LIST, .meta = "[NAME=]URL",                                    \
      .help = "base of a provider's API, the preferred first; the plan's when not given")                            \
    X(OPT_TIMEOUT, .name = "upstream-timeout-ms", .type = CD_ARG_U64, .dflt = "30000", .min = 1, .max = 600000,      \
      .meta = "MS", .help = "for one call to a provider")                                                            \
    X(OPT_RATE, .name = "upstream-rate-per-min", .type = CD_ARG_U64, .dflt = "30", .min = 1, .max = 1000000,         \
      .meta = "N", .help = "calls to each provider in a minute")                                                     \
    X(OPT_MEDIAN, .name = "upstream-median", .type = CD_ARG_BOOL,                                                    \
      .help = "ask all providers and answer the median of three or more")                                            \
    X(OPT_STATIC, .name = "static-prices", .type = CD_ARG_LIST, .meta = "ID[/CUR]=PRICE",                            \
      .help = "prices that are given, not fetched; in usd unless named")                                             \
    X(OPT_TTL, .name = "cache-ttl-s", .type = CD_ARG_U64, .dflt = "3600", .min = 1, .max = 31536000,                 \
      .meta = "S", .group = "Cache", .help = "how long a price is fresh")                                            \
    X(OPT_ENTRIES, .name = "cache-max-entries", .type = CD_ARG_U64, .dflt = "100000", .min = 1, .max = 10000000,     \
      .meta = "N", .help = "beyond it the price that was not asked for for longest is forgotten")                    \
    X(OPT_NEGATIVE, .name = "negative-ttl-s", .type = CD_ARG_U64, .dflt = "60", .min = 1, .max = 31536000,           \
      .meta = "S", .help = "how long an unknown token is remembered as such")                                        \
    X(OPT_NEW_IDS, .name = "client-new-ids-per-min", .type = CD_ARG_U64, .dflt = "0", .max = 10000000, .meta = "N",   \
      .help = "ids nobody has found yet, for one client; 0: a quarter of the provider's rate")                       \
    X(OPT_ALLOWED, .name = "allowed-ids", .type = CD_ARG_LIST, .meta = "ID",                                         \
      .help = "what may be asked for; everything when not given")                                                    \
    X(OPT_WINDOW, .name = "batch-window-ms", .type = CD_ARG_U64, .dflt = "5", .max = 10000, .meta = "MS",            \
      .help = "how long a miss waits for others to share its call")                                                  \
    X(OPT_SWR, .name = "swr", .type = CD_ARG_BOOL, .help = "answer stale prices at once and refresh them behind")    \
    X(OPT_PREFETCH, .name = "prefetch", .type = CD_ARG_BOOL, .help = "refresh what is in use shortly before its end") \
    X(OPT_FILE, .name = "cache-file", .type = CD_ARG_PATH, .meta = "FILE", .help = "keep prices over a restart")     \
    X(OPT_SHARED, .name = "shared-cache", .type = CD_ARG_STR, .meta = "redis://HOST:PORT",                           \
      .help = "share prices and calls with other gateways through Valkey or Redis")                                  \
    CD_SERVICE_OPTIONS(X)
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct app {
    cd_gateway *gateway;
    cd_pricing_page *page;
    cd_front *front;
} app;

/* --- providers --- */

/* Parts a "name=rest" at its first '='; without one the name is empty. */
static const char *after_name(cd_bytes *name, const char *text)
{
    const char *eq = strchr(text, '=');
    const char *colon = strstr(text, "://");
    if (eq == NULL || (colon != NULL && colon < eq)) {
        *name = (cd_bytes){0};
        return text;
    }
    *name = cd_bytes_of(text, (usize)(eq - text));
    return eq + 1;
}

static cd_err read_provider(cd_prices_provider *out, const cd_service *s, const char *text, usize i, cd_errinfo *why)
{
    cd_bytes name;
    char folded[CD_PRICE_NAME_MAX];
    const char *url = after_name(&name, text);
    usize n = strlen(url);
    while (n > 0 && url[n - 1] == '/') {
        n--;
    }
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return cd_fail(why, CD_EINVAL, "UPSTREAM_URL must be [NAME=]http(s)://..., number %zu is not", i + 1);
    }
    if (name.p != NULL && !cd_price_name_fold(folded, name)) {
        return cd_fail(why, CD_EINVAL, "UPSTREAM_URL: the name of number %zu must be letters and digits", i + 1);
    }
    out->base = cd_arena_str(s->mem, cd_bytes_of(url, n));
    out->name = name.p != NULL ? cd_arena_str(s->mem, cd_bytes_of(folded, name.n))
                : i == 0       ? "primary"
                               : cd_arena_fmt(s->mem, "fallback-%zu", i);
    return CD_OK;
}

static cd_err read_providers(cd_prices_provider *out, usize *cnt, const cd_service *s, cd_errinfo *why)
{
    const char *const *keys;
    const char *const *urls;
    usize keys_cnt = cd_args_list(s->args, OPT_KEY, &keys);
    usize urls_cnt = cd_args_list(s->args, OPT_URL, &urls);
    bool is_pro = strcmp(cd_args_str(s->args, OPT_PLAN), "pro") == 0;
    const char *own =
        is_pro ? "coingecko=https://pro-api.coingecko.com/api/v3" : "coingecko=https://api.coingecko.com/api/v3";
    if (keys_cnt == 0 || keys[0][0] == '\0') {
        return cd_fail(why, CD_EINVAL, "UPSTREAM_API_KEY is not set");
    }
    if (urls_cnt > CD_PRICES_PROVIDERS_MAX) {
        return cd_fail(why, CD_EINVAL, "UPSTREAM_URL may name %d providers", CD_PRICES_PROVIDERS_MAX);
    }
    *cnt = urls_cnt != 0 ? urls_cnt : 1;
    for (usize i = 0; i < *cnt; i++) {
        out[i] = (cd_prices_provider){
            .key_header = is_pro ? "x-cg-pro-api-key" : "x-cg-demo-api-key",
            .key = keys[i < keys_cnt ? i : keys_cnt - 1],
            .rate_per_min = (u32)cd_args_u64(s->args, OPT_RATE),
        };
        CD_TRY(read_provider(&out[i], s, urls_cnt != 0 ? urls[i] : own, i, why));
    }
    return CD_OK;
}

/* --- given prices --- */

static cd_err read_static(cd_prices_static *out, const cd_service *s, const char *text, cd_errinfo *why)
{
    cd_bytes name;
    char *end;
    char *id = cd_arena_alloc(s->mem, CD_PRICE_NAME_MAX);
    char *currency = cd_arena_alloc(s->mem, CD_PRICE_NAME_MAX);
    const char *number = after_name(&name, text);
    const u8 *slash = name.n == 0 ? NULL : memchr(name.p, '/', name.n);
    cd_bytes cur = cd_bytes_str("usd");
    if (slash != NULL) {
        cur = cd_bytes_of(slash + 1, (usize)(name.p + name.n - slash - 1));
        name.n = (usize)(slash - name.p);
    }
    double price = strtod(number, &end);
    if (!cd_price_name_fold(id, name) || !cd_price_name_fold(currency, cur) || end == number || *end != '\0' ||
        !isfinite(price)) {
        return cd_fail(why, CD_EINVAL, "STATIC_PRICES must be ID=PRICE or ID/CURRENCY=PRICE, got \"%.60s\"", text);
    }
    *out = (cd_prices_static){.id = cd_bytes_of(id, name.n), .currency = cd_bytes_of(currency, cur.n), .price = price};
    return CD_OK;
}

static cd_err read_statics(cd_prices_cfg *cfg, const cd_service *s, cd_errinfo *why)
{
    const char *const *list;
    usize cnt = cd_args_list(s->args, OPT_STATIC, &list);
    cd_prices_static *out = cd_arena_array(s->mem, cd_prices_static, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(read_static(&out[i], s, list[i], why));
    }
    cfg->statics = out;
    cfg->statics_cnt = cnt;
    return CD_OK;
}

static cd_err read_allowed(cd_prices_cfg *cfg, const cd_service *s, cd_errinfo *why)
{
    const char *const *list;
    usize cnt = cd_args_list(s->args, OPT_ALLOWED, &list);
    cd_bytes *out = cd_arena_array(s->mem, cd_bytes, cnt);
    for (usize i = 0; i < cnt; i++) {
        char *id = cd_arena_alloc(s->mem, CD_PRICE_NAME_MAX);
        if (!cd_price_name_fold(id, cd_bytes_str(list[i]))) {
            return cd_fail(why, CD_EINVAL, "ALLOWED_IDS: \"%.60s\" is no id", list[i]);
        }
        out[i] = cd_bytes_of(id, strlen(list[i]));
    }
    cfg->allowed = out;
    cfg->allowed_cnt = cnt;
    return CD_OK;
}

/* --- life --- */

static u32 number(const cd_service *s, usize id)
{
    return (u32)cd_args_u64(s->args, id);
}

static const char *or_null(const char *s)
{
    return s[0] == '\0' ? NULL : s;
}

static bool on_page(void *ctx, cd_http_req *r)
{
    app *a = ctx;
    return a->page != NULL && cd_pricing_page_take(a->page, r);
}

static cd_err open_front(app *a, const cd_service *s, cd_errinfo *why)
{
    const cd_front_cfg cfg = {
        .loop = s->loop,
        .prices = cd_gateway_prices(a->gateway),
        .metrics = s->metrics,
        .access_log = cd_args_bool(s->args, OPT_ACCESS_LOG) ? s->log : NULL,
        .page = on_page,
        .page_ctx = a,
    };
    a->page = cd_pricing_page_new(cfg.prices, cd_clock_real());
    a->front = cd_front_new(&cfg);
    CD_TRY(cd_front_listen(a->front, cd_args_str(s->args, OPT_BIND), (u16)number(s, OPT_PORT), why));
    cd_log_info(s->log, "listening", CD_F("port", cd_front_port(a->front)));
    return CD_OK;
}

static void close_app(void *ctx)
{
    app *a = ctx;
    cd_pricing_page_free(a->page);
    cd_front_free(a->front);
    cd_gateway_close(a->gateway);
}

static cd_err open_app(void **out, const cd_service *s, cd_errinfo *why)
{
    cd_prices_provider providers[CD_PRICES_PROVIDERS_MAX];
    app *a = cd_arena_new(s->mem, app);
    u32 window_ms = number(s, OPT_WINDOW);
    cd_gateway_cfg cfg = {
        .loop = s->loop,
        .cache_file = or_null(cd_args_path(s->args, s->mem, OPT_FILE)),
        .shared_cache = or_null(cd_args_str(s->args, OPT_SHARED)),
        .prices = {.log = s->log,
                   .metrics = s->metrics,
                   .providers = providers,
                   .ttl_s = number(s, OPT_TTL),
                   .negative_ttl_s = number(s, OPT_NEGATIVE),
                   .timeout_ms = number(s, OPT_TIMEOUT),
                   .batch_window_ms = window_ms != 0 ? window_ms : CD_PRICES_NO_WINDOW,
                   .entries_max = number(s, OPT_ENTRIES),
                   .new_ids_per_min = number(s, OPT_NEW_IDS),
                   .swr = cd_args_bool(s->args, OPT_SWR),
                   .prefetch = cd_args_bool(s->args, OPT_PREFETCH),
                   .median = cd_args_bool(s->args, OPT_MEDIAN)},
    };
    CD_TRY(read_providers(providers, &cfg.prices.providers_cnt, s, why));
    CD_TRY(read_statics(&cfg.prices, s, why));
    CD_TRY(read_allowed(&cfg.prices, s, why));
    CD_TRY(cd_gateway_open(&a->gateway, &cfg, why));
    cd_err err = open_front(a, s, why);
    if (err != CD_OK) {
        close_app(a);
        return err;
    }
    *out = a;
    return CD_OK;
}

static void drain(void *ctx, u32 grace_ms, void (*done)(void *ctx), void *done_ctx)
{
    app *a = ctx;
    cd_pricing_page_free(a->page);
    a->page = NULL;
    cd_front_stop(a->front, grace_ms, done, done_ctx);
}

int main(int argc, char **argv)
{
    static const cd_service_def def = {
        .program = "candela-pricing",
        .purpose = "prices of tokens, kept close and never out of reach",
        .example = "UPSTREAM_API_KEY=KEY candela-pricing --port=8080",
        .metrics_prefix = "pricing",
        .options = options,
        .options_cnt = OPT_CNT,
        .log_level = OPT_LOG_LEVEL,
        .open = open_app,
        .drain = drain,
        .close = close_app,
    };
    return cd_service_main(&def, argc, argv);
}
