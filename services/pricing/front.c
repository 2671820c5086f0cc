/* Requests in, answers out: the table of routes and what every answer has. */
#include "services/pricing/front_priv.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/process.h"

#include <stdio.h>

enum {
    CONNS_MAX = 20000,
    HEADER_MAX = 64 * 1024, /* of request line and headers: 414, 431 */
    BODY_MAX = 1024,        /* no route wants one */
    METRIC_CODES = 16,      /* status codes of one route that are counted by themselves */
};

static const char all_answers[] = "Access-Control-Allow-Origin: *\r\n"
                                  "Access-Control-Allow-Methods: GET, OPTIONS\r\n"
                                  "Access-Control-Allow-Headers: Content-Type, Authorization\r\n"
                                  "Access-Control-Expose-Headers: Age, ETag, Retry-After, "
                                  "X-Cache, X-Price-Source\r\n";

static const char json_type[] = "application/json";

static const struct {
    const char *path;
    const char *label; /* of the metric */
    void (*handler)(cd_front *f, cd_http_req *r, cd_bytes rest);
} routes[] = {
#define CD_ROUTE(name, path, template, params, answers, summary)                                                       \
    [CD__ROUTE_##name] = {path, template, cd__front_##name},
#include "services/pricing/routes.def"
#undef CD_ROUTE
    [CD__ROUTE_OTHER] = {"", "other", NULL},
};

/* --- answers --- */

static void count(cd_front *f, cd__route route, u32 status)
{
    cd__codes *c = &f->codes[route];
    for (usize i = 0; i < c->cnt; i++) {
        if (c->status[i] == status) {
            cd_counter_add(c->counter[i], 1);
            return;
        }
    }
    if (c->cnt == CD_COUNT(c->status)) {
        return;
    }
    char code[CD_U64_TEXT_MAX + 1];
    code[cd_u64_fmt(code, status)] = '\0';
    const cd_label labels[] = {{"route", routes[route].label}, {"code", code}};
    c->status[c->cnt] = status;
    c->counter[c->cnt] =
        cd_metrics_counter(f->cfg.metrics, "requests_total", "Requests answered", labels, CD_COUNT(labels));
    cd_counter_add(c->counter[c->cnt++], 1);
}

void cd__front_note(cd_front *f, cd_http_req *r, cd__route route, u32 status)
{
    if (f->cfg.metrics != NULL) {
        count(f, route, status);
    }
    /* Without the query: clients of the provider may have put a key there. */
    cd_log_info(f->cfg.access_log, "request", CD_F("method", cd_http_method_name(cd_http_req_method(r))),
                CD_F("path", cd_http_req_path(r)), CD_F("status", status), CD_F("bytes", cd_http_req_out(r)->n));
}

void cd__front_send(cd_front *f, cd_http_req *r, cd__route route, u32 status)
{
    cd__front_note(f, r, route, status);
    cd_http_reply(r, status, cd_http_req_out(r)->n == 0 ? NULL : json_type);
}

void cd__front_fail(cd_front *f, cd_http_req *r, cd__route route, u32 status, cd_bytes text)
{
    cd_buf *out = cd_http_req_out(r);
    cd_buf_clear(out);
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_json_put_str(&w, "error", text);
    cd_json_w_obj_end(&w);
    cd_buf_u8(out, '\n');
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd__front_send(f, r, route, status);
}

/* --- routes --- */

static void on_health_time(cd_json_w *w, const cd_clock *clock)
{
    u64 now = cd_clock_wall_ns(clock);
    cd_json_w_key(w, "time");
    cd_render_time(w, now - now % CD_NS_PER_SEC);
}

void cd__front_HEALTH(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    cd_json_w w = {.out = cd_http_req_out(r)};
    (void)rest;
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "status", "ok");
    on_health_time(&w, f->cfg.clock);
    cd_json_w_obj_end(&w);
    cd_buf_u8(w.out, '\n');
    cd__front_send(f, r, CD__ROUTE_HEALTH, 200);
}

void cd__front_READY(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    bool is_ready = cd_prices_is_ready(f->cfg.prices);
    (void)rest;
    cd_buf_str(cd_http_req_out(r), is_ready ? "{\"status\":\"ready\"}\n" : "{\"status\":\"starting\"}\n");
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd__front_send(f, r, CD__ROUTE_READY, is_ready ? 200 : 503);
}

void cd__front_METRICS(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    (void)rest;
    if (f->cfg.metrics != NULL) {
        cd_process_metrics(f->cfg.metrics);
        cd_metrics_fmt(f->cfg.metrics, cd_http_req_out(r));
    }
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    cd__front_note(f, r, CD__ROUTE_METRICS, 200);
    cd_http_reply(r, 200, CD_METRICS_CONTENT_TYPE);
}

void cd__front_OPENAPI(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    (void)rest;
    cd_buf_put(cd_http_req_out(r), cd_buf_bytes(&f->openapi));
    cd__front_send(f, r, CD__ROUTE_OPENAPI, 200);
}

/* --- events --- */

/* What a listener wants, sorted. */
typedef struct topics {
    usize cnt;
    u64 topic[];
} topics;

static u64 topic_of(const cd_front *f, cd_bytes id, cd_bytes currency)
{
    u8 text[2 * CD_PRICE_NAME_MAX + 1];
    memcpy(text, id.p, id.n);
    text[id.n] = 0; /* in no name */
    memcpy(text + id.n + 1, currency.p, currency.n);
    return cd_siphash13(f->topic_key, cd_bytes_of(text, id.n + 1 + currency.n));
}

static bool wants_topic(const void *ctx, u64 topic)
{
    const topics *t = ctx;
    for (usize i = 0; i < t->cnt; i++) {
        if (t->topic[i] == topic) {
            return true;
        }
    }
    return false;
}

static void on_change(void *ctx, const cd_price *p)
{
    cd_front *f = ctx;
    cd_json_w w = {.out = &f->event};
    cd_buf_clear(&f->event);
    cd_render_price(&w, p, true);
    cd_sse_send(f->events, topic_of(f, p->id, p->currency), "price", cd_buf_bytes(&f->event));
}

void cd__front_EVENTS(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    cd_arena a = {0};
    cd_bytes query = cd_http_req_query(r);
    cd_bytes list;
    cd_bytes currency;
    cd_bytes *ids;
    usize cnt;
    char name[CD_PRICE_NAME_MAX];
    topics *t = NULL;
    (void)rest;
    if (cd_query_get(&list, &a, query, "ids") != CD_OK || cd_query_get(&currency, &a, query, "currency") != CD_OK) {
        cd__front_fail(f, r, CD__ROUTE_EVENTS, 400, cd_bytes_str(CD__BAD_ESCAPE));
    } else if (cd_query_names(&ids, &cnt, &a, list, CD__TOPICS_MAX) != CD_OK) {
        cd__front_fail(f, r, CD__ROUTE_EVENTS, 400, cd_bytes_str("more than 1000 ids"));
    } else if (currency.n != 0 && !cd_price_name_fold(name, currency)) {
        cd__front_fail(f, r, CD__ROUTE_EVENTS, 400, cd_bytes_str("currency is no name"));
    } else if (cd_http_req_method(r) == CD_HTTP_HEAD) {
        cd__front_note(f, r, CD__ROUTE_EVENTS, 200);
        cd_http_reply(r, 200, "text/event-stream");
    } else {
        if (list.n != 0) {
            currency = currency.n == 0 ? cd_bytes_str("usd") : cd_bytes_of(name, currency.n);
            t = cd_alloc(sizeof *t + cnt * sizeof t->topic[0]);
            t->cnt = cnt;
            for (usize i = 0; i < cnt; i++) {
                t->topic[i] = topic_of(f, ids[i], currency);
            }
        }
        cd__front_note(f, r, CD__ROUTE_EVENTS, 200);
        if (!cd_sse_listen(f->events, r, t == NULL ? NULL : wants_topic, t)) {
            cd_free(t);
            cd_http_req_add_header(r, "Retry-After", "10");
            cd__front_fail(f, r, CD__ROUTE_EVENTS, 503, cd_bytes_str("too many listeners"));
        }
    }
    cd_arena_fini(&a);
}

/* --- what comes in --- */

/* The path without empty, "." and ".." segments, in the arena; borrowed when it is clean already. */
static cd_bytes path_clean(cd_arena *a, cd_bytes path)
{
    u8 *p = cd_arena_alloc(a, path.n + 1);
    usize n = 0;
    usize at = 0;
    while (at < path.n) {
        usize end = at + 1;
        while (end < path.n && path.p[end] != '/') {
            end++;
        }
        cd_bytes part = cd_bytes_sub(path, at, end - at); /* "/name" */
        bool is_last = end == path.n;
        bool is_dot = cd_bytes_eq(part, cd_bytes_str("/."));
        bool is_up = cd_bytes_eq(part, cd_bytes_str("/.."));
        while (is_up && n != 0 && p[--n] != '/') {
        }
        if (part.n > 1 && !is_dot && !is_up) {
            memcpy(p + n, part.p, part.n);
            n += part.n;
        } else if (is_last) {
            p[n++] = '/';
        }
        at = end;
    }
    return cd_bytes_of(p, n);
}

/* Sends a client whose path has superfluous segments to the clean one, as Go's routers do. */
static bool redirect(cd_front *f, cd_http_req *r, cd_bytes path)
{
    static const char bare[] = "/price";
    cd_arena a = {0};
    cd_bytes clean = path.n != 0 && path.p[0] == '/' ? path_clean(&a, path) : cd_bytes_str("/");
    if (cd_bytes_eq(clean, cd_bytes_str(bare))) {
        clean = cd_bytes_str("/price/");
    }
    bool is_clean = cd_bytes_eq(clean, path);
    if (!is_clean) {
        cd_bytes query = cd_http_req_query(r);
        cd_buf line = {0};
        cd_buf_str(&line, "Location: ");
        cd_buf_put(&line, clean);
        cd_buf_str(&line, query.n != 0 ? "?" : "");
        cd_buf_put(&line, query);
        cd_buf_str(&line, "\r\n");
        cd_http_req_add_lines(r, cd_buf_bytes(&line));
        cd_buf_fini(&line);
        cd__front_send(f, r, CD__ROUTE_OTHER, 301);
    }
    cd_arena_fini(&a);
    return !is_clean;
}

/* The route of a path, and what is behind the path of a route that takes more. */
static cd__route route_of(cd_bytes path, cd_bytes *rest)
{
    *rest = (cd_bytes){0};
    for (u32 i = 0; i < CD__ROUTE_OTHER; i++) {
        cd_bytes own = cd_bytes_str(routes[i].path);
        bool takes_more = own.p[own.n - 1] == '/';
        if (path.n >= own.n && memcmp(path.p, own.p, own.n) == 0 && (takes_more || path.n == own.n)) {
            *rest = cd_bytes_sub(path, own.n, path.n - own.n);
            return (cd__route)i;
        }
    }
    return CD__ROUTE_OTHER;
}

static void on_request(void *ctx, cd_http_req *r)
{
    cd_front *f = ctx;
    cd_bytes path = cd_http_req_path(r);
    cd_bytes rest;
    cd_http_method method = cd_http_req_method(r);
    cd__route route = route_of(path, &rest);
    bool reads = method == CD_HTTP_GET || method == CD_HTTP_HEAD;
    if (method == CD_HTTP_OPTIONS) {
        cd__front_send(f, r, route, 200);
    } else if (reads &&
               (route != CD__ROUTE_PRICE || memchr(rest.p, '/', rest.n) != NULL || (rest.n != 0 && rest.p[0] == '.')) &&
               redirect(f, r, path)) {
        return;
    } else if (route == CD__ROUTE_OTHER) {
        if (!reads || f->cfg.page == NULL || !f->cfg.page(f->cfg.page_ctx, r)) {
            cd__front_fail(f, r, route, 404, cd_bytes_str("not found"));
        }
    } else if (!reads) {
        cd_http_req_add_lines(r, cd_bytes_str("Allow: GET, HEAD, OPTIONS\r\n"));
        cd__front_fail(f, r, route, 405, cd_bytes_str("method not allowed"));
    } else {
        routes[route].handler(f, r, rest);
    }
}

static void on_refused(void *ctx, cd_http_req *r, u32 status, const char *text)
{
    cd__front_fail(ctx, r, CD__ROUTE_OTHER, status, cd_bytes_str(text));
}

/* --- life --- */

cd_front *cd_front_new(const cd_front_cfg *cfg)
{
    static const cd_http_site site = {.request = on_request, .refused = on_refused};
    cd_front *f = cd_new(cd_front);
    f->cfg = *cfg;
    f->cfg.clock = cfg->clock == NULL ? cd_clock_real() : cfg->clock;
    const cd_http_cfg http = {
        .conns_max = cfg->conns_max == 0 ? CONNS_MAX : cfg->conns_max,
        .header_max = HEADER_MAX,
        .body_max = BODY_MAX,
        .gzip = true,
        .extra_headers = all_answers,
        .site = &site,
        .site_ctx = f,
    };
    const cd_sse_cfg events = {.listeners_max = cfg->listeners_max};
    cd_list_init(&f->waiting);
    f->server = cd_http_server_new(cfg->loop, &http);
    f->topic_key = (cd_sipkey){.k0 = cd_clock_wall_ns(f->cfg.clock), .k1 = (u64)(uintptr_t)f};
    f->events = cd_sse_new(cfg->loop, &events, cd_clock_wall_ns(f->cfg.clock));
    cd_front_openapi(&f->openapi);
    cd_prices_on_change(cfg->prices, on_change, f);
    return f;
}

cd_err cd_front_listen(cd_front *f, const char *host, u16 port, cd_errinfo *why)
{
    return cd_http_server_listen(f->server, host, port, why);
}

u16 cd_front_port(const cd_front *f)
{
    return cd_http_server_port(f->server);
}

static void on_give_up(void *ctx)
{
    cd__front_give_up(ctx);
}

/* Half of the time is for providers, the rest for clients to take the answers. */
void cd_front_stop(cd_front *f, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    f->give_up = cd_timer_new(f->cfg.loop, on_give_up, f);
    cd_timer_start(f->give_up, grace_ms / 2, 0);
    cd_http_server_stop(f->server, grace_ms, done, ctx);
}

void cd_front_free(cd_front *f)
{
    if (f == NULL) {
        return;
    }
    cd_prices_on_change(f->cfg.prices, NULL, NULL);
    cd_timer_free(f->give_up);
    cd_sse_free(f->events);
    cd_http_server_free(f->server);
    cd_buf_fini(&f->openapi);
    cd_buf_fini(&f->event);
    cd_free(f);
}
