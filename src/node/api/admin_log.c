/* admin.getLoggerLevel, setLoggerLevel, getConfig: this node has one logger, "main", for all of its chains.
 * [spec:node-api#8] */
#include "base/text.h"
#include "codec/api_json.h"
#include "node/api/admin_priv.h"

static const char logger_name[] = "main";

static void put_level(cd_json_w *w, const char *key, cd_log_level level)
{
    char text[8] = {0};
    const char *name = cd_log_level_name(level);
    for (usize i = 0; name[i] != '\0' && i < sizeof text - 1; i++) {
        text[i] = (char)(name[i] - 'a' + 'A');
    }
    cd_json_put_cstr(w, key, text);
}

static void put_levels(cd_rpc_call *call, cd_log_levels levels)
{
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "loggerLevels");
    cd_json_w_obj(w);
    cd_json_w_key(w, logger_name);
    cd_json_w_obj(w);
    put_level(w, "logLevel", levels.kept);
    put_level(w, "displayLevel", levels.shown);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

/* The empty name stands for all loggers. */
static cd_err check_name(cd_rpc_call *call, cd_bytes name)
{
    if (name.n == 0 || cd_bytes_eq(name, cd_bytes_str(logger_name))) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_SERVER, "logger with name \"%.*s\" not found", (int)cd_min_u64(name.n, 200),
                       (const char *)name.p);
}

cd_err cd__admin_logger_level(cd_rpc_call *call)
{
    const cd__admin_logger_level_args *args = call->args;
    const cd_admin_api *api = call->ctx;
    CD_TRY(check_name(call, args->name));
    put_levels(call, cd_log_levels_get(api->cfg.log));
    return CD_OK;
}

cd_err cd__admin_set_logger_level(cd_rpc_call *call)
{
    const cd__admin_set_logger_level_args *args = call->args;
    const cd_admin_api *api = call->ctx;
    cd_log_levels levels = cd_log_levels_get(api->cfg.log);
    if ((args->log_level.n != 0 && cd_log_level_parse(&levels.kept, args->log_level) != CD_OK) ||
        (args->display_level.n != 0 && cd_log_level_parse(&levels.shown, args->display_level) != CD_OK)) {
        return cd_rpc_fail_argument(call);
    }
    if (args->log_level.n == 0 && args->display_level.n == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "need to specify either displayLevel or logLevel");
    }
    CD_TRY(check_name(call, args->name));
    cd_log_levels_set(api->cfg.log, levels);
    put_levels(call, cd_log_levels_get(api->cfg.log));
    return CD_OK;
}

cd_err cd__admin_config(cd_rpc_call *call)
{
    const cd_admin_api *api = call->ctx;
    cd_json_w_raw(call->out, api->cfg.config.n == 0 ? cd_bytes_str("{}") : api->cfg.config);
    return CD_OK;
}
