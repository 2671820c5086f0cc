/* chains/platform/state/nets.h - nets (subnets): who owns them, what became of them, which chains they validate.
 *
 * The ID of a net is that of the transaction that created it; the primary network (zero ID) is none of them but has
 * chains. Errors and threading as state.h. [spec:pchain-xchain#4] */
#ifndef CD_PLATFORM_NETS_H
#define CD_PLATFORM_NETS_H

#include "chains/platform/state/state.h"
#include "types/ptx.h"

/* cd_pstate_net_put adds a net with its owners. Errors: CD_EEXIST. _owner_set gives it to others. */
cd_err cd_pstate_net_put(const cd_pstate *s, const cd_hash32 *net, const cd_owners *owners) CD_CHECK;
cd_err cd_pstate_net_owner_set(const cd_pstate *s, const cd_hash32 *net, const cd_owners *owners) CD_CHECK;

/* cd_pstate_net_owner_get gives the owners; what they hold lies in a. Errors: CD_ENOENT (no such net). */
cd_err cd_pstate_net_owner_get(const cd_pstate *s, cd_owners *out, cd_arena *a, const cd_hash32 *net) CD_CHECK;

/* A net that is an L1. */
typedef struct cd_p_conversion {
    cd_hash32 id;       /* of the conversion */
    cd_hash32 chain_id; /* where its manager lives */
    cd_bytes address;   /* of the manager there */
} cd_p_conversion;

/* cd_pstate_conversion_set makes a net an L1; _get gives how (address lies in a). Errors of _get: CD_ENOENT. */
cd_err cd_pstate_conversion_set(const cd_pstate *s, const cd_hash32 *net, const cd_p_conversion *c) CD_CHECK;
cd_err cd_pstate_conversion_get(const cd_pstate *s, cd_p_conversion *out, cd_arena *a, const cd_hash32 *net) CD_CHECK;

/* A chain; its genesis stands in its transaction, whose ID is id. */
typedef struct cd_p_chain {
    cd_hash32 id;
    cd_hash32 net_id;
    cd_hash32 vm_id;
    char name[129];
} cd_p_chain;

/* cd_pstate_chain_put adds a chain. Errors: CD_EEXIST; CD_ELIMIT for a name of more than 128 bytes. */
cd_err cd_pstate_chain_put(const cd_pstate *s, const cd_p_chain *c) CD_CHECK;
/* cd_pstate_chain_get finds one. Errors: CD_ENOENT. */
cd_err cd_pstate_chain_get(const cd_pstate *s, cd_p_chain *out, const cd_hash32 *id) CD_CHECK;

/* cd_pstate_nets gives at most max nets, cd_pstate_chains at most max chains of a net, the newest first, in a. more
 * tells whether there are others. */
cd_err cd_pstate_nets(const cd_pstate *s, cd_hash32 **out, usize *cnt, bool *more, cd_arena *a, usize max) CD_CHECK;
cd_err cd_pstate_chains(const cd_pstate *s, cd_p_chain **out, usize *cnt, bool *more, cd_arena *a, const cd_hash32 *net,
                        usize max) CD_CHECK;

#endif
