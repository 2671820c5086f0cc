#include "crypto/hash/keccak_priv.h"

#if defined(__AVX2__)
#include <immintrin.h>

#define WAYS 4

typedef __m256i vec;

CD_INLINE vec v_load(const u8 *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

CD_INLINE void v_store(u64 p[WAYS], vec v)
{
    _mm256_store_si256((__m256i *)(void *)p, v);
}
CD_INLINE vec v_set1(u64 w)
{
    return _mm256_set1_epi64x((i64)w);
}
CD_INLINE vec v_xor(vec a, vec b)
{
    return _mm256_xor_si256(a, b);
}
CD_INLINE vec v_xor3(vec a, vec b, vec c)
{
    return v_xor(v_xor(a, b), c);
}
CD_INLINE vec v_chi(vec a, vec b, vec c)
{
    return v_xor(a, _mm256_andnot_si256(b, c));
}

CD_INLINE vec v_rol(vec a, int n)
{
    return _mm256_or_si256(_mm256_slli_epi64(a, n), _mm256_srli_epi64(a, 64 - n));
}

CD_INLINE vec v_keep(vec a, u32 live)
{
    const vec bits = _mm256_set_epi64x(8, 4, 2, 1);
    vec set = _mm256_and_si256(_mm256_set1_epi64x((i64)live), bits);
    return _mm256_and_si256(a, _mm256_cmpeq_epi64(set, bits));
}

/* Turns four runs of four words into four vectors of one word of each run, xored into s[0..3]. */
CD_INLINE void absorb4(vec s[4], const u8 *const p[WAYS], usize at)
{
    vec r0 = v_load(p[0] + at);
    vec r1 = v_load(p[1] + at);
    vec r2 = v_load(p[2] + at);
    vec r3 = v_load(p[3] + at);
    vec t0 = _mm256_unpacklo_epi64(r0, r1);
    vec t1 = _mm256_unpackhi_epi64(r0, r1);
    vec t2 = _mm256_unpacklo_epi64(r2, r3);
    vec t3 = _mm256_unpackhi_epi64(r2, r3);
    s[0] = v_xor(s[0], _mm256_permute2x128_si256(t0, t2, 0x20));
    s[1] = v_xor(s[1], _mm256_permute2x128_si256(t1, t3, 0x20));
    s[2] = v_xor(s[2], _mm256_permute2x128_si256(t0, t2, 0x31));
    s[3] = v_xor(s[3], _mm256_permute2x128_si256(t1, t3, 0x31));
}

CD_INLINE void v_absorb(vec s[25], const u8 *const p[WAYS])
{
    absorb4(s, p, 0);
    absorb4(s + 4, p, 32);
    absorb4(s + 8, p, 64);
    absorb4(s + 12, p, 96);
    s[16] = v_xor(s[16], _mm256_set_epi64x((i64)cd_le64(p[3] + 128), (i64)cd_le64(p[2] + 128), (i64)cd_le64(p[1] + 128),
                                           (i64)cd_le64(p[0] + 128)));
}

#include "crypto/hash/keccak_ways.h"

void cd__keccak_many_avx2(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
    ways_run(out, in, cnt);
}
#endif
