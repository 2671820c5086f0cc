/* VM configuration, and what the checks of genesis, VM configuration and upgrade file tell an operator. */
#include "chains/evmchain/core/config/check.h"
#include "chains/evmchain/core/config/vm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* --- VM configuration --- */

static void defaults_and_values(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_vm_config c;
    assert_int_equal(cd_vm_config_parse(&c, &a, (cd_bytes){0}, NULL), CD_OK);
    assert_true(c.pruning && c.admin_api && !c.warp_api);
    assert_int_equal(c.commit_interval, 4096);
    assert_int_equal(c.pool_lifetime, 600000000000);
    assert_int_equal(c.eth_apis.cnt, 7);
    assert_true(cd_bytes_eq(c.eth_apis.items[6], cd_bytes_str("internal-transaction")));
    assert_int_equal(c.unprotected_hashes.cnt, 1);
    assert_int_equal(c.priority_regossip.cnt, 0);
    assert_int_equal(c.state_sync, CD_UNSET);
    assert_int_equal(c.populate_missing_tries, UINT64_MAX);

    cd_bytes text = cd_bytes_str("{\"pruning-enabled\":false,\"tx-pool-lifetime\":\"90s\",\"api-max-duration\":1500,"
                                 "\"enabled-eth-apis\":[\"eth\",\"debug\"],\"validator-api-enabled\":false,"
                                 "\"db-type\":\"rocksdb\",\"rpc-tx-fee-cap\":1.5,\"state-sync-enabled\":true,"
                                 "\"populate-missing-tries\":7,\"database-config\":{\"x\":[1]},\"no-such-key\":1,"
                                 "\"state-sync-ids\":null}");
    assert_int_equal(cd_vm_config_parse(&c, &a, text, NULL), CD_OK);
    assert_false(c.pruning || c.validators_api);
    assert_int_equal(c.pool_lifetime, 90000000000);
    assert_int_equal(c.api_max_duration, 1500);
    assert_int_equal(c.eth_apis.cnt, 2);
    assert_true(cd_bytes_eq(c.database_type, cd_bytes_str("rocksdb")));
    assert_true(cd_bytes_eq(c.database_config, cd_bytes_str("{\"x\":[1]}")));
    assert_true(c.rpc_tx_fee_cap == 1.5);
    assert_int_equal(c.state_sync, CD_ON);
    assert_int_equal(c.populate_missing_tries, 7);

    /* What is written reads back to the same. */
    cd_buf out = {0};
    cd_buf again = {0};
    cd_json_w w = {.out = &out};
    cd_vm_config back;
    cd_vm_config_json(&w, &c);
    assert_int_equal(cd_vm_config_parse(&back, &a, cd_buf_bytes(&out), NULL), CD_OK);
    w = (cd_json_w){.out = &again};
    cd_vm_config_json(&w, &back);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), cd_buf_bytes(&again)));
    cd_buf_fini(&out);
    cd_buf_fini(&again);
    cd_arena_fini(&a);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
        {"{\"commit-interval\":0}", "cannot use commit interval of 0 with pruning enabled"},
        {"{\"state-history\":0}", "cannot use state history of 0 with pruning enabled"},
        {"{\"pruning-enabled\":false,\"offline-pruning-enabled\":true}",
         "cannot run offline pruning while pruning is disabled"},
        {"{\"populate-missing-tries\":1}",
         "cannot enable populate missing tries while offline pruning (enabled: false)/pruning "
         "(enabled: true) are enabled"},
        {"{\"commit-interval\":5000}",
         "state-sync-commit-interval (16384) must be a multiple of commit-interval (5000)"},
        {"{\"tx-pool-lifetime\":\"soon\"}", "tx-pool-lifetime: not a duration such as \"10m\" or \"500ms\""},
        {"{\"pruning-enabled\":1}", "pruning-enabled: not a boolean"},
        {"[]", "not an object"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_arena a = {0};
        cd_vm_config c;
        cd_errinfo why = {0};
        assert_int_not_equal(cd_vm_config_parse(&c, &a, cd_bytes_str(rows[i].text), &why), CD_OK);
        if (strstr(why.msg, rows[i].words) == NULL) {
            fail_msg("%s: %s", rows[i].text, why.msg);
        }
        cd_arena_fini(&a);
    }
}

/* --- findings --- */

static void expect(const cd_findings *f, usize idx, cd_finding_level level, u64 line, const char *key,
                   const char *message, const char *suggestion)
{
    assert_true(idx < f->cnt);
    const cd_finding *one = &f->items[idx];
    if (one->level != level || one->line != line || strcmp(one->key, key) != 0 ||
        strstr(one->message, message) == NULL || strstr(one->suggestion, suggestion) == NULL) {
        fail_msg("%d line %llu %s: %s (%s)", (int)one->level, (unsigned long long)one->line, one->key, one->message,
                 one->suggestion);
    }
}

static void locates(void **state)
{
    (void)state;
    cd_bytes text = cd_bytes_str("{\n  \"a\": 1,\n  \"b\": {\"x\\\"y\": [1, {\"c\": {}},\n"
                                 "    \"}\", [],\n    [ {\"deep\" : null} ]]},\n  \"d\":2 }");
    static const struct {
        const char *path;
        u64 line;
        u64 column;
    } rows[] = {
        {"a", 2, 3},           {"b", 3, 3},
        {"b.x\\\"y", 3, 9},    {"b.x\\\"y[1].c", 3, 22},
        {"b.x\\\"y[2]", 4, 5}, {"b.x\\\"y[4][0].deep", 5, 8},
        {"d", 6, 3},
    };
    u64 line;
    u64 column;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (!cd_json_locate(&line, &column, text, rows[i].path) || line != rows[i].line || column != rows[i].column) {
            fail_msg("%s: %llu:%llu", rows[i].path, (unsigned long long)line, (unsigned long long)column);
        }
    }
    assert_false(cd_json_locate(&line, &column, text, "b.c"));
}

static void vm_config_findings(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_findings f = {0};
    cd_vm_config_check(&f, &a,
                       cd_bytes_str("{\n\"pruning-enabled\": true,\n\"commit-intervall\": 1,\n"
                                    "\"feeConfig\": {},\n\"frobnicate\": 2,\n"
                                    "\"precompileUpgrades\": [],\n\"rpcGasCap\": 5,\n"
                                    "\"state-history\": 0\n}"));
    assert_int_equal(f.cnt, 6);
    assert_int_equal(f.errors, 1);
    expect(&f, 0, CD_FINDING_WARNING, 3, "commit-intervall", "unknown key", "did you mean \"commit-interval\"?");
    expect(&f, 1, CD_FINDING_WARNING, 4, "feeConfig", "wrong place", "it belongs into \"config\" of the genesis");
    expect(&f, 2, CD_FINDING_WARNING, 5, "frobnicate", "unknown key", "remove it");
    expect(&f, 3, CD_FINDING_WARNING, 6, "precompileUpgrades", "wrong place",
           "it belongs at the top of the upgrade file");
    expect(&f, 4, CD_FINDING_WARNING, 7, "rpcGasCap", "unknown key", "did you mean \"rpc-gas-cap\"?");
    expect(&f, 5, CD_FINDING_ERROR, 8, "state-history", "cannot use state history of 0", "");
    f = (cd_findings){0};
    cd_vm_config_check(&f, &a, cd_bytes_str("{\n\"pruning-enabled\": tru,\n}"));
    assert_int_equal(f.cnt, 1);
    assert_int_equal(f.items[0].line, 2);

    /* Keys that nothing goes by, when they ask for something; every one of them is a key. */
    f = (cd_findings){0};
    cd_vm_config_check(&f, &a,
                       cd_bytes_str("{\n\"trie-clean-cache\": 64,\n\"snapshot-wait\": false,\n"
                                    "\"db-type\": \"memdb\",\n\"skip-tx-indexing\": true\n}"));
    assert_int_equal(f.cnt, 3);
    assert_int_equal(f.errors, 0);
    expect(&f, 0, CD_FINDING_NOTE, 2, "trie-clean-cache", "share of --memory", "");
    expect(&f, 1, CD_FINDING_NOTE, 5, "skip-tx-indexing", "found by hash", "");
    expect(&f, 2, CD_FINDING_NOTE, 4, "db-type", "share the node's store", "");
    static const char *const moot[] = {
#define X(key_, why_) key_,
#include "chains/evmchain/core/config/moot.def"
    };
    for (usize i = 0; i < CD_COUNT(moot); i++) {
        assert_true(cd_vm_config_has(cd_bytes_str(moot[i])));
    }
    cd_arena_fini(&a);
}

static const char good_alloc[] = "\"alloc\":{\"0x0100000000000000000000000000000000000001\":{\"balance\":\"0x1\"}}";

/* text: all of a genesis but the end, which is the accounts. */
static void check_one(const char *text, u64 line, const char *key, const char *message)
{
    cd_arena a = {0};
    cd_findings f = {0};
    cd_chain_cfg net = {.network_id = 1337};
    char *whole = cd_arena_fmt(&a, "%s,%s}", text, good_alloc);
    cd_genesis_check(&f, NULL, &a, cd_bytes_str(whole), &net);
    usize i = 0;
    while (i < f.cnt && f.items[i].level != CD_FINDING_ERROR) {
        i++;
    }
    expect(&f, i, CD_FINDING_ERROR, line, key, message, "");
    cd_arena_fini(&a);
}

static void genesis_findings(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_findings f = {0};
    cd_genesis_facts facts = {0};
    cd_chain_cfg net = {.network_id = 1337};
    cd_bytes text =
        cd_bytes_str("{\n\"config\": {\n  \"chainId\": 7,\n  \"feeConfig\": {\"gasLimit\": 8000000,\n"
                     "    \"targetBlockRate\": 2, \"minBaseFee\": 1, \"targetGas\": 15000000,\n"
                     "    \"baseFeeChangeDenominator\": 36, \"minBlockGasCost\": 0,\n"
                     "    \"maxBlockGasCost\": 1000000, \"blockGasCostStep\": 200000},\n"
                     "  \"shanghaiTime\": 5, \"durangoTimestamp\": 0,\n  \"minBaseFee\": 3,\n"
                     "  \"txAllowListConfig\": {\"blockTimestamp\": 0, \"adminAddress\": []}\n},\n"
                     "\"gasLimit\": \"0x7a1200\", \"difficulty\": 0,\n\"pruning-enabled\": true,\n\"alloc\": {\n"
                     "  \"0x0100000000000000000000000000000000000001\": {\"balance\": \"1\"},\n"
                     "  \"0100000000000000000000000000000000000001\": {\"balanec\": \"2\"}\n}}");
    cd_genesis_check(&f, &facts, &a, text, &net);
    assert_true(facts.is_good);
    assert_int_equal(facts.chain_id, 7);
    assert_int_equal(facts.accounts, 2);
    assert_int_equal(f.errors, 0);
    assert_int_equal(f.cnt, 7);
    expect(&f, 0, CD_FINDING_WARNING, 13, "pruning-enabled", "wrong place", "it belongs into the VM configuration");
    expect(&f, 1, CD_FINDING_WARNING, 9, "config.minBaseFee", "wrong place", "it belongs into \"config.feeConfig\"");
    expect(&f, 2, CD_FINDING_WARNING, 10, "config.txAllowListConfig.adminAddress", "unknown key",
           "did you mean \"adminAddresses\"?");
    expect(&f, 3, CD_FINDING_WARNING, 8, "config.shanghaiTime", "differs from \"config.durangoTimestamp\", which wins",
           "");
    expect(&f, 4, CD_FINDING_NOTE, 2, "config", "no \"blobSchedule\"", "");
    expect(&f, 5, CD_FINDING_WARNING, 16, "alloc.0100000000000000000000000000000000000001", "there twice", "");
    expect(&f, 6, CD_FINDING_WARNING, 16, "alloc.0100000000000000000000000000000000000001.balanec", "unknown key",
           "did you mean \"balance\"?");
    cd_arena_fini(&a);

    check_one("{\"config\":{\"evmTimestamp\":0},\n\"gasLimit\":1,\"difficulty\":0", 2, "gasLimit",
              "gas limit in fee config (8000000) does not match gas limit in header (1)");
    check_one("{\"config\":{\n\"evmTimestamp\":9},\"gasLimit\":8000000,\"difficulty\":0", 2, "config.evmTimestamp",
              "must be 0 (activated at genesis), got 9");
    check_one("{\"config\":{\"evmTimestamp\":0},\"gasLimit\":8000000", 0, "difficulty", "missing");
    check_one("{\"config\":{\"evmTimestamp\":0,\n\"chainId\":\"x\"},\"gasLimit\":8000000,"
              "\"difficulty\":0",
              2, "config.chainId", "not a number");
    check_one("{\"config\":{\"evmTimestamp\":0,\"cancunTime\":0,\n\"blobSchedule\":{}},"
              "\"gasLimit\":8000000,\"difficulty\":0",
              2, "config.blobSchedule", "invalid chain configuration in blobSchedule for fork \"cancun\"");
}

static void upgrade_findings(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_findings f = {0};
    cd_upgrades_check(&f, &a,
                      cd_bytes_str("{\n\"networkUpgradeOverrides\": {\"shanghaiTime\": 1},\n"
                                   "\"stateUpgrades\": [{\"blockTimestamp\": 5,\n \"account\": {}}],\n"
                                   "\"precompileUpgrades\": [{\"warpConfig\": {\"blockTimestamp\": 1,\n"
                                   " \"quorum\": 1}}],\n\"feeConfig\": {}}"));
    assert_int_equal(f.errors, 0);
    expect(&f, 0, CD_FINDING_WARNING, 7, "feeConfig", "wrong place", "into \"config\" of the genesis");
    expect(&f, 1, CD_FINDING_WARNING, 2, "networkUpgradeOverrides.shanghaiTime", "wrong place",
           "into \"config\" of the genesis");
    expect(&f, 2, CD_FINDING_WARNING, 4, "stateUpgrades[0].account", "unknown key", "did you mean \"accounts\"?");
    expect(&f, 3, CD_FINDING_WARNING, 6, "precompileUpgrades[0].warpConfig.quorum", "unknown key", "remove it");
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_and_values), cmocka_unit_test(refused),          cmocka_unit_test(locates),
        cmocka_unit_test(vm_config_findings),  cmocka_unit_test(genesis_findings), cmocka_unit_test(upgrade_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
