/* Dialogues with the JSON-RPC core: envelopes, ids, batches, notifications, parameters and errors as go-ethereum
 * answers them. [spec:eth-rpc#2] */
#include "base/buf.h"
#include "rpc/jsonrpc.h"
#include "rpc/param.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static cd_err test_echo(cd_rpc_call *call)
{
    cd_buf raw = {0};
    cd_json_raw(&raw, cd_rpc_arg(call, 0));
    cd_json_w_raw(call->out, cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return CD_OK;
}

static cd_err test_double(cd_rpc_call *call)
{
    u64 v;
    CD_TRY(cd_rpc_read_u64(call, &v, cd_rpc_arg(call, 0), 0));
    cd_json_w_qty(call->out, 2 * v);
    return CD_OK;
}

static cd_err test_fail(cd_rpc_call *call)
{
    /* A half-written result must not be seen. */
    cd_json_w_arr(call->out);
    cd_json_w_u64(call->out, 1);
    call->error_data = "\"0xdead\"";
    return cd_rpc_fail(call, CD_RPC_REVERTED, "execution reverted: %s", "nope");
}

static cd_err test_addr(cd_rpc_call *call)
{
    cd_addr20 a;
    CD_TRY(cd_rpc_read_addr(call, &a, cd_rpc_arg(call, 0), 0));
    cd_json_w_hex(call->out, cd_bytes_of(a.b, 20));
    return CD_OK;
}

static const cd_rpc_method methods[] = {
    {"test_echo", test_echo, 1, 1},
    {"test_double", test_double, 1, 1},
    {"test_fail", test_fail, 0, 0},
    {"test_addr", test_addr, 1, 2},
};

static const struct {
    const char *in;
    const char *out;
} dialogue[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_double\",\"params\":[\"0x15\"]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x2a\"}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"test_echo\",\"params\":[{\"x\":[1,null]}]"
     "}",
     "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"result\":{\"x\":[1,null]}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"test_echo\","
     "\"params\":[1]}",
     "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"result\":1}"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"test_echo\",\"params\":[1]}", ""},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_nope\"}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"the method test_nope "
     "does not "
     "exist/is not available\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_fail\",\"params\":null}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":3,\"message\":\"execution reverted: "
     "nope\",\"data\":\"0xdead\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_double\",\"params\":{\"v\":1}}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"non-array args\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_double\",\"params\":[]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"missing value for "
     "required argument "
     "0\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_double\",\"params\":[\"0x1\",2]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"too many arguments, "
     "want at most 1\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_double\",\"params\":[\"0x01\"]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"invalid argument 0: "
     "hex number with "
     "leading zero digits\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_addr\",\"params\":[\"0x12\"]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"invalid argument 0: "
     "hex string has "
     "length 2, want 40 for common.Address\"}}"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_addr\",\"params\":[\"12\"]}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"invalid argument 0: "
     "hex string without "
     "0x prefix\"}}"},
    {"{bad",
     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}"},
    {"{\"id\":1,\"method\":\"test_echo\"}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"invalid request\"}}"},
    {"7", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"invalid "
          "request\"}}"},
    {"[]",
     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"empty batch\"}}"},
    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_echo\",\"params\":[1]},{\"jsonrpc\":\"2.0\","
     "\"method\":"
     "\"test_fail\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"test_echo\",\"params\":[2]}]",
     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}]"},
    {"[{\"jsonrpc\":\"2.0\",\"method\":\"test_fail\"}]", ""},
    {"[1]", "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"invalid "
            "request\"}}]"},
};

static void dialogues(void **state)
{
    (void)state;
    cd_rpc_table *t = cd_rpc_table_new();
    cd_rpc_table_add(t, methods, CD_COUNT(methods));
    for (usize i = 0; i < CD_COUNT(dialogue); i++) {
        cd_buf reply = {0};
        cd_rpc_serve(t, &reply, NULL, cd_bytes_str(dialogue[i].in), NULL);
        assert_string_equal(cd_buf_cstr(&reply), dialogue[i].out);
        cd_buf_fini(&reply);
    }
    cd_rpc_table_free(t);
}

static void batch_limits(void **state)
{
    (void)state;
    cd_rpc_table *t = cd_rpc_table_new();
    cd_rpc_table_add(t, methods, CD_COUNT(methods));
    const char *three = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test_echo\",\"params\":[1]},"
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"test_echo\",\"params\":[2]},"
                        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"test_echo\",\"params\":[3]}]";
    cd_buf reply = {0};
    cd_rpc_serve(t, &reply, NULL, cd_bytes_str(three), &(cd_rpc_limits){.batch_max = 2});
    assert_string_equal(cd_buf_cstr(&reply),
                        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,"
                        "\"message\":\"batch too large\"}}]");
    cd_buf_clear(&reply);
    cd_rpc_serve(t, &reply, NULL, cd_bytes_str(three), &(cd_rpc_limits){.response_max = 10});
    assert_string_equal(cd_buf_cstr(&reply), "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1},"
                                             "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-"
                                             "32003,\"message\":\"response too large\"}},"
                                             "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-"
                                             "32003,\"message\":\"response too large\"}}]");
    cd_buf_fini(&reply);
    cd_rpc_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialogues),
        cmocka_unit_test(batch_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
