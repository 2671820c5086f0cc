/* Methods that show blocks, transactions and receipts. */
#include "chains/evmchain/evm_vm_priv.h"

/* Reads the block a reference names, senders included; *found false when there is none. */
static cd_err load(cd_rpc_call *call, cd_block *out, usize *size, bool *found,
                   const cd_block_ref *ref)
{
    cd_evm_vm *e = cd__vm_of(call);
    cd_err err;
    *found = true;
    if (ref->tag == CD_TAG_HASH) {
        err = cd_chain_block_by_hash(e->chain, out, size, call->arena, &ref->hash);
    } else {
        u64 number;
        CD_TRY(cd__api_number(call, &number, found, ref));
        err = cd_chain_block_at(e->chain, out, size, call->arena, number);
    }
    if (err == CD_ENOENT) {
        *found = false;
        return CD_OK;
    }
    if (err == CD_OK) {
        err = cd_chain_recover(e->ctx.pool, out->txs, out->tx_cnt, NULL);
    }
    return err == CD_OK ? CD_OK : cd__api_store(call, err);
}

static cd_err write_block(cd_rpc_call *call, const cd_block_ref *ref)
{
    cd_block b;
    usize size;
    bool found;
    bool full = false;
    if (cd_rpc_has_arg(call, 1)) {
        CD_TRY(cd_rpc_read_bool(call, &full, cd_rpc_arg(call, 1), 1));
    }
    const cd_evm_vm *e = cd__vm_of(call);
    if (e->ctx.is_dev && ref->tag == CD_TAG_NUMBER &&
        ref->number > cd_chain_head(e->chain)->header.number) {
        cd_json_w_null(call->out); /* as the development tools answer [spec:dev-rpc#2.8] */
        return CD_OK;
    }
    CD_TRY(load(call, &b, &size, &found, ref));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        cd_api_block(call->out, &b, cd_chain_rules_of(cd__vm_of(call)->chain)->layout, size, full);
    }
    return CD_OK;
}

static cd_err eth_get_block_by_number(cd_rpc_call *call)
{
    cd_block_ref ref;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    return write_block(call, &ref);
}

static cd_err eth_get_block_by_hash(cd_rpc_call *call)
{
    cd_block_ref ref = {.tag = CD_TAG_HASH};
    CD_TRY(cd_rpc_read_hash(call, &ref.hash, cd_rpc_arg(call, 0), 0));
    return write_block(call, &ref);
}

static cd_err eth_get_block_tx_count(cd_rpc_call *call)
{
    cd_block_ref ref;
    cd_block b;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(load(call, &b, NULL, &found, &ref));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        cd_json_w_qty(call->out, b.tx_cnt);
    }
    return CD_OK;
}

/* --- transactions ------------------------------------------------------------------------------- */

/* Finds an accepted transaction; *found false when it is not known. */
static cd_err find_tx(cd_rpc_call *call, cd_block *b, usize *idx, bool *found,
                      const cd_hash32 *hash)
{
    cd_evm_vm *e = cd__vm_of(call);
    cd_err err = cd_chain_tx(e->chain, b, idx, call->arena, hash);
    *found = err == CD_OK;
    if (err == CD_OK) {
        err = cd_chain_recover(NULL, &b->txs[*idx], 1, NULL);
    }
    return err == CD_OK || err == CD_ENOENT ? CD_OK : cd__api_store(call, err);
}

static cd_err eth_get_tx_by_hash(cd_rpc_call *call)
{
    cd_hash32 hash;
    cd_block b;
    usize idx;
    bool found;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    const cd_pool_tx *waiting = cd_txpool_get(cd__vm_of(call)->pool, &hash);
    if (waiting != NULL) {
        cd_api_tx(call->out, &waiting->tx, &(cd_tx_place){.block = NULL});
        return CD_OK;
    }
    CD_TRY(find_tx(call, &b, &idx, &found, &hash));
    if (!found) {
        cd_json_w_null(call->out);
    } else {
        cd_api_tx(call->out, &b.txs[idx], &(cd_tx_place){.block = &b, .idx = idx});
    }
    return CD_OK;
}

static cd_err write_tx_at(cd_rpc_call *call, const cd_block_ref *ref)
{
    cd_block b;
    bool found;
    u64 idx;
    CD_TRY(cd_rpc_read_u64(call, &idx, cd_rpc_arg(call, 1), 1));
    CD_TRY(load(call, &b, NULL, &found, ref));
    if (!found || idx >= b.tx_cnt) {
        cd_json_w_null(call->out);
    } else {
        cd_api_tx(call->out, &b.txs[idx], &(cd_tx_place){.block = &b, .idx = idx});
    }
    return CD_OK;
}

static cd_err eth_get_tx_by_number_and_index(cd_rpc_call *call)
{
    cd_block_ref ref;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    return write_tx_at(call, &ref);
}

static cd_err eth_get_tx_by_hash_and_index(cd_rpc_call *call)
{
    cd_block_ref ref = {.tag = CD_TAG_HASH};
    CD_TRY(cd_rpc_read_hash(call, &ref.hash, cd_rpc_arg(call, 0), 0));
    return write_tx_at(call, &ref);
}

/* --- receipts ----------------------------------------------------------------------------------- */

static cd_err eth_get_tx_receipt(cd_rpc_call *call)
{
    cd_hash32 hash;
    cd_block b;
    usize idx;
    bool found;
    cd_receipt *receipts;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    CD_TRY(find_tx(call, &b, &idx, &found, &hash));
    if (!found) {
        cd_json_w_null(call->out);
        return CD_OK;
    }
    cd_err e = cd_chain_receipts(cd__vm_of(call)->chain, &receipts, call->arena, &b);
    if (e != CD_OK) {
        return cd__api_store(call, e);
    }
    usize log_base = 0;
    for (usize i = 0; i < idx; i++) {
        log_base += receipts[i].log_cnt;
    }
    cd_api_receipt(call->out, &receipts[idx], &(cd_tx_place){.block = &b, .idx = idx}, log_base);
    return CD_OK;
}

static cd_err eth_get_block_receipts(cd_rpc_call *call)
{
    cd_block_ref ref;
    cd_block b;
    bool found;
    cd_receipt *receipts;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(load(call, &b, NULL, &found, &ref));
    if (!found) {
        cd_json_w_null(call->out);
        return CD_OK;
    }
    cd_err e = cd_chain_receipts(cd__vm_of(call)->chain, &receipts, call->arena, &b);
    if (e != CD_OK) {
        return cd__api_store(call, e);
    }
    usize log_base = 0;
    cd_json_w_arr(call->out);
    for (usize i = 0; i < b.tx_cnt; i++) {
        cd_api_receipt(call->out, &receipts[i], &(cd_tx_place){.block = &b, .idx = i}, log_base);
        log_base += receipts[i].log_cnt;
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

const cd_rpc_method cd__api_block[] = {
    {"eth_getBlockByNumber", eth_get_block_by_number, 1, 2},
    {"eth_getBlockByHash", eth_get_block_by_hash, 1, 2},
    {"eth_getBlockTransactionCountByNumber", eth_get_block_tx_count, 1, 1},
    {"eth_getBlockTransactionCountByHash", eth_get_block_tx_count, 1, 1},
    {"eth_getBlockReceipts", eth_get_block_receipts, 1, 1},
    {"eth_getTransactionByHash", eth_get_tx_by_hash, 1, 1},
    {"eth_getTransactionByBlockNumberAndIndex", eth_get_tx_by_number_and_index, 2, 2},
    {"eth_getTransactionByBlockHashAndIndex", eth_get_tx_by_hash_and_index, 2, 2},
    {"eth_getTransactionReceipt", eth_get_tx_receipt, 1, 1},
};
const usize cd__api_block_cnt = CD_COUNT(cd__api_block);
