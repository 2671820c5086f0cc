/* Faults planted into the engine (consensus/snow/mutant_priv.h has them; this test has a build of its own): in the same
 * worlds the whole engine breaks no promise, and each of the faulty ones does. */
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SECONDS (u64) CD_SIM_MILLION

/* The faults of consensus/snow/mutant_priv.h: NONE, and eleven others. */
enum { MUTANTS = 12 };
typedef enum cd_mutant {
    CD_MUTANT_NONE,
    CD_MUTANT_LAST = MUTANTS - 1,
} cd_mutant;
cd_mutant cd__mutant = CD_MUTANT_NONE;
extern cd_mutant cd__mutant;

static const cd_sim_act crashes[] = {
    {.at_us = 20 * SECONDS, .until_us = 26 * SECONDS, .verb = CD_SIM_CRASH, .nodes = {.cnt = 1, .r = {{0, 0}}}},
    {.at_us = 22 * SECONDS, .until_us = 40 * SECONDS, .verb = CD_SIM_LOSS, .value = 150000},
};
static const cd_sim_act halves[] = {
    {.at_us = 10 * SECONDS, .until_us = 60 * SECONDS, .verb = CD_SIM_PARTITION, .nodes = {.cnt = 1, .r = {{0, 2}}}},
};

/* Worlds with troubles of several kinds, which are tried one after the other. */
static const cd_sim_cfg rows[] = {
    {.seed = 1,
     .nodes = 6,
     .latency = CD_SIM_REGION,
     .spread_us = 1000,
     .interval_us = SECONDS,
     .duration_us = 70 * SECONDS,
     .quiet_us = 12 * SECONDS,
     .bound_us = 20 * SECONDS,
     .acts = crashes,
     .act_cnt = CD_COUNT(crashes),
     .is_bare = true},
    {.seed = 2,
     .nodes = 6,
     .latency = CD_SIM_LAN,
     .spread_us = 1000,
     .interval_us = SECONDS,
     .duration_us = 90 * SECONDS,
     .bound_us = 25 * SECONDS,
     .acts = halves,
     .act_cnt = CD_COUNT(halves),
     .is_bare = true},
    {.seed = 3,
     .nodes = 7,
     .byzantine_ppm = 150000,
     .roles = CD_SIM_SPAM,
     .has_liars_always = true,
     .latency = CD_SIM_WORLD,
     .interval_us = SECONDS,
     .duration_us = 60 * SECONDS,
     .bound_us = 40 * SECONDS},
    {.seed = 4,
     .nodes = 7,
     .byzantine_ppm = 150000,
     .roles = CD_SIM_INVALID,
     .has_liars_always = true,
     .latency = CD_SIM_REGION,
     .interval_us = SECONDS,
     .duration_us = 40 * SECONDS,
     .bound_us = 30 * SECONDS},
    {.seed = 5,
     .nodes = 10,
     .byzantine_ppm = 300000,
     .roles = CD_SIM_EQUIVOCATE,
     .has_liars_always = true,
     .latency = CD_SIM_WORLD,
     .interval_us = SECONDS,
     .duration_us = 60 * SECONDS,
     .bound_us = 60 * SECONDS},
};

/* The text of the first promise that was broken, or "". */
static const char *first_broken(cd_sim_result *r)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_sim_cfg cfg = rows[i];
        cfg.stops = true;
        assert_int_equal(cd_sim_run(r, &cfg, NULL), CD_OK);
        if (r->violations != 0) {
            return r->told[0].text;
        }
        assert_true(r->accepted > 10);
    }
    return "";
}

static void test_whole(void **state)
{
    cd_sim_result r;
    (void)state;
    assert_string_equal(first_broken(&r), "");
}

static void test_mutants(void **state)
{
    u32 missed = 0;
    (void)state;
    for (u32 m = CD_MUTANT_NONE + 1; m < MUTANTS; m++) {
        cd_sim_result r;
        cd__mutant = (cd_mutant)m;
        const char *broken = first_broken(&r);
        cd__mutant = CD_MUTANT_NONE;
        print_message("mutant %u: %s\n", m, broken[0] == '\0' ? "not noticed" : broken);
        missed += broken[0] == '\0' ? 1 : 0;
    }
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_mutants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
