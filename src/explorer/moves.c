#include "codec/abi.h"
#include "explorer/explorer_priv.h"

enum { ACCOUNTS_SHOWN = 12, COLUMNS_SHOWN = 4, TEXT_MAX = 1100, TOKENS_ASKED = 32 };

/* --- tokens --- */

/* A name is a string, or in old contracts 32 bytes padded with zeros. */
cd_bytes cd__token_text(cd__xp *p, const cd_accepted *b, const cd_addr20 *addr, const char *which)
{
    cd_abi_type t;
    cd_abi_val v;
    u8 ask[4];
    cd_bytes out;
    usize n = 0;
    cd_abi_selector(ask, which);
    if (!cd__call_static(p, &out, b, addr, cd_bytes_of(ask, 4))) {
        return (cd_bytes){0};
    }
    if (cd_abi_parse(&t, &p->a, cd_bytes_str("(string)"), NULL) == CD_OK && cd_abi_dec(&v, &p->a, &t, out) == CD_OK) {
        cd_bytes text = v.items[0].bytes;
        return cd_bytes_sub(text, 0, text.n < TEXT_MAX ? text.n : TEXT_MAX);
    }
    while (out.n == 32 && n < 32 && out.p[n] != 0) {
        n++;
    }
    return cd_bytes_sub(out, 0, n);
}

bool cd__token_number(cd__xp *p, cd_u256 *out, const cd_accepted *b, const cd_addr20 *addr, cd_bytes data)
{
    cd_bytes word;
    if (!cd__call_static(p, &word, b, addr, data) || word.n != 32) {
        return false;
    }
    cd_u256_load_be(out, word.p);
    return true;
}

void cd__token_read(cd__xp *p, cd__token *t, const cd_accepted *b, const cd_addr20 *addr)
{
    u8 ask[4];
    cd_u256 v;
    cd_abi_selector(ask, "decimals()");
    *t = (cd__token){.addr = *addr, .decimals = CD__DECIMALS_UNKNOWN};
    t->symbol = cd__token_text(p, b, addr, "symbol()");
    if (cd__token_number(p, &v, b, addr, cd_bytes_of(ask, 4))) {
        u64 n = cd_u256_to_u64_sat(&v);
        t->decimals = n <= 78 ? (u32)n : CD__DECIMALS_UNKNOWN;
    }
}

const cd__token *cd__xp_token(cd__xp *p, const cd_addr20 *addr)
{
    for (usize i = 0; i < p->tokens_cnt; i++) {
        if (cd_addr20_eq(&p->tokens[i].addr, addr)) {
            return &p->tokens[i];
        }
    }
    if (p->tokens_cnt == TOKENS_ASKED) {
        return NULL;
    }
    if (p->tokens == NULL) {
        p->tokens = cd_arena_array(&p->a, cd__token, TOKENS_ASKED);
    }
    cd__token *t = &p->tokens[p->tokens_cnt++];
    cd__token_read(p, t, cd_view_head(p->view), addr);
    return t;
}

static const cd__token *token_of(cd__xp *p, cd__moves *m, const cd_accepted *b, const cd_addr20 *addr)
{
    for (usize i = 0; i < m->tokens_cnt; i++) {
        if (cd_addr20_eq(&m->tokens[i].addr, addr)) {
            return &m->tokens[i];
        }
    }
    if (m->tokens_cnt == CD__TOKENS_MAX) {
        return NULL;
    }
    cd__token *t = &m->tokens[m->tokens_cnt++];
    cd__token_read(p, t, b, addr);
    return t;
}

/* --- finding --- */

static void add(cd__moves *m, const cd__move *v)
{
    m->total++;
    if (m->cnt < CD__MOVES_MAX) {
        m->v[m->cnt++] = *v;
    }
}

static void find_token(cd__xp *p, cd__moves *m, const cd_accepted *b, const cd_log *log)
{
    u32 cnt = cd_token_moves_cnt(log);
    const cd__token *token = cnt == 0 ? NULL : token_of(p, m, b, &log->addr);
    for (u32 k = 0; k < cnt && token != NULL && m->cnt < CD__MOVES_MAX; k++) {
        cd_token_move t;
        cd_token_moves_get(&t, log, k);
        m->v[m->cnt++] = (cd__move){
            .from = t.from,
            .to = t.to,
            .amount = t.amount,
            .token = token,
            .kind = t.kind,
            .id = t.id,
        };
    }
    m->total += cnt;
}

/* What the index keeps of the transfers inside; false when it does not have them. */
static bool find_indexed(cd__xp *p, cd__moves *m, const cd_accepted *b, usize idx)
{
    cd_index_internal *v = cd_arena_array(&p->a, cd_index_internal, CD__MOVES_MAX);
    cd_index_state s;
    cd_index_at at = {.height = b->block.header.number, .tx = (u32)idx};
    usize cnt = CD__MOVES_MAX;
    if (p->x->cfg.index == NULL || cd_index_state_get(p->x->cfg.index, &s, p->view) != CD_OK || !s.is_whole ||
        at.height < s.traced_from) {
        return false;
    }
    while (cnt == CD__MOVES_MAX) {
        if (cd_index_internals_of_tx(p->view, v, &cnt, CD__MOVES_MAX, &at) != CD_OK) {
            return false;
        }
        for (usize i = 0; i < cnt; i++) {
            at.item = v[i].at.item + 1;
            if (!cd_u256_is_zero(&v[i].value)) {
                add(m, &(cd__move){.from = v[i].from, .to = v[i].to, .amount = v[i].value});
            }
        }
    }
    return true;
}

/* Value that contracts sent: frames below the first that did not fail, nor any of their callers. */
static void find_inside(cd__moves *m, cd_json root)
{
    enum { NEST_MAX = 64 }; /* deeper transfers are rare and not shown */
    cd_json_it stack[NEST_MAX];
    usize depth = 0;
    if (cd_json_has(cd_json_get(root, "error"))) {
        return;
    }
    stack[depth++] = cd_json_iter(cd_json_get(root, "calls"));
    while (depth != 0) {
        if (!cd_json_next(&stack[depth - 1])) {
            depth--;
            continue;
        }
        cd_json v = stack[depth - 1].val;
        cd__move move = {.token = NULL};
        cd_bytes type = cd__trace_text(v, "type");
        if (cd_json_has(cd_json_get(v, "error"))) {
            continue;
        }
        bool moves = !cd_bytes_eq(type, cd_bytes_str("DELEGATECALL")) && !cd_bytes_eq(type, cd_bytes_str("CALLCODE"));
        if (moves && cd_json_qty_u256(&move.amount, cd_json_get(v, "value"), NULL) == CD_OK &&
            !cd_u256_is_zero(&move.amount) && cd_json_fixed(move.from.b, 20, cd_json_get(v, "from"), NULL) == CD_OK &&
            cd_json_fixed(move.to.b, 20, cd_json_get(v, "to"), NULL) == CD_OK) {
            add(m, &move);
        }
        if (depth < NEST_MAX) {
            stack[depth++] = cd_json_iter(cd_json_get(v, "calls"));
        }
    }
}

void cd__moves_find(cd__xp *p, cd__moves *m, const cd_accepted *b, usize idx, cd_json trace)
{
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    if (!r->ok) {
        return;
    }
    if (!cd_u256_is_zero(&tx->value)) {
        add(m, &(cd__move){.from = tx->sender, .to = tx->is_create ? r->created : tx->to, .amount = tx->value});
    }
    if (!find_indexed(p, m, b, idx) && cd_json_kind_of(trace) == CD_JSON_OBJ) {
        find_inside(m, trace);
    }
    for (usize i = 0; i < r->log_cnt; i++) {
        find_token(p, m, b, &r->logs[i]);
    }
}

/* --- showing --- */

static void unit(cd__xp *p, const cd__token *t)
{
    if (t == NULL) {
        cd_html_put(&p->h, "LUX");
        return;
    }
    cd_html_put(&p->h, "<a href=\"{}/{}/{}\">", p->x->root, p->x->cfg.index == NULL ? "address" : "token",
                cd_url_part_of(cd__xp_hex(p, cd_bytes_of(t->addr.b, 20))));
    if (t->symbol.n != 0) {
        cd_html_put(&p->h, "{}</a>", cd_foreign_of(t->symbol));
    } else {
        cd_html_put(&p->h, "token {}…</a>", cd__xp_hex(p, cd_bytes_of(t->addr.b, 3)));
    }
}

static cd_bytes number(cd__xp *p, const cd__token *t, const cd_u256 *v)
{
    u32 decimals = t == NULL ? CD__XP_DECIMALS : t->decimals;
    return cd_fmt_amount(&p->a, v, decimals,
                         (cd_fmt_decimals){.min = t != NULL && decimals >= 2 && decimals < 79 ? 2 : 0});
}

void cd__move_amount(cd__xp *p, const cd__move *m)
{
    bool has_id = m->token != NULL && m->kind != CD_TOKEN_ERC20;
    if (!has_id) {
        cd_html_put(&p->h, "<span class=\"any\">{}</span> ", number(p, m->token, &m->amount));
    } else if (m->kind == CD_TOKEN_ERC1155) {
        cd_html_put(&p->h, "{} × ", cd_fmt_amount(&p->a, &m->amount, 0, (cd_fmt_decimals){0}));
    }
    if (has_id) {
        cd_html_put(&p->h, "<span class=\"any\">#{}</span> ", cd_fmt_exact(&p->a, &m->id, 0));
    }
    unit(p, m->token);
}

typedef struct account {
    cd_addr20 addr;
    cd_u256 net[COLUMNS_SHOWN]; /* in two's complement */
} account;

typedef struct sheet {
    account v[ACCOUNTS_SHOWN];
    usize cnt;
    const cd__token *columns[COLUMNS_SHOWN]; /* the last one is the native token */
    usize columns_cnt;
    bool is_cut;
} sheet;

static account *account_of(sheet *s, const cd_addr20 *addr)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (cd_addr20_eq(&s->v[i].addr, addr)) {
            return &s->v[i];
        }
    }
    if (s->cnt == ACCOUNTS_SHOWN) {
        s->is_cut = true;
        return NULL;
    }
    s->v[s->cnt] = (account){.addr = *addr};
    return &s->v[s->cnt++];
}

static usize column_of(sheet *s, const cd__token *t)
{
    for (usize i = 0; i < s->columns_cnt; i++) {
        if (s->columns[i] == t) {
            return i;
        }
    }
    if (s->columns_cnt == COLUMNS_SHOWN) {
        s->is_cut = true;
        return COLUMNS_SHOWN;
    }
    s->columns[s->columns_cnt] = t;
    return s->columns_cnt++;
}

static void book(sheet *s, const cd_addr20 *addr, usize column, const cd_u256 *amount, bool is_out)
{
    static const cd_addr20 nobody; /* what is minted comes from nowhere */
    if (column == COLUMNS_SHOWN || (s->columns[column] != NULL && cd_addr20_eq(addr, &nobody))) {
        return;
    }
    account *a = account_of(s, addr);
    if (a == NULL) {
        return;
    }
    if (is_out) {
        cd_u256_sub(&a->net[column], &a->net[column], amount);
    } else {
        cd_u256_add(&a->net[column], &a->net[column], amount);
    }
}

static void net_cell(cd__xp *p, const cd__token *t, const cd_u256 *net)
{
    cd_u256 size = *net;
    bool is_out = cd_u256_is_neg(net);
    if (cd_u256_is_zero(net)) {
        cd_html_put(&p->h, "<td class=\"num mut\">0</td>");
        return;
    }
    if (is_out) {
        cd_u256_neg(&size, &size);
    }
    cd_html_put(&p->h, "<td class=\"num {}\">{}{}</td>", is_out ? "down" : "up", is_out ? "−" : "+",
                number(p, t, &size));
}

static void net_table(cd__xp *p, const cd__moves *m, const cd_tx *tx, const cd_u256 *fee)
{
    sheet *s = cd_arena_new(&p->a, sheet);
    cd_html *h = &p->h;
    (void)account_of(s, &tx->sender);
    for (usize i = 0; i < m->cnt; i++) {
        const cd__move *v = &m->v[i];
        if (v->token == NULL || v->kind == CD_TOKEN_ERC20) {
            usize column = column_of(s, v->token);
            book(s, &v->from, column, &v->amount, true);
            book(s, &v->to, column, &v->amount, false);
        }
    }
    book(s, &tx->sender, column_of(s, NULL), fee, true);
    cd_html_put(h, "<div class=\"scroll\"><table class=\"t\"><caption class=\"sr\">Net "
                   "change</caption><thead><tr>"
                   "<th scope=\"col\">Account</th>");
    for (usize c = 0; c < s->columns_cnt; c++) {
        cd_html_put(h, "<th scope=\"col\" class=\"num\">");
        unit(p, s->columns[c]);
        cd_html_put(h, "</th>");
    }
    cd_html_put(h, "</tr></thead><tbody>");
    for (usize i = 0; i < s->cnt; i++) {
        cd_html_put(h, "<tr><td>");
        cd__xp_addr(p, &s->v[i].addr, 0);
        cd_html_put(h, "<span class=\"sub\">{}</span></td>",
                    cd_addr20_eq(&s->v[i].addr, &tx->sender) ? "sender, fee included" : "");
        for (usize c = 0; c < s->columns_cnt; c++) {
            net_cell(p, s->columns[c], &s->v[i].net[c]);
        }
        cd_html_put(h, "</tr>");
    }
    cd_html_put(h, "</tbody></table></div>");
    if (s->is_cut || m->cnt < m->total) {
        cd_html_put(h, "<footer><span>Not everything is shown: {} movements in all</span></footer>",
                    cd_fmt_count(&p->a, m->total));
    }
}

void cd__moves_write(cd__xp *p, const cd__moves *m, const cd_tx *tx, const cd_u256 *fee)
{
    if (m->total == 0) {
        return;
    }
    cd_html_put(&p->h,
                "<section class=\"panel\"><header><h2>What moved</h2><div class=\"end\">{} "
                "{}</div></header>",
                cd_fmt_count(&p->a, m->total), m->total == 1 ? "movement" : "movements");
    for (usize i = 0; i < m->cnt; i++) {
        cd_html_put(&p->h, "<div class=\"move\"><span>");
        cd__xp_addr(p, &m->v[i].from, 0);
        cd_html_put(&p->h, "</span>");
        cd_ui_icon(&p->h, "arrow");
        cd_html_put(&p->h, "<span>");
        cd__xp_addr(p, &m->v[i].to, 0);
        cd_html_put(&p->h, "</span><span class=\"amt\">");
        cd__move_amount(p, &m->v[i]);
        cd_html_put(&p->h, "</span></div>");
    }
    net_table(p, m, tx, fee);
    cd_html_put(&p->h, "</section>");
}
