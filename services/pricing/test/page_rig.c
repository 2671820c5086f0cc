#include "page_rig.h"

#include "base/mem/buf.h"
#include "web/serve.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *id;
    const char *json; /* symbol and name */
    double price;
    double change;
} tokens[] = {
    {"sample-micro", "\"symbol\":\"micro\",\"name\":\"Sample <&> Micro\"", 1.234e-8, 0},
    {"hostile",
     "\"symbol\":\"<i>\",\"name\":\"<script>alert(1)</script>\\u202e\\\"'> and a name that goes on "
     "and on and on and on "
     "and on\"",
     1e-7, -99.99},
    {"dogecoin", "\"symbol\":\"doge\",\"name\":\"Dogecoin\"", 0.18214, -3.5},
    {"solana", "\"symbol\":\"sol\",\"name\":\"Solana\"", 188.41, 4.02},
    {"lux", "\"symbol\":\"lux\",\"name\":\"Lux\"", 32.86, -0.84},
    {"ethereum", "\"symbol\":\"eth\",\"name\":\"Ethereum\"", 3412.08, 1.12},
    {"bitcoin", "\"symbol\":\"btc\",\"name\":\"Bitcoin\"", 97234.56, 2.34},
};

/* A walk around the last price that is the same in every run; hour 0 is now. */
static double price_at(usize token, u64 hour)
{
    u64 x = hour * 2654435761u + token * 40503u;
    double wave = (double)(x / 7 % 200) / 10000 - 0.01;
    return tokens[token].price * (1 - tokens[token].change / 100 * (double)hour / 24 + (hour == 0 ? 0 : wave));
}

static u64 hour_of(const page_rig *g)
{
    static const u64 end = 1795269917;
    u64 now = cd_clock_wall_s(&g->clock.clock);
    return now >= end ? 0 : (end - now + 1800) / 3600;
}

static void body_of(cd_buf *out, const page_rig *g, const char *url)
{
    const char *ids = strstr(url, "&ids=") + 5;
    cd_buf_u8(out, '[');
    for (usize t = 0; t < CD_COUNT(tokens); t++) {
        const char *at = strstr(ids, tokens[t].id);
        if (at == NULL) {
            continue;
        }
        cd_buf_fmt(out,
                   "%s{\"id\":\"%s\",%s,\"current_price\":%.17g,\"market_cap\":1923456789012,"
                   "\"total_volume\":"
                   "45678901234,\"price_change_percentage_24h\":%.17g,\"last_updated\":null}",
                   out->n == 1 ? "" : ",", tokens[t].id, tokens[t].json, price_at(t, hour_of(g)), tokens[t].change);
    }
    cd_buf_u8(out, ']');
}

static void on_deliver(void *ctx)
{
    page_rig *g = ctx;
    while (g->calls_cnt != 0) {
        cd_buf body = {0};
        cd_prices_result r = {.err = g->is_down ? CD_EIO : CD_OK, .status = 200};
        g->calls_cnt--;
        body_of(&body, g, g->calls[g->calls_cnt].url);
        r.body = cd_buf_bytes(&body);
        if (g->calls[g->calls_cnt].fn != NULL) {
            g->calls[g->calls_cnt].fn(g->calls[g->calls_cnt].ctx, &r);
        }
        cd_buf_fini(&body);
    }
}

static void *net_get(void *ctx, const char *url, const cd_prices_provider *to, cd_prices_result_fn *fn, void *fn_ctx)
{
    page_rig *g = ctx;
    (void)to;
    CD_ASSERT(g->calls_cnt < PAGE_RIG_CALLS && strlen(url) < sizeof g->calls[0].url);
    usize i = g->calls_cnt++;
    (void)snprintf(g->calls[i].url, sizeof g->calls[i].url, "%s", url);
    g->calls[i].fn = fn;
    g->calls[i].ctx = fn_ctx;
    cd_timer_start(g->deliver, 1, 0);
    return &g->calls[i];
}

static void net_cancel(void *ctx, void *call)
{
    page_rig *g = ctx;
    for (usize i = 0; i < g->calls_cnt; i++) {
        if (call == &g->calls[i]) {
            g->calls[i].fn = NULL;
        }
    }
}

static void alarm_set(void *ctx, u64 delay_ns)
{
    page_rig *g = ctx;
    g->alarm_ns = delay_ns;
    cd_timer_start(g->alarm, delay_ns / CD_NS_PER_MS + 1, 0);
}

static void on_alarm(void *ctx)
{
    page_rig *g = ctx;
    cd_clock_virtual_advance(&g->clock, g->alarm_ns);
    cd_prices_run(g->prices);
}

static void on_page(void *ctx, cd_http_req *r)
{
    page_rig *g = ctx;
    cd_pricing_page_reply(g->page, r);
}

/* POST /down, /up, /later: how the provider is from now on; a day passes. */
static void on_down(void *ctx, cd_http_req *r)
{
    page_rig *g = ctx;
    g->is_down = cd_http_req_path(r).n == 5;
    cd_http_reply(r, 204, NULL);
}

static void on_later(void *ctx, cd_http_req *r)
{
    page_rig *g = ctx;
    cd_clock_virtual_advance(&g->clock, 5400 * CD_NS_PER_SEC);
    cd_http_reply(r, 204, NULL);
}

static void on_nothing(void *ctx, const cd_prices_answer *a)
{
    (void)ctx;
    (void)a;
}

static void see(page_rig *g, u32 hours)
{
    static const cd_bytes usd = {.p = (const u8 *)"usd", .n = 3};
    for (u32 hour = hours; hour-- != 0;) {
        for (usize t = 0; t < CD_COUNT(tokens); t++) {
            cd_bytes id = cd_bytes_str(tokens[t].id);
            const cd_prices_query q = {.ids = &id, .ids_cnt = 1, .currencies = &usd, .currencies_cnt = 1};
            (void)cd_prices_get(g->prices, &q, on_nothing, NULL);
        }
        cd_clock_virtual_advance(&g->clock, 10 * CD_NS_PER_MS);
        cd_prices_run(g->prices);
        on_deliver(g);
        if (hour != 0) {
            cd_clock_virtual_advance(&g->clock, 3601 * CD_NS_PER_SEC);
            cd_prices_run(g->prices);
        }
    }
}

void page_rig_open(page_rig *g, u16 port, u64 now_s, u32 hours)
{
    memset(g, 0, sizeof *g);
    CD_ASSERT(cd_loop_new(&g->loop, NULL) == CD_OK);
    g->alarm = cd_timer_new(g->loop, on_alarm, g);
    g->deliver = cd_timer_new(g->loop, on_deliver, g);
    cd_clock_virtual_init(&g->clock, (now_s - 3601ull * (hours == 0 ? 0 : hours - 1)) * CD_NS_PER_SEC);
    const cd_prices_provider provider = {.name = "market-data", .base = "http://secret.example/api", .key = "SECRET"};
    const cd_prices_net net = {.ctx = g, .get = net_get, .cancel = net_cancel};
    const cd_prices_cfg cfg = {.clock = &g->clock.clock,
                               .providers = &provider,
                               .providers_cnt = 1,
                               .net = &net,
                               .alarm = alarm_set,
                               .alarm_ctx = g};
    g->prices = cd_prices_new(&cfg);
    g->page = cd_pricing_page_new(g->prices, &g->clock.clock);
    see(g, hours);
    const cd_http_cfg http = {.gzip = true};
    const cd_http_route routes[] = {
        {.path = "/", .methods = CD_HTTP_GET, .handler = on_page, .ctx = g},
        {.path = "/down", .methods = CD_HTTP_POST, .handler = on_down, .ctx = g},
        {.path = "/up", .methods = CD_HTTP_POST, .handler = on_down, .ctx = g},
        {.path = "/later", .methods = CD_HTTP_POST, .handler = on_later, .ctx = g},
    };
    g->server = cd_http_server_new(g->loop, &http);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(g->server, &routes[i]);
    }
    cd_web_assets_route(g->server, CD_PRICING_ASSETS);
    CD_ASSERT(cd_http_server_listen(g->server, "127.0.0.1", port, NULL) == CD_OK);
}

void page_rig_close(page_rig *g)
{
    cd_timer_free(g->alarm);
    cd_timer_free(g->deliver);
    cd_prices_free(g->prices);
    cd_loop_free(g->loop);
}
