#include "chains/evmchain/core/rules/eth_rules.h"

#include "num/div.h"

const cd_blob_schedule CD_BLOB_CANCUN = {.target = 3, .max = 6, .update_fraction = 3338477};
const cd_blob_schedule CD_BLOB_PRAGUE = {.target = 6, .max = 9, .update_fraction = 5007716};

const cd_blob_schedule *cd_eth_blob_schedule(cd_fork fork)
{
    return fork >= CD_PRAGUE ? &CD_BLOB_PRAGUE : &CD_BLOB_CANCUN;
}

enum { ELASTICITY = 2, BASE_FEE_CHANGE_DENOMINATOR = 8 };

void cd_eth_base_fee(cd_u256 *out, const cd_u256 *parent_base_fee, u64 parent_gas_limit, u64 parent_gas_used)
{
    u64 target = parent_gas_limit / ELASTICITY;
    if (parent_gas_used == target || target == 0) {
        cd_u256_set(out, parent_base_fee);
        return;
    }
    bool is_up = parent_gas_used > target;
    cd_u256 gap = cd_u256_from_u64(is_up ? parent_gas_used - target : target - parent_gas_used);
    cd_u256 div = cd_u256_from_u64(target);
    cd_u256 eight = cd_u256_from_u64(BASE_FEE_CHANGE_DENOMINATOR);
    cd_u256 delta;
    cd_u256_mul(&delta, parent_base_fee, &gap);
    cd_u256_div(&delta, &delta, &div);
    cd_u256_div(&delta, &delta, &eight);
    if (!is_up) {
        cd_u256_sub_sat(out, parent_base_fee, &delta);
        return;
    }
    if (cd_u256_is_zero(&delta)) {
        delta = cd_u256_one();
    }
    cd_u256_add(out, parent_base_fee, &delta);
}

u64 cd_eth_excess_blob_gas(u64 parent_excess, u64 parent_used, const cd_blob_schedule *s)
{
    u64 target = s->target * CD_BLOB_GAS;
    u64 sum;
    if (!cd_add_u64(&sum, parent_excess, parent_used)) {
        sum = UINT64_MAX;
    }
    return sum > target ? sum - target : 0;
}

void cd_eth_blob_base_fee(cd_u256 *out, u64 excess, const cd_blob_schedule *s)
{
    /* Taylor series of e^(excess/fraction), scaled by fraction; EIP-4844's fake_exponential with
     * factor 1. */
    cd_u256 fraction = cd_u256_from_u64(s->update_fraction);
    cd_u256 term = fraction;
    cd_u256 sum = cd_u256_zero();
    for (u64 i = 1; !cd_u256_is_zero(&term); i++) {
        cd_u256 by;
        if (!cd_u256_checked_add(&sum, &sum, &term) || !cd_u256_checked_mul_u64(&term, &term, excess)) {
            *out = cd_u256_max();
            return;
        }
        u128 d = (u128)s->update_fraction * i;
        by = (cd_u256){.w = {(u64)d, (u64)(d >> 64), 0, 0}};
        cd_u256_div(&term, &term, &by);
    }
    cd_u256_div(out, &sum, &fraction);
}
