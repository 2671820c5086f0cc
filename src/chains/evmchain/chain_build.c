/* A block on the head from what waits in the pool: dearest first, until the gas or the bytes are used up.
 * [spec:evm-chain#6] */
#include "chains/evmchain/chain_priv.h"

enum { TXS_SIZE_MAX = 1800 * 1024, TX_GAS_MIN = 21000 };

/* Transactions chosen so far; they point into the pool until the block is encoded. */
typedef struct chosen {
    cd_tx *txs;
    usize cnt;
    usize cap;
    usize size;
} chosen;

static void choose(chosen *c, cd_arena *a, const cd_pool_tx *t)
{
    if (c->cnt == c->cap) {
        usize cap = c->cap == 0 ? 64 : c->cap * 2;
        cd_tx *txs = cd_arena_array(a, cd_tx, cap);
        if (c->cnt != 0) {
            memcpy(txs, c->txs, c->cnt * sizeof *txs);
        }
        c->txs = txs;
        c->cap = cap;
    }
    c->txs[c->cnt++] = t->tx;
    c->size += t->tx.raw.n;
}

static cd_err fill(cd_block_exec *x, chosen *c, cd_arena *a, cd_txpool *pool,
                   const cd_u256 *base_fee)
{
    cd_txpool_pick *pick = NULL;
    CD_TRY(cd_txpool_pick_new(&pick, pool, base_fee));
    const cd_pool_tx *t;
    while (x->gas_left >= TX_GAS_MIN && (t = cd_txpool_pick_next(pick)) != NULL) {
        bool fits = t->tx.gas_limit <= x->gas_left && c->size + t->tx.raw.n <= TXS_SIZE_MAX;
        if (fits && cd_block_exec_tx(x, &t->tx) == CD_TX_VALID) {
            choose(c, a, t);
        } else {
            cd_txpool_pick_skip_sender(pick);
        }
    }
    cd_txpool_pick_free(pick);
    return CD_OK;
}

cd_err cd_chain_build(cd_chain *c, cd_chain_block **out, cd_txpool *pool, u64 time, cd_errinfo *why)
{
    if (c->rules.layout != CD_HEADER_L1) {
        return cd_fail(why, CD_EUNSUPPORTED, "only chains of the L1 layout build blocks");
    }
    cd_block_env env;
    cd_chain_source src;
    cd_block_exec x;
    chosen txs = {0};
    cd_chain_block *b = cd__chain_block_new(c);
    cd_header *h = &b->block.header;
    cd_buf rlp = {0};

    cd_chain_source_init(&src, c, NULL);
    cd_err e = cd_chain_next_header(c, h, &b->arena, cd_max_u64(time, c->head.header.time));
    if (e != CD_OK) {
        goto out;
    }
    cd_chain_env(c, &env, h);
    cd_state_reset(c->st, &src.world.src);
    cd_block_exec_begin(&x, c->evm, c->st, &b->arena,
                        &(cd_block_exec_cfg){
                            .fork = cd_chain_rules_fork(&c->rules, h->number, h->time),
                            .profile = c->rules.profile,
                            .env = &env,
                        });
    e = fill(&x, &txs, &b->arena, pool, &h->base_fee);
    if (e != CD_OK || (txs.cnt == 0 && !c->cfg.allow_empty)) {
        cd_block_exec_abort(&x);
        e = e != CD_OK ? e : CD_ENOENT;
        goto out;
    }
    h->gas_used = x.gas_used;
    e = cd_block_exec_end(&x, &h->receipt_root);
    h->bloom = x.bloom;
    b->receipts = x.receipts;
    if (e == CD_OK) {
        e = cd__block_fee_check(h, &x.tips, why);
    }
    if (e == CD_OK) {
        e = cd_world_apply(c->world, &b->view, &h->state_root, NULL, c->st, why);
    }
    if (e != CD_OK) {
        goto out;
    }
    b->block.txs = txs.txs;
    b->block.tx_cnt = txs.cnt;
    cd_block_tx_root(&h->tx_root, txs.txs, txs.cnt);
    cd_block_enc(&rlp, c->rules.layout, &b->block);
    b->rlp = cd_arena_dup(&b->arena, cd_buf_bytes(&rlp));
    /* Read back, so that nothing points into the pool any more; senders are known. */
    e = cd_block_dec(&b->block, &b->arena, c->rules.layout, b->rlp, why);
    for (usize i = 0; e == CD_OK && i < txs.cnt; i++) {
        b->block.txs[i].sender = txs.txs[i].sender;
        b->block.txs[i].has_sender = true;
    }
out:
    cd_world_source_fini(&src.world);
    cd_buf_fini(&rlp);
    if (e != CD_OK) {
        cd_chain_drop(c, b);
        return e;
    }
    *out = b;
    return CD_OK;
}
