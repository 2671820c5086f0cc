/* chains/evmchain/rpc/calls/simulate.h - eth_simulateV1: blocks that are made up, one on another, on an accepted one.
 *
 *   {blockStateCalls, traceTransfers, validation, returnFullTransactions}
 *        │ plan: numbers and times, empty blocks in the gaps
 *        ▼
 *   header ──► state overrides ──► calls as transactions ──► roots, hash ──► block object with the results of its calls
 *     ▲                                                        │
 *     └──────────────────────── parent ◄───────────────────────┘
 *
 * Without validation a block has base fee 0 unless it says otherwise, nonces do not matter, and who offers no price
 * pays none. With it a transaction must be fit for a block in all but its signature; that the sender is a contract
 * is allowed in both. Headers are made by the rules of the chain: fee window, block gas cost and times of the L1
 * profile, blob gas of Ethereum's. Everything runs on a view, in memory of its own: accepting blocks goes on
 * meanwhile.
 *
 * Errors beside those of every call: -38010 nonce too low, -38011 too high, -38012 fee cap below the base fee,
 * -38013 too little gas to start, -38014 funds, -38015 gas of the block, -38020 order of numbers, -38021 of times,
 * -38022 a precompile moved to itself, -38023 two moved to one place, -38025 size of initcode, -38026 more than 256
 * blocks. -38024, sender is no account of a key, does not come up. A call that fails says so in its result: code 3
 * reverted, -32015 otherwise. Threading: confined to the call, any thread. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_SIMULATE_H
#define CD_CHAINS_EVMCHAIN_RPC_SIMULATE_H

#include "chains/evmchain/core/world/scratch.h"
#include "chains/evmchain/rpc/calls/trial.h"

/* One block to make. */
typedef struct cd__sim_block {
    cd_json calls;
    cd_json state; /* overrides of accounts, JSON */
    cd_json env;   /* overrides of the block's fields, JSON */
    u64 number;
    u64 time;
} cd__sim_block;

/* What came of a call; output and logs lie in the request's arena. */
typedef struct cd__sim_call {
    cd_tx_result res;
    u64 gas_peak; /* gas used by its transactions, before refunds */
    const cd_log *logs;
    usize log_cnt;
} cd__sim_call;

/* A simulation under way. */
typedef struct cd__sim {
    cd_rpc_call *call;
    const cd_chain_rules *rules;
    cd_header parent; /* parent of the block to make: the accepted one at first */
    cd_hash32 parent_hash;
    bool traces;
    bool validates;
    bool full_txs;
    u64 gas_left; /* gas that is left of rpc-gas-cap for the whole simulation */
    cd__sim_block *blocks;
    usize cnt;

    cd_view_source src;
    cd_world_scratch *scratch;
    cd_trial *lent; /* the trial that st and evm are lent from */
    cd_state *st;
    cd_evm *evm;
    struct cd__sim_watch *watch; /* hears the messages of a call; NULL before the first */

    /* Of the block that is being made. */
    cd_block block;
    cd_block_run run;
    cd_precompile_table *moved; /* precompiles as overrides have moved them; NULL: none was moved */
    cd__sim_call *results;
} cd__sim;

/* cd__sim_plan reads the blocks from the request, numbers and times filled in. */
cd_err cd__sim_plan(cd__sim *s, cd_json blocks) CD_CHECK;

/* cd__sim_header makes the header of a planned block on s->parent, all but what execution finds out. */
cd_err cd__sim_header(cd__sim *s, cd_header *out, const cd__sim_block *b) CD_CHECK;

/* cd__sim_withdrawals gives a block the withdrawals it was asked to have. */
cd_err cd__sim_withdrawals(cd__sim *s, cd_block *out, const cd__sim_block *b) CD_CHECK;

/* cd__sim_run executes a planned block; s->block and s->results are what came of it, and its header is the next
 * parent's. */
cd_err cd__sim_run(cd__sim *s, const cd__sim_block *b) CD_CHECK;

#endif
