/* Configurations and schedules: every complaint by its words, what is in force when, what a changed file
 * may change, and the JSON that clients see. [spec:precompiles-core#10] */
#include "precompile/policy.h"
#include "types/addr_text.h"

#include "codec/abi.h"
#include "evm/test/empty_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const cd_addr20 A1 = {.b = {[18] = 0xa0, [19] = 1}};
static const cd_addr20 A2 = {.b = {[18] = 0xa0, [19] = 2}};

#define A1_TEXT "\"0x000000000000000000000000000000000000a001\""
#define A2_TEXT "\"0x000000000000000000000000000000000000a002\""

static cd_chain_config chain_config(void)
{
    return (cd_chain_config){
        .durango = {.is_set = true, .at = 100},
        .shanghai = {.is_set = true, .at = 100},
        .etna = {.is_set = true, .at = 200},
        .cancun = {.is_set = true, .at = 200},
        .fee =
            {
                .gas_limit = cd_u256_from_u64(8000000),
                .target_block_rate = 2,
                .min_base_fee = cd_u256_from_u64(25000000000),
                .target_gas = cd_u256_from_u64(15000000),
                .base_fee_change_denominator = cd_u256_from_u64(36),
                .max_block_gas_cost = cd_u256_from_u64(1000000),
                .block_gas_cost_step = cd_u256_from_u64(200000),
            },
    };
}

/* The text of a configuration and of an upgrade file, and where modules live. */
typedef struct files {
    const char *config;
    const char *upgrades;
    cd_module_addrs addrs;
    bool warp_at_durango;
    u64 warp_quorum_min;
} files;

static cd_json json(cd_arena *a, const char *text)
{
    cd_json v = {0};
    if (text != NULL) {
        assert_int_equal(cd_json_parse(&v, a, cd_bytes_str(text), 0, NULL), CD_OK);
    }
    return v;
}

static cd_err make(cd_schedule **out, const files *f, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_chain_config chain = chain_config();
    cd_err e = cd_schedule_new(out,
                               &(cd_schedule_cfg){
                                   .chain = &chain,
                                   .config = json(&a, f->config),
                                   .upgrades = json(&a, f->upgrades),
                                   .addrs = f->addrs,
                                   .warp_at_durango = f->warp_at_durango,
                                   .warp_quorum_min = f->warp_quorum_min,
                               },
                               why);
    cd_arena_fini(&a); /* a schedule keeps nothing of the documents */
    return e;
}

static cd_schedule *good(const files *f)
{
    cd_schedule *s = NULL;
    cd_errinfo why = {0};
    cd_err e = make(&s, f, &why);
    if (e != CD_OK) {
        fail_msg("%s", why.msg);
    }
    return s;
}

/* --- complaints --- */

static void complaints(void **state)
{
    (void)state;
    static const struct {
        files f;
        const char *words;
    } rows[] = {
        {{.upgrades = "[{}]"}, "PrecompileUpgrade cannot be empty"},
        {{.upgrades = "[{\"warpConfig\":{},\"feeManagerConfig\":{}}]"},
         "PrecompileUpgrade must have exactly one key, got 2"},
        {{.upgrades = "[{\"noSuchConfig\":{}}]"}, "unknown precompile config: noSuchConfig"},
        {{.config = "{\"fheConfig\":{\"blockTimestamp\":0}}"}, "unknown precompile config: fheConfig"},
        {{.config = "{\"genesisPrecompiles\":{\"x\":{}}}"}, "unknown precompile config: x"},
        {{.upgrades = "[{\"warpConfig\":{}}]"},
         "PrecompileUpgrade (warpConfig) at [0]: block timestamp cannot be nil "},
        {{.upgrades = "[{\"warpConfig\":{\"blockTimestamp\":300}},"
                      "{\"txAllowListConfig\":{\"blockTimestamp\":299}}]"},
         "PrecompileUpgrade (txAllowListConfig) at [1]: config block timestamp (299) < previous "
         "timestamp (300)"},
        {{.upgrades = "[{\"warpConfig\":{\"blockTimestamp\":300,\"disable\":true}}]"},
         "PrecompileUpgrade (warpConfig) at [0]: disable should be [false]"},
        {{.config = "{\"warpConfig\":{\"blockTimestamp\":100}}",
          .upgrades = "[{\"warpConfig\":{\"blockTimestamp\":300}}]"},
         "PrecompileUpgrade (warpConfig) at [0]: disable should be [true]"},
        {{.upgrades = "[{\"warpConfig\":{\"blockTimestamp\":300}},"
                      "{\"warpConfig\":{\"blockTimestamp\":300,\"disable\":true}}]"},
         "PrecompileUpgrade (warpConfig) at [1]: config block timestamp (300) <= previous "
         "timestamp "
         "(300) of same key"},
        {{.config = "{\"warpConfig\":{\"blockTimestamp\":99}}"}, "warp cannot be activated before Durango"},
        {{.config = "{\"warpConfig\":{\"blockTimestamp\":100,\"quorumNumerator\":101}}"},
         "cannot specify quorum numerator (101) > quorum denominator (100)"},
        {{.config = "{\"warpConfig\":{\"blockTimestamp\":100,\"quorumNumerator\":66}}"},
         "cannot specify quorum numerator (66) < min quorum numerator (67)"},
        {{.config = "{\"warpConfig\":{\"blockTimestamp\":100,\"quorumNumerator\":32}}", .warp_quorum_min = 33},
         "cannot specify quorum numerator (32) < min quorum numerator (33)"},
        {{.config = "{\"txAllowListConfig\":{\"enabledAddresses\":[" A1_TEXT "," A1_TEXT "]}}"},
         "duplicate address in enabled list: 0x000000000000000000000000000000000000a001"},
        {{.config = "{\"txAllowListConfig\":{\"adminAddresses\":[" A1_TEXT "," A1_TEXT "]}}"},
         "duplicate address in admin list: 0x000000000000000000000000000000000000a001"},
        {{.config = "{\"txAllowListConfig\":{\"adminAddresses\":[" A2_TEXT "],\"enabledAddresses\":[" A2_TEXT "]}}"},
         "cannot set address as both admin and enabled: "
         "0x000000000000000000000000000000000000A002"},
        {{.config = "{\"txAllowListConfig\":{\"managerAddresses\":[" A1_TEXT "," A1_TEXT "]}}"},
         "duplicate address in manager list: 0x000000000000000000000000000000000000a001"},
        {{.config = "{\"txAllowListConfig\":{\"adminAddresses\":[" A1_TEXT "],\"managerAddresses\":[" A1_TEXT "]}}"},
         "cannot set address as both admin and manager: "
         "0x000000000000000000000000000000000000a001"},
        {{.config = "{\"txAllowListConfig\":{\"enabledAddresses\":[" A1_TEXT "],\"managerAddresses\":[" A1_TEXT "]}}"},
         "cannot set address as both enabled and manager: "
         "0x000000000000000000000000000000000000a001"},
        {{.config = "{\"txAllowListConfig\":{\"blockTimestamp\":99,\"managerAddresses\":[" A1_TEXT "]}}"},
         "cannot add managers before Durango"},
        {{.config = "{\"contractNativeMinterConfig\":{\"initialMint\":{" A1_TEXT ":\"0\"}}}"},
         "initial mint cannot contain invalid amount 0 for address "
         "0x000000000000000000000000000000000000a001"},
        {{.config = "{\"contractNativeMinterConfig\":{\"initialMint\":{" A1_TEXT ":null}}}"},
         "initial mint cannot contain nil amount for address "
         "0x000000000000000000000000000000000000a001"},
        {{.config = "{\"rewardManagerConfig\":{\"initialRewardConfig\":"
                    "{\"allowFeeRecipients\":true,\"rewardAddress\":" A1_TEXT "}}}"},
         "cannot enable both fee recipients and reward address at the same time"},
        {{.config = "{\"feeManagerConfig\":{\"initialFeeConfig\":{\"gasLimit\":1}}}"}, "minBaseFee cannot be nil"},
        {{.config = "{\"feeManagerConfig\":{\"initialFeeConfig\":{\"gasLimit\":1,"
                    "\"targetBlockRate\":0,\"minBaseFee\":1,\"targetGas\":1,"
                    "\"baseFeeChangeDenominator\":1,\"minBlockGasCost\":0,\"maxBlockGasCost\":1,"
                    "\"blockGasCostStep\":1}}}"},
         "targetBlockRate = 0 cannot be less than or equal to 0"},
        {{.config = "{\"addressBook\":{\"warpConfig\":\"0x0100000000000000000000000000000000000000"
                    "\"}}"},
         "address 0x0100000000000000000000000000000000000000 overlaps with blackhole address"},
        {{.config = "{\"addressBook\":{\"warpConfig\":\"0x0000000000000000000000000000000000020000"
                    "\"}}"},
         "address 0x0000000000000000000000000000000000020000 not in a reserved range"},
        {{.config = "{\"addressBook\":{\"warpConfig\":\"0x0000000000000000000000000000000000010201"
                    "\"}}"},
         "address 0x0000000000000000000000000000000000010201 already used by a stateful "
         "precompile"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_schedule *s = NULL;
        cd_errinfo why = {0};
        assert_int_not_equal(make(&s, &rows[i].f, &why), CD_OK);
        assert_string_equal(why.msg, rows[i].words);
        assert_null(s);
    }
}

static void malformed_documents(void **state)
{
    (void)state;
    static const char *const configs[] = {
        "{\"warpConfig\":[]}",
        "{\"warpConfig\":{\"blockTimestamp\":-1}}",
        "{\"warpConfig\":{\"blockTimestamp\":100,\"disable\":1}}",
        "{\"warpConfig\":{\"blockTimestamp\":100,\"quorumNumerator\":\"x\"}}",
        "{\"txAllowListConfig\":{\"adminAddresses\":{}}}",
        "{\"txAllowListConfig\":{\"adminAddresses\":[\"0x12\"]}}",
        "{\"contractNativeMinterConfig\":{\"initialMint\":{\"a001\":1}}}",
        "{\"rewardManagerConfig\":{\"initialRewardConfig\":{\"rewardAddress\":1}}}",
        "{\"feeManagerConfig\":{\"initialFeeConfig\":7}}",
        "{\"addressBook\":{\"warpConfig\":7}}",
    };
    for (usize i = 0; i < CD_COUNT(configs); i++) {
        cd_schedule *s = NULL;
        assert_int_not_equal(make(&s, &(files){.config = configs[i]}, NULL), CD_OK);
        assert_null(s);
    }
    cd_schedule *s = NULL;
    assert_int_not_equal(make(&s, &(files){.upgrades = "{}"}, NULL), CD_OK);
    assert_int_not_equal(make(&s, &(files){.upgrades = "[[]]"}, NULL), CD_OK);
    assert_null(s);
}

/* --- what is in force --- */

static bool in_table(const cd_schedule *s, const cd_addr20 *addr, u64 time)
{
    return cd_precompile_find(cd_schedule_table(s, time), addr) != NULL;
}

static void on_and_off(void **state)
{
    (void)state;
    cd_schedule *s = good(&(files){
        .config = "{\"txAllowListConfig\":{\"blockTimestamp\":50}}",
        .upgrades = "[{\"txAllowListConfig\":{\"blockTimestamp\":300,\"disable\":true}},"
                    "{\"txAllowListConfig\":{\"blockTimestamp\":400}}]",
    });
    static const struct {
        u64 time;
        bool is_on;
        cd_fork fork;
    } rows[] = {
        {0, false, CD_LONDON},  {49, false, CD_LONDON},        {50, true, CD_LONDON},   {100, true, CD_SHANGHAI},
        {200, true, CD_CANCUN}, {299, true, CD_CANCUN},        {300, false, CD_CANCUN}, {399, false, CD_CANCUN},
        {400, true, CD_CANCUN}, {UINT64_MAX, true, CD_CANCUN},
    };
    const cd_addr20 *addr = cd_schedule_addr(s, CD_MODULE_TX_ALLOW);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_module_id id;
        u64 t = rows[i].time;
        assert_int_equal(cd_schedule_active(s, CD_MODULE_TX_ALLOW, t) != NULL, rows[i].is_on);
        assert_int_equal(in_table(s, addr, t), rows[i].is_on);
        assert_int_equal(cd_schedule_find(s, &id, addr, t), rows[i].is_on);
        usize cnt;
        usize eth;
        (void)cd_precompile_list(cd_schedule_table(s, t), &cnt);
        (void)cd_precompile_list(cd_precompile_eth(rows[i].fork), &eth);
        assert_int_equal(cnt, eth + (rows[i].is_on ? 1 : 0));
        assert_false(in_table(s, cd_schedule_addr(s, CD_MODULE_WARP), t));
    }
    assert_false(cd_schedule_find(s, &(cd_module_id){0}, &A1, 400));
    cd_schedule_free(s);
}

static void changes_come_by_address_then_time(void **state)
{
    (void)state;
    cd_schedule *s = good(&(files){
        .config = "{\"genesisPrecompiles\":{\"rewardManagerConfig\":{\"blockTimestamp\":0}},"
                  "\"warpConfig\":{\"blockTimestamp\":0}}", /* inline, hence ignored */
        .upgrades = "[{\"feeManagerConfig\":{\"blockTimestamp\":300}},"
                    "{\"rewardManagerConfig\":{\"blockTimestamp\":310,\"disable\":true}},"
                    "{\"contractDeployerAllowListConfig\":{\"blockTimestamp\":320}},"
                    "{\"rewardManagerConfig\":{\"blockTimestamp\":330}}]",
    });
    const u64 parent = 299;
    static const struct {
        cd_module_id module;
        bool disable;
        u64 at;
    } want[] = {
        {CD_MODULE_DEPLOYER, false, 320},
        {CD_MODULE_REWARD, true, 310},
        {CD_MODULE_REWARD, false, 330},
        {CD_MODULE_FEE, false, 300},
    };
    cd_schedule_it it = cd_schedule_changes(s, &parent, 330);
    for (usize i = 0; i < CD_COUNT(want); i++) {
        assert_true(cd_schedule_next(&it));
        assert_int_equal(it.config->module, want[i].module);
        assert_int_equal(it.config->disable, want[i].disable);
        assert_int_equal(it.config->at.at, want[i].at);
        assert_true(cd_addr20_eq(it.addr, cd_schedule_addr(s, want[i].module)));
    }
    assert_false(cd_schedule_next(&it));
    /* The child's time counts, the parent's does not. */
    const u64 at = 300;
    it = cd_schedule_changes(s, &at, 309);
    assert_false(cd_schedule_next(&it));
    it = cd_schedule_changes(s, NULL, 0);
    assert_true(cd_schedule_next(&it));
    assert_int_equal(it.config->module, CD_MODULE_REWARD);
    assert_false(cd_schedule_next(&it));
    assert_null(cd_schedule_genesis(s, CD_MODULE_WARP));
    assert_non_null(cd_schedule_genesis(s, CD_MODULE_REWARD));
    cd_schedule_free(s);
}

static void addresses(void **state)
{
    (void)state;
    char text[CD_ADDR_TEXT_SIZE];
    static const char config[] =
        "{\"warpConfig\":{\"blockTimestamp\":100},"
        "\"addressBook\":{\"feeManagerConfig\":\"0x0300000000000000000000000000000000000001\"}}";
    cd_schedule *s = good(&(files){.config = config, .addrs = CD_ADDRS_PRIMARY});
    static const cd_addr20 legacy_warp = {.b = {[0] = 2, [19] = 5}};
    assert_string_equal(cd_addr_fmt(text, cd_schedule_addr(s, CD_MODULE_WARP)),
                        "0x0000000000000000000000000000000000016201");
    assert_string_equal(cd_addr_fmt(text, cd_schedule_addr(s, CD_MODULE_FEE)),
                        "0x0300000000000000000000000000000000000001");
    assert_true(in_table(s, cd_schedule_addr(s, CD_MODULE_WARP), 100));
    assert_true(in_table(s, &legacy_warp, 100));
    assert_false(in_table(s, &legacy_warp, 99));
    cd_schedule_free(s);

    s = good(&(files){.config = config});
    assert_false(in_table(s, &legacy_warp, 100));
    cd_schedule_free(s);

    s = good(&(files){.config = config, .addrs = CD_ADDRS_LEGACY});
    assert_true(cd_addr20_eq(cd_schedule_addr(s, CD_MODULE_WARP), &legacy_warp));
    assert_string_equal(cd_addr_fmt(text, cd_schedule_addr(s, CD_MODULE_DEPLOYER)),
                        "0x0200000000000000000000000000000000000000");
    cd_schedule_free(s);
}

static void warp_by_default(void **state)
{
    (void)state;
    cd_schedule *s = good(&(files){.warp_at_durango = true});
    assert_null(cd_schedule_active(s, CD_MODULE_WARP, 99));
    const cd_module_config *c = cd_schedule_active(s, CD_MODULE_WARP, 100);
    assert_non_null(c);
    assert_int_equal(c->own.warp.quorum, 0);
    cd_schedule_free(s);

    s = good(&(files){
        .warp_at_durango = true,
        .upgrades = "[{\"warpConfig\":{\"blockTimestamp\":150,\"quorumNumerator\":80}}]",
    });
    assert_null(cd_schedule_active(s, CD_MODULE_WARP, 149));
    assert_int_equal(cd_schedule_active(s, CD_MODULE_WARP, 150)->own.warp.quorum, 80);
    cd_schedule_free(s);
}

/* --- changed files --- */

static void compatible_files(void **state)
{
    (void)state;
    static const char first[] = "[{\"txAllowListConfig\":{\"blockTimestamp\":300}},"
                                "{\"feeManagerConfig\":{\"blockTimestamp\":400}}]";
    static const struct {
        const char *upgrades;
        u64 time;
        const char *words; /* the complaint; NULL: the new file may be used */
    } rows[] = {
        {first, 500, NULL},
        {"[]", 299, NULL},
        {"[]", 300,
         "mismatching missing PrecompileUpgrade[0] in database (have timestamp 300, want timestamp "
         "nil, rewindto timestamp 299)"},
        {"[{\"txAllowListConfig\":{\"blockTimestamp\":300,\"adminAddresses\":[" A1_TEXT "]}}]", 300,
         "mismatching PrecompileUpgrade[0] in database (have timestamp 300, want timestamp 300, "
         "rewindto timestamp 299)"},
        {"[{\"txAllowListConfig\":{\"blockTimestamp\":300}}]", 399, NULL},
        {"[{\"rewardManagerConfig\":{\"blockTimestamp\":250}},"
         "{\"txAllowListConfig\":{\"blockTimestamp\":300}}]",
         350,
         "mismatching cannot retroactively enable PrecompileUpgrade[0] in database (have timestamp "
         "nil, want timestamp 250, rewindto timestamp 249)"},
    };
    cd_schedule *old = good(&(files){.upgrades = first});
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_schedule *now = good(&(files){.upgrades = rows[i].upgrades});
        cd_errinfo why = {0};
        cd_err e = cd_schedule_compatible(old, now, rows[i].time, &why);
        assert_int_equal(e == CD_OK, rows[i].words == NULL);
        if (rows[i].words != NULL) {
            assert_string_equal(why.msg, rows[i].words);
        }
        cd_schedule_free(now);
    }
    cd_schedule_free(old);
}

/* --- JSON --- */

static void json_of_what_is_in_force(void **state)
{
    (void)state;
    static const char config[] =
        "{\"contractNativeMinterConfig\":{\"adminAddresses\":[" A1_TEXT
        "],\"blockTimestamp\":0,\"initialMint\":{" A1_TEXT ":\"0x64\"," A2_TEXT ":\"0x1\"}},"
        "\"feeManagerConfig\":{\"managerAddresses\":[" A2_TEXT
        "],\"blockTimestamp\":100,\"initialFeeConfig\":{\"gasLimit\":20000000,"
        "\"targetBlockRate\":2,\"minBaseFee\":1000000000,\"targetGas\":100000000,"
        "\"baseFeeChangeDenominator\":48,\"minBlockGasCost\":0,\"maxBlockGasCost\":10000000,"
        "\"blockGasCostStep\":500000}},"
        "\"rewardManagerConfig\":{\"blockTimestamp\":0,\"initialRewardConfig\":"
        "{\"allowFeeRecipients\":false,\"rewardAddress\":" A1_TEXT "}},"
        "\"txAllowListConfig\":{\"enabledAddresses\":[" A1_TEXT "," A2_TEXT "],\"blockTimestamp\":0},"
        "\"warpConfig\":{\"blockTimestamp\":100,\"quorumNumerator\":67,"
        "\"requirePrimaryNetworkSigners\":true}}";
    static const char upgrades[] = "[{\"txAllowListConfig\":{\"blockTimestamp\":300,"
                                   "\"disable\":true}}]";
    cd_schedule *s = good(&(files){.config = config, .upgrades = upgrades});
    cd_buf out = {0};
    cd_schedule_json_active(&(cd_json_w){.out = &out}, s, 100);
    assert_string_equal(cd_buf_cstr(&out), config);
    cd_buf_clear(&out);
    cd_schedule_json_upgrades(&(cd_json_w){.out = &out}, s);
    assert_string_equal(cd_buf_cstr(&out), upgrades);
    cd_buf_fini(&out);
    cd_schedule_free(s);
}

/* --- selectors --- */

static void selectors_are_those_of_the_signatures(void **state)
{
    (void)state;
    static const struct {
        u32 selector;
        const char *signature;
    } rows[] = {
#define FN(symbol, selector, signature, handler)    {selector, signature},
#define ALLOW_LIST_FN(selector, signature, handler) {selector, signature},
#include "precompile/modules.def"
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u8 selector[4];
        cd_abi_selector(selector, rows[i].signature);
        assert_int_equal(cd_be32(selector), rows[i].selector);
    }
}

/* --- what modules decide --- */

/* A source whose state has a single slot. */
typedef struct one_slot {
    cd_state_source src;
    cd_addr20 addr;
    cd_u256 key;
    cd_u256 value;
    cd_err err;
} one_slot;

static cd_err read_slot(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    const one_slot *s = (const one_slot *)src;
    bool hit = cd_addr20_eq(addr, &s->addr) && cd_u256_eq(slot, &s->key);
    *out = hit ? s->value : cd_u256_zero();
    return s->err;
}

static one_slot source_of(const cd_addr20 *addr, const cd_u256 *key, const cd_u256 *value)
{
    return (one_slot){
        .src = {.account = no_account, .storage = read_slot}, .addr = *addr, .key = *key, .value = *value};
}

static void senders(void **state)
{
    (void)state;
    cd_schedule *s = good(&(files){.config = "{\"txAllowListConfig\":{\"blockTimestamp\":50}}"});
    const cd_addr20 *list = cd_schedule_addr(s, CD_MODULE_TX_ALLOW);
    cd_u256 key = cd_u256_from_addr(&A1);
    for (u64 role = CD_ROLE_NONE; role <= CD_ROLE_MANAGER; role++) {
        cd_u256 value = cd_u256_from_u64(role);
        one_slot src = source_of(list, &key, &value);
        bool may;
        cd_role got;
        assert_int_equal(cd_policy_may_send(&may, s, &src.src, 50, &A1), CD_OK);
        assert_int_equal(may, role != CD_ROLE_NONE);
        assert_int_equal(cd_policy_may_send(&may, s, &src.src, 50, &A2), CD_OK);
        assert_false(may);
        assert_int_equal(cd_policy_may_send(&may, s, &src.src, 49, &A2), CD_OK);
        assert_true(may);
        assert_int_equal(cd_policy_role(&got, &src.src, list, &A1), CD_OK);
        assert_int_equal(got, role);
        src.err = CD_EIO;
        assert_int_equal(cd_policy_may_send(&may, s, &src.src, 50, &A1), CD_EIO);
    }
    cd_schedule_free(s);
}

static void coinbase(void **state)
{
    (void)state;
    cd_schedule *s = good(&(files){.config = "{\"rewardManagerConfig\":{\"blockTimestamp\":50}}"});
    cd_u256 key = cd_u256_zero();
    u8 text[32] = "rask";
    cd_u256_load_be(&key, text);
    cd_u256 value = cd_u256_from_addr(&A2);
    one_slot src = source_of(cd_schedule_addr(s, CD_MODULE_REWARD), &key, &value);
    cd_coinbase_rule rule;
    assert_int_equal(cd_policy_coinbase(&rule, s, &src.src, 50), CD_OK);
    assert_false(rule.is_free);
    assert_true(cd_addr20_eq(&rule.addr, &A2));
    u8 any[32] = "afrav";
    cd_u256_load_be(&src.value, any);
    assert_int_equal(cd_policy_coinbase(&rule, s, &src.src, 50), CD_OK);
    assert_true(rule.is_free);
    /* Before the module is in force the genesis decides: nobody gets the fees. */
    assert_int_equal(cd_policy_coinbase(&rule, s, &src.src, 49), CD_OK);
    assert_false(rule.is_free);
    assert_true(cd_addr20_eq(&rule.addr, &CD_BLACKHOLE));
    src.err = CD_EIO;
    assert_int_equal(cd_policy_coinbase(&rule, s, &src.src, 50), CD_EIO);
    cd_schedule_free(s);
}

static void fees(void **state)
{
    (void)state;
    cd_schedule *s = good(&(files){.config = "{\"feeManagerConfig\":{\"blockTimestamp\":50}}"});
    cd_u256 zero = cd_u256_zero();
    one_slot src = source_of(&A1, &zero, &zero);
    cd_fee_config f;
    cd_u256 changed = cd_u256_one();
    assert_int_equal(cd_policy_fees(&f, &changed, s, &src.src, 49), CD_OK);
    assert_int_equal(f.gas_limit.w[0], 8000000);
    assert_true(cd_u256_is_zero(&changed));
    /* A module in force with nothing stored is a corrupt state. */
    assert_int_equal(cd_policy_fees(&f, NULL, s, &src.src, 50), CD_ECORRUPT);

    cd_state *st = cd_state_new(&src.src);
    cd_schedule_apply(s, st, NULL, 50, 3);
    const cd_acct *a = cd_state_acct(st, cd_schedule_addr(s, CD_MODULE_FEE));
    assert_int_equal(a->nonce, 1);
    cd_u256 key = {.w = {[3] = (u64)4 << 56}};
    assert_int_equal(cd_state_slot(st, cd_state_acct(st, &a->addr), &key)->value.w[0], 15000000);
    u8 text[32] = "lca";
    cd_u256_load_be(&key, text);
    assert_int_equal(cd_state_slot(st, cd_state_acct(st, &a->addr), &key)->value.w[0], 3);
    cd_state_free(st);
    cd_schedule_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complaints),
        cmocka_unit_test(malformed_documents),
        cmocka_unit_test(on_and_off),
        cmocka_unit_test(changes_come_by_address_then_time),
        cmocka_unit_test(addresses),
        cmocka_unit_test(warp_by_default),
        cmocka_unit_test(compatible_files),
        cmocka_unit_test(json_of_what_is_in_force),
        cmocka_unit_test(selectors_are_those_of_the_signatures),
        cmocka_unit_test(senders),
        cmocka_unit_test(coinbase),
        cmocka_unit_test(fees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
