/* crypto/hash/blake2_rows.h - BLAKE2b with one row of the state in a vector, for files that say how such a vector is
 * rotated (ror32, ror24, ror16, ror63) and are compiled for it. Threading: pure. */
#ifndef CD_CRYPTO_BLAKE2_ROWS_H
#define CD_CRYPTO_BLAKE2_ROWS_H

#include "crypto/hash/blake2_priv.h"

/* load4 reads four words. */
CD_INLINE __m256i load4(const u64 *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Four message words chosen by i0..i3; the loads run ahead of the rounds' dependency chain. */
CD_INLINE __m256i pick4(const u64 m[16], u32 i0, u32 i1, u32 i2, u32 i3)
{
    return _mm256_set_epi64x((i64)m[i3], (i64)m[i2], (i64)m[i1], (i64)m[i0]);
}

/* add_early makes the compiler compute x + y first. Left alone, it would add row b first, which is the last to be
 * ready. */
CD_INLINE __m256i add_early(__m256i x, __m256i y)
{
    __m256i sum = _mm256_add_epi64(x, y);
    __asm__("" : "+x"(sum));
    return sum;
}

/* The four rows of the state: element i of each of them makes up column i, or diagonal i, of the definition. */
typedef struct rows {
    __m256i a;
    __m256i b;
    __m256i c;
    __m256i d;
} rows;

/* mix4 mixes four columns or diagonals with two message words each. */
CD_INLINE void mix4(rows *v, __m256i x, __m256i y)
{
    v->a = _mm256_add_epi64(add_early(v->a, x), v->b);
    v->d = ror32(_mm256_xor_si256(v->d, v->a));
    v->c = _mm256_add_epi64(v->c, v->d);
    v->b = ror24(_mm256_xor_si256(v->b, v->c));
    v->a = _mm256_add_epi64(add_early(v->a, y), v->b);
    v->d = ror16(_mm256_xor_si256(v->d, v->a));
    v->c = _mm256_add_epi64(v->c, v->d);
    v->b = ror63(_mm256_xor_si256(v->b, v->c));
}

/* one_round mixes columns, then diagonals, in the order s of the message words. */
CD_INLINE void one_round(rows *v, const u64 m[16], const u8 s[16])
{
    mix4(v, pick4(m, s[0], s[2], s[4], s[6]), pick4(m, s[1], s[3], s[5], s[7]));
    /* Diagonals become columns of vectors. Row b stays: it is the last to be ready and the first needed. */
    v->a = _mm256_permute4x64_epi64(v->a, 0x93);
    v->d = _mm256_permute4x64_epi64(v->d, 0x4e);
    v->c = _mm256_permute4x64_epi64(v->c, 0x39);
    mix4(v, pick4(m, s[14], s[8], s[10], s[12]), pick4(m, s[15], s[9], s[11], s[13]));
    v->a = _mm256_permute4x64_epi64(v->a, 0x39);
    v->d = _mm256_permute4x64_epi64(v->d, 0x4e);
    v->c = _mm256_permute4x64_epi64(v->c, 0x93);
}

/* blake2b_f is cd_blake2b_f. */
CD_INLINE void blake2b_f(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    const __m256i h0 = load4(h);
    const __m256i h1 = load4(h + 4);
    const __m256i tweak = _mm256_set_epi64x(0, last ? -1 : 0, (i64)t[1], (i64)t[0]);
    rows v = {.a = h0, .b = h1, .c = load4(CD_BLAKE2B_IV), .d = _mm256_xor_si256(load4(CD_BLAKE2B_IV + 4), tweak)};
    for (u32 r = 0, row = 0; r < rounds; r++) {
        one_round(&v, m, CD_BLAKE2_SIGMA[row]);
        row = row == 9 ? 0 : row + 1;
    }
    __m256i *out = (__m256i *)(void *)h;
    _mm256_storeu_si256(out, _mm256_xor_si256(h0, _mm256_xor_si256(v.a, v.c)));
    _mm256_storeu_si256(out + 1, _mm256_xor_si256(h1, _mm256_xor_si256(v.b, v.d)));
}

#endif
