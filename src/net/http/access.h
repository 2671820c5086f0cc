/* net/http/access.h - which host names and which web pages may use the server.
 *
 * Host names guard against DNS rebinding, origins decide what a browser lets a foreign page read.
 * Threading: frozen after construction. */
#ifndef CD_NET_HTTP_ACCESS_H
#define CD_NET_HTTP_ACCESS_H

#include "base/mem/buf.h"

typedef struct cd_http_access cd_http_access;

/* cd_http_access_new takes the allowed host names ("*" allows all) and the allowed origins, separated
 * by blanks or commas, each with at most one '*' ("*" allows all). */
cd_http_access *cd_http_access_new(const char *const *hosts, usize cnt, const char *origins);
void cd_http_access_free(cd_http_access *a); /* NULL is allowed */

/* cd_http_access_host: a request for this authority (Host header) may be served. A port is ignored,
 * address literals and an empty authority are always allowed. */
bool cd_http_access_host(const cd_http_access *a, cd_bytes authority);

/* cd_http_access_origin: a page of this origin may open a connection that no CORS header guards
 * (WebSocket). Without an origin the client is no browser: true. */
bool cd_http_access_origin(const cd_http_access *a, cd_bytes origin);

/* cd_http_access_is_foreign: a web page of this origin is a stranger, who may read and send what is signed, and no
 * more: it is neither of this machine (localhost, 127.0.0.1, [::1], any port) nor of a browser extension, and no
 * pattern names it; "*" names nobody. Without an origin the client is no browser: false. [spec:decisions#D50] */
bool cd_http_access_is_foreign(const cd_http_access *a, cd_bytes origin);

/* cd_http_access_cors appends the header lines for a normal answer; origin is empty without one. */
void cd_http_access_cors(const cd_http_access *a, cd_buf *out, cd_bytes origin);

/* cd_http_access_preflight appends the header lines that answer an OPTIONS request with
 * Access-Control-Request-Method; headers is Access-Control-Request-Headers. */
void cd_http_access_preflight(const cd_http_access *a, cd_buf *out, cd_bytes origin, cd_bytes method, cd_bytes headers);

#endif
