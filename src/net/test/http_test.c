#include "net/http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_words(void **state)
{
    (void)state;
    char date[CD_HTTP_DATE_LEN];
    assert_string_equal(cd_http_method_name(CD_HTTP_PATCH), "PATCH");
    assert_string_equal(cd_http_method_name(CD_HTTP_OTHER), "?");
    assert_string_equal(cd_http_reason(431), "Request Header Fields Too Large");
    assert_string_equal(cd_http_reason(299), "");
    assert_true(cd_http_name_eq(cd_bytes_str("HOST"), cd_bytes_str("hosT")));
    assert_false(cd_http_name_eq(cd_bytes_str("host"), cd_bytes_str("hos")));
    cd_http_date_fmt(date, 784111777);
    assert_memory_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT", CD_HTTP_DATE_LEN);
    cd_http_date_fmt(date, 1709164800);
    assert_memory_equal(date, "Thu, 29 Feb 2024 00:00:00 GMT", CD_HTTP_DATE_LEN);
}

static void test_lists(void **state)
{
    (void)state;
    cd_bytes list = cd_bytes_str(" a ,\tb,, c");
    static const char *const want[] = {"a", "b", "", "c"};
    for (usize i = 0; i < CD_COUNT(want); i++) {
        assert_true(cd_bytes_eq(cd_http_list_next(&list), cd_bytes_str(want[i])));
    }
    assert_int_equal(list.n, 0);
    assert_true(cd_http_list_has(cd_bytes_str("keep-alive, Upgrade"), "upgrade"));
    assert_false(cd_http_list_has(cd_bytes_str("keep-alive, Upgrades"), "upgrade"));
    assert_false(cd_http_list_has((cd_bytes){0}, "upgrade"));
}

static void test_accepts(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "gzip", "br, GZIP", "gzip;q=1", "gzip ; q=0.001", "*", "deflate;q=0, *;q=0.1", "*;q=0, gzip", "gzip;level=0"};
    static const char *const no[] = {"",        "br",       "gzip;q=0", "gzip; Q=0.000", "*;q=0", "gzip;q=0, *",
                                     "gzipped", "identity", ","};
    for (usize i = 0; i < CD_COUNT(yes); i++) {
        if (!cd_http_accepts(cd_bytes_str(yes[i]), "gzip")) {
            fail_msg("%s", yes[i]);
        }
    }
    for (usize i = 0; i < CD_COUNT(no); i++) {
        if (cd_http_accepts(cd_bytes_str(no[i]), "gzip")) {
            fail_msg("%s", no[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
