#include "crypto/hash/keccak_priv.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>

#define WAYS 8

typedef __m512i vec;

CD_INLINE vec v_load(const u8 *p)
{
    return _mm512_loadu_si512(p);
}
CD_INLINE void v_store(u64 p[WAYS], vec v)
{
    _mm512_store_si512(p, v);
}
CD_INLINE vec v_set1(u64 w)
{
    return _mm512_set1_epi64((i64)w);
}
CD_INLINE vec v_xor(vec a, vec b)
{
    return _mm512_xor_si512(a, b);
}
CD_INLINE vec v_xor3(vec a, vec b, vec c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}
CD_INLINE vec v_chi(vec a, vec b, vec c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0xd2);
}
CD_INLINE vec v_keep(vec a, u32 live)
{
    return _mm512_maskz_mov_epi64((__mmask8)live, a);
}

/* A macro, because the instruction needs its count as a literal. */
#define v_rol(a, n) _mm512_rol_epi64((a), (n))

/* Turns eight runs of eight words into eight vectors of one word of each run, xored into s[0..7]. */
CD_INLINE void absorb8(vec s[8], const u8 *const p[WAYS], usize at)
{
    vec r0 = v_load(p[0] + at);
    vec r1 = v_load(p[1] + at);
    vec r2 = v_load(p[2] + at);
    vec r3 = v_load(p[3] + at);
    vec r4 = v_load(p[4] + at);
    vec r5 = v_load(p[5] + at);
    vec r6 = v_load(p[6] + at);
    vec r7 = v_load(p[7] + at);
    /* Pairs of words of two runs ... */
    vec t0 = _mm512_unpacklo_epi64(r0, r1);
    vec t1 = _mm512_unpackhi_epi64(r0, r1);
    vec t2 = _mm512_unpacklo_epi64(r2, r3);
    vec t3 = _mm512_unpackhi_epi64(r2, r3);
    vec t4 = _mm512_unpacklo_epi64(r4, r5);
    vec t5 = _mm512_unpackhi_epi64(r4, r5);
    vec t6 = _mm512_unpacklo_epi64(r6, r7);
    vec t7 = _mm512_unpackhi_epi64(r6, r7);
    /* ... then 128-bit quarters: runs 0-3 and 4-7, even and odd quarters ... */
    vec u0 = _mm512_shuffle_i64x2(t0, t2, 0x88);
    vec u1 = _mm512_shuffle_i64x2(t1, t3, 0x88);
    vec u2 = _mm512_shuffle_i64x2(t0, t2, 0xdd);
    vec u3 = _mm512_shuffle_i64x2(t1, t3, 0xdd);
    vec u4 = _mm512_shuffle_i64x2(t4, t6, 0x88);
    vec u5 = _mm512_shuffle_i64x2(t5, t7, 0x88);
    vec u6 = _mm512_shuffle_i64x2(t4, t6, 0xdd);
    vec u7 = _mm512_shuffle_i64x2(t5, t7, 0xdd);
    /* ... and once more across all eight. */
    s[0] = v_xor(s[0], _mm512_shuffle_i64x2(u0, u4, 0x88));
    s[1] = v_xor(s[1], _mm512_shuffle_i64x2(u1, u5, 0x88));
    s[2] = v_xor(s[2], _mm512_shuffle_i64x2(u2, u6, 0x88));
    s[3] = v_xor(s[3], _mm512_shuffle_i64x2(u3, u7, 0x88));
    s[4] = v_xor(s[4], _mm512_shuffle_i64x2(u0, u4, 0xdd));
    s[5] = v_xor(s[5], _mm512_shuffle_i64x2(u1, u5, 0xdd));
    s[6] = v_xor(s[6], _mm512_shuffle_i64x2(u2, u6, 0xdd));
    s[7] = v_xor(s[7], _mm512_shuffle_i64x2(u3, u7, 0xdd));
}

CD_INLINE void v_absorb(vec s[25], const u8 *const p[WAYS])
{
    absorb8(s, p, 0);
    absorb8(s + 8, p, 64);
    s[16] = v_xor(s[16], _mm512_set_epi64((i64)cd_le64(p[7] + 128), (i64)cd_le64(p[6] + 128), (i64)cd_le64(p[5] + 128),
                                          (i64)cd_le64(p[4] + 128), (i64)cd_le64(p[3] + 128), (i64)cd_le64(p[2] + 128),
                                          (i64)cd_le64(p[1] + 128), (i64)cd_le64(p[0] + 128)));
}

#include "crypto/hash/keccak_ways.h"

void cd__keccak_many_avx512(cd_hash32 *out, const cd_bytes *in, usize cnt)
{
    ways_run(out, in, cnt);
}
#endif
