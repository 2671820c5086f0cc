#include "crypto/hash/blake2_priv.h"

CD_INLINE u64 ror(u64 x, u32 n)
{
    return x >> n | x << (64 - n);
}

CD_INLINE void mix(u64 *a, u64 *b, u64 *c, u64 *d, u64 x, u64 y)
{
    *a += x; /* before b, which is the last to be ready */
    *a += *b;
    *d = ror(*d ^ *a, 32);
    *c += *d;
    *b = ror(*b ^ *c, 24);
    *a += y;
    *a += *b;
    *d = ror(*d ^ *a, 16);
    *c += *d;
    *b = ror(*b ^ *c, 63);
}

/* One round; row is a constant, so that the state stays in registers. */
CD_INLINE void mix_row(u64 v[16], const u64 m[16], u32 row)
{
    const u8 *s = CD_BLAKE2_SIGMA[row];
    mix(&v[0], &v[4], &v[8], &v[12], m[s[0]], m[s[1]]);
    mix(&v[1], &v[5], &v[9], &v[13], m[s[2]], m[s[3]]);
    mix(&v[2], &v[6], &v[10], &v[14], m[s[4]], m[s[5]]);
    mix(&v[3], &v[7], &v[11], &v[15], m[s[6]], m[s[7]]);
    mix(&v[0], &v[5], &v[10], &v[15], m[s[8]], m[s[9]]);
    mix(&v[1], &v[6], &v[11], &v[12], m[s[10]], m[s[11]]);
    mix(&v[2], &v[7], &v[8], &v[13], m[s[12]], m[s[13]]);
    mix(&v[3], &v[4], &v[9], &v[14], m[s[14]], m[s[15]]);
}

enum { ORDERS = 10 };

void cd__blake2b_f_words(u64 h[8], const u64 m[16], const u64 t[2], bool last, u32 rounds)
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
    while (rounds >= ORDERS) {
        mix_row(v, m, 0);
        mix_row(v, m, 1);
        mix_row(v, m, 2);
        mix_row(v, m, 3);
        mix_row(v, m, 4);
        mix_row(v, m, 5);
        mix_row(v, m, 6);
        mix_row(v, m, 7);
        mix_row(v, m, 8);
        mix_row(v, m, 9);
        rounds -= ORDERS;
    }
    u32 row = 0;
    if (rounds >= 2) { /* the last two of BLAKE2b's twelve */
        mix_row(v, m, 0);
        mix_row(v, m, 1);
        row = 2;
    }
    for (; row < rounds; row++) {
        mix_row(v, m, row);
    }
    for (int i = 0; i < 8; i++) {
        h[i] ^= v[i] ^ v[8 + i];
    }
}
