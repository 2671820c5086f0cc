/* The block that would be made now, executed: what "pending" means on a development network. [spec:dev-rpc#2.3] */
#include "base/mem.h"
#include "chains/evmchain/dev/dev.h"

struct cd__dev_pending {
    cd_chain *chain;
    cd_chain_block *block;
    cd_chain_source src; /* the state behind it */
    cd_accepted shown;
};

static cd_err make(cd_rpc_call *call, struct cd__dev_pending **out)
{
    cd_evm_vm *vm = cd__vm_of(call);
    cd_build_cfg cfg;
    cd_chain_block *b;
    cd_errinfo why = {0};
    cd__vm_next(vm, &cfg);
    cd_err e = cd_chain_build_as(vm->chain, &b, vm->pool, &cfg, &why);
    CD_TRY(cd__dev_done(call, e, &why));
    struct cd__dev_pending *p = cd_new(struct cd__dev_pending);
    p->chain = vm->chain;
    p->block = b;
    p->shown = (cd_accepted){.block = b->block, .rlp = b->rlp, .receipts = b->receipts};
    p->shown.block.hash = (cd_hash32){0}; /* it has none yet */
    cd_chain_source_init(&p->src, vm->chain, b);
    *out = p;
    return CD_OK;
}

cd_err cd__dev_pending(cd_rpc_call *call, const cd_accepted **out, const cd_block_ref *ref)
{
    cd__api_scope *scope = call->scope;
    *out = NULL;
    if (ref->tag != CD_TAG_PENDING || cd__dev_of(call) == NULL || call->lane != CD_RPC_OWNER) {
        return CD_OK;
    }
    if (scope->pending == NULL) {
        CD_TRY(make(call, &scope->pending));
    }
    *out = &scope->pending->shown;
    return CD_OK;
}

cd_state_source *cd__dev_pending_state(const cd_rpc_call *call)
{
    return &((cd__api_scope *)call->scope)->pending->src.world.src;
}

void cd__dev_pending_free(struct cd__dev_pending *p)
{
    if (p != NULL) {
        cd_world_source_fini(&p->src.world);
        cd_chain_drop(p->chain, p->block);
        cd_free(p);
    }
}
