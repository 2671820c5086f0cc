/* Methods that read accounts, code and storage. */
#include "chains/evmchain/evm_vm_priv.h"

/* Reads the account that parameter 0 names at the block of parameter idx. */
static cd_err load_account(cd_rpc_call *call, cd_addr20 *addr, cd_account *out, usize idx)
{
    cd_evm_vm *e = cd__vm_of(call);
    bool found;
    cd_state_source *src = &e->head.world.src;
    CD_TRY(cd_rpc_read_addr(call, addr, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__api_head_only(call, cd_rpc_arg(call, idx), idx));
    *out = (cd_account){.code_hash = CD_HASH_EMPTY_CODE, .storage_root = CD_HASH_EMPTY_TRIE};
    cd_err err = src->account(src, out, &found, addr);
    return err == CD_OK ? CD_OK : cd__api_store(call, err);
}

static cd_err eth_get_balance(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_account a;
    CD_TRY(load_account(call, &addr, &a, 1));
    cd_json_w_qty_u256(call->out, &a.balance);
    return CD_OK;
}

static cd_err eth_get_tx_count(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_account a;
    cd_block_ref ref;
    CD_TRY(load_account(call, &addr, &a, 1));
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 1), 1));
    u64 nonce = a.nonce;
    if (ref.tag == CD_TAG_PENDING) {
        nonce = cd_txpool_nonce(cd__vm_of(call)->pool, &addr, nonce);
    }
    cd_json_w_qty(call->out, nonce);
    return CD_OK;
}

static cd_err eth_get_code(cd_rpc_call *call)
{
    cd_evm_vm *e = cd__vm_of(call);
    cd_addr20 addr;
    cd_account a;
    cd_bytes code = {0};
    CD_TRY(load_account(call, &addr, &a, 1));
    if (!cd_hash32_eq(&a.code_hash, &CD_HASH_EMPTY_CODE)) {
        cd_state_source *src = &e->head.world.src;
        cd_err err = src->code(src, &code, &a.code_hash);
        if (err != CD_OK) {
            return cd__api_store(call, err);
        }
    }
    cd_json_w_hex(call->out, code);
    cd_arena_reset(&e->head.world.code_arena);
    return CD_OK;
}

static cd_err eth_get_storage_at(cd_rpc_call *call)
{
    cd_addr20 addr;
    cd_account a;
    cd_u256 slot;
    cd_u256 value;
    u8 word[32];
    CD_TRY(cd_rpc_read_word(call, &slot, cd_rpc_arg(call, 1), 1));
    CD_TRY(load_account(call, &addr, &a, 2));
    cd_state_source *src = &cd__vm_of(call)->head.world.src;
    cd_err err = src->storage(src, &value, &addr, &slot);
    if (err != CD_OK) {
        return cd__api_store(call, err);
    }
    cd_u256_store_be(word, &value);
    cd_json_w_hex(call->out, cd_bytes_of(word, 32));
    return CD_OK;
}

const cd_rpc_method cd__api_state[] = {
    {"eth_getBalance", eth_get_balance, 1, 2},
    {"eth_getTransactionCount", eth_get_tx_count, 1, 2},
    {"eth_getCode", eth_get_code, 1, 2},
    {"eth_getStorageAt", eth_get_storage_at, 2, 3},
};
const usize cd__api_state_cnt = CD_COUNT(cd__api_state);
