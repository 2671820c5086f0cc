#include "chains/xvm/verify.h"

#include "base/base.h"

#include <stdlib.h>

/* A transaction alone. [spec:pchain-xchain#8] */

enum {
    MEMO_MAX = 256,
    NAME_MAX_LEN = 128,
    SYMBOL_MAX_LEN = 4,
    DENOMINATION_MAX = 32,
    PAYLOAD_MAX = 1024,
};

/* --- parts --- */

static cd_err asset_ok(const cd_hash32 *asset, cd_errinfo *why)
{
    return cd_hash32_is_zero(asset) ? cd_fail(why, CD_EINVAL, "empty asset ID is not valid") : CD_OK;
}

static cd_err nft_output_ok(const cd_x_nft_output *o, cd_errinfo *why)
{
    if (o->payload.n > PAYLOAD_MAX) {
        return cd_fail(why, CD_EINVAL, "payload too large");
    }
    return cd_fx_owners_ok(&o->owners, why);
}

/* An output of any extension. */
static cd_err state_ok(const cd_linear_any *out, cd_errinfo *why)
{
    switch (out->is->id) {
    case CD_X_SECP_OUTPUT:
        return cd_fx_output_ok(out->v, why);
    case CD_X_NFT_OUTPUT:
        return nft_output_ok(out->v, why);
    default:
        return cd_fx_owners_ok(cd_utxo_owners(out), why);
    }
}

static cd_err nft_mint_ok(const cd_x_nft_mint *m, cd_errinfo *why)
{
    if (m->payload.n > PAYLOAD_MAX) {
        return cd_fail(why, CD_EINVAL, "payload too large");
    }
    for (u32 i = 0; i < m->outputs.cnt; i++) {
        CD_TRY(cd_fx_owners_ok(&((const cd_owners *)m->outputs.v)[i], why));
    }
    return cd_fx_indices_ok(&m->input.sig_indices, why);
}

static cd_err operation_ok(const cd_linear_any *op, cd_errinfo *why)
{
    const cd_x_secp_mint *secp = op->v;
    const cd_x_nft_transfer *transfer = op->v;
    const cd_x_property_mint *property = op->v;
    const cd_auth_input *burn = op->v;
    switch (op->is->id) {
    case CD_X_SECP_MINT:
        CD_TRY(cd_fx_indices_ok(&secp->input.sig_indices, why));
        CD_TRY(cd_fx_owners_ok(&secp->mint_output, why));
        return cd_fx_output_ok(&secp->output, why);
    case CD_X_NFT_MINT:
        return nft_mint_ok(op->v, why);
    case CD_X_NFT_TRANSFER:
        CD_TRY(cd_fx_indices_ok(&transfer->input.sig_indices, why));
        return nft_output_ok(&transfer->output, why);
    case CD_X_PROPERTY_MINT:
        CD_TRY(cd_fx_indices_ok(&property->input.sig_indices, why));
        CD_TRY(cd_fx_owners_ok(&property->mint_output, why));
        return cd_fx_owners_ok(&property->owned_output, why);
    default:
        return cd_fx_indices_ok(&burn->sig_indices, why);
    }
}

/* --- order --- */

static int compare_u64(u64 a, u64 b)
{
    return (a > b) - (a < b);
}

/* Transfer outputs order as their bytes do: fields are big-endian and of fixed width up to the addresses. */
static int compare_outputs(const cd_x_output *a, const cd_x_output *b)
{
    const cd_transfer_output *x = a->out.v;
    const cd_transfer_output *y = b->out.v;
    const cd_owners *p = &x->owners;
    const cd_owners *q = &y->owners;
    int c = memcmp(a->asset_id.b, b->asset_id.b, sizeof a->asset_id.b);
    c = c != 0 ? c : compare_u64(x->amount, y->amount);
    c = c != 0 ? c : compare_u64(p->locktime, q->locktime);
    c = c != 0 ? c : compare_u64(p->threshold, q->threshold);
    c = c != 0 ? c : compare_u64(p->addrs.cnt, q->addrs.cnt);
    return c != 0 || p->addrs.cnt == 0 ? c : memcmp(p->addrs.v, q->addrs.v, p->addrs.cnt * sizeof(cd_addr20));
}

static int compare_ids(const cd_hash32 *a, u32 i, const cd_hash32 *b, u32 k)
{
    int c = memcmp(a->b, b->b, sizeof a->b);
    return c != 0 ? c : compare_u64(i, k);
}

/* Whether the encodings of cnt values ascend; put appends the i-th one. equal: two of them may be the same. */
static bool ascends(u32 cnt, bool equal, void (*put)(cd_buf *out, const void *list, u32 i), const void *list)
{
    cd_buf a = {0};
    cd_buf b = {0};
    bool ok = true;
    for (u32 i = 0; i < cnt && ok; i++) {
        cd_buf_clear(&b);
        put(&b, list, i);
        int c = i == 0 ? -1 : cd_bytes_cmp(cd_buf_bytes(&a), cd_buf_bytes(&b));
        ok = c < 0 || (equal && c == 0);
        cd_buf t = a;
        a = b;
        b = t;
    }
    cd_buf_fini(&a);
    cd_buf_fini(&b);
    return ok;
}

/* What stands before the output is the same for all. */
static void put_state(cd_buf *out, const void *list, u32 i)
{
    cd_utxo u = {.out = ((const cd_linear_any *)list)[i]};
    cd_linear_put(out, &cd_x_utxo_table, &u);
}

static void put_op(cd_buf *out, const void *list, u32 i)
{
    cd_x_op op = ((const cd_x_op *)list)[i];
    cd_x_operation tx = {.ops = {.v = &op, .cnt = 1}};
    cd_x_tx t = {.body = {.is = cd_x_case(CD_X_OPERATION), .v = &tx}};
    cd_linear_put(out, &cd_x_tx_table, &t);
}

/* --- what goes in and out --- */

typedef struct flow {
    const cd_hash32 *asset;
    u64 in;
    u64 out;
} flow;

static int compare_flows(const void *a, const void *b)
{
    return memcmp(((const flow *)a)->asset->b, ((const flow *)b)->asset->b, 32);
}

/* Whether of each asset as much comes in as goes out, at least. */
static cd_err balanced(flow *v, usize cnt, cd_errinfo *why)
{
    bool is_short = false;
    qsort(v, cnt, sizeof *v, compare_flows);
    for (usize i = 0; i < cnt;) {
        flow sum = {.asset = v[i].asset};
        for (; i < cnt && cd_hash32_eq(v[i].asset, sum.asset); i++) {
            if (__builtin_add_overflow(sum.in, v[i].in, &sum.in) ||
                __builtin_add_overflow(sum.out, v[i].out, &sum.out)) {
                return cd_fail(why, CD_EINVAL, "overflow");
            }
        }
        is_short = is_short || sum.out > sum.in;
    }
    return is_short ? cd_fail(why, CD_EINVAL, "insufficient funds") : CD_OK;
}

typedef struct flows {
    flow *v;
    usize cnt;
} flows;

static cd_err add_outputs(flows *f, const cd_linear_list *outs, cd_errinfo *why)
{
    const cd_x_output *v = outs->v;
    bool is_sorted = true;
    for (u32 i = 0; i < outs->cnt; i++) {
        CD_TRY(asset_ok(&v[i].asset_id, why));
        CD_TRY(cd_fx_output_ok(v[i].out.v, why));
        f->v[f->cnt++] = (flow){.asset = &v[i].asset_id, .out = ((const cd_transfer_output *)v[i].out.v)->amount};
        is_sorted = is_sorted && (i == 0 || compare_outputs(&v[i - 1], &v[i]) <= 0);
    }
    return is_sorted ? CD_OK : cd_fail(why, CD_EINVAL, "outputs not sorted");
}

static cd_err add_inputs(flows *f, const cd_linear_list *ins, cd_errinfo *why)
{
    const cd_x_input *v = ins->v;
    bool is_sorted = true;
    for (u32 i = 0; i < ins->cnt; i++) {
        CD_TRY(asset_ok(&v[i].asset_id, why));
        CD_TRY(cd_fx_input_ok(v[i].in.v, why));
        f->v[f->cnt++] = (flow){.asset = &v[i].asset_id, .in = ((const cd_transfer_input *)v[i].in.v)->amount};
        is_sorted = is_sorted &&
                    (i == 0 || compare_ids(&v[i - 1].tx_id, v[i - 1].output_idx, &v[i].tx_id, v[i].output_idx) < 0);
    }
    return is_sorted ? CD_OK : cd_fail(why, CD_EINVAL, "inputs not sorted and unique");
}

/* --- the kinds --- */

static cd_err base_ok(const cd_xvm_rules *r, const cd_x_base *base, cd_errinfo *why)
{
    if (base->network_id != r->network_id) {
        return cd_fail(why, CD_EINVAL, "tx has wrong network ID");
    }
    if (!cd_hash32_eq(&base->chain_id, &r->chain_id)) {
        return cd_fail(why, CD_EINVAL, "tx has wrong chain ID");
    }
    if (base->memo.n > MEMO_MAX) {
        return cd_fail(why, CD_EINVAL, "memo exceeds maximum length: %zu > %d", base->memo.n, MEMO_MAX);
    }
    return CD_OK;
}

/* Shapes, order and sums of all inputs and outputs; more and gone are the lists of imports and exports. */
static cd_err moves_ok(const cd_xvm_rules *r, const cd_x_base *base, u64 fee, const cd_linear_list *more,
                       const cd_linear_list *gone, cd_errinfo *why)
{
    static const cd_linear_list none;
    cd_arena a = {0};
    more = more == NULL ? &none : more;
    gone = gone == NULL ? &none : gone;
    flows f = {.v = cd_arena_array(&a, flow, (usize)1 + base->outs.cnt + gone->cnt + base->ins.cnt + more->cnt)};
    f.v[f.cnt++] = (flow){.asset = &r->fee_asset, .out = fee};
    cd_err e = add_outputs(&f, &base->outs, why);
    e = e != CD_OK ? e : add_outputs(&f, gone, why);
    e = e != CD_OK ? e : add_inputs(&f, &base->ins, why);
    e = e != CD_OK ? e : add_inputs(&f, more, why);
    e = e != CD_OK ? e : balanced(f.v, f.cnt, why);
    cd_arena_fini(&a);
    return e;
}

static cd_err creds_ok(const cd_xvm_tx *t, usize want, cd_errinfo *why)
{
    if (t->tx.creds.cnt != want) {
        return cd_fail(why, CD_EINVAL, "wrong number of credentials: %u != %zu", t->tx.creds.cnt, want);
    }
    return CD_OK;
}

static bool is_upper(u8 c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_name(u8 c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' ';
}

static bool is_space(u8 c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static cd_err names_ok(const cd_x_create_asset *tx, cd_errinfo *why)
{
    if (tx->name.n < 1) {
        return cd_fail(why, CD_EINVAL, "name is too short, minimum size is 1");
    }
    if (tx->name.n > NAME_MAX_LEN) {
        return cd_fail(why, CD_EINVAL, "name is too long, maximum size is %d", NAME_MAX_LEN);
    }
    if (tx->symbol.n < 1) {
        return cd_fail(why, CD_EINVAL, "symbol is too short, minimum size is 1");
    }
    if (tx->symbol.n > SYMBOL_MAX_LEN) {
        return cd_fail(why, CD_EINVAL, "symbol is too long, maximum size is %d", SYMBOL_MAX_LEN);
    }
    if (tx->states.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "assets must support at least one Fx");
    }
    if (tx->denomination > DENOMINATION_MAX) {
        return cd_fail(why, CD_EINVAL, "denomination is too large");
    }
    if (is_space(tx->name.p[0]) || is_space(tx->name.p[tx->name.n - 1])) {
        return cd_fail(why, CD_EINVAL, "unexpected whitespace provided");
    }
    for (usize i = 0; i < tx->name.n; i++) {
        if (!is_name(tx->name.p[i])) {
            return cd_fail(why, CD_EINVAL, "asset's name must be made up of only letters and numbers");
        }
    }
    for (usize i = 0; i < tx->symbol.n; i++) {
        if (!is_upper(tx->symbol.p[i])) {
            return cd_fail(why, CD_EINVAL, "asset's symbol must be all upper case letters");
        }
    }
    return CD_OK;
}

static cd_err states_ok(const cd_linear_list *states, cd_errinfo *why)
{
    const cd_x_initial_state *v = states->v;
    bool is_sorted = true;
    for (u32 i = 0; i < states->cnt; i++) {
        if (v[i].fx_index >= CD_X_FX_CNT) {
            return cd_fail(why, CD_EINVAL, "unknown feature extension");
        }
        for (u32 k = 0; k < v[i].outs.cnt; k++) {
            CD_TRY(state_ok(&((const cd_linear_any *)v[i].outs.v)[k], why));
        }
        if (!ascends(v[i].outs.cnt, true, put_state, v[i].outs.v)) {
            return cd_fail(why, CD_EINVAL, "outputs not sorted");
        }
        is_sorted = is_sorted && (i == 0 || v[i - 1].fx_index < v[i].fx_index);
    }
    return is_sorted ? CD_OK : cd_fail(why, CD_EINVAL, "initial states not sorted and unique");
}

static cd_err create_asset_ok(const cd_xvm_rules *r, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_create_asset *tx = t->tx.body.v;
    CD_TRY(names_ok(tx, why));
    CD_TRY(base_ok(r, &tx->base, why));
    CD_TRY(moves_ok(r, &tx->base, r->create_asset_fee, NULL, NULL, why));
    CD_TRY(states_ok(&tx->states, why));
    return creds_ok(t, tx->base.ins.cnt, why);
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_hash32));
}

/* No output is taken twice by inputs and operations together. */
static cd_err spends_once(const cd_xvm_tx *t, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_hash32 *ids;
    usize cnt = cd_xvm_tx_spends(&ids, &a, t);
    bool ok = true;
    qsort(ids, cnt, sizeof *ids, compare_hashes);
    for (usize i = 1; i < cnt; i++) {
        ok = ok && !cd_hash32_eq(&ids[i - 1], &ids[i]);
    }
    cd_arena_fini(&a);
    return ok ? CD_OK : cd_fail(why, CD_EINVAL, "inputs attempt to double spend an input");
}

static cd_err op_ok(const cd_x_op *op, cd_errinfo *why)
{
    const cd_x_utxo_id *v = op->utxo_ids.v;
    for (u32 i = 1; i < op->utxo_ids.cnt; i++) {
        if (compare_ids(&v[i - 1].tx_id, v[i - 1].output_idx, &v[i].tx_id, v[i].output_idx) >= 0) {
            return cd_fail(why, CD_EINVAL, "utxo IDs not sorted and unique");
        }
    }
    CD_TRY(asset_ok(&op->asset_id, why));
    return operation_ok(&op->op, why);
}

static cd_err operations_ok(const cd_xvm_rules *r, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_operation *tx = t->tx.body.v;
    if (tx->ops.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "an operationTx must have at least one operation");
    }
    CD_TRY(base_ok(r, &tx->base, why));
    CD_TRY(moves_ok(r, &tx->base, r->tx_fee, NULL, NULL, why));
    for (u32 i = 0; i < tx->ops.cnt; i++) {
        CD_TRY(op_ok(&((const cd_x_op *)tx->ops.v)[i], why));
    }
    CD_TRY(spends_once(t, why));
    if (!ascends(tx->ops.cnt, false, put_op, tx->ops.v)) {
        return cd_fail(why, CD_EINVAL, "operations not sorted and unique");
    }
    return creds_ok(t, (usize)tx->base.ins.cnt + tx->ops.cnt, why);
}

static cd_err import_ok(const cd_xvm_rules *r, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_import *tx = t->tx.body.v;
    if (tx->imported.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "no import inputs");
    }
    CD_TRY(base_ok(r, &tx->base, why));
    CD_TRY(moves_ok(r, &tx->base, r->tx_fee, &tx->imported, NULL, why));
    return creds_ok(t, (usize)tx->base.ins.cnt + tx->imported.cnt, why);
}

static cd_err export_ok(const cd_xvm_rules *r, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_export *tx = t->tx.body.v;
    if (tx->exported.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "no export outputs");
    }
    CD_TRY(base_ok(r, &tx->base, why));
    CD_TRY(moves_ok(r, &tx->base, r->tx_fee, NULL, &tx->exported, why));
    return creds_ok(t, tx->base.ins.cnt, why);
}

cd_err cd_xvm_form(const cd_xvm_rules *rules, const cd_xvm_tx *t, cd_errinfo *why)
{
    const cd_x_base *base = cd_x_tx_base(&t->tx);
    switch (t->tx.body.is->id) {
    case CD_X_CREATE_ASSET:
        return create_asset_ok(rules, t, why);
    case CD_X_OPERATION:
        return operations_ok(rules, t, why);
    case CD_X_IMPORT:
        return import_ok(rules, t, why);
    case CD_X_EXPORT:
        return export_ok(rules, t, why);
    default:
        CD_TRY(base_ok(rules, base, why));
        CD_TRY(moves_ok(rules, base, rules->tx_fee, NULL, NULL, why));
        return creds_ok(t, base->ins.cnt, why);
    }
}
