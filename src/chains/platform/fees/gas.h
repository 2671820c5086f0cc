/* chains/platform/fees/gas.h - what a unit of gas costs, and how much of it a block may use.
 *
 *   complexity ──► gas = dimensions · weights ──► fee = gas · price          state: {capacity, excess}
 *
 * Capacity grows with time up to a limit and is used up by gas; excess grows with gas and falls with time; the price
 * grows with excess exponentially, by an integer series that every node computes alike. Threading: pure.
 * [spec:pchain-xchain#7.2] */
#ifndef CD_CHAINS_PLATFORM_FEES_GAS_H
#define CD_CHAINS_PLATFORM_FEES_GAS_H

#include "base/base.h"

/* What a transaction costs the node, in units of its own each. */
typedef struct cd_gas_dims {
    u64 bandwidth; /* bytes */
    u64 reads;     /* of the store */
    u64 writes;    /* of the store, deletes included */
    u64 compute;   /* microseconds */
} cd_gas_dims;

/* What gas is made of, and how its price follows demand. */
typedef struct cd_gas_config {
    cd_gas_dims weights;   /* gas a unit of each dimension */
    u64 max_capacity;      /* gas */
    u64 max_per_second;    /* gas that capacity grows by */
    u64 target_per_second; /* gas that excess falls by */
    u64 min_price;         /* base units a gas */
    u64 k;                 /* gas of excess that raise the price by a factor of e */
} cd_gas_config;

/* The numbers of every network. */
extern const cd_gas_config cd_gas_config_default;

/* What the blocks so far have left of the capacity, and used beyond the target. */
typedef struct cd_p_gas_state {
    u64 capacity; /* gas */
    u64 excess;   /* gas */
} cd_p_gas_state;

/* cd_gas_price gives min_price · e^(excess / k), at most 2⁶⁴ - 1. k is not 0. */
u64 cd_gas_price(u64 min_price, u64 excess, u64 k);

/* cd_gas_add adds to a sum of dimensions, cd_p_gas_of weighs one. Errors: CD_ERANGE. */
cd_err cd_gas_add(cd_gas_dims *sum, const cd_gas_dims *more) CD_CHECK;
cd_err cd_p_gas_of(u64 *out, const cd_gas_dims *dims, const cd_gas_dims *weights) CD_CHECK;

/* cd_gas_advance gives the state so many seconds later. */
cd_p_gas_state cd_gas_advance(cd_p_gas_state s, const cd_gas_config *c, u64 seconds);

/* cd_gas_consume uses gas. Errors: CD_ELIMIT when there is no capacity left for it; *s is untouched. */
cd_err cd_gas_consume(cd_p_gas_state *s, u64 gas, cd_errinfo *why) CD_CHECK;

/* cd_gas_fee gives what dims cost at a price, in base units. Errors: CD_ERANGE. */
cd_err cd_gas_fee(u64 *out, const cd_gas_dims *dims, const cd_gas_dims *weights, u64 price) CD_CHECK;

/* a + rate · seconds, at most 2⁶⁴ - 1; a - rate · seconds, at least 0. */
u64 cd_gas_add_over_time(u64 a, u64 rate, u64 seconds);
u64 cd_gas_sub_over_time(u64 a, u64 rate, u64 seconds);

#endif
