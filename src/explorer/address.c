#include "base/hex.h"
#include "explorer/explorer_priv.h"

/* Who made the contract, and in which transaction. */
static void creation(cd__xp *p, const cd_addr20 *addr)
{
    cd_index_creation c;
    const cd_accepted *b;
    if (p->x->cfg.index == NULL || cd_index_creation_get(p->view, &c, addr) != CD_OK ||
        cd_view_block(p->view, &b, &p->a, c.at.height) != CD_OK || c.at.tx >= b->block.tx_cnt) {
        return;
    }
    cd_html_put(&p->h, "<dt>Created by</dt><dd>");
    cd__xp_addr(p, &c.creator, 0);
    cd_html_put(&p->h, "</dd><dt>Created in</dt><dd>");
    cd__xp_tx_hash(p, &b->block.txs[c.at.tx].hash, 0);
    cd_html_put(&p->h, " <span class=\"mut\">{}block {}</span></dd>", c.is_internal ? "inside, " : "",
                cd_fmt_count(&p->a, c.at.height));
}

/* The balance after the newest block. */
static void facts(cd__xp *p, const cd_addr20 *addr, const cd_account *account, bool found, cd_bytes code)
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
    cd_html_put(h, "</dd><dt>Nonce</dt><dd>{}</dd><dt>Kind</dt><dd>", cd_fmt_count(&p->a, found ? account->nonce : 0));
    if (code.n == 23 && code.p[0] == 0xEF && code.p[1] == 0x01 && code.p[2] == 0x00) {
        cd_addr20 to;
        memcpy(to.b, code.p + 3, 20);
        cd_html_put(h, "Account that runs the code of ");
        cd__xp_addr(p, &to, 0);
    } else if (code.n != 0) {
        cd_html_put(h, "Contract, {} of code <a href=\"{}\">Read and write</a>", cd_fmt_bytes(&p->a, code.n),
                    cd__fn_action(p, addr));
    } else {
        cd_html_put(h, "{}", found ? "Account" : "Never used");
    }
    cd_html_put(h, "</dd>");
    if (code.n != 0) {
        creation(p, addr);
    }
    cd_html_put(h, "</dl></div></section>");
}

/* --- what the index knows of it --- */

typedef enum tab {
    TAB_TXS,
    TAB_TOKENS,
    TAB_INTERNALS,
    TAB_HOLDINGS,
} tab;

static const struct {
    const char *name;
    const char *word; /* the tab's word in the query */
    const char *title;
    const char *text; /* what an empty tab says */
} tabs[] = {
    [TAB_TXS] = {"Transactions", "", "No transactions", "What this address sends or gets stands here."},
    [TAB_TOKENS] = {"Tokens", "tokens", "No token transfers", "Tokens that this address sends or gets stand here."},
    [TAB_INTERNALS] = {"Internal", "internal", "No internal transfers",
                       "Value that contracts send to or from this address stands here."},
    [TAB_HOLDINGS] = {"Holdings", "holdings", "No tokens", "What this address has of tokens stands here."},
};

/* Candidates that are asked about on one page. */
enum { HOLDINGS_ASKED = 50, HOLDING_TEXT = 2 * (20 + 1 + 32) };

static tab tab_of(cd__xp *p)
{
    cd_bytes word = cd__xp_query(p, "tab", 16);
    for (usize i = 1; i < CD_COUNT(tabs); i++) {
        if (cd_bytes_eq(word, cd_bytes_str(tabs[i].word))) {
            return (tab)i;
        }
    }
    return TAB_TXS;
}

static cd_bytes tab_href(cd__xp *p, const cd_addr20 *addr, tab t, const char *more)
{
    cd_bytes hex = cd__xp_hex(p, cd_bytes_of(addr->b, 20));
    return cd_bytes_str(cd_arena_fmt(&p->a, "%s/address/%.*s%s%s%s%s", p->x->root, (int)hex.n, (const char *)hex.p,
                                     t != TAB_TXS ? "?tab=" : "", tabs[t].word,
                                     more[0] == '\0' ? ""
                                     : t != TAB_TXS  ? "&"
                                                     : "?",
                                     more));
}

static cd_err list_txs(cd__xp *p, cd_index_at *last, usize *cnt, const cd_addr20 *addr, const cd_index_at *before)
{
    cd_index_at at[CD__XP_PAGE];
    CD_TRY(cd_index_txs(p->view, at, cnt, CD__XP_PAGE, addr, before));
    if (*cnt != 0) {
        cd__xp_txs_begin(p, NULL);
        for (usize i = 0; i < *cnt; i++) {
            const cd_accepted *b;
            CD_TRY(cd_view_block(p->view, &b, &p->a, at[i].height));
            cd__xp_txs_row(p, b, at[i].tx, true);
        }
        cd__xp_txs_end(p);
        *last = at[*cnt - 1];
    }
    return CD_OK;
}

static cd_err list_tokens(cd__xp *p, cd_index_at *last, usize *cnt, const cd_addr20 *addr, const cd_index_at *before)
{
    cd_token_move v[CD__XP_PAGE];
    CD_TRY(cd_index_moves(p->view, v, cnt, CD__XP_PAGE, addr, before));
    if (*cnt != 0) {
        cd__xp_token_moves(p, v, *cnt);
        *last = v[*cnt - 1].at;
    }
    return CD_OK;
}

static cd_err list_internals(cd__xp *p, cd_index_at *last, usize *cnt, const cd_addr20 *addr, const cd_index_at *before)
{
    cd_index_internal v[CD__XP_PAGE];
    CD_TRY(cd_index_internals(p->view, v, cnt, CD__XP_PAGE, addr, before));
    if (*cnt != 0) {
        cd__xp_internals(p, v, *cnt);
        *last = v[*cnt - 1].at;
    }
    return CD_OK;
}

/* A holding as "after" in the query names it: token, kind and id in hex. */
static cd_bytes holding_text(cd__xp *p, const cd_index_holding *h)
{
    u8 raw[HOLDING_TEXT / 2];
    memcpy(raw, h->token.b, 20);
    raw[20] = (u8)h->kind;
    cd_u256_store_be(raw + 21, &h->id);
    return cd__xp_hex(p, cd_bytes_of(raw, sizeof raw));
}

static bool holding_parse(cd_index_holding *out, cd_bytes text)
{
    u8 raw[HOLDING_TEXT / 2];
    if (text.n != HOLDING_TEXT + 2 || cd_hex_parse(raw, cd_bytes_sub(text, 2, HOLDING_TEXT)) != CD_OK ||
        raw[20] > CD_TOKEN_ERC1155) {
        return false;
    }
    *out = (cd_index_holding){.kind = (cd_token_kind)raw[20]};
    memcpy(out->token.b, raw, 20);
    cd_u256_load_be(&out->id, raw + 21);
    return true;
}

static void holding_row(cd__xp *p, const cd_index_holding *h, const cd_u256 *amount)
{
    static const char *const kinds[] = {"ERC-20", "ERC-721", "ERC-1155"};
    const cd__token unasked = {.addr = h->token, .decimals = CD__DECIMALS_UNKNOWN};
    const cd__token *token = cd__xp_token(p, &h->token);
    const cd__move m = {.amount = *amount, .token = token == NULL ? &unasked : token, .kind = h->kind, .id = h->id};
    cd_html_put(&p->h, "<tr><td>");
    cd__xp_addr(p, &h->token, 0);
    cd_html_put(&p->h, "</td><td>{}</td><td class=\"num\">", kinds[h->kind]);
    cd__move_amount(p, &m);
    cd_html_put(&p->h, "</td></tr>");
}

/* Shows what is still held of the next candidates; *more names the last of them when there may be others. */
static cd_err list_holdings(cd__xp *p, usize *shown, const char **more, const cd_addr20 *addr)
{
    static const cd_ui_col cols[] = {{.name = "Token"}, {.name = "Kind"}, {.name = "Amount", .flags = CD_COL_NUM}};
    cd_index_holding v[HOLDINGS_ASKED];
    cd_index_holding after;
    usize cnt = 0;
    bool has_after = holding_parse(&after, cd__xp_query(p, "after", HOLDING_TEXT + 2));
    CD_TRY(cd_index_holdings(p->view, v, &cnt, HOLDINGS_ASKED, addr, has_after ? &after : NULL));
    for (usize i = 0; i < cnt; i++) {
        cd_u256 amount;
        if (cd__xp_holds(p, &amount, &v[i]) && !cd_u256_is_zero(&amount)) {
            if ((*shown)++ == 0) {
                cd_ui_table_begin(&p->h, "Holdings", cols, CD_COUNT(cols), NULL, NULL);
            }
            holding_row(p, &v[i], &amount);
        }
    }
    if (*shown != 0) {
        cd_ui_table_end(&p->h);
    }
    if (cnt == HOLDINGS_ASKED) {
        cd_bytes text = holding_text(p, &v[cnt - 1]);
        *more = cd_arena_fmt(&p->a, "after=%.*s", (int)text.n, (const char *)text.p);
    }
    return CD_OK;
}

static cd_err write_list(cd__xp *p, usize *cnt, const char **more, const cd_addr20 *addr, tab t,
                         const cd_index_at *before)
{
    cd_index_at last;
    cd_err e = CD_OK;
    switch (t) {
    case TAB_TXS:
        e = list_txs(p, &last, cnt, addr, before);
        break;
    case TAB_TOKENS:
        e = list_tokens(p, &last, cnt, addr, before);
        break;
    case TAB_INTERNALS:
        e = list_internals(p, &last, cnt, addr, before);
        break;
    case TAB_HOLDINGS:
        return list_holdings(p, cnt, more, addr);
    }
    if (e == CD_OK && *cnt == CD__XP_PAGE) {
        char text[CD_INDEX_AT_SIZE];
        cd_index_at_fmt(text, &last);
        *more = cd_arena_fmt(&p->a, "before=%s", text);
    }
    return e;
}

/* What stands below a list: where it goes on, and what it leaves out. */
static void list_end(cd__xp *p, const cd_addr20 *addr, tab t, const cd_index_at *before, const char *more,
                     u64 traced_from)
{
    bool is_first = before->height == UINT64_MAX && cd__xp_query(p, "after", HOLDING_TEXT + 2).n == 0;
    bool is_cut = t == TAB_INTERNALS && traced_from != 0;
    if (is_first && !is_cut && more[0] == '\0') {
        return;
    }
    cd_html_put(&p->h, "<footer><span>");
    if (is_cut) {
        cd_html_put(&p->h, "Known from block {} on", cd_fmt_count(&p->a, traced_from));
    }
    cd_html_put(&p->h, "</span>");
    cd_ui_pager(&p->h, is_first ? (cd_bytes){0} : tab_href(p, addr, t, ""),
                more[0] == '\0' ? (cd_bytes){0} : tab_href(p, addr, t, more));
    cd_html_put(&p->h, "</footer>");
}

static void lists(cd__xp *p, const cd_addr20 *addr)
{
    cd_ui_link links[CD_COUNT(tabs)];
    cd_index_state state;
    tab t = tab_of(p);
    const cd_index_at before = cd__xp_before(p);
    const char *more = "";
    usize cnt = 0;
    for (usize i = 0; i < CD_COUNT(tabs); i++) {
        links[i] = (cd_ui_link){.name = tabs[i].name, .href = tab_href(p, addr, (tab)i, "")};
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>{}</h2><div class=\"end\">", tabs[t].name);
    cd_ui_seg(&p->h, "What took place", links, CD_COUNT(links), (usize)t);
    cd_html_put(&p->h, "</div></header>");
    if (cd__xp_index_state(p, &state)) {
        cd_err e = write_list(p, &cnt, &more, addr, t, &before);
        if (e != CD_OK) {
            cd_ui_empty(&p->h, "The index could not be read", cd_err_str(e), (cd_markup){0});
        } else if (cnt == 0) {
            cd_ui_empty(&p->h, more[0] == '\0' ? tabs[t].title : "Nothing on this page", tabs[t].text, (cd_markup){0});
        }
        list_end(p, addr, t, &before, more, state.traced_from);
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
        cd__xp_missing(p, "No address", cd_foreign_of(rest), "An address is 0x and 40 hexadecimal digits.");
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
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\"><h1>{}</h1>", code.n == 0 ? "Address" : "Contract");
    cd__xp_addr(p, &addr, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_bytes name = cd_labels_of(p->x->cfg.labels, &addr);
    if (name.n != 0) {
        cd_html_put(&p->h, " <span class=\"tag\">{}</span>", cd_foreign_of(name));
    }
    cd_html_put(&p->h, "</div></div><div class=\"cols side\">");
    lists(p, &addr);
    facts(p, &addr, &account, found, code);
    cd_html_put(&p->h, "</div>");
    if (code.n != 0) {
        cd_html_put(&p->h,
                    "<section class=\"panel\"><header><h2>Code</h2><div class=\"end\">{}</div></header>"
                    "<div class=\"body\">",
                    cd_fmt_bytes(&p->a, code.n));
        cd_ui_code(&p->h, cd__xp_hex(p, code), "code");
        cd_html_put(&p->h, "</div></section>");
    }
}
