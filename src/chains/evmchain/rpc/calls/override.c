#include "chains/evmchain/rpc/calls/override.h"

#include "base/hex.h"
#include "rpc/param.h"
#include "types/addr_text.h"

/* --- state --- */

/* Reads the name of a member as n bytes of hex. */
static cd_err read_key(cd_rpc_call *call, u8 *out, usize n, const char *type, cd_bytes key, usize idx)
{
    if (key.n < 2 || key.p[0] != '0' || (key.p[1] | 0x20) != 'x') {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: hex string without 0x prefix", idx);
    }
    if (key.n != 2 + 2 * n) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument %zu: hex string has length %zu, want %zu for %s", idx, key.n - 2, 2 * n,
                           type);
    }
    if (cd_hex_parse(out, cd_bytes_sub(key, 2, 2 * n)) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: invalid hex string", idx);
    }
    return CD_OK;
}

static cd_err set_slots(cd_rpc_call *call, cd_state *st, cd_acct *a, cd_json v, usize idx)
{
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        cd_hash32 key;
        cd_hash32 value;
        CD_TRY(read_key(call, key.b, sizeof key.b, "common.Hash", it.key, idx));
        CD_TRY(cd_rpc_read_hash(call, &value, it.val, idx));
        cd_u256 slot = cd_u256_from_hash(&key);
        cd_u256 word = cd_u256_from_hash(&value);
        cd_state_set_slot(st, cd_state_slot(st, a, &slot), &word);
    }
    return CD_OK;
}

/* Empties the storage and keeps the rest: the account goes at the end of a transaction and comes back in the next. */
static void wipe_storage(cd_state *st, cd_acct *a)
{
    if ((a->flags & CD_ACCT_EXISTS) == 0) {
        return;
    }
    cd_bytes code = cd_state_code(st, a);
    cd_u256 balance = a->balance;
    u64 nonce = a->nonce;
    cd_state_destroy(st, a);
    cd_state_end_tx(st, false);
    cd_state_begin_tx(st);
    cd_state_set_balance(st, a, &balance);
    cd_state_set_nonce(st, a, nonce);
    if (code.n != 0) {
        cd_state_set_code(st, a, code);
    }
}

static cd_err set_account(cd_rpc_call *call, cd_state *st, const cd_addr20 *addr, cd_json v, usize idx)
{
    cd_acct *a = cd_state_acct(st, addr);
    cd_json state = cd_json_get(v, "state");
    cd_json diff = cd_json_get(v, "stateDiff");
    if (cd_json_has(cd_json_get(v, "nonce"))) {
        u64 nonce;
        CD_TRY(cd_rpc_read_u64(call, &nonce, cd_json_get(v, "nonce"), idx));
        cd_state_set_nonce(st, a, nonce);
    }
    if (cd_json_has(cd_json_get(v, "code"))) {
        cd_bytes code;
        CD_TRY(cd_rpc_read_data(call, &code, cd_json_get(v, "code"), idx));
        cd_state_set_code(st, a, code);
    }
    if (cd_json_has(cd_json_get(v, "balance"))) {
        cd_u256 balance;
        CD_TRY(cd_rpc_read_u256(call, &balance, cd_json_get(v, "balance"), idx));
        cd_state_set_balance(st, a, &balance);
    }
    if (cd_json_has(state) && cd_json_has(diff)) {
        char text[CD_ADDR_TEXT_SIZE];
        return cd_rpc_fail(call, CD_RPC_SERVER, "account %s has both 'state' and 'stateDiff'", cd_addr_fmt(text, addr));
    }
    if (cd_json_has(state)) {
        wipe_storage(st, a);
    }
    return set_slots(call, st, a, cd_json_has(state) ? state : diff, idx);
}

/* Removes or moves the precompile that one account is. */
static cd_err change_precompile(cd_rpc_call *call, cd_precompile_table *t, const cd_addr20 *addr, cd_json v,
                                cd_json all, usize idx)
{
    cd_json to = cd_json_get(v, "movePrecompileToAddress");
    char text[CD_ADDR_TEXT_SIZE];
    cd_addr20 target;
    cd_json_it it = cd_json_iter(all);
    if (!cd_json_has(to)) {
        cd_precompile_table_remove(t, addr);
        return CD_OK;
    }
    CD_TRY(cd_rpc_read_addr(call, &target, to, idx));
    if (cd_precompile_find(t, addr) == NULL) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "account %s is not a precompile", cd_addr_fmt(text, addr));
    }
    while (cd_json_next(&it)) {
        cd_addr20 other;
        CD_TRY(read_key(call, other.b, sizeof other.b, "common.Address", it.key, idx));
        if (cd_addr20_eq(&other, &target)) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "account %s is already overridden", cd_addr_fmt(text, &target));
        }
    }
    return cd_precompile_table_move(t, addr, &target) == CD_OK
               ? CD_OK
               : cd_rpc_fail(call, CD_RPC_SERVER, "account %s has already been overridden by a precompile",
                             cd_addr_fmt(text, &target));
}

cd_err cd__api_override_table(cd_rpc_call *call, cd_precompile_table **out, const cd_precompile_table *base, cd_json v,
                              usize idx)
{
    cd_precompile_table *t = NULL;
    cd_err e = CD_OK;
    cd_json_it it = cd_json_iter(v);
    while (e == CD_OK && cd_json_next(&it)) {
        cd_addr20 addr;
        e = read_key(call, addr.b, sizeof addr.b, "common.Address", it.key, idx);
        bool is_change = e == CD_OK && (cd_precompile_find(base, &addr) != NULL ||
                                        cd_json_has(cd_json_get(it.val, "movePrecompileToAddress")));
        if (is_change) {
            t = t == NULL ? cd_precompile_table_copy(base) : t;
            e = change_precompile(call, t, &addr, it.val, v, idx);
        }
    }
    if (e != CD_OK) {
        cd_precompile_table_free(t);
        return e;
    }
    *out = t;
    return CD_OK;
}

cd_err cd__api_override_accounts(cd_rpc_call *call, cd_state *st, cd_json v, usize idx)
{
    cd_err e = CD_OK;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    cd_state_begin_tx(st);
    cd_json_it it = cd_json_iter(v);
    while (e == CD_OK && cd_json_next(&it)) {
        cd_addr20 addr;
        e = read_key(call, addr.b, sizeof addr.b, "common.Address", it.key, idx);
        e = e == CD_OK ? set_account(call, st, &addr, it.val, idx) : e;
    }
    cd_state_end_tx(st, false);
    return e;
}

/* --- block --- */

/* A member by its name of today or its older one. */
static cd_json member(cd_json v, const char *name, const char *older)
{
    cd_json m = cd_json_get(v, name);
    return cd_json_has(m) || older == NULL ? m : cd_json_get(v, older);
}

static cd_err read_u64(cd_rpc_call *call, u64 *out, cd_json v, usize idx)
{
    return cd_json_has(v) ? cd_rpc_read_u64(call, out, v, idx) : CD_OK;
}

static cd_err read_u256(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx)
{
    return cd_json_has(v) ? cd_rpc_read_u256(call, out, v, idx) : CD_OK;
}

cd_err cd__api_override_block(cd_rpc_call *call, cd_block_env *env, cd_json v, usize idx)
{
    static const char *const impossible[] = {"beaconRoot", "withdrawals"};
    cd_json recipient = member(v, "feeRecipient", "coinbase");
    cd_json randao = member(v, "prevRandao", "random");
    for (usize i = 0; i < CD_COUNT(impossible); i++) {
        if (cd_json_has(cd_json_get(v, impossible[i]))) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "block override \"%s\" is not supported for this RPC method",
                               impossible[i]);
        }
    }
    CD_TRY(read_u64(call, &env->number, cd_json_get(v, "number"), idx));
    CD_TRY(read_u64(call, &env->time, member(v, "time", "timestamp"), idx));
    CD_TRY(read_u64(call, &env->gas_limit, cd_json_get(v, "gasLimit"), idx));
    CD_TRY(read_u256(call, &env->base_fee, member(v, "baseFeePerGas", "baseFee"), idx));
    CD_TRY(read_u256(call, &env->blob_base_fee, cd_json_get(v, "blobBaseFee"), idx));
    CD_TRY(read_u256(call, &env->prev_randao, cd_json_get(v, "difficulty"), idx));
    if (cd_json_has(recipient)) {
        CD_TRY(cd_rpc_read_addr(call, &env->coinbase, recipient, idx));
    }
    if (cd_json_has(randao)) {
        cd_hash32 word;
        CD_TRY(cd_rpc_read_hash(call, &word, randao, idx));
        env->prev_randao = cd_u256_from_hash(&word);
    }
    return CD_OK;
}
