#include "node/api/backup_api.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "codec/api_json.h"
#include "rpc/named.h"

struct cd_backup_api {
    cd_backup_cfg cfg;
    cd_mutex lock; /* protects is_busy */
    bool is_busy;
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/backup.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/backup.def"
#undef X
};

static bool take(cd_backup_api *api)
{
    cd_mutex_lock(&api->lock);
    bool is_mine = !api->is_busy;
    api->is_busy = true;
    cd_mutex_unlock(&api->lock);
    return is_mine;
}

static bool is_busy(cd_backup_api *api)
{
    cd_mutex_lock(&api->lock);
    bool busy = api->is_busy;
    cd_mutex_unlock(&api->lock);
    return busy;
}

static void give(cd_backup_api *api)
{
    cd_mutex_lock(&api->lock);
    api->is_busy = false;
    cd_mutex_unlock(&api->lock);
}

static cd_err check_dir(cd_rpc_call *call)
{
    const cd_backup_api *api = call->ctx;
    return api->cfg.dir != NULL ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "this node keeps its data in memory");
}

static cd_err said(cd_rpc_call *call, const cd_errinfo *why)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why->msg);
}

cd_err cd__backup_create(cd_rpc_call *call)
{
    const cd__backup_create_args *args = call->args;
    cd_backup_api *api = call->ctx;
    cd_backup_info info = {0};
    cd_errinfo why = {0};
    CD_TRY(check_dir(call));
    if (args->since != 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "since: a backup is whole, and shares with the store and others what has not changed");
    }
    if (api->cfg.is_apart != NULL && *api->cfg.is_apart) {
        return cd_rpc_fail(
            call, CD_RPC_SERVER,
            "a chain that runs as a plugin has a store of its own: stop the node and copy its directory, or "
            "begin the network with --evm-in-process");
    }
    if (!take(api)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "backup already in progress");
    }
    cd_err e = cd_backup_create(&info, api->cfg.store, api->cfg.dir, args->path, api->cfg.clock, &why);
    give(api);
    if (e != CD_OK) {
        return said(call, &why);
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "version", info.version);
    cd_json_put_dec(call->out, "bytes", info.bytes);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__backup_restore(cd_rpc_call *call)
{
    const cd__backup_restore_args *args = call->args;
    cd_backup_api *api = call->ctx;
    cd_errinfo why = {0};
    CD_TRY(check_dir(call));
    if (!take(api)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "backup already in progress");
    }
    cd_err e = cd_backup_restore(api->cfg.dir, args->path, &why);
    give(api);
    if (e != CD_OK) {
        return said(call, &why);
    }
    cd_json_w_obj(call->out);
    cd_json_put_str(call->out, "path", args->path);
    cd_json_put_bool(call->out, "atNextStart", true);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__backup_status(cd_rpc_call *call)
{
    cd_backup_api *api = call->ctx;
    cd_backup_info info = {0};
    cd_errinfo why = {0};
    cd_buf name = {0};
    CD_TRY(check_dir(call));
    cd_err e = cd_backup_last(&info, api->cfg.dir, &why);
    e = e != CD_OK ? e : cd_backup_waiting(&name, api->cfg.dir, &why);
    if (e == CD_OK) {
        cd_json_w *w = call->out;
        cd_json_w_obj(w);
        cd_json_put_dec(w, "lastVersion", info.version);
        cd_json_put_dec(w, "lastBackupTime", info.time_s);
        cd_json_put_dec(w, "lastBackupSize", info.bytes);
        cd_json_put_bool(w, "incremental", false);
        cd_json_put_bool(w, "inProgress", is_busy(api));
        cd_json_put_str(w, "restores", cd_buf_bytes(&name));
        cd_json_w_obj_end(w);
    }
    cd_buf_fini(&name);
    return e == CD_OK ? CD_OK : said(call, &why);
}

cd_backup_api *cd_backup_api_new(const cd_backup_cfg *cfg)
{
    cd_backup_api *api = cd_new(cd_backup_api);
    api->cfg = *cfg;
    cd_mutex_init(&api->lock);
    api->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    return api;
}

void cd_backup_api_free(cd_backup_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_mutex_fini(&api->lock);
        cd_free(api);
    }
}

const cd_rpc_service *cd_backup_api_service(const cd_backup_api *api)
{
    return &api->service;
}
