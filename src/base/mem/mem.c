#include "base/mem/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(usize n) __attribute__((noreturn, cold));

static void out_of_memory(usize n)
{
    (void)fprintf(stderr, "out of memory: %zu bytes asked for\n", n);
    abort();
}

void *cd_alloc(usize n)
{
    void *p = calloc(1, n == 0 ? 1 : n);
    if (p == NULL) {
        out_of_memory(n);
    }
    return p;
}

void cd_free(void *p)
{
    free(p);
}

void *cd_alloc_array(usize cnt, usize size)
{
    usize n;
    if (__builtin_mul_overflow(cnt, size, &n)) {
        out_of_memory(SIZE_MAX);
    }
    return cd_alloc(n);
}

void *cd_realloc(void *p, usize n)
{
    void *q = realloc(p, n == 0 ? 1 : n);
    if (q == NULL) {
        out_of_memory(n);
    }
    return q;
}

void *cd_try_alloc(usize n)
{
    return malloc(n == 0 ? 1 : n);
}

void cd_mem_tune(void)
{
    enum { HEAPS = 3, LARGE = 4 << 20, FREE_MAX = 8 << 20, STEP = 1 << 20 };
    (void)mallopt(M_ARENA_MAX, HEAPS);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    (void)mallopt(M_TRIM_THRESHOLD, FREE_MAX);
    (void)mallopt(M_TOP_PAD, STEP);
}

void cd_mem_trim(void)
{
    (void)malloc_trim(0);
}

void *cd_alloc_aligned(usize align, usize n)
{
    void *p = NULL;
    if (posix_memalign(&p, align, n == 0 ? 1 : n) != 0) {
        out_of_memory(n);
    }
    memset(p, 0, n);
    return p;
}
