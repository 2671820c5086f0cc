#include "node/api/info.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/version.h"
#include "codec/api_json.h"
#include "rpc/named.h"

#include <stdio.h>

enum { PROTOCOL = 42 };

struct cd_info_api {
    cd_info_cfg cfg;
    cd_rpc_table *table;
    cd_rpc_service service;
};

#define X CD_RPC_NAMED_DECL
#include "node/api/info.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "node/api/info.def"
#undef X
};

static const cd_info_cfg *cfg_of(const cd_rpc_call *call)
{
    return &((const cd_info_api *)call->ctx)->cfg;
}

/* --- this node --- */

/* Virtual machines that every build has, in the order of their names; the second is called as the family says. */
static const struct {
    const char *id;
    const char *name; /* NULL: the family's */
    const char *version;
} vms[] = {
    {"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq", NULL, CD_VERSION_STRING},
    {"mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6", "evm", "v" CD_VERSION},
    {"rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT", "platform", CD_VERSION_STRING},
};

static const struct {
    const char *id;
    const char *name;
} fxs[] = {
    {"qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT", "nftfx"},
    {"rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy", "propertyfx"},
    {"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ", "secp256k1fx"},
};

static const char *vm_name(const cd_info_cfg *cfg, usize i)
{
    return vms[i].name != NULL ? vms[i].name : cfg->network->family->x_service;
}

cd_err cd__info_node_version(cd_rpc_call *call)
{
    const cd_info_cfg *cfg = cfg_of(call);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "version", CD_VERSION_STRING);
    cd_json_put_cstr(w, "databaseVersion", "v1.4.5");
    cd_json_put_dec(w, "rpcProtocolVersion", PROTOCOL);
    cd_json_put_cstr(w, "gitCommit", cfg->commit);
    cd_json_w_key(w, "vmVersions");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(vms); i++) {
        cd_json_put_cstr(w, vm_name(cfg, i), vms[i].version);
    }
    if (cfg->versions != NULL) {
        cfg->versions(cfg->ctx, w);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__info_node_id(cd_rpc_call *call)
{
    const cd_info_cfg *cfg = cfg_of(call);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_put_node_id(w, "nodeID", &cfg->node_id);
    if (cfg->bls_key.n != 0) {
        cd_json_w_key(w, "nodePOP");
        cd_json_w_obj(w);
        cd_json_put_hex(w, "publicKey", cfg->bls_key);
        cd_json_put_hex(w, "proofOfPossession", cfg->bls_pop);
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__info_node_ip(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "ip", cfg_of(call)->address);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__info_vms(cd_rpc_call *call)
{
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    cd_json_w_key(w, "vms");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(vms); i++) {
        cd_json_w_key(w, vms[i].id);
        cd_json_w_arr(w);
        cd_json_w_cstr(w, vm_name(cfg_of(call), i));
        cd_json_w_arr_end(w);
    }
    if (cfg_of(call)->vms != NULL) {
        cfg_of(call)->vms(cfg_of(call)->ctx, w);
    }
    cd_json_w_obj_end(w);
    cd_json_w_key(w, "fxs");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(fxs); i++) {
        cd_json_put_cstr(w, fxs[i].id, fxs[i].name);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* --- the network --- */

cd_err cd__info_network_id(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "networkID", cfg_of(call)->network->id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__info_network_name(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_put_cstr(call->out, "networkName", cfg_of(call)->network->name);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__info_tx_fee(cd_rpc_call *call)
{
    const cd_network *n = cfg_of(call)->network;
    const cd_network_economy *e = n->economy;
    const struct {
        const char *before;
        const char *net; /* "": the name does not speak of nets */
        const char *behind;
        u64 thousandths;
    } rows[] = {
        {"txFee", "", "", e->tx_fee},
        {"createAssetTxFee", "", "", e->create_asset_fee},
        {"create", n->family->Net, "TxFee", e->create_net_fee},
        {"transform", n->family->Net, "TxFee", e->transform_net_fee},
        {"createBlockchainTxFee", "", "", e->create_chain_fee},
        {"addPrimaryNetworkValidatorFee", "", "", e->add_primary_validator_fee},
        {"addPrimaryNetworkDelegatorFee", "", "", e->add_primary_delegator_fee},
        {"add", n->family->Net, "ValidatorFee", e->add_net_validator_fee},
        {"add", n->family->Net, "DelegatorFee", e->add_net_delegator_fee},
    };
    cd_json_w_obj(call->out);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        char key[48];
        (void)snprintf(key, sizeof key, "%s%s%s", rows[i].before, rows[i].net, rows[i].behind);
        cd_json_put_dec(call->out, key, cd_network_amount(n, rows[i].thousandths));
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* All rules up to Fortuna hold from the genesis of every network. [spec:decisions#D6] */
cd_err cd__info_upgrades(cd_rpc_call *call)
{
    static const u64 begin = 1607144400 * CD_NS_PER_SEC; /* 2020-12-05 05:00 */
    static const struct {
        const char *name;
        const char *more; /* a member behind it, as JSON; NULL: none */
        const char *value;
        bool is_unscheduled;
    } rows[] = {
        {.name = "apricotPhase1Time"},
        {.name = "apricotPhase2Time"},
        {.name = "apricotPhase3Time"},
        {.name = "apricotPhase4Time", .more = "apricotPhase4MinPChainHeight", .value = "0"},
        {.name = "apricotPhase5Time"},
        {.name = "apricotPhasePre6Time"},
        {.name = "apricotPhase6Time"},
        {.name = "apricotPhasePost6Time"},
        {.name = "banffTime"},
        {.name = "cortinaTime",
         .more = "cortinaXChainStopVertexID",
         .value = "\"11111111111111111111111111111111LpoYY\""},
        {.name = "durangoTime"},
        {.name = "etnaTime"},
        {.name = "fortunaTime"},
        {.name = "graniteTime", .more = "graniteEpochDuration", .value = "30000000000", .is_unscheduled = true},
    };
    cd_json_w_obj(call->out);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].is_unscheduled) {
            cd_json_put_cstr(call->out, rows[i].name, "9999-12-01T00:00:00Z");
        } else {
            cd_json_put_time(call->out, rows[i].name, begin);
        }
        if (rows[i].more != NULL) {
            cd_json_put_raw(call->out, rows[i].more, cd_bytes_str(rows[i].value));
        }
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__info_lps(cd_rpc_call *call)
{
    cd_json_w_obj(call->out);
    cd_json_put_raw(call->out, cfg_of(call)->network->family->lps, cd_bytes_str("{}"));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- chains and peers --- */

cd_err cd__info_blockchain_id(cd_rpc_call *call)
{
    const cd__info_blockchain_id_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_info_chain c;
    if (args->alias.n == 0 || !cfg->chain(cfg->ctx, &c, args->alias)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "there is no ID with alias: %.*s", (int)cd_min_u64(args->alias.n, 200),
                           (const char *)args->alias.p);
    }
    cd_json_w_obj(call->out);
    cd_json_put_id(call->out, "blockchainID", &c.id);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__info_is_bootstrapped(cd_rpc_call *call)
{
    const cd__info_is_bootstrapped_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_info_chain c;
    if (!cfg->chain(cfg->ctx, &c, args->chain)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "there is no chain with alias/ID '%.*s'",
                           (int)cd_min_u64(args->chain.n, 200), (const char *)args->chain.p);
    }
    cd_json_w_obj(call->out);
    cd_json_put_bool(call->out, "isBootstrapped", c.is_bootstrapped);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err fail_without(cd_rpc_call *call)
{
    return cd_rpc_fail(call, CD_RPC_SERVER, "blocks are not made final here: this node decides without validators");
}

static cd_err find_chain(cd_rpc_call *call, cd_info_chain *out, cd_bytes name)
{
    const cd_info_cfg *cfg = cfg_of(call);
    return cfg->chain(cfg->ctx, out, name) ? CD_OK
                                           : cd_rpc_fail(call, CD_RPC_SERVER, "there is no chain with alias/ID '%.*s'",
                                                         (int)cd_min_u64(name.n, 200), (const char *)name.p);
}

cd_err cd__info_finality(cd_rpc_call *call)
{
    const cd__info_finality_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_info_chain c;
    CD_TRY(find_chain(call, &c, args->chain));
    cd_json_w_obj(call->out);
    bool is_there = cfg->finality != NULL && cfg->finality(cfg->ctx, call->out, &c.id);
    cd_json_w_obj_end(call->out);
    return is_there ? CD_OK : fail_without(call);
}

static cd_err put_bytes(cd_rpc_call *call, const char *key, cd_encoding encoding, const cd_buf *bytes)
{
    if (encoding == CD_ENCODING_JSON) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unsupported encoding in this method: json");
    }
    cd_json_w_obj(call->out);
    cd_json_put_encoded(call->out, key, encoding, cd_buf_bytes(bytes));
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* A block's ID as CB58, or as 0x and 64 digits: the hash of a header. */
static cd_err read_block(cd_rpc_call *call, cd_hash32 *out, cd_bytes text)
{
    bool is_hex = text.n == 66 && text.p[0] == '0' && text.p[1] == 'x';
    cd_err e = is_hex ? cd_hex_parse(out->b, cd_bytes_sub(text, 2, 64)) : cd_id_parse(out, text, NULL);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "couldn't parse argument 'blockID'");
}

cd_err cd__info_certificate(cd_rpc_call *call)
{
    const cd__info_certificate_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_info_chain c;
    cd_hash32 block;
    cd_buf bytes = {0};
    CD_TRY(find_chain(call, &c, args->chain));
    CD_TRY(args->block.n == 0 ? CD_OK : read_block(call, &block, args->block));
    cd_err e = cfg->certificate == NULL
                   ? CD_EUNSUPPORTED
                   : cfg->certificate(cfg->ctx, &bytes, &c.id, args->block.n == 0 ? NULL : &block, args->height);
    if (e == CD_EUNSUPPORTED) {
        return fail_without(call);
    }
    if (e == CD_OK) {
        e = put_bytes(call, "certificate", args->encoding, &bytes);
    } else {
        e = cd_rpc_fail(call, CD_RPC_SERVER,
                        e == CD_ENOENT ? "there is no certificate of this block" : "certificates cannot be read");
    }
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__info_checkpoint(cd_rpc_call *call)
{
    const cd__info_checkpoint_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_buf bytes = {0};
    cd_err e = cfg->checkpoint == NULL ? CD_EUNSUPPORTED : cfg->checkpoint(cfg->ctx, &bytes);
    if (e == CD_EUNSUPPORTED) {
        e = fail_without(call);
    } else if (e != CD_OK) {
        e = cd_rpc_fail(call, CD_RPC_SERVER, "there is no checkpoint yet");
    } else {
        e = put_bytes(call, "checkpoint", args->encoding, &bytes);
    }
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__info_changes(cd_rpc_call *call)
{
    const cd__info_changes_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_buf bytes = {0};
    cd_err e = cfg->changes == NULL ? CD_EUNSUPPORTED : cfg->changes(cfg->ctx, &bytes, args->epoch);
    if (e == CD_EUNSUPPORTED) {
        e = fail_without(call);
    } else if (e == CD_EMISSING) {
        e = cd_rpc_fail(call, CD_RPC_SERVER,
                        "epoch %llu is over, and validators do not sign changes of the set yet: a newer checkpoint is "
                        "needed",
                        (unsigned long long)args->epoch);
    } else if (e != CD_OK) {
        e = cd_rpc_fail(call, CD_RPC_SERVER, "there is no checkpoint yet");
    } else {
        e = put_bytes(call, "changes", args->encoding, &bytes);
    }
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__info_peers(cd_rpc_call *call)
{
    const cd__info_peers_args *args = call->args;
    const cd_info_cfg *cfg = cfg_of(call);
    cd_buf list = {0};
    cd_json_w w = {.out = &list};
    cd_json_w_arr(&w);
    usize cnt = cfg->peers == NULL ? 0 : cfg->peers(cfg->ctx, &w, args->node_ids.v, args->node_ids.n);
    cd_json_w_arr_end(&w);
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "numPeers", cnt);
    cd_json_put_raw(call->out, "peers", cd_buf_bytes(&list));
    cd_json_w_obj_end(call->out);
    cd_buf_fini(&list);
    return CD_OK;
}

cd_err cd__info_uptime(cd_rpc_call *call)
{
    const cd_info_cfg *cfg = cfg_of(call);
    cd_info_uptime up = {.rewarding = 1000000, .average = 1000000};
    if (cfg->uptime != NULL && !cfg->uptime(cfg->ctx, &up)) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "couldn't get node uptime: error while fetching local validator start time not found");
    }
    cd_json_w_obj(call->out);
    cd_json_put_ratio(call->out, "rewardingStakePercentage", up.rewarding, 1000000, 100);
    cd_json_put_ratio(call->out, "weightedAveragePercentage", up.average, 1000000, 100);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- the object --- */

cd_info_api *cd_info_api_new(const cd_info_cfg *cfg)
{
    cd_info_api *api = cd_new(cd_info_api);
    api->cfg = *cfg;
    api->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(api->table, methods, CD_COUNT(methods));
    api->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = api->table, .ctx = api};
    return api;
}

void cd_info_api_free(cd_info_api *api)
{
    if (api != NULL) {
        cd_rpc_table_free(api->table);
        cd_free(api);
    }
}

const cd_rpc_service *cd_info_api_service(const cd_info_api *api)
{
    return &api->service;
}
