#include "net/http.h"

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

static u8 lower(u8 c)
{
    return c >= 'A' && c <= 'Z' ? (u8)(c | 0x20) : c;
}

bool cd_http_name_eq(cd_bytes a, cd_bytes b)
{
    if (a.n != b.n) {
        return false;
    }
    for (usize i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

static void put2(char *out, int v)
{
    out[0] = (char)('0' + v / 10 % 10);
    out[1] = (char)('0' + v % 10);
}

void cd_http_date_fmt(char out[CD_HTTP_DATE_LEN], u64 unix_s)
{
    struct tm tm;
    time_t t = (time_t)unix_s;
    CD_ASSERT(gmtime_r(&t, &tm) != NULL);
    memcpy(out, "Sun, 00 Jan 0000 00:00:00 GMT", CD_HTTP_DATE_LEN);
    memcpy(out, &"SunMonTueWedThuFriSat"[tm.tm_wday * 3], 3);
    put2(out + 5, tm.tm_mday);
    memcpy(out + 8, &"JanFebMarAprMayJunJulAugSepOctNovDec"[tm.tm_mon * 3], 3);
    put2(out + 12, (tm.tm_year + 1900) / 100);
    put2(out + 14, (tm.tm_year + 1900) % 100);
    put2(out + 17, tm.tm_hour);
    put2(out + 20, tm.tm_min);
    put2(out + 23, tm.tm_sec);
}
