#include "net/http/http.h"
#include "base/text.h"

#include <time.h>

const char *cd_http_method_name(cd_http_method m)
{
    switch (m) {
    case CD_HTTP_GET:
        return "GET";
    case CD_HTTP_HEAD:
        return "HEAD";
    case CD_HTTP_POST:
        return "POST";
    case CD_HTTP_PUT:
        return "PUT";
    case CD_HTTP_DELETE:
        return "DELETE";
    case CD_HTTP_OPTIONS:
        return "OPTIONS";
    case CD_HTTP_PATCH:
        return "PATCH";
    case CD_HTTP_OTHER:
        break;
    }
    return "?";
}

const char *cd_http_reason(u32 status)
{
    static const struct {
        u32 status;
        const char *reason;
    } rows[] = {
        {100, "Continue"},
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].status == status) {
            return rows[i].reason;
        }
    }
    return "";
}

bool cd_http_name_eq(cd_bytes a, cd_bytes b)
{
    if (a.n != b.n) {
        return false;
    }
    for (usize i = 0; i < a.n; i++) {
        if (a.p[i] != b.p[i] && cd_text_lower(a.p[i]) != cd_text_lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

static bool is_blank(u8 c)
{
    return c == ' ' || c == '\t';
}

cd_bytes cd_http_list_next(cd_bytes *list)
{
    const u8 *comma = list->n == 0 ? NULL : memchr(list->p, ',', list->n);
    usize n = comma == NULL ? list->n : (usize)(comma - list->p);
    cd_bytes item = cd_bytes_sub(*list, 0, n);
    usize skip = comma == NULL ? n : n + 1;
    *list = cd_bytes_sub(*list, skip, list->n - skip);
    while (item.n != 0 && is_blank(item.p[0])) {
        item = cd_bytes_sub(item, 1, item.n - 1);
    }
    while (item.n != 0 && is_blank(item.p[item.n - 1])) {
        item.n--;
    }
    return item;
}

bool cd_http_list_has(cd_bytes list, const char *word)
{
    while (list.n != 0) {
        if (cd_http_name_eq(cd_http_list_next(&list), cd_bytes_str(word))) {
            return true;
        }
    }
    return false;
}

/* A weight of zero: ";q=0", with blanks anywhere and up to three zeros behind a point. */
static bool is_refused(cd_bytes params)
{
    usize i = 0;
    while (i < params.n && (is_blank(params.p[i]) || params.p[i] == ';')) {
        i++;
    }
    if (params.n - i < 3 || cd_text_lower(params.p[i]) != 'q' || params.p[i + 1] != '=') {
        return false;
    }
    for (i += 2; i < params.n; i++) {
        if (params.p[i] >= '1' && params.p[i] <= '9') {
            return false;
        }
    }
    return true;
}

bool cd_http_accepts(cd_bytes list, const char *coding)
{
    bool any = false;
    while (list.n != 0) {
        cd_bytes item = cd_http_list_next(&list);
        const u8 *end = item.n == 0 ? NULL : memchr(item.p, ';', item.n);
        usize n = end == NULL ? item.n : (usize)(end - item.p);
        cd_bytes params = cd_bytes_sub(item, n, item.n - n);
        while (n != 0 && is_blank(item.p[n - 1])) {
            n--;
        }
        cd_bytes name = cd_bytes_sub(item, 0, n);
        if (cd_http_name_eq(name, cd_bytes_str(coding))) {
            return !is_refused(params);
        }
        any = any || (cd_bytes_eq(name, cd_bytes_str("*")) && !is_refused(params));
    }
    return any;
}

static void put2(char *out, int v)
{
    out[0] = (char)('0' + v / 10 % 10);
    out[1] = (char)('0' + v % 10);
}

void cd_http_date_fmt(char out[CD_HTTP_DATE_LEN], u64 unix_s)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm tm;
    time_t t = (time_t)unix_s;
    CD_ASSERT(gmtime_r(&t, &tm) != NULL);
    memcpy(out, "Sun, 00 Jan 0000 00:00:00 GMT", CD_HTTP_DATE_LEN);
    memcpy(out, days[tm.tm_wday], 3);
    put2(out + 5, tm.tm_mday);
    memcpy(out + 8, months[tm.tm_mon], 3);
    put2(out + 12, (tm.tm_year + 1900) / 100);
    put2(out + 14, (tm.tm_year + 1900) % 100);
    put2(out + 17, tm.tm_hour);
    put2(out + 20, tm.tm_min);
    put2(out + 23, tm.tm_sec);
}
