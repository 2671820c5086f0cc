#include "types/ctx_gas.h"

#include "num/div.h"

enum { GAS_SIGNATURE = 1000, GAS_TX = 10000 };

u64 cd_c_gas(usize bytes, u64 signatures)
{
    return bytes + signatures * GAS_SIGNATURE + GAS_TX;
}

u64 cd_c_fee(u64 gas, const cd_u256 *base_fee, u64 rate)
{
    cd_u256 cost;
    cd_u256 by = cd_u256_from_u64(rate);
    if (!cd_u256_checked_mul_u64(&cost, base_fee, gas) || cd_u256_add_u64(&cost, &cost, rate - 1)) {
        return UINT64_MAX;
    }
    cd_u256_div(&cost, &cost, &by);
    return cd_u256_to_u64_sat(&cost);
}
