#include "crypto/ec/secp256k1.h"

#include "crypto/cpu.h"
#include "crypto/ec/modinv.h"
#include "crypto/ec/secp256k1_x8.h"
#include "crypto/hash/keccak.h"

#include <pthread.h>

/* The scalar half of batched recovery: from r, s and the message to the digits of u1 = -z/r and u2 = s/r for
 * crypto/ec/secp256k1_x8.c. Queries that the vector code cannot finish go to libsecp256k1, which decides on every
 * refusal. */

enum { WAYS = CD__SECP_WAYS };

typedef struct scalar {
    u64 w[4]; /* below n, least significant first */
} scalar;

/* The group order n, -1/n mod 2^64, 2^512 mod n, and the field prime. */
static const scalar N = {{0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff}};
#define N_NEG_INV 0x4b0dff665588b13f
static const scalar R2 = {{0x896cf21467d7d140, 0x741496c20e7cf878, 0xe697f5e45bcd07c6, 0x9d671cd581c69bc5}};
static const u64 FIELD_P[4] = {0xfffffffefffffc2f, 0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff};

/* --- words --- */

static u64 add_words(u64 *r, const u64 *b, int n)
{
    u64 carry = 0;
    for (int i = 0; i < n; i++) {
        u128 s = (u128)r[i] + b[i] + carry;
        r[i] = (u64)s;
        carry = (u64)(s >> 64);
    }
    return carry;
}

static u64 sub_words(u64 *r, const u64 *b, int n)
{
    u64 borrow = 0;
    for (int i = 0; i < n; i++) {
        u128 d = (u128)r[i] - b[i] - borrow;
        r[i] = (u64)d;
        borrow = (u64)(d >> 64) & 1;
    }
    return borrow;
}

static bool less_than(const u64 a[4], const u64 b[4])
{
    u64 t[4];
    memcpy(t, a, sizeof t);
    return sub_words(t, b, 4) != 0;
}

/* r (na + nb words) = a * b. */
static void mul_words(u64 *r, const u64 *a, int na, const u64 *b, int nb)
{
    memset(r, 0, sizeof *r * (usize)(na + nb));
    for (int i = 0; i < nb; i++) {
        u64 carry = 0;
        for (int j = 0; j < na; j++) {
            u128 s = (u128)a[j] * b[i] + r[i + j] + carry;
            r[i + j] = (u64)s;
            carry = (u64)(s >> 64);
        }
        r[i + na] = carry;
    }
}

static void load_words(u64 out[4], const u8 in[32])
{
    for (usize i = 0; i < 4; i++) {
        out[i] = cd_be64(in + 24 - 8 * i);
    }
}

static bool is_zero(const u64 a[4])
{
    return (a[0] | a[1] | a[2] | a[3]) == 0;
}

/* --- scalars --- */

/* mont gives a * b / 2^256 mod n; a may be any 256-bit number when b is below n. */
static void mont(scalar *r, const scalar *a, const scalar *b)
{
    u64 t[6] = {0};
    for (int i = 0; i < 4; i++) {
        u64 carry = 0;
        for (int j = 0; j < 4; j++) {
            u128 s = (u128)a->w[j] * b->w[i] + t[j] + carry;
            t[j] = (u64)s;
            carry = (u64)(s >> 64);
        }
        t[5] = add_words(&t[4], &carry, 1);
        u64 m = t[0] * N_NEG_INV;
        u128 s = (u128)m * N.w[0] + t[0];
        carry = (u64)(s >> 64);
        for (int j = 1; j < 4; j++) {
            s = (u128)m * N.w[j] + t[j] + carry;
            t[j - 1] = (u64)s;
            carry = (u64)(s >> 64);
        }
        s = (u128)t[4] + carry;
        t[3] = (u64)s;
        t[4] = t[5] + (u64)(s >> 64);
    }
    u64 u[5];
    memcpy(u, t, sizeof u);
    u[4] -= sub_words(u, N.w, 4);
    memcpy(r->w, u[4] >> 63 != 0 ? t : u, sizeof r->w);
}

static void negate(scalar *a)
{
    if (!is_zero(a->w)) {
        scalar t = N;
        (void)sub_words(t.w, a->w, 4);
        *a = t;
    }
}

/* invert_all replaces each (non-zero) r by 1/r in Montgomery form, with one inversion. */
static void invert_all(scalar r[WAYS])
{
    static const cd__modulus n = {
        {0x3fd25e8cd0364141, 0x2abb739abd2280ee, 0x3fffffffffffffeb, 0x3fffffffffffffff, 0xff}, 0x34f20099aa774ec1};
    static const scalar one = {{1}};
    scalar before[WAYS]; /* products of the ways below, in Montgomery form from 1 on */
    scalar total;
    scalar inv;
    for (int i = 0; i < WAYS; i++) {
        mont(&r[i], &r[i], &R2);
    }
    total = r[0];
    for (int i = 1; i < WAYS; i++) {
        before[i] = total;
        mont(&total, &total, &r[i]);
    }
    mont(&total, &total, &one);
    cd__modinv(inv.w, total.w, &n);
    mont(&inv, &inv, &R2);
    for (int i = WAYS - 1; i >= 1; i--) {
        scalar here;
        mont(&here, &inv, &before[i]);
        mont(&inv, &inv, &r[i]);
        r[i] = here;
    }
    r[0] = inv;
}

/* --- digits --- */

/* recode writes signed digits of `bits` bits of a number: at position i in (-2^(bits-1), 2^(bits-1)]. */
static void recode(int16_t (*out)[WAYS], int cnt, int way, const u64 *a, int words, unsigned bits, bool negative)
{
    int carry = 0;
    for (int i = 0; i < cnt; i++) {
        unsigned at = (unsigned)i * bits;
        int digit = carry;
        if (at / 64 < (unsigned)words) {
            digit += (int)(a[at / 64] >> at % 64 & ((1u << bits) - 1));
        }
        carry = digit > 1 << (bits - 1);
        if (carry != 0) {
            digit -= 1 << bits;
        }
        out[i][way] = (int16_t)(negative ? -digit : digit);
    }
    CD_ASSERT(carry == 0);
}

/* abs_words makes a two's complement number of 5 words positive and says whether it was negative. */
static bool abs_words(u64 a[5])
{
    bool negative = a[4] >> 63 != 0;
    if (negative) {
        u64 t[5] = {0};
        (void)sub_words(t, a, 5);
        memcpy(a, t, sizeof t);
    }
    return negative;
}

/* put_halves splits u = k1 + k2 * lambda (both below 2^128) by rounding against the short lattice vectors
 * (A1, -B1), (A2, A1), with G1 = 2^384 A1 / n, G2 = 2^384 B1 / n, and stores the digits. */
static void put_halves(cd__secp_x8_job *job, int way, const scalar *u)
{
    static const u64 a1[2] = {0xe86c90e49284eb15, 0x3086d221a7d46bcd};
    static const u64 b1[2] = {0x6f547fa90abfe4c3, 0xe4437ed6010e8828};
    static const u64 a2[3] = {0x57c1108d9d44cfd8, 0x14ca50f7a8e2f3f6, 1};
    static const u64 g1[4] = {0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd};
    static const u64 g2[4] = {0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828};
    static const u64 half[3] = {(u64)1 << 63};
    u64 c1[8]; /* round(u * g / 2^384) lands in words 6 and 7 */
    u64 c2[8];
    mul_words(c1, u->w, 4, g1, 4);
    mul_words(c2, u->w, 4, g2, 4);
    (void)add_words(c1 + 5, half, 3);
    (void)add_words(c2 + 5, half, 3);

    u64 k1[5] = {u->w[0], u->w[1], u->w[2], u->w[3], 0}; /* k1 = u - c1 A1 - c2 A2 */
    u64 k2[5] = {0};                                     /* k2 = c1 B1 - c2 A1 */
    u64 t[5] = {0};
    mul_words(t, c1 + 6, 2, a1, 2);
    (void)sub_words(k1, t, 5);
    mul_words(t, c2 + 6, 2, a2, 3);
    (void)sub_words(k1, t, 5);
    mul_words(k2, c1 + 6, 2, b1, 2);
    mul_words(t, c2 + 6, 2, a1, 2);
    t[4] = 0;
    (void)sub_words(k2, t, 5);
    bool neg1 = abs_words(k1);
    bool neg2 = abs_words(k2);
    recode(job->r[0], CD__SECP_R_DIGITS, way, k1, 2, 4, neg1);
    recode(job->r[1], CD__SECP_R_DIGITS, way, k2, 2, 4, neg2);
}

/* put_g stores the digits of u, or of -u where that is smaller, so that no carry goes beyond the last digit. */
static void put_g(cd__secp_x8_job *job, int way, const scalar *u)
{
    scalar other = *u;
    negate(&other);
    bool negative = less_than(other.w, u->w);
    recode(job->g, CD__SECP_G_DIGITS, way, negative ? other.w : u->w, 4, 8, negative);
}

/* --- batches --- */

static cd__secp_x8_table table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* make_table fills in i * G and i * 2^128 * G. */
static void make_table(void)
{
    for (int h = 0; h < 2; h++) {
        for (usize i = 0; i < CD__SECP_G_TABLE; i++) {
            u8 secret[32] = {0};
            u8 pub[64];
            secret[h == 0 ? 31 : 15] = (u8)(i + 1);
            cd_err err = cd_secp256k1_pub(pub, secret);
            CD_ASSERT(err == CD_OK);
            cd__secp_x8_table_set(&table, h, i, pub);
        }
    }
}

/* prepare fills one way of the job; false when the query is malformed, which is left to the one-by-one code. The way
 * then holds a harmless stand-in. */
static bool prepare(cd__secp_x8_job *job, scalar *r, scalar *s, int way, const cd_secp256k1_query *q)
{
    scalar rv;
    scalar sv;
    load_words(rv.w, q->sig);
    load_words(sv.w, q->sig + 32);
    bool good = q->recid <= 3 && !is_zero(rv.w) && !is_zero(sv.w) && less_than(rv.w, N.w) && less_than(sv.w, N.w);
    u64 x[4];
    memcpy(x, rv.w, sizeof x);
    if (good && (q->recid & 2) != 0) {
        good = add_words(x, N.w, 4) == 0 && less_than(x, FIELD_P);
    }
    if (!good) {
        rv = (scalar){{1}};
        sv = rv;
        memcpy(x, rv.w, sizeof x);
    }
    *r = rv;
    *s = sv;
    memcpy(job->x[way], x, sizeof x);
    job->want_odd[way] = (q->recid & 1) != 0;
    return good;
}

/* recover_eight recovers the keys of one batch and gives the set of ways that it could finish. */
static u8 recover_eight(u8 out[WAYS][64], const cd_secp256k1_query *in)
{
    cd__secp_x8_job job;
    scalar r[WAYS];
    scalar s[WAYS];
    u8 good = 0;
    for (int i = 0; i < WAYS; i++) {
        good |= (u8)(prepare(&job, &r[i], &s[i], i, &in[i]) << i);
    }
    invert_all(r);
    for (int i = 0; i < WAYS; i++) {
        scalar z;
        scalar u1;
        scalar u2;
        load_words(z.w, in[i].msg.b);
        mont(&u1, &z, &r[i]);
        mont(&u2, &s[i], &r[i]);
        negate(&u1);
        put_g(&job, i, &u1);
        put_halves(&job, i, &u2);
    }
    return cd__secp_x8_run(out, &job, &table) & good;
}

/* recover_group finds the keys of at most eight and gives the set of those that were found; the others hold anything.
 */
static u8 recover_group(u8 out[WAYS][64], const cd_secp256k1_query *in, usize cnt)
{
    u8 done = 0;
    if (cd__cpu.ifma && cnt == WAYS) {
        CD_ASSERT(pthread_once(&table_once, make_table) == 0);
        done = recover_eight(out, in);
    }
    for (usize i = 0; i < cnt; i++) {
        if ((done >> i & 1) == 0 && cd_secp256k1_recover(out[i], &in[i].msg, in[i].sig, in[i].recid) == CD_OK) {
            done |= (u8)(1u << i);
        }
    }
    return done;
}

void cd_secp256k1_recover_many(cd_addr20 *out, bool *ok, const cd_secp256k1_query *in, usize cnt)
{
    for (usize at = 0; at < cnt; at += WAYS) {
        u8 pub[WAYS][64] = {{0}};
        cd_bytes keys[WAYS];
        cd_hash32 hash[WAYS];
        usize n = cnt - at < WAYS ? cnt - at : WAYS;
        u8 done = recover_group(pub, in + at, n);
        for (usize i = 0; i < WAYS; i++) {
            keys[i] = cd_bytes_of(pub[i], 64);
        }
        if (n == WAYS) {
            cd_keccak256_x8(hash, keys);
        } else {
            for (usize i = 0; i < n; i++) {
                cd_keccak256_64(&hash[i], pub[i]);
            }
        }
        for (usize i = 0; i < n; i++) {
            ok[at + i] = (done >> i & 1) != 0;
            if (ok[at + i]) {
                memcpy(out[at + i].b, hash[i].b + 12, 20);
            }
        }
    }
}

void cd_secp256k1_recover_short_many(cd_addr20 *out, bool *ok, const cd_secp256k1_query *in, usize cnt)
{
    for (usize at = 0; at < cnt; at += WAYS) {
        u8 pub[WAYS][64];
        usize n = cnt - at < WAYS ? cnt - at : WAYS;
        u8 done = recover_group(pub, in + at, n);
        for (usize i = 0; i < n; i++) {
            ok[at + i] = (done >> i & 1) != 0;
            if (ok[at + i]) {
                cd_secp256k1_short_addr(&out[at + i], pub[i]);
            }
        }
    }
}
