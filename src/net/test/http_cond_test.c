#include "net/http/cond.h"

#include "net/http/http.h"

#include <stdlib.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_bytes str(const char *s)
{
    return s == NULL ? (cd_bytes){0} : cd_bytes_str(s);
}

static void test_etag(void **state)
{
    (void)state;
    char tag[CD_HTTP_ETAG_LEN];
    cd_http_etag_fmt(tag, str("abc")); /* SHA-256("abc") begins so, FIPS 180-4 */
    assert_memory_equal(tag, "\"ba7816bf8f01cfea414140de5dae2223\"", sizeof tag);
    cd_http_etag_fmt(tag, (cd_bytes){0});
    assert_memory_equal(tag, "\"e3b0c44298fc1c149afbf4c8996fb924\"", sizeof tag);
}

static void test_list(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *etag;
        bool want;
    } rows[] = {
        {"\"a\"", "\"a\"", true},
        {"W/\"a\"", "\"a\"", true}, /* RFC 9110 8.8.3.2: the weak comparison */
        {"\"a\"", "W/\"a\"", true},
        {"W/\"a\"", "W/\"a\"", true},
        {"W/\"1\"", "W/\"2\"", false},
        {"\"b\", \"c\",\t\"a\"", "\"a\"", true},
        {"\"b\",,\"a\"", "\"a\"", true},
        {"\"x,y\", \"a\"", "\"a\"", true},
        {"\"x,\"a\"", "\"a\"", false},
        {"\"ab\"", "\"a\"", false},
        {"\"a", "\"a\"", false},
        {"a", "\"a\"", false},
        {"w/\"a\"", "\"a\"", false},
        {"*", "\"a\"", true},
        {"*", "", false},
        {"", "\"a\"", false},
        {"\"\"", "\"\"", true},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        assert_int_equal(cd_http_etag_matches(str(rows[i].list), str(rows[i].etag)), rows[i].want);
    }
}

static void test_unchanged(void **state)
{
    (void)state;
    const char *old = "Sun, 06 Nov 1994 08:49:36 GMT";
    const char *same = "Sun, 06 Nov 1994 08:49:37 GMT";
    cd_bytes tag = str("\"a\"");
    assert_false(cd_http_is_unchanged(str(NULL), str(NULL), tag, 784111777));
    assert_true(cd_http_is_unchanged(str("\"a\""), str(NULL), tag, 0));
    assert_true(cd_http_is_unchanged(str(NULL), str(same), tag, 784111777));
    assert_false(cd_http_is_unchanged(str(NULL), str(old), tag, 784111777));
    assert_false(cd_http_is_unchanged(str(NULL), str(same), tag, 0));
    assert_false(cd_http_is_unchanged(str(NULL), str("yesterday"), tag, 784111777));
    /* The tag decides when there is one, whatever the date says. */
    assert_false(cd_http_is_unchanged(str("\"b\""), str(same), tag, 784111777));
    assert_true(cd_http_is_unchanged(str("\"a\""), str(old), tag, 784111777));
    assert_false(cd_http_is_unchanged(str(""), str(same), tag, 784111777));
}

static void test_dates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        u64 want;
    } good[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777}, /* RFC 9110 5.6.7 */
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777}, {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Sun Nov 16 08:49:37 1994", 784975777},       {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Tue, 29 Feb 2000 23:59:59 GMT", 951868799},  {"Wednesday, 29-Feb-12 00:00:00 GMT", 1330473600},
    };
    static const char *const bad[] = {
        "",
        "Sun",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 1900 08:49:37 GMT",
        "Sun, 29 Feb 2001 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "784111777",
    };
    u64 v = 0;
    for (usize i = 0; i < CD_COUNT(good); i++) {
        assert_int_equal(cd_http_date_parse(&v, str(good[i].text)), CD_OK);
        assert_int_equal(v, good[i].want);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        v = 7;
        assert_int_equal(cd_http_date_parse(&v, str(bad[i])), CD_EFORMAT);
        assert_int_equal(v, 7);
    }
}

/* What the server writes, and what the C library writes, comes back, from 1970 to 2400. */
static void test_dates_all_over(void **state)
{
    (void)state;
    for (u64 t = 0; t < 13569465600; t += 86399 * 3 + 7) {
        char text[64];
        struct tm tm;
        time_t at = (time_t)t;
        u64 v;
        cd_http_date_fmt(text, t);
        assert_int_equal(cd_http_date_parse(&v, cd_bytes_of(text, CD_HTTP_DATE_LEN)), CD_OK);
        assert_int_equal(v, t);
        assert_non_null(gmtime_r(&at, &tm));
        usize n = strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
        assert_int_equal(cd_http_date_parse(&v, cd_bytes_of(text, n)), CD_OK);
        assert_int_equal(v, t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_etag),  cmocka_unit_test(test_list),           cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_dates), cmocka_unit_test(test_dates_all_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
