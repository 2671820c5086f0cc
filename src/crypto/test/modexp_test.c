#include "crypto/modexp.h"

#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <gmp.h>

#define OPERAND_MAX 2200

/* Made with Python's pow(). */
static const struct {
    const char *base;
    const char *exp;
    const char *mod;
    const char *want;
} CASES[] = {
    // clang-format off
    {"03", "05", "07", "05"},
    {"", "", "", ""},
    {"05", "03", "", ""},
    {"", "", "01", "00"},
    {"", "", "07", "01"},
    {"00", "", "02", "01"},
    {"05", "00", "0009", "0001"},
    {"02", "0a", "00000000", "00000000"},
    {"09", "09", "000001", "000000"},
    {"", "05", "0b", "00"},
    {"02", "0100", "8000000000000000000000000000000000000000000000000000000000000000",
     "0000000000000000000000000000000000000000000000000000000000000000"},
    {"00000007", "000002", "010000000000000000", "000000000000000031"},
    {"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe",
     "0000000000000000000000000000000000000000000000000000000000000001"},
    {"03", "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2e",
     "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f",
     "0000000000000000000000000000000000000000000000000000000000000001"},
    {"26f2a74de452e6b438", "03a6a3a4506513270e", "011818e811892f902bd23f0824128b2f30",
     "00c8a78ce9bce008edfc9070fc401637c0"},
    {"0e", "e8", "95", "72"},
    {"1600a35a099950d8", "6f03", "36f675cc81e74ef5", "33f309e399c5851b"},
    {"8d1738f7d93d9c1724", "6cad4a", "f105c7b586aa4d80", "131671c3dd02b480"},
    {"f29d0da9953f48f1a09f76b5a170b338",
     "dbc496cb8e81973e0becd7b03898d190f9ebdacc0cb1e29c658cda1495e60af593bd04cf0fd630f1",
     "39263059f28c105d1fb17c2390c192cfd3ac94af0f21ddb7",
     "1f3283cc73dbb5ca2908adaf72916c282f9b65d4f840b39d"},
    {"18f135d25f557203301850c5a38fd547923a736994e3bf911a61dbe22e44158bae97ba94d0eda82f", "b68c38fb29",
     "a77c551c4913b32c0f13d0e0453531f61276f35235a659212511eacb110bdf5680",
     "21f682e6f0667b559491e7013f79d6a6f13116953aca63d4390700a59b2de6bd2f"},
    // clang-format on
};

static void published_values(void **state)
{
    (void)state;
    for (usize i = 0; i < CD_COUNT(CASES); i++) {
        cd_arena a = {0};
        cd_bytes base;
        cd_bytes e;
        cd_bytes m;
        cd_bytes want;
        assert_int_equal(cd_hex_parse_prefixed(&base, &a, cd_bytes_str(CASES[i].base)), CD_OK);
        assert_int_equal(cd_hex_parse_prefixed(&e, &a, cd_bytes_str(CASES[i].exp)), CD_OK);
        assert_int_equal(cd_hex_parse_prefixed(&m, &a, cd_bytes_str(CASES[i].mod)), CD_OK);
        assert_int_equal(cd_hex_parse_prefixed(&want, &a, cd_bytes_str(CASES[i].want)), CD_OK);
        u8 out[64];
        memset(out, 0xee, sizeof out);
        assert_int_equal(cd_modexp(out, base, e, m), CD_OK);
        if (want.n != 0) {
            assert_memory_equal(out, want.p, want.n);
        }
        assert_int_equal(out[want.n], 0xee);
        cd_arena_fini(&a);
    }
}

static u64 rng = 1;

static u64 next_u64(void)
{
    u64 z = rng += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number of n bytes: random, sparse, all ones, or with zeros in front or behind. */
static u8 *operand(usize n)
{
    u8 *p = malloc(n + (n == 0));
    u64 how = next_u64();
    for (usize i = 0; i < n; i++) {
        u64 r = next_u64();
        p[i] = (how & 3) == 0 ? (u8)((r & 7) == 0 ? r >> 8 : 0) : (how & 31) == 1 ? 0xff : (u8)r;
    }
    if ((how & 0x1c0) == 0x40) {
        memset(p, 0, (how >> 16 & 3) != 0 ? n / 3 : n);
    }
    if ((how & 0x1c0) == 0x80) {
        memset(p + n - n / 3, 0, n / 3);
    }
    return p;
}

static void check(usize bn, usize en, usize mn)
{
    u8 *base = operand(bn);
    u8 *e = operand(en);
    u8 *m = operand(mn);
    u8 *want = calloc(1, mn + 1);
    u8 *got = malloc(mn + (mn == 0));
    mpz_t x;
    mpz_t y;
    mpz_t z;
    mpz_inits(x, y, z, NULL);
    mpz_import(x, bn, 1, 1, 1, 0, base);
    mpz_import(y, en, 1, 1, 1, 0, e);
    mpz_import(z, mn, 1, 1, 1, 0, m);
    if (mpz_sgn(z) != 0) {
        mpz_powm(x, x, y, z);
        if (mpz_sgn(x) != 0) {
            usize n = (mpz_sizeinbase(x, 2) + 7) / 8;
            mpz_export(want + mn - n, NULL, 1, 1, 1, 0, x);
        }
    }
    assert_int_equal(cd_modexp(got, cd_bytes_of(base, bn), cd_bytes_of(e, en), cd_bytes_of(m, mn)), CD_OK);
    if (memcmp(got, want, mn) != 0) {
        fail_msg("lengths %zu %zu %zu, seed %lu", bn, en, mn, (unsigned long)rng);
    }
    mpz_clears(x, y, z, NULL);
    free(base);
    free(e);
    free(m);
    free(want);
    free(got);
}

static void matches_gmp(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        check(next_u64() % 40, next_u64() % 12, next_u64() % 40);
    }
    for (int i = 0; i < 300; i++) {
        check(next_u64() % 300, next_u64() % 40, next_u64() % 300);
    }
    for (usize n = 1; n <= 130; n += 3) {
        check(n, n, n);
    }
}

/* Moduli of one word: each number of twos, with the smallest and the largest odd parts; then exponents that are done
 * without Montgomery's method. */
static void words_and_small_exponents(void **state)
{
    (void)state;
    mpz_t x;
    mpz_t y;
    mpz_t z;
    mpz_inits(x, y, z, NULL);
    for (u32 k = 0; k < 64; k++) {
        for (u32 i = 0; i < 40; i++) {
            u8 m[8];
            u8 b[24];
            u8 e[20];
            u8 got[8];
            u64 odd = i == 0 ? 1 : i == 1 ? UINT64_MAX : next_u64() | 1;
            u64 word = odd << k;
            cd_put_be64(m, word);
            for (usize j = 0; j < sizeof b; j++) {
                b[j] = i % 3 == 0 ? 0xff : (u8)next_u64();
            }
            for (usize j = 0; j < sizeof e; j++) {
                e[j] = (u8)next_u64();
            }
            mpz_import(x, sizeof b, 1, 1, 1, 0, b);
            mpz_import(y, sizeof e, 1, 1, 1, 0, e);
            mpz_import(z, sizeof m, 1, 1, 1, 0, m);
            mpz_powm(x, x, y, z);
            assert_int_equal(cd_modexp(got, cd_bytes_of(b, sizeof b), cd_bytes_of(e, sizeof e), cd_bytes_of(m, 8)),
                             CD_OK);
            assert_int_equal(cd_be64(got), mpz_get_ui(x));
        }
    }
    mpz_clears(x, y, z, NULL);
    for (usize n = 0; n < 200; n += 9) {
        for (u8 e = 0; e < 20; e++) {
            u8 *base = operand(n);
            u8 *m = operand(100);
            u8 got[100];
            u8 want[100] = {0};
            m[0] |= 1;
            m[99] |= e & 1;
            mpz_inits(x, y, z, NULL);
            mpz_import(x, n, 1, 1, 1, 0, base);
            mpz_import(z, 100, 1, 1, 1, 0, m);
            mpz_set_ui(y, e);
            mpz_powm(x, x, y, z);
            if (mpz_sgn(x) != 0) {
                mpz_export(want + 100 - (mpz_sizeinbase(x, 2) + 7) / 8, NULL, 1, 1, 1, 0, x);
            }
            assert_int_equal(cd_modexp(got, cd_bytes_of(base, n), cd_bytes_of(&e, 1), cd_bytes_of(m, 100)), CD_OK);
            assert_memory_equal(got, want, 100);
            mpz_clears(x, y, z, NULL);
            free(base);
            free(m);
        }
    }
}

/* One operand much longer than the others, as only gas bounds their lengths. */
static void long_operands(void **state)
{
    (void)state;
    check(OPERAND_MAX, 3, OPERAND_MAX);
    check(OPERAND_MAX, 2, 9);
    check(7, OPERAND_MAX, 8);
    check(OPERAND_MAX, 1, 1536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_values),
        cmocka_unit_test(matches_gmp),
        cmocka_unit_test(words_and_small_exponents),
        cmocka_unit_test(long_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
