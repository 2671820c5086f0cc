#include "chains/evmchain/gossip.h"

/* --- transactions of accounts --- */

static bool txs_get(void *ctx, cd_bytes *item, const cd_hash32 *id)
{
    const cd_pool_tx *t = cd_txpool_get(((cd_evm_gossip *)ctx)->pool, id);
    if (t != NULL) {
        *item = t->tx.raw;
    }
    return t != NULL;
}

typedef struct walk {
    bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item);
    void *arg;
} walk;

static bool on_tx(void *ctx, const cd_pool_tx *t)
{
    const walk *w = ctx;
    return w->visit(w->arg, &t->tx.hash, t->tx.raw);
}

static void txs_each(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    cd_txpool_each_pending(((cd_evm_gossip *)ctx)->pool, on_tx, &(walk){.visit = visit, .arg = arg});
}

static usize txs_cnt(void *ctx)
{
    return cd_txpool_pending_cnt(((cd_evm_gossip *)ctx)->pool);
}

/* What is taken becomes pending, now or later, and is told then (cd_evm_gossip_pending). */
static void txs_add(void *ctx, const cd_node_id *from, cd_bytes item)
{
    cd_evm_gossip *x = ctx;
    cd_hash32 hash;
    (void)from;
    if (x->is_on && cd_txpool_add_remote(x->pool, &hash, item, NULL) == CD_OK) {
        x->host->notify(x->host, CD_VM_WANTS_BLOCK);
    }
}

void cd_evm_gossip_pending(cd_evm_gossip *x, const cd_pool_tx *t)
{
    cd_gossip_known(x->of_txs, &t->tx.hash);
    if (t->is_local && !t->is_impersonated) {
        cd_gossip_push_out(x->of_txs, &t->tx.hash);
    }
}

/* --- atomic ones --- */

static bool atomic_get(void *ctx, cd_bytes *item, const cd_hash32 *id)
{
    const cd_atomic_tx *t = cd_atomic_pool_find(cd_atomic_pool_of(((cd_evm_gossip *)ctx)->atomic), id);
    if (t != NULL) {
        *item = t->bytes;
    }
    return t != NULL;
}

static void atomic_each(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    const cd_atomic_pool *p = cd_atomic_pool_of(((cd_evm_gossip *)ctx)->atomic);
    bool goes_on = true;
    for (usize i = 0; i < cd_atomic_pool_cnt(p) && goes_on; i++) {
        const cd_atomic_tx *t = cd_atomic_pool_at(p, i);
        goes_on = visit(arg, &t->id, t->bytes);
    }
}

static usize atomic_cnt(void *ctx)
{
    return cd_atomic_pool_cnt(cd_atomic_pool_of(((cd_evm_gossip *)ctx)->atomic));
}

/* One that was dropped is not looked at again for a peer. */
static void atomic_add(void *ctx, const cd_node_id *from, cd_bytes item)
{
    cd_evm_gossip *x = ctx;
    cd_arena a = {0};
    cd_atomic_tx t;
    (void)from;
    bool is_new = x->is_on && cd_atomic_parse(&t, &a, item, NULL) == CD_OK &&
                  !cd_atomic_pool_was_dropped(cd_atomic_pool_of(x->atomic), &t.id);
    if (is_new) {
        (void)!cd_atomic_issue(x->atomic, &t, false, NULL);
    }
    cd_arena_fini(&a);
}

void cd_evm_gossip_atomic(cd_evm_gossip *x, const cd_hash32 *id, bool is_own)
{
    cd_gossip_known(x->of_atomic, id);
    if (is_own) {
        cd_gossip_push_out(x->of_atomic, id);
    }
}

/* --- life --- */

void cd_evm_gossip_open(cd_evm_gossip *x, cd_gossip *g, cd_txpool *pool, cd_atomic *atomic, cd_vm_host *host)
{
    *x = (cd_evm_gossip){.pool = pool, .atomic = atomic, .host = host};
    x->txs = (cd_gossip_set){.ctx = x, .get = txs_get, .each = txs_each, .cnt = txs_cnt, .add = txs_add};
    x->of_txs = cd_gossip_add(g, CD_P2P_HANDLER_TX, "evm_sdk_eth_tx", &x->txs, &cd_gossip_c);
    if (atomic != NULL) {
        x->atomic_txs =
            (cd_gossip_set){.ctx = x, .get = atomic_get, .each = atomic_each, .cnt = atomic_cnt, .add = atomic_add};
        x->of_atomic = cd_gossip_add(g, CD_P2P_HANDLER_ATOMIC_TX, "evm_sdk_atomic_tx", &x->atomic_txs, &cd_gossip_c);
    }
}
