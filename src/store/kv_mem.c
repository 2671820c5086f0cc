/* The engine in memory: a copy-on-write map, so that snapshots and iterators cost one reference. */
#include "store/kv.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "store/cow_priv.h"
#include "store/kv_priv.h"

typedef struct mem_kv {
    cd_kv kv;
    bool frozen;   /* a snapshot: map never changes, the lock is not needed */
    cd_mutex lock; /* protects map */
    cd__cow map;
} mem_kv;

typedef struct mem_iter {
    cd_kv_iter it;
    cd__cow map;
    cd__cow_iter walk;
    bool started;
    usize prefix_n;
    u8 prefix[];
} mem_iter;

static const cd_kv_ops ops;

static void mem_close(cd_kv *kv)
{
    mem_kv *m = (mem_kv *)kv;
    cd__cow_fini(&m->map);
    cd_mutex_fini(&m->lock);
    cd_free(m);
}

static void lock(mem_kv *m)
{
    if (!m->frozen) {
        cd_mutex_lock(&m->lock);
    }
}

static void unlock(mem_kv *m)
{
    if (!m->frozen) {
        cd_mutex_unlock(&m->lock);
    }
}

static cd_err mem_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    mem_kv *m = (mem_kv *)kv;
    lock(m);
    const cd__cow_cell *c = cd__cow_get(&m->map, key);
    if (c != NULL) {
        cd_buf_clear(out);
        cd_buf_put(out, cd__cow_value(c));
    }
    unlock(m);
    return c != NULL ? CD_OK : CD_ENOENT;
}

static void mem_get_many(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt)
{
    mem_kv *m = (mem_kv *)kv;
    const cd__cow_cell *cell[CD__COW_MANY];
    for (usize at = 0; at < cnt; at += CD__COW_MANY) {
        usize n = cnt - at < CD__COW_MANY ? cnt - at : CD__COW_MANY;
        lock(m);
        cd__cow_get_many(&m->map, cell, keys + at, n);
        for (usize i = 0; i < n; i++) {
            err[at + i] = cell[i] != NULL ? CD_OK : CD_ENOENT;
            if (cell[i] != NULL) {
                cd_buf_clear(&out[at + i]);
                cd_buf_put(&out[at + i], cd__cow_value(cell[i]));
            }
        }
        unlock(m);
    }
}

static cd_err mem_has(cd_kv *kv, bool *found, cd_bytes key)
{
    mem_kv *m = (mem_kv *)kv;
    lock(m);
    *found = cd__cow_get(&m->map, key) != NULL;
    unlock(m);
    return CD_OK;
}

static cd_err mem_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    (void)sync;
    mem_kv *m = (mem_kv *)kv;
    if (m->frozen) {
        return cd_fail(why, CD_EACCES, "a snapshot cannot be written");
    }
    lock(m);
    cd_kv_rec rec;
    for (usize pos = 0; cd_kv_batch_next(b, &rec, &pos);) {
        if (rec.is_del) {
            cd__cow_del(&m->map, rec.key);
        } else {
            cd__cow_put(&m->map, rec.key, rec.value, false);
        }
    }
    unlock(m);
    return CD_OK;
}

static void iter_free(cd_kv_iter *it)
{
    mem_iter *mi = (mem_iter *)it;
    cd__cow_fini(&mi->map);
    cd_free(mi);
}

static bool iter_next(cd_kv_iter *it)
{
    mem_iter *mi = (mem_iter *)it;
    if (mi->started) {
        cd__cow_next(&mi->walk);
    }
    mi->started = true;
    const cd__cow_cell *c = cd__cow_at(&mi->walk);
    if (c == NULL || !cd__kv_has_prefix(cd__cow_key(c), cd_bytes_of(mi->prefix, mi->prefix_n))) {
        mi->walk.depth = 0;
        return false;
    }
    it->key = cd__cow_key(c);
    it->value = cd__cow_value(c);
    return true;
}

static const cd_kv_iter_ops iter_ops = {.free = iter_free, .next = iter_next};

static cd_err mem_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    mem_kv *m = (mem_kv *)kv;
    u8 buf[CD_KV_MAX_KEY];
    cd__kv_bound bound = cd__kv_bound_of(buf, range);
    mem_iter *mi = cd_alloc(sizeof *mi + range->prefix.n);
    mi->it.ops = &iter_ops;
    if (range->prefix.n != 0) {
        memcpy(mi->prefix, range->prefix.p, range->prefix.n);
    }
    mi->prefix_n = range->prefix.n;
    lock(m);
    mi->map = cd__cow_share(&m->map);
    unlock(m);
    cd__cow_seek(&mi->walk, &mi->map, bound.key, bound.has_key, range->reverse);
    const cd__cow_cell *c = cd__cow_at(&mi->walk);
    if (bound.is_open && c != NULL && cd_bytes_eq(cd__cow_key(c), bound.key)) {
        cd__cow_next(&mi->walk);
    }
    *out = &mi->it;
    return CD_OK;
}

static cd_err mem_snapshot(cd_kv **out, cd_kv *kv)
{
    mem_kv *m = (mem_kv *)kv;
    mem_kv *s = cd_new(mem_kv);
    s->kv.ops = &ops;
    s->frozen = true;
    cd_mutex_init(&s->lock);
    lock(m);
    s->map = cd__cow_share(&m->map);
    unlock(m);
    *out = &s->kv;
    return CD_OK;
}

static cd_err mem_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    (void)kv;
    (void)dir;
    return cd_fail(why, CD_EUNSUPPORTED, "a store in memory has no files to copy");
}

static cd_err mem_stats(cd_kv *kv, cd_kv_stats *out)
{
    mem_kv *m = (mem_kv *)kv;
    lock(m);
    *out = (cd_kv_stats){.keys = m->map.cnt, .mem_bytes = m->map.bytes};
    unlock(m);
    return CD_OK;
}

static const cd_kv_ops ops = {
    .close = mem_close,
    .get = mem_get,
    .get_many = mem_get_many,
    .has = mem_has,
    .commit = mem_commit,
    .iter_new = mem_iter_new,
    .snapshot = mem_snapshot,
    .in_memory = mem_snapshot, /* a snapshot is in memory anyway */
    .checkpoint = mem_checkpoint,
    .stats = mem_stats,
};

cd_kv *cd_kv_mem_open(void)
{
    mem_kv *m = cd_new(mem_kv);
    m->kv.ops = &ops;
    cd_mutex_init(&m->lock);
    return &m->kv;
}
