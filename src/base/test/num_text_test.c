#include "base/num_text.h"

#include "base/os/rng.h"

#include <inttypes.h>
#include <stdio.h>

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct row {
    const char *text;
    cd_err err;
    u64 v;
} row;

static void test_decimal(void **state)
{
    (void)state;
    static const row rows[] = {
        {"0", CD_OK, 0},
        {"7", CD_OK, 7},
        {"18446744073709551615", CD_OK, UINT64_MAX},
        {"18446744073709551616", CD_ERANGE, 0},
        {"99999999999999999999999", CD_ERANGE, 0},
        {"", CD_EFORMAT, 0},
        {"00", CD_ECANON, 0},
        {"01", CD_ECANON, 0},
        {"00000000000000000000000000000000000001", CD_ECANON, 0},
        {"+1", CD_EFORMAT, 0},
        {"-1", CD_EFORMAT, 0},
        {" 1", CD_EFORMAT, 0},
        {"1 ", CD_EFORMAT, 0},
        {"0x1", CD_EFORMAT, 0},
        {"1e3", CD_EFORMAT, 0},
        {"99999999999999999999999x", CD_EFORMAT, 0},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 v = 42;
        assert_int_equal(cd_u64_parse(&v, cd_bytes_str(rows[i].text)), rows[i].err);
        assert_int_equal(v, rows[i].err == CD_OK ? rows[i].v : 42);
    }
}

static void test_signed(void **state)
{
    (void)state;
    i64 v = 0;
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("-9223372036854775808")), CD_OK);
    assert_true(v == INT64_MIN);
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("9223372036854775807")), CD_OK);
    assert_true(v == INT64_MAX);
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("9223372036854775808")), CD_ERANGE);
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("-9223372036854775809")), CD_ERANGE);
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("-0")), CD_ECANON);
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("-")), CD_EFORMAT);
    assert_int_equal(cd_i64_parse(&v, cd_bytes_str("--1")), CD_EFORMAT);
    assert_true(v == INT64_MAX);
}

static void test_hex(void **state)
{
    (void)state;
    static const row rows[] = {
        {"0x0", CD_OK, 0},       {"0xffffffffffffffff", CD_OK, UINT64_MAX},
        {"0X1aB", CD_OK, 0x1ab}, {"0x10000000000000000", CD_ERANGE, 0},
        {"0x", CD_EFORMAT, 0},   {"", CD_EFORMAT, 0},
        {"1", CD_EFORMAT, 0},    {"0x00", CD_ECANON, 0},
        {"0x01", CD_ECANON, 0},  {"0xg", CD_EFORMAT, 0},
        {"0x1 ", CD_EFORMAT, 0}, {"0x-1", CD_EFORMAT, 0},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 v = 42;
        assert_int_equal(cd_u64_parse_hex(&v, cd_bytes_str(rows[i].text)), rows[i].err);
        assert_int_equal(v, rows[i].err == CD_OK ? rows[i].v : 42);
    }
}

static void check_round_trip(u64 v)
{
    char want[32];
    char got[CD_U64_TEXT_MAX];
    u64 back = ~v;
    i64 back_i = 0;
    int n = snprintf(want, sizeof want, "%" PRIu64, v);
    assert_int_equal(cd_u64_fmt(got, v), n);
    assert_memory_equal(got, want, (usize)n);
    assert_int_equal(cd_u64_parse(&back, cd_bytes_of(got, (usize)n)), CD_OK);
    assert_int_equal(back, v);
    n = snprintf(want, sizeof want, "%" PRId64, (i64)v);
    assert_int_equal(cd_i64_fmt(got, (i64)v), n);
    assert_memory_equal(got, want, (usize)n);
    assert_int_equal(cd_i64_parse(&back_i, cd_bytes_of(got, (usize)n)), CD_OK);
    assert_true(back_i == (i64)v);
    n = snprintf(want, sizeof want, "0x%" PRIx64, v);
    assert_int_equal(cd_u64_fmt_hex(got, v), n);
    assert_memory_equal(got, want, (usize)n);
    assert_int_equal(cd_u64_parse_hex(&back, cd_bytes_of(got, (usize)n)), CD_OK);
    assert_int_equal(back, v);
}

static void test_fmt(void **state)
{
    (void)state;
    for (u32 bit = 0; bit < 64; bit++) {
        check_round_trip(1ull << bit);
        check_round_trip((1ull << bit) - 1);
        check_round_trip(~(1ull << bit));
    }
    cd_rng r = cd_rng_seeded(1);
    for (u32 i = 0; i < 10000; i++) {
        check_round_trip(cd_rng_u64(&r) >> cd_rng_below(&r, 64));
    }
}

static void test_duration(void **state)
{
    (void)state;
    static const row rows[] = {
        {"0", CD_OK, 0},
        {"30s", CD_OK, 30000000000ull},
        {"2m0s", CD_OK, 120000000000ull},
        {"1h30m", CD_OK, 5400000000000ull},
        {"1.5h", CD_OK, 5400000000000ull},
        {"100ms", CD_OK, 100000000},
        {"0.25us", CD_OK, 250},
        {"5\xc2\xb5s", CD_OK, 5000},
        {"10", CD_EFORMAT, 0},
        {"", CD_EFORMAT, 0},
        {"s", CD_EFORMAT, 0},
        {"-1s", CD_EFORMAT, 0},
        {"1.s", CD_EFORMAT, 0},
        {".5s", CD_EFORMAT, 0},
        {"1d", CD_EFORMAT, 0},
        {"1s ", CD_EFORMAT, 0},
        {"6000000h", CD_ERANGE, 0},
        {"99999999999999999999s", CD_ERANGE, 0},
        {"5124095h5124095h", CD_ERANGE, 0},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 v = 42;
        assert_int_equal(cd_duration_parse(&v, cd_bytes_str(rows[i].text)), rows[i].err);
        assert_int_equal(v, rows[i].err == CD_OK ? rows[i].v : 42);
    }
}

static void test_duration_text(void **state)
{
    (void)state;
    static const struct {
        u64 ns;
        const char *text;
    } rows[] = {{0, "0s"},
                {1, "1ns"},
                {1500, "1.5\xc2\xb5s"},
                {100000000, "100ms"},
                {999999999, "999.999999ms"},
                {1000000000, "1s"},
                {22500000000ull, "22.5s"},
                {60000000000ull, "1m0s"},
                {3600500000000ull, "1h0m0.5s"},
                {UINT64_MAX, "5124095h34m33.709551615s"}};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char text[CD_DURATION_TEXT_MAX];
        u64 back = 0;
        assert_int_equal(cd_duration_fmt(text, rows[i].ns), strlen(rows[i].text));
        assert_string_equal(text, rows[i].text);
        assert_int_equal(cd_duration_parse(&back, cd_bytes_str(text)), CD_OK);
        assert_int_equal(back, rows[i].ns);
    }
}

static void test_size(void **state)
{
    (void)state;
    static const row rows[] = {
        {"0", CD_OK, 0},
        {"4096", CD_OK, 4096},
        {"10GB", CD_OK, 10000000000ull},
        {"64MiB", CD_OK, 64ull << 20},
        {"8k", CD_OK, 8000},
        {"1.5KiB", CD_OK, 1536},
        {"16TiB", CD_OK, 16ull << 40},
        {"", CD_EFORMAT, 0},
        {"GB", CD_EFORMAT, 0},
        {"1 GB", CD_EFORMAT, 0},
        {"1GB2", CD_EFORMAT, 0},
        {"1gb", CD_EFORMAT, 0},
        {"20000000TiB", CD_ERANGE, 0},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 v = 42;
        assert_int_equal(cd_size_parse(&v, cd_bytes_str(rows[i].text)), rows[i].err);
        assert_int_equal(v, rows[i].err == CD_OK ? rows[i].v : 42);
    }
}

static void assert_f64(double v, const char *want)
{
    char text[CD_F64_TEXT_MAX];
    usize n = cd_f64_fmt(text, v);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(text, want, n);
}

/* The texts are what JavaScript prints. */
static void test_f64(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *want;
    } rows[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {97234.56, "97234.56"},
        {-1.234567891, "-1.234567891"},
        {1.234e-8, "1.234e-8"},
        {1.5e22, "1.5e+22"},
        {0.1, "0.1"},
        {0.000001, "0.000001"},
        {0.0000015, "0.0000015"},
        {0.0000001, "1e-7"},
        {9.999999e-7, "9.999999e-7"},
        {1e21, "1e+21"},
        {123456789012345680000.0, "123456789012345680000"},
        {999999999999999900000.0, "999999999999999900000"},
        {9007199254740993.0, "9007199254740992"},
        {18014398509481984.0, "18014398509481984"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {123.456, "123.456"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: the nearest 16 digits miss */
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {4.35, "4.35"},
        {1e23, "1e+23"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        assert_f64(rows[i].v, rows[i].want);
    }
}

/* Any bits: the text reads back as the same number, and no text of fewer digits does. */
static void test_f64_random(void **state)
{
    (void)state;
    u64 x = 0x9e3779b97f4a7c15;
    for (u32 i = 0; i < 20000; i++) {
        char text[CD_F64_TEXT_MAX + 1];
        char less[40];
        double v;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(&v, &x, 8);
        v = i % 2 == 0 ? v : (double)(i64)(x >> 20) / 1000;
        if (v != v || v - v != 0) {
            continue;
        }
        text[cd_f64_fmt(text, v)] = '\0';
        assert_true(strtod(text, NULL) == v);
        int digits = 0;
        int zeros = 0; /* zeros at the end */
        for (const char *p = text; *p != '\0' && *p != 'e'; p++) {
            if (*p >= '0' && *p <= '9' && (digits != 0 || *p != '0')) {
                digits++;
                zeros = *p == '0' ? zeros + 1 : 0;
            }
        }
        digits -= zeros;
        if (digits > 1) {
            (void)snprintf(less, sizeof less, "%.*e", digits - 2, v);
            assert_true(strtod(less, NULL) != v);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal), cmocka_unit_test(test_signed),   cmocka_unit_test(test_hex),
        cmocka_unit_test(test_fmt),     cmocka_unit_test(test_duration), cmocka_unit_test(test_duration_text),
        cmocka_unit_test(test_size),    cmocka_unit_test(test_f64),      cmocka_unit_test(test_f64_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
