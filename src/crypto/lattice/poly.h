/* crypto/lattice/poly.h - polynomials of the ring Z_q[X]/(X^256 + 1), q = 2^48 + 0x4A01: sums, products, the transform
 * that makes products cheap, and their bytes.
 *
 *   coefficients ── ntt ──► slots ── to_mont ──► slots times 2^64
 *                ◄─ intt ──       ◄─ from_mont ──
 *
 * A product is taken slot by slot, with one side times 2^64. Every number is below q; the user of a polynomial knows
 * which of these forms it has. Nothing here branches or looks up by the numbers. Threading: pure. [spec:finality#3] */
#ifndef CD_CRYPTO_LATTICE_POLY_H
#define CD_CRYPTO_LATTICE_POLY_H

#include "base/mem/buf.h"
#include "base/rd.h"

/* The modulus, the number of coefficients, and the bytes of an encoded polynomial. */
#define CD_LPOLY_Q 0x1000000004a01ull
enum { CD_LPOLY_N = 256, CD_LPOLY_BYTES = 16 + 8 * CD_LPOLY_N };

/* Coefficients or slots. */
typedef struct cd_lpoly {
    u64 c[CD_LPOLY_N];
} cd_lpoly;

/* cd_lmod_add / _sub / _mul calculate modulo q with numbers below q; mul also divides by 2^64. cd_lmod_mont gives a
 * times 2^64. cd_lmod_inv gives the inverse, where number and result are times 2^64; of 0 it gives 0. */
CD_INLINE u64 cd_lmod_reduce(u64 v)
{
    return v - (CD_LPOLY_Q & (0 - (u64)(v >= CD_LPOLY_Q)));
}
CD_INLINE u64 cd_lmod_add(u64 a, u64 b)
{
    return cd_lmod_reduce(a + b);
}
CD_INLINE u64 cd_lmod_sub(u64 a, u64 b)
{
    return cd_lmod_reduce(a + CD_LPOLY_Q - b);
}
/* Gives v / 2^64 mod q, for v below q * 2^64. */
CD_INLINE u64 cd_lmod_shrink(unsigned __int128 v)
{
    u64 low = (u64)v * 0x4ade8e12d63b601ull;
    u64 high = (u64)((unsigned __int128)low * CD_LPOLY_Q >> 64);
    return cd_lmod_reduce((u64)(v >> 64) + CD_LPOLY_Q - high);
}
CD_INLINE u64 cd_lmod_mul(u64 a, u64 b)
{
    return cd_lmod_shrink((unsigned __int128)a * b);
}
u64 cd_lmod_mont(u64 a);
u64 cd_lmod_inv(u64 a);

/* These work slot by slot, or coefficient by coefficient; out may be a or b. */
void cd_lpoly_add(cd_lpoly *out, const cd_lpoly *a, const cd_lpoly *b);
void cd_lpoly_sub(cd_lpoly *out, const cd_lpoly *a, const cd_lpoly *b);
void cd_lpoly_mul(cd_lpoly *out, const cd_lpoly *a, const cd_lpoly *b);
void cd_lpoly_scale(cd_lpoly *out, const cd_lpoly *a, u64 by);

/* cd_lpoly_dot gives the sum of a[i * step_a] * b[i * step_b], cnt up to 64 products. */
void cd_lpoly_dot(cd_lpoly *out, const cd_lpoly *a, usize step_a, const cd_lpoly *b, usize step_b, usize cnt);

/* The transforms of the drawing above, in place. */
void cd_lpoly_ntt(cd_lpoly *p);
void cd_lpoly_intt(cd_lpoly *p);
void cd_lpoly_to_mont(cd_lpoly *p);
void cd_lpoly_from_mont(cd_lpoly *p);

/* cd_lpoly_enc writes the encoding: 1 and 256, then the numbers, all as little-endian u64. _put appends it;
 * _vec_put puts their count before cnt of them, _matrix_put the count of rows before rows of cols each. */
void cd_lpoly_enc(u8 out[CD_LPOLY_BYTES], const cd_lpoly *p);
void cd_lpoly_put(cd_buf *out, const cd_lpoly *p);
void cd_lpoly_vec_put(cd_buf *out, const cd_lpoly *p, usize cnt);
void cd_lpoly_matrix_put(cd_buf *out, const cd_lpoly *p, usize rows, usize cols);

/* cd_lpoly_read / _vec_read / _matrix_read read exactly that; the sticky error is CD_EFORMAT for other counts and for
 * numbers that are not below q. */
void cd_lpoly_read(cd_rd *r, cd_lpoly *out);
void cd_lpoly_vec_read(cd_rd *r, cd_lpoly *out, usize cnt);
void cd_lpoly_matrix_read(cd_rd *r, cd_lpoly *out, usize rows, usize cols);

#endif
