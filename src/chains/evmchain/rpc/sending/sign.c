/* Transactions filled in or signed for the client, and waiting ones signed anew. [spec:eth-rpc#5] */
#include "base/hex.h"
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/sending/keys.h"
#include "chains/evmchain/rpc/sending/send.h"
#include "codec/rlp.h"
#include "crypto/hash/keccak.h"
#include "rpc/param.h"

/* A price, or null where the type has none of that kind. */
static void put_price(cd_json_w *w, const char *key, bool has, const cd_u256 *v)
{
    cd_json_w_key(w, key);
    if (has) {
        cd_json_w_qty_u256(w, v);
    } else {
        cd_json_w_null(w);
    }
}

/* The encoding; without a signature its three numbers are zero. */
static void encode(cd_buf *out, const cd_tx *tx, bool is_signed)
{
    if (is_signed || tx->type != CD_TX_LEGACY) {
        cd_tx_enc(out, tx);
        return;
    }
    usize at = cd_rlp_begin(out);
    cd_rlp_put_u64(out, tx->nonce);
    cd_rlp_put_u256(out, &tx->fee_cap);
    cd_rlp_put_u64(out, tx->gas_limit);
    cd_rlp_put_str(out, cd_bytes_of(tx->to.b, tx->is_create ? 0 : sizeof tx->to.b));
    cd_rlp_put_u256(out, &tx->value);
    cd_rlp_put_str(out, tx->data);
    for (usize i = 0; i < 3; i++) {
        cd_rlp_put_u64(out, 0);
    }
    cd_rlp_close(out, at);
}

void cd__api_write_filled(cd_json_w *w, const cd_tx *tx, bool is_signed)
{
    cd_buf raw = {0};
    cd_hash32 hash;
    cd_u256 v = is_signed ? cd_tx_v(tx) : cd_u256_zero();
    bool has_caps = tx->type >= CD_TX_DYNAMIC_FEE;
    encode(&raw, tx, is_signed);
    cd_keccak256(&hash, cd_buf_bytes(&raw));
    cd_json_w_obj(w);
    cd_json_w_key(w, "raw");
    cd_json_w_hex(w, cd_buf_bytes(&raw));
    cd_json_w_key(w, "tx");
    cd_json_w_obj(w);
    cd_json_put_qty(w, "type", tx->type);
    if (tx->type != CD_TX_LEGACY || is_signed) {
        cd_json_put_qty(w, "chainId", tx->chain_id);
    }
    cd_json_put_qty(w, "nonce", tx->nonce);
    cd_json_w_key(w, "to");
    if (tx->is_create) {
        cd_json_w_null(w);
    } else {
        cd_json_w_hex(w, cd_bytes_of(tx->to.b, 20));
    }
    cd_json_put_qty(w, "gas", tx->gas_limit);
    put_price(w, "gasPrice", !has_caps, &tx->fee_cap);
    put_price(w, "maxPriorityFeePerGas", has_caps, &tx->tip_cap);
    put_price(w, "maxFeePerGas", has_caps, &tx->fee_cap);
    cd_json_put_qty_u256(w, "value", &tx->value);
    cd_json_w_key(w, "input");
    cd_json_w_hex(w, tx->data);
    if (tx->type != CD_TX_LEGACY) {
        cd_json_w_key(w, "accessList");
        cd_api_access_list(w, tx);
    }
    cd_json_put_qty_u256(w, "v", &v);
    cd_json_put_qty_u256(w, "r", &tx->r);
    cd_json_put_qty_u256(w, "s", &tx->s);
    if (tx->type != CD_TX_LEGACY) {
        cd_json_put_qty(w, "yParity", tx->y_parity);
    }
    cd_json_w_key(w, "hash");
    cd_json_w_hex(w, cd_bytes_of(hash.b, 32));
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    cd_buf_fini(&raw);
}

cd_err cd__eth_fill_tx(cd_rpc_call *call)
{
    cd__tx_args args;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    if (args.tx.is_create && args.tx.data.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "contract creation without any data provided");
    }
    CD_TRY(cd__api_complete(call, &args));
    cd__api_write_filled(call->out, &args.tx, false);
    return CD_OK;
}

cd_err cd__eth_sign_tx(cd_rpc_call *call)
{
    cd__tx_args args;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    if (!args.has_gas) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "not specify Gas");
    }
    if (!args.has_price) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "missing gasPrice or maxFeePerGas/maxPriorityFeePerGas");
    }
    if (!args.has_nonce) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "not specify Nonce");
    }
    CD_TRY(cd__keys_sign_tx(call, &args.tx));
    cd__api_write_filled(call->out, &args.tx, true);
    return CD_OK;
}

/* Whether a transaction like tx, but for the signature, waits to be executed. */
static bool waits(const cd_api *e, const cd_tx *tx)
{
    cd_txpool_account a;
    cd_hash32 want;
    cd_tx_sign_hash(&want, tx);
    bool has_any = cd_txpool_account_of(e->pool, &a, &tx->sender);
    for (usize i = 0; has_any && i < a.pending_cnt; i++) {
        cd_hash32 got;
        cd_tx_sign_hash(&got, &a.txs[i]->tx);
        if (cd_hash32_eq(&got, &want)) {
            return true;
        }
    }
    return false;
}

static cd_err fail_not_waiting(cd_rpc_call *call, const cd_tx *tx)
{
    cd_buf raw = {0};
    cd_hash32 hash;
    char text[65] = {0};
    encode(&raw, tx, false);
    cd_keccak256(&hash, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    cd_hex_fmt(text, cd_bytes_of(hash.b, 32));
    return cd_rpc_fail(call, CD_RPC_SERVER, "transaction 0x%s not found", text);
}

cd_err cd__eth_resend(cd_rpc_call *call)
{
    cd__tx_args args;
    cd_u256 price = cd_u256_zero();
    u64 gas = 0;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    if (cd_rpc_has_arg(call, 1)) {
        CD_TRY(cd_rpc_read_u256(call, &price, cd_rpc_arg(call, 1), 1));
    }
    if (cd_rpc_has_arg(call, 2)) {
        CD_TRY(cd_rpc_read_u64(call, &gas, cd_rpc_arg(call, 2), 2));
    }
    if (!args.has_nonce) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "missing transaction nonce in transaction spec");
    }
    CD_TRY(cd__api_complete(call, &args));
    if (!waits(cd_api_of(call), &args.tx)) {
        return fail_not_waiting(call, &args.tx);
    }
    if (!cd_u256_is_zero(&price)) {
        args.tx.fee_cap = price;
        args.tx.tip_cap = price;
    }
    args.tx.gas_limit = gas != 0 ? gas : args.tx.gas_limit;
    CD_TRY(cd__keys_sign_tx(call, &args.tx));
    cd_buf raw = {0};
    cd_tx_enc(&raw, &args.tx);
    cd_err e = cd__api_send_raw(call, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return e;
}
