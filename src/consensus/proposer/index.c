/* The wrapper's part of the store:
 *
 *   'b' id       ─► the VM's id (32), n (4), what stands before the VM's block (n), what stands behind it
 *   'h' height   ─► id
 *   'f'          ─► height of the first outer block
 *   's'          ─► the summary that the VM was synced to last, or is being synced to
 *
 * The VM keeps its own block: it is not written twice. */
#include "consensus/proposer/proposer_priv.h"

#include "base/rd.h"

typedef struct key {
    u8 b[33];
    usize n;
} key;

static cd_bytes key_of(key *k, u8 table, const void *rest, usize n)
{
    k->b[0] = table;
    if (n != 0) {
        memcpy(k->b + 1, rest, n);
    }
    k->n = 1 + n;
    return cd_bytes_of(k->b, k->n);
}

static cd_bytes height_key(key *k, u64 height)
{
    u8 be[8];
    cd_put_be64(be, height);
    return key_of(k, 'h', be, sizeof be);
}

void cd__index_fork(cd_kv_batch *batch, u64 height)
{
    key k;
    u8 be[8];
    cd_put_be64(be, height);
    cd_kv_batch_put(batch, key_of(&k, 'f', NULL, 0), cd_bytes_of(be, sizeof be));
}

void cd__index_put(cd_kv_batch *batch, const proposer *p, const outer_block *o)
{
    key k;
    cd_outer parts = {0};
    cd_buf value = {0};
    cd_bytes bytes = o->pub.bytes;
    cd_err e = cd_outer_parse(&parts, bytes, NULL);
    CD_ASSERT(e == CD_OK);
    usize before = (usize)(parts.inner.p - bytes.p);
    usize behind = before + parts.inner.n;
    cd_buf_put(&value, cd_bytes_of(o->inner->id.b, 32));
    cd_put_be32(cd_buf_extend(&value, 4), (u32)before);
    cd_buf_put(&value, cd_bytes_sub(bytes, 0, before));
    cd_buf_put(&value, cd_bytes_sub(bytes, behind, bytes.n - behind));
    cd_kv_batch_put(batch, key_of(&k, 'b', o->pub.id.b, 32), cd_buf_bytes(&value));
    cd_kv_batch_put(batch, height_key(&k, o->pub.height), cd_bytes_of(o->pub.id.b, 32));
    if (p->fork_height == NO_FORK) {
        cd__index_fork(batch, o->pub.height);
    }
    cd_buf_fini(&value);
}

void cd__index_put_summary(cd_kv_batch *batch, cd_bytes summary)
{
    cd_kv_batch_put(batch, cd_bytes_str("s"), summary);
}

cd_err cd__index_summary(proposer *p, cd_buf *out)
{
    return cd_kv_get(p->cfg.kv, out, cd_bytes_str("s"));
}

/* Makes a block from its record, which has the bytes before and behind the VM's block, and from the VM's block. */
static cd_err join(outer_block **out, proposer *p, cd_bytes value, const cd_hash32 *id)
{
    cd_hash32 inner_id;
    cd_vm_block *inner = NULL;
    cd_outer o = {0};
    cd_buf bytes = {0};
    cd_rd r = cd_rd_init(value);
    cd_rd_copy(&r, inner_id.b, sizeof inner_id.b);
    u32 n = cd_rd_be32(&r);
    cd_bytes before = cd_rd_take(&r, n);
    cd_bytes behind = cd_rd_take(&r, cd_rd_left(&r));
    cd_err e = r.err == CD_OK ? p->inner->ops->get(p->inner, &inner, &inner_id) : CD_ECORRUPT;
    if (e != CD_OK) {
        return e == CD_ENOENT ? CD_ECORRUPT : e;
    }
    cd_buf_put(&bytes, before);
    cd_buf_put(&bytes, inner->bytes);
    cd_buf_put(&bytes, behind);
    e = cd_outer_parse(&o, cd_buf_bytes(&bytes), NULL);
    if (e == CD_OK && cd_hash32_eq(&o.id, id)) {
        *out = cd__outer_make(cd_buf_bytes(&bytes), &o, inner);
    } else {
        p->inner->ops->release(p->inner, inner);
        e = CD_ECORRUPT;
    }
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__index_get(proposer *p, outer_block **out, const cd_hash32 *id)
{
    key k;
    cd_buf value = {0};
    cd_err e = cd_kv_get(p->cfg.kv, &value, key_of(&k, 'b', id->b, 32));
    if (e == CD_OK) {
        e = join(out, p, cd_buf_bytes(&value), id);
    }
    cd_buf_fini(&value);
    return e;
}

cd_err cd__index_at(proposer *p, cd_hash32 *id, u64 height)
{
    key k;
    cd_buf value = {0};
    if (height < p->fork_height) {
        return p->inner->ops->id_at_height(p->inner, id, height);
    }
    cd_err e = cd_kv_get(p->cfg.kv, &value, height_key(&k, height));
    if (e == CD_OK && value.n == sizeof id->b) {
        memcpy(id->b, value.p, sizeof id->b);
    } else if (e == CD_OK) {
        e = CD_ECORRUPT;
    }
    cd_buf_fini(&value);
    return e;
}

static cd_err read_fork(proposer *p)
{
    key k;
    cd_buf value = {0};
    p->fork_height = NO_FORK;
    cd_err e = cd_kv_get(p->cfg.kv, &value, key_of(&k, 'f', NULL, 0));
    if (e == CD_OK && value.n == 8) {
        p->fork_height = cd_be64(value.p);
    } else if (e == CD_OK) {
        e = CD_ECORRUPT;
    }
    cd_buf_fini(&value);
    return e == CD_ENOENT ? CD_OK : e;
}

/* Deletes the entries of accepted blocks above a height. */
static cd_err cut(proposer *p, u64 height, cd_errinfo *why)
{
    key k;
    key b;
    cd_kv_iter *it;
    const cd_kv_range range = {.prefix = cd_bytes_str("h"), .start = height_key(&k, height + 1)};
    cd_kv_batch_for(&p->batch, p->cfg.kv);
    CD_TRY(cd_kv_iter_new(&it, p->cfg.kv, &range));
    while (cd_kv_iter_next(it)) {
        cd_bytes id = cd_kv_iter_value(it);
        cd_kv_batch_del(&p->batch, cd_kv_iter_key(it));
        if (id.n == 32) {
            cd_kv_batch_del(&p->batch, key_of(&b, 'b', id.p, 32));
        }
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    if (e == CD_OK && height < p->fork_height && p->fork_height != NO_FORK) {
        cd_kv_batch_del(&p->batch, key_of(&b, 'f', NULL, 0));
        p->fork_height = NO_FORK;
    }
    if (e == CD_OK && p->batch.cnt != 0) {
        e = cd_kv_commit(p->cfg.kv, &p->batch, CD_KV_NOSYNC, why);
    }
    return e;
}

cd_err cd__index_repair(proposer *p, outer_block **last, cd_errinfo *why)
{
    cd_hash32 inner_id;
    cd_hash32 id;
    u64 height;
    p->inner->ops->last_accepted(p->inner, &inner_id, &height);
    CD_TRY(read_fork(p));
    CD_TRY(cut(p, height, why));
    if (p->fork_height == NO_FORK) {
        cd_vm_block *inner;
        CD_TRY(p->inner->ops->get(p->inner, &inner, &inner_id));
        *last = cd__outer_bare(inner);
        return CD_OK;
    }
    cd_err e = cd__index_at(p, &id, height);
    if (e == CD_OK) {
        e = cd__index_get(p, last, &id);
    }
    if (e == CD_OK && !cd_hash32_eq(&(*last)->inner->id, &inner_id)) {
        cd__outer_ops.free(p, &(*last)->pub);
        e = CD_ENOENT;
    }
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_ECORRUPT, "the proposer index is behind the chain: nothing at height %llu",
                       (unsigned long long)height);
    }
    return e;
}
