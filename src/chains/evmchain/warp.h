/* chains/evmchain/warp.h - an EVM chain's seat at Warp: messages of its accepted blocks, which of its blocks it
 * attests, and whose validators vouch for messages that come to it.
 *
 *   accepted block ─ logs of the precompile ─► rows beside the block ─► warp/warp.h signs, collects
 *   block to be verified ─ predicates ─► cd_warp_host ─► warp/sets.h ◄─ P-Chain
 *
 * Threading: confined to the executor; the host is asked by workers, too. [spec:evm-chain#14] [spec:warp#5] */
#ifndef CD_CHAINS_EVMCHAIN_WARP_H
#define CD_CHAINS_EVMCHAIN_WARP_H

#include "chains/evmchain/core/chain.h"
#include "chains/evmchain/core/config/vm_config.h"
#include "vm/gossip/gossip.h"
#include "warp/service.h"

/* The seat; a member of the VM's object, which stays where it is. */
typedef struct cd_evm_warp {
    cd_warp_host host; /* first: for cd_chain_cfg.warp */
    const cd_vm_ctx *ctx;
    cd_chain *chain;
    cd_chain_index index;
    cd_warp *warp;
    cd_warp_service *service;
} cd_evm_warp;

/* What this chain refuses to sign, by code. */
enum { CD_EVM_WARP_PARSE = 1, CD_EVM_WARP_VERIFY = 2 };

/* cd_evm_warp_open makes it, before the chain is open; it borrows all. Errors: CD_EINVAL with what is wrong with a
 * message of the configuration. cd_evm_warp_use: the chain is open. cd_evm_warp_close: before the gossip is freed and
 * the chain is closed; {0} is allowed. */
cd_err cd_evm_warp_open(cd_evm_warp *x, const cd_vm_ctx *ctx, cd_gossip *g, const cd_vm_config *config,
                        cd_errinfo *why) CD_CHECK;
void cd_evm_warp_use(cd_evm_warp *x, cd_chain *chain);
void cd_evm_warp_close(cd_evm_warp *x);

#endif
