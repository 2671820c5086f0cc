/* One page an address, over the P-, X- and C-Chain: what it owns, what is staked, what waits to be imported. */
#include "base/num_text.h"
#include "explorer/primary/primary_priv.h"

enum { SUMMED_MAX = 1 << 14, ASSETS_MAX = 32 };

/* What is owned of an asset on a chain. */
typedef struct sum {
    cd_hash32 asset;
    u64 free;
    u64 locked;
    u64 shared; /* with others: more than one of them must sign */
} sum;

typedef struct sums {
    const cd__pp *p;
    sum v[ASSETS_MAX];
    usize cnt;
    usize utxos;
    bool is_cut; /* there is more than was added up */
} sums;

static void add(u64 *to, u64 amount)
{
    if (!cd_add_u64(to, *to, amount)) {
        *to = UINT64_MAX;
    }
}

static bool visit(void *ctx, const cd_hash32 *id, const cd_utxo *u)
{
    sums *s = ctx;
    u64 amount;
    const cd_owners *o = cd_utxo_owners(&u->out);
    usize i = 0;
    (void)id;
    if (++s->utxos > SUMMED_MAX) {
        s->is_cut = true;
        return false;
    }
    while (i < s->cnt && !cd_hash32_eq(&s->v[i].asset, &u->asset_id)) {
        i++;
    }
    if (o == NULL || !cd_utxo_amount(&amount, &u->out)) {
        return true;
    }
    if (i == ASSETS_MAX) {
        s->is_cut = true;
        return true;
    }
    if (i == s->cnt) {
        s->v[s->cnt++] = (sum){.asset = u->asset_id};
    }
    bool is_stakeable = u->out.is->id == CD_P_LOCK_OUT && s->p->p.state.kv != NULL;
    bool is_locked =
        o->locktime > s->p->now_s || (is_stakeable && ((const cd_locked *)u->out.v)->locktime > s->p->now_s);
    add(o->threshold > 1 ? &s->v[i].shared : is_locked ? &s->v[i].locked : &s->v[i].free, amount);
    return true;
}

static bool visit_x(void *ctx, const cd_hash32 *id, const cd_utxo *u)
{
    return visit(ctx, id, u);
}

static void asset_name(cd__pp *p, const cd_hash32 *asset)
{
    const cd__pp_asset *a = cd__pp_asset_of(p, asset);
    if (a->name.n == 0 || p->x.kv == NULL) {
        cd__pp_asset_id(p, asset);
    } else {
        cd_html_put(&p->h, "<a href=\"{}\">{}</a>", cd__pp_href(p, CD_PRIMARY_X, "asset", cd__pp_id_text(p, asset)),
                    cd_foreign_of(a->name));
    }
}

/* What is owned besides, on a line of its own. */
static void part(cd__pp *p, u64 amount, const cd_hash32 *asset, const char *how)
{
    if (amount != 0) {
        cd_html_put(&p->h, "<span class=\"sub\">");
        cd__pp_amount(p, amount, asset);
        cd_html_put(&p->h, " {}</span>", how);
    }
}

static void balance(cd__pp *p, cd_primary_chain chain, const cd_addr20 *addr)
{
    static const cd_ui_col cols[] = {{.name = "Asset"}, {.name = "Amount", .flags = CD_COL_NUM}};
    sums *s = cd_arena_zalloc(&p->a, sizeof *s);
    s->p = p;
    cd_err e = chain == CD_PRIMARY_P ? cd_utxo_each(p->p.state.kv, &cd_p_utxo_table, addr, NULL, visit, s)
                                     : cd_utxo_each(p->x.kv, &cd_x_utxo_table, addr, NULL, visit_x, s);
    cd_html_put(&p->h, "<section class=\"panel\" id=\"balance-{}\"><header><h2><span class=\"row\">",
                cd__pp_letters[chain]);
    cd__pp_badge(p, chain);
    cd_html_put(&p->h, "On the {}-Chain</span></h2><div class=\"end mut\">{}{} {}</div></header>",
                cd__pp_letters[chain], cd_fmt_count(&p->a, cd_min_u64(s->utxos, SUMMED_MAX)), s->is_cut ? "+" : "",
                s->utxos == 1 ? "UTXO" : "UTXOs");
    if (e != CD_OK) {
        cd_ui_empty(&p->h, "This could not be read", cd_err_str(e), (cd_markup){0});
    } else if (s->cnt == 0) {
        cd_ui_empty(&p->h, "Nothing here", "What this address receives stands here.", (cd_markup){0});
    } else {
        cd_ui_table_begin(&p->h, "Balance", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < s->cnt; i++) {
            const sum *of = &s->v[i];
            cd_html_put(&p->h, "<tr><td>");
            asset_name(p, &of->asset);
            cd_html_put(&p->h, "</td><td class=\"num\">");
            cd__pp_amount(p, of->free, &of->asset);
            part(p, of->locked, &of->asset, "locked");
            part(p, of->shared, &of->asset, "with others, who must sign too");
            cd_html_put(&p->h, "</td></tr>");
        }
        cd_ui_table_end(&p->h);
    }
    cd_html_put(&p->h, "</section>");
}

/* --- UTXOs, a page of them --- */

static void utxo_row(cd__pp *p, cd_primary_chain chain, const cd_utxo_found *u)
{
    u64 amount;
    const cd_owners *o = cd_utxo_owners(&u->utxo.out);
    cd_html_put(&p->h, "<tr><td>");
    cd__pp_tx_id(p, chain, &u->utxo.tx_id, 0);
    cd_html_put(&p->h, "<span class=\"sub\">output {}", u->utxo.output_idx);
    if (o != NULL && o->addrs.cnt > 1) {
        cd_html_put(&p->h, ", {} of {}", o->threshold, o->addrs.cnt);
    }
    if (o != NULL && o->locktime > p->now_s) {
        cd_html_put(&p->h, ", locked until {}", cd_fmt_utc(&p->a, o->locktime));
    }
    if (chain == CD_PRIMARY_P && u->utxo.out.is->id == CD_P_LOCK_OUT) {
        cd_html_put(&p->h, ", for staking only until {}",
                    cd_fmt_utc(&p->a, ((const cd_locked *)u->utxo.out.v)->locktime));
    }
    cd_html_put(&p->h, "</span></td><td class=\"num\">");
    if (cd_utxo_amount(&amount, &u->utxo.out)) {
        cd__pp_amount(p, amount, &u->utxo.asset_id);
    } else {
        cd_html_put(&p->h, "{} {}", u->utxo.out.is->id == CD_X_NFT_OUTPUT ? "NFT" : "right or property of",
                    cd_foreign_of(cd__pp_asset_of(p, &u->utxo.asset_id)->symbol));
    }
    cd_html_put(&p->h, "</td></tr>");
}

static void utxos(cd__pp *p, cd_primary_chain chain, const cd_addr20 *addr)
{
    static const cd_ui_col cols[] = {{.name = "Made by"}, {.name = "Amount", .flags = CD_COL_NUM}};
    cd_addr20 own = *addr;
    usize owners = 1;
    cd_utxo_found *found;
    usize cnt = 0;
    cd_utxo_cursor at = {.addr = {{0}}};
    cd_bytes after = cd__pp_query(p, "after", 64);
    if (after.n != 0 && cd_id_parse(&at.utxo, after, NULL) == CD_OK) {
        at.addr = *addr;
    }
    bool is_p = chain == CD_PRIMARY_P;
    cd_err e = cd_utxo_page(&found, &cnt, &at, is_p ? p->p.state.kv : p->x.kv, &p->a,
                            is_p ? &cd_p_utxo_table : &cd_x_utxo_table, &own, &owners, CD__PP_PAGE);
    if (e != CD_OK || cnt == 0) {
        return;
    }
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>UTXOs on the {}-Chain</h2></header>",
                cd__pp_letters[chain]);
    cd_ui_table_begin(&p->h, "UTXOs", cols, CD_COUNT(cols), NULL, NULL);
    for (usize i = 0; i < cnt; i++) {
        utxo_row(p, chain, &found[i]);
    }
    cd_ui_table_end(&p->h);
    cd_bytes page = cd__pp_href(p, chain, "address", cd__pp_addr_text(p, chain, addr));
    cd_bytes last = cd__pp_id_text(p, &found[cnt - 1].id);
    cd_bytes next = cd_bytes_str(
        cd_arena_fmt(&p->a, "%.*s?after=%.*s", (int)page.n, (const char *)page.p, (int)last.n, (const char *)last.p));
    cd_html_put(&p->h, "<footer><span>in the order of their IDs</span>");
    cd_ui_pager(&p->h,
                at.addr.b[0] == 0 && after.n == 0 ? (cd_bytes){0}
                : after.n == 0                    ? (cd_bytes){0}
                                                  : page,
                cnt == CD__PP_PAGE ? next : (cd_bytes){0});
    cd_html_put(&p->h, "</footer></section>");
}

/* --- what it took part in --- */

/* "HEIGHT-ID" as a page writes it. */
static bool place_parse(cd_pstate_place *out, cd_bytes text)
{
    usize dash = 0;
    while (dash < text.n && text.p[dash] != '-') {
        dash++;
    }
    return dash < text.n && cd_u64_parse(&out->height, cd_bytes_sub(text, 0, dash)) == CD_OK &&
           cd_id_parse(&out->tx_id, cd_bytes_sub(text, dash + 1, text.n - dash - 1), NULL) == CD_OK;
}

/* Transactions of the P-Chain that spent what the address owned, or gave it something, newest first. */
static void history(cd__pp *p, const cd_addr20 *addr)
{
    cd_pstate_place *v;
    usize cnt = 0;
    cd_pstate_place behind = {0};
    cd_bytes typed = cd__pp_query(p, "behind", 96);
    bool is_first = !place_parse(&behind, typed);
    behind = is_first ? (cd_pstate_place){0} : behind;
    cd_err e = cd_pstate_listed(&p->p.state, &v, &cnt, &p->a, addr, &behind, CD__PP_PAGE);
    if (e != CD_OK || cnt == 0) {
        return;
    }
    cd_html_put(&p->h, "<section class=\"panel\" id=\"history\"><header><h2>Transactions on the P-Chain</h2></header>");
    cd__pp_tx_rows_begin(p);
    for (usize i = 0; i < cnt; i++) {
        cd__pp_any any;
        if (cd__pp_tx_any(p, &any, CD_PRIMARY_P, &v[i].tx_id, NULL, NULL) == CD_OK) {
            cd__pp_tx_row(p, &any, v[i].height);
        }
    }
    cd__pp_tx_rows_end(p);
    cd_bytes page = cd__pp_href(p, CD_PRIMARY_P, "address", cd__pp_addr_text(p, CD_PRIMARY_P, addr));
    cd_bytes last = cd__pp_id_text(p, &v[cnt - 1].tx_id);
    cd_bytes next =
        cd_bytes_str(cd_arena_fmt(&p->a, "%.*s?behind=%llu-%.*s#history", (int)page.n, (const char *)page.p,
                                  (unsigned long long)v[cnt - 1].height, (int)last.n, (const char *)last.p));
    cd_html_put(&p->h, "<footer><span>newest first</span>");
    cd_ui_pager_of(&p->h, "Pages of transactions", is_first ? (cd_bytes){0} : page,
                   cnt == CD__PP_PAGE ? next : (cd_bytes){0});
    cd_html_put(&p->h, "</footer></section>");
}

/* --- what waits on one chain to be taken from another --- */

static void waiting(cd__pp *p, cd_primary_chain at, const cd_vm_shared *shared, const cd_addr20 *addr)
{
    static const cd_hash32 p_id;
    const cd_vm_primary *ids = p->m->ids;
    const cd_hash32 *const peers[CD_PRIMARY_CHAINS] = {&p_id, &ids->x_chain_id, &ids->c_chain_id};
    for (cd_primary_chain from = 0; from < CD_PRIMARY_CHAINS && shared != NULL; from++) {
        cd_bytes *values;
        usize cnt = 0;
        cd_bytes trait = cd_bytes_of(addr->b, sizeof addr->b);
        cd_vm_shared_cursor cursor = {.key = {0}};
        if (from == at ||
            shared->indexed(shared, &values, &cnt, &p->a, peers[from], &trait, 1, &cursor, CD__PP_PAGE) != CD_OK) {
            continue;
        }
        for (usize i = 0; i < cnt; i++) {
            cd_utxo u;
            u64 amount = 0;
            if (cd_utxo_parse(&u, at == CD_PRIMARY_P ? &cd_p_utxo_table : &cd_x_utxo_table, &p->a, values[i], NULL) !=
                CD_OK) {
                continue;
            }
            (void)!cd_utxo_amount(&amount, &u.out);
            cd_html_put(&p->h, "<p class=\"row\">");
            cd__pp_badge(p, from);
            cd_html_put(&p->h, " <b>");
            cd__pp_amount(p, amount, &u.asset_id);
            cd_html_put(&p->h, "</b> waits to be imported on {}, exported in ", cd__pp_letters[at]);
            cd__pp_tx_id(p, from, &u.tx_id, 0);
            cd_html_put(&p->h, "</p>");
        }
    }
}

/* --- the page --- */

void cd__pp_address(cd__pp *p, cd_bytes rest)
{
    cd_chain_addr parsed;
    cd_addr20 addr;
    bool is_good = cd_chain_addr_parse(&parsed, rest, NULL) == CD_OK && strcmp(parsed.prefix, p->network->prefix) == 0;
    addr = parsed.addr;
    if (!is_good) {
        cd_bytes with = cd_bytes_str(cd_arena_fmt(&p->a, "P-%.*s", (int)cd_min_u64(rest.n, 128), (const char *)rest.p));
        is_good = cd_chain_addr_parse(&parsed, with, NULL) == CD_OK && strcmp(parsed.prefix, p->network->prefix) == 0;
        addr = parsed.addr;
    }
    if (!is_good) {
        cd__pp_missing(p, "No address", cd_foreign_of(rest),
                       cd_arena_fmt(&p->a, "of this network is written so: they look like P-%s1…", p->network->prefix));
        return;
    }
    p->title = cd_bytes_str("Address");
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, NULL, NULL);
    cd_html_put(&p->h, "<h1>Address</h1>");
    cd__pp_addr(p, p->chain, &addr, CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE);
    cd_html_put(&p->h, "<p class=\"mut\">The same key on every chain:");
    for (cd_primary_chain c = 0; c < CD_PRIMARY_CHAINS; c++) {
        cd_html_put(&p->h, " ");
        cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_addr_text(p, c, &addr), .flags = CD_ID_COPY});
    }
    cd_html_put(&p->h, "</p></div></div>");
    waiting(p, CD_PRIMARY_P, p->p.shared, &addr);
    waiting(p, CD_PRIMARY_X, p->x.shared, &addr);
    if (p->p.state.kv != NULL) {
        balance(p, CD_PRIMARY_P, &addr);
    }
    if (p->x.kv != NULL) {
        balance(p, CD_PRIMARY_X, &addr);
    }
    cd_primary_chain first = p->chain == CD_PRIMARY_X ? CD_PRIMARY_X : CD_PRIMARY_P;
    if (first == CD_PRIMARY_P && p->p.state.kv != NULL) {
        history(p, &addr);
    }
    utxos(p, first, &addr);
    cd_primary_chain other = first == CD_PRIMARY_P ? CD_PRIMARY_X : CD_PRIMARY_P;
    bool has_other = other == CD_PRIMARY_P ? p->p.state.kv != NULL : p->x.kv != NULL;
    if (has_other) {
        cd_html_put(&p->h, "<p><a href=\"{}\">UTXOs on the {}-Chain</a></p>",
                    cd__pp_href(p, other, "address", cd__pp_addr_text(p, other, &addr)), cd__pp_letters[other]);
    }
}
