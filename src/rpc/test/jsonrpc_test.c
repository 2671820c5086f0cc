/* Dialogues with the JSON-RPC core: envelopes, ids, batches, notifications, parameters and errors as go-ethereum
 * answers them. [spec:eth-rpc#2] */
#include "base/mem/buf.h"
#include "base/os/clock.h"
#include "rpc/jsonrpc_priv.h"
#include "rpc/named.h"
#include "rpc/openrpc.h"
#include "rpc/param.h"
#include "rpc/session.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Takes longer than any limit the tests set. */
static cd_err test_sleep(cd_rpc_call *call)
{
    while (!cd_rpc_is_late(call)) {
    }
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

/* How many scopes the service has begun and ended. */
typedef struct chain {
    int begun;
    int ended;
    u64 height;
} chain;

typedef struct chain_scope {
    u64 height;
} chain_scope;

static void chain_begin(void *ctx, void *scope)
{
    chain *c = ctx;
    c->begun++;
    ((chain_scope *)scope)->height = c->height;
}

static void chain_end(void *ctx, void *scope)
{
    (void)scope;
    ((chain *)ctx)->ended++;
}

static cd_err test_height(cd_rpc_call *call)
{
    cd_json_w_u64(call->out, ((chain_scope *)call->scope)->height);
    return CD_OK;
}

static cd_err test_mine(cd_rpc_call *call)
{
    chain *c = call->ctx;
    c->height++;
    cd_json_w_null(call->out);
    return CD_OK;
}

/* Takes 100 microseconds. */
static cd_err test_tarry(cd_rpc_call *call)
{
    const cd_clock *clock = cd_clock_real();
    u64 until = cd_clock_mono_ns(clock) + CD_NS_PER_MS / 10;
    while (cd_clock_mono_ns(clock) < until) {
    }
    return test_mine(call);
}

#define METHODS(X)                                                                                                     \
    X("", test_echo, test_echo, FAST, 1, 1, "v: Any -> Any", "Gives back what it is given")                            \
    X("", test_double, test_double, FAST, 1, 1, "n: Quantity -> Quantity", "Doubles")                                  \
    X("", test_fail, test_fail, READ, 0, 0, "-> Any", "Fails")                                                         \
    X("", test_addr, test_addr, READ, 1, 2, "a: Address, b?: Any -> Address", "An address")                            \
    X("", test_sleep, test_sleep, READ, 0, 0, "-> Bool", "Takes its time")                                             \
    X("", test_height, test_height, READ, 0, 0, "-> Int", "Height of the request's view")                              \
    X("", test_mine, test_mine, OWNER, 0, 0, "-> Any", "Changes the chain")                                            \
    X("", test_tarry, test_tarry, OWNER, 0, 0, "-> Any", "Changes the chain, slowly")                                  \
    X("extra", extra_echo, test_echo, FAST, 1, 1, "v: Any -> Any", "Only in a group")                                  \
    X("other", other_echo, test_echo, FAST, 1, 1, "v: Any -> Any", "Only in another group")

static const cd_rpc_method methods[] = {METHODS(CD_RPC_ROW)};

static const cd_rpc_group groups[] = {
    {.name = "extra", .alias = "seed-extra", .is_default = false},
    {.name = "other", .alias = NULL, .is_default = true},
};

static cd_rpc_service service_new(cd_rpc_table **t)
{
    *t = cd_rpc_table_new(groups, CD_COUNT(groups));
    cd_rpc_table_add(*t, methods, CD_COUNT(methods));
    cd_rpc_table_add_own(*t);
    return (cd_rpc_service){.form = CD_RPC_ETH, .table = *t, .limits = CD_RPC_LIMITS_DEFAULT};
}

static void expect(const cd_rpc_service *s, const char *in, const char *out)
{
    cd_buf reply = {0};
    cd_rpc_serve(s, &reply, cd_bytes_str(in));
    assert_string_equal(cd_buf_cstr(&reply), out);
    cd_buf_fini(&reply);
}

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
    {"{bad", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}"},
    {"{\"id\":1,\"method\":\"test_echo\"}",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"invalid request\"}}"},
    {"7", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"invalid "
          "request\"}}"},
    {"[]", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"empty batch\"}}"},
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
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    for (usize i = 0; i < CD_COUNT(dialogue); i++) {
        expect(&s, dialogue[i].in, dialogue[i].out);
    }
    cd_rpc_table_free(t);
}

#define CALL(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(id, result)       "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define ERROR(id, code, message)                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}"                     \
    "}"

static void ids_are_echoed(void **state)
{
    (void)state;
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    static const char *const ids[] = {
        "0",       "-1",   "1.50",  "1e400", "18446744073709551616", "\"\"", "\"a\\\"b\\\\\\n\"", "\"ü€\"",
        "\"<>&\"", "true", "false", "null"};
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        char in[256];
        char out[256];
        (void)snprintf(in, sizeof in, CALL("%s", "test_echo", "[1]"), ids[i]);
        (void)snprintf(out, sizeof out, RESULT("%s", "1"), ids[i]);
        expect(&s, in, out);
    }
    /* A long one costs what it is long. */
    cd_buf in = {0};
    cd_buf out = {0};
    cd_buf_str(&in, "{\"jsonrpc\":\"2.0\",\"id\":\"");
    cd_buf_fill(&in, 'x', 1 << 20);
    cd_buf_str(&in, "\",\"method\":\"test_echo\",\"params\":[1]}");
    cd_rpc_serve(&s, &out, cd_buf_bytes(&in));
    assert_true(out.n > 1 << 20 && out.n < (1 << 20) + 64);
    cd_buf_fini(&in);
    cd_buf_fini(&out);
    cd_rpc_table_free(t);
}

static void batch_limits(void **state)
{
    (void)state;
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    const char *three =
        "[" CALL("1", "test_echo", "[1]") "," CALL("2", "test_echo", "[2]") "," CALL("3", "test_echo", "[3]") "]";
    s.limits.batch_max = 2;
    expect(&s, three, "[" ERROR("1", "-32600", "batch too large") "]");
    expect(&s, "[1,2,3]", "[" ERROR("null", "-32600", "batch too large") "]");
    s.limits.batch_max = 0;
    /* Only results count, and what goes beyond is still answered. */
    s.limits.response_max = 1;
    expect(&s, three, "[" RESULT("1", "1") "," RESULT("2", "2") "," ERROR("3", "-32003", "response too large") "]");
    s.limits.response_max = 0;
    expect(&s, three, "[" RESULT("1", "1") "," RESULT("2", "2") "," RESULT("3", "3") "]");
    cd_rpc_table_free(t);
}

/* Others write large answers: a batch gets results as long as there is room, or while it is alone. */
static void crowded(void **state)
{
    (void)state;
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    cd_rpc_req *r = cd_rpc_req_new();
    static const char two[] = "[" CALL("1", "test_echo", "[1]") "," CALL("2", "test_echo", "[2]") "]";
    static const struct {
        usize others;
        const char *out;
    } cases[] = {
        {0, "[" RESULT("1", "1") "," RESULT("2", "2") "]"},
        {1, "[" RESULT("1", "1") "," ERROR("2", "-32005", "too many large answers are being written") "]"},
    };
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        cd_rpc_writing w = {.bytes = cases[i].others, .max = 8};
        cd_buf reply = {0};
        (void)cd_rpc_req_parse(r, &s, NULL, cd_bytes_str(two), 0);
        r->writing = &w;
        cd_rpc_req_serve(r, &reply);
        assert_string_equal(cd_buf_cstr(&reply), cases[i].out);
        assert_int_equal(w.bytes, cases[i].others);
        cd_buf_fini(&reply);
    }
    cd_rpc_req_free(r);
    cd_rpc_table_free(t);
}

static void time_limit(void **state)
{
    (void)state;
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    s.limits.duration_ns = 1000000;
    expect(&s, CALL("1", "test_sleep", "[]"), ERROR("1", "-32002", "request timed out"));
    expect(&s, "[" CALL("1", "test_sleep", "[]") "," CALL("2", "test_height", "[]") ",7]",
           "[" ERROR("1", "-32002", "request timed out") "," ERROR("2", "-32002", "request timed out") "," ERROR(
               "null", "-32600", "invalid request") "]");
    cd_rpc_table_free(t);
}

static void lanes(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        cd_rpc_lane lane;
    } cases[] = {
        {CALL("1", "test_echo", "[1]"), CD_RPC_FAST},
        {CALL("1", "test_nope", "[1]"), CD_RPC_FAST},
        {CALL("1", "test_addr", "[1]"), CD_RPC_READ},
        {CALL("1", "test_mine", "[]"), CD_RPC_OWNER},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"test_mine\"}", CD_RPC_OWNER},
        {"[" CALL("1", "test_echo", "[1]") "," CALL("1", "test_addr", "[1]") "]", CD_RPC_READ},
        {"[" CALL("1", "test_mine", "[]") "," CALL("1", "test_addr", "[1]") "]", CD_RPC_OWNER},
        {"[" CALL("1", "test_addr", "[1]") "," CALL("1", "test_mine", "[]") "]", CD_RPC_READ},
        {"[" CALL("1", "test_echo", "[1]") "," CALL("1", "test_mine", "[]") "]", CD_RPC_READ},
        {"{bad", CD_RPC_FAST},
        {"[]", CD_RPC_FAST},
    };
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    cd_rpc_req *r = cd_rpc_req_new();
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        assert_int_equal(cd_rpc_req_parse(r, &s, NULL, cd_bytes_str(cases[i].in), 0), cases[i].lane);
    }
    /* Many quick calls are not quick. */
    cd_buf many = {0};
    for (int i = 0; i < 100; i++) {
        cd_buf_str(&many, i == 0 ? "[" : ",");
        cd_buf_str(&many, CALL("1", "test_echo", "[1]"));
    }
    cd_buf_str(&many, "]");
    assert_int_equal(cd_rpc_req_parse(r, &s, NULL, cd_buf_bytes(&many), 0), CD_RPC_READ);
    cd_buf_fini(&many);
    cd_rpc_req_free(r);
    cd_rpc_table_free(t);
}

static void refusal(void **state)
{
    (void)state;
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    cd_rpc_req *r = cd_rpc_req_new();
    cd_buf out = {0};
    const char *batch = "[" CALL("1", "test_echo", "[1]") ",{\"jsonrpc\":\"2.0\",\"method\":\"test_"
                                                          "mine\"}," CALL("2", "test_addr", "[1]") "]";
    (void)cd_rpc_req_parse(r, &s, NULL, cd_bytes_str(batch), 0);
    cd_rpc_req_refuse(r, &out, CD_RPC_BUSY, "busy");
    assert_string_equal(cd_buf_cstr(&out), "[" ERROR("1", "-32005", "busy") "," ERROR("2", "-32005", "busy") "]");
    cd_buf_fini(&out);
    cd_rpc_req_free(r);
    cd_rpc_table_free(t);
}

/* The calls of a batch run one after the other, each on a thread of its lane; what is too much on the way is
 * refused. */
static void hops(void **state)
{
    (void)state;
    static const char batch[] = "[" CALL("1", "test_echo", "[1]") "," CALL("2", "test_mine", "[]") "," CALL(
        "3", "test_echo", "[3]") "," CALL("4", "test_height", "[]") "," CALL("5", "test_mine", "[]") "]";
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    chain c = {.height = 5};
    s.ctx = &c;
    s.scope_size = sizeof(chain_scope);
    s.begin = chain_begin;
    s.end = chain_end;
    cd_rpc_req *r = cd_rpc_req_new();
    cd_buf out = {0};
    assert_int_equal(cd_rpc_req_parse(r, &s, NULL, cd_bytes_str(batch), 0), CD_RPC_READ);
    assert_false(cd__rpc_req_step(r, &out));
    assert_int_equal(r->lane, CD_RPC_OWNER);
    assert_int_equal(c.height, 5);
    assert_false(cd__rpc_req_step(r, &out));
    assert_int_equal(r->lane, CD_RPC_READ);
    assert_int_equal(c.height, 6);
    assert_false(cd__rpc_req_step(r, &out));
    assert_int_equal(r->lane, CD_RPC_OWNER);
    assert_true(cd__rpc_req_has_begun(r));
    cd_rpc_req_refuse(r, &out, CD_RPC_BUSY, "busy");
    assert_string_equal(cd_buf_cstr(&out), "[" RESULT("1", "1") "," RESULT("2", "null") "," RESULT("3", "3") "," RESULT(
                                               "4", "6") "," ERROR("5", "-32005", "busy") "]");
    assert_int_equal(c.begun, c.ended);

    /* Whoever keeps the owner for long has to queue again. */
    cd_buf many = {0};
    enum { CALLS = 1000 };
    for (int i = 0; i < CALLS; i++) {
        cd_buf_str(&many, i == 0 ? "[" : ",");
        cd_buf_str(&many, CALL("1", "test_tarry", "[]"));
    }
    cd_buf_str(&many, "]");
    cd_buf_clear(&out);
    int turns = 1;
    c.height = 0;
    assert_int_equal(cd_rpc_req_parse(r, &s, NULL, cd_buf_bytes(&many), 0), CD_RPC_OWNER);
    while (!cd__rpc_req_step(r, &out)) {
        assert_int_equal(r->lane, CD_RPC_OWNER);
        turns++;
    }
    assert_in_range(turns, 20, CALLS);
    assert_int_equal(c.height, CALLS);
    cd_buf_fini(&many);
    cd_buf_fini(&out);
    cd_rpc_req_free(r);
    cd_rpc_table_free(t);
}

static void scopes(void **state)
{
    (void)state;
    cd_rpc_table *t;
    cd_rpc_service s = service_new(&t);
    chain c = {.height = 5};
    s.ctx = &c;
    s.scope_size = sizeof(chain_scope);
    s.begin = chain_begin;
    s.end = chain_end;
    expect(&s, CALL("1", "test_height", "[]"), RESULT("1", "5"));
    assert_int_equal(c.begun, 1);
    /* One view for what is read in a row; what changes the chain has its own, and another one follows. */
    expect(&s,
           "[" CALL("1", "test_height", "[]") "," CALL("2", "test_height", "[]") "," CALL(
               "3", "test_mine", "[]") "," CALL("4", "test_height", "[]") "]",
           "[" RESULT("1", "5") "," RESULT("2", "5") "," RESULT("3", "null") "," RESULT("4", "6") "]");
    assert_int_equal(c.begun, 4);
    assert_int_equal(c.ended, 4);
    cd_rpc_table_free(t);
}

static void api_groups(void **state)
{
    (void)state;
    cd_rpc_table *t = cd_rpc_table_new(groups, CD_COUNT(groups));
    cd_errinfo why = {0};
    assert_int_equal(cd_rpc_table_enable(t, cd_bytes_str("nosuch"), &why), CD_ENOENT);
    assert_string_equal(why.msg, "API service nosuch not found");
    cd_rpc_table_enable_default(t);
    cd_rpc_table_add(t, methods, CD_COUNT(methods));
    assert_null(cd_rpc_table_find(t, cd_bytes_str("extra_echo")));
    assert_non_null(cd_rpc_table_find(t, cd_bytes_str("other_echo")));
    cd_rpc_table_free(t);

    t = cd_rpc_table_new(groups, CD_COUNT(groups));
    assert_int_equal(cd_rpc_table_enable(t, cd_bytes_str("seed-extra"), &why), CD_OK);
    cd_rpc_table_add(t, methods, CD_COUNT(methods));
    cd_rpc_table_add_own(t);
    assert_non_null(cd_rpc_table_find(t, cd_bytes_str("extra_echo")));
    assert_null(cd_rpc_table_find(t, cd_bytes_str("other_echo")));
    cd_rpc_service s = {.form = CD_RPC_ETH, .table = t};
    expect(&s, CALL("1", "rpc_modules", "[]"), RESULT("1", "{\"extra\":\"1.0\",\"rpc\":\"1.0\",\"test\":\"1.0\"}"));
    expect(&s, CALL("1", "rpc_discover", "[]"),
           ERROR("1", "-32601", "the method rpc_discover does not exist/is not available"));
    cd_rpc_table_free(t);
}

static void large_table(void **state)
{
    (void)state;
    enum { CNT = 500 };
    static char names[CNT][16];
    static cd_rpc_method rows[CNT];
    cd_rpc_table *t = cd_rpc_table_new(NULL, 0);
    for (usize i = 0; i < CNT; i++) {
        (void)snprintf(names[i], sizeof names[i], "ns_m%zu", i);
        rows[i] = (cd_rpc_method){.group = "", .name = names[i], .fn = test_echo};
        cd_rpc_table_add(t, &rows[i], 1);
    }
    assert_int_equal(cd_rpc_table_cnt(t), CNT);
    for (usize i = 0; i < CNT; i++) {
        const cd_rpc_method *m = cd_rpc_table_find(t, cd_bytes_str(names[i]));
        assert_non_null(m);
        assert_string_equal(m->name, names[i]);
    }
    assert_null(cd_rpc_table_find(t, cd_bytes_str("ns_m500")));
    assert_null(cd_rpc_table_find(t, cd_bytes_str("")));
    cd_rpc_table_free(t);
}

/* --- json2 --- */

#define NODE_METHODS(X)                                                                                                \
    X("", admin.setLogLevel, "", node_level, FAST, ARGS((STRING, level, "level", OPTIONAL)), "{}", "Sets the level")
NODE_METHODS(CD_RPC_NAMED_DECL)
static const cd_rpc_method node_methods[] = {NODE_METHODS(CD_RPC_NAMED_ROW)};

cd_err node_level(cd_rpc_call *call)
{
    const node_level_args *in = call->args;
    if (cd_bytes_eq(in->level, cd_bytes_str("bogus"))) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unknown level: bogus ");
    }
    cd_json_w_obj(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

#define JSON2(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define JSON2_ERROR(code, message, data, id)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":" code ",\"message\":\"" message "\",\"data\":" data "},\"id\":" id "}"  \
    "\n"
#define JSON2_OK(id) "{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":" id "}\n"
#define BAD_ARGUMENT                                                                                                   \
    "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See "                          \
    "documentation for example calls"

static void json2(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {JSON2("1", "admin.setLogLevel", "{\"level\":\"debug\"}"), JSON2_OK("1")},
        {JSON2("\"x\"", "admin.setLogLevel", "[{\"level\":\"debug\"}]"), JSON2_OK("\"x\"")},
        {JSON2("1", "admin.setLogLevel", "[]"), JSON2_OK("1")},
        {JSON2("[1]", "admin.setLogLevel", "null"), JSON2_OK("[1]")},
        {"{\"JSONRPC\":\"2.0\",\"Id\":1,\"Method\":\"admin.setLogLevel\"}", JSON2_OK("1")},
        {JSON2("null", "admin.setLogLevel", "{}"), ""},
        {JSON2("null", "admin.nosuch", "{}"), ""},
        {JSON2("1", "admin.setLogLevel", "{\"level\":\"bogus\"}"),
         JSON2_ERROR("-32000", "unknown level: bogus ", "null", "1")},
        {JSON2("1", "admin.setLogLevel", "[3]"), JSON2_ERROR("-32000", BAD_ARGUMENT, "null", "1")},
        {JSON2("1", "admin.nosuch", "{}"),
         JSON2_ERROR("-32000", "rpc: can't find method \\\"admin.Nosuch\\\"", "null", "1")},
        {JSON2("1", "info.getNodeID", "{}"),
         JSON2_ERROR("-32000", "rpc: can't find service \\\"info.GetNodeID\\\"", "null", "1")},
        {JSON2("1", "admin.SetLogLevel", "{}"),
         JSON2_ERROR("-32000", "method must start with a non-uppercase letter", "null", "1")},
        {JSON2("1", "admin", "{}"),
         JSON2_ERROR("-32000", "rpc: service/method request ill-formed: \\\"admin\\\"", "null", "1")},
        {JSON2("\"<&>\"", "admin", "{}"), JSON2_ERROR("-32000", "rpc: service/method request ill-formed: \\\"admin\\\"",
                                                      "null", "\"\\u003c\\u0026\\u003e\"")},
        {JSON2("1", "a.b.c", "{}"),
         JSON2_ERROR("-32000", "rpc: service/method request ill-formed: \\\"a.b.c\\\"", "null", "1")},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a.b\"}",
         JSON2_ERROR("-32600", "jsonrpc must be 2.0",
                     "{\"jsonrpc\":\"1.0\",\"method\":\"a.b\",\"params\":null,\"id\":1}", "1")},
        {"", JSON2_ERROR("-32700", "EOF", "{\"jsonrpc\":\"\",\"method\":\"\",\"params\":null,\"id\":null}", "null")},
        {"{\"jsonrpc\":\"2.0\"", JSON2_ERROR("-32700", "unexpected EOF",
                                             "{\"jsonrpc\":\"\",\"method\":\"\",\"params\":null,\"id\":null}", "null")},
        {"not json", JSON2_ERROR("-32700", "invalid character 'o' in literal null (expecting 'u')",
                                 "{\"jsonrpc\":\"\",\"method\":\"\",\"params\":null,\"id\":null}", "null")},
        {"[]", JSON2_ERROR("-32700", "json: cannot unmarshal array into Go value of type json2.serverRequest",
                           "{\"jsonrpc\":\"\",\"method\":\"\",\"params\":null,\"id\":null}", "null")},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}",
         JSON2_ERROR("-32700",
                     "json: cannot unmarshal number into Go struct field serverRequest.method of type "
                     "string",
                     "{\"jsonrpc\":\"2.0\",\"method\":\"\",\"params\":null,\"id\":7}", "7")},
    };
    cd_rpc_table *t = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(t, node_methods, CD_COUNT(node_methods));
    cd_rpc_service s = {.form = CD_RPC_JSON2, .table = t};
    for (usize i = 0; i < CD_COUNT(cases); i++) {
        expect(&s, cases[i].in, cases[i].out);
    }
    cd_rpc_table_free(t);
}

/* --- OpenRPC --- */

static cd_err open_nothing(cd_rpc_call *call, cd_rpc_topic **out)
{
    (void)out;
    return cd_rpc_fail(call, CD_RPC_SERVER, "no");
}

static void openrpc(void **state)
{
    (void)state;
    static const cd_rpc_type types[] = {
        {.name = "Thing", .schema = "{a: Address, b?: (Hash | \"none\")?[], *: Thing[]}"},
    };
    static const cd_rpc_kind kinds[] = {
        {.group = "other",
         .space = "test",
         .name = "things",
         .max = 1,
         .open = open_nothing,
         .schema = "like?: Thing -> Thing",
         .summary = "Things"},
        {.group = "extra", .space = "test", .name = "off", .open = open_nothing, .schema = "-> Any"},
    };
    cd_rpc_table *t = cd_rpc_table_new(groups, CD_COUNT(groups));
    cd_rpc_table_enable_default(t);
    cd_rpc_table_add(t, methods, CD_COUNT(methods));
    cd_rpc_table_add_own(t);
    cd_rpc_service s = {.form = CD_RPC_ETH, .table = t, .kinds = kinds, .kinds_cnt = CD_COUNT(kinds)};
    cd_rpc_info info = {.title = "a \"chain\"", .version = "1", .types = types, .types_cnt = CD_COUNT(types)};
    cd_buf doc = {0};
    cd_errinfo why = {0};
    assert_int_equal(cd_rpc_openrpc(&doc, &s, &info, &why), CD_OK);

    cd_arena a = {0};
    cd_json v;
    assert_int_equal(cd_json_parse(&v, &a, cd_buf_bytes(&doc), 0, &why), CD_OK);
    cd_json list = cd_json_get(v, "methods");
    assert_int_equal(cd_json_len(list), cd_rpc_table_cnt(t) + 2);
    cd_json addr = cd_json_at(list, 3);
    cd_buf raw = {0};
    cd_json_raw(&raw, addr);
    assert_string_equal(cd_buf_cstr(&raw),
                        "{\"name\":\"test_addr\",\"summary\":\"An address\",\"paramStructure\":\"by-position\","
                        "\"params\":[{\"name\":\"a\",\"required\":true,\"schema\":{\"$ref\":\"#/components/schemas/"
                        "Address\"}},{\"name\":\"b\",\"required\":false,\"schema\":{\"$ref\":\"#/components/"
                        "schemas/"
                        "Any\"}}],\"result\":{\"name\":\"result\",\"schema\":{\"$ref\":\"#/components/schemas/"
                        "Address\"}}}");
    raw.n = 0;
    cd_json_raw(&raw, cd_json_get(cd_json_get(cd_json_get(v, "components"), "schemas"), "Thing"));
    assert_string_equal(cd_buf_cstr(&raw),
                        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/components/schemas/Address\"},"
                        "\"b\":{\"type\":\"array\",\"items\":{\"oneOf\":[{\"oneOf\":[{\"$ref\":\"#/components/"
                        "schemas/Hash\"},{\"const\":\"none\"}]},{\"type\":\"null\"}]}}},\"required\":[\"a\"],"
                        "\"additionalProperties\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/"
                        "Thing\"}}}");
    raw.n = 0;
    cd_json_raw(&raw, cd_json_get(cd_json_at(list, cd_rpc_table_cnt(t)), "x-subscriptions"));
    assert_string_equal(cd_buf_cstr(&raw),
                        "[{\"name\":\"things\",\"summary\":\"Things\",\"params\":[{\"name\":\"like\",\"required\":"
                        "false,\"schema\":{\"$ref\":\"#/components/schemas/Thing\"}}],\"notification\":{\"$ref\":"
                        "\"#/components/schemas/Thing\"}}]");
    cd_buf_fini(&raw);

    /* Rows that say two things are found out. */
    static const cd_rpc_method wrong[] = {
        CD_RPC_ROW("", t_a, test_echo, FAST, 1, 1, "-> Any", "One parameter too few")
            CD_RPC_ROW("", t_b, test_echo, FAST, 0, 1, "a: Any -> Any", "Not optional")
                CD_RPC_ROW("", t_c, test_echo, FAST, 0, 0, "-> Nosuch", "No such type")
                    CD_RPC_ROW("", t_d, test_echo, FAST, 0, 0, "-> Any[", "Bracket")
                        CD_RPC_ROW("", t_e, test_echo, FAST, 0, 0, "-> Any Any", "Two types")
                            CD_RPC_ROW("", t_f, test_echo, FAST, 0, 0, "", "Nothing")};
    for (usize i = 0; i < CD_COUNT(wrong); i++) {
        cd_rpc_table *w = cd_rpc_table_new(NULL, 0);
        cd_rpc_table_add(w, &wrong[i], 1);
        cd_rpc_service bad = {.form = CD_RPC_ETH, .table = w};
        doc.n = 0;
        assert_int_equal(cd_rpc_openrpc(&doc, &bad, &info, &why), CD_EFORMAT);
        cd_rpc_table_free(w);
    }
    cd_buf_fini(&doc);
    cd_arena_fini(&a);
    cd_rpc_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialogues),  cmocka_unit_test(ids_are_echoed), cmocka_unit_test(batch_limits),
        cmocka_unit_test(crowded),    cmocka_unit_test(time_limit),     cmocka_unit_test(lanes),
        cmocka_unit_test(hops),       cmocka_unit_test(refusal),        cmocka_unit_test(scopes),
        cmocka_unit_test(api_groups), cmocka_unit_test(large_table),    cmocka_unit_test(json2),
        cmocka_unit_test(openrpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
