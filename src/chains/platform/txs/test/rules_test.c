#include "chains/platform/txs/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const cd_hash32 asset = {.b = {1}};

/* Reads an object over the rules of a network; the message when it is refused. */
static cd_err over(cd_p_rules *r, u32 network, const char *text, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_json v;
    const cd_network n = cd_network_of(network);
    *r = cd_p_rules_of(&n, &asset);
    assert_int_equal(cd_json_parse(&v, &mem, cd_bytes_str(text), 0, NULL), CD_OK);
    cd_err e = cd_p_rules_read(r, v, why);
    cd_arena_fini(&mem);
    return e;
}

static void changes_what_is_named(void **state)
{
    (void)state;
    cd_p_rules r;
    const cd_network n = cd_network_of(12345);
    const cd_p_rules usual = cd_p_rules_of(&n, &asset);
    assert_int_equal(over(&r, 12345, "null", NULL), CD_OK);
    assert_int_equal(r.min_stake_s, usual.min_stake_s);
    assert_int_equal(over(&r, 12345,
                          "{\"min-stake-duration\":5,\"min-validator-stake\":7,\"uptime-requirement\":500000,"
                          "\"stake-supply-cap\":9}",
                          NULL),
                     CD_OK);
    assert_int_equal(r.min_stake_s, 5);
    assert_int_equal(r.min_validator_stake, 7);
    assert_int_equal(r.uptime_requirement, 500000);
    assert_int_equal(r.reward.cap, 9);
    assert_int_equal(r.max_stake_s, usual.max_stake_s);
    assert_int_equal(r.min_delegator_stake, usual.min_delegator_stake);
    assert_int_equal(r.reward.max_rate, usual.reward.max_rate);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        u32 network;
        const char *text;
        const char *says;
    } rows[] = {
        {1, "{\"min-stake-duration\":5}", "fixed numbers on network 1"},
        {5, "{}", "fixed numbers on network 5"},
        {1337, "{\"min-stake-duration\":0}", "min-stake-duration"},
        {1337, "{\"min-stake-duration\":40000000}", "more than max-stake-duration"},
        {1337, "{\"min-validator-stake\":9,\"max-validator-stake\":8}", "more than max-validator-stake"},
        {1337, "{\"min-delegation-fee\":1000001}", "up to 1000000"},
        {1337, "{\"stake-min-consumption-rate\":500000}", "stake-max-consumption-rate"},
        {1337, "{\"stake-minting-period\":5}", "less than max-stake-duration"},
        {1337, "{\"max-stake-duration\":-1}", "max-stake-duration"},
        {1337, "{\"uptime-requirement\":0.5}", "uptime-requirement"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_p_rules r;
        cd_errinfo why = {0};
        const cd_network n = cd_network_of(rows[i].network);
        const cd_p_rules usual = cd_p_rules_of(&n, &asset);
        assert_int_equal(over(&r, rows[i].network, rows[i].text, &why), CD_EINVAL);
        assert_non_null(strstr(why.msg, rows[i].says));
        assert_int_equal(r.min_stake_s, usual.min_stake_s);
        assert_int_equal(r.min_validator_stake, usual.min_validator_stake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_what_is_named),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
