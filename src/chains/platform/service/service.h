/* chains/platform/service/service.h - platform.*: what clients ask of the P-Chain.
 *
 * Rows of rpc/named.h over a frozen view of the accepted state, one for each request, so that the parts of an answer
 * belong together and nobody waits for the chain. What is not in the state (the pool, other chains, this node) comes
 * through the functions of the configuration. Names in answers are those of the network's family.
 *
 * No answer grows with history: lists have limits (service_priv.h), walks are over what exists now.
 * Threading: shared; issue is called on the owner's thread. Methods that act with keys of users
 * (vm/users.h) stretch a password on the reader's thread, and hand over what was signed. [spec:node-api#5] */
#ifndef CD_PLATFORM_SERVICE_H
#define CD_PLATFORM_SERVICE_H

#include "base/os/clock.h"
#include "chains/platform/fees/gas.h"
#include "chains/platform/fees/l1_fee.h"
#include "chains/platform/state/sets.h"
#include "chains/platform/state/uptime.h"
#include "rpc/jsonrpc.h"
#include "types/network.h"
#include "vm/shared.h"
#include "vm/users.h"

/* How far a chain is on this node. */
typedef enum cd_platform_runs {
    CD_PLATFORM_RUNS_NOT,
    CD_PLATFORM_SYNCS,     /* it runs, and this node does not validate its net */
    CD_PLATFORM_VALIDATES, /* both */
} cd_platform_runs;

/* What the service stands on; everything is borrowed and outlives it. */
typedef struct cd_platform_cfg {
    const cd_network *network;
    cd_hash32 asset_id; /* native */
    cd_kv *base;        /* accepted state; a view of it is frozen for each request */
    const cd_vm_validators *validators;
    cd_uptime *uptime;          /* of this node's peers; NULL: everybody is away */
    const cd_vm_shared *shared; /* NULL: no chain to share with */
    const cd_clock *clock;
    u64 seed;                /* where sampling begins */
    u64 min_validator_stake; /* of the primary network, base units */
    u64 min_delegator_stake;
    const cd_gas_config *gas;
    const cd_l1_fee_config *l1_fee;
    void *ctx; /* of what follows */
    /* chain_of finds the ID of an alias ("X"). Errors: CD_ENOENT. NULL: there are no aliases but P's own. */
    cd_err (*chain_of)(void *ctx, cd_hash32 *out, cd_bytes alias);
    /* runs tells how far a chain is here. NULL: none runs. */
    cd_platform_runs (*runs)(void *ctx, const cd_hash32 *chain);
    /* issue takes a transaction into the pool, on the owner's thread; that it is there already is no error. NULL:
     * nothing is taken. */
    cd_err (*issue)(void *ctx, cd_hash32 *id, cd_bytes tx, cd_errinfo *why);
    /* send does the same from another thread, and waits for the owner. NULL: nothing is taken. */
    cd_err (*send)(void *ctx, cd_hash32 *id, cd_bytes tx, cd_errinfo *why);
    const cd_vm_users *users; /* whose keys sign what a user wants; NULL: the node keeps none */
    /* pending tells what the pool, or a block that is not decided, knows of a transaction: PROCESSING, DROPPED with a
     * reason in a, or UNKNOWN. Any thread. NULL: nothing. */
    cd_p_status (*pending)(void *ctx, cd_bytes *reason, cd_arena *a, const cd_hash32 *tx_id);
} cd_platform_cfg;

typedef struct cd_platform_service cd_platform_service;

/* cd_platform_service_new makes the table of methods. */
cd_platform_service *cd_platform_service_new(const cd_platform_cfg *cfg) __attribute__((returns_nonnull));
void cd_platform_service_free(cd_platform_service *s); /* NULL is allowed */

/* cd_platform_service_rpc borrows what a route serves. */
const cd_rpc_service *cd_platform_service_rpc(const cd_platform_service *s);

#endif
