/* The routes that tell prices. */
#include "services/pricing/front_priv.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "net/http/cond.h"

enum {
    IDS_MAX = 10000,
    CURRENCIES_MAX = 1000,
    TOLD_MAX = 64, /* prices whose age and source stand in a header */
};

static const char lifetime[] = "Cache-Control: public, max-age=3600\r\n";

/* A request whose prices are awaited. */
typedef struct ask {
    cd_list link;
    cd_prices_ask *waiting; /* NULL: it does not */
    cd_front *f;
    cd_http_req *r;
    cd__route route;
    cd_arena arena;
    cd_simple_form form;
    const cd_bytes *currencies;
    usize currencies_cnt;
} ask;

static ask *ask_new(cd_front *f, cd_http_req *r, cd__route route)
{
    ask *k = cd_new(ask);
    k->f = f;
    k->r = r;
    k->route = route;
    cd_list_init(&k->link);
    return k;
}

static void ask_free(ask *k)
{
    cd_list_del(&k->link);
    cd_arena_fini(&k->arena);
    cd_free(k);
}

static void fail(ask *k, u32 status, const char *text)
{
    cd__front_fail(k->f, k->r, k->route, status, cd_bytes_str(text));
    ask_free(k);
}

/* Asks the engine; k is gone when everything was at hand. */
static void ask_prices(ask *k, const cd_prices_query *what, cd_prices_done *done)
{
    char client[CD_TCP_PEER_MAX];
    cd_prices_query q = *what;
    cd_http_req_peer(k->r, client);
    q.client = cd_bytes_str(client);
    cd_prices_ask *waiting = cd_prices_get(k->f->cfg.prices, &q, done, k);
    if (waiting != NULL) {
        k->waiting = waiting;
        cd_list_push_back(&k->f->waiting, &k->link);
    }
}

/* --- what every price answer has --- */

static void put(cd_http_req *r, const char *text)
{
    cd_http_req_add_lines(r, cd_bytes_str(text));
}

static void put_u64_line(cd_http_req *r, const char *name, u64 v)
{
    char text[CD_U64_TEXT_MAX];
    put(r, name);
    cd_http_req_add_lines(r, cd_bytes_of(text, cd_u64_fmt(text, v)));
    put(r, "\r\n");
}

static const char *cache_line(bool is_stale, bool is_fetched)
{
    return is_stale ? "X-Cache: STALE\r\n" : is_fetched ? "X-Cache: MISS\r\n" : "X-Cache: HIT\r\n";
}

static void put_etag(cd_http_req *r, const char etag[CD_HTTP_ETAG_LEN])
{
    put(r, "ETag: ");
    cd_http_req_add_lines(r, cd_bytes_of(etag, CD_HTTP_ETAG_LEN));
    put(r, "\r\n");
}

static bool is_unchanged(const cd_http_req *r, const char etag[CD_HTTP_ETAG_LEN])
{
    return cd_http_is_unchanged(cd_http_req_header(r, "if-none-match"), (cd_bytes){0},
                                cd_bytes_of(etag, CD_HTTP_ETAG_LEN), 0);
}

static void send_or_304(ask *k, const char etag[CD_HTTP_ETAG_LEN])
{
    put(k->r, lifetime);
    put_etag(k->r, etag);
    if (is_unchanged(k->r, etag)) {
        cd_buf_clear(cd_http_req_out(k->r));
        cd__front_send(k->f, k->r, k->route, 304);
    } else {
        cd__front_send(k->f, k->r, k->route, 200);
    }
    ask_free(k);
}

/* No price at all, and a provider's fault. */
static void send_failure(ask *k, bool is_busy, u32 retry_after_s)
{
    if (is_busy) {
        put_u64_line(k->r, "Retry-After: ", cd_max_u64(retry_after_s, 1));
        fail(k, 503, "no provider may be asked now, try again later");
    } else {
        fail(k, 502, "no provider answered");
    }
}

void cd__front_give_up(cd_front *f)
{
    cd_list_each_safe(it, &f->waiting)
    {
        ask *k = cd_list_of(it, ask, link);
        cd_prices_cancel(k->waiting);
        send_failure(k, true, 1);
    }
}

/* --- /price/{token_id} --- */

static void send_unknown(ask *k)
{
    cd_buf text = {0};
    cd_bytes id = {0};
    cd_bytes path = cd_http_req_path(k->r);
    usize skip = sizeof "/price/" - 1;
    /* It has been decoded once before. */
    cd_err err = cd_query_unescape(&id, &k->arena, cd_bytes_sub(path, skip, path.n - skip));
    CD_ASSERT(err == CD_OK);
    while (id.n != 0 && id.p[id.n - 1] == '/') {
        id.n--;
    }
    cd_buf_str(&text, "token not found: ");
    cd_buf_put(&text, id);
    cd__front_fail(k->f, k->r, k->route, 404, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    ask_free(k);
}

static void on_price(void *ctx, const cd_prices_answer *a)
{
    ask *k = ctx;
    cd_prices_item item;
    cd_prices_answer_at(a, &item, 0);
    cd_buf *out = cd_http_req_out(k->r);
    char etag[CD_HTTP_ETAG_LEN];
    switch (item.state) {
    case CD_PRICE_HIT:
    case CD_PRICE_STALE: {
        const cd_rendered *kept = cd_render_kept(&item.price);
        cd_buf_put(out, cd_bytes_of(kept->body, kept->n));
        memcpy(etag, kept->etag, sizeof etag);
        break;
    }
    case CD_PRICE_FETCHED:
    case CD_PRICE_COALESCED: {
        cd_json_w w = {.out = out};
        cd_render_price(&w, &item.price, false);
        cd_buf_u8(out, '\n');
        cd_http_etag_fmt(etag, cd_buf_bytes(out));
        break;
    }
    case CD_PRICE_UNKNOWN:
        send_unknown(k);
        return;
    case CD_PRICE_FAILED:
    case CD_PRICE_BUSY:
        send_failure(k, item.state == CD_PRICE_BUSY, item.retry_after_s);
        return;
    }
    put_u64_line(k->r, "Age: ", item.price.age_s);
    put(k->r, cache_line(item.state == CD_PRICE_STALE, item.state != CD_PRICE_HIT));
    put(k->r, "X-Price-Source: ");
    put(k->r, item.price.source);
    put(k->r, "\r\n");
    send_or_304(k, etag);
}

/* The currency that is asked for, in lower case: CD_ENOENT when it is none. */
static cd_err currency_get(cd_bytes *out, cd_arena *a, cd_bytes query)
{
    char name[CD_PRICE_NAME_MAX];
    cd_bytes text;
    CD_TRY(cd_query_get(&text, a, query, "currency"));
    if (text.n == 0) {
        *out = cd_bytes_str("usd");
        return CD_OK;
    }
    if (!cd_price_name_fold(name, text)) {
        return CD_ENOENT;
    }
    *out = cd_arena_dup(a, cd_bytes_of(name, text.n));
    return CD_OK;
}

void cd__front_PRICE(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    ask *k = ask_new(f, r, CD__ROUTE_PRICE);
    cd_bytes query = cd_http_req_query(r);
    cd_bytes id = rest;
    cd_bytes currency = cd_bytes_str("usd");
    char name[CD_PRICE_NAME_MAX];
    cd_err err = CD_OK;
    if (rest.n != 0 && memchr(rest.p, '%', rest.n) != NULL) {
        err = cd_query_unescape(&id, &k->arena, rest);
    }
    cd_err err2 = query.n == 0 ? CD_OK : currency_get(&currency, &k->arena, query);
    while (id.n != 0 && id.p[id.n - 1] == '/') {
        id.n--;
    }
    if (err != CD_OK || err2 == CD_EFORMAT) {
        fail(k, 400, CD__BAD_ESCAPE);
    } else if (id.n == 0) {
        fail(k, 400, "token_id required");
    } else if (err2 != CD_OK || !cd_price_name_fold(name, id)) {
        send_unknown(k);
    } else {
        const cd_bytes folded = cd_bytes_of(name, id.n);
        const cd_prices_query q = {
            .ids = &folded,
            .ids_cnt = 1,
            .currencies = &currency,
            .currencies_cnt = 1,
        };
        ask_prices(k, &q, on_price);
    }
}

/* --- /prices, /simple/price --- */

/* What the items of an answer have in common. */
typedef struct summary {
    usize there;
    bool is_stale;
    bool is_fetched;
    bool is_failed;
    bool is_busy;
    u32 retry_after_s;
    u64 age_s; /* of the oldest */
} summary;

static void summarize(summary *s, const cd_prices_item *item)
{
    switch (item->state) {
    case CD_PRICE_HIT:
        break;
    case CD_PRICE_FETCHED:
    case CD_PRICE_COALESCED:
        s->is_fetched = true;
        break;
    case CD_PRICE_STALE:
        s->is_stale = true;
        break;
    case CD_PRICE_UNKNOWN:
        return;
    case CD_PRICE_FAILED:
        s->is_failed = true;
        return;
    case CD_PRICE_BUSY:
        s->is_busy = true;
        s->retry_after_s = (u32)cd_max_u64(s->retry_after_s, item->retry_after_s);
        return;
    }
    s->there++;
    s->age_s = cd_max_u64(s->age_s, item->price.age_s);
}

/* "X-Price-Source: bitcoin/usd;age=12;source=demo, ..." of the first prices. */
static void put_sources(cd_http_req *r, const cd_prices_item *items, usize cnt)
{
    cd_buf line = {0};
    usize told = 0;
    for (usize i = 0; i < cnt && told < TOLD_MAX; i++) {
        const cd_price *p = &items[i].price;
        if (cd_price_is_there(items[i].state)) {
            cd_buf_str(&line, told++ == 0 ? "X-Price-Source: " : ", ");
            cd_buf_put(&line, p->id);
            cd_buf_u8(&line, '/');
            cd_buf_put(&line, p->currency);
            cd_buf_fmt(&line, ";age=%llu;source=%s", (unsigned long long)p->age_s, p->source);
        }
    }
    if (told != 0) {
        cd_buf_str(&line, "\r\n");
        cd_http_req_add_lines(r, cd_buf_bytes(&line));
    }
    cd_buf_fini(&line);
}

/* The items of an answer, in the arena; false when the request has been answered with a failure. */
static bool take_items(ask *k, cd_prices_item **items, usize *cnt, const cd_prices_answer *a)
{
    summary s = {0};
    *cnt = cd_prices_answer_cnt(a);
    *items = cd_arena_array(&k->arena, cd_prices_item, *cnt + 1);
    for (usize i = 0; i < *cnt; i++) {
        cd_prices_answer_at(a, &(*items)[i], i);
        summarize(&s, &(*items)[i]);
    }
    if (s.there == 0 && (s.is_failed || s.is_busy)) {
        send_failure(k, s.is_busy, s.retry_after_s);
        return false;
    }
    put_u64_line(k->r, "Age: ", s.age_s);
    put(k->r, cache_line(s.is_stale, s.is_fetched));
    put_sources(k->r, *items, *cnt);
    return true;
}

static void on_prices(void *ctx, const cd_prices_answer *a)
{
    ask *k = ctx;
    cd_prices_item *items;
    usize cnt;
    char etag[CD_HTTP_ETAG_LEN];
    if (!take_items(k, &items, &cnt, a)) {
        return;
    }
    cd_json_w w = {.out = cd_http_req_out(k->r)};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "prices");
    cd_json_w_obj(&w);
    for (usize i = 0; i < cnt; i++) {
        const cd_price *p = &items[i].price;
        bool is_kept = items[i].state == CD_PRICE_HIT || items[i].state == CD_PRICE_STALE;
        if (cd_price_is_there(items[i].state)) {
            cd_json_w_key_str(&w, p->id);
            if (is_kept && cnt == 1) {
                const cd_rendered *kept = cd_render_kept(p);
                cd_json_w_raw(&w, cd_bytes_of(kept->body, kept->n - 1));
            } else {
                cd_render_price(&w, p, is_kept);
            }
        }
    }
    cd_json_w_obj_end(&w);
    cd_http_etag_fmt(etag, cd_buf_bytes(w.out)); /* without the time of this answer */
    cd_json_w_key(&w, "updated_at");
    cd_render_time(&w, cd_clock_wall_ns(k->f->cfg.clock));
    cd_json_w_obj_end(&w);
    cd_buf_u8(w.out, '\n');
    send_or_304(k, etag);
}

static void on_simple(void *ctx, const cd_prices_answer *a)
{
    ask *k = ctx;
    cd_prices_item *items;
    usize cnt;
    usize keys_cnt;
    char etag[CD_HTTP_ETAG_LEN];
    if (!take_items(k, &items, &cnt, a)) {
        return;
    }
    const cd_simple_key *keys = cd_simple_keys(&keys_cnt, &k->arena, &k->form, k->currencies, k->currencies_cnt);
    cd_json_w w = {.out = cd_http_req_out(k->r)};
    cd_json_w_obj(&w);
    for (usize i = 0; i < cnt; i += k->currencies_cnt) {
        cd_render_simple(&w, keys, keys_cnt, items + i, k->currencies_cnt, k->form.precision);
    }
    cd_json_w_obj_end(&w);
    cd_buf_u8(w.out, '\n');
    cd_http_etag_fmt(etag, cd_buf_bytes(w.out));
    send_or_304(k, etag);
}

/* Asks for what the parameters name; no currency at all is a currency that nobody knows. */
static void ask_many(ask *k, cd_bytes list, cd_prices_done *done)
{
    cd_bytes *ids;
    usize cnt;
    if (list.n == 0) {
        fail(k, 400, "ids query parameter required");
    } else if (cd_query_names(&ids, &cnt, &k->arena, list, IDS_MAX) != CD_OK) {
        fail(k, 400, "more than 10000 ids");
    } else if (cnt * k->currencies_cnt > CD_PRICES_ITEMS_MAX) {
        fail(k, 400, "more than 65536 prices");
    } else {
        const cd_prices_query q = {
            .ids = ids,
            .ids_cnt = k->currencies_cnt == 0 ? 0 : cnt,
            .currencies = k->currencies,
            .currencies_cnt = k->currencies_cnt,
        };
        ask_prices(k, &q, done);
    }
}

void cd__front_PRICES(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    ask *k = ask_new(f, r, CD__ROUTE_PRICES);
    cd_bytes query = cd_http_req_query(r);
    cd_bytes *currency = cd_arena_new(&k->arena, cd_bytes);
    cd_bytes list;
    (void)rest;
    cd_err err = currency_get(currency, &k->arena, query);
    if (err == CD_EFORMAT || cd_query_get(&list, &k->arena, query, "ids") != CD_OK) {
        fail(k, 400, CD__BAD_ESCAPE);
        return;
    }
    k->currencies = currency;
    k->currencies_cnt = err == CD_OK ? 1 : 0;
    ask_many(k, list, on_prices);
}

/* "full" and nothing are -1. */
static cd_err precision_get(i32 *out, cd_arena *a, cd_bytes query)
{
    cd_bytes text;
    u64 v;
    CD_TRY(cd_query_get(&text, a, query, "precision"));
    if (text.n == 0 || cd_bytes_eq(text, cd_bytes_str("full"))) {
        *out = -1;
        return CD_OK;
    }
    if (cd_u64_parse(&v, text) != CD_OK || v > 18) {
        return CD_ERANGE;
    }
    *out = (i32)v;
    return CD_OK;
}

void cd__front_SIMPLE(cd_front *f, cd_http_req *r, cd_bytes rest)
{
    ask *k = ask_new(f, r, CD__ROUTE_SIMPLE);
    cd_arena *a = &k->arena;
    cd_bytes query = cd_http_req_query(r);
    cd_bytes ids;
    cd_bytes list;
    (void)rest;
    if (cd_query_get(&ids, a, query, "ids") != CD_OK || cd_query_get(&list, a, query, "vs_currencies") != CD_OK ||
        cd_query_flag(&k->form.market_cap, a, query, "include_market_cap") != CD_OK ||
        cd_query_flag(&k->form.volume_24h, a, query, "include_24hr_vol") != CD_OK ||
        cd_query_flag(&k->form.change_24h, a, query, "include_24hr_change") != CD_OK ||
        cd_query_flag(&k->form.last_updated, a, query, "include_last_updated_at") != CD_OK) {
        fail(k, 400, CD__BAD_ESCAPE);
        return;
    }
    cd_bytes *currencies;
    list = list.n == 0 ? cd_bytes_str("usd") : list;
    if (precision_get(&k->form.precision, a, query) != CD_OK) {
        fail(k, 400, "precision must be full or 0 to 18");
    } else if (cd_query_names(&currencies, &k->currencies_cnt, a, list, CURRENCIES_MAX) != CD_OK) {
        fail(k, 400, "more than 1000 currencies");
    } else {
        k->currencies = currencies;
        ask_many(k, ids, on_simple);
    }
}
