/* base/rd.h - a reading cursor with a sticky error.
 *
 * Once a read runs past the end, every later read gives zero and the error stays: decode a whole
 * message, then look once (cd_rd_end). Nothing is copied; slices are borrowed from the input.
 * Threading: confined. */
#ifndef CD_BASE_RD_H
#define CD_BASE_RD_H

#include "base/bytes.h"

/* A cursor over bytes with a sticky error: what remains is between p and end. */
typedef struct cd_rd {
    const u8 *p;
    const u8 *end;
    cd_err err;
} cd_rd;

/* cd_rd_init starts at the front of b, which is borrowed; cd_rd_left counts the bytes not read yet. */
CD_INLINE cd_rd cd_rd_init(cd_bytes b)
{
    return (cd_rd){.p = b.p, .end = b.n == 0 ? b.p : b.p + b.n, .err = CD_OK};
}

CD_INLINE usize cd_rd_left(const cd_rd *r)
{
    return (usize)(r->end - r->p);
}

/* cd_rd_fail sets the sticky error unless one is set, and moves to the end. */
CD_INLINE void cd_rd_fail(cd_rd *r, cd_err e)
{
    if (r->err == CD_OK) {
        r->err = e;
    }
    r->p = r->end;
}

/* cd_rd_take borrows the next n bytes; past the end: an empty range and CD_ESHORT. */
CD_INLINE cd_bytes cd_rd_take(cd_rd *r, usize n)
{
    if (CD_UNLIKELY(cd_rd_left(r) < n)) {
        cd_rd_fail(r, CD_ESHORT);
        return (cd_bytes){0};
    }
    cd_bytes b = cd_bytes_of(r->p, n);
    if (n != 0) {
        r->p += n;
    }
    return b;
}

/* cd_rd_copy reads exactly n bytes into out; past the end: out is zeroed. */
CD_INLINE void cd_rd_copy(cd_rd *r, void *out, usize n)
{
    cd_bytes b = cd_rd_take(r, n);
    if (b.n == n && n != 0) {
        memcpy(out, b.p, n);
    } else if (n != 0) {
        memset(out, 0, n);
    }
}

CD_INLINE u8 cd_rd_u8(cd_rd *r)
{
    u8 v;
    cd_rd_copy(r, &v, 1);
    return v;
}

CD_INLINE u16 cd_rd_be16(cd_rd *r)
{
    u8 v[2];
    cd_rd_copy(r, v, 2);
    return cd_be16(v);
}

CD_INLINE u32 cd_rd_be32(cd_rd *r)
{
    u8 v[4];
    cd_rd_copy(r, v, 4);
    return cd_be32(v);
}

CD_INLINE u64 cd_rd_be64(cd_rd *r)
{
    u8 v[8];
    cd_rd_copy(r, v, 8);
    return cd_be64(v);
}

/* cd_rd_end gives the sticky error, or CD_ETRAIL when bytes are left over, or CD_OK. */
CD_INLINE cd_err cd_rd_end(const cd_rd *r)
{
    if (r->err != CD_OK) {
        return r->err;
    }
    return r->p == r->end ? CD_OK : CD_ETRAIL;
}

#endif
