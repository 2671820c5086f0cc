#include "base/num_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads decimal digits; the caller has handled signs and prefixes. */
static cd_err digits_parse(u64 *out, cd_bytes t)
{
    if (t.n == 0) {
        return CD_EFORMAT;
    }
    u64 v = 0;
    bool fits = true;
    for (usize i = 0; i < t.n; i++) {
        u8 d = (u8)(t.p[i] - '0');
        if (d > 9) {
            return CD_EFORMAT;
        }
        fits = fits && cd_mul_u64(&v, v, 10) && cd_add_u64(&v, v, d);
    }
    if (!fits) {
        return CD_ERANGE;
    }
    *out = v;
    return CD_OK;
}

cd_err cd_u64_parse(u64 *out, cd_bytes text)
{
    u64 v;
    cd_err err = digits_parse(&v, text);
    if (err == CD_EFORMAT) {
        return err;
    }
    if (text.n > 1 && text.p[0] == '0') {
        return CD_ECANON;
    }
    CD_TRY(err);
    *out = v;
    return CD_OK;
}

cd_err cd_i64_parse(i64 *out, cd_bytes text)
{
    u64 v;
    bool is_negative = text.n != 0 && text.p[0] == '-';
    if (is_negative) {
        text = cd_bytes_sub(text, 1, text.n - 1);
    }
    CD_TRY(cd_u64_parse(&v, text));
    if (is_negative && v == 0) {
        return CD_ECANON;
    }
    if (v > (u64)INT64_MAX + (is_negative ? 1 : 0)) {
        return CD_ERANGE;
    }
    *out = is_negative ? (i64)(~v + 1) : (i64)v;
    return CD_OK;
}

/* Gives the value of a hexadecimal digit, or 16 for another character. */
static u8 hex_value(u8 c)
{
    u8 low = (u8)(c | 0x20);
    if (c >= '0' && c <= '9') {
        return (u8)(c - '0');
    }
    return low >= 'a' && low <= 'f' ? (u8)(low - 'a' + 10) : 16;
}

cd_err cd_u64_parse_hex(u64 *out, cd_bytes text)
{
    if (text.n < 3 || text.p[0] != '0' || (text.p[1] | 0x20) != 'x') {
        return CD_EFORMAT;
    }
    u64 v = 0;
    for (usize i = 2; i < text.n; i++) {
        u8 d = hex_value(text.p[i]);
        if (d > 15) {
            return CD_EFORMAT;
        }
        v = v << 4 | d;
    }
    if (text.n > 3 && text.p[2] == '0') {
        return CD_ECANON;
    }
    if (text.n > 2 + 16) {
        return CD_ERANGE;
    }
    *out = v;
    return CD_OK;
}

usize cd_u64_fmt(char out[CD_U64_TEXT_MAX], u64 v)
{
    char tmp[CD_U64_TEXT_MAX];
    usize i = sizeof tmp;
    do {
        tmp[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    memcpy(out, tmp + i, sizeof tmp - i);
    return sizeof tmp - i;
}

usize cd_i64_fmt(char out[CD_U64_TEXT_MAX], i64 v)
{
    if (v >= 0) {
        return cd_u64_fmt(out, (u64)v);
    }
    char digits[CD_U64_TEXT_MAX];
    usize n = cd_u64_fmt(digits, ~(u64)v + 1);
    out[0] = '-';
    memcpy(out + 1, digits, n);
    return n + 1;
}

usize cd_u64_fmt_hex(char out[CD_U64_TEXT_MAX], u64 v)
{
    usize n = v == 0 ? 1 : (usize)(67 - __builtin_clzll(v)) / 4;
    out[0] = '0';
    out[1] = 'x';
    for (usize i = 0; i < n; i++) {
        out[1 + n - i] = "0123456789abcdef"[v >> (4 * i) & 15];
    }
    return 2 + n;
}

typedef struct unit {
    const char *name;
    u64 factor;
} unit;

static const unit durations[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xc2\xb5s", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", 60ull * 1000000000},
    {"h", 3600ull * 1000000000},
};

static const unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1000},
    {"kB", 1000},
    {"KB", 1000},
    {"M", 1000000},
    {"MB", 1000000},
    {"G", 1000000000},
    {"GB", 1000000000},
    {"T", 1000000000000},
    {"TB", 1000000000000},
    {"KiB", 1ull << 10},
    {"MiB", 1ull << 20},
    {"GiB", 1ull << 30},
    {"TiB", 1ull << 40},
};

static const unit *unit_find(const unit *units, usize cnt, cd_bytes name)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(name, cd_bytes_str(units[i].name))) {
            return &units[i];
        }
    }
    return NULL;
}

static bool is_digit(u8 c)
{
    return c >= '0' && c <= '9';
}

/* Reads one "12.5unit" from the front of *t and drops it; the unit ends at the next digit or at the end. */
static cd_err quantity_parse(u64 *out, cd_bytes *t, const unit *units, usize cnt)
{
    usize whole = 0;
    while (whole < t->n && is_digit(t->p[whole])) {
        whole++;
    }
    usize end = whole;
    usize frac = 0;
    if (end < t->n && t->p[end] == '.') {
        end++;
        while (end < t->n && is_digit(t->p[end])) {
            end++;
        }
        frac = end - whole - 1;
        if (frac == 0 || frac > 9) {
            return CD_EFORMAT;
        }
    }
    usize name = end;
    while (end < t->n && !is_digit(t->p[end])) {
        end++;
    }
    const unit *u = unit_find(units, cnt, cd_bytes_sub(*t, name, end - name));
    if (u == NULL) {
        return CD_EFORMAT;
    }
    u64 v;
    CD_TRY(digits_parse(&v, cd_bytes_sub(*t, 0, whole)));
    if (!cd_mul_u64(&v, v, u->factor)) {
        return CD_ERANGE;
    }
    if (frac != 0) {
        u64 part;
        CD_TRY(digits_parse(&part, cd_bytes_sub(*t, whole + 1, frac)));
        u64 scale = 1;
        for (usize i = 0; i < frac; i++) {
            scale *= 10;
        }
        if (!cd_add_u64(&v, v, (u64)((u128)part * u->factor / scale))) {
            return CD_ERANGE;
        }
    }
    *t = cd_bytes_sub(*t, end, t->n - end);
    *out = v;
    return CD_OK;
}

cd_err cd_duration_parse(u64 *out_ns, cd_bytes text)
{
    u64 sum = 0;
    if (cd_bytes_eq(text, cd_bytes_str("0"))) {
        *out_ns = 0;
        return CD_OK;
    }
    if (text.n == 0) {
        return CD_EFORMAT;
    }
    while (text.n != 0) {
        u64 part;
        CD_TRY(quantity_parse(&part, &text, durations, CD_COUNT(durations)));
        if (!cd_add_u64(&sum, sum, part)) {
            return CD_ERANGE;
        }
    }
    *out_ns = sum;
    return CD_OK;
}

cd_err cd_size_parse(u64 *out, cd_bytes text)
{
    u64 v;
    CD_TRY(quantity_parse(&v, &text, sizes, CD_COUNT(sizes)));
    if (text.n != 0) {
        return CD_EFORMAT;
    }
    *out = v;
    return CD_OK;
}

/* A decimal number d.ddd * 10^exp10. */
typedef struct decimal {
    char digits[20];
    int cnt;
    int exp10;
} decimal;

static bool gives_back(const decimal *d, double v)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.*se%d", d->cnt, d->digits, d->exp10 - d->cnt + 1);
    return strtod(text, NULL) == v;
}

/* Gives the decimal of cnt digits that is nearest to v. */
static decimal rounded(double v, int cnt)
{
    char text[40];
    decimal d = {.cnt = cnt};
    (void)snprintf(text, sizeof text, "%.*e", cnt - 1, v); /* "d.ddde[+-]dd" */
    const char *at = text;
    for (int i = 0; i < cnt; at++) {
        if (*at != '.') {
            d.digits[i++] = *at;
        }
    }
    d.exp10 = (int)strtol(strchr(at, 'e') + 1, NULL, 10);
    return d;
}

/* Makes *d the next larger decimal with as many digits; false when all digits are nines. */
static bool next_up(decimal *d)
{
    for (int i = d->cnt - 1; i >= 0; i--) {
        if (d->digits[i] != '9') {
            d->digits[i]++;
            return true;
        }
        d->digits[i] = '0';
    }
    return false;
}

/* Gives the decimal of the fewest digits that reads back as v. Fifteen digits hold every shorter decimal, except for
 * subnormal numbers, so the search begins there. At a power of two the gap to the next double above is twice as wide as
 * the one below, so the nearest decimal may fail to give v back while the next one above does. */
static decimal shortest(double v)
{
    decimal d;
    for (int cnt = v < DBL_MIN ? 1 : DBL_DIG; cnt < 17; cnt++) {
        d = rounded(v, cnt);
        decimal up = d;
        if (gives_back(&d, v)) {
            return d;
        }
        if (next_up(&up) && gives_back(&up, v)) {
            return up;
        }
    }
    return rounded(v, 17);
}

/* [ECMA-262 Number::toString] */
usize cd_f64_fmt(char out[CD_F64_TEXT_MAX], double v)
{
    enum { POINT_MIN = -7, POINT_MAX = 21 }; /* an exponent is written at and beyond these */
    char *at = out;
    CD_ASSERT(isfinite(v));
    if (v < 0) {
        *at++ = '-';
        v = -v;
    }
    if (v <= 9007199254740992.0 && v == (double)(u64)v) {
        return (usize)(at - out) + cd_u64_fmt(at, (u64)v);
    }
    decimal d = shortest(v);
    while (d.cnt > 1 && d.digits[d.cnt - 1] == '0') {
        d.cnt--;
    }
    bool has_exp = d.exp10 < POINT_MIN + 1 || d.exp10 >= POINT_MAX;
    int whole = has_exp ? 1 : d.exp10 + 1; /* digits before the point */
    if (whole <= 0) {
        *at++ = '0';
        *at++ = '.';
        for (; whole < 0; whole++) {
            *at++ = '0';
        }
        whole = -1;
    }
    for (int i = 0; i < d.cnt; i++) {
        if (i == whole) {
            *at++ = '.';
        }
        *at++ = d.digits[i];
    }
    for (int i = d.cnt; i < whole; i++) {
        *at++ = '0';
    }
    if (has_exp) {
        *at++ = 'e';
        *at++ = d.exp10 < 0 ? '-' : '+';
        at += cd_u64_fmt(at, (u64)(d.exp10 < 0 ? -d.exp10 : d.exp10));
    }
    return (usize)(at - out);
}

/* Writes v / of with as many decimals as there are. */
static usize put_decimal(char *out, u64 v, u64 of)
{
    usize n = cd_u64_fmt(out, v / of);
    u64 rest = v % of;
    if (rest != 0) {
        out[n++] = '.';
    }
    for (; rest != 0; rest %= of) {
        of /= 10;
        out[n++] = (char)('0' + rest / of);
    }
    return n;
}

usize cd_duration_fmt(char out[CD_DURATION_TEXT_MAX], u64 ns)
{
    enum { US = 1000, MS = 1000000, SECOND = 1000000000 };
    const u64 minute = 60ull * SECOND;
    const u64 hour = 60 * minute;
    usize n = 0;
    const char *name = "s";
    if (ns != 0 && ns < SECOND) {
        name = ns < US ? "ns" : ns < MS ? "µs" : "ms";
        n = put_decimal(out, ns, ns < US ? 1 : ns < MS ? US : MS);
    } else {
        if (ns >= hour) {
            n += cd_u64_fmt(out, ns / hour);
            out[n++] = 'h';
        }
        if (ns >= minute) {
            n += cd_u64_fmt(out + n, ns % hour / minute);
            out[n++] = 'm';
        }
        n += put_decimal(out + n, ns % minute, SECOND);
    }
    usize len = strlen(name);
    memcpy(out + n, name, len + 1);
    return n + len;
}
