#include "chains/evmchain/core/world/world.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"

/* Entries of history that an accept deletes beyond twice those it adds, at most and about: what an archive that became
 * a pruned store has in excess goes away a little with every block. */
enum { PRUNE_STEP = 4096 };

static const u64 edit_mask = ((u64)1 << CD_WORLD_EDIT_BITS) - 1;

/* --- life cycle --- */

static cd_err load(cd_world *w, cd_errinfo *why)
{
    cd_err e = cd_flat_head_get(w->cfg.kv, &w->head);
    if (e == CD_ENOENT) {
        return CD_OK;
    }
    CD_TRY(e);
    w->has_head = true;
    e = cd__marks_get(w->cfg.kv, &w->marks);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_ECORRUPT, "the state has a head but no version");
    }
    return e;
}

cd_err cd_world_open(cd_world **out, const cd_world_cfg *cfg, cd_errinfo *why)
{
    cd_world *w = cd_new(cd_world);
    w->cfg = *cfg;
    w->cfg.commit_interval = cfg->commit_interval == 0 ? 4096 : cfg->commit_interval;
    w->cfg.trie_bytes = cfg->trie_bytes == 0 ? (usize)256 << 20 : cfg->trie_bytes;
    w->cfg.cache_bytes = cfg->cache_bytes == 0 ? (usize)64 << 20 : cfg->cache_bytes;
    cd_hmap_init(&w->tries.storage, CD_HASH_IDENTITY, sizeof(cd_hash32), sizeof(cd_trie *));
    cd__world_cache_init(&w->cache, w->cfg.cache_bytes);
    w->overlay = cd_overlay_new(cfg->kv);
    cd_err e = load(w, why);
    if (e == CD_OK) {
        e = cd__tries_move(w, NULL, why);
    }
    if (e != CD_OK) {
        cd_world_close(w);
        return e;
    }
    *out = w;
    return CD_OK;
}

static void view_free(cd_world_view *v)
{
    cd_arena_fini(&v->arena);
    cd_free(v);
}

void cd_world_close(cd_world *w)
{
    if (w == NULL) {
        return;
    }
    while (w->views != NULL) {
        cd_world_view *v = w->views;
        w->views = v->next;
        view_free(v);
    }
    cd__tries_close(w);
    cd_hmap_fini(&w->tries.storage);
    cd_overlay_free(w->overlay);
    cd__world_cache_fini(&w->cache);
    cd_kv_batch_fini(&w->scratch);
    cd_kv_batch_fini(&w->layer_batch);
    cd_free(w);
}

bool cd_world_head(const cd_world *w, cd_flat_head *out)
{
    if (w->has_head) {
        *out = w->head;
    }
    return w->has_head;
}

u64 cd_world_version(const cd_world *w)
{
    CD_ASSERT(w->has_head);
    return w->marks.head;
}

void cd_world_stats_get(cd_world *w, cd_world_stats *out)
{
    *out = (cd_world_stats){
        .version = w->marks.head,
        .oldest = w->marks.oldest,
        .history_entries = w->marks.entries,
        .cache_bytes = cd__world_cache_bytes(&w->cache),
        .cache_hits = w->cache.hits,
        .cache_misses = w->cache.misses,
        .trie_bytes = cd__tries_mem(w),
        .trie_cnt = cd_hmap_cnt(&w->tries.storage) + (w->tries.accounts != NULL ? 1 : 0),
        .trie_lag = (w->marks.head >> CD_WORLD_EDIT_BITS) - (w->tries.flushed >> CD_WORLD_EDIT_BITS),
        .flush_failures = w->flush_failures,
        .view_cnt = cd_overlay_cnt(w->overlay),
    };
}

/* --- applying --- */

cd_err cd_world_apply(cd_world *w, cd_world_view **out, cd_hash32 *root, cd_world_view *parent, cd_state *st,
                      cd_errinfo *why)
{
    CD_TRY(cd__tries_move(w, parent, why));
    cd_kv_batch_clear(&w->layer_batch);
    cd_world_view *view = cd_new(cd_world_view);
    view->parent = parent;
    cd_err e = cd__changes_collect(w, &view->changes, &view->arena, &w->layer_batch, parent, st);
    if (e == CD_OK) {
        e = cd_overlay_begin(w->overlay, &view->layer, parent == NULL ? NULL : parent->layer);
    }
    if (e != CD_OK) {
        goto out;
    }
    e = cd__tries_apply(w, &view->changes, root, why);
    if (e == CD_OK) {
        cd__changes_put_flat(&w->layer_batch, &view->changes, w->cfg.form);
        e = cd_kv_commit(cd_layer_kv(view->layer), &w->layer_batch, CD_KV_NOSYNC, why);
    }
    if (e != CD_OK) {
        cd__tries_close(w);
        cd_layer_drop(view->layer);
        goto out;
    }
    cd_layer_seal(view->layer);
    w->tries.at = view;
    view->next = w->views;
    w->views = view;
    *out = view;
    view = NULL;
out:
    if (view != NULL) {
        view_free(view);
    }
    return e;
}

/* --- accepting --- */

static bool stands_on(const cd_world_view *v, const cd_world_view *ancestor)
{
    for (; v != NULL; v = v->parent) {
        if (v == ancestor) {
            return true;
        }
    }
    return false;
}

/* Frees every view for which keep is not an ancestor (NULL: none is kept), and keep itself; the overlay has
 * dropped their layers. */
static void sweep(cd_world *w, cd_world_view *keep)
{
    cd_world_view *kept = NULL;
    cd_world_view *gone = NULL;
    while (w->views != NULL) {
        cd_world_view *v = w->views;
        w->views = v->next;
        bool stays = keep != NULL && v != keep && stands_on(v, keep);
        cd_world_view **list = stays ? &kept : &gone;
        v->next = *list;
        *list = v;
    }
    for (cd_world_view *v = kept; v != NULL; v = v->next) {
        if (v->parent == keep) {
            v->parent = NULL;
        }
    }
    w->views = kept;
    while (gone != NULL) {
        cd_world_view *v = gone;
        gone = v->next;
        view_free(v);
    }
}

/* The version that the acceptance of head makes. */
static cd_err next_version(const cd_world *w, u64 *out, const cd_flat_head *head, cd_errinfo *why)
{
    CD_ASSERT(head->height <= UINT64_MAX >> (CD_WORLD_EDIT_BITS + 1));
    if (!w->has_head || head->height != w->head.height) {
        CD_ASSERT(!w->has_head || head->height > w->head.height);
        *out = head->height << CD_WORLD_EDIT_BITS;
        return CD_OK;
    }
    if ((w->marks.head & edit_mask) == edit_mask) {
        return cd_fail(why, CD_ELIMIT, "too many state edits after block %llu", (unsigned long long)head->height);
    }
    *out = w->marks.head + 1;
    return CD_OK;
}

/* The lowest height whose state is kept under a head. */
static u64 kept_from(const cd_world_cfg *cfg, u64 height)
{
    u64 from = height > cfg->history ? height - cfg->history : 0;
    u64 step = cfg->summaries;
    if (step != 0 && height >= step) {
        u64 newest = height - height % step;
        from = cd_min_u64(from, newest > step ? newest - step : newest);
    }
    return from;
}

/* Appends what is kept of the past for a new version, and the deletion of what is kept no longer. */
static cd_err put_past(const cd_world *w, cd_kv_batch *batch, cd__world_marks *m, u64 version,
                       const cd__world_changes *ch)
{
    bool has_history = w->cfg.history != 0 && w->has_head;
    usize added = 0;
    cd__journal_put(batch, version, has_history, ch);
    if (has_history) {
        added = cd__history_put(batch, version, ch, w->cfg.form);
    }
    if (w->cfg.preimages) {
        cd__preimages_put(batch, ch);
    }
    *m = w->marks;
    m->head = version;
    m->entries += added;
    if (!w->has_head) {
        m->oldest = version;
        m->pruned = version;
    } else if (w->cfg.history == 0) {
        m->oldest = version;
        if (w->marks.pruned == w->marks.head) {
            m->pruned = version;
        } else {
            CD_TRY(cd__history_prune(w->cfg.kv, batch, m, version, w->tries.flushed, PRUNE_STEP));
        }
    } else if (version >> CD_WORLD_EDIT_BITS > w->cfg.history) {
        u64 target = cd_world_version_of(kept_from(&w->cfg, version >> CD_WORLD_EDIT_BITS));
        if (target > m->pruned) {
            CD_TRY(cd__history_prune(w->cfg.kv, batch, m, target, w->tries.flushed, PRUNE_STEP + 2 * added));
        }
    }
    cd__marks_put(batch, m);
    return CD_OK;
}

cd_err cd_world_accept_put(cd_world *w, cd_world_view *view, cd_kv_batch *batch, const cd_flat_head *head,
                           cd_errinfo *why)
{
    CD_ASSERT(view->parent == NULL);
    u64 version = 0;
    CD_TRY(next_version(w, &version, head, why));
    /* What the tries stand at must not be swept away once the view is accepted. */
    if (!stands_on(w->tries.at, view)) {
        CD_TRY(cd__tries_move(w, view, why));
    }
    cd_layer_export(view->layer, batch);
    cd_flat_head_put(batch, head);
    CD_TRY(put_past(w, batch, &w->put.marks, version, &view->changes));
    w->put.view = view;
    w->put.head = *head;
    return CD_OK;
}

void cd_world_accepted(cd_world *w)
{
    cd_world_view *view = w->put.view;
    CD_ASSERT(view != NULL);
    w->put.view = NULL;
    cd_layer_accept(view->layer);
    w->head = w->put.head;
    w->has_head = true;
    w->marks = w->put.marks;
    if (w->tries.at == view) {
        w->tries.at = NULL;
    }
    cd__world_cache_update(&w->cache, &view->changes);
    sweep(w, view);
    u64 flushed_height = w->tries.flushed >> CD_WORLD_EDIT_BITS;
    bool is_due = !w->tries.has_flushed || w->head.height - flushed_height >= w->cfg.commit_interval;
    if (w->tries.at == NULL && (is_due || cd__tries_mem(w) > w->cfg.trie_bytes)) {
        /* The block is accepted whatever comes of this: without it the tries catch up from further back. */
        if (cd_world_flush(w, NULL) != CD_OK) {
            w->flush_failures++;
        }
    }
}

cd_err cd_world_accept(cd_world *w, cd_world_view *view, const cd_kv_batch *extra, const cd_flat_head *head,
                       cd_kv_sync sync, cd_errinfo *why)
{
    cd_kv_batch *batch = &w->scratch;
    cd_kv_batch_for(batch, w->cfg.kv);
    CD_TRY(cd_world_accept_put(w, view, batch, head, why));
    if (extra != NULL) {
        cd_kv_batch_append(batch, extra);
    }
    CD_TRY(cd_kv_commit(w->cfg.kv, batch, sync, why));
    cd_world_accepted(w);
    return CD_OK;
}

void cd_world_drop(cd_world *w, cd_world_view *view)
{
    if (stands_on(w->tries.at, view) && cd__tries_move(w, view->parent, NULL) != CD_OK) {
        cd__tries_close(w);
    }
    cd_world_view **at = &w->views;
    cd_layer *layer = view->layer;
    cd_world_view *gone = NULL;
    while (*at != NULL) {
        cd_world_view *v = *at;
        if (stands_on(v, view)) {
            *at = v->next;
            v->next = gone;
            gone = v;
        } else {
            at = &v->next;
        }
    }
    cd_layer_drop(layer);
    while (gone != NULL) {
        cd_world_view *v = gone;
        gone = v->next;
        view_free(v);
    }
}

cd_err cd_world_reload(cd_world *w, cd_errinfo *why)
{
    cd__tries_close(w); /* first: nodes of what was there before are not looked for */
    while (w->views != NULL) {
        cd_world_view *v = w->views;
        while (v->parent != NULL) {
            v = v->parent;
        }
        cd_world_drop(w, v);
    }
    cd__world_cache_forget(&w->cache);
    w->has_head = false;
    CD_TRY(load(w, why));
    return cd__tries_move(w, NULL, why);
}

/* Appends the deletion of journal records that neither the stored tries nor the history need any more once the tries
 * are stored at version. */
static cd_err drop_journal(const cd_world *w, cd_kv_batch *batch, u64 version)
{
    cd__journal j;
    CD_TRY(cd__journal_open(&j, w->cfg.kv, w->tries.has_flushed ? w->tries.flushed + 1 : 0));
    while (cd__journal_next(&j, cd_min_u64(version, w->marks.pruned))) {
        cd__journal_del(batch, j.version);
    }
    return cd__journal_close(&j);
}

cd_err cd_world_flush(cd_world *w, cd_errinfo *why)
{
    if (!w->has_head) {
        return CD_OK;
    }
    CD_TRY(cd__tries_move(w, NULL, why));
    cd_kv_batch_for(&w->scratch, w->cfg.kv);
    cd__tries_flush(w, &w->scratch, w->marks.head);
    cd_err e = drop_journal(w, &w->scratch, w->marks.head);
    if (e == CD_OK) {
        e = cd_kv_commit(w->cfg.kv, &w->scratch, CD_KV_NOSYNC, why);
    }
    if (e != CD_OK) {
        cd__tries_close(w);
        return e;
    }
    w->tries.flushed = w->marks.head;
    w->tries.has_flushed = true;
    if (cd__tries_mem(w) > w->cfg.trie_bytes / 2) {
        cd__tries_close(w);
    }
    return CD_OK;
}

/* --- going back --- */

/* Appends to batch what takes the flat tables back to version, the removal of history and journal above included, and
 * collects the keys. */
static cd_err put_back(const cd_world *w, cd_kv_batch *batch, cd__key_list *keys, cd__world_marks *m, u64 version)
{
    cd__journal j;
    cd_hmap seen; /* the first entry above version is the one that counts */
    cd_buf v = {0};
    cd_err e = CD_OK;
    CD_TRY(cd__journal_open(&j, w->cfg.kv, version + 1));
    cd_hmap_init(&seen, CD_HASH_KEYED, sizeof(cd__flat_key), 0);
    while (e == CD_OK && cd__journal_next(&j, UINT64_MAX)) {
        usize first = keys->cnt;
        cd__journal_del(batch, j.version);
        cd__journal_hash(&j);
        cd__keys_add_record(keys, &j);
        for (usize i = first; i < keys->cnt && e == CD_OK; i++) {
            const cd__flat_key *k = &keys->keys[i];
            u8 room[CD_FLAT_KEY_MAX];
            bool is_new;
            cd_bytes key =
                k->is_slot ? cd_flat_slot_key(room, &k->account, &k->slot) : cd_flat_account_key(room, &k->account);
            (void)cd_hmap_put(&seen, &is_new, k);
            if (is_new) {
                e = cd__history_before(w->cfg.kv, &v, key, j.version);
                if (e == CD_OK) {
                    cd_kv_batch_put(batch, key, cd_buf_bytes(&v));
                } else if (e == CD_ENOENT) {
                    cd_kv_batch_del(batch, key);
                    e = CD_OK;
                }
            }
            cd__history_del(batch, key, j.version);
            m->entries--;
        }
    }
    cd_err closed = cd__journal_close(&j);
    cd_hmap_fini(&seen);
    cd_buf_fini(&v);
    return e == CD_OK ? closed : e;
}

/* The version that is the head's after going back to version: that itself, or the last edit of a height. */
static cd_err version_at(const cd_world *w, u64 *out, u64 version)
{
    u64 last = 0;
    u64 block = version & ~edit_mask;
    if (version != (block | edit_mask) || version >= w->marks.head) {
        *out = cd_min_u64(version, w->marks.head);
        return CD_OK;
    }
    cd_err e = cd__journal_last(w->cfg.kv, &last, version);
    if (e != CD_OK && e != CD_ENOENT) {
        return e;
    }
    *out = cd_max_u64(last, block);
    return CD_OK;
}

cd_err cd_world_truncate(cd_world *w, u64 version, const cd_kv_batch *extra, const cd_flat_head *head, cd_kv_sync sync,
                         cd_errinfo *why)
{
    CD_ASSERT(w->has_head && head->height == version >> CD_WORLD_EDIT_BITS);
    if (version < w->marks.oldest) {
        return cd_fail(why, CD_EMISSING, "the state of block %llu is not kept", (unsigned long long)head->height);
    }
    cd__key_list keys = {0};
    cd__world_marks m = w->marks;
    cd_layer *layer = NULL;
    cd_kv_batch *batch = &w->scratch;
    cd_kv_batch *changes = &w->layer_batch;
    cd_hash32 root;
    cd_err e = cd__tries_move(w, NULL, why);
    if (e == CD_OK) {
        e = version_at(w, &m.head, version);
    }
    if (e == CD_OK) {
        cd_kv_batch_clear(changes);
        e = put_back(w, changes, &keys, &m, m.head);
    }
    if (e == CD_OK) {
        e = cd_overlay_begin(w->overlay, &layer, NULL);
    }
    if (e == CD_OK) {
        e = cd_kv_commit(cd_layer_kv(layer), changes, CD_KV_NOSYNC, why);
    }
    if (e == CD_OK) {
        cd__keys_sort(&keys);
        e = cd__tries_set(w, &keys, cd_layer_kv(layer), why);
    }
    if (e != CD_OK) {
        goto out;
    }
    cd_trie_root(w->tries.accounts, &root);
    if (!cd_hash32_eq(&root, &head->root)) {
        e = cd_fail(why, CD_ECORRUPT, "state of block %llu does not have the recorded root",
                    (unsigned long long)head->height);
        goto out;
    }
    m.oldest = cd_min_u64(m.oldest, m.head);
    m.pruned = cd_min_u64(m.pruned, m.head);
    cd_kv_batch_for(batch, w->cfg.kv);
    bool is_ahead = w->tries.flushed > m.head;
    if (is_ahead) {
        /* Stored tries are never ahead of the head: they go back in the same batch. */
        cd__tries_flush(w, batch, m.head);
    }
    cd_flat_head_put(batch, head);
    cd__marks_put(batch, &m);
    if (extra != NULL) {
        cd_kv_batch_append(batch, extra);
    }
    e = cd_layer_flatten(layer, batch, sync, why);
    if (e == CD_OK) {
        layer = NULL;
        sweep(w, NULL);
        cd__world_cache_forget(&w->cache);
        w->head = *head;
        w->marks = m;
        w->tries.flushed = is_ahead ? m.head : w->tries.flushed;
    }
out:
    if (e != CD_OK) {
        cd__tries_close(w);
    }
    if (layer != NULL) {
        cd_layer_drop(layer);
    }
    cd_free(keys.keys);
    return e;
}
