#include "chains/evmchain/core/world/walk.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/world/world_priv.h"

#include <stdlib.h>

/* --- walking --- */

struct cd_world_walk {
    cd_kv *kv;
    u64 version;
    u8 prefix[1 + 32]; /* of the flat keys: table, and account when slots are walked */
    usize prefix_n;
    cd_kv_iter *flat;
    bool has_flat; /* flat stands on an item */
    cd_hash32 flat_hash;
    cd_kv_iter *past; /* NULL: the flat table alone */
    bool has_past;    /* past stands on an entry that decides about past_hash */
    cd_hash32 past_hash;
    cd_hash32 hash; /* of the item given */
    cd_buf value;
    cd_err err;
};

static bool stop(cd_world_walk *w, cd_err e)
{
    w->err = w->err == CD_OK ? e : w->err;
    return false;
}

static bool step_flat(cd_world_walk *w)
{
    w->has_flat = cd_kv_iter_next(w->flat);
    if (!w->has_flat) {
        return cd_kv_iter_err(w->flat) == CD_OK || stop(w, cd_kv_iter_err(w->flat));
    }
    cd_bytes key = cd_kv_iter_key(w->flat);
    if (key.n != w->prefix_n + 32) {
        return stop(w, CD_ECORRUPT);
    }
    memcpy(w->flat_hash.b, key.p + w->prefix_n, 32);
    return true;
}

/* Opens the history behind the entries of hash up to version (NULL hash: at its edge). */
static cd_err open_past(cd_world_walk *w, const cd_hash32 *hash, u64 version)
{
    u8 start[1 + sizeof w->prefix + 32 + 8];
    usize n = 1 + w->prefix_n;
    start[0] = CD__HISTORY;
    memcpy(start + 1, w->prefix, w->prefix_n);
    cd_kv_range range = {.prefix = cd_bytes_of(start, n)};
    if (hash != NULL) {
        memcpy(start + n, hash->b, 32);
        cd_put_be64(start + n + 32, version + 1);
        range.start = cd_bytes_of(start, n + 40);
    }
    cd_kv_iter_free(w->past);
    w->past = NULL;
    return cd_kv_iter_new(&w->past, w->kv, &range);
}

/* Moves on to the next hash with an entry above the version. */
static bool step_past(cd_world_walk *w)
{
    bool had = w->has_past;
    w->has_past = false;
    while (cd_kv_iter_next(w->past)) {
        cd_hash32 hash;
        cd_bytes key = cd_kv_iter_key(w->past);
        if (key.n != 1 + w->prefix_n + 40) {
            return stop(w, CD_ECORRUPT);
        }
        memcpy(hash.b, key.p + 1 + w->prefix_n, 32);
        u64 version = cd_be64(key.p + key.n - 8);
        /* Entries that do not count may be many: they are jumped over. */
        u64 jump;
        if (had && cd_hash32_eq(&hash, &w->past_hash)) {
            jump = UINT64_MAX - 1;
        } else if (version <= w->version) {
            jump = w->version;
        } else {
            w->past_hash = hash;
            w->has_past = true;
            return true;
        }
        cd_err e = open_past(w, &hash, jump);
        if (e != CD_OK) {
            return stop(w, e);
        }
    }
    return cd_kv_iter_err(w->past) == CD_OK || stop(w, cd_kv_iter_err(w->past));
}

static cd_err walk_new(cd_world_walk **out, cd_kv *kv, u64 version, cd_bytes prefix, const cd_hash32 *start)
{
    cd_world_walk *w = cd_new(cd_world_walk);
    *w = (cd_world_walk){.kv = kv, .version = version, .prefix_n = prefix.n};
    memcpy(w->prefix, prefix.p, prefix.n);
    u8 first[CD_FLAT_KEY_MAX];
    cd_kv_range range = {.prefix = prefix};
    memcpy(first, prefix.p, prefix.n);
    if (start != NULL) {
        memcpy(first + prefix.n, start->b, 32);
        range.start = cd_bytes_of(first, prefix.n + 32);
    }
    cd_err e = cd_kv_iter_new(&w->flat, kv, &range);
    if (e == CD_OK && version != CD_WORLD_NEWEST) {
        e = open_past(w, start, start == NULL ? 0 : version);
    }
    if (e == CD_OK && !(step_flat(w) && (w->past == NULL || step_past(w)))) {
        e = w->err;
    }
    if (e != CD_OK) {
        cd_world_walk_free(w);
        return e;
    }
    *out = w;
    return CD_OK;
}

cd_err cd_world_walk_accounts(cd_world_walk **out, cd_kv *kv, u64 version, const cd_hash32 *start)
{
    u8 key[CD_FLAT_KEY_MAX];
    cd_hash32 none = {0};
    return walk_new(out, kv, version, cd_bytes_sub(cd_flat_account_key(key, &none), 0, 1), start);
}

cd_err cd_world_walk_slots(cd_world_walk **out, cd_kv *kv, u64 version, const cd_hash32 *account,
                           const cd_hash32 *start)
{
    u8 key[CD_FLAT_KEY_MAX];
    return walk_new(out, kv, version, cd_bytes_sub(cd_flat_slot_key(key, account, account), 0, 33), start);
}

void cd_world_walk_free(cd_world_walk *w)
{
    if (w == NULL) {
        return;
    }
    cd_kv_iter_free(w->flat);
    cd_kv_iter_free(w->past);
    cd_buf_fini(&w->value);
    cd_free(w);
}

bool cd_world_walk_next(cd_world_walk *w)
{
    while (w->err == CD_OK && (w->has_flat || w->has_past)) {
        int order = !w->has_past ? -1 : !w->has_flat ? 1 : memcmp(w->flat_hash.b, w->past_hash.b, 32);
        bool exists = true;
        if (order < 0) {
            w->hash = w->flat_hash;
            cd_buf_clear(&w->value);
            cd_buf_put(&w->value, cd_kv_iter_value(w->flat));
        } else {
            w->hash = w->past_hash;
            cd_err e = cd__history_expand(&w->value, cd_kv_iter_value(w->past), w->prefix_n == 1);
            exists = e == CD_OK;
            if (e != CD_OK && e != CD_ENOENT) {
                return stop(w, e);
            }
        }
        if ((order <= 0 && !step_flat(w)) || (order >= 0 && !step_past(w))) {
            return false;
        }
        if (exists) {
            return true;
        }
    }
    return false;
}

cd_err cd_world_walk_err(const cd_world_walk *w)
{
    return w->err;
}

const cd_hash32 *cd_world_walk_hash(const cd_world_walk *w)
{
    return &w->hash;
}

cd_err cd_world_walk_account(const cd_world_walk *w, cd_account *out, cd_account_form form)
{
    return cd_account_dec(out, form, cd_buf_bytes(&w->value));
}

cd_err cd_world_walk_slot(const cd_world_walk *w, cd_u256 *out)
{
    return cd__slot_dec(out, cd_buf_bytes(&w->value));
}

/* --- what changed --- */

static int compare_addrs(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(cd_addr20));
}

/* Adds the addresses that the versions in (from, to] touched. */
static cd_err touched(cd_kv *kv, cd_hmap *out, u64 from, u64 to, usize max)
{
    cd__journal j;
    cd_err e = CD_OK;
    CD_TRY(cd__journal_open(&j, kv, from + 1));
    while (e == CD_OK && cd__journal_next(&j, to)) {
        cd__journal_hash(&j);
        for (usize i = 0; i < j.acct_cnt; i++) {
            *(cd_hash32 *)cd_hmap_put(out, NULL, &j.accts[i].addr) = j.accts[i].hash;
        }
        e = cd_hmap_cnt(out) > max ? CD_ELIMIT : CD_OK;
    }
    cd_err closed = cd__journal_close(&j);
    return e == CD_OK ? closed : e;
}

/* Whether an account differs between two versions. */
static cd_err differs(cd_kv *kv, bool *out, cd_buf v[2], const cd_hash32 *account, u64 from, u64 to)
{
    u8 room[CD_FLAT_KEY_MAX];
    cd_bytes key = cd_flat_account_key(room, account);
    u64 version[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        cd_err e = cd__history_get(kv, &v[i], key, version[i]);
        if (e == CD_ENOENT) {
            cd_buf_clear(&v[i]);
        } else if (e != CD_OK) {
            return e;
        }
    }
    *out = !cd_bytes_eq(cd_buf_bytes(&v[0]), cd_buf_bytes(&v[1]));
    return CD_OK;
}

cd_err cd_world_modified(cd_kv *kv, cd_addr20 **out, usize *cnt, cd_arena *a, u64 from, u64 to, usize max)
{
    cd__world_marks m;
    CD_TRY(cd__marks_get(kv, &m));
    if (from < m.oldest) {
        return CD_EMISSING;
    }
    cd_hmap seen;
    cd_buf v[2] = {{0}, {0}};
    cd_hmap_init(&seen, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(cd_hash32));
    cd_err e = touched(kv, &seen, from, to, max);
    cd_addr20 *addrs = cd_arena_array(a, cd_addr20, cd_hmap_cnt(&seen));
    usize n = 0;
    const void *addr;
    void *hash;
    for (usize it = 0; e == CD_OK && cd_hmap_next(&seen, &it, &addr, &hash);) {
        bool is_other = false;
        e = differs(kv, &is_other, v, hash, from, to);
        if (is_other) {
            memcpy(&addrs[n++], addr, sizeof *addrs);
        }
    }
    cd_hmap_fini(&seen);
    cd_buf_fini(&v[0]);
    cd_buf_fini(&v[1]);
    CD_TRY(e);
    if (n > 1) {
        qsort(addrs, n, sizeof *addrs, compare_addrs);
    }
    *out = addrs;
    *cnt = n;
    return CD_OK;
}
