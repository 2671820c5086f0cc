/* From bytes to an accepted block: decode, recover senders, check the header, execute, compare, write. */
#include "chains/evmchain/chain_priv.h"
#include "chains/evmchain/header_check.h"

/* --- senders ------------------------------------------------------------------------------------ */

typedef struct recovery {
    cd_tx *txs;
    usize cnt;
    usize per_task;
    cd_err *errs; /* one a task */
} recovery;

static void recover_some(void *arg, usize task, u32 slot)
{
    (void)slot;
    recovery *r = arg;
    usize start = task * r->per_task;
    r->errs[task] =
        cd_tx_recover_many(r->txs + start, cd_min_u64(r->per_task, r->cnt - start), true);
}

cd_err cd_chain_recover(cd_pool *pool, cd_tx *txs, usize cnt, cd_errinfo *why)
{
    enum { TASKS = 64, PER_TASK_MIN = 32 };
    cd_err errs[TASKS] = {CD_OK};
    recovery r = {
        .txs = txs,
        .cnt = cnt,
        .per_task = cd_max_u64(PER_TASK_MIN, (cnt + TASKS - 1) / TASKS),
        .errs = errs,
    };
    if (cnt == 0) {
        return CD_OK;
    }
    cd_pool_for(pool, (cnt + r.per_task - 1) / r.per_task, recover_some, &r);
    for (usize i = 0; i < TASKS; i++) {
        if (errs[i] != CD_OK) {
            return cd_fail(why, errs[i], "invalid transaction signature");
        }
    }
    return CD_OK;
}

/* --- parsing ------------------------------------------------------------------------------------ */

cd_err cd__chain_decode(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why)
{
    cd_chain_block *b = cd__chain_block_new(c);
    b->rlp = cd_arena_dup(&b->arena, rlp);
    cd_err e = cd_block_dec(&b->block, &b->arena, c->rules.layout, b->rlp, why);
    if (e != CD_OK) {
        cd__chain_block_free(c, b);
        return e;
    }
    *out = b;
    return CD_OK;
}

cd_err cd_chain_parse(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why)
{
    cd_chain_block *b;
    CD_TRY(cd__chain_decode(c, &b, rlp, why));
    cd_err e = cd_chain_recover(c->cfg.pool, b->block.txs, b->block.tx_cnt, why);
    if (e != CD_OK) {
        cd__chain_block_free(c, b);
        return e;
    }
    *out = b;
    return CD_OK;
}

/* --- verification ------------------------------------------------------------------------------- */

static cd_err check_header(const cd_chain *c, const cd_block *b, const cd_header *parent, u64 now,
                           cd_errinfo *why)
{
    if (c->rules.layout == CD_HEADER_L1) {
        return cd__header_check_l1(c, b, parent, now, why);
    }
    cd_eth_ctx ctx = {
        .chain_id = c->rules.chain_id,
        .fork = cd_chain_rules_fork(&c->rules, b->header.number, b->header.time),
        .parent_fork = cd_chain_rules_fork(&c->rules, parent->number, parent->time),
        .blob = &CD_BLOB_CANCUN,
        .parent = parent,
    };
    CD_TRY(cd_eth_header_check(&b->header, &ctx, why));
    return cd_eth_body_check(b, &ctx, why);
}

static cd_err compare(const cd_block_exec *x, const cd_header *h, const cd_hash32 *receipt_root,
                      const cd_hash32 *state_root, cd_errinfo *why)
{
    if (x->gas_used != h->gas_used) {
        return cd_fail(why, CD_EINVAL, "invalid gas used (remote: %llu local: %llu)",
                       (unsigned long long)h->gas_used, (unsigned long long)x->gas_used);
    }
    if (!cd_bloom_eq(&x->bloom, &h->bloom)) {
        return cd_fail(why, CD_EINVAL, "invalid bloom");
    }
    if (!cd_hash32_eq(receipt_root, &h->receipt_root)) {
        return cd_fail(why, CD_EINVAL, "invalid receipt root hash");
    }
    if ((h->has & CD_HEADER_BLOB_GAS_USED) != 0 && x->blob_gas_used != h->blob_gas_used) {
        return cd_fail(why, CD_EINVAL, "blob gas used mismatch (header %llu, calculated %llu)",
                       (unsigned long long)h->blob_gas_used, (unsigned long long)x->blob_gas_used);
    }
    if (!cd_hash32_eq(state_root, &h->state_root)) {
        return cd_fail(why, CD_EINVAL, "invalid merkle root");
    }
    return CD_OK;
}

cd_err cd_chain_verify(cd_chain *c, cd_chain_block *b, u64 now, cd_errinfo *why)
{
    const cd_header *parent;
    const cd_header *h = &b->block.header;
    if (b->view != NULL) {
        return CD_OK;
    }
    if (cd__chain_parent(c, &parent, &b->parent, &h->parent_hash) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "unknown ancestor");
    }
    CD_TRY(check_header(c, &b->block, parent, now, why));

    cd_block_env env;
    cd_chain_source src;
    cd_block_exec x;
    cd_hash32 receipt_root;
    cd_hash32 state_root;
    cd_chain_env(c, &env, h);
    cd_chain_source_init(&src, c, b->parent);
    cd_state_reset(c->st, &src.world.src);
    cd_block_exec_begin(
        &x, c->evm, c->st, &b->arena,
        &(cd_block_exec_cfg){
            .fork = cd_chain_rules_fork(&c->rules, h->number, h->time),
            .profile = c->rules.profile,
            .env = &env,
            .beacon_root = (h->has & CD_HEADER_BEACON_ROOT) != 0 ? &h->parent_beacon_root : NULL,
        });
    cd_err e = CD_OK;
    for (usize i = 0; i < b->block.tx_cnt && e == CD_OK; i++) {
        cd_tx_invalid bad = cd_block_exec_tx(&x, &b->block.txs[i]);
        if (bad != CD_TX_VALID) {
            e = cd_fail(why, CD_EINVAL, "could not apply tx %zu: %s", i, cd_tx_invalid_str(bad));
        }
    }
    if (e != CD_OK) {
        cd_block_exec_abort(&x);
        goto out;
    }
    cd_block_exec_withdrawals(&x, b->block.withdrawals, b->block.withdrawal_cnt);
    e = cd_block_exec_end(&x, &receipt_root);
    b->receipts = x.receipts;
    if (e == CD_OK && c->rules.layout == CD_HEADER_L1) {
        e = cd__block_fee_check(h, &x.tips, why);
    }
    if (e == CD_OK) {
        e = cd_world_apply(c->world, &b->view, &state_root,
                           b->parent == NULL ? NULL : b->parent->view, c->st, why);
    }
    if (e == CD_OK) {
        e = compare(&x, h, &receipt_root, &state_root, why);
        if (e != CD_OK) {
            cd_world_drop(c->world, b->view);
            b->view = NULL;
        }
    }
out:
    cd_world_source_fini(&src.world);
    return e;
}

/* --- accepting and dropping --------------------------------------------------------------------- */

static bool stands_on(const cd_chain_block *b, const cd_chain_block *ancestor)
{
    for (; b != NULL; b = b->parent) {
        if (b == ancestor) {
            return true;
        }
    }
    return false;
}

cd_err cd_chain_accept(cd_chain *c, cd_chain_block *b, cd_errinfo *why)
{
    const cd_header *h = &b->block.header;
    cd_kv_batch extra = {0};
    CD_ASSERT(b->view != NULL && b->parent == NULL);
    cd_flat_head head = {.height = h->number, .block = b->block.hash, .root = h->state_root};
    if (!b->has_body_stored) {
        cd_chaindb_put_body(&extra, &b->block, b->rlp);
    }
    cd_chaindb_put_accepted(&extra, &b->block, b->receipts);
    cd_err e = cd_world_accept(c->world, b->view, &extra, &head, c->cfg.sync, why);
    cd_kv_batch_fini(&extra);
    CD_TRY(e);
    /* The views of b's siblings, and of all on them, are gone now. */
    for (cd_chain_block *o = c->blocks; o != NULL; o = o->next) {
        if (!stands_on(o, b) || o == b) {
            o->view = NULL;
        }
    }
    for (cd_chain_block *o = c->blocks; o != NULL; o = o->next) {
        if (o->parent == b || o->view == NULL) {
            o->parent = NULL;
        }
    }
    return cd__chain_set_head(c, b->rlp, why);
}

void cd_chain_drop(cd_chain *c, cd_chain_block *b)
{
    if (b->view != NULL) {
        cd_world_drop(c->world, b->view);
        for (cd_chain_block *o = c->blocks; o != NULL; o = o->next) {
            if (stands_on(o, b)) {
                o->view = NULL;
            }
        }
    }
    for (cd_chain_block *o = c->blocks; o != NULL; o = o->next) {
        if (o->parent == b) {
            o->parent = NULL;
        }
    }
    cd__chain_block_free(c, b);
}
