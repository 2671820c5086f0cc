#include "services/pricing/query.h"

#include "services/pricing/prices.h"

#include <stdlib.h>

static cd_bytes cut(cd_bytes *rest, u8 at)
{
    const u8 *end = rest->n == 0 ? NULL : memchr(rest->p, at, rest->n);
    usize n = end == NULL ? rest->n : (usize)(end - rest->p);
    cd_bytes part = cd_bytes_sub(*rest, 0, n);
    usize skip = end == NULL ? n : n + 1;
    *rest = cd_bytes_sub(*rest, skip, rest->n - skip);
    return part;
}

static int by_bytes(const void *a, const void *b)
{
    return cd_bytes_cmp(*(const cd_bytes *)a, *(const cd_bytes *)b);
}

static bool is_blank(u8 c)
{
    return c == ' ' || c == '\t';
}

cd_err cd_query_names(cd_bytes **out, usize *out_cnt, cd_arena *a, cd_bytes list, usize max)
{
    usize cnt = 1;
    for (usize i = 0; i < list.n; i++) {
        cnt += list.p[i] == ',';
    }
    if (cnt > max) {
        return CD_ELIMIT;
    }
    cd_bytes *names = cd_arena_alloc(a, cnt * sizeof *names);
    usize n = 0;
    while (list.n != 0) {
        char name[CD_PRICE_NAME_MAX];
        cd_bytes part = cut(&list, ',');
        while (part.n != 0 && is_blank(part.p[0])) {
            part = cd_bytes_sub(part, 1, part.n - 1);
        }
        while (part.n != 0 && is_blank(part.p[part.n - 1])) {
            part.n--;
        }
        if (cd_price_name_fold(name, part)) {
            u8 *kept = cd_arena_alloc(a, part.n);
            memcpy(kept, name, part.n);
            names[n++] = cd_bytes_of(kept, part.n);
        }
    }
    if (n != 0) {
        qsort(names, n, sizeof *names, by_bytes);
    }
    usize once = 0;
    for (usize i = 0; i < n; i++) {
        if (once == 0 || !cd_bytes_eq(names[once - 1], names[i])) {
            names[once++] = names[i];
        }
    }
    *out = names;
    *out_cnt = once;
    return CD_OK;
}
