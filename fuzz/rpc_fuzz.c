/* Any bytes as a request. The first byte chooses the form and the limits; the rest is the body. The answer is one JSON
 * document; every part of it has either a result or an error, and the id of an element of the request, in its order. */
#include "base/mem/buf.h"
#include "rpc/jsonrpc.h"
#include "rpc/named.h"
#include "rpc/param.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* --- methods: one for each reader, writing back what was read --- */

static cd_err read_addr(cd_rpc_call *call)
{
    cd_addr20 v;
    CD_TRY(cd_rpc_read_addr(call, &v, cd_rpc_arg(call, 0), 0));
    cd_json_w_hex(call->out, cd_bytes_of(v.b, 20));
    return CD_OK;
}

static cd_err read_hash(cd_rpc_call *call)
{
    cd_hash32 v;
    CD_TRY(cd_rpc_read_hash(call, &v, cd_rpc_arg(call, 0), 0));
    cd_json_w_hex(call->out, cd_bytes_of(v.b, 32));
    return CD_OK;
}

static cd_err read_u64(cd_rpc_call *call)
{
    u64 v;
    CD_TRY(cd_rpc_read_u64(call, &v, cd_rpc_arg(call, 0), 0));
    cd_json_w_qty(call->out, v);
    return CD_OK;
}

static cd_err read_u256(cd_rpc_call *call)
{
    cd_u256 v;
    CD_TRY(cd_rpc_read_u256(call, &v, cd_rpc_arg(call, 1), 1));
    cd_json_w_qty_u256(call->out, &v);
    return CD_OK;
}

static cd_err read_word(cd_rpc_call *call)
{
    cd_u256 v;
    CD_TRY(cd_rpc_read_word(call, &v, cd_rpc_arg(call, 0), 0));
    cd_json_w_qty_u256(call->out, &v);
    return CD_OK;
}

static cd_err read_data(cd_rpc_call *call)
{
    cd_bytes v;
    CD_TRY(cd_rpc_read_data(call, &v, cd_rpc_arg(call, 0), 0));
    cd_json_w_hex(call->out, v);
    return CD_OK;
}

static cd_err read_bool(cd_rpc_call *call)
{
    bool v = false;
    if (cd_rpc_has_arg(call, 0)) {
        CD_TRY(cd_rpc_read_bool(call, &v, cd_rpc_arg(call, 0), 0));
    }
    cd_json_w_bool(call->out, v);
    return CD_OK;
}

static cd_err read_block(cd_rpc_call *call)
{
    cd_block_ref v;
    CD_TRY(cd_rpc_read_block(call, &v, cd_rpc_arg(call, 0), 0));
    CD_ASSERT(v.tag <= CD_TAG_HASH);
    cd_json_w_u64(call->out, v.tag);
    return CD_OK;
}

static cd_err echo(cd_rpc_call *call)
{
    cd_buf raw = {0};
    cd_json_raw(&raw, call->params);
    cd_json_w_raw(call->out, raw.n == 0 ? cd_bytes_str("null") : cd_buf_bytes(&raw));
    cd_buf_fini(&raw);
    return CD_OK;
}

/* Half a result, then an error: nothing of the result may be seen. */
static cd_err fail(cd_rpc_call *call)
{
    cd_bytes text = {0};
    (void)!cd_json_str(&text, cd_rpc_arg(call, 0), NULL);
    cd_json_w_arr(call->out);
    cd_json_w_u64(call->out, 1);
    call->error_data = "\"0x\"";
    return cd_rpc_fail(call, CD_RPC_REVERTED, "failed: %s", cd_arena_str(call->arena, text));
}

#define METHODS(X)                                                                                                     \
    X("", t_addr, read_addr, FAST, 1, 1, "", "")                                                                       \
    X("", t_hash, read_hash, READ, 1, 1, "", "")                                                                       \
    X("", t_u64, read_u64, FAST, 1, 2, "", "")                                                                         \
    X("", t_u256, read_u256, FAST, 2, 2, "", "")                                                                       \
    X("", t_word, read_word, FAST, 1, 1, "", "")                                                                       \
    X("", t_data, read_data, FAST, 1, 1, "", "")                                                                       \
    X("", t_bool, read_bool, FAST, 0, 1, "", "")                                                                       \
    X("", t_block, read_block, OWNER, 0, 1, "", "")                                                                    \
    X("", t_echo, echo, FAST, 0, 9, "", "")                                                                            \
    X("", t_fail, fail, OWNER, 0, 9, "", "")                                                                           \
    X("", t.echo, echo, FAST, 0, 9, "", "")                                                                            \
    X("", t.fail, fail, FAST, 0, 9, "", "")

/* Named parameters of every type. */
#define NAMED(X)                                                                                                       \
    X("", t.all, "t.alias", read_all, FAST,                                                                            \
      ARGS((BOOL, flag, "flag", OPTIONAL), (U8, b, "b", DEFAULT("7")), (U64, w, "w x", OPTIONAL),                      \
           (F64, f, "f", OPTIONAL), (IDS, ids, "ids", OPTIONAL), (NODE_IDS, nodes, "nodes", OPTIONAL),                 \
           (HEIGHT, height, "height", OPTIONAL), (ANY, any, "any", OPTIONAL), (STRINGS, texts, "in.texts", OPTIONAL),  \
           (ENCODING, encoding, "in.encoding", OPTIONAL), (ID, id, "id", OPTIONAL), (U16, h, "h", REQUIRED)),          \
      "Any", "")

NAMED(CD_RPC_NAMED_DECL)

/* Looks at all that was read. */
cd_err read_all(cd_rpc_call *call)
{
    const read_all_args *in = call->args;
    u64 sum = in->b + in->w + in->h + in->height + in->id.b[0] + (u64)in->flag + (in->f > 0 ? 1 : 0);
    CD_ASSERT(in->h != 0 && in->encoding <= CD_ENCODING_JSON);
    for (usize i = 0; i < in->ids.n; i++) {
        sum += in->ids.v[i].b[31];
    }
    for (usize i = 0; i < in->nodes.n; i++) {
        sum += in->nodes.v[i].b[19];
    }
    for (usize i = 0; i < in->texts.n; i++) {
        sum += in->texts.v[i].n == 0 ? 0 : in->texts.v[i].p[in->texts.v[i].n - 1];
    }
    cd_json_w_u64(call->out, sum + cd_json_len(in->any));
    return CD_OK;
}

static const cd_rpc_method methods[] = {METHODS(CD_RPC_ROW) NAMED(CD_RPC_NAMED_ROW)};

/* --- the answer --- */

static bool is_same(cd_json a, cd_json b)
{
    cd_buf x = {0};
    cd_buf y = {0};
    cd_json_raw(&x, a);
    cd_json_raw(&y, b);
    bool same = cd_bytes_eq(cd_buf_bytes(&x), cd_buf_bytes(&y));
    cd_buf_fini(&x);
    cd_buf_fini(&y);
    return same;
}

/* The id that counts: the last of several, in the form JSON2 in letters of any case. */
static cd_json id_of(cd_json v, cd_rpc_form form)
{
    cd_json id = {0};
    cd_json_it it = cd_json_iter(v);
    u8 fold = form == CD_RPC_JSON2 ? 0x20 : 0;
    while (cd_json_kind_of(v) == CD_JSON_OBJ && cd_json_next(&it)) {
        if (it.key.n == 2 && (it.key.p[0] | fold) == 'i' && (it.key.p[1] | fold) == 'd') {
            id = it.val;
        }
    }
    return id;
}

static void check_part(cd_json part)
{
    cd_json error = cd_json_get(part, "error");
    bool has_result = cd_json_kind_of(cd_json_get(part, "result")) != CD_JSON_NONE;
    bool has_error = cd_json_kind_of(error) == CD_JSON_OBJ;
    CD_ASSERT(cd_json_kind_of(part) == CD_JSON_OBJ && cd_json_len(part) == 3);
    CD_ASSERT(has_result != has_error);
    CD_ASSERT(cd_json_kind_of(cd_json_get(part, "id")) != CD_JSON_NONE);
    CD_ASSERT(!has_error || (cd_json_kind_of(cd_json_get(error, "code")) == CD_JSON_NUM &&
                             cd_json_kind_of(cd_json_get(error, "message")) == CD_JSON_STR));
}

/* Every answer has the id of an element, in the order of the elements, or null. */
static void check_batch(cd_json answer, cd_json body)
{
    cd_json_it asked = cd_json_iter(body);
    cd_json_it parts = cd_json_iter(answer);
    CD_ASSERT(cd_json_kind_of(answer) == CD_JSON_ARR && cd_json_len(answer) != 0);
    CD_ASSERT(cd_json_len(answer) <= cd_json_len(body));
    while (cd_json_next(&parts)) {
        check_part(parts.val);
        cd_json id = cd_json_get(parts.val, "id");
        bool found = cd_json_kind_of(id) == CD_JSON_NULL;
        while (!found && cd_json_next(&asked)) {
            found = is_same(id_of(asked.val, CD_RPC_ETH), id);
        }
        CD_ASSERT(found);
    }
}

static void check(cd_bytes reply, cd_bytes body, cd_rpc_form form)
{
    cd_arena a = {0};
    cd_json answer;
    cd_json asked;
    CD_ASSERT(cd_json_parse(&answer, &a, reply, 0, NULL) == CD_OK);
    bool is_json = cd_json_parse(&asked, &a, body, 0, NULL) == CD_OK;
    if (!is_json || cd_json_kind_of(asked) != CD_JSON_ARR || cd_json_len(asked) == 0 || form == CD_RPC_JSON2) {
        check_part(answer);
        cd_json id = cd_json_get(answer, "id");
        CD_ASSERT(cd_json_kind_of(id) == CD_JSON_NULL || (is_json && is_same(id_of(asked, form), id)));
    } else {
        check_batch(answer, asked);
    }
    cd_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size == 0) {
        return 0;
    }
    bool is_tight = (data[0] & 2) != 0;
    cd_bytes body = cd_bytes_of(data + 1, size - 1);
    cd_rpc_table *table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(table, methods, CD_COUNT(methods));
    cd_rpc_service service = {
        .form = (data[0] & 1) != 0 ? CD_RPC_JSON2 : CD_RPC_ETH,
        .table = table,
        .limits = {.batch_max = is_tight ? 3 : 0, .response_max = is_tight ? 40 : 0},
        .scope_size = 8,
    };
    cd_buf reply = {0};
    cd_rpc_serve(&service, &reply, body);
    if (reply.n != 0) {
        check(cd_buf_bytes(&reply), body, service.form);
    }
    cd_buf_fini(&reply);
    cd_rpc_table_free(table);
    return 0;
}
