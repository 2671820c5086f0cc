/* Tokens: the list of those that moved, and one of them with what it says, its movements, holders and ids. */
#include "base/hex.h"
#include "explorer/explorer_priv.h"
#include "types/addr_text.h"
#include "web/chart.h"

static const char *const kind_names[] = {
    [CD_TOKEN_ERC20] = "ERC-20",
    [CD_TOKEN_ERC721] = "ERC-721",
    [CD_TOKEN_ERC1155] = "ERC-1155",
};

typedef struct token {
    cd_addr20 addr;
    cd_token_kind kind;
    cd__token says; /* symbol and decimals */
    cd_bytes name;
    cd_u256 supply;
    bool has_supply;
} token;

static cd_bytes token_href(cd__xp *p, const cd_addr20 *addr, const char *more)
{
    char text[CD_ADDR_TEXT_SIZE];
    return cd_bytes_str(cd_arena_fmt(&p->a, "%s/token/%s%s", p->x->root, cd_addr_fmt(text, addr), more));
}

static void ask(cd__xp *p, token *t)
{
    u8 supply[4];
    const cd_accepted *head = cd_view_head(p->view);
    cd_abi_selector(supply, "totalSupply()");
    cd__token_read(p, &t->says, head, &t->addr);
    t->name = cd__token_text(p, head, &t->addr, "name()");
    t->has_supply = cd__token_number(p, &t->supply, head, &t->addr, cd_bytes_of(supply, 4));
    if (t->kind != CD_TOKEN_ERC20) {
        t->says.decimals = 0;
    }
}

static void amount(cd__xp *p, const token *t, const cd_u256 *v)
{
    u32 decimals = t->says.decimals;
    cd_html_put(&p->h, "<span class=\"any\">{}</span> {}",
                cd_fmt_amount(&p->a, v, decimals, (cd_fmt_decimals){.min = decimals >= 2 && decimals < 79 ? 2 : 0}),
                cd_foreign_of(t->says.symbol));
}

/* --- the list --- */

static const cd_ui_col list_cols[] = {
    {.name = "Token"},
    {.name = "Kind"},
    {.name = "Supply", .flags = CD_COL_NUM | CD_COL_P2},
    {.name = "Contract", .flags = CD_COL_P2},
};

static void list_row(cd__xp *p, const cd_index_token *at)
{
    token t = {.addr = at->addr, .kind = at->kind};
    cd_html *h = &p->h;
    ask(p, &t);
    cd_html_put(h, "<tr><td><a href=\"{}\">", token_href(p, &t.addr, ""));
    if (t.name.n != 0) {
        cd_html_put(h, "{}</a>", cd_foreign_of(t.name));
    } else {
        cd_html_put(h, "Token {}…</a>", cd__xp_hex(p, cd_bytes_of(t.addr.b, 3)));
    }
    cd_html_put(h, "<span class=\"sub\">{}</span></td><td>{}</td>", cd_foreign_of(t.says.symbol), kind_names[t.kind]);
    cd_ui_cell(h, &list_cols[2]);
    if (t.has_supply) {
        amount(p, &t, &t.supply);
    } else {
        cd_html_put(h, CD_FMT_NONE);
    }
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &list_cols[3]);
    cd__xp_addr(p, &t.addr, 0);
    cd_html_put(h, "</td></tr>");
}

/* The page behind this one begins behind its last place. */
static const char *next_of(cd__xp *p, const cd_index_at *last)
{
    char text[CD_INDEX_AT_SIZE];
    cd_index_at_fmt(text, last);
    return cd_arena_fmt(&p->a, "before=%s", text);
}

static void unreadable(cd__xp *p, cd_err e)
{
    cd_ui_empty(&p->h, "The index could not be read", cd_err_str(e), (cd_markup){0});
}

void cd__xp_tokens(cd__xp *p)
{
    cd_index_token v[CD__XP_PAGE];
    cd_index_state state;
    const cd_index_at before = cd__xp_before(p);
    usize cnt = 0;
    p->title = cd_bytes_str("Tokens");
    p->tab = p->x->tabs[CD__TAB_TOKENS].href;
    cd_html_put(&p->h, "<h1>Tokens</h1><section class=\"panel\" aria-label=\"Tokens\">");
    if (cd__xp_index_state(p, &state)) {
        cd_err e = cd_index_tokens(p->view, v, &cnt, CD__XP_PAGE, &before);
        if (e != CD_OK) {
            unreadable(p, e);
        } else if (cnt == 0) {
            cd_ui_empty(&p->h, "No tokens", "A token stands here once it has moved.", (cd_markup){0});
        } else {
            cd_ui_table_begin(&p->h, "Tokens", list_cols, CD_COUNT(list_cols), NULL, NULL);
            for (usize i = 0; i < cnt; i++) {
                list_row(p, &v[i]);
            }
            cd_ui_table_end(&p->h);
        }
        cd_html_put(&p->h, "<footer><span>The one that moved first most recently in front</span>");
        cd_ui_pager(&p->h, before.height == UINT64_MAX ? (cd_bytes){0} : cd_bytes_str(p->x->tabs[CD__TAB_TOKENS].href),
                    cnt < CD__XP_PAGE
                        ? (cd_bytes){0}
                        : cd_bytes_str(cd_arena_fmt(&p->a, "%s/tokens?%s", p->x->root, next_of(p, &v[cnt - 1].first))));
        cd_html_put(&p->h, "</footer>");
    }
    cd_html_put(&p->h, "</section>");
}

/* --- one token --- */

/* A page of a list that was written. */
typedef struct shown {
    usize cnt;
    bool is_first;
    const char *more; /* query of the next page, or "" */
    const char *foot;
} shown;

static cd_err moves(cd__xp *p, const token *t, shown *s)
{
    cd_token_move v[CD__XP_PAGE];
    const cd_index_at before = cd__xp_before(p);
    CD_TRY(cd_index_moves_of_token(p->view, v, &s->cnt, CD__XP_PAGE, &t->addr, &before));
    if (s->cnt != 0) {
        cd__xp_token_moves(p, v, s->cnt);
    }
    if (s->cnt == CD__XP_PAGE) {
        s->more = cd_arena_fmt(&p->a, "?%s", next_of(p, &v[s->cnt - 1].at));
    }
    return CD_OK;
}

/* The holding behind which a page begins, as "?after=" names it: address and id in hex. */
static bool read_after(cd__xp *p, cd_index_holding *out, const token *t)
{
    u8 raw[20 + 32];
    cd_bytes text = cd__xp_query(p, "after", 2 + 2 * sizeof raw);
    if (text.n != 2 + 2 * sizeof raw || cd_hex_parse(raw, cd_bytes_sub(text, 2, 2 * sizeof raw)) != CD_OK) {
        return false;
    }
    *out = (cd_index_holding){.token = t->addr, .kind = t->kind};
    memcpy(out->holder.b, raw, 20);
    cd_u256_load_be(&out->id, raw + 20);
    return true;
}

static const char *after_text(cd__xp *p, const char *tab, const cd_index_holding *h)
{
    u8 raw[20 + 32];
    memcpy(raw, h->holder.b, 20);
    cd_u256_store_be(raw + 20, &h->id);
    cd_bytes hex = cd__xp_hex(p, cd_bytes_of(raw, sizeof raw));
    return cd_arena_fmt(&p->a, "?tab=%s&after=%.*s", tab, (int)hex.n, (const char *)hex.p);
}

/* Shares are of millionths, so that they fit. */
static void share(cd__xp *p, const token *t, const cd_u256 *v)
{
    cd_u256 part = *v;
    cd_u256 whole = t->supply;
    while (!cd_u256_fits_u64(&whole)) {
        cd_u256_shr(&part, &part, 1);
        cd_u256_shr(&whole, &whole, 1);
    }
    cd_html_put(&p->h, "{}", cd_fmt_percent(&p->a, part.w[0], whole.w[0]));
    cd_chart_meter(&p->h, part.w[0], whole.w[0], 1);
}

static void holder_row(cd__xp *p, const token *t, const cd__held *one, const cd_ui_col *share_col)
{
    cd_html_put(&p->h, "<tr><td>");
    cd__xp_addr(p, &one->at.holder, 0);
    cd_html_put(&p->h, "</td><td class=\"num\">");
    if (t->kind == CD_TOKEN_ERC20) {
        amount(p, t, &one->amount);
    } else {
        cd_html_put(&p->h, "{} of #{}", cd_fmt_exact(&p->a, &one->amount, 0), cd_fmt_exact(&p->a, &one->at.id, 0));
    }
    cd_html_put(&p->h, "</td>");
    cd_ui_cell(&p->h, share_col);
    if (t->kind == CD_TOKEN_ERC20 && t->has_supply && !cd_u256_is_zero(&t->supply)) {
        share(p, t, &one->amount);
    } else {
        cd_html_put(&p->h, CD_FMT_NONE);
    }
    cd_html_put(&p->h, "</td></tr>");
}

static cd_err holders(cd__xp *p, const token *t, shown *s)
{
    static const cd_ui_col cols[] = {
        {.name = "Account"},
        {.name = "Amount", .flags = CD_COL_NUM},
        {.name = "Share", .flags = CD_COL_NUM | CD_COL_P2},
    };
    cd__roll *roll;
    CD_TRY(cd__holders_get(p, &roll, &t->addr));
    usize first = cd__xp_from(p, "from", roll->cnt);
    s->cnt = cd_min_u64(roll->cnt - first, CD__XP_PAGE);
    s->is_first = first == 0;
    if (s->cnt != 0) {
        cd_ui_table_begin(&p->h, "Holders", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = first; i < first + s->cnt; i++) {
            holder_row(p, t, &roll->v[i], &cols[2]);
        }
        cd_ui_table_end(&p->h);
        s->foot = cd_arena_fmt(&p->a, "%zu to %zu of %zu, most first", first + 1, first + s->cnt, roll->cnt);
    }
    if (roll->is_cut) {
        s->foot = cd_arena_fmt(&p->a, "%s; of those who got it once the first %zu by address were asked", s->foot,
                               roll->asked);
    }
    if (first + s->cnt < roll->cnt) {
        s->more = cd_arena_fmt(&p->a, "?tab=holders&from=%zu", first + s->cnt);
    }
    cd__holders_end(p, roll);
    return CD_OK;
}

/* What a contract says about an id: nothing is loaded from there. */
static cd_bytes uri_of(cd__xp *p, const token *t, const cd_u256 *id)
{
    u8 data[4 + 32];
    cd_bytes out;
    cd_abi_type type;
    cd_abi_val v;
    cd_abi_selector(data, t->kind == CD_TOKEN_ERC721 ? "tokenURI(uint256)" : "uri(uint256)");
    cd_u256_store_be(data + 4, id);
    return cd__call_static(p, &out, cd_view_head(p->view), &t->addr, cd_bytes_of(data, sizeof data)) &&
                   cd_abi_parse(&type, &p->a, cd_bytes_str("(string)"), NULL) == CD_OK &&
                   cd_abi_dec(&v, &p->a, &type, out) == CD_OK
               ? v.items[0].bytes
               : (cd_bytes){0};
}

static void owner(cd__xp *p, const token *t, const cd_u256 *id)
{
    u8 data[4 + 32];
    cd_u256 who;
    cd_abi_selector(data, "ownerOf(uint256)");
    cd_u256_store_be(data + 4, id);
    if (t->kind == CD_TOKEN_ERC721 &&
        cd__token_number(p, &who, cd_view_head(p->view), &t->addr, cd_bytes_of(data, sizeof data))) {
        const cd_addr20 addr = cd_u256_to_addr(&who);
        cd__xp_addr(p, &addr, 0);
    } else {
        cd_html_put(&p->h, CD_FMT_NONE);
    }
}

static cd_err ids(cd__xp *p, const token *t, shown *s)
{
    static const cd_ui_col cols[] = {
        {.name = "Id"}, {.name = "Owner"}, {.name = "Address of its description", .flags = CD_COL_P2}};
    cd_index_holding v[CD__XP_PAGE];
    cd_index_holding after;
    bool has_after = read_after(p, &after, t);
    CD_TRY(cd_index_ids(p->view, v, &s->cnt, CD__XP_PAGE, &t->addr, has_after ? &after : NULL));
    if (s->cnt != 0) {
        cd_ui_table_begin(&p->h, "Ids", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < s->cnt; i++) {
            cd_html_put(&p->h, "<tr><td class=\"any\">#{}</td><td>", cd_fmt_exact(&p->a, &v[i].id, 0));
            owner(p, t, &v[i].id);
            cd_html_put(&p->h, "</td>");
            cd_ui_cell(&p->h, &cols[2]);
            cd_html_put(&p->h, "<span class=\"any\">{}</span></td></tr>", cd_foreign_of(uri_of(p, t, &v[i].id)));
        }
        cd_ui_table_end(&p->h);
    }
    if (s->cnt == CD__XP_PAGE) {
        s->more = after_text(p, "ids", &v[s->cnt - 1]);
    }
    return CD_OK;
}

typedef cd_err list_fn(cd__xp *p, const token *t, shown *s);

static const struct {
    const char *name;
    const char *word;
    list_fn *write;
    const char *none;
} lists[] = {
    {"Transfers", "", moves, "What moves of this token stands here."},
    {"Holders", "holders", holders, "Nobody who got it once has it still, or the contract does not say."},
    {"Ids", "ids", ids, "Ids stand here once they have moved."},
};

static void list(cd__xp *p, const token *t)
{
    cd_ui_link links[CD_COUNT(lists)];
    cd_index_state state;
    cd_bytes word = cd__xp_query(p, "tab", 16);
    usize cnt = t->kind == CD_TOKEN_ERC20 ? 2 : CD_COUNT(lists);
    usize at = 0;
    shown s = {.more = "", .foot = ""};
    s.is_first = cd__xp_query(p, "before", 4).n + cd__xp_query(p, "after", 4).n == 0;
    for (usize i = 0; i < cnt; i++) {
        bool is_plain = lists[i].word[0] == '\0';
        links[i] = (cd_ui_link){
            .name = lists[i].name,
            .href = token_href(p, &t->addr, is_plain ? "" : cd_arena_fmt(&p->a, "?tab=%s", lists[i].word))};
        at = !is_plain && cd_bytes_eq(word, cd_bytes_str(lists[i].word)) ? i : at;
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>{}</h2><div class=\"end\">", lists[at].name);
    cd_ui_seg(&p->h, "Lists", links, cnt, at);
    cd_html_put(&p->h, "</div></header>");
    if (cd__xp_index_state(p, &state)) {
        cd_err e = lists[at].write(p, t, &s);
        if (e != CD_OK) {
            unreadable(p, e);
        } else if (s.cnt == 0) {
            cd_ui_empty(&p->h, "Nothing on this page", lists[at].none, (cd_markup){0});
        }
        cd_html_put(&p->h, "<footer><span>{}</span>", s.foot);
        cd_ui_pager(&p->h, s.is_first ? (cd_bytes){0} : links[at].href,
                    s.more[0] == '\0' ? (cd_bytes){0} : token_href(p, &t->addr, s.more));
        cd_html_put(&p->h, "</footer>");
    }
    cd_html_put(&p->h, "</section>");
}

static void facts(cd__xp *p, const token *t)
{
    cd_html *h = &p->h;
    cd_html_put(h,
                "<section class=\"panel\"><header><h2>What it says</h2></header><div "
                "class=\"body\"><dl class=\"kv\"><dt>Name</dt><dd>{}</dd><dt>Symbol</dt><dd>{}"
                "</dd>",
                cd_foreign_of(t->name), cd_foreign_of(t->says.symbol));
    if (t->kind == CD_TOKEN_ERC20) {
        cd_html_put(h, "<dt>Decimals</dt><dd>{}</dd>",
                    t->says.decimals == CD__DECIMALS_UNKNOWN ? cd_bytes_str("does not say; amounts are in base units")
                                                             : cd_fmt_count(&p->a, t->says.decimals));
    }
    cd_html_put(h, "<dt>Supply</dt><dd>");
    if (t->has_supply) {
        amount(p, t, &t->supply);
        cd_html_put(h, " <span class=\"sub any\">{} base units</span>", cd_fmt_exact(&p->a, &t->supply, 0));
    } else {
        cd_html_put(h, "does not say");
    }
    cd_html_put(h, "</dd><dt>Contract</dt><dd>");
    cd__xp_addr(p, &t->addr, CD_ID_COPY);
    cd_html_put(h, "</dd><dt>Functions</dt><dd><a href=\"{}\">Read and write</a></dd></dl></div></section>",
                cd__fn_action(p, &t->addr));
}

/* Its kind, from the index, or from the code of one that has not moved yet. */
static bool kind_of(cd__xp *p, cd_token_kind *out, const cd_addr20 *addr)
{
    cd_index_token known;
    cd__code *code = cd_arena_new(&p->a, cd__code);
    const char *kinds[8];
    if (p->x->cfg.index != NULL && cd_index_token_get(p->view, &known, addr) == CD_OK) {
        *out = known.kind;
        return true;
    }
    usize cnt = cd__code_read(p, code, addr) == CD_OK ? cd__code_kinds(kinds, code) : 0;
    for (usize i = 0; i < cnt; i++) {
        for (usize k = 0; k < CD_COUNT(kind_names); k++) {
            if (strcmp(kinds[i], kind_names[k]) == 0) {
                *out = (cd_token_kind)k;
                return true;
            }
        }
    }
    return false;
}

void cd__xp_token_page(cd__xp *p, cd_bytes rest)
{
    token t = {0};
    cd_html *h = &p->h;
    if (!cd__addr_parse(&t.addr, rest) || !kind_of(p, &t.kind, &t.addr)) {
        cd__xp_missing(p, "No token at", cd_foreign_of(rest),
                       "A token is a contract with the functions of ERC-20, ERC-721 or ERC-1155.");
        return;
    }
    ask(p, &t);
    p->title = cd_bytes_str("Token");
    p->tab = p->x->tabs[CD__TAB_TOKENS].href;
    cd_html_put(h, "<div class=\"head\"><div class=\"grow\"><h1>");
    if (t.name.n != 0) {
        cd_html_put(h, "{}", cd_foreign_of(t.name));
    } else {
        cd_html_put(h, "Token");
    }
    cd_html_put(h, " <span class=\"mut\">{}</span></h1>", cd_foreign_of(t.says.symbol));
    cd__xp_addr(p, &t.addr, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(h, "</div>");
    cd_ui_pill(h, CD_PILL_NEUTRAL, cd_bytes_str(kind_names[t.kind]));
    cd_html_put(h, "</div><div class=\"cols side\">");
    list(p, &t);
    facts(p, &t);
    cd_html_put(h, "</div>");
}

/* --- by name --- */

enum { SEARCHED_MAX = 50 /* tokens whose names are looked at */ };

usize cd__token_find(cd__xp *p, cd_addr20 *out, cd_bytes text)
{
    cd_index_token v[SEARCHED_MAX];
    const cd_index_at newest = CD_INDEX_NEWEST;
    usize cnt = 0;
    usize found = 0;
    if (p->x->cfg.index == NULL || cd_index_tokens(p->view, v, &cnt, SEARCHED_MAX, &newest) != CD_OK) {
        return 0;
    }
    for (usize i = 0; i < cnt && found < CD__FOUND_MAX; i++) {
        const cd_accepted *head = cd_view_head(p->view);
        if (cd__is_called(cd__token_text(p, head, &v[i].addr, "symbol()"), text) ||
            cd__is_called(cd__token_text(p, head, &v[i].addr, "name()"), text)) {
            out[found++] = v[i].addr;
        }
    }
    return found;
}
