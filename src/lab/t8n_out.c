#include "base/hex.h"
#include "chains/evmchain/block_exec.h"
#include "chains/evmchain/header_check.h"
#include "crypto/sha2.h"
#include "lab/t8n_priv.h"
#include "num/u256_text.h"

static void key_hash(cd_json_w *w, const char *key, const cd_hash32 *h)
{
    cd_json_w_key(w, key);
    cd_json_w_hex(w, cd_bytes_of(h->b, 32));
}

static void key_qty(cd_json_w *w, const char *key, u64 v)
{
    cd_json_w_key(w, key);
    cd_json_w_qty(w, v);
}

static void key_big(cd_json_w *w, const char *key, const cd_u256 *v)
{
    cd_json_w_key(w, key);
    cd_json_w_qty_u256(w, v);
}

static void put_account(cd_json_w *w, const cd_map_account *acc)
{
    cd_buf key = {0};
    cd_hex_put(&key, cd_bytes_of(acc->addr.b, 20));
    cd_json_w_key(w, cd_buf_cstr(&key));
    cd_buf_fini(&key);
    cd_json_w_obj(w);
    if (acc->code.n != 0) {
        cd_json_w_key(w, "code");
        cd_json_w_hex(w, acc->code);
    }
    if (acc->slot_cnt != 0) {
        cd_json_w_key(w, "storage");
        cd_json_w_obj(w);
        for (usize i = 0; i < acc->slot_cnt; i++) {
            char text[CD_U256_TEXT_MAX];
            cd_hash32 value = cd_u256_to_hash(&acc->slots[i].value);
            (void)cd_u256_fmt_hex64(text, &acc->slots[i].key);
            key_hash(w, text, &value);
        }
        cd_json_w_obj_end(w);
    }
    key_big(w, "balance", &acc->acc.balance);
    if (acc->acc.nonce != 0) {
        key_qty(w, "nonce", acc->acc.nonce);
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

static void put_log(cd_json_w *w, const cd__t8n *t, const cd_log *log, usize tx_idx, usize log_idx)
{
    static const cd_hash32 zero;
    cd_json_w_obj(w);
    cd_json_w_key(w, "address");
    cd_json_w_hex(w, cd_bytes_of(log->addr.b, 20));
    cd_json_w_key(w, "topics");
    cd_json_w_arr(w);
    for (u32 i = 0; i < log->topic_cnt; i++) {
        cd_json_w_hex(w, cd_bytes_of(log->topics[i].b, 32));
    }
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "data");
    cd_json_w_hex(w, log->data);
    key_qty(w, "blockNumber", t->env.number);
    key_hash(w, "transactionHash", &t->txs[tx_idx].hash);
    key_qty(w, "transactionIndex", tx_idx);
    key_hash(w, "blockHash", &zero);
    key_qty(w, "logIndex", log_idx);
    cd_json_w_key(w, "removed");
    cd_json_w_bool(w, false);
    cd_json_w_obj_end(w);
}

static void put_receipt(cd_json_w *w, const cd__t8n *t, usize idx, usize log_base)
{
    static const cd_hash32 zero;
    const cd_receipt *r = &t->receipts[idx];
    cd_json_w_obj(w);
    if (r->type != CD_TX_LEGACY) {
        key_qty(w, "type", r->type);
    }
    cd_json_w_key(w, "root");
    cd_json_w_hex(w, cd_bytes_of(r->root.b, r->has_root ? 32 : 0));
    key_qty(w, "status", r->ok);
    key_qty(w, "cumulativeGasUsed", r->cumulative_gas);
    cd_json_w_key(w, "logsBloom");
    cd_json_w_hex(w, cd_bytes_of(r->bloom.b, sizeof r->bloom.b));
    cd_json_w_key(w, "logs");
    cd_json_w_arr(w);
    for (usize i = 0; i < r->log_cnt; i++) {
        put_log(w, t, &r->logs[i], idx, log_base + i);
    }
    cd_json_w_arr_end(w);
    key_hash(w, "transactionHash", &t->txs[idx].hash);
    cd_json_w_key(w, "contractAddress");
    cd_json_w_hex(w, cd_bytes_of(r->created.b, 20));
    key_qty(w, "gasUsed", r->gas_used);
    key_big(w, "effectiveGasPrice", &r->effective_gas_price);
    if (t->txs[idx].blob_cnt != 0) {
        key_qty(w, "blobGasUsed", t->txs[idx].blob_cnt * (u64)CD_BLOB_GAS);
        key_big(w, "blobGasPrice", &t->env.blob_base_fee);
    }
    key_hash(w, "blockHash", &zero);
    key_qty(w, "blockNumber", t->env.number);
    key_qty(w, "transactionIndex", idx);
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
        cd_json_w_key(w, "index");
        cd_json_w_u64(w, t->rejected[i].idx);
        cd_json_w_key(w, "error");
        cd_json_w_cstr(w, t->rejected[i].reason);
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
    key_hash(&w, "stateRoot", &t->post->root);
    cd_block_tx_root(&root, t->txs, t->tx_cnt);
    key_hash(&w, "txRoot", &root);
    key_hash(&w, "receiptsRoot", &t->receipt_root);
    cd_logs_hash(&root, logs, log_cnt);
    key_hash(&w, "logsHash", &root);
    cd_json_w_key(&w, "logsBloom");
    cd_json_w_hex(&w, cd_bytes_of(t->bloom.b, sizeof t->bloom.b));
    put_receipts(&w, t);
    put_rejected(&w, t);
    cd_json_w_key(&w, "currentDifficulty");
    if (fork >= CD_PARIS) {
        cd_json_w_null(&w);
    } else {
        cd_json_w_qty_u256(&w, &t->env.prev_randao);
    }
    key_qty(&w, "gasUsed", t->gas_used);
    if (fork >= CD_LONDON) {
        key_big(&w, "currentBaseFee", &t->env.base_fee);
    }
    if (fork >= CD_SHANGHAI) {
        cd_eth_withdrawals_root(&root, t->withdrawals, t->withdrawal_cnt);
        key_hash(&w, "withdrawalsRoot", &root);
    }
    if (fork >= CD_CANCUN) {
        key_qty(&w, "currentExcessBlobGas", t->excess_blob_gas);
        key_qty(&w, "blobGasUsed", t->blob_gas_used);
    }
    if (fork >= CD_PRAGUE) {
        cd_sha256(&root, (cd_bytes){0});
        key_hash(&w, "requestsHash", &root);
        cd_json_w_key(&w, "requests");
        cd_json_w_arr(&w);
        cd_json_w_arr_end(&w);
    }
    cd_json_w_obj_end(&w);
}
