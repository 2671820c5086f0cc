#include "base/mem/buf.h"

#include "base/mem/mem.h"

#include <stdarg.h>
#include <stdio.h>

void cd_buf_fini(cd_buf *b)
{
    cd_free(b->p);
    *b = (cd_buf){0};
}

static void grow(cd_buf *b, usize n) __attribute__((cold));

static void grow(cd_buf *b, usize n)
{
    CD_ASSERT(n <= SIZE_MAX / 4 && b->cap <= SIZE_MAX / 4);
    usize cap = b->cap < 64 ? 64 : b->cap * 2;
    if (cap < b->n + n) {
        cap = b->n + n;
    }
    b->p = cd_realloc(b->p, cap);
    b->cap = cap;
}

/* Gives the place for n more bytes. Inline, because most appends find room and are a compare and a copy. */
static inline u8 *room(cd_buf *b, usize n)
{
    if (b->p == NULL || b->cap - b->n < n) {
        grow(b, n);
    }
    return b->p + b->n;
}

u8 *cd_buf_reserve(cd_buf *b, usize n)
{
    return room(b, n);
}

u8 *cd_buf_extend(cd_buf *b, usize n)
{
    u8 *p = room(b, n);
    b->n += n;
    return p;
}

void cd_buf_put(cd_buf *b, cd_bytes bytes)
{
    if (bytes.n != 0) {
        memcpy(room(b, bytes.n), bytes.p, bytes.n);
        b->n += bytes.n;
    }
}

void cd_buf_u8(cd_buf *b, u8 v)
{
    *room(b, 1) = v;
    b->n++;
}

void cd_buf_fmt(cd_buf *b, const char *fmt, ...)
{
    /* Most text fits at the first try; otherwise the first try says how much room the second needs. */
    enum { FIRST = 64 };
    va_list ap;
    va_list again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char *at = (char *)cd_buf_reserve(b, FIRST);
    usize room = b->cap - b->n;
    int n = vsnprintf(at, room, fmt, ap);
    va_end(ap);
    CD_ASSERT(n >= 0);
    if ((usize)n >= room) {
        (void)vsnprintf((char *)cd_buf_reserve(b, (usize)n + 1), (usize)n + 1, fmt, again);
    }
    va_end(again);
    b->n += (usize)n;
}

void cd_buf_fill(cd_buf *b, u8 v, usize n)
{
    if (n != 0) {
        memset(cd_buf_extend(b, n), v, n);
    }
}

const char *cd_buf_cstr(cd_buf *b)
{
    *cd_buf_reserve(b, 1) = 0;
    return (const char *)b->p;
}
