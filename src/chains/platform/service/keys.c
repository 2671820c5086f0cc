/* Keys that the node keeps for its users: shown, taken in, made, listed. [spec:node-api#5] */
#include "chains/platform/service/service_priv.h"
#include "chains/wallet/methods.h"

static const cd_hash32 own_chain; /* the P-Chain's ID is zero */

static cd_vm_user user_of(cd_bytes name, cd_bytes password)
{
    return (cd_vm_user){.name = name, .password = password};
}

cd_err cd__platform_keys_export_key(cd_rpc_call *call)
{
    const cd__platform_keys_export_key_args *args = call->args;
    const cd_vm_user user = user_of(args->username, args->password);
    cd_addr20 addr;
    CD_TRY(cd__addr_read(&addr, call, args->address));
    return cd_wallet_show_key(call, cd__service_of(call)->cfg.users, &user, &own_chain, &addr, NULL);
}

static cd_err put_address(cd_rpc_call *call, cd_err e, const cd_addr20 *addr, const cd_errinfo *why)
{
    if (e != CD_OK) {
        return cd__fail(call, "%s", why->msg);
    }
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "address", cd__addr_text(call, addr));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_keys_import_key(cd_rpc_call *call)
{
    const cd__platform_keys_import_key_args *args = call->args;
    const cd_vm_user user = user_of(args->username, args->password);
    cd_addr20 addr;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_add(&addr, NULL, cd__service_of(call)->cfg.users, &user, &own_chain, args->key, &why);
    return put_address(call, e, &addr, &why);
}

cd_err cd__platform_keys_create_address(cd_rpc_call *call)
{
    const cd__platform_keys_create_address_args *args = call->args;
    const cd_vm_user user = user_of(args->username, args->password);
    cd_addr20 addr;
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_new(&addr, cd__service_of(call)->cfg.users, &user, &own_chain, &why);
    return put_address(call, e, &addr, &why);
}

cd_err cd__platform_keys_list_addresses(cd_rpc_call *call)
{
    const cd__platform_keys_list_addresses_args *args = call->args;
    const cd_vm_user user = user_of(args->username, args->password);
    cd_wallet_keys keys;
    cd_errinfo why = {0};
    cd_err e =
        cd_wallet_keys_open(&keys, cd__service_of(call)->cfg.users, &user, &own_chain, NULL, 0, call->arena, &why);
    if (e == CD_OK) {
        const cd_linear_list list = {.v = keys.addrs, .cnt = (u32)keys.cnt};
        cd_json_w_obj(call->out);
        cd__put_addrs(call, "addresses", &list);
        cd_json_w_obj_end(call->out);
    }
    cd_wallet_keys_close(&keys);
    return e == CD_OK ? CD_OK : cd__fail(call, "%s", why.msg);
}
