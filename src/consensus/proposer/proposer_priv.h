/* consensus/proposer/proposer_priv.h - between the parts of the wrapper.
 *
 *   proposer.c  the VM: life, calls handed on, what is accepted and rejected
 *   blocks.c    outer blocks as objects: read, loaded, around what they stand
 *   rules.c     which child a parent may have
 *   build.c     when and what this node proposes
 *   index.c     the store: outer blocks by ID and by height
 *   summary.c   state summaries
 *
 * Threading: confined. */
#ifndef CD_CONSENSUS_PROPOSER_PRIV_H
#define CD_CONSENSUS_PROPOSER_PRIV_H

#include "consensus/proposer/outer.h"
#include "consensus/proposer/proposer.h"
#include "consensus/proposer/windower.h"
#include "vm/blocks.h"

typedef enum outer_kind {
    OUTER_BARE,   /* the VM's own block as it is: the first, or one from before the wrapper */
    OUTER_CHILD,  /* with time, height of the P-Chain, and perhaps a proposer */
    OUTER_OPTION, /* one of the two children of an oracle block; it has its parent's time and height */
} outer_kind;

typedef struct outer_block {
    cd_vm_block pub;    /* first */
    cd_vm_block *inner; /* the VM's block, held once */
    outer_kind kind;
    i64 time;
    u64 pchain_height;
    bool has_proposer;
    cd_node_id proposer;
    u32 child_cnt; /* undecided blocks on this one */
    u8 bytes[];
} outer_block;

/* What is wanted of this node as a proposer. */
typedef struct turn {
    bool is_wanted;    /* the VM has something to put into a block */
    bool is_told;      /* the engine was told that the turn has come */
    u64 not_before_ns; /* monotonic; later than now after a failure */
    bool is_known;     /* slot is this node's first one, for a child of parent, that is not over */
    cd_hash32 parent;
    u64 slot;
} turn;

#define NO_FORK UINT64_MAX

typedef struct proposer {
    cd_vm vm;        /* first */
    cd_vm_ops ops;   /* our operations; NULL where the VM below has none */
    cd_vm_host host; /* what the VM below gets as its host; of_host finds the proposer by it */
    cd_proposer_cfg cfg;
    cd_vm_ctx ctx; /* as the node gave it; the VM below gets our host instead */
    cd_vm *inner;
    cd_blocks blocks;
    outer_block *last; /* the last accepted one, held once */
    u64 fork_height;   /* height of the first block that is not a bare one; NO_FORK: there is none yet */
    cd_hmap undecided; /* id -> cd_vm_block *: the VM's blocks that are verified and not decided, each held once */
    cd_windower *windower;
    cd_kv_batch batch;
    cd_vm_state state;
    turn turn;
} proposer;

CD_INLINE proposer *proposer_of(void *owner)
{
    return owner;
}

CD_INLINE outer_block *outer_of(cd_vm_block *b)
{
    return (outer_block *)(void *)b;
}

/* --- blocks.c --- */

extern const cd_blocks_ops cd__outer_ops;

/* cd__outer_bare makes the object of one of the VM's blocks as it is, whose use it takes over. */
outer_block *cd__outer_bare(cd_vm_block *inner);

/* cd__outer_make makes the object of an outer block from its bytes and their parsed parts, without looking at the
 * certificate; it takes over a use of inner. */
outer_block *cd__outer_make(cd_bytes bytes, const cd_outer *o, cd_vm_block *inner);

/* cd__outer_stamp gives a block's time and height of the P-Chain; an option has those of its parent. Errors: CD_ENOENT
 * when the parent is not known, the store's. */
cd_err cd__outer_stamp(proposer *p, const outer_block *o, i64 *time, u64 *pchain_height);

/* cd__outer_is_oracle tells whether the VM's block has two options as its only children. */
bool cd__outer_is_oracle(proposer *p, cd_vm_block *inner);

/* --- rules.c --- */

/* cd__proposer_check says whether child may stand on parent; the VM's block is then looked at under *inner_ctx. */
cd_err cd__proposer_check(proposer *p, const outer_block *parent, const outer_block *child, cd_vm_block_ctx *inner_ctx,
                          cd_errinfo *why);

/* cd__proposer_now gives the context's time in seconds. */
i64 cd__proposer_now(const proposer *p);

/* cd__proposer_slot gives the slot in which a moment lies, counted from the parent's time. */
u64 cd__proposer_slot(i64 parent_time, i64 time);

/* --- build.c --- */

cd_err cd__proposer_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why);
cd_err cd__proposer_options(cd_vm *vm, cd_vm_block *out[2], cd_vm_block *block, cd_errinfo *why);

/* cd__proposer_want tells that the VM wants a block; cd__proposer_moved that another block is to be built on. */
void cd__proposer_want(proposer *p);
void cd__proposer_moved(proposer *p);

/* cd__proposer_due tells the engine when the turn has come, and gives when to look again (monotonic nanoseconds). */
u64 cd__proposer_due(proposer *p);

/* --- index.c --- */

/* cd__index_put appends an accepted block to a batch for the wrapper's part. */
void cd__index_put(cd_kv_batch *batch, const proposer *p, const outer_block *o);

/* cd__index_get makes the object of an accepted block that is no bare one. Errors: CD_ENOENT, CD_ECORRUPT, the
 * store's. */
cd_err cd__index_get(proposer *p, outer_block **out, const cd_hash32 *id);

/* cd__index_at finds the ID of an accepted block. Errors: CD_ENOENT, the store's. */
cd_err cd__index_at(proposer *p, cd_hash32 *id, u64 height);

/* cd__index_repair reads where the chain stands, by the VM: entries above its last accepted block are cut off. *last
 * gets one use. Errors: CD_ECORRUPT when the index ends below the VM's block, the store's. */
cd_err cd__index_repair(proposer *p, outer_block **last, cd_errinfo *why);

/* cd__index_fork appends the height of the first outer block. */
void cd__index_fork(cd_kv_batch *batch, u64 height);

/* cd__index_put_summary appends the summary that the VM is synced to; cd__index_summary reads it. Errors: CD_ENOENT,
 * the store's. */
void cd__index_put_summary(cd_kv_batch *batch, cd_bytes summary);
cd_err cd__index_summary(proposer *p, cd_buf *out);

/* --- summary.c --- */

extern const cd_vm_sync_ops cd__summary_ops;

#endif
