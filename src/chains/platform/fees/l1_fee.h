/* chains/platform/fees/l1_fee.h - what an active validator of an L1 pays a second.
 *
 * The price follows how many are active against a target: above it excess grows every second, below it falls, and the
 * price grows with excess exponentially (gas.h). Threading: pure. [spec:pchain-xchain#7.3] */
#ifndef CD_CHAINS_PLATFORM_FEES_L1_FEE_H
#define CD_CHAINS_PLATFORM_FEES_L1_FEE_H

#include "base/base.h"

/* How the price of being validated follows the number of active validators. */
typedef struct cd_l1_fee_config {
    u64 capacity;  /* validators that may be active */
    u64 target;    /* validators at which the price stays */
    u64 min_price; /* base units a second */
    u64 k;         /* excess that raises the price by a factor of e */
} cd_l1_fee_config;

/* Where that price stands; excess in validator-seconds. */
typedef struct cd_l1_fee_state {
    u64 current; /* active validators */
    u64 excess;
} cd_l1_fee_state;

/* cd_l1_fee_advance gives the state so many seconds later. */
cd_l1_fee_state cd_l1_fee_advance(cd_l1_fee_state s, u64 target, u64 seconds);

/* cd_l1_fee_cost gives what one validator pays for so many seconds, at most 2⁶⁴ - 1. */
u64 cd_l1_fee_cost(cd_l1_fee_state s, const cd_l1_fee_config *c, u64 seconds);

/* cd_l1_fee_seconds gives for how many seconds funds (base units) last, at most max. */
u64 cd_l1_fee_seconds(cd_l1_fee_state s, const cd_l1_fee_config *c, u64 max, u64 funds);

#endif
