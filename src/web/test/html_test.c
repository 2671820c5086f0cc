#include "web/html.h"

#include "base/os/rng.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void expect(cd_html *h, const char *want)
{
    assert_string_equal(cd_buf_cstr(h->out), want);
    cd_buf_clear(h->out);
}

static void test_types(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_html h = {.out = &out};
    cd_html_put(&h, "<b>plain</b>");
    expect(&h, "<b>plain</b>");
    cd_html_put(&h, "{}", "a<b>&\"'c");
    expect(&h, "a&lt;b&gt;&amp;&quot;&#39;c");
    cd_html_put(&h, "<i title=\"{}\">{}</i>", "\"x\" onload=y", (u64)18446744073709551615ull);
    expect(&h, "<i title=\"&quot;x&quot; onload=y\">18446744073709551615</i>");
    cd_html_put(&h, "{}{}{}", (u8)1, (u32)2, cd_bytes_str("3"));
    expect(&h, "123");
    cd_html_put(&h, "<a href=\"/t/{}?q={}\">", cd_url_part_of(cd_bytes_str("a b/../é")),
                cd_url_part_of(cd_bytes_str("x&y=\"<")));
    expect(&h, "<a href=\"/t/a%20b%2F..%2F%C3%A9?q=x%26y%3D%22%3C\">");
    cd_buf_fini(&out);
}

static void test_markup(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_buf part_out = {0};
    cd_html part = {.out = &part_out};
    cd_html h = {.out = &out};
    cd_html_put(&part, "<b>{}</b>", "<");
    cd_html_put(&h, "<p>{}</p>", cd_markup_of(&part));
    expect(&h, "<p><b>&lt;</b></p>");
    cd_buf_fini(&out);
    cd_buf_fini(&part_out);
}

/* An address that leads to another site, or runs a script, does not become a link. */
static void test_links(void **state)
{
    (void)state;
    static const char *const bad[] = {"javascript:alert(1)",
                                      "//evil.example",
                                      "https://evil.example",
                                      "/\\evil.example",
                                      " javascript:x",
                                      "data:text/html,x",
                                      "evil",
                                      "\\\\evil"};
    static const char *const good[] = {"/", "/block/1", "#main", "?page=2", ""};
    cd_buf out = {0};
    cd_html h = {.out = &out};
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_html_put(&h, "<a href=\"{}\">", bad[i]);
        expect(&h, "<a href=\"#\">");
        cd_html_put(&h, "<form action=\"{}\">", cd_bytes_str(bad[i]));
        expect(&h, "<form action=\"#\">");
    }
    for (usize i = 0; i < CD_COUNT(good); i++) {
        cd_html_put(&h, "<a href=\"{}\"", good[i]);
        cd_html_put(&h, ">");
        assert_non_null(strstr(cd_buf_cstr(&out), good[i]));
        cd_buf_clear(&out);
    }
    cd_html_put(&h, "<a href=\"{}\">", cd_foreign_of(cd_bytes_str("/looks/local")));
    expect(&h, "<a href=\"#\">");
    cd_html_put(&h, "<b title=\"{}\">", "javascript:is only a word here");
    expect(&h, "<b title=\"javascript:is only a word here\">");
    cd_buf_fini(&out);
}

static void test_foreign(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_buf text = {0};
    cd_html h = {.out = &out};
    cd_html_put(&h, "{}", cd_foreign_of(cd_bytes_str("<script>\x01\x7f")));
    expect(&h, "<bdi>&lt;script&gt;</bdi>");
    /* direction marks: U+202E, U+2066 */
    cd_html_put(&h, "{}",
                cd_foreign_of(cd_bytes_str("a\xE2\x80\xAE"
                                           "b\xE2\x81\xA6"
                                           "c")));
    expect(&h, "<bdi>abc</bdi>");
    /* two signs on a letter stay, a tower of them does not; the next letter has its own */
    cd_html_put(&h, "{}",
                cd_foreign_of(cd_bytes_str("e\xCC\x81\xCC\xA3\xCC\xB4\xE2\x83\x9D"
                                           "o\xCC\x88")));
    expect(&h, "<bdi>e\xCC\x81\xCC\xA3o\xCC\x88</bdi>");
    /* broken UTF-8: a lone continuation, an overlong '/', a surrogate, a cut character, a number above U+10FFFF */
    cd_html_put(&h, "{}", cd_foreign_of(cd_bytes_str("\x80|\xC0\xAF|\xED\xA0\x80|\xE2\x82|\xF4\x90\x80\x80")));
    expect(&h, "<bdi>\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD|"
               "\xEF\xBF\xBD\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD</bdi>");
    /* 64 characters, not bytes, stay */
    for (usize i = 0; i < 65; i++) {
        cd_buf_str(&text, "é");
    }
    cd_html_put(&h, "{}", cd_foreign_of(cd_bytes_sub(cd_buf_bytes(&text), 0, 128)));
    assert_null(strstr(cd_buf_cstr(&out), "…"));
    cd_buf_clear(&out);
    cd_html_put(&h, "{}", cd_foreign_of(cd_buf_bytes(&text)));
    assert_non_null(strstr(cd_buf_cstr(&out), "é…</bdi>"));
    assert_int_equal(out.n, strlen("<bdi title=\"\"></bdi>…") + 130 + 128);
    cd_buf_clear(&out);
    /* a megabyte of hostile text adds little to the page */
    cd_buf_fill(&text, '<', 1 << 20);
    cd_html_put(&h, "{}", cd_foreign_of(cd_buf_bytes(&text)));
    assert_true(out.n < 10000);
    cd_buf_clear(&out);
    cd_html_put(&h, "<svg><text>{}</text></svg>", cd_foreign_flat_of(cd_bytes_str("a<b\xE2\x80\xAE")));
    expect(&h, "<svg><text>a&lt;b</text></svg>");
    cd_buf_fini(&text);
    cd_buf_fini(&out);
}

/* Output for any input at all has no foreign markup, does not leave its attribute, and is valid UTF-8. */
static void check_clean(cd_bytes out, const char *what)
{
    for (usize i = 0; i < out.n; i++) {
        assert_true(out.p[i] != '<' && out.p[i] != '>' && out.p[i] != '"' && out.p[i] != '\'');
        if (out.p[i] == '&') {
            cd_bytes rest = cd_bytes_sub(out, i, out.n - i);
            static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
            bool found = false;
            for (usize k = 0; k < CD_COUNT(names); k++) {
                usize n = strlen(names[k]);
                found = found || (rest.n >= n && memcmp(rest.p, names[k], n) == 0);
            }
            assert_true(found);
        }
        if (out.p[i] < 0x20 && out.p[i] != '\n' && out.p[i] != '\t') {
            fail_msg("%s: control character %u", what, out.p[i]);
        }
    }
}

static void inner(cd_bytes *out, const cd_buf *all, const char *front, const char *back)
{
    usize f = strlen(front);
    usize b = strlen(back);
    assert_true(all->n >= f + b && memcmp(all->p, front, f) == 0);
    assert_memory_equal(all->p + all->n - b, back, b);
    *out = cd_bytes_sub(cd_buf_bytes(all), f, all->n - f - b);
}

static void test_random(void **state)
{
    (void)state;
    static const char spice[] = "<>&\"'\\/ =`\0\n\t\r\x7f\xE2\x80\xAE\xC2\x85\xF0\x9F\x98\x80\xED\xA0";
    cd_rng rng = cd_rng_seeded(20261122);
    cd_buf out = {0};
    cd_html h = {.out = &out};
    for (u32 round = 0; round < 4000; round++) {
        u8 text[200];
        usize n = cd_rng_u64(&rng) % sizeof text;
        for (usize i = 0; i < n; i++) {
            u64 r = cd_rng_u64(&rng);
            text[i] = (r & 3) != 0 ? (u8)spice[(r >> 8) % (sizeof spice - 1)] : (u8)(r >> 16);
        }
        cd_bytes in = cd_bytes_of(text, n);
        cd_bytes got;
        cd_html_put(&h, "<p>{}</p>", in);
        inner(&got, &out, "<p>", "</p>");
        check_clean(got, "text");
        cd_buf_clear(&out);
        cd_html_put(&h, "<p title=\"{}\">", cd_foreign_of(in));
        inner(&got, &out, "<p title=\"", "\">");
        check_clean(got, "title");
        cd_buf_clear(&out);
        cd_html_put(&h, "<a href=\"/x/{}\">", cd_url_part_of(in));
        inner(&got, &out, "<a href=\"/x/", "\">");
        check_clean(got, "url");
        cd_buf_clear(&out);
        cd_html_put(&h, "{}", cd_foreign_of(in));
        inner(&got, &out, "<bdi", "</bdi>");
        cd_buf_clear(&out);
    }
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),   cmocka_unit_test(test_markup), cmocka_unit_test(test_links),
        cmocka_unit_test(test_foreign), cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
