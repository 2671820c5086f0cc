#include "rpc/named.h"

#include "base/mem/buf.h"
#include "rpc/jsonrpc.h"
#include "rpc/openrpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Rows in the forms that the services of the node need. */
#define METHODS(X)                                                                                                     \
    X("", xvm.nothing, "", do_nothing, FAST, NONE, "{}", "Nothing")                                                    \
    X("", xvm.getNet, "xvm.getSubnet", get_net, READ, ARGS((ID, net, "netID subnetID", REQUIRED)), "{id: ID}",         \
      "A net")                                                                                                         \
    X("", xvm.getUTXOs, "", get_utxos, FAST,                                                                           \
      ARGS((STRINGS, addresses, "addresses", REQUIRED_SAYING("no addresses provided")),                                \
           (U32, limit, "limit", DEFAULT("1024")), (STRING, address, "startIndex.address", OPTIONAL),                  \
           (STRING, utxo, "startIndex.utxo", OPTIONAL), (ENCODING, encoding, "encoding", DEFAULT("\"hexnc\""))),       \
      "{numFetched: Uint}", "Unspent outputs")                                                                         \
    X("", xvm.all, "", take_all, OWNER,                                                                                \
      ARGS((BOOL, flag, "flag", OPTIONAL), (U8, b, "b", OPTIONAL), (U16, h, "h", OPTIONAL), (U64, w, "w", OPTIONAL),   \
           (F64, f, "f", OPTIONAL), (ID, id, "id", OPTIONAL), (IDS, ids, "ids", OPTIONAL),                             \
           (NODE_ID, node, "nodeID", OPTIONAL), (NODE_IDS, nodes, "nodeIDs", OPTIONAL),                                \
           (HEIGHT, height, "height", OPTIONAL), (ANY, outputs, "outputs", OPTIONAL),                                  \
           (STRING, text, "text", REQUIRED)),                                                                          \
      "Any", "Every type")

METHODS(CD_RPC_NAMED_DECL)

CD_RPC_PARAMS_STRUCT(output, ARGS((STRING, to, "to", OPTIONAL), (U64, amount, "amount", OPTIONAL)));
static const cd_rpc_param *const output_params =
    CD_RPC_PARAMS(output, ARGS((STRING, to, "to", OPTIONAL), (U64, amount, "amount", OPTIONAL)));

static const cd_rpc_method rows[] = {METHODS(CD_RPC_NAMED_ROW)};

#define BAD                                                                                                            \
    "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for "        \
    "example calls"
#define ZERO_ID "11111111111111111111111111111111LpoYY"
#define EVM_ID  "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"
#define NODE    "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"

cd_err do_nothing(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err get_net(cd_rpc_call *call)
{
    const get_net_args *in = call->args;
    cd_buf text = {0};
    cd_id_put(&text, &in->net);
    cd_json_w_str(call->out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return CD_OK;
}

cd_err get_utxos(cd_rpc_call *call)
{
    const get_utxos_args *in = call->args;
    cd_buf text = {0};
    cd_buf_fmt(&text, "%zu %.*s %u %.*s %.*s %s", in->addresses.n, (int)in->addresses.v[0].n,
               (const char *)in->addresses.v[0].p, in->limit, (int)in->address.n, (const char *)in->address.p,
               (int)in->utxo.n, (const char *)in->utxo.p, cd_encoding_name(in->encoding));
    cd_json_w_str(call->out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return CD_OK;
}

cd_err take_all(cd_rpc_call *call)
{
    const take_all_args *in = call->args;
    output out = {.amount = 5};
    if (cd_rpc_params_read(&out, call->arena, output_params, cd_json_at(in->outputs, 0)) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "bad output");
    }
    cd_buf text = {0};
    cd_buf_fmt(&text, "%d %u %u %llu %g %02x %zu %02x %zu %lld %.*s %llu", in->flag, in->b, in->h,
               (unsigned long long)in->w, in->f, in->id.b[0], in->ids.n, in->node.b[0], in->nodes.n,
               (long long)in->height, (int)out.to.n, (const char *)out.to.p, (unsigned long long)out.amount);
    cd_json_w_str(call->out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return CD_OK;
}

static cd_rpc_table *table(void)
{
    cd_rpc_table *t = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_alias(t, "xvm", "avm");
    cd_rpc_table_add(t, rows, CD_COUNT(rows));
    return t;
}

static void expect(cd_rpc_form form, const char *method, const char *params, const char *want)
{
    cd_rpc_table *t = table();
    const cd_rpc_service s = {.form = form, .table = t};
    cd_buf in = {0};
    cd_buf out = {0};
    cd_arena a = {0};
    cd_json v;
    cd_bytes got;
    cd_buf_fmt(&in, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"%s%s}", method,
               params[0] == '\0' ? "" : ",\"params\":", params);
    cd_rpc_serve(&s, &out, cd_buf_bytes(&in));
    assert_int_equal(cd_json_parse(&v, &a, cd_buf_bytes(&out), 0, NULL), CD_OK);
    cd_json result = cd_json_get(v, "result");
    cd_json error = cd_json_get(v, "error");
    cd_json said = cd_json_has(error) ? cd_json_get(error, "message") : result;
    if (cd_json_kind_of(said) == CD_JSON_OBJ) {
        got = cd_bytes_str("{}");
    } else {
        assert_int_equal(cd_json_str(&got, said, NULL), CD_OK);
    }
    assert_string_equal(cd_arena_str(&a, got), want);
    if (cd_json_has(error)) {
        cd_buf number = {0};
        cd_json_raw(&number, cd_json_get(error, "code"));
        assert_string_equal(cd_buf_cstr(&number), form == CD_RPC_JSON2 ? "-32000" : "-32602");
        cd_buf_fini(&number);
    }
    cd_arena_fini(&a);
    cd_buf_fini(&in);
    cd_buf_fini(&out);
    cd_rpc_table_free(t);
}

/* [spec:node-api#2] */
static void forms_of_params(void **state)
{
    (void)state;
    for (cd_rpc_form f = CD_RPC_ETH; f <= CD_RPC_JSON2; f++) {
        expect(f, "xvm.nothing", "", "{}");
        expect(f, "xvm.nothing", "null", "{}");
        expect(f, "xvm.nothing", "{}", "{}");
        expect(f, "xvm.nothing", "[]", "{}");
        expect(f, "xvm.nothing", "[null]", "{}");
        expect(f, "xvm.nothing", "[{\"unknown\":1},7]", "{}");
        expect(f, "xvm.nothing", "[5]", BAD);
        expect(f, "xvm.nothing", "5", BAD);
        expect(f, "xvm.nothing", "\"x\"", BAD);
        expect(f, "xvm.getNet", "[{\"netID\":\"" EVM_ID "\"}]", EVM_ID);
    }
}

static void names(void **state)
{
    (void)state;
    expect(CD_RPC_JSON2, "xvm.getNet", "{\"netID\":\"" EVM_ID "\"}", EVM_ID);
    expect(CD_RPC_JSON2, "xvm.getSubnet", "{\"SUBNETid\":\"" EVM_ID "\"}", EVM_ID);
    expect(CD_RPC_JSON2, "avm.getSubnet", "{\"netid\":\"" ZERO_ID "\",\"subnetID\":\"" EVM_ID "\"}", EVM_ID);
    expect(CD_RPC_JSON2, "avm.getNet", "{\"netID\":\"" EVM_ID "\",\"netID\":null}", EVM_ID);
    expect(CD_RPC_JSON2, "avm.getnet", "{}", "rpc: can't find method \"avm.Getnet\"");
    expect(CD_RPC_JSON2, "evm.getNet", "{}", "rpc: can't find service \"evm.GetNet\"");
    expect(CD_RPC_JSON2, "xvm.GetNet", "{}", "method must start with a non-uppercase letter");
}

static void required(void **state)
{
    (void)state;
    expect(CD_RPC_JSON2, "xvm.getNet", "", "argument 'netID' not given");
    expect(CD_RPC_JSON2, "xvm.getNet", "{\"netID\":\"" ZERO_ID "\"}", "argument 'netID' not given");
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[]}", "no addresses provided");
    /* What cannot be read is said first. */
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"limit\":\"x\"}", BAD);
    expect(CD_RPC_JSON2, "xvm.all", "{\"text\":\"\"}", "argument 'text' not given");
}

static void defaults_and_objects(void **state)
{
    (void)state;
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\",\"b\"]}", "2 a 1024   hexnc");
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\"],\"limit\":null,\"encoding\":\"HEX\"}",
           "1 a 1024   hex");
    expect(CD_RPC_JSON2, "xvm.getUTXOs",
           "{\"addresses\":[\"a\"],\"limit\":\"007\",\"StartIndex\":{\"address\":\"p\",\"UTXO\":\"q\"}}",
           "1 a 7 p q hexnc");
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\"],\"startIndex\":null}", "1 a 1024   hexnc");
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\"],\"startIndex\":3}", BAD);
    /* A member of the object is none of the parameters. */
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\"],\"address\":\"p\"}", "1 a 1024   hexnc");
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\"],\"startIndex\":{\"limit\":1}}", "1 a 1024   hexnc");
    expect(CD_RPC_JSON2, "xvm.getUTXOs", "{\"addresses\":[\"a\"],\"encoding\":\"cb58\"}", BAD);
}

static void values(void **state)
{
    (void)state;
    expect(CD_RPC_JSON2, "xvm.all", "{\"text\":\"x\"}", "0 0 0 0 0 00 0 00 0 0  5");
    expect(CD_RPC_JSON2, "xvm.all",
           "{\"text\":\"x\",\"flag\":true,\"b\":255,\"h\":\"65535\",\"w\":18446744073709551615,\"f\":\"2.5\",\"id\":"
           "\"" EVM_ID "\",\"ids\":[\"" EVM_ID "\",\"" ZERO_ID "\"],\"nodeID\":\"" NODE "\",\"nodeIDs\":[\"" NODE
           "\"],\"height\":\"12\",\"outputs\":[{\"to\":\"t\",\"amount\":\"9\"}]}",
           "1 255 65535 18446744073709551615 2.5 65 2 47 1 12 t 9");
    expect(CD_RPC_JSON2, "xvm.all", "{\"text\":\"x\",\"height\":\"proposed\",\"f\":1}", "0 0 0 0 1 00 0 00 0 -1  5");
    expect(CD_RPC_JSON2, "xvm.all", "{\"text\":\"x\",\"outputs\":[{\"amount\":-1}]}", "bad output");
    static const char *const wrong[] = {
        "\"flag\":\"true\"", "\"flag\":1",       "\"b\":256",
        "\"b\":\"256\"",     "\"b\":-1",         "\"b\":1.0",
        "\"b\":1e1",         "\"b\":\"\"",       "\"b\":\"0x1\"",
        "\"b\":\" 1\"",      "\"h\":65536",      "\"w\":18446744073709551616",
        "\"f\":\"\"",        "\"f\":\"one\"",    "\"f\":\"[1]\"",
        "\"id\":\"\"",       "\"id\":5",         "\"id\":\"45PJLL\"",
        "\"ids\":\"x\"",     "\"ids\":[1]",      "\"ids\":[null]",
        "\"ids\":[\"\"]",    "\"ids\":{}",       ("\"nodeID\":\"" EVM_ID "\""),
        "\"nodeIDs\":[5]",   "\"height\":\"x\"", "\"height\":18446744073709551615",
        "\"text\":5",
    };
    for (usize i = 0; i < CD_COUNT(wrong); i++) {
        cd_buf in = {0};
        cd_buf_fmt(&in, "{\"text\":\"x\",%s}", wrong[i]);
        expect(CD_RPC_JSON2, "xvm.all", cd_buf_cstr(&in), BAD);
        cd_buf_fini(&in);
    }
}

static void document(void **state)
{
    cd_rpc_table *t = table();
    const cd_rpc_service s = {.form = CD_RPC_JSON2, .table = t};
    const cd_rpc_info info = {.title = "x", .version = "1"};
    cd_buf doc = {0};
    cd_buf raw = {0};
    cd_arena a = {0};
    cd_json v;
    (void)state;
    assert_int_equal(cd_rpc_openrpc(&doc, &s, &info, NULL), CD_OK);
    assert_int_equal(cd_json_parse(&v, &a, cd_buf_bytes(&doc), 0, NULL), CD_OK);
    assert_int_equal(cd_json_len(cd_json_get(v, "methods")), CD_COUNT(rows)); /* aliases are no methods */
    cd_json_raw(&raw, cd_json_at(cd_json_get(v, "methods"), 1));
    assert_string_equal(cd_buf_cstr(&raw),
                        "{\"name\":\"xvm.getNet\",\"x-aliases\":[\"xvm.getSubnet\"],\"summary\":\"A net\","
                        "\"paramStructure\":\"by-name\",\"params\":[{\"name\":\"netID\",\"required\":true,"
                        "\"x-aliases\":[\"subnetID\"],\"schema\":{\"$ref\":\"#/components/schemas/ID\"}}],\"result\":{"
                        "\"name\":\"result\",\"schema\":{\"type\":\"object\",\"properties\":{\"id\":{\"$ref\":"
                        "\"#/components/schemas/ID\"}},\"required\":[\"id\"]}}}");
    cd_buf_clear(&raw);
    cd_json_raw(&raw, cd_json_get(cd_json_at(cd_json_get(v, "methods"), 2), "params"));
    assert_string_equal(
        cd_buf_cstr(&raw),
        "[{\"name\":\"addresses\",\"required\":true,\"schema\":{\"type\":\"array\",\"items\":{\"$ref\":"
        "\"#/components/schemas/String\"}}},{\"name\":\"limit\",\"required\":false,\"schema\":{\"allOf\":[{\"$ref\":"
        "\"#/components/schemas/Uint\"}],\"default\":1024}},{\"name\":\"startIndex\",\"required\":false,\"schema\":{"
        "\"type\":\"object\",\"properties\":{\"address\":{\"$ref\":\"#/components/schemas/String\"},\"utxo\":{\"$ref\":"
        "\"#/components/schemas/"
        "String\"}}}},{\"name\":\"encoding\",\"required\":false,\"schema\":{\"allOf\":[{\"$ref\":"
        "\"#/components/schemas/Encoding\"}],\"default\":\"hexnc\"}}]");
    cd_buf_fini(&raw);
    cd_buf_fini(&doc);
    cd_arena_fini(&a);
    cd_rpc_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_params),      cmocka_unit_test(names),  cmocka_unit_test(required),
        cmocka_unit_test(defaults_and_objects), cmocka_unit_test(values), cmocka_unit_test(document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
