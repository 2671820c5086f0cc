#include "base/mem/mem.h"
#include "codec/api_json.h"
#include "node/api/admin_priv.h"

static const char *const state_names[] = {"running", "stopping", "stopped", "starting"};

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/admin.def"
#undef X
};

/* --- orders --- */

static cd__admin_row *row_of(const cd_admin_api *api, cd_bytes name)
{
    cd_hash32 id;
    bool is_id = cd_id_parse(&id, name, NULL) == CD_OK;
    for (usize i = 0; i < api->cnt; i++) {
        const cd_node_chain_cfg *cfg = api->rows[i].cfg;
        bool is_it = is_id && cd_hash32_eq(&id, &api->rows[i].id);
        for (usize k = 0; k < cfg->alias_cnt && !is_it; k++) {
            is_it = cd_bytes_eq(name, cd_bytes_str(cfg->aliases[k]));
        }
        if (is_it) {
            return &api->rows[i];
        }
    }
    return NULL;
}

static void on_closed(void *ctx, cd_err err, const cd_errinfo *why)
{
    cd__admin_row *r = ctx;
    r->state = CD__STOPPED;
    r->why = err == CD_OK ? (cd_errinfo){0} : *why;
}

static void on_opened(void *ctx, cd_err err, const cd_errinfo *why)
{
    cd__admin_row *r = ctx;
    r->state = err == CD_OK ? CD__RUNNING : CD__STOPPED;
    r->why = err == CD_OK ? (cd_errinfo){0} : *why;
}

/* The row that a call is about, which must be in a state; it gets the next one. NULL: the call has failed. */
static cd__admin_row *take_row(cd_rpc_call *call, cd_bytes name, cd__admin_state from, cd__admin_state to)
{
    cd__admin_row *r = row_of(call->ctx, name);
    if (r == NULL) {
        cd_rpc_set_error(call, CD_RPC_SERVER, "there is no chain with alias/ID '%.*s'", (int)cd_min_u64(name.n, 200),
                         (const char *)name.p);
        return NULL;
    }
    if (r->state != from) {
        cd_rpc_set_error(call, CD_RPC_SERVER, "the chain %s is %s", r->cfg->aliases[0], state_names[r->state]);
        return NULL;
    }
    r->state = to;
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "state", state_names[to]);
    cd_json_w_obj_end(call->out);
    return r;
}

cd_err cd__admin_stop_chain(cd_rpc_call *call)
{
    const cd__admin_stop_chain_args *args = call->args;
    cd_admin_api *api = call->ctx;
    cd__admin_row *r = take_row(call, args->chain, CD__RUNNING, CD__STOPPING);
    if (r == NULL) {
        return CD_EINVAL;
    }
    cd_chains_order_close(api->chains, r->cfg->aliases[0], on_closed, r);
    return CD_OK;
}

cd_err cd__admin_start_chain(cd_rpc_call *call)
{
    const cd__admin_start_chain_args *args = call->args;
    cd_admin_api *api = call->ctx;
    cd__admin_row *r = take_row(call, args->chain, CD__STOPPED, CD__STARTING);
    if (r == NULL) {
        return CD_EINVAL;
    }
    cd_chains_order_open(api->chains, r->cfg, on_opened, r);
    return CD_OK;
}

cd_err cd__admin_chain_states(cd_rpc_call *call)
{
    const cd_admin_api *api = call->ctx;
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "chains");
    cd_json_w_obj(w);
    for (usize i = 0; i < api->cnt; i++) {
        const cd__admin_row *r = &api->rows[i];
        cd_json_w_key(w, r->cfg->aliases[0]);
        cd_json_w_obj(w);
        cd_json_put_id(w, "blockchainID", &r->id);
        cd_json_put_cstr(w, "state", state_names[r->state]);
        if (r->why.msg[0] != '\0') {
            cd_json_put_cstr(w, "error", r->why.msg);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* --- the service --- */

void cd_admin_api_serve(cd_admin_api *api, cd_chains *chains, const cd_node_chain_cfg *cfgs, usize cnt)
{
    api->chains = chains;
    api->rows = cd_new_array(cd__admin_row, cnt);
    api->cnt = cnt;
    for (usize i = 0; i < cnt; i++) {
        const cd_node_chain *c = cd_chains_find_chain(chains, cd_bytes_str(cfgs[i].aliases[0]));
        CD_ASSERT(c != NULL);
        api->rows[i] = (cd__admin_row){.cfg = &cfgs[i], .id = *cd_node_chain_id(c)};
    }
}

cd_admin_api *cd_admin_api_new(const cd_admin_cfg *cfg)
{
    cd_admin_api *api = cd_new(cd_admin_api);
    api->cfg = *cfg;
    cd_mutex_init(&api->profile_lock);
    api->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    return api;
}

void cd_admin_api_free(cd_admin_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_cpu_profile_fini(&api->profile);
        cd_mutex_fini(&api->profile_lock);
        cd_free(api->rows);
        cd_free(api);
    }
}

const cd_rpc_service *cd_admin_api_service(const cd_admin_api *api)
{
    return &api->service;
}
