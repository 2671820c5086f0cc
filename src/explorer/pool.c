/* What waits for a block. Everything is gathered in one go on the thread that owns the pool, then written here. */
#include "explorer/explorer_priv.h"

enum { ROWS_MAX = 100 };

/* A waiting transaction; tx.data holds the selector only, unless it was asked for by its hash. */
typedef struct waiting {
    cd_tx tx;
    u64 time;
    cd_tx_wait wait;
    cd_bytes words;
} waiting;

typedef struct gathering {
    cd__xp *p;
    const cd_hash32 *wanted; /* hash of the one that is looked for; NULL: all are listed */
    waiting *v;
    usize cnt;
    usize total;
    usize pending;
    usize senders;
} gathering;

static void take(gathering *g, cd_txpool *pool, const cd_pool_tx *t)
{
    waiting *w = &g->v[g->cnt++];
    cd_buf words = {0};
    usize n = g->wanted == NULL && t->tx.data.n > 4 ? 4 : t->tx.data.n;
    *w = (waiting){.tx = t->tx, .time = t->time};
    w->tx.data = cd_arena_dup(&g->p->a, cd_bytes_sub(t->tx.data, 0, n));
    w->wait = cd_txpool_explain(pool, &words, t);
    w->words = cd_arena_dup(&g->p->a, cd_buf_bytes(&words));
    cd_buf_fini(&words);
}

static void gather(void *arg, cd_txpool *pool)
{
    gathering *g = arg;
    if (g->wanted != NULL) {
        const cd_pool_tx *t = cd_txpool_get(pool, g->wanted);
        if (t != NULL) {
            take(g, pool, t);
        }
        return;
    }
    cd_txpool_account *all = cd_txpool_accounts(pool, &g->senders, &g->p->a);
    g->total = cd_txpool_cnt(pool);
    g->pending = cd_txpool_pending_cnt(pool);
    for (usize i = 0; i < g->senders; i++) {
        for (usize k = 0; k < all[i].cnt && g->cnt < ROWS_MAX; k++) {
            take(g, pool, all[i].txs[k]);
        }
    }
}

static cd_err run(cd__xp *p, gathering *g)
{
    const cd_explorer_cfg *cfg = &p->x->cfg;
    g->p = p;
    g->v = cd_arena_array(&p->a, waiting, ROWS_MAX);
    return cfg->with_pool == NULL ? CD_ENOENT : cfg->with_pool(cfg->ctx, gather, g);
}

typedef struct marking {
    u64 mark;
} marking;

/* Accounts come in any order, so that their marks are added. */
static void mark(void *arg, cd_txpool *pool)
{
    marking *m = arg;
    cd_arena a = {0};
    usize cnt = 0;
    cd_txpool_account *all = cd_txpool_accounts(pool, &cnt, &a);
    m->mark = 1 + cd_txpool_cnt(pool) * 31 + cd_txpool_pending_cnt(pool);
    for (usize i = 0; i < cnt; i++) {
        for (usize k = 0; k < all[i].cnt; k++) {
            u64 one = cd_be64(all[i].txs[k]->tx.hash.b);
            m->mark += one ^ one >> 32;
        }
    }
    m->mark += m->mark == 0 ? 1 : 0;
    cd_arena_fini(&a);
}

u64 cd__pool_mark(cd__xp *p)
{
    const cd_explorer_cfg *cfg = &p->x->cfg;
    marking m = {0};
    return cfg->with_pool == NULL || cfg->with_pool(cfg->ctx, mark, &m) != CD_OK ? 0 : m.mark;
}

/* The part of a page that is read again when what waits changes. */
static void fresh_begin(cd__xp *p)
{
    const char *live = cd__xp_live(p, CD__LIVE_POOL);
    p->is_live = true;
    cd_html_put(&p->h, "<div class=\"stack\" data-fresh=\"{}\">", live == NULL ? "" : live);
}

/* --- in words --- */

static void wait_pill(cd__xp *p, cd_tx_wait wait)
{
    cd_pill kind = CD_PILL_WARN;
    const char *word = "";
    switch (wait) {
    case CD_WAIT_TURN:
        kind = CD_PILL_NEUTRAL;
        word = "Next block";
        break;
    case CD_WAIT_GAP:
        word = "Nonce missing";
        break;
    case CD_WAIT_BEHIND:
        kind = CD_PILL_NEUTRAL;
        word = "In line";
        break;
    case CD_WAIT_FUNDS:
        word = "No funds";
        break;
    case CD_WAIT_GAS_LIMIT:
        word = "Too much gas";
        break;
    case CD_WAIT_BASE_FEE:
        word = "Fee too low";
        break;
    case CD_WAIT_LINE:
        kind = CD_PILL_NEUTRAL;
        word = "Outbid";
        break;
    }
    cd_ui_pill(&p->h, kind, cd_bytes_str(word));
}

/* --- the list --- */

static const cd_ui_col cols[] = {
    {.name = "Transaction"},
    {.name = "From, nonce", .flags = CD_COL_P2},
    {.name = "Method", .flags = CD_COL_P2},
    {.name = "Value", .flags = CD_COL_NUM | CD_COL_P2},
    {.name = "Max fee", .flags = CD_COL_NUM | CD_COL_P3},
    {.name = "Waits because"},
};

static void row(cd__xp *p, const waiting *w)
{
    cd_html *h = &p->h;
    cd_html_put(h, "<tr><td>");
    cd__xp_tx_hash(p, &w->tx.hash, 0);
    cd_html_put(h, "<span class=\"sub\">");
    cd_ui_time(h, &p->a, w->time, p->now_s);
    cd_html_put(h, "</span></td>");
    cd_ui_cell(h, &cols[1]);
    cd__xp_addr(p, &w->tx.sender, 0);
    cd_html_put(h, "<span class=\"sub\">nonce {}</span></td>", cd_fmt_count(&p->a, w->tx.nonce));
    cd_ui_cell(h, &cols[2]);
    cd_ui_tag(h, cd_foreign_of(cd__xp_method(p, &w->tx)));
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[3]);
    cd__xp_lux(p, &w->tx.value, false);
    cd_html_put(h, "</td>");
    cd_ui_cell(h, &cols[4]);
    cd_html_put(h, "{}</td><td>", cd_fmt_gas_price(&p->a, &w->tx.fee_cap));
    wait_pill(p, w->wait);
    cd_html_put(h, "<span class=\"sub any\">{}</span></td></tr>", w->words);
}

void cd__xp_pool(cd__xp *p)
{
    gathering g = {0};
    cd_html *h = &p->h;
    p->title = cd_bytes_str("Pool");
    p->tab = p->x->tabs[CD__TAB_POOL].href;
    cd_html_put(h, "<div class=\"head\"><h1 class=\"grow\">Pool</h1>");
    cd__xp_live_pill(p, p->tab);
    cd_html_put(h, "</div>");
    if (run(p, &g) != CD_OK) {
        cd_html_put(h, "<section class=\"panel\">");
        cd_ui_empty(h, "The pool does not answer", "The node is too busy or about to stop; try again.", (cd_markup){0});
        cd_html_put(h, "</section>");
        return;
    }
    const cd_ui_fig figs[] = {
        {.label = "Executable",
         .value = cd_fmt_count(&p->a, g.pending),
         .unit = "",
         .sub = cd_bytes_str("may be in the next block")},
        {.label = "Queued",
         .value = cd_fmt_count(&p->a, g.total - g.pending),
         .unit = "",
         .sub = cd_bytes_str("something is in their way")},
        {.label = "Senders",
         .value = cd_fmt_count(&p->a, g.senders),
         .unit = "",
         .sub = cd_bytes_str("with something waiting")},
    };
    fresh_begin(p);
    cd_ui_figs(h, figs, CD_COUNT(figs));
    cd_html_put(h, "<section class=\"panel\" aria-label=\"Waiting transactions\">");
    if (g.cnt == 0) {
        cd_ui_empty(h, "No pending transactions", "Transactions stand here until a block takes them.", (cd_markup){0});
    } else {
        cd_ui_table_begin(h, "Waiting transactions", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < g.cnt; i++) {
            row(p, &g.v[i]);
        }
        cd_ui_table_end(h);
    }
    if (g.cnt < g.total) {
        cd_html_put(h, "<footer><span>Showing {} of {}; all of them: txpool_content</span></footer>", (u64)g.cnt,
                    cd_fmt_count(&p->a, g.total));
    }
    cd_html_put(h, "</section></div>");
}

/* --- one of them --- */

static void details(cd__xp *p, const waiting *w)
{
    const cd_tx *tx = &w->tx;
    cd_html *h = &p->h;
    cd_html_put(h, "<section class=\"panel\"><header><h2>Details</h2></header><div "
                   "class=\"body\"><dl class=\"kv\"><dt>Seen</dt><dd>");
    cd_ui_time(h, &p->a, w->time, p->now_s);
    cd_html_put(h, "</dd><dt>From</dt><dd>");
    cd__xp_addr(p, &tx->sender, CD_ID_COPY);
    cd_html_put(h, "</dd><dt>To</dt><dd>");
    if (tx->is_create) {
        cd_html_put(h, "a new contract");
    } else {
        cd__xp_addr(p, &tx->to, CD_ID_COPY);
    }
    cd_html_put(h, "</dd><dt>Value</dt><dd>");
    cd__xp_lux(p, &tx->value, true);
    cd_html_put(h,
                "</dd><dt>Nonce</dt><dd>{}</dd><dt>Gas limit</dt><dd>{}</dd><dt>Max "
                "fee</dt><dd>{}</dd><dt>Max tip</dt><dd>{}</dd></dl></div></section>",
                cd_fmt_count(&p->a, tx->nonce), cd_fmt_count(&p->a, tx->gas_limit),
                cd_fmt_gas_price(&p->a, &tx->fee_cap), cd_fmt_gas_price(&p->a, &tx->tip_cap));
}

bool cd__xp_pending(cd__xp *p, const cd_hash32 *hash)
{
    gathering g = {.wanted = hash};
    cd_html *h = &p->h;
    if (run(p, &g) != CD_OK || g.cnt == 0) {
        return false;
    }
    const waiting *w = &g.v[0];
    p->title = cd_bytes_str("Pending transaction");
    p->tab = p->x->tabs[CD__TAB_POOL].href;
    cd_html_put(h,
                "<div class=\"head\"><div class=\"grow\"><p class=\"crumbs\"><span class=\"ch c\" "
                "aria-hidden=\"true\">{}</span> {}-Chain / <a href=\"{}\">Pool</a></p><h1>Transaction</h1>",
                p->x->cfg.chain_name, p->x->cfg.chain_name, p->tab);
    cd__xp_tx_hash(p, &w->tx.hash, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(h, "</div>");
    cd_ui_pill(h, CD_PILL_NEUTRAL, cd_bytes_str("Pending"));
    cd__xp_live_pill(p, cd_arena_str(&p->a, cd__xp_tx_href(p, hash)));
    cd_html_put(h, "</div>");
    fresh_begin(p);
    cd_html_put(h, "<p class=\"say\">");
    cd__xp_addr(p, &w->tx.sender, 0);
    cd_html_put(h, " wants to ");
    if (w->tx.is_create) {
        cd_html_put(h, "deploy a contract.");
    } else if (w->tx.data.n == 0) {
        cd_html_put(h, "send <b>");
        cd__xp_lux(p, &w->tx.value, true);
        cd_html_put(h, "</b> to ");
        cd__xp_addr(p, &w->tx.to, 0);
        cd_html_put(h, ".");
    } else {
        cd_html_put(h, "call <b>{}</b> on ", cd_foreign_of(cd__xp_method(p, &w->tx)));
        cd__xp_addr(p, &w->tx.to, 0);
        cd_html_put(h, ".");
    }
    cd_html_put(h, "</p>");
    cd_buf text = {0};
    cd_html note = {.out = &text};
    cd_html_put(&note, "{}", w->words);
    cd_ui_note(h, w->wait == CD_WAIT_TURN ? CD_NOTE_INFO : CD_NOTE_WARN, "It waits for a block", cd_markup_of(&note));
    cd_buf_fini(&text);
    cd_html_put(h, "<div class=\"cols side\"><div class=\"stack\">");
    cd__tx_input(p, &w->tx);
    cd_html_put(h, "</div><div class=\"stack\">");
    details(p, w);
    cd_html_put(h, "</div></div></div>");
    return true;
}
