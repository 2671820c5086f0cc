/* The standing tries: moved along the tree of blocks by applying what differs in the flat tables, written out
 * every few blocks, caught up after a crash from the journal of changed keys. */
#include "base/mem.h"
#include "base/rd.h"
#include "chains/evmchain/world/world_priv.h"
#include "codec/rlp.h"

#include <stdlib.h>

static const u8 journal_prefix = 'J';
static const u8 stored_key = 'T';

cd_kv *cd__world_kv(cd_world *w, cd_world_view *view)
{
    return view == NULL ? w->cfg.kv : cd_layer_kv(view->layer);
}

usize cd__slot_enc(u8 out[33], const cd_u256 *value)
{
    u8 be[32];
    usize n = cd_u256_bytes(value);
    cd_u256_store_be(be, value);
    if (n == 0) {
        return 0;
    }
    if (n == 1 && be[31] < 0x80) {
        out[0] = be[31];
        return 1;
    }
    out[0] = (u8)(0x80 + n);
    memcpy(out + 1, be + 32 - n, n);
    return n + 1;
}

cd_err cd__slot_dec(cd_u256 *out, cd_bytes in)
{
    cd_rlp r = cd_rlp_init(in);
    cd_u256 v = cd_rlp_u256(&r);
    CD_TRY(cd_rlp_end(&r));
    *out = v;
    return CD_OK;
}

/* --- opening ------------------------------------------------------------------------------------ */

void cd__tries_close(cd_world *w)
{
    void *val;
    for (usize it = 0; cd_hmap_next(&w->tries.storage, &it, NULL, &val);) {
        cd_trie *t;
        memcpy(&t, val, sizeof t);
        cd_trie_close(t);
    }
    cd_hmap_fini(&w->tries.storage);
    cd_hmap_init(&w->tries.storage, CD_HASH_IDENTITY, sizeof(cd_hash32), sizeof(cd_trie *));
    cd_trie_close(w->tries.accounts);
    w->tries.accounts = NULL;
    w->tries.at = NULL;
}

static cd_err read_stored(cd_world *w, cd_flat_head *out, bool *found)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(w->cfg.kv, &v, cd_bytes_of(&stored_key, 1));
    *found = e == CD_OK;
    if (e == CD_OK && v.n != 40) {
        e = CD_ECORRUPT;
    } else if (e == CD_OK) {
        out->height = cd_be64(v.p);
        memcpy(out->root.b, v.p + 8, 32);
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

/* The storage trie of an account. One that is not open has not changed since the tries were written, so the root
 * in the account where the tries stand is the stored one. */
static cd_err storage_trie(cd_world *w, cd_trie **out, const cd_hash32 *account, cd_errinfo *why)
{
    cd_trie **open = cd_hmap_get(&w->tries.storage, account);
    if (open != NULL) {
        *out = *open;
        return CD_OK;
    }
    cd_account a = {.storage_root = CD_TRIE_EMPTY_ROOT};
    cd_buf v = {0};
    cd_err e = cd_flat_account_get(cd__world_kv(w, w->tries.at), &v, account);
    if (e == CD_OK) {
        e = cd_account_dec(&a, w->cfg.form, cd_buf_bytes(&v));
    } else if (e == CD_ENOENT) {
        e = CD_OK;
    }
    cd_buf_fini(&v);
    CD_TRY(e);
    CD_TRY(cd_flat_storage_trie(out, w->cfg.kv, account, &a.storage_root, CD_TRIE_BY_PATH,
                                w->cfg.pool, why));
    *(cd_trie **)cd_hmap_put(&w->tries.storage, NULL, account) = *out;
    return CD_OK;
}

/* --- changed keys ------------------------------------------------------------------------------- */

/* One key of the flat tables: an account, or one of its slots. */
typedef struct flat_key {
    cd_hash32 account;
    cd_hash32 slot;
    bool is_slot;
} flat_key;

typedef struct key_list {
    flat_key *keys;
    usize cnt;
    usize cap;
} key_list;

static void keys_add(key_list *l, const cd_hash32 *account, const cd_hash32 *slot)
{
    if (l->cnt == l->cap) {
        l->cap = l->cap == 0 ? 256 : l->cap * 2;
        l->keys = cd_realloc(l->keys, l->cap * sizeof *l->keys);
    }
    flat_key *k = &l->keys[l->cnt++];
    *k = (flat_key){.account = *account, .is_slot = slot != NULL};
    if (slot != NULL) {
        k->slot = *slot;
    }
}

static void keys_add_changes(key_list *l, const cd__world_changes *ch)
{
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        keys_add(l, &a->hash, NULL);
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            keys_add(l, &a->hash, &ch->slots[j].hash);
        }
    }
}

static int compare_keys(const void *x, const void *y)
{
    const flat_key *a = x;
    const flat_key *b = y;
    int c = memcmp(a->account.b, b->account.b, 32);
    if (c == 0) {
        c = (int)a->is_slot - (int)b->is_slot;
    }
    return c != 0 ? c : memcmp(a->slot.b, b->slot.b, 32);
}

static void keys_sort(key_list *l)
{
    if (l->cnt == 0) {
        return;
    }
    qsort(l->keys, l->cnt, sizeof *l->keys, compare_keys);
    usize n = 1;
    for (usize i = 1; i < l->cnt; i++) {
        if (compare_keys(&l->keys[n - 1], &l->keys[i]) != 0) {
            l->keys[n++] = l->keys[i];
        }
    }
    l->cnt = n;
}

/* Sets every key of the sorted list to what the flat tables of kv say. */
static cd_err set_from_flat(cd_world *w, const key_list *l, cd_kv *kv, cd_errinfo *why)
{
    cd_err e = CD_OK;
    cd_buf v = {0};
    for (usize i = 0; i < l->cnt && e == CD_OK; i++) {
        const flat_key *k = &l->keys[i];
        cd_trie *t = w->tries.accounts;
        cd_bytes key = cd_bytes_of(k->account.b, 32);
        cd_buf_clear(&v);
        if (k->is_slot) {
            key = cd_bytes_of(k->slot.b, 32);
            e = storage_trie(w, &t, &k->account, why);
            if (e == CD_OK) {
                e = cd_flat_slot_get(kv, &v, &k->account, &k->slot);
            }
        } else {
            e = cd_flat_account_get(kv, &v, &k->account);
        }
        if (e == CD_OK || e == CD_ENOENT) {
            e = cd_trie_put(t, key, e == CD_OK ? cd_buf_bytes(&v) : (cd_bytes){0});
        }
    }
    cd_buf_fini(&v);
    return e;
}

/* --- journal ------------------------------------------------------------------------------------ */

static void journal_key(u8 out[9], u64 height)
{
    out[0] = journal_prefix;
    cd_put_be64(out + 1, height);
}

void cd__journal_put(cd_kv_batch *batch, u64 height, const cd__world_changes *ch)
{
    u8 key[9];
    usize slots = 0; /* fewer than ch->slot_cnt where a wiped slot was written again */
    journal_key(key, height);
    for (usize i = 0; i < ch->acct_cnt; i++) {
        slots += ch->accts[i].slot_cnt;
    }
    u8 *p =
        cd_kv_batch_put2(batch, cd_bytes_of(key, 9), (cd_bytes){0}, ch->acct_cnt * 36 + slots * 32);
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        memcpy(p, a->hash.b, 32);
        cd_put_be32(p + 32, (u32)a->slot_cnt);
        p += 36;
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            memcpy(p, ch->slots[j].hash.b, 32);
            p += 32;
        }
    }
}

/* Adds the keys of every journal record above the stored height. */
static cd_err journal_read(cd_world *w, key_list *l)
{
    cd_kv_iter *it = NULL;
    u8 start[9];
    journal_key(start, w->tries.flushed_height + 1);
    cd_kv_range range = {.prefix = cd_bytes_of(&journal_prefix, 1), .start = cd_bytes_of(start, 9)};
    if (!w->tries.has_flushed) {
        range.start = (cd_bytes){0};
    }
    CD_TRY(cd_kv_iter_new(&it, w->cfg.kv, &range));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_rd r = cd_rd_init(cd_kv_iter_value(it));
        while (cd_rd_left(&r) != 0) {
            cd_hash32 account;
            cd_rd_copy(&r, account.b, 32);
            u32 slots = cd_rd_be32(&r);
            if (r.err == CD_OK) {
                keys_add(l, &account, NULL);
            }
            for (; slots > 0 && r.err == CD_OK; slots--) {
                cd_hash32 slot;
                cd_rd_copy(&r, slot.b, 32);
                if (r.err == CD_OK) {
                    keys_add(l, &account, &slot);
                }
            }
        }
        if (r.err != CD_OK) {
            e = CD_ECORRUPT;
        }
    }
    if (e == CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}

/* Opens the stored tries and brings them to the accepted block. */
static cd_err catch_up(cd_world *w, cd_errinfo *why)
{
    key_list keys = {0};
    cd_flat_head stored = {.root = CD_TRIE_EMPTY_ROOT};
    cd_hash32 root;
    CD_TRY(read_stored(w, &stored, &w->tries.has_flushed));
    w->tries.flushed_height = stored.height;
    CD_TRY(cd_flat_account_trie(&w->tries.accounts, w->cfg.kv, &stored.root, CD_TRIE_BY_PATH,
                                w->cfg.pool, why));
    w->tries.at = NULL;
    cd_err e = journal_read(w, &keys);
    if (e == CD_OK) {
        /* Storage tries open at the root that the stored account trie knows, not the newest one. */
        keys_sort(&keys);
        for (usize i = 0; i < keys.cnt && e == CD_OK; i++) {
            const flat_key *k = &keys.keys[i];
            if (k->is_slot && cd_hmap_get(&w->tries.storage, &k->account) == NULL) {
                cd_account a = {.storage_root = CD_TRIE_EMPTY_ROOT};
                cd_bytes v;
                cd_trie *t = NULL;
                e = cd_trie_get(w->tries.accounts, &v, cd_bytes_of(k->account.b, 32));
                if (e == CD_OK) {
                    e = cd_account_dec(&a, w->cfg.form, v);
                } else if (e == CD_ENOENT) {
                    e = CD_OK;
                }
                if (e == CD_OK) {
                    e = cd_flat_storage_trie(&t, w->cfg.kv, &k->account, &a.storage_root,
                                             CD_TRIE_BY_PATH, w->cfg.pool, why);
                }
                if (e == CD_OK) {
                    *(cd_trie **)cd_hmap_put(&w->tries.storage, NULL, &k->account) = t;
                }
            }
        }
    }
    if (e == CD_OK) {
        e = set_from_flat(w, &keys, w->cfg.kv, why);
    }
    cd_free(keys.keys);
    if (e == CD_OK && w->has_head) {
        cd_trie_root(w->tries.accounts, &root);
        if (!cd_hash32_eq(&root, &w->head.root)) {
            e = cd_fail(why, CD_ECORRUPT, "state of block %llu does not have the recorded root",
                        (unsigned long long)w->head.height);
        }
    }
    if (e != CD_OK) {
        cd__tries_close(w);
    }
    return e;
}

/* --- moving ------------------------------------------------------------------------------------- */

static usize depth_of(const cd_world_view *v)
{
    usize n = 0;
    for (; v != NULL; v = v->parent) {
        n++;
    }
    return n;
}

cd_err cd__tries_move(cd_world *w, cd_world_view *to, cd_errinfo *why)
{
    if (w->tries.accounts == NULL) {
        CD_TRY(catch_up(w, why));
    }
    cd_world_view *a = w->tries.at;
    cd_world_view *b = to;
    if (a == b) {
        return CD_OK;
    }
    key_list keys = {0};
    usize da = depth_of(a);
    usize db = depth_of(b);
    while (a != b) {
        if (da >= db) {
            keys_add_changes(&keys, &a->changes);
            a = a->parent;
            da--;
        } else {
            keys_add_changes(&keys, &b->changes);
            b = b->parent;
            db--;
        }
    }
    keys_sort(&keys);
    cd_err e = set_from_flat(w, &keys, cd__world_kv(w, to), why);
    cd_free(keys.keys);
    if (e != CD_OK) {
        cd__tries_close(w);
        return e;
    }
    w->tries.at = to;
    return CD_OK;
}

/* --- applying ----------------------------------------------------------------------------------- */

static cd_err apply_storage(cd_world *w, cd__world_acct *a, const cd__world_changes *ch,
                            cd_errinfo *why)
{
    cd_trie *t;
    CD_TRY(storage_trie(w, &t, &a->hash, why));
    cd_trie_item *items = cd_new_array(cd_trie_item, a->slot_cnt);
    u8(*values)[33] = cd_alloc_array(a->slot_cnt, 33);
    for (usize i = 0; i < a->slot_cnt; i++) {
        const cd__world_slot *s = &ch->slots[a->slot + i];
        items[i].key = cd_bytes_of(s->hash.b, 32);
        items[i].value = cd_bytes_of(values[i], cd__slot_enc(values[i], &s->value));
    }
    cd_err e = cd_trie_update_many(t, items, a->slot_cnt);
    if (e == CD_OK) {
        cd_trie_root(t, &a->account.storage_root);
    }
    cd_free(values);
    cd_free(items);
    return e;
}

cd_err cd__tries_apply(cd_world *w, cd__world_changes *ch, cd_hash32 *root, cd_errinfo *why)
{
    cd_err e = CD_OK;
    cd_trie_item *items = cd_new_array(cd_trie_item, ch->acct_cnt);
    u8(*values)[CD_ACCOUNT_RLP_MAX] = cd_alloc_array(ch->acct_cnt, CD_ACCOUNT_RLP_MAX);
    for (usize i = 0; i < ch->acct_cnt && e == CD_OK; i++) {
        cd__world_acct *a = &ch->accts[i];
        if (a->slot_cnt != 0) {
            e = apply_storage(w, a, ch, why);
        }
        items[i].key = cd_bytes_of(a->hash.b, 32);
        if (a->exists) {
            items[i].value =
                cd_bytes_of(values[i], cd_account_enc(values[i], &a->account, w->cfg.form));
        }
    }
    if (e == CD_OK) {
        e = cd_trie_update_many(w->tries.accounts, items, ch->acct_cnt);
    }
    if (e == CD_OK) {
        cd_trie_root(w->tries.accounts, root);
    } else {
        cd__tries_close(w);
    }
    cd_free(values);
    cd_free(items);
    return e;
}

/* --- writing out -------------------------------------------------------------------------------- */

usize cd__tries_mem(cd_world *w)
{
    usize n = w->tries.accounts == NULL ? 0 : cd_trie_mem(w->tries.accounts);
    void *val;
    for (usize it = 0; cd_hmap_next(&w->tries.storage, &it, NULL, &val);) {
        cd_trie *t;
        memcpy(&t, val, sizeof t);
        n += cd_trie_mem(t);
    }
    return n;
}

cd_err cd__tries_flush(cd_world *w, cd_kv_batch *batch)
{
    cd_hash32 root;
    u8 record[40];
    void *val;
    CD_ASSERT(w->tries.accounts != NULL && w->tries.at == NULL && w->has_head);
    for (usize it = 0; cd_hmap_next(&w->tries.storage, &it, NULL, &val);) {
        cd_trie *t;
        memcpy(&t, val, sizeof t);
        cd_trie_commit(t, &root, batch);
    }
    cd_trie_commit(w->tries.accounts, &root, batch);
    cd_put_be64(record, w->head.height);
    memcpy(record + 8, root.b, 32);
    cd_kv_batch_put(batch, cd_bytes_of(&stored_key, 1), cd_bytes_of(record, sizeof record));
    return cd_kv_batch_del_prefix(batch, w->cfg.kv, cd_bytes_of(&journal_prefix, 1));
}
