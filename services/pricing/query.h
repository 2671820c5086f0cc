/* services/pricing/query.h - parameters of a URL: what is behind '?', decoded and bounded.
 *
 * Text is taken as browsers and Go write it: "a=1&b=2", '+' for a blank, %XX for any byte. Of a name that comes
 * twice the first value counts. Bytes need not be UTF-8. Threading: pure. */
#ifndef CD_SERVICES_PRICING_QUERY_H
#define CD_SERVICES_PRICING_QUERY_H

#include "base/arena.h"
#include "base/bytes.h"

/* cd_query_get decodes the value of name into *out, in the arena; empty when there is none.
 * Errors: CD_EFORMAT when a name or a value in the query has a '%' without two hexadecimal digits. */
cd_err cd_query_get(cd_bytes *out, cd_arena *a, cd_bytes query, const char *name) CD_CHECK;

/* cd_query_flag: the value of name is "true". Errors as cd_query_get. */
cd_err cd_query_flag(bool *out, cd_arena *a, cd_bytes query, const char *name) CD_CHECK;

/* cd_query_unescape decodes text, where '+' means itself (a path). Errors: CD_EFORMAT. */
cd_err cd_query_unescape(cd_bytes *out, cd_arena *a, cd_bytes text) CD_CHECK;

/* cd_query_names takes the names (of tokens or currencies) out of a comma-separated list: without blanks around
 * them, in lower case, sorted by bytes, each once; what is no name is left out. At most max elements are looked
 * at. Errors: CD_ELIMIT. */
cd_err cd_query_names(cd_bytes **out, usize *out_cnt, cd_arena *a, cd_bytes list,
                      usize max) CD_CHECK;

#endif
