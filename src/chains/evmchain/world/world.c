#include "chains/evmchain/world/world.h"

#include "base/mem.h"
#include "chains/evmchain/world/world_priv.h"
#include "crypto/keccak.h"

#include <stdlib.h>

static const u8 code_prefix = 'c';

/* --- life cycle --------------------------------------------------------------------------------- */

cd_err cd_world_open(cd_world **out, const cd_world_cfg *cfg, cd_errinfo *why)
{
    cd_world *w = cd_new(cd_world);
    w->cfg = *cfg;
    w->cfg.commit_interval = cfg->commit_interval == 0 ? 4096 : cfg->commit_interval;
    w->cfg.trie_bytes = cfg->trie_bytes == 0 ? (usize)256 << 20 : cfg->trie_bytes;
    cd_hmap_init(&w->tries.storage, CD_HASH_IDENTITY, sizeof(cd_hash32), sizeof(cd_trie *));
    cd__world_cache_init(&w->cache, cfg->cache_bytes == 0 ? (usize)64 << 20 : cfg->cache_bytes);
    w->overlay = cd_overlay_new(cfg->kv);
    cd_err e = cd_flat_head_get(cfg->kv, &w->head);
    w->has_head = e == CD_OK;
    if (e == CD_ENOENT) {
        e = CD_OK;
    }
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
    cd_free(w);
}

bool cd_world_head(const cd_world *w, cd_flat_head *out)
{
    if (w->has_head) {
        *out = w->head;
    }
    return w->has_head;
}

/* --- reading ------------------------------------------------------------------------------------ */

/* Reads an account from a kv's flat table. */
static cd_err flat_account(cd_world *w, cd_kv *kv, cd_account *out, bool *found,
                           const cd_hash32 *hash)
{
    cd_buf v = {0};
    cd_err e = cd_flat_account_get(kv, &v, hash);
    *found = e == CD_OK;
    if (e == CD_OK) {
        e = cd_account_dec(out, w->cfg.form, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

static cd_err flat_slot(cd_kv *kv, cd_u256 *out, const cd_hash32 *account, const cd_hash32 *slot)
{
    cd_buf v = {0};
    cd_err e = cd_flat_slot_get(kv, &v, account, slot);
    *out = cd_u256_zero();
    if (e == CD_OK) {
        e = cd__slot_dec(out, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

/* The cache entry of an account of the accepted state, loaded if need be. */
static cd_err cached_account(cd_world *w, cd__world_cache_acct **out, const cd_addr20 *addr)
{
    cd__world_cache_acct *c = cd__world_cache_acct_at(&w->cache, addr);
    if (!c->is_used || !cd_addr20_eq(&c->addr, addr)) {
        cd__world_cache_acct fresh = {.addr = *addr, .is_used = true};
        cd_keccak256(&fresh.hash, cd_bytes_of(addr->b, 20));
        CD_TRY(flat_account(w, w->cfg.kv, &fresh.account, &fresh.found, &fresh.hash));
        *c = fresh;
    }
    *out = c;
    return CD_OK;
}

static cd_err source_account(cd_state_source *src, cd_account *out, bool *found,
                             const cd_addr20 *addr)
{
    cd_world_source *s = (cd_world_source *)src;
    if (s->view != NULL) {
        cd_hash32 hash;
        cd_keccak256(&hash, cd_bytes_of(addr->b, 20));
        return flat_account(s->world, cd__world_kv(s->world, s->view), out, found, &hash);
    }
    cd__world_cache_acct *c;
    CD_TRY(cached_account(s->world, &c, addr));
    *found = c->found;
    if (c->found) {
        *out = c->account;
    }
    return CD_OK;
}

static cd_err source_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr,
                             const cd_u256 *slot)
{
    cd_world_source *s = (cd_world_source *)src;
    cd_hash32 word;
    cd_u256_store_be(word.b, slot);
    if (s->view != NULL) {
        cd_hash32 account;
        cd_hash32 hash;
        cd_keccak256(&account, cd_bytes_of(addr->b, 20));
        cd_keccak256_32(&hash, word.b);
        return flat_slot(cd__world_kv(s->world, s->view), out, &account, &hash);
    }
    cd__world_cache_slot *c = cd__world_cache_slot_at(&s->world->cache, addr, slot);
    if (!c->is_used || !cd_addr20_eq(&c->addr, addr) || !cd_u256_eq(&c->key, slot)) {
        cd__world_cache_acct *a;
        cd__world_cache_slot fresh = {.addr = *addr, .is_used = true, .key = *slot};
        CD_TRY(cached_account(s->world, &a, addr));
        cd_keccak256_32(&fresh.hash, word.b);
        CD_TRY(flat_slot(s->world->cfg.kv, &fresh.value, &a->hash, &fresh.hash));
        *c = fresh;
    }
    *out = c->value;
    return CD_OK;
}

static cd_err source_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *code_hash)
{
    cd_world_source *s = (cd_world_source *)src;
    u8 key[33];
    cd_buf v = {0};
    key[0] = code_prefix;
    memcpy(key + 1, code_hash->b, 32);
    cd_err e = cd_kv_get(cd__world_kv(s->world, s->view), &v, cd_bytes_of(key, 33));
    if (e == CD_OK) {
        *out = cd_arena_dup(&s->code_arena, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_ECORRUPT; /* an account names this code */
    }
    cd_buf_fini(&v);
    return e;
}

static cd_err source_no_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    (void)src;
    (void)number;
    *out = (cd_hash32){0};
    return CD_OK;
}

void cd_world_source_init(cd_world_source *s, cd_world *w, cd_world_view *view)
{
    *s = (cd_world_source){
        .src =
            {
                .account = source_account,
                .storage = source_storage,
                .code = source_code,
                .block_hash = source_no_block_hash,
            },
        .world = w,
        .view = view,
    };
}

void cd_world_source_fini(cd_world_source *s)
{
    cd_arena_fini(&s->code_arena);
}

/* --- collecting a block's changes --------------------------------------------------------------- */

typedef struct collector {
    cd_world *w;
    cd_world_view *parent;
    cd_kv_batch *batch;
    cd__world_acct *accts;
    usize acct_cnt;
    usize acct_cap;
    cd__world_slot *slots;
    usize slot_cnt;
    usize slot_cap;
} collector;

static cd__world_slot *add_slot(collector *c)
{
    if (c->slot_cnt == c->slot_cap) {
        c->slot_cap = c->slot_cap == 0 ? 256 : c->slot_cap * 2;
        c->slots = cd_realloc(c->slots, c->slot_cap * sizeof *c->slots);
    }
    return &c->slots[c->slot_cnt++];
}

static cd_err collect_wiped(collector *c, const cd_hash32 *account)
{
    cd_kv_iter *it = NULL;
    CD_TRY(cd_flat_slots(&it, cd__world_kv(c->w, c->parent), account, NULL));
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd__world_slot *s = add_slot(c);
        *s = (cd__world_slot){.has_key = false};
        memcpy(s->hash.b, key.p + key.n - 32, 32);
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

static cd_err collect_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    collector *c = ctx;
    if (c->acct_cnt == c->acct_cap) {
        c->acct_cap = c->acct_cap == 0 ? 256 : c->acct_cap * 2;
        c->accts = cd_realloc(c->accts, c->acct_cap * sizeof *c->accts);
    }
    cd__world_acct *x = &c->accts[c->acct_cnt++];
    *x = (cd__world_acct){
        .addr = a->addr,
        .exists = exists,
        .slot = c->slot_cnt,
        .account =
            {
                .balance = a->balance,
                .nonce = a->nonce,
                .code_hash = a->code_hash,
                .storage_root = wiped ? CD_TRIE_EMPTY_ROOT : a->storage_root,
            },
    };
    cd__world_cache_acct *cached = cd__world_cache_acct_at(&c->w->cache, &a->addr);
    if (cached->is_used && cd_addr20_eq(&cached->addr, &a->addr)) {
        x->hash = cached->hash;
    } else {
        cd_keccak256(&x->hash, cd_bytes_of(a->addr.b, 20));
    }
    if ((a->flags & CD_ACCT_CODE_DIRTY) != 0 && exists && a->code.n != 0) {
        u8 key[33];
        key[0] = code_prefix;
        memcpy(key + 1, a->code_hash.b, 32);
        cd_kv_batch_put(c->batch, cd_bytes_of(key, 33), a->code);
    }
    return wiped ? collect_wiped(c, &x->hash) : CD_OK;
}

static cd_err collect_slot(void *ctx, const cd_acct *a, const cd_u256 *key, const cd_u256 *value)
{
    collector *c = ctx;
    cd__world_slot *s = add_slot(c);
    *s = (cd__world_slot){.key = *key, .value = *value, .has_key = true};
    cd__world_cache_slot *cached = cd__world_cache_slot_at(&c->w->cache, &a->addr, key);
    if (cached->is_used && cd_addr20_eq(&cached->addr, &a->addr) && cd_u256_eq(&cached->key, key)) {
        s->hash = cached->hash;
    } else {
        cd_hash32 word;
        cd_u256_store_be(word.b, key);
        cd_keccak256_32(&s->hash, word.b);
    }
    return CD_OK;
}

static int compare_accts(const void *x, const void *y)
{
    return memcmp(((const cd__world_acct *)x)->hash.b, ((const cd__world_acct *)y)->hash.b, 32);
}

/* A slot that was wiped and written again comes after the wiped entry of its hash. */
static int compare_slots(const void *x, const void *y)
{
    const cd__world_slot *a = x;
    const cd__world_slot *b = y;
    int c = memcmp(a->hash.b, b->hash.b, 32);
    return c != 0 ? c : (int)a->has_key - (int)b->has_key;
}

/* Sorts slots and accounts by hash and lets the last of equal slots stand. */
static void sort_changes(collector *c)
{
    for (usize i = 0; i < c->acct_cnt; i++) {
        cd__world_acct *a = &c->accts[i];
        a->slot_cnt = (i + 1 < c->acct_cnt ? c->accts[i + 1].slot : c->slot_cnt) - a->slot;
    }
    for (usize i = 0; i < c->acct_cnt; i++) {
        cd__world_acct *a = &c->accts[i];
        if (a->slot_cnt < 2) {
            continue;
        }
        cd__world_slot *s = c->slots + a->slot;
        qsort(s, a->slot_cnt, sizeof *s, compare_slots);
        usize n = 0;
        for (usize j = 0; j < a->slot_cnt; j++) {
            bool is_last = j + 1 == a->slot_cnt || !cd_hash32_eq(&s[j].hash, &s[j + 1].hash);
            if (is_last) {
                s[n++] = s[j];
            }
        }
        a->slot_cnt = n;
    }
    if (c->acct_cnt > 1) {
        qsort(c->accts, c->acct_cnt, sizeof *c->accts, compare_accts);
    }
}

static void put_flat(const cd_world *w, const cd__world_changes *ch, cd_kv_batch *batch)
{
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        u8 enc[CD_ACCOUNT_RLP_MAX];
        usize n = a->exists ? cd_account_enc(enc, &a->account, w->cfg.form) : 0;
        cd_flat_account_put(batch, &a->hash, cd_bytes_of(enc, n));
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            u8 value[33];
            n = cd__slot_enc(value, &ch->slots[j].value);
            cd_flat_slot_put(batch, &a->hash, &ch->slots[j].hash, cd_bytes_of(value, n));
        }
    }
}

cd_err cd_world_apply(cd_world *w, cd_world_view **out, cd_hash32 *root, cd_world_view *parent,
                      cd_state *st, cd_errinfo *why)
{
    cd_world_view *view = NULL;
    cd_kv_batch_clear(&w->scratch);
    collector c = {.w = w, .parent = parent, .batch = &w->scratch};
    cd_state_visitor visitor = {.ctx = &c, .acct = collect_acct, .slot = collect_slot};

    cd_err e = cd__tries_move(w, parent, why);
    if (e != CD_OK) {
        goto out;
    }
    e = cd_state_changes(st, &visitor);
    if (e != CD_OK) {
        goto out;
    }
    sort_changes(&c);
    view = cd_new(cd_world_view);
    view->parent = parent;
    view->changes.acct_cnt = c.acct_cnt;
    view->changes.slot_cnt = c.slot_cnt;
    if (c.acct_cnt != 0) {
        cd_bytes accts = cd_bytes_of(c.accts, c.acct_cnt * sizeof *c.accts);
        view->changes.accts = memcpy(cd_arena_alloc(&view->arena, accts.n), accts.p, accts.n);
    }
    if (c.slot_cnt != 0) {
        cd_bytes slots = cd_bytes_of(c.slots, c.slot_cnt * sizeof *c.slots);
        view->changes.slots = memcpy(cd_arena_alloc(&view->arena, slots.n), slots.p, slots.n);
    }
    e = cd_overlay_begin(w->overlay, &view->layer, parent == NULL ? NULL : parent->layer);
    if (e != CD_OK) {
        goto out;
    }
    e = cd__tries_apply(w, &view->changes, root, why);
    if (e == CD_OK) {
        put_flat(w, &view->changes, &w->scratch);
        e = cd_kv_commit(cd_layer_kv(view->layer), &w->scratch, CD_KV_NOSYNC, why);
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
    cd_free(c.accts);
    cd_free(c.slots);
    return e;
}

/* --- accepting and dropping --------------------------------------------------------------------- */

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

cd_err cd_world_accept(cd_world *w, cd_world_view *view, const cd_kv_batch *extra,
                       const cd_flat_head *head, cd_kv_sync sync, cd_errinfo *why)
{
    CD_ASSERT(view->parent == NULL);
    /* What the tries stand at must not be swept away below. */
    if (!stands_on(w->tries.at, view)) {
        CD_TRY(cd__tries_move(w, view, why));
    }
    cd_kv_batch_clear(&w->scratch);
    cd_flat_head_put(&w->scratch, head);
    cd__journal_put(&w->scratch, head->height, &view->changes);
    if (extra != NULL) {
        cd_kv_batch_append(&w->scratch, extra);
    }
    CD_TRY(cd_layer_flatten(view->layer, &w->scratch, sync, why));
    w->head = *head;
    w->has_head = true;
    if (w->tries.at == view) {
        w->tries.at = NULL;
    }
    cd__world_cache_update(&w->cache, &view->changes);
    sweep(w, view);
    bool is_due =
        !w->tries.has_flushed || head->height - w->tries.flushed_height >= w->cfg.commit_interval;
    if (w->tries.at == NULL && (is_due || cd__tries_mem(w) > w->cfg.trie_bytes)) {
        return cd_world_flush(w, why);
    }
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

cd_err cd_world_flush(cd_world *w, cd_errinfo *why)
{
    if (!w->has_head) {
        return CD_OK;
    }
    CD_TRY(cd__tries_move(w, NULL, why));
    cd_kv_batch_clear(&w->scratch);
    cd_err e = cd__tries_flush(w, &w->scratch);
    if (e == CD_OK) {
        e = cd_kv_commit(w->cfg.kv, &w->scratch, CD_KV_NOSYNC, why);
    }
    if (e != CD_OK) {
        cd__tries_close(w);
        return e;
    }
    w->tries.flushed_height = w->head.height;
    w->tries.has_flushed = true;
    usize mem = cd__tries_mem(w);
    if (mem > w->cfg.trie_bytes / 2) {
        cd__tries_close(w);
    }
    return CD_OK;
}
