/* chains/evmchain/rpc/scope.h - what the calls of one request share: the view they read, what was made of it, and the
 * errors of reading.
 *
 * Threading: confined to the request. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_RPC_SCOPE_H
#define CD_CHAINS_EVMCHAIN_RPC_SCOPE_H

#include "chains/evmchain/core/view.h"
#include "chains/evmchain/core/world/proof.h"
#include "chains/evmchain/rpc/api.h"
#include "rpc/param.h"

/* What the calls of one request share. */
typedef struct cd__api_scope {
    cd_view *view;       /* the request's view; NULL until a call asks for it */
    cd_world_past *past; /* tries at height past_number; NULL until a call asks for them */
    u64 past_number;
    struct cd__pending *pending; /* likewise */
} cd__api_scope;

/* cd_api_view lends the view that all calls of the request read, taken when the first one asks. In every lane. */
CD_INLINE cd_view *cd_api_view(const cd_rpc_call *call)
{
    cd__api_scope *scope = call->scope;
    if (scope->view == NULL) {
        scope->view = cd_view_newest(cd_api_of(call)->chain);
    }
    return scope->view;
}

/* cd__api_renew lets the calls of the request that follow read a new view: this one changed something. */
void cd__api_renew(cd_rpc_call *call);

/* cd__pending_block gives the pending block of a development network, executed, when ref asks for it, else NULL; its
 * hash is zero. It is made by the owner, once a request, and read in any lane but FAST. cd__pending_state reads the
 * state behind it. Errors are the call's. */
cd_err cd__pending_block(cd_rpc_call *call, const cd_accepted **out, const cd_block_ref *ref) CD_CHECK;
cd_state_source *cd__pending_state(const cd_rpc_call *call);
void cd__pending_free(struct cd__pending *p); /* NULL is allowed */

/* cd__api_number resolves a reference to the height of an accepted block; *found false when there is none (yet); then
 * *out is untouched.
 * Fails the call beyond the head as eth-rpc.md says. */
cd_err cd__api_number(cd_rpc_call *call, u64 *out, bool *found, const cd_block_ref *ref) CD_CHECK;

/* cd__api_source reads the state that a block reference names, parameter idx; ended with cd_view_source_fini. In
 * lane TRY it reads from memory only; CD_EAGAIN, from it or from a read, is then the handler's. */
cd_err cd__api_source(cd_rpc_call *call, cd_view_source *out, cd_json v, usize idx) CD_CHECK;

/* cd__api_account reads an account in the state that a block reference names, parameter idx; an empty one where
 * there is none. In lane TRY as cd__api_source. */
cd_err cd__api_account(cd_rpc_call *call, cd_account *out, const cd_addr20 *addr, cd_json v, usize idx) CD_CHECK;

/* cd__needs_receipts fails the call when what the transactions of a block came to is not kept. */
cd_err cd__needs_receipts(cd_rpc_call *call, const cd_accepted *acc) CD_CHECK;

/* cd_api_store fails the call because of the store, or hands on the CD_EAGAIN of lane TRY. */
cd_err cd_api_store(cd_rpc_call *call, cd_err e);

/* cd__api_no_state does so because the state of a block could not be read: with go-ethereum's words when it is not
 * kept. */
cd_err cd__api_no_state(cd_rpc_call *call, cd_err e, u64 number);

/* cd__api_no_role gives what stands before the words of a refused role. */
const char *cd__api_no_role(const cd_rpc_call *call);

#endif
