/* What is a transfer and what only looks like one, deep traces, and nodes that answer nonsense. */
#include "services/webhook/core/chain/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TRANSFER "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
#define SINGLE   "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"
#define BATCH    "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"
#define W0       "0000000000000000000000000000000000000000000000000000000000000000"
#define W(digit) "000000000000000000000000000000000000000000000000000000000000000" digit
#define W40      "0000000000000000000000000000000000000000000000000000000000000040"
#define W60      "0000000000000000000000000000000000000000000000000000000000000060"
#define W80      "0000000000000000000000000000000000000000000000000000000000000080"
#define HUGE     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0"
#define A1       "0x0000000000000000000000001111111111111111111111111111111111111111"
#define DIRTY    "0x0100000000000000000000001111111111111111111111111111111111111111"
#define HASH(c)  "0x" c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c
#define ADDR     "0x2222222222222222222222222222222222222222"

#define TX                                                                                                             \
    "{\"hash\":\"" HASH("a1") "\",\"from\":\"" ADDR "\",\"to\":\"" ADDR                                                \
                              "\",\"value\":\"0x5\",\"gas\":\"0x1\",\"nonce\":\"0x0\",\"input\":\"0xa9059cbb00\"}"
#define BLOCK(txs)                                                                                                     \
    "{\"number\":\"0x10\",\"hash\":\"" HASH("b2") "\",\"parentHash\":\"" HASH(                                         \
        "c3") "\",\"timestamp\":\"0x1\",\"gasUsed\":\"0x1\",\"gasLimit\":\"0x2\","                                     \
              "\"transactions\":[" txs "]}"
#define RECEIPT(logs)                                                                                                  \
    "{\"transactionHash\":\"" HASH("a1") "\",\"status\":\"0x1\",\"gasUsed\":\"0x1\",\"logs\":[" logs "]}"
#define LOG(index, topics, data)                                                                                       \
    "{\"address\":\"" ADDR "\",\"logIndex\":\"" index "\",\"topics\":[" topics "],\"data\":\"0x" data "\"}"

static cd_arena mem;

static cd_err parse(cd_wh_facts *out, const char *block, const char *receipts, const char *traces)
{
    cd_json b, r;
    cd_json t = {0};
    cd_errinfo why = {0};
    assert_int_equal(cd_json_parse(&b, &mem, cd_bytes_str(block), 0, &why), CD_OK);
    assert_int_equal(cd_json_parse(&r, &mem, cd_bytes_str(receipts), 0, &why), CD_OK);
    if (traces != NULL) {
        assert_int_equal(cd_json_parse_deep(&t, &mem, cd_bytes_str(traces), 0, CD_WH_TRACE_DEPTH_MAX, &why), CD_OK);
    }
    return cd_wh_facts_parse(out, &mem, b, r, t, &why);
}

static void test_moves(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        cd_wh_move move;
        u32 parts;
    } cases[] = {
        {LOG("0x0", "\"" TRANSFER "\",\"" A1 "\",\"" A1 "\"", W("1")), CD_WH_MOVE_ERC20, 1},
        {LOG("0x0", "\"" TRANSFER "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", ""), CD_WH_MOVE_ERC721, 1},
        {LOG("0x0", "\"" TRANSFER "\",\"" A1 "\",\"" A1 "\"", ""), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "\"" TRANSFER "\",\"" A1 "\",\"" A1 "\"", W0 W0), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "\"" TRANSFER "\",\"" A1 "\"", W0 W0), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "\"" TRANSFER "\",\"" DIRTY "\",\"" A1 "\"", W("1")), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "", ""), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "\"" SINGLE "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", W("1") W("2")), CD_WH_MOVE_ERC1155, 1},
        {LOG("0x0", "\"" SINGLE "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", W("1")), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "\"" SINGLE "\",\"" A1 "\",\"" A1 "\"", W("1") W("2")), CD_WH_MOVE_NONE, 0},
        {LOG("0x0", "\"" BATCH "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", W40 W80 W("1") W("7") W("1") W("9")),
         CD_WH_MOVE_ERC1155, 1},
        {LOG("0x0", "\"" BATCH "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", W40 W60 W0 W0), CD_WH_MOVE_ERC1155, 0},
        {LOG("0x0", "\"" BATCH "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", W40 W60 W("1") W0), CD_WH_MOVE_NONE,
         0}, /* one id, no value */
        {LOG("0x0", "\"" BATCH "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", W40 W40 W("2") W("1")), CD_WH_MOVE_NONE,
         0}, /* more than there is */
        {LOG("0x0", "\"" BATCH "\",\"" A1 "\",\"" A1 "\",\"" A1 "\"", HUGE HUGE), CD_WH_MOVE_NONE, 0},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_wh_facts f;
        char receipts[2048];
        (void)snprintf(receipts, sizeof receipts, "[" RECEIPT("%s") "]", cases[i].log);
        assert_int_equal(parse(&f, BLOCK(TX), receipts, NULL), CD_OK);
        assert_int_equal(f.logs_cnt, 1);
        assert_int_equal(f.txs[0].logs[0].move, cases[i].move);
        assert_int_equal(f.txs[0].logs[0].parts_cnt, cases[i].parts);
    }
    cd_arena_fini(&mem);
}

/* Each is a node's fault. */
static void test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *block, *receipts, *traces;
    } cases[] = {
        {"{}", "[]", NULL},
        {"[]", "[]", NULL},
        {BLOCK(""), "{}", NULL},
        {BLOCK(TX), "[]", NULL},
        {BLOCK(TX), "[" RECEIPT("") "," RECEIPT("") "]", NULL},
        {BLOCK(""), "[" RECEIPT("") "]", NULL},
        {BLOCK("\"" HASH("a1") "\""), "[" RECEIPT("") "]", NULL}, /* hashes only */
        {BLOCK(TX), "[{\"transactionHash\":\"" HASH("ff") "\",\"gasUsed\":\"0x1\",\"logs\":[]}]", NULL},
        {BLOCK(TX), "[" RECEIPT(LOG("0x1", "", "")) "," RECEIPT("") "]", NULL},
        {BLOCK(TX), "[" RECEIPT(LOG("0x1", "", "") "," LOG("0x1", "", "")) "]", NULL},
        {BLOCK(TX), "[" RECEIPT(LOG("0x100000000", "", "")) "]", NULL},
        {BLOCK(TX), "[" RECEIPT(LOG("0x1", "1,2,3,4,5", "")) "]", NULL},
        {BLOCK(TX), "[" RECEIPT(LOG("0x1", "\"0x12\"", "")) "]", NULL},
        {BLOCK(TX), "[" RECEIPT(LOG("0x1", "", "0")) "]", NULL},
        {BLOCK(TX), "[" RECEIPT("") "]", "[]"},
        {BLOCK(TX), "[" RECEIPT("") "]", "[{\"error\":\"timeout\"}]"},
        {BLOCK(TX), "[" RECEIPT("") "]", "[{\"txHash\":\"" HASH("ff") "\",\"result\":{}}]"},
        {BLOCK(TX), "[" RECEIPT("") "]", "[{\"result\":{\"calls\":[{}]}}]"},
        {BLOCK(TX), "[" RECEIPT("") "]", "[{\"result\":{\"calls\":[{\"type\":\"CALL\",\"value\":\"0x1\"}]}}]"},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_wh_facts f = {.number = 77};
        assert_int_not_equal(parse(&f, cases[i].block, cases[i].receipts, cases[i].traces), CD_OK);
        assert_int_equal(f.number, 77);
    }
    cd_arena_fini(&mem);
}

static void nest(cd_buf *out, u32 depth)
{
    cd_buf_str(out, "[{\"result\":{\"type\":\"CALL\"");
    for (u32 i = 0; i < depth; i++) {
        cd_buf_str(out, ",\"calls\":[{\"type\":\"CALL\",\"from\":\"" ADDR "\",\"to\":\"" ADDR "\",\"value\":\"0x1\"");
    }
    for (u32 i = 0; i < depth; i++) {
        cd_buf_str(out, "}]");
    }
    cd_buf_str(out, "}}]");
}

/* As deep as the EVM goes, and deeper than any node can mean. */
static void test_deep(void **state)
{
    (void)state;
    cd_wh_facts f;
    cd_buf text = {0};
    nest(&text, 1024);
    assert_int_equal(parse(&f, BLOCK(TX), "[" RECEIPT("") "]", cd_buf_cstr(&text)), CD_OK);
    assert_int_equal(f.inners_cnt, 1024);
    assert_int_equal(f.txs[0].inners[1023].depth, 1024);
    cd_buf_clear(&text);
    nest(&text, CD_WH_FRAMES_MAX + 1);
    assert_int_equal(parse(&f, BLOCK(TX), "[" RECEIPT("") "]", cd_buf_cstr(&text)), CD_EDEPTH);
    cd_buf_fini(&text);
    cd_arena_fini(&mem);
}

/* A reverted transaction moves nothing; the selector is the callee's first four bytes. */
static void test_tx(void **state)
{
    (void)state;
    cd_wh_facts f;
    assert_int_equal(parse(&f, BLOCK(TX),
                           "[{\"transactionHash\":\"" HASH("a1") "\",\"status\":\"0x0\","
                                                                 "\"gasUsed\":\"0x1\",\"logs\":[]}]",
                           NULL),
                     CD_OK);
    assert_false(f.txs[0].is_ok);
    assert_true(cd_u256_is_zero(&f.txs[0].moved));
    assert_true(f.txs[0].has_selector);
    assert_int_equal(f.txs[0].selector, 0xa9059cbb);
    assert_int_equal(f.time_ms, 1000);
    assert_false(f.has_base_fee);
    cd_arena_fini(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_tx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
