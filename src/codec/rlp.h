/* codec/rlp.h - Recursive Length Prefix: a strict reader over borrowed bytes and a writer into a
 * cd_buf.
 *
 *   item = single byte < 0x80 | 0x80+n n bytes | 0xb7+k length(k) bytes        a string
 *        | 0xc0+n items of n bytes together    | 0xf7+k length(k) items        a list
 *
 * The reader is a cursor with a sticky error: after the first bad item every read gives zero and
 * the cursor stands at its end, so a whole message is read first and looked at once (cd_rlp_end).
 * Only the shortest encoding of everything is accepted: no length in more bytes than it needs, no
 * wrapped single byte below 0x80, no leading zeros in integers, nothing beyond the input, nothing
 * left over. Depth costs no C stack: the caller enters lists one by one, and cd_rlp_check keeps its
 * own bounded stack.
 *
 * Errors: CD_ESHORT beyond the input, CD_ECANON a longer form than needed, CD_ETYPE string for list
 * or the other way round, CD_ERANGE a number or a fixed string of the wrong size, CD_ETRAIL
 * left-overs, CD_EDEPTH. Threading: pure. Format: Ethereum yellow paper, appendix B. */
#ifndef CD_CODEC_RLP_H
#define CD_CODEC_RLP_H

#include "base/mem/buf.h"
#include "num/u256.h"

/* Deepest nesting that cd_rlp_check follows. */
enum { CD_RLP_DEPTH_MAX = 1024 };

/* A reading position inside one list body (or the input itself). */
typedef struct cd_rlp {
    const u8 *p;
    const u8 *end;
    cd_err err;
} cd_rlp;

/* One item, borrowed from the input. raw is body with its header. */
typedef struct cd_rlp_item {
    bool is_list;
    cd_bytes body;
    cd_bytes raw;
} cd_rlp_item;

/* --- reading --- */

/* cd_rlp_init starts reading b, which is borrowed. */
CD_INLINE cd_rlp cd_rlp_init(cd_bytes b)
{
    return (cd_rlp){.p = b.p, .end = b.n == 0 ? b.p : b.p + b.n, .err = CD_OK};
}

/* cd_rlp_more: there is a next item (and no error so far). */
CD_INLINE bool cd_rlp_more(const cd_rlp *r)
{
    return r->p != r->end;
}

/* cd_rlp_fail sets the sticky error unless one is set, and moves to the end. */
void cd_rlp_fail(cd_rlp *r, cd_err e);

/* cd_rlp_next reads an item of either kind; after an error: an empty string. */
cd_rlp_item cd_rlp_next(cd_rlp *r);

/* cd_rlp_str borrows the contents of the next item, which must be a string. */
cd_bytes cd_rlp_str(cd_rlp *r);

/* cd_rlp_list enters the next item, which must be a list; leave it with cd_rlp_leave. */
cd_rlp cd_rlp_list(cd_rlp *r);

/* cd_rlp_leave ends the reading of a list: its error, or CD_ETRAIL when items are left, sticks to
 * r. */
void cd_rlp_leave(cd_rlp *r, const cd_rlp *list);

/* cd_rlp_u64 / cd_rlp_u256 read an integer: big-endian without leading zeros, zero = empty string. */
u64 cd_rlp_u64(cd_rlp *r);
cd_u256 cd_rlp_u256(cd_rlp *r);

/* cd_rlp_fixed copies a string of exactly n bytes to out; zeroes out after an error. */
void cd_rlp_fixed(cd_rlp *r, void *out, usize n);

/* cd_rlp_count counts the items from here to the end without moving; 0 when one of them is
 * malformed (its reading will show the error). */
usize cd_rlp_count(const cd_rlp *r);

/* cd_rlp_end gives the sticky error, or CD_ETRAIL when something is left over, or CD_OK. */
cd_err cd_rlp_end(const cd_rlp *r) CD_CHECK;

/* cd_rlp_check walks one whole item with everything inside and says whether all of it is canonical.
 * Errors: as above; CD_EDEPTH beyond CD_RLP_DEPTH_MAX nested lists. */
cd_err cd_rlp_check(cd_bytes item) CD_CHECK;

/* --- sizes --- */

/* cd_rlp_head_size gives the bytes of the header of a list with n bytes of items, or of a string of
 * n bytes that is not a single byte below 0x80. */
CD_INLINE usize cd_rlp_head_size(usize n)
{
    return n < 56 ? 1 : 2 + (usize)(63 - __builtin_clzll((u64)n)) / 8;
}

CD_INLINE usize cd_rlp_str_size(cd_bytes s)
{
    return s.n == 1 && s.p[0] < 0x80 ? 1 : cd_rlp_head_size(s.n) + s.n;
}

CD_INLINE usize cd_rlp_u64_size(u64 v)
{
    return v < 0x80 ? 1 : 2 + (usize)(63 - __builtin_clzll(v)) / 8;
}

CD_INLINE usize cd_rlp_u256_size(const cd_u256 *v)
{
    return cd_u256_fits_u64(v) ? cd_rlp_u64_size(v->w[0]) : 1 + (usize)cd_u256_bytes(v);
}

/* --- writing --- */

/* cd_rlp_put_str appends a string, cd_rlp_put_u64 / _u256 an integer. */
void cd_rlp_put_str(cd_buf *out, cd_bytes s);
void cd_rlp_put_u64(cd_buf *out, u64 v);
void cd_rlp_put_u256(cd_buf *out, const cd_u256 *v);

/* cd_rlp_put_list_head appends the header of a list whose items will take n bytes (size-first
 * style). */
void cd_rlp_put_list_head(cd_buf *out, usize n);

/* cd_rlp_head writes the header of a list of n bytes to p (at most 9 bytes) and gives its length. */
usize cd_rlp_head(u8 p[9], usize n);

/* Back-patching style: cd_rlp_begin remembers where the list starts, items are appended,
 * cd_rlp_close puts the header in front of them (moving them when it is longer than one byte).
 *
 *   usize at = cd_rlp_begin(out);
 *   cd_rlp_put_u64(out, nonce);
 *   cd_rlp_close(out, at);                                     lists nest as calls do */
usize cd_rlp_begin(cd_buf *out);
void cd_rlp_close(cd_buf *out, usize at);

#endif
