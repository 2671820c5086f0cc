#include "chains/platform/state/nets.h"
#include "chains/platform/service/service_priv.h"

static cd_err fail_store(cd_rpc_call *call, cd_err e)
{
    return cd__fail(call, "%s", cd__words(e));
}

static const char *net_word(const cd_rpc_call *call)
{
    return cd__service_of(call)->cfg.network->family->net;
}

/* --- nets --- */

/* What is known of a net. */
typedef struct net_info {
    cd_owners owners;
    cd_p_conversion conversion;
    bool is_permissioned;
} net_info;

/* Errors: CD_ENOENT when there is no such net. */
static cd_err read_net(net_info *out, const cd_pstate *s, cd_arena *a, const cd_hash32 *id)
{
    *out = (net_info){.is_permissioned = true};
    CD_TRY(cd_pstate_net_owner_get(s, &out->owners, a, id));
    cd_err e = cd_pstate_conversion_get(s, &out->conversion, a, id);
    out->is_permissioned = e == CD_ENOENT;
    return e == CD_ENOENT ? CD_OK : e;
}

static void put_manager(cd_rpc_call *call, const net_info *n)
{
    cd_json_put_id(call->out, "managerChainID", &n->conversion.chain_id);
    if (n->conversion.address.n == 0) {
        cd_json_put_null(call->out, "managerAddress");
    } else {
        cd_json_put_hex(call->out, "managerAddress", n->conversion.address);
    }
}

cd_err cd__platform_net(cd_rpc_call *call)
{
    const cd__platform_net_args *args = call->args;
    static const cd_hash32 never; /* no net was made elastic before Etna, and none is after */
    const cd_platform_service *service = cd__service_of(call);
    cd_json_w *w = call->out;
    cd_pstate s;
    net_info n;
    CD_TRY(cd__state_of(&s, call));
    if (cd_hash32_is_zero(&args->net_id)) {
        return cd__fail(call, "the primary network isn't a %s", net_word(call));
    }
    cd_err e = read_net(&n, &s, call->arena, &args->net_id);
    if (e == CD_ENOENT) {
        return cd__fail(call, "\"%s\" is not a %s", cd__id_text(call, &args->net_id), net_word(call));
    }
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_json_w_obj(w);
    if (service->cfg.network->family->net_details) {
        cd_json_put_id(w, "id", &args->net_id);
    }
    cd_json_put_bool(w, "isPermissioned", n.is_permissioned);
    cd__put_addrs(call, "controlKeys", &n.owners.addrs);
    cd_json_put_dec(w, "threshold", n.owners.threshold);
    cd_json_put_dec(w, "locktime", n.owners.locktime);
    cd_json_put_id(w, service->transform, &never);
    cd_json_put_id(w, "conversionID", &n.conversion.id);
    put_manager(call, &n);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* An element of a list of nets. The primary network has no owners to tell. */
static cd_err put_net(cd_rpc_call *call, const cd_pstate *s, const cd_hash32 *id)
{
    net_info n = {.is_permissioned = false};
    cd_json_w *w = call->out;
    if (!cd_hash32_is_zero(id)) {
        CD_TRY(read_net(&n, s, call->arena, id));
    }
    cd_json_w_obj(w);
    cd_json_put_id(w, "id", id);
    cd__put_addrs(call, "controlKeys", &n.owners.addrs);
    cd_json_put_dec(w, "threshold", n.owners.threshold);
    if (cd__service_of(call)->cfg.network->family->net_details) {
        cd_json_put_bool(w, "isPermissioned", n.is_permissioned);
        put_manager(call, &n);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__platform_nets(cd_rpc_call *call)
{
    const cd__platform_nets_args *args = call->args;
    static const cd_hash32 primary;
    cd_pstate s;
    cd_hash32 *ids = args->ids.v;
    usize cnt = args->ids.n;
    bool more = false;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = CD_OK;
    if (args->ids.n == 0) {
        e = cd_pstate_nets(&s, &ids, &cnt, &more, call->arena, CD__NETS_MAX);
    } else if (args->ids.n > CD__NETS_MAX) {
        return cd__fail(call, "number of IDs given, %zu, exceeds maximum, %d", args->ids.n, CD__NETS_MAX);
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, cd__service_of(call)->nets);
    cd_json_w_arr(call->out);
    for (usize i = 0; e == CD_OK && i < cnt; i++) {
        cd_arena_mark mark = cd_arena_mark_get(call->arena);
        e = put_net(call, &s, &ids[i]);
        e = e == CD_ENOENT ? CD_OK : e; /* what is no net is left out */
        cd_arena_rewind(call->arena, mark);
    }
    if (e == CD_OK && args->ids.n == 0) {
        e = put_net(call, &s, &primary);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return e == CD_OK ? CD_OK : fail_store(call, e);
}

/* --- what is staked in a net --- */

/* Only the primary network has rules of stake: no other was made elastic before Etna, and none is after. Errors: the
 * call's, for the others. */
static cd_err has_stake(cd_rpc_call *call, const cd_hash32 *net)
{
    return cd_hash32_is_zero(net) ? CD_OK
                                  : cd__fail(call, "failed fetching %s transformation for %s: %s", net_word(call),
                                             cd__id_text(call, net), cd__words(CD_ENOENT));
}

cd_err cd__platform_staking_asset(cd_rpc_call *call)
{
    const cd__platform_staking_asset_args *args = call->args;
    CD_TRY(has_stake(call, &args->net_id));
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "assetID", &cd__service_of(call)->cfg.asset_id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_min_stake(cd_rpc_call *call)
{
    const cd__platform_min_stake_args *args = call->args;
    CD_TRY(has_stake(call, &args->net_id));
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "minValidatorStake", cd__service_of(call)->cfg.min_validator_stake);
    cd_json_put_dec(call->out, "minDelegatorStake", cd__service_of(call)->cfg.min_delegator_stake);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_supply(cd_rpc_call *call)
{
    const cd__platform_supply_args *args = call->args;
    cd_pstate s;
    u64 supply;
    u64 height;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_supply_get(&s, &supply, &args->net_id);
    e = e != CD_OK ? e : cd_pstate_num_get(&s, &height, CD_PSTATE_LAST_HEIGHT);
    if (e != CD_OK) {
        return cd__fail(call, "fetching current supply failed: %s", cd__words(e));
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "supply", supply);
    cd_json_put_dec(call->out, "height", height);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- chains --- */

cd_err cd__platform_chain_status(cd_rpc_call *call)
{
    static const char *const names[] = {
        [CD_PLATFORM_RUNS_NOT] = NULL, [CD_PLATFORM_SYNCS] = "Syncing", [CD_PLATFORM_VALIDATES] = "Validating"};
    const cd__platform_chain_status_args *args = call->args;
    const cd_platform_service *service = cd__service_of(call);
    cd_pstate s;
    cd_hash32 id;
    cd_p_chain c;
    cd_errinfo why = {0};
    CD_TRY(cd__state_of(&s, call));
    if (cd__chain_find(&id, service, args->chain, &why) != CD_OK) {
        return cd__fail(call, "problem parsing blockchainID \"%.*s\": %s", (int)cd_min_u64(args->chain.n, 128),
                        (const char *)args->chain.p, why.msg);
    }
    cd_platform_runs runs = service->cfg.runs == NULL ? CD_PLATFORM_RUNS_NOT : service->cfg.runs(service->cfg.ctx, &id);
    cd_err e = runs == CD_PLATFORM_RUNS_NOT ? cd_pstate_chain_get(&s, &c, &id) : CD_OK;
    if (e != CD_OK && e != CD_ENOENT) {
        return fail_store(call, e);
    }
    const char *status = names[runs] != NULL ? names[runs] : e == CD_OK ? "Created" : "Unknown";
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "status", status);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__platform_validated_by(cd_rpc_call *call)
{
    const cd__platform_validated_by_args *args = call->args;
    cd_pstate s;
    cd_p_chain c = {.name = ""};
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_hash32_is_zero(&args->chain) ? CD_OK : cd_pstate_chain_get(&s, &c, &args->chain);
    if (e != CD_OK) {
        return cd__fail(call, "problem retrieving blockchain \"%s\": %s", cd__id_text(call, &args->chain),
                        cd__words(e));
    }
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, cd__service_of(call)->net_id, &c.net_id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* A net must be there: some transaction, and one that created a net. */
static cd_err check_net(cd_rpc_call *call, const cd_pstate *s, const cd_hash32 *id)
{
    cd_owners owners;
    cd_p_status status;
    if (cd_hash32_is_zero(id)) {
        return CD_OK;
    }
    cd_err e = cd_pstate_net_owner_get(s, &owners, call->arena, id);
    if (e != CD_ENOENT) {
        return e == CD_OK ? CD_OK : fail_store(call, e);
    }
    e = cd_pstate_tx_get(s, NULL, &status, NULL, id);
    if (e != CD_OK) {
        return cd__fail(call, "problem retrieving %s \"%s\": %s", net_word(call), cd__id_text(call, id), cd__words(e));
    }
    return cd__fail(call, "\"%s\" is not a %s", cd__id_text(call, id), net_word(call));
}

cd_err cd__platform_validates(cd_rpc_call *call)
{
    const cd__platform_validates_args *args = call->args;
    cd_pstate s;
    cd_p_chain *v;
    usize cnt;
    bool more;
    CD_TRY(cd__state_of(&s, call));
    CD_TRY(check_net(call, &s, &args->net_id));
    cd_err e = cd_pstate_chains(&s, &v, &cnt, &more, call->arena, &args->net_id, CD__CHAINS_MAX);
    if (e != CD_OK) {
        return fail_store(call, e);
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "blockchainIDs");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_id(call->out, &v[i].id);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* Writes the chains of a net, at most *left, and takes them from it. */
static cd_err put_chains(cd_rpc_call *call, const cd_pstate *s, usize *left, const cd_hash32 *net)
{
    cd_json_w *w = call->out;
    cd_p_chain *v;
    usize cnt;
    bool more;
    CD_TRY(cd_pstate_chains(s, &v, &cnt, &more, call->arena, net, *left));
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_obj(w);
        cd_json_put_id(w, "id", &v[i].id);
        cd_json_put_cstr(w, "name", v[i].name);
        cd_json_put_id(w, cd__service_of(call)->net_id, &v[i].net_id);
        cd_json_put_id(w, "vmID", &v[i].vm_id);
        cd_json_w_obj_end(w);
    }
    *left -= cnt;
    return CD_OK;
}

cd_err cd__platform_chains(cd_rpc_call *call)
{
    static const cd_hash32 primary;
    cd_pstate s;
    cd_hash32 *nets;
    usize cnt;
    bool more;
    usize left = CD__CHAINS_MAX;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_nets(&s, &nets, &cnt, &more, call->arena, CD__NETS_MAX);
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "blockchains");
    cd_json_w_arr(call->out);
    for (usize i = 0; e == CD_OK && i < cnt; i++) {
        cd_arena_mark mark = cd_arena_mark_get(call->arena);
        e = put_chains(call, &s, &left, &nets[i]);
        cd_arena_rewind(call->arena, mark);
    }
    e = e != CD_OK ? e : put_chains(call, &s, &left, &primary);
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return e == CD_OK ? CD_OK : fail_store(call, e);
}
