#include "codec/abi.h"

#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static cd_abi_type type_of(cd_arena *a, const char *text)
{
    cd_abi_type t;
    assert_int_equal(cd_abi_parse(&t, a, cd_bytes_str(text), NULL), CD_OK);
    return t;
}

static cd_bytes hex(cd_arena *a, const char *text)
{
    cd_bytes b;
    assert_int_equal(cd_hex_parse_prefixed(&b, a, cd_bytes_str(text)), CD_OK);
    return b;
}

static void test_types(void **state)
{
    (void)state;
    cd_arena a = {0};
    static const char *const good[] = {
        "uint",    "int8",
        "uint256", "address",
        "bool",    "bytes",
        "bytes1",  "bytes32",
        "string",  "function",
        "uint8[]", "(uint256,bytes)[2][]",
        "()",      "((address,bool[3]),string[])",
    };
    for (usize i = 0; i < CD_COUNT(good); i++) {
        (void)type_of(&a, good[i]);
    }
    static const char *const bad[] = {
        "",
        "uint7",
        "uint264",
        "int0",
        "bytes33",
        "bytes0",
        "foo",
        "uint[",
        "uint[0]",
        "uint[-1]",
        "(uint",
        "(uint,)",
        "uint256 ",
        "()[]",
        "uint[99999999]",
        "uint[1000][1000][1000]",
        "uint08",
    };
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        cd_abi_type t;
        cd_errinfo why = {0};
        assert_int_not_equal(cd_abi_parse(&t, &a, cd_bytes_str(bad[i]), &why), CD_OK);
        assert_string_not_equal(why.msg, "");
    }
    cd_buf deep = {0};
    cd_buf_fill(&deep, '(', 100000);
    cd_abi_type t;
    assert_int_equal(cd_abi_parse(&t, &a, cd_buf_bytes(&deep), NULL), CD_EDEPTH);
    cd_buf_fini(&deep);
    cd_abi_type tuple = type_of(&a, "(uint8,bool[3],string)");
    assert_true(tuple.is_dynamic);
    assert_int_equal(tuple.inner[1].head, 96);
    assert_false(tuple.inner[1].is_dynamic);
    cd_arena_fini(&a);
}

/* The example g(uint256[][],string[]) of the ABI specification. */
static void test_nested_example(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_bytes want = hex(&a, "0000000000000000000000000000000000000000000000000000000000000040"
                            "0000000000000000000000000000000000000000000000000000000000000140"
                            "0000000000000000000000000000000000000000000000000000000000000002"
                            "0000000000000000000000000000000000000000000000000000000000000040"
                            "00000000000000000000000000000000000000000000000000000000000000a0"
                            "0000000000000000000000000000000000000000000000000000000000000002"
                            "0000000000000000000000000000000000000000000000000000000000000001"
                            "0000000000000000000000000000000000000000000000000000000000000002"
                            "0000000000000000000000000000000000000000000000000000000000000001"
                            "0000000000000000000000000000000000000000000000000000000000000003"
                            "0000000000000000000000000000000000000000000000000000000000000003"
                            "0000000000000000000000000000000000000000000000000000000000000060"
                            "00000000000000000000000000000000000000000000000000000000000000a0"
                            "00000000000000000000000000000000000000000000000000000000000000e0"
                            "0000000000000000000000000000000000000000000000000000000000000003"
                            "6f6e650000000000000000000000000000000000000000000000000000000000"
                            "0000000000000000000000000000000000000000000000000000000000000003"
                            "74776f0000000000000000000000000000000000000000000000000000000000"
                            "0000000000000000000000000000000000000000000000000000000000000005"
                            "7468726565000000000000000000000000000000000000000000000000000000");
    cd_abi_type t = type_of(&a, "(uint256[][],string[])");
    cd_abi_val v;
    cd_buf out = {0};
    assert_int_equal(cd_abi_dec(&v, &a, &t, want), CD_OK);
    assert_int_equal(v.items[0].items[0].items[1].num.w[0], 2);
    assert_int_equal(v.items[0].items[1].cnt, 1);
    assert_true(cd_bytes_eq(v.items[1].items[2].bytes, cd_bytes_str("three")));
    assert_int_equal(cd_abi_enc(&out, &t, &v), CD_OK);
    assert_true(cd_bytes_eq(cd_buf_bytes(&out), want));
    /* Cut short anywhere, the encoding is refused. */
    for (usize n = 0; n < want.n; n++) {
        assert_int_not_equal(cd_abi_dec(&v, &a, &t, cd_bytes_sub(want, 0, n)), CD_OK);
    }
    cd_buf_fini(&out);
    cd_arena_fini(&a);
}

static void test_strict(void **state)
{
    (void)state;
    cd_arena a = {0};
    static const struct {
        const char *type;
        const char *in;
        cd_err want;
    } cases[] = {
        {"(bool)", "0000000000000000000000000000000000000000000000000000000000000001", CD_OK},
        {"(bool)", "0000000000000000000000000000000000000000000000000000000000000002", CD_ECANON},
        {"(uint8)", "0000000000000000000000000000000000000000000000000000000000000100", CD_ECANON},
        {"(int8)", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff80", CD_OK},
        {"(int8)", "0000000000000000000000000000000000000000000000000000000000000080", CD_ECANON},
        {"(address)", "0000000000000000000000010000000000000000000000000000000000000000", CD_ECANON},
        {"(bytes2)", "aabb000000000000000000000000000000000000000000000000000000000000", CD_OK},
        {"(bytes2)", "aabb010000000000000000000000000000000000000000000000000000000000", CD_ECANON},
        {"(bytes)", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", CD_ERANGE},
        {"(uint256)", "00", CD_ESHORT},
        {"(bytes)",
         "0000000000000000000000000000000000000000000000000000000000000020"
         "0000000000000000000000000000000000000000000000000000000000000001"
         "aa00000000000000000000000000000000000000000000000000000000000001",
         CD_ECANON},
        {"(uint256[])",
         "0000000000000000000000000000000000000000000000000000000000000020"
         "0000000000000000000000000000000000000000000000000000000000000002"
         "0000000000000000000000000000000000000000000000000000000000000001",
         CD_ESHORT},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_abi_type t = type_of(&a, cases[i].type);
        cd_abi_val v;
        assert_int_equal(cd_abi_dec(&v, &a, &t, hex(&a, cases[i].in)), cases[i].want);
    }
    cd_arena_fini(&a);
}

/* Tails that point at each other would make 100^5 values out of a few kilobytes. */
static void test_overlap(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf in = {0};
    cd_u256 word = cd_u256_from_u64(32);
    cd_abi_type t = type_of(&a, "(uint256[][][][][])");
    cd_u256_store_be(cd_buf_extend(&in, 32), &word);
    for (usize level = 0; level < 5; level++) {
        word = cd_u256_from_u64(100);
        cd_u256_store_be(cd_buf_extend(&in, 32), &word);
        word = cd_u256_from_u64(level < 4 ? 3200 : 7);
        for (usize i = 0; i < 100; i++) {
            cd_u256_store_be(cd_buf_extend(&in, 32), &word);
        }
    }
    cd_abi_val v;
    assert_int_equal(cd_abi_dec(&v, &a, &t, cd_buf_bytes(&in)), CD_ELIMIT);
    cd_buf_fini(&in);
    cd_arena_fini(&a);
}

static void test_enc_refuses(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf out = {0};
    cd_abi_type t = type_of(&a, "uint8");
    cd_abi_val v = {.num = cd_u256_from_u64(256)};
    assert_int_equal(cd_abi_enc(&out, &t, &v), CD_ERANGE);
    t = type_of(&a, "bytes4");
    v.bytes = cd_bytes_str("abc");
    assert_int_equal(cd_abi_enc(&out, &t, &v), CD_ERANGE);
    t = type_of(&a, "uint8[2]");
    v.cnt = 1;
    assert_int_equal(cd_abi_enc(&out, &t, &v), CD_EINVAL);
    assert_int_equal(out.n, 0);
    cd_buf_fini(&out);
    cd_arena_fini(&a);
}

static void test_selector_and_reason(void **state)
{
    (void)state;
    u8 sel[4];
    cd_buf out = {0};
    cd_bytes reason;
    cd_abi_selector(sel, "transfer(address,uint256)");
    assert_memory_equal(sel, "\xa9\x05\x9c\xbb", 4);
    cd_abi_error_string(&out, cd_bytes_str("not enough"));
    assert_int_equal(out.n, 4 + 96);
    assert_true(cd_abi_reason(&reason, cd_buf_bytes(&out)));
    assert_true(cd_bytes_eq(reason, cd_bytes_str("not enough")));
    for (usize n = 0; n < 4 + 64 + 10; n++) {
        assert_false(cd_abi_reason(&reason, cd_bytes_of(out.p, n)));
    }
    cd_buf_fini(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),       cmocka_unit_test(test_nested_example),
        cmocka_unit_test(test_strict),      cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_enc_refuses), cmocka_unit_test(test_selector_and_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
