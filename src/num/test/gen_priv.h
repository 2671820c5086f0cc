/* num/test/gen_priv.h - operands for property tests: random ones and the shapes that break carry chains.
 * Threading: confined. */
#ifndef CD_NUM_TEST_GEN_PRIV_H
#define CD_NUM_TEST_GEN_PRIV_H

#include "num/u256.h"

#include <gmp.h>

#define GEN_SEED UINT64_C(0x9e3779b97f4a7c15)

/* gen_u64 steps a splitmix64 generator. */
static inline u64 gen_u64(u64 *rng)
{
    u64 z = *rng += GEN_SEED;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A limb: often 0, 1, all ones, one bit, or next to a power of two. */
static inline u64 gen_limb(u64 *rng)
{
    u64 r = gen_u64(rng);
    u64 bit = UINT64_C(1) << (r >> 8 & 63);
    switch (r & 15) {
    case 0:
    case 1:
        return 0;
    case 2:
        return 1;
    case 3:
    case 4:
        return UINT64_MAX;
    case 5:
        return bit;
    case 6:
        return bit - 1;
    case 7:
        return 0 - bit;
    }
    return gen_u64(rng);
}

/* A word: structured limbs, a single bit, a run of ones, or random with a random number of limbs. */
static inline cd_u256 gen_u256(u64 *rng)
{
    u64 r = gen_u64(rng);
    cd_u256 v = cd_u256_zero();
    u64 bit = r >> 8 & 255;
    switch (r & 7) {
    case 0:
        v.w[bit >> 6] = UINT64_C(1) << (bit & 63);
        return v;
    case 1:
        v.w[bit >> 6] = UINT64_C(1) << (bit & 63);
        v = (cd_u256){.w = {v.w[0] - 1, v.w[1] - (v.w[0] == 0), v.w[2] - (v.w[0] == 0 && v.w[1] == 0),
                            v.w[3] - (v.w[0] == 0 && v.w[1] == 0 && v.w[2] == 0)}};
        return v;
    case 2:
    case 3:
        for (int i = 0; i < 4; i++) {
            v.w[i] = gen_u64(rng);
        }
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        for (int i = 0; i < 4; i++) {
            v.w[i] = gen_limb(rng);
        }
        break;
    }
    for (u64 limbs = 1 + (r >> 16 & 7); limbs < 4; limbs++) {
        v.w[limbs] = 0;
    }
    return v;
}

/* GMP's view of n limbs, and the low 256 bits of a non-negative GMP number. */
static inline void gen_to_mpz(mpz_t out, const u64 *w, usize n)
{
    mpz_import(out, n, -1, 8, 0, 0, w);
}

static inline cd_u256 gen_from_mpz(const mpz_t v)
{
    u64 w[16] = {0};
    mpz_export(w, NULL, -1, 8, 0, 0, v);
    return (cd_u256){.w = {w[0], w[1], w[2], w[3]}};
}

#endif
