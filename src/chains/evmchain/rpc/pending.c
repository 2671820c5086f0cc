/* The block that would be made now, executed: what "pending" means on a development network. [spec:dev-rpc#2.3] */
#include "base/mem/mem.h"
#include "chains/evmchain/core/world/frozen.h"
#include "chains/evmchain/rpc/api.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/sending/send.h"

struct cd__pending {
    cd_view *view;       /* the block stands on its head */
    cd_view_source base; /* reads the state of the head */
    cd_world_frozen *state;
    cd_arena arena; /* memory of the block */
    cd_accepted shown;
};

typedef struct errand {
    cd_rpc_call *call;
    struct cd__pending *out; /* NULL: it failed, as e and the call say */
    cd_err e;
} errand;

/* Takes over what readers need of b, which is dropped. */
static cd_err take(struct cd__pending *p, cd_api *api, cd_chain_block *b)
{
    p->view = cd_view_newest(api->chain);
    cd_err e = cd_view_source_init(&p->base, p->view, cd_view_head(p->view)->block.header.number);
    CD_ASSERT(e == CD_OK); /* the head's state is always kept */
    e = cd_chain_freeze(api->chain, &p->state, b, &p->base.world.src);
    p->arena = b->arena;
    b->arena = (cd_arena){0};
    p->shown = (cd_accepted){.block = b->block, .rlp = b->rlp, .receipts = b->receipts};
    p->shown.block.hash = (cd_hash32){0}; /* a block that is not sealed has no hash yet */
    cd_chain_drop(api->chain, b);
    return e;
}

/* On the owner's thread, which alone knows the pool: the block is made there, and nothing else. */
static void make(void *arg)
{
    errand *x = arg;
    cd_api *api = cd_api_of(x->call);
    cd_build_cfg cfg;
    cd_chain_block *b;
    cd_errinfo why = {0};
    cd_api_next(api, &cfg);
    x->e = cd_chain_build_as(api->chain, &b, api->pool, &cfg, &why);
    if (x->e != CD_OK) {
        x->e = cd_rpc_fail(x->call, CD_RPC_SERVER, "%s", why.msg[0] != '\0' ? why.msg : cd_err_str(x->e));
        return;
    }
    struct cd__pending *p = cd_new(struct cd__pending);
    x->e = take(p, api, b);
    if (x->e != CD_OK) {
        cd__pending_free(p);
        return;
    }
    x->out = p;
}

cd_err cd__pending_block(cd_rpc_call *call, const cd_accepted **out, const cd_block_ref *ref)
{
    cd__api_scope *scope = call->scope;
    *out = NULL;
    if (ref->tag != CD_TAG_PENDING || cd_api_of(call)->dev == NULL) {
        return CD_OK;
    }
    if (call->lane == CD_RPC_TRY) {
        return CD_EAGAIN; /* only the owner can make one: CD_EAGAIN */
    }
    if (scope->pending == NULL) {
        errand x = {.call = call};
        CD_TRY(cd__api_on_owner(call, make, &x));
        if (x.e != CD_OK) {
            return call->error_message != NULL ? CD_EINVAL : cd_api_store(call, x.e);
        }
        cd__api_renew(call); /* all that is read from now on stands on the same head */
        scope->pending = x.out;
        scope->view = cd_view_ref(x.out->view);
    }
    *out = &scope->pending->shown;
    return CD_OK;
}

cd_state_source *cd__pending_state(const cd_rpc_call *call)
{
    return cd_world_frozen_source(((cd__api_scope *)call->scope)->pending->state);
}

void cd__pending_free(struct cd__pending *p)
{
    if (p != NULL) {
        cd_world_frozen_free(p->state);
        cd_view_source_fini(&p->base);
        cd_view_unref(p->view);
        cd_arena_fini(&p->arena);
        cd_free(p);
    }
}
