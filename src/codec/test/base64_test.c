#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_vectors(void **state)
{
    /* [RFC 4648 10], and all six-bit values */
    static const struct {
        const char *text;
        const char *bytes;
    } rows[] = {{"", ""},
                {"Zg==", "f"},
                {"Zm8=", "fo"},
                {"Zm9v", "foo"},
                {"Zm9vYg==", "foob"},
                {"Zm9v\r\nYmE=\n", "fooba"},
                {"Zm9vYmFy", "foobar"},
                {"+/+/", "\xfb\xff\xbf"}};
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf b = {0};
        cd_buf_str(&b, "before");
        assert_int_equal(cd_base64_dec(&b, cd_bytes_str(rows[i].text)), CD_OK);
        assert_int_equal(b.n, 6 + strlen(rows[i].bytes));
        assert_memory_equal(b.p + 6, rows[i].bytes, b.n - 6);
        cd_buf_fini(&b);
    }
}

static void test_enc(void **state)
{
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"},
                                          {"\xfb\xff\xbf", "+/+/"}};
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf b = {0};
        cd_buf_str(&b, "before");
        cd_base64_enc(&b, cd_bytes_str(rows[i][0]));
        assert_int_equal(b.n, 6 + strlen(rows[i][1]));
        assert_memory_equal(b.p + 6, rows[i][1], b.n - 6);
        cd_buf_fini(&b);
    }
}

static void test_url(void **state)
{
    static const char *const rows[][2] = {
        {"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"\xfb\xff\xbf", "-_-_"}};
    static const char *const bad[] = {"Z", "Zg==", "Zh", "+/+/", "Zm9v\n", "Zm9vZ"};
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_buf b = {0};
        cd_base64url_enc(&b, cd_bytes_str(rows[i][0]));
        assert_string_equal(cd_buf_cstr(&b), rows[i][1]);
        cd_buf_clear(&b);
        assert_int_equal(cd_base64url_dec(&b, cd_bytes_str(rows[i][1])), CD_OK);
        assert_string_equal(cd_buf_cstr(&b), rows[i][0]);
        cd_buf_fini(&b);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_buf b = {0};
        assert_int_equal(cd_base64url_dec(&b, cd_bytes_str(bad[i])), CD_EFORMAT);
        assert_int_equal(b.n, 0);
        cd_buf_fini(&b);
    }
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "=", "====", "Zg==Zg==", "Z===", "Zm9v=", "Zm-v", "Zm 9v", "Zg=v", "Zg==="};
    (void)state;
    for (usize i = 0; i < CD_COUNT(texts); i++) {
        cd_buf b = {0};
        cd_buf_str(&b, "before");
        assert_int_equal(cd_base64_dec(&b, cd_bytes_str(texts[i])), CD_EFORMAT);
        assert_int_equal(b.n, 6);
        cd_buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_enc),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
