#include "services/adx/openrtb/money.h"

#include "base/num_text.h"

enum { DECIMALS = 6, EXPONENT_MAX = 40 };

/* A decimal number in pieces. */
typedef struct decimal {
    cd_bytes whole, part;
    i64 exponent;
    bool is_negative;
} decimal;

static cd_bytes digits(cd_bytes text, usize *at)
{
    usize from = *at;
    while (*at < text.n && text.p[*at] >= '0' && text.p[*at] <= '9') {
        (*at)++;
    }
    return cd_bytes_of(text.p + from, *at - from);
}

static cd_err read_exponent(i64 *out, cd_bytes text, usize *at)
{
    bool is_negative = *at < text.n && text.p[*at] == '-';
    if (*at < text.n && (text.p[*at] == '-' || text.p[*at] == '+')) {
        (*at)++;
    }
    cd_bytes e = digits(text, at);
    if (e.n == 0) {
        return CD_EFORMAT;
    }
    i64 v = 0;
    for (usize i = 0; i < e.n; i++) {
        v = v > EXPONENT_MAX ? v : v * 10 + (e.p[i] - '0');
    }
    *out = is_negative ? -v : v;
    return CD_OK;
}

static cd_err split(decimal *out, cd_bytes text)
{
    usize at = 0;
    *out = (decimal){.is_negative = text.n != 0 && text.p[0] == '-'};
    at += out->is_negative;
    out->whole = digits(text, &at);
    if (out->whole.n == 0) {
        return CD_EFORMAT;
    }
    if (at < text.n && text.p[at] == '.') {
        at++;
        out->part = digits(text, &at);
        if (out->part.n == 0) {
            return CD_EFORMAT;
        }
    }
    if (at < text.n && (text.p[at] | 0x20) == 'e') {
        at++;
        CD_TRY(read_exponent(&out->exponent, text, &at));
    }
    return at == text.n ? CD_OK : CD_EFORMAT;
}

static u8 digit_at(const decimal *d, i64 i)
{
    usize n = (usize)i;
    return n < d->whole.n ? d->whole.p[n] : d->part.p[n - d->whole.n];
}

cd_err cd_micro_parse(cd_micro *out, cd_bytes text, cd_micro_round round)
{
    decimal d;
    CD_TRY(split(&d, text));
    i64 total = (i64)(d.whole.n + d.part.n);
    i64 kept = (i64)d.whole.n + d.exponent + DECIMALS; // digits in front of the last place that counts
    cd_micro v = 0;
    bool has_rest = false;
    for (i64 i = 0; i < kept || i < total; i++) {
        u8 c = i < total ? digit_at(&d, i) : '0';
        if (i >= kept) {
            has_rest = has_rest || c != '0';
            continue;
        }
        v = v * 10 + (c - '0');
        if (v > CD_MICRO_MAX) {
            return CD_ERANGE;
        }
        if (v == 0 && i >= total) {
            break; // zeros behind a zero
        }
    }
    v += has_rest && round == CD_MICRO_UP ? 1 : 0;
    *out = d.is_negative ? -v : v;
    return CD_OK;
}

usize cd_micro_fmt(char out[CD_MICRO_TEXT_MAX], cd_micro v)
{
    CD_ASSERT(v >= 0);
    usize n = cd_u64_fmt(out, (u64)(v / CD_MICRO_ONE));
    u64 rest = (u64)(v % CD_MICRO_ONE);
    if (rest == 0) {
        return n;
    }
    out[n++] = '.';
    for (u64 unit = CD_MICRO_ONE / 10; rest != 0; unit /= 10) {
        out[n++] = (char)('0' + rest / unit);
        rest %= unit;
    }
    return n;
}

bool cd_cur_of(cd_cur *out, cd_bytes text)
{
    cd_cur c = {0};
    if (text.n != 3) {
        return false;
    }
    for (usize i = 0; i < 3; i++) {
        if (text.p[i] < 'A' || text.p[i] > 'Z') {
            return false;
        }
        c.c[i] = (char)text.p[i];
    }
    *out = c;
    return true;
}

static bool scale(cd_micro *out, cd_micro v, cd_micro num, cd_micro den, cd_micro_round round)
{
    u128 p = (u128)(u64)v * (u64)num + (round == CD_MICRO_UP ? (u64)den - 1 : 0);
    u128 q = p / (u64)den;
    if (q > (u128)CD_MICRO_MAX) {
        return false;
    }
    *out = (cd_micro)q;
    return true;
}

bool cd_fx_convert(cd_micro *out, const cd_fx *fx, cd_micro v, cd_cur from, cd_cur to, cd_micro_round round)
{
    if (v < 0) {
        return false;
    }
    if (cd_cur_eq(from, to)) {
        *out = v;
        return true;
    }
    for (usize i = 0; i < fx->cnt; i++) {
        const cd_fx_rate *r = &fx->rates[i];
        if (cd_cur_eq(r->from, from) && cd_cur_eq(r->to, to)) {
            return scale(out, v, r->rate, CD_MICRO_ONE, round);
        }
        if (cd_cur_eq(r->from, to) && cd_cur_eq(r->to, from)) {
            return scale(out, v, CD_MICRO_ONE, r->rate, round);
        }
    }
    return false;
}
