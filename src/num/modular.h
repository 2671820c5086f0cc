/* num/modular.h - sums and products modulo a 256-bit number, with a remembered reciprocal.
 *
 * Contracts that multiply modulo something do it with the same modulus over and over, so a caller
 * keeps a cd_modctx per EVM frame: the second use of a modulus computes its reciprocal, and later
 * ones reduce by Barrett's method. The context never changes a result. Threading: confined (the
 * context). [spec:evm-performance#3] */
#ifndef CD_NUM_MODULAR_H
#define CD_NUM_MODULAR_H

#include "num/u256.h"

/* All zero is a valid, empty context. */
typedef struct cd_modctx {
    cd_u256 modulus;
    u64 recip[5]; /* floor((2^512 - 1) / modulus) once uses is 2 */
    u32 uses;     /* products taken modulo this modulus in a row, up to 2 */
} cd_modctx;

/* (a + b) mod m and (a * b) mod m over the exact sum and product; 0 when m is 0 (ADDMOD, MULMOD).
 * cache may be NULL. Outputs may alias inputs. */
void cd_u256_addmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m);
void cd_u256_mulmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m,
                    cd_modctx *cache);

#endif
