/* What the parts of chain.h share. */
#ifndef CD_CHAINS_PLATFORM_BLOCKS_CHAIN_PRIV_H
#define CD_CHAINS_PLATFORM_BLOCKS_CHAIN_PRIV_H

#include "chains/platform/blocks/chain.h"
#include "chains/platform/txs/advance.h"
#include "chains/platform/txs/words.h"
#include "store/overlay.h"
#include "types/pblock.h"

/* A block with all that it holds in an arena of its own. */
typedef struct pblk pblk;
struct pblk {
    cd_vm_block b; /* first */
    cd_arena arena;
    cd_p_block_type kind;
    const cd_p_block_body *body;
    cd_ptx *txs; /* decisions */
    usize tx_cnt;
    cd_ptx proposed; /* of a proposal */
    cd_layer *layer; /* verified and not decided; sealed */
    cd_p_moves moves;
    pblk *next; /* those with a layer */
    pblk *prev;
};

struct cd_pchain {
    cd_pchain_cfg cfg;
    cd_overlay *overlay;
    cd_blocks blocks;
    cd_fx *fx;
    cd_sets *sets;
    cd_uptime *uptime;
    cd_p_pool *pool;
    pblk *layered; /* blocks with a layer, in no order */
    u64 genesis_time;
    bool is_bootstrapped;
};

CD_INLINE pblk *pblk_of(cd_vm_block *b)
{
    return (pblk *)(void *)b;
}

CD_INLINE bool pblk_is_proposal(const pblk *p)
{
    return p->kind == CD_P_BANFF_PROPOSAL;
}

/* cd__pchain_state is the state behind a block (NULL: the last accepted one), for changes at a height. */
cd_pstate cd__pchain_state(cd_pchain *c, pblk *p, u64 height);

/* cd__pchain_layer opens a layer on that of a block (NULL: on what is accepted). */
cd_err cd__pchain_layer(cd_pchain *c, cd_layer **out, pblk *parent) CD_CHECK;

/* cd__pchain_onlayer gives a verified block its layer, which is sealed; cd__pchain_unlayer ends its claim on a layer
 * that is gone or about to go. */
void cd__pchain_onlayer(cd_pchain *c, pblk *p, cd_layer *layer);
void cd__pchain_unlayer(cd_pchain *c, pblk *p);

/* cd__pchain_exec begins to carry transactions out on a state. */
cd_err cd__pchain_exec(cd_pchain *c, cd_p_exec *out, const cd_pstate *s, cd_p_moves *moves, cd_arena *a) CD_CHECK;

/* cd__pchain_free_of: do moves take nothing that an undecided ancestor took? Errors: CD_EINVAL. */
cd_err cd__pchain_free_of(const cd_p_moves *m, pblk *ancestor, cd_errinfo *why) CD_CHECK;

/* cd__pchain_warp checks the messages of transactions at a height of this chain, while consensus decides. */
cd_err cd__pchain_warp(cd_pchain *c, const cd_p_tx *tx, u64 height, cd_errinfo *why) CD_CHECK;

/* The preferred block, NULL: the last accepted one. cd__pchain_on_proposal: is the block to build on a proposal? */
pblk *cd__pchain_tip(cd_pchain *c);
cd_err cd__pchain_on_proposal(cd_pchain *c, bool *out, pblk *parent) CD_CHECK;

/* cd__pchain_wall gives the clock in seconds. */
u64 cd__pchain_wall(const cd_pchain *c);

extern const cd_blocks_ops cd__pchain_ops;

#endif
