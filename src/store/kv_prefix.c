/* A part of a kv under a prefix, as a kv of its own. */
#include "store/kv.h"

#include "base/mem/mem.h"

typedef struct prefix_kv {
    cd_kv kv;
    cd_kv *base;
    bool owns_base;             /* true for a view of a snapshot, which is closed with the view */
    u8 whole[CD_KV_PREFIX_MAX]; /* prefix of all keys in the engine: the one of base, then ours */
    u8 whole_n;
    usize n;
    u8 prefix[];
} prefix_kv;

typedef struct prefix_iter {
    cd_kv_iter it;
    cd_kv_iter *base;
    usize n;
} prefix_iter;

static const cd_kv_ops ops;

/* Writes prefix ‖ key to out. */
static cd_bytes join(u8 out[2 * CD_KV_MAX_KEY], const prefix_kv *p, cd_bytes key)
{
    CD_ASSERT(p->n + key.n <= CD_KV_MAX_KEY);
    memcpy(out, p->prefix, p->n);
    if (key.n != 0) {
        memcpy(out + p->n, key.p, key.n);
    }
    return cd_bytes_of(out, p->n + key.n);
}

static void prefix_close(cd_kv *kv)
{
    prefix_kv *p = (prefix_kv *)kv;
    if (p->owns_base) {
        cd_kv_close(p->base);
    }
    cd_free(p);
}

static cd_err prefix_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    prefix_kv *p = (prefix_kv *)kv;
    u8 buf[2 * CD_KV_MAX_KEY];
    return cd_kv_get(p->base, out, join(buf, p, key));
}

static cd_err prefix_has(cd_kv *kv, bool *found, cd_bytes key)
{
    prefix_kv *p = (prefix_kv *)kv;
    u8 buf[2 * CD_KV_MAX_KEY];
    return cd_kv_has(p->base, found, join(buf, p, key));
}

/* Hands the batch to the engine below all prefixes; its keys are whole. */
static cd_err prefix_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    const prefix_kv *p = (const prefix_kv *)kv;
    return p->base->ops->commit(p->base, b, sync, why);
}

static cd_bytes prefix_prefix(const cd_kv *kv)
{
    const prefix_kv *p = (const prefix_kv *)kv;
    return cd_bytes_of(p->whole, p->whole_n);
}

static void iter_free(cd_kv_iter *it)
{
    cd_kv_iter_free(((prefix_iter *)it)->base);
    cd_free(it);
}

static bool iter_next(cd_kv_iter *it)
{
    prefix_iter *pi = (prefix_iter *)it;
    if (!cd_kv_iter_next(pi->base)) {
        it->err = cd_kv_iter_err(pi->base);
        return false;
    }
    cd_bytes key = cd_kv_iter_key(pi->base);
    it->key = cd_bytes_sub(key, pi->n, key.n - pi->n);
    it->value = cd_kv_iter_value(pi->base);
    return true;
}

static const cd_kv_iter_ops iter_ops = {.free = iter_free, .next = iter_next};

static cd_err prefix_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    prefix_kv *p = (prefix_kv *)kv;
    u8 prefix[2 * CD_KV_MAX_KEY];
    u8 start[2 * CD_KV_MAX_KEY];
    cd_kv_range full = {.prefix = join(prefix, p, range->prefix), .reverse = range->reverse};
    if (range->start.n != 0) {
        full.start = join(start, p, range->start);
    }
    cd_kv_iter *base = NULL;
    CD_TRY(cd_kv_iter_new(&base, p->base, &full));
    prefix_iter *pi = cd_new(prefix_iter);
    pi->it.ops = &iter_ops;
    pi->base = base;
    pi->n = p->n;
    *out = &pi->it;
    return CD_OK;
}

static prefix_kv *view_new(cd_kv *base, cd_bytes prefix)
{
    cd_bytes outer = base->ops->prefix == NULL ? (cd_bytes){0} : base->ops->prefix(base);
    CD_ASSERT(outer.n + prefix.n <= CD_KV_PREFIX_MAX);
    prefix_kv *p = cd_alloc(sizeof *p + prefix.n);
    p->kv.ops = &ops;
    p->base = base;
    p->n = prefix.n;
    p->whole_n = (u8)(outer.n + prefix.n);
    if (outer.n != 0) {
        memcpy(p->whole, outer.p, outer.n);
    }
    if (prefix.n != 0) {
        memcpy(p->prefix, prefix.p, prefix.n);
        memcpy(p->whole + outer.n, prefix.p, prefix.n);
    }
    return p;
}

static cd_err prefix_snapshot(cd_kv **out, cd_kv *kv)
{
    prefix_kv *p = (prefix_kv *)kv;
    cd_kv *base = NULL;
    CD_TRY(cd_kv_snapshot(&base, p->base));
    prefix_kv *s = view_new(base, cd_bytes_of(p->prefix, p->n));
    s->owns_base = true;
    *out = &s->kv;
    return CD_OK;
}

static cd_err prefix_in_memory(cd_kv **out, cd_kv *kv)
{
    prefix_kv *p = (prefix_kv *)kv;
    cd_kv *base = NULL;
    CD_TRY(cd_kv_in_memory(&base, p->base));
    prefix_kv *s = view_new(base, cd_bytes_of(p->prefix, p->n));
    s->owns_base = true;
    *out = &s->kv;
    return CD_OK;
}

static cd_err prefix_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    (void)kv;
    (void)dir;
    return cd_fail(why, CD_EUNSUPPORTED, "a part of a store cannot be copied alone");
}

static cd_err prefix_stats(cd_kv *kv, cd_kv_stats *out)
{
    return cd_kv_stats_get(((prefix_kv *)kv)->base, out);
}

static const cd_kv_ops ops = {
    .close = prefix_close,
    .get = prefix_get,
    .has = prefix_has,
    .commit = prefix_commit,
    .iter_new = prefix_iter_new,
    .snapshot = prefix_snapshot,
    .in_memory = prefix_in_memory,
    .checkpoint = prefix_checkpoint,
    .stats = prefix_stats,
    .prefix = prefix_prefix,
};

cd_kv *cd_kv_prefix_open(cd_kv *kv, cd_bytes prefix)
{
    return &view_new(kv, prefix)->kv;
}
