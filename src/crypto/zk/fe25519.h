/* crypto/zk/fe25519.h - the field of 2^255 - 19 in five limbs of 51 bits (internal).
 *
 * "Reduced" below: every limb < 2^52. Products and squares take limbs < 2^54 and give reduced ones; a sum of two
 * reduced numbers, and a difference whose right side is such a sum at most, may go straight into them. No branch or
 * address depends on a value. Threading: pure. */
#ifndef CD_CRYPTO_ZK_FE25519_H
#define CD_CRYPTO_ZK_FE25519_H

#include "base/bytes.h"

/* An element of the field modulo 2^255 - 19, in limbs of 51 bits. */
typedef struct cd__fe {
    u64 v[5];
} cd__fe;

#define CD__FE_MASK ((1ULL << 51) - 1)

extern const cd__fe CD__FE_ONE;           /* 1 */
extern const cd__fe CD__FE_D;             /* d of the curve -x^2 + y^2 = 1 + d x^2 y^2 */
extern const cd__fe CD__FE_2D;            /* 2d */
extern const cd__fe CD__FE_SQRT_M1;       /* the even root of -1 */
extern const cd__fe CD__FE_INVSQRT_A_M_D; /* 1 / sqrt(-1 - d) */

/* Arithmetic; the bounds of limbs are those of the head of this file. */
CD_INLINE cd__fe cd__fe_add(const cd__fe *a, const cd__fe *b)
{
    return (cd__fe){{a->v[0] + b->v[0], a->v[1] + b->v[1], a->v[2] + b->v[2], a->v[3] + b->v[3], a->v[4] + b->v[4]}};
}

/* Gives a - b + 4p, so b's limbs must be < 2^53 - 76. */
CD_INLINE cd__fe cd__fe_sub(const cd__fe *a, const cd__fe *b)
{
    const u64 low = (1ULL << 53) - 76;
    const u64 rest = (1ULL << 53) - 4;
    return (cd__fe){{a->v[0] + low - b->v[0], a->v[1] + rest - b->v[1], a->v[2] + rest - b->v[2],
                     a->v[3] + rest - b->v[3], a->v[4] + rest - b->v[4]}};
}

/* Gives a product as a reduced number from the sums of its columns. */
CD_INLINE cd__fe cd__fe_carry(u128 t0, u128 t1, u128 t2, u128 t3, u128 t4)
{
    cd__fe r;
    t1 += (u64)(t0 >> 51);
    t2 += (u64)(t1 >> 51);
    t3 += (u64)(t2 >> 51);
    t4 += (u64)(t3 >> 51);
    u64 low = ((u64)t0 & CD__FE_MASK) + 19 * (u64)(t4 >> 51);
    r.v[0] = low & CD__FE_MASK;
    r.v[1] = ((u64)t1 & CD__FE_MASK) + (low >> 51);
    r.v[2] = (u64)t2 & CD__FE_MASK;
    r.v[3] = (u64)t3 & CD__FE_MASK;
    r.v[4] = (u64)t4 & CD__FE_MASK;
    return r;
}

CD_INLINE cd__fe cd__fe_mul(const cd__fe *a, const cd__fe *b)
{
    u64 a0 = a->v[0], a1 = a->v[1], a2 = a->v[2], a3 = a->v[3], a4 = a->v[4];
    u64 b0 = b->v[0], b1 = b->v[1], b2 = b->v[2], b3 = b->v[3], b4 = b->v[4];
    u64 c1 = 19 * b1, c2 = 19 * b2, c3 = 19 * b3, c4 = 19 * b4;
    return cd__fe_carry((u128)a0 * b0 + (u128)a4 * c1 + (u128)a3 * c2 + (u128)a2 * c3 + (u128)a1 * c4,
                        (u128)a1 * b0 + (u128)a0 * b1 + (u128)a4 * c2 + (u128)a3 * c3 + (u128)a2 * c4,
                        (u128)a2 * b0 + (u128)a1 * b1 + (u128)a0 * b2 + (u128)a4 * c3 + (u128)a3 * c4,
                        (u128)a3 * b0 + (u128)a2 * b1 + (u128)a1 * b2 + (u128)a0 * b3 + (u128)a4 * c4,
                        (u128)a4 * b0 + (u128)a3 * b1 + (u128)a2 * b2 + (u128)a1 * b3 + (u128)a0 * b4);
}

CD_INLINE cd__fe cd__fe_sq(const cd__fe *a)
{
    u64 a0 = a->v[0], a1 = a->v[1], a2 = a->v[2], a3 = a->v[3], a4 = a->v[4];
    u64 d0 = 2 * a0, d1 = 2 * a1, c3 = 19 * a3, c4 = 19 * a4;
    return cd__fe_carry((u128)a0 * a0 + (u128)d1 * c4 + (u128)(2 * a2) * c3,
                        (u128)d0 * a1 + (u128)(2 * a2) * c4 + (u128)a3 * c3,
                        (u128)d0 * a2 + (u128)a1 * a1 + (u128)(2 * a3) * c4,
                        (u128)d0 * a3 + (u128)d1 * a2 + (u128)a4 * c4, (u128)d0 * a4 + (u128)d1 * a3 + (u128)a2 * a2);
}

/* cd__fe_neg gives a reduced -a; a's limbs < 2^53 - 76. */
CD_INLINE cd__fe cd__fe_neg(const cd__fe *a)
{
    cd__fe zero = {{0}};
    cd__fe r = cd__fe_sub(&zero, a);
    return cd__fe_carry(r.v[0], r.v[1], r.v[2], r.v[3], r.v[4]);
}

/* cd__fe_select puts b in the place of *a where take is 1; take is 0 or 1. */
CD_INLINE void cd__fe_select(cd__fe *a, const cd__fe *b, u64 take)
{
    u64 mask = 0 - take;
    for (int i = 0; i < 5; i++) {
        a->v[i] ^= mask & (a->v[i] ^ b->v[i]);
    }
}

/* cd__fe_put writes the canonical 32 bytes, least significant first; cd__fe_get reads 255 bits and says whether they,
 * and the bit above, are the canonical form of a number. */
void cd__fe_put(u8 out[32], const cd__fe *a);
bool cd__fe_get(cd__fe *out, const u8 in[32]);

/* cd__fe_is_neg: the canonical form is odd [RFC 9496, 4.1]. cd__fe_is_zero: a is 0. cd__fe_abs gives -a where a is
 * negative, else a. */
bool cd__fe_is_neg(const cd__fe *a);
bool cd__fe_is_zero(const cd__fe *a);
cd__fe cd__fe_abs(const cd__fe *a);

/* cd__fe_inv gives 1/a, and 0 for 0. */
cd__fe cd__fe_inv(const cd__fe *a);

/* cd__fe_sqrt_ratio gives the non-negative root of u/v and true, or that of sqrt(-1) * u/v and false
 * [RFC 9496, 4.2]. */
bool cd__fe_sqrt_ratio(cd__fe *out, const cd__fe *u, const cd__fe *v);

#endif
