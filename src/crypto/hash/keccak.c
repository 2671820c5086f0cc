#include "crypto/hash/keccak_priv.h"

const cd_hash32 CD_KECCAK_EMPTY = {.b = {0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d,
                                         0xb2, 0xdc, 0xc7, 0x03, 0xc0, 0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82,
                                         0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70}};

const cd_hash32 CD_KECCAK_EMPTY_RLP = {.b = {0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45,
                                             0xe6, 0x92, 0xc0, 0xf8, 0x6e, 0x5b, 0x48, 0xe0, 0x1b, 0x99, 0x6c,
                                             0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21}};

const u64 CD__KECCAK_RC[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

CD_INLINE u64 rol(u64 x, u32 n)
{
    return x << n | x >> (64 - n);
}

/* The column sums of a state, which theta starts from. */
typedef struct columns {
    u64 c0;
    u64 c1;
    u64 c2;
    u64 c3;
    u64 c4;
} columns;

CD_INLINE columns column_sums(const u64 a[25])
{
    return (columns){
        .c0 = a[0] ^ a[5] ^ a[10] ^ a[15] ^ a[20],
        .c1 = a[1] ^ a[6] ^ a[11] ^ a[16] ^ a[21],
        .c2 = a[2] ^ a[7] ^ a[12] ^ a[17] ^ a[22],
        .c3 = a[3] ^ a[8] ^ a[13] ^ a[18] ^ a[23],
        .c4 = a[4] ^ a[9] ^ a[14] ^ a[19] ^ a[24],
    };
}

/* Applies chi to one plane, stores it, and adds it into the column sums of the next round. */
CD_INLINE void plane(u64 e[5], columns *c, u64 b0, u64 b1, u64 b2, u64 b3, u64 b4)
{
    u64 t = b0 ^ (~b1 & b2);
    e[0] = t;
    c->c0 ^= t;
    t = b1 ^ (~b2 & b3);
    e[1] = t;
    c->c1 ^= t;
    t = b2 ^ (~b3 & b4);
    e[2] = t;
    c->c2 ^= t;
    t = b3 ^ (~b4 & b0);
    e[3] = t;
    c->c3 ^= t;
    t = b4 ^ (~b0 & b1);
    e[4] = t;
    c->c4 ^= t;
}

/* One round from a to e. The sums come in through *c and leave as those of e, so that no round reads
 * the state twice; nothing is copied because the rounds come in pairs. */
CD_INLINE void keccak_round(u64 e[25], const u64 a[25], columns *c, u64 rc)
{
    u64 d0 = c->c4 ^ rol(c->c1, 1);
    u64 d1 = c->c0 ^ rol(c->c2, 1);
    u64 d2 = c->c1 ^ rol(c->c3, 1);
    u64 d3 = c->c2 ^ rol(c->c4, 1);
    u64 d4 = c->c3 ^ rol(c->c0, 1);
    *c = (columns){.c0 = rc};
    plane(e, c, a[0] ^ d0, rol(a[6] ^ d1, 44), rol(a[12] ^ d2, 43), rol(a[18] ^ d3, 21), rol(a[24] ^ d4, 14));
    e[0] ^= rc;
    plane(e + 5, c, rol(a[3] ^ d3, 28), rol(a[9] ^ d4, 20), rol(a[10] ^ d0, 3), rol(a[16] ^ d1, 45),
          rol(a[22] ^ d2, 61));
    plane(e + 10, c, rol(a[1] ^ d1, 1), rol(a[7] ^ d2, 6), rol(a[13] ^ d3, 25), rol(a[19] ^ d4, 8),
          rol(a[20] ^ d0, 18));
    plane(e + 15, c, rol(a[4] ^ d4, 27), rol(a[5] ^ d0, 36), rol(a[11] ^ d1, 10), rol(a[17] ^ d2, 15),
          rol(a[23] ^ d3, 56));
    plane(e + 20, c, rol(a[2] ^ d2, 62), rol(a[8] ^ d3, 55), rol(a[14] ^ d4, 39), rol(a[15] ^ d0, 41),
          rol(a[21] ^ d1, 2));
}

void cd__keccak_permute(u64 s[25])
{
    u64 e[25];
    columns c = column_sums(s);
    for (int i = 0; i < 24; i += 2) {
        keccak_round(e, s, &c, CD__KECCAK_RC[i]);
        keccak_round(s, e, &c, CD__KECCAK_RC[i + 1]);
    }
}

/* Applies the permutation when only the four words of a hash are wanted: then the last round is a sixth of the work. */
static void permute_last(u64 s[25], cd_hash32 *out)
{
    u64 e[25];
    columns c = column_sums(s);
    for (int i = 0; i < 22; i += 2) {
        keccak_round(e, s, &c, CD__KECCAK_RC[i]);
        keccak_round(s, e, &c, CD__KECCAK_RC[i + 1]);
    }
    keccak_round(e, s, &c, CD__KECCAK_RC[22]);
    u64 b0 = e[0] ^ c.c4 ^ rol(c.c1, 1);
    u64 b1 = rol(e[6] ^ c.c0 ^ rol(c.c2, 1), 44);
    u64 b2 = rol(e[12] ^ c.c1 ^ rol(c.c3, 1), 43);
    u64 b3 = rol(e[18] ^ c.c2 ^ rol(c.c4, 1), 21);
    u64 b4 = rol(e[24] ^ c.c3 ^ rol(c.c0, 1), 14);
    cd_put_le64(out->b, b0 ^ (~b1 & b2) ^ CD__KECCAK_RC[23]);
    cd_put_le64(out->b + 8, b1 ^ (~b2 & b3));
    cd_put_le64(out->b + 16, b2 ^ (~b3 & b4));
    cd_put_le64(out->b + 24, b3 ^ (~b4 & b0));
}

CD_INLINE void absorb_block(u64 s[25], const u8 *p)
{
    for (usize i = 0; i < CD__KECCAK_WAYS; i++) {
        s[i] ^= cd_le64(p + 8 * i);
    }
}

/* Gives the last n < 8 bytes p[0..n-1] of an input as a word, with the first padding bit behind them. */
CD_INLINE u64 padded_word(const u8 *p, usize n)
{
    u64 w = (u64)1 << (8 * n);
    if (n >= 4) {
        w |= cd_le32(p) | (u64)cd_le32(p + n - 4) << (8 * (n - 4));
    } else if (n != 0) {
        w |= p[0] | (u64)p[n >> 1] << (8 * (n >> 1)) | (u64)p[n - 1] << (8 * (n - 1));
    }
    return w;
}

void cd__keccak_finish(u64 s[25], cd_hash32 *out, const u8 *p, usize rest)
{
    usize words = 0;
    for (; rest >= 8; rest -= 8, p += 8) {
        s[words++] ^= cd_le64(p);
    }
    s[words] ^= padded_word(p, rest);
    s[CD__KECCAK_WAYS - 1] ^= UINT64_C(1) << 63;
    permute_last(s, out);
}

void cd_keccak256(cd_hash32 *out, cd_bytes in)
{
    u64 s[25] = {0};
    const u8 *p = in.p;
    usize n = in.n;
    for (; n >= CD_KECCAK_RATE; n -= CD_KECCAK_RATE, p += CD_KECCAK_RATE) {
        absorb_block(s, p);
        cd__keccak_permute(s);
    }
    cd__keccak_finish(s, out, p, n);
}

void cd_keccak256_32(cd_hash32 *out, const u8 in[32])
{
    u64 s[25] = {cd_le64(in), cd_le64(in + 8), cd_le64(in + 16), cd_le64(in + 24), 1};
    s[CD__KECCAK_WAYS - 1] = UINT64_C(1) << 63;
    permute_last(s, out);
}

void cd_keccak256_64(cd_hash32 *out, const u8 in[64])
{
    u64 s[25] = {
        cd_le64(in),      cd_le64(in + 8),  cd_le64(in + 16),
        cd_le64(in + 24), cd_le64(in + 32), cd_le64(in + 40),
        cd_le64(in + 48), cd_le64(in + 56), 1,
    };
    s[CD__KECCAK_WAYS - 1] = UINT64_C(1) << 63;
    permute_last(s, out);
}

void cd_keccak_init(cd_keccak *k)
{
    *k = (cd_keccak){.used = 0};
}

/* Xors n bytes into the block at byte offset used; they must not go beyond the block. */
static void absorb_bytes(cd_keccak *k, const u8 *p, usize n)
{
    usize at = k->used;
    k->used += n;
    for (; n != 0 && at % 8 != 0; n--, at++) {
        k->state[at / 8] ^= (u64)*p++ << (8 * (at % 8));
    }
    for (; n >= 8; n -= 8, at += 8, p += 8) {
        k->state[at / 8] ^= cd_le64(p);
    }
    for (; n != 0; n--, at++) {
        k->state[at / 8] ^= (u64)*p++ << (8 * (at % 8));
    }
}

void cd_keccak_update(cd_keccak *k, cd_bytes in)
{
    const u8 *p = in.p;
    usize n = in.n;
    if (k->used + n < CD_KECCAK_RATE) {
        absorb_bytes(k, p, n);
        return;
    }
    if (k->used != 0) {
        usize first = CD_KECCAK_RATE - k->used;
        absorb_bytes(k, p, first);
        cd__keccak_permute(k->state);
        p += first;
        n -= first;
    }
    for (; n >= CD_KECCAK_RATE; n -= CD_KECCAK_RATE, p += CD_KECCAK_RATE) {
        absorb_block(k->state, p);
        cd__keccak_permute(k->state);
    }
    k->used = 0;
    absorb_bytes(k, p, n);
}

void cd_keccak_final(cd_keccak *k, cd_hash32 *out)
{
    k->state[k->used / 8] ^= (u64)1 << (8 * (k->used % 8));
    k->state[CD__KECCAK_WAYS - 1] ^= UINT64_C(1) << 63;
    permute_last(k->state, out);
}
