#include "crypto/bn254/bn254.h"

#include "base/hex.h"
#include "base/os/rng.h"
#include "crypto/bn254/bn254_priv.h"
#include "crypto/bn254/x8.h"
#include "crypto/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gmp.h>

static const char P_HEX[] = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47";
static const char R_HEX[] = "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001";

static const char G1_HEX[] = "0000000000000000000000000000000000000000000000000000000000000001"
                             "0000000000000000000000000000000000000000000000000000000000000002";
static const char G2_HEX[] = "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
                             "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
                             "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
                             "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";
/* A point on the twist, outside the group of prime order. */
static const char G2_STRAY_HEX[] = "0000000000000000000000000000000000000000000000000000000000000000"
                                   "0000000000000000000000000000000000000000000000000000000000000001"
                                   "0d1271953ed9ea0836846e70a1934187998c7f790cb4d7511b7f8da82de048a4"
                                   "2869111d5381f072f8e2728fdb825a51aadd70e52c9830e9ab4b871c0531f1bb";

static void from_hex(u8 *out, const char *text)
{
    assert_int_equal(cd_hex_parse(out, cd_bytes_str(text)), CD_OK);
}

/* --- field --- */

static void to_mpz(mpz_t z, const fp *a)
{
    mpz_import(z, 4, -1, 8, 0, 0, a->l);
}

static void random_fp(cd_rng *rng, fp *out)
{
    /* Mostly uniform, sometimes near the ends of the range. */
    u64 kind = cd_rng_below(rng, 8);
    cd_rng_fill(rng, out->l, sizeof out->l);
    out->l[3] &= 0x1fffffffffffffff;
    if (kind == 0) {
        *out = (fp){{cd_rng_below(rng, 3), 0, 0, 0}};
    } else if (kind == 1) {
        *out = (fp){{FP_P[0] - 1 - cd_rng_below(rng, 3), FP_P[1], FP_P[2], FP_P[3]}};
    } else if (kind == 2) {
        *out = (fp){{~0ULL, ~0ULL, ~0ULL, FP_P[3] - 1}};
    }
}

static void expect(const fp *got, const mpz_t want)
{
    mpz_t z;
    mpz_init(z);
    to_mpz(z, got);
    assert_int_equal(mpz_cmp(z, want), 0);
    mpz_clear(z);
}

/* Compares every kernel, in both versions, with GMP. */
static void field_kernels(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(3);
    mpz_t p;
    mpz_t r_inv;
    mpz_t x;
    mpz_t y;
    mpz_t z;
    mpz_t t;
    mpz_inits(p, r_inv, x, y, z, t, NULL);
    mpz_set_str(p, P_HEX, 16);
    mpz_setbit(r_inv, 256);
    mpz_invert(r_inv, r_inv, p);
    for (int i = 0; i < 20000; i++) {
        fp a;
        fp b;
        fp r;
        random_fp(&rng, &a);
        random_fp(&rng, &b);
        to_mpz(x, &a);
        to_mpz(y, &b);

        mpz_add(z, x, y);
        fp_add_lazy(&r, &a, &b);
        expect(&r, z);
        mpz_mod(z, z, p);
        fp_add(&r, &a, &b);
        expect(&r, z);
        fp_add_c(&r, &a, &b);
        expect(&r, z);

        mpz_sub(z, x, y);
        mpz_mod(z, z, p);
        fp_sub(&r, &a, &b);
        expect(&r, z);
        fp_sub_c(&r, &a, &b);
        expect(&r, z);

        mpz_mul(z, x, y);
        mpz_mul(z, z, r_inv);
        mpz_mod(z, z, p);
        fp_mul(&r, &a, &b);
        expect(&r, z);
        fp_mul_c(&r, &a, &b);
        expect(&r, z);

        fp2 va = {.c0 = a, .c1 = b};
        fp2 vb;
        random_fp(&rng, &vb.c0);
        random_fp(&rng, &vb.c1);
        for (int k = 0; k < 2; k++) { /* a c0 + b c1, then a c1 + b c0 */
            const fp *c = k == 0 ? &vb.c0 : &vb.c1;
            const fp *d = k == 0 ? &vb.c1 : &vb.c0;
            mpz_set_ui(z, 0);
            to_mpz(t, c);
            mpz_addmul(z, x, t);
            to_mpz(t, d);
            mpz_addmul(z, y, t);
            mpz_mul(z, z, r_inv);
            mpz_mod(z, z, p);
            fp_mul2_c(&r, &a, c, &b, d);
            expect(&r, z);
            if (k == 0) {
                fp_mul2(&r, &va, &vb);
            } else {
                fp_mul2_cross(&r, &va, &vb);
            }
            expect(&r, z);
        }

        mpz_mul_ui(z, x, 9);
        mpz_add(z, z, y);
        mpz_mod(z, z, p);
        fp_mul9_add(&r, &a, &b);
        expect(&r, z);
        fp_mul9_add_c(&r, &a, &b);
        expect(&r, z);

        fp_half(&r, &a);
        fp_dbl(&r, &r);
        assert_true(fp_eq(&r, &a));
        fp_half_c(&r, &a);
        fp_dbl(&r, &r);
        assert_true(fp_eq(&r, &a));

        /* A lazy sum on one side of a product. */
        fp sum;
        fp_add_lazy(&sum, &a, &b);
        mpz_add(z, x, y);
        mpz_mul(z, z, y);
        mpz_mul(z, z, r_inv);
        mpz_mod(z, z, p);
        fp_mul(&r, &sum, &b);
        expect(&r, z);
    }
    mpz_clears(p, r_inv, x, y, z, t, NULL);
}

static void field_inverse(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(4);
    fp r;
    cd__bn254_fp_inv(&r, &FP_ZERO);
    assert_true(fp_is_zero(&r));
    cd__bn254_fp_inv(&r, &FP_ONE);
    assert_true(fp_eq(&r, &FP_ONE));
    for (int i = 0; i < 5000; i++) {
        fp a;
        random_fp(&rng, &a);
        if (!fp_is_zero(&a)) {
            cd__bn254_fp_inv(&r, &a);
            fp_mul(&r, &r, &a);
            assert_true(fp_eq(&r, &FP_ONE));
        }
    }
}

static void field_codec(void **state)
{
    (void)state;
    u8 in[32];
    u8 out[32];
    fp a;
    from_hex(in, P_HEX);
    assert_int_equal(cd__bn254_fp_dec(&a, in), CD_EPOINT);
    in[31]--;
    assert_int_equal(cd__bn254_fp_dec(&a, in), CD_OK);
    cd__bn254_fp_enc(out, &a);
    assert_memory_equal(in, out, 32);
    memset(in, 0xff, 32);
    assert_int_equal(cd__bn254_fp_dec(&a, in), CD_EPOINT);
}

/* --- tower --- */

static void random_fp12(cd_rng *rng, fp12 *out)
{
    fp *c = (fp *)out;
    for (int i = 0; i < 12; i++) {
        random_fp(rng, &c[i]);
    }
}

static void tower_laws(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(5);
    for (int i = 0; i < 200; i++) {
        fp12 a;
        fp12 b;
        fp12 c;
        fp12 s;
        fp12 t;
        random_fp12(&rng, &a);
        random_fp12(&rng, &b);
        random_fp12(&rng, &c);
        cd__bn254_fp12_mul(&s, &a, &b); /* (ab)c = a(bc) */
        cd__bn254_fp12_mul(&s, &s, &c);
        cd__bn254_fp12_mul(&t, &b, &c);
        cd__bn254_fp12_mul(&t, &a, &t);
        assert_memory_equal(&s, &t, sizeof s);
        cd__bn254_fp12_sqr(&s, &a);
        cd__bn254_fp12_mul(&t, &a, &a);
        assert_memory_equal(&s, &t, sizeof s);
        cd__bn254_fp12_inv(&s, &a);
        cd__bn254_fp12_mul(&s, &s, &a);
        assert_true(cd__bn254_fp12_is_one(&s));

        /* Frobenius: frob1 three times is frob3; it respects products. */
        cd__bn254_fp12_frob(&s, &a, 1);
        cd__bn254_fp12_frob(&t, &s, 1);
        cd__bn254_fp12_frob(&s, &a, 2);
        assert_memory_equal(&s, &t, sizeof s);
        cd__bn254_fp12_frob(&t, &t, 1);
        cd__bn254_fp12_frob(&s, &a, 3);
        assert_memory_equal(&s, &t, sizeof s);

        /* Sparse products against full ones. */
        fp12_line l = {.c0 = b.c0.c0, .c3 = b.c1.c0, .c4 = b.c1.c1};
        fp12_line m = {.c0 = c.c0.c0, .c3 = c.c1.c0, .c4 = c.c1.c1};
        fp12 lf = {.c0.c0 = l.c0, .c1.c0 = l.c3, .c1.c1 = l.c4};
        fp12 mf = {.c0.c0 = m.c0, .c1.c0 = m.c3, .c1.c1 = m.c4};
        s = a;
        cd__bn254_fp12_mul_line(&s, &l);
        cd__bn254_fp12_mul(&t, &a, &lf);
        assert_memory_equal(&s, &t, sizeof s);
        cd__bn254_fp12_mul(&t, &t, &mf);
        s = a;
        cd__bn254_fp12_mul_lines(&s, &l, &m);
        assert_memory_equal(&s, &t, sizeof s);

        /* In the cyclotomic subgroup conjugation inverts, and the short squaring holds. */
        fp12 g;
        cd__bn254_fp12_conj(&g, &a);
        cd__bn254_fp12_inv(&t, &a);
        cd__bn254_fp12_mul(&g, &g, &t);
        cd__bn254_fp12_frob(&t, &g, 2);
        cd__bn254_fp12_mul(&g, &g, &t);
        cd__bn254_fp12_conj(&t, &g);
        cd__bn254_fp12_mul(&t, &t, &g);
        assert_true(cd__bn254_fp12_is_one(&t));
        cd__bn254_fp12_cyc_sqr(&s, &g);
        cd__bn254_fp12_sqr(&t, &g);
        assert_memory_equal(&s, &t, sizeof s);
    }
}

/* Checks that a and b are the same up to a factor in fp: all cross products with one coefficient agree. */
static void expect_multiple(const fp12 *a, const fp12 *b)
{
    const fp *x = (const fp *)a;
    const fp *y = (const fp *)b;
    int pivot = 0;
    while (pivot < 11 && fp_is_zero(&y[pivot])) {
        pivot++;
    }
    assert_false(fp_is_zero(&x[pivot]));
    for (int i = 0; i < 12; i++) {
        fp l;
        fp r;
        fp_mul(&l, &x[i], &y[pivot]);
        fp_mul(&r, &y[i], &x[pivot]);
        assert_true(fp_eq(&l, &r));
    }
}

/* Compares the vector ways with the scalar tower. */
static void tower_ways(void **state)
{
    (void)state;
    if (!cd__cpu.ifma) {
        skip();
    }
    cd_rng rng = cd_rng_seeded(12);
    for (int i = 0; i < 50; i++) {
        fp12 f = CD__BN254_FP12_ONE;
        fp12 got;
        cd__fp12v v;
        cd__bn254_x8_one(&v);
        for (int step = 0; step < 40; step++) {
            fp12 c;
            random_fp12(&rng, &c);
            fp12_line l = {.c0 = c.c0.c0, .c3 = c.c1.c0, .c4 = c.c1.c1};
            if (cd_rng_below(&rng, 3) == 0) {
                cd__bn254_fp12_sqr(&f, &f);
                cd__bn254_x8_sqr(&v);
            } else {
                cd__bn254_fp12_mul_line(&f, &l);
                cd__bn254_x8_mul_line(&v, &l);
            }
            cd__bn254_x8_get(&got, &v);
            expect_multiple(&got, &f);
        }

        /* a^3, a^-5 and a longer power by signed digits, against squarings and products. */
        static const int8_t digits[][12] = {{1, 1}, {1, -7, 0, 0}, {1, 0, 0, -3, 0, 7, 0, 0, 5, -1, 0, -5}};
        static const usize lens[] = {2, 4, 12};
        fp12 t;
        fp12 g;
        cd__bn254_fp12_conj(&g, &f);
        cd__bn254_fp12_inv(&t, &f);
        cd__bn254_fp12_mul(&g, &g, &t);
        cd__bn254_fp12_frob(&t, &g, 2);
        cd__bn254_fp12_mul(&g, &g, &t);
        for (usize k = 0; k < CD_COUNT(lens); k++) {
            fp12 inv;
            fp12 want = g;
            cd__bn254_fp12_conj(&inv, &g);
            for (usize d = 1; d < lens[k]; d++) {
                cd__bn254_fp12_sqr(&want, &want);
                for (int n = digits[k][d]; n > 0; n--) {
                    cd__bn254_fp12_mul(&want, &want, &g);
                }
                for (int n = digits[k][d]; n < 0; n++) {
                    cd__bn254_fp12_mul(&want, &want, &inv);
                }
            }
            cd__bn254_x8_pow_x(&got, &g, digits[k], lens[k]);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
}

/* --- G1 --- */

/* out = k * G, with the scalar of mpz or of 64 bits. */
static void mul_g1(u8 out[64], const u8 point[64], const mpz_t k)
{
    u8 in[96] = {0};
    u8 raw[32] = {0};
    size_t n = 0;
    memcpy(in, point, 64);
    mpz_export(raw, &n, -1, 1, 0, 0, k);
    for (int i = 0; i < 32; i++) {
        in[95 - i] = raw[i];
    }
    assert_int_equal(cd_bn254_mul(out, in), CD_OK);
}

static void add_g1(u8 out[64], const u8 a[64], const u8 b[64])
{
    u8 in[128];
    memcpy(in, a, 64);
    memcpy(in + 64, b, 64);
    assert_int_equal(cd_bn254_add(out, in), CD_OK);
}

static void small_multiples(void **state)
{
    (void)state;
    u8 g[64];
    u8 sum[64] = {0};
    mpz_t k;
    mpz_init(k);
    from_hex(g, G1_HEX);
    for (unsigned i = 0; i < 600; i++) {
        u8 got[64];
        mpz_set_ui(k, i);
        mul_g1(got, g, k);
        assert_memory_equal(got, sum, 64);
        add_g1(sum, sum, g);
    }
    mpz_clear(k);
}

static void scalar_edges(void **state)
{
    (void)state;
    static const u8 inf[64];
    cd_rng rng = cd_rng_seeded(6);
    u8 g[64];
    u8 a[64];
    u8 b[64];
    u8 c[64];
    mpz_t r;
    mpz_t k;
    mpz_t m;
    mpz_inits(r, k, m, NULL);
    mpz_set_str(r, R_HEX, 16);
    from_hex(g, G1_HEX);
    mul_g1(a, g, r);
    assert_memory_equal(a, inf, 64);
    mpz_sub_ui(k, r, 1); /* (r - 1) G = -G */
    mul_g1(a, g, k);
    add_g1(b, a, g);
    assert_memory_equal(b, inf, 64);
    mpz_setbit(m, 256); /* the largest scalar */
    mpz_sub_ui(m, m, 1);
    mul_g1(a, g, m);
    mpz_mod(m, m, r);
    mul_g1(b, g, m);
    assert_memory_equal(a, b, 64);

    for (int i = 0; i < 200; i++) { /* (j + k) G = jG + kG for 256-bit j, k; k(jG) = (jk)G */
        u8 raw[32];
        cd_rng_fill(&rng, raw, 32);
        mpz_import(k, 32, 1, 1, 0, 0, raw);
        cd_rng_fill(&rng, raw, 32);
        mpz_import(m, 32, 1, 1, 0, 0, raw);
        mul_g1(a, g, k);
        mul_g1(b, a, m);
        mpz_mul(k, k, m);
        mpz_mod(k, k, r);
        mul_g1(c, g, k);
        assert_memory_equal(b, c, 64);
        mul_g1(b, g, m);
        add_g1(c, a, b);
        mpz_import(k, 32, 1, 1, 0, 0, raw);
        mul_g1(b, g, k);
        add_g1(b, b, a);
        assert_memory_equal(b, c, 64);
    }
    mpz_clears(r, k, m, NULL);
}

/* Scalars made of the endomorphism's eigenvalue hit the exceptional cases of the additions inside. */
static void scalar_eigenvalues(void **state)
{
    (void)state;
    static const char lambda_hex[] = "b3c4d79d41a917585bfc41088d8daaa78b17ea66b99c90dd";
    u8 g[64];
    u8 a[64];
    u8 b[64];
    u8 sum[64];
    mpz_t l;
    mpz_t k;
    mpz_inits(l, k, NULL);
    mpz_set_str(l, lambda_hex, 16);
    from_hex(g, G1_HEX);
    mul_g1(a, g, l);
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned j = 0; j < 20; j++) {
            mpz_mul_ui(k, l, i);
            mpz_add_ui(k, k, j);
            mul_g1(sum, g, k);
            mpz_set_ui(k, i);
            mul_g1(b, a, k);
            for (unsigned n = 0; n < j; n++) {
                add_g1(b, b, g);
            }
            assert_memory_equal(sum, b, 64);
        }
    }
    mpz_clears(l, k, NULL);
}

static void addition_cases(void **state)
{
    (void)state;
    static const u8 inf[64];
    u8 g[64];
    u8 minus[64];
    u8 out[64];
    u8 in[128] = {0};
    mpz_t k;
    mpz_init_set_str(k, R_HEX, 16);
    mpz_sub_ui(k, k, 1);
    from_hex(g, G1_HEX);
    mul_g1(minus, g, k);
    mpz_clear(k);
    add_g1(out, inf, inf);
    assert_memory_equal(out, inf, 64);
    add_g1(out, g, inf);
    assert_memory_equal(out, g, 64);
    add_g1(out, inf, g);
    assert_memory_equal(out, g, 64);
    add_g1(out, g, minus);
    assert_memory_equal(out, inf, 64);

    memcpy(in, g, 64); /* off the curve, then not below p */
    in[127] = 1;
    assert_int_equal(cd_bn254_add(out, in), CD_EPOINT);
    memset(in + 64, 0, 64);
    from_hex(in + 64, P_HEX);
    assert_int_equal(cd_bn254_add(out, in), CD_EPOINT);
    memset(in, 0, sizeof in);
    from_hex(in, P_HEX); /* p is not another name for zero */
    assert_int_equal(cd_bn254_mul(out, in), CD_EPOINT);
}

/* --- pairing --- */

enum { PAIR = 192, PAIRS_MAX = 40 };

static bool check(const u8 *pairs, usize cnt)
{
    bool one = false;
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, cnt * PAIR)), CD_OK);
    return one;
}

static void put_pair(u8 *at, const u8 p[64], const char *q)
{
    memcpy(at, p, 64);
    from_hex(at + 64, q);
}

static void random_scalar(mpz_t k, cd_rng *rng)
{
    u8 raw[32];
    cd_rng_fill(rng, raw, 32);
    mpz_import(k, 32, 1, 1, 0, 0, raw);
}

/* sum k_i = 0 (mod r) makes prod e(k_i G1, G2) one, for any number of pairs across the chunks. */
static void pairing_sums(void **state)
{
    (void)state;
    static u8 pairs[PAIRS_MAX * PAIR];
    cd_rng rng = cd_rng_seeded(7);
    u8 g[64];
    u8 p[64];
    mpz_t k;
    mpz_t sum;
    mpz_t r;
    mpz_inits(k, sum, r, NULL);
    mpz_set_str(r, R_HEX, 16);
    from_hex(g, G1_HEX);
    assert_true(check(pairs, 0));
    for (usize cnt = 1; cnt <= 20; cnt++) {
        mpz_set_ui(sum, 0);
        for (usize i = 0; i + 1 < cnt; i++) {
            random_scalar(k, &rng);
            mpz_add(sum, sum, k);
            mul_g1(p, g, k);
            put_pair(pairs + i * PAIR, p, G2_HEX);
        }
        mpz_neg(sum, sum);
        mpz_mod(sum, sum, r);
        mul_g1(p, g, sum);
        put_pair(pairs + (cnt - 1) * PAIR, p, G2_HEX);
        assert_true(check(pairs, cnt));
        mpz_add_ui(sum, sum, 1);
        mpz_mod(sum, sum, r);
        mul_g1(p, g, sum);
        put_pair(pairs + (cnt - 1) * PAIR, p, G2_HEX);
        assert_false(check(pairs, cnt));
    }
    mpz_clears(k, sum, r, NULL);
}

/* Checking e(aP, bQ) = e(abP, Q) needs multiples of Q; the powers of the reduced pairing value take their place. */
static void pairing_bilinear(void **state)
{
    (void)state;
    cd_rng rng = cd_rng_seeded(8);
    u8 enc[128];
    u8 point[64];
    u8 scaled[64];
    g1 p;
    g2 q;
    mpz_t k;
    mpz_init(k);
    from_hex(point, G1_HEX);
    from_hex(enc, G2_HEX);
    assert_int_equal(cd__bn254_g2_dec(&q, enc), CD_OK);
    for (int i = 0; i < 5; i++) {
        fp12 e = CD__BN254_FP12_ONE;
        fp12 want = CD__BN254_FP12_ONE;
        fp12 f = CD__BN254_FP12_ONE;
        assert_int_equal(cd__bn254_g1_dec(&p, point), CD_OK);
        assert_true(cd__bn254_miller(&e, &p, &q, 1));
        cd__bn254_final_exp(&e, &e);
        assert_false(cd__bn254_fp12_is_one(&e));
        random_scalar(k, &rng);
        for (long bit = (long)mpz_sizeinbase(k, 2) - 1; bit >= 0; bit--) {
            cd__bn254_fp12_sqr(&want, &want);
            if (mpz_tstbit(k, (mp_bitcnt_t)bit)) {
                cd__bn254_fp12_mul(&want, &want, &e);
            }
        }
        mul_g1(scaled, point, k);
        assert_int_equal(cd__bn254_g1_dec(&p, scaled), CD_OK);
        assert_true(cd__bn254_miller(&f, &p, &q, 1));
        cd__bn254_final_exp(&f, &f);
        assert_memory_equal(&f, &want, sizeof f);
        memcpy(point, scaled, 64);
    }
    mpz_clear(k);
}

static void pairing_refusals(void **state)
{
    (void)state;
    static const u8 inf[64];
    u8 pairs[2 * PAIR];
    u8 g[64];
    bool one = true;
    from_hex(g, G1_HEX);
    put_pair(pairs, g, G2_HEX);
    put_pair(pairs + PAIR, g, G2_HEX);
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, PAIR - 1)), CD_EINVAL);
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, PAIR + 64)), CD_EINVAL);

    /* Group membership counts even where the other point is infinity. */
    put_pair(pairs + PAIR, g, G2_STRAY_HEX);
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, sizeof pairs)), CD_EPOINT);
    put_pair(pairs + PAIR, inf, G2_STRAY_HEX);
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, sizeof pairs)), CD_EPOINT);
    pairs[2 * PAIR - 1] ^= 1; /* off the twist */
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, sizeof pairs)), CD_EPOINT);
    from_hex(pairs + PAIR + 64, P_HEX); /* not below p */
    assert_int_equal(cd_bn254_pairing(&one, cd_bytes_of(pairs, sizeof pairs)), CD_EPOINT);
    assert_true(one);

    /* Infinity on either side gives one. */
    put_pair(pairs, inf, G2_HEX);
    assert_true(check(pairs, 1));
    memcpy(pairs, g, 64);
    memset(pairs + 64, 0, 128);
    assert_true(check(pairs, 1));
    put_pair(pairs + PAIR, g, G2_HEX);
    assert_false(check(pairs, 2));
}

/* The pairing tests once more without vector ways. */
static int ways_off(void **state)
{
    static bool had;
    had = cd__cpu.ifma;
    *state = &had;
    cd__cpu.ifma = false;
    return 0;
}

static int ways_back(void **state)
{
    cd__cpu.ifma = *(const bool *)*state;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(field_kernels),
        cmocka_unit_test(field_inverse),
        cmocka_unit_test(field_codec),
        cmocka_unit_test(tower_laws),
        cmocka_unit_test(tower_ways),
        cmocka_unit_test(small_multiples),
        cmocka_unit_test(scalar_edges),
        cmocka_unit_test(scalar_eigenvalues),
        cmocka_unit_test(addition_cases),
        cmocka_unit_test(pairing_sums),
        cmocka_unit_test(pairing_bilinear),
        cmocka_unit_test(pairing_refusals),
        cmocka_unit_test_setup_teardown(pairing_sums, ways_off, ways_back),
        cmocka_unit_test_setup_teardown(pairing_bilinear, ways_off, ways_back),
        cmocka_unit_test_setup_teardown(pairing_refusals, ways_off, ways_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
