#include "codec/api_json.h"

#include "base/os/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static cd_buf text;

static void expect(const char *want)
{
    assert_string_equal(cd_buf_cstr(&text), want);
    cd_buf_fini(&text);
}

static void test_ids(void **state)
{
    (void)state;
    const cd_hash32 zero = {0};
    const cd_node_id node = {.b = {0x47, 0x9f, 0x66, 0xc8, 0xbe, 0x89, 0x58, 0x30, 0x54, 0x7e,
                                   0x70, 0xb4, 0xb2, 0x98, 0xca, 0xfd, 0x43, 0x3d, 0xba, 0x6e}};
    const cd_addr20 ewoq = {.b = {0x3c, 0xb7, 0xd3, 0x84, 0x2e, 0x8c, 0xee, 0x6a, 0x0e, 0xbd,
                                  0x09, 0xf1, 0xfe, 0x88, 0x4f, 0x68, 0x61, 0xe1, 0xb2, 0x9c}};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_id(&w, "id", &zero);
    cd_json_put_node_id(&w, "node", &node);
    cd_json_w_id_key(&w, &zero);
    cd_json_w_chain_addr(&w, "X", "lux", &ewoq);
    cd_json_w_obj_end(&w);
    expect("{\"id\":\"11111111111111111111111111111111LpoYY\",\"node\":\"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg\","
           "\"11111111111111111111111111111111LpoYY\":\"X-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28\"}");
}

static void test_numbers(void **state)
{
    (void)state;
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_dec(&w, "a", 0);
    cd_json_put_dec(&w, "b", UINT64_MAX);
    cd_json_put_ratio(&w, "c", 4, 5, 1);
    cd_json_put_ratio(&w, "d", 2, 3, 100);
    cd_json_put_ratio(&w, "e", 7, 0, 1);
    cd_json_put_ratio(&w, "f", UINT64_MAX, UINT64_MAX, 100);
    cd_json_w_obj_end(&w);
    expect("{\"a\":\"0\",\"b\":\"18446744073709551615\",\"c\":\"0.8000\",\"d\":\"66.6667\",\"e\":\"7.0000\","
           "\"f\":\"100.0000\"}");
}

static void test_bytes_and_times(void **state)
{
    (void)state;
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_put_encoded(&w, "a", CD_ENCODING_HEXNC, cd_bytes_str("hi"));
    cd_json_put_time(&w, "b", 1607144400 * CD_NS_PER_SEC);
    cd_json_put_time(&w, "c", 1607144400 * CD_NS_PER_SEC + 373609300);
    cd_json_put_time(&w, "d", 1607144400 * CD_NS_PER_SEC + 1);
    cd_json_w_obj_end(&w);
    expect("{\"a\":\"0x6869\",\"b\":\"2020-12-05T05:00:00Z\",\"c\":\"2020-12-05T05:00:00.3736093Z\","
           "\"d\":\"2020-12-05T05:00:00.000000001Z\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_bytes_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
