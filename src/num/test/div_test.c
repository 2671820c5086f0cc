#include "num/div.h"

#include "num/test/gen_priv.h"
#include "num/u512.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS 200000

static mpz_t x;
static mpz_t y;
static mpz_t q;
static mpz_t r;
static mpz_t two256;

static int set_up(void **state)
{
    (void)state;
    mpz_inits(x, y, q, r, two256, NULL);
    mpz_setbit(two256, 256);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mpz_clears(x, y, q, r, two256, NULL);
    return 0;
}

static void expect(const cd_u256 *got, mpz_t want, const u64 *a, const cd_u256 *b, const char *what)
{
    mpz_fdiv_r_2exp(want, want, 256);
    cd_u256 w = gen_from_mpz(want);
    if (memcmp(&w, got, sizeof w) != 0) {
        fail_msg("%s: a ... %016lx %016lx %016lx %016lx, b %016lx %016lx %016lx %016lx", what, a[3], a[2], a[1], a[0],
                 b->w[3], b->w[2], b->w[1], b->w[0]);
    }
}

/* A dividend that is often just below, at or above a multiple of b: quotient digits at their limits. */
static cd_u256 near_multiple(u64 *rng, const cd_u256 *b)
{
    cd_u256 a = gen_u256(rng);
    u64 how = gen_u64(rng);
    if ((how & 3) != 0) {
        return a;
    }
    cd_u256 delta = cd_u256_from_u64(how >> 8 & 3);
    cd_u256_mul(&a, &a, b);
    cd_u256_add(&a, &a, &delta);
    if ((how & 4) != 0) {
        cd_u256_sub(&a, &a, b);
    }
    return a;
}

static void unsigned_division_matches_gmp(void **state)
{
    (void)state;
    u64 rng = 1;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 b = gen_u256(&rng);
        cd_u256 a = near_multiple(&rng, &b);
        cd_u256 got;
        cd_u256 rem;
        gen_to_mpz(x, a.w, 4);
        gen_to_mpz(y, b.w, 4);
        if (mpz_sgn(y) == 0) {
            mpz_set_ui(q, 0);
            mpz_set_ui(r, 0);
        } else {
            mpz_tdiv_qr(q, r, x, y);
        }
        cd_u256_div(&got, &a, &b);
        expect(&got, q, a.w, &b, "div");
        cd_u256_mod(&got, &a, &b);
        expect(&got, r, a.w, &b, "mod");
        cd_u256_divmod(&got, &rem, &a, &b);
        expect(&got, q, a.w, &b, "divmod quotient");
        expect(&rem, r, a.w, &b, "divmod remainder");
        cd_u256_set(&got, &a);
        cd_u256_div(&got, &got, &b);
        expect(&got, q, a.w, &b, "div in place");
        cd_u256_set(&got, &b);
        cd_u256_mod(&got, &a, &got);
        expect(&got, r, a.w, &b, "mod in place");

        mpz_set_ui(q, 0);
        u64 low = b.w[0];
        u64 want = low == 0 ? 0 : mpz_tdiv_q_ui(q, x, low);
        assert_int_equal(cd_u256_div_u64(&got, &a, low), want);
        expect(&got, q, a.w, &b, "div_u64");
    }
}

static void signed_division_matches_gmp(void **state)
{
    (void)state;
    u64 rng = 2;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 b = gen_u256(&rng);
        cd_u256 a = near_multiple(&rng, &b);
        cd_u256 got;
        gen_to_mpz(x, a.w, 4);
        gen_to_mpz(y, b.w, 4);
        if (mpz_tstbit(x, 255) != 0) {
            mpz_sub(x, x, two256);
        }
        if (mpz_tstbit(y, 255) != 0) {
            mpz_sub(y, y, two256);
        }
        if (mpz_sgn(y) == 0) {
            mpz_set_ui(q, 0);
            mpz_set_ui(r, 0);
        } else {
            mpz_tdiv_qr(q, r, x, y);
        }
        cd_u256_sdiv(&got, &a, &b);
        expect(&got, q, a.w, &b, "sdiv");
        cd_u256_smod(&got, &a, &b);
        expect(&got, r, a.w, &b, "smod");
    }
}

static void smallest_number_by_minus_one(void **state)
{
    (void)state;
    cd_u256 min = {.w = {0, 0, 0, UINT64_C(1) << 63}};
    cd_u256 minus_one = cd_u256_max();
    cd_u256 got;
    cd_u256_sdiv(&got, &min, &minus_one);
    assert_true(cd_u256_eq(&got, &min));
    cd_u256_smod(&got, &min, &minus_one);
    assert_true(cd_u256_is_zero(&got));
}

static void wide_division_matches_gmp(void **state)
{
    (void)state;
    u64 rng = 3;
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 m = gen_u256(&rng);
        cd_u256 hi = gen_u256(&rng);
        cd_u256 lo = gen_u256(&rng);
        cd_u512 a = {.w = {lo.w[0], lo.w[1], lo.w[2], lo.w[3], hi.w[0], hi.w[1], hi.w[2], hi.w[3]}};
        if ((i & 3) == 0) {
            cd_u512_mul(&a, &hi, &m);
            a.w[0] += (u64)(i >> 2 & 1);
        }
        cd_u256 got;
        gen_to_mpz(x, a.w, 8);
        gen_to_mpz(y, m.w, 4);
        bool zero = mpz_sgn(y) == 0;
        mpz_set_ui(q, 0);
        mpz_set_ui(r, 0);
        if (!zero) {
            mpz_tdiv_qr(q, r, x, y);
        }
        cd_u512_mod(&got, &a, &m);
        expect(&got, r, a.w, &m, "u512_mod");
        bool whole = !zero && mpz_cmp(q, two256) < 0;
        assert_int_equal(cd_u512_div(&got, &a, &m), whole);
        expect(&got, q, a.w, &m, "u512_div");

        gen_to_mpz(q, hi.w, 4);
        gen_to_mpz(r, lo.w, 4);
        mpz_mul(x, q, r);
        mpz_set_ui(q, 0);
        if (!zero) {
            mpz_tdiv_q(q, x, y);
        }
        whole = !zero && mpz_cmp(q, two256) < 0;
        cd_u256_set(&got, &lo);
        assert_int_equal(cd_u256_muldiv(&got, &hi, &lo, &m), whole);
        if (whole) {
            expect(&got, q, lo.w, &m, "muldiv");
        } else {
            assert_true(cd_u256_eq(&got, &lo));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_division_matches_gmp),
        cmocka_unit_test(signed_division_matches_gmp),
        cmocka_unit_test(smallest_number_by_minus_one),
        cmocka_unit_test(wide_division_matches_gmp),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
