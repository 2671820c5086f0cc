#include "web/ui.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct rig {
    cd_buf out;
    cd_html h;
    cd_arena a;
} rig;

static int setup(void **state)
{
    static rig r;
    r = (rig){.h = {.out = NULL}};
    r.h.out = &r.out;
    *state = &r;
    return 0;
}

static int teardown(void **state)
{
    rig *r = *state;
    cd_buf_fini(&r->out);
    cd_arena_fini(&r->a);
    return 0;
}

static void expect(rig *r, const char *want)
{
    assert_string_equal(cd_buf_cstr(&r->out), want);
    cd_buf_clear(&r->out);
}

static bool has(rig *r, const char *part)
{
    return strstr(cd_buf_cstr(&r->out), part) != NULL;
}

static void test_ident(void **state)
{
    rig *r = *state;
    const char *addr = "0xa54dcA182530bB1D6D132cDED6237B2ed91E3F72";
    cd_ui_ident(&r->h, &(cd_ui_id){.text = cd_bytes_str(addr), .href = cd_bytes_str("/a/1")});
    expect(r, "<span class=\"hx\" data-h=\"0xa54dca182530bb1d6d132cded6237b2ed91e3f72\">"
              "<a href=\"/a/1\" title=\"0xa54dcA182530bB1D6D132cDED6237B2ed91E3F72\">0xa54dcA"
              "<span class=\"mid\">182530bB1D6D132cDED6237B2ed91E</span>3F72</a></span>");
    /* case matters in CB58, and it keeps more characters at its end; short identifiers are shown whole */
    cd_ui_ident(&r->h, &(cd_ui_id){.text = cd_bytes_str("2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm")});
    assert_true(has(r, "data-h=\"2JVSBoin"));
    assert_true(has(r, ">2JVSBoin<span class=\"mid\">"));
    assert_true(has(r, "</span>5DbBrm</span>") || has(r, "</span>DbBrm</span>") || has(r, "DbBrm</span>"));
    cd_buf_clear(&r->out);
    cd_ui_ident(&r->h, &(cd_ui_id){.text = cd_bytes_str("NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg")});
    assert_true(has(r, ">NodeID-7Xhw2<span"));
    cd_buf_clear(&r->out);
    cd_ui_ident(&r->h, &(cd_ui_id){.text = cd_bytes_str("0x1234")});
    expect(r, "<span class=\"hx\" data-h=\"0x1234\"><span class=\"v\" "
              "title=\"0x1234\">0x1234</span></span>");
    /* a name takes the place of the characters, never of the glint */
    cd_ui_ident(&r->h, &(cd_ui_id){.text = cd_bytes_str(addr),
                                   .name = cd_foreign_of(cd_bytes_str("<b>Pool")),
                                   .flags = CD_ID_GLINT | CD_ID_COPY | CD_ID_FULL});
    assert_true(has(r, "class=\"hx full\""));
    assert_true(has(r, "<span class=\"name\"><bdi>&lt;b&gt;Pool</bdi></span>"));
    assert_true(has(r, "class=\"glint\""));
    assert_true(has(r, "data-copy=\"0xa54dcA182530bB1D6D132cDED6237B2ed91E3F72\" aria-label=\"Copy\""));
}

/* The bars depend on the address, not on how it is written: SHA-256 of the lower-case text. */
static void test_glint(void **state)
{
    rig *r = *state;
    cd_ui_ident(&r->h,
                &(cd_ui_id){.text = cd_bytes_str("0x139B4180Df3932249962C6857200059aEB8eA17c"), .flags = CD_ID_GLINT});
    char first[600] = {0};
    const char *from = strstr(cd_buf_cstr(&r->out), "<svg class=\"glint\"");
    const char *to = strstr(from, "</svg>");
    memcpy(first, from, (usize)(to - from));
    cd_buf_clear(&r->out);
    cd_ui_ident(&r->h,
                &(cd_ui_id){.text = cd_bytes_str("0x139b4180df3932249962c6857200059aeb8ea17c"), .flags = CD_ID_GLINT});
    assert_true(has(r, first));
}

static void test_table(void **state)
{
    rig *r = *state;
    static const cd_ui_col cols[] = {
        {.name = "Token"},
        {.name = "Price", .sort = "price", .flags = CD_COL_NUM},
        {.name = "Seen", .sort = "seen", .flags = CD_COL_NUM | CD_COL_P2},
    };
    const cd_ui_sort sort = {.by = cd_bytes_str("price"), .desc = true, .rest = cd_bytes_str("q=a&b=c")};
    cd_ui_table_begin(&r->h, "Prices", cols, 3, &sort, NULL);
    cd_ui_cell(&r->h, &cols[2]);
    cd_html_put(&r->h, "</td>");
    cd_ui_table_end(&r->h);
    expect(r, "<table class=\"t\"><caption class=\"sr\">Prices</caption><thead><tr>"
              "<th scope=\"col\" class=\"\">Token</th>"
              "<th scope=\"col\" class=\"num\" aria-sort=\"descending\"><a class=\"sort\" "
              "href=\"?q=a&amp;b=c&amp;sort=price&amp;dir=asc\">Price</a></th>"
              "<th scope=\"col\" class=\"num p2\"><a class=\"sort\" "
              "href=\"?q=a&amp;b=c&amp;sort=seen&amp;dir=desc\">Seen</a></th>"
              "</tr></thead><tbody><td class=\"num p2\"></td></tbody></table>");
}

static void test_small_parts(void **state)
{
    rig *r = *state;
    cd_ui_lamp(&r->h, CD_LAMP_BLS);
    expect(r, "<span class=\"lamp half\" role=\"img\" aria-label=\"BLS-final\" "
              "title=\"BLS-final\"></span>");
    cd_ui_pill(&r->h, CD_PILL_WARN, cd_bytes_str("Stale"));
    expect(r, "<span class=\"pill warn\">Stale</span>");
    cd_ui_tag(&r->h, cd_foreign_of(cd_bytes_str("f<g>")));
    expect(r, "<span class=\"tag\"><bdi>f&lt;g&gt;</bdi></span>");
    cd_ui_time(&r->h, &r->a, 1795269886, 1795269938);
    expect(r, "<time datetime=\"2026-11-21T14:04:46Z\" title=\"2026-11-21 14:04:46 UTC\">52 s "
              "ago</time>");
    cd_ui_figs(
        &r->h,
        &(cd_ui_fig){.label = "Gas price", .value = cd_bytes_str("25.5"), .unit = "gwei", .sub = cd_bytes_str("now")},
        1);
    expect(r, "<dl class=\"figs\"><div class=\"fig\"><dt>Gas price</dt><dd "
              "class=\"n\">25.5<small>gwei</small></dd>"
              "<dd class=\"sub\">now</dd></div></dl>");
    cd_ui_pager(&r->h, (cd_bytes){0}, cd_bytes_str("?before=7"));
    expect(r, "<nav class=\"pager\" aria-label=\"Pages\"><a class=\"btn s\" rel=\"next\" "
              "href=\"?before=7\">Next</a></nav>");
    const cd_ui_link links[] = {{"A", cd_bytes_str("?x=a")}, {"B", cd_bytes_str("?x=b")}};
    cd_ui_seg(&r->h, "Which", links, 2, 1);
    expect(r, "<span class=\"seg\" role=\"group\" aria-label=\"Which\"><a href=\"?x=a\">A</a>"
              "<a href=\"?x=b\" aria-current=\"true\">B</a></span>");
    cd_ui_note(&r->h, CD_NOTE_WARN, "Stale", (cd_markup){0});
    assert_true(has(r, "<div class=\"note warn\"><svg"));
    cd_buf_clear(&r->out);
    cd_ui_empty(&r->h, "No blocks yet", "The first transaction makes one.", (cd_markup){0});
    assert_true(has(r, "<b>No blocks yet</b>"));
    cd_buf_clear(&r->out);
    cd_ui_code(&r->h, cd_bytes_str("a < b\n"), "command");
    assert_true(has(r, "data-copy=\"a &lt; b\n\" aria-label=\"Copy command\""));
    assert_true(has(r, "<pre class=\"code wrap\" tabindex=\"0\">a &lt; b\n</pre></div>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ident, setup, teardown),
        cmocka_unit_test_setup_teardown(test_glint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_parts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
