#include "base/hex.h"
#include "chains/evmchain/core/block_exec.h"
#include "chains/evmchain/core/rules/header_check.h"
#include "crypto/hash/sha2.h"
#include "lab/t8n_priv.h"
#include "num/u256_text.h"

static void put_account(cd_json_w *w, const cd_map_account *acc)
{
    cd_buf key = {0};
    cd_hex_put(&key, cd_bytes_of(acc->addr.b, 20));
    cd_json_w_key(w, cd_buf_cstr(&key));
    cd_buf_fini(&key);
    cd_json_w_obj(w);
    if (acc->code.n != 0) {
        cd_json_put_hex(w, "code", acc->code);
    }
    if (acc->slot_cnt != 0) {
        cd_json_w_key(w, "storage");
        cd_json_w_obj(w);
        for (usize i = 0; i < acc->slot_cnt; i++) {
            char text[CD_U256_TEXT_MAX];
            cd_hash32 value = cd_u256_to_hash(&acc->slots[i].value);
            (void)cd_u256_fmt_hex64(text, &acc->slots[i].key);
            cd_json_put_hash(w, text, &value);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_put_qty_u256(w, "balance", &acc->acc.balance);
    if (acc->acc.nonce != 0) {
        cd_json_put_qty(w, "nonce", acc->acc.nonce);
    }
    cd_json_w_obj_end(w);
}

void cd__t8n_put_alloc(cd_buf *out, const cd_mapstate *m)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    for (usize i = 0; i < m->account_cnt; i++) {
        put_account(&w, &m->accounts[i]);
    }
    cd_json_w_obj_end(&w);
}

/* A transition makes no block and so no hash; go-ethereum's tool writes this in place of one. */
static const cd_hash32 block_hash = {.b = {0x13, 0x37}};

static void put_log(cd_json_w *w, const cd__t8n *t, const cd_log *log, usize tx_idx, usize log_idx)
{
    cd_json_w_obj(w);
    cd_json_put_hex(w, "address", cd_bytes_of(log->addr.b, 20));
    cd_json_w_key(w, "topics");
    cd_json_w_arr(w);
    for (u32 i = 0; i < log->topic_cnt; i++) {
        cd_json_w_hex(w, cd_bytes_of(log->topics[i].b, 32));
    }
    cd_json_w_arr_end(w);
    cd_json_put_hex(w, "data", log->data);
    cd_json_put_qty(w, "blockNumber", t->env.number);
    cd_json_put_hash(w, "transactionHash", &t->txs[tx_idx].hash);
    cd_json_put_qty(w, "transactionIndex", tx_idx);
    cd_json_put_hash(w, "blockHash", &block_hash);
    cd_json_put_qty(w, "logIndex", log_idx);
    cd_json_put_bool(w, "removed", false);
    cd_json_w_obj_end(w);
}

static void put_receipt(cd_json_w *w, const cd__t8n *t, usize idx, usize log_base)
{
    const cd_receipt *r = &t->receipts[idx];
    cd_json_w_obj(w);
    if (r->type != CD_TX_LEGACY) {
        cd_json_put_qty(w, "type", r->type);
    }
    cd_json_put_hex(w, "root", cd_bytes_of(r->root.b, r->has_root ? 32 : 0));
    cd_json_put_qty(w, "status", r->ok);
    cd_json_put_qty(w, "cumulativeGasUsed", r->cumulative_gas);
    cd_json_put_hex(w, "logsBloom", cd_bytes_of(r->bloom.b, sizeof r->bloom.b));
    cd_json_w_key(w, "logs");
    cd_json_w_arr(w);
    for (usize i = 0; i < r->log_cnt; i++) {
        put_log(w, t, &r->logs[i], idx, log_base + i);
    }
    cd_json_w_arr_end(w);
    cd_json_put_hash(w, "transactionHash", &t->txs[idx].hash);
    cd_json_put_hex(w, "contractAddress", cd_bytes_of(r->created.b, 20));
    cd_json_put_qty(w, "gasUsed", r->gas_used);
    cd_json_w_key(w, "effectiveGasPrice"); /* go-ethereum's tool gives null */
    cd_json_w_null(w);
    if (t->txs[idx].blob_cnt != 0) {
        cd_json_put_qty(w, "blobGasUsed", t->txs[idx].blob_cnt * (u64)CD_BLOB_GAS);
        cd_json_put_qty_u256(w, "blobGasPrice", &t->env.blob_base_fee);
    }
    cd_json_put_hash(w, "blockHash", &block_hash);
    cd_json_put_qty(w, "blockNumber", t->env.number);
    cd_json_put_qty(w, "transactionIndex", idx);
    cd_json_w_obj_end(w);
}

static void put_receipts(cd_json_w *w, const cd__t8n *t)
{
    usize log_base = 0;
    cd_json_w_key(w, "receipts");
    cd_json_w_arr(w);
    for (usize i = 0; i < t->tx_cnt; i++) {
        put_receipt(w, t, i, log_base);
        log_base += t->receipts[i].log_cnt;
    }
    cd_json_w_arr_end(w);
}

static void put_rejected(cd_json_w *w, const cd__t8n *t)
{
    if (t->rejected_cnt == 0) {
        return;
    }
    cd_json_w_key(w, "rejected");
    cd_json_w_arr(w);
    for (usize i = 0; i < t->rejected_cnt; i++) {
        cd_json_w_obj(w);
        cd_json_put_u64(w, "index", t->rejected[i].idx);
        cd_json_put_cstr(w, "error", t->rejected[i].reason);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

void cd__t8n_put_result(cd_buf *out, const cd__t8n *t)
{
    cd_json_w w = {.out = out};
    cd_fork fork = t->cfg->fork;
    cd_hash32 root;
    usize log_cnt;
    const cd_log *logs = cd_state_logs(t->state, &log_cnt);
    cd_json_w_obj(&w);
    cd_json_put_hash(&w, "stateRoot", &t->post->root);
    cd_block_tx_root(&root, t->txs, t->tx_cnt);
    cd_json_put_hash(&w, "txRoot", &root);
    cd_json_put_hash(&w, "receiptsRoot", &t->receipt_root);
    cd_logs_hash(&root, logs, log_cnt);
    cd_json_put_hash(&w, "logsHash", &root);
    cd_json_put_hex(&w, "logsBloom", cd_bytes_of(t->bloom.b, sizeof t->bloom.b));
    put_receipts(&w, t);
    put_rejected(&w, t);
    cd_json_w_key(&w, "currentDifficulty");
    if (fork >= CD_PARIS) {
        cd_json_w_null(&w);
    } else {
        cd_json_w_qty_u256(&w, &t->env.prev_randao);
    }
    cd_json_put_qty(&w, "gasUsed", t->gas_used);
    if (t->has_base_fee) {
        cd_json_put_qty_u256(&w, "currentBaseFee", &t->env.base_fee);
    }
    if (fork >= CD_SHANGHAI) {
        cd_eth_withdrawals_root(&root, t->withdrawals, t->withdrawal_cnt);
        cd_json_put_hash(&w, "withdrawalsRoot", &root);
    }
    if (fork >= CD_CANCUN) {
        cd_json_put_qty(&w, "currentExcessBlobGas", t->excess_blob_gas);
        cd_json_put_qty(&w, "blobGasUsed", t->blob_gas_used);
    }
    if (fork >= CD_PRAGUE) {
        cd_sha256(&root, (cd_bytes){0});
        cd_json_put_hash(&w, "requestsHash", &root);
    }
    cd_json_w_key(&w, "requests");
    if (fork >= CD_PRAGUE) {
        cd_json_w_arr(&w);
        cd_json_w_arr_end(&w);
    } else {
        cd_json_w_null(&w);
    }
    cd_json_w_obj_end(&w);
}
