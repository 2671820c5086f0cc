#include "chains/platform/gossip.h"

static bool set_get(void *ctx, cd_bytes *item, const cd_hash32 *id)
{
    const cd_p_pooled *one = cd_p_pool_find(cd_pchain_pool(((cd_platform_gossip *)ctx)->chain), id);
    if (one != NULL) {
        *item = one->tx.bytes;
    }
    return one != NULL;
}

static void set_each(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    const cd_p_pooled *at = cd_p_pool_first(cd_pchain_pool(((cd_platform_gossip *)ctx)->chain));
    while (at != NULL && visit(arg, &at->tx.id, at->tx.bytes)) {
        at = at->next;
    }
}

static usize set_cnt(void *ctx)
{
    return cd_p_pool_cnt(cd_pchain_pool(((cd_platform_gossip *)ctx)->chain));
}

static void tell(cd_platform_gossip *p, const cd_hash32 *id)
{
    cd_gossip_known(p->topic, id);
    if (p->host != NULL) {
        p->host->notify(p->host, CD_VM_WANTS_BLOCK);
    }
}

static void set_add(void *ctx, const cd_node_id *from, cd_bytes item)
{
    cd_platform_gossip *p = ctx;
    cd_hash32 id;
    (void)from;
    if (cd_pchain_hear(p->chain, &id, item, NULL) == CD_OK) {
        tell(p, &id);
    }
}

void cd_platform_gossip_open(cd_platform_gossip *p, cd_gossip *g, cd_pchain *chain, cd_vm_host *host)
{
    *p = (cd_platform_gossip){.chain = chain, .host = host};
    p->set = (cd_gossip_set){.ctx = p, .get = set_get, .each = set_each, .cnt = set_cnt, .add = set_add};
    p->topic = cd_gossip_add(g, CD_P2P_HANDLER_TX, "platformvm_tx", &p->set, &cd_gossip_px);
}

void cd_platform_gossip_own(cd_platform_gossip *p, const cd_hash32 *id)
{
    tell(p, id);
    cd_gossip_push_out(p->topic, id);
}
