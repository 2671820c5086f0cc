#include "types/genesis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char document[] =
    "{\"config\":{\"chainId\":1337,\"homesteadBlock\":0,\"londonBlock\":\"0x5\",\"shanghaiTime\":7,"
    "\"quasarTimestamp\":9,\"evmTimestamp\":0,\"feeSplitTimestamp\":null,"
    "\"blobSchedule\":{\"cancun\":{\"target\":3,\"max\":6,\"baseFeeUpdateFraction\":3338477}},"
    "\"feeConfig\":{\"gasLimit\":8000000,\"targetBlockRate\":2,\"minBaseFee\":25000000000,"
    "\"targetGas\":15000000,\"baseFeeChangeDenominator\":36,\"minBlockGasCost\":0,"
    "\"maxBlockGasCost\":1000000,\"blockGasCostStep\":200000},\"allowFeeRecipients\":true},"
    "\"nonce\":\"0x42\",\"timestamp\":\"0x10\",\"gasLimit\":\"8000000\",\"difficulty\":\"0x1\","
    "\"extraData\":\"0xabcd\",\"baseFeePerGas\":\"0x7\",\"alloc\":{"
    "\"0x00000000000000000000000000000000000000bb\":{\"balance\":\"0x10\"},"
    "\"00000000000000000000000000000000000000AA\":{\"balance\":\"10\",\"nonce\":\"0x1\","
    "\"code\":\"0x6001\",\"storage\":{\"0x1\":\"0x02\",\"0x0a\":\"0x\"}},"
    "\"0x00000000000000000000000000000000000000BB\":{\"balance\":\"17\"}}}";

static void test_document(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_genesis g;
    cd_errinfo why = {0};
    cd_err e = cd_genesis_parse(&g, &a, cd_bytes_str(document), &why);
    assert_string_equal(why.msg, "");
    assert_int_equal(e, CD_OK);
    assert_int_equal(g.config.chain_id, 1337);
    assert_true(g.config.homestead.is_set);
    assert_int_equal(g.config.london.at, 5);
    assert_int_equal(g.config.shanghai.at, 7);
    assert_int_equal(g.config.etna.at, 9);
    assert_true(g.config.subnet_evm.is_set);
    assert_false(g.config.fee_split.is_set);
    assert_false(g.config.cancun.is_set);
    assert_true(g.config.has_blob_cancun && g.config.has_fee_config && g.config.allow_fee_recipients);
    assert_int_equal(g.config.fee.min_base_fee.w[0], 25000000000);
    assert_int_equal(g.config.layout, CD_HEADER_L1);
    assert_int_equal(g.header.nonce[7], 0x42);
    assert_int_equal(g.header.time, 16);
    assert_int_equal(g.header.gas_limit, 8000000);
    assert_int_equal(g.header.extra.n, 2);
    assert_int_equal(g.header.has, CD_HEADER_BASE_FEE);
    /* Ascending, and of two spellings of one address the later one. */
    assert_int_equal(g.account_cnt, 2);
    assert_int_equal(g.accounts[0].addr.b[19], 0xaa);
    assert_int_equal(g.accounts[0].balance.w[0], 10);
    assert_int_equal(g.accounts[0].nonce, 1);
    assert_int_equal(g.accounts[0].code.n, 2);
    assert_int_equal(g.accounts[0].slot_cnt, 2);
    assert_int_equal(g.accounts[0].slots[0].key.b[31], 1);
    assert_int_equal(g.accounts[0].slots[0].value.b[31], 2);
    assert_int_equal(g.accounts[0].slots[1].value.b[31], 0);
    assert_int_equal(g.accounts[1].balance.w[0], 17);
    cd_arena_fini(&a);
}

static void test_layout(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_genesis g;
    static const char plain[] = "{\"config\":{\"chainId\":1},\"gasLimit\":1,\"difficulty\":0,\"alloc\":{}}";
    assert_int_equal(cd_genesis_parse(&g, &a, cd_bytes_str(plain), NULL), CD_OK);
    assert_int_equal(g.config.layout, CD_HEADER_C);
    cd_arena_fini(&a);
}

static void test_refused(void **state)
{
    (void)state;
    cd_arena a = {0};
    static const struct {
        const char *text;
        const char *msg;
    } cases[] = {
        {"[]", "not an object"},
        {"{}", "gasLimit: missing"},
        {"{\"gasLimit\":1,\"difficulty\":0}", "alloc: missing"},
        {"{\"gasLimit\":1,\"difficulty\":0,\"alloc\":{\"0x12\":{}}}", "alloc.0x12: key is not an address"},
        {"{\"gasLimit\":\"x\",\"difficulty\":0,\"alloc\":{}}", "gasLimit: not a number"},
        {"{\"gasLimit\":1,\"difficulty\":0,\"config\":{\"feeConfig\":{\"minBaseFee\":[]}},"
         "\"alloc\":{}}",
         "config.feeConfig.minBaseFee: not a number"},
        {"{\"gasLimit\":1,\"difficulty\":0,\"alloc\":{\"00000000000000000000000000000000000000aa\":"
         "{\"storage\":{\"0xzz\":\"0x1\"}}}}",
         "alloc.00000000000000000000000000000000000000aa.storage.0xzz: not a 32-byte word"},
        {"{\"gasLimit\":1,\"difficulty\":0,\"alloc\":{\"00000000000000000000000000000000000000aa\":"
         "{\"nonce\":\"0x10000000000000000\"}}}",
         "alloc.00000000000000000000000000000000000000aa.nonce: number does not fit 64 bits"},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_genesis g;
        cd_errinfo why = {0};
        assert_int_not_equal(cd_genesis_parse(&g, &a, cd_bytes_str(cases[i].text), &why), CD_OK);
        assert_string_equal(why.msg, cases[i].msg);
    }
    cd_arena_fini(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
