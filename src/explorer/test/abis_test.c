/* What compilers told of contracts stands on pages: names, arguments, events, errors, functions. */
#include "crypto/hash/keccak.h"
#include "explorer/test/rig.h"

static const char abi[] =
    "{\"abi\":[{\"type\":\"function\",\"name\":\"poke\",\"stateMutability\":\"payable\",\"inputs\":[{\"name\":\"size\","
    "\"type\":\"uint256\"}],\"outputs\":[{\"name\":\"\",\"type\":\"bool\"}]},"
    "{\"type\":\"function\",\"name\":\"ask\",\"stateMutability\":\"view\",\"inputs\":[{\"name\":\"k\",\"type\":\"tuple["
    "]\","
    "\"components\":[{\"name\":\"x\",\"type\":\"uint8\"},{\"name\":\"y\",\"type\":\"address\"}]}],\"outputs\":[{"
    "\"name\":"
    "\"n\",\"type\":\"uint256\"}]},"
    "{\"type\":\"function\",\"name\":\"<b>\",\"inputs\":[],\"outputs\":[]},"
    "{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"name\":\"\",\"type\":\"uint9000\"}],\"outputs\":[]},"
    "{\"type\":\"error\",\"name\":\"Nope\",\"inputs\":[{\"name\":\"code\",\"type\":\"uint256\"},{\"name\":\"why\","
    "\"type\":"
    "\"string\"}]},7,{\"type\":\"constructor\"},"
    "{\"type\":\"event\",\"name\":\"Poked\",\"inputs\":[{\"name\":\"size\",\"type\":\"uint256\",\"indexed\":true},"
    "{\"name\":\"rest\",\"type\":\"uint256\",\"indexed\":false}]}]}";

static int open(void **state)
{
    rig_abis = cd_abis_new();
    assert_int_equal(cd_abis_add(rig_abis, cd_bytes_str(abi), NULL), CD_OK);
    assert_int_equal(cd_abis_add(rig_abis, cd_bytes_str(abi), NULL), CD_OK); // once more is nothing more
    assert_int_not_equal(cd_abis_add(rig_abis, cd_bytes_str("{\"abi\":7}"), NULL), CD_OK);
    assert_int_not_equal(cd_abis_add(rig_abis, cd_bytes_str("["), NULL), CD_OK);
    return rig_open(state);
}

static int done(void **state)
{
    int code = rig_close(state);
    cd_abis_free(rig_abis);
    return code;
}

static const char *call(const char *to, const char *signature)
{
    u8 s[4];
    cd_abi_selector(s, signature);
    const char *hash = rig_send(cd_arena_fmt(&g.node.arena, ",\"to\":\"%s\",\"data\":\"0x%02x%02x%02x%02x%064x\"", to,
                                             s[0], s[1], s[2], s[3], 9));
    return rig_get(cd_arena_fmt(&g.node.arena, "/tx/%s", hash));
}

/* Emits Poked(7, 1) whatever it is asked. */
static void test_calls_and_events(void **state)
{
    (void)state;
    cd_hash32 topic;
    cd_buf code = {0};
    cd_keccak256(&topic, cd_bytes_str("Poked(uint256,uint256)"));
    cd_buf_put(&code, cd_bytes_of("\x60\x01\x5f\x52\x60\x07\x7f", 7));
    cd_buf_put(&code, cd_bytes_of(topic.b, 32));
    cd_buf_put(&code, cd_bytes_of("\x60\x20\x5f\xa2\x00", 5));
    const char *page = call(rig_deploy(NULL, 0, cd_buf_bytes(&code)), "poke(uint256)");
    cd_buf_fini(&code);
    rig_says(page, "called poke on");
    rig_says(page, "size 9");
    rig_says(page, "Poked size 7 rest 1");
}

static void test_errors_and_functions(void **state)
{
    (void)state;
    u8 *data = cd_arena_zalloc(&g.node.arena, 4 + 4 * 32);
    cd_abi_selector(data, "Nope(uint256,string)");
    data[4 + 31] = 7;
    data[4 + 63] = 64;
    data[4 + 95] = 7;
    memcpy(data + 4 + 96, "too <i>", 7);
    const rig_answer answers[] = {
        {.signature = "poke(uint256)", .data = cd_bytes_of(data, 4 + 4 * 32), .must_fail = true},
        {.signature = "ask((uint8,address)[])", .data = rig_word(5)},
    };
    const char *to = rig_deploy(answers, 2, cd_bytes_of("\x00", 1));
    const char *page = call(to, "poke(uint256)");
    rig_says(page, "tried to call poke on");
    rig_says(page, "but it failed: Nope: code 7, why too <i>");
    assert_null(strstr(cd_buf_cstr(&g.page), "<i>"));
    page = rig_get(cd_arena_fmt(&g.node.arena, "/contract/%s", to));
    rig_says(page, "poke (uint256)");
    rig_says(page, "ask ((uint8,address)[])");
    assert_null(strstr(page, "<b>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls_and_events),
                                       cmocka_unit_test(test_errors_and_functions)};
    return cmocka_run_group_tests(tests, open, done);
}
