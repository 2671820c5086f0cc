/* The rest of the dashboard: event catalogue, keys, notifications, audit log. */
#include "services/webhook/core/store/notice.h"
#include "services/webhook/pages/visit.h"

#include "base/num_text.h"
#include "net/smtp.h"
#include "web/fmt.h"
#include "web/json_view.h"

enum { AUDIT_ROWS = 50 };

/* --- event catalogue --- */

static const struct {
    const char *text;
} meanings[CD_WH_TYPES_CNT] = {
    [CD_WH_A_TRANSFER] = {"Native coins moved."},
    [CD_WH_A_ERC20] = {"Tokens of an ERC-20 contract moved."},
    [CD_WH_A_ERC721] = {"An NFT of an ERC-721 contract moved."},
    [CD_WH_A_ERC1155] = {"Tokens of an ERC-1155 contract moved; one event for each id."},
    [CD_WH_A_CONTRACT] = {"A contract wrote a log."},
    [CD_WH_A_BLOCK] = {"A block was accepted."},
    [CD_WH_B_ADDRESS] = {"A transaction or token transfer involves a watched address."},
    [CD_WH_B_TOKEN] = {"ERC-20 tokens moved to or from watched addresses or contracts."},
    [CD_WH_B_NFT] = {"An NFT moved, ERC-721 or ERC-1155."},
    [CD_WH_B_MINED] = {"A transaction, known by its hash, is in a block. Fires once."},
    [CD_WH_B_LOG] = {"A log fits addresses and topics."},
    [CD_WH_C_ADDRESS] = {"Coins, tokens or calls involve a watched address."},
    [CD_WH_C_MINED] = {"A transaction, known by its hash, is in a block."},
    [CD_WH_C_NFT] = {"An NFT was minted, moved or burned, with its metadata."},
    [CD_WH_C_TOKEN] = {"ERC-20 tokens moved."},
    [CD_WH_C_INTERNAL] = {"Coins moved inside a transaction, from its trace."},
    [CD_WH_C_BLOCK] = {"A block was accepted."},
    [CD_WH_C_PENDING] = {"A transaction entered the mempool."},
};

static const struct {
    u32 faces;
    const char *text;
} notices[CD_WH_NOTICE_END - CD_WH_NOTICE_FIRST] = {
    {1u << CD_WH_B, "A webhook was paused, by its failing receiver or by somebody."},
    {1u << CD_WH_A | 1u << CD_WH_C, "A webhook was disabled, by its failing receiver or by somebody."},
    {7, "A webhook that was not active goes on."},
    {1u << CD_WH_C, "An event used up its attempts; told once a minute and webhook at most."},
    {7, "80 % of the quota are used."},
    {7, "All of the quota is used."},
    {7, "The L1 of a chain with webhooks of yours halts soon, has halted, or is well again."},
};

static void put_type(cd__wpage_visit *v, const char *name, const char *text, cd_bytes body)
{
    cd_json json;
    cd_html_put(&v->h,
                "<section class=\"panel\"><header><h2 class=\"mono\">{}</h2><p class=\"mut\">{}"
                "</p></header><div class=\"body\">",
                name, text);
    if (cd_json_parse(&json, &v->mem, body, 0, NULL) == CD_OK) {
        cd_json_view(&v->h, json);
    }
    cd_html_put(&v->h, "</div></section>");
}

/* What happens to webhooks themselves. */
static void put_notices(cd__wpage_visit *v, const cd_wh_hook *target)
{
    cd_html_put(&v->h, "<p class=\"say\">What a URL for operational events is told.</p>");
    for (u32 i = 0; i < CD_COUNT(notices); i++) {
        cd_wh_notice_type type = (cd_wh_notice_type)(CD_WH_NOTICE_FIRST + i);
        if ((notices[i].faces & 1u << target->face) != 0) {
            cd_wh_event e = cd_wh_notice_example(&v->mem, target, type, v->now_s * 1000);
            put_type(v, cd_wh_type_name(e.type), notices[i].text, e.body);
        }
    }
}

static bool types_begin(cd__wpage_visit *v)
{
    const cd_wh_engine *e = v->pages->cfg.engine;
    cd_wh_face face = v->account.project.face;
    const cd_wh_hook hook = {.id = face == CD_WH_C   ? "8c1f5b7a-2f62-4b0e-9d2e-6a1f0c9be111"
                                   : face == CD_WH_B ? "wh_k70t9rbmk2lo"
                                                     : "wh-3f9c1a7be2",
                             .face = face};
    cd__wpage_page_open(v, cd_bytes_str("Event catalogue"));
    cd_html_put(&v->h, "<h1>Event catalogue</h1><p class=\"say\">What a webhook can be told, with the "
                       "body that its receiver gets.</p>");
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        if (cd_wh_type_face((cd_wh_type)t) == face) {
            put_type(v, cd_wh_type_name((cd_wh_type)t), meanings[t].text,
                     e->example(e->ctx, &v->mem, &hook, (cd_wh_type)t));
        }
    }
    put_notices(v, &hook);
    cd__wpage_page_close(v);
    return true;
}

const cd__wpage_page_steps cd__wpage_at_TYPES = {.begin = types_begin};

/* --- keys --- */

static void put_key(cd__wpage_visit *v, const cd_ui_col *cols, const cd_wh_key *k)
{
    cd_html *h = &v->h;
    bool is_dead = k->revoked_ms != 0 || (k->expires_ms != 0 && k->expires_ms / 1000 < v->now_s);
    cd_html_put(h, "<tr>");
    cd_ui_cell(h, &cols[0]);
    cd_html_put(h, "{}<span class=\"sub mono\">sk_…{}</span></td>",
                cd_foreign_of(cd_bytes_str(k->label[0] != '\0' ? k->label : k->id)), k->last4);
    cd_ui_cell(h, &cols[1]);
    cd_html_put(h, "{}</td>", k->may_write ? "read and write" : "read");
    cd_ui_cell(h, &cols[2]);
    cd_ui_time(h, &v->mem, k->created_ms / 1000, v->now_s);
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[3]);
    if (k->used_ms != 0) {
        cd_ui_time(h, &v->mem, k->used_ms / 1000, v->now_s);
    } else {
        cd_html_put(h, "never");
    }
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[4]);
    if (is_dead) {
        cd_ui_pill(h, CD_PILL_NEUTRAL, cd_bytes_str(k->revoked_ms != 0 ? "Revoked" : "Expired"));
    } else {
        cd_html_put(h, "<form method=\"post\" action=\"/keys/{}/revoke\">", cd_url_part_of(cd_bytes_str(k->id)));
        cd__wpage_csrf_put(v);
        cd_html_put(h, "<button class=\"btn s\">Revoke<span class=\"sr\"> {}</span></button></form>", k->id);
    }
    cd_html_put(h, "</td></tr>");
}

static cd_err put_keys(cd__wpage_visit *v, cd_wh_store *s, const char *fresh, cd_errinfo *why)
{
    static const cd_ui_col cols[] = {{.name = "Key", .flags = CD_COL_FILL},
                                     {.name = "May"},
                                     {.name = "Made", .flags = CD_COL_P2},
                                     {.name = "Last used"},
                                     {.name = "State"}};
    cd_wh_key *keys;
    usize cnt;
    cd_html *h = &v->h;
    CD_TRY(cd_wh_key_list(s, &keys, &cnt, &v->mem, v->account.project.id, why));
    cd__wpage_page_open(v, cd_bytes_str("API keys"));
    cd_html_put(h, "<h1>API keys</h1>");
    if (fresh != NULL) {
        cd_html_put(h, "<section class=\"panel\"><header><h2>New key</h2></header>"
                       "<div class=\"body stack\"><p>It is shown this once.</p>");
        cd_ui_code(h, cd_bytes_str(fresh), "key");
        cd_html_put(h, "</div></section>");
    }
    cd_html_put(h, "<section class=\"panel\"><header><h2>Keys of this project</h2></header>");
    cd_ui_table_begin(h, "API keys", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        put_key(v, cols, &keys[i]);
    }
    cd_ui_table_end(h);
    cd_html_put(h, "</section><section class=\"panel narrow\"><header><h2>New key</h2></header>"
                   "<div class=\"body\"><form class=\"stack\" method=\"post\" action=\"/keys\">");
    cd__wpage_csrf_put(v);
    cd_html_put(h, "<label>Label<input class=\"field\" name=\"label\" "
                   "maxlength=\"60\" required></label><label class=\"row\"><input type=\"checkbox\" "
                   "name=\"write\">It may change things</label><div>"
                   "<button class=\"btn go\">Make key</button></div></form></div></section>");
    cd__wpage_page_close(v);
    return CD_OK;
}

static cd_err keys_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    return put_keys(v, s, NULL, why);
}

const cd__wpage_page_steps cd__wpage_at_KEYS = {.run = keys_run};

static cd_err do_key_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    char text[48];
    cd_wh_key made;
    const cd_wh_key init = {
        .project = v->account.project.id,
        .label = cd__wpage_field(v, "label", 60),
        .may_write = cd__wpage_field(v, "write", 4)[0] != '\0',
    };
    CD_TRY(cd_wh_key_make(s, &made, text, &v->mem, &init, why));
    CD_TRY(cd__wpage_audit(v, s, "key.create", made.id, why));
    return put_keys(v, s, text, why);
}

const cd__wpage_page_steps cd__wpage_at_DO_KEY = {.run = do_key_run};

static cd_err revoke_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd_wh_key_revoke(s, v->account.project.id, v->id, why));
    CD_TRY(cd__wpage_audit(v, s, "key.revoke", v->id, why));
    v->to = "/keys?done=revoked";
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_REVOKE = {.run = revoke_run};

/* --- notifications --- */

static const struct {
    const char *name, *text;
} mails[] = {
    {"mail_paused", "A webhook was paused or disabled, and every day while it is"},
    {"mail_quota", "80 % and all of the quota are used"},
    {"mail_dead", "A daily digest of what was never delivered"},
};

static cd_err notify_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_project p;
    cd_html *h = &v->h;
    CD_TRY(cd_wh_project_get(s, &p, &v->mem, v->account.project.id, why));
    cd__wpage_page_open(v, cd_bytes_str("Notifications"));
    cd_html_put(h, "<h1>Notifications</h1><section class=\"panel narrow\"><div class=\"body\">"
                   "<form class=\"stack\" method=\"post\" action=\"/notifications\">");
    cd__wpage_csrf_put(v);
    cd_html_put(h,
                "<label>E-mail address<input class=\"field\" type=\"email\" "
                "name=\"email\" maxlength=\"200\" autocomplete=\"email\" value=\"{}\"></label>"
                "<fieldset class=\"choices\"><legend>Send a mail when</legend>",
                p.email);
    for (usize i = 0; i < CD_COUNT(mails); i++) {
        cd_bytes value = {0};
        cd_err err = cd_wh_setting_get(s, &value, &v->mem, p.id, mails[i].name, why);
        if (err != CD_OK && err != CD_ENOENT) {
            return err;
        }
        if (err == CD_ENOENT || cd_bytes_eq(value, cd_bytes_str("on"))) {
            cd_html_put(h, "<label><input type=\"checkbox\" name=\"{}\" checked>{}</label>", mails[i].name,
                        mails[i].text);
        } else {
            cd_html_put(h, "<label><input type=\"checkbox\" name=\"{}\">{}</label>", mails[i].name, mails[i].text);
        }
    }
    cd_wh_hook ops = {.url = ""};
    cd_err err = cd_wh_notice_target(s, &ops, &v->mem, p.id, 0, why);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    cd_html_put(h,
                "</fieldset><label>URL for operational events<input class=\"field\" "
                "name=\"ops_url\" maxlength=\"2048\" "
                "placeholder=\"https://example.com/operations\" value=\"{}\"></label>"
                "<p class=\"mut\">It is told, signed and with retries, when a webhook without such "
                "a URL of its own is paused, resumed or gives an event up, and when the quota "
                "runs out.",
                cd_bytes_of(ops.url, v->account.key.may_write ? strlen(ops.url) : strcspn(ops.url, "?")));
    if (err == CD_OK) {
        cd_html_put(h, " <a href=\"/webhooks/{}\">What it was told</a>", cd_url_part_of(cd_bytes_str(ops.id)));
    }
    cd_html_put(h, "</p><div><button class=\"btn go\">Save</button></div></form></div></section>");
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_NOTIFY = {.run = notify_run};

static bool do_notify_begin(cd__wpage_visit *v)
{
    const char *url = cd__wpage_field(v, "ops_url", CD_WH_URL_MAX);
    v->check_url = url[0] == '\0' ? NULL : url;
    return true;
}

static cd_err do_notify_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_project p;
    const char *email = cd__wpage_field(v, "email", 200);
    if (email[0] != '\0' && !cd_mail_is_address(email)) {
        cd__wpage_page_message(v, 400, "That is no e-mail address", "Go back and correct it.");
        return CD_OK;
    }
    if (v->refusal[0] != '\0') {
        cd__wpage_page_message(v, 400, "That URL cannot be used",
                               cd_arena_fmt(&v->mem, "%s. Go back and correct it.", v->refusal));
        return CD_OK;
    }
    CD_TRY(cd_wh_project_get(s, &p, &v->mem, v->account.project.id, why));
    p.email = email;
    CD_TRY(cd_wh_project_put(s, &p, why));
    for (usize i = 0; i < CD_COUNT(mails); i++) {
        const char *word = cd__wpage_field(v, mails[i].name, 4)[0] != '\0' ? "on" : "off";
        CD_TRY(cd_wh_setting_put(s, cd_bytes_str(word), p.id, mails[i].name, why));
    }
    CD_TRY(cd__wpage_audit(v, s, "notifications.change", "", why));
    v->draft.ops_url = cd__wpage_field(v, "ops_url", CD_WH_URL_MAX);
    v->draft.ops = (cd_wh_hook){.id = v->face->id(&v->read), .secret = v->face->secret(&v->read)};
    CD_TRY(cd_wh_op_target(s, &v->draft, p.id, p.face, 0, v->now_s * 1000, &v->mem, why));
    if (v->draft.ops_is == CD_WH_OPS_MADE) {
        cd__wpage_put_ops_secret(v, "/notifications");
    } else {
        v->to = "/notifications?done=saved";
    }
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_NOTIFY = {.begin = do_notify_begin, .run = do_notify_run};

/* --- audit log --- */

static cd_err audit_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    static const cd_ui_col cols[] = {
        {.name = "When"}, {.name = "What"}, {.name = "On", .flags = CD_COL_FILL}, {.name = "By", .flags = CD_COL_P2}};
    cd_wh_audit *list;
    usize cnt;
    i64 before;
    cd_html *h = &v->h;
    if (cd_i64_parse(&before, cd_bytes_str(cd__wpage_arg(v, "before", 20))) != CD_OK) {
        before = 0;
    }
    CD_TRY(cd_wh_audit_list(s, &list, &cnt, &v->mem, v->account.project.id, before, AUDIT_ROWS + 1, why));
    bool has_more = cnt > AUDIT_ROWS;
    cnt = has_more ? AUDIT_ROWS : cnt;
    cd__wpage_page_open(v, cd_bytes_str("Audit log"));
    cd_html_put(h, "<h1>Audit log</h1><section class=\"panel\">");
    if (cnt == 0) {
        cd_ui_empty(h, "Nothing yet", "What keys and people change in this project is kept here.", (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Audit log", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < cnt; i++) {
            cd_html_put(h, "<tr>");
            cd_ui_cell(h, &cols[0]);
            cd_ui_time(h, &v->mem, list[i].at_ms / 1000, v->now_s);
            cd_html_put(h, "</td>");
            cd_ui_cell(h, &cols[1]);
            cd_ui_tag(h, cd_foreign_of(cd_bytes_str(list[i].action)));
            cd_html_put(h, "</td>");
            cd_ui_cell(h, &cols[2]);
            cd_html_put(h, "<span class=\"mono\">{}</span></td>", cd_foreign_of(cd_bytes_str(list[i].target)));
            cd_ui_cell(h, &cols[3]);
            cd_html_put(h, "<span class=\"mono\">{}</span></td></tr>", cd_foreign_of(cd_bytes_str(list[i].actor)));
        }
        cd_ui_table_end(h);
    }
    cd_html_put(h, "<footer>");
    cd_ui_pager(h, cd_bytes_str(before != 0 ? "/audit" : ""),
                has_more ? cd_bytes_str(cd_arena_fmt(&v->mem, "/audit?before=%lld", (long long)list[cnt - 1].key))
                         : (cd_bytes){0});
    cd_html_put(h, "</footer></section>");
    cd__wpage_page_close(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_AUDIT = {.run = audit_run};
