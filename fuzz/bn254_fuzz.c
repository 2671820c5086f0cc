/* The bn254 precompiles on arbitrary bytes, and laws their results must obey: a sum is a point that adds
 * commutatively, k * P agrees with double-and-add, and a pairing check accepts (P, Q), (-P, Q). */
#include "crypto/bn254/bn254.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void check_add(const u8 in[128])
{
    u8 sum[64];
    u8 swapped[128];
    u8 other[64];
    if (cd_bn254_add(sum, in) != CD_OK) {
        return;
    }
    memcpy(swapped, in + 64, 64);
    memcpy(swapped + 64, in, 64);
    CD_ASSERT(cd_bn254_add(other, swapped) == CD_OK && memcmp(sum, other, 64) == 0);
    memcpy(swapped, sum, 64);
    CD_ASSERT(cd_bn254_add(other, swapped) == CD_OK);
}

/* negate gives -P for a valid point; the prime minus y. */
static void negate(u8 p[64])
{
    static const u8 prime[32] = {0x30, 0x64, 0x4e, 0x72, 0xe1, 0x31, 0xa0, 0x29, 0xb8, 0x50, 0x45,
                                 0xb6, 0x81, 0x81, 0x58, 0x5d, 0x97, 0x81, 0x6a, 0x91, 0x68, 0x71,
                                 0xca, 0x8d, 0x3c, 0x20, 0x8c, 0x16, 0xd8, 0x7c, 0xfd, 0x47};
    static const u8 zero[64];
    if (memcmp(p, zero, 64) == 0) {
        return;
    }
    int borrow = 0;
    for (int i = 31; i >= 0; i--) {
        int d = prime[i] - p[32 + i] - borrow;
        borrow = d < 0;
        p[32 + i] = (u8)d;
    }
}

static void check_mul(const u8 in[96])
{
    u8 fast[64];
    if (cd_bn254_mul(fast, in) != CD_OK) {
        return;
    }
    u8 acc[64] = {0};
    u8 pair[128];
    for (usize bit = 0; bit < 256; bit++) {
        memcpy(pair, acc, 64);
        memcpy(pair + 64, acc, 64);
        CD_ASSERT(cd_bn254_add(acc, pair) == CD_OK);
        if ((in[64 + bit / 8] >> (7 - bit % 8) & 1) != 0) {
            memcpy(pair, acc, 64);
            memcpy(pair + 64, in, 64);
            CD_ASSERT(cd_bn254_add(acc, pair) == CD_OK);
        }
    }
    CD_ASSERT(memcmp(acc, fast, 64) == 0);
}

static void check_pairing(cd_bytes in)
{
    bool one;
    if (cd_bn254_pairing(&one, in) != CD_OK || in.n < 192) {
        return;
    }
    u8 pairs[384];
    memcpy(pairs, in.p, 192);
    memcpy(pairs + 192, in.p, 192);
    negate(pairs + 192);
    CD_ASSERT(cd_bn254_pairing(&one, cd_bytes_of(pairs, sizeof pairs)) == CD_OK && one);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    u8 in[128] = {0};
    if (size == 0) {
        return 0;
    }
    cd_bytes rest = cd_bytes_of(data + 1, size - 1);
    switch (data[0] % 3) {
    case 0:
        memcpy(in, rest.p, rest.n < 128 ? rest.n : 128);
        check_add(in);
        break;
    case 1:
        memcpy(in, rest.p, rest.n < 96 ? rest.n : 96);
        check_mul(in);
        break;
    default:
        check_pairing(rest);
        break;
    }
    return 0;
}
