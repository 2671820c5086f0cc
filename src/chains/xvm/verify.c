#include "chains/xvm/verify.h"

#include "chains/utxo/store.h"
#include "chains/xvm/state.h"

#include <stdlib.h>

/* A transaction on a state. [spec:pchain-xchain#8] */

typedef enum extension { SECP, NFT, PROPERTY } extension;

/* The extension of an output, operation or credential. */
static extension extension_of(const cd_linear_any *any)
{
    u32 id = any->is->id;
    return id >= CD_X_PROPERTY_MINT_OUTPUT ? PROPERTY : id >= CD_X_NFT_MINT_OUTPUT ? NFT : SECP;
}

static const cd_linear_any *cred_at(const cd_xvm_tx *t, usize i)
{
    return &((const cd_linear_any *)t->tx.creds.v)[i];
}

static cd_err not_found(cd_err e, cd_errinfo *why)
{
    return e == CD_OK ? CD_OK : cd_fail(why, e, "%s", cd_err_str(e));
}

/* The asset must have been created with the extension. */
static cd_err allows(const cd_xvm_view *v, const cd_hash32 *asset, extension fx, cd_errinfo *why)
{
    u8 fxs = v->rules->fee_asset_fxs;
    if (!cd_hash32_eq(asset, &v->rules->fee_asset)) {
        cd_err e = cd_xvm_get_asset(v->kv, &fxs, asset);
        bool is_tx = false;
        if (e == CD_ENOENT) {
            CD_TRY(not_found(cd_xvm_has_tx(v->kv, &is_tx, asset), why));
        }
        if (is_tx) {
            return cd_fail(why, CD_EINVAL, "not an asset");
        }
        CD_TRY(not_found(e, why));
    }
    return (fxs >> fx & 1) != 0 ? CD_OK : cd_fail(why, CD_EINVAL, "incompatible feature extension");
}

static cd_fx_at at_of(const cd_xvm_view *v, const cd_xvm_tx *t)
{
    return (cd_fx_at){.hash = v->is_trusted ? NULL : &t->hash, .now = v->now};
}

/* --- inputs --- */

static cd_err spend(const cd_xvm_view *v, const cd_xvm_tx *t, const cd_x_input *in, const cd_linear_any *cred,
                    const cd_utxo *u, cd_errinfo *why)
{
    cd_fx_at at = at_of(v, t);
    extension fx = extension_of(cred);
    if (!cd_hash32_eq(&u->asset_id, &in->asset_id)) {
        return cd_fail(why, CD_EINVAL, "asset IDs in the input don't match the utxo");
    }
    CD_TRY(allows(v, &in->asset_id, fx, why));
    if (fx != SECP) {
        return cd_fail(why, CD_EINVAL, "cant transfer with this fx");
    }
    if (u->out.is->id != CD_X_SECP_OUTPUT) {
        return cd_fail(why, CD_EINVAL, "wrong utxo type");
    }
    return cd_fx_spend(v->fx, &at, in->in.v, cred->v, u->out.v, why);
}

static cd_err take(const cd_xvm_view *v, cd_xvm_effect *e, const cd_hash32 *tx_id, u32 idx, cd_errinfo *why)
{
    cd_hash32 id;
    cd_utxo_id(&id, tx_id, idx);
    CD_TRY(not_found(cd_utxo_get(&e->spent[e->spent_cnt], v->kv, v->arena, &cd_x_utxo_table, &id), why));
    e->spent_cnt++;
    return CD_OK;
}

/* --- operations --- */

static bool owners_eq(const cd_owners *a, const cd_owners *b)
{
    return a->locktime == b->locktime && a->threshold == b->threshold && a->addrs.cnt == b->addrs.cnt &&
           (a->addrs.cnt == 0 || memcmp(a->addrs.v, b->addrs.v, a->addrs.cnt * sizeof(cd_addr20)) == 0);
}

static cd_err wrong_type(cd_errinfo *why)
{
    return cd_fail(why, CD_EINVAL, "wrong utxo type");
}

static cd_err secp_mint(const cd_xvm_view *v, const cd_fx_at *at, const cd_x_secp_mint *op, const cd_credential *cred,
                        const cd_linear_any *out, cd_errinfo *why)
{
    if (out->is->id != CD_X_SECP_MINT_OUTPUT) {
        return wrong_type(why);
    }
    if (!owners_eq(out->v, &op->mint_output)) {
        return cd_fail(why, CD_EINVAL, "wrong mint output created from the operation");
    }
    return cd_fx_check(v->fx, at, &op->input.sig_indices, cred, out->v, why);
}

static cd_err nft_mint(const cd_xvm_view *v, const cd_fx_at *at, const cd_x_nft_mint *op, const cd_credential *cred,
                       const cd_linear_any *out, cd_errinfo *why)
{
    const cd_x_nft_mint_output *o = out->v;
    if (out->is->id != CD_X_NFT_MINT_OUTPUT) {
        return wrong_type(why);
    }
    if (o->group_id != op->group_id) {
        return cd_fail(why, CD_EINVAL, "wrong unique ID provided");
    }
    return cd_fx_check(v->fx, at, &op->input.sig_indices, cred, &o->owners, why);
}

static cd_err nft_transfer(const cd_xvm_view *v, const cd_fx_at *at, const cd_x_nft_transfer *op,
                           const cd_credential *cred, const cd_linear_any *out, cd_errinfo *why)
{
    const cd_x_nft_output *o = out->v;
    if (out->is->id != CD_X_NFT_OUTPUT) {
        return wrong_type(why);
    }
    if (o->group_id != op->output.group_id) {
        return cd_fail(why, CD_EINVAL, "wrong unique ID provided");
    }
    if (!cd_bytes_eq(o->payload, op->output.payload)) {
        return cd_fail(why, CD_EINVAL, "wrong bytes provided");
    }
    return cd_fx_check(v->fx, at, &op->input.sig_indices, cred, &o->owners, why);
}

static cd_err property_mint(const cd_xvm_view *v, const cd_fx_at *at, const cd_x_property_mint *op,
                            const cd_credential *cred, const cd_linear_any *out, cd_errinfo *why)
{
    if (out->is->id != CD_X_PROPERTY_MINT_OUTPUT) {
        return wrong_type(why);
    }
    if (!owners_eq(out->v, &op->mint_output)) {
        return cd_fail(why, CD_EINVAL, "wrong mint output provided");
    }
    return cd_fx_check(v->fx, at, &op->input.sig_indices, cred, out->v, why);
}

static cd_err property_burn(const cd_xvm_view *v, const cd_fx_at *at, const cd_auth_input *op,
                            const cd_credential *cred, const cd_linear_any *out, cd_errinfo *why)
{
    if (out->is->id != CD_X_PROPERTY_OUTPUT) {
        return wrong_type(why);
    }
    return cd_fx_check(v->fx, at, &op->sig_indices, cred, out->v, why);
}

/* spent are the outputs that the operation takes. */
static cd_err operate(const cd_xvm_view *v, const cd_xvm_tx *t, const cd_x_op *op, const cd_linear_any *cred,
                      const cd_utxo *spent, cd_errinfo *why)
{
    cd_fx_at at = at_of(v, t);
    extension fx = extension_of(&op->op);
    bool is_one = op->utxo_ids.cnt == 1;
    CD_TRY(allows(v, &op->asset_id, fx, why));
    if (fx != SECP && !is_one) {
        return cd_fail(why, CD_EINVAL, "wrong number of UTXOs for the operation");
    }
    if (extension_of(cred) != fx) {
        return cd_fail(why, CD_EINVAL, "wrong credential type");
    }
    if (!is_one) {
        return cd_fail(why, CD_EINVAL, "wrong number of utxos for the operation");
    }
    switch (op->op.is->id) {
    case CD_X_SECP_MINT:
        return secp_mint(v, &at, op->op.v, cred->v, &spent->out, why);
    case CD_X_NFT_MINT:
        return nft_mint(v, &at, op->op.v, cred->v, &spent->out, why);
    case CD_X_NFT_TRANSFER:
        return nft_transfer(v, &at, op->op.v, cred->v, &spent->out, why);
    case CD_X_PROPERTY_MINT:
        return property_mint(v, &at, op->op.v, cred->v, &spent->out, why);
    default:
        return property_burn(v, &at, op->op.v, cred->v, &spent->out, why);
    }
}

static cd_err check_ops(const cd_xvm_view *v, cd_xvm_effect *e, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_operation *tx = t->tx.body.v;
    for (u32 i = 0; i < tx->ops.cnt; i++) {
        const cd_x_op *op = &((const cd_x_op *)tx->ops.v)[i];
        const cd_utxo *first = &e->spent[e->spent_cnt];
        for (u32 k = 0; k < op->utxo_ids.cnt; k++) {
            const cd_x_utxo_id *id = &((const cd_x_utxo_id *)op->utxo_ids.v)[k];
            CD_TRY(take(v, e, &id->tx_id, id->output_idx, why));
            if (!cd_hash32_eq(&first[k].asset_id, &op->asset_id)) {
                return cd_fail(why, CD_EINVAL, "asset IDs in the input don't match the utxo");
            }
        }
        CD_TRY(operate(v, t, op, cred_at(t, (usize)tx->base.ins.cnt + i), first, why));
    }
    return CD_OK;
}

/* --- other chains --- */

static cd_err same_net(const cd_xvm_rules *r, const cd_hash32 *peer, cd_errinfo *why)
{
    cd_hash32 net = r->subnet_id;
    if (cd_hash32_eq(peer, &r->chain_id)) {
        return cd_fail(why, CD_EINVAL, "same chainID");
    }
    if (r->validators != NULL && r->validators->subnet_of(r->validators, &net, peer) != CD_OK) {
        cd_buf id = {0};
        cd_id_put(&id, peer);
        cd_err e = cd_fail(why, CD_EINVAL, "failed to get subnet of \"%s\": not found", cd_buf_cstr(&id));
        cd_buf_fini(&id);
        return e;
    }
    return cd_hash32_eq(&net, &r->subnet_id) ? CD_OK : cd_fail(why, CD_EINVAL, "mismatched subnetIDs");
}

static cd_err check_import(const cd_xvm_view *v, const cd_xvm_effect *e, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_import *tx = t->tx.body.v;
    const cd_vm_shared *shared = v->rules->shared;
    if (v->is_trusted) {
        return CD_OK;
    }
    CD_TRY(same_net(v->rules, &e->from, why));
    if (shared == NULL) {
        return cd_fail(why, CD_ENOENT, "not found");
    }
    for (usize i = 0; i < e->taken_cnt; i++) {
        const cd_x_input *in = &((const cd_x_input *)tx->imported.v)[i];
        cd_bytes bytes = {0};
        cd_utxo u = {0};
        CD_TRY(not_found(shared->get(shared, &bytes, v->arena, &e->from, cd_bytes_of(e->taken[i].b, 32)), why));
        CD_TRY(cd_utxo_parse(&u, &cd_x_utxo_table, v->arena, bytes, why));
        CD_TRY(spend(v, t, in, cred_at(t, tx->base.ins.cnt + i), &u, why));
    }
    return CD_OK;
}

static cd_err check_export(const cd_xvm_view *v, const cd_xvm_effect *e, cd_errinfo *why)
{
    if (!v->is_trusted) {
        CD_TRY(same_net(v->rules, &e->to, why));
    }
    for (usize i = 0; i < e->given_cnt; i++) {
        CD_TRY(allows(v, &e->given[i].asset_id, extension_of(&e->given[i].out), why));
    }
    return CD_OK;
}

/* --- the whole --- */

cd_err cd_xvm_check(const cd_xvm_view *view, cd_xvm_effect *out, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_base *base = cd_x_tx_base(&t->tx);
    cd_hash32 *ids;
    cd_xvm_effect e = {0};
    e.spent = cd_arena_array(view->arena, cd_utxo, cd_xvm_tx_spends(&ids, view->arena, t));
    e.made_cnt = cd_xvm_tx_makes(&e.made, view->arena, t);
    e.imports = cd_xvm_tx_imports(&e.from, &e.taken, &e.taken_cnt, view->arena, t);
    e.exports = cd_xvm_tx_exports(&e.to, &e.given, &e.given_cnt, view->arena, t);
    for (u32 i = 0; i < base->ins.cnt; i++) {
        const cd_x_input *in = &((const cd_x_input *)base->ins.v)[i];
        CD_TRY(take(view, &e, &in->tx_id, in->output_idx, why));
        CD_TRY(spend(view, t, in, cred_at(t, i), &e.spent[i], why));
    }
    for (u32 i = 0; i < base->outs.cnt; i++) {
        const cd_x_output *o = &((const cd_x_output *)base->outs.v)[i];
        CD_TRY(allows(view, &o->asset_id, extension_of(&o->out), why));
    }
    if (t->tx.body.is->id == CD_X_OPERATION) {
        CD_TRY(check_ops(view, &e, t, why));
    }
    if (e.imports) {
        CD_TRY(check_import(view, &e, t, why));
    }
    if (e.exports) {
        CD_TRY(check_export(view, &e, why));
    }
    *out = e;
    return CD_OK;
}

/* --- what it changes --- */

/* An address that a transaction touches with an asset. */
typedef struct touched {
    cd_addr20 addr;
    cd_hash32 asset;
} touched;

static int compare_touched(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(touched));
}

static usize count_owners(const cd_utxo *v, usize cnt)
{
    usize n = 0;
    for (usize i = 0; i < cnt; i++) {
        n += cd_utxo_owners(&v[i].out)->addrs.cnt;
    }
    return n;
}

static usize put_owners(touched *out, const cd_utxo *v, usize cnt)
{
    usize n = 0;
    for (usize i = 0; i < cnt; i++) {
        const cd_linear_list *addrs = &cd_utxo_owners(&v[i].out)->addrs;
        for (u32 k = 0; k < addrs->cnt; k++) {
            out[n++] = (touched){.addr = ((const cd_addr20 *)addrs->v)[k], .asset = v[i].asset_id};
        }
    }
    return n;
}

/* Lists the transaction once for each address and asset. */
static cd_err list(const cd_xvm_view *view, cd_kv_batch *b, const cd_xvm_effect *e, const cd_xvm_tx *t)
{
    usize cnt = count_owners(e->spent, e->spent_cnt) + count_owners(e->made, e->made_cnt);
    touched *v = cd_arena_array(view->arena, touched, cnt);
    usize first = put_owners(v, e->spent, e->spent_cnt);
    (void)put_owners(v + first, e->made, e->made_cnt);
    qsort(v, cnt, sizeof *v, compare_touched);
    for (usize i = 0; i < cnt; i++) {
        if (i == 0 || compare_touched(&v[i - 1], &v[i]) != 0) {
            CD_TRY(cd_xvm_list_tx(view->kv, b, &v[i].addr, &v[i].asset, &t->id));
        }
    }
    return CD_OK;
}

cd_err cd_xvm_apply(const cd_xvm_view *view, cd_kv_batch *b, const cd_xvm_effect *e, const cd_xvm_tx *t)
{
    for (usize i = 0; i < e->spent_cnt; i++) {
        cd_utxo_del(b, &e->spent[i]);
    }
    for (usize i = 0; i < e->made_cnt; i++) {
        cd_utxo_put(b, &cd_x_utxo_table, &e->made[i]);
    }
    cd_xvm_put_tx(b, t);
    return view->rules->lists_txs ? list(view, b, e, t) : CD_OK;
}
