#include "net/http/access.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "net/http/http.h"

#include <arpa/inet.h>

typedef struct words {
    cd_bytes *v; /* point into text */
    usize cnt;
} words;

struct cd_http_access {
    words hosts;
    words origins;
    char *host_text;
    char *origin_text;
    bool any_host;
    bool any_origin;
};

static bool is_sep(char c)
{
    return c == ' ' || c == ',' || c == '\t';
}

/* Splits text, which must stay, at blanks and commas. */
static words words_split(const char *text)
{
    words w = {.v = cd_new_array(cd_bytes, strlen(text) / 2 + 1)};
    for (const char *p = text; *p != '\0';) {
        const char *start = p;
        while (*p != '\0' && !is_sep(*p)) {
            p++;
        }
        if (p != start) {
            w.v[w.cnt++] = cd_bytes_of(start, (usize)(p - start));
        }
        p += *p != '\0';
    }
    return w;
}

static bool words_have(const words *w, const char *word)
{
    for (usize i = 0; i < w->cnt; i++) {
        if (cd_bytes_eq(w->v[i], cd_bytes_str(word))) {
            return true;
        }
    }
    return false;
}

cd_http_access *cd_http_access_new(const char *const *hosts, usize cnt, const char *origins)
{
    cd_http_access *a = cd_new(cd_http_access);
    cd_buf b = {0};
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&b, "%s ", hosts[i]);
    }
    (void)cd_buf_cstr(&b);
    a->host_text = (char *)b.p;
    a->hosts = words_split(a->host_text);
    a->any_host = words_have(&a->hosts, "*");
    b = (cd_buf){0};
    cd_buf_str(&b, origins);
    (void)cd_buf_cstr(&b);
    a->origin_text = (char *)b.p;
    a->origins = words_split(a->origin_text);
    a->any_origin = words_have(&a->origins, "*");
    return a;
}

void cd_http_access_free(cd_http_access *a)
{
    if (a != NULL) {
        cd_free(a->hosts.v);
        cd_free(a->origins.v);
        cd_free(a->host_text);
        cd_free(a->origin_text);
        cd_free(a);
    }
}

/* Cuts ":port" off, and the brackets of an IPv6 literal. The authority is not empty. */
static cd_bytes host_of(cd_bytes authority)
{
    if (authority.p[0] == '[') {
        const u8 *close = memchr(authority.p, ']', authority.n);
        return close == NULL ? authority : cd_bytes_of(authority.p + 1, (usize)(close - authority.p) - 1);
    }
    const u8 *colon = memchr(authority.p, ':', authority.n);
    if (colon == NULL) {
        return authority;
    }
    usize n = (usize)(colon - authority.p);
    u64 port;
    cd_bytes rest = cd_bytes_sub(authority, n + 1, authority.n - n - 1);
    return cd_u64_parse(&port, rest) == CD_OK ? cd_bytes_sub(authority, 0, n) : authority;
}

static bool is_address(cd_bytes host)
{
    char text[INET6_ADDRSTRLEN + 1];
    u8 addr[sizeof(struct in6_addr)];
    if (host.n >= sizeof text) {
        return false;
    }
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    return inet_pton(AF_INET, text, addr) == 1 || inet_pton(AF_INET6, text, addr) == 1;
}

bool cd_http_access_host(const cd_http_access *a, cd_bytes authority)
{
    if (a->any_host || authority.n == 0) {
        return true;
    }
    cd_bytes host = host_of(authority);
    for (usize i = 0; i < a->hosts.cnt; i++) {
        if (cd_http_name_eq(host, a->hosts.v[i])) {
            return true;
        }
    }
    return is_address(host);
}

/* Schemes and hosts of origins know no case. */
static bool origin_matches(cd_bytes pattern, cd_bytes origin)
{
    const u8 *star = memchr(pattern.p, '*', pattern.n);
    if (star == NULL) {
        return cd_http_name_eq(pattern, origin);
    }
    usize head = (usize)(star - pattern.p);
    usize tail = pattern.n - head - 1;
    return origin.n >= head + tail && cd_http_name_eq(cd_bytes_sub(pattern, 0, head), cd_bytes_sub(origin, 0, head)) &&
           cd_http_name_eq(cd_bytes_sub(pattern, head + 1, tail), cd_bytes_sub(origin, origin.n - tail, tail));
}

/* Takes prefix, in any case, off the front of text. */
static bool skip(cd_bytes *text, const char *prefix)
{
    usize n = strlen(prefix);
    if (text->n < n || !cd_http_name_eq(cd_bytes_sub(*text, 0, n), cd_bytes_str(prefix))) {
        return false;
    }
    *text = cd_bytes_sub(*text, n, text->n - n);
    return true;
}

/* scheme://host or scheme://host:port of this machine. */
static bool is_own_machine(cd_bytes origin)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    if (!skip(&origin, "http://") && !skip(&origin, "https://")) {
        return false;
    }
    for (usize i = 0; i < CD_COUNT(hosts); i++) {
        cd_bytes rest = origin;
        u64 port;
        if (skip(&rest, hosts[i]) && (rest.n == 0 || (skip(&rest, ":") && cd_u64_parse(&port, rest) == CD_OK))) {
            return true;
        }
    }
    return false;
}

static bool is_extension(cd_bytes origin)
{
    return skip(&origin, "chrome-extension://") || skip(&origin, "moz-extension://") ||
           skip(&origin, "safari-web-extension://");
}

bool cd_http_access_is_foreign(const cd_http_access *a, cd_bytes origin)
{
    if (origin.n == 0 || is_own_machine(origin) || is_extension(origin)) {
        return false;
    }
    for (usize i = 0; i < a->origins.cnt; i++) {
        bool is_all = cd_bytes_eq(a->origins.v[i], cd_bytes_str("*"));
        if (!is_all && origin_matches(a->origins.v[i], origin)) {
            return false;
        }
    }
    return true;
}

static bool origin_allowed(const cd_http_access *a, cd_bytes origin)
{
    for (usize i = 0; i < a->origins.cnt; i++) {
        if (origin_matches(a->origins.v[i], origin)) {
            return true;
        }
    }
    return false;
}

bool cd_http_access_origin(const cd_http_access *a, cd_bytes origin)
{
    return origin.n == 0 || origin_allowed(a, origin);
}

/* "*" when all are allowed, else the origin itself, and credentials. */
static void put_allowed(const cd_http_access *a, cd_buf *out, cd_bytes origin)
{
    cd_buf_str(out, "Access-Control-Allow-Origin: ");
    cd_buf_put(out, a->any_origin ? cd_bytes_str("*") : origin);
    cd_buf_str(out, "\r\nAccess-Control-Allow-Credentials: true\r\n");
}

void cd_http_access_cors(const cd_http_access *a, cd_buf *out, cd_bytes origin)
{
    cd_buf_str(out, "Vary: Origin\r\n");
    if (origin.n != 0 && origin_allowed(a, origin)) {
        put_allowed(a, out, origin);
    }
}

/* Writes the requested headers in canonical case, or nothing and false when one is not allowed. */
static bool put_headers(cd_buf *out, cd_bytes requested)
{
    static const char *const allowed[] = {"Origin", "Accept", "Content-Type", "X-Requested-With"};
    usize before = out->n;
    const char *sep = "Access-Control-Allow-Headers: ";
    while (requested.n != 0) {
        cd_bytes name = cd_http_list_next(&requested);
        if (name.n == 0) {
            continue;
        }
        usize i = 0;
        while (i < CD_COUNT(allowed) && !cd_http_name_eq(name, cd_bytes_str(allowed[i]))) {
            i++;
        }
        if (i == CD_COUNT(allowed)) {
            out->n = before;
            return false;
        }
        cd_buf_fmt(out, "%s%s", sep, allowed[i]);
        sep = ", ";
    }
    if (out->n != before) {
        cd_buf_str(out, "\r\n");
    }
    return true;
}

void cd_http_access_preflight(const cd_http_access *a, cd_buf *out, cd_bytes origin, cd_bytes method, cd_bytes headers)
{
    static const char *const methods[] = {"GET", "POST", "HEAD"};
    cd_buf_str(out, "Vary: Origin\r\nVary: Access-Control-Request-Method\r\n"
                    "Vary: Access-Control-Request-Headers\r\n");
    usize m = 0;
    while (m < CD_COUNT(methods) && !cd_bytes_eq(method, cd_bytes_str(methods[m]))) {
        m++;
    }
    if (m == CD_COUNT(methods) || origin.n == 0 || !origin_allowed(a, origin) || !put_headers(out, headers)) {
        return;
    }
    put_allowed(a, out, origin);
    cd_buf_fmt(out, "Access-Control-Allow-Methods: %s\r\n", methods[m]);
}
