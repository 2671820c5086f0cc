/* chains/platform/state/reward.h - what staking earns, to the last unit.
 *
 *   reward = (cap - supply) * stake / supply * time / period * rate, which goes from min to max with time
 *
 * Threading: pure. [spec:pchain-xchain#6] */
#ifndef CD_PLATFORM_REWARD_H
#define CD_PLATFORM_REWARD_H

#include "base/base.h"

/* Shares and rates are parts of this. */
#define CD_REWARD_PARTS 1000000u

/* How a network rewards. */
typedef struct cd_reward_cfg {
    u64 max_rate; /* of a year's interest, in CD_REWARD_PARTS */
    u64 min_rate;
    u64 period_s; /* the longest staking, in seconds; not 0 */
    u64 cap;      /* what may ever exist, base units */
} cd_reward_cfg;

/* cd_reward gives what a stake earns in so many seconds while supply exists; amounts in base units. */
u64 cd_reward(const cd_reward_cfg *cfg, u64 duration_s, u64 stake, u64 supply);

/* cd_reward_split divides a reward between the holder of shares (first) and the rest (second); shares is at most
 * CD_REWARD_PARTS. */
void cd_reward_split(u64 *first, u64 *second, u64 total, u32 shares);

#endif
