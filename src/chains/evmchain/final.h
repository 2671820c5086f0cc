/* chains/evmchain/final.h - what the node has told of final blocks: certificates, as app messages of the node itself.
 *
 *   node ── AppGossip from its own ID, handler 9630, kind 5 ──► height ──► "safe", "finalized"
 *
 * A certificate was checked by the node before it is told; only that it comes from the node is looked at here, and that
 * the block is one that was accepted. Threading: on the executor. [spec:decisions#D22] */
#ifndef CD_CHAINS_EVMCHAIN_FINAL_H
#define CD_CHAINS_EVMCHAIN_FINAL_H

#include "chains/evmchain/rpc/api.h"
#include "vm/vm.h"

/* cd_evm_final_hear takes a message that is a certificate, and says whether it was one; what anybody else than the node
 * says is none. */
bool cd_evm_final_hear(cd_api *api, const cd_vm_ctx *ctx, const cd_node_id *from, cd_bytes message);

#endif
