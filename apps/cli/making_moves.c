/* Transfers, exports and imports of all chains. [spec:pchain-xchain#4] [spec:evm-chain#9] */
#include "making.h"
#include "num/div.h"
#include "types/ctx.h"
#include "types/xtx.h"

enum { GAS_ATOMIC = 10000, GAS_SIGNATURE = 1000 };

/* --- transfers, of all chains --- */

static cd_linear_any body_of(const cd__making *m, u32 p_type, u32 x_type, void *v)
{
    return m->draft.chain->name[0] == 'X' ? (cd_linear_any){.is = cd_x_case((cd_x_type)x_type), .v = v}
                                          : cd_p_body((cd_p_tx_type)p_type, v);
}

static cd_linear_list one_output(const cd__making *m, const cd_hash32 *asset, u64 amount, const cd_owners *to)
{
    cd_p_output *out = cd_arena_new(m->w->mem, cd_p_output);
    *out = cd_wallet_output(m->w->mem, asset, amount, to);
    return (cd_linear_list){.v = out, .cnt = 1};
}

cd_err cd__make_transfer(cd__making *m, const cd_owners *to, const cd_hash32 *asset, u64 amount, cd_errinfo *why)
{
    const cd_wallet_need need = {.asset_id = *asset, .amount = amount};
    cd_p_base *base = cd_arena_new(m->w->mem, cd_p_base);
    *base = cd__make_base(m);
    base->outs = one_output(m, asset, amount, to);
    m->draft.body = body_of(m, CD_P_BASE_TX, CD_X_BASE_TX, base);
    return cd_wallet_fund(&m->draft, &m->purse, &need, 1, &m->fee, why);
}

/* The fee of gas in base units, rounded up; a quarter more than now, since the base fee may rise until then. */
static cd_err atomic_fee(cd__making *m, u64 *out, u64 gas, cd_errinfo *why)
{
    cd_u256 fee;
    cd_u256 rate = cd_u256_from_u64(cd__wei_per_unit(m->w));
    CD_TRY(cd__base_fee(m->w, &fee, why));
    if (!cd_u256_checked_mul_u64(&fee, &fee, gas + gas / 4) ||
        cd_u256_add_u64(&fee, &fee, cd__wei_per_unit(m->w) - 1)) {
        return cd_fail(why, CD_ERANGE, "the base fee is too high");
    }
    cd_u256 units;
    cd_u256_div(&units, &fee, &rate);
    if (!cd_u256_fits_u64(&units)) {
        return cd_fail(why, CD_ERANGE, "the base fee is too high");
    }
    *out = cd_u256_to_u64_sat(&units);
    return CD_OK;
}

static u64 atomic_gas(const cd__making *m)
{
    cd_buf bytes = {0};
    u64 sigs = 0;
    for (u32 i = 0; i < m->draft.slot_cnt; i++) {
        sigs += m->draft.slots[i].cnt;
    }
    cd_wallet_unsigned(&bytes, &m->draft);
    u64 gas = bytes.n + sigs * GAS_SIGNATURE + GAS_ATOMIC;
    cd_buf_fini(&bytes);
    return gas;
}

/* Makes the body of an atomic transaction of the C-Chain. */
static cd_linear_any c_body(cd_c_tx_type type, void *v)
{
    const cd_linear_field *body = &cd_c_tx_table.fields[0];
    for (u32 i = 0; i < body->any->cnt; i++) {
        if (body->any->cases[i].id == (u32)type) {
            return (cd_linear_any){.is = &body->any->cases[i], .v = v};
        }
    }
    CD_UNREACHABLE();
}

static cd_err c_export(cd__making *m, const char *destination, const cd_owners *to, u64 amount, cd_errinfo *why)
{
    cd_json v;
    u64 fee;
    cd_c_export *t = cd_arena_new(m->w->mem, cd_c_export);
    cd_c_debit *debit = cd_arena_new(m->w->mem, cd_c_debit);
    if (!m->payer->has_secrets) {
        return cd_fail(why, CD_EINVAL, "an account of the C-Chain pays: name its key");
    }
    const cd_addr20 *account = &m->payer->eth[0];
    cd_buf hex = {0};
    cd_json_w out = {.out = &hex};
    cd_json_w_hex(&out, cd_bytes_of(account->b, sizeof account->b));
    const char *params = cd_arena_fmt(m->w->mem, "[%s,\"latest\"]", cd_buf_cstr(&hex));
    cd_buf_fini(&hex);
    CD_TRY(cd__remote_ask(m->w->node, &v, "/ext/bc/C/rpc", "eth_getTransactionCount", params, why));
    CD_TRY(cd_json_qty_u64(&debit->nonce, v, why));
    debit->addr = *account;
    debit->asset_id = m->w->asset_id;
    *t = (cd_c_export){.network_id = m->w->network.id, .chain_id = m->w->c_chain_id};
    CD_TRY(cd__chain_id(m->w, &t->destination_chain, destination, why));
    t->ins = (cd_linear_list){.v = debit, .cnt = 1};
    t->exported = one_output(m, &m->w->asset_id, amount, to); /* an output of P has the same form as cd_c_output */
    m->draft.body = c_body(CD_C_EXPORT, t);
    const cd_wallet_slot slot = {.type = CD_P_CREDENTIAL, .cnt = 1, .signers = &m->payer->addrs[0]};
    cd_wallet_slots_add(&m->draft, m->w->mem, &slot, 1);
    CD_TRY(atomic_fee(m, &fee, atomic_gas(m), why));
    return cd_add_u64(&debit->amount, amount, fee) ? CD_OK : cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
}

_Static_assert(sizeof(cd_c_output) == sizeof(cd_p_output) && sizeof(cd_c_input) == sizeof(cd_p_input),
               "inputs and outputs are of one form on all chains");

cd_err cd__make_export(cd__making *m, const char *destination, const cd_owners *to, const cd_hash32 *asset, u64 amount,
                       cd_errinfo *why)
{
    if (strcmp(destination, m->draft.chain->name) == 0 || destination[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--destination: another chain than %s is needed", m->draft.chain->name);
    }
    if (m->draft.chain->name[0] == 'C') {
        return c_export(m, destination, to, amount, why);
    }
    const cd_wallet_need need = {.asset_id = *asset, .amount = amount};
    cd_p_export *t = cd_arena_new(m->w->mem, cd_p_export);
    t->base = cd__make_base(m);
    CD_TRY(cd__chain_id(m->w, &t->destination_chain, destination, why));
    t->exported = one_output(m, asset, amount, to);
    m->draft.body = body_of(m, CD_P_EXPORT, CD_X_EXPORT, t);
    return cd_wallet_fund(&m->draft, &m->purse, &need, 1, &m->fee, why);
}

static cd_err c_import(cd__making *m, const cd_wallet_taken *taken, const cd_hash32 *source, cd_errinfo *why)
{
    u64 fee;
    cd_c_import *t = cd_arena_new(m->w->mem, cd_c_import);
    cd_c_credit *credit = cd_arena_new(m->w->mem, cd_c_credit);
    if (!m->payer->has_secrets) {
        return cd_fail(why, CD_EINVAL, "an account of the C-Chain gets it: name its key");
    }
    *credit = (cd_c_credit){.addr = m->payer->eth[0], .amount = 1, .asset_id = m->w->asset_id};
    *t = (cd_c_import){.network_id = m->w->network.id, .chain_id = m->w->c_chain_id, .source_chain = *source};
    t->imported = taken->ins;
    t->outs = (cd_linear_list){.v = credit, .cnt = 1};
    m->draft.body = c_body(CD_C_IMPORT, t);
    cd_wallet_slots_add(&m->draft, m->w->mem, taken->slots, taken->ins.cnt);
    CD_TRY(atomic_fee(m, &fee, atomic_gas(m), why));
    if (taken->sums[0].amount <= fee) {
        return cd_fail(why, CD_ERANGE, "what came does not pay the fee of %s",
                       cd__amount_text(m->w->mem, fee, m->w->decimals));
    }
    credit->amount = taken->sums[0].amount - fee;
    return CD_OK;
}

cd_err cd__make_import(cd__making *m, const char *source, const cd_owners *to, cd_errinfo *why)
{
    cd_wallet_taken taken;
    cd_wallet_purse there = m->purse;
    cd_utxo *utxos;
    cd_hash32 source_id;
    const bool is_c = m->draft.chain->name[0] == 'C';
    if (strcmp(source, m->draft.chain->name) == 0 || source[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--source: another chain than %s is needed", m->draft.chain->name);
    }
    CD_TRY(cd__chain_id(m->w, &source_id, source, why));
    CD_TRY(cd__utxos(m->w, &utxos, &there.utxo_cnt, m->draft.chain, source, m->payer->addrs, m->payer->cnt, why));
    there.utxos = utxos;
    CD_TRY(cd_wallet_take(&taken, &there, is_c ? &m->w->asset_id : NULL, why));
    if (is_c) {
        return c_import(m, &taken, &source_id, why);
    }
    cd_p_import *t = cd_arena_new(m->w->mem, cd_p_import);
    *t = (cd_p_import){.base = cd__make_base(m), .source_chain = source_id, .imported = taken.ins};
    m->draft.body = body_of(m, CD_P_IMPORT, CD_X_IMPORT, t);
    return cd_wallet_fund_import(&m->draft, &m->purse, &taken, to, &m->fee, why);
}

/* --- the same, as the flags say --- */

static cd_err transfer(cd__making *m, cd_errinfo *why)
{
    cd_owners to;
    cd_hash32 asset;
    u64 amount;
    CD_TRY(cd__make_amount(m, &asset, &amount, why));
    CD_TRY(cd__make_owners(m, &to, why));
    return cd__make_transfer(m, &to, &asset, amount, why);
}

static cd_err export(cd__making *m, cd_errinfo *why)
{
    cd_owners to;
    cd_hash32 asset;
    u64 amount;
    CD_TRY(cd__make_amount(m, &asset, &amount, why));
    CD_TRY(cd__make_owners(m, &to, why));
    return cd__make_export(m, cd_args_str(m->args, MAKE_CHAIN_TO), &to, &asset, amount, why);
}

static cd_err import(cd__making *m, cd_errinfo *why)
{
    cd_owners to;
    CD_TRY(cd__make_owners(m, &to, why));
    return cd__make_import(m, cd_args_str(m->args, MAKE_CHAIN_FROM), &to, why);
}

const cd__make_row cd__make_move[] = {
    {"p-transfer", "P", transfer, "pay on the P-Chain", "--to --amount [--threshold]"},
    {"p-import", "P", import, "take what X or C has left for P", "--source [--to]"},
    {"p-export", "P", export, "leave it for X or C", "--destination --amount [--to]"},
    {"x-transfer", "X", transfer, "pay on the X-Chain, in any asset", "--to --amount [--asset] [--threshold]"},
    {"x-import", "X", import, "take what P or C has left for X", "--source [--to]"},
    {"x-export", "X", export, "leave it for P or C", "--destination --amount [--asset] [--to]"},
    {"c-import", "C", import, "take what P or X has left for the account of the key", "--source"},
    {"c-export", "C", export, "leave it for P or X", "--destination --amount [--to]"},
};
const usize cd__make_move_cnt = CD_COUNT(cd__make_move);
