#include "crypto/hash/blake2.h"

#include "crypto/hash/blake2_priv.h"

#if defined(__AVX2__)
#include <immintrin.h>

CD_INLINE __m256i load4(const u64 *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Four message words chosen by i0..i3; the loads run ahead of the rounds' dependency chain. */
CD_INLINE __m256i pick4(const u64 m[16], u32 i0, u32 i1, u32 i2, u32 i3)
{
    return _mm256_set_epi64x((i64)m[i3], (i64)m[i2], (i64)m[i1], (i64)m[i0]);
}

CD_INLINE __m256i ror_bytes(__m256i x, __m256i pattern)
{
    return _mm256_shuffle_epi8(x, pattern);
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

CD_INLINE void mix4(rows *v, __m256i x, __m256i y)
{
    const __m256i ror24 = _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10, 3, 4, 5, 6, 7, 0, 1, 2,
                                           11, 12, 13, 14, 15, 8, 9, 10);
    const __m256i ror16 = _mm256_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9, 2, 3, 4, 5, 6, 7, 0, 1,
                                           10, 11, 12, 13, 14, 15, 8, 9);
    v->a = _mm256_add_epi64(add_early(v->a, x), v->b);
    v->d = _mm256_shuffle_epi32(_mm256_xor_si256(v->d, v->a), 0xb1);
    v->c = _mm256_add_epi64(v->c, v->d);
    v->b = ror_bytes(_mm256_xor_si256(v->b, v->c), ror24);
    v->a = _mm256_add_epi64(add_early(v->a, y), v->b);
    v->d = ror_bytes(_mm256_xor_si256(v->d, v->a), ror16);
    v->c = _mm256_add_epi64(v->c, v->d);
    v->b = _mm256_xor_si256(v->b, v->c);
    v->b = _mm256_xor_si256(_mm256_srli_epi64(v->b, 63), _mm256_add_epi64(v->b, v->b));
}

void cd_blake2b_f(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    const __m256i h0 = load4(h);
    const __m256i h1 = load4(h + 4);
    const __m256i tweak = _mm256_set_epi64x(0, last ? -1 : 0, (i64)t[1], (i64)t[0]);
    rows v = {.a = h0, .b = h1, .c = load4(CD_BLAKE2B_IV), .d = _mm256_xor_si256(load4(CD_BLAKE2B_IV + 4), tweak)};
    for (u32 r = 0, row = 0; r < rounds; r++) {
        const u8 *s = CD_BLAKE2_SIGMA[row];
        row = row == 9 ? 0 : row + 1;
        mix4(&v, pick4(m, s[0], s[2], s[4], s[6]), pick4(m, s[1], s[3], s[5], s[7]));
        /* Diagonals become columns of vectors. Row b stays: it is the last to be ready and the first needed. */
        v.a = _mm256_permute4x64_epi64(v.a, 0x93);
        v.d = _mm256_permute4x64_epi64(v.d, 0x4e);
        v.c = _mm256_permute4x64_epi64(v.c, 0x39);
        mix4(&v, pick4(m, s[14], s[8], s[10], s[12]), pick4(m, s[15], s[9], s[11], s[13]));
        v.a = _mm256_permute4x64_epi64(v.a, 0x39);
        v.d = _mm256_permute4x64_epi64(v.d, 0x4e);
        v.c = _mm256_permute4x64_epi64(v.c, 0x93);
    }
    __m256i *out = (__m256i *)(void *)h;
    _mm256_storeu_si256(out, _mm256_xor_si256(h0, _mm256_xor_si256(v.a, v.c)));
    _mm256_storeu_si256(out + 1, _mm256_xor_si256(h1, _mm256_xor_si256(v.b, v.d)));
}

#else

CD_INLINE u64 ror(u64 x, u32 n)
{
    return x >> n | x << (64 - n);
}

CD_INLINE void mix(u64 *a, u64 *b, u64 *c, u64 *d, u64 x, u64 y)
{
    *a += *b + x;
    *d = ror(*d ^ *a, 32);
    *c += *d;
    *b = ror(*b ^ *c, 24);
    *a += *b + y;
    *d = ror(*d ^ *a, 16);
    *c += *d;
    *b = ror(*b ^ *c, 63);
}

void cd_blake2b_f(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
{
    u64 v[16];
    for (int i = 0; i < 8; i++) {
        v[i] = h[i];
        v[8 + i] = CD_BLAKE2B_IV[i];
    }
    v[12] ^= t[0];
    v[13] ^= t[1];
    if (last) {
        v[14] = ~v[14];
    }
    for (u32 r = 0, row = 0; r < rounds; r++) {
        const u8 *s = CD_BLAKE2_SIGMA[row];
        row = row == 9 ? 0 : row + 1;
        mix(&v[0], &v[4], &v[8], &v[12], m[s[0]], m[s[1]]);
        mix(&v[1], &v[5], &v[9], &v[13], m[s[2]], m[s[3]]);
        mix(&v[2], &v[6], &v[10], &v[14], m[s[4]], m[s[5]]);
        mix(&v[3], &v[7], &v[11], &v[15], m[s[6]], m[s[7]]);
        mix(&v[0], &v[5], &v[10], &v[15], m[s[8]], m[s[9]]);
        mix(&v[1], &v[6], &v[11], &v[12], m[s[10]], m[s[11]]);
        mix(&v[2], &v[7], &v[8], &v[13], m[s[12]], m[s[13]]);
        mix(&v[3], &v[4], &v[9], &v[14], m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) {
        h[i] ^= v[i] ^ v[8 + i];
    }
}

#endif
