#include "base/hex.h"
#include "base/num_text.h"
#include "explorer/explorer_priv.h"
#include "types/addr_text.h"
#include "web/chart.h"

cd_bytes cd__xp_hex(cd__xp *p, cd_bytes b)
{
    char *out = cd_arena_alloc(&p->a, 2 * b.n + 2);
    out[0] = '0';
    out[1] = 'x';
    cd_hex_fmt(out + 2, b);
    return cd_bytes_of(out, 2 * b.n + 2);
}

cd_bytes cd__xp_without_chain(const cd__xp *p, cd_bytes text)
{
    const char *name = p->x->cfg.chain_name;
    usize n = strlen(name);
    bool has_it = text.n > n + 1 && text.p[n] == '/' && cd_http_name_eq(cd_bytes_of(text.p, n), cd_bytes_str(name));
    return has_it ? cd_bytes_sub(text, n + 1, text.n - n - 1) : text;
}

cd_bytes cd__xp_block_href(cd__xp *p, u64 number)
{
    return cd_bytes_str(
        cd_arena_fmt(&p->a, "%s/block/%s/%llu", p->x->root, p->x->cfg.chain_name, (unsigned long long)number));
}

cd_bytes cd__xp_tx_href(cd__xp *p, const cd_hash32 *hash)
{
    cd_bytes hex = cd__xp_hex(p, cd_bytes_of(hash->b, 32));
    return cd_bytes_str(cd_arena_fmt(&p->a, "%s/tx/%.*s", p->x->root, (int)hex.n, (const char *)hex.p));
}

void cd__xp_addr(cd__xp *p, const cd_addr20 *addr, u32 flags)
{
    char text[CD_ADDR_TEXT_SIZE];
    cd_bytes whole = cd_arena_dup(&p->a, cd_bytes_str(cd_addr_fmt(text, addr)));
    const cd_ui_id id = {
        .text = whole,
        .href = (flags & CD_ID_PAGE) != 0 ? (cd_bytes){0}
                                          : cd_bytes_str(cd_arena_fmt(&p->a, "%s/address/%s", p->x->root, text)),
        .name = cd_foreign_of((flags & CD_ID_PAGE) != 0 ? (cd_bytes){0} : cd_labels_of(p->x->cfg.labels, addr)),
        .flags = flags | CD_ID_GLINT,
    };
    cd_ui_ident(&p->h, &id);
}

void cd__xp_tx_hash(cd__xp *p, const cd_hash32 *hash, u32 flags)
{
    const cd_ui_id id = {
        .text = cd__xp_hex(p, cd_bytes_of(hash->b, 32)),
        .href = (flags & CD_ID_PAGE) != 0 ? (cd_bytes){0} : cd__xp_tx_href(p, hash),
        .flags = flags,
    };
    cd_ui_ident(&p->h, &id);
}

void cd__xp_lux(cd__xp *p, const cd_u256 *wei, bool exact)
{
    cd_html_put(&p->h, "{} LUX", cd_fmt_amount(&p->a, wei, CD__XP_DECIMALS, (cd_fmt_decimals){.sig = exact ? 0 : 6}));
}

void cd__xp_height(cd__xp *p, u64 number)
{
    cd_html_put(&p->h, "<span class=\"lampline\">");
    cd_ui_lamp(&p->h, cd_lamp_of(&p->final, number));
    cd_html_put(&p->h, "<a class=\"mono\" href=\"{}\">{}</a></span>", cd__xp_block_href(p, number),
                cd_fmt_count(&p->a, number));
}

cd_bytes cd__xp_method(cd__xp *p, const cd_tx *tx)
{
    if (tx->is_create) {
        return cd_bytes_str("create");
    }
    const cd__known *k = cd__known_call(p->x, tx->data);
    if (k != NULL) {
        return k->name;
    }
    return tx->data.n == 0   ? cd_bytes_str("transfer")
           : tx->data.n >= 4 ? cd__xp_hex(p, cd_bytes_sub(tx->data, 0, 4))
                             : cd_bytes_str("call");
}

usize cd__xp_from(cd__xp *p, const char *name, usize cnt)
{
    u64 at = 0;
    cd_bytes typed = cd__xp_query(p, name, CD_U64_TEXT_MAX);
    return typed.n != 0 && cd_u64_parse(&at, typed) == CD_OK && at < cnt ? (usize)at : 0;
}

void cd__xp_pages(cd__xp *p, const char *name, const char *anchor, usize first, usize end, usize cnt, const char *more)
{
    const char *begin = cd_arena_fmt(&p->a, "?%s=0#%s", name, anchor);
    const char *next = cd_arena_fmt(&p->a, "?%s=%zu#%s", name, end, anchor);
    cd_html_put(&p->h, "<footer><span>{} to {} of {}{}</span>", cd_fmt_count(&p->a, first),
                cd_fmt_count(&p->a, end - 1), cd_fmt_count(&p->a, cnt), more);
    cd_ui_pager(&p->h, first == 0 ? (cd_bytes){0} : cd_bytes_str(begin),
                end >= cnt ? (cd_bytes){0} : cd_bytes_str(next));
    cd_html_put(&p->h, "</footer>");
}

void cd__xp_live_pill(cd__xp *p, const char *here)
{
    cd_html_put(&p->h, "<span class=\"pill live\" hidden>Live</span><noscript><a href=\"{}\">Refresh</a></noscript>",
                here);
}

/* --- tables --- */

static const cd_ui_col block_cols[] = {
    {.name = "Height"},
    {.name = "Age"},
    {.name = "Content", .flags = CD_COL_NUM},
    {.name = "Gas used", .flags = CD_COL_NUM},
    {.name = "Block", .flags = CD_COL_P2},
};

void cd__xp_blocks_row(cd__xp *p, const cd_accepted *b)
{
    const cd_header *head = &b->block.header;
    cd_html_put(&p->h, "<tr data-id=\"{}\"><td>", head->number);
    cd__xp_height(p, head->number);
    cd_html_put(&p->h, "</td><td class=\"mut\">");
    cd_ui_time(&p->h, &p->a, head->time, p->now_s);
    cd_html_put(&p->h, "</td><td class=\"num\">{} <span class=\"mut\">{}</span></td><td class=\"num\">{} gas",
                cd_fmt_count(&p->a, b->block.tx_cnt), b->block.tx_cnt == 1 ? "tx" : "txs",
                cd_fmt_count(&p->a, head->gas_used));
    cd_chart_meter(&p->h, head->gas_used, head->gas_limit, 1);
    cd_html_put(&p->h, "</td>");
    cd_ui_cell(&p->h, &block_cols[4]);
    const cd_ui_id id = {.text = cd__xp_hex(p, cd_bytes_of(b->block.hash.b, 32)),
                         .href = cd__xp_block_href(p, head->number)};
    cd_ui_ident(&p->h, &id);
    cd_html_put(&p->h, "</td></tr>");
}

usize cd__xp_down(cd__xp *p, const cd_accepted **out, u64 from, usize cnt)
{
    cnt = cnt <= from ? cnt : (usize)from + 1;
    if (cd_view_blocks(p->view, out, &p->a, from + 1 - cnt, cnt) != CD_OK) {
        return 0;
    }
    for (usize i = 0; i < cnt / 2; i++) {
        const cd_accepted *b = out[i];
        out[i] = out[cnt - 1 - i];
        out[cnt - 1 - i] = b;
    }
    return cnt;
}

void cd__xp_blocks_table(cd__xp *p, u64 from, usize cnt, const char *live)
{
    cd_ui_table_begin(&p->h, "Blocks", block_cols, CD_COUNT(block_cols), NULL, live);
    const cd_accepted **b = (const cd_accepted **)cd_arena_array(&p->a, cd_accepted *, cnt);
    cnt = cd__xp_down(p, b, from, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd__xp_blocks_row(p, b[i]);
    }
    cd_ui_table_end(&p->h);
}

static const cd_ui_col tx_cols[] = {
    {.name = "Hash"},
    {.name = "Method"},
    {.name = "From, to", .flags = CD_COL_P2},
    {.name = "Value", .flags = CD_COL_NUM},
};

void cd__xp_txs_begin(cd__xp *p, const char *live)
{
    cd_ui_table_begin(&p->h, "Transactions", tx_cols, CD_COUNT(tx_cols), NULL, live);
}

void cd__xp_txs_row(cd__xp *p, const cd_accepted *b, usize idx, bool with_block)
{
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    cd_html *h = &p->h;
    cd_html_put(h, "<tr data-id=\"{}\"><td>", cd__xp_hex(p, cd_bytes_of(tx->hash.b, 32)));
    cd__xp_tx_hash(p, &tx->hash, 0);
    cd_html_put(h, "<span class=\"sub\">");
    if (with_block) {
        cd_ui_time(h, &p->a, b->block.header.time, p->now_s);
    } else {
        cd_html_put(h, "#{}, {} gas", (u64)idx, cd_fmt_count(&p->a, r->gas_used));
    }
    cd_html_put(h, "</span></td><td>");
    cd_ui_tag(h, cd_foreign_of(cd__xp_method(p, tx)));
    if (!r->ok) {
        cd_html_put(h, " ");
        cd_ui_pill(h, CD_PILL_BAD, cd_bytes_str("Reverted"));
    }
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &tx_cols[2]);
    cd_html_put(h, "<span class=\"ft\">");
    cd__xp_addr(p, &tx->sender, 0);
    cd_ui_icon(h, "arrow");
    cd__xp_addr(p, tx->is_create ? &r->created : &tx->to, 0);
    cd_html_put(h, "</span></td><td class=\"num\">");
    cd__xp_lux(p, &tx->value, false);
    cd_html_put(h, "</td></tr>");
}

void cd__xp_txs_end(cd__xp *p)
{
    cd_ui_table_end(&p->h);
}
