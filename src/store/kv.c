#include "store/kv.h"

#include "base/mem/mem.h"
#include "base/rd.h"
#include "store/kv_priv.h"

/* A batch is a LevelDB write batch: u64 sequence (an engine's business, 0 here), u32 count, then per
 * record a tag and varint-prefixed strings. */
enum { TAG_DEL = 0, TAG_PUT = 1, BATCH_HEADER = 12, BATCH_COUNT_AT = 8, VARINT_MAX = 5, SLACK = 32 };

void cd_kv_batch_fini(cd_kv_batch *b)
{
    cd_buf_fini(&b->rec);
    b->cnt = 0;
}

void cd_kv_batch_clear(cd_kv_batch *b)
{
    cd_buf_clear(&b->rec);
    b->cnt = 0;
}

static cd_bytes prefix_of(const cd_kv *kv)
{
    return kv->ops->prefix == NULL ? (cd_bytes){0} : kv->ops->prefix(kv);
}

static cd_bytes batch_prefix(const cd_kv_batch *b)
{
    return cd_bytes_of(b->prefix, b->prefix_n);
}

void cd_kv_batch_for(cd_kv_batch *b, const cd_kv *kv)
{
    cd_bytes prefix = prefix_of(kv);
    CD_ASSERT(prefix.n <= CD_KV_PREFIX_MAX);
    cd_kv_batch_clear(b);
    b->prefix_n = (u8)prefix.n;
    if (prefix.n != 0) {
        memcpy(b->prefix, prefix.p, prefix.n);
    }
}

void cd_kv_batch_narrow(cd_kv_batch *b, const cd_kv *kv)
{
    cd_bytes prefix = prefix_of(kv);
    CD_ASSERT(prefix.n <= sizeof b->prefix);
    b->prefix_n = (u8)prefix.n;
    if (prefix.n != 0) {
        memcpy(b->prefix, prefix.p, prefix.n);
    }
}

void cd_kv_batch_widen(cd_kv_batch *b)
{
    b->prefix_n = 0; /* records hold whole keys */
}

static u8 *put_varint(u8 *p, u32 v)
{
    while (v >= 0x80) {
        *p++ = (u8)(v | 0x80);
        v >>= 7;
    }
    *p++ = (u8)v;
    return p;
}

static u8 *put_bytes(u8 *p, cd_bytes b)
{
    if (b.n != 0) {
        memcpy(p, b.p, b.n);
    }
    return p + b.n;
}

/* Starts a record with room for rest bytes after the key, and gives the place of those bytes. */
static u8 *record(cd_kv_batch *b, u8 tag, cd_bytes prefix, cd_bytes key, usize rest)
{
    usize key_n = b->prefix_n + prefix.n + key.n;
    CD_ASSERT(key_n <= CD_KV_MAX_KEY && rest <= (usize)CD_KV_MAX_VALUE + VARINT_MAX);
    CD_ASSERT(b->cnt < UINT32_MAX);
    if (b->rec.n == 0) {
        cd_buf_fill(&b->rec, 0, BATCH_HEADER);
    }
    u8 *p = cd_buf_reserve(&b->rec, 1 + VARINT_MAX + key_n + rest + SLACK);
    cd_put_le32(b->rec.p + BATCH_COUNT_AT, ++b->cnt);
    *p++ = tag;
    p = put_varint(p, (u32)key_n);
    return put_bytes(put_bytes(put_bytes(p, batch_prefix(b)), prefix), key);
}

u8 *cd_kv_batch_put2(cd_kv_batch *b, cd_bytes prefix, cd_bytes key, usize value_n)
{
    u8 *p = record(b, TAG_PUT, prefix, key, VARINT_MAX + value_n);
    p = put_varint(p, (u32)value_n);
    b->rec.n = (usize)(p - b->rec.p) + value_n;
    return p;
}

void cd_kv_batch_del2(cd_kv_batch *b, cd_bytes prefix, cd_bytes key)
{
    u8 *p = record(b, TAG_DEL, prefix, key, 0);
    b->rec.n = (usize)(p - b->rec.p);
}

void cd_kv_batch_put(cd_kv_batch *b, cd_bytes key, cd_bytes value)
{
    u8 *p = cd_kv_batch_put2(b, (cd_bytes){0}, key, value.n);
    put_bytes(p, value);
}

void cd_kv_batch_del(cd_kv_batch *b, cd_bytes key)
{
    cd_kv_batch_del2(b, (cd_bytes){0}, key);
}

void cd_kv_batch_append(cd_kv_batch *b, const cd_kv_batch *other)
{
    if (other->cnt == 0) {
        return;
    }
    CD_ASSERT(other->cnt <= UINT32_MAX - b->cnt);
    CD_ASSERT(b->prefix_n == 0 || cd_bytes_eq(batch_prefix(b), batch_prefix(other)));
    if (b->rec.n == 0) {
        cd_buf_fill(&b->rec, 0, BATCH_HEADER);
    }
    cd_buf_put(&b->rec, cd_bytes_of(other->rec.p + BATCH_HEADER, other->rec.n - BATCH_HEADER));
    b->cnt += other->cnt;
    cd_put_le32(b->rec.p + BATCH_COUNT_AT, b->cnt);
}

/* Reads a string; a length must have the shortest form, as record writes it. */
static cd_bytes rd_string(cd_rd *r)
{
    u32 n = 0;
    for (u32 shift = 0; shift < 7 * VARINT_MAX; shift += 7) {
        u8 c = cd_rd_u8(r);
        if ((c == 0 && shift != 0) || (shift == 28 && c > 0x0f)) {
            break;
        }
        n |= (u32)(c & 0x7f) << shift;
        if (c < 0x80) {
            return cd_rd_take(r, n);
        }
    }
    cd_rd_fail(r, CD_EFORMAT);
    return (cd_bytes){0};
}

/* Reads one record; r keeps an error when the record was not whole. */
static cd_kv_rec rd_record(cd_rd *r)
{
    cd_kv_rec rec = {0};
    u8 tag = cd_rd_u8(r);
    rec.key = rd_string(r);
    if (tag == TAG_PUT) {
        rec.value = rd_string(r);
    } else if (tag == TAG_DEL) {
        rec.is_del = true;
    } else {
        cd_rd_fail(r, CD_EFORMAT);
    }
    return rec;
}

bool cd_kv_batch_next(const cd_kv_batch *b, cd_kv_rec *out, usize *pos)
{
    usize at = *pos == 0 ? BATCH_HEADER : *pos;
    if (at >= b->rec.n) {
        return false;
    }
    cd_rd r = cd_rd_init(cd_bytes_of(b->rec.p + at, b->rec.n - at));
    *out = rd_record(&r);
    CD_ASSERT(r.err == CD_OK);
    *pos = b->rec.n - cd_rd_left(&r);
    return true;
}

cd_err cd_kv_batch_del_prefix(cd_kv_batch *b, cd_kv *kv, cd_bytes prefix)
{
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = prefix}));
    while (cd_kv_iter_next(it)) {
        cd_kv_batch_del(b, cd_kv_iter_key(it));
    }
    cd_err err = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return err;
}

cd_err cd_kv_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    return kv->ops->get(kv, out, key);
}

void cd_kv_get_many(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt)
{
    if (kv->ops->get_many != NULL) {
        kv->ops->get_many(kv, out, err, keys, cnt);
        return;
    }
    for (usize i = 0; i < cnt; i++) {
        err[i] = cd_kv_get(kv, &out[i], keys[i]);
    }
}

cd_err cd_kv_has(cd_kv *kv, bool *found, cd_bytes key)
{
    return kv->ops->has(kv, found, key);
}

cd_err cd_kv_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    CD_ASSERT(cd_bytes_eq(batch_prefix(b), prefix_of(kv)));
    return kv->ops->commit(kv, b, sync, why);
}

cd_err cd_kv_put(cd_kv *kv, cd_bytes key, cd_bytes value)
{
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, kv);
    cd_kv_batch_put(&b, key, value);
    cd_err err = cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return err;
}

cd_err cd_kv_del(cd_kv *kv, cd_bytes key)
{
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, kv);
    cd_kv_batch_del(&b, key);
    cd_err err = cd_kv_commit(kv, &b, CD_KV_NOSYNC, NULL);
    cd_kv_batch_fini(&b);
    return err;
}

cd_err cd_kv_iter_new(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    return kv->ops->iter_new(out, kv, range);
}

void cd_kv_iter_free(cd_kv_iter *it)
{
    if (it != NULL) {
        it->ops->free(it);
    }
}

bool cd_kv_iter_next(cd_kv_iter *it)
{
    return it->err == CD_OK && it->ops->next(it);
}

cd_bytes cd_kv_iter_key(const cd_kv_iter *it)
{
    return it->key;
}

cd_bytes cd_kv_iter_value(const cd_kv_iter *it)
{
    return it->value;
}

cd_err cd_kv_iter_err(const cd_kv_iter *it)
{
    return it->err;
}

cd_err cd_kv_snapshot(cd_kv **out, cd_kv *kv)
{
    return kv->ops->snapshot(out, kv);
}

cd_err cd_kv_in_memory(cd_kv **out, cd_kv *kv)
{
    return kv->ops->in_memory == NULL ? CD_EUNSUPPORTED : kv->ops->in_memory(out, kv);
}

cd_err cd_kv_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    return kv->ops->checkpoint(kv, dir, why);
}

cd_err cd_kv_stats_get(cd_kv *kv, cd_kv_stats *out)
{
    return kv->ops->stats(kv, out);
}

void cd_kv_close(cd_kv *kv)
{
    if (kv != NULL) {
        kv->ops->close(kv);
    }
}

usize cd__kv_behind(u8 *buf, cd_bytes prefix)
{
    /* The last byte that is not 0xff is raised by one. */
    usize n = prefix.n;
    while (n != 0 && prefix.p[n - 1] == 0xff) {
        n--;
    }
    if (n != 0) {
        memcpy(buf, prefix.p, n);
        buf[n - 1]++;
    }
    return n;
}

cd__kv_bound cd__kv_bound_of(u8 buf[CD_KV_MAX_KEY], const cd_kv_range *range)
{
    CD_ASSERT(range->prefix.n <= CD_KV_MAX_KEY && range->start.n <= CD_KV_MAX_KEY);
    if (!range->reverse) {
        bool late = cd_bytes_cmp(range->start, range->prefix) > 0;
        cd_bytes key = late ? range->start : range->prefix;
        return (cd__kv_bound){.key = key, .has_key = key.n != 0};
    }
    usize n = cd__kv_behind(buf, range->prefix);
    cd_bytes behind = cd_bytes_of(buf, n);
    if (range->start.n != 0 && (n == 0 || cd_bytes_cmp(range->start, behind) < 0)) {
        return (cd__kv_bound){.key = range->start, .has_key = true};
    }
    return (cd__kv_bound){.key = behind, .has_key = n != 0, .is_open = n != 0};
}
