/* chains/evmchain/core/block_exec.h - runs a block's transactions one after another and collects what they leave:
 * receipts, gas used, bloom, receipt root.
 *
 *   begin ──► tx, tx, tx … ──► withdrawals ──► end        verification feeds a whole block, the builder
 *                                                         one candidate after the other
 *
 * Works on a cd_state of the parent for every profile; header rules are header_check.h's business.
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_BLOCK_EXEC_H
#define CD_CHAINS_EVMCHAIN_BLOCK_EXEC_H

#include "evm/transition.h"
#include "types/block.h"
#include "types/receipt.h"

/* The root of a state as it is between transactions. */
typedef cd_err cd_block_exec_root(void *ctx, cd_hash32 *out, cd_state *st);

/* The rules and surroundings of a block's execution. */
typedef struct cd_block_exec_cfg {
    cd_fork fork;
    cd_profile_id profile;
    const cd_block_env *env;                /* borrowed to the end */
    const cd_precompile_table *precompiles; /* NULL: Ethereum's of the fork */
    const cd_hash32 *beacon_root;           /* NULL: no EIP-4788 system call */
    const cd_hash32 *parent_hash;           /* NULL: no EIP-2935 system call */
    cd_block_exec_root *tx_root;            /* before Byzantium receipts have it; NULL: they say whether it went well */
    void *tx_root_ctx;
} cd_block_exec_cfg;

/* Read by the caller after end (and gas_left while it fills a block). */
typedef struct cd_block_exec {
    cd_block_exec_cfg cfg;
    cd_evm *evm;
    cd_state *st;
    cd_arena *arena;
    cd_receipt *receipts; /* in arena after end */
    usize cnt;
    usize cap;
    u64 gas_left;
    u64 gas_used;
    u64 blob_gas_used;
    cd_bloom bloom;
    cd_u256 tips;  /* sum of effective tip * gas used, saturating */
    cd_err failed; /* of the root behind a transaction; the end says so */
} cd_block_exec;

/* cd_block_exec_begin prepares the EVM for the block and makes the system calls that are due. */
void cd_block_exec_begin(cd_block_exec *x, cd_evm *evm, cd_state *st, cd_arena *arena, const cd_block_exec_cfg *cfg);

/* cd_block_exec_tx runs a transaction, whose sender is known, and adds its receipt unless it is invalid. */
cd_tx_invalid cd_block_exec_tx(cd_block_exec *x, const cd_tx *tx);

/* cd_block_exec_tx_relaxed skips what relax says (NULL: nothing) and tells what came of it; a simulation's. */
cd_tx_invalid cd_block_exec_tx_relaxed(cd_block_exec *x, cd_tx_result *res, const cd_tx *tx, const cd_tx_relax *relax);

/* cd_block_exec_tx_as runs one whose sender did not sign: contracts may send too (development network). */
cd_tx_invalid cd_block_exec_tx_as(cd_block_exec *x, const cd_tx *tx);

/* cd_block_exec_withdrawals credits validator withdrawals (EIP-4895). */
void cd_block_exec_withdrawals(cd_block_exec *x, const cd_withdrawal *w, usize cnt);

/* cd_block_exec_end completes the receipts (their logs are copied into the arena) and gives the receipt root.
 * Errors: the first one of the state's source. */
cd_err cd_block_exec_end(cd_block_exec *x, cd_hash32 *receipt_root) CD_CHECK;

/* cd_block_exec_abort releases what begin and tx took, in place of end. */
void cd_block_exec_abort(cd_block_exec *x);

/* cd_block_tx_root gives the root of the transactions trie. */
void cd_block_tx_root(cd_hash32 *out, const cd_tx *txs, usize cnt);

#endif
