/* A block on the head from what waits in the pool: dearest first, until the gas or the bytes are used up.
 * [spec:evm-chain#6] */
#include "chains/evmchain/core/chain_priv.h"

enum { TXS_SIZE_MAX = 1800 * 1024, TX_GAS_MIN = 21000 };

/* A block in the making. */
typedef struct build {
    cd_chain *c;
    cd_chain_block *b;
    const cd_build_cfg *cfg;
    cd_block_run run;
    /* Transactions chosen so far; they point into the pool until the block is encoded. */
    cd_tx *txs;
    usize cnt;
    usize cap;
    usize size;
    cd_dev_sender *senders;
    usize sender_cnt;
    usize sender_cap;
    usize passed_over; /* that did not fit or could not be executed */
    cd_tx_invalid last_invalid;
    u64 capacity; /* gas, of transactions and extra data */
    u64 ext_gas;
} build;

/* Grows an array in the arena. */
#define GROW(a, type, items, cnt, cap)                                                                                 \
    do {                                                                                                               \
        if ((cnt) == (cap)) {                                                                                          \
            usize more = (cap) == 0 ? 64 : (cap)*2;                                                                    \
            type *moved = cd_arena_array((a), type, more);                                                             \
            if ((cnt) != 0) {                                                                                          \
                memcpy(moved, (items), (cnt) * sizeof *moved);                                                         \
            }                                                                                                          \
            (items) = moved;                                                                                           \
            (cap) = more;                                                                                              \
        }                                                                                                              \
    } while (0)

static void choose(build *x, const cd_pool_tx *t)
{
    cd_arena *a = &x->b->arena;
    if (t->is_impersonated) {
        GROW(a, cd_dev_sender, x->senders, x->sender_cnt, x->sender_cap);
        x->senders[x->sender_cnt++] = (cd_dev_sender){.idx = x->cnt, .addr = t->tx.sender};
    }
    GROW(a, cd_tx, x->txs, x->cnt, x->cap);
    x->txs[x->cnt++] = t->tx;
    x->size += t->tx.raw.n;
}

/* Checks the predicates of t; *before is what to go back to when t is not included after all. False: who validates
 * cannot be told now. */
static bool check_predicates(build *x, cd_predicate_results *before, const cd_tx *tx)
{
    cd_arena *a = &x->b->arena;
    const cd_schedule *s = x->c->rules.schedule;
    cd_predicate_results *r = &x->run.predicates;
    *before = *r;
    if (!cd_predicates_has(s, x->run.env.time, tx)) {
        return true;
    }
    cd_predicate_tx *own = cd_arena_array(a, cd_predicate_tx, r->cnt);
    if (r->cnt != 0) {
        memcpy(own, r->txs, r->cnt * sizeof *own);
    }
    *r = (cd_predicate_results){.txs = own, .cnt = r->cnt, .cap = r->cnt};
    const cd_predicates_ctx ctx = {
        .schedule = s,
        .time = x->run.env.time,
        .host = x->c->cfg.warp,
        .height = x->cfg->pchain_height,
        .pool = x->c->cfg.pool,
    };
    return cd_predicates_check(r, a, &ctx, tx, 1, NULL) == CD_OK;
}

static bool try_one(build *x, const cd_pool_tx *t)
{
    cd_predicate_results before;
    if (t->tx.gas_limit > x->run.exec.gas_left || x->size + t->tx.raw.n > TXS_SIZE_MAX) {
        x->last_invalid = CD_TX_GAS_LIMIT_REACHED;
        return false;
    }
    if (!check_predicates(x, &before, &t->tx)) {
        x->run.predicates = before;
        x->last_invalid = CD_TX_GAS_LIMIT_REACHED; /* as one that does not fit: another block may take it */
        return false;
    }
    cd__chain_watch_tx(x->c, x->cnt);
    cd_tx_invalid bad =
        t->is_impersonated ? cd_block_exec_tx_as(&x->run.exec, &t->tx) : cd_block_exec_tx(&x->run.exec, &t->tx);
    if (bad != CD_TX_VALID) {
        x->run.predicates = before;
        x->last_invalid = bad;
        return false;
    }
    choose(x, t);
    return true;
}

static void fill(build *x, cd_txpool *pool)
{
    cd_txpool_pick *pick = cd_txpool_pick_new(pool, &x->b->block.header.base_fee);
    const cd_pool_tx *t;
    while (x->run.exec.gas_left >= TX_GAS_MIN && (t = cd_txpool_pick_next(pick)) != NULL) {
        if (!try_one(x, t)) {
            /* A block below this one that is not accepted yet has it, and perhaps not the sender's next. */
            bool is_taken = x->b->parent != NULL && x->last_invalid == CD_TX_NONCE_TOO_LOW;
            if (!is_taken) {
                x->passed_over++;
                cd_txpool_pick_skip_sender(pick);
            }
        }
    }
    cd_txpool_pick_free(pick);
}

static void put_predicates(build *x)
{
    const cd_chain_rules *r = &x->c->rules;
    cd_header *h = &x->b->block.header;
    cd_buf extra = {0};
    if (!r->config.durango.is_set || h->time < r->config.durango.at) {
        return;
    }
    cd_buf_put(&extra, h->extra);
    cd_predicate_results_enc(&extra, &x->run.predicates);
    h->extra = cd_arena_dup(&x->b->arena, cd_buf_bytes(&extra));
    cd_buf_fini(&extra);
}

/* Lets extra data be chosen, within the gas that is left. */
static cd_err fill_ext(build *x)
{
    const cd_chain_ext *ext = x->c->cfg.ext;
    cd_chain_block *b = x->b;
    u64 used = x->run.exec.gas_used;
    u64 left = x->capacity > used ? x->capacity - used : 0;
    cd_u256 paid = cd_u256_zero();
    if (ext == NULL || x->cfg->no_pool) {
        return CD_OK;
    }
    CD_TRY(ext->fill(ext->ctx, b, x->c->st, cd_min_u64(left, CD_CHAIN_EXT_GAS_MAX), &x->ext_gas, &paid));
    cd__chain_add_paid(&x->run.exec.tips, &paid);
    return CD_OK;
}

/* Completes header and bytes after the last transaction. */
static cd_err seal(build *x, const cd_parent_l1 *p, cd_errinfo *why)
{
    cd_chain_block *b = x->b;
    cd_header *h = &b->block.header;
    cd_block_exec *exec = &x->run.exec;
    cd_hash32 receipt_root;
    CD_TRY(cd_block_exec_end(exec, &receipt_root));
    h->gas_used = exec->gas_used;
    h->receipt_root = receipt_root;
    h->bloom = exec->bloom;
    b->receipts = exec->receipts;
    cd_header_ext_l1(&x->c->rules, h, b->block.ext_data, x->ext_gas);
    b->block.has_ext_data = (h->has & CD_HEADER_EXT_DATA_HASH) != 0;
    CD_TRY(cd_header_front_l1(p, h, &b->arena));
    cd_errinfo fee = {0};
    if (cd_header_fee_l1(h, &exec->tips, &fee) != CD_OK) {
        return cd_fail(why, CD_EAGAIN, "%s", fee.msg); /* the cost falls with time, and tips may come */
    }
    CD_TRY(cd_world_apply(x->c->world, &b->view, &h->state_root, b->parent == NULL ? NULL : b->parent->view, x->c->st,
                          why));
    put_predicates(x);
    cd_block_tx_root(&h->tx_root, x->txs, x->cnt);
    b->block.txs = x->txs;
    b->block.tx_cnt = x->cnt;
    b->dev.senders = x->senders;
    b->dev.sender_cnt = x->sender_cnt;

    cd_buf rlp = {0};
    cd_block_enc(&rlp, x->c->rules.layout, &b->block);
    b->rlp = cd_arena_dup(&b->arena, cd_buf_bytes(&rlp));
    cd_buf_fini(&rlp);
    /* Read back, so that nothing points into the pool any more; senders are known. */
    CD_TRY(cd_block_dec(&b->block, &b->arena, x->c->rules.layout, b->rlp, why));
    for (usize i = 0; i < x->cnt; i++) {
        b->block.txs[i].sender = x->txs[i].sender;
        b->block.txs[i].has_sender = true;
    }
    return CD_OK;
}

static cd_err run_build(build *x, cd_txpool *pool, cd_errinfo *why)
{
    cd_chain *c = x->c;
    cd_chain_source src;
    cd_header *h = &x->b->block.header;
    cd_chain_block *on = x->cfg->parent;
    const cd_block *parent = on == NULL ? cd_chain_head(c) : &on->block;
    cd_parent_l1 p = {.rules = &c->rules, .header = &parent->header};
    cd_header_wish wish = x->cfg->wish;
    CD_ASSERT(on == NULL || on->view != NULL);
    x->b->parent = on;
    cd_chain_source_init(&src, c, on);
    cd_err e = cd_child_rules_read(&p.child, &c->rules, &src.world.src, parent->header.time);
    if (e == CD_OK && wish.coinbase == NULL && p.child.coinbase.is_free) {
        wish.coinbase = c->cfg.fee_recipient;
    }
    if (e == CD_OK) {
        e = cd_header_make_l1(&p, h, &x->b->dev.chosen, &x->b->arena, &wish, why);
    }
    if (e == CD_OK) {
        h->parent_hash = parent->hash;
        cd_state_reset(c->st, &src.world.src);
        e = cd_block_run_begin(&x->run, &c->rules, c->evm, c->st, &x->b->arena, h, parent->header.time,
                               &(cd_predicate_results){0});
    }
    if (e == CD_OK) {
        e = cd_header_capacity_l1(&x->capacity, &p, h);
        x->run.exec.gas_left = cd_min_u64(x->run.exec.gas_left, x->capacity);
    }
    if (e == CD_OK) {
        cd__chain_watch(c, x->cfg->tracer);
        if (pool != NULL && !x->cfg->no_pool) {
            fill(x, pool);
        }
        cd__chain_unwatch(c, x->b);
        e = fill_ext(x);
        if (e == CD_OK && (x->cnt != 0 || x->b->block.ext_data.n != 0 || x->cfg->may_be_empty)) {
            e = seal(x, &p, why);
        } else if (e != CD_OK) {
            cd_block_exec_abort(&x->run.exec);
        } else {
            cd_block_exec_abort(&x->run.exec);
            e = cd_fail(why, CD_ENOENT, "block contains no transactions");
        }
    }
    cd_world_source_fini(&src.world);
    return e;
}

cd_err cd_chain_build_as(cd_chain *c, cd_chain_block **out, cd_txpool *pool, const cd_build_cfg *cfg, cd_errinfo *why)
{
    if (cd_chain_rules_is_eth(&c->rules)) {
        return cd_fail(why, CD_EUNSUPPORTED, "chains of Ethereum's layout do not build blocks");
    }
    build x = {.c = c, .b = cd__chain_block_new(c), .cfg = cfg};
    cd_err e = run_build(&x, pool, why);
    if (e != CD_OK) {
        cd_chain_drop(c, x.b);
        return e;
    }
    *out = x.b;
    return CD_OK;
}

cd_err cd_chain_build(cd_chain *c, cd_chain_block **out, cd_txpool *pool, u64 time, cd_errinfo *why)
{
    return cd_chain_build_as(c, out, pool, &(cd_build_cfg){.wish.time = time}, why);
}

cd_err cd_chain_why_no_block(cd_chain *c, cd_buf *words, cd_txpool *pool, u64 time)
{
    cd_errinfo why = {0};
    cd_build_cfg cfg = {.wish.time = time};
    build x = {.c = c, .b = cd__chain_block_new(c), .cfg = &cfg};
    cd_err e = run_build(&x, pool, &why);
    usize all = cd_txpool_cnt(pool);
    usize pending = cd_txpool_pending_cnt(pool);
    if (e == CD_OK) {
        cd_buf_fmt(words, "nothing is in the way: a block built now would take %zu transactions", x.cnt);
    } else if (e == CD_ENOENT && all == 0) {
        cd_buf_str(words, "no transactions are waiting");
    } else if (e == CD_ENOENT && pending == 0) {
        cd_buf_fmt(words,
                   "none of the %zu waiting transactions is executable: each has an earlier nonce "
                   "missing or cannot be paid",
                   all);
    } else if (e == CD_ENOENT && x.passed_over == 0) {
        cd_buf_fmt(words,
                   "the max fee per gas of every one of the %zu executable transactions is below "
                   "the base fee of the next block",
                   pending);
    } else if (e == CD_ENOENT) {
        cd_buf_fmt(words, "none of the %zu executable transactions can be included: %s", pending,
                   cd_tx_invalid_str(x.last_invalid));
    } else {
        cd_buf_fmt(words, "the %zu transactions chosen do not make a valid block: %s", x.cnt,
                   why.msg[0] != '\0' ? why.msg : cd_err_str(e));
    }
    cd_chain_drop(c, x.b);
    return e == CD_OK || e == CD_ENOENT || e == CD_EINVAL ? CD_OK : e;
}
