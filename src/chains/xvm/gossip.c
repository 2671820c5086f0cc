/* The pool and the pools of other nodes. */
#include "base/mem/mem.h"
#include "chains/xvm/xvm_priv.h"

static bool set_get(void *ctx, cd_bytes *item, const cd_hash32 *id)
{
    return cd_xvm_pool_get(((cd__xvm *)ctx)->pool, item, id);
}

static void set_each(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    const cd__xvm *x = ctx;
    const cd_hash32 *id = NULL;
    cd_bytes bytes;
    bool goes_on = true;
    while (goes_on && cd_xvm_pool_each(x->pool, &id, &bytes)) {
        goes_on = visit(arg, id, bytes);
    }
}

static usize set_cnt(void *ctx)
{
    return cd_xvm_pool_cnt(((cd__xvm *)ctx)->pool);
}

/* Refused ones leave no reason behind: those are for who asks this node about its own. */
static void set_add(void *ctx, const cd_node_id *from, cd_bytes item)
{
    cd__xvm *x = ctx;
    cd_hash32 id;
    bool is_new;
    (void)!cd__xvm_take(x, &id, &is_new, item, true, from, NULL);
}

void cd__xvm_gossip_open(cd__xvm *x)
{
    x->shared_pool = (cd_gossip_set){.ctx = x, .get = set_get, .each = set_each, .cnt = set_cnt, .add = set_add};
    x->base.gossip = cd_gossip_new(&x->ctx);
    x->topic = cd_gossip_add(x->base.gossip, CD_P2P_HANDLER_TX, "avm_tx", &x->shared_pool, &cd_gossip_px);
}
