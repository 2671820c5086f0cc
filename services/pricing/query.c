#include "services/pricing/query.h"

#include "services/pricing/prices.h"

#include <stdlib.h>

static u32 hex_digit(u8 c)
{
    u8 lower = (u8)(c | 0x20);
    return c >= '0' && c <= '9'           ? (u32)c - '0'
           : lower >= 'a' && lower <= 'f' ? (u32)lower - 'a' + 10
                                          : 16;
}

static cd_err decode(cd_bytes *out, cd_arena *a, cd_bytes text, u8 blank)
{
    u8 *p = cd_arena_alloc(a, text.n + 1);
    usize n = 0;
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if (c == '%') {
            u32 hi = text.n - i > 2 ? hex_digit(text.p[i + 1]) : 16;
            u32 lo = text.n - i > 2 ? hex_digit(text.p[i + 2]) : 16;
            if (hi > 15 || lo > 15) {
                return CD_EFORMAT;
            }
            c = (u8)(hi << 4 | lo);
            i += 2;
        } else if (c == blank) {
            c = ' ';
        }
        p[n++] = c;
    }
    *out = cd_bytes_of(p, n);
    return CD_OK;
}

cd_err cd_query_unescape(cd_bytes *out, cd_arena *a, cd_bytes text)
{
    return decode(out, a, text, ' ');
}

static cd_bytes cut(cd_bytes *rest, u8 at)
{
    const u8 *end = rest->n == 0 ? NULL : memchr(rest->p, at, rest->n);
    usize n = end == NULL ? rest->n : (usize)(end - rest->p);
    cd_bytes part = cd_bytes_sub(*rest, 0, n);
    usize skip = end == NULL ? n : n + 1;
    *rest = cd_bytes_sub(*rest, skip, rest->n - skip);
    return part;
}

cd_err cd_query_get(cd_bytes *out, cd_arena *a, cd_bytes query, const char *name)
{
    cd_bytes found = {0};
    bool is_found = false;
    while (query.n != 0) {
        cd_bytes value = cut(&query, '&');
        cd_bytes key = cut(&value, '=');
        CD_TRY(decode(&key, a, key, '+'));
        CD_TRY(decode(&value, a, value, '+'));
        if (!is_found && cd_bytes_eq(key, cd_bytes_str(name))) {
            found = value;
            is_found = true;
        }
    }
    *out = found;
    return CD_OK;
}

cd_err cd_query_flag(bool *out, cd_arena *a, cd_bytes query, const char *name)
{
    cd_bytes value;
    CD_TRY(cd_query_get(&value, a, query, name));
    *out = cd_bytes_eq(value, cd_bytes_str("true"));
    return CD_OK;
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
