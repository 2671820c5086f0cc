/* One delivery with its attempts, past and to come; and those that were never delivered. */
#include "services/webhook/api/mask.h"
#include "services/webhook/pages/visit.h"

#include "base/num_text.h"
#include "services/webhook/core/send/schedule.h"
#include "services/webhook/core/send/verify.h"
#include "web/fmt.h"
#include "web/json_view.h"

enum { DEAD_ROWS = 50 };

static cd_err find(cd__wpage_visit *v, cd_wh_store *s, cd_wh_delivery *d, cd_wh_attempt **attempts, usize *cnt,
                   cd_errinfo *why)
{
    i64 key;
    CD_TRY(cd__wpage_hook_find(v, s, false, why));
    if (cd_i64_parse(&key, cd_bytes_str(v->sub)) != CD_OK) {
        return CD_ENOENT;
    }
    CD_TRY(cd_wh_delivery_get(s, d, attempts, cnt, &v->mem, v->hook.key, key, why));
    for (usize i = 0; !v->account.key.may_write && i < *cnt; i++) {
        (*attempts)[i].request = cd_wh_mask_head(&v->mem, (*attempts)[i].request);
    }
    if (!v->account.key.may_write) {
        cd_wh_mask_hook(&v->mem, &v->hook);
    }
    return CD_OK;
}

/* --- attempts as a schedule --- */

static void put_schedule(cd__wpage_visit *v, const cd_wh_delivery *d, const cd_wh_attempt *attempts, usize cnt)
{
    cd_html *h = &v->h;
    cd_wh_face face = v->hook.face;
    bool waits = d->state == CD_WH_RETRYING || d->state == CD_WH_PENDING || d->state == CD_WH_HELD ||
                 d->state == CD_WH_DELIVERING;
    u32 max = waits && !d->is_test ? cd_wh_attempts_max(face) : (u32)cnt;
    u64 at = d->next_ms;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Attempts</h2><div class=\"end\"><span>{} made", (u64)cnt);
    if (waits && max > cnt) {
        cd_html_put(h, ", {} left", (u64)max - cnt);
        if (d->next_ms / 1000 > v->now_s && d->state != CD_WH_HELD) {
            cd_html_put(h, ", next <b>{}</b>", cd_fmt_age(&v->mem, d->next_ms / 1000, v->now_s));
        }
    }
    cd_html_put(h, "</span></div></header><div class=\"body\"><ol class=\"steps\">");
    for (u32 i = 0; i < max; i++) {
        if (i < cnt) {
            const cd_wh_attempt *a = &attempts[i];
            char clock[CD_TIME_TEXT_LEN];
            cd_time_fmt(clock, a->at_ms * CD_NS_PER_MS);
            cd_html_put(h, "<li class=\"{}\"><b>{} · ", a->status / 100 == 2 ? "good" : "bad", a->number);
            if (a->status != 0) {
                cd_html_put(h, "{}", a->status);
            } else {
                cd_html_put(h, "{}", a->error);
            }
            cd_html_put(h, "</b><span class=\"sub\">{}</span><span class=\"sub\">{}</span></li>",
                        cd_bytes_of(clock + 11, 8), cd_fmt_duration(&v->mem, a->ms));
        } else {
            if (i > cnt) {
                at += cd_wh_delay_ms(face, i);
            }
            cd_html_put(h, "<li class=\"next\"><b>{}{}</b><span class=\"sub\">", i + 1, i + 1 == max ? " · last" : "");
            cd_html_put(h, "{}",
                        i == cnt && at / 1000 <= v->now_s ? cd_bytes_str("now")
                                                          : cd_fmt_age(&v->mem, at / 1000, v->now_s));
            cd_html_put(h, "</span></li>");
        }
    }
    cd_html_put(h, "</ol></div></section>");
}

/* --- request and answer --- */

static void put_quoted(cd_buf *out, cd_bytes text)
{
    cd_buf_u8(out, '\'');
    for (usize i = 0; i < text.n; i++) {
        if (text.p[i] == '\'') {
            cd_buf_str(out, "'\\''");
        } else {
            cd_buf_u8(out, text.p[i]);
        }
    }
    cd_buf_u8(out, '\'');
}

/* Without the empty lines at its end. */
static cd_bytes head_text(const char *text)
{
    cd_bytes b = cd_bytes_str(text);
    while (b.n != 0 && (b.p[b.n - 1] == '\n' || b.p[b.n - 1] == '\r')) {
        b.n--;
    }
    return b;
}

/* The same request as a command for a shell. */
static cd_bytes curl_of(cd__wpage_visit *v, const cd_wh_attempt *a, cd_bytes body)
{
    cd_buf out = {0};
    cd_bytes head = cd_bytes_str(a->request);
    bool is_first = true;
    cd_buf_str(&out, "curl -X POST ");
    put_quoted(&out, cd_bytes_str(v->hook.url));
    while (head.n != 0) {
        const u8 *lf = memchr(head.p, '\n', head.n);
        usize n = lf == NULL ? head.n : (usize)(lf - head.p);
        cd_bytes line = cd_bytes_sub(head, 0, n);
        n += lf != NULL;
        head = cd_bytes_sub(head, n, head.n - n);
        while (line.n != 0 && line.p[line.n - 1] == '\r') {
            line.n--;
        }
        bool is_skipped = is_first || line.n == 0 || (line.n > 5 && memcmp(line.p, "Host:", 5) == 0) ||
                          (line.n > 15 && memcmp(line.p, "Content-Length:", 15) == 0);
        is_first = false;
        if (!is_skipped) {
            cd_buf_str(&out, " -H ");
            put_quoted(&out, line);
        }
    }
    cd_buf_str(&out, " --data-binary ");
    put_quoted(&out, body);
    cd_bytes text = cd_arena_dup(&v->mem, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return text;
}

static const cd_wh_attempt *chosen(cd__wpage_visit *v, const cd_wh_attempt *attempts, usize cnt, usize *idx)
{
    u64 n;
    const char *text = cd__wpage_arg(v, "attempt", 8);
    *idx = cnt - 1;
    if (cd_u64_parse(&n, cd_bytes_str(text)) == CD_OK && n >= 1 && n <= cnt) {
        *idx = (usize)n - 1;
    }
    return &attempts[*idx];
}

static void put_request(cd__wpage_visit *v, const cd_wh_delivery *d, const cd_wh_attempt *attempts, usize cnt)
{
    cd_html *h = &v->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Request</h2><div class=\"end\">");
    if (cnt != 0) {
        usize idx;
        const cd_wh_attempt *a = chosen(v, attempts, cnt, &idx);
        cd_ui_link *links = cd_arena_array(&v->mem, cd_ui_link, cnt);
        for (usize i = 0; i < cnt; i++) {
            links[i] = (cd_ui_link){
                .name = cd_arena_fmt(&v->mem, "%zu", i + 1),
                .href = cd_bytes_str(cd_arena_fmt(&v->mem, "?attempt=%zu", i + 1)),
            };
        }
        cd_ui_seg(h, "Attempt", links, cnt, idx);
        if (d->event.body.n != 0) {
            cd_html_put(h, "<span>Copy as curl</span>");
            cd_ui_copy(h, curl_of(v, a, d->event.body), "as curl");
        }
        cd_html_put(h, "</div></header><div class=\"body stack\">");
        cd_ui_code(h, head_text(a->request), "request");
    } else {
        cd_html_put(h, "</div></header><div class=\"body stack\">"
                       "<p class=\"mut\">Nothing was sent yet.</p>");
    }
    cd_json json;
    if (d->event.body.n == 0) {
        cd_html_put(h, "<p class=\"mut\">The body is no longer kept.</p>");
    } else {
        cd_html_put(h, "<p class=\"mut\">Body, {} bytes, the same in every attempt</p>",
                    cd_fmt_count(&v->mem, d->event.body.n));
        if (cd_json_parse(&json, &v->mem, d->event.body, 0, NULL) == CD_OK) {
            cd_json_view(h, json);
        }
        cd_html_put(h, "<details><summary>Bytes</summary>");
        cd_ui_code(h, d->event.body, "body");
        cd_html_put(h, "</details>");
    }
    cd_html_put(h, "</div></section>");
}

static void put_ms(cd__wpage_visit *v, const char *name, u32 ms)
{
    cd_html_put(&v->h, "<dt>{}</dt><dd>{} ms</dd>", name, ms);
}

static void put_answer(cd__wpage_visit *v, const cd_wh_attempt *attempts, usize cnt)
{
    cd_html *h = &v->h;
    usize idx;
    if (cnt == 0) {
        return;
    }
    const cd_wh_attempt *a = chosen(v, attempts, cnt, &idx);
    cd_html_put(h, "<section class=\"panel\"><header><h2>Answer</h2><div class=\"end\">");
    if (a->status != 0) {
        cd_ui_pill(h, a->status / 100 == 2 ? CD_PILL_OK : CD_PILL_BAD,
                   cd_bytes_str(cd_arena_fmt(&v->mem, "%u", a->status)));
    } else {
        cd_ui_pill(h, CD_PILL_BAD, cd_bytes_str(a->error));
    }
    cd_html_put(h, "<span>{} ms</span></div></header><div class=\"body stack\">", a->ms);
    if (a->response[0] != '\0') {
        cd_ui_code(h, head_text(a->response), NULL);
    }
    if (a->body.n != 0) {
        cd_ui_code(h, a->body, "answer");
    }
    cd_html_put(h, "<dl class=\"kv\">");
    put_ms(v, "DNS", a->dns_ms);
    put_ms(v, "Connect", a->connect_ms);
    put_ms(v, "TLS", a->tls_ms);
    put_ms(v, "First byte", a->ttfb_ms);
    cd_html_put(h, "</dl></div></section>");
}

/* Is what was sent what a receiver with the secret of today would take? */
static void put_signature(cd__wpage_visit *v, const cd_wh_delivery *d, const cd_wh_attempt *attempts, usize cnt)
{
    const cd_wh_hook *hook = &v->hook;
    cd_html *h = &v->h;
    usize idx;
    if (cnt == 0 || hook->secret.n == 0 || d->event.body.n == 0) {
        return;
    }
    const cd_wh_attempt *a = chosen(v, attempts, cnt, &idx);
    cd_buf request = {0};
    cd_buf_str(&request, a->request);
    cd_buf_put(&request, d->event.body);
    cd_err err = cd_wh_verify(hook->face == CD_WH_B ? CD_WH_SCHEME_B : CD_WH_SCHEME_C, v->pages->cfg.brand,
                              cd_arena_str(&v->mem, hook->secret), cd_buf_bytes(&request), a->at_ms / 1000, NULL);
    cd_buf_fini(&request);
    if (err != CD_OK && err != CD_ESIG) {
        return; /* it was not signed then */
    }
    cd_html_put(h, "<section class=\"panel\"><header><h2>Signature</h2><div class=\"end\">");
    cd_ui_pill(h, err == CD_OK ? CD_PILL_OK : CD_PILL_NEUTRAL,
               cd_bytes_str(err == CD_OK ? "Matches" : "Another secret"));
    cd_html_put(h, "</div></header><div class=\"body stack\"><p>{}</p>",
                err != CD_OK            ? "It was signed with a secret that is no longer the current one."
                : hook->face == CD_WH_B ? "HMAC-SHA256 of the timestamp, a dot and the body, with the secret of this "
                                          "webhook. Checked just now against the stored bytes."
                                        : "HMAC-SHA256 of the body, with the secret of this webhook. Checked just now "
                                          "against the stored bytes.");
    cd_ui_code(
        h,
        cd_bytes_str(cd_arena_fmt(&v->mem, "candela-webhooks verify \\\n  --variant=%s --secret=%s \\\n  < request.txt",
                                  hook->face == CD_WH_B ? "b" : "c", hook->face == CD_WH_C ? "…" : "whsec_…")),
        "command");
    cd_html_put(h, "</div></section>");
}

static void put_event(cd__wpage_visit *v, const cd_wh_delivery *d)
{
    cd_html *h = &v->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Event</h2></header><div class=\"body\">"
                   "<dl class=\"kv\"><dt>Type</dt><dd>");
    cd__wpage_put_types(v, 1u << d->event.type);
    cd_html_put(h, "</dd>");
    if (d->event.block != 0) {
        cd_html_put(h, "<dt>Block</dt><dd>{}</dd>", cd_fmt_count(&v->mem, d->event.block));
    }
    cd_html_put(h, "<dt>Of</dt><dd>{}</dd>", cd_fmt_utc(&v->mem, d->event.time_ms / 1000));
    if (d->is_test) {
        cd_html_put(h, "<dt>Sequence</dt><dd>none: a test event</dd>");
    } else {
        cd_html_put(h, "<dt>Sequence</dt><dd>{}{}</dd>", cd_fmt_count(&v->mem, d->sequence),
                    d->is_replay ? ", delivered again" : "");
    }
    cd_html_put(h, "</dl></div></section>");
}

static cd_err delivery_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery d;
    cd_wh_attempt *attempts;
    usize cnt;
    cd_html *h = &v->h;
    CD_TRY(find(v, s, &d, &attempts, &cnt, why));
    cd__wpage_page_open(v, cd_bytes_str(cd_arena_fmt(&v->mem, "Delivery %s", d.event.id)));
    cd_html_put(h,
                "<div class=\"head\"><div class=\"grow\"><p class=\"crumbs\"><a href=\"/webhooks\">"
                "Webhooks</a> / <a href=\"/webhooks/{}\">{}</a></p><h1>Delivery</h1>",
                cd_url_part_of(cd_bytes_str(v->hook.id)),
                cd_foreign_of(cd_bytes_str(v->hook.name[0] != '\0' ? v->hook.name : v->hook.id)));
    const cd_ui_id id = {.text = cd_bytes_str(d.event.id), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE};
    cd_ui_ident(h, &id);
    cd_html_put(h, "</div>");
    cd__wpage_put_state(v, d.state);
    bool is_over = d.state == CD_WH_DELIVERED || d.state == CD_WH_FAILED || d.state == CD_WH_SKIPPED ||
                   d.state == CD_WH_QUOTA_EXCEEDED || d.state == CD_WH_CANCELLED;
    if (is_over && d.event.body.n != 0) {
        cd_html_put(h, "<form method=\"post\" action=\"/webhooks/{}/deliveries/{}\">",
                    cd_url_part_of(cd_bytes_str(v->hook.id)), (u64)d.key);
        cd__wpage_csrf_put(v);
        cd_html_put(h, "<button class=\"btn go\">Deliver again</button></form>");
    }
    cd_html_put(h, "</div>");
    put_schedule(v, &d, attempts, cnt);
    cd_html_put(h, "<div class=\"cols side\"><div class=\"stack\">");
    put_request(v, &d, attempts, cnt);
    cd_html_put(h, "</div><div class=\"stack\">");
    put_answer(v, attempts, cnt);
    put_signature(v, &d, attempts, cnt);
    put_event(v, &d);
    cd_html_put(h, "</div></div>");
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DELIVERY = {.run = delivery_run};

static cd_err replay_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery d;
    cd_wh_attempt *attempts;
    usize cnt;
    i64 made;
    CD_TRY(find(v, s, &d, &attempts, &cnt, why));
    CD_TRY(cd_wh_replay_one(s, &made, v->hook.key, d.key, why));
    CD_TRY(
        cd__wpage_audit(v, s, "delivery.replay", cd_arena_fmt(&v->mem, "%s/%lld", v->hook.id, (long long)d.key), why));
    v->due = true;
    v->to = cd_arena_fmt(&v->mem, "/webhooks/%s/deliveries/%lld?done=replayed", v->hook.id, (long long)made);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_REPLAY = {.run = replay_run};

/* --- dead letters --- */

static const u32 dead_states = 1u << CD_WH_FAILED | 1u << CD_WH_SKIPPED | 1u << CD_WH_QUOTA_EXCEEDED;

static cd_err dead_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery_query q = {.project = v->account.project.id, .states = dead_states, .limit = DEAD_ROWS + 1};
    cd_wh_delivery *list;
    usize cnt;
    cd_html *h = &v->h;
    if (cd_i64_parse(&q.before, cd_bytes_str(cd__wpage_arg(v, "before", 20))) != CD_OK) {
        q.before = 0;
    }
    CD_TRY(cd_wh_delivery_list(s, &list, &cnt, &v->mem, &q, why));
    bool has_more = cnt > DEAD_ROWS;
    cnt = has_more ? DEAD_ROWS : cnt;
    cd__wpage_page_open(v, cd_bytes_str("Dead letters"));
    cd_html_put(h, "<h1>Dead letters</h1><form class=\"stack\" method=\"post\" "
                   "action=\"/dead-letters\"><section class=\"panel\"><header><h2>Never delivered"
                   "</h2><div class=\"end\">failed, skipped while paused, or over the quota</div>"
                   "</header>");
    cd__wpage_csrf_put(v);
    if (cnt == 0) {
        cd_ui_empty(h, "No dead letters", "What no receiver took, after its last attempt, would be here.",
                    (cd_markup){0});
    } else {
        CD_TRY(cd__wpage_put_deliveries(v, s, list, cnt, NULL, true, why));
        cd_html_put(h, "<footer><button class=\"btn s\" name=\"what\" value=\"chosen\">"
                       "Deliver the chosen again</button>"
                       "<button class=\"btn s go\" name=\"what\" value=\"all\">"
                       "Deliver all again</button>");
        cd_ui_pager(h, cd_bytes_str(q.before != 0 ? "/dead-letters" : ""),
                    has_more
                        ? cd_bytes_str(cd_arena_fmt(&v->mem, "/dead-letters?before=%lld", (long long)list[cnt - 1].key))
                        : (cd_bytes){0});
        cd_html_put(h, "</footer>");
    }
    cd_html_put(h, "</section></form>");
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DEAD = {.run = dead_run};

/* Boxes are called d and the number of the delivery; their value is the webhook. */
static cd_err replay_chosen(cd__wpage_visit *v, cd_wh_store *s, u64 *queued, cd_errinfo *why)
{
    cd_bytes rest = v->form;
    while (rest.n != 0) {
        const u8 *amp = memchr(rest.p, '&', rest.n);
        usize n = amp == NULL ? rest.n : (usize)(amp - rest.p);
        const u8 *eq = n < 2 ? NULL : memchr(rest.p, '=', n);
        i64 key;
        i64 made;
        if (eq != NULL && rest.p[0] == 'd' &&
            cd_i64_parse(&key, cd_bytes_of(rest.p + 1, (usize)(eq - rest.p) - 1)) == CD_OK) {
            cd_bytes name = cd_bytes_of(rest.p, (usize)(eq - rest.p));
            cd_wh_hook hook;
            CD_TRY(cd_wh_hook_get(s, &hook, &v->mem, v->account.project.id,
                                  cd__wpage_field(v, cd_arena_str(&v->mem, name), CD_WH_ID_MAX), false, why));
            cd_err err = cd_wh_replay_one(s, &made, hook.key, key, why);
            if (err != CD_EEXIST) { // it waits already: fine
                CD_TRY(err);
            }
            ++*queued;
        }
        n += amp != NULL;
        rest = cd_bytes_sub(rest, n, rest.n - n);
    }
    return CD_OK;
}

static cd_err do_dead_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    const cd_wh_delivery_query all = {.project = v->account.project.id, .states = dead_states};
    u64 queued = 0;
    if (strcmp(cd__wpage_field(v, "what", 8), "all") == 0) {
        CD_TRY(cd_wh_replay(s, &queued, &all, why));
    } else {
        CD_TRY(replay_chosen(v, s, &queued, why));
    }
    CD_TRY(cd__wpage_audit(v, s, "delivery.replay",
                           cd_arena_fmt(&v->mem, "%llu deliveries", (unsigned long long)queued), why));
    v->due = queued != 0;
    v->to = queued != 0 ? "/dead-letters?done=replayed" : "/dead-letters?done=none";
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_DEAD = {.run = do_dead_run};
