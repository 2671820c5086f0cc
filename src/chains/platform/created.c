#include "chains/platform/platform_vm.h"
#include "chains/platform/state/nets.h"
#include "types/ptx.h"

/* The genesis of a chain stands in its transaction alone. */
static cd_err read_chain(cd_platform_chain *out, const cd_pstate *s, cd_arena *a, const cd_p_chain *c)
{
    cd_bytes bytes;
    cd_p_tx tx;
    CD_TRY(cd_pstate_tx_get(s, &bytes, NULL, a, &c->id));
    if (cd_linear_parse(&tx, &cd_p_tx_table, a, bytes, 0, NULL) != CD_OK || tx.body.is->id != CD_P_CREATE_CHAIN) {
        return CD_ECORRUPT;
    }
    const cd_p_create_chain *made = tx.body.v;
    *out = (cd_platform_chain){
        .id = c->id, .net_id = c->net_id, .vm_id = c->vm_id, .name = made->name, .genesis = made->genesis};
    return CD_OK;
}

cd_err cd_platform_vm_chains(cd_vm *vm, const cd_hash32 *net, void (*found)(void *ctx, const cd_platform_chain *c),
                             void *ctx)
{
    cd_pstate s = cd_pchain_accepted(cd_platform_vm_chain(vm));
    cd_arena a = {0};
    cd_p_chain *all;
    usize cnt = 0;
    bool more;
    cd_err e = cd_pstate_chains(&s, &all, &cnt, &more, &a, net, CD_PLATFORM_CHAINS_MAX);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        cd_arena own = {0};
        cd_platform_chain c;
        e = read_chain(&c, &s, &own, &all[i]);
        if (e == CD_OK) {
            found(ctx, &c);
        }
        cd_arena_fini(&own);
    }
    cd_arena_fini(&a);
    return e;
}
