/* crypto/bn254/bn254_priv.h - the extension tower, points and pairing of bn254, for the files of this folder.
 *
 *   fp2  = fp[i]  / (i^2 + 1)            a.c0 + a.c1 i
 *   fp6  = fp2[v] / (v^3 - xi)           xi = 9 + i
 *   fp12 = fp6[w] / (w^2 - v)
 *
 * G1: y^2 = x^3 + 3 over fp. G2: y^2 = x^3 + 3/xi over fp2 (a D-type twist: (x, y) -> (x w^2, y w^3)).
 * Unless said otherwise outputs may overlap inputs. Threading: pure. */
#ifndef CD_CRYPTO_BN254_PRIV_H
#define CD_CRYPTO_BN254_PRIV_H

#include "crypto/bn254/fp_priv.h"

typedef struct fp6 {
    fp2 c0, c1, c2;
} fp6;

typedef struct fp12 {
    fp6 c0, c1;
} fp12;

/* Affine points; a point at infinity is marked by is_inf (its coordinates mean nothing). */
typedef struct g1 {
    fp x, y;
    bool is_inf;
} g1;

typedef struct g2 {
    fp2 x, y;
    bool is_inf;
} g2;

/* --- fp2 --- */

CD_INLINE void fp2_add(fp2 *r, const fp2 *a, const fp2 *b)
{
    fp_add(&r->c0, &a->c0, &b->c0);
    fp_add(&r->c1, &a->c1, &b->c1);
}

CD_INLINE void fp2_sub(fp2 *r, const fp2 *a, const fp2 *b)
{
    fp_sub(&r->c0, &a->c0, &b->c0);
    fp_sub(&r->c1, &a->c1, &b->c1);
}

CD_INLINE void fp2_dbl(fp2 *r, const fp2 *a)
{
    fp2_add(r, a, a);
}

CD_INLINE void fp2_neg(fp2 *r, const fp2 *a)
{
    fp_neg(&r->c0, &a->c0);
    fp_neg(&r->c1, &a->c1);
}

CD_INLINE void fp2_conj(fp2 *r, const fp2 *a)
{
    r->c0 = a->c0;
    fp_neg(&r->c1, &a->c1);
}

CD_INLINE bool fp2_eq(const fp2 *a, const fp2 *b)
{
    return fp_eq(&a->c0, &b->c0) && fp_eq(&a->c1, &b->c1);
}

CD_INLINE bool fp2_is_zero(const fp2 *a)
{
    return fp_is_zero(&a->c0) && fp_is_zero(&a->c1);
}

/* r = a * k for k in fp. */
CD_INLINE void fp2_scale(fp2 *r, const fp2 *a, const fp *k)
{
    fp_mul(&r->c0, &a->c0, k);
    fp_mul(&r->c1, &a->c1, k);
}

void cd__bn254_fp2_mul(fp2 *r, const fp2 *a, const fp2 *b);
void cd__bn254_fp2_sqr(fp2 *r, const fp2 *a);
void cd__bn254_fp2_mul_xi(fp2 *r, const fp2 *a);
void cd__bn254_fp2_inv(fp2 *r, const fp2 *a);

/* --- fp12 --- */

extern const fp12 CD__BN254_FP12_ONE;

/* A line c0 + c3 w + c4 v w: the sparse values a Miller loop multiplies by. */
typedef struct fp12_line {
    fp2 c0, c3, c4;
} fp12_line;

bool cd__bn254_fp12_is_one(const fp12 *a);
void cd__bn254_fp12_mul(fp12 *r, const fp12 *a, const fp12 *b);
void cd__bn254_fp12_sqr(fp12 *r, const fp12 *a);
void cd__bn254_fp12_inv(fp12 *r, const fp12 *a);

/* r = the conjugate of a over fp6, which is 1/a for a in the cyclotomic subgroup. */
void cd__bn254_fp12_conj(fp12 *r, const fp12 *a);

/* r = a^2 for a in the cyclotomic subgroup only. */
void cd__bn254_fp12_cyc_sqr(fp12 *r, const fp12 *a);

/* r = a^(p^k), k = 1, 2, 3. */
void cd__bn254_fp12_frob(fp12 *r, const fp12 *a, int k);

/* r *= l, and r *= l * m. */
void cd__bn254_fp12_mul_line(fp12 *r, const fp12_line *l);
void cd__bn254_fp12_mul_lines(fp12 *r, const fp12_line *l, const fp12_line *m);

/* --- points --- */

/* Decode the encodings of EIP-196 and EIP-197 with all checks except that a G2 point has prime order. Errors:
 * CD_EPOINT. */
cd_err cd__bn254_g1_dec(g1 *out, const u8 in[64]) CD_CHECK;
cd_err cd__bn254_g2_dec(g2 *out, const u8 in[128]) CD_CHECK;
void cd__bn254_g1_enc(u8 out[64], const g1 *a);

void cd__bn254_g1_add(g1 *r, const g1 *a, const g1 *b);

/* r = k * a for a 256-bit k, four words, least significant first. */
void cd__bn254_g1_mul(g1 *r, const g1 *a, const u64 k[4]);

/* --- pairing --- */

/* cd__bn254_miller multiplies f by the Miller loop values of cnt pairs, up to a factor in fp (which the final
 * exponentiation removes), and says whether all qs are in the group of prime order; a pair with a point at infinity
 * contributes one. cnt <= CD__BN254_CHUNK. */
#define CD__BN254_CHUNK 8
bool cd__bn254_miller(fp12 *f, const g1 *ps, const g2 *qs, usize cnt) CD_CHECK;

/* cd__bn254_final_exp raises to a multiple of (p^12 - 1) / r that is prime to r: one exactly when the
 * reduced pairing product is one. */
void cd__bn254_final_exp(fp12 *r, const fp12 *f);

#endif
