#include "crypto/modexp.h"

#include "base/mem.h"
#include "crypto/mont.h"

#include <gmp.h>

/* Longer moduli go to GMP, whose products are subquadratic. */
#define OWN_LIMBS_MAX 192

/* Windows of up to six bits of the exponent; the table holds the odd powers. */
#define TABLE_MAX 32

static cd_bytes without_zeros(cd_bytes b)
{
    while (b.n != 0 && b.p[0] == 0) {
        b = cd_bytes_sub(b, 1, b.n - 1);
    }
    return b;
}

static usize limbs_of(cd_bytes b) { return (b.n + 7) / 8; }

/* The low n limbs of a big-endian number. */
static void load_be(u64 *out, usize n, cd_bytes b)
{
    memset(out, 0, n * sizeof *out);
    for (usize i = 0; i < b.n && i < 8 * n; i++) {
        out[i / 8] |= (u64)b.p[b.n - 1 - i] << (8 * (i % 8));
    }
}

static void store_be(u8 *out, usize bytes, const u64 *w)
{
    for (usize i = 0; i < bytes; i++) {
        out[bytes - 1 - i] = (u8)(w[i / 8] >> (8 * (i % 8)));
    }
}

/* Bits of the exponent, counted from the least significant. */
static u32 bit_at(cd_bytes e, usize i) { return e.p[e.n - 1 - i / 8] >> (i % 8) & 1; }

/* The number of bits below `limit`, without leading zeros. */
static usize bits_below(cd_bytes e, usize limit)
{
    usize bits = 8 * e.n < limit ? 8 * e.n : limit;
    while (bits != 0 && bit_at(e, bits - 1) == 0) {
        bits--;
    }
    return bits;
}

static u32 window_for(usize bits)
{
    static const u16 limits[] = {8, 32, 96, 300, 900};
    u32 w = 1;
    while (w <= CD_COUNT(limits) && bits > limits[w - 1]) {
        w++;
    }
    return w;
}

/* r = b to the power of the low `bits` >= 1 bits of e, the highest of them set. Sliding windows. */
static void ring_pow(const cd__ring *g, u64 *r, const u64 *b, cd_bytes e, usize bits, u64 *table)
{
    usize n = g->n;
    u32 w = window_for(bits);
    memcpy(table, b, n * sizeof *b);
    if (w > 1) {
        cd__ring_sqr(g, r, b);
        for (usize i = 1; i < (usize)1 << (w - 1); i++) {
            cd__ring_mul(g, table + i * n, table + (i - 1) * n, r);
        }
    }
    bool started = false;
    for (usize i = bits; i > 0;) {
        if (bit_at(e, i - 1) == 0) {
            cd__ring_sqr(g, r, r);
            i--;
            continue;
        }
        usize low = i > w ? i - w : 0;
        while (bit_at(e, low) == 0) {
            low++;
        }
        usize value = 0;
        for (; i > low; i--) {
            value = value << 1 | bit_at(e, i - 1);
            if (started) {
                cd__ring_sqr(g, r, r);
            }
        }
        const u64 *power = table + (value >> 1) * n;
        if (started) {
            cd__ring_mul(g, r, r, power);
        } else {
            memcpy(r, power, n * sizeof *r);
            started = true;
        }
    }
}

/* One block of memory, handed out in pieces. */
typedef struct pool {
    u64 *block;
    usize used;
} pool;

static u64 *take(pool *p, usize n)
{
    u64 *at = p->block + p->used;
    p->used += n;
    return at;
}

/* r = base^e modulo the odd m of n limbs; e > 0. */
static void pow_odd(u64 *r, pool p, cd_bytes base, cd_bytes e, const u64 *m, usize n)
{
    usize bn = limbs_of(base);
    u64 *num = take(&p, n + bn);
    u64 *quot = take(&p, bn + 1);
    u64 *b = take(&p, n);
    u64 *table = take(&p, TABLE_MAX * n);
    cd__ring g = {.m = m, .n = n, .inv = 0 - cd__mont_inv64(m[0]), .scratch = take(&p, 2 * n)};
    memset(num, 0, n * sizeof *num);
    load_be(num + n, bn, base);
    mpn_tdiv_qr(quot, b, 0, num, (mp_size_t)(n + bn), m, (mp_size_t)n);
    ring_pow(&g, r, b, e, bits_below(e, SIZE_MAX), table);
    cd__ring_leave(&g, r);
}

/* r = base^e modulo 2^(64 n), of which the caller wants k bits; e > 0. */
static void pow_two(u64 *r, pool p, cd_bytes base, cd_bytes e, usize k, usize n)
{
    u64 *b = take(&p, n);
    u64 *table = take(&p, TABLE_MAX * n);
    cd__ring g = {.n = n, .scratch = take(&p, 2 * n)};
    load_be(b, n, base);
    usize bits = bits_below(e, SIZE_MAX);
    memset(r, 0, n * sizeof *r);
    if ((b[0] & 1) == 0) {
        /* An even number vanishes at the k-th power at the latest, and k < 2^14. */
        if (bits <= 14) {
            ring_pow(&g, r, b, e, bits, table);
        }
        return;
    }
    /* The order of an odd number divides 2^k: higher bits of the exponent do not matter. */
    bits = bits_below(e, k);
    r[0] = 1;
    if (bits != 0) {
        ring_pow(&g, r, b, e, bits, table);
    }
}

/* r = 1 / m modulo 2^(64 n) for the odd m (its low n limbs): Newton's iteration. */
static void inverse_two(u64 *r, pool p, const u64 *m, usize n)
{
    u64 *t = take(&p, n);
    cd__ring g = {.n = n, .scratch = take(&p, 2 * n)};
    memset(r, 0, n * sizeof *r);
    r[0] = cd__mont_inv64(m[0]);
    for (usize right = 1; right < n; right *= 2) {
        cd__ring_mul(&g, t, r, m);
        for (usize i = 0; i < n; i++) {
            t[i] = ~t[i];
        }
        /* ~t is -t - 1; the factor wanted is 2 - t. */
        for (u64 i = 0, c = 3; i < n && c != 0; i++) {
            t[i] += c;
            c = t[i] < c;
        }
        cd__ring_mul(&g, r, r, t);
    }
}

/* m = odd * 2^k: both parts apart, joined by the Chinese remainder theorem. b and e are not zero. */
static cd_err modexp_own(u8 *out, usize out_n, cd_bytes base, cd_bytes e, cd_bytes mod)
{
    usize mn = limbs_of(mod);
    usize bn = limbs_of(base);
    pool p = {.block = cd_try_alloc((8 * mn + 2 * bn + 8 + (TABLE_MAX + 8) * mn) * sizeof(u64))};
    if (p.block == NULL) {
        return CD_ENOMEM;
    }
    u64 *odd = take(&p, mn);
    u64 *low_odd = take(&p, mn); /* odd, as kn limbs */
    u64 *x1 = take(&p, mn);
    u64 *x2 = take(&p, mn);
    u64 *inv = take(&p, mn);
    u64 *x = take(&p, 2 * mn + 1);
    load_be(odd, mn, mod);
    usize k = mpn_scan1(odd, 0);
    usize kn = (k + 63) / 64;
    usize n = mn - k / 64;
    memmove(odd, odd + k / 64, n * sizeof *odd);
    memset(odd + n, 0, (mn - n) * sizeof *odd);
    if (k % 64 != 0) {
        (void)mpn_rshift(odd, odd, (mp_size_t)n, (unsigned)(k % 64));
        n -= odd[n - 1] == 0;
    }
    memset(x, 0, (2 * mn + 1) * sizeof *x);
    if (n != 1 || odd[0] != 1) {
        pow_odd(x1, p, base, e, odd, n);
        memcpy(x, x1, n * sizeof *x);
    }
    if (k != 0) {
        /* x = x1 + odd * ((x2 - x1) / odd mod 2^k) */
        cd__ring g = {.n = kn, .scratch = take(&p, 2 * kn)};
        memcpy(low_odd, odd, kn * sizeof *odd);
        pow_two(x2, p, base, e, k, kn);
        inverse_two(inv, p, low_odd, kn);
        (void)cd__limbs_sub(x2, x2, x, kn);
        cd__ring_mul(&g, x2, x2, inv);
        if (k % 64 != 0) {
            x2[kn - 1] &= ((u64)1 << (k % 64)) - 1;
        }
        for (usize i = 0; i < kn; i++) {
            u64 c = cd__limbs_addmul(x + i, odd, n, x2[i]);
            for (usize j = i + n; c != 0; j++) {
                x[j] += c;
                c = x[j] < c;
            }
        }
    }
    memset(out, 0, out_n - mod.n);
    store_be(out + (out_n - mod.n), mod.n, x);
    cd_free(p.block);
    return CD_OK;
}

/* GMP aborts when memory runs out: its share is asked for beforehand. */
static cd_err modexp_gmp(u8 *out, usize out_n, cd_bytes base, cd_bytes e, cd_bytes mod)
{
    void *probe = cd_try_alloc(base.n + e.n + 16 * mod.n);
    if (probe == NULL) {
        return CD_ENOMEM;
    }
    cd_free(probe);
    mpz_t b;
    mpz_t x;
    mpz_t m;
    mpz_inits(b, x, m, NULL);
    mpz_import(b, base.n, 1, 1, 1, 0, base.p);
    mpz_import(x, e.n, 1, 1, 1, 0, e.p);
    mpz_import(m, mod.n, 1, 1, 1, 0, mod.p);
    mpz_powm(b, b, x, m);
    memset(out, 0, out_n);
    usize n = (mpz_sizeinbase(b, 2) + 7) / 8;
    mpz_export(out + out_n - n, NULL, 1, 1, 1, 0, b);
    mpz_clears(b, x, m, NULL);
    return CD_OK;
}

cd_err cd_modexp(u8 *out, cd_bytes base, cd_bytes exp, cd_bytes mod)
{
    cd_bytes b = without_zeros(base);
    cd_bytes e = without_zeros(exp);
    cd_bytes m = without_zeros(mod);
    if (m.n == 0 || (m.n == 1 && m.p[0] == 1) || (b.n == 0 && e.n != 0)) {
        memset(out, 0, mod.n);
        return CD_OK;
    }
    if (e.n == 0) {
        memset(out, 0, mod.n);
        out[mod.n - 1] = 1;
        return CD_OK;
    }
    if (limbs_of(m) <= OWN_LIMBS_MAX) {
        return modexp_own(out, mod.n, b, e, m);
    }
    return modexp_gmp(out, mod.n, b, e, m);
}
