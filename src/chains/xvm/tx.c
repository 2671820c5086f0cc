#include "chains/xvm/tx.h"

#include "chains/utxo/fx.h"
#include "crypto/hash/sha2.h"

static void name(cd_xvm_tx *t)
{
    cd_sha256(&t->id, t->bytes);
    cd_fx_hash(&t->hash, cd_bytes_sub(t->bytes, 0, cd_x_unsigned_size(&t->tx)));
}

cd_err cd_xvm_tx_parse(cd_xvm_tx *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    cd_xvm_tx t = {.bytes = bytes};
    CD_TRY(cd_linear_parse(&t.tx, &cd_x_tx_table, a, bytes, 0, why));
    name(&t);
    *out = t;
    return CD_OK;
}

void cd_xvm_tx_of(cd_xvm_tx *out, cd_arena *a, const cd_x_tx *tx)
{
    cd_buf b = {0};
    cd_linear_put(&b, &cd_x_tx_table, tx);
    *out = (cd_xvm_tx){.tx = *tx, .bytes = cd_arena_dup(a, cd_buf_bytes(&b))};
    cd_buf_fini(&b);
    name(out);
}

/* --- what it takes --- */

static usize op_inputs(const cd_x_operation *tx)
{
    usize cnt = 0;
    for (u32 i = 0; i < tx->ops.cnt; i++) {
        cnt += ((const cd_x_op *)tx->ops.v)[i].utxo_ids.cnt;
    }
    return cnt;
}

usize cd_xvm_tx_spends(cd_hash32 **ids, cd_arena *a, const cd_xvm_tx *t)
{
    const cd_x_base *base = cd_x_tx_base(&t->tx);
    const cd_x_operation *ops = t->tx.body.is->id == CD_X_OPERATION ? t->tx.body.v : NULL;
    cd_hash32 *v = cd_arena_array(a, cd_hash32, base->ins.cnt + (ops == NULL ? 0 : op_inputs(ops)));
    usize n = 0;
    for (u32 i = 0; i < base->ins.cnt; i++) {
        const cd_x_input *in = &((const cd_x_input *)base->ins.v)[i];
        cd_utxo_id(&v[n++], &in->tx_id, in->output_idx);
    }
    for (u32 i = 0; ops != NULL && i < ops->ops.cnt; i++) {
        const cd_x_op *op = &((const cd_x_op *)ops->ops.v)[i];
        for (u32 k = 0; k < op->utxo_ids.cnt; k++) {
            const cd_x_utxo_id *id = &((const cd_x_utxo_id *)op->utxo_ids.v)[k];
            cd_utxo_id(&v[n++], &id->tx_id, id->output_idx);
        }
    }
    *ids = v;
    return n;
}

bool cd_xvm_tx_imports(cd_hash32 *peer, cd_hash32 **ids, usize *cnt, cd_arena *a, const cd_xvm_tx *t)
{
    if (t->tx.body.is->id != CD_X_IMPORT) {
        return false;
    }
    const cd_x_import *tx = t->tx.body.v;
    *peer = tx->source_chain;
    *cnt = tx->imported.cnt;
    *ids = cd_arena_array(a, cd_hash32, *cnt);
    for (u32 i = 0; i < tx->imported.cnt; i++) {
        const cd_x_input *in = &((const cd_x_input *)tx->imported.v)[i];
        cd_utxo_id(&(*ids)[i], &in->tx_id, in->output_idx);
    }
    return true;
}

/* --- what it makes --- */

/* Outputs one behind the other. */
typedef struct maker {
    cd_arena *arena;
    const cd_xvm_tx *tx;
    cd_utxo *out;
    usize cnt;
} maker;

static void add(maker *m, const cd_hash32 *asset, const cd_linear_any *out)
{
    m->out[m->cnt] = (cd_utxo){.tx_id = m->tx->id, .output_idx = (u32)m->cnt, .asset_id = *asset, .out = *out};
    m->cnt++;
}

/* The value is read only; the tables know no constant ones. */
static void add_value(maker *m, const cd_hash32 *asset, cd_x_type type, const void *value)
{
    add(m, asset, &(cd_linear_any){.is = cd_x_case(type), .v = (void *)(uintptr_t)value});
}

static usize op_outputs(const cd_x_op *op)
{
    switch (op->op.is->id) {
    case CD_X_SECP_MINT:
    case CD_X_PROPERTY_MINT:
        return 2;
    case CD_X_NFT_MINT:
        return ((const cd_x_nft_mint *)op->op.v)->outputs.cnt;
    case CD_X_NFT_TRANSFER:
        return 1;
    default:
        return 0;
    }
}

static void add_nft_mint(maker *m, const cd_hash32 *asset, const cd_x_nft_mint *mint)
{
    for (u32 i = 0; i < mint->outputs.cnt; i++) {
        cd_x_nft_output *out = cd_arena_new(m->arena, cd_x_nft_output);
        *out = (cd_x_nft_output){
            .group_id = mint->group_id, .payload = mint->payload, .owners = ((const cd_owners *)mint->outputs.v)[i]};
        add_value(m, asset, CD_X_NFT_OUTPUT, out);
    }
}

static void add_op(maker *m, const cd_x_op *op)
{
    const cd_x_secp_mint *secp = op->op.v;
    const cd_x_property_mint *property = op->op.v;
    switch (op->op.is->id) {
    case CD_X_SECP_MINT:
        add_value(m, &op->asset_id, CD_X_SECP_MINT_OUTPUT, &secp->mint_output);
        add_value(m, &op->asset_id, CD_X_SECP_OUTPUT, &secp->output);
        break;
    case CD_X_NFT_MINT:
        add_nft_mint(m, &op->asset_id, op->op.v);
        break;
    case CD_X_NFT_TRANSFER:
        add_value(m, &op->asset_id, CD_X_NFT_OUTPUT, &((const cd_x_nft_transfer *)op->op.v)->output);
        break;
    case CD_X_PROPERTY_MINT:
        add_value(m, &op->asset_id, CD_X_PROPERTY_MINT_OUTPUT, &property->mint_output);
        add_value(m, &op->asset_id, CD_X_PROPERTY_OUTPUT, &property->owned_output);
        break;
    default: /* what is burnt leaves nothing */
        break;
    }
}

usize cd_xvm_tx_makes(cd_utxo **out, cd_arena *a, const cd_xvm_tx *t)
{
    const cd_x_base *base = cd_x_tx_base(&t->tx);
    const cd_x_operation *ops = t->tx.body.is->id == CD_X_OPERATION ? t->tx.body.v : NULL;
    const cd_x_create_asset *create = t->tx.body.is->id == CD_X_CREATE_ASSET ? t->tx.body.v : NULL;
    usize cnt = base->outs.cnt;
    for (u32 i = 0; ops != NULL && i < ops->ops.cnt; i++) {
        cnt += op_outputs(&((const cd_x_op *)ops->ops.v)[i]);
    }
    for (u32 i = 0; create != NULL && i < create->states.cnt; i++) {
        cnt += ((const cd_x_initial_state *)create->states.v)[i].outs.cnt;
    }
    maker m = {.arena = a, .tx = t, .out = cd_arena_array(a, cd_utxo, cnt)};
    for (u32 i = 0; i < base->outs.cnt; i++) {
        const cd_x_output *o = &((const cd_x_output *)base->outs.v)[i];
        add(&m, &o->asset_id, &o->out);
    }
    for (u32 i = 0; ops != NULL && i < ops->ops.cnt; i++) {
        add_op(&m, &((const cd_x_op *)ops->ops.v)[i]);
    }
    for (u32 i = 0; create != NULL && i < create->states.cnt; i++) {
        const cd_x_initial_state *s = &((const cd_x_initial_state *)create->states.v)[i];
        for (u32 k = 0; k < s->outs.cnt; k++) {
            add(&m, &t->id, &((const cd_linear_any *)s->outs.v)[k]);
        }
    }
    CD_ASSERT(m.cnt == cnt);
    *out = m.out;
    return cnt;
}

bool cd_xvm_tx_exports(cd_hash32 *peer, cd_utxo **out, usize *cnt, cd_arena *a, const cd_xvm_tx *t)
{
    if (t->tx.body.is->id != CD_X_EXPORT) {
        return false;
    }
    const cd_x_export *tx = t->tx.body.v;
    *peer = tx->destination_chain;
    *cnt = tx->exported.cnt;
    *out = cd_arena_array(a, cd_utxo, *cnt);
    for (u32 i = 0; i < tx->exported.cnt; i++) {
        const cd_x_output *o = &((const cd_x_output *)tx->exported.v)[i];
        (*out)[i] =
            (cd_utxo){.tx_id = t->id, .output_idx = tx->base.outs.cnt + i, .asset_id = o->asset_id, .out = o->out};
    }
    return true;
}
