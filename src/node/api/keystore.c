#include "node/api/keystore.h"

#include "base/mem/mem.h"
#include "codec/api_json.h"
#include "rpc/named.h"
#include "wallet/hd.h"
#include "wallet/users.h"

static const char prefix[] = "U"; /* of the part of the store */

struct cd_keystore_api {
    cd_vm_users for_vms; /* first */
    cd_users *users;
    u32 network_id;
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/keystore.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/keystore.def"
#undef X
};

/* --- methods --- */

cd_err cd__keystore_create(cd_rpc_call *call)
{
    const cd__keystore_create_args *args = call->args;
    const cd_keystore_api *api = call->ctx;
    cd_errinfo why = {0};
    return cd_rpc_done(call, cd_users_create(api->users, args->username, args->password, &why), &why);
}

cd_err cd__keystore_delete(cd_rpc_call *call)
{
    const cd__keystore_delete_args *args = call->args;
    const cd_keystore_api *api = call->ctx;
    cd_errinfo why = {0};
    return cd_rpc_done(call, cd_users_remove(api->users, args->username, args->password, &why), &why);
}

cd_err cd__keystore_list(cd_rpc_call *call)
{
    const cd_keystore_api *api = call->ctx;
    cd_bytes *names;
    usize cnt;
    cd_errinfo why = {0};
    cd_json_w *w = call->out;
    if (cd_users_list(api->users, &names, &cnt, call->arena, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
    }
    cd_json_w_obj(w);
    cd_json_w_key(w, "users");
    cd_json_w_arr(w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_str(w, names[i]);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err check_encoding(cd_rpc_call *call, cd_encoding encoding)
{
    return encoding != CD_ENCODING_JSON ? CD_OK
                                        : cd_rpc_fail(call, CD_RPC_SERVER, "unsupported encoding in this method: json");
}

cd_err cd__keystore_export(cd_rpc_call *call)
{
    const cd__keystore_export_args *args = call->args;
    const cd_keystore_api *api = call->ctx;
    cd_buf user = {0};
    cd_errinfo why = {0};
    CD_TRY(check_encoding(call, args->encoding));
    cd_err e = cd_users_export(api->users, &user, args->username, args->password, &why);
    if (e == CD_OK) {
        cd_json_w_obj(call->out);
        cd_json_put_encoded(call->out, "user", args->encoding, cd_buf_bytes(&user));
        cd_json_put_cstr(call->out, "encoding", cd_encoding_name(args->encoding));
        cd_json_w_obj_end(call->out);
    }
    cd_buf_fini(&user);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

cd_err cd__keystore_import(cd_rpc_call *call)
{
    const cd__keystore_import_args *args = call->args;
    const cd_keystore_api *api = call->ctx;
    cd_bytes user;
    cd_errinfo why = {0};
    CD_TRY(check_encoding(call, args->encoding));
    if (cd_encoding_dec(&user, call->arena, args->encoding, args->user, &why) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "couldn't decode 'user' to bytes: %s", why.msg);
    }
    return cd_rpc_done(call, cd_users_import(api->users, args->username, args->password, user, &why), &why);
}

/* --- for VMs --- */

static const cd_keystore_api *of(const cd_vm_users *u)
{
    return (const cd_keystore_api *)(const void *)u;
}

static cd_err vm_keys(const cd_vm_users *u, cd_secret *out, usize *cnt, const cd_vm_user *user, const cd_hash32 *chain,
                      cd_errinfo *why)
{
    return cd_users_keys(of(u)->users, out, cnt, user->name, user->password, chain, why);
}

static cd_err vm_add(const cd_vm_users *u, const cd_vm_user *user, const cd_hash32 *chain,
                     const u8 secret[CD_VM_USER_KEY], cd_errinfo *why)
{
    CD_TRY(cd_hd_own_ok(secret, of(u)->network_id, why));
    return cd_users_add(of(u)->users, user->name, user->password, chain, secret, why);
}

/* --- life --- */

cd_keystore_api *cd_keystore_api_new(cd_kv *store, const cd_clock *clock, u32 network_id)
{
    cd_keystore_api *api = cd_new(cd_keystore_api);
    *api = (cd_keystore_api){
        .for_vms = {.keys = vm_keys, .add = vm_add},
        .users = cd_users_new(store, cd_bytes_str(prefix), clock),
        .network_id = network_id,
        .table = cd_rpc_table_new(NULL, 0),
    };
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    return api;
}

void cd_keystore_api_free(cd_keystore_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_users_free(api->users);
        cd_free(api);
    }
}

const cd_rpc_service *cd_keystore_api_service(const cd_keystore_api *api)
{
    return &api->service;
}

const cd_vm_users *cd_keystore_api_users(const cd_keystore_api *api)
{
    return &api->for_vms;
}
