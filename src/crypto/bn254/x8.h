/* crypto/bn254/x8.h - fp12 arithmetic in vector ways (internal to pairing.c).
 *
 * With AVX-512 IFMA the six coefficients of an fp12 number sit side by side and every product of the
 * tower is a row of ways. A cd__fp12v holds the number scaled by a factor of fp that the final
 * exponentiation removes; only cd__bn254_x8_pow_x takes and gives exact values. Call nothing here unless
 * cd__cpu.ifma is set. Threading: pure. */
#ifndef CD_CRYPTO_BN254_X8_H
#define CD_CRYPTO_BN254_X8_H

#include "crypto/bn254/bn254_priv.h"

/* An element of fp12, laid out so that one instruction works on eight ways; six of them hold a coefficient. */
typedef struct cd__fp12v {
    _Alignas(64) u64 limb[2][5][8]; /* real and imaginary parts, 52-bit limbs, way k = coefficient of w^k */
} cd__fp12v;

/* r = 1, r = r^2, r = r * l for the sparse value of a line. */
void cd__bn254_x8_one(cd__fp12v *r);
void cd__bn254_x8_sqr(cd__fp12v *r);
void cd__bn254_x8_mul_line(cd__fp12v *r, const fp12_line *l);

/* cd__bn254_x8_get gives the number, up to a factor in fp. */
void cd__bn254_x8_get(fp12 *r, const cd__fp12v *a);

/* cd__bn254_x8_pow_x: r = a^x for a in the cyclotomic subgroup; digits as in pairing.c. */
void cd__bn254_x8_pow_x(fp12 *r, const fp12 *a, const int8_t *digits, usize cnt);

#endif
