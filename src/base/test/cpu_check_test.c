/* Which feature is reported missing, and that the processor that runs the tests has them all. */
#include "base/os/cpu_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_what_is_missing(void **state)
{
    (void)state;
    /* A Haswell, of 2013, is the first that has everything. */
    const cd_cpu_words haswell = {.ecx_1 = 0x7ffafbff, .ebx_7 = 0x27ab, .ecx_ext = 0x21, .xcr0 = 7};
    assert_null(cd_cpu_missing(&haswell));
    cd_cpu_words w = haswell;
    w.ebx_7 &= ~(1u << 5);
    assert_string_equal(cd_cpu_missing(&w), "AVX2");
    w = haswell;
    w.ecx_1 &= ~(1u << 12);
    assert_string_equal(cd_cpu_missing(&w), "FMA");
    w = haswell;
    w.ecx_ext = 0;
    assert_string_equal(cd_cpu_missing(&w), "LZCNT");
    w = haswell;
    w.xcr0 = 3;
    assert_string_equal(cd_cpu_missing(&w), "AVX state saved by the system");
    assert_non_null(cd_cpu_missing(&(cd_cpu_words){0}));
}

static void this_one(void **state)
{
    (void)state;
    cd_cpu_words w;
    cd_cpu_ask(&w);
    assert_null(cd_cpu_missing(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_is_missing),
        cmocka_unit_test(this_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
