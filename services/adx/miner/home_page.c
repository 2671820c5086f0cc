/* The miner's page: does it serve, is it reached, what did it earn. It shows what /stats tells, for people. */
#include "services/adx/miner/home_priv.h"

#include "base/mem/arena.h"
#include "web/chart.h"
#include "web/fmt.h"
#include "web/page.h"
#include "web/serve.h"
#include "web/ui.h"

#define ASSETS "/assets/"

enum { LIVE_MS = 3000, LISTENERS_MAX = 16, KEPT_MAX = 8192 };

static const cd_page_link tabs[] = {{.name = "This miner", .href = "/", .key = "h"}};
static const cd_page_link foot[] = {{.name = "Figures", .href = "/stats"},
                                    {.name = "Metrics", .href = "/metrics"},
                                    {.name = "Health", .href = "/health"}};
static const cd_page_site site = {
    .product = "Miner",
    .home = "/",
    .assets = ASSETS,
    .tabs = tabs,
    .tabs_cnt = CD_COUNT(tabs),
    .foot = foot,
    .foot_cnt = CD_COUNT(foot),
};

/* What is written about, looked at once a page. */
typedef struct view {
    const cd_home *h;
    cd_arena mem;
    cd_fill_state fill;
    cd_link_state link;
    cd_cache_stats cache;
    const char *tunnel, *url; /* its state, and where players come in; "" */
} view;

static void look(view *v, const cd_home *h)
{
    *v = (view){.h = h,
                .fill = cd_fill_look(h->fill),
                .link = cd_link_look(h->link),
                .cache = cd_vault_stats(h->vault),
                .tunnel = cd_tunnel_state(h->tunnel),
                .url = cd_tunnel_url(h->tunnel)};
}

/* The one thing that keeps it from earning; NULL: nothing does. */
static const char *what_is_missing(const view *v, const char **todo)
{
    if (!v->link.is_registered) {
        *todo = "It goes on trying by itself. Check --exchange, and that the exchange is up.";
        return "The exchange does not know this miner yet";
    }
    if (strcmp(v->tunnel, "none") == 0) {
        *todo =
            "Start it with --tunnel, or with --tunnel=direct and --public-ip where the Internet reaches this machine.";
        return "Players on the Internet cannot reach this miner";
    }
    if (v->url[0] == '\0') {
        *todo = "The tunnel's program is started again by itself. The log has what it said.";
        return "The tunnel is not up";
    }
    return NULL;
}

/* "3 requests since the start"; a noun in the singular. */
static cd_bytes since_start(cd_arena *a, u64 n, const char *noun)
{
    return cd_bytes_str(cd_arena_fmt(a, "%llu %s%s since the start", (unsigned long long)n, noun, n == 1 ? "" : "s"));
}

static void figures(cd_html *h, view *v)
{
    cd_arena *a = &v->mem;
    u64 asked = v->cache.hits + v->cache.misses;
    const cd_ui_fig figs[] = {
        {.label = "Files kept",
         .value = cd_fmt_count(a, v->fill.have),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(a, "of %zu assigned", v->fill.assigned))},
        {.label = "Sent to players",
         .value = cd_fmt_bytes(a, v->h->bytes_served),
         .unit = "",
         .sub = since_start(a, v->h->requests, "request")},
        {.label = "From the cache",
         .value = cd_fmt_percent(a, v->cache.hits, asked),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(a, "%llu looked for", (unsigned long long)asked))},
        {.label = "Last credit",
         .value = cd_bytes_str(v->link.last_total[0] == '\0' ? CD_FMT_NONE : v->link.last_total),
         .unit = v->link.last_total[0] == '\0' ? "" : "USD",
         .sub = since_start(a, v->link.rewards, "period")},
    };
    cd_ui_figs(h, figs, CD_COUNT(figs));
}

static void trouble(cd_html *h, view *v)
{
    const char *todo = NULL;
    const char *missing = what_is_missing(v, &todo);
    cd_buf text = {0};
    cd_html body = {.out = &text};
    if (missing != NULL) {
        bool is_said = !v->link.is_registered && v->link.trouble[0] != '\0';
        cd_html_put(&body, "{}", todo);
        if (is_said) {
            cd_html_put(&body, " The last attempt: {}", cd_foreign_of(cd_bytes_str(v->link.trouble)));
        }
        cd_ui_note(h, CD_NOTE_WARN, missing, cd_markup_of(&body));
    }
    cd_buf_fini(&text);
}

static void ways(cd_html *h, view *v)
{
    const cd_home *m = v->h;
    bool is_up = v->url[0] != '\0';
    const cd_ui_id id = {.text = cd_bytes_str(m->id), .flags = CD_ID_GLINT | CD_ID_COPY | CD_ID_PAGE};
    const cd_ui_id wallet = {.text = cd_bytes_str(m->wallet), .flags = CD_ID_GLINT | CD_ID_COPY};
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Who it is and how it is reached</h2></header><div class=\"body\">"
                "<dl class=\"kv\"><dt>Miner</dt><dd>");
    cd_ui_ident(h, &id);
    cd_html_put(h, "</dd><dt>Paid to</dt><dd>");
    cd_ui_ident(h, &wallet);
    cd_html_put(h, "</dd><dt>Exchange</dt><dd>{} ", cd_foreign_of(cd_bytes_str(m->cfg.exchange)));
    cd_ui_pill(h, v->link.is_registered ? CD_PILL_OK : CD_PILL_WARN,
               cd_bytes_str(v->link.is_registered ? "Registered" : "Not registered"));
    cd_html_put(h, "</dd><dt>Tunnel</dt><dd>{} ", cd_tunnel_kind_text(m->cfg.tunnel.kind));
    cd_ui_pill(h, is_up ? CD_PILL_OK : CD_PILL_NEUTRAL, cd_bytes_str(is_up ? "Up" : v->tunnel));
    cd_html_put(h, "</dd><dt>Players come to</dt><dd>{}</dd><dt>Tunnel restarts</dt><dd>{}</dd></dl></div></section>",
                cd_foreign_of(cd_bytes_str(is_up ? v->url : CD_FMT_NONE)), (u64)cd_tunnel_restarts(m->tunnel));
}

static void cache(cd_html *h, view *v)
{
    cd_arena *a = &v->mem;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Cache</h2></header><div class=\"body\"><p>{} of {} </p>",
                cd_fmt_bytes(a, v->cache.used), cd_fmt_bytes(a, v->cache.size));
    cd_chart_meter(h, v->cache.used, v->cache.size, 2);
    cd_html_put(
        h,
        "<dl class=\"kv\"><dt>Objects</dt><dd>{}</dd><dt>Could not be fetched</dt><dd>{}</dd>"
        "<dt>Deliveries to be reported</dt><dd>{}</dd><dt>Outcomes checked</dt><dd>{}</dd></dl></div></section>",
        cd_fmt_count(a, v->cache.objects), cd_fmt_count(a, v->fill.failures),
        cd_fmt_count(a, cd_played_waiting(v->h->played)), cd_fmt_count(a, v->link.proofs_checked));
}

static void write_page(cd_html *h, view *v)
{
    const char *todo = NULL;
    bool is_serving = what_is_missing(v, &todo) == NULL;
    cd_buf end_text = {0};
    cd_html end = {.out = &end_text};
    cd_ui_pill(&end, is_serving ? CD_PILL_OK : CD_PILL_WARN, cd_bytes_str(is_serving ? "Serving" : "Not serving"));
    const cd_page page = {
        .site = &site, .title = cd_bytes_str("This miner"), .tab = "/", .bar_end = cd_markup_of(&end)};
    cd_page_begin(h, &page);
    cd_html_put(h, "<div class=\"head\"><div class=\"grow\"><h1>{}</h1></div></div>",
                is_serving ? "This miner serves players" : "This miner serves nobody now");
    trouble(h, v);
    cd_html_put(h, "<div data-live=\"/live#figures\">");
    figures(h, v);
    cd_html_put(h, "</div><div class=\"cols side\"><div class=\"stack\">");
    ways(h, v);
    cd_html_put(h, "</div><aside class=\"stack\">");
    cache(h, v);
    cd_html_put(h, "<section class=\"panel\"><header><h2>What it has earned</h2></header><div class=\"body stack\">"
                   "<p>The exchange keeps the account.</p>");
    cd_ui_code(h, cd_bytes_str("candela-adx miner earnings"), "command");
    cd_html_put(h, "</div></section></aside></div>");
    cd_page_end(h, &page);
    cd_buf_fini(&end_text);
}

static void on_page(void *ctx, cd_http_req *r)
{
    view v;
    cd_html h = {.out = cd_http_req_out(r)};
    look(&v, ctx);
    write_page(&h, &v);
    cd_arena_fini(&v.mem);
    cd_web_reply_page(r, 200);
}

/* --- live: one event for all that listen, only while somebody does --- */

static void on_live(void *ctx)
{
    const cd_home *m = ctx;
    if (cd_sse_cnt(m->live) != 0) {
        view v;
        cd_buf html = {0};
        cd_buf event = {0};
        cd_html h = {.out = &html};
        cd_json_w w = {.out = &event};
        look(&v, m);
        figures(&h, &v);
        cd_json_w_obj(&w);
        cd_json_put_str(&w, "html", cd_buf_bytes(&html));
        cd_json_w_obj_end(&w);
        cd_sse_send(m->live, 0, "figures", cd_buf_bytes(&event));
        cd_arena_fini(&v.mem);
        cd_buf_fini(&html);
        cd_buf_fini(&event);
    }
}

static void on_listen(void *ctx, cd_http_req *r)
{
    const cd_home *m = ctx;
    if (!cd_sse_listen(m->live, r, NULL, NULL)) {
        cd__home_error(r, 503, "busy", "too many pages listen");
    }
}

void cd__home_page_open(cd_home *h)
{
    const cd_sse_cfg cfg = {.listeners_max = LISTENERS_MAX, .kept_max = KEPT_MAX};
    const cd_http_route routes[] = {
        {.path = "/", .methods = CD_HTTP_GET, .handler = on_page, .ctx = h},
        {.path = "/live", .methods = CD_HTTP_GET, .handler = on_listen, .ctx = h},
    };
    h->live = cd_sse_new(h->cfg.loop, &cfg, cd_clock_wall_ns(h->cfg.clock));
    h->live_timer = cd_timer_new(h->cfg.loop, on_live, h);
    cd_timer_start(h->live_timer, LIVE_MS, LIVE_MS);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(h->server, &routes[i]);
    }
    cd_web_assets_route(h->server, ASSETS);
}

void cd__home_page_close(cd_home *h)
{
    cd_timer_free(h->live_timer);
    cd_sse_free(h->live);
}
