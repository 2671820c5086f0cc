/* What a webhook has beside its filter: who is told of what happens to it, and the certificate that it shows. The forms
 * become the body that a client would send. */
#include "services/webhook/pages/visit.h"

#include "services/webhook/core/store/notice.h"
#include "web/fmt.h"

enum { PEM_MAX = 64 << 10 };

/* --- panels --- */

cd_err cd__wpage_put_ops(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_html *h = &v->h;
    cd_wh_hook ops = {0};
    if (cd_wh_hook_is_target(&v->hook)) {
        return CD_OK;
    }
    cd_err err = cd_wh_notice_target(s, &ops, &v->mem, v->account.project.id, v->hook.key, why);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    cd_html_put(h, "<section class=\"panel\"><header><h2>Operational events</h2></header>"
                   "<div class=\"body stack\">");
    if (err == CD_OK) {
        cd_html_put(h,
                    "<p>What happens to this webhook is <a href=\"/webhooks/{}\">told</a> to a "
                    "second URL.</p>",
                    cd_url_part_of(cd_bytes_str(ops.id)));
    } else {
        cd_html_put(h, "<p>A second URL can be told when this webhook is paused, resumed, or gives "
                       "an event up; without one, that of <a href=\"/notifications\">the project"
                       "</a> is.</p>");
    }
    if (v->account.key.may_write) {
        cd_html_put(h, "<form class=\"stack\" method=\"post\" action=\"/webhooks/{}/operations\">",
                    cd_url_part_of(cd_bytes_str(v->hook.id)));
        cd__wpage_csrf_put(v);
        cd_html_put(h,
                    "<label>URL<input class=\"field\" name=\"ops_url\" maxlength=\"2048\" "
                    "placeholder=\"https://example.com/operations\" value=\"{}\"></label>"
                    "<div><button class=\"btn s\">Save</button></div></form>",
                    err == CD_OK ? ops.url : "");
    }
    cd_html_put(h, "</div></section>");
    return CD_OK;
}

static void put_pair(cd__wpage_visit *v, cd_json pair)
{
    static const struct {
        const char *key, *name;
    } rows[] = {{"subject", "Subject"}, {"issuer", "Issuer"}, {"expires_at", "Ends"}, {"sha256", "SHA-256"}};
    cd_html_put(&v->h, "<dl class=\"kv\">");
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_bytes text = {0};
        (void)!cd_json_str(&text, cd_json_get(pair, rows[i].key), NULL);
        cd_html_put(&v->h, "<dt>{}</dt><dd class=\"mono\">{}</dd>", rows[i].name,
                    text.n == 0 ? cd_foreign_of(cd_bytes_str(CD_FMT_NONE)) : cd_foreign_of(text));
    }
    cd_html_put(&v->h, "</dl>");
}

void cd__wpage_put_client(cd__wpage_visit *v)
{
    cd_html *h = &v->h;
    cd_json settings = {0};
    (void)!cd_json_parse(&settings, &v->mem, v->hook.settings, 0, NULL);
    cd_json pair = cd_json_get(settings, "client_certificate");
    bool has_pair = cd_json_has(pair);
    cd_html_put(h, "<section class=\"panel\"><header><h2>Client certificate</h2></header>"
                   "<div class=\"body stack\">");
    if (has_pair) {
        put_pair(v, pair);
    } else {
        cd_html_put(h, "<p>None is shown. A receiver behind mutual TLS asks for one.</p>");
    }
    if (v->account.key.may_write) {
        cd_html_put(h,
                    "<details><summary>{}</summary><form class=\"stack\" method=\"post\" "
                    "action=\"/webhooks/{}/certificate\">",
                    has_pair ? "Take another, or none" : "Show one", cd_url_part_of(cd_bytes_str(v->hook.id)));
        cd__wpage_csrf_put(v);
        cd_html_put(h, "<label>Certificate, PEM<textarea class=\"field mono\" name=\"cert\" "
                       "rows=\"3\" spellcheck=\"false\" "
                       "placeholder=\"-----BEGIN CERTIFICATE-----\"></textarea></label>"
                       "<label>Key, PEM<textarea class=\"field mono\" name=\"key\" rows=\"3\" "
                       "spellcheck=\"false\" autocomplete=\"off\" "
                       "placeholder=\"-----BEGIN PRIVATE KEY-----\"></textarea></label>"
                       "<div><button class=\"btn s\">Save</button></div></form></details>");
    }
    cd_html_put(h, "</div></section>");
}

/* --- forms --- */

static void refuse(cd__wpage_visit *v, const char *text)
{
    cd__wpage_page_message(v, 400, "That was not saved", cd_arena_fmt(&v->mem, "%s. Go back and correct it.", text));
}

/* As PATCH does. */
static cd_err change(cd__wpage_visit *v, cd_wh_store *s, cd_bytes body, cd_errinfo *why)
{
    cd_json json;
    CD_TRY(cd__wpage_hook_find(v, s, true, why));
    v->draft = (cd_wh_draft){.hook = v->hook};
    if (cd_wh_read_body(&v->read, &json, body) != CD_OK || v->face->patch(&v->read, &v->draft, json) != CD_OK) {
        refuse(v, v->read.problem.message);
        return CD_OK;
    }
    CD_TRY(cd_wh_op_change(s, &v->draft, &v->due, &v->hook, v->now_s * 1000, &v->mem, why));
    CD_TRY(cd__wpage_audit(v, s, "webhook.change", v->hook.id, why));
    v->hook = v->draft.hook;
    v->changed = true;
    v->to = cd_arena_fmt(&v->mem, "/webhooks/%s?done=saved", v->hook.id);
    return CD_OK;
}

/* A pair of a JSON object; empty text is null. */
static void put_field(cd_json_w *w, const char *key, const char *text)
{
    cd_json_w_key(w, key);
    if (text[0] == '\0') {
        cd_json_w_null(w);
    } else {
        cd_json_w_cstr(w, text);
    }
}

void cd__wpage_put_ops_secret(cd__wpage_visit *v, const char *back)
{
    cd__wpage_page_open(v, cd_bytes_str("Operational events"));
    cd_html_put(&v->h, "<h1>Operational events</h1><section class=\"panel\"><div class=\"body "
                       "stack\"><p>They are signed with a secret of their own. It is shown this "
                       "once.</p>");
    cd_ui_code(&v->h, v->draft.ops.secret, "secret");
    cd_html_put(&v->h, "<div class=\"row\"><form method=\"post\" action=\"/webhooks/{}/test\">",
                cd_url_part_of(cd_bytes_str(v->draft.ops.id)));
    cd__wpage_csrf_put(v);
    cd_html_put(&v->h,
                "<button class=\"btn go\">Send a test event</button></form>"
                "<a class=\"btn\" href=\"{}\">Back</a></div></div></section>",
                back);
    cd__wpage_page_close(v);
}

static bool ops_begin(cd__wpage_visit *v)
{
    const char *url = cd__wpage_field(v, "ops_url", CD_WH_URL_MAX);
    v->check_url = url[0] == '\0' ? NULL : url;
    return true;
}

static cd_err ops_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_buf body = {0};
    cd_json_w w = {.out = &body};
    if (v->refusal[0] != '\0') {
        refuse(v, v->refusal);
        return CD_OK;
    }
    cd_json_w_obj(&w);
    put_field(&w, "ops_url", cd__wpage_field(v, "ops_url", CD_WH_URL_MAX));
    cd_json_w_obj_end(&w);
    cd_bytes text = cd_arena_dup(&v->mem, cd_buf_bytes(&body));
    cd_buf_fini(&body);
    CD_TRY(change(v, s, text, why));
    if (v->to != NULL && v->draft.ops_is == CD_WH_OPS_MADE) {
        v->to = NULL;
        cd__wpage_put_ops_secret(v, cd_arena_fmt(&v->mem, "/webhooks/%s", v->hook.id));
    }
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_OPS = {.begin = ops_begin, .run = ops_run};

static cd_err client_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_buf body = {0};
    cd_json_w w = {.out = &body};
    cd_json_w_obj(&w);
    put_field(&w, "client_certificate", cd__wpage_field(v, "cert", PEM_MAX));
    put_field(&w, "client_key", cd__wpage_field(v, "key", PEM_MAX));
    cd_json_w_obj_end(&w);
    cd_bytes text = cd_arena_dup(&v->mem, cd_buf_bytes(&body));
    cd_buf_fini(&body);
    return change(v, s, text, why);
}

const cd__wpage_page_steps cd__wpage_at_DO_CLIENT = {.run = client_run};
