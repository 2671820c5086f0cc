/* num/modular.h - sums and products modulo a 256-bit number, with remembered reciprocals.
 *
 * Contracts that multiply modulo something do it with the same modulus over and over, or with a few in turn (mulDiv:
 * the denominator and 2^256 - 1), so a caller keeps a cd_modctx: the second use of a modulus computes its reciprocal,
 * and later ones reduce by Barrett's method. The context never changes a result. Threading: confined (the
 * context). [spec:evm-performance#3] */
#ifndef CD_NUM_MODULAR_H
#define CD_NUM_MODULAR_H

#include "num/u256.h"

/* A modulus that was used lately. */
typedef struct cd_modulus {
    cd_u256 m;
    u64 recip[5]; /* floor((2^512 - 1) / m) once has_recip */
    bool has_recip;
} cd_modulus;

enum { CD_MODULI = 4 };
/* Moduli that were used lately. All zero is a valid, empty context. */
typedef struct cd_modctx {
    cd_modulus known[CD_MODULI];
    u32 last; /* index in known of the modulus that was used last */
    u32 next; /* index in known where the next new modulus goes */
} cd_modctx;

/* (a + b) mod m and (a * b) mod m over the exact sum and product; 0 when m is 0 (ADDMOD, MULMOD).
 * cache may be NULL. Outputs may alias inputs. */
void cd_u256_addmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m);
void cd_u256_mulmod(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *m, cd_modctx *cache);

#endif
