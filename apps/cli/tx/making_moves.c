/* Transfers, exports and imports of all chains. [spec:pchain-xchain#4] [spec:evm-chain#9] */
#include "chains/wallet/accounts.h"
#include "tx/making.h"
#include "types/xtx.h"

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

/* The C-Chain as it is now. */
static cd_err c_chain(cd__making *m, cd_wallet_c *out, cd_errinfo *why)
{
    *out = (cd_wallet_c){.network_id = m->w->network.id,
                         .chain_id = m->w->c_chain_id,
                         .asset_id = m->w->asset_id,
                         .rate = cd__wei_per_unit(m->w)};
    return cd__base_fee(m->w, &out->base_fee, why);
}

/* Asks what the account of the key has, and how often it has paid. */
static cd_err read_account(cd__making *m, cd_wallet_account *out, const cd_wallet_c *c, cd_errinfo *why)
{
    cd_json v;
    cd_u256 wei;
    cd_buf hex = {0};
    cd_json_w text = {.out = &hex};
    *out = (cd_wallet_account){.acct = m->payer->eth[0], .addr = m->payer->addrs[0]};
    cd_json_w_hex(&text, cd_bytes_of(out->acct.b, sizeof out->acct.b));
    const char *params = cd_arena_fmt(m->w->mem, "[%s,\"latest\"]", cd_buf_cstr(&hex));
    cd_buf_fini(&hex);
    CD_TRY(cd__remote_ask(m->w->node, &v, "/ext/bc/C/rpc", "eth_getTransactionCount", params, why));
    CD_TRY(cd_json_qty_u64(&out->nonce, v, why));
    CD_TRY(cd__remote_ask(m->w->node, &v, "/ext/bc/C/rpc", "eth_getBalance", params, why));
    CD_TRY(cd_json_qty_u256(&wei, v, why));
    out->units = cd_wallet_units(c, &wei);
    return CD_OK;
}

static cd_err c_export(cd__making *m, const char *destination, const cd_owners *to, u64 amount, cd_errinfo *why)
{
    cd_wallet_c c;
    cd_wallet_account *acct = cd_arena_new(m->w->mem, cd_wallet_account);
    cd_hash32 id;
    if (!m->payer->has_secrets) {
        return cd_fail(why, CD_EINVAL, "an account of the C-Chain pays: name its key");
    }
    CD_TRY(cd__chain_id(m->w, &id, destination, why));
    CD_TRY(c_chain(m, &c, why));
    CD_TRY(read_account(m, acct, &c, why));
    return cd_wallet_export_c(&m->draft, &c, m->w->mem, acct, 1, &id, to, amount, why);
}

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

static cd_err c_import(cd__making *m, const cd_wallet_purse *there, const cd_hash32 *source, cd_errinfo *why)
{
    cd_wallet_c c;
    if (!m->payer->has_secrets) {
        return cd_fail(why, CD_EINVAL, "an account of the C-Chain gets it: name its key");
    }
    CD_TRY(c_chain(m, &c, why));
    return cd_wallet_import_c(&m->draft, &c, there, source, &m->payer->eth[0], why);
}

cd_err cd__make_import(cd__making *m, const char *source, const cd_owners *to, cd_errinfo *why)
{
    cd_wallet_taken taken;
    cd_wallet_purse there = m->purse;
    cd_utxo *utxos;
    cd_hash32 source_id;
    if (strcmp(source, m->draft.chain->name) == 0 || source[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--source: another chain than %s is needed", m->draft.chain->name);
    }
    CD_TRY(cd__chain_id(m->w, &source_id, source, why));
    CD_TRY(cd__utxos(m->w, &utxos, &there.utxo_cnt, m->draft.chain, source, m->payer->addrs, m->payer->cnt, why));
    there.utxos = utxos;
    if (m->draft.chain->name[0] == 'C') {
        return c_import(m, &there, &source_id, why);
    }
    CD_TRY(cd_wallet_take(&taken, &there, NULL, CD_WALLET_INPUTS_MAX, why));
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
