#include "codec/abi.h"
#include "evm/interp/opcode.h"
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
        usize cut = cd_min_u64(text.n, TEXT_MAX);
        while (cut != 0 && cut < text.n && (text.p[cut] & 0xC0) == 0x80) {
            cut--; /* not within a character */
        }
        return cd_bytes_sub(text, 0, cut);
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

static bool is_of(const cd__token *t, bool is_token, const cd_addr20 *addr)
{
    return (t != NULL) == is_token && (t == NULL || cd_addr20_eq(&t->addr, addr));
}

/* A token as it was behind the block; those that are too many for a page are not asked. */
static const cd__token *token_of(cd__xp *p, cd__moves *m, const cd_accepted *b, const cd_addr20 *addr)
{
    for (usize i = 0; i < m->tokens_cnt; i++) {
        if (cd_addr20_eq(&m->tokens[i].addr, addr)) {
            return &m->tokens[i];
        }
    }
    if (m->tokens_cnt == CD__TOKENS_MAX) {
        cd__token *unasked = cd_arena_new(&p->a, cd__token);
        *unasked = (cd__token){.addr = *addr, .decimals = CD__DECIMALS_UNKNOWN};
        return unasked;
    }
    cd__token *t = &m->tokens[m->tokens_cnt++];
    cd__token_read(p, t, b, addr);
    return t;
}

/* --- adding up --- */

typedef struct account {
    cd_addr20 addr;
    cd_u256 net[COLUMNS_SHOWN]; /* in two's complement */
} account;

typedef struct cd__sheet {
    account v[ACCOUNTS_SHOWN];
    usize cnt;
    const cd__token *columns[COLUMNS_SHOWN]; /* NULL: the native token */
    usize columns_cnt;
    bool has_native;
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

/* One column stays free for the native token, in which the fee is paid. */
static usize column_of(cd__xp *p, cd__moves *m, const cd_accepted *b, const cd__move *v)
{
    sheet *s = m->net;
    for (usize i = 0; i < s->columns_cnt; i++) {
        if (is_of(s->columns[i], v->is_token, &v->token_addr)) {
            return i;
        }
    }
    usize free = v->is_token && !s->has_native ? 1 : 0;
    if (s->columns_cnt + free == COLUMNS_SHOWN) {
        s->is_cut = true;
        return COLUMNS_SHOWN;
    }
    s->has_native = s->has_native || !v->is_token;
    s->columns[s->columns_cnt] = v->is_token ? token_of(p, m, b, &v->token_addr) : NULL;
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

static cd__sum *sum_of(cd__moves *m, const cd__move *v)
{
    for (usize i = 0; i < m->sums_cnt; i++) {
        if (m->sums[i].is_token == v->is_token && (!v->is_token || cd_addr20_eq(&m->sums[i].token, &v->token_addr))) {
            return &m->sums[i];
        }
    }
    if (m->sums_cnt == CD__SUMS_MAX) {
        return NULL;
    }
    m->sums[m->sums_cnt] = (cd__sum){.is_token = v->is_token, .token = v->token_addr};
    return &m->sums[m->sums_cnt++];
}

/* What the sender gave and got; amounts are the contract's word and may be anything. */
static void sum_up(cd__moves *m, const cd__move *v)
{
    bool is_out = cd_addr20_eq(&v->from, &m->who);
    if (is_out == cd_addr20_eq(&v->to, &m->who)) {
        return;
    }
    cd__sum *s = v->is_token && v->kind != CD_TOKEN_ERC20 ? NULL : sum_of(m, v);
    if (s == NULL) {
        m->is_more_than_sums = true;
        return;
    }
    cd_u256 *to = is_out ? &s->out : &s->in;
    cd_u256_add(to, to, &v->amount);
    m->is_more_than_sums = m->is_more_than_sums || cd_u256_cmp(to, &v->amount) < 0;
}

bool cd__moves_swap(cd__xp *p, cd__moves *m, const cd_accepted *b, cd__move *gave, cd__move *got)
{
    usize gave_cnt = 0;
    usize got_cnt = 0;
    for (usize i = 0; i < m->sums_cnt; i++) {
        const cd__sum *s = &m->sums[i];
        int way = cd_u256_cmp(&s->out, &s->in);
        cd__move *v = way > 0 ? gave : got;
        if (way != 0) {
            *v = (cd__move){.is_token = s->is_token, .token_addr = s->token};
            cd_u256_sub(&v->amount, way > 0 ? &s->out : &s->in, way > 0 ? &s->in : &s->out);
            gave_cnt += way > 0 ? 1 : 0;
            got_cnt += way < 0 ? 1 : 0;
        }
    }
    if (m->is_more_than_sums || gave_cnt != 1 || got_cnt != 1) {
        return false;
    }
    gave->token = gave->is_token ? token_of(p, m, b, &gave->token_addr) : NULL;
    got->token = got->is_token ? token_of(p, m, b, &got->token_addr) : NULL;
    return true;
}

/* --- finding --- */

static void add(cd__xp *p, cd__moves *m, const cd_accepted *b, const cd__move *v)
{
    sum_up(m, v);
    if (!v->is_token || v->kind == CD_TOKEN_ERC20) {
        usize column = column_of(p, m, b, v);
        book(m->net, &v->from, column, &v->amount, true);
        book(m->net, &v->to, column, &v->amount, false);
    }
    if (m->total == 0) {
        m->one = *v;
    }
    if (m->total >= m->first && m->cnt < CD__MOVES_PAGE) {
        m->v[m->cnt++] = *v;
    }
    m->total++;
}

static void find_token(cd__xp *p, cd__moves *m, const cd_accepted *b, const cd_log *log)
{
    u32 cnt = cd_token_moves_cnt(log);
    for (u32 k = 0; k < cnt; k++) {
        cd_token_move t;
        cd_token_moves_get(&t, log, k);
        add(p, m, b,
            &(cd__move){
                .from = t.from,
                .to = t.to,
                .amount = t.amount,
                .is_token = true,
                .token_addr = log->addr,
                .kind = t.kind,
                .id = t.id,
            });
    }
}

static void note_made(cd__inside *in, const cd_addr20 *who)
{
    if (in->made_cnt++ == 0) {
        in->made = *who;
    }
}

static void note_ended(cd__inside *in, const cd_addr20 *who, const cd_addr20 *heir, const cd_u256 *left)
{
    if (in->ended_cnt++ == 0) {
        in->ended = *who;
        in->heir = *heir;
        in->left = *left;
    }
}

/* What the index keeps of the transfers inside; false when it does not have them. */
static bool find_indexed(cd__xp *p, cd__moves *m, const cd_accepted *b, usize idx, bool has_trace)
{
    enum { AT_ONCE = 4096 };
    cd_index_state s;
    cd_index_at at = {.height = b->block.header.number, .tx = (u32)idx};
    usize cnt = AT_ONCE;
    if (p->x->cfg.index == NULL || cd_index_state_get(p->x->cfg.index, &s, p->view) != CD_OK || !s.is_whole ||
        at.height < s.traced_from) {
        return false;
    }
    cd_index_internal *v = cd_arena_array(&p->a, cd_index_internal, AT_ONCE);
    while (cnt == AT_ONCE) {
        if (cd_index_internals_of_tx(p->view, v, &cnt, AT_ONCE, &at) != CD_OK) {
            return false;
        }
        for (usize i = 0; i < cnt; i++) {
            at.item = v[i].at.item + 1;
            if (!cd_u256_is_zero(&v[i].value)) {
                add(p, m, b, &(cd__move){.from = v[i].from, .to = v[i].to, .amount = v[i].value});
            }
            if (!has_trace && (v[i].op == CD_OP_CREATE || v[i].op == CD_OP_CREATE2)) {
                note_made(&m->inside, &v[i].to);
            } else if (!has_trace && v[i].op == CD_OP_SELFDESTRUCT) {
                note_ended(&m->inside, &v[i].from, &v[i].to, &v[i].value);
            }
        }
    }
    return true;
}

static bool is_type(cd_json v, const char *type)
{
    return cd_bytes_eq(cd__trace_text(v, "type"), cd_bytes_str(type));
}

/* One frame that did not fail, nor any of its callers. */
static void take_frame(cd__xp *p, cd__moves *m, const cd_accepted *b, cd_json v, bool with_moves)
{
    cd__move move = {.is_token = false};
    if (cd_json_fixed(move.from.b, 20, cd_json_get(v, "from"), NULL) != CD_OK ||
        cd_json_fixed(move.to.b, 20, cd_json_get(v, "to"), NULL) != CD_OK) {
        return;
    }
    if (cd_json_qty_u256(&move.amount, cd_json_get(v, "value"), NULL) != CD_OK) {
        move.amount = cd_u256_zero();
    }
    if (is_type(v, "CREATE") || is_type(v, "CREATE2")) {
        note_made(&m->inside, &move.to);
    } else if (is_type(v, "SELFDESTRUCT")) {
        note_ended(&m->inside, &move.from, &move.to, &move.amount);
    }
    bool moves = !is_type(v, "DELEGATECALL") && !is_type(v, "CALLCODE");
    if (with_moves && moves && !cd_u256_is_zero(&move.amount)) {
        add(p, m, b, &move);
    }
}

/* What contracts did: value that they sent, contracts that they made, themselves destroyed. */
static void find_inside(cd__xp *p, cd__moves *m, const cd_accepted *b, cd_json root, bool with_moves)
{
    enum { NEST_MAX = 1100 }; /* calls nest at most 1025 deep */
    cd_json_it *stack = cd_arena_array(&p->a, cd_json_it, NEST_MAX);
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
        if (cd_json_has(cd_json_get(v, "error"))) {
            continue;
        }
        take_frame(p, m, b, v, with_moves);
        if (depth < NEST_MAX) {
            stack[depth++] = cd_json_iter(cd_json_get(v, "calls"));
        }
    }
}

static void find(cd__xp *p, cd__moves *m, const cd_accepted *b, usize idx, cd_json trace)
{
    const cd_tx *tx = &b->block.txs[idx];
    const cd_receipt *r = &b->receipts[idx];
    bool has_trace = cd_json_kind_of(trace) == CD_JSON_OBJ;
    m->net = cd_arena_new(&p->a, sheet);
    m->who = tx->sender;
    (void)account_of(m->net, &tx->sender);
    if (!r->ok) {
        return;
    }
    if (!cd_u256_is_zero(&tx->value)) {
        add(p, m, b, &(cd__move){.from = tx->sender, .to = tx->is_create ? r->created : tx->to, .amount = tx->value});
    }
    bool is_indexed = find_indexed(p, m, b, idx, has_trace);
    if (has_trace) {
        find_inside(p, m, b, trace, !is_indexed);
    }
    for (usize i = 0; i < r->log_cnt; i++) {
        find_token(p, m, b, &r->logs[i]);
    }
}

void cd__moves_find(cd__xp *p, cd__moves *m, const cd_accepted *b, usize idx, cd_json trace)
{
    usize first = cd__xp_from(p, "moves", SIZE_MAX);
    m->first = first;
    find(p, m, b, idx, trace);
    if (first != 0 && first >= m->total) {
        *m = (cd__moves){.first = 0};
        find(p, m, b, idx, trace);
    }
    for (usize i = 0; i < m->cnt; i++) {
        m->v[i].token = m->v[i].is_token ? token_of(p, m, b, &m->v[i].token_addr) : NULL;
    }
    m->one.token = m->one.is_token ? token_of(p, m, b, &m->one.token_addr) : NULL;
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

static void net_table(cd__xp *p, cd__moves *m, const cd_tx *tx, const cd_u256 *fee)
{
    sheet *s = m->net;
    cd_html *h = &p->h;
    const cd__move native = {.amount = *fee};
    book(s, &tx->sender, column_of(p, m, NULL, &native), fee, true);
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
}

void cd__moves_write(cd__xp *p, cd__moves *m, const cd_tx *tx, const cd_u256 *fee)
{
    if (m->total == 0) {
        return;
    }
    cd_html_put(&p->h,
                "<section class=\"panel\" id=\"moved\"><header><h2>What moved</h2><div class=\"end\">{} "
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
    if (m->total > CD__MOVES_PAGE) {
        cd__xp_pages(p, "moves", "moved", m->first, m->first + m->cnt, m->total, "");
    }
    net_table(p, m, tx, fee);
    if (m->net->is_cut) {
        cd_html_put(&p->h, "<footer><span>More accounts or tokens took part; these came first</span></footer>");
    }
    cd_html_put(&p->h, "</section>");
}
