#include "base/num_text.h"
#include "explorer/primary/primary_priv.h"
#include "web/chart.h"

/* --- a block of either chain, as far as lists tell it --- */

typedef struct block {
    cd_hash32 id;
    cd_hash32 parent;
    u64 height;
    u64 time; /* 0: it does not say */
    usize size;
    usize tx_cnt;
    const char *kind;
    cd_p_block p;
    const cd_x_standard_block *x;
} block;

static const char *kind_of(cd_p_block_type kind)
{
    switch (kind) {
    case CD_P_APRICOT_PROPOSAL:
    case CD_P_BANFF_PROPOSAL:
        return "Proposal";
    case CD_P_APRICOT_ABORT:
    case CD_P_BANFF_ABORT:
        return "Abort";
    case CD_P_APRICOT_COMMIT:
    case CD_P_BANFF_COMMIT:
        return "Commit";
    case CD_P_APRICOT_ATOMIC:
        return "Atomic";
    case CD_P_APRICOT_STANDARD:
    case CD_P_BANFF_STANDARD:
        return "Standard";
    }
    return "Block";
}

static cd_err read_block(cd__pp *p, block *out, cd_arena *a, u64 height)
{
    *out = (block){.height = height, .kind = "Standard"};
    if (p->chain == CD_PRIMARY_P) {
        CD_TRY(cd_platform_view_block(&p->p, &out->p, &out->id, &out->size, a, height));
        const cd_p_block_body *body = out->p.body.v;
        out->parent = body->parent;
        out->time = body->time;
        out->tx_cnt = cd_platform_view_block_txs(&out->p);
        out->kind = kind_of(cd_p_block_kind(&out->p));
        return CD_OK;
    }
    cd_x_block whole;
    CD_TRY(cd_xvm_view_block(&p->x, &out->x, &whole, &out->id, &out->size, a, height));
    out->parent = out->x->parent;
    out->time = out->x->time;
    out->tx_cnt = out->x->txs.cnt;
    return CD_OK;
}

static cd__pp_any tx_at(const block *b, usize i)
{
    cd_hash32 id;
    if (b->x != NULL) {
        const cd_x_tx *tx = &((const cd_x_tx *)b->x->txs.v)[i];
        cd_x_tx_id(&id, tx);
        return cd__pp_any_x(tx, &id);
    }
    const cd_p_tx *tx = cd_platform_view_block_tx(&b->p, i);
    cd_p_tx_id(&id, tx);
    return cd__pp_any_p(tx, &id);
}

static u64 head_of(const cd__pp *p)
{
    return p->chain == CD_PRIMARY_P ? p->p.height : p->x.height;
}

static void ago(cd__pp *p, u64 time)
{
    if (time == 0) {
        cd_html_put(&p->h, CD_FMT_NONE);
    } else {
        cd_ui_time(&p->h, &p->a, time, p->now_s);
    }
}

/* --- tables --- */

static const cd_ui_col block_cols[] = {
    {.name = "Height"},
    {.name = "Age"},
    {.name = "Content", .flags = CD_COL_FILL},
    {.name = "Block", .flags = CD_COL_P2},
};

/* What a block does, in a few words: the kind of its transaction, or how many it has. */
static void content(cd__pp *p, const block *b)
{
    if (b->tx_cnt == 0) {
        cd_html_put(&p->h, "<span class=\"mut\">{}</span>", b->tx_cnt == 0 && b->height == 0 ? "Genesis" : b->kind);
        return;
    }
    cd__pp_any t = tx_at(b, 0);
    cd_html_put(&p->h, "{}", cd__pp_kind_of(&t));
    if (b->tx_cnt > 1) {
        cd_html_put(&p->h, " <span class=\"mut\">and {} more</span>", (u64)b->tx_cnt - 1);
    }
}

void cd__pp_block_rows(cd__pp *p, u64 from, usize cnt)
{
    cd_ui_table_begin(&p->h, "Blocks", block_cols, CD_COUNT(block_cols), NULL, NULL);
    cd_arena a = {0};
    block b;
    for (usize i = 0; i < cnt && i <= from && read_block(p, &b, &a, from - i) == CD_OK; i++) {
        cd_html_put(&p->h, "<tr><td>");
        cd__pp_height(p, p->chain, b.height);
        cd_html_put(&p->h, "</td><td class=\"mut\">");
        ago(p, b.time);
        cd_html_put(&p->h, "</td><td>");
        content(p, &b);
        cd_html_put(&p->h, "</td>");
        cd_ui_cell(&p->h, &block_cols[3]);
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &b.id)});
        cd_html_put(&p->h, "</td></tr>");
        cd_arena_reset(&a);
    }
    cd_arena_fini(&a);
    cd_ui_table_end(&p->h);
}

static const cd_ui_col tx_cols[] = {
    {.name = "Transaction"},
    {.name = "Kind"},
    {.name = "What it did", .flags = CD_COL_P2},
};

void cd__pp_tx_rows_begin(cd__pp *p)
{
    cd_ui_table_begin(&p->h, "Transactions", tx_cols, CD_COUNT(tx_cols), NULL, NULL);
}

void cd__pp_tx_row(cd__pp *p, const cd__pp_any *t, u64 height)
{
    cd_bytes text = cd__pp_id_text(p, &t->id);
    cd_bytes href = cd__pp_href(p, t->chain, "tx", text);
    cd_html_put(&p->h, "<tr><td>");
    cd_ui_ident(&p->h,
                &(cd_ui_id){.text = text,
                            .href = cd_bytes_str(cd_arena_fmt(&p->a, "%.*s?in=%llu", (int)href.n, (const char *)href.p,
                                                              (unsigned long long)height))});
    cd_html_put(&p->h, "</td><td>{}</td>", cd__pp_kind_of(t));
    cd_ui_cell(&p->h, &tx_cols[2]);
    cd__pp_say(p, t);
    cd_html_put(&p->h, "</td></tr>");
}

void cd__pp_tx_rows_end(cd__pp *p)
{
    cd_ui_table_end(&p->h);
}

/* --- the list of blocks --- */

void cd__pp_blocks(cd__pp *p)
{
    u64 head = head_of(p);
    cd_bytes typed = cd__pp_query(p, "from", CD_U64_TEXT_MAX);
    u64 from = typed.n == 0 ? head : cd_min_u64(cd__pp_query_number(p, "from"), head);
    p->title = cd_bytes_str(cd_arena_fmt(&p->a, "Blocks of %s", cd__pp_letters[p->chain]));
    p->tab = p->m->tabs[p->chain][1].href;
    cd_html_put(&p->h, "<h1>Blocks of the {}-Chain</h1><section class=\"panel\" aria-label=\"Blocks\">",
                cd__pp_letters[p->chain]);
    cd__pp_block_rows(p, from, CD__PP_PAGE);
    cd_html_put(&p->h, "<footer><span>{} in all</span>", cd_fmt_count(&p->a, head + 1));
    cd_bytes next = {0};
    if (from >= CD__PP_PAGE) {
        next = cd_bytes_str(cd_arena_fmt(&p->a, "%s?from=%llu", p->tab, (unsigned long long)(from - CD__PP_PAGE)));
    }
    cd_ui_pager(&p->h, from == head ? (cd_bytes){0} : cd_bytes_str(p->tab), next);
    cd_html_put(&p->h, "</footer></section>");
}

/* --- one block --- */

/* A height, or the ID of a block. */
static cd_err find(cd__pp *p, block *out, cd_bytes rest)
{
    u64 height;
    cd_hash32 id;
    if (cd_u64_parse(&height, rest) == CD_OK) {
        return read_block(p, out, &p->a, height);
    }
    if (cd_id_parse(&id, rest, NULL) != CD_OK) {
        return CD_ENOENT;
    }
    if (p->chain == CD_PRIMARY_P) {
        cd_bytes bytes;
        cd_p_block b;
        CD_TRY(cd_pstate_block_get(&p->p.state, &bytes, &p->a, &id));
        if (cd_linear_parse(&b, &cd_p_block_table, &p->a, bytes, bytes.n, NULL) != CD_OK) {
            return CD_ECORRUPT;
        }
        return read_block(p, out, &p->a, ((const cd_p_block_body *)b.body.v)->height);
    }
    cd_buf bytes = {0};
    cd_x_block b;
    cd_err e = cd_xvm_get_block(p->x.kv, &bytes, &id);
    if (e == CD_OK) {
        e = cd_linear_parse(&b, &cd_x_block_table, &p->a, cd_arena_dup(&p->a, cd_buf_bytes(&bytes)), bytes.n, NULL);
        e = e == CD_OK ? read_block(p, out, &p->a, ((const cd_x_standard_block *)b.body.v)->height) : CD_ECORRUPT;
    }
    cd_buf_fini(&bytes);
    return e;
}

static void neighbour(cd__pp *p, const char *rel, const char *before, u64 height, const char *behind)
{
    cd_bytes text = cd_bytes_str(cd_arena_fmt(&p->a, "%llu", (unsigned long long)height));
    cd_html_put(&p->h, "<a class=\"btn s\" rel=\"{}\" href=\"{}\">{}{}{}</a>", rel,
                cd__pp_href(p, p->chain, "block", text), before, cd_fmt_count(&p->a, height), behind);
}

static void block_head(cd__pp *p, const block *b)
{
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, "blocks", "Blocks");
    cd_html_put(&p->h, "<h1 class=\"row\">");
    cd_ui_lamp(&p->h, cd_lamp_of(&p->final[p->chain], b->height));
    cd_html_put(&p->h, "Block {}</h1>", cd_fmt_count(&p->a, b->height));
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &b->id), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE});
    cd_html_put(&p->h, "</div><nav class=\"pager\" aria-label=\"Neighbours\">");
    if (b->height != 0) {
        neighbour(p, "prev", "‹ ", b->height - 1, "");
    }
    if (b->height < head_of(p)) {
        neighbour(p, "next", "", b->height + 1, " ›");
    }
    cd_html_put(&p->h, "</nav></div><p class=\"say\"><b>{} {}</b>", cd_fmt_count(&p->a, b->tx_cnt),
                b->tx_cnt == 1 ? "transaction" : "transactions");
    if (b->time != 0) {
        cd_html_put(&p->h, ", accepted ");
        cd_ui_time(&p->h, &p->a, b->time, p->now_s);
    }
    cd_html_put(&p->h, ".</p>");
}

static void block_details(cd__pp *p, const block *b)
{
    cd_html_put(&p->h,
                "<section class=\"panel\"><header><h2>Details</h2></header><div class=\"body\"><dl class=\"kv\">");
    cd__pp_pair(p, "Kind", cd_bytes_str(b->kind));
    if (b->time != 0) {
        cd__pp_pair_time(p, "Time", b->time);
    }
    cd_html_put(&p->h, "<dt>Parent</dt><dd>");
    cd_ui_id parent = {.text = cd__pp_id_text(p, &b->parent), .flags = CD_ID_COPY};
    if (b->height != 0) {
        parent.href = cd__pp_href(p, p->chain, "block", parent.text);
    }
    cd_ui_ident(&p->h, &parent);
    cd_html_put(&p->h, "</dd>");
    cd__pp_pair(p, "Size", cd_fmt_bytes(&p->a, b->size));
    cd_html_put(&p->h, "</dl></div></section>");
}

static const char *empty_reason(const block *b)
{
    return b->height == 0 ? "The chain begins with this block."
           : cd_bytes_eq(cd_bytes_str(b->kind), cd_bytes_str("Commit"))
               ? "It decides that what the block before proposed is done."
           : cd_bytes_eq(cd_bytes_str(b->kind), cd_bytes_str("Abort"))
               ? "It decides that what the block before proposed is not done."
               : "This block holds none.";
}

void cd__pp_block(cd__pp *p, cd_bytes rest)
{
    block b;
    cd_err e = find(p, &b, rest);
    if (e == CD_ENOENT) {
        cd__pp_missing(p, "No block", cd_foreign_of(rest),
                       cd_arena_fmt(&p->a, "on the %s-Chain. The newest is %llu.", cd__pp_letters[p->chain],
                                    (unsigned long long)head_of(p)));
        return;
    }
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    p->title =
        cd_bytes_str(cd_arena_fmt(&p->a, "Block %llu of %s", (unsigned long long)b.height, cd__pp_letters[p->chain]));
    p->tab = p->m->tabs[p->chain][1].href;
    block_head(p, &b);
    cd_html_put(&p->h, "<div class=\"cols side\"><section class=\"panel\"><header><h2>Transactions</h2></header>");
    if (b.tx_cnt == 0) {
        cd_ui_empty(&p->h, "No transactions", empty_reason(&b), (cd_markup){0});
    } else {
        cd__pp_tx_rows_begin(p);
        for (usize i = 0; i < b.tx_cnt && i < CD__PP_TXS_MAX; i++) {
            cd__pp_any t = tx_at(&b, i);
            cd__pp_tx_row(p, &t, b.height);
        }
        cd__pp_tx_rows_end(p);
        if (b.tx_cnt > CD__PP_TXS_MAX) {
            cd_html_put(&p->h, "<footer><span>The first {} of {}</span></footer>", (u64)CD__PP_TXS_MAX,
                        cd_fmt_count(&p->a, b.tx_cnt));
        }
    }
    cd_html_put(&p->h, "</section>");
    block_details(p, &b);
    cd_html_put(&p->h, "</div>");
}

/* One more lamp, and how high it reaches. */
static void final_height(cd__pp *p, cd_lamp lamp, u64 height)
{
    cd_html_put(&p->h, "<dt>");
    cd_ui_lamp(&p->h, lamp);
    cd_html_put(&p->h, "{}</dt><dd class=\"mono\">{}</dd>", cd_lamp_word(lamp), cd_fmt_count(&p->a, height));
}

/* --- the overview --- */

static void beam(cd__pp *p, u64 time)
{
    u64 head = head_of(p);
    cd_html_put(&p->h, "<section class=\"panel\" aria-label=\"Chain\"><div class=\"body\"><span class=\"row\">");
    cd__pp_badge(p, p->chain);
    cd_html_put(&p->h, "<span class=\"mut\">{}-Chain height</span></span><p class=\"big\"><a href=\"{}\">{}</a></p>",
                cd__pp_letters[p->chain],
                cd__pp_href(p, p->chain, "block", cd_bytes_str(cd_arena_fmt(&p->a, "%llu", (unsigned long long)head))),
                cd_fmt_count(&p->a, head));
    cd_html_put(&p->h, "<dl class=\"lamps\"><dt>");
    cd_ui_lamp(&p->h, CD_LAMP_ACCEPTED);
    cd_html_put(&p->h, "Accepted</dt><dd>");
    ago(p, time);
    cd_html_put(&p->h, "</dd>");
    if (p->final[p->chain].is_told) {
        final_height(p, CD_LAMP_BLS, p->final[p->chain].bls);
        final_height(p, CD_LAMP_QUANTUM, p->final[p->chain].quantum);
    }
    cd_html_put(&p->h, "</dl></div></section>");
}

static void p_figures(cd__pp *p, const cd__pp_roll *roll)
{
    static const cd_hash32 primary;
    u64 supply = 0;
    u64 active = 0;
    cd_hash32 *nets;
    usize cnt = 0;
    bool more = false;
    (void)!cd_pstate_supply_get(&p->p.state, &supply, &primary);
    (void)!cd_pstate_num_get(&p->p.state, &active, CD_PSTATE_ACTIVE_L1);
    (void)!cd_pstate_nets(&p->p.state, &nets, &cnt, &more, &p->a, 1000);
    const char *unit = p->network->family->symbol;
    cd_bytes delegated = cd__pp_figure(p, roll->delegated);
    const cd_ui_fig figs[] = {
        {.label = "Validators",
         .value = cd_fmt_count(&p->a, roll->cnt),
         .unit = "",
         .sub = cd_bytes_str("of the primary network")},
        {.label = "Staked",
         .value = cd__pp_figure(p, roll->own + roll->delegated),
         .unit = unit,
         .sub = cd_bytes_str(cd_arena_fmt(&p->a, "%.*s of it delegated", (int)delegated.n, (const char *)delegated.p))},
        {.label = "Supply",
         .value = cd__pp_figure(p, supply),
         .unit = unit,
         .sub = cd_bytes_str("with rewards to come")},
        {.label = "Networks",
         .value = more ? cd_bytes_str("1,000+") : cd_fmt_count(&p->a, cnt),
         .unit = "",
         .sub = cd_bytes_str(cd_arena_fmt(&p->a, "%llu active L1 %s", (unsigned long long)active,
                                          active == 1 ? "validator" : "validators"))},
    };
    cd_ui_figs(&p->h, figs, CD_COUNT(figs));
}

static void panel(cd__pp *p, const char *title, const char *page, const char *all)
{
    cd_html_put(&p->h,
                "<section class=\"panel\"><header><h2>{}</h2><div class=\"end\"><a href=\"{}\">{}</a></div></header>",
                title, cd__pp_href(p, p->chain, page, (cd_bytes){0}), all);
}

static void p_home(cd__pp *p)
{
    cd__pp_roll *roll = NULL;
    enum { SHOWN = 8 };
    cd_err e = cd__pp_roll_get(p, &roll);
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    beam(p, p->p.time);
    p_figures(p, roll);
    cd_html_put(&p->h, "<div class=\"cols\">");
    panel(p, "Blocks", "blocks", "All blocks");
    cd__pp_block_rows(p, p->p.height, SHOWN);
    cd_html_put(&p->h, "</section>");
    panel(p, "Validators", "validators", "All validators");
    cd__pp_validator_rows(p, roll->v, 0, cd_min_u64(roll->cnt, SHOWN), 0);
    cd_html_put(&p->h, "</section></div>");
    cd__pp_roll_end(p->m, roll);
}

void cd__pp_home(cd__pp *p)
{
    p->title = cd_bytes_str(cd_arena_fmt(&p->a, "%s-Chain", cd__pp_letters[p->chain]));
    p->tab = p->m->tabs[p->chain][0].href;
    cd_html_put(&p->h, "<h1 class=\"sr\">{}-Chain</h1>", cd__pp_letters[p->chain]);
    if (p->chain == CD_PRIMARY_P) {
        p_home(p);
        return;
    }
    beam(p, p->x.time);
    panel(p, "Blocks", "blocks", "All blocks");
    cd__pp_block_rows(p, p->x.height, 12);
    cd_html_put(&p->h, "</section>");
}
