#include "codec/rlp.h"

void cd_rlp_fail(cd_rlp *r, cd_err e)
{
    if (r->err == CD_OK) {
        r->err = e;
    }
    r->p = r->end;
}

/* Reads the length that follows a long header: k big-endian bytes, shortest form, at least 56. */
static cd_err long_length(usize *out, const u8 *p, usize left, usize k)
{
    if (left < k) {
        return CD_ESHORT;
    }
    if (p[0] == 0) {
        return CD_ECANON;
    }
    u64 n = 0;
    for (usize i = 0; i < k; i++) {
        n = n << 8 | p[i];
    }
    if (n < 56) {
        return CD_ECANON;
    }
    *out = n;
    return CD_OK;
}

/* Splits the item at p. Its body starts at *body and has *n bytes, all inside the input. */
static cd_err split(bool *is_list, const u8 **body, usize *n, const u8 *p, const u8 *end)
{
    u8 tag = p[0];
    usize left = (usize)(end - p) - 1;
    *is_list = tag >= 0xc0;
    if (tag < 0x80) {
        *body = p;
        *n = 1;
        return CD_OK;
    }
    u8 len = tag & 0x3f;
    usize head = 0;
    if (len < 56) {
        *n = len;
    } else {
        head = len - 55U;
        CD_TRY(long_length(n, p + 1, left, head));
        left -= head;
    }
    if (left < *n) {
        return CD_ESHORT;
    }
    *body = p + 1 + head;
    return tag == 0x81 && (*body)[0] < 0x80 ? CD_ECANON : CD_OK;
}

cd_rlp_item cd_rlp_next(cd_rlp *r)
{
    if (CD_UNLIKELY(r->p == r->end)) {
        cd_rlp_fail(r, CD_ESHORT);
        return (cd_rlp_item){0};
    }
    bool is_list;
    const u8 *body;
    usize n;
    cd_err e = split(&is_list, &body, &n, r->p, r->end);
    if (CD_UNLIKELY(e != CD_OK)) {
        cd_rlp_fail(r, e);
        return (cd_rlp_item){0};
    }
    const u8 *start = r->p;
    r->p = body + n;
    return (cd_rlp_item){
        .is_list = is_list,
        .body = cd_bytes_of(body, n),
        .raw = cd_bytes_of(start, (usize)(r->p - start)),
    };
}

cd_bytes cd_rlp_str(cd_rlp *r)
{
    cd_rlp_item it = cd_rlp_next(r);
    if (CD_UNLIKELY(it.is_list)) {
        cd_rlp_fail(r, CD_ETYPE);
        return (cd_bytes){0};
    }
    return it.body;
}

cd_rlp cd_rlp_list(cd_rlp *r)
{
    cd_rlp_item it = cd_rlp_next(r);
    if (CD_UNLIKELY(r->err == CD_OK && !it.is_list)) {
        cd_rlp_fail(r, CD_ETYPE);
        it.body = (cd_bytes){0};
    }
    cd_rlp list = cd_rlp_init(it.body);
    list.err = r->err;
    return list;
}

void cd_rlp_leave(cd_rlp *r, const cd_rlp *list)
{
    cd_err e = cd_rlp_end(list);
    if (e != CD_OK) {
        cd_rlp_fail(r, e);
    }
}

u64 cd_rlp_u64(cd_rlp *r)
{
    cd_bytes s = cd_rlp_str(r);
    if (CD_UNLIKELY(s.n > 8)) {
        cd_rlp_fail(r, CD_ERANGE);
        return 0;
    }
    if (s.n != 0 && s.p[0] == 0) {
        cd_rlp_fail(r, CD_ECANON);
        return 0;
    }
    u64 v = 0;
    for (usize i = 0; i < s.n; i++) {
        v = v << 8 | s.p[i];
    }
    return v;
}

cd_u256 cd_rlp_u256(cd_rlp *r)
{
    cd_u256 v = cd_u256_zero();
    cd_bytes s = cd_rlp_str(r);
    if (CD_UNLIKELY(s.n > 32)) {
        cd_rlp_fail(r, CD_ERANGE);
    } else if (s.n != 0 && s.p[0] == 0) {
        cd_rlp_fail(r, CD_ECANON);
    } else {
        cd_u256_load_be_n(&v, s.p, s.n);
    }
    return v;
}

void cd_rlp_fixed(cd_rlp *r, void *out, usize n)
{
    cd_bytes s = cd_rlp_str(r);
    if (CD_UNLIKELY(r->err != CD_OK || s.n != n)) {
        cd_rlp_fail(r, CD_ERANGE);
        memset(out, 0, n);
        return;
    }
    memcpy(out, s.p, n);
}

usize cd_rlp_count(const cd_rlp *r)
{
    cd_rlp c = *r;
    usize cnt = 0;
    while (cd_rlp_more(&c)) {
        (void)cd_rlp_next(&c);
        cnt++;
    }
    return c.err == CD_OK ? cnt : 0;
}

cd_err cd_rlp_end(const cd_rlp *r)
{
    if (r->err != CD_OK) {
        return r->err;
    }
    return r->p == r->end ? CD_OK : CD_ETRAIL;
}

cd_err cd_rlp_check(cd_bytes item)
{
    /* Inside a list the end of input is the end of the list, so an item that runs over its list is
     * short. */
    const u8 *ends[CD_RLP_DEPTH_MAX];
    usize depth = 0;
    if (item.n == 0) {
        return CD_ESHORT;
    }
    const u8 *p = item.p;
    const u8 *end = item.p + item.n;
    do {
        bool is_list;
        const u8 *body;
        usize n;
        CD_TRY(split(&is_list, &body, &n, p, end));
        if (depth == 0 && body + n != end) {
            return CD_ETRAIL;
        }
        p = is_list ? body : body + n;
        if (is_list) {
            if (depth == CD_RLP_DEPTH_MAX) {
                return CD_EDEPTH;
            }
            ends[depth++] = end;
            end = body + n;
        }
        while (p == end && depth != 0) {
            end = ends[--depth];
        }
    } while (p != end);
    return CD_OK;
}

/* Writes a header: base 0x80 for strings, 0xc0 for lists. */
static usize put_head(u8 *p, u8 base, usize n)
{
    if (n < 56) {
        p[0] = (u8)(base + n);
        return 1;
    }
    usize k = cd_rlp_head_size(n) - 1;
    p[0] = (u8)(base + 55 + k);
    for (usize i = 0; i < k; i++) {
        p[1 + i] = (u8)(n >> (8 * (k - 1 - i)));
    }
    return 1 + k;
}

usize cd_rlp_head(u8 p[9], usize n)
{
    return put_head(p, 0xc0, n);
}

void cd_rlp_put_str(cd_buf *out, cd_bytes s)
{
    if (s.n == 1 && s.p[0] < 0x80) {
        cd_buf_u8(out, s.p[0]);
        return;
    }
    u8 *p = cd_buf_reserve(out, 9 + s.n);
    usize head = put_head(p, 0x80, s.n);
    if (s.n != 0) {
        memcpy(p + head, s.p, s.n);
    }
    out->n += head + s.n;
}

void cd_rlp_put_u64(cd_buf *out, u64 v)
{
    u8 be[8];
    cd_put_be64(be, v);
    usize zeros = v == 0 ? 8 : (usize)__builtin_clzll(v) / 8;
    cd_rlp_put_str(out, cd_bytes_of(be + zeros, 8 - zeros));
}

void cd_rlp_put_u256(cd_buf *out, const cd_u256 *v)
{
    u8 be[32];
    cd_u256_store_be(be, v);
    usize n = cd_u256_bytes(v);
    cd_rlp_put_str(out, cd_bytes_of(be + 32 - n, n));
}

void cd_rlp_put_list_head(cd_buf *out, usize n)
{
    out->n += put_head(cd_buf_reserve(out, 9), 0xc0, n);
}

usize cd_rlp_begin(cd_buf *out)
{
    /* Most lists need a header of one byte; cd_rlp_close makes room for a longer one. */
    cd_buf_u8(out, 0xc0);
    return out->n - 1;
}

void cd_rlp_close(cd_buf *out, usize at)
{
    usize n = out->n - at - 1;
    usize head = cd_rlp_head_size(n);
    if (head > 1) {
        (void)cd_buf_extend(out, head - 1);
        memmove(out->p + at + head, out->p + at + 1, n);
    }
    (void)put_head(out->p + at, 0xc0, n);
}
