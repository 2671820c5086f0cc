#include "store/overlay.h"

#include "base/mem/mem.h"
#include "store/cow_priv.h"
#include "store/kv_priv.h"

struct cd_layer {
    cd_kv kv; /* first: a layer is a cd_kv */
    cd_overlay *ov;
    cd_layer *parent; /* NULL = stands on the base */
    cd_layer *kids;   /* first child, chained by next */
    cd_layer *next;
    u32 depth;
    bool is_sealed;
    cd__cow map; /* changes of this layer, deletions as tombstones */
};

struct cd_overlay {
    cd_kv *base;
    cd_layer *roots; /* layers on the base, chained by next */
    usize cnt;
};

/* Merges one stream per layer, the nearest first, and that of the base: the smallest key wins, of equal keys the one of
 * the nearest layer. */
typedef struct layer_iter {
    cd_kv_iter it;
    cd_kv_iter *base;
    bool base_live;
    bool reverse;
    u32 cnt;
    usize prefix_n;
    u8 *prefix;
    struct layer_walk {
        cd__cow map;
        cd__cow_iter walk;
    } walks[];
} layer_iter;

static const cd_kv_ops ops;

static const cd__cow_cell *find(const cd_layer *l, cd_bytes key)
{
    for (; l != NULL; l = l->parent) {
        const cd__cow_cell *c = cd__cow_get(&l->map, key);
        if (c != NULL) {
            return c;
        }
    }
    return NULL;
}

static cd_err layer_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    const cd_layer *l = (const cd_layer *)kv;
    const cd__cow_cell *c = find(l, key);
    if (c == NULL) {
        return cd_kv_get(l->ov->base, out, key);
    }
    if (c->is_tomb) {
        return CD_ENOENT;
    }
    cd_buf_clear(out);
    cd_buf_put(out, cd__cow_value(c));
    return CD_OK;
}

static cd_err layer_has(cd_kv *kv, bool *found, cd_bytes key)
{
    const cd_layer *l = (const cd_layer *)kv;
    const cd__cow_cell *c = find(l, key);
    if (c == NULL) {
        return cd_kv_has(l->ov->base, found, key);
    }
    *found = !c->is_tomb;
    return CD_OK;
}

static cd_err layer_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    (void)sync;
    cd_layer *l = (cd_layer *)kv;
    if (l->is_sealed) {
        return cd_fail(why, CD_EACCES, "the layer is sealed");
    }
    cd_kv_rec rec;
    for (usize pos = 0; cd_kv_batch_next(b, &rec, &pos);) {
        cd__cow_put(&l->map, rec.key, rec.value, rec.is_del);
    }
    return CD_OK;
}

static void iter_free(cd_kv_iter *it)
{
    layer_iter *li = (layer_iter *)it;
    for (u32 i = 0; i < li->cnt; i++) {
        cd__cow_fini(&li->walks[i].map);
    }
    cd_kv_iter_free(li->base);
    cd_free(li->prefix);
    cd_free(li);
}

static bool step_base(layer_iter *li)
{
    li->base_live = cd_kv_iter_next(li->base);
    return li->base_live;
}

/* The current cell of walk i if it is inside the range. */
static const cd__cow_cell *cell_at(const layer_iter *li, u32 i)
{
    const cd__cow_cell *c = cd__cow_at(&li->walks[i].walk);
    cd_bytes prefix = cd_bytes_of(li->prefix, li->prefix_n);
    return c != NULL && cd__kv_has_prefix(cd__cow_key(c), prefix) ? c : NULL;
}

static bool comes_first(const layer_iter *li, cd_bytes a, cd_bytes b)
{
    int c = cd_bytes_cmp(a, b);
    return li->reverse ? c > 0 : c < 0;
}

static bool iter_next(cd_kv_iter *it)
{
    layer_iter *li = (layer_iter *)it;
    /* Every stream that stands on the key given last moves on now, while that key is still borrowed. */
    if (it->key.p != NULL) {
        cd_bytes last = it->key;
        bool base_too = li->base_live && cd_bytes_eq(cd_kv_iter_key(li->base), last);
        for (u32 i = 0; i < li->cnt; i++) {
            const cd__cow_cell *c = cell_at(li, i);
            if (c != NULL && cd_bytes_eq(cd__cow_key(c), last)) {
                cd__cow_next(&li->walks[i].walk);
            }
        }
        if (base_too) {
            step_base(li);
        }
    } else {
        step_base(li);
    }
    for (;;) {
        const cd__cow_cell *best = NULL;
        for (u32 i = 0; i < li->cnt; i++) {
            const cd__cow_cell *c = cell_at(li, i);
            if (c != NULL && (best == NULL || comes_first(li, cd__cow_key(c), cd__cow_key(best)))) {
                best = c;
            }
        }
        if (!li->base_live) {
            it->err = cd_kv_iter_err(li->base);
            if (best == NULL || it->err != CD_OK) {
                return false;
            }
        }
        if (best == NULL || (li->base_live && comes_first(li, cd_kv_iter_key(li->base), cd__cow_key(best)))) {
            it->key = cd_kv_iter_key(li->base);
            it->value = cd_kv_iter_value(li->base);
            return true;
        }
        if (!best->is_tomb) {
            it->key = cd__cow_key(best);
            it->value = cd__cow_value(best);
            return true;
        }
        for (u32 i = 0; i < li->cnt; i++) {
            const cd__cow_cell *c = cell_at(li, i);
            if (c != NULL && cd_bytes_eq(cd__cow_key(c), cd__cow_key(best))) {
                cd__cow_next(&li->walks[i].walk);
            }
        }
        if (li->base_live && cd_bytes_eq(cd_kv_iter_key(li->base), cd__cow_key(best))) {
            step_base(li);
        }
    }
}

static const cd_kv_iter_ops iter_ops = {.free = iter_free, .next = iter_next};

static cd_err layer_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    cd_layer *l = (cd_layer *)kv;
    cd_kv_iter *base = NULL;
    CD_TRY(cd_kv_iter_new(&base, l->ov->base, range));
    layer_iter *li = cd_alloc(sizeof *li + l->depth * sizeof li->walks[0]);
    li->it.ops = &iter_ops;
    li->base = base;
    li->reverse = range->reverse;
    li->prefix_n = range->prefix.n;
    li->prefix = cd_alloc(range->prefix.n);
    if (range->prefix.n != 0) {
        memcpy(li->prefix, range->prefix.p, range->prefix.n);
    }
    u8 buf[CD_KV_MAX_KEY];
    cd__kv_bound bound = cd__kv_bound_of(buf, range);
    for (; l != NULL; l = l->parent) {
        struct layer_walk *w = &li->walks[li->cnt++];
        w->map = cd__cow_share(&l->map);
        cd__cow_seek(&w->walk, &w->map, bound.key, bound.has_key, range->reverse);
        const cd__cow_cell *c = cd__cow_at(&w->walk);
        if (bound.is_open && c != NULL && cd_bytes_eq(cd__cow_key(c), bound.key)) {
            cd__cow_next(&w->walk);
        }
    }
    *out = &li->it;
    return CD_OK;
}

static cd_err layer_snapshot(cd_kv **out, cd_kv *kv)
{
    (void)out;
    (void)kv;
    return CD_EUNSUPPORTED;
}

static cd_err layer_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    (void)kv;
    (void)dir;
    return cd_fail(why, CD_EUNSUPPORTED, "a layer is not durable");
}

static cd_err layer_stats(cd_kv *kv, cd_kv_stats *out)
{
    const cd_layer *l = (const cd_layer *)kv;
    *out = (cd_kv_stats){.keys = l->map.cnt, .mem_bytes = l->map.bytes};
    return CD_OK;
}

/* A layer's view belongs to the layer: closing it is a bug. */
static void layer_close(cd_kv *kv)
{
    (void)kv;
    CD_UNREACHABLE();
}

static const cd_kv_ops ops = {
    .close = layer_close,
    .get = layer_get,
    .has = layer_has,
    .commit = layer_commit,
    .iter_new = layer_iter_new,
    .snapshot = layer_snapshot,
    .checkpoint = layer_checkpoint,
    .stats = layer_stats,
};

cd_overlay *cd_overlay_new(cd_kv *base)
{
    cd_overlay *ov = cd_new(cd_overlay);
    ov->base = base;
    return ov;
}

void cd_overlay_free(cd_overlay *ov)
{
    if (ov == NULL) {
        return;
    }
    while (ov->roots != NULL) {
        cd_layer_drop(ov->roots);
    }
    cd_free(ov);
}

cd_err cd_overlay_begin(cd_overlay *ov, cd_layer **out, cd_layer *parent)
{
    if (parent != NULL && !parent->is_sealed) {
        return CD_EINVAL;
    }
    u32 depth = parent == NULL ? 1 : parent->depth + 1;
    if (depth > CD_OVERLAY_MAX_DEPTH) {
        return CD_ELIMIT;
    }
    cd_layer **head = parent == NULL ? &ov->roots : &parent->kids;
    cd_layer *l = cd_new(cd_layer);
    *l = (cd_layer){.kv = {.ops = &ops}, .ov = ov, .parent = parent, .next = *head, .depth = depth};
    *head = l;
    ov->cnt++;
    *out = l;
    return CD_OK;
}

usize cd_overlay_cnt(const cd_overlay *ov)
{
    return ov->cnt;
}

cd_kv *cd_layer_kv(cd_layer *l)
{
    return &l->kv;
}

void cd_layer_seal(cd_layer *l)
{
    l->is_sealed = true;
}

usize cd_layer_changes(const cd_layer *l)
{
    return l->map.cnt;
}

void cd_layer_export(const cd_layer *l, cd_kv_batch *batch)
{
    cd__cow_iter walk;
    cd__cow_seek(&walk, &l->map, (cd_bytes){0}, false, false);
    for (const cd__cow_cell *c; (c = cd__cow_at(&walk)) != NULL; cd__cow_next(&walk)) {
        if (c->is_tomb) {
            cd_kv_batch_del(batch, cd__cow_key(c));
        } else {
            cd_kv_batch_put(batch, cd__cow_key(c), cd__cow_value(c));
        }
    }
}

static void unlink_layer(cd_layer *l)
{
    cd_layer **at = l->parent == NULL ? &l->ov->roots : &l->parent->kids;
    while (*at != l) {
        at = &(*at)->next;
    }
    *at = l->next;
}

void cd_layer_drop(cd_layer *l)
{
    unlink_layer(l);
    /* Free the subtree from its leaves, without recursion. */
    cd_layer *at = l;
    for (;;) {
        while (at->kids != NULL) {
            at = at->kids;
        }
        cd_layer *parent = at->parent;
        bool is_last = at == l;
        if (!is_last) {
            parent->kids = at->next;
        }
        at->ov->cnt--;
        cd__cow_fini(&at->map);
        cd_free(at);
        if (is_last) {
            return;
        }
        at = parent;
    }
}

/* Lowers the depth of l and of every layer above it by one. */
static void lower(cd_layer *l)
{
    cd_layer *at = l;
    while (at != NULL) {
        at->depth--;
        if (at->kids != NULL) {
            at = at->kids;
            continue;
        }
        while (at != l && at->next == NULL) {
            at = at->parent;
        }
        at = at == l ? NULL : at->next;
    }
}

void cd_layer_accept(cd_layer *l)
{
    CD_ASSERT(l->parent == NULL);
    cd_overlay *ov = l->ov;
    unlink_layer(l);
    while (ov->roots != NULL) {
        cd_layer_drop(ov->roots);
    }
    for (cd_layer *k = l->kids; k != NULL; k = k->next) {
        k->parent = NULL;
    }
    ov->roots = l->kids;
    for (cd_layer *k = ov->roots; k != NULL; k = k->next) {
        lower(k);
    }
    ov->cnt--;
    cd__cow_fini(&l->map);
    cd_free(l);
}

cd_err cd_layer_flatten(cd_layer *l, const cd_kv_batch *extra, cd_kv_sync sync, cd_errinfo *why)
{
    CD_ASSERT(l->parent == NULL);
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, l->ov->base);
    cd_layer_export(l, &b);
    if (extra != NULL) {
        cd_kv_batch_append(&b, extra);
    }
    cd_err err = cd_kv_commit(l->ov->base, &b, sync, why);
    cd_kv_batch_fini(&b);
    if (err == CD_OK) {
        cd_layer_accept(l);
    }
    return err;
}
