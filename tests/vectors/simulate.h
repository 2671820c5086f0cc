/* tests/vectors/simulate.h - recorded blocks made up again: every accepted block of a chain is asked of
 * eth_simulateV1 on its parent, its transactions as calls, and must come out with the recorded roots, bloom and gas.
 * What differs by nature are the root of the transactions, which nobody signed, and so the hash. Test code: included
 * by one file each. */
#ifndef CD_TESTS_VECTORS_SIMULATE_H
#define CD_TESTS_VECTORS_SIMULATE_H

#include "base/hex.h"
#include "chains/evmchain/core/rules/fee_l1.h"
#include "chains/evmchain/feed/json.h"
#include "tests/vectors/evm_api.h"

static void simulate_key(cd_json_w *w, const char *key, cd_bytes hex)
{
    cd_json_w_key(w, key);
    cd_json_w_hex(w, hex);
}

static void simulate_qty(cd_json_w *w, const char *key, u64 v)
{
    cd_json_w_key(w, key);
    cd_json_w_qty(w, v);
}

static void simulate_qty_u256(cd_json_w *w, const char *key, const cd_u256 *v)
{
    cd_json_w_key(w, key);
    cd_json_w_qty_u256(w, v);
}

/* What a block says by itself; its base fee and gas limit must follow from the parent. */
static void simulate_overrides(cd_json_w *w, const cd_block *b)
{
    const cd_header *h = &b->header;
    cd_json_w_key(w, "blockOverrides");
    cd_json_w_obj(w);
    simulate_qty(w, "number", h->number);
    simulate_qty(w, "time", h->time);
    simulate_key(w, "feeRecipient", cd_bytes_of(h->coinbase.b, 20));
    simulate_key(w, "prevRandao", cd_bytes_of(h->mix_hash.b, 32));
    simulate_qty_u256(w, "difficulty", &h->difficulty);
    simulate_key(w, "beaconRoot", cd_bytes_of(h->parent_beacon_root.b, 32));
    cd_json_w_key(w, "withdrawals");
    cd_json_w_arr(w);
    for (usize i = 0; i < b->withdrawal_cnt; i++) {
        const cd_withdrawal *one = &b->withdrawals[i];
        cd_json_w_obj(w);
        simulate_qty(w, "index", one->index);
        simulate_qty(w, "validatorIndex", one->validator);
        simulate_key(w, "address", cd_bytes_of(one->addr.b, 20));
        simulate_qty(w, "amount", one->amount);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static void simulate_call(cd_json_w *w, const cd_tx *tx)
{
    cd_json_w_obj(w);
    simulate_key(w, "from", cd_bytes_of(tx->sender.b, 20));
    if (!tx->is_create) {
        simulate_key(w, "to", cd_bytes_of(tx->to.b, 20));
    }
    simulate_qty(w, "nonce", tx->nonce);
    simulate_qty(w, "gas", tx->gas_limit);
    simulate_qty_u256(w, "value", &tx->value);
    simulate_key(w, "input", tx->data);
    if (tx->type >= CD_TX_DYNAMIC_FEE) {
        simulate_qty_u256(w, "maxFeePerGas", &tx->fee_cap);
        simulate_qty_u256(w, "maxPriorityFeePerGas", &tx->tip_cap);
    } else {
        simulate_qty_u256(w, "gasPrice", &tx->fee_cap);
    }
    if (tx->type != CD_TX_LEGACY) {
        cd_json_w_key(w, "accessList");
        cd_api_access_list(w, tx);
    }
    if (tx->type == CD_TX_BLOB) {
        simulate_qty_u256(w, "maxFeePerBlobGas", &tx->blob_fee_cap);
        cd_json_w_key(w, "blobVersionedHashes");
        cd_json_w_arr(w);
        for (usize i = 0; i < tx->blob_cnt; i++) {
            cd_json_w_hex(w, cd_bytes_of(tx->blob_hashes[i].b, 32));
        }
        cd_json_w_arr_end(w);
    }
    cd_json_w_obj_end(w);
}

static cd_bytes simulate_request(vec *v, const cd_block *b)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "jsonrpc");
    cd_json_w_cstr(&w, "2.0");
    cd_json_w_key(&w, "id");
    cd_json_w_u64(&w, 1);
    cd_json_w_key(&w, "method");
    cd_json_w_cstr(&w, "eth_simulateV1");
    cd_json_w_key(&w, "params");
    cd_json_w_arr(&w);
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "validation");
    cd_json_w_bool(&w, true);
    cd_json_w_key(&w, "blockStateCalls");
    cd_json_w_arr(&w);
    cd_json_w_obj(&w);
    simulate_overrides(&w, b);
    cd_json_w_key(&w, "calls");
    cd_json_w_arr(&w);
    for (usize i = 0; i < b->tx_cnt; i++) {
        simulate_call(&w, &b->txs[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_json_w_qty(&w, b->header.number - 1);
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_bytes own = cd_arena_dup(&v->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return own;
}

static void simulate_block(evm_api *a, vec *v, const cd_accepted *acc, const cd_chain_rules *r)
{
    static const char *const members[] = {"number",        "timestamp",       "parentHash",   "stateRoot",
                                          "receiptsRoot",  "logsBloom",       "gasUsed",      "gasLimit",
                                          "difficulty",    "baseFeePerGas",   "blockGasCost", "blobGasUsed",
                                          "excessBlobGas", "mixHash",         "miner",        "sha3Uncles",
                                          "nonce",         "withdrawalsRoot", "uncles",       "parentBeaconBlockRoot",
                                          "minDelayExcess"};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json want;
    cd_json answer = evm_api_ask(a, v, simulate_request(v, &acc->block));
    cd_json got = cd_json_at(cd_json_get(answer, "result"), 0);
    cd_api_block(&w, &acc->block, r, acc->rlp.n, false);
    if (cd_json_parse(&want, &v->arena, cd_arena_dup(&v->arena, cd_buf_bytes(&text)), 0, NULL) != CD_OK) {
        vec_check(v, false, "a block is no JSON");
    }
    cd_buf_fini(&text);
    for (usize i = 0; i < CD_COUNT(members); i++) {
        cd_bytes one = evm_api_text(v, cd_json_get(want, members[i]));
        cd_bytes other = evm_api_text(v, cd_json_get(got, members[i]));
        vec_check(v, cd_bytes_eq(one, other), "block %llu made up again: %s %.*s, not %.*s; %.*s",
                  (unsigned long long)acc->block.header.number, members[i], (int)other.n, (const char *)other.p,
                  (int)one.n, (const char *)one.p, (int)cd_min_u64(evm_api_text(v, answer).n, 300),
                  (const char *)evm_api_text(v, answer).p);
    }
}

/* The state behind the last transaction is that behind the block, unless withdrawals follow. */
static void roots_of_block(evm_api *a, vec *v, const cd_block *b)
{
    cd_buf hash = {0};
    cd_buf root = {0};
    cd_hex_put(&hash, cd_bytes_of(b->hash.b, 32));
    cd_hex_put(&root, cd_bytes_of(b->header.state_root.b, 32));
    cd_json answer =
        evm_api_ask(a, v,
                    cd_bytes_str(cd_arena_fmt(&v->arena,
                                              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"debug_intermediateRoots\","
                                              "\"params\":[\"%s\"]}",
                                              cd_buf_cstr(&hash))));
    cd_json roots = cd_json_get(answer, "result");
    cd_bytes last = {0};
    bool ok = cd_json_len(roots) == b->tx_cnt && cd_json_str(&last, cd_json_at(roots, b->tx_cnt - 1), NULL) == CD_OK &&
              cd_bytes_eq(last, cd_buf_bytes(&root));
    vec_check(v, ok, "roots of block %llu: %.*s", (unsigned long long)b->header.number,
              (int)cd_min_u64(evm_api_text(v, answer).n, 300), (const char *)evm_api_text(v, answer).p);
    cd_buf_fini(&hash);
    cd_buf_fini(&root);
}

/* The fee window and results of no predicates: all that a simulated block has. */
static bool has_no_predicates(const cd_header *h)
{
    cd_buf none = {0};
    cd_predicate_results_enc(&none, &(cd_predicate_results){0});
    usize n = CD_FEE_WINDOW_SIZE + cd_buf_bytes(&none).n;
    cd_buf_fini(&none);
    return h->extra.n <= n;
}

/* All blocks but the genesis and those with predicates. */
static void simulate_chain(evm_api *a, vec *v)
{
    cd_view *view = cd_view_newest(a->api.chain);
    const cd_chain_rules *r = cd_view_rules(view);
    u64 head = cd_view_head(view)->block.header.number;
    usize done = 0;
    for (u64 n = 1; n <= head; n++) {
        const cd_accepted *acc;
        if (cd_view_block(view, &acc, &v->arena, n) != CD_OK) {
            vec_check(v, false, "no block %llu", (unsigned long long)n);
            break;
        }
        if (acc->block.tx_cnt != 0 && acc->block.withdrawal_cnt == 0) {
            roots_of_block(a, v, &acc->block);
        }
        if (r->layout == CD_HEADER_ETHEREUM || has_no_predicates(&acc->block.header)) {
            simulate_block(a, v, acc, r);
            done++;
        }
    }
    vec_check(v, done > 0, "no block was made up again");
    cd_view_unref(view);
}

#endif
