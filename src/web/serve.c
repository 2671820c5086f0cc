#include "web/serve.h"

#include "codec/gzip.h"
#include "net/http/cond.h"
#include "web/assets.h"
#include "web/page.h"

#include <stdio.h>

enum {
    GZIP_MIN = 1024,   /* bytes below which a body is not compressed: it fits into one packet anyway */
    BOUNDARY_MAX = 70, /* most characters of a boundary [RFC 2046] */
};

/* Adds the headers that every answer for a browser carries. */
static void add_security(cd_http_req *r)
{
    cd_http_req_add_header(r, "Content-Security-Policy", CD_PAGE_CSP);
    cd_http_req_add_header(r, "X-Content-Type-Options", "nosniff");
    cd_http_req_add_header(r, "Referrer-Policy", "same-origin");
}

static bool is_unchanged(const cd_http_req *r, cd_bytes etag)
{
    return cd_http_is_unchanged(cd_http_req_header(r, "if-none-match"), (cd_bytes){0}, etag, 0);
}

static void reply_asset(cd_http_req *r, const cd_web_asset *f)
{
    cd_http_req_add_header(r, "Cache-Control", "public, max-age=31536000, immutable");
    cd_http_req_add_header(r, "ETag", f->etag);
    cd_http_req_add_header(r, "Vary", "Accept-Encoding");
    add_security(r); // an SVG opened by itself is a document too
    if (is_unchanged(r, cd_bytes_str(f->etag))) {
        cd_http_reply(r, 304, NULL);
        return;
    }
    bool is_small = cd_http_accepts(cd_http_req_header(r, "accept-encoding"), "gzip");
    if (is_small) {
        cd_http_req_add_header(r, "Content-Encoding", "gzip");
    }
    cd_buf_put(cd_http_req_out(r), is_small ? f->gzip : f->body);
    cd_http_reply(r, 200, f->type);
}

bool cd_web_reply_asset(cd_http_req *r, cd_bytes name)
{
    for (u32 i = 0; i < CD_WEB_FILES; i++) {
        const cd_web_asset *f = cd_web_asset_get((cd_web_file)i);
        if (cd_bytes_eq(name, cd_bytes_str(f->name))) {
            reply_asset(r, f);
            return true;
        }
    }
    return false;
}

static void on_asset(void *ctx, cd_http_req *r)
{
    reply_asset(r, ctx);
}

void cd_web_assets_route(cd_http_server *s, const char *prefix)
{
    for (u32 i = 0; i < CD_WEB_FILES; i++) {
        cd_buf path = {0};
        const cd_web_asset *f = cd_web_asset_get((cd_web_file)i);
        cd_buf_str(&path, prefix);
        cd_buf_str(&path, f->name);
        const cd_http_route route = {
            .path = cd_buf_cstr(&path),
            .methods = CD_HTTP_GET,
            .handler = on_asset,
            .ctx = (void *)f,
        };
        cd_http_server_route(s, &route);
        cd_buf_fini(&path);
    }
}

/* Compresses a page on the thread that made it, so that the loop need not. */
static void compress(cd_http_req *r, cd_buf *out)
{
    cd_buf packed = {0};
    if (out->n < GZIP_MIN) {
        return;
    }
    cd_http_req_add_header(r, "Vary", "Accept-Encoding");
    if (cd_http_accepts(cd_http_req_header(r, "accept-encoding"), "gzip")) {
        cd_gzip_enc(&packed, cd_buf_bytes(out), CD_GZIP_FAST);
        cd_buf_fini(out);
        *out = packed;
        cd_http_req_add_header(r, "Content-Encoding", "gzip");
    }
}

void cd_web_reply_page(cd_http_req *r, u32 status)
{
    cd_buf *out = cd_http_req_out(r);
    char etag[CD_HTTP_ETAG_LEN + 3] = "W/"; // weak, since the plain and the compressed form share it
    cd_http_etag_fmt(etag + 2, cd_buf_bytes(out));
    add_security(r);
    cd_http_req_add_header(r, "Cache-Control", "no-cache");
    cd_http_req_add_header(r, "ETag", etag);
    if (status == 200 && is_unchanged(r, cd_bytes_str(etag))) {
        cd_buf_clear(out);
        cd_http_reply(r, 304, NULL);
        return;
    }
    compress(r, out);
    cd_http_reply(r, status, "text/html; charset=utf-8");
}

void cd_web_redirect(cd_http_req *r, const char *to)
{
    CD_ASSERT(to[0] == '/' && to[1] != '/' && to[1] != '\\');
    add_security(r);
    cd_http_req_add_header(r, "Location", to);
    cd_http_reply(r, 303, NULL);
}

static u8 hex_value(u8 c)
{
    return (u8)(c - '0') < 10 ? (u8)(c - '0') : (u8)((c | 0x20) - 'a') < 6 ? (u8)((c | 0x20) - 'a' + 10) : 16;
}

static void decode(cd_buf *out, cd_bytes v, usize max)
{
    for (usize i = 0; i < v.n && max != 0; i++, max--) {
        u8 c = v.p[i];
        if (c == '%' && i + 2 < v.n && hex_value(v.p[i + 1]) < 16 && hex_value(v.p[i + 2]) < 16) {
            c = (u8)(hex_value(v.p[i + 1]) << 4 | hex_value(v.p[i + 2]));
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        cd_buf_u8(out, c);
    }
}

bool cd_web_query(cd_buf *out, cd_bytes query, const char *name, usize max)
{
    usize n = strlen(name);
    while (query.n != 0) {
        const u8 *end = memchr(query.p, '&', query.n);
        usize len = end == NULL ? query.n : (usize)(end - query.p);
        if (len >= n && memcmp(query.p, name, n) == 0 && (len == n || query.p[n] == '=')) {
            usize from = len == n ? n : n + 1;
            decode(out, cd_bytes_sub(query, from, len - from), max);
            return true;
        }
        usize skip = end == NULL ? len : len + 1;
        query = cd_bytes_sub(query, skip, query.n - skip);
    }
    return false;
}

/* --- forms --- */

/* The offset of what in in; in.n when it is not there. */
static usize find(cd_bytes in, cd_bytes what)
{
    for (usize at = 0; at + what.n <= in.n; at++) {
        const u8 *first = memchr(in.p + at, what.p[0], in.n - at - what.n + 1);
        if (first == NULL) {
            break;
        }
        at = (usize)(first - in.p);
        if (memcmp(first, what.p, what.n) == 0) {
            return at;
        }
    }
    return in.n;
}

static cd_bytes behind(cd_bytes in, usize at)
{
    return at >= in.n ? (cd_bytes){0} : cd_bytes_sub(in, at, in.n - at);
}

/* Writes "--" and the boundary that a content type names to out; false: it names none. */
static bool boundary_of(char out[BOUNDARY_MAX + 3], cd_bytes content_type)
{
    const cd_bytes key = cd_bytes_str("boundary=");
    cd_bytes v = behind(content_type, find(content_type, key));
    v = behind(v, key.n);
    usize n = 0;
    if (v.n != 0 && v.p[0] == '"') {
        v = behind(v, 1);
    }
    while (n < v.n && v.p[n] != '"' && v.p[n] != ';' && v.p[n] > ' ') {
        n++;
    }
    if (n == 0 || n > BOUNDARY_MAX) {
        return false;
    }
    memcpy(out, "--", 2);
    memcpy(out + 2, v.p, n);
    out[n + 2] = '\0';
    return true;
}

bool cd_web_form_part(cd_bytes *out, cd_bytes content_type, cd_bytes body, const char *name)
{
    char line[BOUNDARY_MAX + 3];
    char wanted[BOUNDARY_MAX + 16];
    if (!boundary_of(line, content_type)) {
        return false;
    }
    const cd_bytes boundary = cd_bytes_str(line);
    (void)snprintf(wanted, sizeof wanted, " name=\"%s\"", name);
    body = behind(body, find(body, boundary));
    while (body.n != 0) {
        body = behind(body, boundary.n);
        usize end = find(body, boundary);
        cd_bytes part = cd_bytes_sub(body, 0, end);
        usize head = find(part, cd_bytes_str("\r\n\r\n"));
        cd_bytes value = behind(part, head + 4);
        if (end == body.n) {
            return false; // the body ends inside this part, which is incomplete
        }
        if (head < part.n && find(cd_bytes_sub(part, 0, head), cd_bytes_str(wanted)) < head) {
            value.n -= value.n >= 2 ? 2 : 0; // the line end before a boundary is not part of the value
            *out = value;
            return true;
        }
        body = behind(body, end);
    }
    return false;
}
