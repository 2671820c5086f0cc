/* Descriptions of events: topics that are known, arguments of every kind, what is refused, data that does not fit. */
#include "services/webhook/core/chain/abi_event.h"

#include "base/hex.h"
#include "codec/abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char transfer[] = "event Transfer(address indexed from, address indexed to, uint256 value)";
static const char nft[] = "Transfer(address indexed, address indexed, uint256 indexed);";

static void compile(cd_buf *out, const char *text)
{
    cd_errinfo why = {0};
    if (cd_wh_abi_compile(out, cd_bytes_str(text), &why) != CD_OK) {
        fail_msg("%s: %s", text, why.msg);
    }
}

static cd_hash32 word(const char *hex)
{
    cd_hash32 w = {0};
    usize n = strlen(hex);
    assert_int_equal(cd_hex_parse(w.b + 32 - n / 2, cd_bytes_of(hex, n)), CD_OK);
    return w;
}

/* What is said of a log; the text lies in out. */
static const char *said(cd_buf *out, const char *event, const cd_wh_log *log)
{
    cd_json_w w = {.out = out};
    cd_buf_clear(out);
    cd_wh_abi_put(&w, event, log);
    return cd_buf_cstr(out);
}

static void test_topics(void **state)
{
    (void)state;
    static const struct {
        const char *text, *topic;
    } known[] = {
        {transfer, "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"},
        {"event Approval(address indexed owner, address indexed spender, uint value)",
         "8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"},
        {"TransferSingle( address indexed operator,address indexed from,\taddress indexed to,\n"
         "uint256 id, uint256 value )",
         "c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"},
        {"event TransferBatch(address indexed, address indexed, address indexed, uint256[], "
         "uint[])",
         "4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb"},
    };
    for (usize i = 0; i < CD_COUNT(known); i++) {
        cd_buf compiled = {0};
        char hex[65] = {0};
        compile(&compiled, known[i].text);
        cd_hex_fmt(hex, cd_bytes_of(compiled.p, 32));
        assert_string_equal(hex, known[i].topic);
        cd_buf_fini(&compiled);
    }
}

/* Two events of one signature: the number of topics tells them apart. */
static void test_transfers(void **state)
{
    (void)state;
    cd_buf compiled = {0};
    cd_buf out = {0};
    compile(&compiled, transfer);
    compile(&compiled, nft);
    cd_hash32 topics[4] = {word("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
                           word("9011e888251ab053b7bd1cdb598db4f9ded94714"),
                           word("52226d1637c2248f1d3ccc4405dd2ea1fafab4bf"), word("07")};
    const cd_hash32 amount = word("0de0b6b3a7640000");
    cd_wh_log log = {.topics = topics, .topics_cnt = 3, .data = cd_bytes_of(amount.b, 32)};
    const char *event = cd_wh_abi_find(cd_buf_bytes(&compiled), &log);
    assert_string_equal(event, transfer);
    assert_string_equal(said(&out, event, &log), "{\"name\":\"Transfer\",\"args\":{"
                                                 "\"from\":\"0x9011e888251ab053b7bd1cdb598db4f9ded94714\","
                                                 "\"to\":\"0x52226d1637c2248f1d3ccc4405dd2ea1fafab4bf\","
                                                 "\"value\":\"1000000000000000000\"}}");
    log.data = cd_bytes_sub(log.data, 0, 31); /* too short */
    assert_string_equal(said(&out, event, &log), "null");
    topics[1].b[0] = 1; /* no address */
    log.data = cd_bytes_of(amount.b, 32);
    assert_string_equal(said(&out, event, &log), "null");
    topics[1].b[0] = 0;
    log.topics_cnt = 4;
    log.data = (cd_bytes){0};
    event = cd_wh_abi_find(cd_buf_bytes(&compiled), &log);
    assert_string_equal(event, nft);
    assert_string_equal(said(&out, event, &log), "{\"name\":\"Transfer\",\"args\":{"
                                                 "\"0\":\"0x9011e888251ab053b7bd1cdb598db4f9ded94714\","
                                                 "\"1\":\"0x52226d1637c2248f1d3ccc4405dd2ea1fafab4bf\",\"2\":\"7\"}}");
    log.topics_cnt = 2;
    assert_null(cd_wh_abi_find(cd_buf_bytes(&compiled), &log));
    log.topics_cnt = 0; /* an anonymous event */
    assert_null(cd_wh_abi_find(cd_buf_bytes(&compiled), &log));
    assert_string_equal(said(&out, NULL, &log), "null");
    cd_buf_fini(&compiled);
    cd_buf_fini(&out);
}

static void test_kinds(void **state)
{
    (void)state;
    static const char event[] =
        "event Odd(int8 small, bool yes, bytes4 four, bytes raw, string text, string indexed key,"
        " (uint8,bool)[2] pairs, uint256[] list)";
    cd_arena mem = {0};
    cd_abi_type type;
    assert_int_equal(
        cd_abi_parse(&type, &mem, cd_bytes_str("(int8,bool,bytes4,bytes,string,(uint8,bool)[2],uint256[])"), NULL),
        CD_OK);
    const cd_u256 one = cd_u256_one();
    cd_u256 minus;
    cd_u256_neg(&minus, &one);
    const cd_abi_val first[] = {{.num = cd_u256_from_u64(1)}, {.num = one}};
    const cd_abi_val second[] = {{.num = cd_u256_from_u64(255)}, {.cnt = 0}};
    const cd_abi_val pairs[] = {{.items = first, .cnt = 2}, {.items = second, .cnt = 2}};
    const cd_abi_val list[] = {{.num = minus}};
    const cd_abi_val vals[] = {
        {.num = minus},
        {.num = one},
        {.bytes = cd_bytes_str("\x01\x02\x03\x04")},
        {.bytes = cd_bytes_str("\xff")},
        {.bytes = cd_bytes_str("say \"hi\"\xff")},
        {.items = pairs, .cnt = 2},
        {.items = list, .cnt = 1},
    };
    cd_buf data = {0};
    cd_buf out = {0};
    assert_int_equal(cd_abi_enc(&data, &type, &(cd_abi_val){.items = vals, .cnt = CD_COUNT(vals)}), CD_OK);
    const cd_hash32 topics[] = {word("00"), word("abcd")};
    const cd_wh_log log = {.topics = topics, .topics_cnt = 2, .data = cd_buf_bytes(&data)};
    assert_string_equal(said(&out, event, &log),
                        "{\"name\":\"Odd\",\"args\":{\"small\":\"-1\",\"yes\":true,\"four\":\"0x01020304\","
                        "\"raw\":\"0xff\",\"text\":\"say \\\"hi\\\"\xef\xbf\xbd\",\"key\":\"0x000000000000000000"
                        "000000000000000000000000000000000000000000abcd\",\"pairs\":[[\"1\",true],[\"255\",false]],"
                        "\"list\":[\"115792089237316195423570985008687907853269984665640564039457584007913129639935"
                        "\"]}}");
    /* any part of the data alone, and bytes of its own: decoded or null, never more */
    for (usize n = 0; n < data.n; n++) {
        const cd_wh_log cut = {.topics = topics, .topics_cnt = 2, .data = cd_bytes_sub(cd_buf_bytes(&data), 0, n)};
        assert_string_equal(said(&out, event, &cut), "null");
    }
    cd_buf_fini(&data);
    cd_buf_fini(&out);
    cd_arena_fini(&mem);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "event",
        "event Transfer",
        "Transfer(address",
        "event 1a(uint256)",
        "event A B(uint256)",
        "event A(uint257)",
        "event A(uint256 a b)",
        "event A(uint256 indexed a b)",
        "event A(address a, address a)",
        "event A(uint256 a-b)",
        "event A(uint256,)",
        "event A(uint indexed a, uint indexed b, uint indexed c, uint indexed d)",
        "event A(uint256) anonymous",
        "event A((uint256)",
        "event A(uint256))",
        "event A(tuple(uint256 a) x)",
    };
    cd_buf out = {0};
    char text[CD_WH_ABI_TEXT_MAX + 2];
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_errinfo why = {0};
        assert_int_not_equal(cd_wh_abi_compile(&out, cd_bytes_str(bad[i]), &why), CD_OK);
        assert_string_not_equal(why.msg, "");
        assert_int_equal(out.n, 0);
    }
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(cd_wh_abi_compile(&out, cd_bytes_str(text), NULL), CD_ELIMIT);
    assert_int_equal(cd_wh_abi_compile(&out, cd_bytes_of("event A()\0", 10), NULL), CD_EFORMAT);
    compile(&out, "event A()");
    cd_buf_clear(&out);
    cd_wh_abi_settings(&out, cd_bytes_str("{\"abi\":[\"event A()\",7,\"no\",\"B()\"]}"));
    assert_int_equal(out.n, 33 + sizeof "event A()" + 33 + sizeof "B()");
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_transfers),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
