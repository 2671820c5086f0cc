/* The services of the X-Chain: its methods, the wallet's, and the routes at which they are. */
#ifndef CD_CHAINS_XVM_SERVICE_PRIV_H
#define CD_CHAINS_XVM_SERVICE_PRIV_H

#include "chains/xvm/events.h"
#include "chains/xvm/xvm_priv.h"
#include "rpc/named.h"

#define X CD_RPC_NAMED_DECL
#include "chains/xvm/users.def"
#include "chains/xvm/wallet.def"
#undef X

/* Tables of methods, and where they are served. */
typedef struct cd__xvm_service {
    cd__xvm *x;
    cd_rpc_service chain;
    cd_rpc_service wallet;
    cd_xvm_events *events; /* NULL: there is no loop */
    cd_vm_handler handlers[3];
    usize handler_cnt;
} cd__xvm_service;

/* cd__xvm_service_vm gives the VM that a call is for. */
CD_INLINE cd__xvm *cd__xvm_service_vm(const cd_rpc_call *call)
{
    return ((const cd__xvm_service *)call->ctx)->x;
}

/* cd__xvm_asset_of finds an asset by its alias or its ID. Errors: the call's. */
cd_err cd__xvm_asset_of(cd_rpc_call *call, cd_kv *kv, cd_hash32 *out, cd_bytes text) CD_CHECK;

/* Made with the VM and ended with it. */
cd__xvm_service *cd__xvm_service_new(cd__xvm *x);
void cd__xvm_service_free(cd__xvm_service *s);

/* cd__xvm_service_accepted tells listeners of a block's transactions. */
void cd__xvm_service_accepted(cd__xvm_service *s, const cd__xvm_block *b);
const cd_vm_handler *cd__xvm_service_handlers(cd__xvm_service *s, usize *cnt);

#endif
