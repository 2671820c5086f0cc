#include "base/hex.h"
#include "explorer/explorer_priv.h"

/* The balance after the newest block. */
static void facts(cd__xp *p, const cd_account *account, bool found, cd_bytes code)
{
    cd_html *h = &p->h;
    const cd_u256 zero = cd_u256_zero();
    const cd_u256 *balance = found ? &account->balance : &zero;
    cd_html_put(h,
                "<section class=\"panel\"><div class=\"body\"><p class=\"sub\">Balance</p><p "
                "class=\"big\">{} "
                "<small class=\"mut\">LUX</small></p><dl class=\"kv\"><dt>Exact</dt><dd>{} wei ",
                cd_fmt_amount(&p->a, balance, CD__XP_DECIMALS, (cd_fmt_decimals){.sig = 6}),
                cd_fmt_amount(&p->a, balance, 0, (cd_fmt_decimals){0}));
    cd_ui_copy(h, cd_fmt_exact(&p->a, balance, 0), "balance in wei");
    cd_html_put(h, "</dd><dt>Nonce</dt><dd>{}</dd><dt>Kind</dt><dd>",
                cd_fmt_count(&p->a, found ? account->nonce : 0));
    if (code.n == 23 && code.p[0] == 0xEF && code.p[1] == 0x01 && code.p[2] == 0x00) {
        cd_addr20 to;
        memcpy(to.b, code.p + 3, 20);
        cd_html_put(h, "Account that runs the code of ");
        cd__xp_addr(p, &to, 0);
    } else if (code.n != 0) {
        cd_html_put(h, "Contract, {} of code", cd_fmt_bytes(&p->a, code.n));
    } else {
        cd_html_put(h, "{}", found ? "Account" : "Never used");
    }
    cd_html_put(h, "</dd></dl></div></section>");
}

static void txs(cd__xp *p, const cd_addr20 *addr)
{
    const cd_explorer_index *index = p->x->cfg.index;
    cd_explorer_place at[CD__XP_PAGE];
    usize cnt = 0;
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>Transactions</h2></header>");
    if (index == NULL) {
        cd_ui_empty(&p->h, "No index of addresses",
                    "This node does not keep which transactions an address took part in.",
                    (cd_markup){0});
    } else if (index->txs_of(index->ctx, at, &cnt, CD__XP_PAGE, addr,
                             (cd_explorer_place){.height = UINT64_MAX}) != CD_OK ||
               cnt == 0) {
        cd_ui_empty(&p->h, "No transactions", "What this address sends or gets stands here.",
                    (cd_markup){0});
    } else {
        cd__xp_txs_begin(p, NULL);
        for (usize i = 0; i < cnt; i++) {
            const cd_accepted *b;
            if (cd_view_block(p->view, &b, &p->a, at[i].height) == CD_OK &&
                at[i].idx < b->block.tx_cnt) {
                cd__xp_txs_row(p, b, at[i].idx, true);
            }
        }
        cd__xp_txs_end(p);
    }
    cd_html_put(&p->h, "</section>");
}

void cd__xp_address(cd__xp *p, cd_bytes rest)
{
    cd_addr20 addr;
    cd_account account;
    bool found = false;
    cd_bytes code = {0};
    cd_view_source s;
    if (rest.n != 42 || rest.p[0] != '0' || (rest.p[1] | 0x20) != 'x' ||
        cd_hex_parse(addr.b, cd_bytes_sub(rest, 2, 40)) != CD_OK) {
        cd__xp_missing(p, "No address", cd_foreign_of(rest),
                       "An address is 0x and 40 hexadecimal digits.");
        return;
    }
    cd_err e = cd_view_source_init(&s, p->view, cd_view_head(p->view)->block.header.number);
    if (e == CD_OK) {
        e = s.world.src.account(&s.world.src, &account, &found, &addr);
        if (e == CD_OK && found && !cd_hash32_eq(&account.code_hash, &CD_HASH_EMPTY_CODE)) {
            e = s.world.src.code(&s.world.src, &code, &account.code_hash);
            code = cd_arena_dup(&p->a, code);
        }
        cd_view_source_fini(&s);
    }
    if (e != CD_OK) {
        cd__xp_broken(p, e);
        return;
    }
    p->title = cd_bytes_str(cd_arena_fmt(&p->a, "Address %.*s", (int)rest.n, (const char *)rest.p));
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\"><h1>{}</h1>",
                code.n == 0 ? "Address" : "Contract");
    cd__xp_addr(p, &addr, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(&p->h, "</div></div><div class=\"cols side\">");
    txs(p, &addr);
    facts(p, &account, found, code);
    cd_html_put(&p->h, "</div>");
    if (code.n != 0) {
        cd_html_put(
            &p->h,
            "<section class=\"panel\"><header><h2>Code</h2><div class=\"end\">{}</div></header>"
            "<div class=\"body\">",
            cd_fmt_bytes(&p->a, code.n));
        cd_ui_code(&p->h, cd__xp_hex(p, code), "code");
        cd_html_put(&p->h, "</div></section>");
    }
}
