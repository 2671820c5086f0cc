/* net/http/msg.h - one HTTP request as it was received, whatever the version of the protocol.
 *
 * Filled by a parser piece by piece, then read by whoever answers. It owns its bytes; what it gives out is
 * borrowed until the next change. Limits are the parser's, except the number of header fields.
 * Threading: confined. [RFC 9110] */
#ifndef CD_NET_HTTP_MSG_H
#define CD_NET_HTTP_MSG_H

#include "base/mem/buf.h"
#include "net/http/http.h"

enum { CD_HTTP_HEADERS_MAX = 100 };

/* A range of the text, which moves while it grows. */
typedef struct cd_http_span {
    u32 at;
    u32 n;
} cd_http_span;

/* A field of a header section. */
typedef struct cd_http_field {
    cd_http_span name;
    cd_http_span value;
} cd_http_field;

/* All zero is a valid, empty message. */
typedef struct cd_http_msg {
    cd_buf text; /* target, names and values, one behind the other */
    cd_buf body;
    cd_http_method method;
    cd_http_span target;
    cd_http_span authority; /* HTTP/2 */
    cd_http_field fields[CD_HTTP_HEADERS_MAX];
    u32 fields_cnt;
} cd_http_msg;

/* cd_http_msg_fini releases the memory; _clear empties and keeps a moderate amount of it. */
void cd_http_msg_fini(cd_http_msg *m);
void cd_http_msg_clear(cd_http_msg *m);

/* cd_http_msg_add appends bytes to a span of m, which must be empty or the newest text. */
void cd_http_msg_add(cd_http_msg *m, cd_http_span *s, cd_bytes bytes);

/* cd_http_msg_add_field begins a field and gives it; NULL when there are CD_HTTP_HEADERS_MAX. */
cd_http_field *cd_http_msg_add_field(cd_http_msg *m);

/* cd_http_msg_span borrows the bytes of a span. */
cd_bytes cd_http_msg_span(const cd_http_msg *m, cd_http_span s);

/* cd_http_msg_count: how many fields are called name; *first is the value of the first, p == NULL when
 * there is none. cd_http_msg_header gives just that. */
u32 cd_http_msg_count(const cd_http_msg *m, cd_bytes *first, const char *name);
cd_bytes cd_http_msg_header(const cd_http_msg *m, const char *name);

/* The target's parts: the path without the query ("*" for OPTIONS *), what is behind '?', and the authority
 * that the request is for: the target's own, else the Host field; empty when there is none. */
cd_bytes cd_http_msg_path(const cd_http_msg *m);
cd_bytes cd_http_msg_query(const cd_http_msg *m);
cd_bytes cd_http_msg_host(const cd_http_msg *m);

#endif
