#include "services/webhook/core/send/target.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "services/webhook/core/send/target_priv.h"

#include <arpa/inet.h>

enum {
    KEEP_MS = 5000,
    WAIT_MS = 5000,
    WAIT_GOOD_MS = 300,
};

typedef cd__wh_net net_range;

/* --- addresses --- */

/* Networks that are not the public internet [spec:webhooks#8]. */
static const net_range denied_v4[] = {
    {{0}, 4, 8},
    {{10}, 4, 8},
    {{100, 64}, 4, 10},
    {{127}, 4, 8},
    {{169, 254}, 4, 16},
    {{172, 16}, 4, 12},
    {{192, 0, 0}, 4, 24},
    {{192, 0, 2}, 4, 24},
    {{192, 88, 99}, 4, 24},
    {{192, 168}, 4, 16},
    {{198, 18}, 4, 15},
    {{198, 51, 100}, 4, 24},
    {{203, 0, 113}, 4, 24},
    {{224}, 4, 4},
    {{240}, 4, 4},
};

/* Only 2000::/3 is given out; of it these are not, or carry an address of the other family. */
static const net_range global_v6 = {{0x20}, 16, 3};
static const net_range denied_v6[] = {
    {{0x20, 0x01}, 16, 23},
    {{0x20, 0x01, 0x0d, 0xb8}, 16, 32},
    {{0x3f, 0xff}, 16, 20},
};
static const struct {
    net_range range;
    usize at; /* of the IPv4 address inside */
} embeds_v4[] = {
    {{{[10] = 0xff, [11] = 0xff}, 16, 96}, 12},
    {{{0x00, 0x64, 0xff, 0x9b}, 16, 96}, 12},
    {{{0x20, 0x02}, 16, 16}, 2},
};

static bool is_in(const net_range *r, cd_bytes a)
{
    if (r->family_len != a.n) {
        return false;
    }
    usize whole = r->bits / 8;
    u8 mask = (u8)(0xff00u >> (r->bits % 8));
    return memcmp(r->bytes, a.p, whole) == 0 && (r->bits % 8 == 0 || ((r->bytes[whole] ^ a.p[whole]) & mask) == 0);
}

static bool is_in_any(const net_range *r, usize cnt, cd_bytes a)
{
    for (usize i = 0; i < cnt; i++) {
        if (is_in(&r[i], a)) {
            return true;
        }
    }
    return false;
}

bool cd_wh_guard_may(const cd_wh_guard *g, cd_bytes address)
{
    if (is_in_any(g->allowed, g->allowed_cnt, address)) {
        return true;
    }
    if (address.n == 4) {
        return !is_in_any(denied_v4, CD_COUNT(denied_v4), address);
    }
    for (usize i = 0; i < CD_COUNT(embeds_v4); i++) {
        if (is_in(&embeds_v4[i].range, address)) {
            return cd_wh_guard_may(g, cd_bytes_sub(address, embeds_v4[i].at, 4));
        }
    }
    return is_in(&global_v6, address) && !is_in_any(denied_v6, CD_COUNT(denied_v6), address);
}

static bool range_parse(net_range *out, const char *text)
{
    char address[CD_WH_ADDRESS_MAX];
    const char *slash = strchr(text, '/');
    u64 bits;
    if (slash == NULL || (usize)(slash - text) >= sizeof address ||
        cd_u64_parse(&bits, cd_bytes_str(slash + 1)) != CD_OK) {
        return false;
    }
    memcpy(address, text, (usize)(slash - text));
    address[slash - text] = '\0';
    *out = (net_range){0};
    if (inet_pton(AF_INET, address, out->bytes) == 1) {
        out->family_len = 4;
    } else if (inet_pton(AF_INET6, address, out->bytes) == 1) {
        out->family_len = 16;
    }
    out->bits = (u8)bits;
    return out->family_len != 0 && bits <= (out->family_len == 4 ? 32u : 128u);
}

/* --- URLs --- */

/* Ports of services that speak no HTTP but may act on its first lines, or that belong to machinery. */
static bool is_port_allowed(u64 port)
{
    static const u16 never[] = {1433, 1521, 1723, 2049, 2375, 2376,  2379,  2380,  3306,  3389,  4369, 5432, 5672,
                                5900, 5984, 6000, 6379, 6443, 6665,  6666,  6667,  6668,  6669,  6697, 7000, 7001,
                                8500, 9042, 9100, 9200, 9300, 10250, 10255, 11211, 15672, 27017, 50070};
    for (usize i = 0; i < CD_COUNT(never); i++) {
        if (port == never[i]) {
            return false;
        }
    }
    return port == 80 || port == 443 || (port >= 1024 && port <= 65535);
}

static bool is_prefix(cd_bytes text, const char *lower)
{
    usize n = strlen(lower);
    if (text.n < n) {
        return false;
    }
    for (usize i = 0; i < n; i++) {
        u8 c = text.p[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (u8)lower[i]) {
            return false;
        }
    }
    return true;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Letters, digits and inner hyphens, 1 to 63 of them in a label. */
static bool is_host_name(const char *host)
{
    usize n = 0; /* of this label */
    for (const char *p = host;; p++) {
        if (*p == '.' || *p == '\0') {
            if (n == 0 || n > 63 || p[-1] == '-') {
                return false;
            }
            if (*p == '\0') {
                return true;
            }
            n = 0;
        } else if (is_alnum(*p) || (*p == '-' && n > 0) || *p == '_') {
            n++;
        } else {
            return false;
        }
    }
}

/* Readers of URLs take a host for a number when its last label is one, in any base. */
static bool looks_numeric(const char *host)
{
    const char *last = strrchr(host, '.');
    last = last == NULL ? host : last + 1;
    return *last >= '0' && *last <= '9' &&
           (strspn(last, "0123456789") == strlen(last) ||
            (last[0] == '0' && last[1] == 'x' && strspn(last + 2, "0123456789abcdef") == strlen(last + 2)));
}

static cd_err literal(cd_wh_target *t, const cd_wh_guard *g, int family, const char *text, cd_errinfo *why)
{
    u8 bytes[16];
    if (inet_pton(family, text, bytes) != 1) {
        return cd_fail(why, CD_EFORMAT, "an address is written as four decimal numbers, or as IPv6 in brackets");
    }
    cd_bytes address = cd_bytes_of(bytes, family == AF_INET ? 4 : 16);
    if (!cd_wh_guard_may(g, address)) {
        return cd_fail(why, CD_EACCES, "the address is not on the public internet");
    }
    t->is_literal = true;
    const char *p = inet_ntop(family, bytes, t->address, sizeof t->address);
    CD_ASSERT(p != NULL);
    return CD_OK;
}

/* host is in place, without brackets. */
static cd_err check_host(cd_wh_target *t, const cd_wh_guard *g, bool is_v6, cd_errinfo *why)
{
    if (is_v6) {
        return literal(t, g, AF_INET6, t->host, why);
    }
    usize n = strlen(t->host);
    if (n > 0 && t->host[n - 1] == '.') {
        t->host[--n] = '\0';
    }
    if (n == 0 || n > 253 || !is_host_name(t->host)) {
        return cd_fail(why, CD_EFORMAT, "the host is no name or address");
    }
    if (looks_numeric(t->host)) {
        return literal(t, g, AF_INET, t->host, why);
    }
    const char *tld = strrchr(t->host, '.');
    if (strcmp(tld == NULL ? t->host : tld + 1, "localhost") == 0) {
        return literal(t, g, AF_INET, "127.0.0.1", why); /* [RFC 6761 6.3] */
    }
    return CD_OK;
}

/* host[:port] up to the path. */
static cd_err parse_authority(cd_wh_target *t, const cd_wh_guard *g, cd_bytes a, cd_errinfo *why)
{
    const u8 *bracket = a.n > 0 && a.p[0] == '[' ? memchr(a.p, ']', a.n) : NULL;
    usize from = bracket != NULL ? (usize)(bracket + 1 - a.p) : 0;
    const u8 *colon = from < a.n ? memchr(a.p + from, ':', a.n - from) : NULL;
    cd_bytes host = cd_bytes_sub(a, 0, colon != NULL ? (usize)(colon - a.p) : a.n);
    if (bracket != NULL) {
        if (host.n != from) {
            return cd_fail(why, CD_EFORMAT, "something stands behind the address");
        }
        host = cd_bytes_sub(a, 1, from - 2);
    }
    if (host.n == 0 || host.n >= sizeof t->host) {
        return cd_fail(why, CD_EFORMAT, host.n == 0 ? "the URL has no host" : "the host is too long");
    }
    for (usize i = 0; i < host.n; i++) {
        u8 c = host.p[i];
        t->host[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    t->host[host.n] = '\0';
    u64 port = t->is_https ? 443 : 80;
    if (colon != NULL) {
        usize at = (usize)(colon + 1 - a.p);
        if (cd_u64_parse(&port, cd_bytes_sub(a, at, a.n - at)) != CD_OK) {
            return cd_fail(why, CD_EFORMAT, "the port is no number");
        }
    }
    if (!is_port_allowed(port)) {
        return cd_fail(why, CD_EACCES, "this port is not allowed");
    }
    t->port = (u16)port;
    return check_host(t, g, bracket != NULL, why);
}

cd_err cd_wh_target_parse(cd_wh_target *out, const cd_wh_guard *g, cd_bytes url, cd_errinfo *why)
{
    cd_wh_target t = {.is_https = is_prefix(url, "https://")};
    if (url.n > CD_WH_URL_MAX) {
        return cd_fail(why, CD_EFORMAT, "the URL is longer than %d bytes", CD_WH_URL_MAX);
    }
    for (usize i = 0; i < url.n; i++) {
        if (url.p[i] <= ' ' || url.p[i] >= 0x7f || strchr("\\\"<>^`{|}", url.p[i]) != NULL) {
            return cd_fail(why, CD_EFORMAT, "the URL has a character that must be encoded");
        }
    }
    if (!t.is_https && !is_prefix(url, "http://")) {
        return cd_fail(why, CD_EFORMAT, "the URL does not begin with https://");
    }
    if (!t.is_https && !g->allow_http) {
        return cd_fail(why, CD_EACCES, "only https is allowed");
    }
    usize at = t.is_https ? 8 : 7;
    cd_bytes rest = cd_bytes_sub(url, at, url.n - at);
    usize n = 0;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?') {
        n++;
    }
    cd_bytes authority = cd_bytes_sub(rest, 0, n);
    if (n > 0 && memchr(authority.p, '@', n) != NULL) {
        return cd_fail(why, CD_EFORMAT, "user names do not belong into the URL");
    }
    if (rest.n > 0 && memchr(rest.p, '#', rest.n) != NULL) {
        return cd_fail(why, CD_EFORMAT, "the URL has a fragment");
    }
    CD_TRY(parse_authority(&t, g, authority, why));
    *out = t;
    return CD_OK;
}

/* --- life --- */

static void *system_look_up(void *ctx, const char *host, cd_lookup_fn *fn, void *arg)
{
    return cd_lookup_new(ctx, host, fn, arg);
}

static void system_drop(void *lookup)
{
    cd_lookup_drop(lookup);
}

cd_err cd_wh_guard_new(cd_wh_guard **out, cd_loop *loop, const cd_wh_guard_cfg *cfg, cd_errinfo *why)
{
    cd_wh_guard *g = cd_new(cd_wh_guard);
    g->loop = loop;
    g->allow_http = cfg->allow_http;
    g->keep_ms = cfg->keep_ms != 0 ? cfg->keep_ms : KEEP_MS;
    g->resolver = cfg->resolver != NULL ? *cfg->resolver : (cd_wh_resolver){system_look_up, system_drop, loop};
    g->wait_ms = cfg->wait_ms != 0 ? cfg->wait_ms : WAIT_MS;
    g->wait_good_ms = cfg->wait_ms != 0 ? cfg->wait_ms : WAIT_GOOD_MS;
    g->allowed = cd_new_array(cd__wh_net, cfg->allow_cidrs_cnt);
    g->allowed_cnt = cfg->allow_cidrs_cnt;
    cd__wh_names_init(g);
    for (usize i = 0; i < g->allowed_cnt; i++) {
        if (!range_parse(&g->allowed[i], cfg->allow_cidrs[i])) {
            cd_wh_guard_free(g);
            return cd_fail(why, CD_EFORMAT, "%s is no network (127.0.0.0/8)", cfg->allow_cidrs[i]);
        }
    }
    *out = g;
    return CD_OK;
}

void cd_wh_guard_free(cd_wh_guard *g)
{
    if (g == NULL) {
        return;
    }
    cd__wh_names_fini(g);
    cd_free(g->allowed);
    cd_free(g);
}
