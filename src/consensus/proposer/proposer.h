/* consensus/proposer/proposer.h - a VM over a VM: around each of its blocks stands one that says who proposed it and
 * when, and a node proposes only in its turn.
 *
 *   engine, indices ──► outer blocks    G ◄── 1(A) ◄── 2(B)      G: the VM's own first block, as it is
 *                                              ▲────── 2'(B)     2 and 2': two proposals of one block of the VM
 *   the VM          ──► its own blocks  G ◄── A ◄──── B
 *
 * The VM below sees its own blocks alone: verified once however many stand around one (again only under another height
 * of the P-Chain), accepted with the first of them, rejected when a sibling of its own is accepted. What the outer
 * block writes goes into the batch of the inner one, so that the two chains move together; where the VM stands is where
 * the wrapper stands, and an index that is ahead of it is cut back at the start. A block's own time and height come
 * from the wrapper; messages, routes and requests are the VM's.
 *
 * When the VM wants a block and it is not this node's turn, build is CD_ENOENT, and wake tells the engine
 * (CD_VM_WANTS_BLOCK) when the turn has come. Time comes from the context alone.
 * Threading: as vm/vm.h says. [spec:consensus#5] [spec:consensus#6] */
#ifndef CD_CONSENSUS_PROPOSER_H
#define CD_CONSENSUS_PROPOSER_H

#include "consensus/proposer/staking.h"
#include "vm/vm.h"

/* Limits and delays of proposing. */
enum {
    CD_PROPOSER_SKEW_S = 10,       /* how many seconds a block may be ahead of our clock */
    CD_PROPOSER_DELAY_S = 1,       /* least seconds between a block and its parent when we build */
    CD_PROPOSER_CHILDREN_MAX = 256 /* undecided blocks on one parent, so that no proposer can flood */
};

/* How a chain is wrapped. */
typedef struct cd_proposer_cfg {
    cd_vm_factory inner;       /* makes the VM below */
    cd_kv *kv;                 /* the wrapper's part of the store, beside the VM's part (the context's kv) */
    const cd_staking *staking; /* NULL: staking is off, blocks have no proposer; borrowed */
    u64 delay_s;               /* seconds: CD_PROPOSER_DELAY_S, or 0 where a development network wants blocks at once */
    bool uses_current_height;  /* blocks refer to the newest height of the P-Chain, not to one some time back */
} cd_proposer_cfg;

/* cd_proposer_open opens the VM of cfg on the context, and the wrapper around it. A chain that was kept without a
 * wrapper goes on with one. Errors: those of the factory; CD_ECORRUPT when the wrapper's index is behind the VM. */
cd_err cd_proposer_open(cd_vm **out, const cd_proposer_cfg *cfg, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* What an outer block stands for: the VM's block inside, and the height of the P-Chain that it refers to. */
typedef struct cd_proposer_sight {
    const cd_vm_block *inner; /* as long as the outer one */
    u64 pchain_height;
} cd_proposer_sight;

/* cd_proposer_look looks into a block of the wrapper. Errors: the store's. */
cd_err cd_proposer_look(cd_vm *vm, cd_proposer_sight *out, const cd_vm_block *b) CD_CHECK;

/* cd_proposer_inner gives the VM below, for those who look at its chain alone. */
cd_vm *cd_proposer_inner(cd_vm *vm);

#endif
