/* Assets of the X-Chain. */
#include "explorer/primary/primary_priv.h"

static void row(cd__pp *p, const cd_hash32 *id)
{
    const cd_ui_col shown = {.name = "ID", .flags = CD_COL_P2};
    cd__pp_asset a;
    cd_xvm_tx t;
    a = (cd__pp_asset){.decimals = 255};
    if (cd_xvm_get_tx(p->x.kv, &t, &p->a, id) == CD_OK && t.tx.body.is->id == CD_X_CREATE_ASSET) {
        const cd_x_create_asset *c = t.tx.body.v;
        a = (cd__pp_asset){.symbol = c->symbol, .name = c->name, .decimals = c->denomination};
    }
    cd_bytes text = cd__pp_id_text(p, id);
    cd_html_put(&p->h, "<tr><td><a href=\"{}\">{}</a></td><td>{}</td><td class=\"num\">{}</td>",
                cd__pp_href(p, CD_PRIMARY_X, "asset", text), cd_foreign_of(a.name), cd_foreign_of(a.symbol),
                a.decimals);
    cd_ui_cell(&p->h, &shown);
    cd_ui_ident(&p->h, &(cd_ui_id){.text = text, .flags = CD_ID_COPY});
    cd_html_put(&p->h, "</td></tr>");
}

void cd__pp_assets(cd__pp *p)
{
    static const cd_ui_col cols[] = {{.name = "Name"},
                                     {.name = "Symbol"},
                                     {.name = "Decimals", .flags = CD_COL_NUM},
                                     {.name = "ID", .flags = CD_COL_P2}};
    cd_hash32 after;
    cd_hash32 *ids;
    usize cnt;
    bool more;
    cd_bytes from = cd__pp_query(p, "after", 64);
    bool goes_on = from.n != 0 && cd_id_parse(&after, from, NULL) == CD_OK;
    cd_err e = cd_xvm_assets(p->x.kv, &ids, &cnt, &more, &p->a, goes_on ? &after : NULL, CD__PP_PAGE);
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    p->title = cd_bytes_str("Assets");
    p->tab = p->m->tabs[CD_PRIMARY_X][2].href;
    cd_html_put(&p->h, "<h1>Assets</h1><section class=\"panel\" aria-label=\"Assets\">");
    if (cnt == 0) {
        cd_ui_empty(&p->h, "No more assets", "A transaction that creates one puts it here.", (cd_markup){0});
    } else {
        cd_ui_table_begin(&p->h, "Assets", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < cnt; i++) {
            row(p, &ids[i]);
        }
        cd_ui_table_end(&p->h);
    }
    cd_bytes next = {0};
    if (more) {
        cd_bytes last = cd__pp_id_text(p, &ids[cnt - 1]);
        next = cd_bytes_str(cd_arena_fmt(&p->a, "%s?after=%.*s", p->tab, (int)last.n, (const char *)last.p));
    }
    cd_html_put(&p->h, "<footer><span>in the order of their IDs</span>");
    cd_ui_pager(&p->h, goes_on ? cd_bytes_str(p->tab) : (cd_bytes){0}, next);
    cd_html_put(&p->h, "</footer></section>");
}

/* --- one asset --- */

static const char *fx_name(u32 idx)
{
    return idx == 0 ? "Fungible" : idx == 1 ? "NFT" : "Property";
}

/* What it began with: amounts and rights. */
static void states(cd__pp *p, const cd_x_create_asset *c, const cd_hash32 *id)
{
    enum { SHOWN = 50 };
    static const cd_ui_col cols[] = {{.name = "Kind"}, {.name = "Owner"}, {.name = "Amount", .flags = CD_COL_NUM}};
    u32 shown = 0;
    cd_html_put(&p->h, "<section class=\"panel\"><header><h2>What it began with</h2></header>");
    cd_ui_table_begin(&p->h, "What it began with", cols, CD_COUNT(cols), NULL, NULL);
    for (u32 i = 0; i < c->states.cnt; i++) {
        const cd_x_initial_state *s = &((const cd_x_initial_state *)c->states.v)[i];
        for (u32 k = 0; k < s->outs.cnt && shown < SHOWN; k++, shown++) {
            const cd_linear_any *out = &((const cd_linear_any *)s->outs.v)[k];
            const cd_owners *o = cd_utxo_owners(out);
            u64 amount;
            cd_html_put(&p->h, "<tr><td>{}</td><td>", fx_name(s->fx_index));
            if (o != NULL) {
                cd__pp_owners(p, CD_PRIMARY_X, o);
            }
            cd_html_put(&p->h, "</td><td class=\"num\">");
            if (cd_utxo_amount(&amount, out)) {
                cd__pp_amount(p, amount, id);
            } else {
                cd_html_put(&p->h, "right to mint");
            }
            cd_html_put(&p->h, "</td></tr>");
        }
    }
    cd_ui_table_end(&p->h);
    cd_html_put(&p->h, "</section>");
}

/* By its ID, or by its alias of the genesis. */
static cd_err find(cd__pp *p, cd_hash32 *id, cd_xvm_tx *t, cd_bytes rest)
{
    if (cd_id_parse(id, rest, NULL) != CD_OK) {
        CD_TRY(cd_xvm_get_alias(p->x.kv, id, rest));
    }
    CD_TRY(cd_xvm_get_tx(p->x.kv, t, &p->a, id));
    return t->tx.body.is->id == CD_X_CREATE_ASSET ? CD_OK : CD_ENOENT;
}

void cd__pp_asset_page(cd__pp *p, cd_bytes rest)
{
    cd_hash32 id;
    cd_xvm_tx t;
    cd_buf alias = {0};
    cd_err e = find(p, &id, &t, rest);
    if (e == CD_ENOENT) {
        cd__pp_missing(p, "No asset", cd_foreign_of(rest), "was created on the X-Chain.");
        return;
    }
    if (e != CD_OK) {
        cd__pp_broken(p, e);
        return;
    }
    const cd_x_create_asset *c = t.tx.body.v;
    p->title = cd_bytes_str("Asset");
    p->tab = p->m->tabs[CD_PRIMARY_X][2].href;
    cd_html_put(&p->h, "<div class=\"head\"><div class=\"grow\">");
    cd__pp_crumbs(p, "assets", "Assets");
    cd_html_put(&p->h, "<h1>{}</h1>", cd_foreign_of(c->name));
    cd_ui_ident(&p->h, &(cd_ui_id){.text = cd__pp_id_text(p, &id), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE});
    cd_html_put(&p->h,
                "</div></div><section class=\"panel\"><header><h2>Details</h2></header><div class=\"body\"><dl "
                "class=\"kv\"><dt>Symbol</dt><dd>{}</dd><dt>Decimals</dt><dd>{}</dd>",
                cd_foreign_of(c->symbol), (u32)c->denomination);
    if (cd_xvm_get_name(p->x.kv, &alias, &id) == CD_OK) {
        cd_html_put(&p->h, "<dt>Alias</dt><dd>{}</dd>", cd_foreign_of(cd_buf_bytes(&alias)));
    }
    cd_buf_fini(&alias);
    cd_html_put(&p->h, "<dt>Created in</dt><dd>");
    cd__pp_tx_id(p, CD_PRIMARY_X, &id, CD_ID_COPY);
    cd_html_put(&p->h, "</dd></dl></div></section>");
    states(p, c, &id);
}
