/* chains/xvm/xvm.h - the X-Chain as a VM: assets, their outputs, and what moves between chains.
 *
 *   issue ──► pool ──► build ──► block ──► verify: a layer on the parent's ──► accept: layer and shared memory in one
 *                                                                              batch ──► accepted: pool, events
 *
 * Configuration (JSON): "index-transactions", a boolean: the transactions of each address are listed (getAddressTxs).
 * Upgrades (JSON): "cortinaXChainStopVertexID", where a network's graph of vertices ended; the first block stands on
 * it.
 * Threading: as vm/vm.h says; readers read accepted state from the store. [spec:pchain-xchain#8] */
#ifndef CD_CHAINS_XVM_XVM_H
#define CD_CHAINS_XVM_XVM_H

#include "vm/vm.h"

/* cd_xvm_open is the factory. Errors: those of the store, CD_EINVAL for a genesis or configuration that is none, or a
 * store that holds a chain of another genesis. */
cd_err cd_xvm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_xvm_issue gives a transaction to the pool, on the executor. is_checked: it is looked at on accepted state; else
 * only its form is, so that it may build upon what waits in the pool. out gets its ID also when it was there already,
 * which is no error. Errors: those of cd_xvm_form, cd_xvm_check and cd_xvm_pool_add; CD_EAGAIN while the chain is not
 * synced. */
cd_err cd_xvm_issue(cd_vm *vm, cd_hash32 *out, cd_bytes bytes, bool is_checked, cd_errinfo *why) CD_CHECK;

#endif
