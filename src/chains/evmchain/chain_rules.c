#include "chains/evmchain/chain_rules.h"

/* A genesis without an id on a local or custom network [spec:decisions#D2]. */
enum { DEFAULT_CHAIN_ID = 43112 };

/* What holds where a genesis names no fee configuration of its own [spec:evm-chain#3.1]. */
static cd_fee_config default_fees(void)
{
    return (cd_fee_config){
        .gas_limit = cd_u256_from_u64(8000000),
        .target_block_rate = 2,
        .min_base_fee = cd_u256_from_u64(25000000000),
        .target_gas = cd_u256_from_u64(15000000),
        .base_fee_change_denominator = cd_u256_from_u64(36),
        .min_block_gas_cost = cd_u256_from_u64(0),
        .max_block_gas_cost = cd_u256_from_u64(1000000),
        .block_gas_cost_step = cd_u256_from_u64(200000),
    };
}

static cd_err check_fees(const cd_fee_config *f, cd_errinfo *why)
{
    if (cd_u256_is_zero(&f->gas_limit) || !cd_u256_fits_u64(&f->gas_limit)) {
        return cd_fail(why, CD_EINVAL, "feeConfig.gasLimit must be between 1 and 2^64-1");
    }
    if (f->target_block_rate == 0) {
        return cd_fail(why, CD_EINVAL, "feeConfig.targetBlockRate must be greater than 0");
    }
    if (cd_u256_is_zero(&f->target_gas)) {
        return cd_fail(why, CD_EINVAL, "feeConfig.targetGas must be greater than 0");
    }
    if (cd_u256_is_zero(&f->base_fee_change_denominator)) {
        return cd_fail(why, CD_EINVAL, "feeConfig.baseFeeChangeDenominator must be greater than 0");
    }
    if (cd_u256_lt(&f->max_block_gas_cost, &f->min_block_gas_cost)) {
        return cd_fail(why, CD_EINVAL,
                       "feeConfig.minBlockGasCost must not be greater than maxBlockGasCost");
    }
    return CD_OK;
}

/* Shanghai follows Durango and Cancun follows Etna; where only the Ethereum keys are given they stand for both
 * [spec:decisions#D8]. */
static void resolve_times(cd_chain_config *c)
{
    cd_when genesis = {.is_set = true};
    if (c->durango.is_set) {
        c->shanghai = c->durango;
    } else {
        c->durango = c->shanghai.is_set ? c->shanghai : genesis;
        c->shanghai = c->durango;
    }
    if (c->etna.is_set) {
        c->cancun = c->etna;
    } else {
        c->etna = c->cancun.is_set ? c->cancun : genesis;
        c->cancun = c->etna;
    }
    if (!c->fortuna.is_set) {
        c->fortuna = genesis;
        c->fortuna.at = cd_max_u64(c->fortuna.at, c->etna.at);
    }
}

static cd_err check_order(const cd_chain_config *c, cd_errinfo *why)
{
    const struct {
        const char *key;
        const cd_when *when;
    } order[] = {
        {"durangoTimestamp", &c->durango},
        {"etnaTimestamp", &c->etna},
        {"fortunaTimestamp", &c->fortuna},
        {"graniteTimestamp", &c->granite},
    };
    for (usize i = 1; i < CD_COUNT(order); i++) {
        if (order[i].when->is_set && order[i].when->at < order[i - 1].when->at) {
            return cd_fail(
                why, CD_EINVAL,
                "unsupported fork ordering: %s enabled at timestamp %llu, but %s enabled at "
                "timestamp %llu",
                order[i - 1].key, (unsigned long long)order[i - 1].when->at, order[i].key,
                (unsigned long long)order[i].when->at);
        }
    }
    return CD_OK;
}

cd_err cd_chain_rules_init(cd_chain_rules *out, const cd_chain_config *config, cd_errinfo *why)
{
    static const struct {
        cd_profile_id profile;
        cd_account_form form;
    } by_layout[] = {
        [CD_HEADER_ETHEREUM] = {CD_PROFILE_ETHEREUM, CD_ACCOUNT_4},
        [CD_HEADER_L1] = {CD_PROFILE_L1, CD_ACCOUNT_4},
        [CD_HEADER_C] = {CD_PROFILE_C, CD_ACCOUNT_5},
    };
    cd_chain_rules r = {
        .profile = by_layout[config->layout].profile,
        .layout = config->layout,
        .account_form = by_layout[config->layout].form,
        .chain_id = config->has_chain_id ? config->chain_id : DEFAULT_CHAIN_ID,
        .config = *config,
    };
    r.config.json = (cd_json){0};
    if (r.layout != CD_HEADER_ETHEREUM) {
        resolve_times(&r.config);
        CD_TRY(check_order(&r.config, why));
    }
    if (r.layout == CD_HEADER_L1) {
        if (!r.config.has_fee_config) {
            r.config.fee = default_fees();
        }
        CD_TRY(check_fees(&r.config.fee, why));
    }
    *out = r;
    return CD_OK;
}

static bool holds(const cd_when *w, u64 at)
{
    return w->is_set && w->at <= at;
}

cd_fork cd_chain_rules_fork(const cd_chain_rules *r, u64 number, u64 time)
{
    const cd_chain_config *c = &r->config;
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
        {&c->merge, CD_PARIS},           {&c->london, CD_LONDON},
        {&c->berlin, CD_BERLIN},         {&c->istanbul, CD_ISTANBUL},
        {&c->petersburg, CD_PETERSBURG}, {&c->constantinople, CD_CONSTANTINOPLE},
        {&c->byzantium, CD_BYZANTIUM},   {&c->eip158, CD_SPURIOUS},
        {&c->eip150, CD_TANGERINE},      {&c->homestead, CD_HOMESTEAD},
    };
    for (usize i = 0; i < CD_COUNT(by_number); i++) {
        if (holds(by_number[i].when, number)) {
            return by_number[i].fork;
        }
    }
    return CD_FRONTIER;
}
