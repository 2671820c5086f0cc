#include "base/os/clock.h"

#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_fmt(void **state)
{
    (void)state;
    static const struct {
        u64 secs;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},          {86399, "1970-01-01T23:59:59.000Z"},
        {5097600, "1970-03-01T00:00:00.000Z"},    {68169600, "1972-02-29T00:00:00.000Z"},
        {951782399, "2000-02-28T23:59:59.000Z"},  {951782400, "2000-02-29T00:00:00.000Z"},
        {1709164800, "2024-02-29T00:00:00.000Z"}, {1795269902, "2026-11-21T14:05:02.000Z"},
        {4102444799, "2099-12-31T23:59:59.000Z"},
    };
    char out[CD_TIME_TEXT_LEN];
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_time_fmt(out, rows[i].secs * CD_NS_PER_SEC);
        assert_memory_equal(out, rows[i].text, sizeof out);
    }
    cd_time_fmt(out, 1795269902 * CD_NS_PER_SEC + 118999999);
    assert_memory_equal(out, "2026-11-21T14:05:02.118Z", sizeof out);
}

static void test_virtual(void **state)
{
    (void)state;
    cd_clock_virtual v;
    cd_clock_virtual_init(&v, 1000 * CD_NS_PER_SEC);
    const cd_clock *c = &v.clock;
    assert_int_equal(cd_clock_mono_ns(c), 0);
    assert_int_equal(cd_clock_wall_s(c), 1000);
    cd_clock_virtual_advance(&v, 1500 * CD_NS_PER_MS);
    assert_int_equal(cd_clock_mono_ns(c), 1500 * CD_NS_PER_MS);
    assert_int_equal(cd_clock_wall_s(c), 1001);
    cd_clock_virtual_set_wall(&v, 7);
    assert_int_equal(cd_clock_wall_ns(c), 7);
    assert_int_equal(cd_clock_mono_ns(c), 1500 * CD_NS_PER_MS);
}

static void test_real(void **state)
{
    (void)state;
    const cd_clock *c = cd_clock_real();
    u64 before = cd_clock_mono_ns(c);
    assert_true(cd_clock_mono_ns(c) >= before);
    assert_true(cd_clock_wall_s(c) > 1700000000);
}

static void test_thread(void **state)
{
    (void)state;
    u64 start = cd_clock_thread_ns();
    struct timespec t = {.tv_nsec = 20 * (long)CD_NS_PER_MS};
    assert_int_equal(nanosleep(&t, NULL), 0);
    assert_true(cd_clock_thread_ns() - start < 20 * CD_NS_PER_MS); /* sleeping takes no processor time */
    start = cd_clock_thread_ns();
    for (u64 i = 0; cd_clock_thread_ns() - start < CD_NS_PER_MS; i++) {
        assert_true(i < 10000000); /* working does */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fmt),
        cmocka_unit_test(test_virtual),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
