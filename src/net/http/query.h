/* net/http/query.h - parameters of a URL: what is behind '?', decoded.
 *
 * Text is taken as browsers and Go write it: "a=1&b=2", '+' for a blank, %XX for any byte. Of a name that comes
 * twice the first value counts. Bytes need not be UTF-8. Threading: pure. */
#ifndef CD_NET_HTTP_QUERY_H
#define CD_NET_HTTP_QUERY_H

#include "base/bytes.h"
#include "base/mem/arena.h"

/* cd_query_get decodes the value of name into *out, in the arena; empty when there is none.
 * Errors: CD_EFORMAT when a name or a value in the query has a '%' without two hexadecimal digits. */
cd_err cd_query_get(cd_bytes *out, cd_arena *a, cd_bytes query, const char *name) CD_CHECK;

/* cd_query_all decodes every value of name, in order, into an array in the arena. Errors as cd_query_get. */
cd_err cd_query_all(cd_bytes **out, usize *cnt, cd_arena *a, cd_bytes query, const char *name) CD_CHECK;

/* cd_query_flag: the value of name is "true". Errors as cd_query_get. */
cd_err cd_query_flag(bool *out, cd_arena *a, cd_bytes query, const char *name) CD_CHECK;

/* cd_query_unescape decodes text, where '+' means itself (a path). Errors: CD_EFORMAT. */
cd_err cd_query_unescape(cd_bytes *out, cd_arena *a, cd_bytes text) CD_CHECK;

#endif
