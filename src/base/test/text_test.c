#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_case(void **state)
{
    (void)state;
    for (u32 c = 0; c < 256; c++) {
        bool is_capital = c >= 'A' && c <= 'Z';
        assert_int_equal(cd_text_lower((u8)c), is_capital ? c + 32 : c);
    }
    assert_true(cd_text_same(cd_bytes_str("Content-TYPE"), cd_bytes_str("content-type")));
    assert_true(cd_text_same((cd_bytes){0}, cd_bytes_str("")));
    assert_false(cd_text_same(cd_bytes_str("a"), cd_bytes_str("ab")));
    /* These differ in the same bit as small letters and capitals do. */
    assert_false(cd_text_same(cd_bytes_str("@["), cd_bytes_str("`{")));
}

static void trims(const char *in, const char *set, const char *want)
{
    assert_true(cd_bytes_eq(cd_text_trim(cd_bytes_str(in), set), cd_bytes_str(want)));
}

static void test_trim(void **state)
{
    (void)state;
    trims("", " ", "");
    trims("   ", " ", "");
    trims("\t a b\r\n", CD_TEXT_BLANKS, "a b");
    trims("\ta\n", " \t", "a\n");
    trims("\x01 a\x7f\x1f", NULL, "a\x7f");
    /* A NUL byte is in no set. */
    assert_int_equal(cd_text_trim(cd_bytes_of("\0 ", 2), " ").n, 1);
    assert_int_equal(cd_text_trim(cd_bytes_of("\0 ", 2), NULL).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_case), cmocka_unit_test(test_trim)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
