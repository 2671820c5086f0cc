#include "p2p/bloom.h"

#include "crypto/hash/sha2.h"

#include <math.h>

enum { SEED_LEN = 8, ROTATION = 17 };

cd_err cd_p2p_bloom_parse(cd_p2p_bloom_view *out, cd_bytes filter, cd_errinfo *why)
{
    if (filter.n == 0) {
        return cd_fail(why, CD_EFORMAT, "invalid num hashes");
    }
    usize k = filter.p[0];
    if (k == 0) {
        return cd_fail(why, CD_EFORMAT, "too few hashes: 0 < 1");
    }
    if (k > CD_P2P_BLOOM_HASHES_MAX) {
        return cd_fail(why, CD_EFORMAT, "too many hashes: %zu > %d", k, CD_P2P_BLOOM_HASHES_MAX);
    }
    if (filter.n <= 1 + k * SEED_LEN) {
        return cd_fail(why, CD_EFORMAT, "too few entries");
    }
    out->seeds = cd_bytes_sub(filter, 1, k * SEED_LEN);
    out->entries = cd_bytes_sub(filter, 1 + k * SEED_LEN, filter.n - 1 - k * SEED_LEN);
    return CD_OK;
}

cd_p2p_bloom_view cd_p2p_bloom_empty(void)
{
    static const u8 zeros[SEED_LEN];
    return (cd_p2p_bloom_view){.seeds = cd_bytes_of(zeros, SEED_LEN), .entries = cd_bytes_of(zeros, 1)};
}

u64 cd_p2p_bloom_hash(cd_bytes key, cd_bytes salt)
{
    cd_sha256_ctx c;
    cd_hash32 hash;
    cd_sha256_init(&c);
    cd_sha256_update(&c, key);
    cd_sha256_update(&c, salt);
    cd_sha256_final(&c, &hash);
    return cd_be64(hash.b);
}

/* The next bit to look at. *hash is carried from seed to seed. */
static u64 next_bit(u64 *hash, const u8 *seed, usize entries)
{
    *hash = (*hash << ROTATION | *hash >> (64 - ROTATION)) ^ cd_be64(seed);
    return *hash % (8 * (u64)entries);
}

bool cd_p2p_bloom_has(const cd_p2p_bloom_view *f, u64 hash)
{
    for (usize i = 0; i < f->seeds.n; i += SEED_LEN) {
        u64 bit = next_bit(&hash, f->seeds.p + i, f->entries.n);
        if ((f->entries.p[bit / 8] >> (bit % 8) & 1) == 0) {
            return false;
        }
    }
    return true;
}

void cd_p2p_bloom_set(u8 *entries, usize n, cd_bytes seeds, u64 hash)
{
    for (usize i = 0; i < seeds.n; i += SEED_LEN) {
        u64 bit = next_bit(&hash, seeds.p + i, n);
        entries[bit / 8] = (u8)(entries[bit / 8] | 1u << (bit % 8));
    }
}

/* --- sizes --- */

void cd_p2p_bloom_size(u32 *hashes, u32 *entries, u32 cnt, double p)
{
    double bits = -(double)cnt * log(p) / (M_LN2 * M_LN2);
    double bytes = floor((bits + 7) / 8);
    *entries = bytes < 1 ? 1 : bytes > INT32_MAX ? INT32_MAX : (u32)bytes;
    double k = cnt == 0 ? CD_P2P_BLOOM_HASHES_MAX : ceil((double)*entries * 8 * M_LN2 / (double)cnt);
    *hashes = k < 1 ? 1 : k > CD_P2P_BLOOM_HASHES_MAX ? CD_P2P_BLOOM_HASHES_MAX : (u32)k;
}

u32 cd_p2p_bloom_fill(u32 hashes, u32 entries, double p)
{
    double inverse = 1 / (double)hashes;
    double bits = (double)entries * 8;
    double exponent = 1 - pow(p, inverse);
    double cnt = ceil(-log(exponent) * bits / (double)hashes);
    return cnt < 0 ? 0 : cnt > INT32_MAX ? INT32_MAX : (u32)cnt;
}

/* --- a filter of our own --- */

void cd_p2p_bloom_reset(cd_p2p_bloom *f, cd_rng *rng, u32 cnt, double p, double p_max)
{
    u32 entries;
    cd_p2p_bloom_size(&f->hashes, &entries, cnt, p);
    f->cnt = 0;
    f->cnt_max = cd_p2p_bloom_fill(f->hashes, entries, p_max);
    cd_buf_clear(&f->bytes);
    cd_buf_u8(&f->bytes, (u8)f->hashes);
    cd_rng_fill(rng, cd_buf_extend(&f->bytes, (usize)f->hashes * SEED_LEN), (usize)f->hashes * SEED_LEN);
    cd_buf_fill(&f->bytes, 0, entries);
    cd_rng_fill(rng, f->salt.b, sizeof f->salt.b);
}

void cd_p2p_bloom_fini(cd_p2p_bloom *f)
{
    cd_buf_fini(&f->bytes);
}

cd_p2p_bloom_view cd_p2p_bloom_of(const cd_p2p_bloom *f)
{
    usize front = 1 + (usize)f->hashes * SEED_LEN;
    return (cd_p2p_bloom_view){.seeds = cd_bytes_of(f->bytes.p + 1, front - 1),
                               .entries = cd_bytes_of(f->bytes.p + front, f->bytes.n - front)};
}

bool cd_p2p_bloom_add(cd_p2p_bloom *f, cd_bytes key)
{
    usize front = 1 + (usize)f->hashes * SEED_LEN;
    cd_p2p_bloom_set(f->bytes.p + front, f->bytes.n - front, cd_bytes_of(f->bytes.p + 1, front - 1),
                     cd_p2p_bloom_hash(key, cd_bytes_of(f->salt.b, sizeof f->salt.b)));
    f->cnt++;
    return f->cnt <= f->cnt_max;
}
