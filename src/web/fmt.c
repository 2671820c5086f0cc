#include "web/fmt.h"

#include "base/num_text.h"
#include "base/os/clock.h"
#include "num/div.h"
#include "num/u256_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A thin space, which keeps a number and its sign together. */
#define THIN "\xE2\x80\xAF"

enum { AMOUNT_MAX = 256, MIN_S = 60, HOUR_S = 3600, DAY_S = 86400, DATE_AFTER_S = 30 * DAY_S };

/* 9999-12-31T23:59:59Z */
#define LAST_SECOND 253402300799ull

static cd_bytes text_of(cd_arena *a, const char *s)
{
    return cd_arena_dup(a, cd_bytes_str(s));
}

/* Writes n digits with a comma before every third one from the right; gives the length. */
static usize group(char *out, const char *digits, usize n)
{
    usize at = 0;
    for (usize i = 0; i < n; i++) {
        if (i != 0 && (n - i) % 3 == 0) {
            out[at++] = ',';
        }
        out[at++] = digits[i];
    }
    return at;
}

cd_bytes cd_fmt_count(cd_arena *a, u64 v)
{
    char digits[CD_U64_TEXT_MAX];
    char out[32];
    return cd_arena_dup(a, cd_bytes_of(out, group(out, digits, cd_u64_fmt(digits, v))));
}

/* --- amounts --- */

/* Writes the digits of v, zeros in front so that at least one stands before the point; gives how many stand there. */
static usize digits_of(char out[AMOUNT_MAX], usize *n, const cd_u256 *v, u32 decimals)
{
    char digits[CD_U256_TEXT_MAX];
    usize len = cd_u256_fmt_dec(digits, v);
    usize pad = len <= decimals ? decimals + 1 - len : 0;
    memset(out, '0', pad);
    memcpy(out + pad, digits, len);
    *n = pad + len;
    return *n - decimals;
}

static cd_bytes amount(cd_arena *a, const cd_u256 *v, u32 decimals, cd_fmt_decimals show, bool grouped)
{
    char digits[AMOUNT_MAX];
    char out[AMOUNT_MAX];
    usize n;
    usize whole = digits_of(digits, &n, v, decimals);
    usize keep = n; /* digits that are shown */
    if (show.sig != 0) {
        usize first = 0;
        while (first < n && digits[first] == '0') {
            first++;
        }
        /* a number below the last place shown is written as a bound: 0.0000001 is "< 0.000001" */
        usize last = first < whole ? first + show.sig : whole + show.sig;
        if (first < n && first >= whole + show.sig) {
            usize at = (usize)snprintf(out, sizeof out, "< 0.");
            memset(out + at, '0', show.sig - 1);
            out[at + show.sig - 1] = '1';
            return cd_arena_dup(a, cd_bytes_of(out, at + show.sig));
        }
        keep = last < whole ? whole : last < n ? last : n;
    }
    while (keep > whole + show.min && digits[keep - 1] == '0') {
        keep--;
    }
    usize at = grouped ? group(out, digits, whole) : whole;
    if (!grouped) {
        memcpy(out, digits, whole);
    }
    if (keep > whole) {
        out[at++] = '.';
        memcpy(out + at, digits + whole, keep - whole);
        at += keep - whole;
    }
    return cd_arena_dup(a, cd_bytes_of(out, at));
}

cd_bytes cd_fmt_amount(cd_arena *a, const cd_u256 *v, u32 decimals, cd_fmt_decimals show)
{
    const cd_u256 max = cd_u256_max();
    if (cd_u256_eq(v, &max)) {
        return text_of(a, "∞");
    }
    if (decimals > 78) {
        cd_bytes units = amount(a, v, 0, (cd_fmt_decimals){0}, true);
        return cd_bytes_str(cd_arena_fmt(a, "%.*s units", (int)units.n, (const char *)units.p));
    }
    if (show.min > decimals) {
        show.min = decimals;
    }
    return amount(a, v, decimals, show, true);
}

cd_bytes cd_fmt_exact(cd_arena *a, const cd_u256 *v, u32 decimals)
{
    return amount(a, v, decimals > 78 ? 0 : decimals, (cd_fmt_decimals){0}, false);
}

cd_bytes cd_fmt_gas_price(cd_arena *a, const cd_u256 *wei)
{
    const cd_u256 least = cd_u256_from_u64(1000000);
    const cd_u256 per_milli = least;
    if (cd_u256_lt(wei, &least)) {
        return cd_bytes_str(cd_arena_fmt(a, "%llu wei", (unsigned long long)cd_u256_to_u64_sat(wei)));
    }
    cd_u256 milli;
    cd_u256_div(&milli, wei, &per_milli);
    cd_bytes text = amount(a, &milli, 3, (cd_fmt_decimals){0}, true);
    return cd_bytes_str(cd_arena_fmt(a, "%.*s gwei", (int)text.n, (const char *)text.p));
}

cd_bytes cd_fmt_percent(cd_arena *a, u64 part, u64 whole)
{
    if (whole == 0) {
        return text_of(a, CD_FMT_NONE);
    }
    u64 hundredths = (u64)((u128)part * 10000 / whole);
    return cd_bytes_str(cd_arena_fmt(a, "%llu.%02llu" THIN "%%", (unsigned long long)(hundredths / 100),
                                     (unsigned long long)(hundredths % 100)));
}

cd_bytes cd_fmt_bytes(cd_arena *a, u64 n)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (n < 1000) {
        return cd_bytes_str(cd_arena_fmt(a, "%llu B", (unsigned long long)n));
    }
    u64 scale = 1000;
    usize unit = 0;
    while (n / scale >= 1000) {
        scale *= 1000;
        unit++;
    }
    u64 tenths = n / (scale / 10);
    if (tenths >= 1000) {
        return cd_bytes_str(cd_arena_fmt(a, "%llu %s", (unsigned long long)(tenths / 10), units[unit]));
    }
    return cd_bytes_str(cd_arena_fmt(a, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                                     (unsigned long long)(tenths % 10), units[unit]));
}

/* --- times --- */

cd_bytes cd_fmt_duration(cd_arena *a, u64 ms)
{
    u64 s = ms / 1000;
    if (s == 0) {
        return cd_bytes_str(cd_arena_fmt(a, "%llu ms", (unsigned long long)ms));
    }
    if (s < MIN_S) {
        return cd_bytes_str(s < 10 && ms % 1000 >= 100 ? cd_arena_fmt(a, "%llu.%llu s", (unsigned long long)s,
                                                                      (unsigned long long)(ms % 1000 / 100))
                                                       : cd_arena_fmt(a, "%llu s", (unsigned long long)s));
    }
    u64 unit = s < HOUR_S ? MIN_S : s < DAY_S ? HOUR_S : DAY_S;
    u64 below = unit == MIN_S ? 1 : unit == HOUR_S ? MIN_S : HOUR_S;
    const char *name = unit == MIN_S ? "min" : unit == HOUR_S ? "h" : "d";
    const char *name_below = unit == MIN_S ? "s" : unit == HOUR_S ? "min" : "h";
    u64 rest = s % unit / below;
    return cd_bytes_str(rest == 0 ? cd_arena_fmt(a, "%llu %s", (unsigned long long)(s / unit), name)
                                  : cd_arena_fmt(a, "%llu %s %llu %s", (unsigned long long)(s / unit), name,
                                                 (unsigned long long)rest, name_below));
}

/* The date and time of a second, with `between` between the two and end behind them. */
static cd_bytes date(cd_arena *a, u64 unix_s, char between, const char *end)
{
    char t[CD_TIME_TEXT_LEN];
    if (unix_s > LAST_SECOND) {
        return text_of(a, CD_FMT_NONE);
    }
    /* cd_time_fmt takes nanoseconds, which overflow in 2554; a later date is found 400 years, or a multiple, before. */
    u64 era = 12622780800ull; /* seconds in 400 years */
    u64 eras = unix_s / era;
    cd_time_fmt(t, unix_s % era * CD_NS_PER_SEC);
    u32 year = (u32)(t[0] - '0') * 1000 + (u32)(t[1] - '0') * 100 + (u32)(t[2] - '0') * 10 + (u32)(t[3] - '0') +
               (u32)eras * 400;
    return cd_bytes_str(cd_arena_fmt(a, "%04u%.6s%c%.8s%s", year, t + 4, between, t + 11, end));
}

cd_bytes cd_fmt_utc(cd_arena *a, u64 unix_s)
{
    return date(a, unix_s, ' ', " UTC");
}

cd_bytes cd_fmt_iso(cd_arena *a, u64 unix_s)
{
    return date(a, unix_s, 'T', "Z");
}

cd_bytes cd_fmt_age(cd_arena *a, u64 unix_s, u64 now_s)
{
    bool is_past = unix_s <= now_s;
    u64 s = is_past ? now_s - unix_s : unix_s - now_s;
    if (s >= DATE_AFTER_S) {
        cd_bytes t = cd_fmt_utc(a, unix_s);
        return t.n > 10 ? cd_bytes_sub(t, 0, 10) : t;
    }
    u64 unit = s < MIN_S ? 1 : s < HOUR_S ? MIN_S : s < DAY_S ? HOUR_S : DAY_S;
    const char *name = s < MIN_S ? "s" : s < HOUR_S ? "min" : s < DAY_S ? "h" : "d";
    return cd_bytes_str(cd_arena_fmt(a, is_past ? "%llu %s ago" : "in %llu %s", (unsigned long long)(s / unit), name));
}

/* --- market data --- */

/* The significant digits of v > 0 and its exponent: 0.d1d2d3… × 10^exp; the fewest that read back as v. */
static usize shortest(char digits[20], int *exp, double v)
{
    char text[40];
    for (int n = 1; n <= 17; n++) {
        (void)snprintf(text, sizeof text, "%.*e", n - 1, v);
        if (n == 17 || strtod(text, NULL) == v) {
            break;
        }
    }
    usize n = 0;
    const char *p = text;
    for (; *p != 'e'; p++) {
        if (*p != '.') {
            digits[n++] = *p;
        }
    }
    int e = 0;
    for (const char *d = p + 2; *d != '\0'; d++) {
        e = e * 10 + (*d - '0');
    }
    *exp = (p[1] == '-' ? -e : e) + 1;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    return n;
}

static cd_bytes number(cd_arena *a, double v, bool grouped, usize min)
{
    char digits[20] = {0};
    char whole[32];
    char out[64];
    int exp;
    if (!isfinite(v)) {
        return text_of(a, CD_FMT_NONE);
    }
    if (v == 0) {
        return text_of(a, "0");
    }
    usize n = shortest(digits, &exp, fabs(v));
    usize at = 0;
    if (v < 0) {
        at = (usize)snprintf(out, sizeof out, "%s", grouped ? "−" : "-");
    }
    if (exp <= -6 || exp > 21) {
        at += (usize)snprintf(out + at, sizeof out - at, "%c%s%.*se%+d", digits[0], n > 1 ? "." : "", (int)(n - 1),
                              digits + 1, exp - 1);
        return cd_arena_dup(a, cd_bytes_of(out, at));
    }
    usize before = exp > 0 ? (usize)exp : 1;
    for (usize i = 0; i < before; i++) {
        whole[i] = '0';
        if (exp > 0 && i < n) {
            whole[i] = digits[i];
        }
    }
    if (grouped) {
        at += group(out + at, whole, before);
    } else {
        memcpy(out + at, whole, before);
        at += before;
    }
    usize after = 0;
    usize zeros = exp < 0 ? (usize)-exp : 0;
    usize from = exp > 0 ? (usize)exp : 0;
    if (from < n || min != 0) {
        out[at++] = '.';
        for (; after < zeros; after++) {
            out[at++] = '0';
        }
        for (usize i = from; i < n; i++, after++) {
            out[at++] = digits[i];
        }
        for (; after < min; after++) {
            out[at++] = '0';
        }
    }
    return cd_arena_dup(a, cd_bytes_of(out, at));
}

cd_bytes cd_fmt_double(cd_arena *a, double v)
{
    return number(a, v, false, 0);
}

cd_bytes cd_fmt_price(cd_arena *a, double v)
{
    return number(a, v, true, fabs(v) >= 1 && fabs(v) < 1e15 ? 2 : 0);
}

cd_bytes cd_fmt_change(cd_arena *a, double percent)
{
    char out[400];
    if (!isfinite(percent)) {
        return text_of(a, CD_FMT_NONE);
    }
    (void)snprintf(out, sizeof out, "%.2f", fabs(percent));
    bool is_zero = strcmp(out, "0.00") == 0;
    return cd_bytes_str(cd_arena_fmt(a, "%s%s" THIN "%%", is_zero ? "" : percent > 0 ? "+" : "−", out));
}

cd_bytes cd_fmt_money(cd_arena *a, double v)
{
    static const struct {
        double least;
        const char *name;
    } scales[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
    if (!isfinite(v)) {
        return text_of(a, CD_FMT_NONE);
    }
    for (usize i = 0; i < CD_COUNT(scales); i++) {
        if (fabs(v) >= scales[i].least && fabs(v) < 1e18) {
            return cd_bytes_str(
                cd_arena_fmt(a, "%s%.2f %s", v < 0 ? "−" : "", fabs(v) / scales[i].least, scales[i].name));
        }
    }
    return cd_fmt_price(a, fabs(v) < 1e6 && fabs(v) >= 1 ? round(v * 100) / 100 : v);
}
