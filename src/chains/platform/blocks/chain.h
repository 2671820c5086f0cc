/* chains/platform/blocks/chain.h - the blocks of the P-Chain: what they do, which are decided, what waits for the next.
 *
 *   pool ──► build ──► block ── verify ──► layer on its parent's ── accept ──► batch: layer, block, shared memory
 *                        └── proposal ──► two options: commit (reward), abort
 *
 * A verified block is a layer of store/overlay.h over the accepted state; a proposal's layer is the state of its
 * decisions, and each option carries the proposal out anew on its own branch. Everything is a function of what is
 * stored: after a restart a proposal that was accepted has its options as before.
 *
 * Threading: confined to the chain's executor. [spec:pchain-xchain#5] */
#ifndef CD_CHAINS_PLATFORM_BLOCKS_CHAIN_H
#define CD_CHAINS_PLATFORM_BLOCKS_CHAIN_H

#include "chains/platform/blocks/pool.h"
#include "chains/platform/genesis/genesis.h"
#include "chains/platform/state/sets.h"
#include "chains/platform/state/uptime.h"
#include "chains/platform/txs/exec.h"
#include "vm/blocks.h"

typedef struct cd_pchain cd_pchain;

/* What a chain is told when it is opened. Everything is borrowed. */
typedef struct cd_pchain_cfg {
    cd_kv *kv; /* its part of the store */
    const cd_p_rules *rules;
    const cd_clock *clock;
    const cd_vm_shared *shared;         /* NULL: no other chain */
    const cd_vm_validators *validators; /* who signs Warp messages; NULL: what this chain itself knows */
    cd_bytes genesis;
} cd_pchain_cfg;

/* cd_pchain_open opens what is stored, or begins with the genesis in an empty store. Errors: those of the genesis;
 * CD_EFOREIGN when the store began with another; the store's. */
cd_err cd_pchain_open(cd_pchain **out, const cd_pchain_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_pchain_close(cd_pchain *c); /* NULL is allowed */

/* cd_pchain_bootstrapped tells whether what is verified is decided by consensus from now on: then Warp messages and
 * what other chains left are looked at, and uptimes are tracked. */
cd_err cd_pchain_bootstrapped(cd_pchain *c, bool is_bootstrapped) CD_CHECK;

/* --- parts --- */

/* These borrow what a chain is made of. */
cd_blocks *cd_pchain_blocks(cd_pchain *c);
cd_sets *cd_pchain_sets(cd_pchain *c);
cd_uptime *cd_pchain_uptime(cd_pchain *c);
cd_p_pool *cd_pchain_pool(cd_pchain *c);
const cd_p_rules *cd_pchain_rules(const cd_pchain *c);

/* cd_pchain_accepted borrows the state of the last accepted block, cd_pchain_preferred that of the preferred one; it
 * ends with the next call that decides a block. */
cd_pstate cd_pchain_accepted(cd_pchain *c);
cd_pstate cd_pchain_preferred(cd_pchain *c);

/* --- blocks: the rest are functions of vm/blocks.h on cd_pchain_blocks --- */

/* cd_pchain_build makes a block on the preferred one. Errors: CD_ENOENT when there is no reason for one. */
cd_err cd_pchain_build(cd_pchain *c, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_pchain_options gives the children of a proposal that is verified or last accepted, the preferred one first.
 * Errors: CD_ENOENT for other blocks. */
cd_err cd_pchain_options(cd_pchain *c, cd_vm_block *out[2], cd_vm_block *b, cd_errinfo *why) CD_CHECK;

/* cd_pchain_is_due says whether a block should be built at wall time now_s (transactions wait, or a staker changes);
 * when not, *at_s is when to ask again: the time of the next change, at most an hour on. */
cd_err cd_pchain_is_due(cd_pchain *c, bool *is_due, u64 *at_s, u64 now_s) CD_CHECK;

/* --- transactions --- */

/* cd_pchain_issue verifies a signed transaction on the preferred block and lets it wait; one that waits already is fine
 * (*is_new: it did not). *id is set when it could be read. What became of it: cd_p_pool_pending. Errors: what is wrong
 * with it, in the original's words. */
cd_err cd_pchain_issue(cd_pchain *c, cd_hash32 *id, bool *is_new, cd_bytes tx, cd_errinfo *why) CD_CHECK;

/* cd_pchain_hear is the same for one that another node has sent: what is wrong with it is not remembered, for nobody
 * asks this node about it, and the room for reasons is small. Errors: those of cd_pchain_issue; CD_EEXIST when it waits
 * or is in a block, CD_EBUSY when it was dropped lately. */
cd_err cd_pchain_hear(cd_pchain *c, cd_hash32 *id, cd_bytes tx, cd_errinfo *why) CD_CHECK;

#endif
