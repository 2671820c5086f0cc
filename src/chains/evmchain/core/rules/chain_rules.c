#include "chains/evmchain/core/rules/chain_rules.h"

#include "chains/evmchain/core/config/compat.h"
#include "chains/evmchain/core/dev/dev_ecrecover.h"
#include "chains/evmchain/core/rules/eth_rules.h"
#include "chains/evmchain/core/rules/fee_l1.h"

/* A genesis without an id on a local or custom network [spec:decisions#D2]. */
enum { DEFAULT_CHAIN_ID = 43112, MAINNET_ID = 1 };

static const u64 gwei = 1000000000;

static const cd_upgrade_times all_at_genesis = {
    .durango = {.is_set = true},
    .etna = {.is_set = true},
    .fortuna = {.is_set = true},
    .phases = {.is_set = true},
};

/* --- fees --- */

/* The test networks' minimum is one wei, so that nothing has to be paid [spec:decisions#D9]. */
static cd_u256 default_min_base_fee(u32 network_id)
{
    return cd_u256_from_u64(network_id == MAINNET_ID ? 25 * gwei : 1);
}

/* What holds where a genesis names no fee configuration of its own [spec:evm-chain#3.1]. */
static cd_fee_config default_fees(u32 network_id)
{
    return (cd_fee_config){
        .gas_limit = cd_u256_from_u64(8000000),
        .target_block_rate = 2,
        .min_base_fee = default_min_base_fee(network_id),
        .target_gas = cd_u256_from_u64(15000000),
        .base_fee_change_denominator = cd_u256_from_u64(36),
        .min_block_gas_cost = cd_u256_from_u64(0),
        .max_block_gas_cost = cd_u256_from_u64(1000000),
        .block_gas_cost_step = cd_u256_from_u64(200000),
    };
}

static bool is_nothing(const cd_fee_config *f)
{
    return cd_u256_is_zero(&f->gas_limit) && f->target_block_rate == 0 && cd_u256_is_zero(&f->min_base_fee) &&
           cd_u256_is_zero(&f->target_gas) && cd_u256_is_zero(&f->base_fee_change_denominator) &&
           cd_u256_is_zero(&f->min_block_gas_cost) && cd_u256_is_zero(&f->max_block_gas_cost) &&
           cd_u256_is_zero(&f->block_gas_cost_step);
}

static cd_err resolve_fees(cd_chain_config *c, u32 network_id, cd_errinfo *why)
{
    cd_json given = cd_json_get(c->json, "feeConfig");
    if (!c->has_fee_config || is_nothing(&c->fee)) {
        c->fee = default_fees(network_id);
    } else if (!cd_json_has(cd_json_get(given, "minBaseFee"))) {
        c->fee.min_base_fee = default_min_base_fee(network_id);
    }
    CD_TRY(cd_fee_config_check(&c->fee, why));
    return cd_u256_fits_u64(&c->fee.gas_limit) ? CD_OK : cd_fail(why, CD_EINVAL, "gasLimit is not a valid uint64");
}

/* --- times --- */

/* Shanghai follows Durango and Cancun follows Etna; where only the Ethereum keys are given they stand for both
 * [spec:decisions#D8]. */
static void resolve_times(cd_chain_config *c, const cd_upgrade_times *network)
{
    if (!c->subnet_evm.is_set && c->layout == CD_HEADER_C) {
        c->subnet_evm = network->phases;
    } else {
        c->subnet_evm.is_set = true;
    }
    if (!c->durango.is_set) {
        c->durango = c->shanghai.is_set ? c->shanghai : network->durango;
    }
    if (!c->etna.is_set) {
        c->etna = c->cancun.is_set ? c->cancun : network->etna;
    }
    c->shanghai = c->durango;
    c->cancun = c->etna;
    if (!c->fortuna.is_set) {
        c->fortuna = network->fortuna;
        if (network->fortuna.is_set && c->etna.is_set) {
            c->fortuna.at = cd_max_u64(network->fortuna.at, c->etna.at);
        }
    }
    if (!c->granite.is_set) {
        c->granite = network->granite;
    }
}

static cd_err check_order(const cd_chain_config *c, cd_errinfo *why)
{
    const struct {
        const char *key;
        const cd_when *when;
    } order[] = {
        {"evmTimestamp", &c->subnet_evm},  {"durangoTimestamp", &c->durango}, {"quasarTimestamp", &c->etna},
        {"fortunaTimestamp", &c->fortuna}, {"graniteTimestamp", &c->granite},
    };
    usize last = 0;
    for (usize i = 1; i < CD_COUNT(order); i++) {
        if (!order[i].when->is_set) {
            continue;
        }
        if (order[i].when->at < order[last].when->at) {
            return cd_fail(why, CD_EINVAL,
                           "unsupported fork ordering: %s enabled at timestamp %llu, but %s enabled at "
                           "timestamp %llu",
                           order[last].key, (unsigned long long)order[last].when->at, order[i].key,
                           (unsigned long long)order[i].when->at);
        }
        last = i;
    }
    return CD_OK;
}

/* What a network has scheduled may be put off, never brought forward or left out. */
static cd_err check_against_network(const cd_chain_config *c, const cd_upgrade_times *network, cd_errinfo *why)
{
    const struct {
        const char *name;
        const cd_when *when;
        const cd_when *least;
    } rows[] = {
        {"Durango", &c->durango, &network->durango},
        {"Quasar", &c->etna, &network->etna},
        {"Fortuna", &c->fortuna, &network->fortuna},
        {"Granite", &c->granite, &network->granite},
    };
    if (c->layout != CD_HEADER_C && c->subnet_evm.at != 0) {
        return cd_fail(why, CD_EINVAL,
                       "invalid network upgrades: EVM fork block timestamp is invalid: must be 0 "
                       "(activated at genesis), got %llu",
                       (unsigned long long)c->subnet_evm.at);
    }
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].least->is_set && !rows[i].when->is_set) {
            return cd_fail(why, CD_EINVAL,
                           "invalid network upgrades: %s fork block timestamp is invalid: timestamp "
                           "cannot be nil",
                           rows[i].name);
        }
        if (rows[i].least->is_set && rows[i].when->at < rows[i].least->at) {
            return cd_fail(why, CD_EINVAL,
                           "invalid network upgrades: %s fork block timestamp is invalid: provided "
                           "timestamp (%llu) must be greater than or equal to the default timestamp "
                           "(%llu)",
                           rows[i].name, (unsigned long long)rows[i].when->at, (unsigned long long)rows[i].least->at);
        }
    }
    return CD_OK;
}

/* The schedule is asked for by the format, and changes no price here [spec:decisions#D8]. */
static cd_err check_blobs(cd_chain_config *c, cd_errinfo *why)
{
    static const cd_blob_schedule cancun = {.target = 3, .max = 6, .update_fraction = 3338477};
    const char *wrong = NULL;
    if (!cd_json_has(cd_json_get(c->json, "blobSchedule"))) {
        c->has_blob_cancun = true;
        c->blob_cancun = cancun;
        return CD_OK;
    }
    if (!c->has_blob_cancun) {
        wrong = "missing entry";
    } else if (c->blob_cancun.update_fraction == 0) {
        wrong = "update fraction must be defined and non-zero";
    } else if (c->blob_cancun.target > c->blob_cancun.max) {
        wrong = "target must not be above max";
    }
    return wrong == NULL ? CD_OK
                         : cd_fail(why, CD_EINVAL,
                                   "invalid chain configuration in blobSchedule for fork "
                                   "\"cancun\": %s",
                                   wrong);
}

/* --- life cycle --- */

static cd_err resolve(cd_chain_rules *r, const cd_chain_rules_cfg *cfg, cd_errinfo *why)
{
    const cd_upgrade_times *network = cfg->network == NULL ? &all_at_genesis : cfg->network;
    CD_TRY(cd_upgrades_parse(&r->upgrades, &r->arena, cfg->upgrades, why));
    cd_upgrades_override(&r->upgrades, &r->config);
    resolve_times(&r->config, network);
    CD_TRY(check_against_network(&r->config, network, why));
    CD_TRY(check_order(&r->config, why));
    CD_TRY(check_blobs(&r->config, why));
    if (r->layout == CD_HEADER_C) {
        r->config.fee = *cd_fee_c_numbers(CD_C_FORTUNA);
    } else {
        CD_TRY(resolve_fees(&r->config, cfg->network_id, why));
    }
    if (r->layout == CD_HEADER_L1_ATOMIC && r->config.granite.is_set) {
        return cd_fail(why, CD_EUNSUPPORTED, "blocks of the L1 layout with atomic transactions have no Granite fields");
    }
    cd_schedule_cfg schedule = {
        .chain = &r->config,
        .config = r->config.json,
        .upgrades = r->upgrades.precompiles,
        .addrs = cfg->addrs,
        .warp_at_durango = r->layout == CD_HEADER_C,
        .warp_quorum_min = cfg->warp_quorum_min,
        .unverified = cfg->unverified,
        .network_id = cfg->network_id,
        .chain_id = cfg->blockchain_id,
        .instead = cfg->is_dev ? &cd_dev_ecrecover : NULL,
    };
    return cd_schedule_new(&r->schedule, &schedule, why);
}

cd_err cd_chain_rules_init(cd_chain_rules *out, const cd_chain_rules_cfg *cfg, cd_errinfo *why)
{
    static const struct {
        cd_profile_id profile;
        cd_account_form form;
    } by_layout[] = {
        [CD_HEADER_ETHEREUM] = {CD_PROFILE_ETHEREUM, CD_ACCOUNT_4},
        [CD_HEADER_L1] = {CD_PROFILE_L1, CD_ACCOUNT_4},
        [CD_HEADER_L1_ATOMIC] = {CD_PROFILE_L1, CD_ACCOUNT_4},
        [CD_HEADER_C] = {CD_PROFILE_C, CD_ACCOUNT_5},
    };
    const cd_chain_config *config = cfg->config;
    cd_chain_rules r = {
        .profile = by_layout[config->layout].profile,
        .layout = cfg->is_atomic && config->layout == CD_HEADER_L1 ? CD_HEADER_L1_ATOMIC : config->layout,
        .account_form = by_layout[config->layout].form,
        .chain_id = config->has_chain_id ? config->chain_id : DEFAULT_CHAIN_ID,
        .is_dev = cfg->is_dev,
        .config = *config,
    };
    cd_err e = cd_chain_rules_is_eth(&r) ? CD_OK : resolve(&r, cfg, why);
    if (e != CD_OK) {
        cd_chain_rules_fini(&r);
        return e;
    }
    r.config.json = (cd_json){0};
    r.upgrades.precompiles = (cd_json){0};
    *out = r;
    return CD_OK;
}

void cd_chain_rules_fini(cd_chain_rules *r)
{
    cd_schedule_free(r->schedule);
    cd_arena_fini(&r->arena);
    *r = (cd_chain_rules){0};
}

cd_err cd_chain_rules_compatible(const cd_chain_rules *old, const cd_chain_rules *now, u64 head_time, cd_errinfo *why)
{
    if (now->schedule == NULL) {
        return CD_OK;
    }
    CD_TRY(cd_compat_times(&old->config, &now->config, head_time, why));
    CD_TRY(cd_schedule_compatible(old->schedule, now->schedule, head_time, why));
    return cd_state_upgrades_compatible(&old->upgrades, &now->upgrades, head_time, why);
}

/* --- asking --- */

static bool holds(const cd_when *w, u64 at)
{
    return w->is_set && w->at <= at;
}

cd_fork cd_chain_rules_fork(const cd_chain_rules *r, u64 number, u64 time)
{
    const cd_chain_config *c = &r->config;
    if (r->layout == CD_HEADER_ETHEREUM && holds(&c->prague, time)) {
        return CD_PRAGUE;
    }
    if (holds(&c->cancun, time)) {
        return CD_CANCUN;
    }
    if (holds(&c->shanghai, time)) {
        return CD_SHANGHAI;
    }
    if (r->layout != CD_HEADER_ETHEREUM) {
        return CD_LONDON; /* every earlier fork is active from block 0 */
    }
    const struct {
        const cd_when *when;
        cd_fork fork;
    } by_number[] = {
        {&c->merge, CD_PARIS},         {&c->london, CD_LONDON},         {&c->berlin, CD_BERLIN},
        {&c->istanbul, CD_ISTANBUL},   {&c->petersburg, CD_PETERSBURG}, {&c->constantinople, CD_CONSTANTINOPLE},
        {&c->byzantium, CD_BYZANTIUM}, {&c->eip158, CD_SPURIOUS},       {&c->eip150, CD_TANGERINE},
        {&c->homestead, CD_HOMESTEAD},
    };
    for (usize i = 0; i < CD_COUNT(by_number); i++) {
        if (holds(by_number[i].when, number)) {
            return by_number[i].fork;
        }
    }
    return CD_FRONTIER;
}

bool cd_chain_rules_is_granite(const cd_chain_rules *r, u64 time)
{
    return r->layout != CD_HEADER_ETHEREUM && holds(&r->config.granite, time);
}

bool cd_chain_rules_is_eth(const cd_chain_rules *r)
{
    return r->layout == CD_HEADER_ETHEREUM;
}

cd_c_era cd_chain_rules_era(const cd_chain_rules *r, u64 time)
{
    const struct {
        const cd_when *when;
        cd_c_era era;
    } by_time[] = {
        {&r->config.granite, CD_C_GRANITE},
        {&r->config.fortuna, CD_C_FORTUNA},
        {&r->config.etna, CD_C_ETNA},
        {&r->config.subnet_evm, CD_C_CORTINA},
    };
    for (usize i = 0; i < CD_COUNT(by_time); i++) {
        if (holds(by_time[i].when, time)) {
            return by_time[i].era;
        }
    }
    return CD_C_LAUNCH;
}

usize cd_chain_rules_prefix(const cd_chain_rules *r, u64 time)
{
    return r->layout == CD_HEADER_C ? cd_fee_c_prefix_size(cd_chain_rules_era(r, time)) : CD_FEE_WINDOW_SIZE;
}

const cd_precompile_table *cd_chain_rules_table(const cd_chain_rules *r, u64 number, u64 time)
{
    return r->schedule != NULL ? cd_schedule_table(r->schedule, time)
                               : cd_precompile_eth(cd_chain_rules_fork(r, number, time));
}

cd_err cd_child_rules_read(cd_child_rules *out, const cd_chain_rules *r, cd_state_source *parent, u64 parent_time)
{
    cd_child_rules c = {0};
    if (r->layout == CD_HEADER_C) {
        c.fee = *cd_fee_c_numbers(cd_chain_rules_era(r, parent_time));
        c.coinbase.addr = CD_BLACKHOLE;
    } else if (r->schedule != NULL) {
        CD_TRY(cd_policy_fees(&c.fee, &c.fee_changed_at, r->schedule, parent, parent_time));
        CD_TRY(cd_policy_coinbase(&c.coinbase, r->schedule, parent, parent_time));
    }
    *out = c;
    return CD_OK;
}

/* --- a block's execution --- */

void cd_chain_rules_env(const cd_chain_rules *r, cd_block_env *out, const cd_header *h)
{
    cd_fork fork = cd_chain_rules_fork(r, h->number, h->time);
    bool is_random = fork >= CD_PARIS && !cd_profile_get(r->profile)->randao_is_difficulty;
    *out = (cd_block_env){
        .number = h->number,
        .time = h->time,
        .gas_limit = h->gas_limit,
        .coinbase = h->coinbase,
        .base_fee = h->base_fee,
        .prev_randao = h->difficulty,
        .chain_id = r->chain_id,
        .splits_fee = holds(&r->config.fee_split, h->time),
    };
    /* On the development network somebody may have chosen it [spec:dev-rpc#1.2]. */
    if (is_random || (r->is_dev && !cd_hash32_is_zero(&h->mix_hash))) {
        cd_u256_load_be(&out->prev_randao, h->mix_hash.b);
    }
    if (fork >= CD_CANCUN) {
        cd_eth_blob_base_fee(&out->blob_base_fee, h->excess_blob_gas, cd_eth_blob_schedule(fork));
    }
}

cd_err cd_block_run_begin(cd_block_run *run, const cd_chain_rules *r, cd_evm *evm, cd_state *st, cd_arena *arena,
                          const cd_header *h, u64 parent_time, const cd_predicate_results *predicates)
{
    *run = (cd_block_run){0};
    cd_chain_rules_env(r, &run->env, h);
    if (predicates != NULL) {
        run->predicates = *predicates;
    } else if (!cd_chain_rules_is_eth(r) && holds(&r->config.durango, h->time) &&
               h->extra.n >= cd_chain_rules_prefix(r, h->time)) {
        usize front = cd_chain_rules_prefix(r, h->time);
        cd_bytes results = cd_bytes_sub(h->extra, front, h->extra.n - front);
        CD_TRY(cd_predicate_results_dec(&run->predicates, arena, results));
    }
    run->env.predicates = &run->predicates;
    if (r->schedule != NULL) {
        cd_schedule_apply(r->schedule, st, &parent_time, h->time, h->number);
        cd_state_upgrades_apply(&r->upgrades, st, &parent_time, h->time);
    }
    cd_block_exec_begin(&run->exec, evm, st, arena,
                        &(cd_block_exec_cfg){
                            .fork = cd_chain_rules_fork(r, h->number, h->time),
                            .profile = r->profile,
                            .env = &run->env,
                            .precompiles = cd_chain_rules_table(r, h->number, h->time),
                            .beacon_root = (h->has & CD_HEADER_BEACON_ROOT) != 0 ? &h->parent_beacon_root : NULL,
                        });
    return CD_OK;
}
