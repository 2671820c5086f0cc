/* crypto/hash/blake2_priv.h - the constants of BLAKE2b, and the ways in which it is done. Threading: pure.
 * [RFC 7693 2.6] [RFC 7693 2.7] */
#ifndef CD_CRYPTO_BLAKE2_PRIV_H
#define CD_CRYPTO_BLAKE2_PRIV_H

#include "base/base.h"

/* The initial state. */
static const u64 CD_BLAKE2B_IV[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* The order in which a round mixes the message words; round r uses row r % 10. */
static const u8 CD_BLAKE2_SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

/* cd_blake2b_f in three ways: word by word; with a row of the state in a vector of AVX2 (word by word where the build
 * has none); so with the rotations of AVX-512 (cd__cpu.avx512). */
void cd__blake2b_f_words(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds);
void cd__blake2b_f_rows(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds);
void cd__blake2b_f_avx512(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds);

#endif
