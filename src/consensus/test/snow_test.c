/* The voting against a plain model of it, over random sequences; parameters that are refused; the order of polls. */
#include "base/mem/mem.h"
#include "consensus/test/snow_drive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_tree(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 400; seed++) {
        cd_rng rng = cd_rng_seeded(seed);
        drive_tree(&(drive){.rng = &rng}, 150);
    }
}

static void test_polls(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 5000; seed++) {
        cd_rng rng = cd_rng_seeded(seed);
        drive_poll(&(drive){.rng = &rng});
    }
}

/* A poll that is over waits for the older ones. */
static void test_order(void **state)
{
    (void)state;
    cd_snow_params p = cd_snow_params_default();
    drive_graph g = {.cnt = 1, .ids = {{.b = {1}}}, .parents = {UINT32_MAX}};
    cd_node_id nodes[20] = {0};
    const cd_snow_vote *votes;
    u32 cnt;
    for (u8 i = 0; i < 20; i++) {
        nodes[i].b[0] = i / 10; /* two nodes, each named ten times */
    }
    cd_snow_polls *s = cd_snow_polls_new(&p, drive_parent, &g);
    cd_snow_polls_add(s, 1, nodes, 20);
    cd_snow_polls_add(s, 2, nodes, 20);
    for (u32 i = 0; i < 2; i++) {
        assert_true(cd_snow_polls_vote(s, 2, &nodes[(usize)i * 10], &g.ids[0]));
    }
    assert_false(cd_snow_polls_vote(s, 3, &nodes[0], &g.ids[0]));
    assert_false(cd_snow_polls_next(s, &votes, &cnt));
    assert_true(cd_snow_polls_vote(s, 1, &nodes[0], &g.ids[0]));
    assert_false(cd_snow_polls_next(s, &votes, &cnt));
    assert_true(cd_snow_polls_drop(s, 1, &nodes[10]));
    assert_true(cd_snow_polls_next(s, &votes, &cnt));
    assert_int_equal(cnt, 1);
    assert_int_equal(votes[0].cnt, 10);
    assert_true(cd_snow_polls_next(s, &votes, &cnt));
    assert_int_equal(votes[0].cnt, 20);
    assert_false(cd_snow_polls_next(s, &votes, &cnt));
    /* A poll that asks nobody is over at once. */
    cd_snow_polls_add(s, 3, nodes, 0);
    assert_true(cd_snow_polls_next(s, &votes, &cnt));
    assert_int_equal(cnt, 0);
    cd_snow_polls_free(s);
}

static void test_params(void **state)
{
    (void)state;
    static const struct {
        cd_snow_params p;
        const char *want;
    } rows[] = {
        {{20, 10, 14, 20, 4, 10},
         "parameters invalid: k = 20, alphaPreference = 10: fails the condition that: k/2 < alphaPreference"},
        {{20, 14, 13, 20, 4, 10},
         "parameters invalid: alphaPreference = 14, alphaConfidence = 13: fails the condition "
         "that: alphaPreference <= alphaConfidence"},
        {{20, 14, 21, 20, 4, 10},
         "parameters invalid: k = 20, alphaConfidence = 21: fails the condition that: alphaConfidence <= k <= 255"},
        {{300, 200, 200, 20, 4, 10},
         "parameters invalid: k = 300, alphaConfidence = 200: fails the condition that: alphaConfidence <= k <= 255"},
        {{20, 14, 14, 20, 0, 10},
         "parameters invalid: concurrentRepolls = 0, beta = 20: fails the condition that: 0 < "
         "concurrentRepolls <= beta"},
        {{20, 14, 14, 3, 4, 10},
         "parameters invalid: concurrentRepolls = 4, beta = 3: fails the condition that: 0 < "
         "concurrentRepolls <= beta"},
        {{20, 14, 14, 20, 4, 0},
         "parameters invalid: optimalProcessing = 0: fails the condition that: 0 < optimalProcessing"},
    };
    cd_snow_params p = cd_snow_params_default();
    assert_int_equal(cd_snow_params_check(&p, NULL), CD_OK);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_errinfo why = {0};
        assert_int_equal(cd_snow_params_check(&rows[i].p, &why), CD_EINVAL);
        assert_string_equal(why.msg, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_polls),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_params),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
