/* chains/evmchain/evm_vm.h - the EVM chain behind the node's VM contract, with its JSON-RPC service.
 *
 *   /rpc ──► methods (rpc/methods.def) ──► core/view.h for reads and calls
 *                              └─► core/pool.h for transactions ──► host: "there is something to build"
 *
 * Threading: confined to the executor. [spec:architecture#5] [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_EVM_VM_H
#define CD_CHAINS_EVMCHAIN_EVM_VM_H

#include "vm/vm.h"

/* cd_evm_vm_open is a cd_vm_factory: opens the chain in ctx->kv, or makes it of ctx->genesis. */
cd_err cd_evm_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_evm_vm_is tells whether a VM is one that cd_evm_vm_open made: what follows is for those alone. */
bool cd_evm_vm_is(const cd_vm *vm);

/* cd_evm_vm_atomic borrows the imports and exports; NULL: its blocks have none. */
struct cd_atomic;
const struct cd_atomic *cd_evm_vm_atomic(cd_vm *vm);

/* cd_evm_vm_chain borrows the chain of a VM that cd_evm_vm_open made, for who reads its views (view.h). */
struct cd_chain;
struct cd_chain *cd_evm_vm_chain(cd_vm *vm);

/* cd_evm_vm_kv borrows the store that it lives in, for who keeps an index there (chain.h). */
struct cd_kv *cd_evm_vm_kv(cd_vm *vm);

/* cd_evm_vm_watch has news(ctx) called on the executor whenever the head has changed; one watcher, before blocks
 * come. */
void cd_evm_vm_watch(cd_vm *vm, void (*news)(void *ctx), void *ctx);

/* cd_evm_vm_with_pool calls job(arg, pool) on the executor and waits, from another thread that may. Errors: CD_EFULL,
 * CD_ECLOSED; then nothing was called. */
struct cd_txpool;
cd_err cd_evm_vm_with_pool(cd_vm *vm, void (*job)(void *arg, struct cd_txpool *pool), void *arg) CD_CHECK;

#endif
