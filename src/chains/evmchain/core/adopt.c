#include "chains/evmchain/core/adopt.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/core/world/world_priv.h"
#include "store/flat_build.h"

enum { TABLE = 'Y', HASHES = 'h', RECORD_SIZE = 1 + 8 + 3 * 32, STEP_BYTES = 1 << 20 };

/* Tables of the state that give way, one after the other; the first four are those that come in. */
static const u8 tables[] = {'a', 's', 'n', 'N', CD__HISTORY, 'J'};
enum { COMING = 4 };

struct cd_adopt {
    cd_kv *kv;
    cd_kv *part;
    cd_kv_batch batch;
    cd_adopt_target target;
    bool has_target;
    /* The walk of the phase: over which table, whether it is copied already, and behind which key it goes on. */
    usize table;
    bool is_copying;
    cd_buf at;
    cd_flat_build *build;
};

/* --- the record --- */

cd_err cd_adopt_get(cd_kv *kv, cd_adopt_target *out)
{
    cd_buf v = {0};
    cd_err e = cd_chaindb_meta(kv, &v, CD_CHAINDB_ADOPT);
    if (e == CD_OK && (v.n != RECORD_SIZE || v.p[0] > CD_ADOPT_SWEEPS)) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        *out = (cd_adopt_target){.phase = (cd_adopt_phase)v.p[0], .height = cd_be64(v.p + 1)};
        memcpy(out->hash.b, v.p + 9, 32);
        memcpy(out->root.b, v.p + 41, 32);
        memcpy(out->atomic_root.b, v.p + 73, 32);
    }
    cd_buf_fini(&v);
    return e;
}

void cd_adopt_put(cd_kv_batch *batch, const cd_adopt_target *t)
{
    u8 v[RECORD_SIZE];
    v[0] = (u8)t->phase;
    cd_put_be64(v + 1, t->height);
    memcpy(v + 9, t->hash.b, 32);
    memcpy(v + 41, t->root.b, 32);
    memcpy(v + 73, t->atomic_root.b, 32);
    cd_chaindb_put_meta(batch, CD_CHAINDB_ADOPT, cd_bytes_of(v, sizeof v));
}

/* --- what is gathered --- */

static cd_bytes prefix_of_part(void)
{
    static const u8 table = TABLE;
    return cd_bytes_of(&table, 1);
}

cd_kv *cd_adopt_kv(cd_kv *kv)
{
    return cd_kv_prefix_open(kv, prefix_of_part());
}

void cd_adopt_add(cd_kv_batch *batch, cd_bytes key, cd_bytes value)
{
    if (value.n == 0) {
        cd_kv_batch_del2(batch, prefix_of_part(), key);
    } else {
        memcpy(cd_kv_batch_put2(batch, prefix_of_part(), key, value.n), value.p, value.n);
    }
}

void cd_adopt_add_account(cd_kv_batch *batch, const cd_hash32 *account, cd_bytes value)
{
    u8 key[CD_FLAT_KEY_MAX];
    cd_adopt_add(batch, cd_flat_account_key(key, account), value);
}

void cd_adopt_add_slot(cd_kv_batch *batch, const cd_hash32 *account, const cd_hash32 *slot, cd_bytes value)
{
    u8 key[CD_FLAT_KEY_MAX];
    cd_adopt_add(batch, cd_flat_slot_key(key, account, slot), value);
}

void cd_adopt_add_hash(cd_kv_batch *batch, u64 number, const cd_hash32 *hash)
{
    u8 key[9] = {HASHES};
    cd_put_be64(key + 1, number);
    cd_adopt_add(batch, cd_bytes_of(key, sizeof key), cd_bytes_of(hash->b, 32));
}

void cd_adopt_add_code(cd_kv_batch *batch, const cd_hash32 *hash, cd_bytes code)
{
    cd__code_put(batch, hash, code);
}

cd_err cd_adopt_has_code(cd_kv *kv, bool *has, const cd_hash32 *hash)
{
    u8 key[33] = {'c'};
    memcpy(key + 1, hash->b, 32);
    return cd_kv_has(kv, has, cd_bytes_of(key, sizeof key));
}

/* --- life --- */

cd_adopt *cd_adopt_new(cd_kv *kv)
{
    cd_adopt *a = cd_new(cd_adopt);
    a->kv = kv;
    a->part = cd_adopt_kv(kv);
    a->has_target = cd_adopt_get(kv, &a->target) == CD_OK;
    return a;
}

void cd_adopt_free(cd_adopt *a)
{
    if (a != NULL) {
        cd_flat_build_free(a->build);
        cd_kv_batch_fini(&a->batch);
        cd_buf_fini(&a->at);
        cd_kv_close(a->part);
        cd_free(a);
    }
}

/* Goes to a phase together with what is in the batch. */
static cd_err go_to(cd_adopt *a, cd_adopt_phase phase, cd_errinfo *why)
{
    cd_adopt_target next = a->target;
    next.phase = phase;
    cd_adopt_put(&a->batch, &next);
    cd_err e = cd_kv_commit(a->kv, &a->batch, CD_KV_SYNC, why);
    cd_kv_batch_clear(&a->batch);
    if (e == CD_OK) {
        a->target = next;
        a->has_target = true;
        a->table = 0;
        a->is_copying = false;
        cd_buf_clear(&a->at);
        cd_flat_build_free(a->build);
        a->build = NULL;
    }
    return e;
}

cd_err cd_adopt_begin(cd_adopt *a, const cd_adopt_target *target, cd_errinfo *why)
{
    cd_adopt_target old = a->target;
    a->target = *target;
    cd_kv_batch_for(&a->batch, a->kv);
    cd_err e = go_to(a, CD_ADOPT_CLEARS, why);
    a->target = e == CD_OK ? a->target : old;
    return e;
}

cd_err cd_adopt_gathered(cd_adopt *a, cd_errinfo *why)
{
    CD_ASSERT(a->has_target && a->target.phase == CD_ADOPT_GATHERS);
    cd_kv_batch_for(&a->batch, a->kv);
    return go_to(a, CD_ADOPT_BUILDS, why);
}

/* --- walks --- */

/* Deletes some of the keys of kv under a prefix, from where the walk stands, or copies them to the chain's own tables
 * (of the part alone); *more false: it was the last. */
static cd_err walk(cd_adopt *a, cd_kv *kv, cd_bytes prefix, bool is_copy, bool *more, cd_errinfo *why)
{
    cd_kv_iter *it = NULL;
    const cd_kv_range range = {.prefix = prefix, .start = cd_buf_bytes(&a->at)};
    *more = true;
    cd_kv_batch_for(&a->batch, is_copy ? a->kv : kv);
    CD_TRY(cd_kv_iter_new(&it, kv, &range));
    while (*more && a->batch.rec.n < STEP_BYTES) {
        *more = cd_kv_iter_next(it);
        if (*more && is_copy) {
            cd_kv_batch_put(&a->batch, cd_kv_iter_key(it), cd_kv_iter_value(it));
        } else if (*more) {
            cd_kv_batch_del(&a->batch, cd_kv_iter_key(it));
        }
    }
    cd_err e = cd_kv_iter_err(it);
    if (e == CD_OK && *more) {
        cd_buf_clear(&a->at);
        cd_buf_put(&a->at, cd_kv_iter_key(it));
    } else {
        cd_buf_clear(&a->at);
    }
    cd_kv_iter_free(it);
    if (e == CD_OK && a->batch.cnt != 0) {
        e = cd_kv_commit(is_copy ? a->kv : kv, &a->batch, CD_KV_NOSYNC, why);
    }
    return e;
}

/* --- phases --- */

static cd_err clear(cd_adopt *a, bool *more, cd_errinfo *why)
{
    CD_TRY(walk(a, a->part, (cd_bytes){0}, false, more, why));
    if (!*more) {
        cd_kv_batch_for(&a->batch, a->kv);
        CD_TRY(go_to(a, CD_ADOPT_GATHERS, why));
    }
    return CD_OK;
}

static cd_err build(cd_adopt *a, cd_errinfo *why)
{
    cd_hash32 root;
    bool more = true;
    cd_err e = a->build == NULL ? cd_flat_build_new(&a->build, a->part) : CD_OK;
    if (e == CD_OK) {
        e = cd_flat_build_step(a->build, STEP_BYTES, &more, &root, why);
    }
    bool is_wrong = e == CD_ECORRUPT || (e == CD_OK && !more && !cd_hash32_eq(&root, &a->target.root));
    if (is_wrong) {
        cd_kv_batch_for(&a->batch, a->kv);
        CD_TRY(go_to(a, CD_ADOPT_CLEARS, why));
        return cd_fail(why, CD_EPROOF, "what was gathered is not the state of block %llu",
                       (unsigned long long)a->target.height);
    }
    if (e == CD_OK && !more) {
        cd_kv_batch_for(&a->batch, a->kv);
        e = go_to(a, CD_ADOPT_MOVES, why);
    }
    return e;
}

/* Appends the numbers of the blocks that came in. */
static cd_err put_hashes(cd_adopt *a)
{
    cd_kv_iter *it = NULL;
    const u8 table = HASHES;
    CD_TRY(cd_kv_iter_new(&it, a->part, &(cd_kv_range){.prefix = cd_bytes_of(&table, 1)}));
    while (cd_kv_iter_next(it)) {
        cd_kv_batch_put(&a->batch, cd_kv_iter_key(it), cd_kv_iter_value(it));
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

/* The moment from which on the chain stands at the block. */
static cd_err put_in_place(cd_adopt *a, cd_errinfo *why)
{
    const cd_adopt_target *t = &a->target;
    const u64 version = t->height << CD_WORLD_EDIT_BITS;
    const cd_flat_head head = {.height = t->height, .block = t->hash, .root = t->root};
    const cd__world_marks marks = {.head = version, .oldest = version, .pruned = version};
    u8 floor[8];
    cd_put_be64(floor, t->height + 1);
    cd_kv_batch_for(&a->batch, a->kv);
    CD_TRY(put_hashes(a));
    cd_flat_head_put(&a->batch, &head);
    cd__marks_put(&a->batch, &marks);
    cd__stored_put(&a->batch, version, &t->root);
    cd_chaindb_put_meta(&a->batch, CD_CHAINDB_FLOOR, cd_bytes_of(floor, sizeof floor));
    return go_to(a, CD_ADOPT_SWEEPS, why);
}

/* First the chain's own tables go, then those that came in take their places. */
static cd_err move(cd_adopt *a, cd_errinfo *why)
{
    bool more;
    usize cnt = a->is_copying ? COMING : CD_COUNT(tables);
    CD_TRY(walk(a, a->is_copying ? a->part : a->kv, cd_bytes_of(&tables[a->table], 1), a->is_copying, &more, why));
    a->table += more ? 0 : 1;
    if (a->table < cnt) {
        return CD_OK;
    }
    a->table = 0;
    if (!a->is_copying) {
        a->is_copying = true;
        return CD_OK;
    }
    return put_in_place(a, why);
}

static cd_err sweep(cd_adopt *a, bool *more, cd_errinfo *why)
{
    static const u8 key[2] = {'K', CD_CHAINDB_ADOPT};
    CD_TRY(walk(a, a->part, (cd_bytes){0}, false, more, why));
    if (!*more) {
        cd_kv_batch_for(&a->batch, a->kv);
        cd_kv_batch_del(&a->batch, cd_bytes_of(key, sizeof key));
        CD_TRY(cd_kv_commit(a->kv, &a->batch, CD_KV_NOSYNC, why));
        a->has_target = false;
    }
    return CD_OK;
}

cd_err cd_adopt_step(cd_adopt *a, cd_adopt_phase *phase, bool *more, cd_errinfo *why)
{
    cd_err e = CD_OK;
    *more = a->has_target;
    if (!a->has_target) {
        *phase = CD_ADOPT_SWEEPS;
        return CD_OK;
    }
    switch (a->target.phase) {
    case CD_ADOPT_CLEARS:
        e = clear(a, more, why);
        break;
    case CD_ADOPT_GATHERS:
        *more = false;
        break;
    case CD_ADOPT_BUILDS:
        e = build(a, why);
        break;
    case CD_ADOPT_MOVES:
        e = move(a, why);
        break;
    case CD_ADOPT_SWEEPS:
        e = sweep(a, more, why);
        break;
    }
    *phase = a->target.phase;
    return e;
}

cd_err cd_adopt_recover(cd_kv *kv, cd_errinfo *why)
{
    cd_adopt_target t;
    cd_err e = cd_adopt_get(kv, &t);
    if (e != CD_OK || t.phase != CD_ADOPT_MOVES) {
        return e == CD_ENOENT ? CD_OK : e;
    }
    cd_adopt *a = cd_adopt_new(kv);
    while (e == CD_OK && a->target.phase == CD_ADOPT_MOVES) {
        e = move(a, why);
    }
    cd_adopt_free(a);
    return e;
}
