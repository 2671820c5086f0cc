/* num/div.h - 256-bit division, unsigned and signed, with the EVM's rules for zero.
 *
 * Specialised by the number of limbs of the divisor: one limb uses the hardware or a 2-by-1
 * reciprocal, wider ones Knuth's algorithm D with a 3-by-2 reciprocal. Outputs may alias inputs.
 * Threading: pure. Sources: Knuth TAOCP 4.3.1; Moeller and Granlund, "Improved division by invariant
 * integers". [spec:evm-performance#3] */
#ifndef CD_NUM_DIV_H
#define CD_NUM_DIV_H

#include "num/u256.h"

/* Quotient and remainder, rounded towards zero; both are 0 when b is 0. */
void cd_u256_div(cd_u256 *out, const cd_u256 *a, const cd_u256 *b);
void cd_u256_mod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b);

/* cd_u256_divmod stores the quotient and the remainder. */
void cd_u256_divmod(cd_u256 *quot, cd_u256 *rem, const cd_u256 *a, const cd_u256 *b);

/* Two's complement division (SDIV, SMOD): rounded towards zero, the remainder has the sign of a;
 * division by zero gives 0, and -2^255 / -1 gives -2^255. */
void cd_u256_sdiv(cd_u256 *out, const cd_u256 *a, const cd_u256 *b);
void cd_u256_smod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b);

/* cd_u256_div_u64 stores a / d and gives a % d; both are 0 when d is 0. */
u64 cd_u256_div_u64(cd_u256 *out, const cd_u256 *a, u64 d);

#endif
