#include "base/os/process.h"

#include "base/mem/mem.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static u64 resident_pages(void)
{
    char text[128] = "";
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    (void)fclose(f);
    char *end;
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

static const char *const relocated[] = {"pointers", "that the loader", "has filled in"};
static u32 written = 7;

/* Trimming takes memory away, and everything works as before: code, constants, pointers, variables, other libraries. */
static void test_trim(void **state)
{
    (void)state;
    u8 *kept = cd_alloc(1000000);
    kept[999999] = 3;
    written++;
    u64 before = resident_pages();
    cd_process_trim();
    cd_process_trim();
    assert_true(resident_pages() <= before);
    assert_string_equal(relocated[2], "has filled in");
    assert_int_equal(written, 8);
    assert_int_equal(kept[999999], 3);
    char text[40];
    (void)snprintf(text, sizeof text, "%.3f", strtod("1", NULL));
    assert_string_equal(text, "1.000");
    cd_free(kept);
}

static void test_files(void **state)
{
    (void)state;
    u64 max = cd_process_files_max();
    assert_true(max >= 256);
    assert_int_equal(cd_process_files_max(), max);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
