/* chains/evmchain/chain_priv.h - the chain object as its files see it. */
#ifndef CD_CHAINS_EVMCHAIN_CHAIN_PRIV_H
#define CD_CHAINS_EVMCHAIN_CHAIN_PRIV_H

#include "chains/evmchain/block_exec.h"
#include "chains/evmchain/chain.h"
#include "chains/evmchain/chaindb.h"

/* Hashes of the newest accepted blocks, by number modulo the size; BLOCKHASH reaches 256 back. */
enum { CD__CHAIN_RECENT = 512 };

struct cd_chain {
    cd_chain_cfg cfg;
    cd_chain_rules rules;
    cd_world *world;
    cd_evm *evm;
    cd_state *st;
    cd_block head;
    cd_arena head_arena; /* holds what head borrows */
    cd_hash32 genesis;
    cd_hash32 recent[CD__CHAIN_RECENT];
    u64 recent_from; /* hashes of [recent_from, head] are in recent */
    cd_chain_block *blocks;
};

/* The coinbase that burns [spec:evm-chain#4]. */
extern const cd_addr20 cd__blackhole;

/* cd__genesis_make builds the genesis block and its state as a view in the world of c. */
cd_err cd__genesis_make(cd_chain *c, cd_chain_block *out, const cd_genesis *g,
                        cd_errinfo *why) CD_CHECK;

/* cd__header_check_l1 checks what can be said of a header from its parent alone.
 * Errors: CD_EINVAL with the words of [spec:evm-chain#1]. */
cd_err cd__header_check_l1(const cd_chain *c, const cd_block *b, const cd_header *parent, u64 now,
                           cd_errinfo *why) CD_CHECK;

/* cd__header_next_l1 fills in the fields of a child of parent at time; extra lies in the arena. */
cd_err cd__header_next_l1(const cd_chain *c, cd_header *out, cd_arena *a, const cd_header *parent,
                          u64 time) CD_CHECK;

/* cd__block_fee_check: the tips must pay the block gas cost. */
cd_err cd__block_fee_check(const cd_header *h, const cd_u256 *tips, cd_errinfo *why) CD_CHECK;

/* cd__chain_parent finds the header of b's parent: the head, or a verified block (*block, else NULL). */
cd_err cd__chain_parent(cd_chain *c, const cd_header **header, cd_chain_block **block,
                        const cd_hash32 *hash) CD_CHECK;

/* cd__chain_decode makes a block of its bytes; senders are not recovered. */
cd_err cd__chain_decode(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why) CD_CHECK;

/* cd__chain_set_head makes the block in rlp the head in memory; its bytes move into the head's own arena. */
cd_err cd__chain_set_head(cd_chain *c, cd_bytes rlp, cd_errinfo *why) CD_CHECK;

cd_chain_block *cd__chain_block_new(cd_chain *c);
void cd__chain_block_free(cd_chain *c, cd_chain_block *b);

#endif
