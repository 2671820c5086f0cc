/* chains/evmchain/blocks.h - blocks of an EVM chain as the engine sees them: the chain's own (core/chain.h) behind
 * objects of vm/blocks.h.
 *
 *   engine ── cd_vm_block ──► cd_blocks ──► cd_evm_blocks: decode, verify, accept, reject ──► cd_chain
 *
 * Threading: confined to the executor. [spec:architecture#5] */
#ifndef CD_CHAINS_EVMCHAIN_BLOCKS_H
#define CD_CHAINS_EVMCHAIN_BLOCKS_H

#include "chains/evmchain/core/chain.h"
#include "vm/blocks.h"

/* The tree of blocks that are being decided, over an EVM chain. */
typedef struct cd_evm_blocks cd_evm_blocks;
struct cd_evm_blocks {
    cd_blocks blocks;    /* first: its functions are used directly */
    cd_chain *chain;     /* borrowed */
    cd_evm_blocks *lead; /* whose development network chooses what blocks do not say of themselves; NULL: nobody's */
    const cd_clock *clock;
    /* accepted is told when a block is the head; what it gives is given to the engine. */
    cd_err (*accepted)(void *ctx, const cd_chain_block *b);
    void *ctx;
};

/* cd_evm_blocks_init begins at the head of x->chain; the other members are filled in. cd_evm_blocks_fini before the
 * chain is closed. */
void cd_evm_blocks_init(cd_evm_blocks *x);
void cd_evm_blocks_fini(cd_evm_blocks *x);

/* cd_evm_blocks_add takes over a block that the chain built or read. The caller holds *out. */
void cd_evm_blocks_add(cd_evm_blocks *x, cd_vm_block **out, cd_chain_block *b);

/* cd_evm_blocks_preferred borrows the block to build on; NULL: the head. */
cd_chain_block *cd_evm_blocks_preferred(const cd_evm_blocks *x);

#endif
