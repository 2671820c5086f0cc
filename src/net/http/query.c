#include "net/http/query.h"

static u32 hex_digit(u8 c)
{
    u8 lower = (u8)(c | 0x20);
    return c >= '0' && c <= '9' ? (u32)c - '0' : lower >= 'a' && lower <= 'f' ? (u32)lower - 'a' + 10 : 16;
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

cd_err cd_query_all(cd_bytes **out, usize *cnt, cd_arena *a, cd_bytes query, const char *name)
{
    usize max = 1;
    usize n = 0;
    for (usize i = 0; i < query.n; i++) {
        max += query.p[i] == '&';
    }
    cd_bytes *v = cd_arena_array(a, cd_bytes, max);
    while (query.n != 0) {
        cd_bytes value = cut(&query, '&');
        cd_bytes key = cut(&value, '=');
        CD_TRY(decode(&key, a, key, '+'));
        CD_TRY(decode(&value, a, value, '+'));
        if (cd_bytes_eq(key, cd_bytes_str(name))) {
            v[n++] = value;
        }
    }
    *out = v;
    *cnt = n;
    return CD_OK;
}

cd_err cd_query_flag(bool *out, cd_arena *a, cd_bytes query, const char *name)
{
    cd_bytes value;
    CD_TRY(cd_query_get(&value, a, query, name));
    *out = cd_bytes_eq(value, cd_bytes_str("true"));
    return CD_OK;
}
