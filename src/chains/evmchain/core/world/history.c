/* The history table: what a key held before each version that changed it; the marks that say how far it reaches. */
#include "chains/evmchain/core/world/walk.h"
#include "chains/evmchain/core/world/world_priv.h"

static const u8 marks_key = 'V';
static const u8 preimage_prefix = 'P';

/* --- marks --- */

enum { MARKS_SIZE = 4 * 8 };

cd_err cd__marks_get(cd_kv *kv, cd__world_marks *out)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, cd_bytes_of(&marks_key, 1));
    if (e == CD_OK && v.n != MARKS_SIZE) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        *out = (cd__world_marks){
            .head = cd_be64(v.p),
            .oldest = cd_be64(v.p + 8),
            .pruned = cd_be64(v.p + 16),
            .entries = cd_be64(v.p + 24),
        };
    }
    cd_buf_fini(&v);
    return e;
}

void cd__marks_put(cd_kv_batch *batch, const cd__world_marks *m)
{
    u8 v[MARKS_SIZE];
    cd_put_be64(v, m->head);
    cd_put_be64(v + 8, m->oldest);
    cd_put_be64(v + 16, m->pruned);
    cd_put_be64(v + 24, m->entries);
    cd_kv_batch_put(batch, cd_bytes_of(&marks_key, 1), cd_bytes_of(v, sizeof v));
}

/* --- short values --- */

/* What the value of an account without storage and code ends in; the last byte in the form of five fields only. */
enum { TAIL = 66 };

static void tail_of(u8 out[TAIL + 1])
{
    out[0] = 0xa0;
    memcpy(out + 1, CD_HASH_EMPTY_TRIE.b, 32);
    out[33] = 0xa0;
    memcpy(out + 34, CD_HASH_EMPTY_CODE.b, 32);
    out[TAIL] = 0x80;
}

/* The bytes of an account's value that are kept. */
static cd_bytes shorten(cd_bytes value)
{
    u8 tail[TAIL + 1];
    tail_of(tail);
    for (usize n = TAIL; n <= TAIL + 1; n++) {
        if (value.n > n && memcmp(value.p + value.n - n, tail, n) == 0) {
            return cd_bytes_sub(value, 0, value.n - n);
        }
    }
    return value;
}

/* Puts back what shorten left out. An account's list is longer than 55 and shorter than 256 bytes. */
static cd_err lengthen(cd_buf *value)
{
    u8 tail[TAIL + 1];
    usize whole = value->n < 2 ? 0 : 2u + value->p[1];
    if (value->n == whole) {
        return CD_OK;
    }
    if (value->n > whole || (whole - value->n != TAIL && whole - value->n != TAIL + 1)) {
        return CD_ECORRUPT;
    }
    tail_of(tail);
    cd_buf_put(value, cd_bytes_of(tail, whole - value->n));
    return CD_OK;
}

/* --- entries --- */

/* 'X' ‖ flat key ‖ version */
typedef struct entry_key {
    u8 b[1 + CD_FLAT_KEY_MAX + 8];
    usize n; /* of all before the version */
} entry_key;

static void entry_set(entry_key *k, cd_bytes flat_key)
{
    k->b[0] = CD__HISTORY;
    memcpy(k->b + 1, flat_key.p, flat_key.n);
    k->n = 1 + flat_key.n;
}

static cd_bytes entry_at(entry_key *k, u64 version)
{
    cd_put_be64(k->b + k->n, version);
    return cd_bytes_of(k->b, k->n + 8);
}

static bool is_account(cd_bytes flat_key)
{
    return flat_key.n == 1 + 32;
}

cd_err cd__history_expand(cd_buf *out, cd_bytes entry, bool is_account)
{
    if (entry.n == 0) {
        return CD_ENOENT;
    }
    cd_buf_clear(out);
    cd_buf_put(out, entry);
    return is_account ? lengthen(out) : CD_OK;
}

cd_err cd__history_get(cd_kv *kv, cd_buf *out, cd_bytes flat_key, u64 version)
{
    if (version != CD_WORLD_NEWEST) {
        entry_key k;
        cd_kv_iter *it = NULL;
        entry_set(&k, flat_key);
        cd_bytes start = entry_at(&k, version + 1);
        CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(k.b, k.n), .start = start}));
        bool found = cd_kv_iter_next(it);
        cd_err e = cd_kv_iter_err(it);
        if (found) {
            e = cd__history_expand(out, cd_kv_iter_value(it), is_account(flat_key));
        }
        cd_kv_iter_free(it);
        if (found || e != CD_OK) {
            return e;
        }
    }
    return cd_kv_get(kv, out, flat_key);
}

cd_err cd__history_before(cd_kv *kv, cd_buf *out, cd_bytes flat_key, u64 version)
{
    entry_key k;
    entry_set(&k, flat_key);
    cd_err e = cd_kv_get(kv, out, entry_at(&k, version));
    if (e != CD_OK) {
        return e == CD_ENOENT ? CD_ECORRUPT : e;
    }
    if (out->n == 0) {
        return CD_ENOENT;
    }
    return is_account(flat_key) ? lengthen(out) : CD_OK;
}

usize cd__history_put(cd_kv_batch *batch, u64 version, const cd__world_changes *ch, cd_account_form form)
{
    usize cnt = 0;
    entry_key k;
    u8 flat[CD_FLAT_KEY_MAX];
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        u8 enc[CD_ACCOUNT_RLP_MAX];
        cd_bytes value = {0};
        if (a->existed) {
            value = shorten(cd_bytes_of(enc, cd_account_enc(enc, &a->before, form)));
        }
        entry_set(&k, cd_flat_account_key(flat, &a->hash));
        cd_kv_batch_put(batch, entry_at(&k, version), value);
        cnt += 1 + a->slot_cnt;
    }
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            u8 value[33];
            usize n = cd__slot_enc(value, &ch->slots[j].before);
            entry_set(&k, cd_flat_slot_key(flat, &a->hash, &ch->slots[j].hash));
            cd_kv_batch_put(batch, entry_at(&k, version), cd_bytes_of(value, n));
        }
    }
    return cnt;
}

/* --- dropping what falls out of the window --- */

void cd__history_del(cd_kv_batch *batch, cd_bytes flat_key, u64 version)
{
    entry_key k;
    entry_set(&k, flat_key);
    cd_kv_batch_del(batch, entry_at(&k, version));
}

/* Deletes the entries of one journal record, in the order of their keys, and gives their number. */
static usize del_record(cd_kv_batch *batch, const cd__journal *j)
{
    usize cnt = j->acct_cnt;
    u8 flat[CD_FLAT_KEY_MAX];
    for (usize i = 0; i < j->acct_cnt; i++) {
        cd__history_del(batch, cd_flat_account_key(flat, &j->accts[i].hash), j->version);
    }
    for (usize i = 0; i < j->acct_cnt; i++) {
        const cd__journal_acct *a = &j->accts[i];
        for (u32 k = 0; k < a->slot_cnt; k++) {
            cd_hash32 slot = cd__journal_slot(a, k);
            cd__history_del(batch, cd_flat_slot_key(flat, &a->hash, &slot), j->version);
        }
        cnt += a->slot_cnt;
    }
    return cnt;
}

cd_err cd__history_prune(cd_kv *kv, cd_kv_batch *batch, cd__world_marks *m, u64 target, u64 flushed, usize budget)
{
    cd__journal j;
    usize done = 0;
    bool is_short = false;
    u64 pruned = m->pruned;
    CD_TRY(cd__journal_open(&j, kv, m->pruned + 1));
    while (cd__journal_next(&j, target)) {
        if (done > budget) {
            is_short = true;
            break;
        }
        if (j.has_history) {
            cd__journal_hash(&j);
            done += del_record(batch, &j);
        }
        if (j.version <= flushed) {
            cd__journal_del(batch, j.version);
        }
        pruned = j.version;
    }
    CD_TRY(cd__journal_close(&j));
    CD_ASSERT(done <= m->entries);
    m->entries -= done;
    m->pruned = is_short ? pruned : target;
    m->oldest = cd_max_u64(m->oldest, m->pruned);
    return CD_OK;
}

/* --- preimages --- */

static cd_err preimage_get(cd_kv *kv, u8 *out, usize n, const cd_hash32 *hash)
{
    u8 key[33];
    cd_buf v = {0};
    key[0] = preimage_prefix;
    memcpy(key + 1, hash->b, 32);
    cd_err e = cd_kv_get(kv, &v, cd_bytes_of(key, 33));
    if (e == CD_OK && v.n != n) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        memcpy(out, v.p, n);
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd_world_addr_of(cd_kv *kv, cd_addr20 *out, const cd_hash32 *hash)
{
    return preimage_get(kv, out->b, 20, hash);
}

cd_err cd_world_key_of(cd_kv *kv, cd_u256 *out, const cd_hash32 *hash)
{
    u8 word[32];
    CD_TRY(preimage_get(kv, word, 32, hash));
    cd_u256_load_be(out, word);
    return CD_OK;
}

static void preimage_put(cd_kv_batch *batch, const cd_hash32 *hash, cd_bytes preimage)
{
    u8 *p = cd_kv_batch_put2(batch, cd_bytes_of(&preimage_prefix, 1), cd_bytes_of(hash->b, 32), preimage.n);
    memcpy(p, preimage.p, preimage.n);
}

void cd__preimages_put(cd_kv_batch *batch, const cd__world_changes *ch)
{
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        if (!a->existed) {
            preimage_put(batch, &a->hash, cd_bytes_of(a->addr.b, 20));
        }
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            const cd__world_slot *s = &ch->slots[j];
            if (s->has_key && cd_u256_is_zero(&s->before)) {
                u8 word[32];
                cd_u256_store_be(word, &s->key);
                preimage_put(batch, &s->hash, cd_bytes_of(word, 32));
            }
        }
    }
}
