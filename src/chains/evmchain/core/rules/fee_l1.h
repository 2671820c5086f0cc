/* chains/evmchain/core/rules/fee_l1.h - gas limit, base fee and block gas cost of the L1 profile.
 *
 * The base fee follows the gas used in the last ten seconds, kept in the header's extra data as ten counters
 * ("window"); a block made faster than the target rate must pay a surcharge in tips ("block gas cost").
 * Pure arithmetic on a parent header and a fee configuration. Threading: pure. [spec:evm-chain#3.1] */
#ifndef CD_CHAINS_EVMCHAIN_FEE_L1_H
#define CD_CHAINS_EVMCHAIN_FEE_L1_H

#include "types/genesis.h"

/* Bytes of the window at the front of a header's extra data: ten big-endian u64, oldest first. */
enum { CD_FEE_WINDOW_SIZE = 80 };

/* cd_fee_l1_window computes the window of a child of parent at time.
 * Errors: CD_EFORMAT when the parent (not genesis) has less extra data than a window. */
cd_err cd_fee_l1_window(u8 out[CD_FEE_WINDOW_SIZE], const cd_header *parent, u64 time) CD_CHECK;

/* cd_fee_l1_base_fee computes the base fee of that child. Errors: as window. */
cd_err cd_fee_l1_base_fee(cd_u256 *out, const cd_fee_config *cfg, const cd_header *parent, u64 time) CD_CHECK;

/* cd_fee_l1_block_gas_cost computes the surcharge of that child, in gas. */
void cd_fee_l1_block_gas_cost(cd_u256 *out, const cd_fee_config *cfg, const cd_header *parent, u64 time);

/* --- shared with the C profile --- */

/* cd_fee_window rolls a parent's window to time, after further gas has been added to what its transactions used.
 * Errors: CD_EFORMAT when the parent has less extra data than a window. */
cd_err cd_fee_window(u8 out[CD_FEE_WINDOW_SIZE], const cd_header *parent, u64 time, u64 further) CD_CHECK;

/* cd_fee_of_window moves the fee of a parent, elapsed seconds ago, by what stands in the child's window; the
 * configuration's target, denominator and minimum count. */
void cd_fee_of_window(cd_u256 *out, const cd_fee_config *cfg, const u8 window[CD_FEE_WINDOW_SIZE],
                      const cd_u256 *before, u64 elapsed);

#endif
