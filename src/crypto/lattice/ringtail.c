#include "crypto/lattice/ringtail.h"

#include "crypto/hash/sha2.h"
#include "crypto/lattice/ringtail_priv.h"
#include "crypto/lattice/sample.h"

enum { ROWS = CD_RT_ROWS, COLS = CD_RT_COLS, N = CD_LPOLY_N };

/* The square of the greatest length that a signature may have, 184960669042442604975662780477, in two words. */
static const unsigned __int128 norm_max = (unsigned __int128)0x255a3e128 << 64 | 0x026a31541cbb503d;

void cd__rt_round(cd_lpoly *out, const cd_lpoly *p, u32 bits, u32 left)
{
    for (u32 i = 0; i < N; i++) {
        out->c[i] = ((p->c[i] + (1ull << (bits - 1))) >> bits) & ((1ull << left) - 1);
    }
}

/* --- public keys --- */

static void hash_vec(cd_blake3 *hash, const cd_lpoly *p, u64 cnt)
{
    u8 text[CD_LPOLY_BYTES];
    cd_put_le64(text, cnt);
    cd_blake3_update(hash, cd_bytes_of(text, 8));
    for (u64 i = 0; i < cnt; i++) {
        cd_lpoly_enc(text, &p[i]);
        cd_blake3_update(hash, cd_bytes_of(text, sizeof text));
    }
}

void cd__rt_key_finish(cd_rt_key *key)
{
    u8 rows[8];
    for (u32 i = 0; i < ROWS; i++) {
        cd_lpoly *b = &key->b[i];
        for (u32 k = 0; k < N; k++) {
            b->c[k] = key->rounded[i].c[k] << CD__RT_KEY_BITS;
        }
        cd_lpoly_ntt(b);
        cd_lpoly_to_mont(b);
    }
    cd_blake3_init(&key->hashed);
    cd_put_le64(rows, ROWS);
    cd_blake3_update(&key->hashed, cd_bytes_of(rows, sizeof rows));
    for (u32 i = 0; i < ROWS; i++) {
        hash_vec(&key->hashed, key->a + (usize)i * COLS, COLS);
    }
    hash_vec(&key->hashed, key->rounded, ROWS);
}

cd_err cd_rt_key_read(cd_rt_key *key, cd_bytes bytes)
{
    cd_rd r = cd_rd_init(bytes);
    cd_lpoly_matrix_read(&r, key->a, ROWS, COLS);
    cd_lpoly_vec_read(&r, key->rounded, ROWS);
    for (u32 i = 0; i < ROWS; i++) {
        for (u32 k = 0; k < N; k++) {
            if (r.err == CD_OK && key->rounded[i].c[k] >> CD__RT_KEY_LEFT != 0) {
                cd_rd_fail(&r, CD_EFORMAT);
            }
        }
    }
    CD_TRY(cd_rd_end(&r));
    cd__rt_key_finish(key);
    return CD_OK;
}

void cd_rt_key_put(cd_buf *out, const cd_rt_key *key)
{
    cd_lpoly_matrix_put(out, key->a, ROWS, COLS);
    cd_lpoly_vec_put(out, key->rounded, ROWS);
}

void cd_rt_key_id(cd_hash32 *out, const cd_rt_key *key)
{
    cd_buf text = {0};
    cd_rt_key_put(&text, key);
    cd_sha256(out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

/* --- signatures --- */

static void put_u32(cd_buf *out, u32 v)
{
    u8 b[4];
    cd_put_be32(b, v);
    cd_buf_put(out, cd_bytes_of(b, sizeof b));
}

static void put_sized(cd_buf *out, const cd_lpoly *p)
{
    put_u32(out, CD_LPOLY_BYTES);
    cd_lpoly_put(out, p);
}

static void put_many(cd_buf *out, const cd_lpoly *p, u32 cnt)
{
    put_u32(out, 4 + cnt * (4 + CD_LPOLY_BYTES));
    put_u32(out, cnt);
    for (u32 i = 0; i < cnt; i++) {
        put_sized(out, &p[i]);
    }
}

void cd_rt_sig_put(cd_buf *out, const cd_rt_sig *sig)
{
    put_sized(out, &sig->c);
    put_many(out, sig->z, COLS);
    put_many(out, sig->delta, ROWS);
}

static void read_exactly(cd_rd *r, u32 want)
{
    if (cd_rd_be32(r) != want) {
        cd_rd_fail(r, CD_EFORMAT);
    }
}

static void read_sized(cd_rd *r, cd_lpoly *out)
{
    read_exactly(r, CD_LPOLY_BYTES);
    cd_lpoly_read(r, out);
}

static void read_many(cd_rd *r, cd_lpoly *out, u32 cnt)
{
    read_exactly(r, 4 + cnt * (4 + CD_LPOLY_BYTES));
    read_exactly(r, cnt);
    for (u32 i = 0; i < cnt; i++) {
        read_sized(r, &out[i]);
    }
}

void cd_rt_sig_read(cd_rd *r, cd_rt_sig *sig)
{
    read_sized(r, &sig->c);
    read_many(r, sig->z, COLS);
    read_many(r, sig->delta, ROWS);
}

/* --- verification --- */

void cd__rt_challenge(cd_lpoly *c, const cd_rt_key *key, const cd_lpoly h[CD_RT_ROWS], cd_bytes message)
{
    cd_blake3 hash = key->hashed;
    u8 seed[32];
    hash_vec(&hash, h, ROWS);
    cd_blake3_update(&hash, message);
    cd_blake3_final(&hash, seed);
    cd_lattice_challenge(c, seed);
    cd_lpoly_ntt(c);
    cd_lpoly_to_mont(c);
}

void cd__rt_commitment(cd_lpoly r[CD_RT_ROWS], const cd_rt_key *key, const cd_lpoly z[CD_RT_COLS], const cd_lpoly *c)
{
    for (u32 i = 0; i < ROWS; i++) {
        cd_lpoly w;
        cd_lpoly cb;
        cd_lpoly_dot(&w, key->a + (usize)i * COLS, 1, z, 1, COLS);
        cd_lpoly_mul(&cb, c, &key->b[i]);
        cd_lpoly_sub(&w, &w, &cb);
        cd_lpoly_from_mont(&w);
        cd_lpoly_intt(&w);
        cd__rt_round(&r[i], &w, CD__RT_COMMIT_BITS, CD__RT_COMMIT_LEFT);
    }
}

/* Gives the sum of the squares of the coefficients, taken between -q/2 and q/2. */
static unsigned __int128 square_of(const cd_lpoly *p)
{
    unsigned __int128 sum = 0;
    for (u32 i = 0; i < N; i++) {
        u64 v = p->c[i];
        v = v > CD_LPOLY_Q / 2 ? CD_LPOLY_Q - v : v;
        sum += (unsigned __int128)v * v;
    }
    return sum;
}

/* Says whether a signature is no longer than allowed; the sum of 3,840 squares below 2^96 fits into 128 bits. */
static bool is_short(const cd_rt_sig *sig)
{
    unsigned __int128 sum = 0;
    for (u32 i = 0; i < COLS; i++) {
        cd_lpoly z = sig->z[i];
        cd_lpoly_from_mont(&z);
        cd_lpoly_intt(&z);
        sum += square_of(&z);
    }
    for (u32 i = 0; i < ROWS; i++) {
        cd_lpoly d;
        for (u32 k = 0; k < N; k++) {
            d.c[k] = sig->delta[i].c[k] << CD__RT_COMMIT_BITS;
        }
        sum += square_of(&d);
    }
    return sum <= norm_max;
}

bool cd_rt_verify(const cd_rt_key *key, const cd_rt_sig *sig, cd_bytes message)
{
    cd_lpoly h[ROWS];
    cd_lpoly c;
    for (u32 i = 0; i < ROWS; i++) {
        for (u32 k = 0; k < N; k++) {
            if (sig->delta[i].c[k] >> CD__RT_COMMIT_LEFT != 0) {
                return false;
            }
        }
    }
    cd__rt_commitment(h, key, sig->z, &sig->c);
    for (u32 i = 0; i < ROWS; i++) {
        for (u32 k = 0; k < N; k++) {
            h[i].c[k] = (h[i].c[k] + sig->delta[i].c[k]) & ((1u << CD__RT_COMMIT_LEFT) - 1);
        }
    }
    cd__rt_challenge(&c, key, h, message);
    return memcmp(&c, &sig->c, sizeof c) == 0 && is_short(sig);
}
