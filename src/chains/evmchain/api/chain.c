/* Methods about the chain as a whole: ids, head, fees, accounts. */
#include "base/clock.h"
#include "base/version.h"
#include "chains/evmchain/evm_vm_priv.h"
#include "chains/evmchain/fee_l1.h"
#include "crypto/keccak.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEE_HISTORY_MAX = 2048, PERCENTILES_MAX = 100 };

/* Suggested tip: 1 gwei [spec:dev-rpc#2.4]. */
static const u64 tip_wei = 1000000000;

cd_err cd__api_store(cd_rpc_call *call, cd_err e)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", cd_err_str(e));
}

cd_err cd__api_number(cd_rpc_call *call, u64 *out, bool *found, const cd_block_ref *ref)
{
    cd_evm_vm *e = cd__vm_of(call);
    u64 head = cd_chain_head(e->chain)->header.number;
    *found = true;
    switch (ref->tag) {
    case CD_TAG_LATEST:
    case CD_TAG_PENDING:
    case CD_TAG_SAFE:
    case CD_TAG_FINALIZED:
        *out = head;
        return CD_OK;
    case CD_TAG_EARLIEST:
        *out = 0;
        return CD_OK;
    case CD_TAG_NUMBER:
        if (ref->number > head) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "cannot query unfinalized data");
        }
        *out = ref->number;
        return CD_OK;
    case CD_TAG_HASH: {
        cd_block b;
        cd_err err = cd_chain_block_by_hash(e->chain, &b, NULL, call->arena, &ref->hash);
        *found = err == CD_OK;
        if (err == CD_OK) {
            *out = b.header.number;
        }
        return err == CD_OK || err == CD_ENOENT ? CD_OK : cd__api_store(call, err);
    }
    }
    CD_UNREACHABLE();
}

cd_err cd__api_head_only(cd_rpc_call *call, cd_json v, usize idx)
{
    cd_block_ref ref;
    u64 number;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, v, idx));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    if (number != cd_chain_head(cd__vm_of(call)->chain)->header.number) {
        return cd_rpc_fail(
            call, CD_RPC_SERVER,
            "missing trie node: the state of block %llu is not kept, only that of the last "
            "accepted block",
            (unsigned long long)number);
    }
    return CD_OK;
}

cd_err cd__api_base_fee(cd_rpc_call *call, cd_u256 *out)
{
    cd_header next;
    u64 now = cd_clock_wall_s(cd_clock_real());
    cd_chain *c = cd__vm_of(call)->chain;
    cd_err e =
        cd_chain_next_header(c, &next, call->arena, cd_max_u64(now, cd_chain_head(c)->header.time));
    if (e != CD_OK) {
        return cd__api_store(call, e);
    }
    *out = next.base_fee;
    return CD_OK;
}

cd_err cd__api_prices(cd_rpc_call *call, cd_u256 *tip, cd_u256 *fee_cap)
{
    cd_u256 base_fee;
    CD_TRY(cd__api_base_fee(call, &base_fee));
    *tip = cd_u256_from_u64(tip_wei);
    cd_u256_add(fee_cap, &base_fee, &base_fee);
    cd_u256_add(fee_cap, fee_cap, tip);
    return CD_OK;
}

/* --- methods ------------------------------------------------------------------------------------ */

static cd_err web3_client_version(cd_rpc_call *call)
{
    /* Hardhat's helpers look for "anvil" before they use a development chain [spec:decisions#D47]. */
    cd_json_w_cstr(call->out, cd__vm_of(call)->ctx.is_dev ? "anvil/v1.0.0 candela/" CD_VERSION
                                                          : "candela/" CD_VERSION);
    return CD_OK;
}

static cd_err web3_sha3(cd_rpc_call *call)
{
    cd_bytes data;
    cd_hash32 hash;
    CD_TRY(cd_rpc_read_data(call, &data, cd_rpc_arg(call, 0), 0));
    cd_keccak256(&hash, data);
    cd_json_w_hex(call->out, cd_bytes_of(hash.b, 32));
    return CD_OK;
}

static cd_err net_version(cd_rpc_call *call)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu",
                   (unsigned long long)cd_chain_rules_of(cd__vm_of(call)->chain)->chain_id);
    cd_json_w_cstr(call->out, text);
    return CD_OK;
}

static cd_err net_listening(cd_rpc_call *call)
{
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

static cd_err net_peer_count(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, 0);
    return CD_OK;
}

static cd_err eth_chain_id(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, cd_chain_rules_of(cd__vm_of(call)->chain)->chain_id);
    return CD_OK;
}

static cd_err eth_block_number(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, cd_chain_head(cd__vm_of(call)->chain)->header.number);
    return CD_OK;
}

static cd_err eth_syncing(cd_rpc_call *call)
{
    cd_json_w_bool(call->out, false);
    return CD_OK;
}

static cd_err eth_coinbase(cd_rpc_call *call)
{
    static const cd_addr20 blackhole = {.b = {0x01}};
    cd_json_w_hex(call->out, cd_bytes_of(blackhole.b, 20));
    return CD_OK;
}

static cd_err eth_accounts(cd_rpc_call *call)
{
    const cd_evm_vm *e = cd__vm_of(call);
    cd_json_w_arr(call->out);
    for (usize i = 0; i < e->dev_cnt; i++) {
        cd_json_w_hex(call->out, cd_bytes_of(e->dev[i].addr.b, 20));
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

static cd_err eth_base_fee(cd_rpc_call *call)
{
    cd_u256 fee;
    CD_TRY(cd__api_base_fee(call, &fee));
    cd_json_w_qty_u256(call->out, &fee);
    return CD_OK;
}

static cd_err eth_gas_price(cd_rpc_call *call)
{
    cd_u256 price;
    cd_u256 tip = cd_u256_from_u64(tip_wei);
    CD_TRY(cd__api_base_fee(call, &price));
    cd_u256_add(&price, &price, &tip);
    cd_json_w_qty_u256(call->out, &price);
    return CD_OK;
}

static cd_err eth_max_priority_fee(cd_rpc_call *call)
{
    cd_json_w_qty(call->out, tip_wei);
    return CD_OK;
}

/* --- fee history -------------------------------------------------------------------------------- */

typedef struct paid_tip {
    cd_u256 tip;
    u64 gas;
} paid_tip;

static int compare_tips(const void *x, const void *y)
{
    return cd_u256_cmp(&((const paid_tip *)x)->tip, &((const paid_tip *)y)->tip);
}

/* Writes the tips at the percentiles of a block's gas. */
static cd_err write_rewards(cd_rpc_call *call, const cd_block *b, const double *percent, usize cnt)
{
    cd_receipt *receipts = NULL;
    cd_err e = b->tx_cnt == 0
                   ? CD_OK
                   : cd_chain_receipts(cd__vm_of(call)->chain, &receipts, call->arena, b);
    if (e != CD_OK) {
        return cd__api_store(call, e);
    }
    paid_tip *tips = cd_arena_array(call->arena, paid_tip, b->tx_cnt);
    for (usize i = 0; i < b->tx_cnt; i++) {
        cd_u256_sub_sat(&tips[i].tip, &receipts[i].effective_gas_price, &b->header.base_fee);
        tips[i].gas = receipts[i].gas_used;
    }
    if (b->tx_cnt > 1) {
        qsort(tips, b->tx_cnt, sizeof *tips, compare_tips);
    }
    cd_json_w_arr(call->out);
    usize at = 0;
    u64 sum = b->tx_cnt == 0 ? 0 : tips[0].gas;
    for (usize i = 0; i < cnt; i++) {
        u64 threshold = (u64)((double)b->header.gas_used * percent[i] / 100);
        while (b->tx_cnt != 0 && sum < threshold && at + 1 < b->tx_cnt) {
            sum += tips[++at].gas;
        }
        if (b->tx_cnt == 0) {
            cd_json_w_qty(call->out, 0);
        } else {
            cd_json_w_qty_u256(call->out, &tips[at].tip);
        }
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

static cd_err read_percentiles(cd_rpc_call *call, double **out, usize *cnt)
{
    cd_json list = cd_rpc_arg(call, 2);
    *cnt = cd_json_len(list);
    *out = cd_arena_array(call->arena, double, *cnt);
    if (*cnt > PERCENTILES_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "invalid reward percentile: over the query limit %d", PERCENTILES_MAX);
    }
    cd_json_it it = cd_json_iter(list);
    for (usize i = 0; cd_json_next(&it); i++) {
        double p;
        if (cd_json_f64(&p, it.val, NULL) != CD_OK) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 2: not a number");
        }
        if (p < 0 || p > 100) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "invalid reward percentile: %f", p);
        }
        if (i > 0 && p <= (*out)[i - 1]) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "invalid reward percentile: #%zu:%f >= #%zu:%f",
                               i - 1, (*out)[i - 1], i, p);
        }
        (*out)[i] = p;
    }
    return CD_OK;
}

static cd_err eth_fee_history(cd_rpc_call *call)
{
    cd_evm_vm *e = cd__vm_of(call);
    cd_block_ref ref;
    double *percent;
    usize percent_cnt;
    u64 count;
    u64 last;
    bool found;
    /* The count comes as a quantity or, from some clients, as a plain number. */
    if (cd_json_u64(&count, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not a block count");
    }
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 1), 1));
    CD_TRY(cd__api_number(call, &last, &found, &ref));
    CD_TRY(read_percentiles(call, &percent, &percent_cnt));
    count = cd_min_u64(cd_min_u64(count, FEE_HISTORY_MAX), last + 1);

    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "oldestBlock");
    cd_json_w_qty(w, count == 0 ? 0 : last + 1 - count);
    if (count == 0) {
        cd_json_w_key(w, "gasUsedRatio");
        cd_json_w_null(w);
        cd_json_w_obj_end(w);
        return CD_OK;
    }
    cd_block *blocks = cd_arena_array(call->arena, cd_block, count);
    for (u64 i = 0; i < count; i++) {
        cd_err err =
            cd_chain_block_at(e->chain, &blocks[i], NULL, call->arena, last + 1 - count + i);
        if (err != CD_OK) {
            return cd__api_store(call, err);
        }
    }
    cd_json_w_key(w, "baseFeePerGas");
    cd_json_w_arr(w);
    for (u64 i = 0; i < count; i++) {
        cd_json_w_qty_u256(w, &blocks[i].header.base_fee);
    }
    cd_u256 next;
    const cd_header *last_header = &blocks[count - 1].header;
    if (cd_fee_l1_base_fee(&next, &cd_chain_rules_of(e->chain)->config.fee, last_header,
                           last_header->time) == CD_OK) {
        cd_json_w_qty_u256(w, &next);
    }
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "gasUsedRatio");
    cd_json_w_arr(w);
    for (u64 i = 0; i < count; i++) {
        char text[32];
        const cd_header *h = &blocks[i].header;
        (void)snprintf(text, sizeof text, "%.15g", (double)h->gas_used / (double)h->gas_limit);
        cd_json_w_raw(w, cd_bytes_str(text));
    }
    cd_json_w_arr_end(w);
    if (percent_cnt != 0) {
        cd_json_w_key(w, "reward");
        cd_json_w_arr(w);
        for (u64 i = 0; i < count; i++) {
            CD_TRY(write_rewards(call, &blocks[i], percent, percent_cnt));
        }
        cd_json_w_arr_end(w);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

const cd_rpc_method cd__api_chain[] = {
    {"web3_clientVersion", web3_client_version, 0, 0},
    {"web3_sha3", web3_sha3, 1, 1},
    {"net_version", net_version, 0, 0},
    {"net_listening", net_listening, 0, 0},
    {"net_peerCount", net_peer_count, 0, 0},
    {"eth_chainId", eth_chain_id, 0, 0},
    {"eth_blockNumber", eth_block_number, 0, 0},
    {"eth_syncing", eth_syncing, 0, 0},
    {"eth_coinbase", eth_coinbase, 0, 0},
    {"eth_accounts", eth_accounts, 0, 0},
    {"eth_baseFee", eth_base_fee, 0, 0},
    {"eth_gasPrice", eth_gas_price, 0, 0},
    {"eth_maxPriorityFeePerGas", eth_max_priority_fee, 0, 0},
    {"eth_feeHistory", eth_fee_history, 2, 3},
};
const usize cd__api_chain_cnt = CD_COUNT(cd__api_chain);
