/* chains/evmchain/core/rules/fee_c.h - gas limit, base fee and block gas cost of the C profile: numbers for each era.
 *
 *   phase 3 … Etna   a window of ten seconds, as in the L1 profile, with the era's target and bounds
 *   from Fortuna on  ACP-176: capacity that fills with time, and an excess over the target that sets the price
 *
 * Pure arithmetic on a parent header. Threading: pure. [spec:evm-chain#3.2] */
#ifndef CD_CHAINS_EVMCHAIN_FEE_C_H
#define CD_CHAINS_EVMCHAIN_FEE_C_H

#include "chains/evmchain/core/rules/fee_l1.h"

/* Times of the C-Chain between which the rules of fees changed. */
typedef enum cd_c_era {
    CD_C_LAUNCH, /* nothing but the genesis is of it here */
    CD_C_AP3,
    CD_C_AP4,
    CD_C_AP5,
    CD_C_CORTINA,
    CD_C_ETNA,
    CD_C_FORTUNA,
    CD_C_GRANITE,
} cd_c_era;

/* A parent and a child that is asked about. */
typedef struct cd_fee_c {
    cd_c_era parent_era;
    cd_c_era era; /* of the child */
    const cd_header *parent;
    u64 time;    /* of the child, Unix seconds */
    u64 time_ms; /* the same in milliseconds; looked at from Granite on */
} cd_fee_c;

/* ACP-176: the state after a block, which stands at the front of its extra data. */
typedef struct cd_gas_state {
    u64 capacity;
    u64 excess;
    u64 target_excess;
} cd_gas_state;

enum { CD_GAS_STATE_SIZE = 24 };

/* cd_fee_c_numbers gives what pool and estimates ask of an era: gas limit, target, bounds. */
const cd_fee_config *cd_fee_c_numbers(cd_c_era era) __attribute__((returns_nonnull));

/* cd_fee_c_prefix_size gives the bytes in front of a header's extra data. */
usize cd_fee_c_prefix_size(cd_c_era era);

/* cd_fee_c_before gives the gas state that a child from Fortuna on begins with. Errors: CD_EFORMAT when the parent has
 * no state. */
cd_err cd_fee_c_before(cd_gas_state *out, const cd_fee_c *f) CD_CHECK;

/* cd_fee_c_prefix writes the front of the child's extra data, of cd_fee_c_prefix_size bytes. gas is what it uses, in
 * its extra data too, target_excess what its maker would like (both from Fortuna on). Errors: CD_EFORMAT, CD_ELIMIT
 * when gas is above the capacity. */
cd_err cd_fee_c_prefix(u8 out[CD_FEE_WINDOW_SIZE], const cd_fee_c *f, u64 gas, u64 target_excess) CD_CHECK;

/* cd_fee_c_base_fee, _block_gas_cost: of the child. Errors: CD_EFORMAT. */
cd_err cd_fee_c_base_fee(cd_u256 *out, const cd_fee_c *f) CD_CHECK;
void cd_fee_c_block_gas_cost(cd_u256 *out, const cd_fee_c *f);

/* cd_fee_c_gas gives the child's gas limit, and the gas that it may use. Errors: CD_EFORMAT. */
cd_err cd_fee_c_gas(u64 *limit, u64 *capacity, const cd_fee_c *f) CD_CHECK;

#endif
