/* services/adx/miner/rewards.h - what a miner has earned in a settlement period, in integers.
 *
 * Unit: nano-USD. base = impressions * 500,000; bandwidth = bytes / 10; a tenth of both where the miner was up for
 * 99.9 % of the period; the auction fee is a thousandth of the sum of clearing prices (X millionths CPM are X nano-USD
 * an impression), its remainder carried on; a fixed fee a verified proof. Divisions round down. Threading: pure.
 * [spec:adx#8] */
#ifndef CD_ADX_MINER_REWARDS_H
#define CD_ADX_MINER_REWARDS_H

#include "base/mem/buf.h"

enum {
    CD_REWARD_PERIOD_S = 86400,
    CD_REWARD_HEARTBEAT_S = 15, /* a second is up when a heartbeat came within so many */
    CD_REWARD_PROOF_FEE_MICRO = 1000,
};

/* What was counted in a period. */
typedef struct cd_reward_counts {
    u64 impressions;
    u64 bytes;
    u64 up_s, period_s; /* period_s from registration where that was later */
    u64 clearing_sum;   /* of prices in millionths CPM, over billed impressions */
    u64 fee_carry;      /* of the period before, below 1000 */
    u64 proofs;
    u64 proof_fee_micro_usd; /* for each */
} cd_reward_counts;

/* A miner's reward for an epoch, told apart by what it is for; all in the token's base unit. */
typedef struct cd_reward {
    u64 base, bandwidth, uptime_bonus, auction_fee, auction_fee_carry, proof_fees, total;
} cd_reward;

/* cd_reward_of works it out. CD_ERANGE where an amount is beyond 2^64 nano-USD (18 billion USD). */
cd_err cd_reward_of(cd_reward *out, const cd_reward_counts *c) CD_CHECK;

/* cd_reward_sum_add adds a clearing price to a period's sum: CD_ERANGE as above, and the sum is unchanged. */
cd_err cd_reward_sum_add(u64 *sum, u64 price_micro_cpm) CD_CHECK;

/* cd_nusd_fmt appends an amount in USD with six decimals, cut off: "176.546782". */
void cd_nusd_fmt(cd_buf *out, u64 nusd);

/* Seconds in which a miner was up, from its heartbeats: each counts for the CD_REWARD_HEARTBEAT_S seconds behind it,
 * no second twice. All zero but for from_s (of the period or the registration) is a valid start. */
typedef struct cd_uptime {
    u64 from_s;
    u64 covered_to_s; /* what was counted ends here */
    u64 up_s;
} cd_uptime;

/* cd_uptime_beat counts a heartbeat at now_s; cd_uptime_get gives the seconds up to end_s, the period's end or now. */
void cd_uptime_beat(cd_uptime *u, u64 now_s);
u64 cd_uptime_get(const cd_uptime *u, u64 end_s);

#endif
