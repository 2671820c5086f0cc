#include "explorer/primary/primary_priv.h"

/* --- collecting --- */

static const cd_linear_list none;

static cd__pp_end in_of(const cd_p_input *in, cd_primary_chain from)
{
    const cd_transfer_input *t = in->in.v;
    if (in->in.is->id == CD_P_LOCK_IN) {
        t = ((const cd_locked *)in->in.v)->inner.v;
    }
    return (cd__pp_end){.tx_id = in->tx_id,
                        .idx = in->output_idx,
                        .asset = in->asset_id,
                        .amount = t->amount,
                        .has_amount = true,
                        .from = from};
}

static void add_ins(cd__pp_flow *f, const cd_linear_list *l, cd_primary_chain from)
{
    for (u32 i = 0; i < l->cnt; i++) {
        f->ins[f->in_cnt++] = in_of(&((const cd_p_input *)l->v)[i], from);
    }
}

static void add_outs(cd__pp_flow *f, const cd__pp_any *t, const cd_linear_list *l, cd_primary_chain to, bool is_stake)
{
    for (u32 i = 0; i < l->cnt; i++) {
        const cd_p_output *o = &((const cd_p_output *)l->v)[i];
        cd__pp_end *e = &f->outs[f->out_cnt];
        *e = (cd__pp_end){.tx_id = t->id,
                          .idx = (u32)f->out_cnt,
                          .asset = o->asset_id,
                          .to = to,
                          .out = &o->out,
                          .is_stake = is_stake};
        e->has_amount = cd_utxo_amount(&e->amount, &o->out);
        f->out_cnt++;
    }
}

/* Lists that a transaction of P or X has besides those of its base. */
typedef struct more {
    const cd_linear_list *imported;
    const cd_linear_list *exported;
    const cd_linear_list *stake;
    cd_primary_chain peer;
} more;

static void more_of(const cd__pp *p, more *m, const cd__pp_any *t)
{
    *m = (more){.imported = &none, .exported = &none, .stake = &none, .peer = CD_PRIMARY_CHAINS};
    cd__pp_way way = cd__pp_peer_of(p, &m->peer, t);
    if (way == CD__PP_IMPORTS) {
        m->imported = &((const cd_p_import *)t->body)->imported;
    } else if (way == CD__PP_EXPORTS) {
        m->exported = &((const cd_p_export *)t->body)->exported;
    } else if (t->chain == CD_PRIMARY_P) {
        switch (t->type) {
        case CD_P_ADD_VALIDATOR:
            m->stake = &((const cd_p_add_validator *)t->body)->stake;
            break;
        case CD_P_ADD_DELEGATOR:
            m->stake = &((const cd_p_add_delegator *)t->body)->stake;
            break;
        case CD_P_ADD_PERMISSIONLESS_VALIDATOR:
            m->stake = &((const cd_p_add_permissionless_validator *)t->body)->stake;
            break;
        case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
            m->stake = &((const cd_p_add_permissionless_delegator *)t->body)->stake;
            break;
        default:
            break;
        }
    }
}

/* Outputs of the X-Chain that its operations and new assets make. */
static void add_made(cd__pp *p, cd__pp_flow *f, const cd__pp_any *t)
{
    cd_x_tx tx = {.body = {.is = cd_x_case((cd_x_type)t->type), .v = t->body}};
    cd_xvm_tx whole = {.tx = tx, .id = t->id};
    cd_utxo *made;
    usize cnt = cd_xvm_tx_makes(&made, &p->a, &whole);
    cd__pp_end *outs = cd_arena_zalloc(&p->a, (cnt + 1) * sizeof *outs);
    f->outs = outs;
    f->out_cnt = 0;
    for (usize i = 0; i < cnt; i++) {
        cd__pp_end *e = &outs[f->out_cnt++];
        *e = (cd__pp_end){.tx_id = t->id,
                          .idx = made[i].output_idx,
                          .asset = made[i].asset_id,
                          .to = CD_PRIMARY_X,
                          .out = &made[i].out};
        e->has_amount = cd_utxo_amount(&e->amount, &made[i].out);
    }
}

static void atomic_flow(cd__pp *p, cd__pp_flow *f, const cd__pp_any *t)
{
    if (t->type == CD_C_IMPORT) {
        const cd_c_import *i = t->body;
        const cd_c_credit *to = i->outs.v;
        f->ins = cd_arena_zalloc(&p->a, (i->imported.cnt + 1) * sizeof *f->ins);
        f->outs = cd_arena_zalloc(&p->a, (i->outs.cnt + 1) * sizeof *f->outs);
        for (u32 k = 0; k < i->imported.cnt; k++) {
            const cd_c_input *in = &((const cd_c_input *)i->imported.v)[k];
            f->ins[f->in_cnt++] = (cd__pp_end){.tx_id = in->tx_id,
                                               .idx = in->output_idx,
                                               .asset = in->asset_id,
                                               .amount = ((const cd_transfer_input *)in->in.v)->amount,
                                               .has_amount = true,
                                               .from = cd__pp_chain_of(p, &i->source_chain)};
        }
        for (u32 k = 0; k < i->outs.cnt; k++) {
            f->outs[f->out_cnt++] = (cd__pp_end){.tx_id = t->id,
                                                 .asset = to[k].asset_id,
                                                 .amount = to[k].amount,
                                                 .has_amount = true,
                                                 .to = CD_PRIMARY_C,
                                                 .account = &to[k].addr};
        }
        return;
    }
    const cd_c_export *x = t->body;
    const cd_c_debit *from = x->ins.v;
    f->ins = cd_arena_zalloc(&p->a, (x->ins.cnt + 1) * sizeof *f->ins);
    f->outs = cd_arena_zalloc(&p->a, (x->exported.cnt + 1) * sizeof *f->outs);
    for (u32 k = 0; k < x->ins.cnt; k++) {
        f->ins[f->in_cnt++] = (cd__pp_end){.asset = from[k].asset_id,
                                           .amount = from[k].amount,
                                           .has_amount = true,
                                           .from = CD_PRIMARY_C,
                                           .account = &from[k].addr};
    }
    for (u32 k = 0; k < x->exported.cnt; k++) {
        const cd_c_output *o = &((const cd_c_output *)x->exported.v)[k];
        f->outs[f->out_cnt++] = (cd__pp_end){.tx_id = t->id,
                                             .idx = k,
                                             .asset = o->asset_id,
                                             .out = &o->out,
                                             .amount = ((const cd_transfer_output *)o->out.v)->amount,
                                             .has_amount = true,
                                             .to = cd__pp_chain_of(p, &x->destination_chain)};
    }
}

void cd__pp_flow_of(cd__pp *p, cd__pp_flow *f, const cd__pp_any *t)
{
    more m;
    *f = (cd__pp_flow){.in_cnt = 0};
    if (t->chain == CD_PRIMARY_C) {
        atomic_flow(p, f, t);
        return;
    }
    if (t->base == NULL) {
        return;
    }
    more_of(p, &m, t);
    f->ins = cd_arena_zalloc(&p->a, ((usize)t->base->ins.cnt + m.imported->cnt + 1) * sizeof *f->ins);
    f->outs = cd_arena_zalloc(&p->a, ((usize)t->base->outs.cnt + m.exported->cnt + m.stake->cnt + 1) * sizeof *f->outs);
    add_ins(f, &t->base->ins, t->chain);
    add_ins(f, m.imported, m.peer);
    add_outs(f, t, &t->base->outs, t->chain, false);
    add_outs(f, t, m.stake, t->chain, true);
    add_outs(f, t, m.exported, m.peer, false);
    if (t->chain == CD_PRIMARY_X && (t->type == CD_X_CREATE_ASSET || t->type == CD_X_OPERATION)) {
        add_made(p, f, t);
    }
}

bool cd__pp_flow_burned(u64 *out, const cd__pp *p, const cd__pp_flow *f, const cd__pp_any *t)
{
    const cd_hash32 *native = &p->m->ids->asset_id;
    u64 in = 0;
    u64 gone = 0;
    for (usize i = 0; i < f->in_cnt; i++) {
        if (cd_hash32_eq(&f->ins[i].asset, native) && !cd_add_u64(&in, in, f->ins[i].amount)) {
            return false;
        }
    }
    for (usize i = 0; i < f->out_cnt; i++) {
        if (cd_hash32_eq(&f->outs[i].asset, native) && !cd_add_u64(&gone, gone, f->outs[i].amount)) {
            return false;
        }
    }
    if (t->chain == CD_PRIMARY_P && t->type == CD_P_REGISTER_L1_VALIDATOR) {
        gone += ((const cd_p_register_l1_validator *)t->body)->balance;
    } else if (t->chain == CD_PRIMARY_P && t->type == CD_P_INCREASE_L1_BALANCE) {
        gone += ((const cd_p_increase_l1_balance *)t->body)->balance;
    } else if (t->chain == CD_PRIMARY_P && t->type == CD_P_CONVERT_NET_TO_L1) {
        const cd_linear_list *v = &((const cd_p_convert_net_to_l1 *)t->body)->validators;
        for (u32 i = 0; i < v->cnt; i++) {
            gone += ((const cd_p_l1_validator *)v->v)[i].balance;
        }
    }
    *out = in - gone;
    return f->in_cnt != 0 && gone <= in;
}

/* --- who owned what is spent --- */

const cd_owners *cd__pp_owners_of(cd__pp *p, const cd__pp_end *in)
{
    cd__pp_any t;
    cd__pp_flow f;
    if (in->account != NULL || cd__pp_tx_any(p, &t, in->from, &in->tx_id, NULL, NULL) != CD_OK) {
        return NULL;
    }
    cd__pp_flow_of(p, &f, &t);
    for (usize i = 0; i < f.out_cnt; i++) {
        if (f.outs[i].idx == in->idx && f.outs[i].out != NULL) {
            return cd_utxo_owners(f.outs[i].out);
        }
    }
    return NULL;
}

/* --- writing --- */

static void account(cd__pp *p, const cd_addr20 *addr)
{
    cd_buf hex = {0};
    cd_buf_str(&hex, "0x");
    for (usize i = 0; i < sizeof addr->b; i++) {
        cd_buf_fmt(&hex, "%02x", addr->b[i]);
    }
    cd_bytes text = cd_arena_dup(&p->a, cd_buf_bytes(&hex));
    cd_buf_fini(&hex);
    cd_ui_ident(&p->h, &(cd_ui_id){.text = text,
                                   .href = cd_bytes_str(cd_arena_fmt(&p->a, "%s/address/%.*s", p->m->cfg.root,
                                                                     (int)text.n, (const char *)text.p)),
                                   .flags = CD_ID_GLINT});
}

static void input(cd__pp *p, const cd__pp_end *e, cd_primary_chain chain)
{
    cd_html_put(&p->h, "<tr><td>");
    if (e->account != NULL) {
        account(p, e->account);
    } else {
        const cd_owners *o = cd__pp_owners_of(p, e);
        if (o != NULL) {
            cd__pp_owners(p, e->from, o);
        } else {
            cd_html_put(&p->h, "<span class=\"mut\">from the genesis, or a reward</span>");
        }
        cd_html_put(&p->h, "<span class=\"sub\">{}", e->from == chain ? "output " : "imported, output ");
        cd_html_put(&p->h, "{} of ", e->idx);
        if (e->from < CD_PRIMARY_CHAINS) {
            cd__pp_tx_id(p, e->from, &e->tx_id, 0);
        }
        cd_html_put(&p->h, "</span>");
    }
    cd_html_put(&p->h, "</td><td class=\"num\">");
    cd__pp_amount(p, e->amount, &e->asset);
    cd_html_put(&p->h, "</td></tr>");
}

/* What became of an output: its marks. */
static void marks(cd__pp *p, const cd__pp_end *e, cd_primary_chain chain)
{
    cd_hash32 id;
    cd_utxo u;
    if (e->to != chain) {
        cd_html_put(&p->h, "exported to {}", e->to < CD_PRIMARY_CHAINS ? cd__pp_letters[e->to] : "another chain");
        return;
    }
    if (e->is_stake) {
        cd_html_put(&p->h, "staked");
        return;
    }
    if (e->out->is->id == CD_P_LOCK_OUT && chain == CD_PRIMARY_P) {
        cd_html_put(&p->h, "locked for staking until {}, ",
                    cd_fmt_utc(&p->a, ((const cd_locked *)e->out->v)->locktime));
    }
    cd_utxo_id(&id, &e->tx_id, e->idx);
    cd_err err = chain == CD_PRIMARY_P ? cd_utxo_get(&u, p->p.state.kv, &p->a, &cd_p_utxo_table, &id)
                                       : cd_utxo_get(&u, p->x.kv, &p->a, &cd_x_utxo_table, &id);
    cd_html_put(&p->h, "{}", err == CD_OK ? "unspent" : "spent");
}

/* What an output without an amount is. */
static const char *kind_of(const cd_linear_any *out)
{
    switch (out->is->id) {
    case CD_X_SECP_MINT_OUTPUT:
        return "right to mint";
    case CD_X_NFT_MINT_OUTPUT:
        return "right to mint NFTs";
    case CD_X_NFT_OUTPUT:
        return "NFT";
    case CD_X_PROPERTY_MINT_OUTPUT:
        return "right to mint properties";
    case CD_X_PROPERTY_OUTPUT:
        return "property";
    default:
        return "output";
    }
}

static void output(cd__pp *p, const cd__pp_end *e, cd_primary_chain chain)
{
    cd_html_put(&p->h, "<tr><td>");
    if (e->account != NULL) {
        account(p, e->account);
    } else {
        const cd_owners *o = cd_utxo_owners(e->out);
        if (o != NULL) {
            cd__pp_owners(p, e->to < CD_PRIMARY_CHAINS ? e->to : chain, o);
        }
        cd_html_put(&p->h, "<span class=\"sub\">");
        marks(p, e, chain);
        cd_html_put(&p->h, "</span>");
    }
    cd_html_put(&p->h, "</td><td class=\"num\">");
    if (e->has_amount) {
        cd__pp_amount(p, e->amount, &e->asset);
    } else {
        cd_html_put(&p->h, "{} {}", kind_of(e->out), cd_foreign_of(cd__pp_asset_of(p, &e->asset)->symbol));
    }
    cd_html_put(&p->h, "</td></tr>");
}

static void left_out(cd__pp *p, usize cnt)
{
    if (cnt > CD__PP_FLOW_MAX) {
        cd_html_put(&p->h, "<footer><span>The first {} of {}</span></footer>", (u64)CD__PP_FLOW_MAX,
                    cd_fmt_count(&p->a, cnt));
    }
}

void cd__pp_flow_write(cd__pp *p, const cd__pp_flow *f, const cd__pp_any *t)
{
    static const cd_ui_col in_cols[] = {{.name = "From"}, {.name = "Amount", .flags = CD_COL_NUM}};
    static const cd_ui_col out_cols[] = {{.name = "To"}, {.name = "Amount", .flags = CD_COL_NUM}};
    if (f->in_cnt + f->out_cnt == 0) {
        return;
    }
    cd_html_put(&p->h, "<div class=\"cols\"><section class=\"panel\"><header><h2>Inputs</h2></header>");
    cd_ui_table_begin(&p->h, "Inputs", in_cols, CD_COUNT(in_cols), NULL, NULL);
    for (usize i = 0; i < f->in_cnt && i < CD__PP_FLOW_MAX; i++) {
        input(p, &f->ins[i], t->chain);
    }
    cd_ui_table_end(&p->h);
    left_out(p, f->in_cnt);
    cd_html_put(&p->h, "</section><section class=\"panel\"><header><h2>Outputs</h2></header>");
    cd_ui_table_begin(&p->h, "Outputs", out_cols, CD_COUNT(out_cols), NULL, NULL);
    for (usize i = 0; i < f->out_cnt && i < CD__PP_FLOW_MAX; i++) {
        output(p, &f->outs[i], t->chain);
    }
    cd_ui_table_end(&p->h);
    left_out(p, f->out_cnt);
    cd_html_put(&p->h, "</section></div>");
}
