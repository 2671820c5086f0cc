/* A question to a contract, and what would happen if a transaction were sent: everything stands in the address of
 * the page, so it can be kept, and nothing is changed by it. */
#include "base/num_text.h"
#include "explorer/explorer_priv.h"
#include "types/fn.h"
#include "num/u256_text.h"
#include "web/serve.h"

enum { GAS_MAX = 30000000, LOGS_SHOWN = 20, COPIED_MAX = 8192 };

typedef struct ask {
    cd_fn fn;
    cd_addr20 from;
    cd_u256 value;
    cd_buf data;
    const cd_accepted *block;
} ask;

cd_bytes cd__xp_query(cd__xp *p, const char *name, usize max)
{
    cd_buf text = {0};
    (void)cd_web_query(&text, cd_http_req_query(p->req), name, max);
    cd_bytes out = cd_arena_dup(&p->a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

cd_bytes cd__xp_field(cd__xp *p, const char *name, usize max)
{
    cd_bytes out = {0};
    if (p->fields == NULL) {
        return cd__xp_query(p, name, max);
    }
    (void)cd_web_form_part(&out, cd_http_req_header(p->req, "content-type"), cd_http_req_body(p->req),
                           cd_arena_fmt(&p->a, "%s%s", p->fields, name));
    return cd_bytes_sub(out, 0, cd_min_u64(out.n, max));
}

/* --- what was asked --- */

/* The amount in a field, such as "0.5 LUX"; nothing is zero. */
static cd_err read_amount(cd__xp *p, cd_u256 *out, cd_errinfo *why)
{
    static const cd_abi_type number = {.kind = CD_ABI_UINT, .size = 256, .head = 32};
    cd_bytes text = cd__xp_field(p, "value", 100);
    cd_abi_val v = {0};
    *out = cd_u256_zero();
    if (text.n != 0) {
        CD_TRY(cd_fn_value(&v, &p->a, &number, text, why));
        *out = v.num;
    }
    return CD_OK;
}

static cd_err read_args(cd__xp *p, ask *q, cd_errinfo *why)
{
    cd_buf types = {0};
    cd_abi_type t;
    u8 selector[4];
    cd_fn_types(&types, q->fn.in, q->fn.in_cnt);
    cd_err e = cd_abi_parse(&t, &p->a, cd_buf_bytes(&types), why);
    cd_buf_fini(&types);
    CD_TRY(e);
    cd_abi_val *items = cd_arena_array(&p->a, cd_abi_val, t.cnt);
    for (usize i = 0; i < t.cnt; i++) {
        cd_errinfo reason = {0};
        cd_bytes typed = cd__xp_field(p, cd_arena_fmt(&p->a, "a%zu", i), CD_FN_VALUE_MAX);
        e = cd_fn_value(&items[i], &p->a, &t.inner[i], typed, &reason);
        if (e != CD_OK) {
            return cd_fail(why, e, "argument %zu: %.200s", i + 1, reason.msg);
        }
    }
    const cd_abi_val all = {.items = items, .cnt = t.cnt};
    cd_fn_selector(selector, &q->fn);
    cd_buf_put(&q->data, cd_bytes_of(selector, 4));
    if (cd_abi_enc(&q->data, &t, &all) != CD_OK) {
        return cd_fail(why, CD_ERANGE, "an argument does not fit its type");
    }
    return CD_OK;
}

static cd_err read_ask(cd__xp *p, ask *q, cd_bytes text, cd_errinfo *why)
{
    cd_bytes from = cd__xp_field(p, "from", 64);
    cd_bytes block = cd__xp_field(p, "block", CD_U64_TEXT_MAX);
    u64 number;
    q->block = cd_view_head(p->view);
    CD_TRY(cd_fn_parse(&q->fn, &p->a, text, why));
    CD_TRY(read_args(p, q, why));
    CD_TRY(read_amount(p, &q->value, why));
    if (from.n != 0 && !cd__addr_parse(&q->from, from)) {
        return cd_fail(why, CD_EFORMAT, "from: an address is 0x and 40 hexadecimal digits");
    }
    if (block.n != 0 &&
        (cd_u64_parse(&number, block) != CD_OK || cd_view_block(p->view, &q->block, &p->a, number) != CD_OK)) {
        return cd_fail(why, CD_ENOENT, "there is no such block");
    }
    return CD_OK;
}

/* --- the answer --- */

/* Amounts of a token are shown in its units too. */
static void in_units(cd__xp *p, const ask *q, const cd_addr20 *addr, const cd_u256 *v)
{
    static const char *const names[] = {"balanceOf", "totalSupply", "allowance", "maxSupply"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(q->fn.name, cd_bytes_str(names[i])) && q->fn.out_cnt == 1) {
            cd__token t;
            cd__token_read(p, &t, q->block, addr);
            if (t.decimals != CD__DECIMALS_UNKNOWN) {
                const cd_u256 zero = cd_u256_zero();
                const cd__move m = {.token = &t, .amount = v == NULL ? zero : *v};
                cd_html_put(&p->h, " <span class=\"mut\">");
                cd__move_amount(p, &m);
                cd_html_put(&p->h, "</span>");
            }
        }
    }
}

static void results(cd__xp *p, const ask *q, const cd_addr20 *addr, cd_bytes out)
{
    cd_buf types = {0};
    cd_abi_type t;
    cd_abi_val v;
    cd_html *h = &p->h;
    cd_fn_types(&types, q->fn.out, q->fn.out_cnt);
    cd_html_put(h, "<dl class=\"kv\">");
    if (q->fn.out_cnt == 0 || cd_abi_parse(&t, &p->a, cd_buf_bytes(&types), NULL) != CD_OK ||
        cd_abi_dec(&v, &p->a, &t, out) != CD_OK) {
        t.cnt = 0;
        if (q->fn.out_cnt != 0) {
            cd_html_put(h, "<dt>Result</dt><dd>not {}</dd>", cd_foreign_of(cd_buf_bytes(&types)));
        }
    }
    for (usize i = 0; i < t.cnt; i++) {
        cd_html_put(h, "<dt>{}</dt><dd>",
                    q->fn.out[i].name.n == 0 ? cd_foreign_of(q->fn.out[i].type) : cd_foreign_of(q->fn.out[i].name));
        cd__value_write(p, &t.inner[i], &v.items[i], 0);
        if (t.inner[i].kind == CD_ABI_UINT) {
            in_units(p, q, addr, &v.items[i].num);
        }
        cd_html_put(h, "</dd>");
    }
    cd_html_put(h, "<dt>Raw</dt><dd class=\"mono\">{}", cd_foreign_of(cd__xp_hex(p, out)));
    if (out.n <= COPIED_MAX) {
        cd_ui_copy(h, cd__xp_hex(p, out), "raw result");
    } else {
        cd_html_put(h, " <span class=\"mut\">{}; eth_call has all of it</span>", cd_fmt_bytes(&p->a, out.n));
    }
    cd_html_put(h, "</dd></dl>");
    cd_buf_fini(&types);
}

/* Events that would be emitted, outer calls first. */
static void events(cd__xp *p, cd_json root)
{
    enum { NEST_MAX = 32 };
    cd_json_it stack[NEST_MAX];
    usize depth = 0;
    u64 shown = 0;
    cd_json call = root;
    for (;;) {
        cd_json_it it = cd_json_iter(cd_json_get(call, "logs"));
        while (shown < LOGS_SHOWN && cd_json_next(&it)) {
            cd_log log = {0};
            cd_json_it topic = cd_json_iter(cd_json_get(it.val, "topics"));
            bool is_good = cd_json_fixed(log.addr.b, 20, cd_json_get(it.val, "address"), NULL) == CD_OK &&
                           cd_json_hex(&log.data, &p->a, cd_json_get(it.val, "data"), NULL) == CD_OK;
            while (is_good && cd_json_next(&topic) && log.topic_cnt < CD_LOG_TOPICS_MAX) {
                is_good = cd_json_fixed(log.topics[log.topic_cnt++].b, 32, topic.val, NULL) == CD_OK;
            }
            if (is_good) {
                cd__log_write(p, &log, shown++);
            }
        }
        if (depth < NEST_MAX) {
            stack[depth++] = cd_json_iter(cd_json_get(call, "calls"));
        }
        while (depth != 0 && !cd_json_next(&stack[depth - 1])) {
            depth--;
        }
        if (depth == 0) {
            return;
        }
        call = stack[depth - 1].val;
    }
}

/* What a wallet is given: {"to","data","chainId","value","from"}. */
static void send_button(cd__xp *p, const ask *q, const cd_addr20 *addr)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    bool is_dev = cd_view_rules(p->view)->is_dev;
    cd_json_w_obj(&w);
    cd_json_put_hex(&w, "to", cd_bytes_of(addr->b, 20));
    cd_json_put_hex(&w, "data", cd_buf_bytes(&q->data));
    cd_json_w_key(&w, "chainId"); // the wallet may be somewhere else
    cd_json_w_qty(&w, cd_view_rules(p->view)->chain_id);
    cd_json_put_qty_u256(&w, "value", &q->value);
    if (is_dev && !cd_addr20_is_zero(&q->from)) {
        cd_json_put_hex(&w, "from", cd_bytes_of(q->from.b, 20));
    }
    cd_json_w_obj_end(&w);
    cd_html_put(&p->h,
                "<div class=\"row\"><button class=\"btn go\" type=\"button\" hidden data-send=\"{}\" "
                "data-rpc=\"{}\" data-to=\"{}/tx/\">Send</button><output class=\"down\"></output><span "
                "class=\"mut\">A wallet in this browser signs it{}.</span></div>",
                cd_buf_bytes(&text), is_dev ? p->x->cfg.rpc : "", p->x->root,
                is_dev ? "; without one the account of this development network sends it" : "");
    cd_buf_fini(&text);
}

static void outcome(cd__xp *p, const ask *q, const cd_addr20 *addr)
{
    cd_errinfo why = {0};
    cd_html *h = &p->h;
    const cd_tx call = {.is_protected = true,
                        .chain_id = cd_view_rules(p->view)->chain_id,
                        .gas_limit = cd_min_u64(q->block->block.header.gas_limit, GAS_MAX),
                        .to = *addr,
                        .value = q->value,
                        .data = cd_buf_bytes(&q->data),
                        .sender = q->from,
                        .has_sender = true};
    cd_json trace = cd__call(p, q->block, &call, &why);
    if (cd_json_kind_of(trace) != CD_JSON_OBJ) {
        cd_html_put(h, "<p class=\"why\">It could not be tried: {}.</p>", cd_foreign_of(cd_bytes_str(why.msg)));
        return;
    }
    cd__reason reason = cd__trace_reason(p, trace);
    cd_bytes gas = cd_fmt_count(&p->a, cd__trace_gas(trace, "gasUsed"));
    if (reason.text.n != 0) {
        cd_html_put(h, "<p><span class=\"pill bad\">{}</span> <b>", q->fn.is_view ? "Failed" : "Would fail");
        cd__reason_write(p, &reason);
        cd_html_put(h, "</b> <span class=\"mut\">{} gas</span></p>", gas);
    } else {
        cd_html_put(h,
                    "<p><span class=\"pill ok\">{}</span> <span class=\"mut\">{} gas, after block "
                    "{}</span></p>",
                    q->fn.is_view ? "Answered" : "Would succeed", gas,
                    cd_fmt_count(&p->a, q->block->block.header.number));
        results(p, q, addr, cd__call_output(p, trace));
        events(p, trace);
    }
    if (!q->fn.is_view) {
        send_button(p, q, addr);
    }
}

void cd__ask_write(cd__xp *p, const cd_addr20 *addr, cd_bytes text)
{
    ask *q = cd_arena_new(&p->a, ask);
    cd_errinfo why = {0};
    cd_html *h = &p->h;
    if (text.n == 0) {
        return;
    }
    cd_err e = read_ask(p, q, text, &why);
    cd_html_put(h,
                "<section class=\"panel\" id=\"answer\"><header><h2>{}</h2><div class=\"end "
                "mono\">{}</div></header><div class=\"body stack\">",
                q->fn.is_view ? "Answer" : "Trial",
                q->fn.name.n == 0 ? cd_foreign_of(text) : cd_foreign_of(q->fn.name));
    if (e == CD_OK) {
        outcome(p, q, addr);
    } else {
        cd_html_put(h, "<p class=\"down\">{}</p>", cd_foreign_of(cd_bytes_str(why.msg)));
    }
    cd_html_put(h, "</div></section>");
    cd_buf_fini(&q->data);
}
