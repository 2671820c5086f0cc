#include "base/mem/mem.h"
#include "crypto/lattice/ringtail.h"
#include "crypto/lattice/ringtail_priv.h"
#include "crypto/lattice/sample.h"

enum { ROWS = CD_RT_ROWS, COLS = CD_RT_COLS };

/* What the dealer wipes after dealing: the secret key, and the polynomials whose values are the shares. */
typedef struct dealing {
    cd_lpoly secret[COLS]; /* slots times 2^64 */
    cd_lpoly more[CD_RT_PARTIES_MAX][COLS];
    cd_blake2x x;
} dealing;

/* Makes the public key of the secret: a * secret + errors, rounded. */
static void make_public(cd_rt_key *key, dealing *d)
{
    for (u32 i = 0; i < ROWS; i++) {
        cd_lpoly b;
        cd_lpoly e;
        cd_lpoly_dot(&b, key->a + (usize)i * COLS, 1, d->secret, 1, COLS);
        cd_lpoly_from_mont(&b);
        cd_lpoly_intt(&b);
        cd_lattice_bell_fill(&e, CD_BELL_ERROR, &d->x);
        cd_lpoly_add(&b, &b, &e);
        cd__rt_round(&key->rounded[i], &b, CD__RT_KEY_BITS, CD__RT_KEY_LEFT);
        cd_wipe(&b, sizeof b);
        cd_wipe(&e, sizeof e);
    }
    cd__rt_key_finish(key);
}

/* Evaluates the sharing polynomial, whose constant is the secret, at index + 1, from the highest power down. */
static void make_part(cd_rt_share *share, const dealing *d)
{
    u64 at = cd_lmod_mont(share->index + 1);
    for (u32 k = 0; k < COLS; k++) {
        cd_lpoly *p = &share->part[k];
        memset(p, 0, sizeof *p);
        for (u32 power = share->threshold - 1; power >= 1; power--) {
            cd_lpoly_add(p, p, &d->more[power][k]);
            cd_lpoly_scale(p, p, at);
        }
        cd_lpoly_add(p, p, &d->secret[k]);
    }
}

static cd_rt_share *share_of(const cd_secret *s)
{
    return (cd_rt_share *)(void *)s->p;
}

/* Draws what two parties share: a seed for each direction, and one key. */
static void make_common(const cd_secret *shares, u32 i, u32 j, cd_blake2x *x)
{
    cd_blake2x_fill(x, share_of(&shares[i])->seed_to[j], 32);
    cd_blake2x_fill(x, share_of(&shares[j])->seed_to[i], 32);
    cd_blake2x_fill(x, share_of(&shares[i])->tag_key[j], 32);
    memcpy(share_of(&shares[j])->seed_from[i], share_of(&shares[i])->seed_to[j], 32);
    memcpy(share_of(&shares[i])->seed_from[j], share_of(&shares[j])->seed_to[i], 32);
    memcpy(share_of(&shares[j])->tag_key[i], share_of(&shares[i])->tag_key[j], 32);
}

static void start_secret(cd_blake2x *x, const u8 dealer_key[32], const u8 secret[32])
{
    cd_blake3 hash;
    u8 key[32];
    cd_blake3_init(&hash);
    cd_blake3_update(&hash, cd_bytes_str("candela/ringtail/deal"));
    cd_blake3_update(&hash, cd_bytes_of(dealer_key, 32));
    cd_blake3_update(&hash, cd_bytes_of(secret, 32));
    cd_blake3_final(&hash, key);
    cd_blake2x_init(x, key);
    cd_wipe(key, sizeof key);
    cd_wipe(&hash, sizeof hash);
}

void cd_rt_deal(cd_rt_key *key, cd_secret *shares, u32 n, u32 t, const u8 dealer_key[32], const u8 secret[32])
{
    CD_ASSERT(2 <= t && t <= n && n <= CD_RT_PARTIES_MAX);
    cd_secret room;
    cd_secret_init(&room, sizeof(dealing));
    dealing *d = (dealing *)(void *)room.p;
    cd_blake2x_init(&d->x, dealer_key);
    for (u32 i = 0; i < ROWS * COLS; i++) {
        cd_lattice_uniform(&key->a[i], &d->x);
        cd_lpoly_ntt(&key->a[i]);
        cd_lpoly_to_mont(&key->a[i]);
    }
    start_secret(&d->x, dealer_key, secret);
    for (u32 k = 0; k < COLS; k++) {
        cd_lattice_bell_fill(&d->secret[k], CD_BELL_ERROR, &d->x);
        cd_lpoly_ntt(&d->secret[k]);
        cd_lpoly_to_mont(&d->secret[k]);
        for (u32 power = 1; power < t; power++) {
            cd_lattice_uniform(&d->more[power][k], &d->x);
        }
    }
    make_public(key, d);
    for (u32 i = 0; i < n; i++) {
        cd_secret_init(&shares[i], sizeof(cd_rt_share));
        cd_rt_share *share = share_of(&shares[i]);
        share->index = i;
        share->parties = n;
        share->threshold = t;
        make_part(share, d);
        for (u32 j = 0; j < i; j++) {
            make_common(shares, i, j, &d->x);
        }
    }
    cd_secret_fini(&room);
}

/* --- encoding: version, index, parties, threshold, part, then seeds and keys of each party --- */

enum { VERSION = 0 };

static void put_u32(cd_buf *out, u32 v)
{
    u8 b[4];
    cd_put_be32(b, v);
    cd_buf_put(out, cd_bytes_of(b, sizeof b));
}

void cd_rt_share_put(cd_buf *out, const cd_rt_share *share)
{
    cd_buf_u8(out, 0);
    cd_buf_u8(out, VERSION);
    put_u32(out, share->index);
    put_u32(out, share->parties);
    put_u32(out, share->threshold);
    cd_lpoly_vec_put(out, share->part, COLS);
    for (u32 i = 0; i < share->parties; i++) {
        cd_buf_put(out, cd_bytes_of(share->seed_to[i], 32));
        cd_buf_put(out, cd_bytes_of(share->seed_from[i], 32));
        cd_buf_put(out, cd_bytes_of(share->tag_key[i], 32));
    }
}

cd_err cd_rt_share_read(cd_secret *out, cd_bytes bytes)
{
    cd_rd r = cd_rd_init(bytes);
    *out = (cd_secret){0};
    cd_bytes version = cd_rd_take(&r, 2);
    u32 index = cd_rd_be32(&r);
    u32 n = cd_rd_be32(&r);
    u32 t = cd_rd_be32(&r);
    if (version.n == 2 && (version.p[0] != 0 || version.p[1] != VERSION)) {
        return CD_EFORMAT;
    }
    if (r.err == CD_OK && (t < 2 || t > n || n > CD_RT_PARTIES_MAX || index >= n)) {
        return CD_EFORMAT;
    }
    if (r.err != CD_OK) {
        return r.err;
    }
    cd_secret_init(out, sizeof(cd_rt_share));
    cd_rt_share *share = share_of(out);
    share->index = index;
    share->parties = n;
    share->threshold = t;
    cd_lpoly_vec_read(&r, share->part, COLS);
    for (u32 i = 0; i < n; i++) {
        cd_rd_copy(&r, share->seed_to[i], 32);
        cd_rd_copy(&r, share->seed_from[i], 32);
        cd_rd_copy(&r, share->tag_key[i], 32);
    }
    cd_err e = cd_rd_end(&r);
    if (e != CD_OK) {
        cd_secret_fini(out);
        *out = (cd_secret){0};
    }
    return e;
}
