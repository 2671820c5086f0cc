#include "crypto/sha1.h"

#define BLOCK 64

static u32 rol(u32 x, u32 n)
{
    return x << n | x >> (32 - n);
}

static void block(u32 h[5], const u8 *p)
{
    u32 w[80];
    for (u32 i = 0; i < 16; i++) {
        w[i] = cd_be32(p + (usize)4 * i);
    }
    for (u32 i = 16; i < 80; i++) {
        w[i] = rol(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    u32 a = h[0];
    u32 b = h[1];
    u32 c = h[2];
    u32 d = h[3];
    u32 e = h[4];
    for (u32 i = 0; i < 80; i++) {
        u32 f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                         : (b ^ c ^ d) + 0xca62c1d6;
        u32 t = rol(a, 5) + f + e + w[i];
        e = d;
        d = c;
        c = rol(b, 30);
        b = a;
        a = t;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void cd_sha1(u8 out[20], cd_bytes in)
{
    u32 h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    u8 last[2 * BLOCK] = {0};
    usize done = 0;
    for (; in.n - done >= BLOCK; done += BLOCK) {
        block(h, in.p + done);
    }
    usize rest = in.n - done;
    if (rest != 0) {
        memcpy(last, in.p + done, rest);
    }
    last[rest] = 0x80;
    usize n = rest + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    cd_put_be64(last + n - 8, (u64)in.n * 8);
    for (usize i = 0; i < n; i += BLOCK) {
        block(h, last + i);
    }
    for (u32 i = 0; i < 5; i++) {
        cd_put_be32(out + (usize)4 * i, h[i]);
    }
}
