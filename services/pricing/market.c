#include "services/pricing/market.h"

#include "codec/json.h"

/* --- asking --- */

static bool is_plain(u8 c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

static void put_escaped(cd_buf *out, cd_bytes text)
{
    for (usize i = 0; i < text.n; i++) {
        if (is_plain(text.p[i])) {
            cd_buf_u8(out, text.p[i]);
        } else {
            cd_buf_fmt(out, "%%%02X", text.p[i]);
        }
    }
}

void cd_market_target(cd_buf *out, cd_bytes currency, const cd_bytes *ids, usize cnt)
{
    cd_buf_str(out, "/coins/markets?vs_currency=");
    put_escaped(out, currency);
    cd_buf_str(out, "&ids=");
    for (usize i = 0; i < cnt; i++) {
        if (i != 0) {
            cd_buf_u8(out, ',');
        }
        put_escaped(out, ids[i]);
    }
    cd_buf_fmt(out, "&order=market_cap_desc&per_page=%d&page=1&sparkline=false", cnt == 1 ? 1 : CD_MARKET_IDS_MAX);
}

/* --- times --- */

/* n digits at *at; moves it behind them. */
static bool take_digits(u64 *out, cd_bytes text, usize *at, usize n)
{
    u64 v = 0;
    if (text.n - *at < n) {
        return false;
    }
    for (usize i = 0; i < n; i++) {
        u8 c = text.p[*at + i];
        if (c < '0' || c > '9') {
            return false;
        }
        v = v * 10 + (u64)(c - '0');
    }
    *at += n;
    *out = v;
    return true;
}

static bool take_char(cd_bytes text, usize *at, const char *any)
{
    if (*at >= text.n || text.p[*at] == '\0' || strchr(any, text.p[*at]) == NULL) {
        return false;
    }
    ++*at;
    return true;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March. */
static i64 days_of(u64 year, u64 month, u64 day)
{
    u64 y = month <= 2 ? year - 1 : year;
    u64 m = month <= 2 ? month + 9 : month - 3;
    return (i64)(y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day) - 719469;
}

/* The zone behind a time, in seconds east. */
static bool take_zone(i64 *out, cd_bytes text, usize *at)
{
    u64 hours;
    u64 minutes;
    if (take_char(text, at, "Zz")) {
        *out = 0;
        return true;
    }
    bool is_west = *at < text.n && text.p[*at] == '-';
    if (!take_char(text, at, "+-") || !take_digits(&hours, text, at, 2) || !take_char(text, at, ":") ||
        !take_digits(&minutes, text, at, 2) || hours > 23 || minutes > 59) {
        return false;
    }
    i64 east = (i64)(hours * 3600 + minutes * 60);
    *out = is_west ? -east : east;
    return true;
}

cd_err cd_market_time_parse(u64 *out, cd_bytes text)
{
    u64 year;
    u64 month;
    u64 day;
    u64 h;
    u64 m;
    u64 s;
    i64 east;
    usize at = 0;
    bool is_good = take_digits(&year, text, &at, 4) && take_char(text, &at, "-") && take_digits(&month, text, &at, 2) &&
                   take_char(text, &at, "-") && take_digits(&day, text, &at, 2) && take_char(text, &at, "Tt ") &&
                   take_digits(&h, text, &at, 2) && take_char(text, &at, ":") && take_digits(&m, text, &at, 2) &&
                   take_char(text, &at, ":") && take_digits(&s, text, &at, 2);
    if (is_good && take_char(text, &at, ".")) {
        usize begin = at;
        while (take_char(text, &at, "0123456789")) {
        }
        is_good = at != begin;
    }
    if (!is_good || !take_zone(&east, text, &at) || at != text.n || month < 1 || month > 12 || day < 1 || day > 31 ||
        h > 23 || m > 59 || s > 60) {
        return CD_EFORMAT;
    }
    i64 t = days_of(year, month, day) * 86400 + (i64)(h * 3600 + m * 60 + s) - east;
    if (year < 1970 || t < 0) {
        return CD_ERANGE;
    }
    *out = (u64)t;
    return CD_OK;
}

/* --- answers --- */

static cd_err take_number(double *out, cd_json row, const char *key, cd_errinfo *why)
{
    cd_json v = cd_json_get(row, key);
    *out = 0;
    return cd_json_has(v) ? cd_json_f64(out, v, why) : CD_OK;
}

/* A string of at most max bytes, cut between characters. */
static cd_err take_text(cd_bytes *out, cd_json row, const char *key, usize max, cd_errinfo *why)
{
    cd_json v = cd_json_get(row, key);
    cd_bytes text = {0};
    if (cd_json_kind_of(v) != CD_JSON_NONE) {
        CD_TRY(cd_json_str(&text, v, why));
    }
    if (text.n > max) {
        text.n = max;
        while (text.n > 0 && (text.p[text.n] & 0xc0) == 0x80) {
            text.n--;
        }
    }
    *out = text;
    return CD_OK;
}

static cd_err take_row(cd_market_row *out, cd_json row, cd_errinfo *why)
{
    cd_bytes updated = {0};
    cd_json last = cd_json_get(row, "last_updated");
    CD_TRY(cd_json_obj(row, why));
    CD_TRY(cd_json_str(&out->id, cd_json_get(row, "id"), why));
    CD_TRY(take_text(&out->symbol, row, "symbol", CD_MARKET_SYMBOL_MAX, why));
    CD_TRY(take_text(&out->name, row, "name", CD_MARKET_NAME_MAX, why));
    CD_TRY(take_number(&out->price, row, "current_price", why));
    CD_TRY(take_number(&out->change_24h, row, "price_change_percentage_24h", why));
    CD_TRY(take_number(&out->market_cap, row, "market_cap", why));
    CD_TRY(take_number(&out->volume_24h, row, "total_volume", why));
    if (cd_json_has(last)) {
        CD_TRY(cd_json_str(&updated, last, why));
    }
    if (cd_market_time_parse(&out->last_updated_s, updated) != CD_OK) {
        out->last_updated_s = 0;
    }
    return CD_OK;
}

cd_err cd_market_parse(const cd_market_row **out, usize *cnt, cd_arena *a, cd_bytes body, cd_errinfo *why)
{
    cd_json doc;
    CD_TRY(cd_json_parse(&doc, a, body, CD_MARKET_BODY_MAX, why));
    CD_TRY(cd_json_arr(doc, why));
    usize n = cd_json_len(doc);
    cd_market_row *rows = cd_arena_array(a, cd_market_row, n);
    cd_json_it it = cd_json_iter(doc);
    for (usize i = 0; cd_json_next(&it); i++) {
        CD_TRY(take_row(&rows[i], it.val, why));
    }
    *out = rows;
    *cnt = n;
    return CD_OK;
}
