#include "base/mem/arena.h"

#include "base/mem/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum { CHUNK_MIN = 16 * 1024, CHUNK_MAX = 4 * 1024 * 1024, ALIGN = 16 };

struct cd_arena_chunk {
    cd_arena_chunk *next;
    usize cap;
    _Alignas(ALIGN) u8 data[];
};

static void chunk_add(cd_arena *a, usize need)
{
    usize cap = a->cur == NULL ? CHUNK_MIN : a->cur->cap * 2;
    if (cap > CHUNK_MAX) {
        cap = CHUNK_MAX;
    }
    if (cap < need) {
        cap = need;
    }
    cd_arena_chunk *c = cd_realloc(NULL, sizeof *c + cap);
    c->cap = cap;
    if (a->cur == NULL) {
        c->next = a->first;
        a->first = c;
    } else {
        c->next = a->cur->next;
        a->cur->next = c;
    }
    a->cur = c;
    a->used = 0;
}

void cd_arena_fini(cd_arena *a)
{
    cd_arena_chunk *c = a->first;
    while (c != NULL) {
        cd_arena_chunk *next = c->next;
        cd_free(c);
        c = next;
    }
    *a = (cd_arena){0};
}

void *cd_arena_alloc(cd_arena *a, usize n)
{
    CD_ASSERT(n <= SIZE_MAX - sizeof(cd_arena_chunk) - ALIGN);
    n = (n + (ALIGN - 1)) & ~(usize)(ALIGN - 1);
    while (a->cur == NULL || a->cur->cap - a->used < n) {
        cd_arena_chunk *next = a->cur == NULL ? a->first : a->cur->next;
        if (next == NULL || next->cap < n) {
            chunk_add(a, n);
            break;
        }
        a->cur = next;
        a->used = 0;
    }
    void *p = a->cur->data + a->used;
    a->used += n;
    return p;
}

void *cd_arena_zalloc(cd_arena *a, usize n)
{
    return memset(cd_arena_alloc(a, n), 0, n);
}

void *cd_arena_zalloc_array(cd_arena *a, usize cnt, usize size)
{
    usize n;
    CD_ASSERT(!__builtin_mul_overflow(cnt, size, &n));
    return cd_arena_zalloc(a, n);
}

cd_bytes cd_arena_dup(cd_arena *a, cd_bytes b)
{
    u8 *p = cd_arena_alloc(a, b.n);
    if (b.n != 0) {
        memcpy(p, b.p, b.n);
    }
    return cd_bytes_of(p, b.n);
}

char *cd_arena_str(cd_arena *a, cd_bytes b)
{
    char *s = cd_arena_alloc(a, b.n + 1);
    if (b.n != 0) {
        memcpy(s, b.p, b.n);
    }
    s[b.n] = '\0';
    return s;
}

char *cd_arena_fmt(cd_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_list again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    CD_ASSERT(n >= 0);
    char *s = cd_arena_alloc(a, (usize)n + 1);
    (void)vsnprintf(s, (usize)n + 1, fmt, again);
    va_end(again);
    return s;
}

cd_arena_mark cd_arena_mark_get(const cd_arena *a)
{
    return (cd_arena_mark){.cur = a->cur, .used = a->used};
}

void cd_arena_rewind(cd_arena *a, cd_arena_mark m)
{
    a->cur = m.cur;
    a->used = m.used;
}

void cd_arena_reset(cd_arena *a)
{
    a->cur = NULL;
    a->used = 0;
}
