/* base/mem/buf.h - a growable byte buffer that owns its memory.
 *
 * All zero is a valid, empty buffer. Contents may move on every append: borrow with cd_buf_bytes
 * only until the next one. Limits on what comes from outside are the caller's. Threading: confined.
 */
#ifndef CD_BASE_BUF_H
#define CD_BASE_BUF_H

#include "base/bytes.h"

/* Bytes that grow: n used of cap. */
typedef struct cd_buf {
    u8 *p;
    usize n;
    usize cap;
} cd_buf;

/* cd_buf_fini releases the memory; the buffer is empty and usable again. */
void cd_buf_fini(cd_buf *b);

/* cd_buf_reserve makes room for n more bytes and gives the place to write them; n is unchanged. */
u8 *cd_buf_reserve(cd_buf *b, usize n) __attribute__((returns_nonnull));

/* cd_buf_extend appends n uninitialised bytes and gives their place. */
u8 *cd_buf_extend(cd_buf *b, usize n) __attribute__((returns_nonnull));

/* cd_buf_put / _u8 / _str / _fmt / _fill append. */
void cd_buf_put(cd_buf *b, cd_bytes bytes);
void cd_buf_u8(cd_buf *b, u8 v);
void cd_buf_fmt(cd_buf *b, const char *fmt, ...) CD_PRINTF(2, 3);
void cd_buf_fill(cd_buf *b, u8 v, usize n);

/* Inline, so that the length of a literal is known when it is compiled. */
CD_INLINE void cd_buf_str(cd_buf *b, const char *s)
{
    cd_buf_put(b, cd_bytes_str(s));
}

/* cd_buf_bytes borrows the contents until the next change. */
CD_INLINE cd_bytes cd_buf_bytes(const cd_buf *b)
{
    return cd_bytes_of(b->p, b->n);
}

/* cd_buf_cstr appends a NUL that is not counted and gives the contents as a C string. */
const char *cd_buf_cstr(cd_buf *b);

/* cd_buf_clear empties, keeping the memory. */
CD_INLINE void cd_buf_clear(cd_buf *b)
{
    b->n = 0;
}

#endif
