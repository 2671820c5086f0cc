/* Making a webhook: a form of the face, a preview of what its filter would have matched, the secret once. The form
 * is turned into the body that a client would send, and read by the face. */
#include "services/webhook/pages/visit.h"

#include "base/text.h"
#include "web/assets.h"
#include "web/fmt.h"
#include "web/json_view.h"

enum { PREVIEW_BLOCKS = 500, LIST_MAX = 200 << 10, SHOWN_BODIES = 3 };

/* The fields of filters by face; the label is what people read. */
typedef struct field {
    const char *name; /* in the form, and in the filter */
    const char *label, *hint;
    bool is_list; /* one a line */
    u32 types;    /* to which it can apply; 0: to all */
} field;

static const field fields_a[] = {
    {"addresses", "Addresses", "one a line; sender, receiver or contract", true, 0},
    {"contract", "Contracts", "one a line", true, 0},
    {"minValue", "Least value", "in base units", false, 0},
    {0},
};
#define T(type) (1u << CD_WH_B_##type)
static const field fields_b[] = {
    {"addresses", "Addresses", "one a line", true, T(ADDRESS) | T(TOKEN) | T(NFT) | T(LOG)},
    {"contracts", "Contracts", "one a line", true, T(TOKEN) | T(NFT)},
    {"min_value", "Least value", "in base units", false, T(TOKEN)},
    {"direction", "Direction", "incoming, outgoing or both", false, T(ADDRESS)},
    {"tx_hashes", "Transactions", "hashes, one a line", true, T(MINED)},
    {"topics", "Topics", "one a line; a blank line is any", true, T(LOG)},
    {"token_ids", "Token ids", "one a line", true, T(NFT)},
    {0},
};
#undef T
static const field fields_c[] = {
    {"address", "Addresses", "one a line; sender or receiver", true, 0},
    {"contract", "Token contracts", "one a line", true, 0},
    {"minValue", "Least value", "in base units", false, 0},
    {"functionSelector", "Function", "0xa9059cbb or transfer(address,uint256)", false, 0},
    {"topicHash", "Topic", "hash of the event", false, 0},
    {"tokenId", "Token id", "", false, 0},
    {"txHash", "Transaction", "its hash", false, 0},
    {0},
};

static const field *fields_of(cd_wh_face face)
{
    static const field *const all[] = {[CD_WH_A] = fields_a, [CD_WH_B] = fields_b, [CD_WH_C] = fields_c};
    return all[face];
}

/* --- the form as a body --- */

/* Elements stand on lines of their own, or behind one of ends. */
static void put_list(cd_json_w *w, const char *text, const char *ends, bool keeps_blank)
{
    cd_bytes rest = cd_text_trim(cd_bytes_str(text), NULL);
    cd_json_w_arr(w);
    while (rest.n != 0) {
        usize n = 0;
        while (n < rest.n && strchr(ends, rest.p[n]) == NULL) {
            n++;
        }
        cd_bytes line = cd_text_trim(cd_bytes_sub(rest, 0, n), NULL);
        if (line.n != 0) {
            cd_json_w_str(w, line);
        } else if (keeps_blank) {
            cd_json_w_null(w);
        }
        n += n < rest.n;
        rest = cd_bytes_sub(rest, n, rest.n - n);
    }
    cd_json_w_arr_end(w);
}

/* The form asks for logs, which can be decoded. */
static bool tells_logs(cd__wpage_visit *v)
{
    return strcmp(cd__wpage_field(v, "type", 40), cd_wh_type_name(CD_WH_B_LOG)) == 0 ||
           cd__wpage_field(v, cd_wh_type_name(CD_WH_A_CONTRACT), 4)[0] != '\0';
}

static cd_bytes body_of(cd__wpage_visit *v)
{
    cd_wh_face face = v->account.project.face;
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    if (face == CD_WH_C) {
        cd_wh_w_str(&w, "name", cd__wpage_field(v, "name", 200));
    }
    cd_wh_w_str(&w, "url",
                (const char *)cd_text_trim(cd_bytes_str(cd__wpage_field(v, "url", CD_WH_URL_MAX + 1)), NULL).p);
    cd_wh_w_str(&w, "chain", cd__wpage_field(v, "chain", 64));
    if (face == CD_WH_B) {
        cd_wh_w_str(&w, "event_type", cd__wpage_field(v, "type", 40));
    } else {
        cd_json_w_key(&w, face == CD_WH_A ? "events" : "event_types");
        cd_json_w_arr(&w);
        for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
            const char *name = cd_wh_type_name((cd_wh_type)t);
            if (cd_wh_type_face((cd_wh_type)t) == face && cd__wpage_field(v, name, 4)[0] != '\0') {
                cd_json_w_cstr(&w, name);
            }
        }
        cd_json_w_arr_end(&w);
    }
    cd_json_w_key(&w, face == CD_WH_B ? "config" : "filters");
    cd_json_w_obj(&w);
    for (const field *f = fields_of(face); f->name != NULL; f++) {
        const char *value = cd__wpage_field(v, f->name, LIST_MAX);
        cd_bytes one = cd_text_trim(cd_bytes_str(value), NULL);
        cd_wh_type type;
        bool applies = f->types == 0 ||
                       cd_wh_type_of(&type, face, cd_bytes_str(cd__wpage_field(v, "type", 40))) != CD_OK ||
                       (f->types & 1u << type) != 0;
        if (one.n == 0 || !applies) {
            continue;
        }
        cd_json_w_key(&w, f->name);
        if (f->is_list) {
            put_list(&w, value, "\n,", strcmp(f->name, "topics") == 0);
        } else {
            cd_json_w_str(&w, one);
        }
    }
    cd_json_w_obj_end(&w);
    if (cd__wpage_field(v, "strict", 4)[0] != '\0') {
        cd_wh_w_str(&w, "ordering", "strict");
    }
    const char *abi = cd__wpage_field(v, "abi", LIST_MAX);
    if (cd_text_trim(cd_bytes_str(abi), NULL).n != 0 && tells_logs(v)) {
        cd_json_w_key(&w, "abi");
        put_list(&w, abi, "\n", false);
    }
    cd_json_w_obj_end(&w);
    cd_bytes out = cd_arena_dup(&v->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

static cd_err read_form(cd__wpage_visit *v)
{
    cd_json body;
    CD_TRY(cd_wh_read_body(&v->read, &body, body_of(v)));
    return v->face->create(&v->read, &v->draft, body);
}

/* --- the page --- */

static void put_input(cd__wpage_visit *v, const char *name, const char *label, const char *hint, const char *value,
                      bool is_required)
{
    if (is_required) {
        cd_html_put(&v->h,
                    "<label>{}<input class=\"field\" name=\"{}\" value=\"{}\" "
                    "placeholder=\"{}\" autocomplete=\"off\" spellcheck=\"false\" required></label>",
                    label, name, value, hint);
    } else {
        cd_html_put(&v->h,
                    "<label>{}<input class=\"field\" name=\"{}\" value=\"{}\" "
                    "placeholder=\"{}\" autocomplete=\"off\" spellcheck=\"false\"></label>",
                    label, name, value, hint);
    }
}

static void put_chains(cd__wpage_visit *v)
{
    const cd_wh_engine *e = v->pages->cfg.engine;
    const char *chosen = cd__wpage_field(v, "chain", 64);
    cd_wh_head head;
    cd_html_put(&v->h, "<label>Chain<select class=\"field\" name=\"chain\">");
    for (usize i = 0; e->head(e->ctx, &head, i); i++) {
        if (strcmp(head.chain, chosen) == 0) {
            cd_html_put(&v->h, "<option selected>{}</option>", head.chain);
        } else {
            cd_html_put(&v->h, "<option>{}</option>", head.chain);
        }
    }
    cd_html_put(&v->h, "</select></label>");
}

static void put_event_choice(cd__wpage_visit *v)
{
    cd_wh_face face = v->account.project.face;
    const char *chosen = cd__wpage_field(v, "type", 40);
    cd_html_put(&v->h, "<fieldset class=\"choices\"><legend>Events</legend>");
    bool is_first = true;
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        const char *name = cd_wh_type_name((cd_wh_type)t);
        if (cd_wh_type_face((cd_wh_type)t) != face) {
            continue;
        }
        bool is_on = face == CD_WH_B ? strcmp(chosen, name) == 0 || (chosen[0] == '\0' && is_first)
                                     : cd__wpage_field(v, name, 4)[0] != '\0';
        const char *kind = face == CD_WH_B ? "radio" : "checkbox";
        const char *key = face == CD_WH_B ? "type" : name;
        const char *value = face == CD_WH_B ? name : "on";
        if (is_on) {
            cd_html_put(&v->h, "<label><input type=\"{}\" name=\"{}\" value=\"{}\" checked>{}</label>", kind, key,
                        value, name);
        } else {
            cd_html_put(&v->h, "<label><input type=\"{}\" name=\"{}\" value=\"{}\">{}</label>", kind, key, value, name);
        }
        is_first = false;
    }
    cd_html_put(&v->h, "</fieldset>");
}

/* Where one type is chosen, fields that cannot apply to it are not shown: classes for the style sheet. */
static const char *where_hidden(cd__wpage_visit *v, const field *f)
{
    cd_buf names = {0};
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        if (f->types != 0 && (f->types & 1u << t) == 0 && cd_wh_type_face((cd_wh_type)t) == v->account.project.face) {
            cd_buf_fmt(&names, " not-%s", cd_wh_type_name((cd_wh_type)t));
        }
    }
    const char *out = cd_arena_str(&v->mem, cd_buf_bytes(&names));
    cd_buf_fini(&names);
    return out;
}

static void put_fields(cd__wpage_visit *v)
{
    for (const field *f = fields_of(v->account.project.face); f->name != NULL; f++) {
        const char *value = cd__wpage_field(v, f->name, LIST_MAX);
        cd_html_put(&v->h, "<div class=\"{}\">", where_hidden(v, f));
        if (f->is_list) {
            cd_html_put(&v->h,
                        "<label>{}<textarea class=\"field mono\" name=\"{}\" "
                        "rows=\"2\" placeholder=\"{}\" spellcheck=\"false\">{}</textarea></label>",
                        f->label, f->name, f->hint, value);
        } else {
            put_input(v, f->name, f->label, f->hint, value, false);
        }
        cd_html_put(&v->h, "</div>");
    }
    if (v->account.project.face != CD_WH_C) {
        static const field abi = {.types = 1u << CD_WH_B_LOG};
        cd_html_put(&v->h,
                    "<div class=\"{}\"><label>Events of the contract, to decode<textarea "
                    "class=\"field mono\" name=\"abi\" rows=\"2\" spellcheck=\"false\" "
                    "placeholder=\"event Swap(address indexed who, uint256 amount)\">{}</textarea>"
                    "</label></div>",
                    where_hidden(v, &abi), cd__wpage_field(v, "abi", LIST_MAX));
    }
}

static void put_preview(cd__wpage_visit *v)
{
    const cd_wh_previewed *p = v->previewed;
    cd_html *h = &v->h;
    cd_html_put(h, "<section class=\"panel\" id=\"preview\"><header><h2>Preview</h2></header>"
                   "<div class=\"body stack\">");
    if (v->preview_failed != NULL) {
        cd_ui_note(h, CD_NOTE_WARN, v->preview_failed, (cd_markup){0});
    } else if (p == NULL) {
        cd_html_put(h,
                    "<p class=\"mut\">What the filter would have matched in the last {} blocks. "
                    "Nothing is sent.</p>",
                    (u64)PREVIEW_BLOCKS);
    } else {
        cd_html_put(h,
                    "<p class=\"say\"><b>{}</b> of the last {} blocks would have matched, with "
                    "<b>{}</b> events.</p>",
                    cd_fmt_count(&v->mem, p->matched_blocks), cd_fmt_count(&v->mem, p->blocks),
                    cd_fmt_count(&v->mem, p->events));
        for (usize i = 0; i < p->bodies_cnt && i < SHOWN_BODIES; i++) {
            cd_json json;
            if (cd_json_parse(&json, &v->mem, p->bodies[i], 0, NULL) == CD_OK) {
                cd_json_view(h, json);
            }
        }
    }
    if (v->refusal[0] != '\0') {
        cd_ui_note(h, CD_NOTE_BAD, v->refusal, (cd_markup){0});
    }
    cd_html_put(h, "</div></section>");
}

static void put_page(cd__wpage_visit *v)
{
    cd_html *h = &v->h;
    const cd_wh_problem *p = &v->read.problem;
    cd__wpage_page_open(v, cd_bytes_str("New webhook"));
    cd_html_put(h, "<h1>New webhook</h1>");
    if (p->status != 0) {
        cd_buf text = {0};
        cd_html b = {.out = &text};
        cd_html_put(&b, "{}", p->field);
        cd_ui_note(h, CD_NOTE_BAD, p->message, cd_markup_of(&b));
        cd_buf_fini(&text);
    }
    cd_html_put(h, "<div class=\"cols side\"><section class=\"panel\"><div class=\"body stack\">"
                   "<form class=\"stack\" method=\"post\" action=\"/webhooks/new\" "
                   "data-preview=\"/webhooks/preview\">");
    cd__wpage_csrf_put(v);
    if (v->account.project.face == CD_WH_C) {
        put_input(v, "name", "Name", "what you call it", cd__wpage_field(v, "name", 200), true);
    }
    put_input(v, "url", "Receiver", "https://example.com/hook", cd__wpage_field(v, "url", CD_WH_URL_MAX), true);
    put_chains(v);
    put_event_choice(v);
    put_fields(v);
    if (cd__wpage_field(v, "strict", 4)[0] != '\0') {
        cd_html_put(h, "<label class=\"row\"><input type=\"checkbox\" name=\"strict\" checked>"
                       "Strict order: one delivery at a time</label>");
    } else {
        cd_html_put(h, "<label class=\"row\"><input type=\"checkbox\" name=\"strict\">"
                       "Strict order: one delivery at a time</label>");
    }
    cd_html_put(h, "<div class=\"row\"><button class=\"btn go\">Make webhook</button>"
                   "<button class=\"btn\" formaction=\"/webhooks/preview\" formnovalidate>Preview"
                   "</button></div></form></div></section>");
    put_preview(v);
    cd_html_put(h, "</div><script src=\"/assets/{}\" defer></script>", cd_web_asset_get(CD_WEB_PREVIEW)->name);
    cd__wpage_page_close(v);
}

static bool new_begin(cd__wpage_visit *v)
{
    put_page(v);
    return true;
}

const cd__wpage_page_steps cd__wpage_at_NEW = {.begin = new_begin};

/* --- preview --- */

static void on_previewed(void *arg, const cd_wh_previewed *p, const char *why)
{
    cd__wpage_visit *v = arg;
    if (p == NULL) {
        v->preview_failed = cd_arena_fmt(&v->mem, "No preview: %s", why);
    } else {
        v->previewed = p;
    }
    put_page(v);
    cd__wpage_visit_end(v);
}

static void on_checked(void *arg, const char *refusal)
{
    cd__wpage_visit *v = arg;
    const cd_wh_engine *e = v->pages->cfg.engine;
    v->refusal = refusal == NULL ? "" : cd_arena_str(&v->mem, cd_bytes_str(refusal));
    e->preview(e->ctx, &v->draft.hook, PREVIEW_BLOCKS, on_previewed, v);
}

static bool preview_begin(cd__wpage_visit *v)
{
    const cd_wh_engine *e = v->pages->cfg.engine;
    v->read.is_dry = true;
    v->draft.hook.face = v->account.project.face;
    v->draft.hook.project = v->account.project.id;
    if (read_form(v) != CD_OK) {
        v->preview_failed = v->read.problem.message;
        v->read.problem.status = 0;
        put_page(v);
        cd__wpage_visit_end(v);
        return false;
    }
    v->draft.hook.face = v->account.project.face;
    v->draft.hook.project = v->account.project.id;
    if (v->draft.hook.url != NULL && v->draft.hook.url[0] != '\0') {
        e->check_url(e->ctx, v->account.project.id, v->draft.hook.url, on_checked, v);
    } else {
        on_checked(v, NULL);
    }
    return false;
}

const cd__wpage_page_steps cd__wpage_at_DO_PREVIEW = {.begin = preview_begin};

/* --- make --- */

static bool do_new_begin(cd__wpage_visit *v)
{
    if (read_form(v) != CD_OK) {
        v->status = 400;
        put_page(v);
        cd__wpage_visit_end(v);
        return false;
    }
    cd_wh_op_from_now(v->pages->cfg.engine, &v->draft.hook);
    v->check_url = v->draft.hook.url;
    return true;
}

static void put_made(cd__wpage_visit *v)
{
    const cd_wh_hook *hook = &v->hook;
    cd_html *h = &v->h;
    cd__wpage_page_open(v, cd_bytes_str("Webhook made"));
    cd_html_put(h, "<h1>Webhook made</h1><section class=\"panel\"><div class=\"body stack\">");
    const cd_ui_id id = {.text = cd_bytes_str(hook->id), .flags = CD_ID_FULL | CD_ID_COPY};
    cd_ui_ident(h, &id);
    if (hook->secret.n != 0) {
        cd_html_put(h, "<h2>Secret</h2><p>It is shown this once. The receiver needs it to know that a "
                       "delivery is genuine.</p>");
        cd_ui_code(h, hook->secret, "secret");
        cd_html_put(h, "<h2>Verify it</h2>");
        cd__wpage_put_hints(v, hook->face);
    } else {
        cd_html_put(h, "<p>Its deliveries are not signed; draw a secret on its page to change that.</p>");
    }
    for (usize i = 0; i < v->read.warnings_cnt; i++) {
        cd_ui_note(h, CD_NOTE_WARN, v->read.warnings[i], (cd_markup){0});
    }
    cd_html_put(h, "<div class=\"row\"><form method=\"post\" action=\"/webhooks/{}/test\">",
                cd_url_part_of(cd_bytes_str(hook->id)));
    cd__wpage_csrf_put(v);
    cd_html_put(h,
                "<button class=\"btn go\">Send a test event</button></form>"
                "<a class=\"btn\" href=\"/webhooks/{}\">Open it</a></div></div></section>",
                cd_url_part_of(cd_bytes_str(hook->id)));
    cd__wpage_page_close(v);
}

static cd_err do_new_run(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    const cd_wh_tier *tier = cd_wh_tier_of(v->account.project.tier);
    cd_wh_problem *p = &v->read.problem;
    if (v->refusal[0] != '\0') {
        *p = (cd_wh_problem){.status = 400, .message = v->refusal, .field = "Receiver"};
        v->refusal = "";
        v->status = 400;
        put_page(v);
        return CD_OK;
    }
    cd_err err = cd_wh_op_create(s, &v->draft, &v->account.project, tier->webhooks, v->now_s * 1000, &v->mem, why);
    if (err == CD_EFULL) {
        *p = (cd_wh_problem){
            .status = 403,
            .message = cd_arena_fmt(&v->mem, "The %s tier has at most %u webhooks", tier->name, tier->webhooks),
            .field = "Delete one, or ask for another tier"};
        v->status = 403;
        put_page(v);
        return CD_OK;
    }
    CD_TRY(err);
    v->hook = v->draft.hook;
    CD_TRY(cd__wpage_audit(v, s, "webhook.create", v->hook.id, why));
    v->changed = true;
    put_made(v);
    return CD_OK;
}

const cd__wpage_page_steps cd__wpage_at_DO_NEW = {.begin = do_new_begin, .run = do_new_run};
