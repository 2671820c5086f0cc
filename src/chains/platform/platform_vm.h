/* chains/platform/platform_vm.h - the P-Chain as a VM of the node.
 *
 *   engine ──► blocks/chain.h: build, verify, accept, options        issueTx ──► pool ──► "there is something to build"
 *   clock  ──► wake: a staker comes or goes                          others  ──► validators: who validates at a height
 *
 * The operator's configuration is a JSON object: "network-profile" (the family of a network: "product", "upstream") and
 * "decimals" (of its native asset) say otherwise than the row of the network's number. Threading: confined to the
 * executor, but for what the interfaces say. [spec:architecture#5] [spec:pchain-xchain#5] */
#ifndef CD_CHAINS_PLATFORM_PLATFORM_VM_H
#define CD_CHAINS_PLATFORM_PLATFORM_VM_H

#include "chains/platform/blocks/chain.h"
#include "chains/platform/l1/gather.h"
#include "vm/vm.h"

/* cd_platform_vm_open is a cd_vm_factory: opens the chain in ctx->kv, or makes it of ctx->genesis. */
cd_err cd_platform_vm_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* cd_platform_vm_validators borrows what every other chain asks for validators. */
const cd_vm_validators *cd_platform_vm_validators(cd_vm *vm);

/* cd_platform_vm_chain borrows the chain, for who reads or issues on the executor. */
cd_pchain *cd_platform_vm_chain(cd_vm *vm);

/* cd_platform_vm_issue is cd_pchain_issue, and tells the engine that there is something to build. */
cd_err cd_platform_vm_issue(cd_vm *vm, cd_hash32 *id, cd_bytes tx, cd_errinfo *why) CD_CHECK;

/* A chain that a transaction made; borrowed for the call. */
typedef struct cd_platform_chain {
    cd_hash32 id;
    cd_hash32 net_id;
    cd_hash32 vm_id;
    cd_bytes name;
    cd_bytes genesis;
} cd_platform_chain;

/* How many chains of one net are given at most: the newest. */
enum { CD_PLATFORM_CHAINS_MAX = 64 };

/* cd_platform_vm_chains calls found for chains of a net, as the last accepted block has them. On the executor. Errors:
 * those of the store; CD_ECORRUPT. */
cd_err cd_platform_vm_chains(cd_vm *vm, const cd_hash32 *net, void (*found)(void *ctx, const cd_platform_chain *c),
                             void *ctx) CD_CHECK;

/* cd_platform_vm_l1 gathers what the last accepted block and this node's peers tell of an L1, in a (l1/gather.h). On
 * the executor. Errors: CD_ENOENT when the net is none, those of the store. */
cd_err cd_platform_vm_l1(cd_vm *vm, cd_l1_facts *f, cd_arena *a, const cd_hash32 *net) CD_CHECK;

#endif
