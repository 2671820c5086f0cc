#include "base/mem/secret.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static usize pages_of(usize n)
{
    usize page = (usize)sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page;
}

void cd_secret_init(cd_secret *s, usize n)
{
    CD_ASSERT(n != 0 && n <= SIZE_MAX / 2);
    usize size = pages_of(n);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CD_ASSERT(p != MAP_FAILED);
    /* A process may lock only a few pages, so failure is ignored: a key that may be swapped out is better than none. */
    (void)mlock(p, size);
    (void)madvise(p, size, MADV_DONTDUMP);
    *s = (cd_secret){.p = p, .n = n};
}

void cd_secret_fini(cd_secret *s)
{
    if (s->p != NULL) {
        cd_wipe(s->p, s->n);
        (void)munmap(s->p, pages_of(s->n));
        *s = (cd_secret){0};
    }
}

void cd_wipe(void *p, usize n)
{
    if (n != 0) {
        explicit_bzero(p, n);
    }
}

bool cd_ct_eq(const void *a, const void *b, usize n)
{
    const u8 *x = a;
    const u8 *y = b;
    u8 diff = 0;
    for (usize i = 0; i < n; i++) {
        diff |= (u8)(x[i] ^ y[i]);
    }
    return diff == 0;
}
