#include "base/hex.h"
#include "explorer/explorer_priv.h"
#include "web/chart.h"

enum { LOGS_SHOWN = 50, DATA_SHOWN = 4096 };

/* --- in a sentence --- */

static void say_move(cd__xp *p, const cd__move *v, const cd_addr20 *who)
{
    static const cd_addr20 nobody;
    cd_html *h = &p->h;
    const char *verb = cd_addr20_eq(&v->from, &nobody) && v->token != NULL ? "minted"
                       : cd_addr20_eq(&v->to, &nobody) && v->token != NULL ? "burned"
                       : cd_addr20_eq(&v->from, who)                       ? "sent"
                                                                           : "moved";
    cd_html_put(h, " {} <b>", verb);
    cd__move_amount(p, v);
    cd_html_put(h, "</b>");
    if (verb[0] != 'b') {
        cd_html_put(h, " to ");
        cd__xp_addr(p, &v->to, 0);
    }
}

/* "called deposit on 0x… with 5 LUX" */
static void say_call(cd__xp *p, const cd_tx *tx)
{
    cd_html *h = &p->h;
    cd_html_put(h, " called <b>{}</b> on ", cd_foreign_of(cd__xp_method(p, tx)));
    cd__xp_addr(p, &tx->to, 0);
    if (!cd_u256_is_zero(&tx->value)) {
        cd_html_put(h, " with <b>");
        cd__xp_lux(p, &tx->value, true);
        cd_html_put(h, "</b>");
    }
}

static void say_more(cd__xp *p, usize cnt)
{
    if (cnt > 1) {
        cd_html_put(&p->h, " and {} more", cd_fmt_count(&p->a, cnt - 1));
    }
}

/* What became of contracts meanwhile. That a contract ran SELFDESTRUCT does not mean that it is gone. */
static void say_inside(cd__xp *p, const cd__inside *in)
{
    cd_html *h = &p->h;
    if (in->made_cnt != 0) {
        cd_html_put(h, ", which created the contract ");
        cd__xp_addr(p, &in->made, 0);
        say_more(p, in->made_cnt);
    }
    if (in->ended_cnt != 0) {
        cd_html_put(h, "; ");
        cd__xp_addr(p, &in->ended, 0);
        say_more(p, in->ended_cnt);
        cd_html_put(h, " ran SELFDESTRUCT");
        if (in->ended_cnt == 1) {
            cd_html_put(h, " and gave <b>");
            cd__xp_lux(p, &in->left, true);
            cd_html_put(h, "</b> to ");
            cd__xp_addr(p, &in->heir, 0);
        }
    }
}

static void say_failed(cd__xp *p, const cd_tx *tx, const cd__reason *reason)
{
    cd_html *h = &p->h;
    cd_html_put(h, " tried to {} ", tx->is_create ? "deploy a contract" : "call");
    if (!tx->is_create) {
        cd_html_put(h, "<b>{}</b> on ", cd_foreign_of(cd__xp_method(p, tx)));
        cd__xp_addr(p, &tx->to, 0);
    }
    cd_html_put(h, ", but it failed{}", reason->text.n == 0 ? "" : ": ");
    if (reason->text.n != 0) {
        cd_html_put(h, "<b>");
        cd__reason_write(p, reason);
        cd_html_put(h, "</b>");
    }
}

static void sentence(cd__xp *p, const cd_accepted *b, usize idx, cd__moves *m, const cd__reason *reason)
{
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    cd_html *h = &p->h;
    cd__move gave;
    cd__move got;
    cd_html_put(h, "<p class=\"say\">");
    cd__xp_addr(p, &tx->sender, 0);
    if (!r->ok) {
        say_failed(p, tx, reason);
    } else if (tx->is_create) {
        cd_html_put(h, " deployed the contract ");
        cd__xp_addr(p, &r->created, 0);
    } else if (tx->data.n != 0 && cd__moves_swap(p, m, b, &gave, &got)) {
        cd_html_put(h, " swapped <b>");
        cd__move_amount(p, &gave);
        cd_html_put(h, "</b> for <b>");
        cd__move_amount(p, &got);
        cd_html_put(h, "</b> on ");
        cd__xp_addr(p, &tx->to, 0);
    } else if (m->total == 1 && m->one.is_token && m->inside.made_cnt + m->inside.ended_cnt == 0) {
        say_move(p, &m->one, &tx->sender);
    } else if (tx->data.n == 0 && m->inside.made_cnt + m->inside.ended_cnt == 0) {
        cd_html_put(h, " sent <b>");
        cd__xp_lux(p, &tx->value, true);
        cd_html_put(h, "</b> to ");
        cd__xp_addr(p, &tx->to, 0);
    } else {
        /* The value is what the call was given, not what it is for: deposit() of 5. */
        say_call(p, tx);
    }
    say_inside(p, &m->inside);
    cd_html_put(h, ".</p>");
}

/* --- side panels --- */

static void details(cd__xp *p, const cd_accepted *b, usize idx)
{
    static const char *const types[] = {"legacy", "access list", "dynamic fee", "blob", "set code"};
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    cd_html *h = &p->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Details</h2></header><div "
                   "class=\"body\"><dl class=\"kv\">"
                   "<dt>Block</dt><dd>");
    cd__xp_height(p, b->block.header.number);
    cd_html_put(h, " <span class=\"mut\">#{} of {}</span></dd><dt>Time</dt><dd>", (u64)idx, (u64)b->block.tx_cnt);
    cd_ui_time(h, &p->a, b->block.header.time, p->now_s);
    cd_html_put(h, " <span class=\"mut\">{}</span></dd><dt>From</dt><dd>", cd_fmt_utc(&p->a, b->block.header.time));
    cd__xp_addr(p, &tx->sender, CD_ID_COPY);
    cd_html_put(h, "</dd><dt>{}</dt><dd>", tx->is_create ? "Created" : "To");
    if (tx->is_create && !r->has_created) {
        cd_html_put(h, CD_FMT_NONE);
    } else {
        cd__xp_addr(p, tx->is_create ? &r->created : &tx->to, CD_ID_COPY);
    }
    cd_html_put(h, "</dd><dt>Value</dt><dd>");
    cd__xp_lux(p, &tx->value, true);
    cd_html_put(h,
                "</dd><dt>Nonce</dt><dd>{}</dd><dt>Type</dt><dd>{} <span "
                "class=\"mut\">{}</span></dd></dl></div></section>",
                cd_fmt_count(&p->a, tx->nonce), (u32)tx->type, types[tx->type]);
}

static void fees(cd__xp *p, const cd_accepted *b, usize idx, const cd_u256 *fee)
{
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    const cd_header *x = &b->block.header;
    cd_html *h = &p->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Fee</h2><div class=\"end\"><b>");
    cd__xp_lux(p, fee, true);
    cd_html_put(h,
                "</b></div></header><div class=\"body\"><dl class=\"kv\"><dt>Gas used</dt><dd>{} "
                "<span class=\"mut\">of {}</span>",
                cd_fmt_count(&p->a, r->gas_used), cd_fmt_count(&p->a, tx->gas_limit));
    cd_chart_meter(h, r->gas_used, tx->gas_limit, 1);
    cd_html_put(h, "</dd><dt>Gas price</dt><dd>{}</dd>", cd_fmt_gas_price(&p->a, &r->effective_gas_price));
    if ((x->has & CD_HEADER_BASE_FEE) != 0) {
        cd_u256 tip;
        cd_u256_sub_sat(&tip, &r->effective_gas_price, &x->base_fee);
        cd_html_put(h, "<dt>Base fee</dt><dd>{}</dd><dt>Tip</dt><dd>{}</dd>", cd_fmt_gas_price(&p->a, &x->base_fee),
                    cd_fmt_gas_price(&p->a, &tip));
    }
    if (tx->type >= CD_TX_DYNAMIC_FEE) {
        cd_html_put(h, "<dt>Max fee</dt><dd>{}</dd>", cd_fmt_gas_price(&p->a, &tx->fee_cap));
    }
    cd_html_put(h, "</dl></div></section>");
}

void cd__tx_input(cd__xp *p, const cd_tx *tx)
{
    cd_html *h = &p->h;
    if (tx->data.n == 0) {
        return;
    }
    const cd__known *k = tx->is_create ? NULL : cd__known_call(p->x, tx->data);
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>{}</h2><div "
                "class=\"end\">{}</div></header><div class=\"body stack\">",
                tx->is_create ? "Init code" : "Input", cd_fmt_bytes(&p->a, tx->data.n));
    if (k != NULL) {
        cd_html_put(h, "<div class=\"row between\"><span class=\"mono\">{}</span>", k->name);
        cd_ui_tag(h, cd_foreign_of(cd__xp_hex(p, cd_bytes_sub(tx->data, 0, 4))));
        cd_html_put(h, "</div>");
        if (!cd__known_args(p, k, &tx->to, cd_bytes_sub(tx->data, 4, tx->data.n - 4), NULL)) {
            cd_html_put(h, "<p class=\"mut\">The bytes are not arguments of {}.</p>", k->signature);
        }
    }
    cd_html_put(h, "<details><summary>Hex</summary>");
    cd_ui_code(h, cd__xp_hex(p, tx->data), "input");
    cd_html_put(h, "</details></div></section>");
}

void cd__log_write(cd__xp *p, const cd_log *log, u64 nr)
{
    cd_html *h = &p->h;
    const cd__known *k = cd__known_event(p->x, log);
    cd_html_put(h, "<div><h3 class=\"row\"><span class=\"tag\">{}</span>", nr);
    cd__xp_addr(p, &log->addr, 0);
    cd_html_put(h, "<span class=\"mono\">{}</span></h3>", k == NULL ? cd_bytes_str("") : k->name);
    if (k == NULL || !cd__known_args(p, k, &log->addr, (cd_bytes){0}, log)) {
        cd_html_put(h, "<dl class=\"kv\">");
        for (u32 t = 0; t < log->topic_cnt; t++) {
            cd_html_put(h, "<dt>Topic {}</dt><dd class=\"mono\">{}</dd>", t,
                        cd__xp_hex(p, cd_bytes_of(log->topics[t].b, 32)));
        }
        cd_html_put(h, "<dt>Data</dt><dd class=\"mono\">{}</dd></dl>", cd_foreign_of(cd__xp_hex(p, log->data)));
    }
    cd_html_put(h, "</div>");
}

static void logs(cd__xp *p, const cd_receipt *r)
{
    cd_html *h = &p->h;
    if (r->log_cnt == 0) {
        return;
    }
    cd_html_put(h,
                "<section class=\"panel\" id=\"logs\"><header><h2>Logs</h2><div "
                "class=\"end\">{}</div></header><div class=\"body stack\">",
                cd_fmt_count(&p->a, r->log_cnt));
    usize first = cd__xp_from(p, "logs", r->log_cnt);
    usize end = cd_min_u64(first + LOGS_SHOWN, r->log_cnt);
    for (usize i = first; i < end; i++) {
        cd__log_write(p, &r->logs[i], i);
    }
    cd_html_put(h, "</div>");
    if (r->log_cnt > LOGS_SHOWN) {
        cd__xp_pages(p, "logs", "logs", first, end, r->log_cnt, "");
    }
    cd_html_put(h, "</section>");
}

static void head_of(cd__xp *p, const cd_accepted *b, usize idx)
{
    const cd_tx *tx = &b->block.txs[idx];
    cd_html *h = &p->h;
    cd_html_put(h,
                "<div class=\"head\"><div class=\"grow\"><p class=\"crumbs\"><span class=\"ch c\" "
                "aria-hidden=\"true\">C</span> "
                "C-Chain / <a href=\"{}\">Block {}</a></p><h1>Transaction</h1>",
                cd__xp_block_href(p, b->block.header.number), cd_fmt_count(&p->a, b->block.header.number));
    cd__xp_tx_hash(p, &tx->hash, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(h, "</div>");
    cd_ui_pill(h, b->receipts[idx].ok ? CD_PILL_OK : CD_PILL_BAD,
               cd_bytes_str(b->receipts[idx].ok ? "Success" : "Reverted"));
    cd_html_put(h, "<nav class=\"pager\" aria-label=\"Neighbours\">");
    if (idx != 0) {
        cd_html_put(h, "<a class=\"btn s\" rel=\"prev\" href=\"{}\">‹ {}</a>",
                    cd__xp_tx_href(p, &b->block.txs[idx - 1].hash), (u64)idx - 1);
    }
    if (idx + 1 < b->block.tx_cnt) {
        cd_html_put(h, "<a class=\"btn s\" rel=\"next\" href=\"{}\">{} ›</a>",
                    cd__xp_tx_href(p, &b->block.txs[idx + 1].hash), (u64)idx + 1);
    }
    cd_html_put(h, "</nav></div>");
}

/* What a failed transaction gave back, whether it means something or not. */
static void revert_data(cd__xp *p, cd_json trace, const cd__reason *reason)
{
    cd_html *h = &p->h;
    cd_bytes data = cd__call_output(p, trace);
    cd_html_put(h,
                "<section class=\"panel\" id=\"revert\"><header><h2>Revert data</h2><div class=\"end\">{}</div>"
                "</header><div class=\"body stack\">",
                cd_fmt_bytes(&p->a, data.n));
    if (cd_json_kind_of(trace) != CD_JSON_OBJ) {
        cd_html_put(
            h, "<p class=\"mut\">The state before the block is not kept, so the transaction cannot run again.</p>");
    } else if (data.n == 0) {
        cd_html_put(h, "<p class=\"mut\">It gave nothing back: no reason was written, or its gas ended.</p>");
    } else {
        cd_html_put(h, "<dl class=\"kv\">");
        if (data.n >= 4) {
            cd_html_put(h, "<dt>Selector</dt><dd class=\"mono\">{}</dd>", cd__xp_hex(p, cd_bytes_sub(data, 0, 4)));
        }
        if (cd__revert_reason(p, data).text.n != 0) {
            cd_html_put(h, "<dt>Error</dt><dd>");
            cd__reason_write(p, reason);
            cd_html_put(h, "</dd>");
        }
        cd_html_put(h, "</dl>");
        if (data.n > DATA_SHOWN) {
            cd_html_put(h, "<p class=\"mut\">The first {}:</p>", cd_fmt_bytes(&p->a, DATA_SHOWN));
        }
        cd_ui_code(h, cd__xp_hex(p, cd_bytes_sub(data, 0, cd_min_u64(data.n, DATA_SHOWN))), "revert data");
    }
    cd_html_put(h, "</div></section>");
}

/* The same run seen three ways. */
static void trace_panel(cd__xp *p, const cd_accepted *b, usize idx, cd_json trace, const char *why)
{
    const cd_ui_link views[] = {
        {.name = "Calls", .href = cd_bytes_str("?view=calls#trace")},
        {.name = "Opcodes", .href = cd_bytes_str("?view=opcodes#trace")},
        {.name = "State", .href = cd_bytes_str("?view=state#trace")},
    };
    cd_bytes view = cd__xp_query(p, "view", 16);
    usize at = cd_bytes_eq(view, cd_bytes_str("opcodes")) ? 1 : cd_bytes_eq(view, cd_bytes_str("state")) ? 2 : 0;
    cd_html_put(&p->h, "<section class=\"panel\" id=\"trace\"><header><h2>Trace</h2><div "
                       "class=\"end\">");
    cd_ui_seg(&p->h, "Seen as", views, CD_COUNT(views), at);
    cd_html_put(&p->h, "</div></header>");
    if (at == 1) {
        cd__steps_write(p, b, idx);
    } else if (at == 2) {
        cd__state_write(p, b, idx);
    } else if (cd_json_kind_of(trace) == CD_JSON_OBJ) {
        cd__trace_write(p, trace);
    } else {
        cd__trace_missing(p, why);
    }
    cd_html_put(&p->h, "</section>");
}

void cd__xp_tx(cd__xp *p, cd_bytes rest)
{
    cd_hash32 hash;
    const cd_accepted *b = NULL;
    usize idx = 0;
    cd_errinfo why = {0};
    cd_err e = CD_EFORMAT;
    if (rest.n == 66 && rest.p[0] == '0' && (rest.p[1] | 0x20) == 'x') {
        e = cd_hex_parse(hash.b, cd_bytes_sub(rest, 2, 64));
        e = e != CD_OK ? e : cd_view_tx(p->view, &b, &idx, &p->a, &hash);
    }
    if (e == CD_ENOENT && cd__xp_pending(p, &hash)) {
        return;
    }
    if (e == CD_ENOENT || e == CD_EFORMAT) {
        cd__xp_missing(p, "No transaction", cd_foreign_of(rest),
                       "in an accepted block of the C-Chain, nor in the pool.");
        return;
    }
    if (e != CD_OK) {
        cd__xp_broken(p, e);
        return;
    }
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    cd__moves *m = cd_arena_new(&p->a, cd__moves);
    cd_json trace = cd__trace_run(p, b, idx, &why);
    cd_u256 fee;
    cd_html *h = &p->h;
    cd_u256_mul_u64(&fee, &r->effective_gas_price, r->gas_used);
    cd__moves_find(p, m, b, idx, trace);
    p->title = cd_bytes_str("Transaction");
    head_of(p, b, idx);
    cd__reason reason = cd__trace_reason(p, trace);
    sentence(p, b, idx, m, &reason);
    cd_html_put(h, "<div class=\"cols side\"><div class=\"stack\">");
    if (!r->ok) {
        revert_data(p, trace, &reason);
    }
    cd__moves_write(p, m, tx, &fee);
    trace_panel(p, b, idx, trace, why.msg);
    logs(p, r);
    cd_html_put(h, "</div><div class=\"stack\">");
    details(p, b, idx);
    fees(p, b, idx, &fee);
    cd__tx_input(p, tx);
    cd_html_put(h, "</div></div>");
}
