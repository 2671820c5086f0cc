/* num/u512.h - exact products and sums of 256-bit words, and their remainders. Threading: pure. */
#ifndef CD_NUM_U512_H
#define CD_NUM_U512_H

#include "num/u256.h"

/* An unsigned number of 512 bits. */
typedef struct cd_u512 {
    u64 w[8]; /* w[0] least significant */
} cd_u512;

/* cd_u512_mul stores the exact product of a and b. */
CD_INLINE void cd_u512_mul(cd_u512 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd__num_mul4(out->w, a->w, b->w);
}

/* cd_u512_mod stores a mod m, 0 when m is 0. */
void cd_u512_mod(cd_u256 *out, const cd_u512 *a, const cd_u256 *m);

/* cd_u512_div stores the low 256 bits of a / d and tells whether they are the whole quotient; when d
 * is 0 it stores 0 and says false. */
bool cd_u512_div(cd_u256 *out, const cd_u512 *a, const cd_u256 *d);

/* cd_u256_muldiv stores floor(a * b / d) with an exact product: true when the quotient fits, else
 * (or when d is 0) false, and *out stays as it was. */
bool cd_u256_muldiv(cd_u256 *out, const cd_u256 *a, const cd_u256 *b, const cd_u256 *d) CD_CHECK;

#endif
