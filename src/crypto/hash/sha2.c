#include "crypto/hash/sha2.h"

#include "crypto/cpu.h"

#define BLOCK 64

static const u32 K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

CD_INLINE u32 ror(u32 x, u32 n)
{
    return x >> n | x << (32 - n);
}

/* Hashes blocks in plain C, for processors without SHA instructions. */
static void blocks_plain(u32 h[8], const u8 *p, usize cnt)
{
    for (; cnt > 0; cnt--, p += BLOCK) {
        u32 w[64];
        for (usize i = 0; i < 16; i++) {
            w[i] = cd_be32(p + 4 * i);
        }
        for (u32 i = 16; i < 64; i++) {
            u32 s0 = ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3;
            u32 s1 = ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        u32 v[8];
        memcpy(v, h, sizeof v);
        for (u32 i = 0; i < 64; i++) {
            u32 s1 = ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25);
            u32 ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
            u32 t1 = v[7] + s1 + ch + K[i] + w[i];
            u32 s0 = ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22);
            u32 maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            memmove(v + 1, v, 7 * sizeof v[0]);
            v[4] += t1;
            v[0] = t1 + s0 + maj;
        }
        for (u32 i = 0; i < 8; i++) {
            h[i] += v[i];
        }
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* The state lives as {A,B,E,F} and {C,D,G,H}; one instruction does two rounds. */
__attribute__((target("sha,sse4.1"))) static void blocks_sha_ni(u32 h[8], const u8 *p, usize cnt)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)h);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(h + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
    __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; cnt > 0; cnt--, p += BLOCK) {
        __m128i abef_in = abef;
        __m128i cdgh_in = cdgh;
        __m128i w[4];
#pragma GCC unroll 16
        for (usize i = 0; i < 16; i++) {
            __m128i *wi = &w[i & 3];
            if (i < 4) {
                *wi = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
                *wi = _mm_shuffle_epi8(*wi, swap);
            } else {
                __m128i prev = w[(i + 3) & 3];
                __m128i t = _mm_sha256msg1_epu32(*wi, w[(i + 1) & 3]);
                t = _mm_add_epi32(t, _mm_alignr_epi8(prev, w[(i + 2) & 3], 4));
                *wi = _mm_sha256msg2_epu32(t, prev);
            }
            __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(K + 4 * i));
            __m128i wk = _mm_add_epi32(*wi, k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_in);
        cdgh = _mm_add_epi32(cdgh, cdgh_in);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

static void blocks(u32 h[8], const u8 *p, usize cnt)
{
#if defined(__x86_64__)
    if (CD_LIKELY(cd__cpu.sha)) {
        blocks_sha_ni(h, p, cnt);
        return;
    }
#endif
    blocks_plain(h, p, cnt);
}

static const u32 H0[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* Pads the last rest < 64 bytes of a message of total bytes and writes the hash. */
static void finish(cd_hash32 *out, u32 h[8], const u8 *p, usize rest, u64 total)
{
    u8 tail[2 * BLOCK] = {0};
    if (rest != 0) {
        memcpy(tail, p, rest);
    }
    tail[rest] = 0x80;
    usize cnt = rest < BLOCK - 8 ? 1 : 2;
    cd_put_be64(tail + cnt * BLOCK - 8, total << 3);
    blocks(h, tail, cnt);
    for (usize i = 0; i < 8; i++) {
        cd_put_be32(out->b + 4 * i, h[i]);
    }
}

void cd_sha256(cd_hash32 *out, cd_bytes in)
{
    u32 h[8];
    memcpy(h, H0, sizeof h);
    usize rest = in.n % BLOCK;
    usize whole = in.n - rest;
    if (whole != 0) {
        blocks(h, in.p, whole / BLOCK);
    }
    finish(out, h, rest != 0 ? in.p + whole : NULL, rest, in.n);
}

void cd_sha256_init(cd_sha256_ctx *c)
{
    memcpy(c->h, H0, sizeof c->h);
    c->total = 0;
}

void cd_sha256_update(cd_sha256_ctx *c, cd_bytes in)
{
    usize used = c->total % BLOCK;
    const u8 *p = in.p;
    usize n = in.n;
    if (n == 0) {
        return;
    }
    c->total += n;
    if (used != 0) {
        usize first = n < BLOCK - used ? n : BLOCK - used;
        memcpy(c->block + used, p, first);
        if (used + first < BLOCK) {
            return;
        }
        blocks(c->h, c->block, 1);
        p += first;
        n -= first;
    }
    blocks(c->h, p, n / BLOCK);
    memcpy(c->block, p + n - n % BLOCK, n % BLOCK);
}

void cd_sha256_final(cd_sha256_ctx *c, cd_hash32 *out)
{
    finish(out, c->h, c->block, c->total % BLOCK, c->total);
}
