/* What holds on the chain: configuration, rules and precompiles in force at a time. [spec:eth-rpc#4] */
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "precompile/schedule.h"

#include <stddef.h>

/* Members of the configuration object, ascending by name. */
typedef enum row_kind { ROW_WHEN, ROW_CHAIN_ID, ROW_FEES, ROW_RECIPIENTS, ROW_MODULE } row_kind;

static const struct {
    const char *key;
    row_kind kind;
    usize at; /* ROW_WHEN: offset in cd_chain_config; ROW_MODULE: the module's id */
} rows[] = {
#define WHEN(key_, field_)                                                                                             \
    {                                                                                                                  \
        (key_), ROW_WHEN, offsetof(cd_chain_config, field_)                                                            \
    }
#define MODULE_ROW(key_, id_)                                                                                          \
    {                                                                                                                  \
        (key_), ROW_MODULE, (id_)                                                                                      \
    }
    {"allowFeeRecipients", ROW_RECIPIENTS, 0},
    WHEN("berlinBlock", berlin),
    WHEN("byzantiumBlock", byzantium),
    WHEN("cancunTime", cancun),
    {"chainId", ROW_CHAIN_ID, 0},
    WHEN("constantinopleBlock", constantinople),
    MODULE_ROW("contractDeployerAllowListConfig", CD_MODULE_DEPLOYER),
    MODULE_ROW("contractNativeMinterConfig", CD_MODULE_MINTER),
    WHEN("durangoTimestamp", durango),
    WHEN("eip150Block", eip150),
    WHEN("eip155Block", eip155),
    WHEN("eip158Block", eip158),
    WHEN("etnaTimestamp", etna),
    {"feeConfig", ROW_FEES, 0},
    MODULE_ROW("feeManagerConfig", CD_MODULE_FEE),
    WHEN("fortunaTimestamp", fortuna),
    WHEN("graniteTimestamp", granite),
    WHEN("homesteadBlock", homestead),
    WHEN("istanbulBlock", istanbul),
    WHEN("londonBlock", london),
    WHEN("muirGlacierBlock", muir_glacier),
    WHEN("petersburgBlock", petersburg),
    MODULE_ROW("rewardManagerConfig", CD_MODULE_REWARD),
    WHEN("shanghaiTime", shanghai),
    WHEN("subnetEVMTimestamp", subnet_evm),
    MODULE_ROW("txAllowListConfig", CD_MODULE_TX_ALLOW),
    MODULE_ROW("warpConfig", CD_MODULE_WARP),
#undef WHEN
#undef MODULE_ROW
};

static void put_when(cd_json_w *w, const char *key, const cd_when *at)
{
    if (at->is_set) {
        cd_json_w_key(w, key);
        cd_json_w_u64(w, at->at);
    }
}

static void put_row(cd_json_w *w, const cd_chain_rules *r, usize i)
{
    cd_chain_config config = r->config;
    const char *key = rows[i].key;
    const cd_module_config *module;
    if (r->layout != CD_HEADER_ETHEREUM && !config.shanghai.is_set) {
        config.shanghai = config.durango; /* the same upgrade under Ethereum's name */
    }
    switch (rows[i].kind) {
    case ROW_WHEN:
        put_when(w, key, (const cd_when *)(const void *)((const char *)&config + rows[i].at));
        break;
    case ROW_CHAIN_ID:
        cd_json_w_key(w, key);
        cd_json_w_u64(w, r->chain_id);
        break;
    case ROW_FEES:
        if (r->layout != CD_HEADER_ETHEREUM) {
            cd_json_w_key(w, key);
            cd_fee_config_json(w, &config.fee);
        }
        break;
    case ROW_RECIPIENTS:
        if (config.allow_fee_recipients) {
            cd_json_w_key(w, key);
            cd_json_w_bool(w, true);
        }
        break;
    case ROW_MODULE:
        module = r->schedule == NULL ? NULL : cd_schedule_genesis(r->schedule, (cd_module_id)rows[i].at);
        if (module != NULL) {
            cd_json_w_key(w, key);
            cd_module_config_json(w, module);
        }
        break;
    }
}

cd_err cd__eth_get_chain_config(cd_rpc_call *call)
{
    const cd_chain_rules *r = cd_chain_rules_of(cd_api_of(call)->chain);
    cd_json_w *w = call->out;
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        put_row(w, r, i);
    }
    if (r->schedule != NULL) {
        cd_buf text = {0};
        cd_json_w upgrades = {.out = &text};
        cd_schedule_json_upgrades(&upgrades, r->schedule);
        cd_json_w_key(w, "upgrades");
        cd_json_w_obj(w);
        if (!cd_bytes_eq(cd_buf_bytes(&text), cd_bytes_str("[]"))) {
            cd_json_w_key(w, "precompileUpgrades");
            cd_json_w_raw(w, cd_buf_bytes(&text));
        }
        cd_json_w_obj_end(w);
        cd_buf_fini(&text);
    }
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* The time of parameter 0, that of the head without one. */
static cd_err read_time(cd_rpc_call *call, u64 *out)
{
    *out = cd_view_head(cd_api_view(call))->block.header.time;
    if (cd_rpc_has_arg(call, 0) && cd_json_u64(out, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: json: cannot unmarshal into Go value of type "
                           "uint64");
    }
    return CD_OK;
}

cd_err cd__eth_get_active_precompiles(cd_rpc_call *call)
{
    const cd_chain_rules *r = cd_chain_rules_of(cd_api_of(call)->chain);
    u64 time;
    CD_TRY(read_time(call, &time));
    if (r->schedule == NULL) {
        cd_json_w_obj(call->out);
        cd_json_w_obj_end(call->out);
    } else {
        cd_schedule_json_active(call->out, r->schedule, time);
    }
    return CD_OK;
}

static void put_eth_rules(cd_json_w *w, const cd_chain_rules *r, cd_fork fork)
{
    static const struct {
        const char *key;
        cd_fork from; /* CD_FORK_COUNT: this network never has it */
    } flags[] = {
        {"IsHomestead", CD_HOMESTEAD},   {"IsEIP150", CD_TANGERINE},    {"IsEIP155", CD_SPURIOUS},
        {"IsEIP158", CD_SPURIOUS},       {"IsByzantium", CD_BYZANTIUM}, {"IsConstantinople", CD_CONSTANTINOPLE},
        {"IsPetersburg", CD_PETERSBURG}, {"IsIstanbul", CD_ISTANBUL},   {"IsBerlin", CD_BERLIN},
        {"IsLondon", CD_LONDON},         {"IsMerge", CD_PARIS},         {"IsShanghai", CD_SHANGHAI},
        {"IsCancun", CD_CANCUN},         {"IsPrague", CD_FORK_COUNT},   {"IsVerkle", CD_FORK_COUNT},
    };
    cd_json_w_key(w, "ethRules");
    cd_json_w_obj(w);
    cd_json_w_key(w, "ChainID");
    cd_json_w_u64(w, r->chain_id);
    for (usize i = 0; i < CD_COUNT(flags); i++) {
        cd_json_put_bool(w, flags[i].key, fork >= flags[i].from);
    }
    cd_json_w_obj_end(w);
}

static bool holds(const cd_when *when, u64 time)
{
    return when->is_set && when->at <= time;
}

cd_err cd__eth_get_active_rules(cd_rpc_call *call)
{
    const cd_chain_rules *r = cd_chain_rules_of(cd_api_of(call)->chain);
    const cd_chain_config *c = &r->config;
    cd_json_w *w = call->out;
    u64 time;
    CD_TRY(read_time(call, &time));
    cd_json_w_obj(w);
    put_eth_rules(w, r, cd_chain_rules_fork(r, UINT64_MAX, time));
    cd_json_w_key(w, "avalancheRules"); /* clients of the family know the object by this name */
    cd_json_w_obj(w);
    cd_json_put_bool(w, "IsSubnetEVM", holds(&c->subnet_evm, time));
    cd_json_put_bool(w, "IsDurango", holds(&c->durango, time));
    cd_json_put_bool(w, "IsEtna", holds(&c->etna, time));
    cd_json_put_bool(w, "IsFortuna", holds(&c->fortuna, time));
    cd_json_put_bool(w, "IsGranite", holds(&c->granite, time));
    cd_json_put_bool(w, "IsHelicon", false);
    cd_json_w_obj_end(w);
    cd_json_w_key(w, "precompiles");
    cd_json_w_obj(w);
    for (usize i = 0; r->schedule != NULL && i < CD_MODULE_COUNT; i++) { /* ascending by key */
        const cd_module_config *m = cd_schedule_active(r->schedule, (cd_module_id)i, time);
        if (m != NULL) {
            cd_json_w_key(w, cd_module_get((cd_module_id)i)->key);
            cd_json_w_obj(w);
            cd_json_w_key(w, "timestamp");
            cd_json_w_u64(w, m->at.at);
            cd_json_w_obj_end(w);
        }
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    return CD_OK;
}
