#include "num/u256.h"

#include "num/test/gen_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS 100000

static mpz_t x;
static mpz_t y;
static mpz_t z;
static mpz_t two256;

static int set_up(void **state)
{
    (void)state;
    mpz_inits(x, y, z, two256, NULL);
    mpz_setbit(two256, 256);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mpz_clears(x, y, z, two256, NULL);
    return 0;
}

/* Compares the exact value in z, which may have any sign, modulo 2^256 with what was computed. */
static void expect(const cd_u256 *got, const cd_u256 *a, const cd_u256 *b, const char *what)
{
    mpz_fdiv_r_2exp(z, z, 256);
    cd_u256 want = gen_from_mpz(z);
    if (memcmp(&want, got, sizeof want) != 0) {
        fail_msg("%s: a %016lx %016lx %016lx %016lx, b %016lx %016lx %016lx %016lx", what, a->w[3], a->w[2], a->w[1],
                 a->w[0], b->w[3], b->w[2], b->w[1], b->w[0]);
    }
}

static void to_signed(mpz_t v)
{
    if (mpz_tstbit(v, 255) != 0) {
        mpz_sub(v, v, two256);
    }
}

static void arithmetic_matches_gmp(void **state)
{
    (void)state;
    u64 rng = 1;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 a = gen_u256(&rng);
        cd_u256 b = gen_u256(&rng);
        u64 k = gen_limb(&rng);
        cd_u256 r;
        cd_u256 r2;
        gen_to_mpz(x, a.w, 4);
        gen_to_mpz(y, b.w, 4);

        mpz_add(z, x, y);
        bool fits = mpz_cmp(z, two256) < 0;
        cd_u256_add(&r, &a, &b);
        expect(&r, &a, &b, "add");
        cd_u256_set(&r2, &a);
        assert_int_equal(cd_u256_checked_add(&r2, &a, &b), fits);
        assert_true(cd_u256_eq(&r2, fits ? &r : &a));

        mpz_sub(z, x, y);
        fits = mpz_sgn(z) >= 0;
        cd_u256_sub(&r, &a, &b);
        expect(&r, &a, &b, "sub");
        cd_u256_set(&r2, &a);
        assert_int_equal(cd_u256_checked_sub(&r2, &a, &b), fits);
        assert_true(cd_u256_eq(&r2, fits ? &r : &a));
        cd_u256_sub_sat(&r2, &a, &b);
        assert_true(fits ? cd_u256_eq(&r2, &r) : cd_u256_is_zero(&r2));

        mpz_mul(z, x, y);
        fits = mpz_cmp(z, two256) < 0;
        cd_u256_mul(&r, &a, &b);
        expect(&r, &a, &b, "mul");
        cd_u256_set(&r2, &a);
        assert_int_equal(cd_u256_checked_mul(&r2, &a, &b), fits);
        assert_true(cd_u256_eq(&r2, fits ? &r : &a));

        mpz_neg(z, x);
        cd_u256_neg(&r, &a);
        expect(&r, &a, &b, "neg");

        mpz_set(z, x);
        mpz_add_ui(z, z, k);
        fits = mpz_cmp(z, two256) < 0;
        assert_int_equal(cd_u256_add_u64(&r, &a, k), !fits);
        expect(&r, &a, &b, "add_u64");

        mpz_mul_ui(z, x, k);
        mpz_fdiv_q_2exp(y, z, 256);
        assert_int_equal(cd_u256_mul_u64(&r, &a, k), mpz_get_ui(y));
        expect(&r, &a, &b, "mul_u64");
        cd_u256_set(&r2, &a);
        assert_int_equal(cd_u256_checked_mul_u64(&r2, &a, k), mpz_sgn(y) == 0);
        assert_true(cd_u256_eq(&r2, mpz_sgn(y) == 0 ? &r : &a));
    }
}

static void results_may_alias_operands(void **state)
{
    (void)state;
    u64 rng = 2;
    for (int i = 0; i < 1000; i++) {
        cd_u256 a = gen_u256(&rng);
        cd_u256 b = gen_u256(&rng);
        cd_u256 r;
        cd_u256 t;
        cd_u256_mul(&r, &a, &b);
        cd_u256_set(&t, &a);
        cd_u256_mul(&t, &t, &b);
        assert_true(cd_u256_eq(&r, &t));
        cd_u256_set(&t, &b);
        cd_u256_mul(&t, &a, &t);
        assert_true(cd_u256_eq(&r, &t));
        cd_u256_sub(&r, &a, &b);
        cd_u256_set(&t, &b);
        cd_u256_sub(&t, &a, &t);
        assert_true(cd_u256_eq(&r, &t));
        cd_u256_mul(&r, &a, &a);
        cd_u256_set(&t, &a);
        cd_u256_mul(&t, &t, &t);
        assert_true(cd_u256_eq(&r, &t));
        cd_u256_sar(&r, &a, 77);
        cd_u256_set(&t, &a);
        cd_u256_sar(&t, &t, 77);
        assert_true(cd_u256_eq(&r, &t));
    }
}

static void comparisons_match_gmp(void **state)
{
    (void)state;
    u64 rng = 3;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 a = gen_u256(&rng);
        cd_u256 b = (i & 7) == 0 ? a : gen_u256(&rng);
        if ((i & 15) == 0) {
            b.w[i >> 4 & 3] ^= 1;
        }
        gen_to_mpz(x, a.w, 4);
        gen_to_mpz(y, b.w, 4);
        int c = mpz_cmp(x, y);
        assert_int_equal(cd_u256_lt(&a, &b), c < 0);
        assert_int_equal(cd_u256_eq(&a, &b), c == 0);
        assert_int_equal(cd_u256_cmp(&a, &b), (c > 0) - (c < 0));
        assert_int_equal(cd_u256_bits(&a), mpz_sgn(x) == 0 ? 0 : mpz_sizeinbase(x, 2));
        assert_int_equal(cd_u256_is_zero(&a), mpz_sgn(x) == 0);
        assert_int_equal(cd_u256_fits_u64(&a), mpz_sizeinbase(x, 2) <= 64);
        to_signed(x);
        to_signed(y);
        assert_int_equal(cd_u256_is_neg(&a), mpz_sgn(x) < 0);
        assert_int_equal(cd_u256_slt(&a, &b), mpz_cmp(x, y) < 0);
    }
}

static void bit_operations_match_gmp(void **state)
{
    (void)state;
    u64 rng = 4;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 a = gen_u256(&rng);
        cd_u256 b = gen_u256(&rng);
        cd_u256 r;
        gen_to_mpz(x, a.w, 4);
        gen_to_mpz(y, b.w, 4);
        mpz_and(z, x, y);
        cd_u256_and(&r, &a, &b);
        expect(&r, &a, &b, "and");
        mpz_ior(z, x, y);
        cd_u256_or(&r, &a, &b);
        expect(&r, &a, &b, "or");
        mpz_xor(z, x, y);
        cd_u256_xor(&r, &a, &b);
        expect(&r, &a, &b, "xor");
        mpz_com(z, x);
        cd_u256_not(&r, &a);
        expect(&r, &a, &b, "not");

        u64 n = gen_u64(&rng) % 300;
        cd_u256 count = cd_u256_from_u64(n);
        mpz_mul_2exp(z, x, n);
        cd_u256_shl(&r, &a, n);
        expect(&r, &a, &b, "shl");
        cd_u256_shl_by(&b, &a, &count);
        assert_true(cd_u256_eq(&r, &b));
        mpz_fdiv_q_2exp(z, x, n);
        cd_u256_shr(&r, &a, n);
        expect(&r, &a, &b, "shr");
        cd_u256_shr_by(&b, &a, &count);
        assert_true(cd_u256_eq(&r, &b));
        to_signed(x);
        mpz_fdiv_q_2exp(z, x, n);
        cd_u256_sar(&r, &a, n);
        expect(&r, &a, &b, "sar");
        cd_u256_sar_by(&b, &a, &count);
        assert_true(cd_u256_eq(&r, &b));
    }
}

static void huge_shift_counts(void **state)
{
    (void)state;
    cd_u256 minus_one = cd_u256_max();
    cd_u256 r;
    for (int limb = 1; limb < 4; limb++) {
        cd_u256 n = cd_u256_zero();
        n.w[limb] = 1;
        cd_u256_shl_by(&r, &minus_one, &n);
        assert_true(cd_u256_is_zero(&r));
        cd_u256_shr_by(&r, &minus_one, &n);
        assert_true(cd_u256_is_zero(&r));
        cd_u256_sar_by(&r, &minus_one, &n);
        assert_true(cd_u256_eq(&r, &minus_one));
    }
    cd_u256_shl(&r, &minus_one, UINT64_MAX);
    assert_true(cd_u256_is_zero(&r));
    cd_u256_sar(&r, &minus_one, 256);
    assert_true(cd_u256_eq(&r, &minus_one));
    cd_u256 one = cd_u256_one();
    cd_u256_sar(&r, &one, UINT64_MAX);
    assert_true(cd_u256_is_zero(&r));
}

static void bytes_and_sign_extension(void **state)
{
    (void)state;
    u64 rng = 5;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 a = gen_u256(&rng);
        cd_u256 r;
        u8 be[32];
        u8 back[32];
        gen_to_mpz(x, a.w, 4);
        memset(be, 0, sizeof be);
        usize n = mpz_sgn(x) == 0 ? 0 : (mpz_sizeinbase(x, 2) + 7) / 8;
        mpz_export(be + 32 - n, NULL, 1, 1, 1, 0, x);
        assert_int_equal(cd_u256_bytes(&a), n);
        cd_u256_store_be(back, &a);
        assert_memory_equal(be, back, 32);
        cd_u256_load_be(&r, be);
        assert_true(cd_u256_eq(&r, &a));
        cd_hash32 h = cd_u256_to_hash(&a);
        assert_memory_equal(h.b, be, 32);
        r = cd_u256_from_hash(&h);
        assert_true(cd_u256_eq(&r, &a));
        cd_u256_load_be_n(&r, be + 32 - n, n);
        assert_true(cd_u256_eq(&r, &a));
        cd_addr20 addr = cd_u256_to_addr(&a);
        assert_memory_equal(addr.b, be + 12, 20);
        r = cd_u256_from_addr(&addr);
        mpz_fdiv_r_2exp(z, x, 160);
        expect(&r, &a, &a, "from_addr");
        u64 idx = gen_u64(&rng) % 40;
        assert_int_equal(cd_u256_byte(&a, idx), idx < 32 ? be[idx] : 0);

        mpz_fdiv_r_2exp(z, x, 8 * idx + 8);
        if (idx < 31 && mpz_tstbit(z, 8 * idx + 7) != 0) {
            mpz_set_ui(y, 1);
            mpz_mul_2exp(y, y, 8 * idx + 8);
            mpz_sub(z, z, y);
        }
        cd_u256_set(&r, &a);
        cd_u256_signextend(&r, idx);
        expect(&r, &a, &a, "signextend");
    }
    cd_u256 v = cd_u256_from_u64(0x80);
    cd_u256_signextend(&v, UINT64_MAX);
    assert_int_equal(v.w[0], 0x80);
    assert_int_equal(cd_u256_byte(&v, UINT64_MAX), 0);
}

static void constants(void **state)
{
    (void)state;
    cd_u256 r = cd_u256_max();
    assert_true(cd_u256_add_u64(&r, &r, 1));
    assert_true(cd_u256_is_zero(&r));
    r = cd_u256_zero();
    assert_true(cd_u256_is_zero(&r));
    r = cd_u256_one();
    assert_int_equal(cd_u256_to_u64_sat(&r), 1);
    r.w[3] = 1;
    assert_true(cd_u256_to_u64_sat(&r) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_matches_gmp),
        cmocka_unit_test(results_may_alias_operands),
        cmocka_unit_test(comparisons_match_gmp),
        cmocka_unit_test(bit_operations_match_gmp),
        cmocka_unit_test(huge_shift_counts),
        cmocka_unit_test(bytes_and_sign_extension),
        cmocka_unit_test(constants),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
