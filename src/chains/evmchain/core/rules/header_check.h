/* chains/evmchain/core/rules/header_check.h - the rules of Ethereum's own blocks: header against parent, body
 * against header, and what execution must have come to.
 *
 *   check (no state) ──► execute on a state of the parent ──► the caller compares the state root
 *
 * For the Ethereum profile: public suites, rpc-compat, the laboratory. Proof of work and difficulty
 * are not judged; from Paris on their fields must be zero. A broken rule is CD_EINVAL with the rule
 * in *why. Threading: pure. (Yellow paper 4.4, EIP-1559, 3675, 4788, 4844, 4895) */
#ifndef CD_CHAINS_EVMCHAIN_HEADER_CHECK_H
#define CD_CHAINS_EVMCHAIN_HEADER_CHECK_H

#include "chains/evmchain/core/block_exec.h"
#include "chains/evmchain/core/rules/eth_rules.h"

/* What a block is judged by. */
typedef struct cd_eth_ctx {
    u64 chain_id;
    cd_fork fork;        /* of the block */
    cd_fork parent_fork; /* of its parent */
    const cd_blob_schedule *blob;
    const cd_header *parent;
    cd_block_exec_root *tx_root; /* as in cd_block_exec_cfg */
    void *tx_root_ctx;
} cd_eth_ctx;

/* cd_eth_header_check checks a header against its parent. */
cd_err cd_eth_header_check(const cd_header *h, const cd_eth_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_eth_body_check checks that a block's lists are those its header commits to. */
cd_err cd_eth_body_check(const cd_block *b, const cd_eth_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_eth_withdrawals_root gives the root of the withdrawals trie. */
void cd_eth_withdrawals_root(cd_hash32 *out, const cd_withdrawal *w, usize cnt);

/* cd_eth_env fills in what byte code sees of a block. */
void cd_eth_env(cd_block_env *out, const cd_header *h, const cd_eth_ctx *ctx);

/* cd_eth_execute recovers the senders of b, runs it on st (a state of the parent) and compares gas,
 * blob gas, bloom and receipts with the header. reward (NULL = none) is called before the end, for
 * what the consensus of a network adds. x holds the receipts, in arena, afterwards. Errors: also
 * those of the state's source. */
typedef void cd_eth_reward(void *reward_ctx, cd_state *st, const cd_block *b);
cd_err cd_eth_execute(cd_block_exec *x, cd_block *b, cd_evm *evm, cd_state *st, cd_arena *arena, const cd_eth_ctx *ctx,
                      cd_eth_reward *reward, void *reward_ctx, cd_errinfo *why) CD_CHECK;

#endif
