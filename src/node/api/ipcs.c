#include "node/api/ipcs.h"

#include "base/mem/mem.h"
#include "codec/api_json.h"
#include "rpc/named.h"

struct cd_ipcs_api {
    cd_ipc *ipc;
    cd_node_names *names;
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/ipcs.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/ipcs.def"
#undef X
};

static cd_err find(cd_rpc_call *call, cd_hash32 *id, cd_bytes name)
{
    const cd_ipcs_api *api = call->ctx;
    if (cd_node_names_find(api->names, id, name) == CD_OK) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "there is no ID with alias: %.*s", (int)cd_min_u64(name.n, 512),
                       name.n == 0 ? "" : (const char *)name.p);
}

cd_err cd__ipcs_publish(cd_rpc_call *call)
{
    const cd__ipcs_publish_args *args = call->args;
    const cd_ipcs_api *api = call->ctx;
    cd_errinfo why = {0};
    cd_ipc_paths paths;
    cd_hash32 id;
    CD_TRY(find(call, &id, args->chain));
    cd_err e = cd_ipc_publish(api->ipc, &id, &why);
    e = e != CD_OK ? e : cd_ipc_paths_of(api->ipc, &paths, &id, &why);
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "consensusURL", paths.consensus);
    cd_json_put_cstr(call->out, "decisionsURL", paths.decisions);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__ipcs_unpublish(cd_rpc_call *call)
{
    const cd__ipcs_unpublish_args *args = call->args;
    const cd_ipcs_api *api = call->ctx;
    cd_hash32 id;
    CD_TRY(find(call, &id, args->chain));
    cd_ipc_unpublish(api->ipc, &id);
    return cd_rpc_done(call, CD_OK, NULL);
}

cd_err cd__ipcs_published(cd_rpc_call *call)
{
    const cd_ipcs_api *api = call->ctx;
    cd_hash32 ids[CD_IPC_CHAINS_MAX];
    usize cnt = cd_ipc_list(api->ipc, ids);
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "chains");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_id(call->out, &ids[i]);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_ipcs_api *cd_ipcs_api_new(cd_ipc *ipc)
{
    cd_ipcs_api *api = cd_new(cd_ipcs_api);
    api->ipc = ipc;
    api->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    return api;
}

void cd_ipcs_api_free(cd_ipcs_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_free(api);
    }
}

void cd_ipcs_api_serve(cd_ipcs_api *api, cd_node_names *names)
{
    api->names = names;
}

const cd_rpc_service *cd_ipcs_api_service(const cd_ipcs_api *api)
{
    return &api->service;
}
