/* The life of the index: told by the chain of every block, and a thread that catches up with those it was not told of.
 *
 * The thread writes what lies at or below limit. A cut of the chain lowers limit first, waits until nothing is being written,
 * and then takes its blocks out: so no row comes behind the removal of its block. */
#include "explorer/index.h"

#include "base/mem.h"
#include "base/thread.h"
#include "chains/evmchain/chaindb.h"
#include "chains/evmchain/feed/cursor.h"
#include "chains/evmchain/run.h"
#include "chains/evmchain/tracers/replay.h"
#include "explorer/index_priv.h"

enum { BATCH_BYTES = 1 << 20, TRANSFER_GAS = 21000 };

static const u64 TELL_NS = 5 * CD_NS_PER_SEC;

struct cd_index {
    cd_index_cfg cfg;
    cd_chain_index hook;
    cd__ix_writer w; /* the executor's */
    cd_thread thread;
    bool has_thread;
    cd_mutex lock; /* protects the rest */
    cd_cond written;
    bool is_whole;
    bool is_writing;
    bool is_stopping;
    u64 limit;
    cd__ix_state s;
    cd__ix_upto upto; /* the executor's */
};

/* --- with the chain ------------------------------------------------------------------------------------------------ */

static u64 epoch_now(cd_index *x)
{
    cd_view *v = cd_view_newest(x->cfg.chain);
    u64 epoch = cd_view_epoch(v);
    cd_view_unref(v);
    return epoch;
}

static void put(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    cd_index *x = ctx;
    u64 height = b->block->header.number;
    cd_err e = cd__ix_put(&x->w, batch, b);
    if (e != CD_OK) {
        cd_log_error(x->cfg.log, "a block is not in the index: it catches up at the next start",
                     CD_F("height", height), CD_F_ERR("error", e));
    }
    cd_mutex_lock(&x->lock);
    x->is_whole = x->is_whole && e == CD_OK;
    bool is_whole = x->is_whole;
    x->s.done = is_whole ? height : x->s.done;
    cd__ix_state now = x->s;
    cd_mutex_unlock(&x->lock);
    if (is_whole) {
        cd__ix_state_put(batch, &now);
    }
    x->upto = (cd__ix_upto){.top = height, .epoch = epoch_now(x)};
    cd__ix_upto_put(batch, &x->upto);
}

static void del(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    cd_index *x = ctx;
    u64 below = b->block->header.number - 1;
    cd_mutex_lock(&x->lock);
    x->limit = cd_min_u64(x->limit, below);
    while (x->is_writing) {
        cd_cond_wait(&x->written, &x->lock);
    }
    x->s.done = cd_min_u64(x->s.done, below);
    cd__ix_state now = x->s;
    cd_mutex_unlock(&x->lock);
    cd__ix_state_put(batch, &now);
    cd_err e = cd__ix_del(&x->w, batch, b);
    if (e != CD_OK) {
        cd_log_error(x->cfg.log, "a block that was taken back stays in the index",
                     CD_F("height", below + 1), CD_F_ERR("error", e));
    }
}

static void end(void *ctx)
{
    cd_index *x = ctx;
    cd_mutex_lock(&x->lock);
    x->is_stopping = true;
    cd_mutex_unlock(&x->lock);
    if (x->has_thread) {
        cd_thread_join(&x->thread);
        x->has_thread = false;
    }
}

/* --- catching up --------------------------------------------------------------------------------------------------- */

/* One run of rows towards the limit. */
typedef struct stretch {
    cd_index *x;
    cd__ix_writer *w;
    cd_transfers *t;
    cd_view *view;
    cd_kv_batch batch;
    u64 height; /* done so far */
    u64 limit;
    bool is_whole;
    u64 traced_from;
} stretch;

static bool may_call(const cd_accepted *b)
{
    for (usize i = 0; i < b->block.tx_cnt; i++) {
        if (b->receipts[i].gas_used > TRANSFER_GAS) {
            return true;
        }
    }
    return false;
}

/* Executes a block again to see what moved inside its transactions. */
static cd_err trace(stretch *s, const cd_accepted *b)
{
    cd_replay *r = NULL;
    cd_transfers_begin(s->t, NULL);
    cd_err e = may_call(b) ? cd_replay_new(&r, s->view, &b->block, NULL) : CD_OK;
    for (usize i = 0; r != NULL && i < b->block.tx_cnt && e == CD_OK; i++) {
        s->t->tx = (u32)i;
        e = cd_replay_watch(r, &s->t->hooks, NULL);
    }
    cd_replay_free(r);
    if (e == CD_EMISSING) {
        s->traced_from = b->block.header.number + 1;
        cd_transfers_begin(s->t, NULL);
        e = CD_OK;
    }
    return e;
}

/* Writes the rows of the block behind height, or steps over the run of empty blocks that begins there. */
static cd_err step(stretch *s)
{
    cd_arena a = {0};
    cd_kv *kv = cd_view_kv(s->view);
    cd_hash32 hash;
    cd_run run;
    const cd_accepted *b = NULL;
    u64 n = s->height + 1;
    cd_err e = cd_chaindb_hash(kv, &hash, n);
    if (e == CD_ENOENT) {
        CD_TRY(cd_run_find(kv, &run, n));
        s->height = run.last;
        return CD_OK;
    }
    e = e != CD_OK ? e : cd_view_block(s->view, &b, &a, n);
    if (e == CD_OK && b->block.tx_cnt != 0) {
        e = trace(s, b);
        if (e == CD_OK) {
            const cd_chain_entry entry = {
                .block = &b->block,
                .receipts = b->receipts,
                .transfers = s->t->v,
                .transfer_cnt = s->t->cnt,
            };
            e = cd__ix_put(s->w, &s->batch, &entry);
        }
    }
    s->height = n;
    cd_arena_fini(&a);
    return e;
}

static bool must_stop(cd_index *x)
{
    cd_mutex_lock(&x->lock);
    bool stop = x->is_stopping;
    cd_mutex_unlock(&x->lock);
    return stop;
}

/* Commits what was gathered, unless the chain went back below it meanwhile. */
static cd_err commit(stretch *s)
{
    cd_index *x = s->x;
    cd_mutex_lock(&x->lock);
    if (s->height > x->limit) {
        cd_mutex_unlock(&x->lock);
        cd__ix_writer_forget(s->w);
        return CD_OK;
    }
    x->is_writing = true;
    cd_mutex_unlock(&x->lock);
    cd__ix_state next = {.done = s->height, .traced_from = s->traced_from};
    cd__ix_state_put(&s->batch, &next);
    cd_err e = cd_kv_commit(x->cfg.kv, &s->batch, CD_KV_NOSYNC, NULL);
    cd_mutex_lock(&x->lock);
    x->is_writing = false;
    x->s = e == CD_OK ? next : x->s;
    cd_cond_wake_all(&x->written);
    cd_mutex_unlock(&x->lock);
    return e;
}

/* Goes on from what is done; nothing left to do makes the index whole. */
static cd_err stretch_run(stretch *s)
{
    cd_index *x = s->x;
    cd_mutex_lock(&x->lock);
    s->height = x->s.done;
    s->traced_from = x->s.traced_from;
    s->limit = x->limit;
    s->is_whole = s->height >= s->limit;
    x->is_whole = s->is_whole;
    cd_mutex_unlock(&x->lock);
    if (s->is_whole) {
        return CD_OK;
    }
    s->view = cd_view_newest(x->cfg.chain);
    cd_err e = CD_OK;
    while (e == CD_OK && s->height < s->limit && s->batch.rec.n < BATCH_BYTES && !must_stop(x)) {
        e = step(s);
    }
    s->height = cd_min_u64(s->height, s->limit);
    e = e == CD_OK ? commit(s) : e;
    cd_view_unref(s->view);
    cd_kv_batch_clear(&s->batch);
    if (e == CD_OK && x->cfg.refresh != NULL && !must_stop(x)) {
        x->cfg.refresh(x->cfg.refresh_ctx);
    }
    return e;
}

static void catch_up(void *arg)
{
    cd_index *x = arg;
    cd__ix_writer w;
    stretch s = {.x = x, .w = &w, .t = cd_new(cd_transfers)};
    u64 told = cd_clock_mono_ns(cd_clock_real());
    bool was_told = false;
    cd_err e;
    cd__ix_writer_init(&w, x->cfg.kv);
    cd_transfers_init(s.t);
    do {
        e = stretch_run(&s);
        u64 now = cd_clock_mono_ns(cd_clock_real());
        if (now - told >= TELL_NS) {
            told = now;
            was_told = true;
            cd_log_info(x->cfg.log, "indexing", CD_F("chain", "C"), CD_F("height", s.height),
                        CD_F("head", s.limit));
        }
    } while (e == CD_OK && !s.is_whole && !must_stop(x));
    if (e != CD_OK) {
        cd_log_error(x->cfg.log, "the index stops here", CD_F("chain", "C"),
                     CD_F("height", s.height), CD_F_ERR("error", e));
    } else if (was_told && s.is_whole) {
        cd_log_info(x->cfg.log, "the index is complete", CD_F("chain", "C"),
                    CD_F("height", s.height));
    }
    cd_transfers_fini(s.t);
    cd_free(s.t);
    cd_kv_batch_fini(&s.batch);
    cd__ix_writer_fini(&w);
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

/* Removes every row. */
static cd_err wipe(cd_kv *kv, cd_errinfo *why)
{
    static const u8 prefix = CD__IX_PREFIX;
    cd_kv_batch batch = {0};
    cd_err e = CD_OK;
    bool has_more = true;
    while (e == CD_OK && has_more) {
        cd_kv_iter *it = NULL;
        e = cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(&prefix, 1)});
        while (e == CD_OK && batch.rec.n < BATCH_BYTES && cd_kv_iter_next(it)) {
            cd_kv_batch_del(&batch, cd_kv_iter_key(it));
        }
        e = e == CD_OK ? cd_kv_iter_err(it) : e;
        cd_kv_iter_free(it);
        has_more = batch.cnt != 0;
        e = e == CD_OK && has_more ? cd_kv_commit(kv, &batch, CD_KV_NOSYNC, why) : e;
        cd_kv_batch_clear(&batch);
    }
    cd_kv_batch_fini(&batch);
    return e;
}

/* Where to go on: what was done, unless the chain was taken back below some rows while nobody told the index. */
static cd_err resume(cd_index *x, cd_errinfo *why)
{
    u64 cut;
    cd_kv *kv = x->cfg.kv;
    cd_kv_batch batch = {0};
    bool is_usable = false;
    cd_err e = cd__ix_state_read(kv, &x->s);
    e = e != CD_OK ? e : cd__ix_upto_read(kv, &x->upto);
    if (e == CD_OK) {
        e = cd_cut_since(kv, &cut, x->upto.epoch);
        is_usable = e == CD_ENOENT || (e == CD_OK && cut >= cd_max_u64(x->upto.top, x->s.done));
    }
    if (e != CD_OK && e != CD_ENOENT) {
        return cd_fail(why, e, "the index: %s", cd_err_str(e));
    }
    if (!is_usable) {
        x->s = (cd__ix_state){0};
        x->upto = (cd__ix_upto){0};
        CD_TRY(wipe(kv, why));
    }
    x->upto.epoch = epoch_now(x);
    x->upto.top = cd_max_u64(x->upto.top, x->limit); /* the thread gets there */
    cd__ix_state_put(&batch, &x->s);
    cd__ix_upto_put(&batch, &x->upto);
    e = cd_kv_commit(kv, &batch, CD_KV_NOSYNC, why);
    cd_kv_batch_fini(&batch);
    return e;
}

cd_err cd_index_open(cd_index **out, const cd_index_cfg *cfg, cd_errinfo *why)
{
    cd_index *x = cd_new(cd_index);
    cd_view *v = cd_view_newest(cfg->chain);
    x->cfg = *cfg;
    x->limit = cd_view_head(v)->block.header.number;
    x->hook =
        (cd_chain_index){.put = put, .del = del, .end = end, .wants_transfers = true, .ctx = x};
    cd_view_unref(v);
    cd_mutex_init(&x->lock);
    cd_cond_init(&x->written);
    cd__ix_writer_init(&x->w, cfg->kv);
    cd_err e = resume(x, why);
    x->is_whole = x->s.done >= x->limit;
    if (e == CD_OK && !x->is_whole) {
        e = cd_thread_start(&x->thread, "index", catch_up, x, why);
        x->has_thread = e == CD_OK;
    }
    if (e != CD_OK) {
        cd_index_free(x);
        return e;
    }
    cd_chain_add_index(cfg->chain, &x->hook);
    *out = x;
    return CD_OK;
}

void cd_index_free(cd_index *x)
{
    if (x == NULL) {
        return;
    }
    CD_ASSERT(!x->has_thread);
    cd__ix_writer_fini(&x->w);
    cd_cond_fini(&x->written);
    cd_mutex_fini(&x->lock);
    cd_free(x);
}

cd_err cd_index_state_get(cd_index *x, cd_index_state *out, cd_view *v)
{
    cd__ix_state s = {0};
    cd_err e = cd__ix_state_read(cd_view_kv(v), &s);
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    cd_mutex_lock(&x->lock);
    *out = (cd_index_state){
        .is_whole = x->is_whole && s.done >= x->limit,
        .done = s.done,
        .goal = x->limit,
        .traced_from = s.traced_from,
    };
    cd_mutex_unlock(&x->lock);
    return CD_OK;
}
