#include "base/hex.h"
#include "base/num_text.h"
#include "crypto/hash/keccak.h"
#include "explorer/explorer_priv.h"
#include "types/fn.h"
#include "types/addr_text.h"
#include "web/serve.h"

enum { ANSWERED_MAX = 24 /* functions without arguments that are asked at once */ };

typedef struct contract {
    cd_addr20 addr;
    cd__code code;
    cd_fn *fns;
    usize cnt;
    bool is_given; /* by an ABI, not found in the code */
    usize asked;   /* function whose answer is shown; SIZE_MAX: none is */
} contract;

bool cd__addr_parse(cd_addr20 *out, cd_bytes text)
{
    return text.n == 42 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x' &&
           cd_hex_parse(out->b, cd_bytes_sub(text, 2, 40)) == CD_OK;
}

cd_bytes cd__fn_action(cd__xp *p, const cd_addr20 *addr)
{
    char text[CD_ADDR_TEXT_SIZE];
    return cd_bytes_str(cd_arena_fmt(&p->a, "%s/contract/%s", p->x->root, cd_addr_fmt(text, addr)));
}

/* --- facts --- */

static void facts(cd__xp *p, const contract *c)
{
    const char *kinds[8];
    usize cnt = cd__code_kinds(kinds, &c->code);
    cd_bytes own = c->code.proxy != NULL ? c->code.facade : c->code.code;
    cd_hash32 hash;
    cd_html *h = &p->h;
    cd_keccak256(&hash, own);
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>Code</h2></header><div class=\"body\"><dl "
                "class=\"kv\"><dt>Size</dt><dd>{} <span class=\"mut\">{} bytes</span></dd>"
                "<dt>Hash</dt><dd>",
                cd_fmt_bytes(&p->a, own.n), cd_fmt_count(&p->a, own.n));
    cd_ui_ident(h, &(cd_ui_id){.text = cd__xp_hex(p, cd_bytes_of(hash.b, 32)), .flags = CD_ID_COPY});
    cd_html_put(h, "</dd>");
    if (c->code.proxy != NULL) {
        cd_html_put(h, "<dt>Proxy</dt><dd>{} to ", c->code.proxy);
        cd__xp_addr(p, &c->code.target, CD_ID_COPY);
        cd_html_put(h, "</dd>");
    }
    if (c->code.compiler[0] + c->code.compiler[1] + c->code.compiler[2] != 0) {
        cd_html_put(h, "<dt>Compiler</dt><dd>Solidity {}.{}.{}</dd>", c->code.compiler[0], c->code.compiler[1],
                    c->code.compiler[2]);
    }
    cd_html_put(h, "<dt>Interfaces</dt><dd>");
    for (usize i = 0; i < cnt; i++) {
        cd_ui_pill(h, CD_PILL_NEUTRAL, cd_bytes_str(kinds[i]));
    }
    cd_html_put(h,
                "{}</dd><dt>Selectors</dt><dd>{} <span class=\"mut\">in the code</span></dd></dl>"
                "<details><summary>Bytecode</summary>",
                cnt == 0 ? "none that everybody knows" : "", (u64)c->code.selectors_cnt);
    cd_ui_code(h, cd__xp_hex(p, own), "code");
    cd_html_put(h, "</details></div></section>");
}

/* --- functions --- */

/* Functions that everybody uses, or an ABI told of, and whose selectors are in the code, in its order. */
static void find_known(cd__xp *p, contract *c)
{
    c->fns = cd_arena_array(&p->a, cd_fn, CD__SELECTORS_MAX + 1);
    for (usize i = 0; i < c->code.selectors_cnt; i++) {
        const cd__known *k = cd__known_call(p->x, cd_bytes_of(c->code.selectors[i], 4));
        cd_buf text = {0};
        if (k != NULL) {
            cd__known_text(&text, k);
            c->cnt += cd_fn_parse(&c->fns[c->cnt], &p->a, cd_buf_bytes(&text), NULL) == CD_OK;
        }
        cd_buf_fini(&text);
    }
}

/* What a field belongs to, and what stands in it: an argument that was typed stays. */
static void field(cd__xp *p, const contract *c, usize nr, const char *name)
{
    cd_html_put(&p->h, " name=\"");
    if (c->is_given) {
        cd_html_put(&p->h, "f{}.{}\" form=\"abi\"", (u64)nr, cd_bytes_str(name));
    } else {
        cd_html_put(&p->h, "{}\"", cd_bytes_str(name));
    }
}

static cd_bytes typed(cd__xp *p, const contract *c, usize nr, const char *name)
{
    return nr == c->asked ? cd__xp_field(p, name, CD_FN_VALUE_MAX) : (cd_bytes){0};
}

static void input(cd__xp *p, const contract *c, usize nr, const cd_fn_arg *arg, const char *name)
{
    bool is_long = arg->type.n != 0 &&
                   (arg->type.p[0] == '(' || arg->type.p[arg->type.n - 1] == ']' ||
                    cd_bytes_eq(arg->type, cd_bytes_str("string")) || cd_bytes_eq(arg->type, cd_bytes_str("bytes")));
    cd_html *h = &p->h;
    cd_html_put(h, "<label>{} <span class=\"mut mono\">{}</span>", cd_foreign_of(arg->name), cd_foreign_of(arg->type));
    if (is_long) {
        cd_html_put(h, "<textarea class=\"field\" rows=\"2\" spellcheck=\"false\"");
    } else {
        cd_html_put(h, "<input class=\"field\" autocomplete=\"off\" spellcheck=\"false\"");
    }
    field(p, c, nr, name);
    if (is_long) {
        cd_html_put(h, ">\n{}</textarea></label>", typed(p, c, nr, name));
    } else {
        cd_html_put(h, " value=\"{}\"", typed(p, c, nr, name));
        if (!c->is_given) {
            cd_html_put(h, " required");
        }
        cd_html_put(h, "></label>");
    }
}

static void money_and_sender(cd__xp *p, const contract *c, usize nr)
{
    const cd_fn *f = &c->fns[nr];
    cd_html *h = &p->h;
    if (f->is_payable) {
        cd_html_put(h, "<label>Value <span class=\"mut\">such as 0.5 LUX</span><input class=\"field\" "
                       "autocomplete=\"off\"");
        field(p, c, nr, "value");
        cd_html_put(h, " value=\"{}\"></label>", typed(p, c, nr, "value"));
    }
    if (!f->is_view) {
        cd_bytes from = typed(p, c, nr, "from");
        const char *usual = cd_view_rules(p->view)->is_dev ? CD__XP_DEV_ACCOUNT : "";
        cd_html_put(h,
                    "<label>From <span class=\"mut\">the account that is tried with</span><input class=\"field mono\" "
                    "autocomplete=\"off\" spellcheck=\"false\"");
        field(p, c, nr, "from");
        cd_html_put(h, " value=\"{}\"></label>", nr == c->asked ? from : cd_bytes_str(usual));
    }
}

/* A function has a form of its own, which leads to an address that can be kept; with an ABI, which is too long for one,
 * all are fields of the form of the ABI. */
static void form(cd__xp *p, const contract *c, usize nr)
{
    const cd_fn *f = &c->fns[nr];
    cd_html *h = &p->h;
    u8 selector[4];
    cd_buf text = {0};
    cd_buf types = {0};
    cd_fn_selector(selector, f);
    cd_fn_fmt(&text, f);
    cd_fn_types(&types, f->in, f->in_cnt);
    cd_html_put(h, "<details class=\"fn\"");
    if (nr == c->asked) {
        cd_html_put(h, " open");
    }
    cd_html_put(h, "><summary><b class=\"mono\">{}</b><span class=\"mono mut\">{}</span>", cd_foreign_of(f->name),
                cd_foreign_of(cd_buf_bytes(&types)));
    cd_ui_tag(h, cd_foreign_of(cd__xp_hex(p, cd_bytes_of(selector, 4))));
    if (c->is_given) {
        cd_html_put(h, "</summary><div class=\"stack asks\">");
    } else {
        cd_html_put(h,
                    "</summary><form class=\"stack\" action=\"{}#answer\"><input type=\"hidden\" name=\"f\" "
                    "value=\"{}\">",
                    cd__fn_action(p, &c->addr), cd_buf_bytes(&text));
    }
    for (usize i = 0; i < f->in_cnt; i++) {
        input(p, c, nr, &f->in[i], cd_arena_fmt(&p->a, "a%zu", i));
    }
    money_and_sender(p, c, nr);
    cd_html_put(h, "<div><button class=\"btn\"");
    if (c->is_given) {
        cd_html_put(h, " form=\"abi\" name=\"ask\" value=\"{}\" formaction=\"{}#answer\"", (u64)nr,
                    cd__fn_action(p, &c->addr));
    }
    cd_html_put(h, ">{}</button></div>", cd_bytes_str(f->is_view ? "Read" : "Simulate"));
    if (c->is_given) {
        cd_html_put(h, "</div></details>");
    } else {
        cd_html_put(h, "</form></details>");
    }
    cd_buf_fini(&text);
    cd_buf_fini(&types);
}

/* What a function without arguments answers now. */
static void answered(cd__xp *p, const contract *c, const cd_fn *f)
{
    u8 selector[4];
    cd_bytes out = {0};
    cd_abi_type t;
    cd_abi_val v;
    cd_buf types = {0};
    cd_html *h = &p->h;
    cd_fn_selector(selector, f);
    cd_fn_types(&types, f->out, f->out_cnt);
    cd_html_put(h, "<dt class=\"mono\">{}</dt><dd>", cd_foreign_of(f->name));
    if (!cd__call_static(p, &out, cd_view_head(p->view), &c->addr, cd_bytes_of(selector, 4))) {
        cd_html_put(h, "<span class=\"mut\">fails</span>");
    } else if (cd_abi_parse(&t, &p->a, cd_buf_bytes(&types), NULL) != CD_OK ||
               cd_abi_dec(&v, &p->a, &t, out) != CD_OK) {
        cd_html_put(h, "<span class=\"mono\">{}</span>", cd_foreign_of(cd__xp_hex(p, out)));
    } else {
        for (usize i = 0; i < t.cnt; i++) {
            cd_html_put(h, "<span>");
            cd__value_write(p, &t.inner[i], &v.items[i], 0);
            cd_html_put(h, " <span class=\"mut\">{}</span></span>", cd_foreign_of(f->out[i].name));
        }
    }
    cd_html_put(h, "</dd>");
    cd_buf_fini(&types);
}

/* Reading without arguments needs no form. */
static bool is_plain(const cd_fn *f)
{
    return f->is_view && f->in_cnt == 0 && f->out_cnt != 0;
}

static void functions(cd__xp *p, const contract *c, bool views)
{
    usize cnt = 0;
    usize plain = 0;
    cd_html *h = &p->h;
    for (usize i = 0; i < c->cnt; i++) {
        cnt += c->fns[i].is_view == views ? 1 : 0;
        plain += views && is_plain(&c->fns[i]) ? 1 : 0;
    }
    if (cnt == 0) {
        return;
    }
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>{}</h2><div class=\"end\">{} {}</div></header>"
                "<div class=\"body\">",
                views ? "Read" : "Write", (u64)cnt, c->is_given ? "in the ABI" : "well known");
    if (plain != 0) {
        usize asked = 0;
        cd_html_put(h, "<dl class=\"kv\">");
        for (usize i = 0; i < c->cnt && asked < ANSWERED_MAX; i++) {
            if (is_plain(&c->fns[i])) {
                answered(p, c, &c->fns[i]);
                asked++;
            }
        }
        cd_html_put(h, "</dl>");
    }
    for (usize i = 0; i < c->cnt; i++) {
        const cd_fn *f = &c->fns[i];
        if (f->is_view == views && (!is_plain(f) || plain > ANSWERED_MAX || i == c->asked)) {
            form(p, c, i);
        }
    }
    cd_html_put(h, "</div></section>");
}

/* --- ABI --- */

static void abi_form(cd__xp *p, const contract *c, cd_bytes text, const cd_errinfo *why)
{
    cd_html *h = &p->h;
    cd_hash32 hash;
    cd_keccak256(&hash, c->code.code);
    if (why->code != CD_OK) {
        cd_buf words = {0};
        cd_html w = {.out = &words};
        cd_html_put(&w, "{}", cd_foreign_of(cd_bytes_str(why->msg)));
        cd_ui_note(h, CD_NOTE_BAD, "This is no ABI", cd_markup_of(&w));
        cd_buf_fini(&words);
    }
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>ABI</h2></header><form class=\"body stack\" id=\"abi\" "
                "method=\"post\" enctype=\"multipart/form-data\" action=\"{}\" data-abi=\"{}\">"
                "<p class=\"mut\">JSON as compilers write it, or a function a line: "
                "<span class=\"mono\">balanceOf(address owner) view(uint256)</span></p>",
                cd__fn_action(p, &c->addr), cd__xp_hex(p, cd_bytes_of(hash.b, 32)));
    cd_html_put(h,
                "<label>Text<textarea class=\"field mono\" name=\"abi\" rows=\"5\" "
                "spellcheck=\"false\">{}</textarea></label><label>or a file <input type=\"file\" "
                "name=\"file\" accept=\".json,.abi,.txt\"></label><div><button class=\"btn "
                "go\">Show its functions</button></div></form></section>",
                text);
}

/* Which of the functions of an ABI was asked. */
static void take_ask(cd__xp *p, contract *c)
{
    u64 nr;
    cd_bytes text = {0};
    (void)cd_web_form_part(&text, cd_http_req_header(p->req, "content-type"), cd_http_req_body(p->req), "ask");
    if (c->is_given && text.n <= CD_U64_TEXT_MAX && cd_u64_parse(&nr, text) == CD_OK && nr < c->cnt) {
        c->asked = (usize)nr;
        p->fields = cd_arena_fmt(&p->a, "f%zu.", c->asked);
    }
}

/* The function that the query describes; one that is not among those of the page becomes the last of them. */
static cd_bytes find_asked(cd__xp *p, contract *c)
{
    cd_fn *f = cd_arena_new(&p->a, cd_fn);
    cd_bytes text = cd__xp_query(p, "f", CD_FN_TEXT_MAX + 1);
    if (text.n == 0 || cd_fn_parse(f, &p->a, text, NULL) != CD_OK) {
        return text;
    }
    u8 wanted[4];
    u8 selector[4];
    cd_fn_selector(wanted, f);
    for (usize i = 0; i < c->cnt && c->asked == SIZE_MAX; i++) {
        cd_fn_selector(selector, &c->fns[i]);
        c->asked = memcmp(selector, wanted, 4) == 0 ? i : SIZE_MAX;
    }
    if (c->asked == SIZE_MAX) {
        c->asked = c->cnt++;
    }
    c->fns[c->asked] = *f; /* as it was described: its results may be others */
    return text;
}

/* The functions of a pasted or uploaded ABI; its text stays in the form. */
static cd_bytes take_abi(cd__xp *p, contract *c, cd_errinfo *why)
{
    cd_bytes type = cd_http_req_header(p->req, "content-type");
    cd_bytes body = cd_http_req_body(p->req);
    cd_bytes text = {0};
    cd_bytes file = {0};
    cd_fn *fns;
    usize cnt;
    (void)cd_web_form_part(&file, type, body, "file");
    (void)cd_web_form_part(&text, type, body, "abi");
    if (cd_fn_list(&fns, &cnt, &p->a, file.n != 0 ? file : text, why) == CD_OK) {
        c->fns = fns;
        c->cnt = cnt;
        c->is_given = true;
    }
    return file.n != 0 && file.n <= CD_FN_FILE_MAX ? file : text;
}

static void head_of(cd__xp *p, const contract *c)
{
    const char *kinds[8];
    usize cnt = cd__code_kinds(kinds, &c->code);
    cd_html *h = &p->h;
    cd_html_put(h, "<div class=\"head\"><div class=\"grow\"><h1>Contract</h1>");
    cd__xp_addr(p, &c->addr, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(h, "</div>");
    for (usize i = 0; i < cnt && i < 3; i++) {
        cd_ui_pill(h, CD_PILL_NEUTRAL, cd_bytes_str(kinds[i]));
    }
    char text[CD_ADDR_TEXT_SIZE];
    cd_html_put(h,
                "<nav class=\"pager\" aria-label=\"This address\"><a class=\"btn s\" "
                "href=\"{}/address/{}\">Balance and transactions</a></nav></div>",
                p->x->root, cd_addr_fmt(text, &c->addr));
}

static cd_bytes describe(cd__xp *p, const cd_fn *f)
{
    cd_buf text = {0};
    cd_fn_fmt(&text, f);
    cd_bytes out = cd_arena_dup(&p->a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

void cd__xp_contract(cd__xp *p, cd_bytes rest)
{
    contract *c = cd_arena_new(&p->a, contract);
    cd_errinfo why = {0};
    cd_bytes text = {0};
    if (!cd__addr_parse(&c->addr, rest)) {
        cd__xp_missing(p, "No contract", cd_foreign_of(rest), "An address is 0x and 40 hexadecimal digits.");
        return;
    }
    cd_err e = cd__code_read(p, &c->code, &c->addr);
    if (e != CD_OK) {
        cd__xp_broken(p, e);
        return;
    }
    if (c->code.code.n == 0 && c->code.facade.n == 0) {
        cd__xp_missing(p, "No contract at", cd_foreign_of(rest), "There is no code behind it.");
        return;
    }
    c->asked = SIZE_MAX;
    find_known(p, c);
    cd_bytes asked = {0};
    if (cd_http_req_method(p->req) == CD_HTTP_POST) {
        text = take_abi(p, c, &why);
        take_ask(p, c);
        asked = c->asked == SIZE_MAX ? asked : describe(p, &c->fns[c->asked]);
    } else {
        asked = find_asked(p, c);
    }
    p->title = cd_bytes_str("Contract");
    head_of(p, c);
    cd_html_put(&p->h, "<div class=\"cols side\"><div class=\"stack\">");
    if (c->is_given) { /* the Enter key presses the first button of a form: not that of some function */
        cd_html_put(&p->h, "<button class=\"sr\" form=\"abi\" tabindex=\"-1\" aria-hidden=\"true\"></button>");
    }
    cd__ask_write(p, &c->addr, asked);
    functions(p, c, true);
    functions(p, c, false);
    if (c->cnt == 0) {
        cd_html_put(&p->h, "<section class=\"panel\">");
        cd_ui_empty(&p->h, "No function that everybody knows", "Paste the contract's ABI to read it and to send to it.",
                    (cd_markup){0});
        cd_html_put(&p->h, "</section>");
    }
    cd_html_put(&p->h, "</div><div class=\"stack\">");
    facts(p, c);
    abi_form(p, c, text, &why);
    cd_html_put(&p->h, "</div></div>");
}
