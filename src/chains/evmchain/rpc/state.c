/* Methods that read accounts, code and storage. */
#include "base/hex.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/param.h"

/* Opens the state at the block of parameter idx, and reads in it the account that parameter 0 names. Behind success the
 * source is the caller's to end. */
static cd_err open_account(cd_rpc_call *call, cd_view_source *src, cd_addr20 *addr, cd_account *out, usize idx)
{
    bool found;
    CD_TRY(cd__api_need(call, idx));
    CD_TRY(cd_rpc_read_addr(call, addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__api_source(call, src, cd_rpc_arg(call, idx), idx));
    *out = (cd_account){.code_hash = CD_HASH_EMPTY_CODE, .storage_root = CD_HASH_EMPTY_TRIE};
    cd_state_source *state = &src->world.src;
    cd_err e = state->account(state, out, &found, addr);
    if (e != CD_OK) {
        cd_view_source_fini(src);
        return cd_api_store(call, e);
    }
    return CD_OK;
}

cd_err cd__eth_get_balance(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_account a;
    CD_TRY(cd__api_need(call, 1));
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__api_account(call, &a, &addr, cd_rpc_arg(call, 1), 1));
    cd_json_w_qty_u256(call->out, &a.balance);
    return CD_OK;
}

cd_err cd__eth_get_tx_count(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_account a;
    cd_block_ref ref;
    CD_TRY(cd__api_need(call, 1));
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 1), 1));
    if (ref.tag == CD_TAG_PENDING && call->lane == CD_RPC_OWNER) {
        cd_err e = cd_view_account(cd_api_view(call), &a, &addr, true);
        if (e != CD_OK) {
            return cd_api_store(call, e);
        }
        a.nonce = cd_txpool_nonce(cd_api_of(call)->pool, &addr, a.nonce);
    } else {
        CD_TRY(cd__api_account(call, &a, &addr, cd_rpc_arg(call, 1), 1));
    }
    cd_json_w_qty(call->out, a.nonce);
    return CD_OK;
}

cd_err cd__eth_get_code(cd_rpc_call *call)
{
    cd_view_source src;
    cd_addr20 addr;
    cd_account a;
    cd_bytes code = {0};
    cd_err e = CD_OK;
    CD_TRY(open_account(call, &src, &addr, &a, 1));
    if (!cd_hash32_eq(&a.code_hash, &CD_HASH_EMPTY_CODE)) {
        cd_state_source *state = &src.world.src;
        e = state->code(state, &code, &a.code_hash);
    }
    if (e == CD_OK) {
        cd_json_w_hex(call->out, code);
    }
    cd_view_source_fini(&src);
    return e == CD_OK ? CD_OK : cd_api_store(call, e);
}

cd_err cd__api_slot_key(cd_rpc_call *call, cd_u256 *out, cd_json v, usize idx)
{
    cd_bytes s;
    u8 word[32];
    char padded[64];
    if (cd_json_str(&s, v, NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument %zu: json: cannot unmarshal non-string into Go value "
                           "of type string",
                           idx);
    }
    if (s.n >= 2 && s.p[0] == '0' && (s.p[1] | 0x20) == 'x') {
        s = cd_bytes_sub(s, 2, s.n - 2);
    }
    if (s.n > sizeof padded) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "unable to decode storage key: hex string too long, want at most 32 "
                           "bytes");
    }
    memset(padded, '0', sizeof padded);
    memcpy(padded + sizeof padded - s.n, s.p, s.n);
    if (cd_hex_parse(word, cd_bytes_of(padded, sizeof padded)) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unable to decode storage key: hex string invalid");
    }
    cd_u256_load_be(out, word);
    return CD_OK;
}

cd_err cd__eth_get_storage_at(cd_rpc_call *call)
{
    cd_view_source src;
    cd_addr20 addr;
    cd_account a;
    cd_u256 slot;
    cd_u256 value;
    u8 word[32];
    CD_TRY(cd__api_slot_key(call, &slot, cd_rpc_arg(call, 1), 1));
    CD_TRY(open_account(call, &src, &addr, &a, 2));
    cd_state_source *state = &src.world.src;
    cd_err e = state->storage(state, &value, &addr, &slot);
    cd_view_source_fini(&src);
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    cd_u256_store_be(word, &value);
    cd_json_w_hex(call->out, cd_bytes_of(word, 32));
    return CD_OK;
}
