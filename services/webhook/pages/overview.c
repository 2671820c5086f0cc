/* The first page: trouble with its remedy, figures, the last day, webhooks that need a look first. And the list. */
#include "services/webhook/api/mask.h"
#include "services/webhook/pages/visit.h"

#include "base/hex.h"
#include "base/num_text.h"
#include "web/chart.h"
#include "web/fmt.h"

enum { ROWS = 12, PAGE_ROWS = 25, TAIL_ROWS = 5, TROUBLE_MAX = 3 };

/* --- trouble --- */

static cd_err put_trouble(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_hook *hooks, usize cnt, cd_errinfo *why)
{
    usize told = 0;
    for (usize i = 0; i < cnt && told < TROUBLE_MAX; i++) {
        const cd_wh_hook *hook = &hooks[i];
        if (hook->status == CD_WH_ACTIVE || hook->failures == 0) {
            continue;
        }
        const cd_wh_delivery_query q = {.hook = hook->key, .states = 1u << CD_WH_SKIPPED, .limit = 1000};
        cd_wh_delivery *list;
        usize skipped;
        CD_TRY(cd_wh_delivery_list(s, &list, &skipped, &v->mem, &q, why));
        cd_buf text = {0};
        cd_html b = {.out = &text};
        cd_html_put(&b,
                    "{}{} events were skipped since and can be replayed.<form class=\"row\" "
                    "method=\"post\" action=\"/webhooks/{}/status\"><input type=\"hidden\" "
                    "name=\"csrf\" value=\"{}\"><input type=\"hidden\" name=\"on\" value=\"1\">"
                    "<a class=\"btn s\" href=\"/webhooks/{}\">See attempts</a>"
                    "<button class=\"btn s go\" name=\"replay\" value=\"skipped\">"
                    "Resume and replay</button></form>",
                    skipped == 1000 ? "More than " : "", cd_fmt_count(&v->mem, skipped),
                    cd_url_part_of(cd_bytes_str(hook->id)), (const char *)v->csrf,
                    cd_url_part_of(cd_bytes_str(hook->id)));
        cd_bytes title = cd_bytes_str(cd_arena_fmt(
            &v->mem, "%.80s is %s", hook->name[0] != '\0' ? hook->name : cd_wh_mask_url(&v->mem, hook->url),
            cd_wh_status_name(hook->face, hook->status)));
        cd_ui_note(&v->h, CD_NOTE_BAD, (const char *)title.p, cd_markup_of(&b));
        cd_buf_fini(&text);
        told++;
    }
    return CD_OK;
}

/* --- figures --- */

#define TEXT_OF(v, ...) cd_bytes_str(cd_arena_fmt(&(v)->mem, __VA_ARGS__))

static cd_err put_figures(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_hook *hooks, usize cnt, const cd_wh_stat *all,
                          cd_errinfo *why)
{
    const cd_wh_project *p = &v->account.project;
    const cd_wh_tier *tier = cd_wh_tier_of(p->tier);
    const cd_wh_engine *e = v->pages->cfg.engine;
    u64 active = 0;
    cd_wh_backlog backlog;
    cd_wh_head head = {0};
    cd_ui_fig figs[6];
    usize n = 0;
    for (usize i = 0; i < cnt; i++) {
        active += hooks[i].status == CD_WH_ACTIVE;
    }
    CD_TRY(cd_wh_backlog_of(s, &backlog, v->account.project.id, v->now_s * 1000, why));
    figs[n++] = (cd_ui_fig){
        .label = "Webhooks",
        .value = cd_fmt_count(&v->mem, cnt),
        .unit = cd_arena_fmt(&v->mem, " of %u", tier->webhooks),
        .sub = TEXT_OF(v, "%llu active, %llu not", (unsigned long long)active, (unsigned long long)(cnt - active))};
    figs[n++] = (cd_ui_fig){.label = cd_arena_fmt(&v->mem, "Success, %s", cd__wpage_span_of(v)->short_name),
                            .value = cd_fmt_percent(&v->mem, all->delivered, all->delivered + all->failed),
                            .unit = "",
                            .sub = TEXT_OF(v, "%llu delivered, %llu failed", (unsigned long long)all->delivered,
                                           (unsigned long long)all->failed)};
    figs[n++] = (cd_ui_fig){.label = "Answer time, median",
                            .value = all->attempts == 0 ? cd_bytes_str(CD_FMT_NONE)
                                                        : cd_fmt_duration(&v->mem, cd_wh_stat_percentile(all, 50)),
                            .unit = "",
                            .sub = TEXT_OF(v, "p95 below %llu ms", (unsigned long long)cd_wh_stat_percentile(all, 95))};
    figs[n++] = (cd_ui_fig){.label = "Waiting now",
                            .value = cd_fmt_count(&v->mem, backlog.waiting),
                            .unit = "",
                            .sub = backlog.overdue_ms == 0
                                       ? TEXT_OF(v, "%llu being delivered", (unsigned long long)backlog.in_hand)
                                       : TEXT_OF(v, "oldest due %llu ms ago", (unsigned long long)backlog.overdue_ms)};
    if (e->head(e->ctx, &head, 0)) {
        figs[n++] =
            (cd_ui_fig){.label = "Behind the chain",
                        .value = cd_fmt_count(&v->mem, head.lag),
                        .unit = " blocks",
                        .sub = head.is_connected ? TEXT_OF(v, "last block %llu", (unsigned long long)head.height)
                                                 : cd_bytes_str("the node does not answer")};
    }
    if (p->quota_period != CD_WH_NO_QUOTA) {
        u64 used;
        CD_TRY(cd_wh_usage(s, &used, p->id, v->now_s * 1000, why));
        figs[n++] = (cd_ui_fig){.label = p->quota_period == CD_WH_PER_DAY ? "Quota today" : "Quota this month",
                                .value = cd_fmt_count(&v->mem, used),
                                .unit = cd_arena_fmt(&v->mem, " of %llu", (unsigned long long)p->quota),
                                .sub = cd_fmt_percent(&v->mem, used, p->quota)};
    }
    cd_ui_figs(&v->h, figs, n);
    return CD_OK;
}

/* --- the tail --- */

static cd_err put_tail(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    static const cd_ui_col cols[] = {
        {.name = "At"}, {.name = "Answer"}, {.name = "Event"}, {.name = "Took", .flags = CD_COL_NUM}};
    const cd_wh_delivery_query q = {.project = v->account.project.id,
                                    .states = 1u << CD_WH_DELIVERED | 1u << CD_WH_RETRYING | 1u << CD_WH_FAILED,
                                    .limit = TAIL_ROWS};
    cd_wh_delivery *list;
    usize cnt;
    CD_TRY(cd_wh_delivery_list(s, &list, &cnt, &v->mem, &q, why));
    cd_html_put(&v->h, "<section class=\"panel tail\"><header><h2>Tail</h2><div class=\"end\">");
    cd_ui_pill(&v->h, CD_PILL_LIVE, cd_bytes_str("Live"));
    cd_html_put(&v->h, "</div></header>");
    cd_ui_table_begin(&v->h, "Latest attempts", cols, CD_COUNT(cols), NULL, "/live");
    for (usize i = 0; i < cnt; i++) {
        cd_wh_delivery d;
        cd_wh_attempt *attempts;
        cd_wh_hook hook;
        usize n;
        char clock[CD_TIME_TEXT_LEN];
        CD_TRY(cd_wh_delivery_get(s, &d, &attempts, &n, &v->mem, list[i].hook, list[i].key, why));
        cd_err err = cd_wh_hook_by_key(s, &hook, &v->mem, d.hook, false, why);
        if (n == 0 || err == CD_ENOENT) {
            continue;
        }
        CD_TRY(err);
        const cd_wh_attempt *a = &attempts[n - 1];
        cd_time_fmt(clock, a->at_ms * CD_NS_PER_MS);
        cd_html_put(&v->h, "<tr><td class=\"mut mono\">{}</td>", cd_bytes_of(clock + 11, 8));
        if (a->status != 0) {
            cd_html_put(&v->h, "<td class=\"{}\">{}</td>", a->status / 100 == 2 ? "mono up" : "mono down", a->status);
        } else {
            cd_html_put(&v->h, "<td class=\"mono down\">{}</td>", a->error);
        }
        cd_html_put(&v->h,
                    "<td><a href=\"/webhooks/{}/deliveries/{}\">{}</a></td>"
                    "<td class=\"num mut\">{} ms</td></tr>",
                    cd_url_part_of(cd_bytes_str(hook.id)), (u64)d.key, cd_wh_type_name(d.event.type), a->ms);
    }
    cd_ui_table_end(&v->h);
    cd_html_put(&v->h, "</section>");
    return CD_OK;
}

static void put_none(cd__wpage_visit *v)
{
    cd_buf act = {0};
    cd_html b = {.out = &act};
    cd_html_put(&b, "<a class=\"btn go\" href=\"/webhooks/new\">New webhook</a>");
    cd_ui_empty(&v->h, "No webhooks", "What the chain does is told to each webhook whose filter fits.",
                cd_markup_of(&b));
    cd_buf_fini(&act);
}

/* Those that are not well stand first. */
static usize by_trouble(cd__wpage_visit *v, cd_wh_hook **out, const cd_wh_hook *hooks, usize cnt)
{
    cd_wh_hook *sorted = cd_arena_array(&v->mem, cd_wh_hook, cnt);
    usize n = 0;
    for (u32 pass = 0; pass < 2; pass++) {
        for (usize i = 0; i < cnt; i++) {
            bool is_trouble = hooks[i].failures != 0;
            if (is_trouble == (pass == 0)) {
                sorted[n++] = hooks[i];
            }
        }
    }
    *out = sorted;
    return n < ROWS ? n : ROWS;
}

static cd_err overview_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    const cd_wh_hook_query q = {.project = v->account.project.id, .status = -1, .limit = 1000};
    cd_wh_hook *hooks;
    cd_wh_hook *first;
    cd_wh_stat *stats;
    usize cnt;
    usize stats_cnt;
    CD_TRY(cd_wh_hook_list(s, &hooks, &cnt, NULL, &v->mem, &q, why));
    CD_TRY(cd__wpage_span_stats(v, s, &stats, &stats_cnt, 0, why));
    cd_wh_stat all = cd__wpage_stat_sum(stats, stats_cnt);
    cd__wpage_page_open(v, cd_bytes_str("Overview"));
    cd_html_put(&v->h, "<div class=\"head\"><h1 class=\"grow\">Overview</h1>");
    cd__wpage_put_spans(v, "/");
    cd_html_put(&v->h, "</div>");
    CD_TRY(put_trouble(v, s, hooks, cnt, why));
    CD_TRY(put_figures(v, s, hooks, cnt, &all, why));
    cd_html_put(&v->h,
                "<div class=\"cols side\"><section class=\"panel\"><header><h2>Deliveries, "
                "last {}</h2><div class=\"end\"><ul class=\"legend\">"
                "<li><svg viewBox=\"0 0 10 10\" width=\"10\" height=\"10\" aria-hidden=\"true\">"
                "<rect class=\"f1\" width=\"10\" height=\"10\"/></svg>delivered</li>"
                "<li><svg viewBox=\"0 0 10 10\" width=\"10\" height=\"10\" aria-hidden=\"true\">"
                "<rect class=\"f4\" width=\"10\" height=\"10\"/></svg>to be tried again</li>"
                "<li><svg viewBox=\"0 0 10 10\" width=\"10\" height=\"10\" aria-hidden=\"true\">"
                "<rect class=\"f6\" width=\"10\" height=\"10\"/></svg>given up</li></ul></div>"
                "</header><div class=\"body\">",
                cd__wpage_span_of(v)->name);
    cd__wpage_put_chart(v, stats, stats_cnt);
    cd_html_put(&v->h, "</div></section>");
    CD_TRY(put_tail(v, s, why));
    cd_html_put(&v->h, "</div><section class=\"panel\"><header><h2>Webhooks</h2></header>");
    if (cnt == 0) {
        put_none(v);
    } else {
        usize shown = by_trouble(v, &first, hooks, cnt);
        CD_TRY(cd__wpage_put_hooks(v, s, first, shown, false, why));
        cd_html_put(&v->h,
                    "<footer><span>{} of {}, trouble first</span>"
                    "<a class=\"push\" href=\"/webhooks\">All webhooks</a></footer>",
                    (u64)shown, (u64)cnt);
    }
    cd_html_put(&v->h, "</section>");
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_OVERVIEW = {.run = overview_run};

/* --- the list --- */

static void put_option(cd__wpage_visit *v, const char *value, const char *text, bool is_chosen)
{
    if (is_chosen) {
        cd_html_put(&v->h, "<option value=\"{}\" selected>{}</option>", value, text);
    } else {
        cd_html_put(&v->h, "<option value=\"{}\">{}</option>", value, text);
    }
}

/* "0x" and 40 digits. */
static bool is_address(cd_addr20 *out, const char *text)
{
    return strlen(text) == 42 && text[0] == '0' && (text[1] | 0x20) == 'x' &&
           cd_hex_parse(out->b, cd_bytes_of(text + 2, 40)) == CD_OK;
}

static void put_filters(cd__wpage_visit *v, const char *q, const char *status, const char *type)
{
    cd_wh_face face = v->account.project.face;
    const char *last = "";
    cd_html_put(&v->h,
                "<form class=\"row\" action=\"/webhooks\"><input type=\"hidden\" name=\"span\" "
                "value=\"{}\"><label class=\"sr\" for=\"f\">Filter</label>"
                "<input class=\"field\" id=\"f\" name=\"q\" type=\"search\" value=\"{}\" "
                "placeholder=\"Name, URL, id or address\"><label class=\"sr\" for=\"st\">Status</label>"
                "<select class=\"field\" id=\"st\" name=\"status\">",
                cd__wpage_span_of(v)->word, q);
    put_option(v, "", "Any status", status[0] == '\0');
    for (u32 i = 0; i <= CD_WH_DISABLED; i++) {
        const char *name = cd_wh_status_name(face, (cd_wh_status)i);
        if (strcmp(name, last) != 0) {
            put_option(v, name, name, strcmp(name, status) == 0);
        }
        last = name;
    }
    cd_html_put(&v->h, "</select><label class=\"sr\" for=\"ty\">Event type</label>"
                       "<select class=\"field\" id=\"ty\" name=\"type\">");
    put_option(v, "", "Any event", type[0] == '\0');
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        const char *name = cd_wh_type_name((cd_wh_type)t);
        if (cd_wh_type_face((cd_wh_type)t) == face) {
            put_option(v, name, name, strcmp(name, type) == 0);
        }
    }
    cd_html_put(&v->h, "</select><button class=\"btn\">Filter</button></form>");
}

/* The list with its filters. */
static const char *list_path(cd__wpage_visit *v, const char *q, const char *status, const char *type)
{
    cd_buf out = {0};
    cd_buf_str(&out, "/webhooks?q=");
    cd_url_part_enc(&out, cd_bytes_str(q));
    cd_buf_fmt(&out, "&status=%s&type=%s", status, type);
    const char *text = cd_arena_str(&v->mem, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return text;
}

/* Rows of which some can be chosen by those who may change them. */
static cd_err put_chosen(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_hook *hooks, usize cnt, cd_errinfo *why)
{
    if (!v->account.key.may_write) {
        return cd__wpage_put_hooks(v, s, hooks, cnt, false, why);
    }
    cd_html_put(&v->h, "<form id=\"chosen\" method=\"post\" action=\"/webhooks/chosen\">");
    cd__wpage_csrf_put(v);
    CD_TRY(cd__wpage_put_hooks(v, s, hooks, cnt, true, why));
    cd_html_put(&v->h, "</form>");
    return CD_OK;
}

static cd_err hooks_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_face face = v->account.project.face;
    const char *text = cd__wpage_arg(v, "q", 200);
    const char *status = cd__wpage_arg(v, "status", 16);
    const char *type_name = cd__wpage_arg(v, "type", 32);
    const char *before = cd__wpage_arg(v, "before", 20);
    cd_wh_hook_query q = {.project = v->account.project.id, .status = -1, .limit = PAGE_ROWS + 1};
    cd_wh_hook *hooks;
    cd_wh_hook exact;
    cd_addr20 watched;
    cd_wh_type type;
    usize cnt;
    u64 total;
    if (text[0] != '\0' && cd_wh_hook_get(s, &exact, &v->mem, q.project, text, false, why) == CD_OK) {
        v->to = cd_arena_fmt(&v->mem, "/webhooks/%s", exact.id);
        return CD_OK;
    }
    bool has_address = is_address(&watched, text);
    q.watched = has_address ? &watched : NULL;
    q.search = text[0] == '\0' || has_address ? NULL : text;
    for (int i = CD_WH_DISABLED; i >= CD_WH_ACTIVE; i--) {
        if (q.status < 0 && strcmp(status, cd_wh_status_name(face, (cd_wh_status)i)) == 0) {
            q.status = i;
        }
    }
    if (cd_wh_type_of(&type, face, cd_bytes_str(type_name)) == CD_OK) {
        q.types = 1u << type;
    }
    if (cd_i64_parse(&q.before, cd_bytes_str(before)) != CD_OK) {
        q.before = 0;
    }
    const char *here = list_path(v, text, q.status < 0 ? "" : status, q.types == 0 ? "" : type_name);
    CD_TRY(cd_wh_hook_list(s, &hooks, &cnt, &total, &v->mem, &q, why));
    bool has_more = cnt > PAGE_ROWS;
    cnt = has_more ? PAGE_ROWS : cnt;
    cd__wpage_page_open(v, cd_bytes_str("Webhooks"));
    cd_html_put(&v->h, "<div class=\"head\"><h1 class=\"grow\">Webhooks</h1>");
    cd__wpage_put_spans(v, here);
    cd_html_put(&v->h, "</div><section class=\"panel\"><header>");
    put_filters(v, text, status, type_name);
    cd_html_put(&v->h, "</header>");
    if (total == 0 && text[0] == '\0' && q.status < 0 && q.types == 0) {
        put_none(v);
    } else if (cnt == 0) {
        cd_ui_empty(&v->h, has_address ? "No webhook watches this address" : "No webhook fits",
                    has_address ? "One without a filter may be told of it all the same."
                                : "Search with less, or any status.",
                    (cd_markup){0});
    } else {
        CD_TRY(put_chosen(v, s, hooks, cnt, why));
    }
    cd_html_put(&v->h, "<footer><span>{} in all</span>", cd_fmt_count(&v->mem, total));
    if (cnt != 0 && v->account.key.may_write) {
        cd_html_put(&v->h, "<span class=\"row\">The chosen: "
                           "<button class=\"btn s\" form=\"chosen\" name=\"do\" value=\"pause\">Pause"
                           "</button><button class=\"btn s\" form=\"chosen\" name=\"do\" "
                           "value=\"resume\">Resume</button><button class=\"btn s\" form=\"chosen\" "
                           "name=\"do\" value=\"replay\">Resume and replay</button></span>");
    }
    if (has_more || q.before != 0) {
        cd_buf next = {0};
        if (has_more) {
            cd_buf_fmt(&next, "%s&span=%s&before=%lld", here, cd__wpage_span_of(v)->word,
                       (long long)hooks[cnt - 1].key);
        }
        cd_ui_pager(&v->h, cd_bytes_str(q.before != 0 ? "/webhooks" : ""), cd_buf_bytes(&next));
        cd_buf_fini(&next);
    }
    cd_html_put(&v->h, "</footer></section>");
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_HOOKS = {.run = hooks_run};

/* --- several at once --- */

static cd_err chosen_one(cd__wpage_visit *v, cd_wh_store *s, cd_wh_hook *out, cd_bytes id, cd_errinfo *why)
{
    const char *what = cd__wpage_field(v, "do", 8);
    bool is_on = strcmp(what, "pause") != 0;
    CD_TRY(cd_wh_hook_get(s, out, &v->mem, v->account.project.id, cd_arena_str(&v->mem, id), true, why));
    CD_TRY(cd_wh_op_status(s, out, &v->due, is_on, strcmp(what, "replay") == 0 ? CD_WH_AGAIN_SKIPPED : CD_WH_AGAIN_NONE,
                           why));
    const cd_wh_audit a = {
        .at_ms = v->now_s * 1000,
        .project = v->account.project.id,
        .actor = v->account.key.id,
        .action = is_on ? "webhook.enable" : "webhook.disable",
        .target = out->id,
        .address = "",
    };
    return cd_wh_audit_add(s, &a, why);
}

/* Boxes are called id. */
static cd_err chosen_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    v->others = cd_arena_array(&v->mem, cd_wh_hook, PAGE_ROWS);
    for (cd_bytes rest = v->form; rest.n != 0 && v->others_cnt < PAGE_ROWS;) {
        const u8 *amp = memchr(rest.p, '&', rest.n);
        usize n = amp == NULL ? rest.n : (usize)(amp - rest.p);
        if (n > 3 && memcmp(rest.p, "id=", 3) == 0) {
            CD_TRY(chosen_one(v, s, &v->others[v->others_cnt], cd_bytes_sub(rest, 3, n - 3), why));
            v->others_cnt++;
        }
        n += amp != NULL;
        rest = cd_bytes_sub(rest, n, rest.n - n);
    }
    v->to = v->others_cnt == 0                                  ? "/webhooks?done=none"
            : strcmp(cd__wpage_field(v, "do", 8), "pause") == 0 ? "/webhooks?done=paused"
                                                                : "/webhooks?done=resumed";
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_CHOSEN = {.run = chosen_run};
