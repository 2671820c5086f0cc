/* admin.alias, aliasChain, getChainAliases: names and paths of chains. [spec:node-api#8] */
#include "codec/api_json.h"
#include "node/api/admin_priv.h"
#include "node/chain/aliases.h"

cd_err cd__admin_alias(cd_rpc_call *call)
{
    const cd__admin_alias_args *args = call->args;
    const cd_admin_api *api = call->ctx;
    cd_errinfo why = {0};
    return cd_rpc_done(
        call, cd_alias_route(api->chains, api->cfg.network->family->root, args->endpoint, args->alias, &why), &why);
}

cd_err cd__admin_alias_chain(cd_rpc_call *call)
{
    const cd__admin_alias_chain_args *args = call->args;
    const cd_admin_api *api = call->ctx;
    cd_errinfo why = {0};
    return cd_rpc_done(call, cd_alias_chain(api->chains, args->chain, args->alias, &why), &why);
}

cd_err cd__admin_chain_aliases(cd_rpc_call *call)
{
    const cd__admin_chain_aliases_args *args = call->args;
    const cd_admin_api *api = call->ctx;
    cd_errinfo why = {0};
    cd_hash32 id;
    if (cd_id_parse(&id, args->chain, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "aliases");
    cd_alias_put(api->chains, call->out, &id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}
