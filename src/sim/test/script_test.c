#include "sim/script.h"

#include "sim/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static cd_err parse(cd_sim_cfg *cfg, cd_arena *a, const char *text, cd_errinfo *why)
{
    *cfg = (cd_sim_cfg){.seed = 0};
    cd_sim_default(cfg);
    return cd_sim_script_parse(cfg, a, cd_bytes_str(text), why);
}

static void test_good(void **state)
{
    cd_sim_cfg c;
    cd_arena a = {0};
    cd_errinfo why = {0};
    (void)state;
    cd_err e = parse(&c, &a,
                     "# a world\n"
                     "nodes 20   # of equal stake\n"
                     "seed 7\n byzantine 1/5\r\nroles lie,spam\nalways\nlatency lan\nrules 5m\n\n"
                     "at 60s for 90s partition 0-3,7\n"
                     "at 2m clock all -9\n"
                     "at 2m for 1s disk 4 full\n"
                     "at 3m for 1s index 5 behind 4\n"
                     "at 3m unpaid 5-6\n"
                     "expect moves 10s 60s\nexpect still 1m 2m\n"
                     "expect accepted 50\nexpect halted 1",
                     &why);
    assert_string_equal(why.msg, "");
    assert_int_equal(e, CD_OK);
    assert_int_equal(c.nodes, 20);
    assert_int_equal(c.seed, 7);
    assert_int_equal(c.byzantine_ppm, 200000);
    assert_int_equal(c.roles, CD_SIM_LIE | CD_SIM_SPAM);
    assert_true(c.has_liars_always);
    assert_int_equal(c.latency, CD_SIM_LAN);
    assert_int_equal(c.second_rules_us, 300 * (u64)CD_SIM_MILLION);
    assert_int_equal(c.act_cnt, 5);
    assert_int_equal(c.acts[0].verb, CD_SIM_PARTITION);
    assert_int_equal(c.acts[0].until_us, 150 * (u64)CD_SIM_MILLION);
    assert_int_equal(c.acts[0].nodes.cnt, 2);
    assert_int_equal(c.acts[0].nodes.r[1].from, 7);
    assert_int_equal((i64)c.acts[1].value, -9);
    assert_int_equal(c.acts[1].nodes.r[0].to, 19);
    assert_true(c.acts[1].until_us == UINT64_MAX);
    assert_int_equal(c.acts[2].value, CD_SIM_DISK_FULL);
    assert_true(c.acts[3].value == (4 | CD_SIM_BEHIND));
    assert_int_equal(c.acts[4].verb, CD_SIM_UNPAID);
    assert_int_equal(c.expect.span_cnt, 2);
    assert_true(c.expect.spans[0].moves && !c.expect.spans[1].moves);
    assert_int_equal(c.expect.spans[1].from_us, 60 * (u64)CD_SIM_MILLION);
    assert_int_equal(c.expect.spans[1].until_us, 120 * (u64)CD_SIM_MILLION);
    assert_int_equal(c.expect.accepted, 50);
    assert_int_equal(c.expect.halted, 1);
    cd_arena_fini(&a);
}

static void test_bad(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"nodes", "line 1: wrong values behind: \"nodes\""},
        {"\nnodes 0", "line 2: wrong values behind: \"nodes\""},
        {"nodes 100001", "line 1: wrong values behind: \"nodes\""},
        {"knots 5", "line 1: no word that begins a line: \"knots\""},
        {"byzantine 3/2", "line 1: wrong values behind: \"byzantine\""},
        {"roles liar", "line 1: wrong values behind: \"roles\""},
        {"latency moon", "line 1: wrong values behind: \"latency\""},
        {"expect much 5", "line 1: wrong values behind: \"expect\""},
        {"expect still 2m 1m", "line 1: wrong values behind: \"expect\""},
        {"expect moves 1m", "line 1: wrong values behind: \"expect\""},
        {"expect calm 1m 2m", "line 1: wrong values behind: \"expect\""},
        {"at 5s unpaid", "line 1: no nodes such as 0-3,7 (\"nodes\" stands before): \"\""},
        {"at noon crash 1", "line 1: no time such as 90s behind \"at\": \"noon\""},
        {"at 5s for long crash 1", "line 1: no time such as 90s behind \"for\": \"long\""},
        {"at 5s burn 1", "line 1: nothing that can happen: \"burn\""},
        {"at 5s crash 5", "line 1: no nodes such as 0-3,7 (\"nodes\" stands before): \"5\""},
        {"at 5s crash 3-1", "line 1: no nodes such as 0-3,7 (\"nodes\" stands before): \"3-1\""},
        {"at 5s crash", "line 1: no nodes such as 0-3,7 (\"nodes\" stands before): \"\""},
        {"at 5s crash 1 2", "line 1: wrong values behind: \"1\""},
        {"at 5s loss", "line 1: wrong values behind: \"loss\""},
        {"at 5s disk 1 burns", "line 1: wrong values behind: \"1\""},
        {"at 5s index 1 ahead 5000", "line 1: wrong values behind: \"1\""},
        {"at 5s clock 1 +1000000", "line 1: wrong values behind: \"1\""},
        {"a b c d e f g h i j k l m", "line 1: too many words, from: \"m\""},
    };
    (void)state;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_sim_cfg c;
        cd_arena a = {0};
        cd_errinfo why = {0};
        assert_int_equal(parse(&c, &a, rows[i].text, &why), CD_EFORMAT);
        assert_string_equal(why.msg, rows[i].says);
        cd_arena_fini(&a);
    }
}

static void test_shares(void **state)
{
    static const struct {
        const char *text;
        u32 ppm;
    } good[] = {{"0", 0},        {"1", 1000000},  {"0.2", 200000}, {"20%", 200000},
                {"1/3", 333334}, {"0.000001", 1}, {"2.5%", 25000}};
    static const char *const bad[] = {"", "-1", "2", "1/0", "3/2", "101%", "0.", ".5", "a", "1/", "%", "0.1234567890"};
    u32 ppm;
    (void)state;
    for (usize i = 0; i < CD_COUNT(good); i++) {
        assert_int_equal(cd_sim_share_parse(&ppm, cd_bytes_str(good[i].text)), CD_OK);
        assert_int_equal(ppm, good[i].ppm);
    }
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        assert_int_not_equal(cd_sim_share_parse(&ppm, cd_bytes_str(bad[i])), CD_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
                                       cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
