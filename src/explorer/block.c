#include "base/hex.h"
#include "base/num_text.h"
#include "explorer/explorer_priv.h"
#include "web/serve.h"

/* --- the list --- */

void cd__xp_blocks(cd__xp *p)
{
    u64 head = cd_view_head(p->view)->block.header.number;
    u64 from = head;
    cd_buf text = {0};
    if (cd_web_query(&text, cd_http_req_query(p->req), "from", CD_U64_TEXT_MAX) &&
        cd_u64_parse(&from, cd_buf_bytes(&text)) == CD_OK) {
        from = cd_min_u64(from, head);
    }
    cd_buf_fini(&text);
    p->title = cd_bytes_str("Blocks");
    p->tab = p->x->tabs[CD__TAB_BLOCKS].href;
    cd_html_put(&p->h, "<h1>Blocks</h1><section class=\"panel\" aria-label=\"Blocks\">");
    p->is_live = from == head;
    cd__xp_blocks_table(p, from, CD__XP_PAGE, p->is_live ? cd__xp_live(p, CD__LIVE_BLOCKS) : NULL);
    cd_html_put(&p->h, "<footer><span>{} in all</span>", cd_fmt_count(&p->a, head + 1));
    cd_bytes next = {0};
    if (from >= CD__XP_PAGE) {
        next = cd_bytes_str(
            cd_arena_fmt(&p->a, "%s/blocks?from=%llu", p->x->root, (unsigned long long)(from - CD__XP_PAGE)));
    }
    cd_ui_pager(&p->h, from == head ? (cd_bytes){0} : cd_bytes_str(p->x->tabs[CD__TAB_BLOCKS].href), next);
    cd_html_put(&p->h, "</footer></section>");
}

/* --- one block --- */

static cd_err find(cd__xp *p, const cd_accepted **out, cd_bytes ref)
{
    u64 number;
    cd_hash32 hash;
    if (cd_u64_parse(&number, ref) == CD_OK) {
        return cd_view_block(p->view, out, &p->a, number);
    }
    if (ref.n == 66 && ref.p[0] == '0' && ref.p[1] == 'x' && cd_hex_parse(hash.b, cd_bytes_sub(ref, 2, 64)) == CD_OK) {
        return cd_view_block_by_hash(p->view, out, &p->a, &hash);
    }
    return CD_EFORMAT;
}

static void pair(cd__xp *p, const char *name, cd_bytes value, const char *more)
{
    cd_html_put(&p->h, "<dt>{}</dt><dd>{} <span class=\"mut\">{}</span></dd>", name, value, more);
}

static void pair_hash(cd__xp *p, const char *name, const cd_hash32 *hash)
{
    cd_html_put(&p->h, "<dt>{}</dt><dd>", name);
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__xp_hex(p, cd_bytes_of(hash->b, 32)), .flags = CD_ID_COPY});
    cd_html_put(&p->h, "</dd>");
}

/* In words what the lamp shows, and how anybody checks it. */
static void finality(cd__xp *p, u64 height)
{
    const cd_lamp lamp = cd_lamp_of(&p->final, height);
    const char *how = lamp == CD_LAMP_ACCEPTED ? "two thirds of the stake have not signed it yet"
                      : lamp == CD_LAMP_BLS    ? "two thirds of the stake signed it"
                      : height == p->final.quantum && p->final.is_stamped
                          ? "two thirds of the stake signed it, by BLS and by ML-DSA"
                          : "by its own certificate, or by that of a later block";
    const char *to = cd__xp_final_href(p);
    if (to != NULL) {
        cd_html_put(&p->h, "<dt><a href=\"{}\">Finality</a></dt>", to);
    } else {
        cd_html_put(&p->h, "<dt>Finality</dt>");
    }
    cd_html_put(&p->h, "<dd>{} <span class=\"mut\">{}</span>", cd_lamp_word(lamp), how);
    if (lamp == CD_LAMP_QUANTUM && height != 0) {
        cd_html_put(&p->h, "<br><code>candela-cli finality verify {}/{} --checkpoint=FILE --rpc=URL</code>",
                    p->x->cfg.chain_name, height);
    }
    cd_html_put(&p->h, "</dd>");
}

static void details(cd__xp *p, const cd_accepted *b)
{
    const cd_header *x = &b->block.header;
    cd_html *h = &p->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Details</h2></header><div "
                   "class=\"body\"><dl class=\"kv\">"
                   "<dt>Time</dt><dd>");
    cd_ui_time(h, &p->a, x->time, p->now_s);
    cd_html_put(h, " <span class=\"mut\">{}</span></dd><dt>Parent</dt><dd>", cd_fmt_utc(&p->a, x->time));
    cd_ui_id parent = {.text = cd__xp_hex(p, cd_bytes_of(x->parent_hash.b, 32)), .flags = CD_ID_COPY};
    if (x->number != 0) {
        parent.href = cd__xp_block_href(p, x->number - 1);
    }
    cd_ui_ident(h, &parent);
    cd_html_put(h, "</dd>");
    if (p->final.is_told) {
        finality(p, x->number);
    }
    cd_html_put(h, "<dt>Size</dt><dd>{}</dd>", cd_fmt_bytes(&p->a, b->rlp.n));
    pair(p, "Gas used", cd_fmt_count(&p->a, x->gas_used), "gas");
    pair(p, "Gas limit", cd_fmt_count(&p->a, x->gas_limit), "gas");
    if ((x->has & CD_HEADER_BASE_FEE) != 0) {
        pair(p, "Base fee", cd_fmt_gas_price(&p->a, &x->base_fee), "");
    }
    if ((x->has & CD_HEADER_BLOCK_GAS_COST) != 0) {
        pair(p, "Block cost", cd_fmt_exact(&p->a, &x->block_gas_cost, 0), "gas");
    }
    cd_html_put(h, "<dt>Coinbase</dt><dd>");
    cd__xp_addr(p, &x->coinbase, CD_ID_COPY);
    cd_html_put(h, "</dd>");
    pair_hash(p, "State root", &x->state_root);
    pair_hash(p, "Tx root", &x->tx_root);
    pair_hash(p, "Receipts", &x->receipt_root);
    if (x->extra.n != 0) {
        cd_html_put(h, "<dt>Extra</dt><dd class=\"mono\">{}</dd>", cd_foreign_of(cd__xp_hex(p, x->extra)));
    }
    cd_html_put(h, "</dl></div></section>");
}

static usize senders(cd__xp *p, const cd_block *b)
{
    usize cnt = 0;
    cd_addr20 *seen = cd_arena_array(&p->a, cd_addr20, b->tx_cnt);
    for (usize i = 0; i < b->tx_cnt; i++) {
        usize k = 0;
        while (k < cnt && !cd_addr20_eq(&seen[k], &b->txs[i].sender)) {
            k++;
        }
        if (k == cnt && cnt < 1000) { // beyond, counting would cost more than it tells
            seen[cnt++] = b->txs[i].sender;
        }
    }
    return cnt;
}

static void head_of(cd__xp *p, const cd_accepted *b)
{
    const cd_header *x = &b->block.header;
    u64 newest = cd_view_head(p->view)->block.header.number;
    cd_html *h = &p->h;
    usize froms = senders(p, &b->block);
    cd_html_put(h,
                "<div class=\"head\"><div class=\"grow\"><p class=\"crumbs\"><span class=\"ch "
                "c\" aria-hidden=\"true\">{}</span> "
                "<a href=\"{}/blocks\">{}-Chain</a></p><h1 class=\"row\">",
                p->x->cfg.chain_name, p->x->root, p->x->cfg.chain_name);
    cd_ui_lamp(h, cd_lamp_of(&p->final, x->number));
    cd_html_put(h, "Block {}</h1>", cd_fmt_count(&p->a, x->number));
    cd_ui_ident(h, &(cd_ui_id){.text = cd__xp_hex(p, cd_bytes_of(b->block.hash.b, 32)),
                               .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE});
    cd_html_put(h, "</div><nav class=\"pager\" aria-label=\"Neighbours\">");
    if (x->number != 0) {
        cd_html_put(h, "<a class=\"btn s\" rel=\"prev\" href=\"{}\">‹ {}</a>", cd__xp_block_href(p, x->number - 1),
                    cd_fmt_count(&p->a, x->number - 1));
    }
    if (x->number < newest) {
        cd_html_put(h, "<a class=\"btn s\" rel=\"next\" href=\"{}\">{} ›</a>", cd__xp_block_href(p, x->number + 1),
                    cd_fmt_count(&p->a, x->number + 1));
    }
    cd_html_put(h,
                "</nav></div><p class=\"say\"><b>{} {}</b> from {} {}, <b>{} gas</b> ({} of the "
                "limit), accepted ",
                cd_fmt_count(&p->a, b->block.tx_cnt), b->block.tx_cnt == 1 ? "transaction" : "transactions",
                cd_fmt_count(&p->a, froms), froms == 1 ? "sender" : "senders", cd_fmt_count(&p->a, x->gas_used),
                cd_fmt_percent(&p->a, x->gas_used, x->gas_limit));
    cd_ui_time(h, &p->a, x->time, p->now_s);
    cd_html_put(h, ".</p>");
}

void cd__xp_block(cd__xp *p, cd_bytes rest)
{
    const cd_accepted *b;
    rest = cd__xp_without_chain(p, rest);
    cd_err e = find(p, &b, rest);
    if (e == CD_ENOENT || e == CD_EFORMAT || e == CD_ERANGE) {
        cd__xp_missing(p, "No block", cd_foreign_of(rest),
                       cd_arena_fmt(&p->a, "on the %s-Chain. The newest is %llu.", p->x->cfg.chain_name,
                                    (unsigned long long)cd_view_head(p->view)->block.header.number));
        return;
    }
    if (e != CD_OK) {
        cd__xp_broken(p, e);
        return;
    }
    cd_html *h = &p->h;
    p->title = cd_bytes_str(cd_arena_fmt(&p->a, "Block %llu", (unsigned long long)b->block.header.number));
    p->tab = p->x->tabs[CD__TAB_BLOCKS].href;
    head_of(p, b);
    cd_html_put(h, "<div class=\"cols side\"><section class=\"panel\"><header><h2>Transactions</h2></header>");
    if (b->block.tx_cnt == 0) {
        cd_ui_empty(h, "No transactions", "This block holds none.", (cd_markup){0});
    } else {
        cd__xp_txs_begin(p, NULL);
        for (usize i = 0; i < b->block.tx_cnt && i < 500; i++) {
            cd__xp_txs_row(p, b, i, false);
        }
        cd__xp_txs_end(p);
        if (b->block.tx_cnt > 500) {
            cd_html_put(h, "<footer><span>The first 500 of {}</span></footer>", cd_fmt_count(&p->a, b->block.tx_cnt));
        }
    }
    cd_html_put(h, "</section>");
    details(p, b);
    cd_html_put(h, "</div>");
    cd__xp_atomic_rows(p, b);
}
