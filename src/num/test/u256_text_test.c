#include "num/u256_text.h"

#include "num/test/gen_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void text_matches_gmp(void **state)
{
    (void)state;
    mpz_t x;
    mpz_init(x);
    u64 rng = 1;
    for (int i = 0; i < 100000; i++) {
        cd_u256 a = gen_u256(&rng);
        char want[100];
        char got[CD_U256_TEXT_MAX];
        gen_to_mpz(x, a.w, 4);

        mpz_get_str(want, 10, x);
        assert_int_equal(cd_u256_fmt_dec(got, &a), strlen(want));
        assert_string_equal(got, want);
        cd_u256 back;
        assert_int_equal(cd_u256_parse_dec(&back, cd_bytes_str(got)), CD_OK);
        assert_true(cd_u256_eq(&a, &back));
        assert_int_equal(cd_u256_parse(&back, cd_bytes_str(got)), CD_OK);
        assert_true(cd_u256_eq(&a, &back));

        mpz_get_str(want, 16, x);
        assert_int_equal(cd_u256_fmt_hex(got, &a), strlen(want) + 2);
        assert_string_equal(got + 2, want);
        assert_int_equal(cd_u256_parse(&back, cd_bytes_str(got)), CD_OK);
        assert_true(cd_u256_eq(&a, &back));
        mpz_get_str(want, -16, x);
        assert_int_equal(cd_u256_parse_hex(&back, cd_bytes_str(want)), CD_OK);
        assert_true(cd_u256_eq(&a, &back));
        assert_int_equal(cd_u256_fmt_hex64(got, &a), 66);
        assert_int_equal(cd_u256_parse(&back, cd_bytes_str(got)), CD_OK);
        assert_true(cd_u256_eq(&a, &back));
    }
    mpz_clear(x);
}

static void fixed_texts(void **state)
{
    (void)state;
    char got[CD_U256_TEXT_MAX];
    cd_u256 v = cd_u256_zero();
    assert_int_equal(cd_u256_fmt_dec(got, &v), 1);
    assert_string_equal(got, "0");
    assert_int_equal(cd_u256_fmt_hex(got, &v), 3);
    assert_string_equal(got, "0x0");
    v = cd_u256_max();
    assert_int_equal(cd_u256_fmt_dec(got, &v), 78);
    assert_string_equal(got, "115792089237316195423570985008687907853269984665640564039457584007913129639935");
    v = cd_u256_from_u64(UINT64_C(10000000000000000000));
    (void)cd_u256_fmt_dec(got, &v);
    assert_string_equal(got, "10000000000000000000");
}

static void refused_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cd_err want;
    } cases[] = {
        {"", CD_EFORMAT},
        {"0x", CD_EFORMAT},
        {"-1", CD_EFORMAT},
        {"+1", CD_EFORMAT},
        {" 1", CD_EFORMAT},
        {"1 ", CD_EFORMAT},
        {"12a", CD_EFORMAT},
        {"0x1g", CD_EFORMAT},
        {"0x@", CD_EFORMAT},
        {"0x`", CD_EFORMAT},
        {"0x:", CD_EFORMAT},
        {"1/", CD_EFORMAT},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639936", CD_ERANGE},
        {"999999999999999999999999999999999999999999999999999999999999999999999999999999", CD_ERANGE},
        {"1157920892373161954235709850086879078532699846656405640394575840079131296399350", CD_ERANGE},
        {"0x10000000000000000000000000000000000000000000000000000000000000000", CD_ERANGE},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_u256 v = cd_u256_from_u64(7);
        assert_int_equal(cd_u256_parse(&v, cd_bytes_str(cases[i].text)), cases[i].want);
        assert_int_equal(v.w[0], 7);
    }
    cd_u256 v;
    assert_int_equal(cd_u256_parse(&v, cd_bytes_str("0x0000000000000000000000000000000000000000"
                                                    "00000000000000000000000000000000ff")),
                     CD_OK);
    assert_int_equal(v.w[0], 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_matches_gmp),
        cmocka_unit_test(fixed_texts),
        cmocka_unit_test(refused_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
