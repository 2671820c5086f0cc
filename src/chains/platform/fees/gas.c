#include "chains/platform/fees/gas.h"

#include "num/div.h"
#include "num/u256.h"

const cd_gas_config cd_gas_config_default = {
    .weights = {.bandwidth = 1, .reads = 1000, .writes = 1000, .compute = 4},
    .max_capacity = 1000000,
    .max_per_second = 100000,
    .target_per_second = 50000,
    .min_price = 1,
    .k = 2164043,
};

/* Everything stays below 2^193: a sum that reaches k · (2^64 - 1) ends the series. */
u64 cd_gas_price(u64 min_price, u64 excess, u64 k)
{
    cd_u256 sum = cd_u256_zero();
    cd_u256 term = cd_u256_from_u64(min_price);
    cd_u256 limit = cd_u256_from_u64(UINT64_MAX);
    CD_ASSERT(k != 0);
    (void)cd_u256_mul_u64(&term, &term, k);
    (void)cd_u256_mul_u64(&limit, &limit, k);
    for (u64 i = 1; !cd_u256_is_zero(&term); i++) {
        cd_u256_add(&sum, &sum, &term);
        if (!cd_u256_lt(&sum, &limit)) {
            return UINT64_MAX;
        }
        (void)cd_u256_mul_u64(&term, &term, excess);
        (void)cd_u256_div_u64(&term, &term, k);
        (void)cd_u256_div_u64(&term, &term, i);
    }
    (void)cd_u256_div_u64(&sum, &sum, k);
    return sum.w[0];
}

cd_err cd_gas_add(cd_gas_dims *sum, const cd_gas_dims *more)
{
    cd_gas_dims out;
    bool fits = cd_add_u64(&out.bandwidth, sum->bandwidth, more->bandwidth);
    fits = cd_add_u64(&out.reads, sum->reads, more->reads) && fits;
    fits = cd_add_u64(&out.writes, sum->writes, more->writes) && fits;
    fits = cd_add_u64(&out.compute, sum->compute, more->compute) && fits;
    if (!fits) {
        return CD_ERANGE;
    }
    *sum = out;
    return CD_OK;
}

cd_err cd_p_gas_of(u64 *out, const cd_gas_dims *dims, const cd_gas_dims *weights)
{
    const u64 pairs[][2] = {{dims->bandwidth, weights->bandwidth},
                            {dims->reads, weights->reads},
                            {dims->writes, weights->writes},
                            {dims->compute, weights->compute}};
    u64 gas = 0;
    for (usize i = 0; i < CD_COUNT(pairs); i++) {
        u64 part;
        if (!cd_mul_u64(&part, pairs[i][0], pairs[i][1]) || !cd_add_u64(&gas, gas, part)) {
            return CD_ERANGE;
        }
    }
    *out = gas;
    return CD_OK;
}

u64 cd_gas_add_over_time(u64 a, u64 rate, u64 seconds)
{
    u64 more;
    u64 sum;
    return cd_mul_u64(&more, rate, seconds) && cd_add_u64(&sum, a, more) ? sum : UINT64_MAX;
}

u64 cd_gas_sub_over_time(u64 a, u64 rate, u64 seconds)
{
    u64 less;
    return cd_mul_u64(&less, rate, seconds) && less < a ? a - less : 0;
}

cd_p_gas_state cd_gas_advance(cd_p_gas_state s, const cd_gas_config *c, u64 seconds)
{
    u64 capacity = cd_gas_add_over_time(s.capacity, c->max_per_second, seconds);
    return (cd_p_gas_state){
        .capacity = capacity < c->max_capacity ? capacity : c->max_capacity,
        .excess = cd_gas_sub_over_time(s.excess, c->target_per_second, seconds),
    };
}

cd_err cd_gas_consume(cd_p_gas_state *s, u64 gas, cd_errinfo *why)
{
    if (gas > s->capacity) {
        return cd_fail(why, CD_ELIMIT, "insufficient capacity: capacity (%llu) < gas (%llu)",
                       (unsigned long long)s->capacity, (unsigned long long)gas);
    }
    s->capacity -= gas;
    s->excess = cd_gas_add_over_time(s->excess, gas, 1);
    return CD_OK;
}

cd_err cd_gas_fee(u64 *out, const cd_gas_dims *dims, const cd_gas_dims *weights, u64 price)
{
    u64 gas = 0;
    CD_TRY(cd_p_gas_of(&gas, dims, weights));
    return cd_mul_u64(out, gas, price) ? CD_OK : CD_ERANGE;
}
