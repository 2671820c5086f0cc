#include "web/chart.h"

#include "web/fmt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool has(cd_buf *out, const char *part)
{
    return strstr(cd_buf_cstr(out), part) != NULL;
}

static void test_spark(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_html h = {.out = &out};
    const double v[] = {1, 2, NAN, 3, 1};
    cd_chart_spark(&h, (cd_series){v, 5}, 2, "rising");
    assert_string_equal(cd_buf_cstr(&out),
                        "<svg class=\"spark\" viewBox=\"0 0 96 26\" preserveAspectRatio=\"none\" role=\"img\" "
                        "aria-label=\"rising\">"
                        "<path class=\"f2 a\" d=\"M0.00 23.00 24.00 13.00V26.00H0.00zM72.00 3.00 96.00 "
                        "23.00V26.00H72.00z\"/>"
                        "<path class=\"ln l2\" d=\"M0.00 23.00 24.00 13.00M72.00 3.00 96.00 23.00\"/></svg>");
    cd_buf_clear(&out);
    cd_chart_spark(&h, (cd_series){v, 1}, 2, "one");
    const double gaps[] = {NAN, NAN, INFINITY};
    cd_chart_spark(&h, (cd_series){gaps, 3}, 2, "none");
    assert_int_equal(out.n, 0);
    const double flat[] = {5, 5};
    cd_chart_spark(&h, (cd_series){flat, 2}, 1, "flat");
    assert_true(has(&out, "M0.00 13.00 96.00 13.00"));
    cd_buf_fini(&out);
}

static void test_axis(void **state)
{
    (void)state;
    const double v[] = {95010, 97235};
    cd_axis a = cd_axis_around((cd_series){v, 2}, false);
    assert_true(a.low <= 95010 && a.high >= 97235 && a.steps >= 1 && a.steps <= 4);
    static const double spans[][2] = {{0, 0},    {5, 5},   {-3, 7},         {1e-9, 2e-9}, {1e12, 1.00001e12},
                                      {0.1, 99}, {-5, -5}, {1e300, 1.5e300}};
    for (usize i = 0; i < CD_COUNT(spans); i++) {
        a = cd_axis_around((cd_series){spans[i], 2}, false);
        assert_true(a.low <= spans[i][0] && a.high >= spans[i][1] && a.high > a.low);
        assert_true(a.steps >= 1 && a.steps <= 4);
    }
    a = cd_axis_around((cd_series){v, 2}, true);
    assert_true(a.low == 0);
    a = cd_axis_around((cd_series){NULL, 0}, true);
    assert_true(a.low == 0 && a.high == 1);
}

static void test_area(void **state)
{
    (void)state;
    static const char *const x[] = {"24 h ago", "now"};
    const double v[] = {10, 20};
    cd_arena a = {0};
    cd_buf out = {0};
    cd_html h = {.out = &out};
    cd_chart_area_put(
        &h, &a,
        &(cd_chart_area){
            .s = {v, 2}, .colour = 4, .label = cd_bytes_str("from 10 to 20"), .y = cd_fmt_price, .x = x, .x_cnt = 2});
    assert_true(has(&out, "<span>20.00</span>"));
    assert_true(has(&out, "<span>10.00</span></div>"));
    assert_true(has(&out, "M0.00 180.00 600.00 0.00"));
    assert_true(has(&out, "aria-label=\"from 10 to 20\""));
    assert_true(has(&out, "<span>24 h ago</span><span>now</span>"));
    cd_buf_fini(&out);
    cd_arena_fini(&a);
}

static void test_bars(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_html h = {.out = &out};
    const cd_bar bars[] = {
        {.part = {25, 75}, .colour = {1, 6}, .title = cd_bytes_str("a"), .href = cd_bytes_str("/b/1")},
        {.part = {500, NAN, -1}, .colour = {1}, .title = cd_bytes_str("<b>")},
    };
    cd_chart_bars(&h, bars, 2, 2, 100, "gas");
    assert_true(has(&out, "role=\"group\""));
    assert_true(has(&out, "<path class=\"f1\" d=\"M1.0 75.00h8v25.00h-8z\"/><path class=\"f6\" "
                          "d=\"M1.0 0.00h8v75.00h-8z\"/>"));
    assert_true(has(&out, "<path class=\"f1\" d=\"M11.0 0.00h8v100.00h-8z\"/>"));
    assert_true(has(&out, "&lt;b&gt;"));
    cd_buf_clear(&out);
    cd_chart_bars(&h, bars + 1, 1, 3, 0, "none");
    assert_true(has(&out, "role=\"img\""));
    assert_true(has(&out, "viewBox=\"0 0 30 100\"") && has(&out, "M20 0h10"));
    cd_buf_clear(&out);
    cd_chart_meter(&h, 5, 4, 1);
    assert_true(has(&out, "<rect class=\"f1\" width=\"100.00\""));
    cd_buf_fini(&out);
}

static void test_flame(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_html h = {.out = &out};
    const cd_flame bars[] = {
        {.depth = 0, .begin = 0, .size = 1000000, .label = cd_foreign_flat_of(cd_bytes_str("transaction <1>"))},
        {.depth = 1, .begin = 160000, .size = 10000, .label = cd_foreign_flat_of(cd_bytes_str("too long to fit"))},
        {.depth = 5, .begin = 160000, .size = 5000, .is_bad = true},
    };
    cd_chart_flame(&h, bars, 3, "3 calls");
    assert_true(has(&out, "<svg x=\"0.000%\" y=\"0\" width=\"100.000%\" "
                          "height=\"20\"><title>transaction &lt;1&gt;</title>"));
    assert_true(has(&out, "<text x=\"6\" y=\"14\">transaction &lt;1&gt;</text>"));
    assert_false(has(&out, "<text x=\"6\" y=\"14\">too long"));
    assert_true(has(&out, "class=\"db\""));
    assert_true(has(&out, "height=\"132\""));
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spark), cmocka_unit_test(test_axis),  cmocka_unit_test(test_area),
        cmocka_unit_test(test_bars),  cmocka_unit_test(test_flame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
