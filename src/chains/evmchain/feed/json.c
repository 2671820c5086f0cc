#include "chains/evmchain/feed/json.h"

#include "chains/evmchain/core/rules/eth_rules.h"
#include "evm/evm.h"

/* --- members --- */

static void put_addr(cd_json_w *w, const char *key, const cd_addr20 *a)
{
    cd_json_put_hex(w, key, cd_bytes_of(a->b, 20));
}

/* --- transactions --- */

/* What was or will be paid per gas. */
static cd_u256 effective_price(const cd_tx *tx, const cd_block *b)
{
    cd_u256 price;
    if (b == NULL || (b->header.has & CD_HEADER_BASE_FEE) == 0 ||
        !cd_u256_checked_add(&price, &b->header.base_fee, &tx->tip_cap) || cd_u256_lt(&tx->fee_cap, &price)) {
        return tx->fee_cap;
    }
    return price;
}

void cd_api_access_list(cd_json_w *w, const cd_tx *tx)
{
    cd_json_w_arr(w);
    for (usize i = 0; i < tx->access_cnt; i++) {
        cd_json_w_obj(w);
        put_addr(w, "address", &tx->access[i].addr);
        cd_json_w_key(w, "storageKeys");
        cd_json_w_arr(w);
        for (usize j = 0; j < tx->access[i].key_cnt; j++) {
            cd_json_w_hex(w, cd_bytes_of(tx->access[i].keys[j].b, 32));
        }
        cd_json_w_arr_end(w);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

void cd_api_tx(cd_json_w *w, const cd_tx *tx, const cd_tx_place *at)
{
    cd_u256 price = effective_price(tx, at->block);
    bool is_signed = !cd_u256_is_zero(&tx->r) || !cd_u256_is_zero(&tx->s);
    cd_u256 v = is_signed ? cd_tx_v(tx) : cd_u256_zero(); /* simulated ones are not */
    cd_json_w_obj(w);
    if (at->block == NULL) {
        cd_json_put_null(w, "blockHash");
        cd_json_put_null(w, "blockNumber");
    } else {
        cd_json_put_hash(w, "blockHash", &at->block->hash);
        cd_json_put_qty(w, "blockNumber", at->block->header.number);
    }
    put_addr(w, "from", &tx->sender);
    cd_json_put_qty(w, "gas", tx->gas_limit);
    cd_json_put_qty_u256(w, "gasPrice", &price);
    if (tx->type >= CD_TX_DYNAMIC_FEE) {
        cd_json_put_qty_u256(w, "maxFeePerGas", &tx->fee_cap);
        cd_json_put_qty_u256(w, "maxPriorityFeePerGas", &tx->tip_cap);
    }
    if (tx->type == CD_TX_BLOB) {
        cd_json_put_qty_u256(w, "maxFeePerBlobGas", &tx->blob_fee_cap);
    }
    cd_json_put_hash(w, "hash", &tx->hash);
    cd_json_put_hex(w, "input", cd_bytes_of(tx->data.p, tx->data.n));
    cd_json_put_qty(w, "nonce", tx->nonce);
    if (tx->is_create) {
        cd_json_put_null(w, "to");
    } else {
        put_addr(w, "to", &tx->to);
    }
    if (at->block == NULL) {
        cd_json_put_null(w, "transactionIndex");
    } else {
        cd_json_put_qty(w, "transactionIndex", at->idx);
    }
    cd_json_put_qty_u256(w, "value", &tx->value);
    cd_json_put_qty(w, "type", tx->type);
    if (tx->type != CD_TX_LEGACY) {
        cd_json_w_key(w, "accessList");
        cd_api_access_list(w, tx);
    }
    if (tx->type != CD_TX_LEGACY || tx->is_protected) {
        cd_json_put_qty(w, "chainId", tx->chain_id);
    }
    if (tx->type == CD_TX_BLOB) {
        cd_json_w_key(w, "blobVersionedHashes");
        cd_json_w_arr(w);
        for (usize i = 0; i < tx->blob_cnt; i++) {
            cd_json_w_hex(w, cd_bytes_of(tx->blob_hashes[i].b, 32));
        }
        cd_json_w_arr_end(w);
    }
    cd_json_put_qty_u256(w, "v", &v);
    cd_json_put_qty_u256(w, "r", &tx->r);
    cd_json_put_qty_u256(w, "s", &tx->s);
    if (tx->type != CD_TX_LEGACY) {
        cd_json_put_qty(w, "yParity", tx->y_parity);
    }
    if (at->end != NULL) {
        cd_json_put_hex(w, "output", cd_bytes_of(at->end->output.p, at->end->output.n));
        cd_json_w_key(w, "revertReason");
        if (at->end->reason == NULL) {
            cd_json_w_null(w);
        } else {
            cd_json_w_cstr(w, at->end->reason);
        }
    }
    cd_json_w_obj_end(w);
}

/* --- logs and receipts --- */

void cd_api_receipt(cd_json_w *w, const cd_receipt *r, const cd_tx_place *at, usize log_base)
{
    const cd_tx *tx = &at->block->txs[at->idx];
    cd_json_w_obj(w);
    if (tx->type == CD_TX_BLOB) {
        cd_u256 price;
        cd_eth_blob_base_fee(&price, at->block->header.excess_blob_gas, &CD_BLOB_CANCUN);
        cd_json_put_qty_u256(w, "blobGasPrice", &price);
        cd_json_put_qty(w, "blobGasUsed", tx->blob_cnt * (u64)CD_BLOB_GAS);
    }
    cd_json_put_hash(w, "blockHash", &at->block->hash);
    cd_json_put_qty(w, "blockNumber", at->block->header.number);
    if (tx->is_create) {
        cd_addr20 created;
        cd_evm_create_addr(&created, &tx->sender, tx->nonce);
        put_addr(w, "contractAddress", &created);
    } else {
        cd_json_put_null(w, "contractAddress");
    }
    cd_json_put_qty(w, "cumulativeGasUsed", r->cumulative_gas);
    cd_json_put_qty_u256(w, "effectiveGasPrice", &r->effective_gas_price);
    put_addr(w, "from", &tx->sender);
    cd_json_put_qty(w, "gasUsed", r->gas_used);
    cd_json_w_key(w, "logs");
    cd_json_w_arr(w);
    for (usize i = 0; i < r->log_cnt; i++) {
        cd_api_log(w, &r->logs[i], at, log_base + i);
    }
    cd_json_w_arr_end(w);
    cd_json_put_hex(w, "logsBloom", cd_bytes_of(r->bloom.b, sizeof r->bloom.b));
    cd_json_put_qty(w, "status", r->ok ? 1 : 0);
    if (tx->is_create) {
        cd_json_put_null(w, "to");
    } else {
        put_addr(w, "to", &tx->to);
    }
    cd_json_put_hash(w, "transactionHash", &tx->hash);
    cd_json_put_qty(w, "transactionIndex", at->idx);
    cd_json_put_qty(w, "type", tx->type);
    cd_json_w_obj_end(w);
}

/* --- blocks --- */

/* A block that is only planned has no hash [spec:dev-rpc#2.3]. */
static bool is_pending(const cd_block *b)
{
    return cd_hash32_is_zero(&b->hash);
}

/* How transactions are shown, and what is added to a block. */
typedef struct tx_form {
    bool is_whole;         /* else hashes */
    const cd_tx_end *ends; /* NULL: without */
    void (*extra)(void *ctx, cd_json_w *w);
    void *ctx;
} tx_form;

static void put_txs(cd_json_w *w, const cd_block *b, const tx_form *form)
{
    cd_json_w_key(w, "transactions");
    cd_json_w_arr(w);
    for (usize i = 0; i < b->tx_cnt; i++) {
        if (form->is_whole) {
            cd_tx_place at = {.block = is_pending(b) ? NULL : b, .idx = i};
            at.end = form->ends == NULL ? NULL : &form->ends[i];
            cd_api_tx(w, &b->txs[i], &at);
        } else {
            cd_json_w_hex(w, cd_bytes_of(b->txs[i].hash.b, 32));
        }
    }
    cd_json_w_arr_end(w);
}

/* The members of a header, ascending by name as a map of the original's server comes out. The size of the block is one
 * among them, none for the header alone; likewise its transactions. */
static void put_header(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, const tx_form *txs)
{
    const cd_header *h = &b->header;
    u32 has = h->has & cd_header_fields(r->layout);
    if ((has & CD_HEADER_BASE_FEE) != 0) {
        cd_json_put_qty_u256(w, "baseFeePerGas", &h->base_fee);
    }
    if ((has & CD_HEADER_BLOB_GAS_USED) != 0) {
        cd_json_put_qty(w, "blobGasUsed", h->blob_gas_used);
    }
    if (txs != NULL && b->has_ext_data) {
        cd_json_put_hex(w, "blockExtraData", cd_bytes_of(b->ext_data.p, b->ext_data.n));
    }
    if ((has & CD_HEADER_BLOCK_GAS_COST) != 0) {
        cd_json_put_qty_u256(w, "blockGasCost", &h->block_gas_cost);
    }
    cd_json_put_qty_u256(w, "difficulty", &h->difficulty);
    if ((has & CD_HEADER_EXCESS_BLOB_GAS) != 0) {
        cd_json_put_qty(w, "excessBlobGas", h->excess_blob_gas);
    }
    if ((has & CD_HEADER_EXT_DATA_GAS_USED) != 0) {
        cd_json_put_qty_u256(w, "extDataGasUsed", &h->ext_data_gas_used);
    }
    if ((has & CD_HEADER_EXT_DATA_HASH) != 0) {
        cd_json_put_hash(w, "extDataHash", &h->ext_data_hash);
    }
    cd_json_put_hex(w, "extraData", cd_bytes_of(h->extra.p, h->extra.n));
    cd_json_put_qty(w, "gasLimit", h->gas_limit);
    cd_json_put_qty(w, "gasUsed", h->gas_used);
    if (is_pending(b)) {
        cd_json_put_null(w, "hash");
    } else {
        cd_json_put_hash(w, "hash", &b->hash);
    }
    cd_json_put_hex(w, "logsBloom", cd_bytes_of(h->bloom.b, sizeof h->bloom.b));
    if ((has & CD_HEADER_MIN_DELAY_EXCESS) != 0) {
        cd_json_put_qty(w, "minDelayExcess", h->min_delay_excess);
    }
    put_addr(w, "miner", &h->coinbase);
    cd_json_put_hash(w, "mixHash", &h->mix_hash);
    if (is_pending(b)) {
        cd_json_put_null(w, "nonce");
    } else {
        cd_json_put_hex(w, "nonce", cd_bytes_of(h->nonce, sizeof h->nonce));
    }
    cd_json_put_qty(w, "number", h->number);
    if ((has & CD_HEADER_BEACON_ROOT) != 0) {
        cd_json_put_hash(w, "parentBeaconBlockRoot", &h->parent_beacon_root);
    }
    cd_json_put_hash(w, "parentHash", &h->parent_hash);
    cd_json_put_hash(w, "receiptsRoot", &h->receipt_root);
    cd_json_put_hash(w, "sha3Uncles", &h->uncle_hash);
    if (txs != NULL) {
        cd_json_put_qty(w, "size", size);
    }
    cd_json_put_hash(w, "stateRoot", &h->state_root);
    cd_json_put_qty(w, "timestamp", h->time);
    if ((has & CD_HEADER_TIME_MS) != 0) {
        cd_json_put_qty(w, "timestampMilliseconds", h->time_ms);
    }
    if (r->layout != CD_HEADER_ETHEREUM && !r->is_dev) {
        cd_json_put_qty(w, "totalDifficulty", h->number); /* one a block, whatever the genesis says */
    }
    if (txs != NULL) {
        put_txs(w, b, txs);
    }
    cd_json_put_hash(w, "transactionsRoot", &h->tx_root);
    if (txs != NULL) {
        cd_json_w_key(w, "uncles");
        cd_json_w_arr(w);
        cd_json_w_arr_end(w);
    }
}

static void put_withdrawals(cd_json_w *w, const cd_block *b, bool with_list)
{
    if (with_list && b->has_withdrawals) {
        cd_json_w_key(w, "withdrawals");
        cd_json_w_arr(w);
        for (usize i = 0; i < b->withdrawal_cnt; i++) {
            const cd_withdrawal *one = &b->withdrawals[i];
            cd_json_w_obj(w);
            cd_json_put_qty(w, "index", one->index);
            cd_json_put_qty(w, "validatorIndex", one->validator);
            put_addr(w, "address", &one->addr);
            cd_json_put_qty(w, "amount", one->amount);
            cd_json_w_obj_end(w);
        }
        cd_json_w_arr_end(w);
    }
    cd_json_put_hash(w, "withdrawalsRoot", &b->header.withdrawals_root);
}

static void put_block(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, const tx_form *txs)
{
    bool has_root = (b->header.has & cd_header_fields(r->layout) & CD_HEADER_WITHDRAWALS_ROOT) != 0;
    cd_json_w_obj(w);
    put_header(w, b, r, size, txs);
    if (has_root) {
        put_withdrawals(w, b, txs != NULL);
    }
    if (txs != NULL && txs->extra != NULL) {
        txs->extra(txs->ctx, w);
    }
    cd_json_w_obj_end(w);
}

void cd_api_block(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, bool full_txs)
{
    put_block(w, b, r, size, &(tx_form){.is_whole = full_txs});
}

void cd_api_block_ended(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, const cd_tx_end *ends)
{
    put_block(w, b, r, size, &(tx_form){.is_whole = true, .ends = ends});
}

void cd_api_block_with(cd_json_w *w, const cd_block *b, const cd_chain_rules *r, usize size, bool full_txs,
                       void (*extra)(void *ctx, cd_json_w *w), void *ctx)
{
    put_block(w, b, r, size, &(tx_form){.is_whole = full_txs, .extra = extra, .ctx = ctx});
}

void cd_api_header(cd_json_w *w, const cd_block *b, const cd_chain_rules *r)
{
    put_block(w, b, r, 0, NULL);
}
