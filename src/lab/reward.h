/* lab/reward.h - what proof-of-work networks paid for a block and its uncles. No network of ours
 * pays that. Threading: pure. (Yellow paper 11.3, EIP-649, EIP-1234) */
#ifndef CD_LAB_REWARD_H
#define CD_LAB_REWARD_H

#include "evm/rules/rules.h"
#include "evm/state/state.h"

/* cd_reward_of gives a fork's block reward in wei; 0 from Paris on. */
void cd_reward_of(cd_u256 *out, cd_fork fork);

/* An uncle: who found it, and how many blocks it is older than the block that includes it (1..7). */
typedef struct cd_reward_uncle {
    cd_addr20 coinbase;
    u64 delta;
} cd_reward_uncle;

/* cd_reward_pay credits coinbase with reward and 1/32 of it for each uncle, and each uncle's finder
 * with (8 - delta) / 8 of it. A reward of zero touches the coinbase. */
void cd_reward_pay(cd_state *st, const cd_u256 *reward, const cd_addr20 *coinbase, const cd_reward_uncle *uncles,
                   usize cnt, bool drop_empty);

#endif
