/* chains/evmchain/rpc/seat.h - what methods ask of the engine's seat: blocks, and changes of the chain that are no
 * blocks.
 *
 *   plan ──► cd_api_produce ──► engine ── build ──► the VM, by the plan ── verify, accept ──► made(block)
 *   job  ──► cd_api_change  ──► engine lets go of its blocks ──► job ──► engine begins anew
 *
 * Threading: the executor. [spec:dev-rpc#1] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_SEAT_H
#define CD_CHAINS_EVMCHAIN_RPC_SEAT_H

#include "chains/evmchain/rpc/api.h"

/* What one block is to be. */
struct cd_api_plan {
    cd_build_cfg cfg;      /* of a block from the pool, or of the first of a run */
    cd_chain_block *ready; /* a block that was read already, taken over; NULL: none */
    u64 run;               /* 2 or more: so many empty blocks at once, interval seconds apart */
    u64 interval;
    /* made is told of the block when it is accepted, before pool and readers follow the head. NULL allowed. */
    void (*made)(void *ctx, const cd_chain_block *b);
    void *ctx;
};

/* cd_api_produce has the engine make one block by plan. Errors: those of cd_vm_host.produce; CD_EUNSUPPORTED also for a
 * run whose rules change on the way. */
cd_err cd_api_produce(cd_api *api, cd_api_plan *plan, cd_errinfo *why) CD_CHECK;

/* cd_api_change lets job(arg) change what is accepted, otherwise than by one block. Errors: those of
 * cd_vm_host.rewind; CD_EUNSUPPORTED where others follow this one, whom job knows nothing of. */
cd_err cd_api_change(cd_api *api, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why) CD_CHECK;

/* cd_api_edit is cd_chain_edit, cd_api_truncate cd_chain_truncate, by way of the engine; on the chains of followers,
 * too: change is called for each. */
cd_err cd_api_edit(cd_api *api, cd_chain_change *change, void *ctx, cd_errinfo *why) CD_CHECK;
cd_err cd_api_truncate(cd_api *api, u64 version, cd_errinfo *why) CD_CHECK;

#endif
