/* chains/platform/genesis/config.h - with what a primary network begins, as people write it: the JSON of a genesis
 * file, or what is built in.
 *
 * Times are seconds since 1970, amounts base units. Everything a config holds lies in the arena that it was made with.
 * Threading: pure. [spec:pchain-xchain#10] */
#ifndef CD_PLATFORM_GENESIS_CONFIG_H
#define CD_PLATFORM_GENESIS_CONFIG_H

#include "base/mem/arena.h"
#include "codec/ids.h"
#include "types/network.h"

/* Limits of a config; a file of a whole network has a few thousand of each. */
enum { CD_PGENESIS_ALLOCATIONS_MAX = 1 << 20, CD_PGENESIS_STAKERS_MAX = 1 << 12, CD_PGENESIS_TEXT_MAX = 256 << 20 };

/* An amount that can be spent from locktime on; 0: at once. */
typedef struct cd_pgenesis_unlock {
    u64 amount;
    u64 locktime;
} cd_pgenesis_unlock;

/* What an address gets. */
typedef struct cd_pgenesis_allocation {
    cd_addr20 eth_addr; /* noted with what is given, no more */
    cd_addr20 addr;
    u64 initial_amount;         /* on the X-Chain */
    cd_pgenesis_unlock *unlock; /* on the P-Chain */
    usize unlock_cnt;
} cd_pgenesis_allocation;

/* Who validates from the beginning. */
typedef struct cd_pgenesis_staker {
    cd_node_id node_id;
    cd_addr20 reward_addr;
    u32 delegation_fee; /* parts of a million */
    bool has_signer;
    u8 key[48]; /* BLS */
    u8 proof[96];
} cd_pgenesis_staker;

/* A genesis as people write it. */
typedef struct cd_pgenesis_config {
    u32 network_id;
    cd_pgenesis_allocation *allocations;
    usize allocation_cnt;
    u64 start_time;
    u64 stake_duration_s;
    u64 stake_offset_s; /* each staker ends so much before the one in front of it */
    cd_addr20 *staked;  /* whose P-Chain funds are staked */
    usize staked_cnt;
    cd_pgenesis_staker *stakers;
    usize staker_cnt;
    cd_bytes c_genesis; /* of the C-Chain, JSON */
    cd_bytes message;
} cd_pgenesis_config;

/* cd_pgenesis_config_parse reads a genesis file for a network. Errors: CD_EFORMAT and like with the place, CD_ELIMIT,
 * CD_EINVAL when it is for another network. */
cd_err cd_pgenesis_config_parse(cd_pgenesis_config *out, cd_arena *a, cd_bytes text, const cd_network *net,
                                cd_errinfo *why) CD_CHECK;

/* cd_pgenesis_config_put appends a config as such a file. */
void cd_pgenesis_config_put(cd_buf *out, const cd_pgenesis_config *c, const cd_network *net);

/* cd_pgenesis_config_builtin gives what a network begins with when there is no file: all belongs to the well-known
 * stakers and test keys. Networks to try things on begin again every 270 days, so that now (seconds) lies in the first
 * staking period. c_genesis is for the C-Chain; empty: that of the network's family, in which one test key has
 * 50,000,000. */
void cd_pgenesis_config_builtin(cd_pgenesis_config *out, cd_arena *a, const cd_network *net, u64 now,
                                cd_bytes c_genesis);

/* cd_pgenesis_is_public_staker tells whether a node ID or a BLS key (compressed) is one of the well-known stakers',
 * whose secret keys everybody has. */
bool cd_pgenesis_is_public_staker(const cd_node_id *id, const u8 key[48]);

#endif
