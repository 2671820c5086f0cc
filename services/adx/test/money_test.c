#include "services/adx/openrtb/money.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_micro parse(const char *text, cd_micro_round round)
{
    cd_micro v = -77;
    assert_int_equal(cd_micro_parse(&v, cd_bytes_str(text), round), CD_OK);
    return v;
}

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        cd_micro down, up;
    } rows[] = {
        {"0", 0, 0},
        {"2.51", 2510000, 2510000},
        {"-1", -1000000, -1000000},
        {"0.0000001", 0, 1},
        {"1.2345678", 1234567, 1234568},
        {"1e-3", 1000, 1000},
        {"1.5E+2", 150000000, 150000000},
        {"123456e-11", 1, 2},
        {"0e99", 0, 0},
        {"0.1", 100000, 100000},
        {"1000000000", CD_MICRO_MAX, CD_MICRO_MAX},
        {"1e-400", 0, 1},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        assert_int_equal(parse(rows[i].text, CD_MICRO_DOWN), rows[i].down);
        assert_int_equal(parse(rows[i].text, CD_MICRO_UP), rows[i].up);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "-", ".5", "1.", "1e", "1e+", "0x10", "1 ", "NaN", "--1", "1.2.3"};
    static const char *const far[] = {"1000000001", "1e300", "1e999999999999999999", "99999999999999999999999999"};
    cd_micro v = 5;
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_equal(cd_micro_parse(&v, cd_bytes_str(bad[i]), CD_MICRO_UP), CD_EFORMAT);
    }
    for (usize i = 0; i < CD_COUNT(far); i++) {
        assert_int_equal(cd_micro_parse(&v, cd_bytes_str(far[i]), CD_MICRO_UP), CD_ERANGE);
    }
    assert_int_equal(v, 5);
}

/* What is written is read back to the same, in the fewest digits. */
static void test_fmt(void **state)
{
    (void)state;
    static const cd_micro rows[] = {0, 1, 10, 999999, 1000000, 2510000, 31499999, CD_MICRO_MAX};
    char text[CD_MICRO_TEXT_MAX];
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        usize n = cd_micro_fmt(text, rows[i]);
        cd_micro back;
        assert_int_equal(cd_micro_parse(&back, cd_bytes_of(text, n), CD_MICRO_DOWN), CD_OK);
        assert_int_equal(back, rows[i]);
        assert_true(memchr(text, '.', n) == NULL || text[n - 1] != '0');
    }
}

static void test_rates(void **state)
{
    (void)state;
    cd_fx_rate rate = {.rate = 1250000};
    const cd_fx fx = {.rates = &rate, .cnt = 1};
    cd_cur usd = CD_CUR_USD;
    cd_cur eur;
    cd_cur jpy;
    cd_micro v;
    assert_true(cd_cur_of(&eur, cd_bytes_str("EUR")) && cd_cur_of(&jpy, cd_bytes_str("JPY")));
    assert_false(cd_cur_of(&jpy, cd_bytes_str("usd")) || cd_cur_of(&jpy, cd_bytes_str("USDT")));
    rate.from = eur;
    rate.to = usd;
    assert_true(cd_fx_convert(&v, &fx, 1000000, usd, eur, CD_MICRO_UP) && v == 800000);
    assert_true(cd_fx_convert(&v, &fx, 800000, eur, usd, CD_MICRO_UP) && v == 1000000);
    /* a floor is never rounded to where a bid below it would pass, nor a bid above what was bid */
    assert_true(cd_fx_convert(&v, &fx, 1, usd, eur, CD_MICRO_UP) && v == 1);
    assert_true(cd_fx_convert(&v, &fx, 1, usd, eur, CD_MICRO_DOWN) && v == 0);
    assert_true(cd_fx_convert(&v, &fx, 7, jpy, jpy, CD_MICRO_DOWN) && v == 7);
    assert_false(cd_fx_convert(&v, &fx, 7, jpy, usd, CD_MICRO_DOWN));
    assert_false(cd_fx_convert(&v, &fx, -1, eur, usd, CD_MICRO_DOWN));
    assert_false(cd_fx_convert(&v, &fx, CD_MICRO_MAX, eur, usd, CD_MICRO_DOWN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fmt),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
