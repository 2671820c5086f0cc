/* net/http/parse.h - bytes to HTTP/1.1 requests, one after the other. No I/O.
 *
 *   feed ─► MORE ... ─► HEAD ─► MORE ... ─► DONE ─► next ─► feed ...
 *             └────────────┴───────► BAD (the connection cannot go on)
 *
 * The parser keeps the request's bytes; what it gives out is borrowed until cd_http_parse_next. It
 * refuses what two servers could read differently (both Content-Length and Transfer-Encoding, bare
 * line feeds, repeated Host) and everything beyond its limits before keeping it. Trailers are read
 * and dropped. The only file that knows llhttp. Threading: confined. [RFC 9112] */
#ifndef CD_NET_HTTP_PARSE_H
#define CD_NET_HTTP_PARSE_H

#include "net/http/msg.h"

typedef struct cd_http_parse cd_http_parse;

/* What a parser came to. */
typedef enum cd_http_step {
    CD_HTTP_STEP_MORE, /* all input used, the request is not complete */
    CD_HTTP_STEP_HEAD, /* the header section is complete; comes once a request, before any of the body */
    CD_HTTP_STEP_DONE, /* the request is complete; input behind it belongs to the next */
    CD_HTTP_STEP_BAD,  /* refused: answer with cd_http_parse_error and close */
} cd_http_step;

/* cd_http_parse_new makes a parser. header_max bounds the request line and all header lines together,
 * body_max the body (after removing chunked coding). */
cd_http_parse *cd_http_parse_new(usize header_max, usize body_max);
void cd_http_parse_free(cd_http_parse *p); /* NULL is allowed */

/* cd_http_parse_feed reads on; *used says how much of in it took. */
cd_http_step cd_http_parse_feed(cd_http_parse *p, usize *used, cd_bytes in);

/* cd_http_parse_next drops the finished request and waits for the next one. */
void cd_http_parse_next(cd_http_parse *p);

/* cd_http_parse_set_body_max changes the limit for this request, at HEAD. False when the request has
 * already announced more: the next feed gives BAD. */
bool cd_http_parse_set_body_max(cd_http_parse *p, usize body_max);

/* cd_http_parse_is_idle: nothing of a request has arrived yet. */
bool cd_http_parse_is_idle(const cd_http_parse *p);

/* cd_http_parse_error gives the status to answer after BAD (400, 413, 414, 431, 501, 505) and one
 * sentence without a line end (borrowed from p). */
u32 cd_http_parse_error(const cd_http_parse *p, const char **text);

/* What was asked: the head from HEAD on, the body at DONE. */
const cd_http_msg *cd_http_parse_msg(const cd_http_parse *p);

/* cd_http_parse_take gives the finished request away; the caller releases it. */
cd_http_msg cd_http_parse_take(cd_http_parse *p);

/* From HEAD on. */
bool cd_http_parse_keeps_alive(const cd_http_parse *p);
bool cd_http_parse_is_http10(const cd_http_parse *p);
bool cd_http_parse_wants_continue(const cd_http_parse *p); /* Expect: 100-continue, and a body comes */
bool cd_http_parse_has_body(const cd_http_parse *p);       /* a body was announced */
bool cd_http_parse_offers_upgrade(const cd_http_parse *p); /* HTTP/1.1 with Upgrade and Connection */

#endif
