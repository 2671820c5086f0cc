/* The object that describes a call or a transaction. [spec:eth-rpc#4] */
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/api.h"
#include "rpc/param.h"

static cd_err read_access_list(cd_rpc_call *call, cd_tx *tx, cd_json v, usize idx)
{
    usize cnt = cd_json_len(v);
    cd_access_tuple *tuples = cd_arena_array(call->arena, cd_access_tuple, cnt);
    cd_json_it it = cd_json_iter(v);
    for (usize i = 0; cd_json_next(&it); i++) {
        cd_json keys = cd_json_get(it.val, "storageKeys");
        CD_TRY(cd_rpc_read_addr(call, &tuples[i].addr, cd_json_get(it.val, "address"), idx));
        tuples[i].key_cnt = cd_json_len(keys);
        cd_hash32 *list = cd_arena_array(call->arena, cd_hash32, tuples[i].key_cnt);
        cd_json_it key = cd_json_iter(keys);
        for (usize j = 0; cd_json_next(&key); j++) {
            CD_TRY(cd_rpc_read_hash(call, &list[j], key.val, idx));
        }
        tuples[i].keys = list;
    }
    tx->access = tuples;
    tx->access_cnt = cnt;
    return CD_OK;
}

static cd_err read_authorization(cd_rpc_call *call, cd_authorization *out, cd_json v, usize idx)
{
    u64 parity = 0;
    CD_TRY(cd_rpc_read_u256(call, &out->chain_id, cd_json_get(v, "chainId"), idx));
    CD_TRY(cd_rpc_read_addr(call, &out->addr, cd_json_get(v, "address"), idx));
    CD_TRY(cd_rpc_read_u64(call, &out->nonce, cd_json_get(v, "nonce"), idx));
    CD_TRY(cd_rpc_read_u64(call, &parity, cd_json_get(v, "yParity"), idx));
    CD_TRY(cd_rpc_read_u256(call, &out->r, cd_json_get(v, "r"), idx));
    CD_TRY(cd_rpc_read_u256(call, &out->s, cd_json_get(v, "s"), idx));
    if (parity > UINT8_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: hex number > 8 bits", idx);
    }
    out->y_parity = (u8)parity;
    return CD_OK;
}

static cd_err read_data(cd_rpc_call *call, cd_tx *tx, cd_json v, usize idx)
{
    cd_json data = cd_json_get(v, "data");
    cd_json input = cd_json_get(v, "input");
    cd_bytes from_data = {0};
    if (cd_json_has(data)) {
        CD_TRY(cd_rpc_read_data(call, &from_data, data, idx));
        tx->data = from_data;
    }
    if (cd_json_has(input)) {
        CD_TRY(cd_rpc_read_data(call, &tx->data, input, idx));
        /* Calls of the original look at input alone; development tools want to hear of it [spec:dev-rpc#2.4]. */
        if (cd_api_of(call)->is_dev && cd_json_has(data) && !cd_bytes_eq(tx->data, from_data)) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                               "both \"data\" and \"input\" are set and not equal. Please use \"input\" to "
                               "pass transaction call data");
        }
    }
    return CD_OK;
}

/* Blobs and authorizations, which make the transaction one of their type; whether the chain has it is found out when
 * it is run. */
static cd_err read_typed(cd_rpc_call *call, cd_tx *tx, cd_json v, usize idx)
{
    cd_json blobs = cd_json_get(v, "blobVersionedHashes");
    cd_json blob_cap = cd_json_get(v, "maxFeePerBlobGas");
    cd_json auths = cd_json_get(v, "authorizationList");
    if (cd_json_has(blob_cap)) {
        CD_TRY(cd_rpc_read_u256(call, &tx->blob_fee_cap, blob_cap, idx));
    }
    if (cd_json_has(blobs)) {
        cd_hash32 *hashes = cd_arena_array(call->arena, cd_hash32, cd_json_len(blobs));
        cd_json_it it = cd_json_iter(blobs);
        for (; cd_json_next(&it); tx->blob_cnt++) {
            CD_TRY(cd_rpc_read_hash(call, &hashes[tx->blob_cnt], it.val, idx));
        }
        tx->blob_hashes = hashes;
        tx->type = CD_TX_BLOB;
    }
    if (cd_json_has(auths)) {
        cd_authorization *list = cd_arena_array(call->arena, cd_authorization, cd_json_len(auths));
        cd_json_it it = cd_json_iter(auths);
        for (; cd_json_next(&it); tx->auth_cnt++) {
            CD_TRY(read_authorization(call, &list[tx->auth_cnt], it.val, idx));
        }
        tx->auths = list;
        tx->type = CD_TX_SET_CODE;
    }
    return CD_OK;
}

static cd_err read_prices(cd_rpc_call *call, cd__tx_args *out, cd_json v, usize idx)
{
    cd_json price = cd_json_get(v, "gasPrice");
    cd_json fee_cap = cd_json_get(v, "maxFeePerGas");
    cd_json tip_cap = cd_json_get(v, "maxPriorityFeePerGas");
    bool has_caps = cd_json_has(fee_cap) || cd_json_has(tip_cap);
    out->has_fee_cap = cd_json_has(fee_cap);
    out->has_tip_cap = cd_json_has(tip_cap);
    out->has_price = has_caps || cd_json_has(price);
    if (cd_json_has(price)) {
        if (has_caps) {
            return cd_rpc_fail(call, CD_RPC_SERVER,
                               "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
        }
        CD_TRY(cd_rpc_read_u256(call, &out->tx.fee_cap, price, idx));
        out->tx.tip_cap = out->tx.fee_cap;
        out->tx.type = cd_json_has(cd_json_get(v, "accessList")) ? CD_TX_ACCESS_LIST : CD_TX_LEGACY;
        return CD_OK;
    }
    out->tx.type = CD_TX_DYNAMIC_FEE;
    if (cd_json_has(fee_cap)) {
        CD_TRY(cd_rpc_read_u256(call, &out->tx.fee_cap, fee_cap, idx));
    }
    if (cd_json_has(tip_cap)) {
        CD_TRY(cd_rpc_read_u256(call, &out->tx.tip_cap, tip_cap, idx));
    }
    return CD_OK;
}

cd_err cd__api_tx_args(cd_rpc_call *call, cd__tx_args *out, usize idx)
{
    return cd__api_tx_args_of(call, out, cd_rpc_arg(call, idx), idx);
}

cd_err cd__api_tx_args_of(cd_rpc_call *call, cd__tx_args *out, cd_json v, usize idx)
{
    cd_json from = cd_json_get(v, "from");
    cd_json to = cd_json_get(v, "to");
    cd_json gas = cd_json_get(v, "gas");
    cd_json nonce = cd_json_get(v, "nonce");
    cd_json chain_id = cd_json_get(v, "chainId");
    cd_tx *tx = &out->tx;
    *out = (cd__tx_args){0};
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: not a transaction object", idx);
    }
    tx->chain_id = cd_chain_rules_of(cd_api_of(call)->chain)->chain_id;
    tx->is_protected = true;
    tx->has_sender = true;
    tx->is_create = !cd_json_has(to);
    out->has_from = cd_json_has(from);
    out->has_gas = cd_json_has(gas);
    out->has_nonce = cd_json_has(nonce);
    if (out->has_from) {
        CD_TRY(cd_rpc_read_addr(call, &tx->sender, from, idx));
    }
    if (!tx->is_create) {
        CD_TRY(cd_rpc_read_addr(call, &tx->to, to, idx));
    }
    if (out->has_gas) {
        CD_TRY(cd_rpc_read_u64(call, &tx->gas_limit, gas, idx));
    }
    if (out->has_nonce) {
        CD_TRY(cd_rpc_read_u64(call, &tx->nonce, nonce, idx));
    }
    if (cd_json_has(cd_json_get(v, "value"))) {
        CD_TRY(cd_rpc_read_u256(call, &tx->value, cd_json_get(v, "value"), idx));
    }
    if (cd_json_has(chain_id)) {
        u64 want = tx->chain_id;
        CD_TRY(cd_rpc_read_u64(call, &tx->chain_id, chain_id, idx));
        if (tx->chain_id != want) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "chainId does not match node's (have=%llu, want=%llu)",
                               (unsigned long long)tx->chain_id, (unsigned long long)want);
        }
    }
    if (cd_json_has(cd_json_get(v, "accessList"))) {
        CD_TRY(read_access_list(call, tx, cd_json_get(v, "accessList"), idx));
    }
    CD_TRY(read_data(call, tx, v, idx));
    CD_TRY(read_prices(call, out, v, idx));
    return read_typed(call, tx, v, idx);
}
