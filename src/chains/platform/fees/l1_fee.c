#include "chains/platform/fees/l1_fee.h"

#include "chains/platform/fees/gas.h"

cd_l1_fee_state cd_l1_fee_advance(cd_l1_fee_state s, u64 target, u64 seconds)
{
    if (s.current < target) {
        s.excess = cd_gas_sub_over_time(s.excess, target - s.current, seconds);
    } else {
        s.excess = cd_gas_add_over_time(s.excess, s.current - target, seconds);
    }
    return s;
}

u64 cd_l1_fee_cost(cd_l1_fee_state s, const cd_l1_fee_config *c, u64 seconds)
{
    u64 cost = 0;
    if (s.current == c->target) {
        return cd_gas_add_over_time(0, cd_gas_price(c->min_price, s.excess, c->k), seconds);
    }
    for (u64 i = 0; i < seconds; i++) {
        s = cd_l1_fee_advance(s, c->target, 1);
        if (s.excess == 0) { /* it stays 0 from here on */
            return cd_gas_add_over_time(cost, c->min_price, seconds - i);
        }
        cost = cd_gas_add_over_time(cost, cd_gas_price(c->min_price, s.excess, c->k), 1);
        if (cost == UINT64_MAX) {
            return cost;
        }
    }
    return cost;
}

static u64 least(u64 a, u64 b)
{
    return a < b ? a : b;
}

u64 cd_l1_fee_seconds(cd_l1_fee_state s, const cd_l1_fee_config *c, u64 max, u64 funds)
{
    if (c->min_price == 0) {
        return max;
    }
    if (s.current == c->target) {
        return least(funds / cd_gas_price(c->min_price, s.excess, c->k), max);
    }
    for (u64 i = 0; i < max; i++) {
        s = cd_l1_fee_advance(s, c->target, 1);
        if (s.excess == 0) {
            return least(cd_gas_add_over_time(i, funds / c->min_price, 1), max);
        }
        u64 price = cd_gas_price(c->min_price, s.excess, c->k);
        if (price > funds) {
            return i;
        }
        funds -= price;
    }
    return max;
}
