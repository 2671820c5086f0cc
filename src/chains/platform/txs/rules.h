/* chains/platform/txs/rules.h - the numbers by which a network's P-Chain goes. Threading: frozen.
 * [spec:pchain-xchain#6] [spec:pchain-xchain#7] [spec:decisions#D1] [spec:decisions#D3] */
#ifndef CD_CHAINS_PLATFORM_TXS_RULES_H
#define CD_CHAINS_PLATFORM_TXS_RULES_H

#include "base/bytes.h"
#include "chains/platform/fees/gas.h"
#include "chains/platform/fees/l1_fee.h"
#include "chains/platform/state/reward.h"
#include "codec/json.h"
#include "types/network.h"

/* Amounts in base units, times in seconds, shares in parts of a million. */
typedef struct cd_p_rules {
    u32 network_id;
    cd_hash32 asset_id;  /* what is staked and pays fees */
    bool legacy_stakers; /* transactions of before Durango add stakers still */
    u64 min_validator_stake;
    u64 max_validator_stake;
    u64 min_delegator_stake;
    u32 min_delegation_fee;
    u64 min_stake_s;
    u64 max_stake_s;
    u32 uptime_requirement;
    cd_reward_cfg reward;
    cd_gas_config gas;
    cd_l1_fee_config l1;
} cd_p_rules;

/* cd_p_rules_of gives the rules of a network whose native asset has that ID. */
cd_p_rules cd_p_rules_of(const cd_network *network, const cd_hash32 *asset_id);

/* cd_p_rules_read changes what an object names (rules.def); no value changes nothing. Errors: CD_EINVAL for a network
 * of the public internet, for numbers out of range and for those that contradict each other. */
cd_err cd_p_rules_read(cd_p_rules *r, cd_json over, cd_errinfo *why) CD_CHECK;

#endif
