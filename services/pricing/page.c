#include "services/pricing/page.h"

#include "base/args/args.h"
#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/text.h"
#include "services/pricing/page_priv.h"
#include "web/serve.h"

enum { TYPED_MAX = 200, NAMES_MAX = 4096 };

struct cd_pricing_page {
    cd_prices *prices;
    const cd_clock *clock;
    cd_list visits; /* that wait */
};

/* One request, from its arrival to its answer. */
typedef struct visit {
    cd_list link;
    cd_pricing_page *page;
    cd_http_req *req;
    cd_prices_ask *ask;
    cd_arena mem;
    cd__page_view view;
} visit;

cd_pricing_page *cd_pricing_page_new(cd_prices *prices, const cd_clock *clock)
{
    cd_pricing_page *page = cd_new(cd_pricing_page);
    page->prices = prices;
    page->clock = clock;
    cd_list_init(&page->visits);
    return page;
}

static void visit_end(visit *v)
{
    cd_list_del(&v->link);
    cd_arena_fini(&v->mem);
    cd_free(v);
}

void cd_pricing_page_free(cd_pricing_page *page)
{
    if (page == NULL) {
        return;
    }
    while (!cd_list_is_empty(&page->visits)) {
        visit *v = cd_list_of(cd_list_first(&page->visits), visit, link);
        cd_prices_cancel(v->ask);
        cd_http_reply_error(v->req, 503, "the service is stopping");
        visit_end(v);
    }
    cd_free(page);
}

/* --- what is asked --- */

static cd_bytes query_value(visit *v, const char *name, usize max)
{
    cd_buf text = {0};
    (void)cd_web_query(&text, cd_http_req_query(v->req), name, max);
    cd_bytes out = cd_arena_dup(&v->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    while (out.n != 0 && out.p[0] == ' ') {
        out = cd_bytes_sub(out, 1, out.n - 1);
    }
    while (out.n != 0 && out.p[out.n - 1] == ' ') {
        out.n--;
    }
    return out;
}

static bool is(cd_bytes text, const char *word)
{
    return cd_bytes_eq(text, cd_bytes_str(word));
}

/* A host that can stand in an example; what is none is this machine. */
static cd_bytes host_of(const visit *v)
{
    cd_bytes host = cd_http_req_header(v->req, "host");
    bool is_good = host.n != 0 && host.n <= 260;
    for (usize i = 0; is_good && i < host.n; i++) {
        u8 c = host.p[i];
        is_good = (u8)((c | 0x20) - 'a') < 26 || (u8)(c - '0') < 10 || c == '.' || c == '-' || c == ':' || c == '[' ||
                  c == ']';
    }
    return is_good ? host : cd_bytes_str("localhost");
}

/* --- what there is --- */

/* A price whose texts outlive the visit of its entry. */
static cd_price keep(cd_arena *a, const cd_price *p)
{
    cd_price out = *p;
    out.id = cd_arena_dup(a, p->id);
    out.currency = cd_arena_dup(a, p->currency);
    out.symbol = cd_arena_dup(a, p->symbol);
    out.name = cd_arena_dup(a, p->name);
    out.slot = NULL;
    return out;
}

static bool on_row(void *ctx, const cd_price *price, cd_price_state state)
{
    cd__page_view *v = ctx;
    if (cd_bytes_eq(price->currency, v->currency)) {
        if (v->rows_cnt < (v->all ? CD__PAGE_ROWS_ALL : CD__PAGE_ROWS)) {
            v->rows[v->rows_cnt++] = (cd__page_row){.price = keep(v->a, price), .state = state};
        }
        v->in_currency++;
    }
    return true;
}

static void collect(visit *v)
{
    cd__page_view *view = &v->view;
    view->rows = cd_arena_array(&v->mem, cd__page_row, view->all ? CD__PAGE_ROWS_ALL : CD__PAGE_ROWS);
    cd_prices_recent(view->prices, on_row, view);
    cd_prices_state_get(view->prices, &view->state);
    while (view->providers_cnt < view->state.providers_cnt && view->providers_cnt < CD__PAGE_PROVIDERS_MAX) {
        cd_prices_provider_get(view->prices, &view->providers[view->providers_cnt], view->providers_cnt);
        view->providers_cnt++;
    }
}

typedef struct names {
    cd_arena *a;
    const char *name[NAMES_MAX];
    usize cnt;
} names;

static bool on_name(void *ctx, const cd_price *price, cd_price_state state)
{
    names *n = ctx;
    (void)state;
    n->name[n->cnt++] = cd_arena_str(n->a, price->id);
    return n->cnt < NAMES_MAX;
}

/* The ids nearest to one that nobody knows. */
static void find_close(visit *v)
{
    names *n = cd_arena_new(&v->mem, names);
    n->a = &v->mem;
    cd_prices_recent(v->view.prices, on_name, n);
    const char *typed = cd_arena_str(&v->mem, v->view.typed);
    v->view.close_cnt = cd_args_closest(v->view.close, typed, n->name, n->cnt);
}

/* --- the answer --- */

static void on_done(void *ctx, const cd_prices_answer *answer)
{
    visit *v = ctx;
    cd__page_view *view = &v->view;
    u32 status = 200;
    if (answer != NULL) {
        cd_prices_answer_at(answer, &view->quote, 0);
        view->quote.price = keep(&v->mem, &view->quote.price);
        view->has_quote = true;
        if (view->quote.state == CD_PRICE_UNKNOWN) {
            find_close(v);
            status = 404;
        } else if (!cd_price_is_there(view->quote.state)) {
            status = view->quote.state == CD_PRICE_BUSY ? 503 : 502;
        }
    }
    collect(v);
    view->now_s = cd_clock_wall_s(v->page->clock);
    cd_html h = {.out = cd_http_req_out(v->req)};
    cd__page_write(&h, view);
    cd_web_reply_page(v->req, status);
    visit_end(v);
}

/* What was typed may be a symbol or a name of something in the cache. */
typedef struct search {
    cd_arena *a;
    cd_bytes text; /* lower case */
    cd_bytes id;   /* what was found */
    bool is_id;
} search;

static bool on_found(void *ctx, const cd_price *price, cd_price_state state)
{
    search *s = ctx;
    (void)state;
    if (cd_bytes_eq(price->id, s->text)) {
        s->is_id = true;
        return false;
    }
    if (s->id.n == 0 && (cd_text_same(price->symbol, s->text) || cd_text_same(price->name, s->text))) {
        s->id = cd_arena_dup(s->a, price->id);
    }
    return true;
}

static bool on_newest(void *ctx, const cd_price *price, cd_price_state state)
{
    cd__page_view *v = ctx;
    (void)state;
    if (!cd_bytes_eq(price->currency, v->currency)) {
        return true;
    }
    v->typed = cd_arena_dup(v->a, price->id);
    return false;
}

static cd_bytes lower(cd_arena *a, cd_bytes text)
{
    u8 *p = cd_arena_alloc(a, text.n + 1);
    for (usize i = 0; i < text.n; i++) {
        p[i] = cd_text_lower(text.p[i]);
    }
    return cd_bytes_of(p, text.n);
}

static void read_query(visit *v)
{
    cd__page_view *view = &v->view;
    cd_bytes range = query_value(v, "range", 8);
    cd_bytes use = query_value(v, "use", 8);
    view->typed = query_value(v, "id", TYPED_MAX);
    view->currency = lower(&v->mem, query_value(v, "currency", CD_PRICE_NAME_MAX));
    view->range = is(range, "1h") ? CD__RANGE_HOUR : is(range, "7d") ? CD__RANGE_WEEK : CD__RANGE_DAY;
    view->use = is(use, "many") ? CD__USE_MANY : is(use, "simple") ? CD__USE_SIMPLE : CD__USE_ONE;
    view->all = is(query_value(v, "list", 4), "all");
    char folded[CD_PRICE_NAME_MAX];
    if (!cd_price_name_fold(folded, view->currency)) {
        view->currency = cd_bytes_str("usd");
    }
    view->host = host_of(v);
}

void cd_pricing_page_reply(cd_pricing_page *page, cd_http_req *r)
{
    visit *v = cd_new(visit);
    *v = (visit){.page = page, .req = r};
    v->view.a = &v->mem;
    v->view.prices = page->prices;
    cd_list_push_back(&page->visits, &v->link);
    read_query(v);
    if (v->view.typed.n == 0) { // what was asked for last leads the page
        cd_prices_recent(page->prices, on_newest, &v->view);
    }
    if (v->view.typed.n == 0) {
        on_done(v, NULL);
        return;
    }
    search s = {.a = &v->mem, .text = lower(&v->mem, v->view.typed)};
    cd_prices_search(page->prices, s.text, on_found, &s);
    cd_bytes id = s.is_id || s.id.n == 0 ? s.text : s.id;
    const cd_prices_query q = {.ids = &id, .ids_cnt = 1, .currencies = &v->view.currency, .currencies_cnt = 1};
    cd_prices_ask *ask = cd_prices_get(page->prices, &q, on_done, v);
    if (ask != NULL) { // NULL: it is answered, and v is gone
        v->ask = ask;
    }
}

bool cd_pricing_page_take(cd_pricing_page *page, cd_http_req *r)
{
    static const cd_bytes assets = {.p = (const u8 *)CD_PRICING_ASSETS, .n = sizeof CD_PRICING_ASSETS - 1};
    cd_bytes path = cd_http_req_path(r);
    if (path.n == 1) {
        cd_pricing_page_reply(page, r);
        return true;
    }
    return path.n > assets.n && memcmp(path.p, assets.p, assets.n) == 0 &&
           cd_web_reply_asset(r, cd_bytes_sub(path, assets.n, path.n - assets.n));
}
