/* The two texts around a cache: its size on the command line, a range in a request. */
#include "base/num_text.h"
#include "base/text.h"
#include "services/adx/miner/cache.h"

enum { FRACTION_DIGITS = 9 };

/* Which power of two a unit is; false for what is none. */
static bool unit_shift(u32 *shift, cd_bytes unit)
{
    static const char *const letters = "bkmgt";
    if (unit.n == 0 || unit.n > 3) {
        return false;
    }
    const char *at = strchr(letters, cd_text_lower(unit.p[0]));
    if (at == NULL || *at == '\0') {
        return false;
    }
    *shift = (u32)(at - letters) * 10;
    bool is_bytes = *shift == 0;
    return is_bytes ? unit.n == 1
                    : (unit.n == 2 && cd_text_lower(unit.p[1]) == 'b') ||
                          (unit.n == 3 && cd_text_lower(unit.p[1]) == 'i' && cd_text_lower(unit.p[2]) == 'b');
}

static usize digits_of(cd_bytes text, usize from)
{
    usize at = from;
    while (at < text.n && text.p[at] >= '0' && text.p[at] <= '9') {
        at++;
    }
    return at - from;
}

cd_err cd_cache_size_parse(u64 *out, cd_bytes text)
{
    u64 whole = 0;
    u64 part = 0;
    u64 scale = 1;
    u32 shift;
    usize n = digits_of(text, 0);
    usize at = n;
    if (n == 0 || n > 15) {
        return n == 0 ? CD_EFORMAT : CD_ERANGE;
    }
    for (usize i = 0; i < n; i++) {
        whole = whole * 10 + (u64)(text.p[i] - '0');
    }
    if (at < text.n && text.p[at] == '.') {
        usize digits = digits_of(text, at + 1);
        if (digits == 0 || digits > FRACTION_DIGITS) {
            return CD_EFORMAT;
        }
        for (usize i = 0; i < digits; i++) {
            part = part * 10 + (u64)(text.p[at + 1 + i] - '0');
            scale *= 10;
        }
        at += 1 + digits;
    }
    if (!unit_shift(&shift, cd_bytes_sub(text, at, text.n - at))) {
        return CD_EFORMAT;
    }
    u128 v = ((u128)whole << shift) + (((u128)part << shift) / scale);
    if (v == 0 || v > INT64_MAX) {
        return CD_ERANGE;
    }
    *out = (u64)v;
    return CD_OK;
}

/* A number that may have leading zeros, as the RFC allows; too large ones are the largest. */
static bool number(u64 *out, cd_bytes text)
{
    u64 v = 0;
    if (text.n == 0 || digits_of(text, 0) != text.n) {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        u64 digit = (u64)(text.p[i] - '0');
        v = v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : v * 10 + digit;
    }
    *out = v;
    return true;
}

cd_range_kind cd_range_parse(cd_byte_range *out, cd_bytes header, u64 size)
{
    static const char unit[] = "bytes=";
    usize skip = sizeof unit - 1;
    u64 first;
    u64 last = UINT64_MAX;
    if (header.n < skip + 2) {
        return CD_RANGE_WHOLE;
    }
    for (usize i = 0; i < skip; i++) {
        if (cd_text_lower(header.p[i]) != (u8)unit[i]) {
            return CD_RANGE_WHOLE;
        }
    }
    cd_bytes spec = cd_bytes_sub(header, skip, header.n - skip);
    const u8 *dash = memchr(spec.p, '-', spec.n);
    if (dash == NULL) {
        return CD_RANGE_WHOLE;
    }
    usize at = (usize)(dash - spec.p);
    cd_bytes from = cd_bytes_sub(spec, 0, at);
    cd_bytes to = cd_bytes_sub(spec, at + 1, spec.n - at - 1);
    if (from.n == 0) { /* the last so many bytes */
        if (!number(&first, to)) {
            return CD_RANGE_WHOLE;
        }
        if (first == 0 || size == 0) {
            return CD_RANGE_OUTSIDE;
        }
        *out = (cd_byte_range){.first = first >= size ? 0 : size - first, .last = size - 1};
        return CD_RANGE_PART;
    }
    if (!number(&first, from) || (to.n != 0 && !number(&last, to)) || last < first) {
        return CD_RANGE_WHOLE;
    }
    if (first >= size) {
        return CD_RANGE_OUTSIDE;
    }
    *out = (cd_byte_range){.first = first, .last = cd_min_u64(last, size - 1)};
    return CD_RANGE_PART;
}
