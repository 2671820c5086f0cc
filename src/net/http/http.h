/* net/http/http.h - the words of HTTP that a server and a client share: methods and status lines.
 *
 * Threading: pure. [RFC 9110] */
#ifndef CD_NET_HTTP_H
#define CD_NET_HTTP_H

#include "base/bytes.h"

/* Methods as bits, so that a route can name several. */
typedef enum cd_http_method {
    CD_HTTP_GET = 1,
    CD_HTTP_HEAD = 2,
    CD_HTTP_POST = 4,
    CD_HTTP_PUT = 8,
    CD_HTTP_DELETE = 16,
    CD_HTTP_OPTIONS = 32,
    CD_HTTP_PATCH = 64,
    CD_HTTP_OTHER = 128, /* known to the parser, used by nobody here */
} cd_http_method;

enum { CD_HTTP_ANY = 255 };

/* cd_http_method_name gives "GET"; "?" for OTHER. */
const char *cd_http_method_name(cd_http_method m);

/* cd_http_reason gives the reason phrase of a status ("Not Found"), "" if it has none here. */
const char *cd_http_reason(u32 status);

/* cd_http_name_eq compares header names, which know no case. */
bool cd_http_name_eq(cd_bytes a, cd_bytes b);

/* cd_http_list_next gives the next element of a comma-separated header value, without blanks around it,
 * and moves *list behind it. Elements may be empty; nothing is left when list->n == 0. */
cd_bytes cd_http_list_next(cd_bytes *list);

/* cd_http_list_has: one element of the list is word (any case). */
bool cd_http_list_has(cd_bytes list, const char *word);

/* cd_http_accepts: an Accept-Encoding (or the like) allows coding, by its name or by "*", with a weight
 * that is not zero. [RFC 9110 12.5.3] */
bool cd_http_accepts(cd_bytes list, const char *coding);

/* cd_http_date_fmt writes an IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT", without a NUL. */
enum { CD_HTTP_DATE_LEN = 29 };
void cd_http_date_fmt(char out[CD_HTTP_DATE_LEN], u64 unix_s);

#endif
