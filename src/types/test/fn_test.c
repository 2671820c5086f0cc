/* Functions as people describe them, values as people type them. */
#include "types/fn.h"

#include "base/hex.h"
#include "types/addr_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static cd_arena a;

/* A description read and written again; NULL: it was refused. */
static const char *again(const char *text)
{
    cd_buf out = {0};
    cd_fn f;
    if (cd_fn_parse(&f, &a, cd_bytes_str(text), NULL) != CD_OK) {
        return NULL;
    }
    cd_fn_fmt(&out, &f);
    const char *own = cd_arena_str(&a, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return own;
}

static void test_text(void **state)
{
    (void)state;
    static const char *const same[] = {
        "balanceOf(address owner) view(uint256)",
        "f() payable",
        "f(uint256[3][] a,(address to,bytes)[] calls) (bool,string why)",
    };
    for (usize i = 0; i < CD_COUNT(same); i++) {
        cd_fn f;
        assert_int_equal(cd_fn_parse(&f, &a, cd_bytes_str(same[i]), NULL), CD_OK);
    }
    assert_string_equal(again(same[0]), same[0]);
    assert_string_equal(again(same[1]), same[1]);
    assert_string_equal(again(same[2]), "f(uint256[3][] a,(address,bytes)[] calls) (bool,string why)");
    assert_string_equal(again("function transfer(address to, uint amount) external returns (bool);"),
                        "transfer(address to,uint256 amount) (bool)");
    assert_string_equal(again("  get ( tuple(uint8 x,int y) memory p )public pure returns( bytes )"),
                        "get((uint8,int256) p) view(bytes)");
    static const char *const bad[] = {"",
                                      "f",
                                      "f(",
                                      "f)",
                                      "f(,)",
                                      "f(uint257)",
                                      "f(address[)",
                                      "f(address[-1])",
                                      "(uint256)",
                                      "f(uint256))",
                                      "f(tuple)",
                                      "f(uint256)(",
                                      "f(uint256) view(uint256) x",
                                      "f((((((((((((((((((uint256))))))))))))))))))"};
    for (usize i = 0; i < CD_COUNT(bad); i++) {
        if (again(bad[i]) != NULL) {
            fail_msg("taken: %s", bad[i]);
        }
    }
    char *many = cd_arena_alloc(&a, 3000);
    memset(many, 'x', 2999);
    many[2999] = '\0';
    assert_null(again(many));
}

static void test_selector(void **state)
{
    (void)state;
    cd_fn f;
    u8 s[4];
    assert_int_equal(cd_fn_parse(&f, &a, cd_bytes_str("transfer(address to,uint amount) (bool)"), NULL), CD_OK);
    cd_fn_selector(s, &f);
    assert_memory_equal(s, "\xa9\x05\x9c\xbb", 4);
}

static usize list(const char *text, cd_fn **fns, cd_errinfo *why)
{
    usize cnt = 0;
    *fns = NULL;
    return cd_fn_list(fns, &cnt, &a, cd_bytes_str(text), why) == CD_OK ? cnt : 0;
}

static void test_files(void **state)
{
    (void)state;
    static const char json[] =
        "[{\"type\":\"constructor\",\"inputs\":[]},{\"type\":\"event\",\"name\":\"E\",\"inputs\":"
        "[]},"
        "{\"type\":\"function\",\"name\":\"quote\",\"stateMutability\":\"view\",\"inputs\":["
        "{\"name\":\"k\",\"type\":\"tuple[]\",\"components\":[{\"name\":\"to\",\"type\":"
        "\"address\"},"
        "{\"name\":\"n\",\"type\":\"uint8[2]\"}]}],\"outputs\":[{\"name\":\"\",\"type\":"
        "\"uint256\"}]},"
        "{\"type\":\"function\",\"name\":\"buy\",\"stateMutability\":\"payable\",\"inputs\":[],"
        "\"outputs\":[]}]";
    cd_fn *f;
    cd_errinfo why = {0};
    assert_int_equal(list(json, &f, &why), 2);
    assert_true(f[0].is_view && cd_bytes_eq(f[0].in[0].type, cd_bytes_str("(address,uint8[2])[]")));
    assert_true(cd_bytes_eq(f[0].in[0].name, cd_bytes_str("k")));
    assert_true(f[1].is_payable && f[1].in_cnt == 0);
    assert_int_equal(list(cd_arena_fmt(&a, "{\"contractName\":\"X\",\"abi\":%s}", json), &f, &why), 2);
    assert_int_equal(list("function a() view returns (uint)\n\nevent E(uint256 x)\nb(uint256 n)\n", &f, &why), 2);
    assert_int_equal(list("[\"event E()\",\"function c(bytes32 k)\"]", &f, &why), 1);
    assert_int_equal(list("a()\nwhat is this", &f, &why), 0);
    assert_non_null(strstr(why.msg, "line 2"));
    assert_int_equal(list("[{\"type\":\"function\",\"name\":\"<b>\"}]", &f, &why), 0);
    assert_int_equal(list("[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"type\":"
                          "\"uint8\",\"name\":\"x,address y\"}]}]",
                          &f, &why),
                     0);
    assert_int_equal(list("{\"abi\":5}", &f, &why), 0);
    assert_int_equal(list("[", &f, &why), 0);
    assert_int_equal(list("", &f, &why), 0);
}

/* A value of a type as it is encoded, without the outer offset of dynamic ones; NULL: refused. */
static const char *value(const char *type, const char *text)
{
    cd_abi_type t;
    cd_abi_val v;
    cd_buf out = {0};
    cd_buf hex = {0};
    assert_int_equal(cd_abi_parse(&t, &a, cd_bytes_str(cd_arena_fmt(&a, "(%s)", type)), NULL), CD_OK);
    if (cd_fn_value(&v, &a, &t.inner[0], cd_bytes_str(text), NULL) != CD_OK) {
        return NULL;
    }
    const cd_abi_val all = {.items = &v, .cnt = 1};
    const char *own = NULL;
    if (cd_abi_enc(&out, &t, &all) == CD_OK) {
        cd_hex_put(&hex, cd_buf_bytes(&out));
        own = cd_arena_str(&a, cd_buf_bytes(&hex));
    }
    cd_buf_fini(&out);
    cd_buf_fini(&hex);
    return own;
}

static const char *word(const char *end)
{
    char *out = cd_arena_alloc(&a, 67);
    usize n = strlen(end);
    memset(out, '0', 66);
    out[1] = 'x';
    memcpy(out + 66 - n, end, n + 1);
    return out;
}

static void test_values(void **state)
{
    (void)state;
    assert_string_equal(value("uint256", "1,000"), word("3e8"));
    assert_string_equal(value("uint256", " 0xff "), word("ff"));
    assert_string_equal(value("uint256", "1.5 LUX"), word("14d1120d7b160000"));
    assert_string_equal(value("uint256", "30gwei"), word("6fc23ac00"));
    assert_null(value("uint256", "1.5"));
    assert_null(value("uint256", "-1"));
    assert_null(value("uint256", ""));
    assert_null(value("uint256", "1e18"));
    assert_null(value("uint8", "256"));
    assert_null(value("uint256", "999999999999999999999999999999999999999999999999999999999999999"
                                 "999999999999999999"));
    assert_null(value("uint256", "1000000000000000000000000000000000000000000000000000000000000000"
                                 " LUX"));
    assert_string_equal(value("int8", "-2"), "0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe");
    assert_null(value("int8", "128"));
    assert_string_equal(value("bool", "true"), word("1"));
    assert_null(value("bool", "yes"));
    assert_string_equal(value("address", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
                        word("f39fd6e51aad88f6f4ce6ab8827279cfffb92266"));
    assert_string_equal(value("address", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"),
                        word("f39fd6e51aad88f6f4ce6ab8827279cfffb92266"));
    assert_null(value("address", "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
    assert_null(value("address", "0x1234"));
    assert_string_equal(value("bytes4", "0xDEADbeef"),
                        "0xdeadbeef00000000000000000000000000000000000000000000000000000000");
    assert_null(value("bytes4", "0xdead"));
    assert_null(value("bytes", "dead"));
    assert_null(value("bytes", "0xdea"));
    assert_non_null(value("string", "  as <it> is "));
    assert_string_equal(value("(uint8,bool)", "[\"7\", true]"), cd_arena_fmt(&a, "%s%s", word("7"), word("1") + 2));
    assert_non_null(value("uint256[]", "[1, \"2 gwei\", \"0x3\"]"));
    assert_non_null(value("(address,bytes)[]", "[[\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\",\"0x\"]]"));
    assert_null(value("uint256[2]", "[1]"));
    assert_null(value("uint256[]", "1"));
    assert_null(value("uint256[]", "[[1]]"));
    assert_null(value("uint256[]", "[1.5]"));
    assert_null(value("string[]", "[5]"));
}

static int fini(void **state)
{
    (void)state;
    cd_arena_fini(&a);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_selector),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, fini);
}
