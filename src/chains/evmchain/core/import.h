/* chains/evmchain/core/import.h - takes in a run of blocks that follow one another: files, and later bootstrapping.
 *
 *   bytes ─► decode n+1, n+2 ─► senders, body to disk: on the pool ──┐
 *                               block n: verify, accept ◄────────────┘   what does not depend on state runs ahead
 *
 * Threading: confined to the chain's executor; signatures run on the pool's threads. */
#ifndef CD_CHAINS_EVMCHAIN_IMPORT_H
#define CD_CHAINS_EVMCHAIN_IMPORT_H

#include "chains/evmchain/core/chain.h"

/* cd_chain_import verifies and accepts every block of rlps, concatenated block RLPs, on the head; pool (NULL = none)
 * works ahead. now_ms is the wall clock in Unix milliseconds. Stops at the first bad block with its number in why;
 * blocks before it stay accepted. */
cd_err cd_chain_import(cd_chain *c, cd_bytes rlps, cd_pool *pool, u64 now_ms, cd_errinfo *why) CD_CHECK;

#endif
