#include "base/os/clock.h"
#include "codec/json.h"
#include "services/pricing/page.h"
#include "services/pricing/page_priv.h"
#include "web/chart.h"
#include "web/fmt.h"
#include "web/json_view.h"
#include "web/page.h"
#include "web/ui.h"

#include <math.h>
#include <stdio.h>

enum { SAMPLES = 120, SPARK_SAMPLES = 24, DAY_S = 86400, HOUR_S = 3600 };

static const cd_page_link foot[] = {
    {.name = "OpenAPI", .href = "/openapi.json"},
    {.name = "Metrics", .href = "/metrics"},
    {.name = "Health", .href = "/health"},
};

static const cd_page_site site = {
    .product = "Pricing",
    .home = "/",
    .assets = CD_PRICING_ASSETS,
    .foot = foot,
    .foot_cnt = CD_COUNT(foot),
};

static const char *const range_words[] = {"1h", "24h", "7d"};
static const char *const use_words[] = {"one", "many", "simple"};

/* --- helpers --- */

static cd_bytes upper(cd_arena *a, cd_bytes text)
{
    u8 *p = cd_arena_alloc(a, text.n + 1);
    for (usize i = 0; i < text.n; i++) {
        p[i] = (u8)(text.p[i] - 'a') < 26 ? (u8)(text.p[i] & 0xDF) : text.p[i];
    }
    return cd_bytes_of(p, text.n);
}

static cd_bytes join(cd_arena *a, cd_bytes first, const char *second)
{
    return cd_bytes_str(cd_arena_fmt(a, "%.*s%s", (int)first.n, (const char *)first.p, second));
}

/* The address of the page with some of it changed. id empty: as it is. */
static cd_bytes link_to(const cd__page_view *v, cd_bytes id, cd__page_range range, cd__page_use use)
{
    cd_buf url = {0};
    cd_buf_str(&url, "/?id=");
    cd_url_part_enc(&url, id.n == 0 ? v->typed : id);
    cd_buf_str(&url, "&currency=");
    cd_url_part_enc(&url, v->currency);
    if (range != CD__RANGE_DAY) {
        cd_buf_fmt(&url, "&range=%s", range_words[range]);
    }
    if (use != CD__USE_ONE) {
        cd_buf_fmt(&url, "&use=%s", use_words[use]);
    }
    cd_bytes out = cd_arena_dup(v->a, cd_buf_bytes(&url));
    cd_buf_fini(&url);
    return out;
}

static cd_bytes name_of(const cd_price *p)
{
    return p->name.n != 0 ? p->name : p->id;
}

static u64 stored_s(const cd_price *p)
{
    return p->stored_ns / CD_NS_PER_SEC;
}

/* What was seen between now - span and now at cnt equal distances. Between two fetches the line is straight, unless
 * they lie further apart than prices are fresh: then the gap stays a gap. */
static usize samples(double *out, usize cnt, const cd__page_view *v, const cd_price *p, u64 span)
{
    cd_prices_point at[CD_PRICES_HISTORY];
    usize n = cd_prices_history(v->prices, at, p->id, p->currency);
    u64 from = v->now_s > span ? v->now_s - span : 0;
    u64 gap = 2ull * cd_prices_ttl_s(v->prices) + 60;
    double step = (double)span / (double)(cnt - 1);
    usize there = 0;
    for (usize i = 0; i < cnt; i++) {
        out[i] = NAN;
    }
    for (usize k = 0; k < n; k++) {
        if (at[k].wall_s < from || at[k].wall_s > v->now_s) {
            continue;
        }
        usize i = (usize)((double)(at[k].wall_s - from) / step + 0.5);
        out[i < cnt ? i : cnt - 1] = (double)at[k].price;
        there++;
        if (k + 1 < n && at[k + 1].wall_s > at[k].wall_s && at[k + 1].wall_s - at[k].wall_s <= gap) {
            double width = (double)(at[k + 1].wall_s - at[k].wall_s);
            for (usize j = i + 1; j < cnt && (double)j * step + (double)from < at[k + 1].wall_s; j++) {
                double share = ((double)j * step + (double)from - at[k].wall_s) / width;
                out[j] = (double)at[k].price * (1 - share) + (double)at[k + 1].price * share;
            }
        }
    }
    return there;
}

static cd_bytes y_text(cd_arena *a, double v)
{
    return fabs(v) >= 1000 && fabs(v) < 1e15 ? cd_fmt_count(a, (u64)llround(fabs(v)))
                                             : cd_bytes_str(cd_arena_fmt(a, "%.6g", v));
}

/* --- the question --- */

static void ask(cd_html *h, const cd__page_view *v)
{
    static const char *const usual[] = {"usd", "eur", "gbp", "jpy", "chf", "cny", "btc", "eth"};
    bool is_usual = false;
    cd_html_put(h,
                "<form class=\"ask\" action=\"/\" role=\"search\"><label class=\"sr\" "
                "for=\"tok\">Token</label>"
                "<input class=\"field\" id=\"tok\" name=\"id\" value=\"{}\" list=\"known\" "
                "autocomplete=\"off\" "
                "spellcheck=\"false\" maxlength=\"200\" placeholder=\"Token id, symbol or name\">",
                v->typed);
    cd_html_put(h, "<datalist id=\"known\">");
    for (usize i = 0; i < v->rows_cnt; i++) {
        cd_html_put(h, "<option value=\"{}\"></option>", v->rows[i].price.id);
    }
    cd_html_put(h, "</datalist><label class=\"sr\" for=\"cur\">Currency</label>"
                   "<select class=\"field\" id=\"cur\" name=\"currency\">");
    for (usize i = 0; i < CD_COUNT(usual); i++) {
        cd_bytes code = cd_bytes_str(usual[i]);
        if (cd_bytes_eq(code, v->currency)) {
            is_usual = true;
            cd_html_put(h, "<option value=\"{}\" selected>{}</option>", code, upper(v->a, code));
        } else {
            cd_html_put(h, "<option value=\"{}\">{}</option>", code, upper(v->a, code));
        }
    }
    if (!is_usual) {
        cd_html_put(h, "<option value=\"{}\" selected>{}</option>", v->currency, upper(v->a, v->currency));
    }
    cd_html_put(h, "</select><button class=\"btn go\">Show price</button></form>");
}

/* --- notes --- */

static bool is_answering(const cd_prices_provider_state *p)
{
    return p->breaker == CD_BREAKER_CLOSED && p->failures == 0;
}

/* No provider answers: since when, and how old prices may be. */
static void note_down(cd_html *h, const cd__page_view *v)
{
    u64 last_ok = 0;
    u64 oldest = 0;
    for (usize i = 0; i < v->providers_cnt; i++) {
        if (is_answering(&v->providers[i])) {
            return;
        }
        last_ok = cd_max_u64(last_ok, v->providers[i].last_ok_wall_ns / CD_NS_PER_SEC);
    }
    for (usize i = 0; i < v->rows_cnt; i++) {
        oldest = cd_max_u64(oldest, v->rows[i].price.age_s);
    }
    if (v->providers_cnt == 0) {
        return;
    }
    cd_buf text = {0};
    cd_html b = {.out = &text};
    if (last_ok == 0) {
        cd_html_put(&b, "It has not answered since this gateway started. ");
    } else {
        cd_html_put(&b, "Its last answer came ");
        cd_ui_time(&b, v->a, last_ok, v->now_s);
        cd_html_put(&b, ". ");
    }
    if (v->rows_cnt != 0) {
        cd_html_put(&b, "Prices below are up to {} old and go on being answered.",
                    cd_fmt_duration(v->a, oldest * 1000));
    } else {
        cd_html_put(&b, "There are no stored prices to answer with: see the gateway's log.");
    }
    cd_ui_note(h, CD_NOTE_WARN, "The provider does not answer", cd_markup_of(&b));
    cd_buf_fini(&text);
}

static void note_quote(cd_html *h, const cd__page_view *v)
{
    cd_buf text = {0};
    cd_html b = {.out = &text};
    const char *title = "";
    switch (v->quote.state) {
    case CD_PRICE_HIT:
    case CD_PRICE_FETCHED:
    case CD_PRICE_COALESCED:
    case CD_PRICE_STALE:
        return;
    case CD_PRICE_UNKNOWN:
        title = "No such token";
        cd_html_put(&b, "The provider knows no token {} in {}.", cd_foreign_of(v->typed), upper(v->a, v->currency));
        for (usize i = 0; i < v->close_cnt; i++) {
            cd_bytes id = cd_bytes_str(v->close[i]);
            cd_html_put(&b, "{}<a href=\"{}\">{}</a>", i == 0 ? " Close to it: " : ", ",
                        link_to(v, id, v->range, v->use), id);
        }
        break;
    case CD_PRICE_FAILED:
        title = "No price now";
        cd_html_put(&b, "The provider failed, and {} is not stored here. Ask again in a minute.",
                    cd_foreign_of(v->typed));
        break;
    case CD_PRICE_BUSY:
        title = "No price now";
        cd_html_put(&b,
                    "No call to the provider is allowed at the moment, and {} is not stored here. "
                    "Ask again in {}.",
                    cd_foreign_of(v->typed), cd_fmt_duration(v->a, 1000ull * v->quote.retry_after_s));
        break;
    }
    cd_ui_note(h, CD_NOTE_INFO, title, cd_markup_of(&b));
    cd_buf_fini(&text);
}

/* --- the price --- */

static cd_pill change_kind(double change)
{
    return change >= 0.005 ? CD_PILL_UP : change <= -0.005 ? CD_PILL_DOWN : CD_PILL_NEUTRAL;
}

static void quote_facts(cd_html *h, const cd__page_view *v)
{
    cd_arena *a = v->a;
    const cd_price *p = &v->quote.price;
    u64 ttl = cd_prices_ttl_s(v->prices);
    u64 left = p->age_s < ttl ? ttl - p->age_s : 0;
    cd_bytes code = upper(a, v->currency);
    cd_html_put(h,
                "<div class=\"stack\"><div class=\"row\"><span class=\"coin\" "
                "aria-hidden=\"true\">{}</span>",
                upper(a, cd_bytes_sub(p->symbol, 0, p->symbol.n < 4 ? p->symbol.n : 4)));
    cd_html_put(h, "<div><b>{}</b><span class=\"sub\">{}</span></div>", cd_foreign_of(name_of(p)), p->id);
    cd_ui_pill(h, change_kind(p->change_24h), join(a, cd_fmt_change(a, p->change_24h), " in 24 h"));
    if (v->quote.state == CD_PRICE_STALE) {
        cd_ui_pill(h, CD_PILL_WARN, cd_bytes_str("Stale"));
    }
    cd_html_put(h, "</div><div><p class=\"price\">{}</p><p class=\"mut\">{} per ", cd_fmt_price(a, p->price), code);
    if (p->symbol.n != 0) {
        cd_html_put(h, "{}</p></div>", cd_foreign_of(upper(a, p->symbol)));
    } else {
        cd_html_put(h, "token</p></div>");
    }
    cd_html_put(h,
                "<dl class=\"kv\"><dt>Market cap</dt><dd title=\"{}\">{}</dd><dt>Volume, 24 h</dt>"
                "<dd title=\"{}\">{}</dd>",
                cd_fmt_price(a, p->market_cap),
                p->market_cap > 0
                    ? cd_arena_fmt(a, "%s %s", cd_arena_str(a, cd_fmt_money(a, p->market_cap)), cd_arena_str(a, code))
                    : CD_FMT_NONE,
                cd_fmt_price(a, p->volume_24h),
                p->volume_24h > 0
                    ? cd_arena_fmt(a, "%s %s", cd_arena_str(a, cd_fmt_money(a, p->volume_24h)), cd_arena_str(a, code))
                    : CD_FMT_NONE);
    cd_html_put(h, "<dt>Stored</dt><dd>");
    cd_ui_time(h, a, stored_s(p), v->now_s);
    if (left != 0) {
        cd_html_put(h, " <span class=\"mut\">fresh for {}</span>", cd_fmt_duration(a, left * 1000));
    }
    cd_html_put(h, "</dd><dt>Source</dt><dd>{}</dd></dl><div>", p->source);
    cd_chart_meter(h, left, ttl, 4);
    cd_html_put(h, "</div></div>");
}

static void quote_chart(cd_html *h, const cd__page_view *v)
{
    static const u64 spans[] = {HOUR_S, DAY_S, 7ull * DAY_S};
    static const char *const marks[][5] = {{"1 h ago", "45 min", "30 min", "15 min", "now"},
                                           {"24 h ago", "18 h", "12 h", "6 h", "now"},
                                           {"7 d ago", "5 d", "3.5 d", "2 d", "now"}};
    cd_arena *a = v->a;
    double y[SAMPLES];
    const cd_ui_link ranges[] = {
        {"1 h", link_to(v, (cd_bytes){0}, CD__RANGE_HOUR, v->use)},
        {"24 h", link_to(v, (cd_bytes){0}, CD__RANGE_DAY, v->use)},
        {"7 d", link_to(v, (cd_bytes){0}, CD__RANGE_WEEK, v->use)},
    };
    usize seen = samples(y, SAMPLES, v, &v->quote.price, spans[v->range]);
    cd_html_put(h, "<div class=\"stack\"><div class=\"row between\"><h2>Seen by this gateway</h2>");
    cd_ui_seg(h, "Time shown", ranges, CD_COUNT(ranges), v->range);
    cd_html_put(h, "</div>");
    if (seen == 0) {
        cd_ui_empty(h, "Nothing seen in this time", "Each call to the provider adds a point.", (cd_markup){0});
    } else {
        double low = INFINITY;
        double high = -INFINITY;
        for (usize i = 0; i < SAMPLES; i++) {
            low = isfinite(y[i]) ? fmin(low, y[i]) : low;
            high = isfinite(y[i]) ? fmax(high, y[i]) : high;
        }
        cd_bytes from = y_text(a, low);
        cd_bytes to = y_text(a, high);
        cd_chart_area_put(
            h, a,
            &(cd_chart_area){
                .s = {y, SAMPLES},
                .colour = 4,
                .label = cd_bytes_str(cd_arena_fmt(a, "Price seen at %zu moments since %s, between %.*s and %.*s", seen,
                                                   marks[v->range][0], (int)from.n, (const char *)from.p, (int)to.n,
                                                   (const char *)to.p)),
                .y = y_text,
                .x = marks[v->range],
                .x_cnt = 5,
            });
    }
    cd_html_put(h, "</div>");
}

static void quote(cd_html *h, const cd__page_view *v)
{
    if (!v->has_quote) {
        cd_html_put(h, "<section class=\"panel\">");
        cd_ui_empty(h, "No prices yet", "The first question brings one, for instance for bitcoin.", (cd_markup){0});
        cd_html_put(h, "</section>");
    } else if (cd_price_is_there(v->quote.state)) {
        cd_html_put(h, "<section class=\"panel quote\" aria-label=\"Price\">");
        quote_facts(h, v);
        quote_chart(h, v);
        cd_html_put(h, "</section>");
    }
}

/* --- cache and providers --- */

static void row(cd_html *h, const cd__page_view *v, const cd__page_row *r, const cd_ui_col *cols)
{
    cd_arena *a = v->a;
    double y[SPARK_SAMPLES];
    const cd_price *p = &r->price;
    cd_html_put(h, "<tr><td><a href=\"{}\">{}</a><span class=\"sub\">{}</span></td>",
                link_to(v, p->id, CD__RANGE_DAY, CD__USE_ONE), cd_foreign_of(name_of(p)), p->id);
    cd_html_put(h, "<td class=\"num\">{}</td><td class=\"num {}\">{}</td>", cd_fmt_price(a, p->price),
                p->change_24h >= 0.005    ? "up"
                : p->change_24h <= -0.005 ? "down"
                                          : "mut",
                cd_fmt_change(a, p->change_24h));
    cd_ui_cell(h, &cols[3]);
    (void)samples(y, SPARK_SAMPLES, v, p, DAY_S);
    cd_chart_spark(h, (cd_series){y, SPARK_SAMPLES}, p->change_24h < 0 ? 6 : 2, "Seen in 24 hours");
    cd_html_put(h, "</td><td>");
    if (r->state == CD_PRICE_STALE) {
        cd_ui_pill(h, CD_PILL_WARN, cd_bytes_str("Stale"));
    } else {
        cd_ui_pill(h, CD_PILL_OK, cd_bytes_str("Fresh"));
    }
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[5]);
    cd_html_put(h, "<span class=\"mut\">");
    cd_ui_time(h, a, stored_s(p), v->now_s);
    cd_html_put(h, "</span></td></tr>");
}

static void cache(cd_html *h, const cd__page_view *v)
{
    const char *code = cd_arena_str(v->a, upper(v->a, v->currency));
    const cd_ui_col cols[] = {
        {.name = "Token"},
        {.name = code, .flags = CD_COL_NUM},
        {.name = "24 h", .flags = CD_COL_NUM},
        {.name = "Seen", .flags = CD_COL_P2},
        {.name = "State"},
        {.name = "Stored", .flags = CD_COL_NUM | CD_COL_P2},
    };
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>In the cache</h2><div class=\"end\">{} {}, "
                "{} fresh</div></header>",
                cd_fmt_count(v->a, v->state.entries), v->state.entries == 1 ? "price" : "prices",
                cd_fmt_count(v->a, v->state.fresh));
    if (v->rows_cnt == 0) {
        cd_ui_empty(h, "Nothing in this currency", "Prices that were asked for once stand here.", (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Prices in the cache", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < v->rows_cnt; i++) {
            row(h, v, &v->rows[i], cols);
        }
        cd_ui_table_end(h);
        cd_html_put(h, "<footer><span>Asked for last first, {} of {}</span>", cd_fmt_count(v->a, v->rows_cnt),
                    cd_fmt_count(v->a, v->in_currency));
        if (v->rows_cnt < v->in_currency && !v->all) {
            cd_html_put(h, "<a class=\"push\" href=\"/?list=all&amp;currency={}\">More tokens</a>",
                        cd_url_part_of(v->currency));
        }
        cd_html_put(h, "</footer>");
    }
    cd_html_put(h, "</section>");
}

static void provider(cd_html *h, const cd__page_view *v, const cd_prices_provider_state *p)
{
    cd_arena *a = v->a;
    cd_html_put(h, "<dl class=\"kv\"><dt>Name</dt><dd>{} ", p->name);
    if (p->blocked_s != 0) {
        cd_ui_pill(h, CD_PILL_WARN, cd_bytes_str("Waiting"));
    } else if (p->failures != 0) {
        cd_ui_pill(h, CD_PILL_BAD, cd_bytes_str("Failing"));
    } else if (p->last_ok_wall_ns == 0) {
        cd_ui_pill(h, CD_PILL_NEUTRAL, cd_bytes_str("Not asked yet"));
    } else {
        cd_ui_pill(h, CD_PILL_OK, cd_bytes_str("Answering"));
    }
    cd_html_put(h, "</dd><dt>Last answer</dt><dd>");
    if (p->last_ok_wall_ns == 0) {
        cd_html_put(h, CD_FMT_NONE);
    } else {
        cd_ui_time(h, a, p->last_ok_wall_ns / CD_NS_PER_SEC, v->now_s);
        cd_html_put(h, " <span class=\"mut\">{}</span>", cd_fmt_duration(a, p->last_ms));
    }
    cd_html_put(h, "</dd><dt>Budget</dt><dd>{} of {} calls a minute left</dd><dt>Breaker</dt><dd>{} ",
                (u64)fmax(p->tokens, 0), p->rate_per_min,
                p->breaker == CD_BREAKER_CLOSED ? "closed"
                : p->breaker == CD_BREAKER_OPEN ? "open"
                                                : "trying");
    cd_html_put(h, "<span class=\"mut\">{} {} in a row</span></dd>", p->failures,
                p->failures == 1 ? "failure" : "failures");
    if (p->blocked_s != 0) {
        cd_html_put(h, "<dt>Next call</dt><dd>in {}</dd>", cd_fmt_duration(a, 1000ull * p->blocked_s));
    }
    cd_html_put(h, "<dt>Calls</dt><dd>{} <span class=\"mut\">{} failed</span></dd></dl>", cd_fmt_count(a, p->calls),
                cd_fmt_count(a, p->calls_failed));
}

static void providers(cd_html *h, const cd__page_view *v)
{
    cd_arena *a = v->a;
    const cd_prices_state *s = &v->state;
    u64 answers = s->hits + s->stales + s->misses;
    cd_html_put(h, "<section class=\"panel\"><header><h2>{}</h2></header><div class=\"body stack\">",
                v->providers_cnt == 1 ? "Provider" : "Providers");
    for (usize i = 0; i < v->providers_cnt; i++) {
        provider(h, v, &v->providers[i]);
    }
    if (v->providers_cnt == 0) {
        cd_html_put(h, "<p class=\"mut\">None: only prices that the operator set are answered.</p>");
    }
    cd_html_put(h, "<dl class=\"kv\"><dt>From cache</dt><dd>{} <span class=\"mut\">of {} answers since ",
                cd_fmt_percent(a, s->hits + s->stales, answers), cd_fmt_count(a, answers));
    cd_ui_time(h, a, s->started_wall_ns / CD_NS_PER_SEC, v->now_s);
    cd_html_put(h, "</span></dd><dt>Waiting</dt><dd>{}</dd><dt>Shared</dt><dd>{}</dd></dl></div></section>",
                cd_fmt_count(a, s->waiting), s->is_shared ? "with other instances" : "no, this instance alone");
}

/* --- how to use it --- */

/* What the route answers, with this page's price in it. */
static void example(cd_buf *out, const cd__page_view *v)
{
    cd_arena *a = v->a;
    const cd_price *p = &v->quote.price;
    cd_json_w w = {.out = out};
    cd_bytes stored = cd_fmt_iso(a, stored_s(p));
    cd_json_w_obj(&w);
    if (v->use == CD__USE_SIMPLE) {
        cd_json_w_key_str(&w, p->id);
        cd_json_w_obj(&w);
        cd_json_w_key_str(&w, p->currency);
        cd_json_w_raw(&w, cd_fmt_double(a, p->price));
        cd_json_w_obj_end(&w);
        cd_json_w_obj_end(&w);
        return;
    }
    if (v->use == CD__USE_MANY) {
        cd_json_w_key(&w, "prices");
        cd_json_w_obj(&w);
        cd_json_w_key_str(&w, p->id);
        cd_json_w_obj(&w);
    }
    const struct {
        const char *key;
        cd_bytes text;
        double number;
    } fields[] = {
        {"id", p->id, 0},
        {"symbol", p->symbol, 0},
        {"name", p->name, 0},
        {"price", {0}, p->price},
        {"currency", p->currency, 0},
        {"change_24h", {0}, p->change_24h},
        {"market_cap", {0}, p->market_cap},
        {"volume_24h", {0}, p->volume_24h},
        {"updated_at", stored, 0},
    };
    for (usize i = 0; i < CD_COUNT(fields); i++) {
        bool is_number = i == 3 || (i >= 5 && i <= 7);
        cd_json_w_key(&w, fields[i].key);
        if (is_number) {
            cd_json_w_raw(&w, cd_fmt_double(a, fields[i].number));
        } else {
            cd_json_w_str(&w, fields[i].text);
        }
    }
    cd_json_put_bool(&w, "cached", true);
    if (v->use == CD__USE_MANY) {
        cd_json_w_obj_end(&w);
        cd_json_w_obj_end(&w);
        cd_json_put_str(&w, "updated_at", cd_fmt_iso(a, v->now_s));
    }
    cd_json_w_obj_end(&w);
}

static void use_it(cd_html *h, const cd__page_view *v)
{
    cd_arena *a = v->a;
    const cd_price *p = &v->quote.price;
    const cd_ui_link uses[] = {
        {"One", link_to(v, (cd_bytes){0}, v->range, CD__USE_ONE)},
        {"Many", link_to(v, (cd_bytes){0}, v->range, CD__USE_MANY)},
        {"Simple", link_to(v, (cd_bytes){0}, v->range, CD__USE_SIMPLE)},
    };
    cd_buf json = {0};
    cd_buf curl = {0};
    cd_json doc;
    bool is_stale = v->quote.state == CD_PRICE_STALE;
    static const char *const paths[] = {"/price/", "/prices?ids=", "/simple/price?ids="};
    cd_buf_fmt(&curl, "curl 'http://%.*s%s%.*s", (int)v->host.n, (const char *)v->host.p, paths[v->use], (int)p->id.n,
               (const char *)p->id.p);
    cd_buf_fmt(&curl, "%s%.*s'",
               v->use == CD__USE_ONE    ? "?currency="
               : v->use == CD__USE_MANY ? "&currency="
                                        : "&vs_currencies=",
               (int)p->currency.n, (const char *)p->currency.p);
    cd_html_put(h, "<section class=\"panel\"><header><h2>Use it</h2><div class=\"end\">");
    cd_ui_seg(h, "Route", uses, CD_COUNT(uses), v->use);
    cd_html_put(h, "</div></header><div class=\"body cols\"><div class=\"stack\"><div>"
                   "<p class=\"mut\">No key needed, any origin allowed</p>");
    cd_ui_code(h, cd_buf_bytes(&curl), "command");
    cd_html_put(h,
                "</div><dl class=\"kv\"><dt>Freshness</dt><dd class=\"mono\">Age: {}</dd>"
                "<dt>From</dt><dd class=\"mono\">X-Cache: {}</dd>",
                p->age_s, is_stale ? "STALE" : "HIT");
    cd_html_put(h, "<dt>Caching</dt><dd class=\"mono\">Cache-Control: public, max-age=3600</dd>"
                   "<dt>Many at once</dt><dd "
                   "class=\"mono\">/prices?ids=bitcoin,ethereum</dd></dl></div><div>");
    example(&json, v);
    if (cd_json_parse(&doc, a, cd_buf_bytes(&json), 0, NULL) == CD_OK) {
        cd_json_view(h, doc);
    }
    cd_html_put(h, "</div></div></section>");
    cd_buf_fini(&json);
    cd_buf_fini(&curl);
}

void cd__page_write(cd_html *h, const cd__page_view *v)
{
    cd_buf end = {0};
    cd_html e = {.out = &end};
    bool is_there = v->has_quote && cd_price_is_there(v->quote.state);
    cd_html_put(&e, "<span class=\"opt mut\">{}</span>", v->host);
    if (v->state.is_ready || v->providers_cnt == 0) {
        cd_ui_pill(&e, CD_PILL_OK, cd_bytes_str("Ready"));
    } else {
        cd_ui_pill(&e, CD_PILL_WARN, cd_bytes_str("Not ready"));
    }
    const cd_page page = {
        .site = &site,
        .title = is_there ? join(v->a, name_of(&v->quote.price), ", price") : cd_bytes_str("Prices"),
        .bar_end = cd_markup_of(&e),
    };
    cd_page_begin(h, &page);
    cd_html_put(h, "<h1 class=\"sr\">Token prices</h1>");
    note_down(h, v);
    ask(h, v);
    if (v->has_quote) {
        note_quote(h, v);
    }
    quote(h, v);
    cd_html_put(h, "<div class=\"cols side\">");
    cache(h, v);
    providers(h, v);
    cd_html_put(h, "</div>");
    if (is_there) {
        use_it(h, v);
    }
    cd_page_end(h, &page);
    cd_buf_fini(&end);
}
