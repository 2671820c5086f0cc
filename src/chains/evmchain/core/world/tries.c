/* The standing tries: moved along the tree of blocks by applying what differs in the flat tables, written out
 * every few blocks, caught up after a crash from the journal of changed keys. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "codec/rlp.h"
#include "crypto/hash/keccak.h"

#include <stdlib.h>

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

/* --- opening --- */

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

cd_err cd__stored_get(cd_kv *kv, bool *found, u64 *version, cd_hash32 *root)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd_bytes_of(&stored_key, 1));
    *found = e == CD_OK;
    if (e == CD_OK && v.n != 40) {
        e = CD_ECORRUPT;
    } else if (e == CD_OK) {
        *version = cd_be64(v.p);
        memcpy(root->b, v.p + 8, 32);
    } else if (e == CD_ENOENT) {
        *version = 0;
        *root = CD_TRIE_EMPTY_ROOT;
        e = CD_OK;
    }
    cd_buf_fini(&v);
    return e;
}

void cd__stored_put(cd_kv_batch *batch, u64 version, const cd_hash32 *root)
{
    u8 record[40];
    cd_put_be64(record, version);
    memcpy(record + 8, root->b, 32);
    cd_kv_batch_put(batch, cd_bytes_of(&stored_key, 1), cd_bytes_of(record, sizeof record));
}

cd_trie *cd__tries_find(cd_world *w, const cd_hash32 *account)
{
    cd_trie **open = cd_hmap_get(&w->tries.storage, account);
    return open == NULL ? NULL : *open;
}

/* The storage trie of an account, opened if need be. */
static cd_err storage_trie(cd_world *w, cd_trie **out, const cd_hash32 *account, cd_errinfo *why)
{
    cd_trie *open = cd__tries_find(w, account);
    if (open != NULL) {
        *out = open;
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
    CD_TRY(cd_flat_storage_trie(out, w->cfg.kv, account, &a.storage_root, CD_TRIE_BY_PATH, w->cfg.pool, why));
    *(cd_trie **)cd_hmap_put(&w->tries.storage, NULL, account) = *out;
    return CD_OK;
}

/* --- changed keys --- */

void cd__keys_add(cd__key_list *l, const cd_hash32 *account, const cd_hash32 *slot)
{
    if (l->cnt == l->cap) {
        l->cap = l->cap == 0 ? 256 : l->cap * 2;
        l->keys = cd_realloc(l->keys, l->cap * sizeof *l->keys);
    }
    cd__flat_key *k = &l->keys[l->cnt++];
    *k = (cd__flat_key){.account = *account, .is_slot = slot != NULL};
    if (slot != NULL) {
        k->slot = *slot;
    }
}

static void keys_add_changes(cd__key_list *l, const cd__world_changes *ch)
{
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        cd__keys_add(l, &a->hash, NULL);
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            cd__keys_add(l, &a->hash, &ch->slots[j].hash);
        }
    }
}

static int compare_keys(const void *x, const void *y)
{
    const cd__flat_key *a = x;
    const cd__flat_key *b = y;
    int c = memcmp(a->account.b, b->account.b, 32);
    if (c == 0) {
        c = (int)a->is_slot - (int)b->is_slot;
    }
    return c != 0 ? c : memcmp(a->slot.b, b->slot.b, 32);
}

void cd__keys_sort(cd__key_list *l)
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

cd_err cd__tries_set(cd_world *w, const cd__key_list *l, cd_kv *kv, cd_errinfo *why)
{
    cd_err e = CD_OK;
    cd_buf v = {0};
    for (usize i = 0; i < l->cnt && e == CD_OK; i++) {
        const cd__flat_key *k = &l->keys[i];
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
    if (e != CD_OK) {
        cd__tries_close(w);
    }
    return e;
}

/* --- catching up --- */

void cd__keys_add_record(cd__key_list *l, const cd__journal *j)
{
    for (usize i = 0; i < j->acct_cnt; i++) {
        const cd__journal_acct *a = &j->accts[i];
        cd__keys_add(l, &a->hash, NULL);
        for (u32 k = 0; k < a->slot_cnt; k++) {
            cd_hash32 slot = cd__journal_slot(a, k);
            cd__keys_add(l, &a->hash, &slot);
        }
    }
}

/* Adds the keys of every journal record above the stored version. */
static cd_err journal_read(cd_world *w, cd__key_list *l)
{
    cd__journal j;
    CD_TRY(cd__journal_open(&j, w->cfg.kv, w->tries.has_flushed ? w->tries.flushed + 1 : 0));
    while (cd__journal_next(&j, UINT64_MAX)) {
        cd__journal_hash(&j);
        cd__keys_add_record(l, &j);
    }
    return cd__journal_close(&j);
}

/* Opens the stored tries and brings them to the accepted block. */
static cd_err catch_up(cd_world *w, cd_errinfo *why)
{
    cd__key_list keys = {0};
    cd_hash32 root;
    CD_TRY(cd__stored_get(w->cfg.kv, &w->tries.has_flushed, &w->tries.flushed, &root));
    CD_TRY(cd_flat_account_trie(&w->tries.accounts, w->cfg.kv, &root, CD_TRIE_BY_PATH, w->cfg.pool, why));
    w->tries.at = NULL;
    cd_err e = journal_read(w, &keys);
    if (e == CD_OK) {
        /* Storage tries open at the root that the stored account trie knows, not the newest one. */
        cd__keys_sort(&keys);
        for (usize i = 0; i < keys.cnt && e == CD_OK; i++) {
            const cd__flat_key *k = &keys.keys[i];
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
                    e = cd_flat_storage_trie(&t, w->cfg.kv, &k->account, &a.storage_root, CD_TRIE_BY_PATH, w->cfg.pool,
                                             why);
                }
                if (e == CD_OK) {
                    *(cd_trie **)cd_hmap_put(&w->tries.storage, NULL, &k->account) = t;
                }
            }
        }
    }
    if (e == CD_OK) {
        e = cd__tries_set(w, &keys, w->cfg.kv, why);
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

/* --- moving --- */

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
    cd__key_list keys = {0};
    usize da = depth_of(a);
    usize db = depth_of(b);
    while (a != b) {
        if (da >= db) {
            CD_ASSERT(a != NULL); /* of depth 0 there is only the head */
            keys_add_changes(&keys, &a->changes);
            a = a->parent;
            da--;
        } else {
            CD_ASSERT(b != NULL);
            keys_add_changes(&keys, &b->changes);
            b = b->parent;
            db--;
        }
    }
    cd__keys_sort(&keys);
    cd_err e = cd__tries_set(w, &keys, cd__world_kv(w, to), why);
    cd_free(keys.keys);
    if (e == CD_OK) {
        w->tries.at = to;
    }
    return e;
}

/* --- applying --- */

static cd_err apply_storage(cd_world *w, cd__world_acct *a, const cd__world_changes *ch, cd_errinfo *why)
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
            items[i].value = cd_bytes_of(values[i], cd_account_enc(values[i], &a->account, w->cfg.form));
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

/* --- writing out --- */

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

void cd__tries_flush(cd_world *w, cd_kv_batch *batch, u64 version)
{
    cd_hash32 root;
    void *val;
    CD_ASSERT(w->tries.accounts != NULL && w->tries.at == NULL);
    for (usize it = 0; cd_hmap_next(&w->tries.storage, &it, NULL, &val);) {
        cd_trie *t;
        memcpy(&t, val, sizeof(cd_trie *));
        cd_trie_commit(t, &root, batch);
    }
    cd_trie_commit(w->tries.accounts, &root, batch);
    cd__stored_put(batch, version, &root);
}
