#include "crypto/hash/ripemd160.h"

/* Two lines of eighty steps run side by side; each step takes a message word and a rotation. The
 * loops over sixteen steps are unrolled, which turns the tables into immediates. */
static const u8 WORD_L[5][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8},
    {3, 10, 14, 4, 9, 15, 8, 1, 2, 7, 0, 6, 13, 11, 5, 12}, {1, 9, 11, 10, 0, 8, 12, 4, 13, 3, 7, 15, 14, 5, 6, 2},
    {4, 0, 5, 9, 7, 12, 2, 10, 14, 1, 3, 8, 11, 6, 15, 13},
};
static const u8 WORD_R[5][16] = {
    {5, 14, 7, 0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12}, {6, 11, 3, 7, 0, 13, 5, 10, 14, 15, 8, 12, 4, 9, 1, 2},
    {15, 5, 1, 3, 7, 14, 6, 9, 11, 8, 12, 2, 10, 0, 4, 13}, {8, 6, 4, 1, 3, 11, 15, 0, 5, 12, 2, 13, 9, 7, 10, 14},
    {12, 15, 10, 4, 1, 5, 8, 7, 6, 2, 13, 14, 0, 3, 9, 11},
};
static const u8 ROT_L[5][16] = {
    {11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8}, {7, 6, 8, 13, 11, 9, 7, 15, 7, 12, 15, 9, 11, 7, 13, 12},
    {11, 13, 6, 7, 14, 9, 13, 15, 14, 8, 13, 6, 5, 12, 7, 5}, {11, 12, 14, 15, 14, 15, 9, 8, 9, 14, 5, 6, 8, 6, 5, 12},
    {9, 15, 5, 11, 6, 8, 13, 12, 5, 12, 13, 14, 11, 8, 5, 6},
};
static const u8 ROT_R[5][16] = {
    {8, 9, 9, 11, 13, 15, 15, 5, 7, 7, 8, 11, 14, 14, 12, 6}, {9, 13, 15, 7, 12, 8, 9, 11, 7, 7, 12, 7, 6, 15, 13, 11},
    {9, 7, 15, 11, 8, 6, 6, 14, 12, 13, 5, 14, 13, 13, 7, 5}, {15, 5, 8, 11, 14, 14, 6, 14, 6, 9, 12, 9, 12, 5, 15, 8},
    {8, 5, 12, 9, 12, 5, 14, 6, 8, 13, 6, 5, 15, 13, 11, 11},
};
static const u32 ADD_L[5] = {0, 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xa953fd4e};
static const u32 ADD_R[5] = {0x50a28be6, 0x5c4dd124, 0x6d703ef3, 0x7a6d76e9, 0};

typedef struct line {
    u32 a;
    u32 b;
    u32 c;
    u32 d;
    u32 e;
} line;

CD_INLINE u32 rol(u32 x, u32 n)
{
    return x << n | x >> (32 - n);
}

/* The five boolean functions; fn is a constant wherever this is inlined. */
CD_INLINE u32 boolean(u32 fn, u32 x, u32 y, u32 z)
{
    switch (fn) {
    case 0:
        return x ^ y ^ z;
    case 1:
        return (x & y) | (~x & z);
    case 2:
        return (x | ~y) ^ z;
    case 3:
        return (x & z) | (y & ~z);
    case 4:
        return x ^ (y | ~z);
    }
    CD_UNREACHABLE();
}

CD_INLINE line step(line v, u32 fn, u32 word, u32 add, u32 rot)
{
    u32 t = rol(v.a + boolean(fn, v.b, v.c, v.d) + word + add, rot) + v.e;
    return (line){.a = v.e, .b = t, .c = v.b, .d = rol(v.c, 10), .e = v.d};
}

CD_INLINE void round16(line *l, line *r, const u32 m[16], u32 round)
{
#pragma GCC unroll 16
    for (u32 i = 0; i < 16; i++) {
        *l = step(*l, round, m[WORD_L[round][i]], ADD_L[round], ROT_L[round][i]);
        *r = step(*r, 4 - round, m[WORD_R[round][i]], ADD_R[round], ROT_R[round][i]);
    }
}

static void compress(u32 h[5], const u8 *p)
{
    u32 m[16];
    for (usize i = 0; i < 16; i++) {
        m[i] = cd_le32(p + 4 * i);
    }
    line l = {.a = h[0], .b = h[1], .c = h[2], .d = h[3], .e = h[4]};
    line r = l;
    round16(&l, &r, m, 0);
    round16(&l, &r, m, 1);
    round16(&l, &r, m, 2);
    round16(&l, &r, m, 3);
    round16(&l, &r, m, 4);
    u32 t = h[1] + l.c + r.d;
    h[1] = h[2] + l.d + r.e;
    h[2] = h[3] + l.e + r.a;
    h[3] = h[4] + l.a + r.b;
    h[4] = h[0] + l.b + r.c;
    h[0] = t;
}

void cd_ripemd160(cd_hash20 *out, cd_bytes in)
{
    u32 h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    usize rest = in.n % 64;
    for (usize at = 0; at < in.n - rest; at += 64) {
        compress(h, in.p + at);
    }
    u8 tail[128] = {0};
    if (rest != 0) {
        memcpy(tail, in.p + in.n - rest, rest);
    }
    tail[rest] = 0x80;
    usize padded = rest < 56 ? 64 : 128;
    cd_put_le64(tail + padded - 8, (u64)in.n << 3);
    for (usize at = 0; at < padded; at += 64) {
        compress(h, tail + at);
    }
    for (usize i = 0; i < 5; i++) {
        cd_put_le32(out->b + 4 * i, h[i]);
    }
}
