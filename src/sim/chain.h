/* sim/chain.h - the chain of the simulated world: a real VM in the contract of vm/vm.h, made to be light.
 *
 *   block:  0 │ rules │ parent │ height │ time │ maker │ n transactions, ascending │ state
 *   state:  SHA-256 of the parent's state and the transactions
 *
 * A transaction is a number that nobody has used before on the chain. From a moment on blocks are of the second set of
 * rules: nodes that disagree on that moment refuse each other's blocks, as nodes that missed an upgrade do. It builds,
 * verifies and stores like any other chain and passes the same test of the contract; what it leaves out is everything
 * that has nothing to do with agreement: accounts, fees, requests, gossip. Threading: as vm/vm.h says. */
#ifndef CD_SIM_CHAIN_H
#define CD_SIM_CHAIN_H

#include "vm/vm.h"

enum {
    CD_SIM_GENESIS_S = 1700000000,
    CD_SIM_BLOCK_TXS_MAX = 16,
    CD_SIM_POOL_MAX = 1024, /* transactions that wait */
};

/* What cd_vm_ctx.dev points to. */
typedef struct cd_sim_chain_cfg {
    u64 second_rules_s; /* blocks of this time (Unix seconds) and later are of the second rules; UINT64_MAX: none is */
} cd_sim_chain_cfg;

/* cd_sim_chain_open is the chain's factory. */
cd_err cd_sim_chain_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_sim_chain_submit puts a transaction into the pool, and tells the engine that a block is wanted. One that the chain
 * or the pool has already, or for which there is no room, is dropped. */
void cd_sim_chain_submit(cd_vm *vm, u64 tx);

/* cd_sim_chain_cut takes a chain that is not open back by some blocks: its store is then as it was before them. Errors:
 * the store's. */
cd_err cd_sim_chain_cut(cd_kv *kv, u64 blocks) CD_CHECK;

/* cd_sim_chain_waiting counts the transactions that wait. */
u32 cd_sim_chain_waiting(const cd_vm *vm);

/* cd_sim_chain_twin appends another valid block with the same parent as block, with tx alone in it. Errors: CD_ENOENT
 * when the parent is not known here, CD_EFORMAT. */
cd_err cd_sim_chain_twin(cd_vm *vm, cd_buf *out, cd_bytes block, u64 tx) CD_CHECK;

/* What liars make wrong in a block. */
typedef enum cd_sim_wrong {
    CD_SIM_WRONG_STATE,
    CD_SIM_WRONG_RULES,
    CD_SIM_WRONG_HEIGHT,
    CD_SIM_WRONG_TXS,
    CD_SIM_WRONGS,
} cd_sim_wrong;

/* cd_sim_chain_spoil appends a copy of a block with something wrong in it, so that it does not verify. Errors:
 * CD_EFORMAT. */
cd_err cd_sim_chain_spoil(cd_buf *out, cd_bytes block, cd_sim_wrong wrong) CD_CHECK;

#endif
