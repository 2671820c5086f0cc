#include "codec/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static cd_json parse(cd_arena *a, const char *text)
{
    cd_json doc;
    assert_int_equal(cd_json_parse(&doc, a, cd_bytes_str(text), 0, NULL), CD_OK);
    return doc;
}

static void test_getters(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_json d = parse(&a, "{\"n\":18446744073709551615,\"h\":\"0x00ff\",\"d\":\"0012\",\"t\":true,"
                          "\"s\":\"a\\u00e9\",\"f\":-1.5e2,\"l\":[1,[2,3]],\"z\":null,\"big\":"
                          "115792089237316195423570985008687907853269984665640564039457584007913129639936}");
    u64 n;
    cd_u256 w;
    bool t;
    double f;
    cd_bytes s;
    assert_int_equal(cd_json_u64(&n, cd_json_get(d, "n"), NULL), CD_OK);
    assert_true(n == UINT64_MAX);
    assert_int_equal(cd_json_u64(&n, cd_json_get(d, "h"), NULL), CD_OK);
    assert_int_equal(n, 255);
    assert_int_equal(cd_json_u64(&n, cd_json_get(d, "d"), NULL), CD_OK);
    assert_int_equal(n, 12);
    assert_int_equal(cd_json_bool(&t, cd_json_get(d, "t"), NULL), CD_OK);
    assert_true(t);
    assert_int_equal(cd_json_str(&s, cd_json_get(d, "s"), NULL), CD_OK);
    assert_true(cd_bytes_eq(s, cd_bytes_str("a\xc3\xa9")));
    assert_int_equal(cd_json_f64(&f, cd_json_get(d, "f"), NULL), CD_OK);
    assert_true(f == -150.0);
    assert_int_equal(cd_json_num(&s, cd_json_get(d, "f"), NULL), CD_OK);
    assert_true(cd_bytes_eq(s, cd_bytes_str("-1.5e2")));
    assert_int_equal(cd_json_num(&s, cd_json_get(d, "s"), NULL), CD_ETYPE);
    assert_int_equal(cd_json_u64(&n, cd_json_at(cd_json_at(cd_json_get(d, "l"), 1), 1), NULL), CD_OK);
    assert_int_equal(n, 3);
    assert_int_equal(cd_json_u256(&w, cd_json_get(d, "big"), NULL), CD_ERANGE);
    assert_int_equal(cd_json_u64(&n, cd_json_get(d, "f"), NULL), CD_EFORMAT);
    assert_false(cd_json_has(cd_json_get(d, "z")));
    assert_int_equal(cd_json_kind_of(cd_json_get(d, "z")), CD_JSON_NULL);
    assert_int_equal(cd_json_kind_of(cd_json_get(d, "absent")), CD_JSON_NONE);
    assert_int_equal(cd_json_len(cd_json_get(d, "l")), 2);
    cd_arena_fini(&a);
}

static void test_hex(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_json d = parse(&a, "[\"0xABcd\",\"abcd\",\"0xabc\",\"0x\",\"0xzz\",7]");
    cd_bytes b;
    u8 two[2];
    for (usize i = 0; i < 2; i++) {
        assert_int_equal(cd_json_hex(&b, &a, cd_json_at(d, i), NULL), CD_OK);
        assert_true(cd_bytes_eq(b, cd_bytes_of("\xab\xcd", 2)));
        assert_int_equal(cd_json_fixed(two, 2, cd_json_at(d, i), NULL), CD_OK);
        assert_memory_equal(two, "\xab\xcd", 2);
    }
    assert_int_equal(cd_json_hex(&b, &a, cd_json_at(d, 2), NULL), CD_EFORMAT);
    assert_int_equal(cd_json_fixed(two, 2, cd_json_at(d, 2), NULL), CD_ERANGE);
    assert_int_equal(cd_json_hex(&b, &a, cd_json_at(d, 3), NULL), CD_OK);
    assert_int_equal(b.n, 0);
    assert_int_equal(cd_json_hex(&b, &a, cd_json_at(d, 4), NULL), CD_EFORMAT);
    assert_int_equal(cd_json_hex(&b, &a, cd_json_at(d, 5), NULL), CD_ETYPE);
    cd_arena_fini(&a);
}

static void test_quantities(void **state)
{
    (void)state;
    cd_arena a = {0};
    static const struct {
        const char *text;
        cd_err want;
    } cases[] = {
        {"\"0x0\"", CD_OK},     {"\"0x1f\"", CD_OK},     {"\"0xffffffffffffffff\"", CD_OK},
        {"\"0x\"", CD_EFORMAT}, {"\"0x01\"", CD_ECANON}, {"\"0x10000000000000000\"", CD_ERANGE},
        {"\"1f\"", CD_EFORMAT}, {"31", CD_ETYPE},        {"\"0X1\"", CD_EFORMAT},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        u64 v;
        assert_int_equal(cd_json_qty_u64(&v, parse(&a, cases[i].text), NULL), cases[i].want);
    }
    cd_arena_fini(&a);
}

static void test_paths(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_errinfo why = {0};
    cd_bytes s;
    u64 n;
    cd_json d = parse(&a, "{\"x\":{\"list\":[{\"a\":1},{\"a\":\"q\"}]},\"y\":2}");
    cd_json list = cd_json_get(cd_json_get(d, "x"), "list");
    assert_int_equal(cd_json_u64(&n, cd_json_get(cd_json_at(list, 1), "a"), &why), CD_EFORMAT);
    assert_string_equal(why.msg, "x.list[1].a: not a number");
    assert_int_equal(cd_json_str(&s, cd_json_get(cd_json_at(list, 0), "b"), &why), CD_ENOENT);
    assert_string_equal(why.msg, "x.list[0].b: missing");
    /* Where several keys in a chain are missing, the first one is named. */
    assert_int_equal(cd_json_str(&s, cd_json_get(cd_json_get(d, "no"), "where"), &why), CD_ENOENT);
    assert_string_equal(why.msg, "no: missing");
    assert_int_equal(cd_json_obj(cd_json_get(d, "y"), &why), CD_ETYPE);
    assert_string_equal(why.msg, "y: not an object");
    assert_int_equal(cd_json_arr(d, &why), CD_ETYPE);
    assert_string_equal(why.msg, "not an array");
    cd_arena_fini(&a);
}

static void test_duplicates(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_json d = parse(&a, "{\"a\":1,\"b\":2,\"a\":3}");
    u64 n;
    usize cnt = 0;
    assert_int_equal(cd_json_u64(&n, cd_json_get(d, "a"), NULL), CD_OK);
    assert_int_equal(n, 3);
    cd_json_it it = cd_json_iter(d);
    while (cd_json_next(&it)) {
        cnt++;
    }
    assert_int_equal(cnt, 3);
    cd_arena_fini(&a);
}

static void test_limits(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_json d;
    cd_buf text = {0};
    cd_buf_fill(&text, '[', 100000);
    assert_int_equal(cd_json_parse(&d, &a, cd_buf_bytes(&text), 0, NULL), CD_EDEPTH);
    for (usize extra = 0; extra < 2; extra++) {
        cd_buf_clear(&text);
        cd_buf_fill(&text, '[', CD_JSON_DEPTH_MAX + extra);
        cd_buf_fill(&text, ']', CD_JSON_DEPTH_MAX + extra);
        assert_int_equal(cd_json_parse(&d, &a, cd_buf_bytes(&text), 0, NULL), extra == 0 ? CD_OK : CD_EDEPTH);
    }
    /* Brackets and escaped quotes inside strings do not count. */
    cd_buf_clear(&text);
    cd_buf_str(&text, "\"\\\"");
    cd_buf_fill(&text, '[', 2000);
    cd_buf_str(&text, "\"");
    assert_int_equal(cd_json_parse(&d, &a, cd_buf_bytes(&text), 0, NULL), CD_OK);
    assert_int_equal(cd_json_parse(&d, &a, cd_buf_bytes(&text), 100, NULL), CD_ELIMIT);
    assert_int_equal(cd_json_parse(&d, &a, (cd_bytes){0}, 0, NULL), CD_EFORMAT);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

static void test_raw(void **state)
{
    (void)state;
    cd_arena a = {0};
    cd_buf out = {0};
    cd_json_raw(&out, parse(&a, " { \"id\" : 1.50e+3 , \"x\" : [ null , \"\\n\" ] } "));
    assert_string_equal(cd_buf_cstr(&out), "{\"id\":1.50e+3,\"x\":[null,\"\\n\"]}");
    cd_buf_fini(&out);
    cd_arena_fini(&a);
}

static void test_writer(void **state)
{
    (void)state;
    cd_buf out = {0};
    cd_json_w w = {.out = &out};
    cd_u256 big = {.w = {0, 1, 0, 0}};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "a");
    cd_json_w_arr(&w);
    cd_json_w_u64(&w, UINT64_MAX);
    cd_json_w_i64(&w, -5);
    cd_json_w_null(&w);
    cd_json_w_bool(&w, true);
    cd_json_w_arr(&w);
    cd_json_w_arr_end(&w);
    cd_json_w_arr_end(&w);
    cd_json_w_key_str(&w, cd_bytes_str("q\"k"));
    cd_json_w_hex(&w, cd_bytes_of("\x00\xff", 2));
    cd_json_put_qty(&w, "q", 0);
    cd_json_put_qty_u256(&w, "r", &big);
    cd_json_put_cstr(&w, "s", "\"\\/\b\f\n\r\t\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    cd_json_put_cstr(&w, "bad", "\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82");
    cd_json_put_raw(&w, "raw", cd_bytes_str("{\"x\":1}"));
    cd_json_w_obj_end(&w);
    assert_string_equal(cd_buf_cstr(&out),
                        "{\"a\":[18446744073709551615,-5,null,true,[]],\"q\\\"k\":\"0x00ff\",\"q\":\"0x0\","
                        "\"r\":\"0x10000000000000000\",\"s\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\xc3\xa9"
                        "\xe2\x82\xac\xf0\x9f\x98\x80\",\"bad\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbd\",\"raw\":{\"x\":1}}");
    cd_buf_fini(&out);
}

/* A byte that needs escaping is changed wherever it stands, and the plain bytes around it are not. */
static void test_write_odd_places(void **state)
{
    static const struct {
        const char *in, *out;
    } odd[] = {{"\"", "\\\""}, {"\\", "\\\\"},           {"\n", "\\n"},           {"\x1f", "\\u001f"}, {"\x7f", "\x7f"},
               {" ", " "},     {"\xc3\xa9", "\xc3\xa9"}, {"\xff", "\xef\xbf\xbd"}};
    (void)state;
    for (usize k = 0; k < CD_COUNT(odd); k++) {
        for (usize before = 0; before < 4100; before += before == 20 ? 4070 : 1) { /* 4096 are written at once */
            cd_buf in = {0};
            cd_buf want = {0};
            cd_buf got = {0};
            cd_json_w w = {.out = &got};
            cd_buf_fill(&in, 'a', before);
            cd_buf_fmt(&in, "%s0123456789", odd[k].in);
            cd_buf_u8(&want, '"');
            cd_buf_fill(&want, 'a', before);
            cd_buf_fmt(&want, "%s0123456789\"", odd[k].out);
            cd_json_w_str(&w, cd_buf_bytes(&in));
            assert_string_equal(cd_buf_cstr(&got), cd_buf_cstr(&want));
            cd_buf_fini(&in);
            cd_buf_fini(&want);
            cd_buf_fini(&got);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_getters), cmocka_unit_test(test_hex),        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_paths),   cmocka_unit_test(test_duplicates), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_raw),     cmocka_unit_test(test_writer),     cmocka_unit_test(test_write_odd_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
