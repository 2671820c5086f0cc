/* chains/evmchain/evm_vm.h - the EVM chain behind the node's VM contract, with its JSON-RPC service.
 *
 *   /rpc ──► methods (api_*.c) ──► chain.h for reads and calls
 *                              └─► pool.h for transactions ──► host: "there is something to build"
 *
 * Threading: confined to the executor. [spec:architecture#5] [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_EVM_VM_H
#define CD_CHAINS_EVMCHAIN_EVM_VM_H

#include "vm/vm.h"

/* cd_evm_vm_open is a cd_vm_factory: opens the chain in ctx->kv, or makes it of ctx->genesis. */
cd_err cd_evm_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_evm_vm_chain borrows the chain of a VM that cd_evm_vm_open made, for who reads its views (view.h). */
struct cd_chain;
struct cd_chain *cd_evm_vm_chain(cd_vm *vm);

#endif
