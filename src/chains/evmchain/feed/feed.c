/* The feed's life: streams come from the home thread, are told by the feed's, and go back home to be freed. */
#include "chains/evmchain/feed/feed.h"

#include "base/mem/mem.h"
#include "chains/evmchain/feed/feed_priv.h"
#include "chains/evmchain/feed/render.h"
#include "crypto/hash/keccak.h"

#define WANT_BYTES_MAX ((usize)32 << 20)

/* --- streams --- */

/* Nobody needs s any more; the lock is held. */
static void die(cd__stream *s)
{
    cd_feed *f = s->feed;
    if (s->is_dead) {
        return;
    }
    s->is_dead = true;
    if (s->is_shared) {
        (void)cd_hmap_del(&f->shared, &s->key);
    }
    cd_list_push_back(&f->dead, &s->dead_link);
    f->has_news = true;
    cd_cond_wake_one(&f->wake);
}

void cd__feed_idle(cd__stream *s)
{
    cd_mutex_lock(&s->feed->lock);
    if (s->moves == 0) {
        die(s);
    }
    cd_mutex_unlock(&s->feed->lock);
}

static void on_idle(void *ctx, cd_rpc_topic *t)
{
    (void)t;
    cd__feed_idle(ctx);
}

static void on_drained(void *ctx, cd_rpc_topic *t)
{
    (void)t;
    cd_feed_news(((cd__stream *)ctx)->feed);
}

static const cd_rpc_topic_events stream_events = {.idle = on_idle, .drained = on_drained};

static usize want_bytes(const cd_log_criteria *want)
{
    return want == NULL ? 0 : cd_log_criteria_size(want);
}

static void stream_free(void *ctx)
{
    cd__stream *s = ctx;
    cd_mutex_lock(&s->feed->lock);
    s->feed->want_bytes -= want_bytes(s->row.want);
    cd_mutex_unlock(&s->feed->lock);
    cd_rpc_topic_unref(s->topic);
    cd_arena_fini(&s->arena);
    cd_free(s);
}

/* The streams it serves are equal, but for where they begin. */
static void key_of(cd_hash32 *out, const cd_feed_wish *wish)
{
    cd_buf text = {0};
    cd_buf_u8(&text, (u8)wish->kind);
    cd_buf_u8(&text, wish->is_full);
    cd_buf_u8(&text, wish->with_cursor);
    if (wish->want != NULL) {
        cd_log_criteria_enc(&text, wish->want);
    }
    cd_keccak256(out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static cd__stream *stream_new(cd_feed *f, const cd_feed_wish *wish, const cd_hash32 *key)
{
    cd__stream *s = cd_new(cd__stream);
    s->feed = f;
    s->kind = wish->kind;
    s->is_full = wish->is_full;
    s->with_cursor = wish->with_cursor;
    s->key = *key;
    s->at = wish->start;
    s->topic = cd_rpc_topic_new(f->cfg.home, &stream_events, s);
    if (wish->want != NULL) {
        cd_log_criteria_dup(&s->want, &s->arena, wish->want);
    }
    s->row.want = &s->want;
    cd_list_init(&s->link);
    cd_list_init(&s->dead_link);
    return s;
}

/* --- the thread --- */

static void run(void *arg)
{
    cd_feed *f = arg;
    bool has_more = false;
    for (;;) {
        cd_mutex_lock(&f->lock);
        while (!f->is_stopping && !f->has_news && !has_more) {
            cd_cond_wait(&f->wake, &f->lock);
        }
        f->has_news = false;
        bool must_stop = f->is_stopping;
        cd__feed_adopt(f);
        cd_mutex_unlock(&f->lock);
        cd__feed_bury(f);
        if (must_stop) {
            return;
        }
        has_more = cd__feed_round(f);
    }
}

void cd__feed_adopt(cd_feed *f)
{
    cd_list_each_safe(it, &f->starting)
    {
        cd_list_del(it);
        cd_list_push_back(&f->behind, it);
    }
}

/* A dead stream may still be called from home for what was published to it before: it ends behind that. */
static void bury(cd_feed *f, cd__stream *s)
{
    if (s->is_live) {
        switch (s->kind) {
        case CD_STREAM_HEADS:
            f->heads[s->with_cursor] = NULL;
            break;
        case CD_STREAM_TXS:
            f->txs[s->is_full][s->with_cursor] = NULL;
            break;
        case CD_STREAM_LOGS:
            cd__match_del(&f->logs, &s->row);
            break;
        }
    }
    cd_list_del(&s->link);
    cd_rpc_topic_after(s->topic, stream_free, s);
}

void cd__feed_bury(cd_feed *f)
{
    for (;;) {
        cd_mutex_lock(&f->lock);
        cd_list *it = cd_list_first(&f->dead);
        if (it != NULL) {
            cd_list_del(it);
        }
        cd_mutex_unlock(&f->lock);
        if (it == NULL) {
            return;
        }
        bury(f, cd_list_of(it, cd__stream, dead_link));
    }
}

/* --- joining --- */

cd_err cd_feed_join(cd_feed *f, cd_rpc_topic **out, const cd_feed_wish *wish, cd_errinfo *why)
{
    cd_hash32 key;
    cd_err e = CD_OK;
    key_of(&key, wish);
    cd_mutex_lock(&f->lock);
    if (!f->has_thread) {
        e = cd_thread_start(&f->thread, "feed", run, f, why);
        f->has_thread = e == CD_OK;
    }
    if (e == CD_OK) {
        cd__stream **shared = wish->is_private ? NULL : cd_hmap_get(&f->shared, &key);
        cd__stream *s = shared == NULL ? NULL : *shared;
        if (s == NULL && f->want_bytes + want_bytes(wish->want) > WANT_BYTES_MAX) {
            cd_mutex_unlock(&f->lock);
            return cd_fail(why, CD_ELIMIT, "the filters of all subscriptions are too large together");
        }
        if (s == NULL) {
            s = stream_new(f, wish, &key);
            f->want_bytes += want_bytes(s->row.want);
            s->is_shared = !wish->is_private;
            if (s->is_shared) {
                *(cd__stream **)cd_hmap_put(&f->shared, NULL, &key) = s;
            }
            cd_list_push_back(&f->starting, &s->link);
            f->has_news = true;
            cd_cond_wake_one(&f->wake);
        }
        *out = cd_rpc_topic_ref(s->topic);
    }
    cd_mutex_unlock(&f->lock);
    return e;
}

/* --- life --- */

static void on_pending_idle(void *ctx, cd_rpc_topic *t)
{
    cd_feed *f = ctx;
    atomic_store(&f->is_pending_wanted[t == f->pending[1]], false);
}

static const cd_rpc_topic_events pending_events = {.idle = on_pending_idle};

cd_feed *cd_feed_new(const cd_feed_cfg *cfg)
{
    cd_feed *f = cd_new(cd_feed);
    f->cfg = *cfg;
    cd_mutex_init(&f->lock);
    cd_cond_init(&f->wake);
    cd_hmap_init(&f->shared, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(cd__stream *));
    cd_list_init(&f->starting);
    cd_list_init(&f->dead);
    cd_list_init(&f->behind);
    cd_list_init(&f->live);
    cd_list_init(&f->gone);
    cd__match_init(&f->logs);
    for (usize i = 0; i < CD_COUNT(f->pending) && cfg->home != NULL; i++) {
        f->pending[i] = cd_rpc_topic_new(cfg->home, &pending_events, f);
    }
    return f;
}

cd_rpc_topic *cd_feed_pending_topic(cd_feed *f, bool is_full)
{
    atomic_store(&f->is_pending_wanted[is_full], true);
    return cd_rpc_topic_ref(f->pending[is_full]);
}

static void feed_free(void *ctx)
{
    cd_feed *f = ctx;
    for (usize i = 0; i < CD_COUNT(f->pending); i++) {
        cd_rpc_topic_unref(f->pending[i]);
    }
    cd__match_fini(&f->logs);
    cd_hmap_fini(&f->shared);
    cd_arena_fini(&f->blocks.arena);
    cd_cond_fini(&f->wake);
    cd_mutex_fini(&f->lock);
    cd_free(f);
}

static void bury_all(cd_feed *f, cd_list *list)
{
    cd_list_each_safe(it, list)
    {
        bury(f, cd_list_of(it, cd__stream, link));
    }
}

void cd_feed_close(cd_feed *f)
{
    if (f == NULL) {
        return;
    }
    if (f->has_thread) {
        cd_mutex_lock(&f->lock);
        f->is_stopping = true;
        cd_cond_wake_all(&f->wake);
        cd_mutex_unlock(&f->lock);
        cd_thread_join(&f->thread);
        bury_all(f, &f->starting);
        bury_all(f, &f->behind);
        bury_all(f, &f->live);
        bury_all(f, &f->gone);
    }
    if (f->cfg.home == NULL) {
        feed_free(f);
    } else {
        cd_rpc_topic_after(f->pending[0], feed_free, f);
    }
}

void cd_feed_news(cd_feed *f)
{
    if (f == NULL) {
        return;
    }
    cd_mutex_lock(&f->lock);
    f->has_news = true;
    cd_cond_wake_one(&f->wake);
    cd_mutex_unlock(&f->lock);
}

void cd_feed_pending(cd_feed *f, const cd_pool_tx *t)
{
    if (f == NULL) {
        return;
    }
    for (usize i = 0; i < CD_COUNT(f->pending); i++) {
        if (atomic_load_explicit(&f->is_pending_wanted[i], memory_order_relaxed)) {
            cd_rpc_topic_publish(f->pending[i], cd__note_pending(&t->tx, i == 1));
        }
    }
}
