#include "base/mem/mem.h"
#include "crypto/hash/keccak.h"

#define MEMO_SLOTS 2048 /* a power of two; two cache lines each */

/* words == 0 marks an empty slot; a 32-byte preimage leaves in[4..7] zero. */
typedef struct memo_slot {
    u64 in[8];
    cd_hash32 hash;
    u64 words;
    u64 pad[3];
} memo_slot;

struct cd_keccak_memo {
    memo_slot slots[MEMO_SLOTS];
    u64 key[2];
};

cd_keccak_memo *cd_keccak_memo_new(const u64 key[2])
{
    cd_keccak_memo *m = cd_alloc_aligned(64, sizeof *m);
    m->key[0] = key[0];
    m->key[1] = key[1];
    return m;
}

void cd_keccak_memo_free(cd_keccak_memo *m)
{
    cd_free(m);
}

void cd_keccak_memo_clear(cd_keccak_memo *m, const u64 key[2])
{
    m->key[0] = key[0];
    m->key[1] = key[1];
    for (usize i = 0; i < MEMO_SLOTS; i++) {
        m->slots[i].words = 0;
    }
}

/* Xors the halves of the 128-bit product of two keyed words. */
CD_INLINE u64 fold(u64 a, u64 b)
{
    u128 p = (u128)a * b;
    return (u64)p ^ (u64)(p >> 64);
}

CD_INLINE u64 load(const u8 *p, usize i)
{
    return cd_le64(p + 8 * i);
}

static void memo_32(cd_keccak_memo *m, cd_hash32 *out, const u8 *p)
{
    u64 h = fold(load(p, 0) ^ m->key[0], load(p, 1) ^ m->key[1]) + fold(load(p, 2) ^ m->key[1], load(p, 3) ^ m->key[0]);
    memo_slot *s = &m->slots[fold(h, m->key[0] | 1) % MEMO_SLOTS];
    u64 diff = (s->words ^ 4) | (s->in[0] ^ load(p, 0)) | (s->in[1] ^ load(p, 1)) | (s->in[2] ^ load(p, 2)) |
               (s->in[3] ^ load(p, 3));
    if (CD_UNLIKELY(diff != 0)) {
        s->words = 4;
        for (u32 i = 0; i < 4; i++) {
            s->in[i] = load(p, i);
        }
        cd_keccak256_32(&s->hash, p);
    }
    *out = s->hash;
}

static void memo_64(cd_keccak_memo *m, cd_hash32 *out, const u8 *p)
{
    u64 h =
        fold(load(p, 0) ^ m->key[0], load(p, 1) ^ m->key[1]) + fold(load(p, 2) ^ m->key[1], load(p, 3) ^ m->key[0]) +
        (fold(load(p, 4) ^ m->key[0], load(p, 5) ^ m->key[1]) ^ fold(load(p, 6) ^ m->key[1], load(p, 7) ^ m->key[0]));
    memo_slot *s = &m->slots[fold(h, m->key[0] | 1) % MEMO_SLOTS];
    u64 diff = s->words ^ 8;
    for (u32 i = 0; i < 8; i++) {
        diff |= s->in[i] ^ load(p, i);
    }
    if (CD_UNLIKELY(diff != 0)) {
        s->words = 8;
        for (u32 i = 0; i < 8; i++) {
            s->in[i] = load(p, i);
        }
        cd_keccak256_64(&s->hash, p);
    }
    *out = s->hash;
}

void cd_keccak256_memo(cd_keccak_memo *m, cd_hash32 *out, cd_bytes in)
{
    if (in.n == 64) {
        memo_64(m, out, in.p);
    } else if (in.n == 32) {
        memo_32(m, out, in.p);
    } else {
        cd_keccak256(out, in);
    }
}
