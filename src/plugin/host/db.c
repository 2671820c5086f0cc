#include "plugin/host/db.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/thread/thread.h"
#include "plugin/wire/wire.h"
#include "store/overlay.h"

/* A change of shared memory that waits for its block; everything it points to lies in held_mem. */
typedef struct held_change {
    struct held_change *next;
    cd_vm_shared_change change;
} held_change;

struct cd_plugin_db {
    cd_kv *kv;
    cd_kv *store; /* the whole store; NULL: shared memory changes with blocks only */
    const cd_vm_shared *shared;
    cd_mutex lock; /* protects the rest */
    bool is_closed;
    cd_hmap iters; /* u64 -> cd_kv_iter * */
    u64 next_iter;
    cd_overlay *overlay;
    cd_layer *held;  /* writes since hold, until take; NULL: no hold */
    cd_layer *later; /* writes since take, on top of held */
    usize held_bytes;
    cd_arena held_mem;
    held_change *changes;
    held_change **changes_end;
    usize change_cnt;
    bool is_taken;
};

/* --- holding --- */

/* The kv in which the plugin reads and writes now: the topmost layer, or the store. */
static cd_kv *kv_now(const cd_plugin_db *db)
{
    const cd_layer *top = db->later != NULL ? db->later : db->held;
    return top == NULL ? db->kv : cd_layer_kv((cd_layer *)(usize)top);
}

static void forget_held(cd_plugin_db *db)
{
    db->held = NULL;
    db->later = NULL;
    db->held_bytes = 0;
    db->changes = NULL;
    db->changes_end = &db->changes;
    db->change_cnt = 0;
    db->is_taken = false;
    cd_arena_reset(&db->held_mem);
}

void cd_plugin_db_hold(cd_plugin_db *db)
{
    cd_mutex_lock(&db->lock);
    CD_ASSERT(db->held == NULL);
    cd_err e = cd_overlay_begin(db->overlay, &db->held, NULL);
    CD_ASSERT(e == CD_OK);
    cd_mutex_unlock(&db->lock);
}

static cd_err apply_held(const cd_plugin_db *db, cd_kv_batch *batch, cd_errinfo *why)
{
    if (db->change_cnt == 0) {
        return CD_OK;
    }
    cd_vm_shared_change *all = cd_new_array(cd_vm_shared_change, db->change_cnt);
    usize n = 0;
    for (const held_change *h = db->changes; h != NULL; h = h->next) {
        all[n++] = h->change;
    }
    cd_err e = db->shared->apply(db->shared, batch, all, n);
    cd_free(all);
    return e == CD_OK ? e : cd_fail(why, e, "shared memory: %s", cd_err_str(e));
}

cd_err cd_plugin_db_take(cd_plugin_db *db, cd_kv_batch *batch, cd_errinfo *why)
{
    cd_mutex_lock(&db->lock);
    CD_ASSERT(db->held != NULL);
    if (!db->is_taken) {
        cd_layer_seal(db->held);
        cd_err e = cd_overlay_begin(db->overlay, &db->later, db->held);
        CD_ASSERT(e == CD_OK);
        db->is_taken = true;
    }
    cd_layer_export(db->held, batch);
    cd_err e = apply_held(db, batch, why);
    cd_mutex_unlock(&db->lock);
    return e;
}

cd_err cd_plugin_db_landed(cd_plugin_db *db, cd_errinfo *why)
{
    cd_err e = CD_OK;
    cd_mutex_lock(&db->lock);
    CD_ASSERT(db->is_taken);
    cd_layer_accept(db->held);
    if (cd_layer_changes(db->later) != 0) {
        e = cd_layer_flatten(db->later, NULL, CD_KV_NOSYNC, why);
    }
    if (e != CD_OK || cd_overlay_cnt(db->overlay) != 0) {
        cd_layer_drop(db->later);
    }
    db->is_closed = db->is_closed || e != CD_OK;
    forget_held(db);
    cd_mutex_unlock(&db->lock);
    return e;
}

void cd_plugin_db_abandon(cd_plugin_db *db)
{
    cd_mutex_lock(&db->lock);
    if (db->held != NULL) {
        cd_layer_drop(db->held);
        forget_held(db);
    }
    db->is_closed = true;
    cd_mutex_unlock(&db->lock);
}

bool cd_plugin_db_is_holding(cd_plugin_db *db)
{
    cd_mutex_lock(&db->lock);
    bool is = db->held != NULL;
    cd_mutex_unlock(&db->lock);
    return is;
}

/* --- writing --- */

cd_err cd_plugin_db_check_key(cd_bytes key, cd_errinfo *why)
{
    return key.n <= CD_PLUGIN_DB_KEY_MAX
               ? CD_OK
               : cd_fail(why, CD_ELIMIT, "a key of %zu bytes; at most %d", key.n, CD_PLUGIN_DB_KEY_MAX);
}

static cd_err check_pair(cd_bytes key, cd_bytes value, cd_errinfo *why)
{
    CD_TRY(cd_plugin_db_check_key(key, why));
    return value.n <= CD_KV_MAX_VALUE
               ? CD_OK
               : cd_fail(why, CD_ELIMIT, "a value of %zu bytes; at most %u", value.n, CD_KV_MAX_VALUE);
}

/* Counts bytes as held, when something is; an error beyond the limit. */
static cd_err make_room(cd_plugin_db *db, usize bytes, cd_errinfo *why)
{
    if (db->held == NULL) {
        return CD_OK;
    }
    if (bytes > CD_PLUGIN_DB_HELD_MAX - db->held_bytes) {
        return cd_fail(why, CD_ELIMIT, "more than %d bytes written while a block is accepted", CD_PLUGIN_DB_HELD_MAX);
    }
    db->held_bytes += bytes;
    return CD_OK;
}

static cd_bytes dup(cd_arena *a, cd_bytes b)
{
    return b.n == 0 ? (cd_bytes){0} : cd_arena_dup(a, b);
}

static cd_bytes *dup_list(cd_arena *a, const cd_bytes *list, usize cnt)
{
    cd_bytes *out = cd_arena_array(a, cd_bytes, cnt);
    for (usize i = 0; i < cnt; i++) {
        out[i] = dup(a, list[i]);
    }
    return out;
}

static void keep_change(cd_plugin_db *db, const cd_vm_shared_change *c)
{
    cd_arena *a = &db->held_mem;
    held_change *h = cd_arena_new(a, held_change);
    cd_vm_shared_elem *puts = cd_arena_array(a, cd_vm_shared_elem, c->put_cnt);
    for (usize i = 0; i < c->put_cnt; i++) {
        const cd_vm_shared_elem *p = &c->puts[i];
        puts[i] = (cd_vm_shared_elem){
            .key = dup(a, p->key),
            .value = dup(a, p->value),
            .traits = dup_list(a, p->traits, p->trait_cnt),
            .trait_cnt = p->trait_cnt,
        };
    }
    h->change = (cd_vm_shared_change){
        .peer = c->peer,
        .removes = dup_list(a, c->removes, c->remove_cnt),
        .remove_cnt = c->remove_cnt,
        .puts = puts,
        .put_cnt = c->put_cnt,
    };
    *db->changes_end = h;
    db->changes_end = &h->next;
    db->change_cnt++;
}

/* Bytes that a change takes when it is kept. */
static usize size_of(const cd_vm_shared_change *c)
{
    usize n = sizeof(held_change);
    for (usize i = 0; i < c->remove_cnt; i++) {
        n += sizeof(cd_bytes) + c->removes[i].n;
    }
    for (usize i = 0; i < c->put_cnt; i++) {
        const cd_vm_shared_elem *p = &c->puts[i];
        n += sizeof *p + p->key.n + p->value.n;
        for (usize k = 0; k < p->trait_cnt; k++) {
            n += sizeof(cd_bytes) + p->traits[k].n;
        }
    }
    return n;
}

/* Tries changes without making them, so that the plugin gets the error and accepting the block does not. */
static cd_err try_changes(const cd_plugin_db *db, const cd_vm_shared_change *changes, usize cnt, cd_errinfo *why)
{
    cd_kv_batch scratch = {0};
    cd_kv_batch_for(&scratch, db->kv);
    cd_err e = db->shared->apply(db->shared, &scratch, changes, cnt);
    cd_kv_batch_fini(&scratch);
    return e == CD_OK ? e : cd_fail(why, e, "shared memory: %s", cd_err_str(e));
}

static cd_err hold_changes(cd_plugin_db *db, const cd_vm_shared_change *changes, usize cnt, cd_errinfo *why)
{
    usize bytes = 0;
    if (db->is_taken) {
        return cd_fail(why, CD_EBUSY, "shared memory changes with a block, not behind it");
    }
    for (usize i = 0; i < cnt; i++) {
        bytes += size_of(&changes[i]);
    }
    CD_TRY(try_changes(db, changes, cnt, why));
    CD_TRY(make_room(db, bytes, why));
    for (usize i = 0; i < cnt; i++) {
        keep_change(db, &changes[i]);
    }
    return CD_OK;
}

/* Makes changes outside of a block at once, together with the batch. */
static cd_err change_now(const cd_plugin_db *db, cd_kv_batch *batch, const cd_vm_shared_change *changes, usize cnt,
                         cd_errinfo *why)
{
    if (db->store == NULL) {
        return cd_fail(why, CD_EBUSY, "shared memory changes with a block that is accepted");
    }
    cd_err e = db->shared->apply(db->shared, batch, changes, cnt);
    return e == CD_OK ? cd_kv_commit(db->store, batch, CD_KV_NOSYNC, why)
                      : cd_fail(why, e, "shared memory: %s", cd_err_str(e));
}

static cd_err write_locked(cd_plugin_db *db, cd_kv_batch *batch, const cd_vm_shared_change *changes, usize cnt,
                           cd_errinfo *why)
{
    if (db->is_closed) {
        return CD_ECLOSED;
    }
    if (cnt != 0 && db->held == NULL) {
        return change_now(db, batch, changes, cnt, why);
    }
    CD_TRY(make_room(db, batch->rec.n, why));
    if (cnt != 0) {
        CD_TRY(hold_changes(db, changes, cnt, why));
    }
    return batch->cnt == 0 ? CD_OK : cd_kv_commit(kv_now(db), batch, CD_KV_NOSYNC, why);
}

/* Begins a batch for the kv in which the plugin writes now; the batch of a layer has no prefix. */
static void begin_batch(const cd_plugin_db *db, cd_kv_batch *batch)
{
    cd_kv_batch_for(batch, kv_now(db));
}

cd_err cd_plugin_db_apply(cd_plugin_db *db, cd_kv_batch *batch, const cd_vm_shared_change *changes, usize cnt,
                          cd_errinfo *why)
{
    cd_kv_batch own = {0};
    cd_kv_rec rec;
    if (db->shared == NULL && cnt != 0) {
        return cd_fail(why, CD_EUNSUPPORTED, "this chain shares no memory");
    }
    cd_mutex_lock(&db->lock);
    begin_batch(db, &own);
    for (usize pos = 0; cd_kv_batch_next(batch, &rec, &pos);) {
        if (rec.is_del) {
            cd_kv_batch_del(&own, rec.key);
        } else {
            cd_kv_batch_put(&own, rec.key, rec.value);
        }
    }
    cd_err e = write_locked(db, &own, changes, cnt, why);
    cd_mutex_unlock(&db->lock);
    cd_kv_batch_fini(&own);
    return e;
}

const cd_vm_shared *cd_plugin_db_shared(const cd_plugin_db *db)
{
    return db->shared;
}

/* --- the service: answers --- */

/* Puts a code that travels in an answer (closed, not found); other errors are errors of the call. */
static cd_err put_err(cd_buf *out, cd_err e)
{
    const cd_wire_db_err m = {.err = e == CD_ECLOSED ? CD_WIRE_CLOSED : e == CD_ENOENT ? CD_WIRE_NOT_FOUND : 0};
    if (e != CD_OK && m.err == 0) {
        return e;
    }
    CD_WIRE_PUT(out, db_err, &m);
    return CD_OK;
}

static cd_err write_batch(cd_plugin_db *db, cd_buf *out, const cd_wire_db_batch *b, cd_errinfo *why)
{
    cd_kv_batch batch = {0};
    const cd_wire_db_pair *puts = b->puts.v;
    const cd_wire_db_key *dels = b->deletes.v;
    for (u32 i = 0; i < b->puts.cnt; i++) {
        CD_TRY(check_pair(puts[i].key, puts[i].value, why));
    }
    for (u32 i = 0; i < b->deletes.cnt; i++) {
        CD_TRY(cd_plugin_db_check_key(dels[i].key, why));
    }
    cd_mutex_lock(&db->lock);
    begin_batch(db, &batch);
    for (u32 i = 0; i < b->puts.cnt; i++) {
        cd_kv_batch_put(&batch, puts[i].key, puts[i].value);
    }
    for (u32 i = 0; i < b->deletes.cnt; i++) {
        cd_kv_batch_del(&batch, dels[i].key);
    }
    cd_err e = write_locked(db, &batch, NULL, 0, why);
    cd_mutex_unlock(&db->lock);
    cd_kv_batch_fini(&batch);
    return put_err(out, e);
}

static cd_err serve_put(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_db_pair m = {0};
    CD_TRY(CD_WIRE_PARSE(&m, db_pair, mem, msg, why));
    const cd_wire_db_batch b = {.puts = cd_wire_list(&m, 1)};
    return write_batch(ctx, out, &b, why);
}

static cd_err serve_delete(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_db_key m = {0};
    CD_TRY(CD_WIRE_PARSE(&m, db_key, mem, msg, why));
    const cd_wire_db_batch b = {.deletes = cd_wire_list(&m, 1)};
    return write_batch(ctx, out, &b, why);
}

static cd_err serve_write_batch(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_db_batch m = {0};
    CD_TRY(CD_WIRE_PARSE(&m, db_batch, mem, msg, why));
    return write_batch(ctx, out, &m, why);
}

static cd_err get(cd_plugin_db *db, cd_buf *value, cd_bytes key)
{
    if (key.n > CD_PLUGIN_DB_KEY_MAX) {
        return CD_ENOENT;
    }
    cd_mutex_lock(&db->lock);
    cd_err e = db->is_closed ? CD_ECLOSED : cd_kv_get(kv_now(db), value, key);
    cd_mutex_unlock(&db->lock);
    return e;
}

static u32 code_of(cd_err e)
{
    return e == CD_ECLOSED ? CD_WIRE_CLOSED : e == CD_ENOENT ? CD_WIRE_NOT_FOUND : 0;
}

static cd_err serve_get(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_db_key m = {0};
    cd_buf value = {0};
    CD_TRY(CD_WIRE_PARSE(&m, db_key, mem, msg, why));
    cd_err e = get(ctx, &value, m.key);
    const cd_wire_db_value said = {.value = cd_buf_bytes(&value), .err = code_of(e)};
    if (e == CD_OK || said.err != 0) {
        CD_WIRE_PUT(out, db_value, &said);
        e = CD_OK;
    }
    cd_buf_fini(&value);
    return e;
}

static cd_err serve_has(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin_db *db = ctx;
    cd_wire_db_key m = {0};
    cd_wire_db_has said = {0};
    cd_err e = CD_OK;
    CD_TRY(CD_WIRE_PARSE(&m, db_key, mem, msg, why));
    cd_mutex_lock(&db->lock);
    if (db->is_closed) {
        said.err = CD_WIRE_CLOSED;
    } else if (m.key.n <= CD_PLUGIN_DB_KEY_MAX) {
        e = cd_kv_has(kv_now(db), &said.has, m.key);
    }
    cd_mutex_unlock(&db->lock);
    CD_TRY(e);
    CD_WIRE_PUT(out, db_has, &said);
    return CD_OK;
}

/* Compaction is left to the store: nothing is done here. */
static cd_err serve_compact(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_db_range m = {0};
    (void)ctx;
    CD_TRY(CD_WIRE_PARSE(&m, db_range, mem, msg, why));
    return put_err(out, CD_OK);
}

static cd_err serve_health(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_wire_db_health m = {.details = cd_bytes_str("null")};
    (void)ctx;
    (void)mem;
    (void)msg;
    (void)why;
    CD_WIRE_PUT(out, db_health, &m);
    return CD_OK;
}

static void free_iters(cd_plugin_db *db)
{
    void *at;
    for (usize it = 0; cd_hmap_next(&db->iters, &it, NULL, &at);) {
        cd_kv_iter_free(*(cd_kv_iter **)at);
    }
    cd_hmap_clear(&db->iters);
}

static cd_err serve_close(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin_db *db = ctx;
    (void)mem;
    (void)msg;
    (void)why;
    cd_mutex_lock(&db->lock);
    cd_err e = db->is_closed ? CD_ECLOSED : CD_OK;
    db->is_closed = true;
    free_iters(db);
    cd_mutex_unlock(&db->lock);
    return put_err(out, e);
}

/* --- the service: iterators --- */

static cd_err add_iter(cd_plugin_db *db, u64 *id, const cd_wire_db_iter_new *m, cd_errinfo *why)
{
    const cd_kv_range range = {.prefix = m->prefix, .start = m->start};
    cd_kv_iter *it;
    if (cd_hmap_cnt(&db->iters) >= CD_PLUGIN_DB_ITERS_MAX) {
        return cd_fail(why, CD_ELIMIT, "more than %d iterators", CD_PLUGIN_DB_ITERS_MAX);
    }
    CD_TRY(cd_kv_iter_new(&it, kv_now(db), &range));
    *id = db->next_iter++;
    *(cd_kv_iter **)cd_hmap_put(&db->iters, NULL, id) = it;
    return CD_OK;
}

static cd_err serve_iter_new(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin_db *db = ctx;
    cd_wire_db_iter_new m = {0};
    cd_wire_db_iter said = {0};
    CD_TRY(CD_WIRE_PARSE(&m, db_iter_new, mem, msg, why));
    CD_TRY(cd_plugin_db_check_key(m.prefix, why));
    CD_TRY(cd_plugin_db_check_key(m.start, why));
    cd_mutex_lock(&db->lock);
    cd_err e = db->is_closed ? cd_fail(why, CD_ECLOSED, "closed") : add_iter(db, &said.id, &m, why);
    cd_mutex_unlock(&db->lock);
    CD_TRY(e);
    CD_WIRE_PUT(out, db_iter, &said);
    return CD_OK;
}

/* Takes entries off an iterator until they are CD_PLUGIN_DB_ITER_BYTES. */
static void take_some(cd_proto_list *out, cd_arena *mem, cd_kv_iter *it)
{
    usize size = 0;
    u32 cap = 0;
    cd_wire_db_pair *pairs = NULL;
    while (size < CD_PLUGIN_DB_ITER_BYTES && cd_kv_iter_next(it)) {
        if (out->cnt == cap) {
            cap = cap == 0 ? 64 : 2 * cap;
            cd_wire_db_pair *more = cd_arena_array(mem, cd_wire_db_pair, cap);
            if (out->cnt != 0) {
                memcpy(more, pairs, out->cnt * sizeof *more);
            }
            pairs = more;
        }
        cd_wire_db_pair *p = &pairs[out->cnt++];
        *p = (cd_wire_db_pair){.key = dup(mem, cd_kv_iter_key(it)), .value = dup(mem, cd_kv_iter_value(it))};
        size += p->key.n + p->value.n;
    }
    out->v = pairs;
}

static cd_err iter_of(const cd_plugin_db *db, cd_kv_iter **out, u64 id, cd_errinfo *why)
{
    cd_kv_iter **at = cd_hmap_get(&db->iters, &id);
    if (at == NULL) {
        return cd_fail(why, CD_ENOENT, "unknown iterator");
    }
    *out = *at;
    return CD_OK;
}

static cd_err serve_iter_next(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin_db *db = ctx;
    cd_wire_db_iter m = {0};
    cd_wire_db_pairs said = {0};
    cd_kv_iter *it;
    CD_TRY(CD_WIRE_PARSE(&m, db_iter, mem, msg, why));
    cd_mutex_lock(&db->lock);
    cd_err e = iter_of(db, &it, m.id, why);
    if (e == CD_OK) {
        take_some(&said.data, mem, it);
    }
    cd_mutex_unlock(&db->lock);
    CD_TRY(e);
    CD_WIRE_PUT(out, db_pairs, &said);
    return CD_OK;
}

static cd_err serve_iter_error(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin_db *db = ctx;
    cd_wire_db_iter m = {0};
    cd_kv_iter *it;
    CD_TRY(CD_WIRE_PARSE(&m, db_iter, mem, msg, why));
    cd_mutex_lock(&db->lock);
    cd_err e = iter_of(db, &it, m.id, why);
    cd_err said = e == CD_OK ? cd_kv_iter_err(it) : CD_OK;
    cd_mutex_unlock(&db->lock);
    CD_TRY(e);
    return said == CD_OK ? put_err(out, CD_OK) : cd_fail(why, said, "%s", cd_err_str(said));
}

static cd_err serve_iter_release(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_plugin_db *db = ctx;
    cd_wire_db_iter m = {0};
    CD_TRY(CD_WIRE_PARSE(&m, db_iter, mem, msg, why));
    cd_mutex_lock(&db->lock);
    cd_kv_iter **at = cd_hmap_get(&db->iters, &m.id);
    if (at != NULL) {
        cd_kv_iter_free(*at);
        (void)cd_hmap_del(&db->iters, &m.id);
    }
    cd_mutex_unlock(&db->lock);
    return put_err(out, CD_OK);
}

static const cd_plugin_method methods[] = {
    {"/rpcdb.Database/Has", serve_has},
    {"/rpcdb.Database/Get", serve_get},
    {"/rpcdb.Database/Put", serve_put},
    {"/rpcdb.Database/Delete", serve_delete},
    {"/rpcdb.Database/WriteBatch", serve_write_batch},
    {"/rpcdb.Database/NewIteratorWithStartAndPrefix", serve_iter_new},
    {"/rpcdb.Database/IteratorNext", serve_iter_next},
    {"/rpcdb.Database/IteratorError", serve_iter_error},
    {"/rpcdb.Database/IteratorRelease", serve_iter_release},
    {"/rpcdb.Database/Compact", serve_compact},
    {"/rpcdb.Database/HealthCheck", serve_health},
    {"/rpcdb.Database/Close", serve_close},
};

const cd_plugin_method *cd_plugin_db_methods(usize *cnt)
{
    *cnt = CD_COUNT(methods);
    return methods;
}

/* --- the object --- */

cd_plugin_db *cd_plugin_db_new(cd_kv *kv, cd_kv *store, const cd_vm_shared *shared)
{
    cd_plugin_db *db = cd_new(cd_plugin_db);
    db->kv = kv;
    db->store = store;
    db->shared = shared;
    db->overlay = cd_overlay_new(kv);
    db->changes_end = &db->changes;
    cd_hmap_init(&db->iters, CD_HASH_KEYED, sizeof(u64), sizeof(cd_kv_iter *));
    cd_mutex_init(&db->lock);
    return db;
}

void cd_plugin_db_free(cd_plugin_db *db)
{
    if (db == NULL) {
        return;
    }
    free_iters(db);
    cd_hmap_fini(&db->iters);
    cd_overlay_free(db->overlay);
    cd_arena_fini(&db->held_mem);
    cd_mutex_fini(&db->lock);
    cd_free(db);
}
