#include "chains/evmchain/rpc/service.h"

#include "base/version.h"
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "chains/evmchain/rpc/debug/trace_chain.h"
#include "chains/evmchain/rpc/logs/filters.h"
#include "chains/evmchain/rpc/logs/kinds.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "rpc/openrpc.h"

enum { TEXT_BYTES = 16 << 20 };

/* The methods of the route /admin. */
static const cd_rpc_method of_admin[] = {
#define X CD_RPC_NAMED_ROW
#include "chains/evmchain/rpc/debug/admin.def"
#undef X
#define X CD_RPC_ROW
#include "chains/evmchain/rpc/debug/admin_files.def"
#undef X
};

static void end_scope(void *ctx, void *scope)
{
    (void)ctx;
    cd__pending_free(((cd__api_scope *)scope)->pending);
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

/* What the pool knows and proofs of the head, which need the standing tries, are the owner's; never an execution that a
 * client asks for. The pending block of a development network is made by the owner and read elsewhere. */
static cd_rpc_lane lane_of(void *ctx, const cd_rpc_method *m, cd_json params)
{
    const cd_api *e = ctx;
    cd_json_it it = cd_json_iter(params);
    if (m->lane != CD_RPC_READ && m->lane != CD_RPC_TRY) {
        return m->lane;
    }
    if (m->fn == cd__eth_get_proof) {
        cd_json block = cd_json_at(params, 2);
        return !cd_json_has(block) || is_word(block, "latest") ? CD_RPC_OWNER : CD_RPC_READ;
    }
    if (e->is_dev &&
        (m->fn == cd__eth_base_fee || m->fn == cd__eth_gas_price || m->fn == cd__eth_suggest_price_options)) {
        return CD_RPC_OWNER; /* on a development network somebody may have chosen the next block's */
    }
    bool is_pending = false;
    while (cd_json_next(&it)) {
        is_pending = is_pending || is_word(it.val, "pending");
    }
    if (is_pending && m->fn == cd__eth_get_tx_count) {
        return CD_RPC_OWNER;
    }
    return is_pending && e->is_dev ? CD_RPC_READ : m->lane;
}

static cd_err enable(cd_api *e, cd_errinfo *why)
{
    static const char *const of_dev[] = {"internal-account", "internal-debug", "debug-tracer", "internal-tx-pool",
                                         "blobs"};
    const cd_str_list *apis = &e->config->eth_apis;
    cd_rpc_table *t = e->service.methods;
    for (usize i = 0; i < apis->cnt; i++) {
        CD_TRY(cd_rpc_table_enable(t, apis->items[i], why));
    }
    for (usize i = 0; e->is_dev && i < CD_COUNT(of_dev); i++) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str(of_dev[i]), why));
    }
    if (e->config->warp_api) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str("warp"), why));
    }
    if (e->service.cfg.is_product && cd_rpc_table_is_on(t, "internal-eth")) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str("c-chain"), why));
    }
    if (e->is_dev || cd_rpc_table_is_on(t, "internal-personal")) {
        CD_TRY(cd_rpc_table_enable(t, cd_bytes_str("personal-sign"), why));
    }
    return cd_chain_rules_of(e->chain)->layout == CD_HEADER_ETHEREUM
               ? cd_rpc_table_enable(t, cd_bytes_str("blobs"), why)
               : CD_OK;
}

/* A development network's own dumps come back by a call; with less memory than usual less of them. */
static usize dev_body_max(usize text_bytes)
{
    enum { LEAST = 8 << 20, MOST = 128 << 20 };
    return (usize)cd_max_u64(LEAST, cd_min_u64(MOST, (u64)text_bytes * 4));
}

static cd_rpc_limits limits_of(const cd_vm_config *c, usize dev_body_max)
{
    return (cd_rpc_limits){
        .batch_max = c->batch_request_limit,
        .response_max = c->batch_response_max,
        .duration_ns = c->api_max_duration,
        .body_max = c->http_body_limit != 0 ? c->http_body_limit : dev_body_max,
        .cpu_refill_ns = c->ws_cpu_refill_rate,
        .cpu_max_ns = c->ws_cpu_max_stored,
    };
}

static u64 final_limit(void *ctx, u64 head)
{
    return cd_api_final(ctx, head);
}

cd_err cd_api_open(cd_api *e, const cd_api_cfg *cfg, cd_errinfo *why)
{
    static const cd_rpc_group groups[] = {
#define X(name_, alias_, default_) {.name = (name_), .alias = (alias_), .is_default = (default_)},
#include "chains/evmchain/rpc/groups.def"
#undef X
    };
    static const cd_rpc_method methods[] = {
#define X CD_RPC_ROW
#include "chains/evmchain/rpc/methods.def"
#undef X
    };
    static const cd_rpc_type types[] = {
#define X(name_, schema_) {.name = #name_, .schema = (schema_)},
#include "chains/evmchain/rpc/types.def"
#undef X
    };
    cd_api_service *api = &e->service;
    *api = (cd_api_service){.cfg = *cfg};
    cd_trials_init(&api->trials);
    cd__profiler_init(&api->profiler);
    cd_mutex_init(&api->tips.lock);
    usize text_bytes = cfg->text_bytes == 0 ? TEXT_BYTES : cfg->text_bytes;
    cd__rendered_init(&api->rendered, text_bytes);
    api->methods = cd_rpc_table_new(groups, CD_COUNT(groups));
    CD_TRY(enable(e, why));
    cd_rpc_table_add(api->methods, methods, CD_COUNT(methods));
    if (e->dev != NULL) {
        e->dev->ops->add_methods(e->dev, api->methods);
    }
    cd_rpc_table_add_own(api->methods);
    api->rpc = (cd_rpc_service){
        .form = CD_RPC_ETH,
        .table = api->methods,
        .limits = limits_of(e->config, e->is_dev ? dev_body_max(text_bytes) : 0),
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
        .ctx = e,
        .scope_size = sizeof(cd__api_scope),
        .end = end_scope,
    };
    cd_feed_cfg feed = {
        .chain = e->chain,
        .home = cfg->home,
        .log = e->log,
    };
    e->feed = cd_feed_new(&feed);
    feed.limit = final_limit;
    feed.ctx = e;
    e->final_feed = cd_feed_new(&feed);
    api->filters = cd_filters_new(cfg->clock);
    api->chains = cd_trace_chains_new(cfg->home);
    api->rpc.kinds = cd__api_kinds;
    api->rpc.kinds_cnt = cd__api_kinds_cnt;
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

void cd_api_close(cd_api *e)
{
    cd_api_service *api = &e->service;
    if (api->methods == NULL) {
        return; /* it was never opened */
    }
    cd_trace_chains_close(api->chains);
    cd_feed_close(e->feed);
    cd_feed_close(e->final_feed);
    e->feed = NULL;
    e->final_feed = NULL;
    cd_filters_free(api->filters);
    api->filters = NULL;
    cd_rpc_table_free(api->methods);
    cd_rpc_table_free(api->admin_methods);
    cd__profiler_fini(&api->profiler);
    cd_buf_fini(&api->openrpc);
    cd_trials_fini(&api->trials);
    cd_mutex_fini(&api->tips.lock);
    cd__rendered_fini(&api->rendered);
    api->methods = NULL;
}

void cd_api_pending_tx(cd_api *e, const cd_pool_tx *t)
{
    if (e->service.filters != NULL) {
        cd_filters_pending(e->service.filters, &t->tx.hash);
        cd_feed_pending(e->feed, t);
    }
}
