#include "chains/evmchain/api/service.h"

#include "base/version.h"
#include "chains/evmchain/dev/dev.h"
#include "chains/evmchain/evm_vm_priv.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/tracers/trace_chain.h"
#include "rpc/openrpc.h"

enum { TEXT_BYTES = 16 << 20 };

static void end_scope(void *ctx, void *scope)
{
    (void)ctx;
    cd__dev_pending_free(((cd__api_scope *)scope)->pending);
    cd_world_past_close(((cd__api_scope *)scope)->past);
    cd_view_unref(((cd__api_scope *)scope)->view);
}

void cd__api_renew(cd_rpc_call *call)
{
    end_scope(NULL, call->scope);
    *(cd__api_scope *)call->scope = (cd__api_scope){0};
}

static bool is_word(cd_json v, const char *word)
{
    cd_bytes s;
    return cd_json_str(&s, v, NULL) == CD_OK && cd_bytes_eq(s, cd_bytes_str(word));
}

/* What is asked of the pending block needs the pool, and proofs of the head the standing tries: the owner has both. */
static cd_rpc_lane lane_of(void *ctx, const cd_rpc_method *m, cd_json params)
{
    const cd_evm_vm *e = ctx;
    cd_json_it it = cd_json_iter(params);
    if (m->lane != CD_RPC_READ && m->lane != CD_RPC_TRY) {
        return m->lane;
    }
    if (m->fn == cd__eth_get_proof) {
        cd_json block = cd_json_at(params, 2);
        return !cd_json_has(block) || is_word(block, "latest") ? CD_RPC_OWNER : CD_RPC_READ;
    }
    if (e->ctx.is_dev && (m->fn == cd__eth_base_fee || m->fn == cd__eth_gas_price ||
                          m->fn == cd__eth_suggest_price_options)) {
        return CD_RPC_OWNER; /* somebody may have chosen the next one */
    }
    if (e->ctx.is_dev && m->fn == cd__eth_accounts) {
        return CD_RPC_OWNER; /* which names the impersonated ones */
    }
    if (e->ctx.is_dev && m->fn == cd__eth_estimate_gas && !cd_json_has(cd_json_at(params, 1))) {
        return CD_RPC_OWNER; /* what runs next runs in the pending block: its time decides */
    }
    while (cd_json_next(&it)) {
        if (is_word(it.val, "pending")) {
            return CD_RPC_OWNER;
        }
    }
    return m->lane;
}

static cd_err enable(cd_evm_vm *e, cd_errinfo *why)
{
    static const char *const of_dev[] = {"internal-account", "debug-tracer", "internal-tx-pool",
                                         "blobs"};
    const cd_str_list *apis = &e->config.eth_apis;
    cd_rpc_table *t = e->api.methods;
    for (usize i = 0; i < apis->cnt; i++) {
        CD_TRY(cd_rpc_table_enable(t, apis->items[i], why));
    }
    for (usize i = 0; e->ctx.is_dev && i < CD_COUNT(of_dev); i++) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str(of_dev[i]), why));
    }
    if (e->api.cfg.is_product && cd_rpc_table_is_on(t, "internal-eth")) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str("c-chain"), why));
    }
    if (e->ctx.is_dev || cd_rpc_table_is_on(t, "internal-personal")) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str("personal-sign"), why));
    }
    return cd_chain_rules_of(e->chain)->layout == CD_HEADER_ETHEREUM
               ? cd_rpc_table_enable(t, cd_bytes_str("blobs"), why)
               : CD_OK;
}

static cd_rpc_limits limits_of(const cd_vm_config *c)
{
    return (cd_rpc_limits){
        .batch_max = c->batch_request_limit,
        .response_max = c->batch_response_max,
        .duration_ns = c->api_max_duration,
        .body_max = c->http_body_limit,
        .cpu_refill_ns = c->ws_cpu_refill_rate,
        .cpu_max_ns = c->ws_cpu_max_stored,
    };
}

cd_err cd__api_open(cd_evm_vm *e, const cd__api_cfg *cfg, cd_errinfo *why)
{
    static const cd_rpc_group groups[] = {
#define X(name_, alias_, default_) {.name = (name_), .alias = (alias_), .is_default = (default_)},
#include "chains/evmchain/api/groups.def"
#undef X
    };
    static const cd_rpc_method methods[] = {
#define X CD_RPC_ROW
#include "chains/evmchain/api/methods.def"
#undef X
    };
    static const cd_rpc_method of_admin[] = {
#define X CD_RPC_ROW
#include "chains/evmchain/api/admin.def"
#undef X
    };
    static const cd_rpc_type types[] = {
#define X(name_, schema_) {.name = #name_, .schema = (schema_)},
#include "chains/evmchain/api/types.def"
#undef X
    };
    cd__api *api = &e->api;
    *api = (cd__api){.cfg = *cfg};
    cd__trials_init(&api->trials);
    cd__profiler_init(&api->profiler);
    cd_mutex_init(&api->tips.lock);
    cd__rendered_init(&api->rendered, cfg->text_bytes == 0 ? TEXT_BYTES : cfg->text_bytes);
    api->methods = cd_rpc_table_new(groups, CD_COUNT(groups));
    CD_TRY(enable(e, why));
    cd_rpc_table_add(api->methods, methods, CD_COUNT(methods));
    if (e->ctx.is_dev) {
        cd__dev_add_methods(api->methods);
    }
    cd_rpc_table_add_own(api->methods);
    api->rpc = (cd_rpc_service){
        .form = CD_RPC_ETH,
        .table = api->methods,
        .limits = limits_of(&e->config),
        .ctx = e,
        .scope_size = sizeof(cd__api_scope),
        .end = end_scope,
        .lane = lane_of,
    };
    api->admin_methods = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->admin_methods, of_admin, CD_COUNT(of_admin));
    api->admin = (cd_rpc_service){
        .form = CD_RPC_JSON2,
        .table = api->admin_methods,
        .limits = {.duration_ns = e->config.api_max_duration},
        .ctx = e,
        .scope_size = sizeof(cd__api_scope),
        .end = end_scope,
    };
    cd_feed_cfg feed = {
        .chain = e->chain,
        .home = cfg->home,
        .clock = cfg->clock,
        .log = e->ctx.log,
    };
    e->feed = cd_feed_new(&feed);
    api->chains = cd_trace_chains_new(cfg->home);
    api->rpc.kinds = cd_feed_kinds;
    api->rpc.kinds_cnt = cd_feed_kinds_cnt;
    cd_rpc_info info = {
        .title = "EVM chain",
        .version = CD_VERSION,
        .types = types,
        .types_cnt = CD_COUNT(types),
    };
    CD_TRY(cd_rpc_openrpc(&api->openrpc, &api->rpc, &info, why));
    api->rpc.openrpc = cd_buf_bytes(&api->openrpc);
    return CD_OK;
}

void cd__api_close(cd_evm_vm *e)
{
    cd__api *api = &e->api;
    if (api->methods == NULL) {
        return; /* never opened */
    }
    cd_trace_chains_close(api->chains);
    cd_feed_close(e->feed);
    e->feed = NULL;
    cd_rpc_table_free(api->methods);
    cd_rpc_table_free(api->admin_methods);
    cd__profiler_fini(&api->profiler);
    cd_buf_fini(&api->openrpc);
    cd__trials_fini(&api->trials);
    cd_mutex_fini(&api->tips.lock);
    cd__rendered_fini(&api->rendered);
    api->methods = NULL;
}
