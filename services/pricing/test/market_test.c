#include "services/pricing/market.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_target(void **state)
{
    (void)state;
    cd_buf out = {0};
    const cd_bytes ids[] = {cd_bytes_str("bitcoin"), cd_bytes_str("bit coin&x=1,")};
    cd_market_target(&out, cd_bytes_str("usd"), ids, 1);
    assert_string_equal(cd_buf_cstr(&out), "/coins/markets?vs_currency=usd&ids=bitcoin&order=market_cap_desc&per_page="
                                           "1&page=1&sparkline=false");
    cd_buf_clear(&out);
    cd_market_target(&out, cd_bytes_str("e#r"), ids, 2);
    assert_string_equal(cd_buf_cstr(&out), "/coins/markets?vs_currency=e%23r&ids=bitcoin,bit%20coin%26x%3D1%2C&order="
                                           "market_cap_desc&per_page=250&page=1&sparkline=false");
    cd_buf_fini(&out);
}

static cd_err parse(const cd_market_row **rows, usize *cnt, cd_arena *a, const char *text)
{
    return cd_market_parse(rows, cnt, a, cd_bytes_str(text), NULL);
}

static void test_good(void **state)
{
    (void)state;
    cd_arena a = {0};
    const cd_market_row *rows = NULL;
    usize cnt = 0;
    assert_int_equal(parse(&rows, &cnt, &a, "[]"), CD_OK);
    assert_int_equal(cnt, 0);
    assert_int_equal(parse(&rows, &cnt, &a,
                           "[{\"id\":\"shib\",\"symbol\":\"shib\",\"name\":\"Shib <&> Inu\",\"current_price\":"
                           "1.234e-8,\"market_cap\":1.5e22,\"total_volume\":null,\"price_change_percentage_24h\":"
                           "null,\"last_updated\":null,\"roi\":{\"times\":[1]}},"
                           "{\"current_price\":3,\"id\":\"b\",\"last_updated\":\"2025-01-24T12:00:00.000Z\"}]"),
                     CD_OK);
    assert_int_equal(cnt, 2);
    assert_true(rows[0].price == 1.234e-8 && rows[0].market_cap == 1.5e22);
    assert_true(rows[0].volume_24h == 0 && rows[0].change_24h == 0);
    assert_int_equal(rows[0].last_updated_s, 0);
    assert_true(cd_bytes_eq(rows[0].name, cd_bytes_str("Shib <&> Inu")));
    assert_int_equal(rows[1].symbol.n, 0);
    assert_int_equal(rows[1].last_updated_s, 1737720000);
    cd_arena_fini(&a);
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "null",
        "[1]",
        "[null]",
        "[[]]",
        "[{}]",
        "[{\"id\":1}]",
        "[{\"id\":null}]",
        "[{\"id\":\"a\",\"symbol\":1}]",
        "[{\"id\":\"a\",\"name\":null}]",
        "[{\"id\":\"a\",\"current_price\":\"1\"}]",
        "[{\"id\":\"a\",\"current_price\":true}]",
        "[{\"id\":\"a\",\"current_price\":1e999}]",
        "[{\"id\":\"a\",\"market_cap\":[]}]",
        "[{\"id\":\"a\",\"last_updated\":5}]",
        "[{\"id\":\"a\"}",
        "[{\"id\":\"a\"}]x",
        "[{\"id\":\"\xff\"}]",
        "[{\"id\":\"a\",\"current_price\":NaN}]",
    };
    cd_arena a = {0};
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        const cd_market_row *rows = NULL;
        usize cnt = 77;
        assert_int_not_equal(parse(&rows, &cnt, &a, bad[i]), CD_OK);
        assert_true(rows == NULL && cnt == 77);
    }
    cd_buf deep = {0};
    cd_buf_fill(&deep, '[', 100000);
    const cd_market_row *rows;
    usize cnt;
    assert_int_equal(cd_market_parse(&rows, &cnt, &a, cd_buf_bytes(&deep), NULL), CD_EDEPTH);
    cd_buf_clear(&deep);
    cd_buf_fill(&deep, ' ', CD_MARKET_BODY_MAX);
    cd_buf_str(&deep, "[]");
    assert_int_equal(cd_market_parse(&rows, &cnt, &a, cd_buf_bytes(&deep), NULL), CD_ELIMIT);
    cd_buf_fini(&deep);
    cd_arena_fini(&a);
}

/* Long texts are cut between characters. */
static void test_cut(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf text = {0};
    const cd_market_row *rows;
    usize cnt;
    cd_buf_str(&text, "[{\"id\":\"a\",\"name\":\"x");
    for (u32 i = 0; i < 200; i++) {
        cd_buf_str(&text, "\xc3\xa9");
    }
    cd_buf_str(&text, "\"}]");
    assert_int_equal(cd_market_parse(&rows, &cnt, &a, cd_buf_bytes(&text), NULL), CD_OK);
    assert_int_equal(rows[0].name.n, 255);
    assert_int_equal(rows[0].name.p[254], 0xa9);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        u64 s;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T23:59:59Z", 951868799},
        {"2024-12-31T23:59:60.5Z", 1735689600},
        {"2025-01-24T12:00:00.000Z", 1737720000},
        {"2025-01-24T12:00:00+01:30", 1737714600},
        {"2025-01-24 12:00:00-00:30", 1737721800},
        {"9999-12-31T23:59:59Z", 253402300799},
    };
    static const char *const bad[] = {"",
                                      "2025",
                                      "2025-13-01T00:00:00Z",
                                      "2025-01-00T00:00:00Z",
                                      "2025-01-01T24:00:00Z",
                                      "2025-01-01T00:00:00",
                                      "2025-01-01T00:00:00.Z",
                                      "2025-01-01T00:00:00Zx",
                                      "2025-01-01T00:00:00+1:00",
                                      "1969-12-31T23:59:59Z",
                                      "1970-01-01T00:00:00+00:01"};
    u64 s = 0;
    for (usize i = 0; i < CD_COUNT(good); i++) {
        assert_int_equal(cd_market_time_parse(&s, cd_bytes_str(good[i].text)), CD_OK);
        assert_int_equal(s, good[i].s);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_not_equal(cd_market_time_parse(&s, cd_bytes_str(bad[i])), CD_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target), cmocka_unit_test(test_good),  cmocka_unit_test(test_bad),
        cmocka_unit_test(test_cut),    cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
