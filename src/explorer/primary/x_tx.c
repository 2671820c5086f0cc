/* Transactions of the X-Chain, and imports and exports of the C-Chain, in words. */
#include "explorer/primary/primary_priv.h"

const char *cd__pp_x_kind(u32 type)
{
    switch (type) {
    case CD_X_BASE_TX:
        return "Transfer";
    case CD_X_CREATE_ASSET:
        return "Create an asset";
    case CD_X_OPERATION:
        return "Operation";
    case CD_X_IMPORT:
        return "Import";
    case CD_X_EXPORT:
        return "Export";
    default:
        return "Transaction";
    }
}

static bool is_same(const cd_owners *a, const cd_owners *b)
{
    return a != NULL && b != NULL && a->addrs.cnt == b->addrs.cnt && a->threshold == b->threshold &&
           memcmp(a->addrs.v, b->addrs.v, a->addrs.cnt * sizeof(cd_addr20)) == 0;
}

static const char *name_of(const cd__pp *p, const cd_hash32 *chain)
{
    cd_primary_chain is = cd__pp_chain_of(p, chain);
    return is < CD_PRIMARY_CHAINS ? cd__pp_letters[is] : "another chain";
}

/* The first output that goes to somebody else is what was sent; the rest is change. */
static void say_transfer(cd__pp *p, const cd__pp_any *t)
{
    cd__pp_flow f;
    cd__pp_flow_of(p, &f, t);
    const cd_owners *payer = f.in_cnt == 0 ? NULL : cd__pp_owners_of(p, &f.ins[0]);
    for (usize i = 0; i < f.out_cnt; i++) {
        const cd_owners *to = f.outs[i].out == NULL ? NULL : cd_utxo_owners(f.outs[i].out);
        if (to != NULL && !is_same(to, payer)) {
            cd_html_put(&p->h, "Sent <b>");
            cd__pp_amount(p, f.outs[i].amount, &f.outs[i].asset);
            cd_html_put(&p->h, "</b> to ");
            cd__pp_owners(p, CD_PRIMARY_X, to);
            return;
        }
    }
    if (f.out_cnt == 0) {
        cd_html_put(&p->h, "Burned what went in");
        return;
    }
    cd_html_put(&p->h, "Moved <b>");
    cd__pp_amount(p, f.outs[0].amount, &f.outs[0].asset);
    cd_html_put(&p->h, "</b> to its own owner");
}

static void say_asset(cd__pp *p, const cd__pp_any *t)
{
    const cd_x_create_asset *c = t->body;
    cd_html_put(&p->h, "Created the asset <a href=\"{}\">{}</a> ({}) with {} {}",
                cd__pp_href(p, CD_PRIMARY_X, "asset", cd__pp_id_text(p, &t->id)), cd_foreign_of(c->name),
                cd_foreign_of(c->symbol), (u32)c->denomination, c->denomination == 1 ? "decimal" : "decimals");
}

static void say_op(cd__pp *p, const cd_x_op *op)
{
    const cd__pp_asset *a = cd__pp_asset_of(p, &op->asset_id);
    switch (op->op.is->id) {
    case CD_X_SECP_MINT: {
        const cd_x_secp_mint *m = op->op.v;
        cd_html_put(&p->h, "Minted <b>");
        cd__pp_amount(p, m->output.amount, &op->asset_id);
        cd_html_put(&p->h, "</b> for ");
        cd__pp_owners(p, CD_PRIMARY_X, &m->output.owners);
        break;
    }
    case CD_X_NFT_MINT: {
        const cd_x_nft_mint *m = op->op.v;
        cd_html_put(&p->h, "Minted <b>{} {}</b> of {}, group {}", m->outputs.cnt, m->outputs.cnt == 1 ? "NFT" : "NFTs",
                    cd_foreign_of(a->symbol), m->group_id);
        break;
    }
    case CD_X_NFT_TRANSFER: {
        const cd_x_nft_transfer *m = op->op.v;
        cd_html_put(&p->h, "Gave an NFT of {}, group {}, to ", cd_foreign_of(a->symbol), m->output.group_id);
        cd__pp_owners(p, CD_PRIMARY_X, &m->output.owners);
        break;
    }
    case CD_X_PROPERTY_MINT:
        cd_html_put(&p->h, "Minted a property of {} for ", cd_foreign_of(a->symbol));
        cd__pp_owners(p, CD_PRIMARY_X, &((const cd_x_property_mint *)op->op.v)->owned_output);
        break;
    case CD_X_PROPERTY_BURN:
        cd_html_put(&p->h, "Burned a property of {}", cd_foreign_of(a->symbol));
        break;
    default:
        cd_html_put(&p->h, "An operation");
        break;
    }
}

static void say_operation(cd__pp *p, const cd_x_operation *t)
{
    const cd_x_op *ops = t->ops.v;
    say_op(p, &ops[0]);
    if (t->ops.cnt > 1) {
        cd_html_put(&p->h, ", and {} more", t->ops.cnt - 1);
    }
}

/* What crossed, of the asset of the first that did. */
static void say_crossed(cd__pp *p, const cd__pp_any *t, const char *verb, const char *preposition,
                        const cd_hash32 *peer)
{
    cd__pp_flow f;
    cd__pp_flow_of(p, &f, t);
    bool is_import = preposition[0] == 'f';
    const cd__pp_end *v = is_import ? f.ins : f.outs;
    usize cnt = is_import ? f.in_cnt : f.out_cnt;
    const cd__pp_end *first = NULL;
    u64 sum = 0;
    for (usize i = 0; i < cnt; i++) {
        bool crosses = (is_import ? v[i].from : v[i].to) != t->chain;
        first = first == NULL && crosses ? &v[i] : first;
        sum += crosses && cd_hash32_eq(&first->asset, &v[i].asset) ? v[i].amount : 0;
    }
    cd_html_put(&p->h, "{} <b>", verb);
    if (first != NULL) {
        cd__pp_amount(p, sum, &first->asset);
    }
    cd_html_put(&p->h, "</b> {} <b>{}</b>", preposition, name_of(p, peer));
}

void cd__pp_x_say(cd__pp *p, const cd__pp_any *t)
{
    if (t->chain == CD_PRIMARY_C) {
        if (t->type == CD_C_IMPORT) {
            say_crossed(p, t, "Imported", "from", &((const cd_c_import *)t->body)->source_chain);
        } else {
            say_crossed(p, t, "Exported", "to", &((const cd_c_export *)t->body)->destination_chain);
        }
        cd_html_put(&p->h, ".");
        return;
    }
    switch (t->type) {
    case CD_X_BASE_TX:
        say_transfer(p, t);
        break;
    case CD_X_CREATE_ASSET:
        say_asset(p, t);
        break;
    case CD_X_OPERATION:
        say_operation(p, t->body);
        break;
    case CD_X_IMPORT:
        say_crossed(p, t, "Imported", "from", &((const cd_x_import *)t->body)->source_chain);
        break;
    case CD_X_EXPORT:
        say_crossed(p, t, "Exported", "to", &((const cd_x_export *)t->body)->destination_chain);
        break;
    default:
        break;
    }
    cd_html_put(&p->h, ".");
}
