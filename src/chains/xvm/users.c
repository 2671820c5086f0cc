/* Keys that the node keeps for its users: shown, taken in, made, listed. [spec:node-api#6] */
#include "chains/wallet/methods.h"
#include "chains/xvm/address.h"
#include "chains/xvm/service_priv.h"
#include "codec/api_json.h"

static void put_addr(cd_rpc_call *call, const cd_addr20 *addr)
{
    const cd_vm_ctx *ctx = &cd__xvm_service_vm(call)->ctx;
    cd_json_w_chain_addr(call->out, ctx->name, cd_xvm_place_of(ctx).prefix, addr);
}

static cd_err put_address(cd_rpc_call *call, cd_err e, const cd_addr20 *addr, const cd_errinfo *why)
{
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why->msg);
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "address");
    put_addr(call, addr);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__xvm_create_address(cd_rpc_call *call)
{
    const cd__xvm_create_address_args *args = call->args;
    const cd_vm_ctx *ctx = &cd__xvm_service_vm(call)->ctx;
    const cd_vm_user user = {.name = args->username, .password = args->password};
    cd_addr20 addr;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_new(&addr, ctx->users, &user, &ctx->chain_id, &why);
    return put_address(call, e, &addr, &why);
}

cd_err cd__xvm_import_key(cd_rpc_call *call)
{
    const cd__xvm_import_key_args *args = call->args;
    const cd_vm_ctx *ctx = &cd__xvm_service_vm(call)->ctx;
    const cd_vm_user user = {.name = args->username, .password = args->password};
    cd_addr20 addr;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_add(&addr, NULL, ctx->users, &user, &ctx->chain_id, args->key, &why);
    return put_address(call, e, &addr, &why);
}

cd_err cd__xvm_list_addresses(cd_rpc_call *call)
{
    const cd__xvm_list_addresses_args *args = call->args;
    const cd_vm_ctx *ctx = &cd__xvm_service_vm(call)->ctx;
    const cd_vm_user user = {.name = args->username, .password = args->password};
    cd_wallet_keys keys;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_open(&keys, ctx->users, &user, &ctx->chain_id, NULL, 0, call->arena, &why);
    if (e == CD_OK) {
        cd_json_w_obj(call->out);
        cd_json_w_key(call->out, "addresses");
        cd_json_w_arr(call->out);
        for (usize i = 0; i < keys.cnt; i++) {
            put_addr(call, &keys.addrs[i]);
        }
        cd_json_w_arr_end(call->out);
        cd_json_w_obj_end(call->out);
    }
    cd_wallet_keys_close(&keys);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

cd_err cd__xvm_export_key(cd_rpc_call *call)
{
    const cd__xvm_export_key_args *args = call->args;
    const cd_vm_ctx *ctx = &cd__xvm_service_vm(call)->ctx;
    const cd_xvm_place place = cd_xvm_place_of(ctx);
    const cd_vm_user user = {.name = args->username, .password = args->password};
    cd_addr20 addr;
    cd_errinfo why = {0};
    CD_TRY(cd_wallet_said(call, cd_xvm_addr_parse(&place, &addr, args->address, &why), &why));
    return cd_wallet_show_key(call, ctx->users, &user, &ctx->chain_id, &addr, NULL);
}
