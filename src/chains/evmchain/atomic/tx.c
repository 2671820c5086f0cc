#include "chains/evmchain/atomic/tx.h"

#include "chains/utxo/utxo.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/sha2.h"
#include "num/u256.h"

bool cd_atomic_is_import(const cd_atomic_tx *t)
{
    return t->tx.body.is->id == CD_C_IMPORT;
}

const cd_c_import *cd_atomic_import(const cd_atomic_tx *t)
{
    return t->tx.body.v;
}

const cd_c_export *cd_atomic_export(const cd_atomic_tx *t)
{
    return t->tx.body.v;
}

static const cd_c_input *input_at(const cd_c_import *x, u32 i)
{
    return (const cd_c_input *)x->imported.v + i;
}

static const cd_c_credit *credit_at(const cd_c_import *x, u32 i)
{
    return (const cd_c_credit *)x->outs.v + i;
}

static const cd_c_debit *debit_at(const cd_c_export *x, u32 i)
{
    return (const cd_c_debit *)x->ins.v + i;
}

static const cd_c_output *output_at(const cd_c_export *x, u32 i)
{
    return (const cd_c_output *)x->exported.v + i;
}

/* --- reading --- */

static u64 signatures_of(const cd_atomic_tx *t)
{
    u64 cnt = 0;
    if (!cd_atomic_is_import(t)) {
        return cd_atomic_export(t)->ins.cnt;
    }
    const cd_c_import *x = cd_atomic_import(t);
    for (u32 i = 0; i < x->imported.cnt; i++) {
        cnt += ((const cd_transfer_input *)input_at(x, i)->in.v)->sig_indices.cnt;
    }
    return cnt;
}

/* An account can be debited once at a nonce: nonce, length and address fill 32 bytes. */
static void debit_name(cd_hash32 *out, const cd_c_debit *d)
{
    cd_put_be64(out->b, d->nonce);
    cd_put_be32(out->b + 8, 20);
    memcpy(out->b + 12, d->addr.b, 20);
}

static void name_inputs(cd_atomic_tx *t, cd_arena *a)
{
    bool is_import = cd_atomic_is_import(t);
    t->input_cnt = is_import ? cd_atomic_import(t)->imported.cnt : cd_atomic_export(t)->ins.cnt;
    t->inputs = cd_arena_array(a, cd_hash32, t->input_cnt);
    for (u32 i = 0; i < t->input_cnt; i++) {
        if (is_import) {
            const cd_c_input *in = input_at(cd_atomic_import(t), i);
            cd_utxo_id(&t->inputs[i], &in->tx_id, in->output_idx);
        } else {
            debit_name(&t->inputs[i], debit_at(cd_atomic_export(t), i));
        }
    }
}

/* Fills in what follows from tx and bytes. */
static void complete(cd_atomic_tx *t, cd_arena *a)
{
    usize unsigned_n = cd_linear_size(&cd_c_unsigned_table, &t->tx);
    cd_sha256(&t->id, t->bytes);
    cd_fx_hash(&t->hash, cd_bytes_sub(t->bytes, 0, unsigned_n));
    t->gas = cd_c_gas(unsigned_n, signatures_of(t));
    t->peer = cd_atomic_is_import(t) ? cd_atomic_import(t)->source_chain : cd_atomic_export(t)->destination_chain;
    name_inputs(t, a);
}

cd_err cd_atomic_parse(cd_atomic_tx *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    cd_atomic_tx t = {.bytes = cd_arena_dup(a, bytes)};
    CD_TRY(cd_linear_parse(&t.tx, &cd_c_tx_table, a, t.bytes, 0, why));
    complete(&t, a);
    *out = t;
    return CD_OK;
}

cd_err cd_atomic_parse_batch(cd_atomic_tx **out, usize *cnt, cd_arena *a, cd_bytes ext_data, cd_errinfo *why)
{
    cd_c_batch batch = {.txs = {.cnt = 0}};
    CD_TRY(cd_linear_parse(&batch, &cd_c_batch_table, a, ext_data, 0, why));
    if (batch.txs.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "missing atomic txs");
    }
    cd_atomic_tx *txs = cd_arena_array(a, cd_atomic_tx, batch.txs.cnt);
    for (u32 i = 0; i < batch.txs.cnt; i++) {
        cd_buf bytes = {0};
        txs[i].tx = ((const cd_c_tx *)batch.txs.v)[i];
        cd_linear_put(&bytes, &cd_c_tx_table, &txs[i].tx);
        txs[i].bytes = cd_arena_dup(a, cd_buf_bytes(&bytes));
        cd_buf_fini(&bytes);
        complete(&txs[i], a);
    }
    *out = txs;
    *cnt = batch.txs.cnt;
    return CD_OK;
}

void cd_atomic_put_batch(cd_buf *out, const cd_atomic_tx *const *txs, usize cnt)
{
    enum { VERSION_SIZE = 2 };
    u8 head[VERSION_SIZE + 4] = {0};
    cd_put_be32(head + VERSION_SIZE, (u32)cnt);
    cd_buf_put(out, cd_bytes_of(head, sizeof head));
    for (usize i = 0; i < cnt; i++) {
        cd_buf_put(out, cd_bytes_sub(txs[i]->bytes, VERSION_SIZE, txs[i]->bytes.n - VERSION_SIZE));
    }
}

/* --- form --- */

static cd_err check_peer(const cd_hash32 *peer, const cd_atomic_net *net, cd_errinfo *why)
{
    if (cd_hash32_eq(peer, &net->chain_id)) {
        return cd_fail(why, CD_EINVAL, "same chainID");
    }
    bool is_known = cd_hash32_is_zero(peer) || cd_hash32_eq(peer, &net->x_chain_id);
    return is_known ? CD_OK : cd_fail(why, CD_EINVAL, "mismatched subnetIDs");
}

static cd_err check_place(u32 network_id, const cd_hash32 *chain_id, const cd_atomic_net *net, cd_errinfo *why)
{
    if (network_id != net->network_id) {
        return cd_fail(why, CD_EINVAL, "tx was issued with a different network ID");
    }
    return cd_hash32_eq(chain_id, &net->chain_id) ? CD_OK : cd_fail(why, CD_EINVAL, "tx has wrong chain ID");
}

static cd_err check_asset(const cd_hash32 *asset, const cd_atomic_net *net, const char *where, cd_errinfo *why)
{
    return cd_hash32_eq(asset, &net->asset_id) ? CD_OK
                                               : cd_fail(why, CD_EINVAL, "%s cannot contain non-AVAX in Banff", where);
}

/* By transaction, then by index. */
static int compare_inputs(const cd_c_input *a, const cd_c_input *b)
{
    int c = memcmp(a->tx_id.b, b->tx_id.b, 32);
    return c != 0 ? c : (a->output_idx > b->output_idx) - (a->output_idx < b->output_idx);
}

/* By address, then by asset: what credits and debits begin with. */
static int compare_accounts(const cd_addr20 *a, const cd_hash32 *asset_a, const cd_addr20 *b, const cd_hash32 *asset_b)
{
    int c = memcmp(a->b, b->b, 20);
    return c != 0 ? c : memcmp(asset_a->b, asset_b->b, 32);
}

static cd_err import_inputs(const cd_c_import *x, const cd_atomic_net *net, cd_errinfo *why)
{
    cd_errinfo inner = {0};
    for (u32 i = 0; i < x->imported.cnt; i++) {
        const cd_c_input *in = input_at(x, i);
        cd_err e = cd_fx_input_ok(in->in.v, &inner);
        if (e != CD_OK) {
            return cd_fail(why, e, "atomic input failed verification: %s", inner.msg);
        }
        CD_TRY(check_asset(&in->asset_id, net, "import input", why));
    }
    for (u32 i = 1; i < x->imported.cnt; i++) {
        if (compare_inputs(input_at(x, i - 1), input_at(x, i)) >= 0) {
            return cd_fail(why, CD_EINVAL, "inputs not sorted and unique");
        }
    }
    return CD_OK;
}

static cd_err import_form(const cd_c_import *x, const cd_atomic_net *net, cd_errinfo *why)
{
    if (x->imported.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "tx has no imported inputs");
    }
    CD_TRY(check_place(x->network_id, &x->chain_id, net, why));
    if (x->outs.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "tx has no EVM outputs");
    }
    CD_TRY(check_peer(&x->source_chain, net, why));
    for (u32 i = 0; i < x->outs.cnt; i++) {
        if (credit_at(x, i)->amount == 0) {
            return cd_fail(why, CD_EINVAL, "EVM Output failed verification: output has no value");
        }
        CD_TRY(check_asset(&credit_at(x, i)->asset_id, net, "import output", why));
    }
    CD_TRY(import_inputs(x, net, why));
    for (u32 i = 1; i < x->outs.cnt; i++) {
        const cd_c_credit *a = credit_at(x, i - 1);
        const cd_c_credit *b = credit_at(x, i);
        if (compare_accounts(&a->addr, &a->asset_id, &b->addr, &b->asset_id) >= 0) {
            return cd_fail(why, CD_EINVAL, "outputs not sorted and unique");
        }
    }
    return CD_OK;
}

/* By asset, then by the bytes of the output; the one encoding follows the asset in the other. */
static int compare_outputs(const cd_c_output *a, const cd_c_output *b)
{
    cd_buf x = {0};
    cd_buf y = {0};
    cd_linear_put(&x, &cd_c_output_table, a);
    cd_linear_put(&y, &cd_c_output_table, b);
    int c = cd_bytes_cmp(cd_buf_bytes(&x), cd_buf_bytes(&y));
    cd_buf_fini(&x);
    cd_buf_fini(&y);
    return c;
}

static cd_err export_outputs(const cd_c_export *x, const cd_atomic_net *net, cd_errinfo *why)
{
    for (u32 i = 0; i < x->exported.cnt; i++) {
        CD_TRY(cd_fx_output_ok(output_at(x, i)->out.v, why));
        CD_TRY(check_asset(&output_at(x, i)->asset_id, net, "export output", why));
    }
    for (u32 i = 1; i < x->exported.cnt; i++) {
        if (compare_outputs(output_at(x, i - 1), output_at(x, i)) > 0) {
            return cd_fail(why, CD_EINVAL, "tx outputs not sorted");
        }
    }
    return CD_OK;
}

static cd_err export_form(const cd_c_export *x, const cd_atomic_net *net, cd_errinfo *why)
{
    if (x->exported.cnt == 0) {
        return cd_fail(why, CD_EINVAL, "tx has no export outputs");
    }
    CD_TRY(check_place(x->network_id, &x->chain_id, net, why));
    CD_TRY(check_peer(&x->destination_chain, net, why));
    for (u32 i = 0; i < x->ins.cnt; i++) {
        if (debit_at(x, i)->amount == 0) {
            return cd_fail(why, CD_EINVAL, "input has no value");
        }
        CD_TRY(check_asset(&debit_at(x, i)->asset_id, net, "export input", why));
    }
    CD_TRY(export_outputs(x, net, why));
    for (u32 i = 1; i < x->ins.cnt; i++) {
        const cd_c_debit *a = debit_at(x, i - 1);
        const cd_c_debit *b = debit_at(x, i);
        if (compare_accounts(&a->addr, &a->asset_id, &b->addr, &b->asset_id) >= 0) {
            return cd_fail(why, CD_EINVAL, "inputs not sorted and unique");
        }
    }
    return CD_OK;
}

cd_err cd_atomic_form(const cd_atomic_tx *t, const cd_atomic_net *net, cd_errinfo *why)
{
    return cd_atomic_is_import(t) ? import_form(cd_atomic_import(t), net, why)
                                  : export_form(cd_atomic_export(t), net, why);
}

/* --- money --- */

/* What goes in and what comes out. */
static cd_err sums(u64 *in, u64 *out, const cd_atomic_tx *t)
{
    bool fits = true;
    *in = *out = 0;
    if (cd_atomic_is_import(t)) {
        const cd_c_import *x = cd_atomic_import(t);
        for (u32 i = 0; i < x->imported.cnt; i++) {
            fits = fits && cd_add_u64(in, *in, ((const cd_transfer_input *)input_at(x, i)->in.v)->amount);
        }
        for (u32 i = 0; i < x->outs.cnt; i++) {
            fits = fits && cd_add_u64(out, *out, credit_at(x, i)->amount);
        }
    } else {
        const cd_c_export *x = cd_atomic_export(t);
        for (u32 i = 0; i < x->ins.cnt; i++) {
            fits = fits && cd_add_u64(in, *in, debit_at(x, i)->amount);
        }
        for (u32 i = 0; i < x->exported.cnt; i++) {
            fits = fits && cd_add_u64(out, *out, ((const cd_transfer_output *)output_at(x, i)->out.v)->amount);
        }
    }
    return fits ? CD_OK : CD_EINVAL;
}

cd_err cd_atomic_burned(u64 *out, const cd_atomic_tx *t)
{
    u64 in;
    u64 left;
    CD_TRY(sums(&in, &left, t));
    if (left > in) {
        return CD_EINVAL;
    }
    *out = in - left;
    return CD_OK;
}

cd_err cd_atomic_excess(cd_u256 *out, const cd_atomic_tx *t, const cd_u256 *base_fee, const cd_atomic_net *net)
{
    u64 burned = 0;
    u64 fee = cd_c_fee(t->gas, base_fee, net->rate);
    CD_TRY(cd_atomic_burned(&burned, t));
    if (burned < fee) {
        return CD_EAGAIN;
    }
    *out = cd_u256_from_u64(burned - fee);
    (void)cd_u256_mul_u64(out, out, net->rate); /* below 2^128 */
    return CD_OK;
}

static cd_err check_flow(const cd_atomic_tx *t, const cd_atomic_at *at, cd_u256 *paid, cd_errinfo *why)
{
    cd_u256 excess;
    cd_err e = cd_atomic_excess(&excess, t, at->base_fee, at->net);
    if (e != CD_OK) {
        return cd_fail(why, e, "%s tx flow check failed due to: insufficient funds",
                       cd_atomic_is_import(t) ? "import" : "export");
    }
    if (paid != NULL) {
        *paid = excess;
    }
    return CD_OK;
}

/* --- who may --- */

static const cd_credential *credential_at(const cd_atomic_tx *t, u32 i)
{
    return ((const cd_linear_any *)t->tx.creds.v)[i].v;
}

static cd_err check_creds(const cd_atomic_tx *t, usize inputs, cd_errinfo *why)
{
    return t->tx.creds.cnt == inputs
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "%s tx contained mismatched number of inputs/credentials (%zu vs. %u)",
                         cd_atomic_is_import(t) ? "import" : "export", inputs, t->tx.creds.cnt);
}

static cd_err take_one(const cd_atomic_tx *t, const cd_atomic_at *at, u32 i, cd_arena *a, cd_errinfo *why)
{
    cd_bytes text;
    cd_utxo utxo = {.out = {.is = NULL}};
    cd_errinfo inner = {0};
    const cd_c_input *in = input_at(cd_atomic_import(t), i);
    cd_err e = at->shared->get(at->shared, &text, a, &t->peer, cd_bytes_of(t->inputs[i].b, 32));
    if (e != CD_OK) {
        cd_buf id = {0};
        cd_id_put(&id, &t->peer);
        e = cd_fail(why, e == CD_ENOENT ? CD_EINVAL : e, "failed to fetch import UTXOs from %s due to: %s",
                    cd_buf_cstr(&id), cd_err_str(e));
        cd_buf_fini(&id);
        return e;
    }
    e = cd_utxo_parse(&utxo, &cd_c_utxo_table, a, text, &inner);
    if (e != CD_OK) {
        return cd_fail(why, CD_EINVAL, "failed to unmarshal UTXO: %s", inner.msg);
    }
    if (!cd_hash32_eq(&utxo.asset_id, &in->asset_id)) {
        return cd_fail(why, CD_EINVAL, "asset IDs in the input don't match the utxo");
    }
    const cd_fx_at when = {.hash = &t->hash, .now = at->time};
    e = cd_fx_spend(at->fx, &when, in->in.v, credential_at(t, i), utxo.out.v, &inner);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "import tx transfer failed verification: %s", inner.msg);
}

static cd_err spend_import(const cd_atomic_tx *t, const cd_atomic_at *at, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_err e = check_creds(t, t->input_cnt, why);
    for (u32 i = 0; i < t->input_cnt && e == CD_OK && at->shared != NULL; i++) {
        cd_arena_reset(&a);
        e = take_one(t, at, i, &a, why);
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err spend_export(const cd_atomic_tx *t, cd_errinfo *why)
{
    CD_TRY(check_creds(t, t->input_cnt, why));
    for (u32 i = 0; i < t->input_cnt; i++) {
        cd_addr20 signer;
        const cd_credential *cred = credential_at(t, i);
        const cd_signature *sig = cred->sigs.v;
        if (cred->sigs.cnt != 1) {
            return cd_fail(why, CD_EINVAL, "expected one signature for EVM Input Credential, but found: %u",
                           cred->sigs.cnt);
        }
        if (sig->b[64] > 3 || !cd_secp256k1_is_low_s(sig->b) ||
            cd_secp256k1_recover_addr(&signer, &t->hash, sig->b, sig->b[64]) != CD_OK) {
            return cd_fail(why, CD_ESIG, "invalid signature");
        }
        if (!cd_addr20_eq(&signer, &debit_at(cd_atomic_export(t), i)->addr)) {
            return cd_fail(why, CD_EACCES, "signature doesn't match public key");
        }
    }
    return CD_OK;
}

cd_err cd_atomic_spend(const cd_atomic_tx *t, const cd_atomic_at *at, cd_u256 *paid, cd_errinfo *why)
{
    CD_TRY(cd_atomic_form(t, at->net, why));
    CD_TRY(check_flow(t, at, paid, why));
    return cd_atomic_is_import(t) ? spend_import(t, at, why) : spend_export(t, why);
}

/* --- accounts --- */

static cd_u256 wei(u64 amount, u64 rate)
{
    cd_u256 v = cd_u256_from_u64(amount);
    (void)cd_u256_mul_u64(&v, &v, rate); /* below 2^128 */
    return v;
}

static cd_err can_debit(const cd_c_export *x, const cd_atomic_net *net, cd_state *st, cd_errinfo *why)
{
    for (u32 i = 0; i < x->ins.cnt; i++) {
        const cd_c_debit *d = debit_at(x, i);
        cd_acct *acct = cd_state_acct(st, &d->addr);
        cd_u256 amount = wei(d->amount, net->rate);
        CD_TRY(cd_state_error(st));
        if (cd_u256_lt(&acct->balance, &amount)) {
            return cd_fail(why, CD_EINVAL, "insufficient funds");
        }
        if (acct->nonce != d->nonce || d->nonce == UINT64_MAX) {
            return cd_fail(why, CD_EINVAL, "invalid nonce");
        }
    }
    return CD_OK;
}

/* Each account stands once in it, so that all can be looked at before one is changed. */
static cd_err debit(const cd_c_export *x, const cd_atomic_net *net, cd_state *st, cd_errinfo *why)
{
    CD_TRY(can_debit(x, net, st, why));
    for (u32 i = 0; i < x->ins.cnt; i++) {
        const cd_c_debit *d = debit_at(x, i);
        cd_acct *acct = cd_state_acct(st, &d->addr);
        cd_u256 amount = wei(d->amount, net->rate);
        cd_state_touch(st, acct, false);
        cd_state_sub_balance(st, acct, &amount);
        cd_state_set_nonce(st, acct, d->nonce + 1);
    }
    return CD_OK;
}

static void credit(const cd_c_import *x, const cd_atomic_net *net, cd_state *st)
{
    for (u32 i = 0; i < x->outs.cnt; i++) {
        cd_acct *acct = cd_state_acct(st, &credit_at(x, i)->addr);
        cd_u256 amount = wei(credit_at(x, i)->amount, net->rate);
        cd_state_touch(st, acct, false);
        cd_state_add_balance(st, acct, &amount);
    }
}

cd_err cd_atomic_apply(const cd_atomic_tx *t, const cd_atomic_net *net, cd_state *st, cd_errinfo *why)
{
    cd_err e = CD_OK;
    cd_state_begin_tx(st);
    if (cd_atomic_is_import(t)) {
        credit(cd_atomic_import(t), net, st);
    } else {
        e = debit(cd_atomic_export(t), net, st, why);
    }
    cd_state_end_tx(st, true);
    return e != CD_OK ? e : cd_state_error(st);
}

/* --- shared memory --- */

/* The element of an output: its UTXO, found by its owners. */
static void put_element(cd_vm_shared_elem *out, cd_arena *a, const cd_atomic_tx *t, u32 i)
{
    const cd_c_output *o = output_at(cd_atomic_export(t), i);
    const cd_owners *owners = &((const cd_transfer_output *)o->out.v)->owners;
    const cd_utxo utxo = {.tx_id = t->id, .output_idx = i, .asset_id = o->asset_id, .out = o->out};
    cd_buf value = {0};
    cd_hash32 *key = cd_arena_new(a, cd_hash32);
    cd_bytes *traits = cd_arena_array(a, cd_bytes, owners->addrs.cnt);
    cd_utxo_id(key, &t->id, i);
    cd_linear_put(&value, &cd_c_utxo_table, &utxo);
    for (u32 k = 0; k < owners->addrs.cnt; k++) {
        traits[k] = cd_bytes_of(((const cd_addr20 *)owners->addrs.v)[k].b, 20);
    }
    *out = (cd_vm_shared_elem){
        .key = cd_bytes_of(key->b, 32),
        .value = cd_arena_dup(a, cd_buf_bytes(&value)),
        .traits = traits,
        .trait_cnt = owners->addrs.cnt,
    };
    cd_buf_fini(&value);
}

void cd_atomic_change(cd_vm_shared_change *out, cd_arena *a, const cd_atomic_tx *t)
{
    *out = (cd_vm_shared_change){.peer = t->peer};
    if (cd_atomic_is_import(t)) {
        cd_bytes *keys = cd_arena_array(a, cd_bytes, t->input_cnt);
        for (usize i = 0; i < t->input_cnt; i++) {
            keys[i] = cd_bytes_of(t->inputs[i].b, 32);
        }
        out->removes = keys;
        out->remove_cnt = t->input_cnt;
        return;
    }
    u32 cnt = cd_atomic_export(t)->exported.cnt;
    cd_vm_shared_elem *puts = cd_arena_array(a, cd_vm_shared_elem, cnt);
    for (u32 i = 0; i < cnt; i++) {
        put_element(&puts[i], a, t, i);
    }
    out->puts = puts;
    out->put_cnt = cnt;
}
