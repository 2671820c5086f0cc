/* Rows of networks: found by name and number, with amounts in the units of each. */
#include "types/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void rows(void **state)
{
    (void)state;
    assert_int_equal(cd_network_find("testnet")->id, 2);
    assert_int_equal(cd_network_find("5")->id, 5);
    assert_string_equal(cd_network_find("5")->prefix, "test");
    assert_false(cd_network_find("1337")->is_dev);
    assert_null(cd_network_find("77"));
    cd_network n = cd_network_of(77);
    assert_int_equal(n.id, 77);
    assert_int_equal(n.http_port, 9630);
    assert_string_equal(n.prefix, "custom");
    assert_string_equal(cd_network_of(1).prefix, "lux");
}

static void amounts(void **state)
{
    (void)state;
    /* the figures of the original network, and those of the product in its own unit */
    const cd_network *local = cd_network_find("local");
    assert_int_equal(cd_network_amount(local, local->economy->min_validator_stake), 2000000000000);
    assert_int_equal(cd_network_amount(local, local->economy->min_delegator_stake), 25000000000);
    assert_int_equal(cd_network_amount(local, local->economy->supply_cap), 720000000000000000);
    const cd_network *mainnet = cd_network_find("mainnet");
    assert_int_equal(cd_network_amount(mainnet, mainnet->economy->min_delegator_stake), 25000000);
    assert_int_equal(cd_network_amount(mainnet, mainnet->economy->tx_fee), 1000);
    assert_true(mainnet->family->legacy_stakers);
    assert_false(local->family->legacy_stakers);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        u32 id;
        const char *name;
        const char *prefix;
        u16 port;
        u8 decimals;
    } cases[] = {
        {"mainnet", 1, "mainnet", "lux", 9630, 6},
        {"1", 1, "mainnet", "lux", 9630, 6},
        {"Testnet", 2, "testnet", "test", 9640, 6},
        {"5", 5, "testnet", "test", 9640, 6},
        {"devnet", 3, "devnet", "dev", 9650, 6},
        {"custom", 1337, "custom", "custom", 9660, 6},
        {"1337", 1337, "custom", "custom", 9660, 6},
        {"dev", 1337, "dev", "custom", 8545, 6},
        {"LOCAL", 12345, "local", "local", 9650, 9},
        {"network-12345", 12345, "local", "local", 9650, 9},
        {"77", 77, "network-77", "custom", 9630, 6},
        {"network-4294967295", 4294967295u, "network-4294967295", "custom", 9630, 6},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_network_any any;
        assert_int_equal(cd_network_parse(&any, cases[i].text, NULL), CD_OK);
        assert_int_equal(any.network.id, cases[i].id);
        assert_string_equal(any.network.name, cases[i].name);
        assert_string_equal(any.network.prefix, cases[i].prefix);
        assert_int_equal(any.network.http_port, cases[i].port);
        assert_int_equal(any.network.decimals, cases[i].decimals);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "foo", "0", "network-", "network-0", "network-local", "-1", "4294967296"};
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_network_any any;
        cd_errinfo why;
        assert_int_equal(cd_network_parse(&any, cases[i], &why), CD_EFORMAT);
        assert_non_null(strstr(why.msg, "failed to parse network name: \""));
    }
    assert_null(cd_network_find("0"));
    assert_null(cd_network_find(""));
}

static void test_families(void **state)
{
    (void)state;
    assert_string_equal(cd_network_family_find("upstream")->symbol, "AVAX");
    assert_true(cd_network_family_find("product") == cd_network_find("1")->family);
    assert_null(cd_network_family_find("other"));
}

static void test_profile(void **state)
{
    (void)state;
    cd_errinfo why;
    cd_network n = cd_network_of(1337);
    assert_int_equal(cd_network_profile(&n, "Upstream", &why), CD_OK);
    assert_string_equal(n.family->symbol, "AVAX");
    assert_int_equal(n.decimals, 9);
    assert_int_equal(n.id, 1337);
    assert_int_equal(cd_network_profile(&n, "avalanche", &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "\"avalanche\""));
    assert_int_equal(n.decimals, 9);
    assert_int_equal(cd_network_profile(&n, "product", &why), CD_OK);
    assert_int_equal(n.decimals, 6);
    for (u32 id = 1; id <= 12345; id++) {
        const cd_network row = cd_network_of(id);
        assert_int_equal(cd_network_refuses_public_keys(id), id == 1 || id == 2 || id == 3 || id == 5);
        assert_int_equal(row.decimals, row.family->decimals);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),         cmocka_unit_test(amounts),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_families), cmocka_unit_test(test_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
