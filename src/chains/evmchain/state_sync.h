/* chains/evmchain/state_sync.h - state sync at the VM's seat: summaries as the node knows them, questions of peers.
 *
 * This node serves others; it does not sync itself yet (is_enabled: no), so an accepted summary is skipped and the
 * chain bootstraps block by block. Threading: confined to the executor. [spec:evm-chain#13] */
#ifndef CD_CHAINS_EVMCHAIN_STATE_SYNC_H
#define CD_CHAINS_EVMCHAIN_STATE_SYNC_H

#include "chains/evmchain/sync/serve.h"
#include "vm/vm.h"

/* The code of an AppError: nothing to give. */
enum { CD_EVM_SYNC_NOTHING = 1 };

/* cd_evm_sync_answer answers a peer's question; false: msg is none, and it is somebody else's. */
bool cd_evm_sync_answer(cd_sync_server *s, const cd_vm_sender *sender, const cd_node_id *from, u32 request_id,
                        u64 deadline_ns, cd_bytes msg);

/* cd_evm_sync_summary gives a summary of the L1 family as the node knows it, in the arena. */
cd_err cd_evm_sync_summary(cd_vm_summary *out, cd_arena *a, const cd_sync_summary *s) CD_CHECK;

/* Members of cd_vm_sync_ops. */
bool cd_evm_sync_is_enabled(cd_vm *vm);
cd_err cd_evm_sync_ongoing(cd_vm *vm, cd_vm_summary *out, cd_arena *a) CD_CHECK;
cd_err cd_evm_sync_parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why) CD_CHECK;
cd_err cd_evm_sync_accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why) CD_CHECK;

#endif
