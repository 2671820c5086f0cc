#include "web/page.h"

#include "web/assets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const cd_page_link tabs[] = {{"Overview", "/explorer", "h"}, {"Blocks", "/explorer/blocks", "b"}};
static const cd_page_link foot[] = {{"Metrics", "/metrics", NULL}};
static const cd_page_site site = {
    .product = "Explorer",
    .home = "/explorer",
    .assets = "/explorer/assets/",
    .tabs = tabs,
    .tabs_cnt = 2,
    .foot = foot,
    .foot_cnt = 1,
    .search_action = "/explorer/search",
    .search_label = "Block, transaction or address",
};

static usize count(const char *text, const char *part)
{
    usize n = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        n++;
    }
    return n;
}

static void test_page(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_html h = {.out = &out};
    const cd_page p = {.site = &site,
                       .title = cd_bytes_str("Block <1>"),
                       .tab = "/explorer/blocks",
                       .searched = cd_bytes_str("\"><script>")};
    cd_page_begin(&h, &p);
    cd_html_put(&h, "<h1>Block</h1>");
    cd_page_end(&h, &p);
    const char *t = cd_buf_cstr(&out);
    assert_non_null(strstr(t, "<title>Block &lt;1&gt; · Candela</title>"));
    assert_non_null(strstr(t, "<a href=\"/explorer/blocks\" data-go=\"b\" aria-current=\"page\">Blocks</a>"));
    assert_non_null(strstr(t, "value=\"&quot;&gt;&lt;script&gt;\""));
    assert_non_null(strstr(t, "href=\"/explorer/assets/candela-"));
    assert_int_equal(count(t, "<script"), 1); /* the script file that is served beside the page */
    assert_int_equal(count(t, "style=\""), 0);
    assert_int_equal(count(t, "://"), 0); /* nothing comes from elsewhere */
    assert_int_equal(count(t, "<main"), 1);
    assert_int_equal(count(t, "<symbol id=\"i-mark\""), 1);
    cd_buf_fini(&out);
}

/* The files that all pages share stay small. */
static void test_sizes(void **state)
{
    (void)state;
    assert_true(cd_web_asset_get(CD_WEB_STYLE)->gzip.n <= 10000);
    assert_true(cd_web_asset_get(CD_WEB_SCRIPT)->body.n <= 8000);
    assert_string_equal(cd_web_asset_get(CD_WEB_STYLE)->type, "text/css; charset=utf-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
