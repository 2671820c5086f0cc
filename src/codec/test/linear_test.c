#include "codec/linear.h"

#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A value of every kind. */
typedef struct inner {
    u16 h;
    cd_bytes text;
} inner;

typedef struct all {
    u8 b;
    bool flag;
    u32 w;
    u64 d;
    u8 fixed[3];
    inner in;
    cd_linear_list numbers; /* u16 */
    cd_linear_any any;      /* another value of the same type, or nothing */
} all;

static const cd_linear_type all_type;
static const cd_linear_type nothing_type = {.cnt = 0};
static const cd_linear_case cases[] = {{1, &nothing_type}, {9, &all_type}};
static const cd_linear_union either = CD_LINEAR_UNION(cases);
static const cd_linear_field number = {.kind = CD_LINEAR_U16};
static const cd_linear_field inner_fields[] = {
    CD_LINEAR_FIELD(U16, inner, h, "h"),
    CD_LINEAR_FIELD(STRING, inner, text, "text", .len = 5),
};
static const cd_linear_type inner_type = CD_LINEAR_TYPE(inner, inner_fields);
static const cd_linear_field all_fields[] = {
    CD_LINEAR_FIELD(U8, all, b, "b"),
    CD_LINEAR_FIELD(BOOL, all, flag, "flag"),
    CD_LINEAR_FIELD(U32, all, w, NULL),
    CD_LINEAR_FIELD(U64, all, d, "d"),
    CD_LINEAR_FIELD(FIXED, all, fixed, "fixed", .len = 3),
    CD_LINEAR_FIELD(STRUCT, all, in, "in", .of = &inner_type),
    CD_LINEAR_FIELD(LIST, all, numbers, "numbers", .elem = &number, .len = 3),
    CD_LINEAR_FIELD(UNION, all, any, "any", .any = &either),
};
static const cd_linear_type all_type = CD_LINEAR_TYPE(all, all_fields);

#define FRONT "ff01000001020102030405060708aabbcc123400026869"

static void expect(const char *hex, cd_err want, const char *message)
{
    u8 bytes[1024] = {0};
    cd_bytes text = cd_bytes_of(bytes, strlen(hex) / 2);
    cd_arena a = {0};
    cd_errinfo why = {0};
    all v = {.b = 0};
    assert_true(text.n <= sizeof bytes);
    assert_int_equal(cd_hex_parse(bytes, cd_bytes_str(hex)), CD_OK);
    assert_int_equal(cd_linear_parse(&v, &all_type, &a, text, 0, &why), want);
    if (want != CD_OK) {
        assert_string_equal(why.msg, message);
    } else {
        cd_buf out = {0};
        assert_int_equal(cd_linear_size(&all_type, &v), text.n);
        cd_linear_put(&out, &all_type, &v);
        assert_true(cd_bytes_eq(cd_buf_bytes(&out), text));
        cd_buf_fini(&out);
    }
    cd_arena_fini(&a);
}

/* [spec:pchain-xchain#1] */
static void test_layout(void **state)
{
    (void)state;
    expect("0000" FRONT "0000000000000001", CD_OK, "");
    expect("0000" FRONT "000000020001000200000009" FRONT "0000000000000001", CD_OK, "");
}

static void test_refusals(void **state)
{
    (void)state;
    expect("", CD_ESHORT, "couldn't unpack codec version");
    expect("00", CD_ESHORT, "couldn't unpack codec version");
    expect("0001" FRONT "0000000000000001", CD_EVERSION, "unknown codec version");
    expect("0000" FRONT "000000000000000100", CD_ETRAIL, "trailing buffer space");
    expect("0000" FRONT "0000000000000002", CD_ETYPE, "couldn't unmarshal interface: unknown type ID 2");
    expect("00000002", CD_EFORMAT, "unexpected value when unpacking bool");
    /* Counts are compared with what is left of the input before memory is taken. */
    expect("0000" FRONT "000000030001", CD_ESHORT, "packer has insufficient length for input");
    expect("0000" FRONT "00000004000100020003000400000001", CD_ELIMIT, "max slice length exceeded");
    expect("0000" FRONT "ffffffff", CD_ELIMIT, "max slice length exceeded");
    expect("0000ff01000001020102030405060708aabbcc12340006686868686868", CD_ELIMIT,
           "byte array exceeds maximum length");
    expect("0000ff01000001020102030405060708aabbcc1234ffff", CD_ESHORT, "packer has insufficient length for input");
}

static void test_depth(void **state)
{
    cd_buf hex = {0};
    (void)state;
    cd_buf_str(&hex, "0000");
    for (u32 i = 0; i + 1 < CD_LINEAR_DEPTH_MAX; i++) {
        cd_buf_str(&hex, "0000000000000000000000000000000000000000000000000000000009");
    }
    usize n = hex.n;
    cd_buf_str(&hex, "0000000000000000000000000000000000000000000000000000000001");
    expect(cd_buf_cstr(&hex), CD_OK, "");
    hex.n = n;
    cd_buf_str(&hex, "0000000000000000000000000000000000000000000000000000000009");
    cd_buf_str(&hex, "0000000000000000000000000000000000000000000000000000000001");
    expect(cd_buf_cstr(&hex), CD_EDEPTH, "values are nested too deeply");
    cd_buf_fini(&hex);
}

static void test_size_limit(void **state)
{
    cd_arena a = {0};
    all v = {.b = 0};
    static const u8 zeros[100];
    (void)state;
    assert_int_equal(cd_linear_parse(&v, &all_type, &a, cd_bytes_of(zeros, 100), 99, NULL), CD_ELIMIT);
    cd_arena_fini(&a);
}

static void test_json(void **state)
{
    u16 numbers[] = {1, 65535};
    all inside = {.any = {.is = &cases[0]}};
    all v = {.b = 255,
             .flag = true,
             .d = UINT64_MAX,
             .fixed = {1, 2, 3},
             .in = {.h = 7, .text = cd_bytes_str("a\"")},
             .numbers = {.v = numbers, .cnt = 2},
             .any = {.is = &cases[1], .v = &inside}};
    cd_buf out = {0};
    cd_json_w w = {.out = &out};
    (void)state;
    cd_linear_json(&w, NULL, &all_type, &v);
    assert_string_equal(cd_buf_cstr(&out),
                        "{\"b\":255,\"flag\":true,\"d\":18446744073709551615,\"fixed\":\"0x010203\",\"in\":{\"h\":7,"
                        "\"text\":\"a\\\"\"},\"numbers\":[1,65535],\"any\":{\"b\":0,\"flag\":false,\"d\":0,\"fixed\":"
                        "\"0x000000\",\"in\":{\"h\":0,\"text\":\"\"},\"numbers\":[],\"any\":{}}}");
    cd_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),     cmocka_unit_test(test_refusals), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_size_limit), cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
