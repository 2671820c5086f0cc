#include "crypto/hash/blake2x.h"

#include "base/mem/secret.h"
#include "crypto/hash/blake2.h"
#include "crypto/hash/blake2_priv.h"

enum { LANES = 4, BLOCK = 64, WORDS = BLOCK / 8, ROUNDS = 12 };
_Static_assert(LANES *BLOCK == CD_BLAKE2X_ROOM, "room of a stream");

/* One word of each of the blocks that are made together. */
typedef u64 lanes __attribute__((vector_size(8 * LANES)));

static const u64 endless = 0xffffffffull << 32; /* the output length that stands for "not known" */

CD_INLINE lanes all(u64 v)
{
    return (lanes){v, v, v, v};
}

CD_INLINE lanes ror(lanes v, u32 n)
{
    return (v >> n) | (v << (64 - n));
}

CD_INLINE void mix(lanes v[16], u32 a, u32 b, u32 c, u32 d, lanes x, lanes y)
{
    v[a] += v[b] + x;
    v[d] = ror(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = ror(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = ror(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = ror(v[b] ^ v[c], 63);
}

/* Makes the blocks next to next + LANES - 1: the message of each is the root; only their numbers differ. */
static void refill(cd_blake2x *x)
{
    lanes m[16];
    lanes h[8];
    lanes v[16];
    for (u32 i = 0; i < 16; i++) {
        m[i] = all(i < WORDS ? x->root[i] : 0);
    }
    for (u32 i = 0; i < 8; i++) {
        h[i] = all(CD_BLAKE2B_IV[i]);
    }
    h[0] ^= all(BLOCK | (u64)BLOCK << 32);
    h[1] ^= (lanes){x->next, x->next + 1, x->next + 2, x->next + 3} | all(endless);
    h[2] ^= all((u64)BLOCK << 8);
    for (u32 i = 0; i < 8; i++) {
        v[i] = h[i];
        v[i + 8] = all(CD_BLAKE2B_IV[i]);
    }
    v[12] ^= all(BLOCK);
    v[14] = ~v[14];
    for (u32 r = 0; r < ROUNDS; r++) {
        const u8 *s = CD_BLAKE2_SIGMA[r % 10];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (u32 i = 0; i < 8; i++) {
        h[i] ^= v[i] ^ v[i + 8];
        for (u32 k = 0; k < LANES; k++) {
            cd_put_le64(x->room + (usize)k * BLOCK + (usize)i * 8, h[i][k]);
        }
    }
    x->next += LANES;
    x->used = 0;
}

void cd_blake2x_init(cd_blake2x *x, const u8 key[32])
{
    u64 m[16] = {0};
    const u64 t[2] = {128, 0};
    memcpy(x->root, CD_BLAKE2B_IV, sizeof x->root);
    x->root[0] ^= 64 | 32 << 8 | 1 << 16 | 1 << 24;
    x->root[1] ^= endless;
    for (u32 i = 0; i < 4; i++) {
        m[i] = cd_le64(key + (usize)i * 8);
    }
    cd_blake2b_f(x->root, m, t, true, ROUNDS);
    cd_wipe(m, sizeof m);
    x->next = 0;
    x->used = CD_BLAKE2X_ROOM;
}

void cd_blake2x_fill(cd_blake2x *x, void *out, usize n)
{
    u8 *p = out;
    while (n != 0) {
        if (x->used == CD_BLAKE2X_ROOM) {
            refill(x);
        }
        usize k = cd_min_u64(n, CD_BLAKE2X_ROOM - x->used);
        memcpy(p, x->room + x->used, k);
        x->used += (u32)k;
        p += k;
        n -= k;
    }
}

u64 cd_blake2x_u64(cd_blake2x *x)
{
    u8 b[8];
    cd_blake2x_fill(x, b, sizeof b);
    return cd_be64(b);
}

void cd_blake2x_wipe(cd_blake2x *x)
{
    cd_wipe(x, sizeof *x);
}
