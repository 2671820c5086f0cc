/* The life of the index: told by the chain of every block, and a thread that folds what was told into rows, and
 * catches up with blocks that it was not told of.
 *
 * A cut of the chain is announced first, waits until nothing is being written, and then takes its blocks out; the
 * thread begins again with a view that knows of the cut. So no row comes behind the removal of its block. */
#include "explorer/index.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/core/dev/cuts.h"
#include "chains/evmchain/core/dev/run.h"
#include "chains/evmchain/feed/cursor.h"
#include "chains/evmchain/tracers/replay.h"
#include "explorer/index_priv.h"

enum {
    BATCH_BYTES = 128 << 10, /* a commit of the thread holds up one of the executor's for as long as it takes */
    TRANSFER_GAS = 21000,
    FOLD_BLOCKS = 16, /* so many wait, or so long, before they are folded */
    FOLD_MS = 500,
    CUT_MS = 5,
};

static const u64 TELL_NS = 5 * CD_NS_PER_SEC;

struct cd_index {
    cd_index_cfg cfg;
    cd_chain_index hook;
    cd__ix_writer w; /* the executor's */
    cd_thread thread;
    bool has_thread;
    cd__ix_upto upto; /* the executor's */
    cd_mutex lock;    /* protects the rest */
    cd_cond written;
    cd_cond wake;
    bool is_writing;
    bool is_stopping;
    u64 waiting;   /* blocks whose entries are still to be folded into the lists */
    u64 cuts;      /* how often the chain was cut (blocks taken back) */
    u64 cut_epoch; /* views up to this epoch do not know of the last */
    u64 goal;      /* the highest block that was accepted without the index */
    cd__ix_state s;
};

/* --- with the chain --- */

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
    cd_mutex_lock(&x->lock);
    x->goal = e == CD_OK ? x->goal : height; /* the thread reads it from the chain */
    if (++x->waiting == FOLD_BLOCKS) {
        cd_cond_wake_one(&x->wake);
    }
    cd_mutex_unlock(&x->lock);
    x->upto = (cd__ix_upto){.top = height, .epoch = epoch_now(x)};
    cd__ix_upto_put(batch, &x->upto);
}

static void cut(void *ctx, cd_kv_batch *batch, u64 height)
{
    cd_index *x = ctx;
    u64 epoch = epoch_now(x);
    cd_mutex_lock(&x->lock);
    x->cuts++;
    x->cut_epoch = epoch;
    while (x->is_writing) {
        cd_cond_wait(&x->written, &x->lock);
    }
    x->goal = cd_min_u64(x->goal, height);
    x->s.done = cd_min_u64(x->s.done, height);
    cd__ix_state now = x->s;
    cd_mutex_unlock(&x->lock);
    x->upto = (cd__ix_upto){.top = cd_min_u64(x->upto.top, height), .epoch = epoch + 1};
    cd__ix_state_put(batch, &now);
    cd__ix_upto_put(batch, &x->upto);
}

static void del(void *ctx, cd_kv_batch *batch, const cd_chain_entry *b)
{
    cd_index *x = ctx;
    cd_err e = cd__ix_del(&x->w, batch, b);
    if (e != CD_OK) {
        cd_log_error(x->cfg.log, "a block that was taken back stays in the index",
                     CD_F("height", b->block->header.number), CD_F_ERR("error", e));
    }
}

static void end(void *ctx)
{
    cd_index *x = ctx;
    cd_mutex_lock(&x->lock);
    x->is_stopping = true;
    cd_cond_wake_one(&x->wake);
    cd_mutex_unlock(&x->lock);
    if (x->has_thread) {
        cd_thread_join(&x->thread);
        x->has_thread = false;
    }
}

/* --- the thread --- */

/* What the thread does in one go. */
typedef struct stretch {
    cd_index *x;
    cd__ix_writer *w;
    cd_transfers *t;
    cd_view *view;
    cd_kv_batch batch;
    u64 height; /* the height up to which blocks are done */
    u64 goal;
    u64 cuts;     /* the number of cuts when the stretch began */
    u32 pause_ms; /* until the next, if there is not enough to do */
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

/* Reads a block that the index was not told of. */
static cd_err read_block(stretch *s, u64 number)
{
    cd_arena a = {0};
    const cd_accepted *b;
    cd_err e = cd_view_block(s->view, &b, &a, number);
    if (e == CD_OK && b->block.tx_cnt != 0) {
        e = trace(s, b);
        if (e == CD_OK) {
            const cd_chain_entry entry = {
                .block = &b->block,
                .receipts = b->receipts,
                .transfers = s->t->v,
                .transfer_cnt = s->t->cnt,
            };
            e = cd__ix_put_rows(s->w, &s->batch, &entry);
        }
    }
    cd_arena_fini(&a);
    return e;
}

/* Writes the rows of the block behind height, or steps over the run of empty blocks that begins there. */
static cd_err step(stretch *s)
{
    cd_kv *kv = cd_view_kv(s->view);
    cd_hash32 hash;
    cd_run run;
    u64 n = s->height + 1;
    if (n < cd_view_floor(s->view)) {
        /* Of blocks before the one to which the state was synced nobody knows what they came to. */
        s->height = cd_view_floor(s->view) - 1;
        s->traced_from = s->height + 1;
        return CD_OK;
    }
    cd_err e = cd__ix_fold(s->w, &s->batch, kv, n);
    if (e == CD_ENOENT) {
        e = cd_chaindb_hash(kv, &hash, n);
        if (e == CD_ENOENT) {
            CD_TRY(cd_run_find(kv, &run, n));
            s->height = run.last;
            return CD_OK;
        }
        e = e != CD_OK ? e : read_block(s, n);
    }
    s->height = n;
    return e;
}

static bool must_stop(cd_index *x)
{
    cd_mutex_lock(&x->lock);
    bool stop = x->is_stopping;
    cd_mutex_unlock(&x->lock);
    return stop;
}

/* Commits what was gathered, unless the chain was cut meanwhile. */
static cd_err commit(stretch *s)
{
    cd_index *x = s->x;
    cd_mutex_lock(&x->lock);
    if (s->cuts != x->cuts) {
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
    if (e == CD_OK && s->height <= s->goal && x->cfg.refresh != NULL) {
        x->cfg.refresh(x->cfg.refresh_ctx);
    }
    return e;
}

/* Goes on from what is done, as far as a batch takes it. */
static cd_err stretch_run(stretch *s)
{
    cd_index *x = s->x;
    cd_mutex_lock(&x->lock);
    u64 cut_epoch = x->cut_epoch;
    cd_kv_batch_for(&s->batch, x->cfg.kv);
    s->cuts = x->cuts;
    s->height = x->s.done;
    s->goal = x->goal;
    s->traced_from = x->s.traced_from;
    cd_mutex_unlock(&x->lock);
    s->view = cd_view_newest(x->cfg.chain);
    u64 head = cd_view_head(s->view)->block.header.number;
    bool is_stale = s->cuts != 0 && cd_view_epoch(s->view) <= cut_epoch;
    u64 from = s->height;
    cd_err e = CD_OK;
    s->pause_ms = is_stale ? CUT_MS : FOLD_MS;
    while (e == CD_OK && !is_stale && s->height < head && s->batch.rec.n < BATCH_BYTES && !must_stop(x)) {
        e = step(s);
    }
    s->pause_ms = !is_stale && s->height < head ? 0 : s->pause_ms;
    e = e == CD_OK && s->height != from ? commit(s) : e;
    cd_view_unref(s->view);
    cd_kv_batch_clear(&s->batch);
    return e;
}

/* Waits until there is enough to do, or for a while; false: it is over. */
static bool wait_for_work(cd_index *x, u32 ms)
{
    cd_mutex_lock(&x->lock);
    if (!x->is_stopping && ms != 0 && x->waiting < FOLD_BLOCKS) {
        (void)cd_cond_wait_ms(&x->wake, &x->lock, ms);
    }
    x->waiting = 0;
    bool goes_on = !x->is_stopping;
    cd_mutex_unlock(&x->lock);
    return goes_on;
}

static void run(void *arg)
{
    cd_index *x = arg;
    cd__ix_writer w;
    stretch s = {.x = x, .w = &w, .t = cd_new(cd_transfers)};
    u64 told = cd_clock_mono_ns(cd_clock_real());
    cd_err e = CD_OK;
    cd__ix_writer_init(&w, x->cfg.kv);
    cd_transfers_init(s.t);
    while (e == CD_OK && wait_for_work(x, s.pause_ms)) {
        e = stretch_run(&s);
        u64 now = cd_clock_mono_ns(cd_clock_real());
        if (s.height < s.goal && now - told >= TELL_NS) {
            told = now;
            cd_log_info(x->cfg.log, "indexing", CD_F("chain", "C"), CD_F("height", s.height), CD_F("head", s.goal));
        }
    }
    if (e != CD_OK) {
        cd_log_error(x->cfg.log, "the index stops here", CD_F("chain", "C"), CD_F("height", s.height),
                     CD_F_ERR("error", e));
    }
    cd_transfers_fini(s.t);
    cd_free(s.t);
    cd_kv_batch_fini(&s.batch);
    cd__ix_writer_fini(&w);
}

/* --- opening --- */

/* Removes every row. */
static cd_err wipe(cd_kv *kv, cd_errinfo *why)
{
    static const u8 prefix = CD__IX_PREFIX;
    cd_kv_batch batch = {0};
    cd_err e = CD_OK;
    bool has_more = true;
    cd_kv_batch_for(&batch, kv);
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
    if (!is_usable || x->cfg.is_anew) {
        x->s = (cd__ix_state){0};
        x->upto = (cd__ix_upto){0};
        CD_TRY(wipe(kv, why));
    }
    x->upto.epoch = epoch_now(x);
    x->upto.top = cd_max_u64(x->upto.top, x->goal); /* the thread gets there */
    cd_kv_batch_for(&batch, kv);
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
    x->goal = cd_view_head(v)->block.header.number;
    x->hook = (cd_chain_index){.put = put, .del = del, .cut = cut, .end = end, .wants_transfers = true, .ctx = x};
    cd_view_unref(v);
    cd_mutex_init(&x->lock);
    cd_cond_init(&x->written);
    cd__ix_writer_init(&x->w, cfg->kv);
    cd_cond_init(&x->wake);
    cd_err e = resume(x, why);
    if (e == CD_OK) {
        e = cd_thread_start(&x->thread, "index", run, x, why);
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
    cd_cond_fini(&x->wake);
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
        .is_whole = s.done >= x->goal,
        .done = s.done,
        .goal = x->goal,
        .traced_from = s.traced_from,
    };
    cd_mutex_unlock(&x->lock);
    return CD_OK;
}
