/* A trace read back: any moment forwards and backwards is the same; what is no trace is refused; pages hold what
 * hostile traces say. */
#include "sim/film.h"
#include "sim/sim.h"
#include "sim/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void into(void *ctx, cd_bytes text)
{
    cd_buf_put(ctx, text);
}

static void record(cd_buf *text, u64 seconds)
{
    cd_sim_trace t = {.write = into, .ctx = text};
    cd_sim_result r;
    const cd_sim_cfg cfg = {.seed = 3,
                            .nodes = 5,
                            .byzantine_ppm = 200000,
                            .latency = CD_SIM_REGION,
                            .has_liars_always = true,
                            .duration_us = seconds * CD_SIM_MILLION,
                            .trace = &t};
    cd_sim_trace_begin(&t);
    assert_int_equal(cd_sim_run(&r, &cfg, NULL), CD_OK);
    cd_sim_trace_end(&t);
    assert_int_equal(r.violations, 0);
}

static void test_moments(void **state)
{
    cd_buf text = {0};
    cd_film *f = NULL;
    (void)state;
    record(&text, 60);
    assert_int_equal(cd_film_open(&f, cd_buf_bytes(&text), NULL), CD_OK);
    u64 steps = cd_film_steps(f);
    assert_int_equal(cd_film_strange(f), 0);
    assert_int_equal(cd_film_nodes(f), 5);
    assert_true(steps > 50000);
    const cd_film_state *s = cd_film_at(f, steps);
    u64 height = s->nodes[0].height;
    assert_true(height > 10);
    for (u32 i = 0; i < 5; i++) {
        assert_true(s->nodes[i].is_up);
        assert_true(s->nodes[i].messages > 100);
    }
    /* Backwards from one kept picture to another, and one line at a time. */
    cd_film_node at[3];
    for (u32 i = 0; i < 3; i++) {
        at[i] = cd_film_at(f, steps / 2 + i)->nodes[1];
    }
    (void)cd_film_at(f, steps);
    for (u32 i = 3; i > 0; i--) {
        assert_memory_equal(&cd_film_at(f, steps / 2 + i - 1)->nodes[1], &at[i - 1], sizeof at[0]);
    }
    assert_int_equal(cd_film_at(f, 0)->nodes[0].height, 0);
    assert_int_equal(cd_film_at(f, steps + 100)->nodes[0].height, height);
    /* Jumps to lines of a kind. */
    u64 first = cd_film_find(f, 0, true, "b", CD_FILM_NONE);
    assert_int_equal(cd_film_event_get(f, first - 1)->kind, 'b');
    u64 second = cd_film_find(f, first, true, "b", CD_FILM_NONE);
    assert_true(second > first);
    assert_int_equal(cd_film_find(f, second, false, "b", CD_FILM_NONE), first);
    assert_int_equal(cd_film_find(f, steps, true, "b", CD_FILM_NONE), steps);
    cd_film_close(f);
    cd_buf_fini(&text);
}

/* A poll at a moment has the votes that had come for it by then, and no more. */
static void test_poll(void **state)
{
    static const char text[] = "candela-trace 1\n"
                               "n 0 0 NodeID-a 0\nn 0 1 NodeID-b 1\nu 1 0\nu 1 1\n"
                               "b 5 0 00000000000000aa 00000000000000bb 1\n"
                               "Q 5 0 7 00000000000000aa 1,2,3\n"
                               "v 9 0 7 1 00000000000000aa 0\n"
                               "f 12 0 7 2\n"
                               "c 12 0 00000000000000aa 1\n"
                               "p 12 0 00000000000000aa\n"
                               "a 13 0 00000000000000aa 1\n";
    cd_film *f = NULL;
    (void)state;
    assert_int_equal(cd_film_open(&f, cd_bytes_str(text), NULL), CD_OK);
    assert_int_equal(cd_film_strange(f), 0);
    const cd_film_node *n = &cd_film_at(f, 9)->nodes[0];
    assert_int_equal(n->polls, 1);
    assert_true(n->recent[0].is_shown);
    assert_int_equal(n->recent[0].asked, 3);
    assert_int_equal(n->recent[0].cnt, 2);
    assert_int_equal(n->recent[0].votes[0].from, 1);
    assert_true(n->recent[0].votes[1].block == CD_FILM_NONE);
    assert_int_equal(n->undecided[0].confidence, 1);
    n = &cd_film_at(f, 7)->nodes[0];
    assert_int_equal(n->recent[0].cnt, 1);
    n = &cd_film_at(f, 11)->nodes[0];
    assert_int_equal(n->height, 1);
    assert_int_equal(n->undecided_cnt, 0);
    bool is_liar;
    (void)cd_film_node_name(f, 1, &is_liar);
    assert_true(is_liar);
    cd_film_close(f);
}

static void test_no_trace(void **state)
{
    static const char *const bad[] = {"", "hello\n", "candela-trace 2\n"};
    (void)state;
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_film *f = NULL;
        assert_int_equal(cd_film_open(&f, cd_bytes_str(bad[i]), NULL), CD_EFORMAT);
    }
}

/* Lines that make no sense are left out, and markup in their words is escaped. */
static void test_hostile(void **state)
{
    static const char text[] = "candela-trace 1\n\nx\nq\nb 1 99999999 00000000000000aa 00000000000000bb 1\n"
                               "n 0 0 <script>alert(1)</script> 0\nb 1 0 <b> <i> 1\nv 1 0 1 1 zz 1\n"
                               "w 2 <script>alert(2)</script>\nx 3 0 00000000000000aa <img src=x>\nm 4 0 1 <u> 5 9\n"
                               "z 1 0\nm 5 0 1 put\nu 99999999999999999999 0\n";
    cd_film *f = NULL;
    cd_buf page = {0};
    (void)state;
    assert_int_equal(cd_film_open(&f, cd_bytes_str(text), NULL), CD_OK);
    assert_int_equal(cd_film_strange(f), 8);
    for (u64 i = 0; i <= cd_film_steps(f) + 1; i++) {
        cd_buf_clear(&page);
        cd_film_page(&page, f, "<name>", i, i % 2 == 0 ? 0 : CD_FILM_NONE);
        const char *html = cd_buf_cstr(&page);
        assert_null(strstr(html, "<script>alert"));
        assert_null(strstr(html, "<img src=x"));
        assert_null(strstr(html, "<u>"));
        assert_null(strstr(html, "<name>"));
    }
    cd_buf_fini(&page);
    cd_film_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments), cmocka_unit_test(test_poll),
                                       cmocka_unit_test(test_no_trace), cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
