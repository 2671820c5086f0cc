/* The VM's object, for the files of this library that are its parts. */
#ifndef CD_CHAINS_XVM_XVM_PRIV_H
#define CD_CHAINS_XVM_XVM_PRIV_H

#include "chains/xvm/pool.h"
#include "chains/xvm/state.h"
#include "chains/xvm/verify.h"
#include "chains/xvm/xvm.h"
#include "store/overlay.h"
#include "vm/blocks.h"
#include "vm/gossip/gossip.h"

/* A block; its layer holds what it changes, from verify to its end. */
typedef struct cd__xvm_block {
    cd_vm_block pub; /* first */
    cd_arena arena;
    const cd_x_standard_block *body;
    cd_xvm_tx *txs;
    usize cnt;
    cd_layer *layer;
    cd_hash32 *taken; /* input IDs that it takes from other chains, ascending */
    usize taken_cnt;
} cd__xvm_block;

/* The VM. */
typedef struct cd__xvm {
    cd_gossip_vm base; /* first */
    cd_vm_ctx ctx;
    cd_xvm_rules rules;
    cd_overlay *states;
    cd_blocks blocks;
    cd_fx *fx;
    cd_xvm_pool *pool;
    cd_vm_state state;
    u64 last_time; /* of the last accepted block */
    struct cd__xvm_service *service;
    cd_gossip_set shared_pool; /* the pool, as other nodes see it */
    cd_gossip_topic *topic;
} cd__xvm;

CD_INLINE cd__xvm *cd__xvm_of(cd_vm *vm)
{
    return (cd__xvm *)(void *)vm;
}

CD_INLINE cd__xvm_block *cd__xvm_block_of(cd_vm_block *b)
{
    return (cd__xvm_block *)(void *)b;
}

extern const cd_blocks_ops cd__xvm_blocks;

/* cd__xvm_take is cd_xvm_issue for a transaction of any origin: of a peer, or NULL, this node's. Others are not told.
 * *is_new: it did not wait yet. One of a peer that was dropped lately is not looked at again: CD_EBUSY. */
cd_err cd__xvm_take(cd__xvm *x, cd_hash32 *out, bool *is_new, cd_bytes bytes, bool is_checked, const cd_node_id *peer,
                    cd_errinfo *why) CD_CHECK;

/* cd__xvm_gossip_open makes what tells other nodes of the pool, and the pool of what they tell. */
void cd__xvm_gossip_open(cd__xvm *x);

/* cd__xvm_build makes a block of the pool on the preferred one. Errors: CD_ENOENT, the store's. */
cd_err cd__xvm_build(cd__xvm *x, cd_vm_block **out, cd_errinfo *why) CD_CHECK;

#endif
