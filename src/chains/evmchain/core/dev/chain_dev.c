/* What only a development network does to its chain: edits of the state, going back, long runs of empty blocks.
 * [spec:dev-rpc#1] */
#include "base/mem/mem.h"
#include "chains/evmchain/core/chain_priv.h"
#include "chains/evmchain/core/dev/cuts.h"
#include "types/hashes.h"

/* --- edits --- */

static cd_err accept_edit(cd_chain *c, cd_world_view *view, const cd_hash32 *root, cd_errinfo *why)
{
    const cd_block *b = cd_chain_head(c);
    cd_kv_batch extra = {0};
    cd_flat_head head = {.height = b->header.number, .block = b->hash, .root = *root};
    cd_kv_batch_for(&extra, c->cfg.kv);
    cd_chaindb_put_edit_root(&extra, cd_world_version(c->world) + 1, root);
    cd_err e = cd_world_accept(c->world, view, &extra, &head, c->cfg.sync, why);
    cd_kv_batch_fini(&extra);
    return e;
}

cd_err cd_chain_edit(cd_chain *c, cd_chain_change *change, void *ctx, cd_errinfo *why)
{
    cd_chain_source src;
    cd_world_view *view = NULL;
    cd_hash32 root;
    CD_ASSERT(c->rules.is_dev);
    cd_chain_source_init(&src, c, NULL);
    cd_state_reset(c->st, &src.world.src);
    cd_state_begin_tx(c->st);
    cd_err e = change(ctx, c->st, why);
    cd_state_end_tx(c->st, false); /* an account without code, nonce and balance keeps its storage */
    if (e == CD_OK) {
        e = cd_state_error(c->st);
    }
    if (e == CD_OK) {
        e = cd_world_apply(c->world, &view, &root, NULL, c->st, why);
    }
    cd_world_source_fini(&src.world);
    CD_TRY(e);
    e = accept_edit(c, view, &root, why);
    if (e != CD_OK) {
        cd_world_drop(c->world, view);
        return e;
    }
    cd__chain_forget_pending(c);
    return cd_chain_publish(c, why);
}

/* --- going back --- */

/* Appends the removal of every block above height that is stored as one, newest first. */
static cd_err remove_blocks(cd_chain *c, cd_kv_batch *batch, u64 height)
{
    for (u64 n = cd_chain_head(c)->header.number; n > height;) {
        cd_arena a = {0};
        cd_run run;
        cd_err e = cd_run_find(c->cfg.kv, &run, n);
        if (e == CD_OK) {
            n = cd_max_u64(run.first - 1, height);
            continue;
        }
        const cd_accepted *acc = NULL;
        if (e == CD_ENOENT) {
            e = cd_view_block(c->views.newest, &acc, &a, n);
        }
        if (e == CD_OK) {
            cd_chaindb_del(batch, &acc->block);
            cd_dev_record_del(batch, &acc->block.hash);
            const cd_chain_entry entry = {.block = &acc->block, .receipts = acc->receipts};
            for (usize i = 0; i < c->index_cnt && acc->block.tx_cnt != 0; i++) {
                c->indices[i]->del(c->indices[i]->ctx, batch, &entry);
            }
        }
        cd_arena_fini(&a);
        CD_TRY(e);
        n--;
    }
    return CD_OK;
}

/* The head record of a version of the state, and the block as stored where it lies in a run. */
static cd_err head_of(cd_chain *c, cd_flat_head *out, cd_kv_batch *batch, u64 *version)
{
    cd_arena a = {0};
    const cd_accepted *acc;
    cd_run run;
    u64 height = *version >> CD_WORLD_EDIT_BITS;
    cd_err e = cd_view_block(c->views.newest, &acc, &a, height);
    if (e == CD_OK) {
        *out = (cd_flat_head){
            .height = height,
            .block = acc->block.hash,
            .root = acc->block.header.state_root,
        };
        e = cd_run_find(c->cfg.kv, &run, height);
    }
    if (e == CD_OK) {
        /* The head is always stored as a block of its own. */
        bool is_chosen = acc->block.header.gas_limit != cd_u256_to_u64_sat(&run.fee.gas_limit);
        cd_dev_record_put(batch, &acc->block.hash, &(cd_dev_record){.chosen = is_chosen ? CD_DEV_GAS_LIMIT : 0});
        cd_chaindb_put_body(batch, &acc->block, acc->rlp);
        cd_chaindb_put_accepted(batch, &acc->block, NULL);
        e = cd_run_cut(batch, c->cfg.kv, height - 1);
    } else if (e == CD_ENOENT) {
        e = cd_run_cut(batch, c->cfg.kv, height);
    }
    if (e == CD_OK) {
        cd_hash32 root;
        u64 edited;
        e = cd_chaindb_edit(c->cfg.kv, &edited, &root, *version);
        *version = e == CD_OK ? edited : height << CD_WORLD_EDIT_BITS;
        out->root = e == CD_OK ? root : out->root;
        e = e == CD_ENOENT ? CD_OK : e;
    }
    cd_arena_fini(&a);
    return e;
}

static void put_epoch(cd_kv_batch *batch, u64 epoch)
{
    u8 value[8];
    cd_put_be64(value, epoch);
    cd_chaindb_put_meta(batch, CD_CHAINDB_EPOCH, cd_bytes_of(value, sizeof value));
}

/* What extra data did outside of the chain cannot be taken back: others may have gone on with it. */
static cd_err check_no_ext(const cd_chain *c, u64 height, cd_errinfo *why)
{
    u64 last = 0;
    if (c->cfg.ext != NULL) {
        CD_TRY(c->cfg.ext->last(c->cfg.ext->ctx, &last));
    }
    return last <= height ? CD_OK
                          : cd_fail(why, CD_EUNSUPPORTED, "block %llu has atomic transactions and cannot be taken back",
                                    (unsigned long long)last);
}

cd_err cd_chain_truncate(cd_chain *c, u64 version, cd_errinfo *why)
{
    cd_kv_batch batch = {0};
    cd_flat_head head;
    u64 height = version >> CD_WORLD_EDIT_BITS;
    u64 before = cd_chain_head(c)->header.number;
    CD_ASSERT(c->rules.is_dev && height <= before);
    CD_TRY(check_no_ext(c, height, why));
    cd_kv_batch_for(&batch, c->cfg.kv);
    cd_err e = head_of(c, &head, &batch, &version);
    for (usize i = 0; i < c->index_cnt && e == CD_OK; i++) {
        if (c->indices[i]->cut != NULL) {
            c->indices[i]->cut(c->indices[i]->ctx, &batch, height);
        }
    }
    if (e == CD_OK) {
        e = remove_blocks(c, &batch, height);
    }
    if (e == CD_OK) {
        e = cd_chaindb_del_edits(&batch, c->cfg.kv, version);
    }
    if (e == CD_OK) {
        put_epoch(&batch, c->views.epoch + 1);
        e = cd_cut_put(&batch, c->cfg.kv, c->views.epoch + 1, height);
    }
    if (e == CD_OK) {
        e = cd_world_truncate(c->world, version, &batch, &head, c->cfg.sync, why);
    }
    cd_kv_batch_fini(&batch);
    CD_TRY(e);
    c->views.epoch++;
    cd__chain_forget_pending(c);
    bool is_in_memory = cd__views_cut(&c->views, height) && (before - height < CD__CHAIN_RECENT - CD__BLOCKHASH_REACH);
    if (!is_in_memory) {
        CD_TRY(cd__chain_reload(c, &head.block));
    }
    return cd_chain_publish(c, why);
}

/* --- runs --- */

/* The newest blocks and hashes of a run in the making; they become the chain's once the run is stored. */
typedef struct keeper {
    const cd_chain *c; /* while it is filled */
    u64 blocks_from;   /* heights from which on they are kept */
    u64 hashes_from;
    cd__accepted *blocks[CD__VIEW_RECENT];
    usize block_cnt;
    cd_hash32 hashes[CD__BLOCKHASH_REACH];
    usize hash_cnt;
} keeper;

static void keep(void *ctx, const cd_run_header *at)
{
    keeper *k = ctx;
    if (at->h.number >= k->hashes_from) {
        k->hashes[k->hash_cnt++] = at->hash;
    }
    if (at->h.number >= k->blocks_from) {
        cd_arena a = {0};
        cd_accepted pub;
        cd_accepted_of_run(&pub, &a, k->c->rules.layout, at);
        k->blocks[k->block_cnt++] = cd__accepted_new(&pub, &a);
    }
}

/* A run that a block brings, not stored yet. */
typedef struct cd__run_plan {
    cd_kv_batch batch; /* its record, for the chain's kv */
    keeper k;          /* blocks are counted until install */
} cd__run_plan;

void cd__run_plan_free(cd__run_plan *p)
{
    if (p != NULL) {
        for (usize i = 0; i < p->k.block_cnt; i++) {
            cd__accepted_unref(p->k.blocks[i]);
        }
        cd_kv_batch_fini(&p->batch);
        cd_free(p);
    }
}

void cd__run_plan_put(const cd__run_plan *p, cd_kv_batch *batch)
{
    cd_kv_batch_append(batch, &p->batch);
}

void cd__run_plan_install(cd_chain *c, cd__run_plan *p)
{
    keeper *k = &p->k;
    u64 head = cd_chain_head(c)->header.number;
    for (usize i = 0; i < k->hash_cnt; i++) {
        cd__chain_remember(c, k->hashes_from + i, &k->hashes[i]);
    }
    c->recent_from = cd_max_u64(c->recent_from, k->hashes_from > head + 1 ? k->hashes_from : 0);
    for (usize i = 0; i < k->block_cnt; i++) {
        if (i == 0 && k->blocks_from != head + 1) {
            cd__views_restart(&c->views, k->blocks[i]);
        } else {
            cd__views_push(&c->views, k->blocks[i]);
        }
    }
    k->block_cnt = 0; /* they are the views' */
}

/* Nothing that a block's rules depend on changes between two times. */
static bool is_uniform(const cd_chain_rules *r, u64 from, u64 to)
{
    cd_schedule_it it = cd_schedule_changes(r->schedule, &from, to);
    bool same = r->layout != CD_HEADER_C && !cd_schedule_next(&it) && !cd_chain_rules_is_granite(r, to) &&
                cd_chain_rules_fork(r, 0, from) == cd_chain_rules_fork(r, 0, to) &&
                cd_chain_rules_fork(r, 0, from) >= CD_SHANGHAI;
    for (usize i = 0; same && i < r->upgrades.state_cnt; i++) {
        u64 at = r->upgrades.states[i].time;
        same = at <= from || at > to;
    }
    return same;
}

/* The header of an empty block on the head; the state it leaves is the present one. */
static cd_err empty_child(cd_chain *c, cd_header *out, cd_arena *a, const cd_header_wish *wish,
                          const cd_hash32 *state_root, cd_errinfo *why)
{
    cd_buf extra = {0};
    CD_TRY(cd_chain_next_header_as(c, out, a, wish, why));
    cd_buf_put(&extra, out->extra);
    cd_predicate_results_enc(&extra, &(cd_predicate_results){0});
    out->extra = cd_arena_dup(a, cd_buf_bytes(&extra));
    cd_buf_fini(&extra);
    out->state_root = *state_root;
    out->tx_root = CD_HASH_EMPTY_TRIE;
    out->receipt_root = CD_HASH_EMPTY_TRIE;
    return CD_OK;
}

/* Fills the plan of b with a run on the head, and b with the block that ends it. */
static cd_err fill_run(cd_chain *c, cd_chain_block *b, cd_run *run, const cd_header_wish *wish, cd_errinfo *why)
{
    cd_header first;
    cd_child_rules child;
    cd_run_header at;
    cd_accepted last;
    cd_hash32 root;
    CD_TRY(cd_world_apply(c->world, &b->view, &root, NULL, c->st, why));
    CD_TRY(cd_chain_child(c, &child));
    CD_TRY(empty_child(c, &first, &b->arena, wish, &root, why));
    run->fee = child.fee;
    cd_run_put(&b->run->batch, &at, run, &first, c->rules.layout, keep, &b->run->k);
    cd_run_step(&at, run, c->rules.layout);
    cd_accepted_of_run(&last, &b->arena, c->rules.layout, &at);
    b->block = last.block;
    b->rlp = last.rlp;
    b->dev.chosen = wish->gas_limit != 0 ? CD_DEV_GAS_LIMIT : 0;
    return CD_OK;
}

cd_err cd_chain_build_run(cd_chain *c, cd_chain_block **out, u64 cnt, u64 interval, const cd_header_wish *wish,
                          cd_errinfo *why)
{
    cd_chain_source src;
    u64 parent = cd_chain_head(c)->header.number;
    u64 span;
    CD_ASSERT(c->rules.is_dev && cnt >= 2);
    if (__builtin_mul_overflow(cnt, interval, &span) || !cd_add_u64(&span, span, wish->time)) {
        return cd_fail(why, CD_EINVAL, "the last block's timestamp would be beyond 64 bits");
    }
    if (!is_uniform(&c->rules, cd_chain_head(c)->header.time, span)) {
        return cd_fail(why, CD_EUNSUPPORTED, "the rules change on the way");
    }
    cd_run run = {.first = parent + 1, .last = parent + cnt - 1, .interval = interval};
    cd_chain_block *b = cd__chain_block_new(c);
    b->run = cd_new(cd__run_plan);
    b->run->k = (keeper){
        .c = c,
        .blocks_from = cd_max_u64(run.first, parent + cnt - cd_min_u64(cnt, CD__VIEW_RECENT - 1)),
        .hashes_from = cd_max_u64(run.first, parent + cnt - cd_min_u64(cnt, CD__BLOCKHASH_REACH)),
    };
    cd_kv_batch_for(&b->run->batch, c->cfg.kv);
    cd_chain_source_init(&src, c, NULL);
    cd_state_reset(c->st, &src.world.src);
    cd_err e = fill_run(c, b, &run, wish, why);
    cd_world_source_fini(&src.world);
    if (e != CD_OK) {
        cd_chain_drop(c, b);
        return e;
    }
    *out = b;
    return CD_OK;
}

static cd_err accept_own(cd_chain *c, cd_chain_block *b, cd_errinfo *why)
{
    cd_err e = cd_chain_accept(c, b, why);
    cd_chain_drop(c, b);
    return e;
}

static cd_err mine_one(cd_chain *c, const cd_header_wish *wish, cd_errinfo *why)
{
    cd_chain_block *b;
    CD_TRY(cd_chain_build_as(c, &b, NULL, &(cd_build_cfg){.wish = *wish, .may_be_empty = true}, why));
    return accept_own(c, b, why);
}

cd_err cd_chain_mine_empty(cd_chain *c, u64 cnt, u64 interval, const cd_header_wish *wish, cd_errinfo *why)
{
    CD_TRY(mine_one(c, wish, why));
    /* What was chosen for the first only does not reach further. */
    cd_header_wish lasting = {.coinbase = wish->coinbase, .gas_limit = wish->gas_limit};
    for (u64 left = cnt - 1; left != 0; left--) {
        cd_chain_block *b;
        lasting.time = cd_chain_head(c)->header.time + interval;
        cd_err e = left == 1 ? CD_EUNSUPPORTED : cd_chain_build_run(c, &b, left, interval, &lasting, why);
        if (e == CD_OK) {
            return accept_own(c, b, why);
        }
        CD_TRY(e == CD_EUNSUPPORTED ? mine_one(c, &lasting, why) : e);
    }
    return CD_OK;
}
