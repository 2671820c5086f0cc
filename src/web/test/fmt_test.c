#include "web/fmt.h"

#include "base/os/rng.h"
#include "num/u256_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void same(cd_bytes got, const char *want)
{
    char text[400] = {0};
    assert_true(got.n < sizeof text);
    memcpy(text, got.p, got.n);
    assert_string_equal(text, want);
}

static cd_u256 word(const char *dec)
{
    cd_u256 v;
    assert_int_equal(cd_u256_parse_dec(&v, cd_bytes_str(dec)), CD_OK);
    return v;
}

static void test_counts(void **state)
{
    (void)state;
    cd_arena a = {0};
    same(cd_fmt_count(&a, 0), "0");
    same(cd_fmt_count(&a, 999), "999");
    same(cd_fmt_count(&a, 1204906), "1,204,906");
    same(cd_fmt_count(&a, UINT64_MAX), "18,446,744,073,709,551,615");
    same(cd_fmt_percent(&a, 1296, 10000), "12.96\xE2\x80\xAF%");
    same(cd_fmt_percent(&a, 1, 3), "33.33\xE2\x80\xAF%");
    same(cd_fmt_percent(&a, UINT64_MAX, UINT64_MAX), "100.00\xE2\x80\xAF%");
    same(cd_fmt_percent(&a, 1, 0), "–");
    same(cd_fmt_bytes(&a, 999), "999 B");
    same(cd_fmt_bytes(&a, 4100000), "4.1 MB");
    same(cd_fmt_bytes(&a, 184300), "184 kB");
    same(cd_fmt_bytes(&a, UINT64_MAX), "18.4 EB");
    cd_arena_fini(&a);
}

static void test_amounts(void **state)
{
    (void)state;
    static const struct {
        const char *v;
        u32 decimals;
        cd_fmt_decimals show;
        const char *want;
    } rows[] = {
        {"0", 18, {0, 0}, "0"},
        {"0", 18, {2, 6}, "0.00"},
        {"3629109000000000", 18, {0, 0}, "0.003629109"},
        {"1250000000", 6, {2, 0}, "1,250.00"},
        {"2500000000000000000", 18, {0, 6}, "2.5"},
        {"1", 18, {0, 6}, "< 0.000001"},
        {"1000000000000", 18, {0, 6}, "0.000001"},
        {"999999999999", 18, {0, 6}, "< 0.000001"},
        {"1999999999999", 18, {0, 6}, "0.000001"},
        {"38041722000000000000", 18, {0, 6}, "38.0417"},
        {"123456789000000000000000000", 18, {0, 6}, "123,456,789"},
        {"123", 0, {0, 0}, "123"},
        {"123", 0, {2, 0}, "123"},
        {"1250000000", 79, {2, 0}, "1,250,000,000 units"},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935", 18, {2, 0}, "∞"},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639934",
         78,
         {0, 0},
         "0.115792089237316195423570985008687907853269984665640564039457584007913129639934"},
    };
    cd_arena a = {0};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_u256 v = word(rows[i].v);
        same(cd_fmt_amount(&a, &v, rows[i].decimals, rows[i].show), rows[i].want);
    }
    cd_u256 v = word("1250000001");
    same(cd_fmt_exact(&a, &v, 6), "1250.000001");
    same(cd_fmt_exact(&a, &v, 0), "1250000001");
    v = word("25500000000");
    same(cd_fmt_gas_price(&a, &v), "25.5 gwei");
    v = word("999999");
    same(cd_fmt_gas_price(&a, &v), "999999 wei");
    v = word("1234567890123");
    same(cd_fmt_gas_price(&a, &v), "1,234.567 gwei");
    cd_arena_fini(&a);
}

/* Without its commas and its point, the exact form reads back as the number. */
static void test_exact_reads_back(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_rng rng = cd_rng_seeded(20261122);
    for (u32 i = 0; i < 5000; i++) {
        cd_hash32 h;
        for (usize k = 0; k < 32; k += 8) {
            cd_put_be64(h.b + k, cd_rng_u64(&rng));
        }
        cd_u256 v = cd_u256_from_hash(&h);
        cd_u256_shr(&v, &v, cd_rng_u64(&rng) % 256);
        u32 decimals = (u32)(cd_rng_u64(&rng) % 79);
        cd_bytes t = cd_fmt_amount(&a, &v, decimals, (cd_fmt_decimals){.min = decimals});
        char digits[200];
        usize n = 0;
        for (usize k = 0; k < t.n; k++) {
            if (t.p[k] != ',' && t.p[k] != '.') {
                digits[n++] = (char)t.p[k];
            }
        }
        cd_u256 back;
        const cd_u256 max = cd_u256_max();
        if (!cd_u256_eq(&v, &max)) {
            assert_int_equal(cd_u256_parse_dec(&back, cd_bytes_of(digits, n)), CD_OK);
            assert_true(cd_u256_eq(&back, &v));
        }
        cd_arena_reset(&a);
    }
    cd_arena_fini(&a);
}

static void test_times(void **state)
{
    (void)state;
    cd_arena a = {0};
    same(cd_fmt_duration(&a, 212), "212 ms");
    same(cd_fmt_duration(&a, 4100), "4.1 s");
    same(cd_fmt_duration(&a, 12000), "12 s");
    same(cd_fmt_duration(&a, 2858000), "47 min 38 s");
    same(cd_fmt_duration(&a, 7200000), "2 h");
    same(cd_fmt_duration(&a, 273600000), "3 d 4 h");
    same(cd_fmt_utc(&a, 1795269886), "2026-11-21 14:04:46 UTC");
    same(cd_fmt_iso(&a, 1795269886), "2026-11-21T14:04:46Z");
    same(cd_fmt_iso(&a, 0), "1970-01-01T00:00:00Z");
    same(cd_fmt_iso(&a, 253402300799ull), "9999-12-31T23:59:59Z");
    same(cd_fmt_iso(&a, 253402300800ull), "–");
    same(cd_fmt_age(&a, 1000, 1052), "52 s ago");
    same(cd_fmt_age(&a, 1000, 1000 + 3599), "59 min ago");
    same(cd_fmt_age(&a, 1000, 1000 + 86399), "23 h ago");
    same(cd_fmt_age(&a, 1045, 1000), "in 45 s");
    same(cd_fmt_age(&a, 1795269886, 1795269886 + 30 * 86400), "2026-11-21");
    same(cd_fmt_age(&a, UINT64_MAX, 5), "–");
    cd_arena_fini(&a);
}

static void test_prices(void **state)
{
    (void)state;
    cd_arena a = {0};
    same(cd_fmt_price(&a, 97234.56), "97,234.56");
    same(cd_fmt_price(&a, 32), "32.00");
    same(cd_fmt_price(&a, 0.18214), "0.18214");
    same(cd_fmt_price(&a, 1.234e-8), "1.234e-8");
    same(cd_fmt_price(&a, 0.000001), "0.000001");
    same(cd_fmt_price(&a, 0), "0");
    same(cd_fmt_price(&a, 1e21), "1e+21");
    same(cd_fmt_price(&a, NAN), "–");
    same(cd_fmt_double(&a, 1923456789012.0), "1923456789012");
    same(cd_fmt_double(&a, 1.5e22), "1.5e+22");
    same(cd_fmt_double(&a, -0.5), "-0.5");
    same(cd_fmt_change(&a, 2.34), "+2.34\xE2\x80\xAF%");
    same(cd_fmt_change(&a, -3.5), "−3.50\xE2\x80\xAF%");
    same(cd_fmt_change(&a, -0.001), "0.00\xE2\x80\xAF%");
    same(cd_fmt_change(&a, INFINITY), "–");
    same(cd_fmt_money(&a, 1923456789012.0), "1.92 T");
    same(cd_fmt_money(&a, 45678901234.0), "45.68 B");
    same(cd_fmt_money(&a, 812.4), "812.40");
    same(cd_fmt_money(&a, 0), "0");
    cd_arena_fini(&a);
}

static void test_double_reads_back(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_rng rng = cd_rng_seeded(20261122);
    for (u32 i = 0; i < 5000; i++) {
        u64 bits = cd_rng_u64(&rng);
        double v;
        memcpy(&v, &bits, 8);
        if (!isfinite(v)) {
            continue;
        }
        cd_bytes t = cd_fmt_double(&a, v);
        assert_true(strtod(cd_arena_str(&a, t), NULL) == v);
        (void)cd_fmt_price(&a, v);
        (void)cd_fmt_money(&a, v);
        (void)cd_fmt_change(&a, v);
        cd_arena_reset(&a);
    }
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts), cmocka_unit_test(test_amounts), cmocka_unit_test(test_exact_reads_back),
        cmocka_unit_test(test_times),  cmocka_unit_test(test_prices),  cmocka_unit_test(test_double_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
