#include "node/api/admin_priv.h"

cd_err cd__admin_load_vms(cd_rpc_call *call)
{
    const cd_admin_api *api = call->ctx;
    cd_errinfo why = {0};
    if (api->cfg.plugins == NULL) {
        cd_rpc_set_error(call, CD_RPC_SERVER, "this node has no plugins");
        return CD_EUNSUPPORTED;
    }
    cd_err e = cd_plugins_load(api->cfg.plugins, call->out, &why);
    if (e != CD_OK) {
        cd_rpc_set_error(call, CD_RPC_SERVER, "%s", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e));
    }
    return e;
}
