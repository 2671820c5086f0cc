#include "consensus/proposer/outer.h"

#include "base/rd.h"
#include "crypto/hash/sha2.h"

enum { VERSION = 0, CHILD = 0, OPTION = 1 };

static cd_bytes rd_counted(cd_rd *r)
{
    u32 n = cd_rd_be32(r);
    return cd_rd_take(r, n);
}

static cd_err rd_done(const cd_rd *r, cd_bytes all, cd_errinfo *why)
{
    cd_err e = cd_rd_end(r);
    if (e == CD_ESHORT) {
        return cd_fail(why, CD_ESHORT, "insufficient length for input");
    }
    if (e == CD_ETRAIL) {
        return cd_fail(why, CD_ETRAIL, "trailing buffer space: read %zu provided %zu", all.n - cd_rd_left(r), all.n);
    }
    return e;
}

static cd_err rd_version(cd_rd *r, cd_errinfo *why)
{
    u16 version = cd_rd_be16(r);
    if (r->err == CD_OK && version != VERSION) {
        return cd_fail(why, CD_EVERSION, "unknown codec version: %u", version);
    }
    return CD_OK;
}

cd_err cd_outer_parse(cd_outer *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_outer o = {0};
    cd_rd r = cd_rd_init(bytes);
    CD_TRY(rd_version(&r, why));
    u32 type = cd_rd_be32(&r);
    if (r.err == CD_OK && type != CHILD && type != OPTION) {
        return cd_fail(why, CD_ETYPE, "couldn't unmarshal interface: unknown type ID %u", type);
    }
    o.is_option = type == OPTION;
    cd_rd_copy(&r, o.parent.b, sizeof o.parent.b);
    if (!o.is_option) {
        o.time = (i64)cd_rd_be64(&r);
        o.pchain_height = cd_rd_be64(&r);
        o.cert = rd_counted(&r);
    }
    o.inner = rd_counted(&r);
    usize signed_n = bytes.n - cd_rd_left(&r);
    if (!o.is_option) {
        o.signature = rd_counted(&r);
    }
    CD_TRY(rd_done(&r, bytes, why));
    if (o.cert.n == 0 && o.signature.n != 0) {
        return cd_fail(why, CD_EFORMAT, "signature provided when none was expected");
    }
    cd_sha256(&o.id, cd_bytes_sub(bytes, 0, signed_n));
    *out = o;
    return CD_OK;
}

static void put_be64(cd_buf *out, u64 v)
{
    cd_put_be64(cd_buf_extend(out, 8), v);
}

static void put_counted(cd_buf *out, cd_bytes b)
{
    CD_ASSERT(b.n <= UINT32_MAX);
    cd_put_be32(cd_buf_extend(out, 4), (u32)b.n);
    cd_buf_put(out, b);
}

void cd_outer_put(cd_buf *out, const cd_outer *o)
{
    cd_put_be16(cd_buf_extend(out, 2), VERSION);
    cd_put_be32(cd_buf_extend(out, 4), o->is_option ? OPTION : CHILD);
    cd_buf_put(out, cd_bytes_of(o->parent.b, sizeof o->parent.b));
    if (!o->is_option) {
        put_be64(out, (u64)o->time);
        put_be64(out, o->pchain_height);
        put_counted(out, o->cert);
    }
    put_counted(out, o->inner);
}

void cd_outer_put_signature(cd_buf *out, cd_bytes signature)
{
    put_counted(out, signature);
}

void cd_outer_header(u8 out[CD_OUTER_HEADER_LEN], const cd_hash32 *chain, const cd_hash32 *parent, const cd_hash32 *id)
{
    cd_put_be16(out, VERSION);
    memcpy(out + 2, chain->b, 32);
    memcpy(out + 34, parent->b, 32);
    memcpy(out + 66, id->b, 32);
}

cd_err cd_outer_summary_parse(cd_outer_summary *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_outer_summary s = {0};
    cd_rd r = cd_rd_init(bytes);
    CD_TRY(rd_version(&r, why));
    s.fork_height = cd_rd_be64(&r);
    s.block = rd_counted(&r);
    s.inner = rd_counted(&r);
    CD_TRY(rd_done(&r, bytes, why));
    cd_sha256(&s.id, bytes);
    *out = s;
    return CD_OK;
}

void cd_outer_summary_put(cd_buf *out, u64 fork_height, cd_bytes block, cd_bytes inner)
{
    cd_put_be16(cd_buf_extend(out, 2), VERSION);
    put_be64(out, fork_height);
    put_counted(out, block);
    put_counted(out, inner);
}
