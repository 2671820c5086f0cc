/* apps/cli/l1/l1_genesis.h - with what the chain of a new L1 begins: fees, who has coins, and the manager of its
 * validators, which stands there from the first block on.
 *
 * Threading: pure. */
#ifndef CD_APPS_CLI_L1_GENESIS_H
#define CD_APPS_CLI_L1_GENESIS_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "num/u256.h"

/* Codes of the managers (contracts/validators). */
extern const cd_bytes cd__l1_poa;
extern const cd_bytes cd__l1_pos;

/* The manager's address in a genesis of ours. */
extern const cd_addr20 cd__l1_manager_at;

/* An account that has coins. */
typedef struct cd__l1_alloc {
    cd_addr20 account;
    cd_u256 wei;
} cd__l1_alloc;

/* What is to be known for a genesis. */
typedef struct cd__l1_genesis {
    u64 chain_id; /* EVM's number of the chain */
    u64 time;     /* Unix seconds */
    const cd__l1_alloc *allocs;
    usize alloc_cnt;
    cd_addr20 warp; /* the Warp precompile there */
    bool is_pos;
    cd_addr20 owner;   /* who names validators; of proof of stake: who may remove the first ones */
    u64 churn_percent; /* how much of the weight may change in a period; 0: all of it */
    u64 churn_s;
    cd_u256 stake_min;   /* of proof of stake: wei, */
    cd_u256 weight_unit; /* wei for a unit of weight, */
    u64 stake_s;         /* and for how long at least */
} cd__l1_genesis;

/* cd__l1_genesis_put appends the genesis, JSON. */
void cd__l1_genesis_put(cd_buf *out, cd_arena *mem, const cd__l1_genesis *g);

#endif
