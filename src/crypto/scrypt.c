#include "crypto/scrypt.h"

#include "base/mem.h"
#include "base/secret.h"
#include "crypto/hmac.h"

/* Four words of a Salsa20 state side by side: its diagonals, which a round turns all at once. */
typedef u32 quad __attribute__((vector_size(16)));

enum { QUADS = 4 /* of 64 bytes */, LANE = 128 /* bytes, times r */ };

#define ROTL(v, bits) (((v) << (bits)) | ((v) >> (32 - (bits))))

/* x = Salsa20/8(x ^ in), both in the order of diagonals. */
static inline void salsa8(quad x[QUADS], const quad in[QUADS])
{
    quad a = x[0] ^ in[0];
    quad b = x[1] ^ in[1];
    quad c = x[2] ^ in[2];
    quad d = x[3] ^ in[3];
    const quad start[QUADS] = {a, b, c, d};
    for (int i = 0; i < 4; i++) {
        quad t = a + d;
        b ^= ROTL(t, 7);
        t = b + a;
        c ^= ROTL(t, 9);
        t = c + b;
        d ^= ROTL(t, 13);
        t = d + c;
        a ^= ROTL(t, 18);
        b = __builtin_shufflevector(b, b, 3, 0, 1, 2);
        c = __builtin_shufflevector(c, c, 2, 3, 0, 1);
        d = __builtin_shufflevector(d, d, 1, 2, 3, 0);
        t = a + b;
        d ^= ROTL(t, 7);
        t = d + a;
        c ^= ROTL(t, 9);
        t = c + d;
        b ^= ROTL(t, 13);
        t = b + c;
        a ^= ROTL(t, 18);
        b = __builtin_shufflevector(b, b, 1, 2, 3, 0);
        c = __builtin_shufflevector(c, c, 2, 3, 0, 1);
        d = __builtin_shufflevector(d, d, 3, 0, 1, 2);
    }
    x[0] = a + start[0];
    x[1] = b + start[1];
    x[2] = c + start[2];
    x[3] = d + start[3];
}

/* scryptBlockMix; out is not in. */
static void block_mix(quad *out, const quad *in, usize r)
{
    quad x[QUADS];
    memcpy(x, in + (2 * r - 1) * QUADS, sizeof x);
    for (usize i = 0; i < 2 * r; i++) {
        salsa8(x, in + i * QUADS);
        memcpy(out + (i / 2 + (i % 2) * r) * QUADS, x, sizeof x);
    }
}

/* Words of a lane to and from the order of diagonals, in which block i begins at the word 5 i modulo 16. */
static void load(quad *out, const u8 *in, usize r)
{
    for (usize block = 0; block < 2 * r; block++) {
        for (usize i = 0; i < 16; i++) {
            u32 w;
            memcpy(&w, in + block * 64 + i * 5 % 16 * 4, sizeof w);
            out[block * QUADS + i / 4][i % 4] = w;
        }
    }
}

static void store(u8 *out, const quad *in, usize r)
{
    for (usize block = 0; block < 2 * r; block++) {
        for (usize i = 0; i < 16; i++) {
            u32 w = in[block * QUADS + i / 4][i % 4];
            memcpy(out + block * 64 + i * 5 % 16 * 4, &w, sizeof w);
        }
    }
}

/* scryptROMix over a lane; table has room for n lanes, x and y for one each. */
static void rom_mix(u8 *lane, quad *table, quad *x, quad *y, usize n, usize r)
{
    usize len = LANE / sizeof(quad) * r;
    load(x, lane, r);
    for (usize i = 0; i < n; i += 2) {
        memcpy(table + i * len, x, len * sizeof *x);
        block_mix(y, x, r);
        memcpy(table + (i + 1) * len, y, len * sizeof *y);
        block_mix(x, y, r);
    }
    for (usize i = 0; i < n; i++) {
        /* Word 0 of the last block, which is enough below 2^32. */
        const quad *v = table + (x[len - QUADS][0] & (n - 1)) * len;
        for (usize j = 0; j < len; j++) {
            x[j] ^= v[j];
        }
        block_mix(y, x, r);
        quad *swap = x;
        x = y;
        y = swap;
    }
    store(lane, x, r);
}

u64 cd_scrypt_mem(const cd_scrypt_cost *cost)
{
    u64 lanes;
    u64 bytes;
    bool fits = cd_add_u64(&lanes, cost->n, (u64)cost->p + 2) && cd_mul_u64(&bytes, lanes, LANE) &&
                cd_mul_u64(&bytes, bytes, cost->r);
    return fits ? bytes : UINT64_MAX;
}

cd_err cd_scrypt(u8 *out, usize out_len, cd_bytes password, cd_bytes salt,
                 const cd_scrypt_cost *cost)
{
    enum { P_R_MAX = 1 << 30 }; /* RFC 7914 section 2 */
    u64 mem = cd_scrypt_mem(cost);
    bool is_power = cost->n > 1 && (cost->n & (cost->n - 1)) == 0;
    if (!is_power || cost->n > (u64)1 << 31 || cost->r == 0 || cost->p == 0 ||
        (u64)cost->p * cost->r >= P_R_MAX || mem > SIZE_MAX / 2) {
        return CD_EINVAL;
    }
    usize n = (usize)cost->n;
    usize lane = (usize)LANE * cost->r;
    quad *all = cd_try_alloc((usize)mem);
    if (all == NULL) {
        return CD_ENOMEM;
    }
    quad *x = all + n * lane / sizeof *all;
    quad *y = x + lane / sizeof *all;
    u8 *lanes = (u8 *)(y + lane / sizeof *all);
    cd_pbkdf2_sha256(lanes, lane * cost->p, password, salt, 1);
    for (u32 i = 0; i < cost->p; i++) {
        rom_mix(lanes + i * lane, all, x, y, n, cost->r);
    }
    cd_pbkdf2_sha256(out, out_len, password, cd_bytes_of(lanes, lane * cost->p), 1);
    cd_wipe(all, (usize)mem);
    cd_free(all);
    return CD_OK;
}
