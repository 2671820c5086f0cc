#include "store/flat.h"

#include "base/mem/mem.h"
#include "store/flat_priv.h"

enum { KEY_MAX = CD_FLAT_KEY_MAX };

static cd_bytes key_of(u8 out[KEY_MAX], u8 table, const cd_hash32 *a, const cd_hash32 *b)
{
    usize n = 0;
    out[n++] = table;
    if (a != NULL) {
        memcpy(out + n, a->b, 32);
        n += 32;
    }
    if (b != NULL) {
        memcpy(out + n, b->b, 32);
        n += 32;
    }
    return cd_bytes_of(out, n);
}

static void put_or_del(cd_kv_batch *batch, cd_bytes key, cd_bytes value)
{
    if (value.n == 0) {
        cd_kv_batch_del(batch, key);
    } else {
        cd_kv_batch_put(batch, key, value);
    }
}

/* --- tables --- */

cd_bytes cd_flat_account_key(u8 out[KEY_MAX], const cd_hash32 *account)
{
    return key_of(out, CD__FLAT_ACCOUNT, account, NULL);
}

cd_bytes cd_flat_slot_key(u8 out[KEY_MAX], const cd_hash32 *account, const cd_hash32 *slot)
{
    return key_of(out, CD__FLAT_SLOT, account, slot);
}

cd_err cd_flat_account_get(cd_kv *kv, cd_buf *out, const cd_hash32 *account)
{
    u8 key[KEY_MAX];
    return cd_kv_get(kv, out, key_of(key, CD__FLAT_ACCOUNT, account, NULL));
}

cd_err cd_flat_slot_get(cd_kv *kv, cd_buf *out, const cd_hash32 *account, const cd_hash32 *slot)
{
    u8 key[KEY_MAX];
    return cd_kv_get(kv, out, key_of(key, CD__FLAT_SLOT, account, slot));
}

void cd_flat_account_put(cd_kv_batch *batch, const cd_hash32 *account, cd_bytes value)
{
    u8 key[KEY_MAX];
    put_or_del(batch, key_of(key, CD__FLAT_ACCOUNT, account, NULL), value);
}

void cd_flat_slot_put(cd_kv_batch *batch, const cd_hash32 *account, const cd_hash32 *slot, cd_bytes value)
{
    u8 key[KEY_MAX];
    put_or_del(batch, key_of(key, CD__FLAT_SLOT, account, slot), value);
}

cd_err cd_flat_storage_clear(cd_kv_batch *batch, cd_kv *kv, const cd_hash32 *account)
{
    u8 key[KEY_MAX];
    CD_TRY(cd_kv_batch_del_prefix(batch, kv, key_of(key, CD__FLAT_SLOT, account, NULL)));
    return cd_kv_batch_del_prefix(batch, kv, key_of(key, CD__FLAT_SLOT_NODE, account, NULL));
}

static cd_err table_iter(cd_kv_iter **out, cd_kv *kv, u8 table, const cd_hash32 *account, const cd_hash32 *start)
{
    u8 prefix[KEY_MAX];
    u8 first[KEY_MAX];
    cd_kv_range range = {.prefix = key_of(prefix, table, account, NULL)};
    if (start != NULL) {
        range.start = account != NULL ? key_of(first, table, account, start) : key_of(first, table, start, NULL);
    }
    return cd_kv_iter_new(out, kv, &range);
}

cd_err cd_flat_accounts(cd_kv_iter **out, cd_kv *kv, const cd_hash32 *start)
{
    return table_iter(out, kv, CD__FLAT_ACCOUNT, NULL, start);
}

cd_err cd_flat_slots(cd_kv_iter **out, cd_kv *kv, const cd_hash32 *account, const cd_hash32 *start)
{
    return table_iter(out, kv, CD__FLAT_SLOT, account, start);
}

cd_err cd_flat_account_trie(cd_trie **out, cd_kv *kv, const cd_hash32 *root, cd_trie_scheme scheme, cd_pool *pool,
                            cd_errinfo *why)
{
    u8 ns[KEY_MAX];
    cd_trie_cfg cfg = {.nodes = kv,
                       .ns = key_of(ns, CD__FLAT_ACCOUNT_NODE, NULL, NULL),
                       .root = *root,
                       .scheme = scheme,
                       .pool = pool};
    return cd_trie_open(out, &cfg, why);
}

cd_err cd_flat_storage_trie(cd_trie **out, cd_kv *kv, const cd_hash32 *account, const cd_hash32 *root,
                            cd_trie_scheme scheme, cd_pool *pool, cd_errinfo *why)
{
    u8 ns[KEY_MAX];
    cd_trie_cfg cfg = {.nodes = kv,
                       .ns = key_of(ns, CD__FLAT_SLOT_NODE, scheme == CD_TRIE_BY_PATH ? account : NULL, NULL),
                       .root = *root,
                       .scheme = scheme,
                       .pool = pool};
    return cd_trie_open(out, &cfg, why);
}

/* --- head --- */

enum { HEAD_SIZE = 8 + 32 + 32 };

cd_err cd_flat_head_get(cd_kv *kv, cd_flat_head *out)
{
    u8 key[KEY_MAX];
    cd_buf value = {0};
    cd_err err = cd_kv_get(kv, &value, key_of(key, CD__FLAT_HEAD, NULL, NULL));
    if (err == CD_OK && value.n != HEAD_SIZE) {
        err = CD_ECORRUPT;
    }
    if (err == CD_OK) {
        out->height = cd_be64(value.p);
        memcpy(out->block.b, value.p + 8, 32);
        memcpy(out->root.b, value.p + 40, 32);
    }
    cd_buf_fini(&value);
    return err;
}

void cd_flat_head_put(cd_kv_batch *batch, const cd_flat_head *head)
{
    u8 key[KEY_MAX];
    u8 value[HEAD_SIZE];
    cd_put_be64(value, head->height);
    memcpy(value + 8, head->block.b, 32);
    memcpy(value + 40, head->root.b, 32);
    cd_kv_batch_put(batch, key_of(key, CD__FLAT_HEAD, NULL, NULL), cd_bytes_of(value, HEAD_SIZE));
}
