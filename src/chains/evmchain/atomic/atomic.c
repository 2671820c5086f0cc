#include "chains/evmchain/atomic/atomic.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "chains/evmchain/atomic/atomic_priv.h"

/* A record of an accepted transaction: this and its ID, to its height and its bytes; this alone leads to the height of
 * the newest. */
enum { RECORDS = 'A', RECORD_KEY = 33 };

/* --- records --- */

static cd_bytes record_key(u8 out[RECORD_KEY], const cd_hash32 *id)
{
    out[0] = RECORDS;
    memcpy(out + 1, id->b, 32);
    return cd_bytes_of(out, RECORD_KEY);
}

cd_err cd_atomic_record(const cd_atomic *a, u64 *height, cd_buf *out, const cd_hash32 *id)
{
    u8 key[RECORD_KEY];
    cd_buf v = {0};
    cd_err e = cd_kv_get(a->cfg.kv, &v, record_key(key, id));
    if (e == CD_OK && v.n < 8) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        *height = cd_be64(v.p);
        if (out != NULL) {
            cd_buf_put(out, cd_bytes_of(v.p + 8, v.n - 8));
        }
    }
    cd_buf_fini(&v);
    return e;
}

static void put_record(cd_kv_batch *batch, const cd_atomic_tx *t, u64 height)
{
    u8 key[RECORD_KEY];
    u8 *v = cd_kv_batch_put2(batch, (cd_bytes){0}, record_key(key, &t->id), 8 + t->bytes.n);
    cd_put_be64(v, height);
    memcpy(v + 8, t->bytes.p, t->bytes.n);
}

static void put_last(cd_kv_batch *batch, u64 height)
{
    const u8 key = RECORDS;
    u8 value[8];
    cd_put_be64(value, height);
    cd_kv_batch_put(batch, cd_bytes_of(&key, 1), cd_bytes_of(value, sizeof value));
}

static cd_err on_last(void *ctx, u64 *height)
{
    const cd_atomic *a = ctx;
    const u8 key = RECORDS;
    cd_buf v = {0};
    cd_err e = cd_kv_get(a->cfg.kv, &v, cd_bytes_of(&key, 1));
    *height = e == CD_OK && v.n == 8 ? cd_be64(v.p) : 0;
    e = e == CD_ENOENT || (e == CD_OK && v.n == 8) ? CD_OK : e == CD_OK ? CD_ECORRUPT : e;
    cd_buf_fini(&v);
    return e;
}

/* --- inputs that are taken: by the transactions of a block, and of its ancestors that are not accepted --- */

/* Adds the inputs of t; false when one is taken already, then none was added. */
static bool take(cd_hmap *taken, const cd_atomic_tx *t)
{
    for (usize i = 0; i < t->input_cnt; i++) {
        if (cd_hmap_get(taken, &t->inputs[i]) != NULL) {
            return false;
        }
    }
    for (usize i = 0; i < t->input_cnt; i++) {
        (void)cd_hmap_put(taken, NULL, &t->inputs[i]);
    }
    return true;
}

/* The extra data of blocks on their way in was read when they were parsed or built. */
static void take_ancestors(cd_hmap *taken, const cd_chain_block *b)
{
    for (; b != NULL; b = b->parent) {
        cd_arena arena = {0};
        cd_atomic_tx *txs;
        usize cnt = 0;
        if (b->block.ext_data.n != 0 && cd_atomic_parse_batch(&txs, &cnt, &arena, b->block.ext_data, NULL) == CD_OK) {
            for (usize i = 0; i < cnt; i++) {
                (void)take(taken, &txs[i]);
            }
        }
        cd_arena_fini(&arena);
    }
}

/* --- the chain's seat: a block from elsewhere --- */

static cd_err on_form(void *ctx, u64 *gas, const cd_block *b, cd_errinfo *why)
{
    const cd_atomic *a = ctx;
    cd_arena arena = {0};
    cd_atomic_tx *txs;
    usize cnt = 0;
    *gas = 0;
    cd_err e = cd_atomic_parse_batch(&txs, &cnt, &arena, b->ext_data, why);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        *gas += txs[i].gas; /* below the size of a block times a thousand */
        e = cd_atomic_form(&txs[i], &a->cfg.net, why);
    }
    cd_arena_fini(&arena);
    return e;
}

static cd_atomic_at at_block(const cd_atomic *a, const cd_header *h)
{
    return (cd_atomic_at){
        .net = &a->cfg.net,
        .shared = a->is_bootstrapped ? a->cfg.shared : NULL,
        .fx = a->fx,
        .base_fee = &h->base_fee,
        .time = h->time,
    };
}

static cd_err on_check(void *ctx, const cd_chain_block *b, cd_errinfo *why)
{
    const cd_atomic *a = ctx;
    const cd_atomic_at at = at_block(a, &b->block.header);
    cd_arena arena = {0};
    cd_hmap taken;
    cd_atomic_tx *txs;
    usize cnt = 0;
    cd_err e = cd_atomic_parse_batch(&txs, &cnt, &arena, b->block.ext_data, why);
    cd_hmap_init(&taken, CD_HASH_KEYED, 32, 0);
    take_ancestors(&taken, b->parent);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        e = cd_atomic_spend(&txs[i], &at, NULL, why);
        if (e == CD_EAGAIN) {
            e = CD_EINVAL;
        }
        if (e == CD_OK && !take(&taken, &txs[i])) {
            e = cd_fail(why, CD_EINVAL, "invalid block due to conflicting atomic inputs");
        }
    }
    cd_hmap_fini(&taken);
    cd_arena_fini(&arena);
    return e;
}

static cd_err on_apply(void *ctx, const cd_chain_block *b, cd_state *st, cd_u256 *paid, cd_errinfo *why)
{
    const cd_atomic *a = ctx;
    cd_arena arena = {0};
    cd_atomic_tx *txs;
    usize cnt = 0;
    *paid = cd_u256_zero();
    cd_err e = cd_atomic_parse_batch(&txs, &cnt, &arena, b->block.ext_data, why);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        cd_u256 one;
        e = cd_atomic_excess(&one, &txs[i], &b->block.header.base_fee, &a->cfg.net);
        cd_u256_add(paid, paid, &one); /* each below 2^128 */
        e = e != CD_OK ? e : cd_atomic_apply(&txs[i], &a->cfg.net, st, why);
    }
    cd_arena_fini(&arena);
    return e;
}

static cd_err on_put(void *ctx, cd_kv_batch *batch, const cd_chain_block *b, cd_errinfo *why)
{
    cd_atomic *a = ctx;
    cd_arena arena = {0};
    cd_atomic_tx *txs;
    usize cnt = 0;
    CD_TRY(cd_atomic_parse_batch(&txs, &cnt, &arena, b->block.ext_data, why));
    cd_atomic_trie_own(&a->trie, batch, b->block.header.number);
    cd_vm_shared_change *changes = cd_arena_array(&arena, cd_vm_shared_change, cnt);
    put_last(batch, b->block.header.number);
    for (usize i = 0; i < cnt; i++) {
        put_record(batch, &txs[i], b->block.header.number);
        cd_atomic_change(&changes[i], &arena, &txs[i]);
    }
    cd_atomic_trie_log(batch, b->block.header.number, txs, cnt);
    cd_err e = a->cfg.shared->apply(a->cfg.shared, batch, changes, cnt); /* widens the batch */
    if (e != CD_OK) {
        e = cd_fail(why, e, "shared memory does not take the block: %s", cd_err_str(e));
    }
    cd_arena_fini(&arena);
    return e;
}

static void on_accepted(void *ctx, const cd_chain_block *b)
{
    cd_atomic *a = ctx;
    cd_arena arena = {0};
    cd_atomic_tx *txs;
    usize cnt = 0;
    if (b->block.ext_data.n != 0 && cd_atomic_parse_batch(&txs, &cnt, &arena, b->block.ext_data, NULL) == CD_OK) {
        for (usize i = 0; i < cnt; i++) {
            cd_atomic_pool_accepted(a->pool, &txs[i]);
        }
    }
    cd_arena_fini(&arena);
    /* The block is accepted whatever comes of this: the next height, or start, makes the root. */
    if (a->trie.kv != NULL) {
        cd_atomic_trie_own(&a->trie, NULL, b->block.header.number);
        (void)!cd_atomic_trie_advance(&a->trie, b->block.header.number, NULL);
    }
    if (cd_atomic_pool_cnt(a->pool) != 0) {
        a->cfg.wanted(a->cfg.ctx);
    }
}

/* --- a block of our own --- */

static cd_err try_one(const cd_atomic *a, const cd_atomic_tx *t, const cd_chain_block *b, cd_state *st, cd_u256 *paid)
{
    const cd_atomic_at at = at_block(a, &b->block.header);
    cd_u256 one;
    CD_TRY(cd_atomic_spend(t, &at, &one, NULL));
    CD_TRY(cd_atomic_apply(t, &a->cfg.net, st, NULL));
    cd_u256_add(paid, paid, &one);
    return CD_OK;
}

static void put_batch(cd_chain_block *b, const cd_atomic_tx *const *chosen, usize cnt)
{
    cd_buf bytes = {0};
    if (cnt != 0) {
        cd_atomic_put_batch(&bytes, chosen, cnt);
        b->block.ext_data = cd_arena_dup(&b->arena, cd_buf_bytes(&bytes));
    }
    cd_buf_fini(&bytes);
}

/* Dearest first. One that cannot be spent any more is dropped; one whose fee is too low now, or that an ancestor has,
 * stays. */
static cd_err on_fill(void *ctx, cd_chain_block *b, cd_state *st, u64 gas_max, u64 *gas, cd_u256 *paid)
{
    cd_atomic *a = ctx;
    const cd_atomic_tx *chosen[CD_CHAIN_EXT_GAS_MAX / 10000];
    usize cnt = 0;
    cd_hmap taken;
    *gas = 0;
    *paid = cd_u256_zero();
    cd_hmap_init(&taken, CD_HASH_KEYED, 32, 0);
    take_ancestors(&taken, b->parent);
    cd_err e = CD_OK;
    for (usize i = 0; i < cd_atomic_pool_cnt(a->pool) && cnt < CD_COUNT(chosen);) {
        const cd_atomic_tx *t = cd_atomic_pool_at(a->pool, i);
        if (t->gas > gas_max - *gas || !take(&taken, t)) {
            i++;
            continue;
        }
        e = try_one(a, t, b, st, paid);
        if (e == CD_OK) {
            chosen[cnt++] = t;
            *gas += t->gas;
            i++;
        } else if (e == CD_EAGAIN) {
            i++;
        } else {
            cd_atomic_pool_drop(a->pool, i);
        }
    }
    put_batch(b, chosen, cnt);
    cd_hmap_fini(&taken);
    return cd_state_error(st);
}

/* --- issuing --- */

cd_err cd__atomic_next_header(const cd_atomic *a, cd_header *out, const cd_chain_block *parent, cd_state_source *src,
                              cd_errinfo *why)
{
    const cd_chain_rules *rules = cd_chain_rules_of(a->chain);
    const cd_header *above = parent == NULL ? &cd_chain_head(a->chain)->header : &parent->block.header;
    cd_parent_l1 p = {.rules = rules, .header = above};
    cd_header h = {.time = cd_max_u64(above->time, cd_clock_wall_s(a->cfg.clock))};
    CD_TRY(cd_child_rules_read(&p.child, rules, src, above->time));
    cd_err e = cd_header_base_fee_l1(&h.base_fee, &p, h.time, 0);
    *out = h;
    return e == CD_OK ? CD_OK : cd_fail(why, e, "no base fee on the parent: %s", cd_err_str(e));
}

static cd_err check_on(cd_atomic *a, const cd_atomic_tx *t, cd_chain_block *parent, cd_errinfo *why)
{
    cd_chain_source src;
    cd_header h = {0};
    cd_chain_source_init(&src, a->chain, parent);
    cd_err e = cd__atomic_next_header(a, &h, parent, &src.world.src, why);
    if (e == CD_OK) {
        const cd_atomic_at at = at_block(a, &h);
        e = cd_atomic_spend(t, &at, NULL, why);
    }
    if (e == CD_OK) {
        cd_state *st = cd_state_new(&src.world.src);
        e = cd_atomic_apply(t, &a->cfg.net, st, why);
        cd_state_free(st);
    }
    cd_world_source_fini(&src.world);
    return e;
}

cd_err cd_atomic_issue(cd_atomic *a, const cd_atomic_tx *t, bool is_own, cd_errinfo *why)
{
    u64 height;
    cd_chain_block *parent = a->cfg.preferred == NULL ? NULL : a->cfg.preferred(a->cfg.ctx);
    if (t->gas > CD_CHAIN_EXT_GAS_MAX) {
        return cd_fail(why, CD_ELIMIT, "atomic gas used (%llu) exceeds atomic gas limit (%d)",
                       (unsigned long long)t->gas, CD_CHAIN_EXT_GAS_MAX);
    }
    cd_err e = cd_atomic_record(a, &height, NULL, &t->id);
    if (e == CD_OK || cd_atomic_pool_find(a->pool, &t->id) != NULL) {
        return cd_fail(why, CD_EEXIST, "already known");
    }
    CD_TRY(e == CD_ENOENT ? CD_OK : e);
    CD_TRY(check_on(a, t, parent, why));
    CD_TRY(cd_atomic_pool_add(a->pool, t, why));
    if (a->cfg.waits != NULL) {
        a->cfg.waits(a->cfg.ctx, &t->id, is_own);
    }
    a->cfg.wanted(a->cfg.ctx);
    return CD_OK;
}

/* --- life --- */

cd_atomic *cd_atomic_open(const cd_atomic_cfg *cfg)
{
    cd_atomic *a = cd_new(cd_atomic);
    a->cfg = *cfg;
    a->fx = cd_fx_new(0);
    a->pool = cd_atomic_pool_new(cfg->net.rate);
    a->ext = (cd_chain_ext){
        .form = on_form,
        .check = on_check,
        .apply = on_apply,
        .fill = on_fill,
        .put = on_put,
        .accepted = on_accepted,
        .last = on_last,
        .ctx = a,
    };
    cd__atomic_serve(a);
    return a;
}

void cd_atomic_close(cd_atomic *a)
{
    if (a == NULL) {
        return;
    }
    cd_rpc_table_free(a->table);
    cd_atomic_pool_free(a->pool);
    cd_atomic_trie_close(&a->trie);
    cd_fx_free(a->fx);
    cd_free(a);
}

const cd_chain_ext *cd_atomic_ext(const cd_atomic *a)
{
    return &a->ext;
}

/* The log of a store that was made before there was one, from its blocks. */
static cd_err log_all(cd_atomic *a, u64 head, cd_errinfo *why)
{
    enum { SOME = 1 << 20 };
    cd_kv_batch batch = {0};
    u64 last = 0;
    cd_kv_batch_for(&batch, a->cfg.kv);
    cd_err e = on_last(a, &last);
    for (u64 n = 1; n <= cd_min_u64(head, last) && e == CD_OK; n++) {
        cd_arena mem = {0};
        cd_block b = {.has_ext_data = false};
        cd_atomic_tx *txs;
        usize cnt = 0;
        e = cd_chain_block_at(a->chain, &b, NULL, &mem, n);
        if (e == CD_OK && b.ext_data.n != 0) {
            e = cd_atomic_parse_batch(&txs, &cnt, &mem, b.ext_data, why);
            if (e == CD_OK) {
                cd_atomic_trie_log(&batch, n, txs, cnt);
            }
        }
        cd_arena_fini(&mem);
        if (e == CD_OK && batch.rec.n > SOME) {
            e = cd_kv_commit(a->cfg.kv, &batch, CD_KV_NOSYNC, why);
            cd_kv_batch_clear(&batch);
        }
    }
    if (e == CD_OK) {
        cd_atomic_trie_logged(&batch);
        e = cd_kv_commit(a->cfg.kv, &batch, CD_KV_NOSYNC, why);
    }
    cd_kv_batch_fini(&batch);
    return e;
}

cd_err cd_atomic_use(cd_atomic *a, cd_chain *c, cd_errinfo *why)
{
    enum { INTERVAL = 4096 };
    u64 head = cd_chain_head(c)->header.number;
    bool is = true;
    a->chain = c;
    CD_TRY(cd_atomic_trie_open(&a->trie, a->cfg.kv, a->cfg.trie_interval == 0 ? INTERVAL : a->cfg.trie_interval));
    CD_TRY(cd_atomic_trie_is_logged(&a->trie, &is));
    if (!is) {
        CD_TRY(log_all(a, head, why));
    }
    /* A cursor behind which the chain does not stand is of a sync that came to nothing. */
    bool more = a->trie.has_cursor && a->trie.cursor <= head;
    while (more) {
        CD_TRY(cd_atomic_trie_apply(&a->trie, a->cfg.shared, head, &more, why));
    }
    cd_atomic_trie_own(&a->trie, NULL, UINT64_MAX);
    return cd_atomic_trie_advance(&a->trie, head, why);
}

cd_atomic_trie *cd_atomic_trie_of(cd_atomic *a)
{
    return &a->trie;
}

const cd_vm_shared *cd_atomic_shared(const cd_atomic *a)
{
    return a->cfg.shared;
}

void cd_atomic_bootstrapped(cd_atomic *a, bool is)
{
    a->is_bootstrapped = is;
}

const cd_atomic_pool *cd_atomic_pool_of(const cd_atomic *a)
{
    return a->pool;
}

const cd_rpc_service *cd_atomic_service(const cd_atomic *a)
{
    return &a->service;
}
