#include "node/api/auth.h"

#include "base/mem/mem.h"
#include "codec/json.h"
#include "rpc/named.h"

struct cd_auth_api {
    cd_tokens *tokens;
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/auth.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/auth.def"
#undef X
};

cd_err cd__auth_new_token(cd_rpc_call *call)
{
    const cd__auth_new_token_args *args = call->args;
    const cd_auth_api *api = call->ctx;
    cd_buf token = {0};
    cd_errinfo why = {0};
    cd_err e = cd_tokens_make(api->tokens, &token, args->password, args->endpoints.v, args->endpoints.n, &why);
    if (e == CD_OK) {
        cd_json_w_obj(call->out);
        cd_json_put_str(call->out, "token", cd_buf_bytes(&token));
        cd_json_w_obj_end(call->out);
    }
    cd_buf_fini(&token);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

cd_err cd__auth_revoke_token(cd_rpc_call *call)
{
    const cd__auth_revoke_token_args *args = call->args;
    const cd_auth_api *api = call->ctx;
    cd_errinfo why = {0};
    return cd_rpc_done(call, cd_tokens_revoke(api->tokens, args->password, args->token, &why), &why);
}

cd_err cd__auth_change_password(cd_rpc_call *call)
{
    const cd__auth_change_password_args *args = call->args;
    const cd_auth_api *api = call->ctx;
    cd_errinfo why = {0};
    return cd_rpc_done(call, cd_tokens_change(api->tokens, args->old_password, args->new_password, &why), &why);
}

bool cd_auth_admit(void *ctx, cd_http_req *r)
{
    const cd_auth_api *api = ctx;
    cd_errinfo why = {0};
    if (cd_tokens_admit(api->tokens, cd_http_req_header(r, "authorization"), cd_http_req_path(r), &why) == CD_OK) {
        return true;
    }
    cd_json_w w = {.out = cd_http_req_out(r)};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "jsonrpc", "2.0");
    cd_json_w_key(&w, "error");
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "code");
    cd_json_w_i64(&w, CD_RPC_INVALID_REQUEST);
    cd_json_put_cstr(&w, "message", why.msg);
    cd_json_w_obj_end(&w);
    cd_json_put_u64(&w, "id", 1);
    cd_json_w_obj_end(&w);
    cd_buf_str(cd_http_req_out(r), "\n");
    cd_http_reply(r, 401, "application/json");
    return false;
}

cd_err cd_auth_api_new(cd_auth_api **out, cd_bytes password, const cd_clock *clock, cd_errinfo *why)
{
    cd_tokens *tokens = NULL;
    CD_TRY(cd_tokens_new(&tokens, password, clock, why));
    cd_auth_api *api = cd_new(cd_auth_api);
    api->tokens = tokens;
    api->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    *out = api;
    return CD_OK;
}

void cd_auth_api_free(cd_auth_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_tokens_free(api->tokens);
        cd_free(api);
    }
}

const cd_rpc_service *cd_auth_api_service(const cd_auth_api *api)
{
    return &api->service;
}
