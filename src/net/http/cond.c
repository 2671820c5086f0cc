#include "net/http/cond.h"

#include "crypto/hash/sha2.h"

void cd_http_etag_fmt(char out[CD_HTTP_ETAG_LEN], cd_bytes body)
{
    static const char digits[] = "0123456789abcdef";
    cd_hash32 h;
    cd_sha256(&h, body);
    out[0] = '"';
    for (usize i = 0; i < 16; i++) {
        out[1 + 2 * i] = digits[h.b[i] >> 4];
        out[2 + 2 * i] = digits[h.b[i] & 15];
    }
    out[CD_HTTP_ETAG_LEN - 1] = '"';
}

/* Takes one tag from the front of *list, without "W/"; false when there is none. A tag may hold commas. */
static bool tag_next(cd_bytes *tag, cd_bytes *list)
{
    usize at = 0;
    while (at < list->n && (list->p[at] == ' ' || list->p[at] == '\t' || list->p[at] == ',')) {
        at++;
    }
    if (list->n - at >= 2 && list->p[at] == 'W' && list->p[at + 1] == '/') {
        at += 2;
    }
    if (at == list->n || list->p[at] != '"') {
        return false;
    }
    const u8 *end = memchr(list->p + at + 1, '"', list->n - at - 1);
    if (end == NULL) {
        return false;
    }
    usize stop = (usize)(end - list->p) + 1;
    *tag = cd_bytes_sub(*list, at, stop - at);
    *list = cd_bytes_sub(*list, stop, list->n - stop);
    return true;
}

bool cd_http_etag_matches(cd_bytes list, cd_bytes etag)
{
    cd_bytes want;
    cd_bytes tag;
    if (!tag_next(&want, &etag)) {
        return false;
    }
    if (cd_bytes_eq(list, cd_bytes_str("*"))) {
        return true;
    }
    while (list.n != 0 && tag_next(&tag, &list)) {
        if (cd_bytes_eq(tag, want)) {
            return true;
        }
    }
    return false;
}

bool cd_http_is_unchanged(cd_bytes if_none_match, cd_bytes if_modified_since, cd_bytes etag, u64 modified_s)
{
    u64 since;
    if (if_none_match.p != NULL) {
        return cd_http_etag_matches(if_none_match, etag);
    }
    return if_modified_since.p != NULL && modified_s != 0 && cd_http_date_parse(&since, if_modified_since) == CD_OK &&
           modified_s <= since;
}

/* --- dates --- */

/* A cursor over the text of a date; ok goes to false at the first thing that is not as it should be. */
typedef struct scan {
    cd_bytes in;
    bool ok;
} scan;

static void skip(scan *s, const char *text)
{
    usize n = strlen(text);
    s->ok = s->ok && s->in.n >= n && memcmp(s->in.p, text, n) == 0;
    s->in = s->ok ? cd_bytes_sub(s->in, n, s->in.n - n) : s->in;
}

static u32 number(scan *s, usize digits)
{
    u32 v = 0;
    s->ok = s->ok && s->in.n >= digits;
    for (usize i = 0; s->ok && i < digits; i++) {
        u8 c = s->in.p[i];
        s->ok = c >= '0' && c <= '9';
        v = v * 10 + (u32)(c - '0');
    }
    s->in = s->ok ? cd_bytes_sub(s->in, digits, s->in.n - digits) : s->in;
    return v;
}

/* Which of the names comes next. */
static u32 word(scan *s, const char *const *names, u32 cnt)
{
    for (u32 i = 0; s->ok && i < cnt; i++) {
        usize n = strlen(names[i]);
        if (s->in.n >= n && memcmp(s->in.p, names[i], n) == 0) {
            s->in = cd_bytes_sub(s->in, n, s->in.n - n);
            return i;
        }
    }
    s->ok = false;
    return 0;
}

typedef struct date {
    u32 year, month, day; /* month from 0 */
    u32 hour, minute, second;
} date;

static void clock_time(scan *s, date *d)
{
    d->hour = number(s, 2);
    skip(s, ":");
    d->minute = number(s, 2);
    skip(s, ":");
    d->second = number(s, 2);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March. */
static u64 days_of(const date *d)
{
    u32 m = (d->month + 10) % 12;
    u32 y = d->year - (m >= 10 ? 1 : 0);
    u64 day_of_year = (153 * m + 2) / 5 + d->day - 1;
    return (u64)y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool is_date(const date *d)
{
    static const u8 days[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = d->year % 4 == 0 && (d->year % 100 != 0 || d->year % 400 == 0);
    return d->year >= 1970 && d->day >= 1 && d->day <= days[d->month] && (d->month != 1 || d->day <= 28 || is_leap) &&
           d->hour < 24 && d->minute < 60 && d->second <= 60;
}

cd_err cd_http_date_parse(u64 *out_s, cd_bytes text)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const rest[] = {"day", "day", "sday", "nesday", "rsday", "day", "urday"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    scan s = {.in = text, .ok = true};
    date d = {0};
    u32 day = word(&s, days, CD_COUNT(days));
    if (s.ok && s.in.n != 0 && s.in.p[0] == ',') { /* Sun, 06 Nov 1994 08:49:37 GMT */
        skip(&s, ", ");
        d.day = number(&s, 2);
        skip(&s, " ");
        d.month = word(&s, months, CD_COUNT(months));
        skip(&s, " ");
        d.year = number(&s, 4);
        skip(&s, " ");
        clock_time(&s, &d);
        skip(&s, " GMT");
    } else if (s.ok && s.in.n != 0 && s.in.p[0] == ' ') { /* Sun Nov  6 08:49:37 1994 */
        skip(&s, " ");
        d.month = word(&s, months, CD_COUNT(months));
        skip(&s, " ");
        bool is_padded = s.ok && s.in.n != 0 && s.in.p[0] == ' ';
        skip(&s, is_padded ? " " : "");
        d.day = number(&s, is_padded ? 1 : 2);
        skip(&s, " ");
        clock_time(&s, &d);
        skip(&s, " ");
        d.year = number(&s, 4);
    } else { /* Sunday, 06-Nov-94 08:49:37 GMT */
        skip(&s, rest[day]);
        skip(&s, ", ");
        d.day = number(&s, 2);
        skip(&s, "-");
        d.month = word(&s, months, CD_COUNT(months));
        skip(&s, "-");
        u32 year = number(&s, 2);
        d.year = year + (year < 70 ? 2000 : 1900);
        skip(&s, " ");
        clock_time(&s, &d);
        skip(&s, " GMT");
    }
    if (!s.ok || s.in.n != 0 || !is_date(&d)) {
        return CD_EFORMAT;
    }
    *out_s = days_of(&d) * 86400 + d.hour * 3600ull + d.minute * 60ull + d.second;
    return CD_OK;
}
