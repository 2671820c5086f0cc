/* eth_call and eth_estimateGas: transactions that are only tried. */
#include "base/hex.h"
#include "chains/evmchain/evm_vm_priv.h"
#include "chains/evmchain/api/revert.h"

/* rpc-gas-cap [spec:evm-chain#11]. */
enum { GAS_CAP = 50000000, TX_GAS = 21000 };

/* --- reading the object ------------------------------------------------------------------------- */

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
        if (cd_json_has(data) && !cd_bytes_eq(tx->data, from_data)) {
            return cd_rpc_fail(
                call, CD_RPC_INVALID_PARAMS,
                "both \"data\" and \"input\" are set and not equal. Please use \"input\" to "
                "pass transaction call data");
        }
    }
    return CD_OK;
}

static cd_err read_prices(cd_rpc_call *call, cd__tx_args *out, cd_json v, usize idx)
{
    cd_json price = cd_json_get(v, "gasPrice");
    cd_json fee_cap = cd_json_get(v, "maxFeePerGas");
    cd_json tip_cap = cd_json_get(v, "maxPriorityFeePerGas");
    bool has_caps = cd_json_has(fee_cap) || cd_json_has(tip_cap);
    out->has_price = has_caps || cd_json_has(price);
    if (cd_json_has(price)) {
        if (has_caps) {
            return cd_rpc_fail(
                call, CD_RPC_SERVER,
                "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
        }
        CD_TRY(cd_rpc_read_u256(call, &out->tx.fee_cap, price, idx));
        out->tx.tip_cap = out->tx.fee_cap;
        out->tx.type = out->tx.access_cnt != 0 ? CD_TX_ACCESS_LIST : CD_TX_LEGACY;
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
    cd_json v = cd_rpc_arg(call, idx);
    cd_json from = cd_json_get(v, "from");
    cd_json to = cd_json_get(v, "to");
    cd_json gas = cd_json_get(v, "gas");
    cd_json nonce = cd_json_get(v, "nonce");
    cd_json chain_id = cd_json_get(v, "chainId");
    cd_tx *tx = &out->tx;
    *out = (cd__tx_args){0};
    if (cd_json_kind_of(v) != CD_JSON_OBJ) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument %zu: not a transaction object", idx);
    }
    tx->chain_id = cd_chain_rules_of(cd__vm_of(call)->chain)->chain_id;
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
            return cd_rpc_fail(call, CD_RPC_SERVER,
                               "chainId does not match node's (have=%llu, want=%llu)",
                               (unsigned long long)tx->chain_id, (unsigned long long)want);
        }
    }
    if (cd_json_has(cd_json_get(v, "accessList"))) {
        CD_TRY(read_access_list(call, tx, cd_json_get(v, "accessList"), idx));
    }
    CD_TRY(read_data(call, tx, v, idx));
    return read_prices(call, out, v, idx);
}

/* --- trying ------------------------------------------------------------------------------------- */

/* Runs tx on the head's state and forgets what it changed; the output stays until the next try. */
static cd_err try_tx(cd_rpc_call *call, cd_tx_result *res, const cd_tx *tx)
{
    static const cd_tx_relax relax = {
        .nonce = true, .sender = true, .base_fee = true, .balance = true};
    cd_evm_vm *e = cd__vm_of(call);
    const cd_header *h = &cd_chain_head(e->chain)->header;
    cd_fork fork = cd_chain_rules_fork(cd_chain_rules_of(e->chain), h->number, h->time);
    cd_block_env env;
    u64 gas_pool = UINT64_MAX;
    cd_chain_env(e->chain, &env, h);
    cd_arena_reset(&e->head.world.code_arena);
    cd_state_reset(e->call_st, &e->head.world.src);
    cd_evm_set_block(e->call_evm, fork, cd_chain_rules_of(e->chain)->profile, &env, e->call_st,
                     cd_precompile_eth(fork));
    cd_tx_invalid bad = cd_tx_apply(e->call_evm, res, &gas_pool, tx, &relax);
    cd_err err = cd_state_error(e->call_st);
    if (err != CD_OK) {
        return cd__api_store(call, err);
    }
    if (bad != CD_TX_VALID) {
        char who[41] = {0};
        cd_hex_fmt(who, cd_bytes_of(tx->sender.b, 20));
        return cd_rpc_fail(call, CD_RPC_SERVER, "err: %s: address 0x%s (supplied gas %llu)",
                           cd_tx_invalid_str(bad), who, (unsigned long long)tx->gas_limit);
    }
    return CD_OK;
}

/* Fails the call as the message failed. */
static cd_err fail_as(cd_rpc_call *call, const cd_tx_result *res)
{
    if (res->status != CD_EVM_REVERT) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", cd_evm_status_str(res->status));
    }
    if (res->output.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "execution reverted");
    }
    cd_buf data = {0};
    cd_buf_u8(&data, '"');
    cd_hex_put(&data, res->output);
    cd_buf_u8(&data, '"');
    call->error_data = cd_arena_str(call->arena, cd_buf_bytes(&data));
    cd_buf_fini(&data);
    const char *reason = cd_revert_reason(call->arena, res->output);
    return reason == NULL ? cd_rpc_fail(call, CD_RPC_REVERTED, "execution reverted")
                          : cd_rpc_fail(call, CD_RPC_REVERTED, "execution reverted: %s", reason);
}

static cd_err eth_call(cd_rpc_call *call)
{
    cd__tx_args args;
    cd_tx_result res;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(cd__api_head_only(call, cd_rpc_arg(call, 1), 1));
    args.tx.gas_limit = args.has_gas ? cd_min_u64(args.tx.gas_limit, GAS_CAP) : GAS_CAP;
    CD_TRY(try_tx(call, &res, &args.tx));
    if (res.status != CD_EVM_OK) {
        return fail_as(call, &res);
    }
    cd_json_w_hex(call->out, res.output);
    return CD_OK;
}

/* --- estimating --------------------------------------------------------------------------------- */

static bool is_plain_transfer(cd_rpc_call *call, const cd_tx *tx)
{
    cd_state_source *src = &cd__vm_of(call)->head.world.src;
    cd_account to = {0};
    bool found = false;
    if (tx->is_create || tx->data.n != 0 || tx->access_cnt != 0) {
        return false;
    }
    return src->account(src, &to, &found, &tx->to) == CD_OK &&
           (!found || cd_hash32_eq(&to.code_hash, &CD_HASH_EMPTY_CODE));
}

cd_err cd__api_estimate(cd_rpc_call *call, u64 *out, const cd__tx_args *args)
{
    cd_tx tx = args->tx;
    cd_tx_result res;
    u64 block_limit = cd_chain_head(cd__vm_of(call)->chain)->header.gas_limit;
    u64 hi = args->has_gas && tx.gas_limit >= TX_GAS ? tx.gas_limit : block_limit;
    hi = cd_min_u64(hi, GAS_CAP);

    if (is_plain_transfer(call, &tx)) {
        tx.gas_limit = TX_GAS;
        CD_TRY(try_tx(call, &res, &tx));
        if (res.status == CD_EVM_OK) {
            *out = TX_GAS;
            return CD_OK;
        }
    }
    tx.gas_limit = hi;
    CD_TRY(try_tx(call, &res, &tx));
    if (res.status == CD_EVM_OUT_OF_GAS) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "gas required exceeds allowance (%llu)",
                           (unsigned long long)hi);
    }
    if (res.status != CD_EVM_OK) {
        return fail_as(call, &res);
    }
    /* Below what was used it cannot work; 1.5 per cent above the least is near enough, as in go-ethereum. */
    u64 lo = res.gas_used - 1;
    u64 first = (res.gas_used + res.gas_refunded) * 64 / 63 + 2300;
    u64 mid = first < hi ? first : lo + (hi - lo) / 2;
    while (lo + 1 < hi && (hi - lo) * 1000 > hi * 15) {
        tx.gas_limit = mid;
        cd_err e = try_tx(call, &res, &tx);
        call->error_message = NULL; /* too little gas to start with is no failure of the call */
        if (e == CD_OK && res.status == CD_EVM_OK) {
            hi = mid;
        } else {
            lo = mid;
        }
        mid = lo + (hi - lo) / 2;
        mid = cd_min_u64(mid, lo * 2);
    }
    *out = hi;
    return CD_OK;
}

static cd_err eth_estimate_gas(cd_rpc_call *call)
{
    cd__tx_args args;
    u64 gas;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(cd__api_head_only(call, cd_rpc_arg(call, 1), 1));
    CD_TRY(cd__api_estimate(call, &gas, &args));
    cd_json_w_qty(call->out, gas);
    return CD_OK;
}

const cd_rpc_method cd__api_call[] = {
    {"eth_call", eth_call, 1, 2},
    {"eth_estimateGas", eth_estimate_gas, 1, 2},
};
const usize cd__api_call_cnt = CD_COUNT(cd__api_call);
