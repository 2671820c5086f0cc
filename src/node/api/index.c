#include "node/api/index.h"

#include "base/mem/mem.h"
#include "codec/api_json.h"
#include "rpc/named.h"

enum { FETCH_MAX = 1024, ANSWER_MAX = 16 << 20 };

struct cd_index_api {
    const cd_containers *containers; /* NULL: none, ever */
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/index.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/index.def"
#undef X
};

static const cd_containers *containers_of(const cd_rpc_call *call)
{
    return ((const cd_index_api *)call->ctx)->containers;
}

static u64 cnt_of(const cd_rpc_call *call)
{
    const cd_containers *c = containers_of(call);
    return c == NULL ? 0 : cd_containers_cnt(c);
}

static cd_err fail_store(cd_rpc_call *call, cd_err e)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "the store does not answer: %s", cd_err_str(e));
}

static void put_container(cd_json_w *w, const cd_container *c, cd_encoding encoding)
{
    cd_json_w_obj(w);
    cd_json_put_id(w, "id", &c->id);
    cd_json_put_encoded(w, "bytes", encoding, c->bytes);
    cd_json_put_time(w, "timestamp", c->accepted_ns);
    cd_json_put_cstr(w, "encoding", cd_encoding_name(encoding));
    cd_json_put_dec(w, "index", c->index);
    cd_json_w_obj_end(w);
}

static cd_err check_encoding(cd_rpc_call *call, cd_encoding encoding)
{
    return encoding == CD_ENCODING_JSON ? cd_rpc_fail(call, CD_RPC_SERVER, "unsupported encoding in method") : CD_OK;
}

static cd_err answer(cd_rpc_call *call, u64 index, cd_encoding encoding)
{
    cd_buf buf = {0};
    cd_container c;
    CD_TRY(check_encoding(call, encoding));
    cd_err e = cd_containers_get(containers_of(call), &c, &buf, index);
    if (e == CD_OK) {
        put_container(call->out, &c, encoding);
    } else {
        e = fail_store(call, e);
    }
    cd_buf_fini(&buf);
    return e;
}

cd_err cd__index_last(cd_rpc_call *call)
{
    const cd__index_last_args *args = call->args;
    u64 cnt = cnt_of(call);
    if (cnt == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no containers have been accepted");
    }
    return answer(call, cnt - 1, args->encoding);
}

cd_err cd__index_by_index(cd_rpc_call *call)
{
    const cd__index_by_index_args *args = call->args;
    if (args->index >= cnt_of(call)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no container at index %llu", (unsigned long long)args->index);
    }
    return answer(call, args->index, args->encoding);
}

/* CD_ENOENT is the caller's to put into words. */
static cd_err find(cd_rpc_call *call, u64 *index, const cd_hash32 *id)
{
    cd_err e = cnt_of(call) == 0 ? CD_ENOENT : cd_containers_index_of(containers_of(call), index, id);
    return e == CD_OK || e == CD_ENOENT ? e : fail_store(call, e);
}

static cd_err find_or_fail(cd_rpc_call *call, u64 *index, const cd_hash32 *id)
{
    cd_err e = find(call, index, id);
    return e == CD_ENOENT ? cd_rpc_fail(call, CD_RPC_SERVER, "not found") : e;
}

cd_err cd__index_by_id(cd_rpc_call *call)
{
    const cd__index_by_id_args *args = call->args;
    u64 index = 0;
    CD_TRY(find_or_fail(call, &index, &args->id));
    return answer(call, index, args->encoding);
}

cd_err cd__index_of(cd_rpc_call *call)
{
    const cd__index_of_args *args = call->args;
    u64 index = 0;
    CD_TRY(find_or_fail(call, &index, &args->id));
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "index", index);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__index_has(cd_rpc_call *call)
{
    const cd__index_has_args *args = call->args;
    u64 index = 0;
    cd_err e = find(call, &index, &args->id);
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    cd_json_w_obj(call->out);
    cd_json_put_bool(call->out, "isAccepted", e == CD_OK);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err check_range(cd_rpc_call *call, u64 start, u64 want, u64 cnt)
{
    if (want == 0 || want > FETCH_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "numToFetch must be in [1,%d] but is %llu", FETCH_MAX,
                           (unsigned long long)want);
    }
    if (cnt == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no containers have been accepted");
    }
    if (start >= cnt) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "start index (%llu) > last accepted index (%llu)",
                           (unsigned long long)start, (unsigned long long)(cnt - 1));
    }
    return CD_OK;
}

cd_err cd__index_range(cd_rpc_call *call)
{
    const cd__index_range_args *args = call->args;
    u64 cnt = cnt_of(call);
    CD_TRY(check_encoding(call, args->encoding));
    CD_TRY(check_range(call, args->start_index, args->num_to_fetch, cnt));
    u64 end = args->start_index + cd_min_u64(args->num_to_fetch, cnt - args->start_index);
    usize held = 0;
    cd_err e = CD_OK;
    cd_buf buf = {0};
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "containers");
    cd_json_w_arr(call->out);
    for (u64 i = args->start_index; i < end && e == CD_OK && held < ANSWER_MAX; i++) {
        cd_container c;
        e = cd_containers_get(containers_of(call), &c, &buf, i);
        if (e == CD_OK) {
            held += c.bytes.n;
            put_container(call->out, &c, args->encoding);
        }
        if (cd_rpc_is_late(call)) {
            break;
        }
    }
    cd_buf_fini(&buf);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_index_api *cd_index_api_new(const cd_containers *c)
{
    cd_index_api *api = cd_new(cd_index_api);
    api->containers = c;
    api->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    return api;
}

void cd_index_api_free(cd_index_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_free(api);
    }
}

const cd_rpc_service *cd_index_api_service(const cd_index_api *api)
{
    return &api->service;
}
