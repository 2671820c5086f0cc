#include "codec/ids.h"

#include "base/hex.h"
#include "codec/base58.h"
#include "codec/encoding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(cd_buf *got, const char *want)
{
    assert_string_equal(cd_buf_cstr(got), want);
    cd_buf_fini(got);
}

/* Reads a wrong text and compares the error text. */
#define refused(parse, out, text, message)                                                                             \
    do {                                                                                                               \
        cd_errinfo why = {0};                                                                                          \
        assert_int_not_equal(parse((out), cd_bytes_str(text), &why), CD_OK);                                           \
        assert_string_equal(why.msg, (message));                                                                       \
    } while (0)

static void test_base58_limits(void **state)
{
    u8 b[CD_BASE58_BYTES_MAX];
    u8 back[CD_BASE58_BYTES_MAX];
    usize n = 0;
    (void)state;
    /* The largest number and the smallest one of the largest length need all the room there is. */
    for (int fill = 0; fill < 2; fill++) {
        cd_buf text = {0};
        memset(b, fill == 0 ? 0 : 0xff, sizeof b);
        cd_base58_put(&text, cd_bytes_of(b, sizeof b));
        assert_true(text.n <= CD_BASE58_TEXT_MAX);
        assert_int_equal(cd_base58_parse(back, &n, cd_buf_bytes(&text), NULL), CD_OK);
        assert_int_equal(n, sizeof b);
        assert_memory_equal(back, b, n);
        cd_buf_u8(&text, '1');
        assert_int_equal(cd_base58_parse(back, &n, cd_buf_bytes(&text), NULL), CD_ELIMIT);
        cd_buf_fini(&text);
    }
    cd_buf z = {0};
    cd_buf_fill(&z, 'z', CD_BASE58_TEXT_MAX);
    assert_int_equal(cd_base58_parse(back, &n, cd_buf_bytes(&z), NULL), CD_ELIMIT);
    cd_buf_fini(&z);
}

/* Every length, with zeros in front and within: the reader works digit by digit, the writer does not. */
static void test_base58_round_trip(void **state)
{
    (void)state;
    u64 x = 88172645463325252ull;
    for (usize n = 0; n <= CD_BASE58_BYTES_MAX; n++) {
        for (u32 round = 0; round < 64; round++) {
            u8 b[CD_BASE58_BYTES_MAX + 1] = {0};
            u8 back[CD_BASE58_BYTES_MAX];
            usize got;
            cd_buf text = {0};
            usize zeros = round % 8 < n ? round % 8 : n;
            for (usize i = zeros; i < n; i++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                b[i] = round % 5 == 0 ? 0xff : round % 5 == 1 && i % 3 != 0 ? 0 : (u8)x;
            }
            cd_base58_put(&text, cd_bytes_of(b, n));
            assert_in_range(text.n, n == 0 ? 0 : 1, CD_BASE58_TEXT_MAX);
            if (n != 0) {
                assert_int_equal(cd_base58_parse(back, &got, cd_buf_bytes(&text), NULL), CD_OK);
                assert_int_equal(got, n);
                assert_memory_equal(back, b, n);
            }
            cd_buf_fini(&text);
        }
    }
}

static void test_base58_digits(void **state)
{
    cd_hash32 id;
    (void)state;
    refused(cd_id_parse, &id, "0", "base58 decoding error: Invalid base58 digit ('0')");
    refused(cd_id_parse, &id, "1'", "base58 decoding error: Invalid base58 digit ('\\'')");
    refused(cd_id_parse, &id, "\n", "base58 decoding error: Invalid base58 digit ('\\x0a')");
    refused(cd_id_parse, &id, "\xc3\xa9", "base58 decoding error: High-bit set on invalid digit");
    /* A NUL inside does not end the text. */
    assert_int_equal(cd_id_parse(&id, cd_bytes_of("11\0", 3), NULL), CD_EFORMAT);
}

/* [spec:node-api#2.1] */
static void test_id(void **state)
{
    cd_hash32 id = {{0}};
    cd_buf text = {0};
    (void)state;
    cd_id_put(&text, &id);
    expect(&text, "11111111111111111111111111111111LpoYY");
    memset(id.b, 7, sizeof id.b);
    refused(cd_id_parse, &id, "11111111111111111111111111111111LpoYZ", "invalid input checksum");
    refused(cd_id_parse, &id, "45PJLL", "invalid hash length: expected 32 bytes but got 0");
    assert_int_equal(id.b[31], 7); /* the parse that failed has left it alone */
    assert_int_equal(cd_id_parse(&id, cd_bytes_str("11111111111111111111111111111111LpoYY"), NULL), CD_OK);
    assert_true(cd_hash32_is_zero(&id));
}

static void test_node_id(void **state)
{
    static const char text[] = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg";
    cd_node_id id;
    cd_buf out = {0};
    (void)state;
    assert_int_equal(cd_node_id_parse(&id, cd_bytes_str(text), NULL), CD_OK);
    cd_node_id_put(&out, &id);
    expect(&out, text);
    refused(cd_node_id_parse, &id, text + 7, "ID: 7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg is missing the prefix: NodeID-");
    refused(cd_node_id_parse, &id, "nodeid-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg",
            "ID: nodeid-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg is missing the prefix: NodeID-");
    refused(cd_node_id_parse, &id, "NodeID-", "base58 decoding error: zero length string");
}

static void test_address(void **state)
{
    cd_chain_addr a;
    cd_buf out = {0};
    (void)state;
    assert_int_equal(cd_chain_addr_parse(&a, cd_bytes_str("P-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28"), NULL),
                     CD_OK);
    assert_true(cd_bytes_eq(a.chain, cd_bytes_str("P")));
    assert_string_equal(a.prefix, "lux");
    cd_chain_addr_put(&out, "X", "custom", &a.addr);
    expect(&out, "X-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p");
    refused(cd_chain_addr_parse, &a, "bad", "no separator found in address");
    refused(cd_chain_addr_parse, &a, "", "no separator found in address");
    /* [testdata: net1337-platform.json] */
    refused(cd_chain_addr_parse, &a, "P-custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7q",
            "invalid checksum (expected (bech32=9xde7p, bech32m=9xde7ps6a4mr), got 9xde7q)");
    refused(cd_chain_addr_parse, &a, "P-Custom18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p",
            "string not all lowercase or all uppercase");
    refused(cd_chain_addr_parse, &a, "P-18jma8ppw3nhx5r4ap8clazz0dps7rv5u9xde7p", "invalid separator index 0");
    refused(cd_chain_addr_parse, &a, "P-abcdefghi", "invalid separator index -1");
    refused(cd_chain_addr_parse, &a, "P-abc", "invalid bech32 string length 3");
    refused(cd_chain_addr_parse, &a, "P-lux1b8jma8ppw3nhx5r4ap", "invalid character not part of charset: 98");
    refused(cd_chain_addr_parse, &a, "P-lux1 8jma8ppw3nhx5r4ap", "invalid character in string: ' '");
}

/* [BIP-173] */
static void test_bech32(void **state)
{
    static const char *const valid[] = {
        "A12UEL5L", "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j"};
    /* One character too long, a wrong checksum, bech32m. */
    static const char *const invalid[] = {
        "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx", "a12uel5x",
        "a1lqfn3a"};
    cd_bech32 b;
    (void)state;
    for (usize i = 0; i < 3; i++) {
        assert_int_equal(cd_bech32_parse(&b, cd_bytes_str(valid[i]), NULL), CD_OK);
        assert_int_equal(b.n, 0);
    }
    /* 82 groups are 51 bytes and two bits. */
    assert_int_equal(cd_bech32_parse(&b, cd_bytes_str(valid[3]), NULL), CD_OK);
    assert_int_equal(b.n, CD_BECH32_BYTES_MAX);
    for (usize i = 0; i < CD_COUNT(invalid); i++) {
        assert_int_equal(cd_bech32_parse(&b, cd_bytes_str(invalid[i]), NULL), CD_EFORMAT);
    }
    for (usize n = 0; n <= CD_BECH32_BYTES_MAX; n++) {
        u8 bytes[CD_BECH32_BYTES_MAX];
        cd_buf text = {0};
        memset(bytes, 0xa5, sizeof bytes);
        cd_bech32_put(&text, "x", cd_bytes_of(bytes, n));
        assert_int_equal(cd_bech32_parse(&b, cd_buf_bytes(&text), NULL), CD_OK);
        assert_int_equal(b.n, n);
        assert_memory_equal(b.b, bytes, n);
        cd_buf_fini(&text);
    }
    /* Checksums that fit, but five zero bits, or one bit that is set, behind the bytes. */
    refused(cd_bech32_parse, &b, "a1q3g6mn3", "invalid incomplete group");
    refused(cd_bech32_parse, &b, "a1qpamnt9j", "invalid incomplete group");
}

static void test_encoding(void **state)
{
    cd_arena a = {0};
    cd_bytes got;
    cd_encoding e = CD_ENCODING_JSON;
    cd_buf text = {0};
    (void)state;
    assert_int_equal(cd_encoding_parse(&e, cd_bytes_str("HexNC"), NULL), CD_OK);
    assert_int_equal(e, CD_ENCODING_HEXNC);
    assert_int_equal(cd_encoding_parse(&e, cd_bytes_str("cb58"), NULL), CD_EFORMAT);
    assert_int_equal(cd_encoding_parse(&e, cd_bytes_str(""), NULL), CD_EFORMAT);
    assert_string_equal(cd_encoding_name(CD_ENCODING_HEXC), "hexc");
    cd_encoding_put(&text, CD_ENCODING_HEX, cd_bytes_str("hello"));
    assert_int_equal(cd_encoding_dec(&got, &a, CD_ENCODING_HEXC, cd_buf_bytes(&text), NULL), CD_OK);
    assert_true(cd_bytes_eq(got, cd_bytes_str("hello")));
    expect(&text, "0x68656c6c6f938b9824");
    assert_int_equal(cd_encoding_dec(&got, &a, CD_ENCODING_HEX, (cd_bytes){0}, NULL), CD_OK);
    assert_int_equal(got.n, 0);
    assert_int_equal(cd_encoding_dec(&got, &a, CD_ENCODING_HEX, cd_bytes_str("0X"), NULL), CD_EFORMAT);
    assert_int_equal(cd_encoding_dec(&got, &a, CD_ENCODING_JSON, cd_bytes_str("{}"), NULL), CD_EUNSUPPORTED);
    cd_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base58_round_trip),
        cmocka_unit_test(test_base58_limits),
        cmocka_unit_test(test_base58_digits),
        cmocka_unit_test(test_id),
        cmocka_unit_test(test_node_id),
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_bech32),
        cmocka_unit_test(test_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
