/* From bytes to an accepted block: decode, recover senders, check the header, execute, compare, write. */
#include "base/hex.h"
#include "chains/evmchain/core/chain_priv.h"
#include "chains/evmchain/core/rules/fee_l1.h"
#include "chains/evmchain/core/rules/header_check.h"

/* --- senders --- */

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
    r->errs[task] = cd_tx_recover_many(r->txs + start, cd_min_u64(r->per_task, r->cnt - start), true);
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

/* --- parsing --- */

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

static cd_err check_ext_form(const cd_chain *c, const cd_block *b, cd_errinfo *why)
{
    const cd_chain_ext *x = c->cfg.ext;
    u64 gas;
    u64 claimed = cd_u256_to_u64_sat(&b->header.ext_data_gas_used);
    if (x == NULL) {
        return cd_fail(why, CD_EINVAL, "atomic data in a block of a chain without atomic transactions");
    }
    CD_TRY(x->form(x->ctx, &gas, b, why));
    if (gas != claimed) {
        return cd_fail(why, CD_EINVAL, "invalid extDataGasUsed: have %llu, want %llu", (unsigned long long)claimed,
                       (unsigned long long)gas);
    }
    return gas <= CD_CHAIN_EXT_GAS_MAX ? CD_OK
                                       : cd_fail(why, CD_EINVAL, "atomic gas used (%llu) exceeds atomic gas limit (%d)",
                                                 (unsigned long long)gas, CD_CHAIN_EXT_GAS_MAX);
}

cd_err cd__chain_check_form(const cd_chain *c, const cd_block *b, cd_errinfo *why)
{
    cd_errinfo inner = {0};
    if (cd_chain_rules_is_eth(&c->rules)) {
        return CD_OK;
    }
    cd_err e = cd_block_form_l1(&c->rules, b, &inner);
    if (e == CD_OK && b->ext_data.n != 0) {
        e = check_ext_form(c, b, &inner);
    }
    return e == CD_OK ? CD_OK : cd_fail(why, e, "syntactic block verification failed: %s", inner.msg);
}

cd_err cd_chain_parse_as(cd_chain *c, cd_chain_block **out, cd_bytes rlp, const cd_dev_record *dev, cd_errinfo *why)
{
    cd_chain_block *b;
    CD_TRY(cd__chain_decode(c, &b, rlp, why));
    b->dev = *dev;
    cd_bytes senders = cd_arena_dup(&b->arena, cd_bytes_of(dev->senders, dev->sender_cnt * sizeof *dev->senders));
    b->dev.senders = (const cd_dev_sender *)(const void *)senders.p;
    cd_dev_record_senders(&b->dev, &b->block);
    cd_err e = cd__chain_check_form(c, &b->block, why);
    if (e == CD_OK) {
        e = cd_chain_recover(c->cfg.pool, b->block.txs, b->block.tx_cnt, why);
    }
    if (e != CD_OK) {
        cd__chain_block_free(c, b);
        return e;
    }
    *out = b;
    return CD_OK;
}

cd_err cd_chain_parse(cd_chain *c, cd_chain_block **out, cd_bytes rlp, cd_errinfo *why)
{
    return cd_chain_parse_as(c, out, rlp, &(cd_dev_record){0}, why);
}

cd_err cd_chain_stored(cd_chain *c, cd_chain_block **out, const cd_hash32 *hash)
{
    cd_arena a = {0};
    cd_block stored;
    cd_chain_block *b = NULL;
    cd_err e = cd_chain_block_by_hash(c, &stored, NULL, &a, hash);
    if (e == CD_OK) {
        cd_buf rlp = {0};
        cd_block_enc(&rlp, c->rules.layout, &stored);
        e = cd__chain_decode(c, &b, cd_buf_bytes(&rlp), NULL);
        cd_buf_fini(&rlp);
    }
    for (usize i = 0; e == CD_OK && i < b->block.tx_cnt; i++) {
        b->block.txs[i].sender = stored.txs[i].sender;
        b->block.txs[i].has_sender = true;
    }
    cd_arena_fini(&a);
    if (e == CD_OK) {
        *out = b;
    }
    return e;
}

/* --- before execution --- */

static cd_err check_eth(const cd_chain *c, const cd_block *b, const cd_header *parent, cd_errinfo *why)
{
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

/* Checks all predicates; the header must say the same. */
static cd_err check_predicates(const cd_chain *c, cd_predicate_results *out, cd_chain_block *b, cd_errinfo *why)
{
    const cd_header *h = &b->block.header;
    cd_predicate_results local = {0};
    cd_buf enc = {0};
    cd_buf want = {0};
    cd_buf have = {0};
    const cd_predicates_ctx ctx = {
        .schedule = c->rules.schedule,
        .time = h->time,
        .host = c->cfg.warp,
        .height = b->pchain_height,
        .pool = c->cfg.pool,
    };
    CD_TRY(cd_predicates_check(&local, &b->arena, &ctx, b->block.txs, b->block.tx_cnt, why));
    usize front = cd_chain_rules_prefix(&c->rules, h->time);
    cd_bytes given = cd_bytes_sub(h->extra, front, h->extra.n - front);
    if (c->rules.config.durango.is_set && h->time >= c->rules.config.durango.at) {
        cd_predicate_results_enc(&enc, &local);
    }
    cd_err e = CD_OK;
    if (!cd_bytes_eq(given, cd_buf_bytes(&enc))) {
        cd_hex_put(&have, given);
        cd_hex_put(&want, cd_buf_bytes(&enc));
        e = cd_fail(why, CD_EINVAL,
                    "failed to verify predicates: invalid header predicate results (remote: %s "
                    "local: %s)",
                    cd_buf_cstr(&have) + 2, cd_buf_cstr(&want) + 2);
    }
    cd_buf_fini(&enc);
    cd_buf_fini(&want);
    cd_buf_fini(&have);
    *out = local;
    return e;
}

static cd_err check_l1(cd_chain *c, cd_chain_block *b, cd_predicate_results *predicates, const cd_header *parent,
                       cd_state_source *src, u64 now_ms, cd_errinfo *why)
{
    cd_errinfo inner = {0};
    cd_parent_l1 p = {.rules = &c->rules, .header = parent};
    CD_TRY(cd_child_rules_read(&p.child, &c->rules, src, parent->time));
    cd_err e = cd_block_context_l1(&p, &b->block, now_ms, &inner);
    if (e == CD_OK) {
        e = check_predicates(c, predicates, b, &inner);
    }
    if (e != CD_OK) {
        return cd_fail(why, e, "failed to verify block: %s", inner.msg);
    }
    CD_TRY(cd_header_check_l1(&p, &b->block.header, &b->dev, why));
    return b->block.ext_data.n == 0 ? CD_OK : c->cfg.ext->check(c->cfg.ext->ctx, b, why);
}

/* --- execution --- */

static cd_err differs(const char *what, const cd_hash32 *remote, const cd_hash32 *local, const char *end,
                      cd_errinfo *why)
{
    char have[65] = {0};
    char want[65] = {0};
    cd_hex_fmt(have, cd_bytes_of(remote->b, 32));
    cd_hex_fmt(want, cd_bytes_of(local->b, 32));
    return cd_fail(why, CD_EINVAL, "invalid %s (remote: %s local: %s)%s", what, have, want, end);
}

static cd_err compare(const cd_block_exec *x, const cd_header *h, const cd_hash32 *receipt_root,
                      const cd_hash32 *state_root, cd_errinfo *why)
{
    if (x->gas_used != h->gas_used) {
        return cd_fail(why, CD_EINVAL, "invalid gas used (remote: %llu local: %llu)", (unsigned long long)h->gas_used,
                       (unsigned long long)x->gas_used);
    }
    if (!cd_bloom_eq(&x->bloom, &h->bloom)) {
        char have[2 * sizeof h->bloom.b + 1] = {0};
        char want[2 * sizeof h->bloom.b + 1] = {0};
        cd_hex_fmt(have, cd_bytes_of(h->bloom.b, sizeof h->bloom.b));
        cd_hex_fmt(want, cd_bytes_of(x->bloom.b, sizeof x->bloom.b));
        return cd_fail(why, CD_EINVAL, "invalid bloom (remote: %s  local: %s)", have, want);
    }
    if (!cd_hash32_eq(receipt_root, &h->receipt_root)) {
        return differs("receipt root hash", &h->receipt_root, receipt_root, "", why);
    }
    if ((h->has & CD_HEADER_BLOB_GAS_USED) != 0 && x->blob_gas_used != h->blob_gas_used) {
        return cd_fail(why, CD_EINVAL, "blob gas used mismatch (header %llu, calculated %llu)",
                       (unsigned long long)h->blob_gas_used, (unsigned long long)x->blob_gas_used);
    }
    if (!cd_hash32_eq(state_root, &h->state_root)) {
        return differs("merkle root", &h->state_root, state_root, " dberr: %!w(<nil>)", why);
    }
    return CD_OK;
}

/* Runs all transactions; the receipts are in the block's arena afterwards. */
static cd_err run_txs(cd_chain *c, cd_chain_block *b, cd_block_exec *x, cd_hash32 *receipt_root, cd_errinfo *why)
{
    usize next = 0; /* of the senders that did not sign */
    for (usize i = 0; i < b->block.tx_cnt; i++) {
        bool is_unsigned = next < b->dev.sender_cnt && b->dev.senders[next].idx == i;
        next += is_unsigned ? 1 : 0;
        cd__chain_watch_tx(c, i);
        cd_tx_invalid bad =
            is_unsigned ? cd_block_exec_tx_as(x, &b->block.txs[i]) : cd_block_exec_tx(x, &b->block.txs[i]);
        if (bad != CD_TX_VALID) {
            cd_block_exec_abort(x);
            return cd_fail(why, CD_EINVAL, "could not apply tx %zu: %s", i, cd_tx_invalid_str(bad));
        }
    }
    cd_block_exec_withdrawals(x, b->block.withdrawals, b->block.withdrawal_cnt);
    cd_err e = cd_block_exec_end(x, receipt_root);
    b->receipts = x->receipts;
    return e;
}

void cd__chain_add_paid(cd_u256 *tips, const cd_u256 *paid)
{
    if (!cd_u256_checked_add(tips, tips, paid)) {
        *tips = cd_u256_max();
    }
}

/* Executes b on its parent, whose state src reads, and keeps the state after it as b's view. */
static cd_err execute(cd_chain *c, cd_chain_block *b, const cd_predicate_results *predicates, const cd_header *parent,
                      cd_state_source *src, cd_errinfo *why)
{
    cd_block_run run;
    cd_hash32 receipt_root;
    cd_hash32 state_root;
    const cd_header *h = &b->block.header;
    cd_state_reset(c->st, src);
    CD_TRY(cd_block_run_begin(&run, &c->rules, c->evm, c->st, &b->arena, h, parent->time, predicates));
    cd__chain_watch(c, NULL);
    cd_err ran = run_txs(c, b, &run.exec, &receipt_root, why);
    cd__chain_unwatch(c, b);
    CD_TRY(ran);
    if (b->block.ext_data.n != 0) {
        cd_u256 paid;
        CD_TRY(c->cfg.ext->apply(c->cfg.ext->ctx, b, c->st, &paid, why));
        cd__chain_add_paid(&run.exec.tips, &paid);
    }
    if (!cd_chain_rules_is_eth(&c->rules)) {
        CD_TRY(cd_header_fee_l1(h, &run.exec.tips, why));
    }
    CD_TRY(cd_world_apply(c->world, &b->view, &state_root, b->parent == NULL ? NULL : b->parent->view, c->st, why));
    cd_err e = compare(&run.exec, h, &receipt_root, &state_root, why);
    if (e != CD_OK) {
        cd_world_drop(c->world, b->view);
        b->view = NULL;
    }
    return e;
}

/* What a verified block says about its predicates, under another context. */
static cd_err verify_again(cd_chain *c, cd_chain_block *b, cd_errinfo *why)
{
    cd_predicate_results predicates = {0};
    return cd_chain_rules_is_eth(&c->rules) ? CD_OK : check_predicates(c, &predicates, b, why);
}

cd_err cd_chain_verify_on(cd_chain *c, cd_chain_block *b, cd_chain_block *parent, u64 now_ms, cd_errinfo *why)
{
    cd_predicate_results predicates = {0};
    cd_chain_source src;
    if (b->view != NULL) {
        return verify_again(c, b, why);
    }
    CD_ASSERT(parent == NULL || parent->view != NULL);
    const cd_header *above = parent == NULL ? &cd_chain_head(c)->header : &parent->block.header;
    b->parent = parent;
    cd_chain_source_init(&src, c, parent);
    cd_err e = cd_chain_rules_is_eth(&c->rules) ? check_eth(c, &b->block, above, why)
                                                : check_l1(c, b, &predicates, above, &src.world.src, now_ms, why);
    if (e == CD_OK) {
        e = execute(c, b, &predicates, above, &src.world.src, why);
    }
    cd_world_source_fini(&src.world);
    return e;
}

cd_err cd_chain_verify(cd_chain *c, cd_chain_block *b, u64 now_ms, cd_errinfo *why)
{
    const cd_header *header;
    cd_chain_block *parent;
    const cd_header *h = &b->block.header;
    if (b->view != NULL) {
        return CD_OK;
    }
    if (cd__chain_parent(c, &header, &parent, &h->parent_hash) != CD_OK) {
        char hash[65] = {0};
        cd_hex_fmt(hash, cd_bytes_of(h->parent_hash.b, 32));
        return cd_fail(why, CD_ENOENT, "failed to verify block: parent header not found: 0x%s at height %llu", hash,
                       (unsigned long long)(h->number - 1));
    }
    return cd_chain_verify_on(c, b, parent, now_ms, why);
}

bool cd_chain_needs_context(const cd_chain *c, const cd_chain_block *b)
{
    for (usize i = 0; i < b->block.tx_cnt; i++) {
        if (cd_predicates_has(c->rules.schedule, b->block.header.time, &b->block.txs[i])) {
            return true;
        }
    }
    return false;
}

/* --- accepting and dropping --- */

static bool stands_on(const cd_chain_block *b, const cd_chain_block *ancestor)
{
    for (; b != NULL; b = b->parent) {
        if (b == ancestor) {
            return true;
        }
    }
    return false;
}

void cd__chain_put(const cd_chain *c, cd_kv_batch *batch, const cd_chain_block *b)
{
    const cd_chain_entry entry = {
        .block = &b->block,
        .receipts = b->receipts,
        .transfers = b->transfers,
        .transfer_cnt = b->transfer_cnt,
    };
    if (!b->has_body_stored) {
        cd_chaindb_put_body(batch, &b->block, b->rlp);
    }
    cd_chaindb_put_accepted(batch, &b->block, b->receipts);
    cd_dev_record_put(batch, &b->block.hash, &b->dev);
    for (usize i = 0; i < c->index_cnt && b->block.tx_cnt != 0; i++) {
        c->indices[i]->put(c->indices[i]->ctx, batch, &entry);
    }
}

cd_err cd_chain_accept_put(cd_chain *c, cd_chain_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    const cd_header *h = &b->block.header;
    CD_ASSERT(b->view != NULL && b->parent == NULL);
    cd_flat_head head = {.height = h->number, .block = b->block.hash, .root = h->state_root};
    CD_TRY(cd_world_accept_put(c->world, b->view, batch, &head, why));
    if (b->run != NULL) {
        cd__run_plan_put(b->run, batch);
    }
    cd__chain_put(c, batch, b);
    return b->block.ext_data.n == 0 ? CD_OK : c->cfg.ext->put(c->cfg.ext->ctx, batch, b, why);
}

cd_err cd_chain_accepted(cd_chain *c, cd_chain_block *b, cd_errinfo *why)
{
    cd_world_accepted(c->world);
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
    if (b->run != NULL) {
        cd__run_plan_install(c, b->run);
    }
    if (c->cfg.ext != NULL) {
        c->cfg.ext->accepted(c->cfg.ext->ctx, b);
    }
    return cd__chain_advance(c, b, why);
}

cd_err cd_chain_accept(cd_chain *c, cd_chain_block *b, cd_errinfo *why)
{
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, c->cfg.kv);
    cd_err e = cd_chain_accept_put(c, b, &batch, why);
    if (e == CD_OK) {
        e = cd_kv_commit(c->cfg.kv, &batch, c->cfg.sync, why);
    }
    cd_kv_batch_fini(&batch);
    return e == CD_OK ? cd_chain_accepted(c, b, why) : e;
}

void cd_chain_reject(cd_chain *c, cd_chain_block *b)
{
    if (b->view == NULL) {
        return;
    }
    cd_world_drop(c->world, b->view);
    for (cd_chain_block *o = c->blocks; o != NULL; o = o->next) {
        if (stands_on(o, b)) {
            o->view = NULL;
        }
    }
}

void cd_chain_drop(cd_chain *c, cd_chain_block *b)
{
    cd_chain_reject(c, b);
    for (cd_chain_block *o = c->blocks; o != NULL; o = o->next) {
        if (o->parent == b) {
            o->parent = NULL;
        }
    }
    cd__chain_block_free(c, b);
}
