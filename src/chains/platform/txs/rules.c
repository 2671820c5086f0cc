#include "chains/platform/txs/rules.h"

cd_p_rules cd_p_rules_of(const cd_network *network, const cd_hash32 *asset_id)
{
    const cd_network_economy *e = network->economy;
    return (cd_p_rules){
        .network_id = network->id,
        .asset_id = *asset_id,
        .legacy_stakers = network->family->legacy_stakers,
        .min_validator_stake = cd_network_amount(network, e->min_validator_stake),
        .max_validator_stake = cd_network_amount(network, e->max_validator_stake),
        .min_delegator_stake = cd_network_amount(network, e->min_delegator_stake),
        .min_delegation_fee = e->min_delegation_fee,
        .min_stake_s = e->min_stake_s,
        .max_stake_s = e->max_stake_s,
        .uptime_requirement = e->uptime_requirement,
        .reward = {.max_rate = e->max_consumption_rate,
                   .min_rate = e->min_consumption_rate,
                   .period_s = e->minting_period_s,
                   .cap = cd_network_amount(network, e->supply_cap)},
        .gas = cd_gas_config_default,
        .l1 = {.capacity = e->l1_capacity, .target = e->l1_target, .min_price = e->l1_min_price, .k = e->l1_k},
    };
}

static cd_err read_member(u64 *value, cd_json over, const char *name, u64 max, cd_errinfo *why)
{
    cd_json v = cd_json_get(over, name);
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    if (cd_json_u64(value, v, NULL) != CD_OK || *value > max) {
        return cd_fail(why, CD_EINVAL, "%s: a number up to %llu is needed", name, (unsigned long long)max);
    }
    return CD_OK;
}

static cd_err check(const cd_p_rules *r, cd_errinfo *why)
{
    if (r->min_validator_stake > r->max_validator_stake) {
        return cd_fail(why, CD_EINVAL, "min-validator-stake is more than max-validator-stake");
    }
    if (r->min_stake_s > r->max_stake_s || r->min_stake_s == 0) {
        return cd_fail(why, CD_EINVAL, "min-stake-duration is none, or more than max-stake-duration");
    }
    if (r->reward.min_rate > r->reward.max_rate) {
        return cd_fail(why, CD_EINVAL, "stake-min-consumption-rate is more than stake-max-consumption-rate");
    }
    if (r->reward.period_s < r->max_stake_s) {
        return cd_fail(why, CD_EINVAL, "stake-minting-period is less than max-stake-duration");
    }
    return CD_OK;
}

cd_err cd_p_rules_read(cd_p_rules *r, cd_json over, cd_errinfo *why)
{
    cd_p_rules fresh = *r;
    if (!cd_json_has(over)) {
        return CD_OK;
    }
    if (cd_network_refuses_public_keys(r->network_id)) {
        return cd_fail(why, CD_EINVAL, "staking goes by fixed numbers on network %u", r->network_id);
    }
    u64 value;
#define X(name_, member_, max_)                                                                                        \
    value = fresh.member_;                                                                                             \
    CD_TRY(read_member(&value, over, name_, max_, why));                                                               \
    fresh.member_ = (__typeof__(fresh.member_))value;
#include "chains/platform/txs/rules.def"
#undef X
    CD_TRY(check(&fresh, why));
    *r = fresh;
    return CD_OK;
}
