/* The routes of a miner, but for its media. */
#include "services/adx/miner/home_priv.h"

#include "base/mem/mem.h"
#include "base/os/process.h"
#include "base/version.h"
#include "codec/json.h"
#include "services/adx/auction/text.h"

enum { ASKING_MAX = 256, ASK_MS = 2000, VAST_MAX = 1 << 20, QUERY_MAX = 4096 };

static const char json_type[] = "application/json";

void cd__home_error(cd_http_req *r, u32 status, const char *code, const char *message)
{
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_buf_clear(w.out);
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "error");
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "code", code);
    cd_json_put_cstr(&w, "message", message);
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\nAccess-Control-Allow-Origin: *\r\n"));
    cd_http_reply(r, status, json_type);
}

static void reply_json(cd_http_req *r)
{
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, json_type);
}

static void put_tunnel(const cd_home *h, cd_json_w *w)
{
    cd_json_w_key(w, "tunnel");
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "provider", cd_tunnel_kind_text(h->cfg.tunnel.kind));
    cd_json_put_cstr(w, "state", cd_tunnel_state(h->tunnel));
    cd_json_put_cstr(w, "public_url", cd_tunnel_url(h->tunnel));
    cd_json_put_u64(w, "restarts", cd_tunnel_restarts(h->tunnel));
    cd_json_w_obj_end(w);
}

static void put_cache(const cd_home *h, cd_json_w *w)
{
    cd_cache_stats s = cd_vault_stats(h->vault);
    u64 all = s.hits + s.misses;
    u64 share = all == 0 ? 0 : (u64)((u128)s.hits * 100000 / all);
    cd_buf text = {0};
    cd_buf_fmt(&text, "%llu.%05llu", (unsigned long long)(share / 100000), (unsigned long long)(share % 100000));
    cd_json_w_key(w, "cache");
    cd_json_w_obj(w);
    cd_json_put_u64(w, "size", s.size);
    cd_json_put_u64(w, "used", s.used);
    cd_json_put_u64(w, "objects", s.objects);
    cd_json_put_str(w, "hit_ratio", cd_buf_bytes(&text));
    cd_json_w_obj_end(w);
    cd_buf_fini(&text);
}

void cd__home_status(const cd_home *h, cd_buf *out)
{
    cd_json_w w = {.out = out};
    cd_fill_state fill = cd_fill_look(h->fill);
    cd_link_state link = cd_link_look(h->link);
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "id", h->id);
    cd_json_put_cstr(&w, "wallet", h->wallet);
    cd_json_put_cstr(&w, "version", CD_VERSION);
    cd_json_w_key(&w, "exchange");
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "url", h->cfg.exchange);
    cd_json_put_bool(&w, "registered", link.is_registered);
    cd_json_put_cstr(&w, "trouble", link.trouble);
    cd_json_w_obj_end(&w);
    put_tunnel(h, &w);
    put_cache(h, &w);
    cd_json_put_u64(&w, "assigned", fill.assigned);
    cd_json_put_u64(&w, "have", fill.have);
    cd_json_put_u64(&w, "fetch_failures", fill.failures);
    cd_json_put_u64(&w, "requests", h->requests);
    cd_adx_put_u64(&w, "bytes_transferred", h->bytes_served);
    cd_json_put_u64(&w, "deliveries_to_report", cd_played_waiting(h->played));
    cd_json_put_u64(&w, "proofs_checked", link.proofs_checked);
    cd_json_put_u64(&w, "periods_credited", link.rewards);
    cd_json_put_cstr(&w, "last_credit", link.last_total);
    cd_json_w_obj_end(&w);
}

static void on_stats(void *ctx, cd_http_req *r)
{
    cd__home_status(ctx, cd_http_req_out(r));
    reply_json(r);
}

static void on_health(void *ctx, cd_http_req *r)
{
    const cd_home *h = ctx;
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "status", "healthy");
    cd_json_put_cstr(&w, "version", CD_VERSION);
    put_tunnel(h, &w);
    cd_json_w_obj_end(&w);
    reply_json(r);
}

static void on_metrics(void *ctx, cd_http_req *r)
{
    cd_home *h = ctx;
    cd_process_metrics(h->cfg.metrics);
    cd_metrics_fmt(h->cfg.metrics, cd_http_req_out(r));
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd_http_reply(r, 200, CD_METRICS_CONTENT_TYPE);
}

static void on_media(void *ctx, cd_http_req *r)
{
    cd__home_media(ctx, r);
}

/* --- GET /ad: the exchange's document, with this miner's address in it --- */

typedef struct asking {
    cd_home *home;
    cd_http_req *r;
} asking;

static void reply_vast(cd_http_req *r, cd_bytes document)
{
    static const char none[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<VAST version=\"4.2\" xmlns=\"http://www.iab.com/VAST\"/>\n";
    cd_buf_put(cd_http_req_out(r), document.n != 0 ? document : cd_bytes_str(none));
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\nAccess-Control-Allow-Origin: *\r\n"));
    cd_http_reply(r, 200, "application/xml; charset=utf-8");
}

static void on_vast(void *ctx, const cd_http_result *res)
{
    asking *a = ctx;
    bool is_good = res->err == CD_OK && res->status == 200;
    a->home->asking--;
    if (res->err == CD_OK && res->status == 400) {
        cd_buf_put(cd_http_req_out(a->r), res->body);
        cd_http_reply(a->r, 400, json_type);
    } else {
        reply_vast(a->r, is_good ? res->body : (cd_bytes){0}); // players expect a document, even when there is no ad
    }
    cd_free(a);
}

static bool is_query(cd_bytes q)
{
    for (usize i = 0; i < q.n; i++) {
        if (q.p[i] <= ' ' || q.p[i] >= 0x7f || q.p[i] == '#') {
            return false;
        }
    }
    return q.n <= QUERY_MAX;
}

static void on_ad(void *ctx, cd_http_req *r)
{
    cd_home *h = ctx;
    cd_bytes query = cd_http_req_query(r);
    cd_bytes ua = cd_http_req_header(r, "User-Agent");
    cd_buf url = {0};
    cd_buf agent = {0};
    if (!is_query(query)) {
        cd__home_error(r, 400, "malformed", "the query is not one of a URL");
        return;
    }
    if (h->asking == ASKING_MAX) {
        cd_counter_add(h->m.refused, 1);
        reply_vast(r, (cd_bytes){0});
        return;
    }
    cd_buf_fmt(&url, "%s/vast?miner=%s&%.*s", h->cfg.exchange, h->id, (int)query.n, (const char *)query.p);
    cd_buf_fmt(&agent, "User-Agent: %.*s", (int)cd_min_u64(ua.n, 512), ua.n == 0 ? "" : (const char *)ua.p);
    const char *const headers[] = {cd_buf_cstr(&agent)};
    const cd_http_ask ask = {.url = cd_buf_cstr(&url),
                             .headers = headers,
                             .headers_cnt = ua.n == 0 ? 0 : 1,
                             .timeout_ms = ASK_MS,
                             .body_max = VAST_MAX};
    asking *a = cd_new(asking);
    *a = (asking){.home = h, .r = r};
    h->asking++;
    (void)cd_http_client_call(h->exchange, &ask, on_vast, a);
    cd_buf_fini(&url);
    cd_buf_fini(&agent);
}

void cd__home_routes(cd_home *h)
{
    const cd_http_route routes[] = {
        {.path = "/health", .methods = CD_HTTP_GET, .handler = on_health, .ctx = h},
        {.path = "/stats", .methods = CD_HTTP_GET, .handler = on_stats, .ctx = h},
        {.path = "/miner/stats", .methods = CD_HTTP_GET, .handler = on_stats, .ctx = h},
        {.path = "/metrics", .methods = CD_HTTP_GET, .handler = on_metrics, .ctx = h},
        {.path = "/ad", .methods = CD_HTTP_GET, .handler = on_ad, .ctx = h},
        {.path = "/media/*", .methods = CD_HTTP_GET, .handler = on_media, .ctx = h},
    };
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_http_server_route(h->server, &routes[i]);
    }
}
