/* What handlers share: values of the query, cursors, names, the webhook of the path. */
#include "services/webhook/api/call.h"

#include "base/num_text.h"
#include "web/serve.h"

#include <stdio.h>
#include <time.h>

enum { QUERY_MAX = 1024 };

const char *cd__wapi_query(cd__wapi_call *c, const char *name)
{
    cd_buf text = {0};
    const char *out = NULL;
    if (cd_web_query(&text, cd_http_req_query(c->req), name, QUERY_MAX)) {
        for (usize i = 0; i < text.n; i++) {
            text.p[i] = text.p[i] == 0 ? '?' : text.p[i]; // a NUL would hide what follows it
        }
        out = cd_arena_str(&c->mem, cd_buf_bytes(&text));
    }
    cd_buf_fini(&text);
    return out != NULL && out[0] != '\0' ? out : NULL;
}

cd_err cd__wapi_query_u64(cd__wapi_call *c, u64 *out, const char *name, u64 min, u64 max)
{
    const char *text = cd__wapi_query(c, name);
    u64 v;
    if (text == NULL) {
        return CD_OK;
    }
    if (cd_u64_parse(&v, cd_bytes_str(text)) != CD_OK || v < min || v > max) {
        return cd__wapi_refuse(c, 400, "invalid_value", name, "%s must be %llu to %llu", name, (unsigned long long)min,
                               (unsigned long long)max);
    }
    *out = v;
    return CD_OK;
}

/* Takes n digits. */
static bool digits(const char **text, u64 *out, usize n)
{
    *out = 0;
    for (; n-- != 0; (*text)++) {
        if (**text < '0' || **text > '9') {
            return false;
        }
        *out = *out * 10 + (u64)(**text - '0');
    }
    return true;
}

static bool letter(const char **text, const char *any)
{
    bool is_it = **text != '\0' && strchr(any, **text) != NULL;
    *text += is_it;
    return is_it;
}

/* "2026-01-31", with "T12:00", ":30", ".5" and "Z" behind it; UTC. */
static bool read_date(u64 *out_ms, const char *text)
{
    u64 y, mo, d;
    u64 h = 0, mi = 0, s = 0, ms = 0;
    if (!digits(&text, &y, 4) || !letter(&text, "-") || !digits(&text, &mo, 2) || !letter(&text, "-") ||
        !digits(&text, &d, 2)) {
        return false;
    }
    if (letter(&text, "Tt ")) {
        if (!digits(&text, &h, 2) || !letter(&text, ":") || !digits(&text, &mi, 2) ||
            (letter(&text, ":") && !digits(&text, &s, 2))) {
            return false;
        }
        u64 digit;
        if (letter(&text, ".")) {
            for (u64 unit = 100; digits(&text, &digit, 1); unit /= 10) {
                ms += unit * digit;
            }
        }
        (void)letter(&text, "Zz");
    }
    if (text[0] != '\0' || y < 1970 || mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 59) {
        return false;
    }
    struct tm tm = {.tm_year = (int)y - 1900,
                    .tm_mon = (int)mo - 1,
                    .tm_mday = (int)d,
                    .tm_hour = (int)h,
                    .tm_min = (int)mi,
                    .tm_sec = (int)s};
    *out_ms = (u64)timegm(&tm) * 1000 + ms;
    return tm.tm_mday == (int)d; // February has no 31st: it would be another day
}

cd_err cd__wapi_time(cd__wapi_call *c, u64 *out_ms, const char *field, const char *text)
{
    u64 s;
    if (text == NULL) {
        return CD_OK;
    }
    if (cd_u64_parse(&s, cd_bytes_str(text)) == CD_OK && s < (u64)1 << 40) {
        *out_ms = s * 1000;
        return CD_OK;
    }
    if (!read_date(out_ms, text)) {
        return cd__wapi_refuse(c, 400, "invalid_value", field,
                               "%s must be a time as 2026-01-31T12:00:00Z, or Unix seconds", field);
    }
    return CD_OK;
}

cd_err cd__wapi_cursor(cd__wapi_call *c, i64 *before)
{
    const char *text = cd__wapi_query(c, "cursor");
    u64 v;
    *before = 0;
    if (text == NULL) {
        return CD_OK;
    }
    if (text[0] != 'c' || cd_u64_parse(&v, cd_bytes_str(text + 1)) != CD_OK || v == 0 || v > INT64_MAX) {
        return cd__wapi_refuse(c, 400, "invalid_value", "cursor", "not a cursor of this service");
    }
    *before = (i64)v;
    return CD_OK;
}

const char *cd__wapi_cursor_fmt(cd__wapi_call *c, i64 last)
{
    return last == 0 ? NULL : cd_arena_fmt(&c->mem, "c%lld", (long long)last);
}

/* The same query with another cursor. */
void cd__wapi_link_next(cd__wapi_call *c, const char *cursor)
{
    cd_bytes query = cd_http_req_query(c->req);
    cd_bytes path = cd_http_req_path(c->req);
    cd_buf line = {0};
    if (cursor == NULL) {
        return;
    }
    cd_buf_str(&line, "Link: <");
    cd_buf_put(&line, path);
    cd_buf_u8(&line, '?');
    while (query.n != 0) {
        const u8 *amp = memchr(query.p, '&', query.n);
        usize n = amp == NULL ? query.n : (usize)(amp - query.p);
        cd_bytes part = cd_bytes_sub(query, 0, n);
        bool is_place = (n >= 7 && memcmp(part.p, "cursor=", 7) == 0) || (n >= 5 && memcmp(part.p, "page=", 5) == 0);
        if (!is_place && n != 0) {
            cd_buf_put(&line, part);
            cd_buf_u8(&line, '&');
        }
        query = cd_bytes_sub(query, n + (amp != NULL), query.n - n - (amp != NULL));
    }
    cd_buf_fmt(&line, "cursor=%s>; rel=\"next\"\r\n", cursor);
    cd_http_req_add_lines(c->req, cd_buf_bytes(&line));
    cd_buf_fini(&line);
}

const char *cd__wapi_name(char camel[64], cd_wh_face face, const char *name)
{
    usize n = 0;
    if (face != CD_WH_A) {
        return name;
    }
    for (bool up = false; *name != '\0' && n < 63; name++) {
        if (*name == '_') {
            up = true;
        } else {
            camel[n++] = (char)(up ? *name - 'a' + 'A' : *name);
            up = false;
        }
    }
    camel[n] = '\0';
    return camel;
}

void cd__wapi_key(cd_json_w *w, cd_wh_face face, const char *name)
{
    char camel[64];
    cd_json_w_key(w, cd__wapi_name(camel, face, name));
}

void cd__wapi_w_u64(cd_json_w *w, cd_wh_face face, const char *name, u64 v)
{
    cd__wapi_key(w, face, name);
    cd_json_w_u64(w, v);
}

void cd__wapi_w_u64_if(cd_json_w *w, cd_wh_face face, const char *name, bool is_there, u64 v)
{
    cd__wapi_key(w, face, name);
    if (is_there) {
        cd_json_w_u64(w, v);
    } else {
        cd_json_w_null(w);
    }
}

void cd__wapi_w_str(cd_json_w *w, cd_wh_face face, const char *name, const char *text)
{
    cd__wapi_key(w, face, name);
    if (text == NULL) {
        cd_json_w_null(w);
    } else {
        cd_json_w_cstr(w, text);
    }
}

void cd__wapi_w_bool(cd_json_w *w, cd_wh_face face, const char *name, bool v)
{
    cd__wapi_key(w, face, name);
    cd_json_w_bool(w, v);
}

void cd__wapi_w_time(cd_json_w *w, cd_wh_face face, const char *name, u64 ms)
{
    cd__wapi_key(w, face, name);
    cd_wh_w_time_value(w, ms, face == CD_WH_C);
}

cd_err cd__wapi_find(cd__wapi_call *c, cd_wh_store *s, bool with_lists, cd_errinfo *why)
{
    cd_err err = cd_wh_hook_get(s, &c->hook, &c->mem, c->account.project.id, c->id, with_lists, why);
    if (err == CD_ENOENT) {
        return cd__wapi_refuse(c, 404, "not_found", "", "no such webhook");
    }
    return err;
}
