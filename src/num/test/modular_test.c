#include "num/modular.h"

#include "num/exp.h"
#include "num/test/gen_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS 100000

static mpz_t x;
static mpz_t y;
static mpz_t m;
static mpz_t r;

static int set_up(void **state)
{
    (void)state;
    mpz_inits(x, y, m, r, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mpz_clears(x, y, m, r, NULL);
    return 0;
}

static void expect(const cd_u256 *got, const cd_u256 *a, const cd_u256 *b, const cd_u256 *mod, const char *what)
{
    cd_u256 w = gen_from_mpz(r);
    if (memcmp(&w, got, sizeof w) != 0) {
        fail_msg("%s: a %016lx %016lx %016lx %016lx, b %016lx %016lx %016lx %016lx, "
                 "m %016lx %016lx %016lx %016lx",
                 what, a->w[3], a->w[2], a->w[1], a->w[0], b->w[3], b->w[2], b->w[1], b->w[0], mod->w[3], mod->w[2],
                 mod->w[1], mod->w[0]);
    }
}

/* Every modulus serves several products in a row, so that each of a context's stages is met. */
static void sums_and_products_match_gmp(void **state)
{
    (void)state;
    u64 rng = 1;
    cd_modctx ctx = {0};
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 mod = gen_u256(&rng);
        if ((i & 1) != 0) {
            mod.w[3] |= UINT64_C(1) << (i >> 1 & 63);
        }
        gen_to_mpz(m, mod.w, 4);
        for (int use = 0; use < 4; use++) {
            cd_u256 a = gen_u256(&rng);
            cd_u256 b = gen_u256(&rng);
            cd_u256 got;
            gen_to_mpz(x, a.w, 4);
            gen_to_mpz(y, b.w, 4);
            mpz_add(r, x, y);
            if (mpz_sgn(m) != 0) {
                mpz_mod(r, r, m);
            } else {
                mpz_set_ui(r, 0);
            }
            cd_u256_addmod(&got, &a, &b, &mod);
            expect(&got, &a, &b, &mod, "addmod");
            mpz_mul(r, x, y);
            if (mpz_sgn(m) != 0) {
                mpz_mod(r, r, m);
            } else {
                mpz_set_ui(r, 0);
            }
            cd_u256_mulmod(&got, &a, &b, &mod, &ctx);
            expect(&got, &a, &b, &mod, "mulmod with a context");
            cd_u256_mulmod(&got, &a, &b, &mod, NULL);
            expect(&got, &a, &b, &mod, "mulmod without");
            cd_u256_set(&got, &mod);
            cd_u256_mulmod(&got, &a, &b, &got, &ctx);
            expect(&got, &a, &b, &mod, "mulmod in place");
        }
    }
}

/* Moduli that primes and range arithmetic use, and the extremes of the reciprocal. */
static void notable_moduli(void **state)
{
    (void)state;
    static const cd_u256 mods[] = {
        {.w = {0xfffffffefffffc2f, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
        {.w = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029}},
        {.w = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
        {.w = {UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
        {.w = {0, 0, 0, UINT64_C(1) << 63}},
        {.w = {1, 0, 0, UINT64_C(1) << 63}},
        {.w = {0, 0, 0, 1}},
        {.w = {1, 0, 0, 1}},
        {.w = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0}},
        {.w = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 1}},
        {.w = {0, 0, 1, 0}},
        {.w = {1, 0, 0, 0}},
        {.w = {2, 0, 0, 0}},
        {.w = {0, 0, 0, 0}},
    };
    u64 rng = 2;
    for (usize k = 0; k < CD_COUNT(mods); k++) {
        cd_modctx ctx = {0};
        gen_to_mpz(m, mods[k].w, 4);
        for (int i = 0; i < 5000; i++) {
            cd_u256 a = (i & 7) == 0 ? mods[k] : gen_u256(&rng);
            cd_u256 b = (i & 31) == 0 ? mods[k] : gen_u256(&rng);
            if ((i & 15) == 8) {
                cd_u256 one = cd_u256_one();
                cd_u256_sub(&a, &a, &one);
            }
            gen_to_mpz(x, a.w, 4);
            gen_to_mpz(y, b.w, 4);
            mpz_mul(r, x, y);
            if (mpz_sgn(m) != 0) {
                mpz_mod(r, r, m);
            } else {
                mpz_set_ui(r, 0);
            }
            cd_u256 got;
            cd_u256_mulmod(&got, &a, &b, &mods[k], &ctx);
            expect(&got, &a, &b, &mods[k], "mulmod");
            mpz_add(r, x, y);
            if (mpz_sgn(m) != 0) {
                mpz_mod(r, r, m);
            } else {
                mpz_set_ui(r, 0);
            }
            cd_u256_addmod(&got, &a, &b, &mods[k]);
            expect(&got, &a, &b, &mods[k], "addmod");
        }
    }
}

/* A few moduli in turn, as mulDiv takes two, through one context: as many as it knows, and more; each keeps its own
 * reciprocal. */
static void moduli_in_turn(void **state)
{
    (void)state;
    enum { MOST = CD_MODULI + 2 };
    u64 rng = 4;
    for (u64 cnt = 1; cnt <= MOST; cnt++) {
        cd_modctx ctx = {0};
        cd_u256 mods[MOST];
        for (u64 k = 0; k < cnt; k++) {
            mods[k] = gen_u256(&rng);
            mods[k].w[3] |= 1;
        }
        for (u64 i = 0; i < 2000; i++) {
            const cd_u256 *mod = &mods[i % 3 == 0 ? gen_u64(&rng) % cnt : i % cnt];
            cd_u256 a = gen_u256(&rng);
            cd_u256 b = gen_u256(&rng);
            cd_u256 got;
            gen_to_mpz(x, a.w, 4);
            gen_to_mpz(y, b.w, 4);
            gen_to_mpz(m, mod->w, 4);
            mpz_mul(r, x, y);
            mpz_mod(r, r, m);
            cd_u256_mulmod(&got, &a, &b, mod, &ctx);
            expect(&got, &a, &b, mod, "mulmod, moduli in turn");
        }
        usize ready = 0;
        for (usize k = 0; k < CD_MODULI; k++) {
            ready += ctx.known[k].has_recip ? 1 : 0;
        }
        assert_true(cnt > CD_MODULI || ready == cnt);
    }
}

static void powers_match_gmp(void **state)
{
    (void)state;
    u64 rng = 3;
    mpz_set_ui(m, 0);
    mpz_setbit(m, 256);
    cd_u256 zero = cd_u256_zero();
    for (int i = 0; i < ROUNDS; i++) {
        cd_u256 base = gen_u256(&rng);
        cd_u256 e = gen_u256(&rng);
        if ((i & 1) != 0) {
            e = cd_u256_from_u64(gen_u64(&rng) % 300);
        }
        if ((i & 6) == 2) {
            base = cd_u256_from_u64(gen_u64(&rng) % 20);
        }
        gen_to_mpz(x, base.w, 4);
        gen_to_mpz(y, e.w, 4);
        mpz_powm(r, x, y, m);
        cd_u256 got;
        cd_u256_exp(&got, &base, &e);
        expect(&got, &base, &e, &zero, "exp");
        cd_u256_exp(&e, &base, &e);
        expect(&e, &base, &e, &zero, "exp in place");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_match_gmp),
        cmocka_unit_test(notable_moduli),
        cmocka_unit_test(moduli_in_turn),
        cmocka_unit_test(powers_match_gmp),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
