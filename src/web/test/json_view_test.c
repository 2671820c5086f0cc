#include "web/json_view.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void view(cd_buf *out, const char *json)
{
    cd_arena a = {0};
    cd_json v;
    cd_html h = {.out = out};
    assert_int_equal(cd_json_parse(&v, &a, cd_bytes_str(json), 0, NULL), CD_OK);
    cd_buf_clear(out);
    cd_json_view(&h, v);
    cd_arena_fini(&a);
}

static void test_tree(void **state)
{
    (void)state;
    cd_buf out = {0};
    view(&out, "{\"a<\":\"<b>\",\"n\":1.50,\"e\":{},\"l\":[true,null]}");
    assert_string_equal(cd_buf_cstr(&out),
                        "<div class=\"code json\"><details open><summary>{ <span class=\"j-d\">4 "
                        "members</span></summary>"
                        "  <span class=\"j-k\">&quot;a&lt;&quot;</span>: <span "
                        "class=\"j-s\">&quot;&lt;b&gt;&quot;</span>,\n"
                        "  <span class=\"j-k\">&quot;n&quot;</span>: <span class=\"j-n\">1.50</span>,\n"
                        "  <span class=\"j-k\">&quot;e&quot;</span>: <span class=\"j-d\">{}</span>,\n"
                        "  <span class=\"j-k\">&quot;l&quot;</span>: <details open><summary>[ <span "
                        "class=\"j-d\">2 elements</span></summary>"
                        "    <span class=\"j-b\">true</span>,\n    <span class=\"j-b\">null</span>\n"
                        "  ]</details>\n}</details></div>");
    view(&out, "7");
    assert_string_equal(cd_buf_cstr(&out), "<div class=\"code json\"><span class=\"j-n\">7</span></div>");
    cd_buf_fini(&out);
}

static void test_depth(void **state)
{
    (void)state;
    cd_buf out = {0};
    char json[1025] = {0};
    memset(json, '[', 500);
    json[500] = '1';
    memset(json + 501, ']', 500);
    view(&out, json);
    usize nests = 0;
    for (const char *p = cd_buf_cstr(&out); (p = strstr(p, "<details")) != NULL; p++) {
        nests++;
    }
    assert_int_equal(nests, CD_JSON_VIEW_DEPTH);
    assert_non_null(strstr(cd_buf_cstr(&out), "[[[[1]]]]"));
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tree), cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
