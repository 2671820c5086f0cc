/* What pages share: frame, messages, webhooks and deliveries as rows, the chart of hours; signing in. */
#include "services/webhook/pages/visit.h"

#include "base/mem/mem.h"
#include "base/table/siphash.h"
#include "web/chart.h"
#include "web/fmt.h"

#include <stdio.h>

enum { KEY_TEXT_MAX = 256, HOUR_S = 3600, SPARK_POINTS = 24 };

static const cd_page_link tabs[] = {
    {.name = "Overview", .href = "/", .key = "h"},
    {.name = "Webhooks", .href = "/webhooks", .key = "w"},
    {.name = "Dead letters", .href = "/dead-letters", .key = "d"},
    {.name = "Event catalogue", .href = "/events", .key = "e"},
    {.name = "API keys", .href = "/keys", .key = "k"},
    {.name = "Notifications", .href = "/notifications", .key = "n"},
    {.name = "Audit log", .href = "/audit", .key = "a"},
};

static const cd_page_link foot[] = {
    {.name = "OpenAPI", .href = "/openapi.json"},
    {.name = "Metrics", .href = "/metrics"},
    {.name = "Health", .href = "/v1/health"},
};

static const cd_page_site site = {
    .product = "Webhooks",
    .home = "/",
    .assets = "/assets/",
    .tabs = tabs,
    .tabs_cnt = CD_COUNT(tabs),
    .foot = foot,
    .foot_cnt = CD_COUNT(foot),
    .search_action = "/webhooks",
    .search_label = "Webhook, URL, name or address",
};

/* For those who are not signed in. */
static const cd_page_site door = {
    .product = "Webhooks",
    .home = "/",
    .assets = "/assets/",
    .foot = foot,
    .foot_cnt = CD_COUNT(foot),
};

/* What ?done= says: the same verb as the button. */
static const struct {
    const char *word, *text;
} done[] = {
    {"resumed", "Resumed. What was held is on its way."},
    {"replayed", "Queued. What is delivered again shows up below."},
    {"paused", "Paused. New matches are recorded as skipped and can be replayed."},
    {"confirmed", "The new secret is the current one."},
    {"deleted", "Deleted."},
    {"revoked", "Revoked. Calls with this key are refused within two seconds."},
    {"saved", "Saved."},
    {"none", "Nothing was chosen."},
};

/* --- frame --- */

void cd__wpage_csrf_put(cd__wpage_visit *v)
{
    cd_html_put(&v->h, "<input type=\"hidden\" name=\"csrf\" value=\"{}\">", (const char *)v->csrf);
}

void cd__wpage_page_open(cd__wpage_visit *v, cd_bytes title)
{
    static const char *const sections[] = {
#define CD_PLACE(name, method, path, tab, flags) [CD__WH_AT_##name] = tab,
#include "services/webhook/pages/places.def"
#undef CD_PLACE
    };
    bool is_in = v->account.project.id != NULL;
    cd_html b = {.out = &v->bar};
    cd_buf_clear(v->h.out);
    v->h = (cd_html){.out = v->h.out};
    cd_buf_clear(&v->bar);
    if (is_in) {
        cd_html_put(&b,
                    "<span class=\"opt\">{}</span><form method=\"post\" action=\"/sign-out\">"
                    "<input type=\"hidden\" name=\"csrf\" value=\"{}\">"
                    "<button class=\"btn s\">Sign out</button></form>"
                    "<a class=\"btn s go\" href=\"/webhooks/new\">New webhook</a>",
                    cd_foreign_of(cd_bytes_str(v->account.project.name)), (const char *)v->csrf);
    }
    v->page = (cd_page){
        .site = is_in ? &site : &door,
        .title = title,
        .tab = sections[v->place],
        .bar_end = cd_markup_of(&b),
    };
    cd_page_begin(&v->h, &v->page);
    const char *word = cd__wpage_arg(v, "done", 16);
    for (usize i = 0; i < CD_COUNT(done); i++) {
        if (strcmp(word, done[i].word) == 0) {
            cd_ui_note(&v->h, CD_NOTE_INFO, done[i].text, (cd_markup){0});
        }
    }
}

void cd__wpage_page_close(cd__wpage_visit *v)
{
    cd_page_end(&v->h, &v->page);
}

void cd__wpage_page_message(cd__wpage_visit *v, u32 status, const char *title, const char *text)
{
    cd_buf act = {0};
    cd_html b = {.out = &act};
    v->status = status;
    cd__wpage_page_open(v, cd_bytes_str(title));
    cd_html_put(&b, "<a class=\"btn\" href=\"{}\">{}</a>", v->account.project.id != NULL ? "/" : "/sign-in",
                v->account.project.id != NULL ? "Overview" : "Sign in");
    cd_html_put(&v->h, "<h1 class=\"sr\">{}</h1><section class=\"panel\">", title);
    cd_ui_empty(&v->h, title, text, cd_markup_of(&b));
    cd_html_put(&v->h, "</section>");
    cd__wpage_page_close(v);
    cd_buf_fini(&act);
}

/* --- parts --- */

void cd__wpage_put_status(cd__wpage_visit *v, const cd_wh_hook *hook)
{
    static const cd_pill kinds[] = {
        [CD_WH_ACTIVE] = CD_PILL_OK, [CD_WH_PAUSED] = CD_PILL_BAD, [CD_WH_DISABLED] = CD_PILL_NEUTRAL};
    static const char *const words[][3] = {
        [CD_WH_A] = {"Enabled", "Disabled", "Disabled"},
        [CD_WH_B] = {"Active", "Paused", "Disabled"},
        [CD_WH_C] = {"Active", "Inactive", "Inactive"},
    };
    bool is_stopped = hook->status != CD_WH_ACTIVE && hook->failures != 0;
    cd_pill kind = is_stopped                                            ? CD_PILL_BAD
                   : hook->status == CD_WH_ACTIVE && hook->failures != 0 ? CD_PILL_WARN
                                                                         : kinds[hook->status];
    /* Its receiver does not take what it gets, so far. */
    cd_ui_pill(&v->h, kind, cd_bytes_str(kind == CD_PILL_WARN ? "Retrying" : words[hook->face][hook->status]));
}

void cd__wpage_put_state(cd__wpage_visit *v, cd_wh_state s)
{
    static const struct {
        const char *word;
        cd_pill kind;
    } states[] = {
        [CD_WH_PENDING] = {"Waiting", CD_PILL_NEUTRAL},     [CD_WH_DELIVERING] = {"Delivering", CD_PILL_LIVE},
        [CD_WH_DELIVERED] = {"Delivered", CD_PILL_OK},      [CD_WH_RETRYING] = {"Retrying", CD_PILL_WARN},
        [CD_WH_FAILED] = {"Failed", CD_PILL_BAD},           [CD_WH_HELD] = {"Held", CD_PILL_WARN},
        [CD_WH_SKIPPED] = {"Skipped", CD_PILL_NEUTRAL},     [CD_WH_QUOTA_EXCEEDED] = {"Over quota", CD_PILL_BAD},
        [CD_WH_CANCELLED] = {"Cancelled", CD_PILL_NEUTRAL},
    };
    cd_ui_pill(&v->h, states[s].kind, cd_bytes_str(states[s].word));
}

void cd__wpage_put_types(cd__wpage_visit *v, u32 types)
{
    bool is_first = true;
    for (u32 t = 0; t < CD_WH_NOTICE_END; t++) {
        if ((types & 1u << t) != 0) {
            cd_html_put(&v->h, "{}", is_first ? "" : " ");
            cd_ui_tag(&v->h, cd_foreign_of(cd_bytes_str(cd_wh_type_name((cd_wh_type)t))));
            is_first = false;
        }
    }
}

/* Host, and path below it; the query is left out for keys that may only read. */
void cd__wpage_put_receiver(cd__wpage_visit *v, const cd_wh_hook *hook)
{
    cd_bytes url = cd_bytes_str(hook->url);
    const char *colon = strstr(hook->url, "://");
    usize begin = colon == NULL ? 0 : (usize)(colon - hook->url) + 3;
    usize end = begin + strcspn(hook->url + begin, "/?");
    usize stop = v->account.key.may_write ? url.n : strcspn(hook->url, "?");
    cd_html_put(
        &v->h, "<a href=\"/webhooks/{}\">{}</a>", cd_url_part_of(cd_bytes_str(hook->id)),
        cd_foreign_of(hook->name[0] != '\0' ? cd_bytes_str(hook->name) : cd_bytes_sub(url, begin, end - begin)));
    cd_bytes rest = hook->name[0] != '\0' ? cd_bytes_sub(url, begin, stop - begin)
                                          : cd_bytes_sub(url, end, stop > end ? stop - end : 0);
    cd_html_put(&v->h, "<span class=\"sub mono\">{}</span>", cd_foreign_of(rest.n == 0 ? cd_bytes_str("/") : rest));
}

cd_wh_stat cd__wpage_stat_sum(const cd_wh_stat *list, usize cnt)
{
    cd_wh_stat all = {0};
    for (usize i = 0; i < cnt; i++) {
        all.attempts += list[i].attempts;
        all.delivered += list[i].delivered;
        all.failed += list[i].failed;
        all.retried += list[i].retried;
        for (usize k = 0; k < CD_WH_BUCKETS; k++) {
            all.latency[k] += list[i].latency[k];
        }
    }
    return all;
}

/* --- the chart --- */

static const cd__wpage_span spans[] = {
    {.word = "24h", .short_name = "24 h", .name = "24 hours", .hours = 24, .per_bar = 1},
    {.word = "7d", .short_name = "7 d", .name = "7 days", .hours = 168, .per_bar = 6},
    {.word = "30d", .short_name = "30 d", .name = "30 days", .hours = 720, .per_bar = 24},
};

const cd__wpage_span *cd__wpage_span_of(cd__wpage_visit *v)
{
    const char *word = cd__wpage_arg(v, "span", 8);
    for (usize i = 1; i < CD_COUNT(spans); i++) {
        if (strcmp(word, spans[i].word) == 0) {
            return &spans[i];
        }
    }
    return &spans[0];
}

void cd__wpage_put_spans(cd__wpage_visit *v, const char *path)
{
    cd_ui_link links[CD_COUNT(spans)];
    for (usize i = 0; i < CD_COUNT(spans); i++) {
        links[i] =
            (cd_ui_link){.name = spans[i].short_name,
                         .href = cd_bytes_str(cd_arena_fmt(&v->mem, "%s%sspan=%s", path,
                                                           strchr(path, '?') == NULL ? "?" : "&", spans[i].word))};
    }
    cd_ui_seg(&v->h, "Time range", links, CD_COUNT(spans), (usize)(cd__wpage_span_of(v) - spans));
}

/* Bars end with the current hour, six hours or day. */
static u64 first_hour(const cd__wpage_visit *v, const cd__wpage_span *span)
{
    u64 end = (v->now_s / HOUR_S / span->per_bar + 1) * span->per_bar;
    return end - span->hours;
}

cd_err cd__wpage_span_stats(cd__wpage_visit *v, cd_wh_store *s, cd_wh_stat **out, usize *cnt, i64 hook, cd_errinfo *why)
{
    return cd_wh_stats(s, out, cnt, &v->mem, hook, v->account.project.id, first_hour(v, cd__wpage_span_of(v)), why);
}

/* The hours of one bar as one. */
static cd_wh_stat bar_of(const cd_wh_stat *list, usize cnt, u64 from, u32 hours)
{
    cd_wh_stat sum = {0};
    for (usize i = 0; i < cnt; i++) {
        if (list[i].hour >= from && list[i].hour < from + hours) {
            sum.delivered += list[i].delivered;
            sum.retried += list[i].retried;
            sum.failed += list[i].failed;
        }
    }
    return sum;
}

/* "06:00", or "11-21" where bars are longer. */
static const char *bar_name(cd__wpage_visit *v, const cd__wpage_span *span, u64 hour)
{
    char text[CD_TIME_TEXT_LEN];
    cd_time_fmt(text, hour * HOUR_S * CD_NS_PER_SEC);
    return span->per_bar == 1   ? cd_arena_fmt(&v->mem, "%.5s", text + 11)
           : span->per_bar < 24 ? cd_arena_fmt(&v->mem, "%.5s %.5s", text + 5, text + 11)
                                : cd_arena_fmt(&v->mem, "%.5s", text + 5);
}

void cd__wpage_put_chart(cd__wpage_visit *v, const cd_wh_stat *list, usize cnt)
{
    const cd__wpage_span *span = cd__wpage_span_of(v);
    u32 bars_cnt = span->hours / span->per_bar;
    cd_bar *bars = cd_arena_array(&v->mem, cd_bar, bars_cnt);
    u64 first = first_hour(v, span);
    double tops[2] = {0, 1};
    for (u32 i = 0; i < bars_cnt; i++) {
        u64 from = first + (u64)i * span->per_bar;
        cd_wh_stat st = bar_of(list, cnt, from, span->per_bar);
        bars[i] = (cd_bar){
            .part = {(double)st.delivered, (double)st.retried, (double)st.failed},
            .colour = {1, 4, 6},
            .title = cd_bytes_str(cd_arena_fmt(&v->mem, "%s: %llu delivered, %llu to be tried again, %llu given up",
                                               bar_name(v, span, from), (unsigned long long)st.delivered,
                                               (unsigned long long)st.retried, (unsigned long long)st.failed)),
        };
        double sum = bars[i].part[0] + bars[i].part[1] + bars[i].part[2];
        tops[1] = sum > tops[1] ? sum : tops[1];
    }
    cd_axis axis = cd_axis_around((cd_series){.v = tops, .cnt = 2}, true);
    cd_wh_stat all = cd__wpage_stat_sum(list, cnt);
    cd_html_put(&v->h, "<div class=\"chart\"><div class=\"y\" aria-hidden=\"true\">");
    for (u32 i = 0; i <= axis.steps; i++) {
        double at = axis.high - (axis.high - axis.low) * i / axis.steps;
        u64 whole = (u64)(at < 0 ? 0 : at);
        bool is_whole = (double)whole >= at; // half a delivery has no name
        cd_html_put(&v->h, "<span>{}</span>", is_whole ? cd_fmt_count(&v->mem, whole) : (cd_bytes){0});
    }
    cd_html_put(&v->h, "</div>");
    cd_chart_bars(&v->h, bars, bars_cnt, bars_cnt, axis.high,
                  cd_arena_fmt(&v->mem, "%llu delivered and %llu failed in %s", (unsigned long long)all.delivered,
                               (unsigned long long)all.failed, span->name));
    cd_html_put(&v->h, "<div class=\"x\" aria-hidden=\"true\">");
    for (u32 i = 0; i < 4; i++) {
        u64 at = first + (u64)(i * (bars_cnt / 4)) * span->per_bar;
        cd_html_put(&v->h, "<span>{}</span>", cd_bytes_sub(cd_bytes_str(bar_name(v, span, at)), 0, 5));
    }
    cd_html_put(&v->h, "<span>now</span></div></div>");
}

/* --- rows --- */

static void put_spark(cd__wpage_visit *v, const cd_wh_stat *list, usize cnt, bool is_bad)
{
    const cd__wpage_span *span = cd__wpage_span_of(v);
    double values[SPARK_POINTS];
    u32 per = span->hours / SPARK_POINTS;
    u64 first = first_hour(v, span);
    for (u32 i = 0; i < SPARK_POINTS; i++) {
        values[i] = (double)bar_of(list, cnt, first + (u64)i * per, per).delivered;
    }
    cd_chart_spark(&v->h, (cd_series){.v = values, .cnt = SPARK_POINTS}, is_bad ? 6 : 1,
                   cd_arena_fmt(&v->mem, "Deliveries in %s", span->name));
}

cd_err cd__wpage_put_hooks(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_hook *hooks, usize cnt, bool choose,
                           cd_errinfo *why)
{
    const cd_ui_col cols[] = {
        {.name = "Receiver", .flags = CD_COL_FILL},
        {.name = "Event", .flags = CD_COL_P2},
        {.name = "Status"},
        {.name = cd__wpage_span_of(v)->short_name, .flags = CD_COL_P2},
        {.name = "Success", .flags = CD_COL_NUM},
        {.name = "Median", .flags = CD_COL_NUM | CD_COL_P3},
        {.name = "p95", .flags = CD_COL_NUM | CD_COL_P2},
        {.name = "Last", .flags = CD_COL_NUM | CD_COL_P3},
    };
    static const u32 percents[] = {50, 95};
    cd_html *h = &v->h;
    cd_ui_table_begin(h, "Webhooks", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        const cd_wh_hook *hook = &hooks[i];
        cd_wh_stat *list;
        usize n;
        CD_TRY(cd__wpage_span_stats(v, s, &list, &n, hook->key, why));
        cd_wh_stat all = cd__wpage_stat_sum(list, n);
        cd_html_put(h, "<tr>");
        cd_ui_cell(h, &cols[0]);
        if (choose) {
            cd_html_put(h,
                        "<div class=\"pick\"><label><input type=\"checkbox\" name=\"id\" "
                        "value=\"{}\"><span class=\"sr\">Choose {}</span></label><div>",
                        hook->id, hook->id);
        }
        cd__wpage_put_receiver(v, hook);
        if (choose) {
            cd_html_put(h, "</div></div>");
        }
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[1]);
        cd__wpage_put_types(v, hook->types);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[2]);
        cd__wpage_put_status(v, hook);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[3]);
        put_spark(v, list, n, hook->status != CD_WH_ACTIVE);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[4]);
        cd_html_put(h, "{}</td>", cd_fmt_percent(&v->mem, all.delivered, all.delivered + all.failed));
        for (usize k = 0; k < CD_COUNT(percents); k++) {
            cd_ui_cell(h, &cols[5 + k]);
            cd_html_put(h, "{}</td>",
                        all.attempts == 0 ? cd_bytes_str(CD_FMT_NONE)
                                          : cd_fmt_duration(&v->mem, cd_wh_stat_percentile(&all, percents[k])));
        }
        cd_ui_cell(h, &cols[7]);
        if (hook->last_ms != 0) {
            cd_ui_time(h, &v->mem, hook->last_ms / 1000, v->now_s);
        } else {
            cd_html_put(h, CD_FMT_NONE);
        }
        cd_html_put(h, "</td></tr>");
    }
    cd_ui_table_end(h);
    return CD_OK;
}

static void put_last(cd__wpage_visit *v, const cd_wh_attempt *a)
{
    if (a == NULL) {
        cd_html_put(&v->h, CD_FMT_NONE);
    } else if (a->status != 0) {
        cd_html_put(&v->h, "<span class=\"{}\">{}</span>", a->status / 100 == 2 ? "mono up" : "mono down", a->status);
    } else {
        cd_html_put(&v->h, "<span class=\"mono down\">{}</span>", a->error);
    }
}

cd_err cd__wpage_put_deliveries(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_delivery *list, usize cnt,
                                const cd_wh_hook *hook, bool choose, cd_errinfo *why)
{
    static const cd_ui_col cols[] = {
        {.name = "Event", .flags = CD_COL_FILL},
        {.name = "Type", .flags = CD_COL_P2},
        {.name = "State"},
        {.name = "Answer", .flags = CD_COL_P2},
        {.name = "Attempts", .flags = CD_COL_NUM | CD_COL_P3},
        {.name = "Block", .flags = CD_COL_NUM | CD_COL_P3},
        {.name = "Sequence", .flags = CD_COL_NUM | CD_COL_P2},
        {.name = "When", .flags = CD_COL_NUM},
    };
    cd_html *h = &v->h;
    cd_ui_table_begin(h, "Deliveries", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        const cd_wh_delivery *d = &list[i];
        cd_wh_delivery whole;
        cd_wh_attempt *attempts;
        usize n;
        cd_wh_hook own;
        const cd_wh_hook *at = hook;
        if (at == NULL) {
            CD_TRY(cd_wh_hook_by_key(s, &own, &v->mem, d->hook, false, why));
            at = &own;
        }
        CD_TRY(cd_wh_delivery_get(s, &whole, &attempts, &n, &v->mem, d->hook, d->key, why));
        cd_html_put(h, "<tr>");
        cd_ui_cell(h, &cols[0]);
        if (choose) {
            cd_html_put(h,
                        "<div class=\"pick\"><label><input type=\"checkbox\" name=\"d{}\" "
                        "value=\"{}\"><span class=\"sr\">Choose {}</span></label><div>",
                        (u64)d->key, at->id, (const char *)d->event.id);
        }
        cd_html_put(h, "<a class=\"mono\" href=\"/webhooks/{}/deliveries/{}\">{}</a>",
                    cd_url_part_of(cd_bytes_str(at->id)), (u64)d->key, (const char *)d->event.id);
        if (hook == NULL) {
            cd_html_put(h, "<span class=\"sub\">{}</span>",
                        cd_foreign_of(cd_bytes_str(at->name[0] != '\0' ? at->name : at->url)));
        }
        if (choose) {
            cd_html_put(h, "</div></div>");
        }
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[1]);
        cd__wpage_put_types(v, 1u << d->event.type);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[2]);
        cd__wpage_put_state(v, d->state);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[3]);
        put_last(v, n == 0 ? NULL : &attempts[n - 1]);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[4]);
        cd_html_put(h, "{}</td>", d->attempts);
        cd_ui_cell(h, &cols[5]);
        cd_html_put(h, "{}</td>",
                    d->event.block == 0 ? cd_bytes_str(CD_FMT_NONE) : cd_fmt_count(&v->mem, d->event.block));
        cd_ui_cell(h, &cols[6]);
        if (d->is_test) {
            cd_html_put(h, "test</td>");
        } else {
            cd_html_put(h, "{}</td>", cd_fmt_count(&v->mem, d->sequence));
        }
        cd_ui_cell(h, &cols[7]);
        cd_ui_time(h, &v->mem, d->created_ms / 1000, v->now_s);
        cd_html_put(h, "</td></tr>");
    }
    cd_ui_table_end(h);
    return CD_OK;
}

cd_err cd__wpage_hook_find(cd__wpage_visit *v, cd_wh_store *s, bool with_lists, cd_errinfo *why)
{
    return cd_wh_hook_get(s, &v->hook, &v->mem, v->account.project.id, v->id, with_lists, why);
}

/* --- the live tail --- */

static u64 topic_of(const char *project)
{
    static const cd_sipkey key = {.k0 = 0x7461696c, .k1 = 1};
    return cd_siphash13(key, cd_bytes_str(project));
}

static bool wants(const void *ctx, u64 topic)
{
    return *(const u64 *)ctx == topic;
}

static bool live_begin(cd__wpage_visit *v)
{
    u64 *topic = cd_new(u64);
    *topic = topic_of(v->account.project.id);
    cd_http_req *r = v->req;
    cd_wh_pages *p = v->pages;
    cd_list_del(&v->link);
    cd_buf_fini(&v->bar);
    cd_arena_fini(&v->mem);
    cd_free(v);
    if (!cd_sse_listen(p->tail, r, wants, topic)) {
        cd_free(topic);
        cd_http_reply_error(r, 503, "too many watch already");
    }
    return false;
}

const cd__wpage_page_steps cd__wpage_at_LIVE = {.begin = live_begin};

void cd_wh_pages_attempt(cd_wh_pages *p, const cd_wh_hook *hook, const cd_wh_delivery *d, const cd_wh_attempt *a,
                         cd_wh_state state)
{
    if (cd_sse_cnt(p->tail) == 0) {
        return;
    }
    char clock[CD_TIME_TEXT_LEN];
    cd_buf row = {0};
    cd_buf event = {0};
    cd_html h = {.out = &row};
    (void)state;
    cd_time_fmt(clock, a->at_ms * CD_NS_PER_MS);
    cd_html_put(&h, "<tr><td class=\"mut mono\">{}</td>", cd_bytes_of(clock + 11, 8));
    if (a->status != 0) {
        cd_html_put(&h, "<td class=\"{}\">{}</td>", a->status / 100 == 2 ? "mono up" : "mono down", a->status);
    } else {
        cd_html_put(&h, "<td class=\"mono down\">{}</td>", a->error);
    }
    cd_html_put(&h,
                "<td><a href=\"/webhooks/{}/deliveries/{}\">{}</a></td><td class=\"num mut\">{} "
                "ms</td></tr>",
                cd_url_part_of(cd_bytes_str(hook->id)), (u64)d->key, cd_wh_type_name(d->event.type), a->ms);
    cd_json_w w = {.out = &event};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "html");
    cd_json_w_str(&w, cd_buf_bytes(&row));
    cd_json_w_obj_end(&w);
    cd_sse_send(p->tail, topic_of(hook->project), "", cd_buf_bytes(&event));
    cd_buf_fini(&row);
    cd_buf_fini(&event);
}

/* --- signing in --- */

static void put_sign_in(cd__wpage_visit *v, const char *problem)
{
    cd__wpage_page_open(v, cd_bytes_str("Sign in"));
    cd_html_put(&v->h, "<section class=\"panel narrow\"><header><h1>Sign in</h1></header>"
                       "<div class=\"body stack\">");
    if (problem != NULL) {
        cd_ui_note(&v->h, CD_NOTE_BAD, problem, (cd_markup){0});
    }
    cd_html_put(&v->h, "<p>Use an API key of your project. An operator makes one with "
                       "<code class=\"mono\">candela-webhooks keys create</code>.</p>"
                       "<form class=\"stack\" method=\"post\" action=\"/sign-in\">");
    cd__wpage_csrf_put(v);
    cd_html_put(&v->h, "<label>API key<input class=\"field\" name=\"key\" "
                       "type=\"password\" autocomplete=\"current-password\" required maxlength=\"256\" "
                       "placeholder=\"sk_…\"></label><div><button class=\"btn go\">Sign in</button></div>"
                       "</form></div></section>");
    cd__wpage_page_close(v);
}

static bool sign_in_begin(cd__wpage_visit *v)
{
    cd__wpage_sign_in(v, (cd_bytes){0});
    put_sign_in(v, NULL);
    return true;
}

const cd__wpage_page_steps cd__wpage_at_SIGN_IN = {.begin = sign_in_begin};

static void on_key(void *arg, const cd_wh_account *found, cd_err err)
{
    cd__wpage_visit *v = arg;
    if (found == NULL && err != CD_ENOENT) {
        cd__wpage_store_gone(v, err);
    } else if (found == NULL) {
        v->status = 401;
        put_sign_in(v, "This key is not valid, was revoked, or has expired");
    } else {
        cd__wpage_sign_in(v, cd_bytes_str(cd__wpage_field(v, "key", KEY_TEXT_MAX)));
        v->to = "/";
    }
    cd__wpage_visit_end(v);
}

static bool do_sign_in_begin(cd__wpage_visit *v)
{
    cd_wh_api_account(v->pages->cfg.api, cd_bytes_str(cd__wpage_field(v, "key", KEY_TEXT_MAX)), on_key, v);
    return false;
}

const cd__wpage_page_steps cd__wpage_at_DO_SIGN_IN = {.begin = do_sign_in_begin};

static bool do_sign_out_begin(cd__wpage_visit *v)
{
    cd__wpage_sign_in(v, (cd_bytes){0});
    v->to = "/sign-in";
    return true;
}

static cd_err do_sign_out_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    return cd__wpage_session_end(v, s, why);
}

const cd__wpage_page_steps cd__wpage_at_DO_SIGN_OUT = {.begin = do_sign_out_begin, .run = do_sign_out_run};
