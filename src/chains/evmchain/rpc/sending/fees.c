/* What gas costs: base fee, tips, fee history, fee configuration. [spec:eth-rpc#4] */
#include "base/hex.h"
#include "chains/evmchain/core/rules/eth_rules.h"
#include "chains/evmchain/core/rules/fee_l1.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/sending/prices.h"
#include "num/div.h"
#include "precompile/module.h"
#include "rpc/param.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FEE_HISTORY_MAX = 2048,    /* blocks in an answer */
    FEE_HISTORY_DEPTH = 25000, /* blocks behind the head */
    PERCENTILES_MAX = 100,
    TIP_BLOCKS = 40, /* blocks that a suggestion looks at */
    TIP_LOOK_BACK_S = 80,
    TIP_PERCENTILE = 40,
    TIPS_PER_BLOCK = 64, /* tips of one block; from a block that has more they are taken evenly */
};

static const u64 tip_least = 1;
static const u64 tip_most = 150000000000;
static const u64 tip_dev = 1000000000; /* [spec:dev-rpc#2.4] */

/* The fee configuration for a child of a block. */
static cd_err read_child(cd_rpc_call *call, cd_child_rules *out, u64 number)
{
    cd_err e = cd_view_child(cd_api_view(call), out, call->arena, number);
    return e == CD_OK ? CD_OK : cd__api_no_state(call, e, number);
}

/* On a development network somebody may have chosen it: its owner knows. */
static cd_err chosen_base_fee(cd_rpc_call *call, cd_u256 *out)
{
    const cd_api *e = cd_api_of(call);
    cd_build_cfg next;
    cd_header h;
    cd_api_next(e, &next);
    cd_err err = cd_chain_next_header_as(e->chain, &h, call->arena, &next.wish, NULL);
    if (err != CD_OK) {
        return cd_api_store(call, err);
    }
    *out = h.base_fee;
    return CD_OK;
}

cd_err cd_api_base_fee(cd_rpc_call *call, cd_u256 *out)
{
    if (cd_api_of(call)->is_dev && call->lane == CD_RPC_OWNER) {
        return chosen_base_fee(call, out);
    }
    cd_view *v = cd_api_view(call);
    const cd_header *head = &cd_view_head(v)->block.header;
    cd_child_rules child;
    if (cd_view_rules(v)->layout == CD_HEADER_ETHEREUM) {
        cd_eth_base_fee(out, &head->base_fee, head->gas_limit, head->gas_used);
        return CD_OK;
    }
    CD_TRY(read_child(call, &child, head->number));
    u64 now = cd_clock_wall_s(cd_api_of(call)->service.cfg.clock);
    const cd_parent_l1 p = {.rules = cd_view_rules(v), .header = head, .child = child};
    cd_err e = cd_header_base_fee_l1(out, &p, cd_max_u64(now, head->time), 0);
    return e == CD_OK ? CD_OK : cd_api_store(call, e);
}

/* --- tips --- */

static int compare_u256(const void *x, const void *y)
{
    return cd_u256_cmp(x, y);
}

static cd_u256 clamp_tip(const cd_u256 *tip)
{
    cd_u256 least = cd_u256_from_u64(tip_least);
    cd_u256 most = cd_u256_from_u64(tip_most);
    if (cd_u256_lt(tip, &least)) {
        return least;
    }
    return cd_u256_lt(&most, tip) ? most : *tip;
}

/* Collects what recent transactions paid; *until is when the first of their blocks is too old. */
static cd_err recent_tips(cd_rpc_call *call, cd_u256 *tips, usize *cnt, u64 *until, u64 now)
{
    cd_view *v = cd_api_view(call);
    u64 head = cd_view_head(v)->block.header.number;
    *until = UINT64_MAX;
    for (u64 n = head; n > 0 && head - n < TIP_BLOCKS; n--) {
        const cd_accepted *acc;
        cd_err e = cd_view_block(v, &acc, call->arena, n);
        if (e != CD_OK) {
            return cd_api_store(call, e);
        }
        const cd_block *b = &acc->block;
        if (b->header.time + TIP_LOOK_BACK_S < now) {
            break;
        }
        *until = b->header.time + TIP_LOOK_BACK_S;
        usize step = (b->tx_cnt + TIPS_PER_BLOCK - 1) / TIPS_PER_BLOCK;
        for (usize i = 0; i < b->tx_cnt; i += step) {
            cd_u256_sub_sat(&tips[(*cnt)++], &acc->receipts[i].effective_gas_price, &b->header.base_fee);
        }
    }
    return CD_OK;
}

cd_err cd_api_tip(cd_rpc_call *call, cd_u256 *out)
{
    cd_api *e = cd_api_of(call);
    cd__api_tips *known = &e->service.tips;
    if (e->is_dev) {
        *out = cd_u256_from_u64(tip_dev);
        return CD_OK;
    }
    const cd_hash32 *head = &cd_view_head(cd_api_view(call))->block.hash;
    u64 now = cd_clock_wall_s(e->service.cfg.clock);
    cd_mutex_lock(&known->lock);
    bool is_known = known->until >= now && cd_hash32_eq(&known->head, head);
    *out = known->tip;
    cd_mutex_unlock(&known->lock);
    if (is_known) {
        return CD_OK;
    }
    u64 until;
    usize cnt = 0;
    cd_u256 *tips = cd_arena_array(call->arena, cd_u256, (usize)TIP_BLOCKS * TIPS_PER_BLOCK);
    CD_TRY(recent_tips(call, tips, &cnt, &until, now));
    if (cnt > 1) {
        qsort(tips, cnt, sizeof *tips, compare_u256);
    }
    cd_u256 tip = cnt == 0 ? cd_u256_zero() : tips[(cnt - 1) * TIP_PERCENTILE / 100];
    *out = clamp_tip(&tip);
    cd_mutex_lock(&known->lock);
    known->head = *head;
    known->until = until;
    known->tip = *out;
    cd_mutex_unlock(&known->lock);
    return CD_OK;
}

cd_err cd__api_prices(cd_rpc_call *call, cd_u256 *tip, cd_u256 *fee_cap)
{
    cd_u256 base_fee = cd_view_head(cd_api_view(call))->block.header.base_fee;
    if (cd_api_of(call)->is_dev) {
        CD_TRY(cd_api_base_fee(call, &base_fee));
    }
    CD_TRY(cd_api_tip(call, tip));
    cd_u256_add(fee_cap, &base_fee, &base_fee);
    cd_u256_add(fee_cap, fee_cap, tip);
    return CD_OK;
}

cd_err cd__eth_base_fee(cd_rpc_call *call)
{
    cd_u256 fee = cd_u256_zero();
    CD_TRY(cd_api_base_fee(call, &fee));
    cd_json_w_qty_u256(call->out, &fee);
    return CD_OK;
}

/* A share of the suggested tip in percent, neither more than the operator recommends nor less than the pool takes. */
static void write_option(cd_rpc_call *call, const char *name, const cd_u256 *base_fee, const cd_u256 *tip, u64 percent)
{
    const cd_vm_config *c = cd_api_of(call)->config;
    cd_u256 share = cd_u256_from_u64(percent);
    cd_u256 most = cd_u256_from_u64(c->price_max_tip);
    cd_u256 least = cd_u256_from_u64(c->pool_price_limit);
    cd_u256 fee_cap;
    cd_u256_mul(&share, tip, &share);
    (void)cd_u256_div_u64(&share, &share, 100);
    share = cd_u256_lt(&most, &share) ? most : share;
    share = cd_u256_lt(&share, &least) ? least : share;
    cd_u256_add(&fee_cap, base_fee, base_fee);
    cd_u256_add(&fee_cap, &fee_cap, &share);
    cd_json_w_key(call->out, name);
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "maxPriorityFeePerGas");
    cd_json_w_qty_u256(call->out, &share);
    cd_json_w_key(call->out, "maxFeePerGas");
    cd_json_w_qty_u256(call->out, &fee_cap);
    cd_json_w_obj_end(call->out);
}

cd_err cd__eth_suggest_price_options(cd_rpc_call *call)
{
    const cd_vm_config *c = cd_api_of(call)->config;
    cd_u256 base_fee = cd_u256_zero();
    cd_u256 tip;
    CD_TRY(cd_api_base_fee(call, &base_fee));
    CD_TRY(cd_api_tip(call, &tip));
    cd_json_w_obj(call->out);
    write_option(call, "slow", &base_fee, &tip, c->price_slow_percent);
    write_option(call, "normal", &base_fee, &tip, 100);
    write_option(call, "fast", &base_fee, &tip, c->price_fast_percent);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__eth_gas_price(cd_rpc_call *call)
{
    cd_u256 price = cd_u256_zero();
    cd_u256 tip;
    CD_TRY(cd_api_base_fee(call, &price));
    CD_TRY(cd_api_tip(call, &tip));
    cd_u256_add(&price, &price, &tip);
    cd_json_w_qty_u256(call->out, &price);
    return CD_OK;
}

cd_err cd__eth_max_priority_fee(cd_rpc_call *call)
{
    cd_u256 tip;
    CD_TRY(cd_api_tip(call, &tip));
    cd_json_w_qty_u256(call->out, &tip);
    return CD_OK;
}

/* What a header's children pay per blob gas. */
static cd_u256 blob_fee_of_child(const cd_header *h)
{
    cd_u256 fee;
    u64 excess = cd_eth_excess_blob_gas(h->excess_blob_gas, h->blob_gas_used, &CD_BLOB_CANCUN);
    cd_eth_blob_base_fee(&fee, excess, &CD_BLOB_CANCUN);
    return fee;
}

cd_err cd__eth_blob_base_fee(cd_rpc_call *call)
{
    cd_u256 fee = blob_fee_of_child(&cd_view_head(cd_api_view(call))->block.header);
    cd_json_w_qty_u256(call->out, &fee);
    return CD_OK;
}

/* --- fee configuration --- */

cd_err cd__eth_fee_config(cd_rpc_call *call)
{
    cd_view *v = cd_api_view(call);
    const cd_chain_rules *r = cd_view_rules(v);
    cd_json_w *w = call->out;
    cd_block_ref ref;
    cd_child_rules child;
    cd_header h;
    u64 number;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 0), 0));
    CD_TRY(cd__api_number(call, &number, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    CD_TRY(read_child(call, &child, number));
    cd_err e = cd_view_header(v, &h, call->arena, number);
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    cd_json_w_obj(w);
    cd_json_w_key(w, "feeConfig");
    cd_fee_config_json(w, &child.fee);
    if (r->schedule != NULL && cd_schedule_active(r->schedule, CD_MODULE_FEE, h.time) != NULL) {
        cd_json_w_key(w, "lastChangedAt");
        cd_json_w_u64(w, child.fee_changed_at.w[0]);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* --- fee history --- */

typedef struct paid_tip {
    cd_u256 tip;
    u64 gas;
} paid_tip;

static int compare_paid(const void *x, const void *y)
{
    return cd_u256_cmp(&((const paid_tip *)x)->tip, &((const paid_tip *)y)->tip);
}

/* Writes the tips at the percentiles of a block's gas. */
static void write_rewards(cd_rpc_call *call, const cd_accepted *acc, const double *percent, usize cnt)
{
    const cd_block *b = &acc->block;
    paid_tip *tips = cd_arena_array(call->arena, paid_tip, b->tx_cnt + 1); /* an empty block counts as one tip of 0 */
    usize tip_cnt = b->tx_cnt == 0 ? 1 : b->tx_cnt;
    for (usize i = 0; i < b->tx_cnt; i++) {
        cd_u256_sub_sat(&tips[i].tip, &acc->receipts[i].effective_gas_price, &b->header.base_fee);
        tips[i].gas = acc->receipts[i].gas_used;
    }
    qsort(tips, tip_cnt, sizeof *tips, compare_paid);
    cd_json_w_arr(call->out);
    usize at = 0;
    u64 sum = tips[0].gas;
    for (usize i = 0; i < cnt; i++) {
        u64 threshold = (u64)((double)b->header.gas_used * percent[i] / 100);
        while (sum < threshold && at + 1 < tip_cnt) {
            sum += tips[++at].gas;
        }
        cd_json_w_qty_u256(call->out, &tips[at].tip);
    }
    cd_json_w_arr_end(call->out);
}

static cd_err read_percentiles(cd_rpc_call *call, double **out, usize *cnt)
{
    cd_json list = cd_rpc_arg(call, 2);
    if (cd_json_has(list) && cd_json_kind_of(list) != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 2: json: cannot unmarshal into Go value of type "
                           "[]float64");
    }
    *cnt = cd_json_len(list);
    if (*cnt > PERCENTILES_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "invalid reward percentile: over the query limit %d", PERCENTILES_MAX);
    }
    *out = cd_arena_array(call->arena, double, *cnt);
    cd_json_it it = cd_json_iter(list);
    for (usize i = 0; cd_json_next(&it); i++) {
        double p;
        if (cd_json_f64(&p, it.val, NULL) != CD_OK) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                               "invalid argument 2: json: cannot unmarshal into Go value of type "
                               "float64");
        }
        if (p < 0 || p > 100) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "invalid reward percentile: %f", p);
        }
        if (i > 0 && p <= (*out)[i - 1]) {
            return cd_rpc_fail(call, CD_RPC_SERVER, "invalid reward percentile: #%zu:%f >= #%zu:%f", i - 1,
                               (*out)[i - 1], i, p);
        }
        (*out)[i] = p;
    }
    return CD_OK;
}

/* A ratio between 0 and 1 in the fewest digits that read back as it. */
static void write_ratio(cd_json_w *w, u64 part, u64 whole)
{
    char text[40];
    double ratio = whole == 0 ? 0 : (double)part / (double)whole;
    int digits = 15;
    (void)snprintf(text, sizeof text, "%.*g", digits, ratio);
    while (digits < 17 && strtod(text, NULL) != ratio) {
        (void)snprintf(text, sizeof text, "%.*g", ++digits, ratio);
    }
    cd_json_w_raw(w, cd_bytes_str(text));
}

/* What was asked for, and where it was found. */
typedef struct history {
    const cd_accepted **blocks; /* ascending */
    usize cnt;
    const double *percent;
    usize percent_cnt;
} history;

static void write_base_fees(cd_rpc_call *call, const history *h)
{
    cd_json_w *w = call->out;
    const cd_chain_rules *r = cd_view_rules(cd_api_view(call));
    const cd_header *last = &h->blocks[h->cnt - 1]->block.header;
    cd_u256 next;
    cd_json_w_key(w, "baseFeePerGas");
    cd_json_w_arr(w);
    for (usize i = 0; i < h->cnt; i++) {
        cd_json_w_qty_u256(w, &h->blocks[i]->block.header.base_fee);
    }
    /* That of the next block depends on its time here; only where tools count on it is a guess given. */
    if (r->layout == CD_HEADER_ETHEREUM) {
        cd_eth_base_fee(&next, &last->base_fee, last->gas_limit, last->gas_used);
        cd_json_w_qty_u256(w, &next);
    } else if (r->is_dev && cd_fee_l1_base_fee(&next, &r->config.fee, last, last->time) == CD_OK) {
        cd_json_w_qty_u256(w, &next);
    }
    cd_json_w_arr_end(w);
}

static void write_blob_fees(cd_json_w *w, const history *h)
{
    cd_u256 fee;
    cd_json_w_key(w, "baseFeePerBlobGas");
    cd_json_w_arr(w);
    for (usize i = 0; i < h->cnt; i++) {
        cd_eth_blob_base_fee(&fee, h->blocks[i]->block.header.excess_blob_gas, &CD_BLOB_CANCUN);
        cd_json_w_qty_u256(w, &fee);
    }
    fee = blob_fee_of_child(&h->blocks[h->cnt - 1]->block.header);
    cd_json_w_qty_u256(w, &fee);
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "blobGasUsedRatio");
    cd_json_w_arr(w);
    for (usize i = 0; i < h->cnt; i++) {
        write_ratio(w, h->blocks[i]->block.header.blob_gas_used, CD_BLOB_CANCUN.max * CD_BLOB_GAS);
    }
    cd_json_w_arr_end(w);
}

static void write_history(cd_rpc_call *call, const history *h)
{
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "oldestBlock");
    cd_json_w_qty(w, h->blocks[0]->block.header.number);
    if (h->percent_cnt != 0) {
        cd_json_w_key(w, "reward");
        cd_json_w_arr(w);
        for (usize i = 0; i < h->cnt; i++) {
            write_rewards(call, h->blocks[i], h->percent, h->percent_cnt);
        }
        cd_json_w_arr_end(w);
    }
    write_base_fees(call, h);
    cd_json_w_key(w, "gasUsedRatio");
    cd_json_w_arr(w);
    for (usize i = 0; i < h->cnt; i++) {
        const cd_header *header = &h->blocks[i]->block.header;
        write_ratio(w, header->gas_used, header->gas_limit);
    }
    cd_json_w_arr_end(w);
    if (cd_view_rules(cd_api_view(call))->layout == CD_HEADER_ETHEREUM) {
        write_blob_fees(w, h);
    }
    cd_json_w_obj_end(w);
}

/* The last block asked for: a height that is not too far back. */
static cd_err last_of(cd_rpc_call *call, u64 *out)
{
    cd_block_ref ref;
    bool found;
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, 1), 1));
    if (ref.tag == CD_TAG_NUMBER && ref.number > head) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "request beyond head block: requested %llu, head %llu",
                           (unsigned long long)ref.number, (unsigned long long)head);
    }
    CD_TRY(cd__api_number(call, out, &found, &ref));
    if (!found) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "header not found");
    }
    if (head - *out >= FEE_HISTORY_DEPTH) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "request beyond historical limit: requested %llu, head %llu",
                           (unsigned long long)*out, (unsigned long long)head);
    }
    return CD_OK;
}

cd_err cd__eth_fee_history(cd_rpc_call *call)
{
    cd_json_w *w = call->out;
    history h = {0};
    double *percent;
    u64 count;
    u64 last;
    /* The count comes as a quantity or, from some clients, as a plain number. */
    if (cd_json_u64(&count, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not a block count");
    }
    CD_TRY(read_percentiles(call, &percent, &h.percent_cnt));
    CD_TRY(last_of(call, &last));
    if (count == 0) {
        cd_json_w_raw(w, cd_bytes_str("{\"oldestBlock\":\"0x0\",\"gasUsedRatio\":null}"));
        return CD_OK;
    }
    h.percent = percent;
    h.cnt = cd_min_u64(cd_min_u64(count, FEE_HISTORY_MAX), last + 1);
    h.blocks = cd_arena_array(call->arena, const cd_accepted *, h.cnt);
    for (usize i = 0; i < h.cnt; i++) {
        cd_err e = cd_view_block(cd_api_view(call), &h.blocks[i], call->arena, last + 1 - h.cnt + i);
        if (e != CD_OK) {
            return cd_api_store(call, e);
        }
        if (cd_rpc_is_late(call)) {
            return cd_rpc_fail_late(call);
        }
    }
    write_history(call, &h);
    return CD_OK;
}
