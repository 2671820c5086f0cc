/* One webhook: state and switch, the last day, its deliveries, secret, test, the way out. */
#include "services/webhook/pages/visit.h"

#include "web/chart.h"
#include "web/fmt.h"
#include "web/json_view.h"

enum { ROWS = 50, DAY_MS = 86400 * 1000 };

static void to_hook(cd__wpage_visit *v, const char *done)
{
    v->to = cd_arena_fmt(&v->mem, "/webhooks/%s?done=%s", v->hook.id, done);
}

/* --- parts of the page --- */

static void put_head(cd__wpage_visit *v)
{
    const cd_wh_hook *hook = &v->hook;
    cd_html *h = &v->h;
    bool is_on = hook->status == CD_WH_ACTIVE;
    cd_html_put(h,
                "<div class=\"head\"><div class=\"grow\"><p class=\"crumbs\">"
                "<a href=\"/webhooks\">Webhooks</a></p><h1>{}</h1>",
                cd_foreign_of(cd_bytes_str(hook->name[0] != '\0' ? hook->name : hook->url)));
    const cd_ui_id id = {.text = cd_bytes_str(hook->id), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE};
    cd_ui_ident(h, &id);
    cd_html_put(h, "</div>");
    cd__wpage_put_status(v, hook);
    cd_html_put(h, "<form class=\"row\" method=\"post\" action=\"/webhooks/{}/status\">",
                cd_url_part_of(cd_bytes_str(hook->id)));
    cd__wpage_csrf_put(v);
    if (is_on) {
        cd_html_put(h, "<button class=\"btn\">Pause</button></form>");
    } else {
        cd_html_put(h, "<input type=\"hidden\" name=\"on\" value=\"1\">"
                       "<button class=\"btn\">Resume</button>"
                       "<button class=\"btn go\" name=\"replay\" value=\"skipped\">"
                       "Resume and replay</button></form>");
    }
    cd_html_put(h, "</div>");
}

static void put_test(cd__wpage_visit *v)
{
    cd_buf text = {0};
    cd_html b = {.out = &text};
    const cd_wh_attempt *a = v->tested;
    if (v->test_failed != NULL) {
        cd_html_put(&b, "{}", v->test_failed);
        cd_ui_note(&v->h, CD_NOTE_BAD, "The test event was not sent", cd_markup_of(&b));
    } else if (a != NULL) {
        bool is_good = a->status / 100 == 2;
        if (a->status != 0) {
            cd_html_put(&b, "It answered {} after {} ms. ", a->status, a->ms);
        } else {
            cd_html_put(&b, "It gave no answer: {}, after {} ms. ", a->error, a->ms);
        }
        if (a->body.n != 0) {
            cd_html_put(&b, "{}", cd_foreign_of(a->body));
        }
        cd_ui_note(&v->h, is_good ? CD_NOTE_INFO : CD_NOTE_BAD,
                   is_good ? "The receiver took the test event" : "The receiver did not take the test event",
                   cd_markup_of(&b));
    }
    cd_buf_fini(&text);
}

static void put_config(cd__wpage_visit *v)
{
    const cd_wh_hook *hook = &v->hook;
    cd_html *h = &v->h;
    cd_json json;
    bool masks = !v->account.key.may_write;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Configuration</h2></header>"
                   "<div class=\"body\"><dl class=\"kv\"><dt>Receiver</dt><dd>");
    cd_html_put(h, "<span class=\"mono\">{}</span>",
                cd_foreign_of(cd_bytes_of(hook->url, masks ? strcspn(hook->url, "?") : strlen(hook->url))));
    if (hook->chain[0] != '\0') {
        cd_html_put(h, "</dd><dt>Chain</dt><dd>{}", hook->chain);
    }
    cd_html_put(h, "</dd><dt>Events</dt><dd>");
    cd__wpage_put_types(v, hook->types);
    cd_html_put(h, "</dd><dt>Made</dt><dd>");
    cd_ui_time(h, &v->mem, hook->created_ms / 1000, v->now_s);
    cd_html_put(h, "</dd><dt>Order</dt><dd>{}</dd></dl>",
                hook->is_strict ? "strict: one at a time" : "retries do not hold up later events");
    if (cd_json_parse(&json, &v->mem, hook->config, 0, NULL) == CD_OK && cd_json_len(json) != 0) {
        cd_html_put(h, "<h3>Filter</h3>");
        cd_json_view(h, json);
    }
    /* Headers may hold a token. */
    if (!masks && cd_json_parse(&json, &v->mem, hook->settings, 0, NULL) == CD_OK && cd_json_len(json) != 0) {
        cd_html_put(h, "<h3>Delivery</h3>");
        cd_json_view(h, json);
    }
    cd_html_put(h, "</div></section>");
}

static void put_secret(cd__wpage_visit *v)
{
    const cd_wh_hook *hook = &v->hook;
    cd_html *h = &v->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Secret</h2></header><div class=\"body stack\">");
    if (hook->secret_next.n != 0) {
        cd_html_put(h,
                    "<p>Two secrets: the old one signs until {}; the new one signs "
                    "<span class=\"mono\">X-{}-Signature-Next</span>.</p>",
                    cd_fmt_utc(&v->mem, hook->grace_until_ms / 1000), v->pages->cfg.brand);
        cd_html_put(h, "<form method=\"post\" action=\"/webhooks/{}/confirm\">",
                    cd_url_part_of(cd_bytes_str(hook->id)));
        cd__wpage_csrf_put(v);
        cd_html_put(h, "<button class=\"btn s\">Use the new secret only</button></form>");
    } else {
        cd_html_put(h, "<p>{}</p>",
                    hook->secret.n == 0 ? "Deliveries are not signed. With a secret they are."
                                        : "Deliveries are signed. The secret was shown once; draw a new one if it "
                                          "is lost or known to others.");
        cd_html_put(h, "<form method=\"post\" action=\"/webhooks/{}/rotate\">", cd_url_part_of(cd_bytes_str(hook->id)));
        cd__wpage_csrf_put(v);
        cd_html_put(h, "<button class=\"btn s\">{}</button></form>",
                    hook->secret.n == 0 ? "Draw a secret" : "Rotate secret");
    }
    cd_html_put(h, "</div></section>");
}

static void put_actions(cd__wpage_visit *v)
{
    cd_html *h = &v->h;
    cd_bytes id = cd_bytes_str(v->hook.id);
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Test</h2></header><div class=\"body stack\">"
                "<p>A signed example event; it is not retried and counts for nothing.</p>"
                "<form method=\"post\" action=\"/webhooks/{}/test\">",
                cd_url_part_of(id));
    cd__wpage_csrf_put(v);
    cd_html_put(h, "<button class=\"btn s\">Send a test event</button></form></div></section>");
    if (cd_wh_hook_is_target(&v->hook)) {
        return; /* its URL is taken from those that it is told of */
    }
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Delete</h2></header><div class=\"body\">"
                "<a class=\"btn s\" href=\"/webhooks/{}/delete\">Delete this webhook</a>"
                "</div></section>",
                cd_url_part_of(id));
}

cd_err cd__wpage_hook_page(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_stat *stats;
    usize stats_cnt;
    cd_wh_delivery *list;
    usize cnt;
    const cd_wh_delivery_query q = {.hook = v->hook.key, .limit = ROWS};
    CD_TRY(cd__wpage_span_stats(v, s, &stats, &stats_cnt, v->hook.key, why));
    CD_TRY(cd_wh_delivery_list(s, &list, &cnt, &v->mem, &q, why));
    cd_wh_stat all = cd__wpage_stat_sum(stats, stats_cnt);
    cd__wpage_page_open(v, cd_bytes_str(v->hook.name[0] != '\0' ? v->hook.name : v->hook.id));
    put_head(v);
    put_test(v);
    const cd__wpage_span *span = cd__wpage_span_of(v);
    const cd_ui_fig figs[] = {
        {.label = cd_arena_fmt(&v->mem, "Success, %s", span->short_name),
         .value = cd_fmt_percent(&v->mem, all.delivered, all.delivered + all.failed),
         .unit = "",
         .sub = cd_bytes_str("of what has ended")},
        {.label = cd_arena_fmt(&v->mem, "Delivered, %s", span->short_name),
         .value = cd_fmt_count(&v->mem, all.delivered),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&v->mem, "%llu failed", (unsigned long long)all.failed))},
        {.label = "Answer time, median",
         .value =
             all.attempts == 0 ? cd_bytes_str(CD_FMT_NONE) : cd_fmt_duration(&v->mem, cd_wh_stat_percentile(&all, 50)),
         .unit = "",
         .sub = cd_bytes_str(
             cd_arena_fmt(&v->mem, "p95 below %llu ms", (unsigned long long)cd_wh_stat_percentile(&all, 95)))},
        {.label = "Failed attempts in a row",
         .value = cd_fmt_count(&v->mem, v->hook.failures),
         .unit = "",
         .sub = cd_bytes_str("since the last success")},
    };
    cd_ui_figs(&v->h, figs, CD_COUNT(figs));
    cd_html_put(&v->h,
                "<div class=\"cols side\"><div class=\"stack\"><section class=\"panel\">"
                "<header><h2>Last {}</h2><div class=\"end\">",
                span->name);
    cd__wpage_put_spans(v, "");
    cd_html_put(&v->h, "</div></header><div class=\"body\">");
    cd__wpage_put_chart(v, stats, stats_cnt);
    cd_html_put(&v->h, "</div></section>");
    CD_TRY(cd__wpage_put_strip(v, s, why));
    cd_html_put(&v->h, "<section class=\"panel\"><header><h2>Deliveries</h2>"
                       "<div class=\"end\">the last 50</div></header>");
    if (cnt == 0) {
        cd_ui_empty(&v->h, "Nothing yet",
                    cd_wh_hook_is_target(&v->hook)
                        ? "What happens to the webhooks it is told of shows up here."
                        : "The next block that fits the filter shows up here. A test event shows "
                          "at once whether the receiver takes it.",
                    (cd_markup){0});
    } else {
        CD_TRY(cd__wpage_put_deliveries(v, s, list, cnt, &v->hook, false, why));
    }
    cd_html_put(&v->h, "</section></div><div class=\"stack\">");
    put_config(v);
    put_secret(v);
    CD_TRY(cd__wpage_put_ops(v, s, why));
    cd__wpage_put_client(v);
    put_actions(v);
    cd_html_put(&v->h, "</div></div>");
    cd__wpage_page_close(v);
    return CD_OK;
}

static cd_err hook_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wpage_hook_find(v, s, false, why));
    return cd__wpage_hook_page(v, s, why);
}

const cd__wpage_page_steps cd__wpage_at_HOOK = {.run = hook_run};

/* --- what its forms do --- */

static cd_err status_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    bool is_on = cd__wpage_field(v, "on", 2)[0] == '1';
    bool replays = strcmp(cd__wpage_field(v, "replay", 16), "skipped") == 0;
    CD_TRY(cd__wpage_hook_find(v, s, true, why));
    CD_TRY(cd_wh_op_status(s, &v->hook, &v->due, is_on, replays ? CD_WH_AGAIN_SKIPPED : CD_WH_AGAIN_NONE, why));
    CD_TRY(cd__wpage_audit(v, s, is_on ? "webhook.enable" : "webhook.disable", v->hook.id, why));
    v->changed = true;
    to_hook(v, is_on ? "resumed" : "paused");
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_STATUS = {.run = status_run};

static cd_err rotate_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wpage_hook_find(v, s, true, why));
    CD_TRY(cd_wh_op_rotate(s, &v->hook, &v->read, DAY_MS, v->now_s * 1000, why));
    CD_TRY(cd__wpage_audit(v, s, "secret.rotate", v->hook.id, why));
    v->changed = true;
    cd_bytes fresh = v->hook.secret_next.n != 0 ? v->hook.secret_next : v->hook.secret;
    cd__wpage_page_open(v, cd_bytes_str("New secret"));
    cd_html_put(&v->h,
                "<h1>New secret</h1><section class=\"panel\"><div class=\"body stack\">"
                "<p>It is shown this once. Give it to the receiver{}.</p>",
                v->hook.secret_next.n != 0 ? " within a day; until then the old one signs too" : "");
    cd_ui_code(&v->h, fresh, "secret");
    cd_html_put(&v->h,
                "<div><a class=\"btn\" href=\"/webhooks/{}\">Back to the webhook</a></div>"
                "</div></section>",
                cd_url_part_of(cd_bytes_str(v->hook.id)));
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_ROTATE = {.run = rotate_run};

static cd_err confirm_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wpage_hook_find(v, s, true, why));
    CD_TRY(cd_wh_op_confirm(s, &v->hook, v->now_s * 1000, why));
    CD_TRY(cd__wpage_audit(v, s, "secret.confirm", v->hook.id, why));
    v->changed = true;
    to_hook(v, "confirmed");
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_CONFIRM = {.run = confirm_run};

/* The engine sends; then the page shows what the receiver said. */
static void on_tested(void *arg, const cd_wh_attempt *a, const cd_bytes *body, const char *why)
{
    cd__wpage_visit *v = arg;
    (void)body;
    if (a == NULL) {
        v->test_failed = cd_arena_str(&v->mem, cd_bytes_str(why));
    } else {
        cd_wh_attempt *kept = cd_arena_new(&v->mem, cd_wh_attempt);
        *kept = *a;
        kept->error = cd_arena_str(&v->mem, cd_bytes_str(a->error));
        kept->body = cd_arena_dup(&v->mem, a->body);
        v->tested = kept;
    }
    cd__wpage_visit_again(v, cd__wpage_hook_page);
}

static cd_err test_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    return cd__wpage_hook_find(v, s, true, why);
}

static void test_after(cd__wpage_visit *v)
{
    const cd_wh_engine *e = v->pages->cfg.engine;
    v->is_async = true;
    e->test(e->ctx, &v->hook, (cd_wh_type)__builtin_ctz(v->hook.types), on_tested, v);
}

const cd__wpage_page_steps cd__wpage_at_DO_TEST = {.run = test_run, .after = test_after};

/* --- delete --- */

static void put_delete(cd__wpage_visit *v, bool is_wrong)
{
    cd_html *h = &v->h;
    cd_bytes id = cd_bytes_str(v->hook.id);
    cd__wpage_page_open(v, cd_bytes_str("Delete webhook"));
    cd_html_put(h, "<h1>Delete webhook</h1><section class=\"panel narrow\"><div class=\"body stack\">");
    if (is_wrong) {
        cd_ui_note(h, CD_NOTE_BAD, "That is not the id of this webhook", (cd_markup){0});
    }
    cd_html_put(h,
                "<p>What waits for it is cancelled, and it cannot be brought back. To stop it for a "
                "while, pause it instead.</p><form class=\"stack\" method=\"post\" "
                "action=\"/webhooks/{}/delete\">",
                cd_url_part_of(id));
    cd__wpage_csrf_put(v);
    cd_html_put(h,
                "<label>Type {} to delete it<input class=\"field mono\" "
                "name=\"confirm\" autocomplete=\"off\" required></label><div class=\"row\">"
                "<a class=\"btn\" href=\"/webhooks/{}\">Keep it</a>"
                "<button class=\"btn go\">Delete</button></div></form></div></section>",
                id, cd_url_part_of(id));
    cd__wpage_page_close(v);
}

static cd_err delete_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wpage_hook_find(v, s, false, why));
    put_delete(v, false);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DELETE = {.run = delete_run};

static cd_err do_delete_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wpage_hook_find(v, s, false, why));
    if (strcmp(cd__wpage_field(v, "confirm", CD_WH_ID_MAX), v->hook.id) != 0) {
        v->status = 400;
        put_delete(v, true);
        return CD_OK;
    }
    CD_TRY(cd_wh_op_delete(s, &v->draft.ops, &v->hook, &v->mem, why));
    v->draft.ops_is = v->draft.ops.key != 0 ? CD_WH_OPS_GONE : CD_WH_OPS_SAME;
    CD_TRY(cd__wpage_audit(v, s, "webhook.delete", v->hook.id, why));
    v->gone = true;
    v->to = "/webhooks?done=deleted";
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_DELETE = {.run = do_delete_run};
