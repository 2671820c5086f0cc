#include "chains/evmchain/core/rules/fee_l1.h"

#include "num/div.h"

enum { SLOTS = 10 };

static u64 add_saturating(u64 a, u64 b)
{
    u64 sum;
    return cd_add_u64(&sum, a, b) ? sum : UINT64_MAX;
}

cd_err cd_fee_window(u8 out[CD_FEE_WINDOW_SIZE], const cd_header *parent, u64 time, u64 further)
{
    memset(out, 0, CD_FEE_WINDOW_SIZE);
    if (parent->extra.n < CD_FEE_WINDOW_SIZE) {
        return CD_EFORMAT;
    }
    u64 elapsed = time > parent->time ? time - parent->time : 0;
    if (elapsed >= SLOTS) {
        return CD_OK;
    }
    u8 window[CD_FEE_WINDOW_SIZE];
    memcpy(window, parent->extra.p, sizeof window);
    u8 *last = window + CD_FEE_WINDOW_SIZE - 8;
    cd_put_be64(last, add_saturating(add_saturating(cd_be64(last), parent->gas_used), further));
    memcpy(out, window + elapsed * 8, (SLOTS - elapsed) * 8);
    return CD_OK;
}

cd_err cd_fee_l1_window(u8 out[CD_FEE_WINDOW_SIZE], const cd_header *parent, u64 time)
{
    if (parent->number == 0) {
        memset(out, 0, CD_FEE_WINDOW_SIZE);
        return CD_OK;
    }
    /* Of a chain with atomic transactions. [spec:evm-chain#0] */
    bool has_ext = (parent->has & CD_HEADER_EXT_DATA_GAS_USED) != 0;
    return cd_fee_window(out, parent, time, has_ext ? cd_u256_to_u64_sat(&parent->ext_data_gas_used) : 0);
}

/* |total - target| * fee / target / denominator, at least 1. */
static void fee_step(cd_u256 *out, const cd_fee_config *cfg, const cd_u256 *total, const cd_u256 *fee)
{
    cd_u256 diff;
    if (cd_u256_lt(total, &cfg->target_gas)) {
        cd_u256_sub(&diff, &cfg->target_gas, total);
    } else {
        cd_u256_sub(&diff, total, &cfg->target_gas);
    }
    cd_u256 one = cd_u256_one();
    cd_u256_mul(&diff, &diff, fee);
    cd_u256_div(&diff, &diff, &cfg->target_gas);
    cd_u256_div(&diff, &diff, &cfg->base_fee_change_denominator);
    cd_u256_set(out, cd_u256_is_zero(&diff) ? &one : &diff);
}

void cd_fee_of_window(cd_u256 *out, const cd_fee_config *cfg, const u8 window[CD_FEE_WINDOW_SIZE],
                      const cd_u256 *before, u64 elapsed)
{
    u64 sum = 0;
    for (usize i = 0; i < SLOTS; i++) {
        sum = add_saturating(sum, cd_be64(window + 8 * i));
    }
    cd_u256 total = cd_u256_from_u64(sum);
    cd_u256 step;
    int cmp = cd_u256_cmp(&total, &cfg->target_gas);
    if (cmp == 0) {
        *out = *before;
        return;
    }
    fee_step(&step, cfg, &total, before);
    cd_u256 fee;
    if (cmp > 0) {
        if (!cd_u256_checked_add(&fee, before, &step)) {
            fee = cd_u256_max();
        }
    } else {
        u64 rolls = elapsed > SLOTS ? elapsed / SLOTS : 1;
        if (!cd_u256_checked_mul_u64(&step, &step, rolls)) {
            step = cd_u256_max();
        }
        cd_u256_sub_sat(&fee, before, &step);
    }
    *out = cd_u256_lt(&fee, &cfg->min_base_fee) ? cfg->min_base_fee : fee;
}

cd_err cd_fee_l1_base_fee(cd_u256 *out, const cd_fee_config *cfg, const cd_header *parent, u64 time)
{
    u8 window[CD_FEE_WINDOW_SIZE];
    if (parent->number == 0) {
        *out = cfg->min_base_fee;
        return CD_OK;
    }
    CD_TRY(cd_fee_l1_window(window, parent, time));
    cd_fee_of_window(out, cfg, window, &parent->base_fee, time > parent->time ? time - parent->time : 0);
    return CD_OK;
}

void cd_fee_l1_block_gas_cost(cd_u256 *out, const cd_fee_config *cfg, const cd_header *parent, u64 time)
{
    if ((parent->has & CD_HEADER_BLOCK_GAS_COST) == 0) {
        *out = cfg->min_block_gas_cost;
        return;
    }
    u64 elapsed = time > parent->time ? time - parent->time : 0;
    bool is_fast = elapsed <= cfg->target_block_rate;
    u64 off = is_fast ? cfg->target_block_rate - elapsed : elapsed - cfg->target_block_rate;
    cd_u256 change;
    cd_u256 cost = cd_u256_zero();
    bool fits = cd_u256_checked_mul_u64(&change, &cfg->block_gas_cost_step, off);
    if (is_fast) {
        if (!fits || !cd_u256_checked_add(&cost, &parent->block_gas_cost, &change)) {
            cost = cfg->max_block_gas_cost;
        }
    } else if (!fits || !cd_u256_checked_sub(&cost, &parent->block_gas_cost, &change)) {
        cost = cfg->min_block_gas_cost;
    }
    if (cd_u256_lt(&cost, &cfg->min_block_gas_cost)) {
        cost = cfg->min_block_gas_cost;
    }
    *out = cd_u256_lt(&cfg->max_block_gas_cost, &cost) ? cfg->max_block_gas_cost : cost;
}
