/* Worlds: the same configuration gives the same run, on any number of threads; what must hold holds. */
#include "sim/campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECONDS (u64) CD_SIM_MILLION

static void run(cd_sim_result *r, const cd_sim_cfg *cfg)
{
    assert_int_equal(cd_sim_run(r, cfg, NULL), CD_OK);
}

static void run_well(const cd_sim_cfg *cfg, u64 blocks)
{
    cd_sim_result r;
    run(&r, cfg);
    if (r.violations != 0) {
        fail_msg("seed %llu: %s", (unsigned long long)cfg->seed, r.told[0].text);
    }
    assert_true(r.accepted >= blocks);
}

static void test_same(void **state)
{
    cd_sim_result a;
    cd_sim_result b;
    cd_sim_cfg cfg = {.seed = 5,
                      .nodes = 40,
                      .byzantine_ppm = 200000,
                      .has_liars_always = true,
                      .has_troubles = true,
                      .latency = CD_SIM_LAN,
                      .duration_us = 50 * SECONDS};
    (void)state;
    run(&a, &cfg);
    cfg.threads = 3;
    run(&b, &cfg);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.violations, 0);
    cfg.seed++;
    run(&b, &cfg);
    assert_memory_not_equal(a.fingerprint.b, b.fingerprint.b, 32);
}

static void test_peace(void **state)
{
    (void)state;
    run_well(&(cd_sim_cfg){.seed = 1, .nodes = 1, .duration_us = 30 * SECONDS, .quiet_us = 10 * SECONDS}, 5);
    run_well(&(cd_sim_cfg){.seed = 2,
                           .nodes = 5,
                           .latency = CD_SIM_LAN,
                           .interval_us = SECONDS / 2,
                           .duration_us = 60 * SECONDS,
                           .quiet_us = 10 * SECONDS},
             20);
    run_well(&(cd_sim_cfg){.seed = 3,
                           .nodes = 10,
                           .latency = CD_SIM_WORLD,
                           .duration_us = 60 * SECONDS,
                           .quiet_us = 12 * SECONDS,
                           .is_bare = true},
             15);
}

/* With the proposer wrapper, too, the chain goes on while nodes are down: others have their turns. */
static void test_trouble(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 6; seed++) {
        run_well(&(cd_sim_cfg){.seed = seed,
                               .nodes = 5 + (u32)seed,
                               .has_troubles = true,
                               .latency = (cd_sim_latency)(seed % 3),
                               .is_bare = seed % 4 == 0,
                               .duration_us = 100 * SECONDS,
                               .quiet_us = 12 * SECONDS},
                 15);
    }
}

static void test_liars(void **state)
{
    (void)state;
    for (u32 bit = 1; bit <= CD_SIM_ROLES; bit <<= 1) {
        run_well(&(cd_sim_cfg){.seed = bit,
                               .nodes = 10,
                               .byzantine_ppm = 200000,
                               .roles = bit,
                               .has_liars_always = true,
                               .latency = CD_SIM_REGION,
                               .duration_us = 90 * SECONDS},
                 5);
    }
}

/* The network goes on as soon as there are validators again, and not before. */
static void test_validators(void **state)
{
    const cd_sim_act none = {.at_us = 30 * SECONDS,
                             .until_us = 60 * SECONDS,
                             .verb = CD_SIM_WEIGHT,
                             .nodes = {.cnt = 1, .r = {{0, 6}}},
                             .value = 0};
    cd_sim_result r;
    (void)state;
    cd_sim_cfg cfg = {.seed = 4,
                      .nodes = 7,
                      .latency = CD_SIM_LAN,
                      .interval_us = SECONDS,
                      .duration_us = 60 * SECONDS,
                      .acts = &none,
                      .act_cnt = 1};
    run(&r, &cfg);
    assert_int_equal(r.violations, 0);
    u64 before = r.accepted;
    cfg.duration_us = 90 * SECONDS;
    run(&r, &cfg);
    assert_int_equal(r.violations, 0);
    assert_true(r.accepted > before + 5);
    cfg.duration_us = 58 * SECONDS;
    run(&r, &cfg);
    assert_int_equal(r.accepted, before);
}

/* Weight that nobody pays for counts: two tenths of it leave a quorum, four do not. And what
 * is expected of a time is looked at. */
static void test_unpaid(void **state)
{
    (void)state;
    for (u32 last = 1; last <= 3; last += 2) {
        const cd_sim_act unpaid = {.at_us = 20 * SECONDS,
                                   .until_us = 60 * SECONDS,
                                   .verb = CD_SIM_UNPAID,
                                   .nodes = {.cnt = 1, .r = {{0, last}}}};
        const bool goes_on = last == 1;
        cd_sim_result r;
        cd_sim_cfg cfg = {
            .seed = 9,
            .nodes = 10,
            .latency = CD_SIM_LAN,
            .interval_us = SECONDS,
            .duration_us = 90 * SECONDS,
            .acts = &unpaid,
            .act_cnt = 1,
            .expect = {.span_cnt = 2,
                       .spans = {{25 * SECONDS, 60 * SECONDS, goes_on}, {60 * SECONDS, 80 * SECONDS, true}}}};
        run(&r, &cfg);
        assert_int_equal(r.violations + r.missing, 0);
        cfg.expect.spans[0].moves = !goes_on;
        run(&r, &cfg);
        assert_int_equal(r.violations, 0);
        assert_int_equal(r.missing, 1);
        assert_non_null(strstr(r.told[0].text, "expected: from 25 s on, blocks: "));
    }
}

/* A node that stays behind is noticed once the network should be whole, and expectations that are not met are told. */
static void test_told(void **state)
{
    cd_sim_result r;
    const cd_sim_act mute = {.at_us = 10 * SECONDS, .until_us = UINT64_MAX, .verb = CD_SIM_LIARS};
    const cd_sim_cfg cfg = {.seed = 6,
                            .nodes = 10,
                            .byzantine_ppm = 400000,
                            .roles = CD_SIM_WITHHOLD,
                            .bound_us = 20 * SECONDS,
                            .duration_us = 60 * SECONDS,
                            .acts = &mute,
                            .act_cnt = 1,
                            .expect = {.accepted = 1000}};
    (void)state;
    run(&r, &cfg);
    assert_true(r.violations != 0);
    assert_string_equal(r.told[0].text, "the network is whole, and the chain does not go on");
    assert_int_equal(r.missing, 1);
}

static void test_wrong(void **state)
{
    cd_sim_result r;
    cd_errinfo why = {0};
    const cd_sim_act act = {.verb = CD_SIM_CRASH, .nodes = {.cnt = 1, .r = {{3, 9}}}};
    (void)state;
    assert_int_equal(cd_sim_run(&r, &(cd_sim_cfg){.nodes = CD_SIM_NODES_MAX + 1}, &why), CD_EINVAL);
    assert_int_equal(cd_sim_run(&r, &(cd_sim_cfg){.byzantine_ppm = CD_SIM_MILLION + 1}, &why), CD_EINVAL);
    assert_int_equal(cd_sim_run(&r, &(cd_sim_cfg){.nodes = 5, .acts = &act, .act_cnt = 1}, &why), CD_EINVAL);
    assert_string_equal(why.msg, "there are nodes 0 to 4, and no node 9");
    assert_int_equal(cd_sim_run(&r, &(cd_sim_cfg){.params = {.k = 20, .alpha_preference = 5}}, &why), CD_EINVAL);
}

/* Many worlds: the sum does not depend on the number of threads that ran them. */
static void test_campaign(void **state)
{
    cd_sim_campaign a;
    cd_sim_campaign b;
    cd_pool *pool;
    (void)state;
    cd_sim_campaign_run(&a, 1, 6, 12, 60 * SECONDS, NULL, NULL, NULL);
    assert_int_equal(cd_pool_new(&pool, 2, 8, "test", NULL), CD_OK);
    cd_sim_campaign_run(&b, 1, 6, 12, 60 * SECONDS, pool, NULL, NULL);
    cd_pool_free(pool);
    assert_memory_equal(a.fingerprint.b, b.fingerprint.b, 32);
    assert_int_equal(a.runs, 6);
    assert_int_equal(a.violations, 0);
    assert_true(a.accepted > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),  cmocka_unit_test(test_peace),      cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_liars), cmocka_unit_test(test_validators), cmocka_unit_test(test_told),
        cmocka_unit_test(test_wrong), cmocka_unit_test(test_unpaid),     cmocka_unit_test(test_campaign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
